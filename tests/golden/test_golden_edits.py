"""Changes of goldens by the edits of their workflow: what explains them, and what nothing explains."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest
from tables import for_each

from pytest_workrail.agents.correct import Auto
from pytest_workrail.cli import main
from pytest_workrail.golden.diff import CauseKey, Difference, Group
from pytest_workrail.golden.document import golden_bytes
from pytest_workrail.golden.edits import Edit, Kind, _Map, _shows, edits_of
from pytest_workrail.golden.encoding import encode, loads
from pytest_workrail.golden.pending import pending_bytes, pending_of
from pytest_workrail.run.bench import Setup
from pytest_workrail.run.driver import drive
from workrail_lint.base.result import Ok
from workrail_lint.cli import main as lint
from workrail_lint.systems.workrail.compile import compile_workflow
from workrail_lint.systems.workrail.diff import outline

PLAN = {"id": "plan", "title": "Plan it", "prompt": "Say what the smallest step is."}
LOOP: dict[str, Any] = {
    "id": "refine",
    "type": "loop",
    "title": "Refine",
    "loop": {"type": "for", "count": 5, "maxIterations": 5, "iterationVar": "round"},
    "body": [{"id": "review-draft", "title": "Review the draft", "prompt": "Review it."}],
}
END = {"id": "report", "title": "Report", "prompt": "Report."}


def workflow(*steps: dict[str, Any]) -> dict[str, Any]:
    facts = {"id": "demo.edited", "name": "Edited", "description": "An edited workflow.", "version": "1.0.0"}
    return {**facts, "steps": list(steps)}


def ir_of(document: dict[str, Any]) -> dict[str, Any]:
    made = compile_workflow(json.dumps(document).encode())
    assert isinstance(made, Ok), made.error
    return made.value.ir


def golden_of(document: dict[str, Any], **context: Any) -> bytes:
    return golden_bytes(drive(Setup(ir_of(document), "reference", context=context, max_turns=60), Auto()).transcript)


class Project:
    """A workflow in a repository, with goldens of its last commit and what they would become."""

    def __init__(self, folder: Path, old: dict[str, Any], new: dict[str, Any], **goldens: dict[str, Any]) -> None:
        (folder / "__goldens__").mkdir()
        (folder / "edited.json").write_text(json.dumps(old, indent=2))
        for command in (
            ["init", "-q"],
            ["add", "-A"],
            ["-c", "user.name=x", "-c", "user.email=x@y", "commit", "-qm", "x"],
        ):
            subprocess.run(["git", *command], cwd=folder, check=True, capture_output=True)
        (folder / "edited.json").write_text(json.dumps(new, indent=2))
        for name, context in (goldens or {"a": {}}).items():
            self.pend(
                folder / "__goldens__" / f"{name}.golden.json", golden_of(old, **context), golden_of(new, **context)
            )

    @staticmethod
    def pend(golden: Path, old: bytes, new: bytes) -> None:
        if old != new:
            golden.write_bytes(old)
            pending_of(golden).write_bytes(pending_bytes(f"s/{golden.name}", old, new))


def answer(capsys: pytest.CaptureFixture[str], *arguments: str) -> dict[str, Any]:
    main(["golden", "diff", "--json", *arguments])
    data: dict[str, Any] = json.loads(capsys.readouterr().out)
    assert {name for each in data["edits"] for name in each["groups"]}.union(data["unexplained"]) == {
        each["id"] for each in data["groups"]
    }, "each change belongs to one edit or is unexplained"
    return data


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def without(step: dict[str, Any], *more: dict[str, Any]) -> dict[str, Any]:
    return workflow(*(each for each in (PLAN, LOOP, END, *more) if each is not step))


BOUND = {**LOOP, "loop": {**LOOP["loop"], "maxIterations": 3}}
CHECK = {"id": "check", "title": "Double-check", "prompt": "Look again."}
ONLY_LARGE = {**CHECK, "runCondition": {"var": "size", "equals": "large"}}


@pytest.mark.parametrize(
    ("old", "new", "kind", "title"),
    [
        (workflow(PLAN, LOOP, END), workflow(PLAN, BOUND, END), "bound", "Loop “Refine” stops after 3 passes, was 5"),
        (workflow(PLAN, END), workflow(PLAN, CHECK, END), "added", "Step “Double-check” is new"),
        (workflow(PLAN, CHECK, END), workflow(PLAN, END), "removed", "Step “Double-check” is gone"),
        (
            workflow(PLAN, CHECK, END),
            workflow(PLAN, END, CHECK),
            "moved",
            "Step “Double-check” now comes after “Report”",
        ),
        (
            workflow(PLAN, CHECK, END),
            workflow(PLAN, ONLY_LARGE, END),
            "condition",
            "“Double-check” runs if size is large, was always",
        ),
        (
            workflow(PLAN, CHECK, END),
            workflow(PLAN, {**CHECK, "requireConfirmation": True}, END),
            "confirmation",
            "“Double-check” now waits for a person",
        ),
        (
            workflow(PLAN, END),
            workflow({**PLAN, "prompt": "Say what the biggest step is."}, END),
            "prompt",
            "Prompt of “Plan it”: smallest → biggest",
        ),
        (
            workflow(PLAN, END),
            workflow({**PLAN, "prompt": "Say what the smallest step is and why."}, END),
            "prompt",
            "Prompt of “Plan it”: 2 words more",
        ),
        (workflow(PLAN, END), workflow({**PLAN, "title": "Plan"}, END), "other", "“Plan it” is now called “Plan”"),
    ],
)
def test_one_edit_explains_everything(
    folder: Path, capsys: pytest.CaptureFixture[str], old: Any, new: Any, kind: str, title: str
) -> None:
    Project(folder, old, new, a={}, b={"size": "small"})
    data = answer(capsys)
    (edit,) = data["edits"]
    assert (edit["kind"], edit["title"], edit["workflow"]) == (kind, title, "demo.edited")
    assert edit["groups"]
    assert data["unexplained"] == []
    assert edit["goldens"] == ["__goldens__/a.golden.json", "__goldens__/b.golden.json"]
    assert main(["golden", "accept", "--edit", edit["id"]]) == 0
    assert "accepted [" in capsys.readouterr().out
    assert main(["golden", "list"]) == 0


def test_edits_are_told_apart_and_a_change_without_one_comes_first(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    new = workflow({**PLAN, "prompt": "Say what the biggest step is."}, CHECK, END)
    Project(folder, workflow(PLAN, END), new)
    old = golden_of(workflow(PLAN, END))
    odd = loads(golden_of(workflow(PLAN, {**END, "prompt": "Report twice."})))
    assert isinstance(odd, Ok)
    Project.pend(folder / "__goldens__" / "odd.golden.json", old, encode(odd.value))
    data = answer(capsys)
    assert [each["kind"] for each in data["edits"]] == ["added", "prompt"]
    (group,) = data["unexplained"]
    assert next(each for each in data["groups"] if each["id"] == group)["step"] == "report"
    assert all(each["goldens"] == ["__goldens__/a.golden.json"] for each in data["edits"])
    main(["golden", "diff"])
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "demo.edited · report"
    assert lines[1] == f"[{group}] prompt of 'report': one word, in 1 run (no edit explains it)"
    assert "demo.edited · check" in lines
    assert lines[-1].startswith("2 edits explain 2 of 3 changes, 1 not explained, in 2 goldens; accept with:")
    rejected, accepted = (each["id"] for each in data["edits"])
    assert main(["golden", "reject", "--edit", rejected]) == 0
    assert main(["golden", "accept", "--edit", accepted]) == 0
    assert b"biggest" in (folder / "__goldens__" / "a.golden.json").read_bytes()
    assert b"Double-check" not in (folder / "__goldens__" / "a.golden.json").read_bytes()
    capsys.readouterr()
    assert [each["groups"] for each in answer(capsys)["edits"]] == [[], []]
    assert main(["golden", "accept", "--edit", "nowhere"]) == 2
    assert "the edit 'nowhere' does not exist" in capsys.readouterr().err


def test_a_lockfile_is_a_base_too(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    old, new = workflow(PLAN, LOOP, END), workflow({**PLAN, "prompt": PLAN["prompt"] + " " * 60 + "Now."}, BOUND, END)
    Project(folder, old, new)
    (folder / "edited.json").write_text(json.dumps(old))
    assert lint(["lock", "--update"]) == 0
    (folder / "edited.json").write_text(json.dumps(new))
    capsys.readouterr()
    data = answer(capsys, "--base", "workrail.lock.json")
    assert data["base"] == "workrail.lock.json"
    assert [each["kind"] for each in data["edits"]] == ["bound", "prompt"]
    assert data["unexplained"] == []
    subprocess.run(["rm", "-rf", ".git"], check=True)
    assert answer(capsys)["base"] is not None, "without a repository, the lockfile of the project"
    (folder / "workrail.lock.json").unlink()
    assert (answer(capsys)["base"], answer(capsys)["edits"]) == (None, [])
    assert main(["golden", "diff", "--git", "HEAD"]) == 2


def test_the_words_of_an_edit_have_to_be_those_that_differ() -> None:
    old, new = workflow(PLAN, END), workflow({**PLAN, "prompt": "Say what the biggest step is."}, END)
    (edit,) = edits_of("demo.edited", outline(ir_of(old)), outline(ir_of(new)))
    assert edit.id == edits_of("demo.edited", outline(ir_of(old)), outline(ir_of(new)))[0].id
    assert (edit.before, edit.after) == (PLAN["prompt"], "Say what the biggest step is.")


GIVEN = {"id": "report"}
A, C, R = "added", "changed", "removed"
KEY = CauseKey("demo.edited", "changed", "", "", "")


@for_each(
    "kind, step, difference, shows",
    [
        ("added", "report", Difference(A, "turn", "report", "", ""), True),
        ("added", "report", Difference(A, "turn", "plan", "", "", None, GIVEN), False),
        ("added", "report", Difference(A, "answer", "", "", "", None, GIVEN), True),
        ("added", "report", Difference(A, "answer", "", "", "", GIVEN, {"id": "plan"}), False),
        ("removed", "report", Difference(R, "answer", "", "", "", GIVEN), True),
        ("removed", "report", Difference(R, "answer", "", "", "", "report"), False),
        ("removed", "report", Difference(C, "answer", "", "", "", GIVEN, GIVEN), False),
        ("bound", "refine", Difference(A, "turn", "review-draft", "", ""), True),
        ("bound", "refine", Difference(A, "turn", "plan", "", ""), False),
        ("bound", "refine", Difference(A, "input", "review-draft", "", ""), False),
        ("moved", "report", Difference(R, "turn", "report", "", ""), True),
        ("moved", "report", Difference(R, "turn", "plan", "", ""), False),
        ("condition", "plan", Difference(R, "turn", "plan", "", ""), True),
        ("condition", "plan", Difference(C, "echo", "plan", "", ""), False),
        ("renamed", "report", Difference(C, "turn", "report", "", ""), True),
        ("renamed", "report", Difference(C, "turn", "before", "", ""), True),
        ("renamed", "report", Difference(C, "turn", "plan", "", ""), False),
        ("prompt", "plan", Difference(C, "answer", "plan", "prompt", "", "before", "after"), True),
        ("prompt", "plan", Difference(C, "answer", "plan", "prompt", "", "before", "other"), False),
        ("prompt", "plan", Difference(C, "answer", "plan", "title", "", "before", "after"), False),
        ("prompt", "plan", Difference(C, "answer", "report", "prompt", "", "before", "after"), False),
        ("other", "plan", Difference(C, "answer", "plan", "notes", ""), True),
        ("other", "plan", Difference(C, "answer", "plan", "pending/title", ""), False),
        ("other", "plan", Difference(C, "answer", "plan", "prompt", ""), False),
        ("other", "plan", Difference(C, "answer", "report", "notes", ""), False),
        ("other", "", Difference(C, "answer", "", "notes", ""), False),
    ],
)
def test_what_shows_an_edit(kind: Kind, step: str, difference: Difference, shows: bool) -> None:
    steps = outline(ir_of(workflow(PLAN, LOOP, END)))
    edit = Edit("demo.edited", kind, step, "", "before", "after", "")
    assert _shows(edit, Group(KEY, difference), _Map(steps, steps)) is shows


@for_each("field, facet, shows", [("pending/title", "title", True), ("notes", "title", False)])
def test_a_new_title_is_shown_by_titles(field: str, facet: str, shows: bool) -> None:
    steps = outline(ir_of(workflow(PLAN, LOOP, END)))
    difference = Difference(C, "answer", "plan", field, "")
    edit = Edit("demo.edited", "other", "plan", facet, "before", "after", "")
    assert _shows(edit, Group(KEY, difference), _Map(steps, steps)) is shows
