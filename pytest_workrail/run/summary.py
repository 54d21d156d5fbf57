"""A transcript in a few lines, for whoever has to find out why a run did not come out as expected."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pytest_workrail.agents.transcript import Exchange, Transcript
from workrail_lint.base.terminal import printable

_MOST_EXCHANGES = 30
_LONGEST = 100
_LONGEST_ISSUES = 300


def exchange_lines(transcript: Transcript, most: int = _MOST_EXCHANGES) -> list[str]:
    """One line for each exchange, numbered from 1; of a long run the last ones.

    Where the public engine would have done something else, the line says which of its defects it is.
    """
    marks: dict[int, list[str]] = {}
    for mark in transcript.engine_defects:
        marks.setdefault(mark.exchange + 1, []).append(f"{mark.id} {mark.outcome}")
    left_out = max(0, len(transcript.exchanges) - most)
    shown = list(enumerate(transcript.exchanges, 1))[left_out:]
    lines = [f"... {left_out} earlier exchanges not shown"] if left_out else []
    width = len(str(len(transcript.exchanges)))
    return lines + [
        f"{number:>{width}}  {_asked(each)} -> {_answered(each)}{_marked(marks.get(number))}" for number, each in shown
    ]


def _marked(marks: Sequence[str] | None) -> str:
    return f" [public engine: {', '.join(marks)}]" if marks else ""


def _asked(exchange: Exchange) -> str:
    request: Mapping[str, Any] = exchange.request
    name = exchange.tool.removesuffix("_workflow")
    match exchange.tool:
        case "start_workflow":
            parts = _variables(request.get("initialContext"))
        case "continue_workflow" if request.get("intent") == "rehydrate":
            return "rehydrate"
        case "continue_workflow":
            output = request.get("output") or {}
            notes = output.get("notesMarkdown", request.get("notes"))
            kinds = [_kind(artifact) for artifact in output.get("artifacts", request.get("artifacts") or ())]
            parts = [] if notes is None else [f"notes {_short(repr(printable(notes)))}"]
            parts += [f"artifacts {', '.join(kinds)}"] if kinds else []
            parts += _variables(request.get("context"))
        case _:
            parts = []
    return f"{name} with {' and '.join(parts)}" if parts else name


def _variables(context: Any) -> list[str]:
    if not isinstance(context, Mapping) or not context:
        return []
    return [f"context {_short(', '.join(map(str, context)))}"]


def _kind(artifact: Any) -> str:
    return str(artifact.get("kind", "without kind")) if isinstance(artifact, Mapping) else type(artifact).__name__


def _answered(exchange: Exchange) -> str:
    response: Mapping[str, Any] = exchange.response
    match exchange.answer:
        case "error":
            return f"error {response['code']}: {_short(printable(str(response['message'])))}"
        case "gated":
            return f"gate {response['gateKind']} at {response['stepId']}"
        case "complete":
            return "complete"
    pending = response.get("pending")
    if pending is None:
        return "ok"
    if exchange.answer == "ok":
        return f"pending {pending['stepId']}"
    blockers = response["blockers"]["blockers"]
    issues = response.get("validation", {}).get("issues", [])
    why = f" ({_short(printable('; '.join(issues)), _LONGEST_ISSUES)})" if issues else ""
    return (
        f"blocked at {pending['stepId']}: "
        + "; ".join(f"{blocker['code']}: {_short(printable(blocker['message']))}" for blocker in blockers)
        + why
    )


def _short(text: str, longest: int = _LONGEST) -> str:
    return text if len(text) <= longest else text[: longest - 1] + "…"
