"""The language server protocol: from an editor's positions to offsets, and back."""

from __future__ import annotations

import asyncio
import os
from bisect import bisect_right
from collections.abc import Callable, Iterable
from typing import Any
from urllib.parse import unquote, urlsplit

from lsprotocol import types as lsp
from pygls.lsp.server import LanguageServer

from workrail_lint.base.files import read_file
from workrail_lint.base.result import Ok
from workrail_lint.base.version import VERSION
from workrail_lint.findings import Edit, Finding
from workrail_lint.server import actions, completion, names, outline
from workrail_lint.server.document import OpenDocument, Setup
from workrail_lint.server.hover import hover
from workrail_lint.server.place import place_at

# An editor sends every key; a check begins when the typing rests for a moment.
_REST_SECONDS = 0.03
_SEVERITIES = {
    "error": lsp.DiagnosticSeverity.Error,
    "warning": lsp.DiagnosticSeverity.Warning,
    "info": lsp.DiagnosticSeverity.Information,
}
_ITEM_KINDS = {
    "member": lsp.CompletionItemKind.Property,
    "value": lsp.CompletionItemKind.EnumMember,
    "variable": lsp.CompletionItemKind.Variable,
    "snippet": lsp.CompletionItemKind.Snippet,
}
_SYMBOL_KINDS = {
    "step": lsp.SymbolKind.Function,
    "loop": lsp.SymbolKind.Namespace,
    "parallel": lsp.SymbolKind.Event,
    "template": lsp.SymbolKind.Module,
}
_TOKEN_TYPES = ["macro", "variable"]


class Positions:
    """Offsets of a text in code points against lines and UTF-16 columns."""

    def __init__(self, text: str) -> None:
        self._lines = text.split("\n")
        self._starts = [0]
        for line in self._lines:
            self._starts.append(self._starts[-1] + len(line) + 1)
        self._length = len(text)

    def position(self, offset: int) -> lsp.Position:
        offset = max(0, min(offset, self._length))
        line = bisect_right(self._starts, offset) - 1
        before = self._lines[line][: offset - self._starts[line]]
        units = len(before) if before.isascii() else len(before.encode("utf-16-le", "surrogatepass")) // 2
        return lsp.Position(line, units)

    def range(self, start: int, end: int) -> lsp.Range:
        return lsp.Range(self.position(start), self.position(end))

    def offset(self, position: lsp.Position) -> int:
        if position.line >= len(self._lines):
            return self._length
        line = self._lines[position.line]
        if line.isascii():
            return self._starts[position.line] + min(position.character, len(line))
        units = line.encode("utf-16-le", "surrogatepass")[: 2 * position.character]
        return self._starts[position.line] + len(units.decode("utf-16-le", "ignore"))


class Server(LanguageServer):
    """The documents that are open, by address."""

    def __init__(self, setup: Callable[[str], Setup]) -> None:
        super().__init__("workrail-lint", VERSION)
        self.setup = setup
        self.documents: dict[str, OpenDocument] = {}
        self.waiting: dict[str, asyncio.Task[None]] = {}

    def put(self, uri: str) -> OpenDocument:
        """The document as the editor has it now."""
        text = self.workspace.get_text_document(uri).source
        known = self.documents.get(uri)
        if known is None or known.text != text:
            known = self.documents[uri] = OpenDocument(path_of(uri), text, self.setup, known)
        return known

    def publish(self, uri: str) -> None:
        document = self.put(uri)
        places = Positions(document.text)
        checked = document.checked
        shown = [_diagnostic(finding, places) for finding in checked.findings]
        for finding in checked.stale:
            made = _diagnostic(finding, places)
            made.message += " (as of the last text that could be read)"
            made.tags = [lsp.DiagnosticTag.Unnecessary]
            shown.append(made)
        version = self.workspace.get_text_document(uri).version
        self.text_document_publish_diagnostics(lsp.PublishDiagnosticsParams(uri, shown, version))


