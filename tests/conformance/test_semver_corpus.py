"""Corrections that authors of public workflows made: the part of the version that each of them needs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from oracle import shared_folder

from workrail_lint import Ok, compile_workflow
from workrail_lint.cli.diff import read_outline, workflow_id
from workrail_lint.systems.workrail.semver import Judgement, Part, judge_change
from workrail_lint.systems.workrail.settings import Settings

SHARED = shared_folder()
FIXES = sorted((SHARED / "corpus" / "fixes").glob("*/before/*.json")) if SHARED is not None else []
pytestmark = pytest.mark.skipif(not FIXES, reason="the public workflows are not here (../shared/corpus)")
WORDS = ("prompt", "title", "name", "description", "about", "text", "guidance", "purpose", "examples", "metaGuidance")


def judged(before: Path, after: Path) -> Judgement | None:
    """The verdict on a correction; None where one of the two does not compile."""
    old, new = (read_outline(str(path), path.read_bytes(), Settings(), quiet=True) for path in (before, after))
    return None if old is None or new is None else judge_change(workflow_id(after.read_bytes()) or "", old, new)


def without_words(value: Any) -> Any:
    """An IR without what only people and agents read."""
    if isinstance(value, dict):
        return {name: without_words(item) for name, item in value.items() if name not in (*WORDS, "version")}
    return [without_words(item) for item in value] if isinstance(value, list) else value


def step_ids(ir: Any) -> set[str]:
    return {step["id"] for top in ir["steps"] for step in (top, *top.get("body", ()))}


def test_every_correction_has_the_part_that_its_ir_asks_for() -> None:
    verdicts: dict[Part, int] = {}
    for before in FIXES:
        after = before.parents[1] / "after" / before.name
        judgement = judged(before, after)
        old, new = compile_workflow(before), compile_workflow(after)
        if judgement is None or not isinstance(old, Ok) or not isinstance(new, Ok):
            continue
        place = (before.parents[1].name, before.name, judgement.reasons[:3])
        verdicts[judgement.required] = verdicts.get(judgement.required, 0) + 1
        if step_ids(old.value.ir) - step_ids(new.value.ir):
            assert judgement.required is Part.MAJOR, place
        elif step_ids(new.value.ir) - step_ids(old.value.ir):
            assert judgement.required >= Part.MINOR, place
        if json.dumps(without_words(old.value.ir)) == json.dumps(without_words(new.value.ir)):
            assert judgement.required <= Part.PATCH, place
        elif judgement.required <= Part.PATCH:
            # Only where words came from or what they are stands between the two.
            kinds = {reason.kind for reason in judgement.reasons}
            assert kinds <= {"wording"}, place
    assert {part: count > 0 for part, count in verdicts.items()} == dict.fromkeys(Part, True)
    assert sum(verdicts.values()) >= 25
