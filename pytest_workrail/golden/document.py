"""The golden of a workflow run, made from its transcript.

Our own wording does not get into a golden: a prompt shows the name of a slot, so that the golden stays when only the
wording changes. A transcript holds prompts as the agent got them. The slots of a step are pure functions of the IR, so
they are rendered again here and searched for in the prompt as a whole; nothing is guessed from its looks.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from itertools import product
from typing import Any, NamedTuple, get_args

from pytest_workrail.agents.agent import EngineDefectMark, Exchange, Transcript
from pytest_workrail.engine.core import prompts
from pytest_workrail.engine.core.index import contract_packs
from pytest_workrail.engine.core.modes import Confirmer
from pytest_workrail.engine.core.profiles import Profile, profile_of
from pytest_workrail.engine.core.prompts import PromptPart, PromptStyle, fixed_members
from pytest_workrail.engine.model.events import Event
from pytest_workrail.engine.model.words import AUTONOMIES
from pytest_workrail.golden.encoding import FORMAT, METADATA, PROMPTS, Prompts, dumps, encode_file, fold
from pytest_workrail.golden.symbols import Symbol, Symbols, joined, lines, split
from pytest_workrail.run.result import Matcher, Matching
from workrail_lint.base.js import Json
from workrail_lint.base.patterns import Pattern
from workrail_lint.systems.workrail.model.ir import BodyProgramStep, Program, RepeatingStep

_PASS = Pattern(r"\bpass ([0-9]+)(?: of |: |\*\*)", re.IGNORECASE)

FIX = Symbol("⟪FIX⟫")
SUGGESTION = Symbol("⟪SUGGESTION⟫")
# A digest of ids and of our wording, which the state of a refused attempt holds.
SNAPSHOT = Symbol("«SNAPSHOT»")
# What a candidate to resume says about the machine and the hour.
_CIRCUMSTANCES = {"lastModifiedMs": Symbol("«TIME»"), "gitBranch": Symbol("«BRANCH»")}
_masks: dict[tuple[str, str | Profile], SlotMask] = {}
_MAX_MASKS = 64
_SLOT = Pattern("⟪([A-Z_]+)⟫")


class _StepSlots(NamedTuple):
    """The texts that the engine may add to a step: an ending, metrics, a confirmation, each as text and symbols.

    `limits` are what the banners of the loops around it name as their limit, none if the step shows no banner.
    """

    limits: tuple[int | float | None, ...]
    endings: tuple[tuple[str, str], ...]
    metrics: tuple[tuple[str, str], ...]
    confirmations: tuple[tuple[str, str], ...]


class SlotMask:
    """Finds the slots in the prompts of one IR under one profile."""

    __slots__ = ("_assessments", "_loops", "_metrics", "_packs", "_profile", "_slots", "_steps")

    def __init__(self, program: Program, profile: Profile) -> None:
        self._loops: dict[str, list[RepeatingStep]] = {}
        for loop in program.loops:
            for step in loop.body:
                self._loops.setdefault(step.id, []).append(loop)
        self._steps = {step.id: step for step in program.all_steps if step.type != "loop"}
        self._packs = contract_packs(program)
        self._assessments = program.assessments
        self._metrics = program.metrics_profile
        self._profile = profile
        self._slots: dict[str, _StepSlots] = {}

    def parts(self, step_id: str, prompt: str) -> list[tuple[str | None, str]]:
        """The prompt of a step, cut where slots begin and end: the symbol of each slot, None for the author's text."""
        step = self._steps.get(step_id)
        if step is None:
            return [(None, prompt)]
        known = self._slots.get(step_id)
        if known is None:
            known = self._slots[step_id] = self._slots_of(step)
        parts: list[tuple[str | None, str]] = []
        banner = _banner(prompt, known.limits)
        if banner is not None:
            parts.append((banner.symbol, banner.text))
            prompt = prompt[len(banner.text) :]
        for choices in (known.endings, known.metrics, known.confirmations):
            for text, symbol in choices:
                before, slot, after = prompt.partition(text)
                if slot:
                    parts += ((None, before), (symbol, text))
                    prompt = after
                    break
        parts.append((None, prompt))
        return parts

    def _slots_of(self, step: BodyProgramStep) -> _StepSlots:
        confirmations = tuple(self._confirmations(step))
        if step.type == "parallel":
            return _StepSlots((), (), (), confirmations)
        loops = self._loops.get(step.id, [])
        # Where one text begins like another, the longer one has to be tried first.
        endings = [
            _together(parts)
            for style in PromptStyle
            for notes in (prompts.notes_slot(brief=False), prompts.notes_slot(brief=True), None)
            if any(parts := [*self._demands(step, loops[-1] if loops else None, style), notes])
        ]
        metrics = (prompts.metrics_slot(self._metrics, is_last) for is_last in (True, False))
        return _StepSlots(
            tuple(prompts.banner_limit(loop, self._profile) for loop in loops if not step.decides_loop),
            tuple(endings),
            tuple(_together([part]) for part in metrics if part is not None),
            confirmations,
        )

    def _confirmations(self, step: BodyProgramStep) -> Iterator[tuple[str, str]]:
        """Yield the confirmation texts a step may have. The mode, and so the wording, can change during a run."""
        match self._profile.answers:
            case "engine":
                return
            case "union" if step.confirmation.kind != "never":
                for confirmer, autonomy in product(get_args(Confirmer), AUTONOMIES):
                    yield _together([prompts.confirmation_slot(confirmer, autonomy)])

    def _demands(
        self, step: BodyProgramStep, loop: RepeatingStep | None, style: PromptStyle
    ) -> list[PromptPart | None]:
        """Return the slots that say what a step has to submit; they stand together, with the notes behind them."""
        parts: list[PromptPart | None] = []
        if step.contract is not None:
            ref = step.contract.ref
            fixed = fixed_members(step, None if loop is None else loop.id, self._profile)
            parts.append(prompts.contract_slot(ref, self._packs.get(ref), fixed, style))
        if step.assessments is not None:
            parts.append(prompts.assessment_slot(step.assessments.refs, self._assessments, style))
        return parts