def path_of(uri: str) -> str:
    return os.path.normpath(unquote(urlsplit(uri).path)) if uri.startswith("file:") else uri


def uri_of(path: str) -> str:
    from pathlib import Path

    return Path(os.path.abspath(path)).as_uri()


def _diagnostic(finding: Finding, places: Positions) -> lsp.Diagnostic:
    start, end = (0, 0) if finding.span is None else (finding.span.start.offset, finding.span.end.offset)
    return lsp.Diagnostic(
        places.range(start, end),
        finding.message,
        severity=_SEVERITIES[finding.severity.value],
        code=finding.code,
        source="workrail-lint",
        data={"name": finding.name},
    )


def make_server(setup: Callable[[str], Setup]) -> Server:
    """A server with all of its features; `setup` says how a path is checked."""
    server = Server(setup)

    @server.feature(lsp.TEXT_DOCUMENT_DID_OPEN)
    def opened(params: lsp.DidOpenTextDocumentParams) -> None:
        server.publish(params.text_document.uri)

    @server.feature(lsp.TEXT_DOCUMENT_DID_CHANGE)
    async def changed(params: lsp.DidChangeTextDocumentParams) -> None:
        uri = params.text_document.uri
        waiting = server.waiting.pop(uri, None)
        if waiting is not None:
            waiting.cancel()

        async def rest() -> None:
            await asyncio.sleep(_REST_SECONDS)
            server.waiting.pop(uri, None)
            server.publish(uri)

        server.waiting[uri] = asyncio.ensure_future(rest())

    @server.feature(lsp.TEXT_DOCUMENT_DID_SAVE)
    def saved(params: lsp.DidSaveTextDocumentParams) -> None:
        # A configuration, a routine or another file may have changed with it.
        for uri in list(server.documents):
            known = server.documents[uri]
            server.documents[uri] = OpenDocument(known.path, known.text, server.setup, known)
            server.publish(uri)

    @server.feature(lsp.TEXT_DOCUMENT_DID_CLOSE)
    def closed(params: lsp.DidCloseTextDocumentParams) -> None:
        server.documents.pop(params.text_document.uri, None)
        server.text_document_publish_diagnostics(lsp.PublishDiagnosticsParams(params.text_document.uri, []))

    _add_reading(server)
    _add_writing(server)
    return server


def _at(server: Server, params: Any) -> tuple[OpenDocument, Positions, int]:
    document = server.put(params.text_document.uri)
    places = Positions(document.text)
    return document, places, places.offset(params.position)


