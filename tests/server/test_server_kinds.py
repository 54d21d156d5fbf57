"""Every feature of the language server on every kind of document: a real client, a real process, one project."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("pygls", reason="pygls is not installed")

from editor import Editor
from lsprotocol import types as lsp
from pygls.exceptions import JsonRpcException
from sample_project import HISTORY, OUTPUT, PROMPT, SESSION, make_project

Cursor = tuple[str, int]  # a part of the text, and how far into it


@dataclass(frozen=True)
class Case:
    """A document, what to break in it, and what each feature says about it. An empty expectation is one too."""

    path: str
    slip: tuple[str, str]  # what is typed instead of what
    code: str  # of the finding about it
    fix: str | None = None  # a part of the title of the quick fix that mends it
    moment: tuple[str, str] | None = None  # a text that can't be read at all for a moment
    completes: tuple[tuple[str, str, int, str], ...] = ()  # what instead of what, where, and what is offered
    hovers: dict[Cursor, str] = field(default_factory=dict)
    defines: dict[Cursor, tuple[str, str]] = field(default_factory=dict)  # path and line
    refers: dict[Cursor, int] = field(default_factory=dict)
    renames: dict[Cursor, tuple[str, dict[str, int]]] = field(default_factory=dict)  # new name, how often by path
    symbols: tuple[str, ...] = ()
    folds: bool = True
    tokens: tuple[str, ...] = ()
    hints: tuple[str, ...] = ()
    lenses: bool = False
    unformatted: tuple[str, str] | None = None  # a change that formatting takes back


WORKFLOW = "workflows/review.json"
SCENARIO = "scenarios/review.scenario.json"
ROUTINE = "routines/routine-smoke-check.json"
NODE = "20000000-6b1e-4d57-9c0a-3f5a7e2b1c02"

CASES = {
    "workflow": Case(
        WORKFLOW,
        ('"examples"', '"exampels"'),
        "SC001",
        fix="examples",
        moment=('"steps": [', '"steps": [{"id": "'),
        completes=(
            ('"about": "For reviews.",', '"about": "For reviews.", "¦"', 0, "features"),
            ('"equals": "small"', '"equals": "¦"', 0, "large"),
            ('"var": "size"', '"var": "¦"', 0, "size"),
            ("keep {{size}}", "keep {{¦", 0, "size"),
            ("keep {{size}}", "keep {{wr.¦", 0, "wr.bindings.last_check"),
            ('"wr.contracts.loop_control"', '"¦"', 0, "wr.contracts.review_verdict"),
            ('"wr.templates.routine.smoke-check"', '"¦"', 0, "wr.templates.routine.smoke-check"),
            ('"program": "the tool",', '"¦"', 0, "program"),
            ('"assessmentRefs": [', '"assessmentRefs": ["¦",', 0, "quality"),
            ('"anyEqualsLevel": "low"', '"anyEqualsLevel": "¦"', 0, "high"),
            ('"loopId": "again"', '"loopId": "¦"', 0, "again"),
            ('"type": "while"', '"type": "¦"', 0, "forEach"),
            ('"steps": [', '"steps": [¦,', 0, "loop with a decision"),
            ('"steps": [', '"steps": [¦,', 0, "gated step"),
            ('"assessments": [', '"assessments": [¦,', 0, "assessment"),
            ('"version": "1.0.0",', '"version": "1.0.0", "features": ["¦"],', 0, "wr.features.memory_context"),
        ),
        hovers={
            ('"demo.review"', 3): "engine hash: `sha256:",
            ('"var": "size"', 9): "set in: `first-look`",
            ("{{size}}", 3): "a context variable",
            ('"id": "small-way"', 8): "the compiled prompt",
            ('"wr.contracts.loop_control"', 3): "```json",
            ('"wr.templates.routine.smoke-check"', 3): "Smoke check",
            ('"runCondition"', 3): "",
        },
        defines={
            ('"var": "size"', 9): (WORKFLOW, "`size`"),
            ("Follow style-guide", 9): (WORKFLOW, '"id": "style-guide"'),
            ("result of first-look", 12): (WORKFLOW, '"id": "first-look"'),
            ('"forAssessment": "quality"', 19): (WORKFLOW, '"id": "quality"'),
            ('"loopId": "again"', 12): (WORKFLOW, '"id": "again"'),
            ('"wr.templates.routine.smoke-check"', 3): (ROUTINE, '"id": "routine-smoke-check"'),
            ('"docs/style.md"', 3): ("docs/style.md", "# Style"),
        },
        refers={('"id": "first-look"', 9): 4, ('"var": "size"', 9): 5, ('"id": "quality"', 8): 4},
        renames={
            ('"id": "first-look"', 9): ("look", {WORKFLOW: 2, SCENARIO: 2}),
            ('"var": "size"', 9): ("extent", {WORKFLOW: 3, SCENARIO: 2}),
            ('"id": "quality"', 8): ("grade", {WORKFLOW: 4}),
            ('"id": "style-guide"', 8): ("the-guide", {WORKFLOW: 2}),
            ('"id": "again"', 8): ("once-more", {WORKFLOW: 2}),
        },
        symbols=("first-look", "small-way", "smoke", "judge", "again"),
        tokens=("{{size}}", "{{wr.bindings.last_check}}", "size", "first-look"),
        hints=("set in first-look", " bytes"),
        lenses=True,
        unformatted=("\n  ", "\n\t"),
    ),
    "routine": Case(
        ROUTINE,
        ('"steps"', '"stepps"'),
        "SC001",
        fix="steps",
        moment=('"steps": [', '"steps": [{"id": "'),
        completes=(('"version": "1.0.0",', '"version": "1.0.0", "¦"', 0, "about"),),
        hovers={('"id": "start"', 8): "the compiled prompt"},
        defines={('"id": "start"', 8): (ROUTINE, '"id": "start"')},
        refers={('"id": "start"', 8): 1},
        renames={('"id": "start"', 8): ("begin", {ROUTINE: 1})},
        symbols=("start", "use"),
        hints=(" bytes",),
        lenses=True,
        unformatted=("\n  ", "\n\t"),
    ),
    "bindings": Case(
        ".workrail/bindings.json",
        ('"Run everything."', "3"),
        "BD007",
        moment=("{", "{["),
        completes=(
            ('"last_check": "Run everything."', '"¦"', 0, "last_check"),
            ('"demo.review": {', '"¦": {', 0, "demo.review"),
        ),
        symbols=("demo.review",),
    ),
    "catalog": Case(
        "catalog.json",
        ('"catalogVersion": "', '"catalogVersion": "9'),
        "CA006",
        moment=('"features": [', '"features": [['),
        completes=(('"catalogVersion"', '"¦"', 0, "catalogVersion"),),
        symbols=("features", "refs", "routines", "contracts", "capabilities"),
    ),
    "scenario": Case(
        SCENARIO,
        ('"step": "first-look"', '"step": "first-lok"'),
        "SN003",
        moment=('"context": {', '"context": {{'),
        completes=(
            ('"step": "first-look"', '"step": "¦"', 0, "small-way"),
            ('"status": "complete"', '"status": "¦"', 0, "blocked"),
            ('"workflow": "../workflows/review.json"', '"workflow": "¦"', 0, "../workflows/review.json"),
            ('"kind": "auto",', '"kind": "auto", "¦"', 0, "faults"),
        ),
        hovers={('"step": "first-look"', 12): "Sei höflich", ('"size"', 2): "set in: `first-look`"},
        defines={
            ('"step": "first-look"', 12): (WORKFLOW, '"id": "first-look"'),
            ('"../workflows/review.json"', 5): (WORKFLOW, "{"),
        },
        refers={('"step": "first-look"', 12): 4},
        renames={('"step": "first-look"', 12): ("look", {WORKFLOW: 2, SCENARIO: 2})},
        symbols=("context", "agent", "expect"),
    ),
    "team status": Case(
        f"{SESSION}/status.json",
        ('"current_state": "', '"current_state": "X'),
        "TC",
        moment=("{", "{["),
        completes=(('"current_state": "', '"current_state": "¦', 0, "DONE"),),
        hovers={('"current_state"', 3): ""},
        symbols=("retry_counts",),
        folds=True,
    ),
    "team tasks": Case(
        f"{SESSION}/tasks.yaml",
        ("status: completed", "status: Completed"),
        "TC",
        fix="replace with completed",
        moment=("tasks:", "tasks: ["),
        completes=(
            ("status: completed", "status: ¦", 0, "in-progress"),
            ("    status: completed", "    st¦", 0, "status"),
        ),
        hovers={("status: completed", 10): "How far a task is"},
        defines={("id: T-001", 5): (f"{SESSION}/tasks.yaml", "id: T-001")},
        refers={("id: T-001", 5): 1},
        renames={("id: T-001", 5): ("T-007", {f"{SESSION}/tasks.yaml": 1})},
        symbols=("project", "tasks"),
    ),
    "team prose": Case(f"{SESSION}/spec.md", ("## ", "##x "), "TC", symbols=("Fix the year in the footer",)),
    "team history": Case(HISTORY, ("{", "["), "TC", folds=False),
    "blocks": Case(
        "blocks/login.workflow.json",
        ('"type": "frontend"', '"type": "frontent"'),
        "BC",
        moment=('"nodes": [', '"nodes": [['),
        completes=(('"type": "frontend"', '"type": "¦"', 0, "backend"),),
        hovers={('"nodes"', 3): ""},
        defines={(f'"{NODE}"', 5): ("blocks/login.workflow.json", f'"id": "{NODE}"')},
        refers={(f'"{NODE}"', 5): 4},
        renames={(f'"{NODE}"', 5): ("20000000-6b1e-4d57-9c0a-3f5a7e2b1cff", {"blocks/login.workflow.json": 4})},
        symbols=("nodes", "transitions"),
    ),
    "block output": Case(
        f"blocks/.output/{OUTPUT}",
        ('"summary"', '"sumary"'),
        "BC",
        moment=("{", "{["),
        completes=(('"summary"', '"¦"', 0, "summary"),),
        symbols=("deliverables",),
    ),
    "block prompt": Case(f"blocks/.run/{PROMPT}", ("", "{{unresolved}} "), "", folds=False),
    "configuration": Case(
        "workrail-lint.toml",
        ("ignore =", "ignroe ="),
        "workrail-lint",
        moment=('target = "ir"', 'target = "ir'),
        completes=(
            ('["CA007"]', '["¦"]', 0, "LP018"),
            ('target = "ir"', 'target = "¦"', 0, "engine"),
            ('target = "ir"', "¦", 0, "baseline"),
            ('reason = "Meant', 'exp¦\nreason = "Meant', 0, "expires"),
        ),
        hovers={("CA007", 2): "catalog-hash-not-engine", ("routines =", 2): "templates"},
        defines={('"workflows/review.json#', 4): (WORKFLOW, "{")},
        symbols=("target", "routines", "ignore", "suppress"),
    ),
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("project")
    make_project(made)
    return made


@pytest.fixture(scope="module")
def editor(folder: Path) -> Iterator[Editor]:
    made = Editor(folder)
    for case in CASES.values():
        made.open(case.path)
    # The whole project was read when what only that shows is there.
    made.until("workrail-lint.toml", lambda shown: any(each.code == "CF001" for each in shown))
    yield made
    made.stop()


@pytest.fixture(params=list(CASES))
def case(request: pytest.FixtureRequest, editor: Editor) -> Iterator[Case]:
    made = CASES[request.param]
    yield made
    editor.type(made.path, (editor.folder / made.path).read_text(encoding="utf-8"))


def _errors(shown: list[lsp.Diagnostic]) -> list[tuple[Any, str]]:
    return [(each.code, each.message) for each in shown if each.severity == lsp.DiagnosticSeverity.Error]


def _slipped(editor: Editor, case: Case) -> tuple[str, list[lsp.Diagnostic]]:
    text = editor.texts[case.path].replace(*case.slip, 1)
    return text, editor.type(case.path, text)


def test_findings_as_you_type(editor: Editor, case: Case) -> None:
    before = {(each.code, each.message) for each in editor.diagnostics(case.path)}
    assert not _errors(editor.diagnostics(case.path))
    text, shown = _slipped(editor, case)
    if not case.code:
        return
    new = [each for each in shown if (each.code, each.message) not in before]
    assert any(str(each.code).startswith(case.code) for each in new), shown
    at = new[0].range
    assert at.end.line < len(text.split("\n"))


def test_findings_stay_while_a_text_is_broken(editor: Editor, case: Case) -> None:
    if case.moment is None:
        return  # prose is never broken
    text, shown = _slipped(editor, case)
    broken = editor.type(case.path, text.replace(*case.moment, 1))
    marked = [each for each in broken if each.message.endswith("(as of the last text that could be read)")]
    fresh = {each.message for each in broken}
    assert {each.message for each in shown} <= {each.message.partition(" (as of")[0] for each in marked} | fresh
    assert len(marked) < len(broken), "what is wrong now is said first"
    assert {each.message for each in editor.type(case.path, text)} == {each.message for each in shown}


def test_a_quick_fix_mends_it(editor: Editor, case: Case) -> None:
    good = editor.texts[case.path]
    _, shown = _slipped(editor, case)
    if case.fix is None:
        return
    wrong = next(each for each in shown if str(each.code).startswith(case.code))
    offered = editor.actions(case.path, wrong)
    fix = next(action for title, action in offered.items() if case.fix in title and title.startswith(str(wrong.code)))
    assert fix.edit is not None
    assert editor.applied(fix.edit) == {case.path: good}


def test_a_finding_can_be_accepted(editor: Editor, case: Case) -> None:
    """In the configuration with a reason, or in the baseline: `check` then says nothing about it either."""
    _, shown = _slipped(editor, case)
    wrong = next((each for each in shown if str(each.code).startswith(case.code or "?")), None)
    if wrong is None or case.path == "workrail-lint.toml":
        return
    offered = editor.actions(case.path, wrong)
    suppress = offered[f"Suppress {wrong.code} here, with a reason"]
    assert suppress.edit is not None
    made = editor.applied(suppress.edit)["workrail-lint.toml"]
    entry = tomllib.loads(made)["suppress"][-1]
    assert entry["codes"] == [wrong.code]
    assert entry["place"].startswith(f"{case.path}#")
    accept = offered[f"Add {wrong.code} to the baseline"]
    assert accept.edit is not None
    texts = editor.applied(accept.edit)
    assert tomllib.loads(texts["workrail-lint.toml"])["baseline"] == "workrail-baseline.json"
    assert json.loads(texts["workrail-baseline.json"])["entries"][0]["code"] == wrong.code


def test_completion(editor: Editor, case: Case) -> None:
    good = editor.texts[case.path]
    for old, new, _, expected in case.completes:
        assert old in good, old
        text = good.replace(old, new.replace("¦", ""), 1)
        editor.type(case.path, text)
        found = editor.complete(case.path, text[good.index(old) :][: len(new)], new.index("¦"))
        assert expected in found, (new, list(found))
        assert found[expected].text_edit is not None
        editor.type(case.path, good)


def test_hover(editor: Editor, case: Case) -> None:
    for (needle, inside), expected in case.hovers.items():
        assert expected in editor.hover(case.path, needle, inside), needle


def test_definitions_and_references(editor: Editor, case: Case) -> None:
    for (needle, inside), (path, line) in case.defines.items():
        found = editor.definition(case.path, needle, inside)
        assert any(each == path and line in text for each, text in found), (needle, found)
    for (needle, inside), count in case.refers.items():
        found = editor.references(case.path, needle, inside)
        assert len(found) == count, (needle, found)


def test_renaming(editor: Editor, case: Case) -> None:
    is_first = case.path == WORKFLOW
    for (needle, inside), (new, counts) in case.renames.items():
        made = editor.rename(case.path, needle, inside, new)
        assert {path: text.count(new) for path, text in made.items()} == counts, needle
        before = {path: editor.texts[path] for path in made}
        for texts in (made, before):
            for path, text in texts.items():
                editor.change(path, text)
            if len(made) > 1 and is_first:
                # A scenario is held against the workflow on disk.
                for path in texts:
                    editor.save(path)
                for path in texts:
                    editor.until(path, lambda shown: not _errors(shown))
            elif case.path != SCENARIO:
                assert not _errors(editor.diagnostics(case.path))
        is_first = False


def test_shape(editor: Editor, case: Case) -> None:
    identity = editor.identity(case.path)
    symbols = editor.ask(lsp.TEXT_DOCUMENT_DOCUMENT_SYMBOL, lsp.DocumentSymbolParams(identity))
    assert set(case.symbols) <= {each.name for each in symbols}
    folds = editor.ask(lsp.TEXT_DOCUMENT_FOLDING_RANGE, lsp.FoldingRangeParams(identity))
    assert bool(folds) == case.folds
    text = editor.texts[case.path]
    lines = text.split("\n")
    data = editor.ask(lsp.TEXT_DOCUMENT_SEMANTIC_TOKENS_FULL, lsp.SemanticTokensParams(identity)).data
    line = column = 0
    shown = set()
    for at in range(0, len(data), 5):
        line, column = line + data[at], data[at + 1] + (0 if data[at] else column)
        units = lines[line].encode("utf-16-le")[2 * column : 2 * (column + data[at + 2])]
        shown.add(units.decode("utf-16-le"))
    assert set(case.tokens) <= shown
    whole = lsp.Range(lsp.Position(0, 0), lsp.Position(len(lines), 0))
    hints = editor.ask(lsp.TEXT_DOCUMENT_INLAY_HINT, lsp.InlayHintParams(identity, whole))
    for hint in case.hints:
        assert any(hint in each.label for each in hints)
    lenses = editor.ask(lsp.TEXT_DOCUMENT_CODE_LENS, lsp.CodeLensParams(identity))
    assert bool(lenses) == case.lenses


def test_formatting(editor: Editor, case: Case) -> None:
    good = editor.texts[case.path]
    if case.unformatted is None:
        assert editor.formatted(case.path) == good
        return
    tidy = editor.formatted(case.path)
    editor.type(case.path, good.replace(*case.unformatted))
    assert editor.formatted(case.path) == tidy
    editor.type(case.path, tidy)
    assert editor.formatted(case.path) == tidy


def test_what_can_not_be_renamed_says_why(editor: Editor) -> None:
    for needle, inside, new, why in (
        ('"id": "first-look"', 9, "small-way", "already a step"),
        ('"id": "first-look"', 9, "a b", "can't be the name of a step"),
        ('"var": "size"', 9, "goal", "set by the engine"),
        ('"var": "size"', 9, "currentIteration", "variable of a loop"),
    ):
        with pytest.raises(JsonRpcException, match=why):
            editor.rename(WORKFLOW, needle, inside, new)


def test_links_to_files(editor: Editor) -> None:
    style, moved = editor.folder / "docs/style.md", editor.folder / "docs/moved.md"

    def links(path: str) -> dict[str, str]:
        shown = editor.ask(lsp.TEXT_DOCUMENT_DOCUMENT_LINK, lsp.DocumentLinkParams(editor.identity(path)))
        lines = editor.texts[path].split("\n")
        return {
            lines[each.range.start.line][each.range.start.character : each.range.end.character]: each.target.rpartition(
                "/"
            )[2]
            for each in shown
        }

    routine = {"wr.templates.routine.smoke-check": "routine-smoke-check.json"}
    assert links(WORKFLOW) == {**routine, "docs/style.md": "style.md"}
    style.rename(moved)
    try:
        assert links(WORKFLOW) == routine
    finally:
        moved.rename(style)  # other tests share the folder
    assert "review.json" in links(SCENARIO).values()


def test_a_name_is_highlighted_where_the_document_has_it(editor: Editor) -> None:
    def highlighted(needle: str, inside: int) -> list[tuple[int, lsp.DocumentHighlightKind]]:
        at = lsp.DocumentHighlightParams(editor.identity(WORKFLOW), editor.at(WORKFLOW, needle, inside))
        shown = editor.ask(lsp.TEXT_DOCUMENT_DOCUMENT_HIGHLIGHT, at)
        return [(each.range.end.character - each.range.start.character, each.kind) for each in shown]

    write, read = lsp.DocumentHighlightKind.Write, lsp.DocumentHighlightKind.Read
    assert highlighted("{{size}}", 3) == [(4, write), (4, read), (4, read)]
    assert highlighted('"description"', 3) == []


def test_files_that_check_leaves_alone_are_left_alone(editor: Editor) -> None:
    editor.open("package.json", '{"name": "x", "version": "1.0.0", "scripts": {}}')
    assert editor.diagnostics("package.json") == []
    editor.close("package.json")


def test_every_feature_is_announced(editor: Editor) -> None:
    can = editor.capabilities
    for name in (
        *("completion", "hover", "definition", "references", "rename", "inlay_hint", "document_symbol", "code_action"),
        *(
            "document_link",
            "document_highlight",
            "folding_range",
            "semantic_tokens",
            "code_lens",
            "document_formatting",
            "execute_command",
        ),
    ):
        assert getattr(can, f"{name}_provider"), name