def _together(parts: list[PromptPart | None]) -> tuple[str, str]:
    present = [part for part in parts if part is not None]
    return "".join(part.text for part in present), "".join(part.symbol for part in present)


def _banner(prompt: str, limits: tuple[int | float | None, ...]) -> PromptPart | None:
    """Return the loop banner a prompt starts with; which pass it speaks of is read from it and then made sure of."""
    if not limits:
        return None
    named = _PASS.search(prompt)
    iterations = (0,) if named is None else (0, max(int(named[1][:9]) - 1, 1))
    for iteration in iterations:
        for limit, style in product(limits, PromptStyle):
            banner = prompts.loop_banner(iteration, limit, style)
            if prompt.startswith(banner.text):
                return banner
    return None


def golden_bytes(transcript: Transcript, locks: Iterable[str] = ()) -> bytes:
    """Return the file of a transcript: the same bytes on every machine. `locks` are those that the run enforces."""
    value = folded_golden(transcript)
    enforced = sorted(set(locks))
    if not enforced:
        return encode_file(value)
    head = {name: value.pop(name) for name in ("format", "workflow", "profile", "mode", METADATA)}
    return encode_file({**head, "locks": enforced, **value})


def folded_golden(transcript: Transcript, matchers: tuple[Matcher, ...] = ()) -> dict[str, Any]:
    """Return the golden of a transcript with its prompts folded, as its file says it."""
    if not matchers:
        return golden_value(transcript, prompts=Prompts())
    return fold(split(Matching(matchers).apply(joined(golden_value(transcript)))))


