"""Workflow coverage as an option of pytest: what counts, and how it is told."""

from __future__ import annotations

import sys
from typing import Any

import pytest
from cov_project import FORKED, CovProject, project
from covered import step, workflow

__all__ = ["project"]


def test_a_table_for_each_workflow_and_in_total(project: CovProject) -> None:
    project.write("workflows/other.json", workflow(step("only"), id="demo.other"))
    project.scenario("plain")
    project.scenario("other", workflow="workflows/other.json")
    result = project.run("--workrail-cov")
    result.assert_outcomes(passed=2)
    at = next(index for index, line in enumerate(result.outlines) if "workflow coverage" in line)
    assert result.outlines[at + 1 : at + 5] == [
        "workflow      steps  conditions  blockers  gaps     total",
        "demo.covered    2/3         1/3       0/1   0/1   3/8 37%",
        "demo.other      1/1           -         -     -  1/1 100%",
        "TOTAL           3/4         1/3       0/1   0/1   4/9 44%",
    ]


def test_what_is_missing_is_listed(project: CovProject) -> None:
    project.scenario("plain")
    result = project.run("--workrail-cov=missing")
    at = result.outlines.index("demo.covered, not covered:")
    assert result.outlines[at + 1 : at + 6] == [
        "  condition:mend:true",
        "  condition:mend:unset",
        "  step:mend:done",
        "  blocker:tell:MISSING_REQUIRED_NOTES",
        "  gap:tell:missing_required_notes",
    ]
    assert "demo.covered, not covered:" not in project.run("--workrail-cov").outlines


def test_the_command_that_closes_the_gap_is_named(project: CovProject) -> None:
    project.scenario("plain")
    lines = project.run("--workrail-cov").outlines
    command = "`workrail-test generate workflows/forked.json --out DIR`"
    assert f"5 goals not covered; {command} writes scenarios for them" in lines


def test_the_json_says_which_test_covered_what(project: CovProject) -> None:
    project.scenario("plain")
    project.scenario("broken", context={"broken": True})
    body = "workrail.run('workflows/forked.json', context={'broken': False})"
    project.write("test_run.py", f"def test_run(workrail):\n    assert {body}.status\n")
    project.run()
    plain, broken, coded = ("plain.scenario.json::plain", "broken.scenario.json::broken", "test_run.py::test_run")
    assert project.covered() == {
        "step:look:done": [broken, plain, coded],
        "condition:mend:true": [broken],
        "condition:mend:false": [plain, coded],
        "step:mend:done": [broken],
        "step:tell:done": [broken, plain, coded],
    }
    report = project.report
    assert report["version"] == 1
    assert report["total"] == {"covered": 5, "points": 8, "percent": 62.5}
    (told,) = report["workflows"]
    assert (told["workflowId"], told["profiles"]) == ("demo.covered", ["reference"])
    assert told["kinds"]["condition"] == {"covered": 2, "points": 3, "percent": 66.66}
    assert told["workflowHash"].startswith("sha256:")


def test_versions_of_a_workflow_are_counted_apart(project: CovProject) -> None:
    project.write("workflows/newer.json", {**FORKED, "version": "1.1.0"})
    project.scenario("plain")
    project.scenario("newer", workflow="workflows/newer.json")
    result = project.run("--workrail-cov")
    assert len(project.report["workflows"]) == 2
    result.stdout.re_match_lines([r"demo\.covered \(sha256:[0-9a-f]{8}\) .*"] * 2)


def test_profiles_add_their_own_points(project: CovProject) -> None:
    project.write("workflows/forked.json", workflow(step("look", requireConfirmation=True)))
    project.scenario("plain")
    project.run()
    assert project.report["total"]["points"] == 2
    project.scenario("locked", profile="locked")
    project.run()
    assert project.report["workflows"][0]["profiles"] == ["reference", "locked"]
    assert project.report["total"]["points"] == 4


NOT_PASSED = {
    "failing": "    assert False\n",
    "skipping": "    pytest.skip('later')\n",
    "xfailing": "    pytest.xfail('known')\n",
}


@pytest.mark.parametrize("ending", NOT_PASSED)
def test_only_tests_that_pass_count(project: CovProject, ending: str) -> None:
    body = "    workrail.run('workflows/forked.json')\n"
    project.write("test_it.py", f"import pytest\n\ndef test_it(workrail):\n{body}{NOT_PASSED[ending]}")
    project.run()
    assert project.covered() == {}
    assert project.report["total"]["points"] == 8, "it was run, so it is known what there is to show"


def test_a_failing_teardown_or_expectation_counts_nothing(project: CovProject) -> None:
    project.scenario("wrong", expect={"status": "blocked"})
    project.write(
        "test_it.py",
        """
import pytest

@pytest.fixture
def breaks():
    yield
    assert False

def test_it(workrail, breaks):
    workrail.run("workflows/forked.json")

@pytest.mark.xfail
def test_against_expectation(workrail):
    workrail.run("workflows/forked.json")
""",
    )
    project.run()
    assert project.covered() == {}


