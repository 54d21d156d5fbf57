"""Compares a run with what its workflow scenario expects. Each difference names the member it is about."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from pytest_workrail.agents.scripted import Expectation
from pytest_workrail.agents.transcript import Exchange
from pytest_workrail.run.result import Run
from pytest_workrail.run.visits import blocker_codes
from pytest_workrail.scenarios.expectations import first_difference, member_faults, status_faults
from pytest_workrail.scenarios.failures import Fault
from workrail_lint.base import js
from workrail_lint.base.canonical import canonical_bytes
from workrail_lint.base.js import Json
from workrail_lint.documents.pointer import child

_LONGEST = 300
# The members of expected objects: first the one that a name alone stands for, then the others in the order of faults.
_OF_BLOCKERS = ("code", "step", "message")
_OF_GAPS = ("detail", "step", "severity", "summary")
_OF_SKIPPED = ("step", "because", "variables")


def unmet(scenario: Mapping[str, Any], run: Run) -> tuple[Fault, ...]:
    """Everything about a run that is not as a scenario, whose shape was checked, expects it; in a fixed order."""
    expected: Mapping[str, Any] = scenario.get("expect", {})
    found = list(status_faults(run.status, expected.get("status"), "complete", "/expect/status"))
    if "steps" in expected:
        found += _sequence(expected["steps"], run.steps, "/expect/steps", "step")
    if "blockers" in expected:
        found += _list(expected["blockers"], _blockers(run), "/expect/blockers", "blocker", _OF_BLOCKERS)
    if "gaps" in expected:
        found += _list(expected["gaps"], _final(run, "gaps"), "/expect/gaps", "gap", _OF_GAPS)
    if "engineDefects" in expected:
        struck = [mark.id for mark in run.engine_defects]
        found += _sequence(expected["engineDefects"], struck, "/expect/engineDefects", "engine defect")
    if "skipped" in expected:
        found += _list(expected["skipped"], _skipped(run), "/expect/skipped", "skipped step", _OF_SKIPPED)
    if "outputs" in expected:
        found += _outputs(expected["outputs"], run)
    if "context" in expected:
        found += _context(expected["context"], run)
    if "error" in expected:
        found += _error(expected["error"], run)
    return tuple(found)


def _final(run: Run, member: str) -> list[dict[str, Any]]:
    found: Any = run.transcript.final[member]
    return list(found)


def _blockers(run: Run) -> list[dict[str, Any]]:
    """Every blocker the agent met, with the step it stopped."""
    found: list[dict[str, Any]] = []
    for exchange in run.transcript.exchanges:
        response: Any = exchange.response
        if response.get("kind") == "blocked" and exchange.request.get("intent") == "advance":
            step = response["pending"]["stepId"]
            found += [{**blocker, "step": step} for blocker in response["blockers"]["blockers"]]
    return found


def _sequence(wanted: Sequence[str], actual: Sequence[str], pointer: str, noun: str) -> Iterator[Fault]:
    at = first_difference(wanted, actual)
    if at is None:
        return
    expected = wanted[at] if at < len(wanted) else "none"
    found = actual[at] if at < len(actual) else "none"
    place = child(pointer, at) if at < len(wanted) else pointer
    yield Fault(f"{noun} {at + 1}: expected {expected}, found {found}; all {noun}s: {_listed(actual)}", place)


def _listed(names: Sequence[str]) -> str:
    return ", ".join(names) or "none"


def _list(
    wanted: Sequence[Any], actual: Sequence[Mapping[str, Any]], pointer: str, noun: str, members: Sequence[str]
) -> Iterator[Fault]:
    """Objects in order: a name alone is the value of the first member, and of an object only the given ones count."""
    key = members[0]
    names = [each if isinstance(each, str) else each[key] for each in wanted]
    found = list(_sequence(names, [str(each[key]) for each in actual], pointer, noun))
    if found:
        yield from found
        return
    for index, (one, other) in enumerate(zip(wanted, actual, strict=True)):
        if not isinstance(one, str):
            given = ((name, one[name]) for name in members if name in one)
            yield from member_faults(given, other, child(pointer, index), _shown)


def _skipped(run: Run) -> list[dict[str, Any]]:
    """Steps that were passed over, each with the variables to blame."""
    return [
        {"step": each["stepId"], "because": each["because"], "variables": [one["variable"] for one in each["unmet"]]}
        for each in run.skipped
    ]


def _outputs(expected: Mapping[str, Any], run: Run) -> Iterator[Fault]:
    for step, wanted in expected.items():
        pointer = child("/expect/outputs", step)
        actual = run.outputs.get(step)
        if actual is None:
            yield Fault(f"step {step} has no stored output", pointer)
            continue
        for member in ("notes", "artifacts"):
            if member not in wanted:
                continue
            want: Json = wanted[member]
            have = actual.get(member, [] if member == "artifacts" else None)
            if not js.deep_equal(want, have):
                yield Fault(
                    f"{member} of step {step}: expected {_shown(want)}, found {_shown(have)}", child(pointer, member)
                )


def _context(expected: Mapping[str, Json], run: Run) -> Iterator[Fault]:
    for name, value in expected.items():
        actual = run.context.get(name)
        if not js.deep_equal(value, actual):
            said = "no value" if name not in run.context else _shown(actual)
            yield Fault(f"variable {name}: expected {_shown(value)}, found {said}", child("/expect/context", name))


def _error(code: str, run: Run) -> Iterator[Fault]:
    last = run.transcript.exchanges[-1]
    if not last.is_error:
        yield Fault(f"error: expected {code}, but the run did not end with an error", "/expect/error")
    elif last.response["code"] != code:
        yield Fault(f"error: expected {code}, found {last.response['code']}", "/expect/error")


def turn_expectation(expected: Mapping[str, Any]) -> Expectation:
    """What one turn must lead to, as a function for the agent that plays it."""

    def mismatch(exchange: Exchange) -> str | None:
        kind = exchange.answer
        if expected.get("answer", kind) != kind:
            return f"answer: expected {expected['answer']}, found {kind}"
        if "code" in expected and exchange.response.get("code") != expected["code"]:
            had = exchange.response["code"] if exchange.is_error else "no error"
            return f"error: expected {expected['code']}, found {had}"
        wanted = tuple(expected["blockers"]) if "blockers" in expected else None
        if wanted is not None and wanted != blocker_codes(exchange.response):
            return f"blockers: expected {_listed(wanted)}, found {_listed(blocker_codes(exchange.response))}"
        if "pending" in expected and expected["pending"] != _pending(exchange):
            return f"pending step: expected {expected['pending']}, found {_pending(exchange) or 'none'}"
        return None

    return mismatch


def _pending(exchange: Exchange) -> str | None:
    pending: Any = exchange.response.get("pending")
    return None if pending is None else str(pending["stepId"])


def _shown(value: Any) -> str:
    text = canonical_bytes(value).decode("utf-8", "replace")
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"
