"""Wrong uses: each is said in a sentence, at its place, and none ends in a traceback of ours."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from plugin_project import REVIEW

if TYPE_CHECKING:
    from plugin_project import Project

WORKFLOW = '"workflow": "../workflows/review.json", "golden": false'
BROKEN: dict[str, tuple[str | bytes, str]] = {
    "syntax": ("{" + WORKFLOW, ":1:57: * expected ',' or '}'*"),
    "empty": ("", ":1:1: the file contains no JSON value*"),
    "list": ("[]", ":1:1: the document must be a JSON object*"),
    "bytes": (b"\xff\xfe{}", ":1:1: the file is not UTF-8*"),
    "deep": ("[" * 5000, ":1:201: values are nested more than 200 levels deep*"),
    "gone": ('{"workflow": "../workflows/nope.json"}', ":1:14: the workflow ../workflows/nope.json does not exist*"),
    "folder": ('{"workflow": "../workflows"}', ":1:14: the workflow ../workflows is a directory*"),
    "number": ('{"workflow": 7}', ":1:14: workflow must be a string, not 7*"),
    "member": ("{" + WORKFLOW + ', "modus": 1}', ":1:59: unknown field 'modus'*"),
    "team": ('{"team": {}, "modus": 1}', ":1:14: unknown field 'modus'*"),
    "block": ('{"block": {"workflow": "a.workflow.json"}, "modus": 1}', ":1:44: unknown field 'modus'*"),
    "choice": ("{" + WORKFLOW + ', "mode": "guidde"}', ":*did you mean 'guided'?*"),
    "step": (
        "{" + WORKFLOW + ', "agent": {"kind": "auto", "turns": [{"step": "read-chnage", "does": "right"}]}}',
        ":*the workflow has no step read-chnage. Did you mean read-change?*",
    ),
    "occasion": (
        "{" + WORKFLOW + ', "agent": {"kind": "auto", "turns": [{"step": "read-change", "does": "wrong_level"}]}}',
        ":*wrong_level is not possible at step 'read-change'*",
    ),
    "routines": (
        "{" + WORKFLOW + ', "routines": "nowhere"}',
        ":*: the routines nowhere can't be read: no such file or directory (/routines)",
    ),
    "catalog": (
        "{" + WORKFLOW + ', "catalog": "../workflows/review.json"}',
        ":*: the catalog can't be used: ../workflows/review.json*(/catalog)",
    ),
    "invalid": ('{"workflow": "../workflows/invalid.json"}', ":1:14: the workflow does not compile: *"),
    "endless": ("{" + WORKFLOW + ', "maxTurns": 1}', ":*The run was not complete after 1 turns.*"),
}


def no_traceback(result: pytest.RunResult) -> None:
    text = result.stdout.str() + result.stderr.str()
    assert "Traceback" not in text
    assert "INTERNALERROR" not in text
    assert "pytest_workrail/" not in text


def test_broken_scenarios_fail_one_by_one(project: Project) -> None:
    project.write("workflows/invalid.json", {"id": "demo.invalid", "steps": []})
    for name, (content, _) in BROKEN.items():
        path = project.scenario(name)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
    (project.path / "scenarios" / "link.scenario.json").symlink_to("nowhere")
    (project.path / "scenarios" / "dir.scenario.json").mkdir()
    project.scenario("fine")
    result = project.run("-p", "no:cacheprovider")
    result.assert_outcomes(passed=1, failed=len(BROKEN))
    no_traceback(result)
    lines = sorted(f"scenarios/{name}.scenario.json{said}" for name, (_, said) in BROKEN.items())
    for line in lines:
        result.stdout.fnmatch_lines([line])
    collected = project.run("--collect-only", "-q", "-p", "no:cacheprovider")
    assert len([line for line in collected.outlines if "::" in line]) == len(BROKEN) + 1


@pytest.mark.parametrize(
    "option",
    [
        "--workrail-golden=sometimes",
        "--workrail-cov=all",
        "--workrail-cov-fail-under=much",
        "--workrail-cov-fail-under=-1",
        "--workrail-cov-fail-under=101",
        "--workrail-cov-fail-under=nan",
        "--workrail-locks-fail-under=inf",
        "--workrail-locks=nowhere.json",
    ],
)
def test_values_that_make_no_sense_are_usage_errors(project: Project, option: str) -> None:
    project.scenario("review")
    result = project.run(option)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    text = result.stderr.str() + result.stdout.str()
    assert option.partition("=")[2] in text
    no_traceback(result)


def test_a_path_behind_an_option_that_may_have_a_value(project: Project) -> None:
    project.scenario("review")
    result = project.run("--workrail-cov", "scenarios")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*'scenarios' is neither 'table' nor 'missing'; put paths before --workrail-cov,*"])
    project.run("scenarios", "--workrail-cov").assert_outcomes(passed=1)
    project.run("--workrail-cov=table", "scenarios").assert_outcomes(passed=1)


@pytest.mark.parametrize("content", ["not json", "[]", "{}", '{"format": "workrail.golden/99"}', "\x00"])
def test_a_golden_that_is_none(project: Project, content: str) -> None:
    project.scenario("review", golden=True)
    project.write("scenarios/__goldens__/review.golden.json", content)
    result = project.run()
    result.assert_outcomes(failed=1)
    no_traceback(result)
    result.stdout.fnmatch_lines(["golden can't be used: scenarios/__goldens__/review.golden.json is *"])


def test_workflows_by_themselves(project: Project) -> None:
    project.write("workflows/invalid.json", {**REVIEW, "id": "demo.invalid", "steps": []})
    project.write("pytest.ini", "[pytest]\nworkrail_auto = workflows/*.json\n")
    result = project.run()
    result.assert_outcomes(passed=2, failed=2)
    no_traceback(result)
    result.stdout.fnmatch_lines(["  workflows/invalid.json:*: SC006 the workflow has no steps; * (/steps)"])
    assert str(project.path) not in "".join(line for line in result.outlines if "SC006" in line)


@pytest.mark.parametrize(
    ("pattern", "warns"),
    [
        ("workflows/*.json", False),
        ("workflows/review.json", False),
        ("./workflows/*.json", False),
        ("*.json", False),
        ("workflow/*.json", True),
        ("workflows/*.jsn", True),
        ("workflows/reviews.json", True),
        ("[", False),
    ],
)
def test_a_pattern_that_names_nothing_is_no_silence(project: Project, pattern: str, warns: bool) -> None:
    project.write("pytest.ini", f"[pytest]\nworkrail_auto = {pattern}\n")
    project.scenario("review")
    result = project.run("scenarios")
    assert (f"no file matches {pattern}" in result.stdout.str()) is warns


def test_a_pattern_may_be_written_like_a_path(project: Project) -> None:
    for pattern in ("./workflows/*.json", "./workflows/review.json", f"{project.path.as_posix()}/workflows/*.json"):
        project.write("pytest.ini", f"[pytest]\nworkrail_auto = {pattern}\n")
        project.run().assert_outcomes(passed=2)


@pytest.mark.parametrize(
    ("testpaths", "warns"),
    [("scenarios", True), ("scenarios workflows", False), ("workflows/more", False), (".", False)],
)
def test_workflows_outside_of_testpaths_are_no_silence(project: Project, testpaths: str, warns: bool) -> None:
    project.write("pytest.ini", f"[pytest]\ntestpaths = {testpaths}\nworkrail_auto = workflows/*.json\n")
    project.write("workflows/more/notes.txt", "Nothing to run.")
    project.scenario("review")
    said = "workrail_auto: workflows/*.json is outside testpaths, so pytest runs it only if you name its folder"
    assert (said in project.run().stdout.str()) is warns
    assert said not in project.run("workflows").stdout.str()
    assert said not in project.run("scenarios").stdout.str()


def test_without_the_plugin_nothing_of_it_is_left(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    project.scenario("review")
    assert project.pytester.runpytest_subprocess("-p", "no:workrail").ret == pytest.ExitCode.NO_TESTS_COLLECTED
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    assert project.pytester.runpytest_subprocess().ret == pytest.ExitCode.NO_TESTS_COLLECTED
    project.pytester.runpytest_subprocess("-p", "pytest_workrail.plugin").assert_outcomes(passed=1)


def test_misuse_of_the_fixture_reads_well(project: Project) -> None:
    calls: dict[str, tuple[str, Any]] = {
        "missing": ('workrail.run("workflows/nope.json")', "*nope.json*does not exist*"),
        "behaviour": ('workrail.stubborn("wrong_kin")', "*unknown behaviour 'wrong_kin'; did you mean 'wrong_kind'?"),
        "does": ('workrail.auto({"read-change": {"does": "wrong"}})', "*unknown behaviour 'wrong' (known: right, *"),
        "fault": ('workrail.lossy(None, "lose_mind")', "*unknown fault 'lose_mind' (known: lose_answer, *"),
        "mode": (
            'workrail.run("workflows/review.json", mode="guide")',
            "*unknown mode 'guide'; did you mean 'guided'?",
        ),
        "profile": (
            'workrail.run("workflows/review.json", profile="lock")',
            "*unknown profile 'lock'; did you mean 'locked'?",
        ),
        "risk": (
            'workrail.run("workflows/review.json", risk="bold")',
            "*unknown risk policy 'bold' (known: conservative, *",
        ),
        "option": (
            'workrail.run("workflows/review.json", contxt={})',
            "*unknown option 'contxt'; did you mean 'context'?",
        ),
        "source": (
            'workrail.compile("workflows/review.json", routine="x")',
            "*unknown option 'routine'; did you mean 'routines'?",
        ),
        "steps": (
            'workrail.run("workflows/review.json", workrail.stubborn("nothing", "read-chnage"))',
            "*no step 'read-chnage'; did you mean 'read-change'?",
        ),
        "artifacts": ('workrail.script({"read-change": {"artifacts": {"kind": "x"}}})', "*must be a list, not a dict"),
        "unknown": ('workrail.run("workflows/review.json", {"reed-change": "x"})', "*reed-change*"),
        "uncalled": (
            'workrail.run("workflows/review.json", workrail.auto)',
            "*expected an agent or a script, not a function; did you forget to call it (auto())?",
        ),
        "agent": ('workrail.run("workflows/review.json", "auto")', "*expected an agent or a script, not a str"),
        "rest": ('workrail.script({"read-change": "x"}, "auto")', "*expected an agent, not a str"),
        "around": ('workrail.lossy("lose_answer")', "*expected an agent, not a str"),
        "no mode": ('workrail.run("workflows/review.json", mode=None)', "*unknown mode 'None' (known: guided, *"),
        "context": (
            'workrail.run("workflows/review.json", context="x")',
            "*the context of a run must be a mapping, not a str",
        ),
        "answers": ('workrail.script(["x"])', "*a script must map step ids to answers, not be a list"),
        "answer": (
            'workrail.script({"read-change": 3})',
            "*an answer must be a string, a behaviour, an action or *, not a int",
        ),
        "notes": (
            'workrail.script({"read-change": {"notes": 3}})',
            "*the notes of an answer must be a string, not a int",
        ),
        "variables": (
            'workrail.script({"read-change": {"context": ["x"]}})',
            "*the context of an answer must be a mapping, not a list",
        ),
        "golden": (
            'workrail.run("workflows/review.json").match_golden(3)',
            "*the name of a golden must be a string, not 3",
        ),
    }
    tests = "".join(
        f"def test_{name.replace(' ', '_')}(workrail):\n    {call}\n\n" for name, (call, _) in calls.items()
    )
    project.write("test_calls.py", tests)
    result = project.run()
    result.assert_outcomes(failed=len(calls))
    for _, said in calls.values():
        result.stdout.fnmatch_lines([f"E  {said}"])
    assert "def compile(" not in result.stdout.str(), "the mistake is in the test, so that is what is shown"
