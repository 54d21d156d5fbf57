"""The fixture `workrail`, and the same helpers without pytest."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from plugin_project import REVIEW

from pytest_workrail import api
from pytest_workrail.run.bench import Declared
from workrail_lint import compile_workflow

if TYPE_CHECKING:
    from plugin_project import Project

pytest_plugins = ["pytester"]


def test_run_script_auto_compare_compile(project: Project) -> None:
    project.write(
        "test_review.py",
        """
def test_run(workrail):
    run = workrail.run("workflows/review.json")
    assert run.status == "complete"
    assert run.steps == ("read-change", "give-verdict")

def test_script(workrail):
    verdict = {"kind": "wr.gate_verdict", "version": 1, "verdict": "approved", "confidence": "high",
               "rationale": "Nothing speaks against it."}
    agent = workrail.script({"read-change": "Read it.", "give-verdict": {"artifacts": [verdict]}})
    run = workrail.run("workflows/review.json", agent=agent, mode="guided", profile="locked")
    assert run.outputs["give-verdict"] == {"artifacts": [verdict]}

def test_auto(workrail):
    run = workrail.run("workflows/review.json", agent=workrail.auto({"give-verdict": {"does": "wrong_kind"}}))
    assert run.blockers == ("MISSING_REQUIRED_OUTPUT",)

def test_stubborn_and_lossy(workrail):
    assert workrail.run("workflows/review.json", workrail.stubborn("wrong_kind")).status == "error"
    assert workrail.run("workflows/review.json", workrail.lossy()).status == "complete"
    assert workrail.run("workflows/review.json", workrail.erratic(4)).status == "complete"

def test_compare(workrail):
    assert workrail.compare("workflows/review.json").agree

def test_compile(workrail):
    compiled = workrail.compile("workflows/review.json")
    assert workrail.run(compiled).transcript.workflow_hash == compiled.hash
""",
    )
    project.run().assert_outcomes(passed=6)


def test_lifecycle(project: Project) -> None:
    project.write(
        "test_review.py",
        """
import pytest

VERDICT = {"kind": "wr.gate_verdict", "version": 1, "verdict": "approved", "confidence": "high",
           "rationale": "Nothing speaks against it."}

def test_lifecycle(workrail):
    prepared = {"read-change": {"notesMarkdown": "Read it."}, "give-verdict": {"artifacts": [VERDICT]}}
    result = workrail.lifecycle("workflows/review.json", prepared)
    assert result.kind == "success"
    result.run.match_golden()

def test_invalid(workrail):
    assert workrail.lifecycle({"id": "demo.none", "steps": []}, {}).kind == "compilation_failed"
""",
    )
    project.run("--workrail-golden=new", "--workrail-cov").assert_outcomes(passed=2)
    (golden,) = project.path.rglob("*.golden.json")
    golden.write_text(golden.read_text("utf-8").replace("Read it.", "Looked at it."), "utf-8")
    project.run().assert_outcomes(failed=1, passed=1)
    project.run("--workrail-update-goldens").assert_outcomes(passed=2)
    project.run().assert_outcomes(passed=2)


def test_lifecycle_tells_what_is_wrong_as_the_project_compiles_it(project: Project) -> None:
    project.write("workrail-lint.toml", 'routines = "nowhere"\n')
    project.write("workflows/called.json", {**REVIEW, "id": "demo.called"})
    project.write(
        "test_called.py",
        """
import pytest

def test_it(workrail):
    with pytest.raises(AssertionError) as raised:
        workrail.compile("workflows/called.json")
    result = workrail.lifecycle("workflows/called.json", {})
    assert result.kind == "compilation_failed"
    assert [error["message"] for error in result.errors] == [each.message for each in raised.value.findings]
""",
    )
    project.run().assert_outcomes(passed=1)


def test_paths_are_looked_for_beside_the_test_first(project: Project) -> None:
    project.write("tests/workflows/review.json", {**REVIEW, "id": "demo.nearer"})
    body = "def test_it(workrail):\n    assert workrail.compile('workflows/review.json').ir['workflowId'] == '{}'\n"
    project.write("tests/test_near.py", body.format("demo.nearer"))
    project.write("elsewhere/test_far.py", body.format("demo.review"))
    project.run().assert_outcomes(passed=2)


def test_failures_read_well(project: Project) -> None:
    project.write(
        "test_bad.py",
        """
