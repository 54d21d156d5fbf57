"""Compares a run with what its workflow scenario expects. Each difference names the member it is about."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from enum import Enum
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
from workrail_lint.systems.workrail import scenario as model

_LONGEST = 300


def unmet(scenario: model.Scenario, run: Run) -> tuple[Fault, ...]:
    """Everything about a run that is not as expected, in the order of the file's members."""
    expected = scenario.expect or model.Expectations.model_validate({})
    status = None if expected.status is None else expected.status.value
    found = list(status_faults(run.status, status, "complete", "/expect/status"))
    if expected.steps is not None:
        found += _sequence(expected.steps, run.steps, "/expect/steps", "step")
    if expected.blockers is not None:
        found += _list(expected.blockers, _blockers(run), "/expect/blockers", "blocker", "code")
    if expected.gaps is not None:
        found += _list(expected.gaps, _final(run, "gaps"), "/expect/gaps", "gap", "detail")
    if expected.engine_defects is not None:
        struck = [mark.id for mark in run.engine_defects]
        found += _sequence(expected.engine_defects, struck, "/expect/engineDefects", "engine defect")
    if expected.skipped is not None:
        found += _skipped(expected.skipped, run)
    if expected.outputs is not None:
        found += _outputs(expected.outputs, run)
    if expected.context is not None:
        found += _context(expected.context, run)
    if expected.error is not None:
        found += _error(expected.error.value, run)
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
    wanted: Sequence[Any], actual: Sequence[Mapping[str, Any]], pointer: str, noun: str, key: str
) -> Iterator[Fault]:
    """Objects in order: a name alone is the value of its key, and of an object only the given members count."""
    names = [(each if isinstance(each, Enum) else getattr(each, key)).value for each in wanted]
    found = list(_sequence(names, [str(each[key]) for each in actual], pointer, noun))
    if found:
        yield from found
        return
    for index, (one, other) in enumerate(zip(wanted, actual, strict=True)):
        if not isinstance(one, Enum):
            yield from member_faults(_given(one), other, child(pointer, index), _shown)


def _skipped(wanted: Sequence[Any], run: Run) -> Iterator[Fault]:
    """Steps that were passed over, each with the variables to blame."""
    pointer = "/expect/skipped"
    actual = [
        {"step": each["stepId"], "because": each["because"], "variables": [one["variable"] for one in each["unmet"]]}
        for each in run.skipped
    ]
    names = [each if isinstance(each, str) else each.step for each in wanted]
    found = list(_sequence(names, [each["step"] for each in actual], pointer, "skipped step"))
    yield from found
    if found:
        return
    for index, (one, other) in enumerate(zip(wanted, actual, strict=True)):
        if not isinstance(one, str):
            given = ((name, list(value) if name == "variables" else value) for name, value in _given(one))
            yield from member_faults(given, other, child(pointer, index), _shown)


def _given(expected: Any) -> Iterator[tuple[str, Any]]:
    """The members that the scenario has, under their names in the file."""
    for name in type(expected).model_fields:
        value = getattr(expected, name)
        if value is not None:
            yield name, getattr(value, "value", value)


def _outputs(expected: Mapping[str, model.ExpectedOutput], run: Run) -> Iterator[Fault]:
    for step, wanted in expected.items():
        pointer = child("/expect/outputs", step)
        actual = run.outputs.get(step)
        if actual is None:
            yield Fault(f"step {step} has no stored output", pointer)
            continue
        for member in ("notes", "artifacts"):
            value = getattr(wanted, member)
            if value is None:
                continue
            want: Json = list(value) if member == "artifacts" else value
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


def turn_expectation(expected: model.TurnExpectation) -> Expectation:
    """What one turn must lead to, as a function for the agent that plays it."""

    def mismatch(exchange: Exchange) -> str | None:
        kind = exchange.answer
        if expected.answer is not None and expected.answer.value != kind:
            return f"answer: expected {expected.answer.value}, found {kind}"
        if expected.code is not None and exchange.response.get("code") != expected.code.value:
            had = exchange.response["code"] if exchange.is_error else "no error"
            return f"error: expected {expected.code.value}, found {had}"
        wanted = None if expected.blockers is None else tuple(code.value for code in expected.blockers)
        if wanted is not None and wanted != blocker_codes(exchange.response):
            return f"blockers: expected {_listed(wanted)}, found {_listed(blocker_codes(exchange.response))}"
        if expected.pending is not None and expected.pending != _pending(exchange):
            return f"pending step: expected {expected.pending}, found {_pending(exchange) or 'none'}"
        return None

    return mismatch


def _pending(exchange: Exchange) -> str | None:
    pending: Any = exchange.response.get("pending")
    return None if pending is None else str(pending["stepId"])


def _shown(value: Any) -> str:
    text = canonical_bytes(value).decode("utf-8", "replace")
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"
