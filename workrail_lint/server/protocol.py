"""The language server protocol around the features: documents and their projects, requests, commands."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from lsprotocol import types as lsp
from pygls.exceptions import JsonRpcInvalidParams
from pygls.lsp.server import LanguageServer

from workrail_lint.base.files import read_file
from workrail_lint.base.result import Err, Ok
from workrail_lint.base.version import VERSION
from workrail_lint.findings import Edit, Finding
from workrail_lint.report.data import rule_address
from workrail_lint.server import actions, commands, completion, names, outline
from workrail_lint.server.commands import preview
from workrail_lint.server.connection import Protocol
from workrail_lint.server.document import OpenDocument
from workrail_lint.server.hover import hover
from workrail_lint.server.positions import Positions
from workrail_lint.server.projects import Project

# An editor sends every key; a check begins when the typing rests for a moment.
_REST_SECONDS = 0.01
# What completion takes from an earlier text is updated when no request is waiting.
_IDLE_SECONDS = 0.3
_STALE = " (as of the last text that could be read)"
_PREVIEW = "workrail/preview"
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
    "entry": lsp.SymbolKind.Object,
    "member": lsp.SymbolKind.Property,
    "heading": lsp.SymbolKind.String,
    "table": lsp.SymbolKind.Namespace,
}
_TOKEN_TYPES = ["macro", "variable", "function"]


class Server(LanguageServer):
    """The documents that are open, by address, and their projects, by folder."""

    def __init__(self, open_project: Callable[[str], Project]) -> None:
        super().__init__("workrail-lint", VERSION, protocol_cls=Protocol)
        self._open_project = open_project
        self.documents: dict[str, OpenDocument] = {}
        self._projects: dict[str, Project] = {}
        self._earlier: dict[str, Project] = {}  # by key, until the files are read again
        self._waiting: dict[str, asyncio.Task[None]] = {}
        self.coverage: dict[str, dict[str, tuple[int, int]]] = {}  # by path of the workflow
        self.ends_as_agreed = True  # False after an exit that no shutdown preceded
        self._is_shut_down = False

    def project_of(self, path: str) -> Project:
        folder = os.path.dirname(os.path.abspath(path))
        project = self._projects.get(folder)
        if project is None:
            project = self._open_project(path)
            known = next((each for each in self._projects.values() if each.key == project.key), None)
            project = known or project.adopt(self._earlier.get(project.key))
            self._projects[folder] = project
        return project

    def put(self, uri: str) -> OpenDocument:
        """Return the document as the editor has it now, or as it is on disk; raises JsonRpcInvalidParams."""
        path = path_of(uri)
        opened = self.workspace.get_text_document(uri)
        if not any(opened is each for each in self.workspace.text_documents.values()):
            read = read_file(path)
            if isinstance(read, Err):
                raise JsonRpcInvalidParams(read.error.message)
            return OpenDocument(path, read.value.decode("utf-8", "replace"), self.project_of(path))
        text = opened.source
        known = self.documents.get(uri)
        project = self.project_of(path)
        if known is None or known.text != text or known.project is not project:
            known = self.documents[uri] = OpenDocument(path, text, project, known)
        return known

    def read(self, path: str) -> OpenDocument | None:
        """Return another file, as it is open in the editor or on disk."""
        uri = uri_of(path)
        if uri in self.documents:
            return self.put(uri)
        read = read_file(path)
        if not isinstance(read, Ok):
            return None
        return OpenDocument(path, read.value.decode("utf-8", "replace"), self.project_of(path))

    def text_of(self, path: str) -> str:
        document = self.read(path)
        return "" if document is None else document.text

    def positions(self, document: OpenDocument) -> Positions:
        encoding = self.workspace.position_encoding
        return Positions(document.text, str(getattr(encoding, "value", encoding) or "utf-16"))

    def publish(self, uri: str) -> None:
        document = self.put(uri)
        places = self.positions(document)
        checked = document.checked
        diagnostics = [_diagnostic(finding, places, document.project) for finding in checked.findings]
        for finding in checked.stale:
            diagnostic = _diagnostic(finding, places, document.project)
            diagnostic.message += _STALE
            diagnostic.tags = [lsp.DiagnosticTag.Unnecessary]
            diagnostics.append(diagnostic)
        version = self.workspace.get_text_document(uri).version
        self.text_document_publish_diagnostics(lsp.PublishDiagnosticsParams(uri, diagnostics, version))
        self.later(f"analysis of {uri}", lambda: document.known.analysis, _IDLE_SECONDS)
        self._forget_handled()

    def _forget_handled(self) -> None:
        """Drop the futures of notifications that were handled: pygls 2 would keep one for each key that is pressed."""
        futures: dict[Any, Any] = getattr(self.protocol, "_request_futures", {})
        for ident in [ident for ident, future in futures.items() if future.done()]:
            del futures[ident]

    def later(self, key: str, work: Callable[[], Any], rest: float = 0) -> None:
        """Do something after a moment, unless it is asked for again before."""
        waiting = self._waiting.pop(key, None)
        if waiting is not None:
            waiting.cancel()

        async def rested() -> None:
            await asyncio.sleep(rest)
            result = work()
            if asyncio.iscoroutine(result):
                await result
            if self._waiting.get(key) is task:
                del self._waiting[key]

        task = self._waiting[key] = asyncio.ensure_future(rested())

    def reload(self) -> None:
        """Read everything again: a configuration, a routine or any other file has changed on disk."""
        self._earlier = {project.key: project for project in self._projects.values()}
        self._projects = {}
        for uri in list(self.documents):
            self.publish(uri)
        self.later("projects", self._look)

    async def _look(self) -> None:
        """Read all files of the open projects, one at a time, and say what they show together."""
        for project in list({id(each): each for each in self._projects.values()}.values()):
            for _ in project.look():
                await asyncio.sleep(0)
            self._publish_configuration(project)
        for uri, document in list(self.documents.items()):
            if uri not in self.documents:  # closed in the meantime
                continue
            self.documents[uri] = OpenDocument(document.path, document.text, document.project, document)
            self.publish(uri)
            await asyncio.sleep(0)

    def _publish_configuration(self, project: Project) -> None:
        """Publish the problems of a configuration even if it is not open."""
        path = project.config.path
        if path is None or uri_of(path) in self.documents:
            return
        document = self.read(os.path.relpath(path))
        if document is not None:
            places = self.positions(document)
            diagnostics = [_diagnostic(finding, places, document.project) for finding in document.checked.findings]
            self.text_document_publish_diagnostics(lsp.PublishDiagnosticsParams(uri_of(path), diagnostics))


def path_of(uri: str) -> str:
    """Return the path of an address, from the current folder if it is in there, as the command line would name it."""
    if not uri.startswith("file:"):
        return uri.rpartition(":")[2]
    path = os.path.normpath(unquote(urlsplit(uri).path))
    below = os.path.relpath(path)
    return path if below.startswith(os.pardir) else below


def uri_of(path: str) -> str:
    return Path(os.path.abspath(path)).as_uri()


def _diagnostic(finding: Finding, places: Positions, project: Project) -> lsp.Diagnostic:
    start, end = (0, 0) if finding.span is None else (finding.span.start.offset, finding.span.end.offset)
    rule = project.plan.selection.known.get(finding.code, finding.name)
    address = rule and rule_address(project.config.text("docs-url") or "", rule)
    return lsp.Diagnostic(
        places.range(start, end),
        finding.message,
        severity=_SEVERITIES[finding.severity.value],
        code=finding.code,
        code_description=lsp.CodeDescription(address) if address else None,
        source="workrail-lint",
        data={"name": finding.name},
    )


def make_server(open_project: Callable[[str], Project]) -> Server:
    """Return a server with all of its features; `open_project` says how a path is checked."""
    server = Server(open_project)

    @server.feature(lsp.TEXT_DOCUMENT_DID_OPEN)
    def opened(params: lsp.DidOpenTextDocumentParams) -> None:
        server.publish(params.text_document.uri)
        server.later("projects", server._look)

    @server.feature(lsp.TEXT_DOCUMENT_DID_CHANGE)
    def changed(params: lsp.DidChangeTextDocumentParams) -> None:
        uri = params.text_document.uri
        server.later(uri, lambda: server.publish(uri), _REST_SECONDS)

    @server.feature(lsp.TEXT_DOCUMENT_DID_SAVE)
    def saved(params: lsp.DidSaveTextDocumentParams) -> None:
        server.reload()

    @server.feature(lsp.WORKSPACE_DID_CHANGE_WATCHED_FILES)
    def changed_on_disk(params: lsp.DidChangeWatchedFilesParams) -> None:
        server.reload()

    @server.feature(lsp.TEXT_DOCUMENT_DID_CLOSE)
    def closed(params: lsp.DidCloseTextDocumentParams) -> None:
        uri = params.text_document.uri
        server.later(uri, lambda: None)
        server.later(f"analysis of {uri}", lambda: None)
        server.documents.pop(uri, None)
        server.text_document_publish_diagnostics(lsp.PublishDiagnosticsParams(uri, []))

    @server.feature(lsp.SHUTDOWN)
    def shut_down(_: None) -> None:
        server._is_shut_down = True

    @server.feature(lsp.EXIT)
    def exited(_: None) -> None:
        server.ends_as_agreed = server._is_shut_down

    _add_reading(server)
    _add_navigation(server)
    _add_writing(server)
    _add_commands(server)
    return server


def _at(server: Server, params: Any) -> tuple[OpenDocument, Positions, int]:
    document = server.put(params.text_document.uri)
    places = server.positions(document)
    return document, places, places.offset(params.position)


def _add_reading(server: Server) -> None:
    """Register what an editor shows."""

    @server.feature(
        lsp.TEXT_DOCUMENT_COMPLETION, lsp.CompletionOptions(trigger_characters=['"', "{", ".", ":", ",", "["])
    )
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
            for number, item in enumerate(completion.completions(document, offset, server.read))
        ]

    @server.feature(lsp.TEXT_DOCUMENT_HOVER)
    def hovered(params: lsp.HoverParams) -> lsp.Hover | None:
        document, places, offset = _at(server, params)
        text = hover(document, offset, server.read)
        if text is None:
            return None
        return lsp.Hover(lsp.MarkupContent(lsp.MarkupKind.Markdown, text.text), places.range(text.start, text.end))

    @server.feature(lsp.TEXT_DOCUMENT_DOCUMENT_SYMBOL)
    def symbols(params: lsp.DocumentSymbolParams) -> list[lsp.DocumentSymbol]:
        document = server.put(params.text_document.uri)
        places = server.positions(document)

        def convert(symbol: outline.Symbol) -> lsp.DocumentSymbol:
            return lsp.DocumentSymbol(
                symbol.name,
                _SYMBOL_KINDS[symbol.kind],
                places.range(symbol.start, symbol.end),
                places.range(symbol.name_start, symbol.name_end),
                symbol.detail,
                children=[convert(inner) for inner in symbol.inner],
            )

        return [convert(symbol) for symbol in outline.symbols(document)]

    @server.feature(lsp.TEXT_DOCUMENT_FOLDING_RANGE)
    def folded(params: lsp.FoldingRangeParams) -> list[lsp.FoldingRange]:
        document = server.put(params.text_document.uri)
        places = server.positions(document)
        lines = ((places.position(start).line, places.position(end).line) for start, end in outline.folds(document))
        return [lsp.FoldingRange(start, end - 1) for start, end in sorted(lines) if end - 1 > start]

    @server.feature(lsp.TEXT_DOCUMENT_INLAY_HINT)
    def hinted(params: lsp.InlayHintParams) -> list[lsp.InlayHint]:
        document = server.put(params.text_document.uri)
        places = server.positions(document)
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
        places = server.positions(document)
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
        places = server.positions(document)
        return [
            lsp.CodeLens(
                places.range(lens.offset, lens.offset),
                lsp.Command(lens.title, lens.command or "", arguments=list(lens.arguments)),
            )
            for lens in outline.lenses(document, server.coverage.get(document.path))
        ]


def _add_navigation(server: Server) -> None:
    """Return the places by name."""

    def mentioned(params: Any) -> list[tuple[lsp.Location, bool]]:
        document, _, offset = _at(server, params)
        name = names.name_at(document, document.place(offset), offset)
        result: list[tuple[lsp.Location, bool]] = []
        for each, places in () if name is None else names.everywhere(document, name, server.read):
            ranges = server.positions(each)
            result += [
                (lsp.Location(uri_of(each.path), ranges.range(at.start, at.end)), at.is_definition) for at in places
            ]
        return result

    @server.feature(lsp.TEXT_DOCUMENT_DEFINITION)
    def defined(params: lsp.DefinitionParams) -> list[lsp.Location]:
        result = [location for location, is_definition in mentioned(params) if is_definition]
        if result:
            return result
        document, _, offset = _at(server, params)
        target = names.file_at(document, offset)
        other = None if target is None else server.read(target.path)
        if target is None or other is None:
            return []
        place = other.range_of(target.tokens) if target.tokens is not None else None
        return [lsp.Location(uri_of(other.path), server.positions(other).range(*(place or (0, 0))))]

    @server.feature(lsp.TEXT_DOCUMENT_REFERENCES)
    def referred(params: lsp.ReferenceParams) -> list[lsp.Location]:
        wanted = params.context.include_declaration
        return [location for location, is_definition in mentioned(params) if wanted or not is_definition]

    @server.feature(lsp.TEXT_DOCUMENT_DOCUMENT_HIGHLIGHT)
    def highlighted(params: lsp.DocumentHighlightParams) -> list[lsp.DocumentHighlight]:
        document, places, offset = _at(server, params)
        name = names.name_at(document, document.place(offset), offset)
        kinds = {True: lsp.DocumentHighlightKind.Write, False: lsp.DocumentHighlightKind.Read}
        return [
            lsp.DocumentHighlight(places.range(at.start, at.end), kinds[at.is_definition])
            for at in (() if name is None else names.mentions(document, name))
        ]

    @server.feature(lsp.TEXT_DOCUMENT_DOCUMENT_LINK)
    def linked(params: lsp.DocumentLinkParams) -> list[lsp.DocumentLink]:
        document = server.put(params.text_document.uri)
        places = server.positions(document)
        return [
            lsp.DocumentLink(places.range(start, end), target=uri_of(target.path))
            for start, end, target in names.links(document)
            if server.read(target.path) is not None
        ]

    @server.feature(lsp.TEXT_DOCUMENT_PREPARE_RENAME)
    def renamable(params: lsp.PrepareRenameParams) -> lsp.Range | None:
        document, places, offset = _at(server, params)
        name = names.name_at(document, document.place(offset), offset)
        for each in () if name is None else names.mentions(document, name):
            if each.start <= offset <= each.end:
                return places.range(each.start, each.end)
        return None

    @server.feature(lsp.TEXT_DOCUMENT_RENAME, lsp.RenameOptions(prepare_provider=True))
    def renamed(params: lsp.RenameParams) -> lsp.WorkspaceEdit | None:
        document, _, offset = _at(server, params)
        name = names.name_at(document, document.place(offset), offset)
        if name is None:
            return None
        result = list(names.everywhere(document, name, server.read))
        try:
            for each, _ in result:
                names.check_rename(each, name, params.new_name)
        except names.CannotRename as reason:
            raise JsonRpcInvalidParams(str(reason)) from None
        changes = {
            uri_of(each.path): _text_edits(
                (Edit(at.start, at.end, params.new_name) for at in places), server.positions(each)
            )
            for each, places in result
        }
        return lsp.WorkspaceEdit(changes)


def _add_writing(server: Server) -> None:
    """Register what an editor changes."""

    @server.feature(
        lsp.TEXT_DOCUMENT_CODE_ACTION,
        lsp.CodeActionOptions(
            code_action_kinds=[lsp.CodeActionKind.QuickFix, lsp.CodeActionKind.SourceFixAll], resolve_provider=True
        ),
    )
    def offered(params: lsp.CodeActionParams) -> list[lsp.CodeAction]:
        document = server.put(params.text_document.uri)
        places = server.positions(document)
        start, end = places.offset(params.range.start), places.offset(params.range.end)
        wanted = params.context.only
        result: list[lsp.CodeAction] = []
        if _is_wanted(lsp.CodeActionKind.QuickFix, wanted):
            for action in actions.actions(document, start, end, server.text_of):
                diagnostics = (
                    [_diagnostic(action.finding, places, document.project)] if action.finding is not None else None
                )
                edit = _workspace_edit(server, action.edits)
                kind = lsp.CodeActionKind.QuickFix
                result.append(lsp.CodeAction(action.title, kind, diagnostics, action.is_preferred or None, edit=edit))
        if _is_wanted(lsp.CodeActionKind.SourceFixAll, wanted) and any(
            finding.fix is not None and finding.fix.safety.value == "safe" for finding in document.checked.findings
        ):
            action_of_all = lsp.CodeAction(
                "Fix all safe problems", lsp.CodeActionKind.SourceFixAll, data=params.text_document.uri
            )
            # An editor that fixes on save asks for this kind alone, and may not ask again for the edit.
            result.append(resolved(action_of_all) if wanted else action_of_all)
        return result

    @server.feature(lsp.CODE_ACTION_RESOLVE)
    def resolved(action: lsp.CodeAction) -> lsp.CodeAction:
        if isinstance(action.data, str):
            document = server.put(action.data)
            edit = actions.fix_all(document)
            action.edit = _workspace_edit(server, {document.path: [] if edit is None else [edit]})
        return action

    @server.feature(lsp.TEXT_DOCUMENT_FORMATTING)
    def formatted(params: lsp.DocumentFormattingParams) -> list[lsp.TextEdit]:
        document = server.put(params.text_document.uri)
        edit = actions.format_edit(document)
        return [] if edit is None else _text_edits([edit], server.positions(document))


def _add_commands(server: Server) -> None:
    """Register the commands of lenses and of the extension."""

    async def performed(command: str, path: str) -> dict[str, Any]:
        project = server.project_of(path)
        folder = commands.scenario_folder(path, project.config.root, project.scenarios)
        ran = await commands.run(commands.arguments_of(command, path, folder))
        summary = ran.summary
        if command == "workrail.coverage" and ran.data is not None:
            server.coverage[path] = commands.coverage_of(ran.data)
            totals = [sum(each) for each in zip(*server.coverage[path].values(), strict=True)] or [0, 0]
            summary = f"{totals[0]} of {totals[1]} goals are covered by the scenarios in {folder}"
            server.workspace_code_lens_refresh(None)
        kind = lsp.MessageType.Info if ran.is_fine else lsp.MessageType.Warning
        server.window_log_message(lsp.LogMessageParams(kind, ran.output or summary))
        server.window_show_message(lsp.ShowMessageParams(kind, summary or "done"))
        return {"ok": ran.is_fine, "summary": summary}

    for name in commands.COMMANDS:

        def _register(command: str) -> None:
            @server.command(command)
            async def perform(path: str) -> dict[str, Any]:
                return await performed(command, path)

        _register(name)

    @server.feature(_PREVIEW)
    def previewed(params: Any) -> dict[str, Any] | None:
        """Return the studio page of an open workflow and the step at the cursor."""
        try:
            uri, position = str(params.textDocument.uri), lsp.Position(params.position.line, params.position.character)
        except (AttributeError, TypeError, ValueError):
            raise JsonRpcInvalidParams(f"{_PREVIEW} needs a textDocument and a position") from None
        document = server.put(uri)
        if not document.known.is_workflow:
            return None
        offset = server.positions(document).offset(position)
        step = names.step_at(document.known, offset)
        wants_page = bool(getattr(params, "page", True))
        page = preview(document.known) if wants_page else None
        workflow_id = document.known.at(("id",))
        return {"step": step, "page": page, "id": workflow_id if isinstance(workflow_id, str) else None}


def _is_wanted(kind: lsp.CodeActionKind, wanted: Any) -> bool:
    return not wanted or any(str(kind.value).startswith(str(getattr(each, "value", each))) for each in wanted)


def _text_edits(edits: Iterable[Edit], places: Positions) -> list[lsp.TextEdit]:
    return [lsp.TextEdit(places.range(edit.start, edit.end), edit.text) for edit in edits]


def _workspace_edit(server: Server, edits: dict[str, list[Edit]]) -> lsp.WorkspaceEdit:
    """Return edits by path. A file that is not there yet is created."""
    changes: list[Any] = []
    for path, listed in edits.items():
        uri = uri_of(path)
        document = server.read(path)
        if document is None:
            changes.append(lsp.CreateFile(uri))
        places = Positions("") if document is None else server.positions(document)
        identity = lsp.OptionalVersionedTextDocumentIdentifier(uri)
        changes.append(lsp.TextDocumentEdit(identity, list(_text_edits(listed, places))))
    return lsp.WorkspaceEdit(document_changes=changes)