def test_script(workrail):
    workrail.run("workflows/review.json", agent={"read-change": "x"})

def test_compile(workrail):
    workrail.compile({"id": "demo.nothing"})
""",
    )
    result = project.run()
    result.assert_outcomes(failed=2)
    result.stdout.fnmatch_lines(
        [
            "E*RunFailed: The script has no answer for step 'give-verdict'.",
            "E*the run so far:",
            "E*2  continue with notes 'x' -> pending give-verdict",
            "E*WorkflowInvalid: the workflow does not compile:",
        ]
    )


def test_goldens_of_tests(project: Project) -> None:
    project.write(
        "test_golden.py",
        """
def test_golden(workrail):
    run = workrail.run("workflows/review.json", context={"what": "the change"})
    run.match_golden()
    run.match_golden("again")
""",
    )
    project.scenario("review", golden=True)
    project.run().assert_outcomes(failed=2)
    project.run("--workrail-golden=new").assert_outcomes(passed=2)
    project.run().assert_outcomes(passed=2)
    assert goldens(project) == [
        "review.golden.json",
        "test_golden.again.golden.json",
        "test_golden.golden.json",
    ]
    changed = {**REVIEW, "steps": [{**REVIEW["steps"][0], "prompt": "Skim {{what}}."}, REVIEW["steps"][1]]}
    project.write("workflows/review.json", changed)
    result = project.run()
    result.assert_outcomes(failed=2)
    result.stdout.fnmatch_lines(["*{+Skim+} the change.*"])


def test_an_expectation_that_fails_keeps_its_golden_from_being_updated(project: Project) -> None:
    project.scenario("review", golden=True)
    project.run("--workrail-golden=new").assert_outcomes(passed=1)
    (golden,) = project.path.rglob("*.golden.json")
    before = golden.read_bytes()
    project.scenario("review", golden=True, context={"what": "more"}, expect={"steps": ["read-change"]})
    project.run("--workrail-golden=update").assert_outcomes(failed=1)
    assert golden.read_bytes() == before
    project.scenario("review", golden=True, context={"what": "more"})
    project.run("--workrail-golden=update").assert_outcomes(passed=1)
    assert golden.read_bytes() != before


def test_unused_goldens_are_removed_on_request(project: Project) -> None:
    for number in range(4):
        project.scenario(f"case-{number}", golden=True)
    project.run("--workrail-golden=new").assert_outcomes(passed=4)
    (project.path / "scenarios" / "case-3.scenario.json").unlink()
    project.run("--workrail-golden=prune", "-k", "case-0")
    assert len(goldens(project)) == 4, "not after a run of a few"
    project.run("--workrail-golden=prune", "scenarios/case-0.scenario.json")
    assert len(goldens(project)) == 4
    project.run("--workrail-golden=prune").assert_outcomes(passed=3)
    assert len(goldens(project)) == 3


def test_what_workers_found_is_put_together(project: Project) -> None:
    for number in range(5):
        project.scenario(f"case-{number}", golden=True)
    result = project.pytester.runpytest_inprocess("--workrail-golden=new", "--workrail-cov", "-n", "2")
    result.assert_outcomes(passed=5)
    assert len(goldens(project)) == 5
    result.stdout.fnmatch_lines(["*5 written*", "demo.review *2/2*"])


def goldens(project: Project) -> list[str]:
    return sorted(path.name for path in project.path.rglob("*.golden.json"))


def test_coverage_counts_runs_of_both_kinds(project: Project) -> None:
    project.scenario("review")
    project.write("test_run.py", "def test_run(workrail):\n    assert workrail.run('workflows/review.json').status\n")
    result = project.run("--workrail-cov")
    result.stdout.fnmatch_lines(["*workflow coverage*", "demo.review *2/2*"])


def test_a_scenario_under_both_profiles(project: Project) -> None:
    project.scenario("plain")
    project.scenario("both", agent={"kind": "auto", "turns": [{"step": "read-change", "does": "missing_notes"}]})
    project.write(
        "test_both.py",
        """
