"""The language server as an editor meets it: projects, files around a document, commands, and long sessions."""

from __future__ import annotations

import json
import random
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from effort import times

pytest.importorskip("pygls", reason="pygls is not installed")

from editor import Editor
from lsprotocol import types as lsp
from sample_project import WORKFLOW as SAMPLE
from sample_project import make_project

from workrail_lint.systems.workrail.rules.samples import loop, step, workflow

WORKFLOW = "workflows/review.json"
Open = Callable[..., Editor]


@pytest.fixture
def project(tmp_path: Path) -> Path:
    make_project(tmp_path)
    return tmp_path


@pytest.fixture
def start() -> Iterator[Open]:
    started: list[Editor] = []

    def opened(*arguments: Any) -> Editor:
        started.append(Editor(*arguments))
        return started[-1]

    yield opened
    for each in started:
        each.stop()


def _codes(shown: list[lsp.Diagnostic]) -> set[str]:
    return {str(each.code) for each in shown}


def test_cross_file_findings_come_with_saving(project: Path, start: Open) -> None:
    editor = start(project)
    bindings = ".workrail/bindings.json"
    for path in (WORKFLOW, bindings, "workrail-lint.toml"):
        editor.open(path)
    editor.until("workrail-lint.toml", lambda shown: "CF001" in _codes(shown))
    wrong = editor.texts[bindings].replace('"last_check"', '"lost_check"')
    assert "BD015" not in _codes(editor.type(bindings, wrong))
    editor.save(bindings)
    shown = editor.until(bindings, lambda shown: bool(shown))
    assert any("lost_check" in each.message for each in shown)
    # It moves with the text until the file is saved again.
    moved = editor.type(bindings, "\n\n" + wrong)
    assert {each.message for each in moved} == {each.message for each in shown}
    assert moved[0].range.start.line == shown[0].range.start.line + 2
    editor.type(bindings, wrong.replace('"lost_check"', '"last_check"'))
    editor.save(bindings)
    editor.until(bindings, lambda shown: not shown)
    # Two workflows with one id; the other file is not even open.
    (project / "workflows" / "copy.json").write_text(json.dumps(SAMPLE), encoding="utf-8")
    editor.tell(
        lsp.WORKSPACE_DID_CHANGE_WATCHED_FILES,
        lsp.DidChangeWatchedFilesParams([lsp.FileEvent(editor.uri("workflows/copy.json"), lsp.FileChangeType.Created)]),
    )
    editor.until(WORKFLOW, lambda shown: any("demo.review" in each.message for each in shown))


def test_findings_link_to_the_page_of_their_rule(project: Path, start: Open) -> None:
    (project / "workrail-lint.toml").write_text('docs-url = "https://docs.example"\n', encoding="utf-8")
    editor = start(project)
    editor.open(WORKFLOW, json.dumps({**SAMPLE, "tittle": "x"}, indent=2))
    wrong = next(each for each in editor.diagnostics(WORKFLOW) if each.code == "SC001")
    assert wrong.code_description == lsp.CodeDescription("https://docs.example/rules/SC001.html")


def test_the_project_decides_what_is_reported(project: Path, start: Open) -> None:
    editor = start(project)
    text = json.dumps({**SAMPLE, "tittle": "x"}, indent=2)
    editor.open(WORKFLOW, text)
    configuration = editor.open("workrail-lint.toml")
    assert "SC001" in _codes(editor.diagnostics(WORKFLOW))
    # Accept it as the editor offers, in the configuration and in the baseline; both times it is gone.
    wrong = next(each for each in editor.diagnostics(WORKFLOW) if each.code == "SC001")
    for title in ("Suppress SC001 here, with a reason", "Add SC001 to the baseline"):
        edit = editor.actions(WORKFLOW, wrong)[title].edit
        assert edit is not None
        for path, made in editor.applied(edit).items():
            (project / path).write_text(made, encoding="utf-8")
            if path == "workrail-lint.toml":
                assert tomllib.loads(made)
                editor.type(path, made)
        editor.save("workrail-lint.toml")
        editor.until(WORKFLOW, lambda shown: "SC001" not in _codes(shown))
        editor.type("workrail-lint.toml", configuration)
        editor.save("workrail-lint.toml")
        editor.until(WORKFLOW, lambda shown: "SC001" in _codes(shown))
    # What is excluded is left alone; a configuration that can't be used is reported even if it is closed.
    editor.type("workrail-lint.toml", 'exclude = ["workflows"]\n')
    editor.save("workrail-lint.toml")
    editor.until(WORKFLOW, lambda shown: not shown)
    editor.close("workrail-lint.toml")
    (project / "workrail-lint.toml").write_text('exclude = "workflows"\n', encoding="utf-8")
    editor.tell(lsp.WORKSPACE_DID_CHANGE_WATCHED_FILES, lsp.DidChangeWatchedFilesParams([]))
    editor.until("workrail-lint.toml", lambda shown: any("must be a list" in each.message for each in shown))


