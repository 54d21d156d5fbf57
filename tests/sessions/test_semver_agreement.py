"""What breaks a recorded session is a major change, unless the new version only offers or demands less."""

from __future__ import annotations

from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
from session_files import Session, step, workflow
from test_replay import PLAIN, ROUNDS, judged

from workrail_lint import compile_workflow
from workrail_lint.systems.workrail.diff import outline
from workrail_lint.systems.workrail.semver import Part, judge_change

# A recorded run notices these too, because it knows nothing of them; who relies on the workflow is not stopped.
OFFERED = {"step-added", "output-relaxed", "bound-raised"}
STRICT = workflow(
    step("first"), step("second", validationCriteria=[{"type": "contains", "value": "One", "message": "Say One."}])
)


def _changed(base: dict[str, Any], number: int, **members: Any) -> dict[str, Any]:
    result = deepcopy(base)
    result["steps"][number].update(members)
    return result


def _versions(base: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the workflow after one edit each, of every kind that a recorded run could notice."""
    steps = base["steps"]
    condition = {"var": "deep", "equals": True}
    result = [
        {**base, "steps": [*steps[:number], *steps[number + 1 :]]} for number in range(len(steps)) if len(steps) > 1
    ]
    result += [{**base, "steps": [*steps[:number], step("new"), *steps[number:]]} for number in range(len(steps) + 1)]
    result += [{**base, "steps": list(reversed(steps))}]
    for number, each in enumerate(steps):
        result.append(_changed(base, number, id=f"{each['id']}-renamed"))
        result.append(_changed(base, number, title="Another title"))
        result.append(_changed(base, number, runCondition=condition))
        result.append(_changed(base, number, runCondition={"not": condition}))
        result.append(_changed(base, number, requireConfirmation=True))
        result.append(_changed(base, number, notesOptional=not each.get("notesOptional", False)))
        if "prompt" in each:
            result.append(_changed(base, number, prompt="Do it differently."))
            rule = {"type": "contains", "value": "nowhere", "message": "Say nowhere."}
            result.append(_changed(base, number, validationCriteria=[rule]))
            result.append(_changed(base, number, outputContract={"contractRef": "wr.contracts.review_verdict"}))
        else:
            result.append(_changed(base, number, loop={**each["loop"], "maxIterations": 2}))
            result.append(_changed(base, number, loop={**each["loop"], "maxIterations": 9}))
            result.append(_changed(base, number, loop={**each["loop"], "condition": {"var": "less", "equals": True}}))
    return result


def _sessions() -> dict[str, tuple[dict[str, Any], Session]]:
    rounds = Session(ROUNDS).submit().submit(context={"more": True})
    for _ in range(3):
        rounds = rounds.submit(context={"more": True})
    return {
        "plain": (PLAIN, Session(PLAIN).submit().submit("One.").submit("Two.").submit("Three.")),
        "under way": (PLAIN, Session(PLAIN).submit().submit("One.")),
        "rounds": (ROUNDS, rounds),
        "strict": (STRICT, Session(STRICT).submit().submit("One.").submit("Nothing.").submit("One.")),
    }


@pytest.mark.parametrize("name", list(_sessions()))
def test_what_breaks_a_session_is_major(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    base, session = _sessions()[name]
    old = outline(compile_workflow(base).value.ir)
    breaks = 0
    for number, version in enumerate(_versions(base)):
        folder = tmp_path / str(number)
        folder.mkdir()
        verdict = judged(folder, session, version, capsys)
        judgement = judge_change("test", old, outline(compile_workflow(version).value.ir))
        assert verdict["verdict"] != "same" or judgement.required is not Part.NONE
        if verdict["verdict"] == "breaks":
            breaks += 1
            kinds = {reason.kind for reason in judgement.reasons}
            assert judgement.required is Part.MAJOR or kinds <= OFFERED, (number, verdict["reason"], kinds)
    assert breaks > 5