def _add_reading(server: Server) -> None:
    """What an editor shows."""

    @server.feature(lsp.TEXT_DOCUMENT_COMPLETION, lsp.CompletionOptions(trigger_characters=['"', "{", ".", ":", ","]))
    def complete(params: lsp.CompletionParams) -> list[lsp.CompletionItem]:
        document, places, offset = _at(server, params)
        return [
            lsp.CompletionItem(
                item.label,
                kind=_ITEM_KINDS[item.kind],
                detail=item.detail,
                sort_text=f"{number:04}",
                filter_text=item.label,
                insert_text_format=lsp.InsertTextFormat.Snippet if item.is_snippet else lsp.InsertTextFormat.PlainText,
                text_edit=lsp.TextEdit(places.range(item.start, item.end), item.insert),
            )
            for number, item in enumerate(completion.completions(document, offset))
        ]

    @server.feature(lsp.TEXT_DOCUMENT_HOVER)
    def hovered(params: lsp.HoverParams) -> lsp.Hover | None:
        document, places, offset = _at(server, params)
        found = hover(document, offset, document.checked.findings)
        if found is None:
            return None
        return lsp.Hover(lsp.MarkupContent(lsp.MarkupKind.Markdown, found.text), places.range(found.start, found.end))

    def mentioned(params: Any) -> tuple[Positions, list[names.Mention]]:
        document, places, offset = _at(server, params)
        name = names.name_at(document, place_at(document.text, offset), offset)
        return places, [] if name is None else names.mentions(document, name)

    @server.feature(lsp.TEXT_DOCUMENT_DEFINITION)
    def defined(params: lsp.DefinitionParams) -> list[lsp.Location]:
        places, found = mentioned(params)
        uri = params.text_document.uri
        return [lsp.Location(uri, places.range(each.start, each.end)) for each in found if each.is_definition]

    @server.feature(lsp.TEXT_DOCUMENT_REFERENCES)
    def referred(params: lsp.ReferenceParams) -> list[lsp.Location]:
        places, found = mentioned(params)
        wanted = [each for each in found if params.context.include_declaration or not each.is_definition]
        return [lsp.Location(params.text_document.uri, places.range(each.start, each.end)) for each in wanted]

    @server.feature(lsp.TEXT_DOCUMENT_DOCUMENT_SYMBOL)
    def symbols(params: lsp.DocumentSymbolParams) -> list[lsp.DocumentSymbol]:
        document = server.put(params.text_document.uri)
        places = Positions(document.text)

        def made(symbol: outline.Symbol) -> lsp.DocumentSymbol:
            return lsp.DocumentSymbol(
                symbol.name,
                _SYMBOL_KINDS[symbol.kind],
                places.range(symbol.start, symbol.end),
                places.range(symbol.name_start, symbol.name_end),
                symbol.detail,
                children=[made(inner) for inner in symbol.inner],
            )

        return [made(symbol) for symbol in outline.symbols(document)]

    @server.feature(lsp.TEXT_DOCUMENT_FOLDING_RANGE)
    def folded(params: lsp.FoldingRangeParams) -> list[lsp.FoldingRange]:
        document = server.put(params.text_document.uri)
        places = Positions(document.text)
        lines = ((places.position(start).line, places.position(end).line) for start, end in outline.folds(document))
        pairs = sorted(lines)
        return [lsp.FoldingRange(start, end - 1) for start, end in pairs if end - 1 > start]

    @server.feature(lsp.TEXT_DOCUMENT_INLAY_HINT)
    def hinted(params: lsp.InlayHintParams) -> list[lsp.InlayHint]:
        document = server.put(params.text_document.uri)
        places = Positions(document.text)
        start, end = places.offset(params.range.start), places.offset(params.range.end)
        return [
            lsp.InlayHint(places.position(hint.offset), hint.text, padding_left=True)
            for hint in outline.hints(document, start, end)
        ]

    @server.feature(
        lsp.TEXT_DOCUMENT_SEMANTIC_TOKENS_FULL, lsp.SemanticTokensLegend(token_types=_TOKEN_TYPES, token_modifiers=[])
    )
    def tokens(params: lsp.SemanticTokensParams) -> lsp.SemanticTokens:
        document = server.put(params.text_document.uri)
        places = Positions(document.text)
        data: list[int] = []
        before = lsp.Position(0, 0)
        for start, end, kind in outline.prompt_tokens(document):
            at, until = places.position(start), places.position(end)
            column = at.character - (before.character if at.line == before.line else 0)
            data += [at.line - before.line, column, until.character - at.character, _TOKEN_TYPES.index(kind), 0]
            before = at
        return lsp.SemanticTokens(data)

    @server.feature(lsp.TEXT_DOCUMENT_CODE_LENS)
    def lenses(params: lsp.CodeLensParams) -> list[lsp.CodeLens]:
        document = server.put(params.text_document.uri)
        if not document.is_workflow or document.compiled.compiled is None:
            return []
        top = lsp.Range(lsp.Position(0, 0), lsp.Position(0, 0))
        commands = {"Generate scenarios": "workrail.generate", "Score its tests": "workrail.mutate"}
        return [
            lsp.CodeLens(top, lsp.Command(title, name, arguments=[document.path])) for title, name in commands.items()
        ]