MISSING: list[tuple[dict[str, Any], str, str]] = [
    (workflow(step("a"), {**loop(), "body": "colect"}), "Create the step 'colect'", '"id": "colect"'),
    (
        workflow(step("a"), step("b", runCondition={"var": "sizeOfIt", "equals": "x"})),
        "Set 'sizeOfIt' in step 'a'",
        "Set the context variable `sizeOfIt`.",
    ),
    (
        workflow(step("a", assessmentRefs=["depth"])),
        "Create the assessment 'depth'",
        '"dimensions"',
    ),
    (
        {
            **workflow(step("a")),
            "references": [{"id": "g", "title": "G", "source": "docs/gone.md", "purpose": "x", "authoritative": True}],
        },
        "Create the file 'docs/gone.md'",
        "# Gone",
    ),
    (
        workflow(step("a", prompt="Run {{wr.bindings.check}} and report what it said.")),
        "BD001: declare the slots (may change meaning)",
        '"slotId": "check"',
    ),
]


def test_what_is_missing_can_be_created(project: Path, start: Open) -> None:
    editor = start(project)
    editor.open(WORKFLOW)
    for broken, title, expected in MISSING:
        editor.change(WORKFLOW, json.dumps(broken, indent=2))
        editor.save(WORKFLOW)
        shown = editor.diagnostics(WORKFLOW)
        offered = {name: (each, action) for each in shown for name, action in editor.actions(WORKFLOW, each).items()}
        assert title in offered, [*offered, *((each.code, each.message) for each in shown)]
        wrong, action = offered[title]
        assert action.edit is not None
        made = editor.applied(action.edit)
        assert any(expected in text for text in made.values())
        for path, content in made.items():
            (project / path).write_text(content, encoding="utf-8")
            if path == WORKFLOW:
                editor.change(WORKFLOW, content)
        editor.save(WORKFLOW)
        editor.until(WORKFLOW, lambda shown, gone=wrong.message: gone not in {each.message for each in shown})


def test_columns_are_counted_as_agreed(project: Path, start: Open) -> None:
    encoding = lsp.PositionEncodingKind.Utf8  # the other tests count in UTF-16
    editor = start(project, encoding)
    assert editor.capabilities.position_encoding == encoding
    editor.open(WORKFLOW)
    text = editor.texts[WORKFLOW]
    # In the line with two umlauts and an emoji before it.
    made = editor.rename(WORKFLOW, "`size`", 3, "extent")[WORKFLOW]
    assert made == text.replace("`size`", "`extent`").replace('"size"', '"extent"').replace("{{size}}", "{{extent}}")


def test_lenses_run_what_they_say(tmp_path: Path, start: Open) -> None:
    (tmp_path / "workflows").mkdir()
    small = workflow(step("first-look", notesOptional=True), step("second-look", notesOptional=True))
    (tmp_path / WORKFLOW).write_text(json.dumps(small), encoding="utf-8")
    editor = start(tmp_path)
    editor.open(WORKFLOW)
    identity = editor.identity(WORKFLOW)

    def lenses() -> dict[str, lsp.Command]:
        found = editor.ask(lsp.TEXT_DOCUMENT_CODE_LENS, lsp.CodeLensParams(identity))
        return {each.command.title: each.command for each in found}

    def run(title: str) -> Any:
        command = lenses()[title]
        return editor.ask(
            lsp.WORKSPACE_EXECUTE_COMMAND, lsp.ExecuteCommandParams(command.command, arguments=command.arguments)
        )

    ran = run("Run with the automatic agent")
    assert "complete" in str(ran)
    assert any("first-look -> second-look" in message for message in editor.messages)
    assert not any("goals covered" in title for title in lenses())
    run("Coverage of each step")
    assert any("of" in title and "goals covered" in title for title in lenses())


def test_a_preview_shows_the_step_at_the_cursor(project: Path, start: Open) -> None:
    editor = start(project)
    editor.open(WORKFLOW)
    position = editor.at(WORKFLOW, "Follow style-guide")
    place = {"line": position.line, "character": position.character}
    made = editor.ask("workrail/preview", {"textDocument": {"uri": editor.uri(WORKFLOW)}, "position": place})
    assert made.step == "small-way"
    assert made.id == "demo.review"
    assert '<script type="application/json" id="data">' in made.page


def _edited(text: str, chance: random.Random) -> str:
    """A text after a key was pressed or a line was moved somewhere."""
    at = chance.randrange(len(text) + 1)
    match chance.randrange(5):
        case 0:
            return text[:at] + chance.choice('{}[]",:x1 \n😀') + text[at:]
        case 1:
            return text[:at] + text[at + 1 :]
        case 2:
            return text.replace(chance.choice(("size", "first-look", "prompt", "low")), "other", 1)
        case 3:
            lines = text.split("\n")
            lines.insert(chance.randrange(len(lines)), lines.pop(chance.randrange(len(lines))))
            return "\n".join(lines)
        case _:
            return text[:at] + text[at : at + 30] + text[at:]


@pytest.mark.search
def test_nothing_is_stale_after_many_edits(project: Path, start: Open) -> None:
    """The diagnostics after any number of edits are those of an editor that opens the text for the first time."""
    edits = times(120, deep=1_000)
    editor, fresh = start(project), start(project)
    good = editor.open(WORKFLOW)
    fresh.open(WORKFLOW)
    chance = random.Random(7)
    text = good
    for number in range(edits):
        text = _edited(text if chance.random() < 0.8 else good, chance)
        editor.change(WORKFLOW, text)
        if number % 20 == 19:
            own = [each for each in editor.diagnostics(WORKFLOW) if "(as of the last" not in each.message]
            fresh.close(WORKFLOW)
            fresh.open(WORKFLOW, text)
            assert own == fresh.diagnostics(WORKFLOW)
    assert editor.published < edits, "typing in a row is checked once"
    assert {each.message for each in editor.type(WORKFLOW, good)} == set()