def test_both(workrail):
    assert workrail.compare("scenarios/plain.scenario.json").agree
    both = workrail.compare("scenarios/both.scenario.json")
    assert not both.agree  # `locked` has the failed validation on record
    assert both.locked.blockers == both.reference.blockers == ("MISSING_REQUIRED_NOTES",)
""",
    )
    project.run("test_both.py").assert_outcomes(passed=1)


def test_scenarios_enforce_locks(project: Project) -> None:
    project.write("docs/design.md", "# Design\n\n## Outputs\n")
    lock = {"source": "docs/design.md#outputs", "summary": "Says something.", "category": "protocol"}
    project.write(
        "locks.json",
        {
            "lockRegistryVersion": 1,
            "version": "1.0.0",
            "locks": [{"id": name, **lock} for name in ("notes-are-required", "never-shown")],
            "categories": {"protocol": "Tool behaviour."},
        },
    )
    project.scenario("enforcing", enforces=["notes-are-required"])
    project.scenario("idle", enforces=["never-shown"], skip="not yet")
    result = project.run("--workrail-locks=locks.json", "--workrail-locks-check")
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    text = result.stdout.str()
    assert "1 of 2" in text
    assert "never-shown" in text


def test_a_golden_that_is_written_enforces_nothing(project: Project) -> None:
    project.write("design.md", "# Design\n")
    lock = {"id": "pinned", "category": "runs", "source": "design.md", "summary": "A run stays as it is."}
    registry = {"lockRegistryVersion": 1, "version": "1.0.0", "categories": {"runs": "Runs."}, "locks": [lock]}
    project.write("locks.json", registry)
    project.write(
        "test_pinned.py",
        f"""
# @enforces pinned
def test_pinned(workrail):
    workrail.run({str(REVIEW)!r}).match_golden()
""",
    )
    options = ("test_pinned.py", "--workrail-locks=locks.json", "--workrail-locks-check")
    first = project.run(*options, "--workrail-golden=new")
    first.stdout.fnmatch_lines(["*pinned: test_pinned.py::test_pinned asserted nothing"])
    project.run(*options).stdout.fnmatch_lines(["1 of 1 locks enforced*"])


def test_without_pytest() -> None:
    assert api.run(REVIEW).status == "complete"
    text = '{"id": "demo.text", "name": "T", "description": "d", "version": "1.0.0", "steps": []}'
    with pytest.raises(api.WorkflowInvalid, match="add at least one"):
        api.compile(text)
    compiled = compile_workflow(REVIEW).value
    assert api.compile(compiled) is compiled
    both = api.compare(REVIEW, api.script({"read-change": "x"}))
    assert both.reference.ending.kind == "misplayed", "a comparison raises nothing"
    with pytest.raises(api.RunFailed) as failure:
        api.run(REVIEW, {"read-change": "x"})
    assert failure.value.run.steps == ("read-change",)


def test_only_workflows_have_two_profiles_to_compare() -> None:
    with pytest.raises(ValueError, match="not a scenario of a workflow"):
        api.compare(Path(__file__).parents[2] / "fixtures" / "scenarios" / "blocks" / "broken-output.scenario.json")


@pytest.mark.parametrize(
    ("mode", "risk", "policy"),
    [
        ("guided", None, "conservative"),
        ("full_auto_stop_on_user_deps", None, "balanced"),
        ("full_auto_never_stop", None, "conservative"),
        ("guided", "aggressive", "aggressive"),
    ],
)
def test_modes_bring_their_risk_policy(mode: str, risk: str | None, policy: str) -> None:
    run = api.run(REVIEW, mode=mode, risk=risk)  # type: ignore[arg-type]
    assert run.responses[0]["preferences"] == {"autonomy": mode, "riskPolicy": policy}


def test_declared_needs_from_python() -> None:
    from pytest_workrail.engine.model.reasons import MissingContextKey

    need = Declared("read-change", MissingContextKey("what"))
    assert api.run(REVIEW, profile="locked", declares=[need]).blockers == ("MISSING_CONTEXT_KEY",)
