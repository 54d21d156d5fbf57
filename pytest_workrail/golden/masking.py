"""Our own wording out of prompts: a golden shows the name of a slot, so that it stays when only the wording changes.

A transcript holds prompts as the agent got them. The slots of a step are pure functions of the IR, so they are made
again here and found in the prompt as a whole; nothing is guessed from its looks.
"""

from __future__ import annotations

import re
from typing import Any, NamedTuple, cast

from pytest_workrail.engine import slots
from pytest_workrail.engine.guidance import fixed_members
from pytest_workrail.engine.index import IrIndex
from pytest_workrail.engine.outputs import requires_notes
from pytest_workrail.engine.profiles import ProfileName, profile_of
from pytest_workrail.engine.prompts import last_step_id
from pytest_workrail.engine.slots import PromptPart, PromptStyle
from pytest_workrail.golden.symbols import Symbol

_PASS = re.compile(r"\bpass ([0-9]+) of ", re.IGNORECASE)


class _StepSlots(NamedTuple):
    """What the engine may add to a step. `limit` is that of its loop, if the step shows a banner there."""

    limit: int | float | None
    endings: tuple[tuple[str, str], ...]
    metrics: PromptPart | None


class SlotMask:
    """Finds the slots in the prompts of one IR under one profile."""

    __slots__ = ("_index", "_last_step_id", "_loop_of", "_profile", "_slots")

    def __init__(self, ir: dict[str, Any], profile: str) -> None:
        self._index = IrIndex(ir)
        self._profile = profile_of(cast(ProfileName, profile))
        self._last_step_id = last_step_id(ir)
        self._loop_of = {step["id"]: loop for loop in self._index.loops.values() for step in loop["body"]}
        self._slots: dict[str, _StepSlots] = {}

    def pieces(self, step_id: str, prompt: str) -> list[str]:
        """The prompt of a step, cut where slots begin and end; each slot is a symbol."""
        step = self._index.definitions.get(step_id)
        if step is None or step["type"] != "step":
            return [prompt]
        known = self._slots.get(step_id)
        if known is None:
            known = self._slots[step_id] = self._slots_of(step)
        pieces: list[str] = []
        banner = _banner(prompt, known.limit)
        if banner is not None:
            pieces.append(Symbol(banner.symbol))
            prompt = prompt[len(banner.text) :]
        for text, symbol in known.endings:
            before, found, after = prompt.partition(text)
            if found:
                pieces += (before, Symbol(symbol))
                prompt = after
                break
        if known.metrics is not None:
            before, found, after = prompt.partition(known.metrics.text)
            if found:
                pieces += (before, Symbol(known.metrics.symbol))
                prompt = after
        pieces.append(prompt)
        return pieces

    def _slots_of(self, step: dict[str, Any]) -> _StepSlots:
        loop = self._loop_of.get(step["id"])
        shows_banner = loop is not None and not slots.is_exit_step(step)
        endings = (
            ending
            for style in PromptStyle
            for brief in (False, True)
            if (ending := self._ending(step, loop, style, brief))[0]
        )
        return _StepSlots(
            loop["loop"]["maxIterations"] if loop is not None and shows_banner else None,
            tuple(dict.fromkeys(endings)),
            slots.metrics_slot(self._index.ir.get("metricsProfile"), step["id"] == self._last_step_id),
        )

    def _ending(
        self, step: dict[str, Any], loop: dict[str, Any] | None, style: PromptStyle, brief: bool
    ) -> tuple[str, str]:
        """The slots that always stand together, as text and as symbols."""
        output = step["output"]
        parts: list[PromptPart | None] = []
        if "contract" in output:
            ref = output["contract"]["ref"]
            fixed = fixed_members(step, None if loop is None else loop["id"], self._profile)
            parts.append(slots.contract_slot(ref, self._index.packs.get(ref), fixed, style))
        if "assessments" in output:
            parts.append(slots.assessment_slot(output["assessments"]["refs"], self._index.ir["assessments"], style))
        if requires_notes(step) and style is PromptStyle.FULL:
            parts.append(slots.notes_slot(brief))
        present = [part for part in parts if part is not None]
        return "".join(part.text for part in present), "".join(part.symbol for part in present)


def _banner(prompt: str, limit: int | float | None) -> PromptPart | None:
    """The loop banner a prompt starts with; which pass it speaks of is read from it and then made sure of."""
    if limit is None:
        return None
    named = _PASS.search(prompt)
    iterations = (0,) if named is None else (0, max(int(named[1][:9]) - 1, 1))
    for iteration in iterations:
        for style in PromptStyle:
            banner = slots.loop_banner(iteration, limit, style)
            if prompt.startswith(banner.text):
                return banner
    return None
