"""Bugs of what is passed over, of forks, and of the context."""

from __future__ import annotations

from typing import Any

from changed import replace

from planted.bug import NEVER, Patch, bug
from pytest_workrail.engine.core.modes import Block, Proceed
from pytest_workrail.engine.model.events import ContextSetData
from pytest_workrail.engine.model.reasons import FollowupRequired, MissingNotes, Reason
from pytest_workrail.engine.projections import dag, session_facts
from pytest_workrail.engine.protocol import advance, advance_outcome, recording, requests, sessions
from workrail_lint.base.result import Err, Ok


@bug("no gap is recorded", "gap", mode=NEVER)
def no_gaps() -> list[Patch]:
    return [(recording, "_gaps", lambda outcome, attempt: [])]


@bug("gaps are only warnings", "gap", mode=NEVER)
def gaps_are_warnings() -> list[Patch]:
    sound = Reason.as_gap
    return [(Reason, "as_gap", lambda reason, severity="warning": sound(reason, "warning"))]


@bug("only the first gap is recorded", "gap", workflow="assessed", mode=NEVER)
def one_gap_is_enough() -> list[Patch]:
    sound = recording._gaps
    return [(recording, "_gaps", lambda outcome, attempt: sound(outcome, attempt)[:1])]


@bug("missing notes do not matter", "gap")
def notes_are_never_missed() -> list[Patch]:
    sound = advance_outcome.decide

    def decide(reasons: Any, preferences: Any, profile: Any) -> Any:
        decision = sound(reasons, preferences, profile)
        missing = isinstance(decision, Block) and all(isinstance(each, MissingNotes) for each in decision.reasons)
        return Proceed((), ()) if missing else decision

    return [(advance_outcome, "decide", decide)]


@bug("follow-ups are passed over", "gap", workflow="assessed")
def followups_are_passed() -> list[Patch]:
    sound = advance_outcome.decide

    def decide(reasons: Any, preferences: Any, profile: Any) -> Any:
        return sound([each for each in reasons if not isinstance(each, FollowupRequired)], preferences, profile)

    return [(advance_outcome, "decide", decide)]


@bug("two reasons to stop are none", "gap", workflow="assessed")
def gaps_where_it_stops() -> list[Patch]:
    sound = advance_outcome.decide

    def decide(reasons: Any, preferences: Any, profile: Any) -> Any:
        return Proceed(tuple(reasons), ()) if len(reasons) > 1 else sound(reasons, preferences, profile)

    return [(advance_outcome, "decide", decide)]


@bug("context of other branches counts", "fork", profile="locked")
def other_branches_count() -> list[Patch]:
    sound = session_facts.node_context

    def everywhere(events: Any, run: Any, node: Any, choice: Any) -> Any:
        return sound(events, run, node, "run")

    return [(sessions, "node_context", everywhere)]


@bug("blocks of all branches count", "fork")
def blocks_of_all_branches() -> list[Patch]:
    def chain(self: Any, node: Any) -> int:
        blocked = sum(each.kind == "blocked_attempt" for each in self.nodes.values())
        return blocked if self.nodes[node].kind == "blocked_attempt" else 0

    return [(dag.Run, "blocked_chain", chain)]


@bug("a fork goes on with the newest state", "fork")
def fork_at_the_tip() -> list[Patch]:
    """A fork goes on with the state of the newest node, not of the one it starts from."""
    sound = advance.open_node

    def opened(loader: Any, session: Any, run: Any, node: Any) -> Any:
        tip = run.nodes[run.preferred_tip] if run.preferred_tip is not None else node
        found = sound(loader, session, run, node)
        newest = sound(loader, session, run, tip)
        if isinstance(found, Err) or isinstance(newest, Err) or tip.kind != "step" or newest.value.snapshot.is_complete:
            return found
        return Ok(replace(found.value, snapshot=newest.value.snapshot))

    return [(advance, "open_node", opened)]


@bug("a node with two branches is closed", "fork")
def old_nodes_are_closed() -> list[Patch]:
    sound = advance._refusal

    def refusal(position: Any, autonomous: bool) -> Any:
        if not position.run.is_tip(position.node.node_id) and len(position.run.children(position.node.node_id)) > 1:
            return advance.token_error("TOKEN_UNKNOWN_NODE", "This branch is closed.")
        return sound(position, autonomous)

    return [(advance, "_refusal", refusal)]


@bug("null does not remove a variable", "context")
def null_stays() -> list[Patch]:
    def kept(stored: Any, delta: Any) -> dict[str, Any]:
        return {**(stored or {}), **{name: value for name, value in (delta or {}).items() if value is not None}}

    return [(advance, "merged", kept)]


@bug("a change replaces the context", "context")
def context_replaced() -> list[Patch]:
    sound = requests.merged
    return [(advance, "merged", lambda stored, delta: sound({} if delta else stored, delta))]


@bug("false and zero remove a variable", "context")
def falsy_removes() -> list[Patch]:
    def dropped(stored: Any, delta: Any) -> dict[str, Any]:
        both = {**(stored or {}), **(delta or {})}
        return {name: value for name, value in both.items() if value}

    return [(advance, "merged", dropped)]


@bug("a step without a change clears the context", "context")
def context_lost_without_change() -> list[Patch]:
    sound = recording._context

    def stored(entry: Any) -> Any:
        made = sound(entry)
        if made is not None:
            return made
        ident = recording.keys.context_id(entry.attempt)
        return ContextSetData(context_id=ident, context={}, source="agent_delta")

    return [(recording, "_context", stored)]


@bug("the first value of a variable stays", "context")
def first_value_stays() -> list[Patch]:
    def kept(stored: Any, delta: Any) -> dict[str, Any]:
        old = dict(stored or {})
        for name, value in (delta or {}).items():
            if value is None:
                old.pop(name, None)
            else:
                old.setdefault(name, value)
        return old

    return [(advance, "merged", kept)]
