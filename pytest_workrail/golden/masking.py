"""Our own wording out of prompts: a golden shows the name of a slot, so that it stays when only the wording changes.

A transcript holds prompts as the agent got them. The slots of a step are pure functions of the IR, so they are made
again here and found in the prompt as a whole; nothing is guessed from its looks.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import product
from typing import Any, get_args

from pytest_workrail.engine.core import prompt_slots as slots
from pytest_workrail.engine.core.confirmation import Confirmer
from pytest_workrail.engine.core.guidance import fixed_members
from pytest_workrail.engine.core.modes import AUTONOMIES
from pytest_workrail.engine.core.packs import contract_packs
from pytest_workrail.engine.core.profiles import Answers, Profile
from pytest_workrail.engine.core.prompt_slots import PromptPart, PromptStyle
from workrail_lint.base.patterns import Pattern
from workrail_lint.base.typed import NamedTuple

_PASS = Pattern(r"\bpass ([0-9]+)(?: of |: |\*\*)", re.IGNORECASE)


class _StepSlots(NamedTuple):
    """What the engine may add to a step: an ending, metrics, a confirmation, each as text and symbols.

    `limits` are what the banners of the loops around it name as their limit, none if the step shows no banner.
    """

    limits: tuple[int | float | None, ...]
    endings: tuple[tuple[str, str], ...]
    metrics: tuple[tuple[str, str], ...]
    confirmations: tuple[tuple[str, str], ...]


class SlotMask:
    """Finds the slots in the prompts of one IR under one profile."""

    __slots__ = ("_assessments", "_loops", "_metrics", "_packs", "_profile", "_slots", "_steps")

    def __init__(self, ir: dict[str, Any], profile: Profile) -> None:
        loops = [step for step in ir["steps"] if step["type"] == "loop"]
        self._loops: dict[str, list[dict[str, Any]]] = {}
        for loop in loops:
            for step in loop["body"]:
                self._loops.setdefault(step["id"], []).append(loop)
        bodies = (step for loop in loops for step in loop["body"])
        self._steps = {step["id"]: step for step in (*ir["steps"], *bodies) if step["type"] != "loop"}
        self._packs = contract_packs(ir)
        self._assessments = ir["assessments"]
        self._metrics = ir.get("metricsProfile")
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
                before, found, after = prompt.partition(text)
                if found:
                    parts += ((None, before), (symbol, text))
                    prompt = after
                    break
        parts.append((None, prompt))
        return parts

    def _slots_of(self, step: dict[str, Any]) -> _StepSlots:
        confirmations = tuple(self._confirmations(step))
        if step["type"] == "parallel":
            return _StepSlots((), (), (), confirmations)
        loops = self._loops.get(step["id"], [])
        # Where one text begins like another, the longer one has to be tried first.
        endings = [
            _together(parts)
            for style in PromptStyle
            for notes in (slots.notes_slot(brief=False), slots.notes_slot(brief=True), None)
            if any(parts := [*self._demands(step, loops[-1] if loops else None, style), notes])
        ]
        metrics = (slots.metrics_slot(self._metrics, is_last) for is_last in (True, False))
        return _StepSlots(
            tuple(slots.banner_limit(loop, self._profile) for loop in loops if not slots.is_exit_step(step)),
            tuple(endings),
            tuple(_together([part]) for part in metrics if part is not None),
            confirmations,
        )

    def _confirmations(self, step: dict[str, Any]) -> Iterator[tuple[str, str]]:
        """What a step may say about who confirms it. The mode, and with it the wording, can change during a run."""
        match self._profile.answers:
            case Answers.ENGINE:
                return
            case Answers.UNION if step["confirmation"]["kind"] != "never":
                for confirmer, autonomy in product(get_args(Confirmer), AUTONOMIES):
                    yield _together([slots.confirmation_slot(confirmer, autonomy)])

    def _demands(
        self, step: dict[str, Any], loop: dict[str, Any] | None, style: PromptStyle
    ) -> list[PromptPart | None]:
        """The slots that say what a step has to hand in; they stand together, with the notes behind them."""
        output = step["output"]
        parts: list[PromptPart | None] = []
        if "contract" in output:
            ref = output["contract"]["ref"]
            fixed = fixed_members(step, None if loop is None else loop["id"], self._profile)
            parts.append(slots.contract_slot(ref, self._packs.get(ref), fixed, style))
        if "assessments" in output:
            parts.append(slots.assessment_slot(output["assessments"]["refs"], self._assessments, style))
        return parts


def _together(parts: list[PromptPart | None]) -> tuple[str, str]:
    present = [part for part in parts if part is not None]
    return "".join(part.text for part in present), "".join(part.symbol for part in present)


def _banner(prompt: str, limits: tuple[int | float | None, ...]) -> PromptPart | None:
    """The loop banner a prompt starts with; which pass it speaks of is read from it and then made sure of."""
    if not limits:
        return None
    named = _PASS.search(prompt)
    iterations = (0,) if named is None else (0, max(int(named[1][:9]) - 1, 1))
    for iteration in iterations:
        for limit, style in product(limits, PromptStyle):
            banner = slots.loop_banner(iteration, limit, style)
            if prompt.startswith(banner.text):
                return banner
    return None
