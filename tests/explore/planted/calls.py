"""Bugs of calls that come again, and of the tokens that they bring."""

from __future__ import annotations

from itertools import count
from typing import Any

from changed import replace

from planted.bug import Patch, bug, session_of
from pytest_workrail.engine.model.ids import AttemptId
from pytest_workrail.engine.protocol import advance, engine, rehydrate, responses, sessions, step_response
from pytest_workrail.engine.tokens import issuer
from pytest_workrail.engine.tokens.issuer import ContinueGrant
from workrail_lint.base.result import Err, Ok


@bug("a replay is rendered from today's log", "replay", workflow="list")
def replay_of_today() -> list[Patch]:
    return [(sessions.Session, "as_of", lambda self, index: Ok(self))]


@bug("the successor token is drawn by chance", "replay")
def successor_by_chance() -> list[Patch]:
    numbers = count()
    return [(rehydrate, "child_attempt", lambda attempt: AttemptId(f"{attempt[:-6]}{next(numbers):06d}"))]


@bug("a repeated call is carried out again", "replay")
def carried_out_again() -> list[Patch]:
    asked: dict[Any, int] = {}
    sound = advance._recorded

    def recorded(session: Any, grant: Any) -> Any:
        key = (session_of(session.truth.events), grant.place.node_id, grant.attempt_id)
        asked[key] = asked.get(key, 0) + 1
        # From the second call on, whoever asks is told that nothing is on record.
        return None if asked[key] > 3 else sound(session, grant)

    return [(advance, "_recorded", recorded)]


@bug("validation issues are told once", "replay", workflow="assessed")
def validation_told_once() -> list[Patch]:
    told: set[Any] = set()
    sound = rehydrate.session_facts.validation

    def validation(events: Any, ref: Any) -> Any:
        key = (session_of(events), ref)
        if key in told:
            return None
        told.add(key)
        return sound(events, ref)

    return [(rehydrate.session_facts, "validation", validation)]


@bug("assessments are told once", "replay", workflow="assessed")
def assessments_told_once() -> list[Patch]:
    told: set[Any] = set()
    sound = rehydrate.session_facts.assessments

    def assessments(events: Any, node: Any) -> Any:
        key = (session_of(events), node)
        if key in told:
            return ()
        told.add(key)
        return sound(events, node)

    return [(rehydrate.session_facts, "assessments", assessments)]


@bug("a replay looks at what is submitted now", "replay")
def replay_reads_new_answer() -> list[Patch]:
    """An advance on record is answered by what is submitted now: a block where nothing is submitted."""
    sound = advance.AdvanceHandler.run

    def run(self: Any, grant: Any, request: Any) -> Any:
        answer = sound(self, grant, request)
        if isinstance(answer, Ok) and not request.has_output and isinstance(answer.value, responses.Continued):
            return Ok(replace(answer.value, warnings=(responses.BindingDrift("slot", "a", "b"),)))
        return answer

    return [(advance.AdvanceHandler, "run", run)]


@bug("a checkpoint token continues", "token")
def checkpoint_token_continues() -> list[Patch]:
    sound = issuer.TokenIssuer.resolve_continue

    def resolve(self: Any, text: str) -> Any:
        found = sound(self, text)
        if isinstance(found, Ok):
            return found
        marked = self.resolve_checkpoint(text)
        known = getattr(self, "_ref", None)
        if isinstance(marked, Err) or known is None:
            return found
        return Ok(ContinueGrant(marked.value.place, marked.value.attempt_id, known))

    made = issuer.TokenIssuer.continue_token

    def issue(self: Any, grant: Any, slot: Any = None) -> Any:
        self._ref = grant.workflow_ref
        return made(self, grant, slot)

    return [(issuer.TokenIssuer, "resolve_continue", resolve), (issuer.TokenIssuer, "continue_token", issue)]


@bug("a garbled token is taken for the last one", "token")
def garbled_token_taken() -> list[Patch]:
    sound = issuer.TokenIssuer.resolve_continue
    last: list[Any] = []

    def resolve(self: Any, text: str) -> Any:
        found = sound(self, text)
        if isinstance(found, Ok):
            last[:] = [found]
        return last[0] if isinstance(found, Err) and last and len(text) > 8 else found

    return [(issuer.TokenIssuer, "resolve_continue", resolve)]


@bug("all looks at a node share one attempt", "token")
def looks_share_an_attempt() -> list[Patch]:
    sound = rehydrate.progress

    def progress(format_: Any, position: Any, attempt: Any, recovery_text: Any = None) -> Any:
        shared = AttemptId(f"attempt_{str(position.node.node_id)[-20:]}")
        return sound(format_, position, shared, recovery_text)

    return [(rehydrate, "progress", progress)]


@bug("the token of the node before is given out", "token")
def token_of_parent() -> list[Patch]:
    sound = step_response.issue_tokens

    def issue(maker: Any, grant: Any) -> Any:
        known = getattr(maker, "_before", grant)
        maker._before = grant
        return sound(maker, grant if known.place.run_id != grant.place.run_id else known)

    return [(step_response, "issue_tokens", issue)]


@bug("tokens die with the engine that gave them out", "token")
def token_dies_with_engine() -> list[Patch]:
    """An engine knows the tokens that it gave out itself, and no others."""
    sound, made = engine.Engine._continue, engine.Engine._answer

    def answer(self: Any, *arguments: Any) -> Any:
        given = made(self, *arguments)
        if isinstance(given, Ok):
            shown = given.value.to_json()
            known = self.__dict__.setdefault("_known", set())
            known |= {shown.get(name) for name in ("continueToken", "retryContinueToken", "gateToken")}
        return given

    def going_on(self: Any, request: Any) -> Any:
        if request.token not in self.__dict__.get("_known", set()) and request.token.startswith("ct_"):
            return Err(engine.token_error("TOKEN_UNKNOWN_NODE", "Not known here."))
        return sound(self, request)

    return [(engine.Engine, "_answer", answer), (engine.Engine, "_continue", going_on)]


@bug("the retry token belongs to the node above", "token")
def retry_token_is_used_up() -> list[Patch]:
    sound = step_response.attempt_token

    def token(issuer: Any, position: Any, attempt: Any, slot: Any = None) -> Any:
        if slot == "retry":
            parent = position.run.nodes[position.node.parent]
            place = replace(position.place, node_id=parent.node_id)
            return issuer.continue_token(ContinueGrant(place, attempt, position.workflow_ref), slot)
        return sound(issuer, position, attempt, slot)

    return [(step_response, "attempt_token", token)]