def golden_value(
    transcript: Transcript, profile: Profile | None = None, prompts: Prompts | None = None
) -> dict[str, Any]:
    """Return what a golden says, in the order in which it is read. A profile is given where no name stands for it.

    Where `prompts` are given, they take the texts of the prompts, and the golden refers to them.
    """
    symbols = Symbols()
    mask = _mask_of(transcript, profile)
    value: dict[str, Any] = {
        "format": FORMAT,
        "workflow": transcript.workflow_id,
        "profile": transcript.profile,
        "mode": transcript.mode,
        METADATA: _metadata(transcript, symbols),
    }
    if transcript.engine_defects:
        value["engineDefects"] = [_defect(mark) for mark in transcript.engine_defects]
    if prompts is not None:
        value[PROMPTS] = prompts.texts
    value["transcript"] = [_exchange(exchange, symbols, mask, prompts) for exchange in transcript.exchanges]
    value["final"] = symbols.value(_final(transcript, profile or _profile(transcript)), abbreviate=True)
    return value


def story_value(transcript: Transcript) -> dict[str, Any]:
    """Return a run for readers: what a golden says of it, with the engine's words, and each prompt in parts.

    A part is the slot it fills, or None for the author's words, and its text.
    """
    symbols = Symbols()
    mask = _mask_of(transcript)
    return {
        "workflow": transcript.workflow_id,
        "profile": transcript.profile,
        "mode": transcript.mode,
        METADATA: _metadata(transcript, symbols),
        "transcript": [_told(exchange, symbols, mask) for exchange in transcript.exchanges],
        "final": symbols.value(_final(transcript, _profile(transcript)), abbreviate=True),
    }


def _told(exchange: Exchange, symbols: Symbols, mask: SlotMask) -> dict[str, Any]:
    symbols.workspace(exchange.request.get("workspacePath"))
    request = symbols.value(exchange.request, abbreviate=True)
    answer = "error" if exchange.is_error else "response"
    members = {"tool": exchange.tool, "request": request, answer: symbols.value(exchange.response)}
    pending = exchange.response.get("pending")
    prompt = pending.get("prompt") if isinstance(pending, dict) else None
    if isinstance(pending, dict) and isinstance(prompt, str):
        parts = mask.parts(str(pending.get("stepId")), prompt)
        named = [(symbol and " ".join(_SLOT.findall(symbol)), symbols.text(text)) for symbol, text in parts if text]
        members[answer]["pending"]["prompt"] = [list(part) for part in named]
    return members


def _defect(mark: EngineDefectMark) -> dict[str, Json]:
    """Return a mark without our words about the engine, which the generated list of its defects has."""
    return {name: value for name, value in mark.to_json().items() if name != "engine"}


def _profile(transcript: Transcript) -> Profile:
    return profile_of(transcript.profile)


def _final(transcript: Transcript, profile: Profile) -> dict[str, Json]:
    """Return how the run ended, and what it passed over where no answer says so."""
    final = _without_fixes(transcript.final)
    match profile.answers:
        case "engine" if transcript.skipped:
            return {**final, "skipped": [each.to_wire() for each in transcript.skipped]}
        case _:
            return final


def _metadata(transcript: Transcript, symbols: Symbols) -> dict[str, Any]:
    """Return which workflow it was. The lockfile pins it; a golden says only what an agent saw of it."""
    named = {name: transcript.ir[name] for name in ("version", "description") if name in transcript.ir}
    return {**symbols.value(named), "workflowHash": transcript.workflow_hash}


def lifecycle_bytes(transcript: Transcript, log: Iterable[Event]) -> bytes:
    """Return what was said and what was stored, and how it ended: the record of a run with prepared outputs."""
    symbols = Symbols()
    mask = _mask_of(transcript)
    return dumps(
        {
            "workflowHash": transcript.workflow_hash,
            "profile": transcript.profile,
            "transcript": [_call_and_answer(exchange, symbols, mask) for exchange in transcript.exchanges],
            "log": [_event(event, symbols) for event in log],
            "status": transcript.final["status"],
        }
    )


