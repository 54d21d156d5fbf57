"""What the text of an answer begins with, and what it says about steps that were not done.

The header is a closed set of lines in one order. Another line is another version of the template.
"""

from __future__ import annotations

from collections.abc import Iterator

from pytest_workrail.engine.model.base import UNSET
from pytest_workrail.engine.model.events import SkippedStep
from pytest_workrail.engine.model.reasons import LargeActual, Unmet, UnsetActual, ValueActual
from pytest_workrail.engine.model.words import Autonomy, RiskPolicy
from pytest_workrail.engine.protocol.responses import (
    Blocked,
    CheckpointSet,
    Continued,
    Disclosure,
    GateReached,
    Listing,
    Progress,
    Response,
    Started,
)
from workrail_lint.base.canonical import canonical_bytes

TEMPLATE = "workrail.text/2"

AUTONOMY: dict[Autonomy, str] = {
    "guided": "guided mode",
    "full_auto_stop_on_user_deps": "full autonomy (stop on user deps)",
    "full_auto_never_stop": "full autonomy (never stop)",
}
RISK: dict[RiskPolicy, str] = {
    "conservative": "conservative risk",
    "balanced": "balanced risk",
    "aggressive": "aggressive risk",
}


def disclosure_of(response: Response) -> Disclosure | None:
    """What an answer has to say about itself; None in the engine's own form."""
    match response:
        case Started() | Continued() | Blocked():
            return response.progress.disclosure
        case GateReached(progress=progress):
            return None if progress is None else progress.disclosure
        case CheckpointSet() | Listing():
            return response.disclosure


def opening(response: Response) -> str:
    """The header and the warnings; nothing in the engine's own form."""
    disclosure = disclosure_of(response)
    if disclosure is None:
        return ""
    kind = str(response.to_json()["kind"])
    progress = None if isinstance(response, CheckpointSet | Listing) else response.progress
    return "\n\n".join(filter(None, ["\n".join(_lines(kind, disclosure, progress)), _warnings(response, disclosure)]))


def error_header() -> str:
    """The header of an error."""
    return f"Template: {TEMPLATE}\nKind: error"


def _lines(kind: str, disclosure: Disclosure, progress: Progress | None) -> Iterator[str]:
    yield f"Template: {TEMPLATE}"
    yield f"Kind: {kind}"
    if disclosure.workflow_id:
        yield f"Workflow: {disclosure.workflow_id}"
    if progress is None:
        return
    if progress.pending is not None:
        yield f"Step: {progress.pending.step_id}"
    if kind != GateReached.kind:
        yield f"Mode: {AUTONOMY[progress.preferences.autonomy]}, {RISK[progress.preferences.risk_policy]}"
    if progress.pending is not None:
        yield f"Confirmation: {_confirmation(progress)}"
    if kind != GateReached.kind:
        yield f"Features: {', '.join(disclosure.features) or 'none'}"


def _confirmation(progress: Progress) -> str:
    confirmer = None if progress.pending is None else progress.pending.confirmed_by
    if confirmer == "person" and progress.preferences.never_stops:
        return "person, recorded as a gap"
    return confirmer or "none"


def _warnings(response: Response, disclosure: Disclosure) -> str:
    lines = [
        f"- {each.preference}: {each.effective} goes beyond {each.recommended}, which the workflow recommends. "
        "Nothing is blocked because of it; every advance records it as a gap."
        for each in disclosure.beyond
    ]
    if isinstance(response, Started | Continued | Blocked):
        lines += [
            f"- Binding drift: `{each.slot_id}` was `{each.pinned_value}`, now `{each.shown_value}`."
            for each in response.warnings
        ]
    return "\n".join(["## Warnings", *lines]) if lines else ""


def not_done(disclosure: Disclosure | None) -> str:
    """The steps that were passed over, and what each of them waits for."""
    if disclosure is None or not disclosure.skipped.entries:
        return ""
    entries, omitted = disclosure.skipped
    lines = [f"- {entry.step_id}: {_waits_for(entry)}" for entry in entries]
    if omitted:
        lines.append(f"- … and {omitted} more")
    return "\n".join(["## Not Done", *lines])


def _waits_for(entry: SkippedStep) -> str:
    unmet = (f"{_name(each.variable)} is {_actual(each.actual)}, needs {_needed(each)}" for each in entry.unmet)
    return "; ".join(unmet) or "its condition can't be met"


def _needed(unmet: Unmet) -> str:
    words = ["not"] if unmet.negated else []
    words.append(unmet.operator)
    return " ".join(words if unmet.expected is UNSET else [*words, _json(unmet.expected)])


def _actual(actual: UnsetActual | ValueActual | LargeActual) -> str:
    match actual:
        case UnsetActual():
            return "unset"
        case ValueActual(value):
            return _json(value)
        case LargeActual(name, size):
            return f"too large to show ({name}, {size} bytes)"


def _name(variable: str) -> str:
    """A variable by its name; one that could be mistaken for more than a name is quoted."""
    return variable if variable.isprintable() and variable else _json(variable)


def _json(value: object) -> str:
    return canonical_bytes(value).decode("utf-8", "replace")
