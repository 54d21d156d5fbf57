"""Scenario files as pytest items: how they are collected, chosen, run and reported."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from plugin_project import Project

pytest_plugins = ["pytester"]


def test_items_are_named_after_their_scenario(project: Project) -> None:
    project.scenario("plain")
    project.scenario("named", name="the good name")
    project.scenario("unusable", name="a::b")
    result = project.run("--collect-only", "-q")
    assert result.outlines[:3] == [
        "scenarios/named.scenario.json::the good name",
        "scenarios/plain.scenario.json::plain",
        "scenarios/unusable.scenario.json::unusable",
    ]


def test_a_name_that_no_report_can_hold_is_written_out(project: Project) -> None:
    project.write("a.scenario.json", '{"workflow": "workflows/review.json", "golden": false, "name": "half \\ud83d"}')
    result = project.run("-v")
    result.assert_outcomes(passed=1)
    assert "a.scenario.json::half \\ud83d" in project.run("--collect-only", "-q").outlines
    project.run(r"a.scenario.json::half \ud83d").assert_outcomes(passed=1)


def test_what_is_asked_for_by_name_is_found(project: Project) -> None:
    project.scenario("one", name="first")
    project.scenario("two")
    project.run("scenarios/one.scenario.json::first").assert_outcomes(passed=1)
    project.run("scenarios/two.scenario.json").assert_outcomes(passed=1)
    project.run("scenarios").assert_outcomes(passed=2)
    result = project.run("scenarios/one.scenario.json::second")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    project.run("scenarios/one.scenario.json", "scenarios").assert_outcomes(passed=2)


def test_choosing_by_keyword_and_mark(project: Project) -> None:
    project.scenario("alpha")
    project.scenario("beta")
    project.write("test_plain.py", "def test_plain():\n    assert 1 + 1 == 2\n")
    project.run("-k", "alpha").assert_outcomes(passed=1, deselected=2)
    project.run("-m", "workrail").assert_outcomes(passed=2, deselected=1)
    project.run("-m", "not workrail", "--strict-markers").assert_outcomes(passed=1, deselected=2)


def test_the_last_failures_again(project: Project) -> None:
    project.scenario("good")
    project.scenario("bad", expect={"status": "blocked"})
    project.run().assert_outcomes(passed=1, failed=1)
    project.run("--lf").assert_outcomes(failed=1, deselected=1)
    project.scenario("bad")
    project.run("--lf").assert_outcomes(passed=1, deselected=1)
    project.run("--lf").assert_outcomes(passed=2)


@pytest.mark.parametrize("workers", ["2"])
def test_in_parallel(project: Project, workers: str) -> None:
    for number in range(6):
        project.scenario(f"case-{number}", **({"expect": {"status": "blocked"}} if number == 3 else {}))
    result = project.run_apart("-n", workers)
    result.assert_outcomes(passed=5, failed=1)
    result.stdout.fnmatch_lines(["*scenarios/case-3.scenario.json:*: status: expected blocked, found complete*"])


def test_skipping_with_a_reason(project: Project) -> None:
    project.scenario("later", skip="the verdict has no form yet")
    result = project.run("-rs")
    result.assert_outcomes(skipped=1)
    result.stdout.fnmatch_lines(["SKIPPED*the verdict has no form yet"])


def test_a_failure_shows_place_pointer_turn_and_transcript(project: Project) -> None:
    project.write(
        "scenarios/review.scenario.json",
        """{
  "workflow": "../workflows/review.json",
  "golden": false,
  "agent": {
    "kind": "auto",
    "turns": [
      {"step": "give-verdict", "does": "wrong_kind"}
    ]
  },
  "expect": {
    "blockers": ["MISSING_REQUIRED_NOTES"],
    "outputs": {"read-change": {"notes": "Read all of it."}}
  }
}
""",
    )
    result = project.run()
    result.assert_outcomes(failed=1)
    at = result.outlines.index("____________________________________ review ____________________________________")
    end = next(index for index, line in enumerate(result.outlines) if "short test summary" in line)
    file = "scenarios/review.scenario.json"
    blockers = "blocker 1: expected MISSING_REQUIRED_NOTES, found MISSING_REQUIRED_OUTPUT"
    notes = 'notes of step read-change: expected "Read all of it.", found "Done: read-change."'
    kinds = "You submitted kind 'demo.unrelated', but this step requires contractRef=wr.contracts.gate_verdict."
    assert result.outlines[at + 1 : end] == [
        f"{file}:11:18: {blockers}; all blockers: MISSING_REQUIRED_OUTPUT (/expect/blockers/0)",
        f"{file}:12:42: {notes} (/expect/outputs/read-change/notes)",
        f"last turn: /agent/turns/0 ({file}:7:7)",
        "transcript so far (demo.review, profile reference, mode guided):",
        "  1  start -> pending read-change",
        "  2  continue with notes 'Done: read-change.' -> pending give-verdict",
        f"  3  continue with artifacts demo.unrelated -> blocked at give-verdict: MISSING_REQUIRED_OUTPUT: {kinds}",
        "  4  continue with artifacts wr.gate_verdict -> complete",
        "  the run ended: The workflow is complete.",
    ]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"workflow": "../workflows/review.json",}', ":1:40: trailing comma before '}' (/)"),
        ('{"workflow": 3}', ":1:14: workflow must be a string, not 3 (/workflow)"),
        (
            '{"workflow": "../workflows/review.json", "expct": {}}',
            "unknown field 'expct'; did you mean 'expect'? (/expct)",
        ),
        ('{"workflow": "../nowhere.json"}', ":1:14: the workflow ../nowhere.json does not exist (/workflow)"),
        ("[]", ":1:1: the document must be a JSON object (/)"),
        ("", ":1:1: "),
        (
            '{"workflow": "../workflows/review.json", "agent": {"kind": "auto", "turns": [{"step": "raed-change"}]}}',
            ":1:87: the workflow has no step raed-change. Did you mean read-change? (/agent/turns/0/step)",
        ),
        (
            '{"workflow": "../workflows/review.json", "declares": [{"reason": "evaluation_error", "step": "x"}]}',
            ":1:54: only the profile locked reads `declares`",
        ),
    ],
)
def test_a_broken_scenario_is_one_failing_test(project: Project, text: str, message: str) -> None:
    project.write("scenarios/broken.scenario.json", text)
    project.scenario("sound")
    result = project.run()
    result.assert_outcomes(passed=1, failed=1)
    assert any(line.startswith("scenarios/broken.scenario.json") and message in line for line in result.outlines)


def test_a_workflow_that_does_not_compile(project: Project) -> None:
    project.write("workflows/review.json", '{"id": "demo.review", "name": "Review"}')
    project.scenario("review")
    result = project.run()
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        ["scenarios/review.scenario.json:2:15: the workflow does not compile: ../workflows/review.json:1:1: *"]
    )


def test_a_script_that_does_not_fit(project: Project) -> None:
    turns = [{"step": "read-change", "notes": "x"}, {"step": "read-change", "visit": 2, "notes": "y"}]
    project.scenario("strict", agent={"kind": "scripted", "turns": turns[:1]})
    project.scenario("unused", agent={"kind": "auto", "turns": turns})
    project.scenario("wrong", agent={"kind": "auto", "turns": [{**turns[0], "expect": {"answer": "blocked"}}]})
    result = project.run()
    result.assert_outcomes(failed=3)
    result.stdout.fnmatch_lines(
        [
            "scenarios/strict.scenario.json:4:12: The script has no answer for step 'give-verdict'. (/agent)",
            "last turn: /agent/turns/0 (*",
            "scenarios/unused.scenario.json:*: The turn for step 'read-change' on visit 2 was never used. (*/turns/1)",
            "scenarios/wrong.scenario.json:*: answer: expected blocked, found ok (/agent/turns/0)",
            "last turn: /agent/turns/0 (*",
            "  2  continue with notes 'x' -> pending give-verdict",
        ]
    )


def test_a_run_that_never_ends(project: Project) -> None:
    turn = {"step": "read-change", "call": "rehydrate", "repeats": True}
    project.scenario("endless", agent={"kind": "auto", "turns": [turn]}, maxTurns=5)
    result = project.run()
    result.stdout.fnmatch_lines(["scenarios/endless.scenario.json:*: The run was not complete after 5 turns. (/agent)"])


def test_routines_and_bindings_of_the_project(project: Project) -> None:
    project.write("workrail-lint.toml", 'routines = "own-routines"\n')
    project.write(
        "own-routines/routine-greet.json",
        {
            "id": "routine-greet",
            "name": "Greet",
            "description": "Says hello.",
            "version": "1.0.0",
            "steps": [{"id": "say-hello", "title": "Hello", "prompt": "Say hello."}],
        },
    )
    project.write(
        "workflows/review.json",
        {
            "id": "demo.review",
            "name": "Review",
            "description": "Greets, then works.",
            "version": "1.0.0",
            "extensionPoints": [
                {"slotId": "who", "purpose": "Who works.", "default": "anybody", "acceptedKinds": ["routine"]}
            ],
            "steps": [
                {"id": "greet", "title": "Greet", "templateCall": {"templateId": "wr.templates.routine.greet"}},
                {"id": "work", "title": "Work", "prompt": "Ask {{wr.bindings.who}}."},
            ],
        },
    )
    project.scenario("greeting", bindings={"who": "the-team"}, expect={"steps": ["greet.say-hello", "work"]})
    project.run().assert_outcomes(passed=1)


def test_workflows_by_themselves(project: Project) -> None:
    project.write("pytest.ini", "[pytest]\nworkrail_auto = workflows/*.json\n")
    project.write("other/data.json", {"steps": "of another kind"})
    project.run().assert_outcomes(passed=2)
    project.write("workflows/broken.json", {"id": "demo.broken"})
    stuck = [
        {
            "id": "stuck",
            "title": "Stuck",
            "prompt": "p",
            "validationCriteria": [{"type": "length", "max": 0, "message": "m"}],
        }
    ]
    project.write(
        "workflows/stuck.json",
        {"id": "demo.stuck", "name": "Stuck", "description": "d", "version": "1.0.0", "steps": stuck},
    )
    result = project.run()
    result.assert_outcomes(passed=2, failed=4)
    result.stdout.fnmatch_lines(
        [
            "the workflow does not compile:",
            "the run ended as blocked, expected complete",
            "transcript so far (demo.stuck,*",
        ]
    )


def test_a_workflow_behind_a_linked_folder_outside_is_not_run(
    project: Project, tmp_path_factory: pytest.TempPathFactory
) -> None:
    outside = tmp_path_factory.mktemp("outside")
    (outside / "secret.json").write_text('{"id": "demo.secret"}')
    (outside / "workrail-lint.toml").write_text('secret = "x"')
    project.write("pytest.ini", "[pytest]\nworkrail_auto = **/*.json\n")
    (project.path / "workflows" / "linked").symlink_to(outside)
    result = project.run("workflows")
    result.assert_outcomes(passed=2, warnings=1)
    result.stdout.fnmatch_lines(["*workflows/linked/secret.json is not run: a link leads to it, out of the project"])


def test_a_golden_beside_workflows_is_none_of_them(project: Project) -> None:
    project.write("pytest.ini", "[pytest]\nworkrail_auto = workflows/*.json\n")
    project.write("workflows/one.scenario.json", {"workflow": "review.json"})
    project.run("--workrail-golden=new").assert_outcomes(passed=3)
    project.run().assert_outcomes(passed=3)


def test_enforces_becomes_a_mark(project: Project) -> None:
    project.scenario("locked", enforces=["one-lock", "another-lock"])
    project.write(
        "conftest.py",
        "def pytest_collection_modifyitems(items):\n"
        "    print([mark.args for item in items for mark in item.iter_markers('enforces')])\n",
    )
    project.run("-s", "--strict-markers").stdout.fnmatch_lines(["*('one-lock', 'another-lock')*"])


def test_unreadable_files_fail_alone(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    project.scenario("sound")
    path = project.path / "scenarios" / "gone.scenario.json"
    path.symlink_to(Path("nowhere.scenario.json"))
    result = project.run()
    assert result.ret in (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED)
    result.assert_outcomes(passed=1)
