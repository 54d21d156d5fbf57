"""Bugs of answers: too long, not repeatable, with an effect they must not have."""

from __future__ import annotations

from itertools import count
from typing import Any

from changed import replace
from msgspec import structs

from planted.bug import KEPT, Patch, bug
from pytest_workrail.engine.core import outcomes, prompts
from pytest_workrail.engine.model.reasons import FollowupRequired
from pytest_workrail.engine.model.words import DEFAULT_PREFERENCES
from pytest_workrail.engine.protocol import advance, engine, recording, rehydrate, requests, responses, step_response
from pytest_workrail.engine.protocol.start import preferences_data
from pytest_workrail.engine.store.plan import preferences_plan
from pytest_workrail.engine.tokens import issuer
from workrail_lint.base.result import Err, Ok


@bug("notes are stored without their budget", "budget")
def notes_without_budget() -> list[Patch]:
    return [(recording, "stored_notes", lambda notes: notes or None)]


@bug("four attempts instead of ten", "budget")
def retry_budget_of_four() -> list[Patch]:
    return [(advance, "INTERACTIVE_ATTEMPTS", 4)]


@bug("attempts without end", "budget")
def no_retry_budget() -> list[Patch]:
    return [(advance, "INTERACTIVE_ATTEMPTS", 1_000)]


@bug("context without its budget", "budget", workflow="approval")
def context_without_budget() -> list[Patch]:
    return [(requests, "_size_problem", lambda value, tool: None)]


@bug("a trace without its budget", "budget", workflow="long")
def trace_without_budget() -> list[Patch]:
    return [(outcomes, "MAX_TRACE_ENTRIES", 1_000), (outcomes, "MAX_TRACE_TOTAL_BYTES", 10**9)]


@bug("recovery text without its budget", "budget", workflow="list")
def recovery_without_budget() -> list[Patch]:
    """Each node of the way brings the whole story again."""
    sound = rehydrate.recovery_text

    def told(events: Any, run_id: Any, node: Any, **more: Any) -> str:
        text = sound(events, run_id, node, **more)
        return text * (1 + len(text) // 256)

    return [(rehydrate, "recovery_text", told)]


def _long_messages() -> list[Patch]:
    sound = recording.blocker_report

    def report(*arguments: Any, **named: Any) -> Any:
        made = sound(*arguments, **named)
        return tuple(structs.replace(each, message=each.message * 12) for each in made)

    return [(recording, "blocker_report", report)]


@bug("a look writes", "look")
def look_writes() -> list[Patch]:
    sound = engine.Engine._rehydrate

    def look(self: Any, place: Any, ref: Any, request: Any) -> Any:
        self.prefer(place, DEFAULT_PREFERENCES)
        return sound(self, place, ref, request)

    return [(engine.Engine, "_rehydrate", look)]


@bug("a refused call writes", "look")
def refusal_writes() -> list[Patch]:
    sound = advance.AdvanceHandler.run

    def run(self: Any, grant: Any, request: Any) -> Any:
        answer = sound(self, grant, request)
        if isinstance(answer, Err):
            change = preferences_data(DEFAULT_PREFERENCES, "user", "prefs_user_0")
            place = grant.place

            def append(permit: Any, session: Any) -> Any:
                builder = self.writer.builder(session, place.run_id)
                return self.writer.append(permit, preferences_plan(builder, place.node_id, change))

            self.writer.write(place.session_id, append)
        return answer

    return [(advance.AdvanceHandler, "run", run)]


@bug("asking what to resume writes", "look")
def checkpoint_forgets() -> list[Patch]:
    """Asking where to resume marks the session."""
    sound = engine.Engine.resume_session

    def resume_session(self: Any, request: Any) -> Any:
        answer = sound(self, request)
        entries = self.home.stores.sessions.list_sessions().value
        for entry in entries:
            found = self.session(entry.session_id).value
            for run_id, run in found.runs.items():
                self.prefer(issuer.NodeAddress(entry.session_id, run_id, run.preferred_tip), DEFAULT_PREFERENCES)
        return answer

    return [(engine.Engine, "resume_session", resume_session)]


@bug("a block prints no next call", "goes-on")
def next_call_ignores_retry() -> list[Patch]:
    def token(self: Any, retry: Any = None) -> Any:
        return None if retry is not None else (None if self.tokens is None else self.tokens.continue_token)

    return [(responses.Progress, "next_token", token)]


@bug("two blockers can't be retried", "recoverable", workflow="assessed")
def two_blockers_no_retry() -> list[Patch]:
    sound = rehydrate.blocked_response

    def blocked(*arguments: Any) -> Any:
        made = sound(*arguments)
        several = isinstance(made, Ok) and len(made.value.blockers) > 1
        return Ok(replace(made.value, retry_token=None)) if several else made

    return [(rehydrate, "blocked_response", blocked)]


@bug("a follow-up is final", "recoverable", workflow="assessed")
def followup_is_final() -> list[Patch]:
    return [(FollowupRequired, "is_retryable", False)]


@bug("a prompt changes with the life of the engine", "same")
def second_engine_forgets_notes_rule() -> list[Patch]:
    """A renderer that tells what to submit only once in its life."""
    sound = prompts.PromptRenderer.render
    told: set[int] = set()

    def render(self: Any, instance: Any, situation: Any) -> Any:
        shown = sound(self, instance, situation)
        if id(self) in told:
            return replace(shown, prompt=shown.prompt + "\n\nAs before.")
        told.add(id(self))
        KEPT.append(self)
        return shown

    return [(prompts.PromptRenderer, "render", render)]


@bug("an answer counts the calls before it", "same")
def answer_counts_calls() -> list[Patch]:
    numbers = count()
    sound = step_response.progress

    def progress(*arguments: Any, **named: Any) -> Any:
        made = sound(*arguments, **named)
        if isinstance(made, Ok) and made.value.pending is not None and next(numbers) % 50 == 49:
            pending = replace(made.value.pending, title=made.value.pending.title + "!")
            return Ok(replace(made.value, pending=pending))
        return made

    return [(rehydrate, "progress", progress)]
