"""Every fix, safe or not: it removes its finding, adds none, needs one pass, and keeps the author's words.

Looked at in the examples of all rules, in the fixtures and in damaged workflows; the public ones are in `conformance`.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import effort
import pytest
from fix_effects import check, files, problems, read, wrong_fixes

from tools import mutants
from workrail_lint.documents.json_edit import apply_fix, fix_edits
from workrail_lint.rules.example_files import as_bytes
from workrail_lint.systems.workrail.rules import RULES
from workrail_lint.systems.workrail.rules.assessments import assessment
from workrail_lint.systems.workrail.rules.samples import controlled_loop, loop, step, workflow
from workrail_lint.systems.workrail.rules.templates import calling

ROOT = Path(__file__).parents[3]
SIMULATION = "wr.templates.routine.execution-simulation"


def examples() -> Iterator[tuple[str, str, str]]:
    for rule in RULES.rules():
        if rule.fix:
            for example in rule.examples():
                text = as_bytes(example.bad).decode("utf-8", errors="replace")
                yield rule.code, example.path, text


def test_fixes_of_examples() -> None:
    assert wrong_fixes(examples()) == []


@pytest.mark.search
def test_fixes_of_fixtures() -> None:
    sample = files(ROOT / "fixtures")
    assert wrong_fixes(random.Random(7).sample(sample, effort.times(20, deep=len(sample)))) == []


@pytest.mark.search
def test_fixes_of_mutants() -> None:
    sources = [(path, text) for path, _, text, _ in mutants.sources()]
    wrong: list[str] = []
    for number in range(effort.times(60, deep=3000)):
        chance = random.Random(f"fix {number}")
        path, text = chance.choice(sources)
        mutant = json.dumps(mutants.mutate(json.loads(text), chance), indent=2, ensure_ascii=False)
        wrong += [f"fix {number}: {problem}" for problem in problems(mutant, path)]
    assert wrong == []


# Single fixes


def _fix_of(code: str, document: Any) -> str | None:
    """The document after the fix of the only finding of a rule; None where it has none."""
    text = json.dumps(document, indent=2) + "\n"
    [finding] = [each for each in check(text, "workflows/example.json") if each.code == code]
    edits = fix_edits(read(text), finding.fix) if finding.fix is not None else ()
    return apply_fix(text, edits) if edits else None


def test_a_loop_that_an_artifact_decides_says_when_to_stop() -> None:
    body = step("probe", "Probe the service and count the failures in `failures`.")
    condition = {"var": "failures", "gt": 2}
    fixed = _fix_of(
        "LP018", workflow(step(), loop(body, type="while", count=..., maxIterations=4, condition=condition))
    )
    assert fixed is not None
    assert "`continue` if failures is greater than 2, else `stop`" in fixed


def test_a_condition_that_words_can_not_say_is_not_replaced() -> None:
    body = step("probe", "Probe the service and set `a`.")
    deep: dict[str, Any] = {"var": "a", "gt": 2}
    for _ in range(4):
        deep = {"and": [deep, {"var": "a", "lt": 9}]}
    assert (
        _fix_of("LP018", workflow(step(), loop(body, type="while", count=..., maxIterations=4, condition=deep))) is None
    )


def test_an_argument_that_another_step_uses_is_not_removed() -> None:
    call = calling(SIMULATION, args={"reportFile": "simulation.md"})
    call["steps"].append(step("read-it", "Summarise simulation.md."))
    assert _fix_of("TP003", call) is None
    call["steps"][-1] = step("read-it", "Summarise the result.")
    assert _fix_of("TP003", call) is not None


def test_an_operator_is_not_renamed_where_its_value_does_not_suit() -> None:
    def document(operand: Any) -> Any:
        condition = {"var": "size", "less_than_or_equal_to": operand}
        return workflow(step(prompt="Set `size` to the number of files."), step("dig", runCondition=condition))

    assert _fix_of("CD001", document("three")) is None
    fixed = _fix_of("CD001", document(3))
    assert fixed is not None
    assert '"lte": 3' in fixed


def test_an_assessment_that_a_template_call_drops_is_not_removed() -> None:
    call = calling(SIMULATION, assessmentRefs=["readiness"])
    call["assessments"] = [assessment("readiness")]
    assert _fix_of("TP005", call) is None
    assert _fix_of("TP005", calling(SIMULATION, guidance=["Be patient."])) is not None


def test_the_id_of_a_loop_that_is_invalid_is_not_copied() -> None:
    document = workflow(step(), controlled_loop())
    document["steps"][1]["id"] = "Try Again"
    assert _fix_of("LP022", document) is None
    document["steps"][1]["id"] = "try-again"
    assert _fix_of("LP022", document) is not None