@pytest.mark.parametrize(
    ("percent", "fails"), [("0", False), ("37", False), ("37.5", False), ("37.6", True), ("100", True)]
)
def test_too_little_fails_the_run(project: CovProject, percent: str, fails: bool) -> None:
    project.scenario("plain")
    result = project.run(f"--workrail-cov-fail-under={percent}")
    assert result.ret == (pytest.ExitCode.TESTS_FAILED if fails else pytest.ExitCode.OK)
    told = f"FAIL: workflow coverage is 37.5% (3 of 8), below the required {float(percent):g}%"
    assert (told in result.outlines) is fails


def test_nothing_shown_is_less_than_anything(project: CovProject) -> None:
    project.write("test_it.py", "def test_it():\n    assert 1 + 1 == 2\n")
    result = project.run("--workrail-cov-fail-under=1", "--color=yes")
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    assert "\33[31mFAIL: workflow coverage is 0% (0 of 0), below the required 1%\33[0m" in result.outlines


def test_workflows_that_no_test_runs_count_when_they_are_named(project: CovProject) -> None:
    project.scenario("plain")
    project.write("workflows/forgotten.json", workflow(step("alone"), id="demo.forgotten"))
    project.write("workflows/notes.json", {"nothing": "of ours"})
    project.run()
    assert [each["workflowId"] for each in project.report["workflows"]] == ["demo.covered"]
    project.run("--workrail-cov-source=workflows")
    names = [each["workflowId"] for each in project.report["workflows"]]
    assert names == ["demo.covered", "demo.forgotten"], "and the one that is run is not counted twice"
    assert project.covered(1) == {}
    project.run("--workrail-cov-source=workflows/forked.json", "--workrail-cov-source=workflows/forgotten.json")
    assert [each["workflowId"] for each in project.report["workflows"]] == names


def test_a_workflow_that_a_test_ran_in_another_version_is_not_counted_again(project: CovProject) -> None:
    project.scenario("plain")
    project.write("others/newer.json", workflow(step("alone"), id="demo.covered"))
    project.run("--workrail-cov-source=others")
    assert [each["workflowId"] for each in project.report["workflows"]] == ["demo.covered"]


@pytest.mark.parametrize(
    ("source", "content", "said"),
    [
        ("nowhere", None, "FAIL: *nowhere*"),
        (
            "workflows",
            '{"id": "demo.bad", "name": "Bad", "description": "x", "version": "1.0.0", "steps": []}',
            "FAIL: bad.json does not compile: *",
        ),
    ],
)
def test_sources_that_can_not_be_counted_fail_the_run(
    project: CovProject, source: str, content: str | None, said: str
) -> None:
    project.scenario("plain")
    if content is not None:
        project.write("workflows/bad.json", content)
    result = project.run(f"--workrail-cov-source={source}")
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    result.stdout.fnmatch_lines([said])


def test_a_report_that_can_not_be_written_is_said(project: CovProject) -> None:
    project.scenario("plain")
    project.write("taken", "a file")
    result = project.pytester.runpytest_inprocess("--workrail-cov-json=taken/cov.json")
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    result.stdout.fnmatch_lines(["FAIL: taken/cov.json can't be written: *"])


def test_the_folder_of_a_report_is_made(project: CovProject) -> None:
    project.scenario("plain")
    assert project.pytester.runpytest_inprocess("--workrail-cov-json=new/folder/cov.json").ret == pytest.ExitCode.OK
    assert (project.path / "new" / "folder" / "cov.json").is_file()


def test_where_tests_are_only_listed_nothing_is_required_or_written(project: CovProject) -> None:
    project.scenario("plain")
    result = project.run("--collect-only", "--workrail-cov-fail-under=90")
    assert result.ret == pytest.ExitCode.OK
    assert "workflow coverage" not in result.stdout.str()
    assert not (project.path / "cov.json").exists()


def test_several_processes_come_to_the_same(project: CovProject) -> None:
    """The same bytes with any number of workers, and again."""
    pytest.importorskip("xdist")
    project.write("workflows/other.json", workflow(step("only"), id="demo.other"))
    for number in range(4):
        project.scenario(f"case-{number}", context={"broken": number % 2 == 0})
    project.scenario("other", workflow="workflows/other.json", profile="locked")
    project.scenario("wrong", expect={"status": "blocked"}, mode="full_auto_never_stop")
    seen = set()
    for run, options in ((project.run, []), (project.run, []), (project.run_apart, ["-n", "2"])):
        run(*options).assert_outcomes(passed=5, failed=1)
        seen.add((project.path / "cov.json").read_bytes())
    assert len(seen) == 1


def test_hash_seeds_and_the_order_of_tests_change_nothing(project: CovProject, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("one", "two"):
        project.scenario(name, context={"broken": name == "two"})
    arguments = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--workrail-cov-json=cov.json"]
    seen: list[Any] = []
    for seed, order in (("1", ["one", "two"]), ("77", ["two", "one"])):
        monkeypatch.setenv("PYTHONHASHSEED", seed)
        project.pytester.run(*arguments, *(f"{name}.scenario.json" for name in order))
        seen.append((project.path / "cov.json").read_bytes())
    assert seen[0] == seen[1]


def test_without_an_option_nothing_is_measured(project: CovProject) -> None:
    project.scenario("plain")
    result = project.pytester.runpytest_inprocess()
    assert "workflow coverage" not in result.stdout.str()
    assert not (project.path / "cov.json").exists()
