"""Responses as text for the agent: a fixed frame around what the workflow and the run say."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence

from pytest_workrail.engine.core.prompt_slots import PromptStyle
from pytest_workrail.engine.model.reasons import HEADINGS
from pytest_workrail.engine.model.words import BlockerCode
from pytest_workrail.engine.protocol.errors import ToolError
from pytest_workrail.engine.protocol.responses import (
    BindingDrift,
    Blocked,
    CheckpointSet,
    Continued,
    GateReached,
    Listing,
    Progress,
    Reference,
    Response,
    Started,
)
from pytest_workrail.engine.protocol.text_header import AUTONOMY, RISK, error_header, not_done, opening
from workrail_lint.base.js import Json

# To be raised when the header gains a field beside persona, title and step id.
TEMPLATE_VERSION = 1

_ADVANCE = (
    "Do the step above, then submit it with continue_workflow: this token and, in `output`, what the step asks for. "
    'If it asks for nothing, add `intent: "advance"`.'
)
_NOTES = "Notes describe this step only; earlier steps have theirs."
_DELEGATION = "You may have others help with parts of the step, but what you submit is yours: check it first."
_CONTINUE = "You are at this step again. When it is done, submit it with continue_workflow, this token and your output."
_TIPS = "Nothing was changed by looking. Trust the notes above more than what you seem to remember."
_COMPLETE = "Every step that applies is done; there is nothing left to submit."
_LEFT_OUT = "There is nothing left to submit, but steps were left out; they are listed below with what they waited for."
_RETRY = "Correct this and submit the step again with the token below; an older token repeats this answer."
_ANSWER = (
    "Nothing you submitted is lost. Call continue_workflow with the members below and the true values; without "
    "`context`, and with the same token, you decide to leave the step out."
)
_TERMINAL = "Submitting the step again does not help. Tell the user what is needed and wait for them."


def items(response: Response, style: PromptStyle) -> tuple[str, ...]:
    """The text of a response, item by item. Where there is a header, it comes before everything else."""
    first, *others = _items(response, style)
    return (_parts([opening(response), first]), *others)


def _items(response: Response, style: PromptStyle) -> tuple[str, ...]:
    match response:
        case Started() | Continued():
            references = _references(response)
            if style is PromptStyle.CLEAN:
                from pytest_workrail.engine.protocol import clean_text

                return (*clean_text.supplements(response), clean_text.primary(response), *references)
            return (_primary(response.progress, response.warnings), *references)
        case Blocked():
            if style is PromptStyle.CLEAN:
                from pytest_workrail.engine.protocol import clean_text

                return (clean_text.blocked(response),)
            return (_blocked(response),)
        case GateReached() | CheckpointSet() | Listing():
            return (json_text(response.to_json()),)


def error_text(error: ToolError) -> str:
    """An error as an agent reads it."""
    return _parts([error_header() if error.kind is not None else "", json_text(error.to_json())])


def json_text(value: Json) -> str:
    """Data as text, members in their own order."""
    return json.dumps(value, ensure_ascii=False, indent=2)


def _header(persona: str) -> str:
    return f"---------\n{persona}\n---------"


def _parts(parts: Iterable[str]) -> str:
    return "\n\n".join(filter(None, parts))


def _primary(progress: Progress, warnings: Sequence[BindingDrift]) -> str:
    drift, left_out = _drift(warnings), not_done(progress.disclosure)
    if progress.next_intent == "complete" and progress.pending is None:
        sentence = _LEFT_OUT if left_out else _COMPLETE
        return _parts([_header("SYSTEM"), "# Workflow Complete", sentence, drift, left_out])
    if progress.next_intent == "rehydrate_only":
        return _rehydrated(progress, drift)
    preferences = f"Preferences: {AUTONOMY[progress.preferences.autonomy]}, {RISK[progress.preferences.risk_policy]}."
    return _parts(
        [
            *_user(progress, ""),
            left_out,
            _header("SYSTEM"),
            _token_block(progress),
            _ADVANCE,
            _NOTES,
            _DELEGATION,
            preferences,
            drift,
        ]
    )


def _rehydrated(progress: Progress, drift: str) -> str:
    if progress.pending is None:
        sentence = "No step is pending at this node."
        return _parts([_header("SYSTEM"), "# State Recovered", sentence, drift, _TIPS])
    return _parts(
        [
            *_user(progress, " (resumed)"),
            not_done(progress.disclosure),
            _header("SYSTEM"),
            _token_block(progress),
            drift,
            _CONTINUE,
            _TIPS,
        ]
    )


def _user(progress: Progress, suffix: str) -> list[str]:
    step = progress.pending
    if step is None:
        return []
    return [_header("USER"), f"# {step.title}{suffix}\n<!-- stepId: {step.step_id} -->", step.prompt]


_compact_json = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode


def _token_block(progress: Progress, params: dict[str, Json] | None = None) -> str:
    """What the next call takes, or the token alone."""
    token = progress.next_token()
    if params is None and token is None:
        return ""
    given: Json = params or {"continueToken": token}
    block = f"```json\n{_compact_json(given)}\n```"
    if progress.pending is None:
        return block
    return f"**Token for step `{progress.pending.step_id}`:**\n\n{block}"


def _drift(warnings: Sequence[BindingDrift]) -> str:
    if not warnings:
        return ""
    lines = [
        "> **⚠ Binding Drift Detected**",
        "> The project's bindings changed after this run was started; the run keeps the pinned values.",
    ]
    lines += [f"> - `{each.slot_id}`: was `{each.pinned_value}`, now `{each.shown_value}`" for each in warnings]
    return "\n".join(lines)


def heading(code: BlockerCode) -> str:
    """What a block is called by its first blocker."""
    return HEADINGS[code]


def _blocked(response: Blocked) -> str:
    title = f"# Blocked: {heading(response.blockers[0].code)}"
    step = response.progress.pending
    if step is not None:
        title += f"\n<!-- stepId: {step.step_id} -->"
    parts = _user(response.progress, " (resumed)") if response.is_rehydrated else []
    parts += [not_done(response.progress.disclosure) if response.patch is not None else "", _header("SYSTEM"), title]
    for blocker in response.blockers:
        parts += [blocker.message, f"**What to do:** {blocker.suggested_fix}"]
    if response.retryable:
        parts += _findings(response)
    instruction = _ANSWER if response.patch is not None else _RETRY if response.retryable else _TERMINAL
    parts += [instruction, _token_block(response.progress, response.next_params())]
    return _parts(parts)


def _findings(response: Blocked) -> list[str]:
    parts: list[str] = []
    if response.validation is not None:
        for label, texts in (("Issues", response.validation.issues), ("Suggestions", response.validation.suggestions)):
            if texts:
                parts.append("\n".join([f"**{label}:**", *(f"- {text}" for text in texts)]))
    if response.followup is not None:
        parts.append(f"**Follow-up:**\n- {response.followup.title}\n- {response.followup.guidance}")
    return parts


def _references(response: Started | Continued) -> list[str]:
    """Where to read more: in full at the start, in short when a node is looked at again."""
    if not response.references:
        return []
    in_full = isinstance(response, Started)
    lines = [line for reference in response.references for line in _reference(reference, in_full)]
    return ["\n".join(["# References", "", *lines])]


def _reference(reference: Reference, in_full: bool) -> list[str]:
    tags = [
        ("(authoritative)", reference.authoritative),
        ("[unresolved]", reference.resolved_path is None),
        ("[package]", reference.resolve_from == "package"),
    ]
    title = " ".join([f"**{reference.title}**", *(tag for tag, holds in tags if holds)])
    if not in_full:
        return [f"- {title}: `{reference.path}`"]
    return [f"- {title}", f"  - Path: `{reference.path}`", f"  - Purpose: {reference.purpose}"]