def _add_writing(server: Server) -> None:
    """What an editor changes."""

    @server.feature(
        lsp.TEXT_DOCUMENT_CODE_ACTION,
        lsp.CodeActionOptions(code_action_kinds=[lsp.CodeActionKind.QuickFix, lsp.CodeActionKind.SourceFixAll]),
    )
    def offered(params: lsp.CodeActionParams) -> list[lsp.CodeAction]:
        document = server.put(params.text_document.uri)
        places = Positions(document.text)
        start, end = places.offset(params.range.start), places.offset(params.range.end)
        wanted = params.context.only
        found: list[lsp.CodeAction] = []
        for action in actions.actions(document, document.checked.findings, start, end):
            kind = lsp.CodeActionKind.QuickFix if action.kind == "quickfix" else lsp.CodeActionKind.SourceFixAll
            if wanted and not any(str(kind.value).startswith(str(getattr(each, "value", each))) for each in wanted):
                continue
            diagnostics = [_diagnostic(action.finding, places)] if action.finding is not None else None
            edit = _workspace_edit(server, document, action.edits)
            found.append(lsp.CodeAction(action.title, kind, diagnostics, action.is_preferred or None, edit=edit))
        return found

    @server.feature(lsp.TEXT_DOCUMENT_PREPARE_RENAME)
    def renamable(params: lsp.PrepareRenameParams) -> lsp.Range | None:
        document, places, offset = _at(server, params)
        name = names.name_at(document, place_at(document.text, offset), offset)
        for each in () if name is None else names.mentions(document, name):
            if each.start <= offset <= each.end:
                return places.range(each.start, each.end)
        return None

    @server.feature(lsp.TEXT_DOCUMENT_RENAME, lsp.RenameOptions(prepare_provider=True))
    def renamed(params: lsp.RenameParams) -> lsp.WorkspaceEdit | None:
        document, places, offset = _at(server, params)
        name = names.name_at(document, place_at(document.text, offset), offset)
        if name is None:
            return None
        edits = [Edit(each.start, each.end, params.new_name) for each in names.mentions(document, name)]
        return lsp.WorkspaceEdit({params.text_document.uri: _text_edits(edits, places)})

    @server.feature(lsp.TEXT_DOCUMENT_FORMATTING)
    def formatted(params: lsp.DocumentFormattingParams) -> list[lsp.TextEdit]:
        document = server.put(params.text_document.uri)
        edit = actions.format_edit(document)
        return [] if edit is None else _text_edits([edit], Positions(document.text))


def _text_edits(edits: Iterable[Edit], places: Positions) -> list[lsp.TextEdit]:
    return [lsp.TextEdit(places.range(edit.start, edit.end), edit.text) for edit in edits]


def _workspace_edit(server: Server, document: OpenDocument, edits: dict[str, list[Edit]]) -> lsp.WorkspaceEdit:
    """Edits of this document, and text that is added at the end of other files, which may not be there yet."""
    changes: list[Any] = []
    for path, listed in edits.items():
        uri = uri_of(path)
        text = document.text if path == document.path else _text_of(server, uri, path)
        if text is None:
            changes.append(lsp.CreateFile(uri))
            text = ""
        at_end = [edit if edit.start >= 0 else Edit(len(text), len(text), edit.text) for edit in listed]
        identity = lsp.OptionalVersionedTextDocumentIdentifier(uri)
        changes.append(lsp.TextDocumentEdit(identity, list(_text_edits(at_end, Positions(text)))))
    return lsp.WorkspaceEdit(document_changes=changes)


def _text_of(server: Server, uri: str, path: str) -> str | None:
    """A file as the editor has it, or else as it is on disk; None when there is no file that can be read."""
    known = server.workspace.text_documents.get(uri)
    if known is not None:
        text: str = known.source
        return text
    read = read_file(path)  # the workspace would read it too, and wait for ever on a pipe
    return read.value.decode("utf-8", "replace") if isinstance(read, Ok) else None
