"""The language server as an editor meets it: a real client, a real process, the protocol on its pipes."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from workrail_lint.systems.workrail.rules.samples import controlled_loop, step, workflow

pytest.importorskip("pygls", reason="pygls is not installed")

from lsprotocol import types as lsp
from pygls.lsp.client import LanguageClient

GOOD = workflow(
    step("first", prompt="Sei höflich 😀. Set the context variable `size` to one of `small`, `large`."),
    step("small-way", prompt="Keep {{size}}.", runCondition={"var": "size", "equals": "small"}),
    controlled_loop(),
)


class _Editor:
    """A client that remembers the last diagnostics of each document."""

    def __init__(self, folder: Path) -> None:
        self.client = LanguageClient("test", "1")
        self.folder = folder
        self.uri = (folder / "workflows" / "a.json").as_uri()
        self.seen: dict[str, lsp.PublishDiagnosticsParams] = {}
        self._news = asyncio.Event()
        self.version = 1

        @self.client.feature(lsp.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS)
        def published(params: lsp.PublishDiagnosticsParams) -> None:
            self.seen[params.uri] = params
            self._news.set()

    async def diagnostics(self, version: int | None = None) -> list[lsp.Diagnostic]:
        async with asyncio.timeout(60):
            while self.uri not in self.seen or (version is not None and self.seen[self.uri].version != version):
                self._news.clear()
                await self._news.wait()
        return list(self.seen[self.uri].diagnostics)

    async def type(self, text: str) -> list[lsp.Diagnostic]:
        """Replace the whole text."""
        self.version += 1
        identity = lsp.VersionedTextDocumentIdentifier(self.version, self.uri)
        change = lsp.TextDocumentContentChangeWholeDocument(text)
        self.client.text_document_did_change(lsp.DidChangeTextDocumentParams(identity, [change]))
        return await self.diagnostics(self.version)

    def at(self, text: str, needle: str, inside: int = 0) -> lsp.Position:
        offset = text.index(needle) + inside
        line = text.count("\n", 0, offset)
        before = text[:offset].rpartition("\n")[2]
        return lsp.Position(line, len(before.encode("utf-16-le")) // 2)


def _session(folder: Path, text: str, work: Callable[[_Editor], Awaitable[None]]) -> None:
    (folder / "workflows").mkdir()
    (folder / "workflows" / "a.json").write_text(text, encoding="utf-8")

    async def run() -> None:
        editor = _Editor(folder)
        await editor.client.start_io(sys.executable, "-m", "workrail_lint", "server", cwd=str(folder))
        root = folder.as_uri()
        await editor.client.initialize_async(lsp.InitializeParams(lsp.ClientCapabilities(), root_uri=root))
        editor.client.initialized(lsp.InitializedParams())
        item = lsp.TextDocumentItem(editor.uri, "json", 1, text)
        editor.client.text_document_did_open(lsp.DidOpenTextDocumentParams(item))
        await work(editor)
        await editor.client.shutdown_async(None)
        editor.client.exit(None)
        await editor.client.stop()

    asyncio.run(run())


def _applied(text: str, edits: list[Any]) -> str:
    lines = text.split("\n")

    def offset(position: lsp.Position) -> int:
        line = lines[position.line].encode("utf-16-le")[: 2 * position.character].decode("utf-16-le")
        return sum(len(each) + 1 for each in lines[: position.line]) + len(line)

    for edit in sorted(edits, key=lambda each: (each.range.start.line, each.range.start.character), reverse=True):
        text = text[: offset(edit.range.start)] + edit.new_text + text[offset(edit.range.end) :]
    return text


def test_an_hour_in_an_editor(tmp_path: Path) -> None:
    text = json.dumps(GOOD, indent=2, ensure_ascii=False)
    document = lsp.TextDocumentIdentifier((tmp_path / "workflows" / "a.json").as_uri())

    async def work(editor: _Editor) -> None:
        clean = await editor.diagnostics()
        assert [each for each in clean if each.severity == lsp.DiagnosticSeverity.Error] == []
        # A slip appears with its place, and a quick fix mends it.
        slip = text.replace('"title": "A step"', '"tittle": "A step"', 1)
        found = await editor.type(slip)
        wrong = next(each for each in found if "tittle" in each.message)
        assert slip.split("\n")[wrong.range.start.line].strip().startswith('"tittle"')
        context = lsp.CodeActionContext([wrong])
        offered = await editor.client.text_document_code_action_async(
            lsp.CodeActionParams(document, wrong.range, context)
        )
        assert offered is not None
        fix = next(each for each in offered if isinstance(each, lsp.CodeAction) and "title" in each.title)
        assert fix.edit is not None
        assert fix.edit.document_changes is not None
        change = fix.edit.document_changes[0]
        assert isinstance(change, lsp.TextDocumentEdit)
        assert json.loads(_applied(slip, list(change.edits))) == GOOD
        # While a text is broken for a moment, what was found before stays.
        broken = await editor.type(slip.replace('"steps": [', '"steps": [{"id": "', 1))
        assert any("last text that could be read" in each.message for each in broken)
        again = await editor.type(text)
        assert {each.code for each in again} == {each.code for each in clean}
        # Completion, hover, definition, rename: after characters that take two units.
        value = text.replace('"equals": "small"', '"equals": ""')
        await editor.type(value)
        position = editor.at(value, '"equals": ""', len('"equals": "'))
        listed = await editor.client.text_document_completion_async(lsp.CompletionParams(document, position))
        assert listed is not None
        items = listed if isinstance(listed, list) else listed.items
        assert {"small", "large"} <= {each.label for each in items}
        await editor.type(text)
        place = lsp.TextDocumentPositionParams(document, editor.at(text, '"var": "size"', 9))
        hovered = await editor.client.text_document_hover_async(lsp.HoverParams(document, place.position))
        assert hovered is not None
        assert "set in: `first`" in str(hovered.contents)
        defined = await editor.client.text_document_definition_async(lsp.DefinitionParams(document, place.position))
        assert isinstance(defined, list)
        assert text.split("\n")[defined[0].range.start.line].count("`size`") == 1
        renamed = await editor.client.text_document_rename_async(lsp.RenameParams(document, place.position, "extent"))
        assert renamed is not None
        assert renamed.changes is not None
        made = _applied(text, list(renamed.changes[editor.uri]))
        assert made == text.replace("size", "extent")
        # Shape.
        symbols = await editor.client.text_document_document_symbol_async(lsp.DocumentSymbolParams(document))
        assert symbols is not None
        assert [each.name for each in symbols] == ["first", "small-way", "again"]
        folded = await editor.client.text_document_folding_range_async(lsp.FoldingRangeParams(document))
        assert folded
        whole = lsp.Range(lsp.Position(0, 0), lsp.Position(999, 0))
        hints = await editor.client.text_document_inlay_hint_async(lsp.InlayHintParams(document, whole))
        assert any(each.label == "set in first" for each in hints or ())
        tokens = await editor.client.text_document_semantic_tokens_full_async(lsp.SemanticTokensParams(document))
        assert tokens is not None
        assert len(tokens.data) % 5 == 0
        options = lsp.FormattingOptions(2, True)
        edits = await editor.client.text_document_formatting_async(lsp.DocumentFormattingParams(document, options))
        tidy = _applied(text, list(edits or ()))
        assert json.loads(tidy) == GOOD
        await editor.type(tidy)
        assert not await editor.client.text_document_formatting_async(lsp.DocumentFormattingParams(document, options))

    _session(tmp_path, text, work)


def test_the_project_decides_what_is_reported(tmp_path: Path) -> None:
    (tmp_path / "workrail-lint.toml").write_text('ignore = ["SC"]\n')
    text = json.dumps({**GOOD, "tittle": "x"}, indent=2)

    async def work(editor: _Editor) -> None:
        assert not [each for each in await editor.diagnostics() if str(each.code).startswith("SC")]
        (tmp_path / "workrail-lint.toml").write_text("")
        editor.seen.clear()
        editor.client.text_document_did_save(lsp.DidSaveTextDocumentParams(lsp.TextDocumentIdentifier(editor.uri)))
        assert [each for each in await editor.diagnostics() if str(each.code).startswith("SC")]

    _session(tmp_path, text, work)