def _call_and_answer(exchange: Exchange, symbols: Symbols, mask: SlotMask) -> dict[str, Any]:
    """An exchange as such a record has it: an error is a response like any other, and the request shows the tool."""
    members = _exchange(exchange, symbols, mask)
    return {"request": members["request"], "response": members["error" if exchange.is_error else "response"]}


def _event(event: Event, symbols: Symbols) -> dict[str, Any]:
    """Return an event without what says when and under which name it was stored."""
    wire: dict[str, Any] = event.to_wire()
    kept = {name: wire[name] for name in ("scope", "data") if name in wire}
    if kept["data"].get("nodeKind") == "blocked_attempt":
        kept["data"] = {**kept["data"], "snapshotRef": SNAPSHOT}
    return {"index": wire["eventIndex"], "kind": wire["kind"], **symbols.value(kept)}


def _mask_of(transcript: Transcript, profile: Profile | None = None) -> SlotMask:
    """Tests tend to run the same few workflows again and again; their hash stands for the IR."""
    at = (transcript.workflow_hash, profile or transcript.profile)
    mask = _masks.get(at)
    if mask is None:
        if len(_masks) >= _MAX_MASKS:
            _masks.clear()
        mask = _masks[at] = SlotMask(transcript.program, profile or _profile(transcript))
    return mask


def _exchange(exchange: Exchange, symbols: Symbols, mask: SlotMask, prompts: Prompts | None = None) -> dict[str, Any]:
    symbols.workspace(exchange.request.get("workspacePath"))
    request = symbols.value(exchange.request, abbreviate=True)
    if exchange.is_error:
        return {"tool": exchange.tool, "request": request, "error": symbols.value(_error(exchange.response))}
    response = _response(exchange.response, symbols, mask, prompts)
    return {"tool": exchange.tool, "request": request, "response": response}


def _response(response: Mapping[str, Json], symbols: Symbols, mask: SlotMask, prompts: Prompts | None) -> Any:
    members = dict(response)
    blockers = members.get("blockers")
    if isinstance(blockers, dict):
        members["blockers"] = _without_fixes(blockers)
    candidates = members.get("candidates")
    if isinstance(candidates, list):
        members["candidates"] = [_candidate(candidate) for candidate in candidates]
    pending = members.get("pending")
    prompt = pending.get("prompt") if isinstance(pending, dict) else None
    if not isinstance(pending, dict) or not isinstance(prompt, str):
        return symbols.value(members)
    members["pending"] = {**pending, "prompt": ""}
    value = symbols.value(members)
    parts = mask.parts(str(pending.get("stepId")), prompt)
    text = "".join([symbols.text(part) if symbol is None else symbol for symbol, part in parts])
    step = value["pending"]
    step["prompt"] = lines(text if prompts is None else prompts.refer(str(step.get("stepId")), text))
    return value


def _error(error: Mapping[str, Json]) -> Mapping[str, Json]:
    details = error.get("details")
    if not isinstance(details, dict) or not isinstance(details.get("suggestion"), str):
        return error
    return {**error, "details": {**details, "suggestion": SUGGESTION}}


def _without_fixes(holder: Mapping[str, Json]) -> dict[str, Json]:
    """Something that holds blockers, without our wording of what to do about them."""
    blockers = holder.get("blockers")
    if not isinstance(blockers, list):
        return dict(holder)
    items: list[Json] = [
        {**each, "suggestedFix": FIX} if isinstance(each, dict) and "suggestedFix" in each else each
        for each in blockers
    ]
    return {**holder, "blockers": items}


def _candidate(candidate: Json) -> Json:
    if not isinstance(candidate, dict):
        return candidate
    hidden = {name: symbol for name, symbol in _CIRCUMSTANCES.items() if candidate.get(name) is not None}
    return {**candidate, **hidden}
