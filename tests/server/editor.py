"""An editor for tests: pygls' own client, connected to a server process, used from plain functions."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any, TypeVar

import forks
from lsprotocol import types as lsp
from pygls.lsp.client import LanguageClient

T = TypeVar("T")
_PATIENCE = 120  # seconds until a test gives up; no test judges how long something takes


class Editor:
    """One server and the documents that are open in it. Columns are UTF-16 units unless `encoding` says otherwise."""

    def __init__(self, folder: Path, encoding: lsp.PositionEncodingKind | None = None) -> None:
        self.folder = folder
        self.codec = {"utf-8": "utf-8", "utf-32": "utf-32-le"}.get(str(encoding and encoding.value), "utf-16-le")
        self.texts: dict[str, str] = {}
        self.seen: dict[str, lsp.PublishDiagnosticsParams] = {}
        self.published = 0
        self.messages: list[str] = []
        self._versions: dict[str, int] = {}
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()
        self._news: asyncio.Condition = self._run(self._condition())
        self.client = LanguageClient("test", "1")

        @self.client.feature(lsp.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS)
        async def published(params: lsp.PublishDiagnosticsParams) -> None:
            self.seen[params.uri] = params
            self.published += 1
            async with self._news:
                self._news.notify_all()

        @self.client.feature(lsp.WINDOW_SHOW_MESSAGE)
        async def shown(params: lsp.ShowMessageParams) -> None:
            self.messages.append(params.message)

        @self.client.feature(lsp.WINDOW_LOG_MESSAGE)
        async def logged(params: lsp.LogMessageParams) -> None:
            pass

        @self.client.feature(lsp.WORKSPACE_CODE_LENS_REFRESH)
        async def refreshed(params: Any) -> None:
            pass

        general = lsp.GeneralClientCapabilities(position_encodings=[encoding]) if encoding else None
        capabilities = lsp.ClientCapabilities(general=general)
        self._run(self.client.start_io(*forks.shared().relay(["workrail-lint", "server"], folder)))
        self.capabilities = self._run(
            self.client.initialize_async(lsp.InitializeParams(capabilities, root_uri=folder.as_uri()))
        ).capabilities
        self.tell(lsp.INITIALIZED, lsp.InitializedParams())

    async def _condition(self) -> asyncio.Condition:
        return asyncio.Condition()

    def _run(self, work: Coroutine[Any, Any, T]) -> T:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(_PATIENCE)

    def stop(self) -> None:
        self._run(self.client.shutdown_async(None))
        self.tell(lsp.EXIT, None)
        self._run(self.client.stop())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(_PATIENCE)
        self._loop.close()

    # ------------------------------------------------------------------------------------------------ documents

    def uri(self, path: str) -> str:
        return (self.folder / path).as_uri()

    def open(self, path: str, text: str | None = None) -> str:
        """Open a file, with another text if one is given; returns the text."""
        content = (self.folder / path).read_text(encoding="utf-8") if text is None else text
        uri = self.uri(path)
        self.texts[path], self._versions[path] = content, self._versions.get(path, 0) + 1
        item = lsp.TextDocumentItem(uri, "json", self._versions[path], content)
        self.tell(lsp.TEXT_DOCUMENT_DID_OPEN, lsp.DidOpenTextDocumentParams(item))
        return content

    def type(self, path: str, text: str) -> list[lsp.Diagnostic]:
        """Replace the text, and wait for the diagnostics of it."""
        self.change(path, text)
        return self.diagnostics(path)

    def change(self, path: str, text: str) -> None:
        self._versions[path] += 1
        self.texts[path] = text
        identity = lsp.VersionedTextDocumentIdentifier(self._versions[path], self.uri(path))
        change = lsp.TextDocumentContentChangeWholeDocument(text)
        self.tell(lsp.TEXT_DOCUMENT_DID_CHANGE, lsp.DidChangeTextDocumentParams(identity, [change]))

    def save(self, path: str) -> None:
        (self.folder / path).write_text(self.texts[path], encoding="utf-8")
        self.tell(lsp.TEXT_DOCUMENT_DID_SAVE, lsp.DidSaveTextDocumentParams(self.identity(path)))

    def close(self, path: str) -> None:
        self.tell(lsp.TEXT_DOCUMENT_DID_CLOSE, lsp.DidCloseTextDocumentParams(self.identity(path)))

    def diagnostics(self, path: str) -> list[lsp.Diagnostic]:
        """The diagnostics of the text as it is now."""
        uri = self.uri(path)
        version = self._versions[path]
        return self.until(path, lambda _: self.seen[uri].version == version)

    def until(self, path: str, holds: Callable[[list[lsp.Diagnostic]], Any]) -> list[lsp.Diagnostic]:
        """Wait until the diagnostics of a document are as wanted."""
        uri = self.uri(path)

        async def wait() -> list[lsp.Diagnostic]:
            async with self._news:
                await self._news.wait_for(lambda: uri in self.seen and holds(list(self.seen[uri].diagnostics)))
                return list(self.seen[uri].diagnostics)

        try:
            return self._run(asyncio.wait_for(wait(), _PATIENCE))
        except TimeoutError:
            shown = self.seen.get(uri)
            raise AssertionError(f"the diagnostics of {path} stay {shown and shown.diagnostics}") from None

    # ------------------------------------------------------------------------------------------------- requests

    def identity(self, path: str) -> lsp.TextDocumentIdentifier:
        return lsp.TextDocumentIdentifier(self.uri(path))

    def at(self, path: str, needle: str, inside: int = 0) -> lsp.Position:
        """The position of a part of the text, some characters into it."""
        text = self.texts[path]
        offset = text.index(needle) + inside
        before = text[:offset].rpartition("\n")[2]
        size = {"utf-8": 1, "utf-16-le": 2, "utf-32-le": 4}[self.codec]
        return lsp.Position(text.count("\n", 0, offset), len(before.encode(self.codec)) // size)

    def tell(self, method: str, params: Any) -> None:
        """Send a notification, in order with everything else."""

        async def told() -> None:
            self.client.protocol.notify(method, params)

        self._run(told())

    def ask(self, method: str, params: Any) -> Any:
        async def asked() -> Any:
            return await self.client.protocol.send_request_async(method, params)

        return self._run(asked())

    def complete(self, path: str, needle: str, inside: int) -> dict[str, lsp.CompletionItem]:
        found = self.ask(
            lsp.TEXT_DOCUMENT_COMPLETION, lsp.CompletionParams(self.identity(path), self.at(path, needle, inside))
        )
        return {item.label: item for item in found}

    def hover(self, path: str, needle: str, inside: int) -> str:
        params = lsp.HoverParams(self.identity(path), self.at(path, needle, inside))
        found = self.ask(lsp.TEXT_DOCUMENT_HOVER, params)
        return "" if found is None else found.contents.value

    def definition(self, path: str, needle: str, inside: int) -> list[tuple[str, str]]:
        """Paths, and the lines that are meant."""
        params = lsp.DefinitionParams(self.identity(path), self.at(path, needle, inside))
        return [self._shown(each) for each in self.ask(lsp.TEXT_DOCUMENT_DEFINITION, params)]

    def references(self, path: str, needle: str, inside: int) -> list[tuple[str, str]]:
        context = lsp.ReferenceContext(include_declaration=True)
        params = lsp.ReferenceParams(context, self.identity(path), self.at(path, needle, inside))
        return [self._shown(each) for each in self.ask(lsp.TEXT_DOCUMENT_REFERENCES, params)]

    def _shown(self, location: lsp.Location) -> tuple[str, str]:
        path = next(
            str(each.relative_to(self.folder)) for each in self.folder.rglob("*") if each.as_uri() == location.uri
        )
        text = self.texts.get(path) or (self.folder / path).read_text(encoding="utf-8")
        return path, text.split("\n")[location.range.start.line].strip()

    def rename(self, path: str, needle: str, inside: int, new: str) -> dict[str, str]:
        """The texts after renaming, by path."""
        params = lsp.RenameParams(self.identity(path), self.at(path, needle, inside), new)
        edit = self.ask(lsp.TEXT_DOCUMENT_RENAME, params)
        return {} if edit is None else self.applied(edit)

    def actions(self, path: str, diagnostic: lsp.Diagnostic) -> dict[str, lsp.CodeAction]:
        params = lsp.CodeActionParams(self.identity(path), diagnostic.range, lsp.CodeActionContext([diagnostic]))
        return {each.title: each for each in self.ask(lsp.TEXT_DOCUMENT_CODE_ACTION, params)}

    def applied(self, edit: lsp.WorkspaceEdit) -> dict[str, str]:
        """The texts after an edit, by path; nothing is written."""
        changes: dict[str, list[Any]] = {uri: list(edits) for uri, edits in (edit.changes or {}).items()}
        for change in edit.document_changes or ():
            if isinstance(change, lsp.TextDocumentEdit):
                changes.setdefault(change.text_document.uri, []).extend(change.edits)
        made: dict[str, str] = {}
        for uri, edits in changes.items():
            path = uri.removeprefix(self.folder.as_uri() + "/")
            file = self.folder / path
            text = self.texts.get(path) or (file.read_text(encoding="utf-8") if file.exists() else "")
            made[path] = self.edited(text, edits)
        return made

    def edited(self, text: str, edits: list[Any]) -> str:
        lines = text.split("\n")
        size = {"utf-8": 1, "utf-16-le": 2, "utf-32-le": 4}[self.codec]

        def offset(position: lsp.Position) -> int:
            line = lines[position.line].encode(self.codec)[: size * position.character].decode(self.codec)
            return sum(len(each) + 1 for each in lines[: position.line]) + len(line)

        for edit in sorted(edits, key=lambda each: (each.range.start.line, each.range.start.character), reverse=True):
            text = text[: offset(edit.range.start)] + edit.new_text + text[offset(edit.range.end) :]
        return text

    def formatted(self, path: str) -> str:
        options = lsp.FormattingOptions(2, True)
        edits = self.ask(lsp.TEXT_DOCUMENT_FORMATTING, lsp.DocumentFormattingParams(self.identity(path), options))
        return self.edited(self.texts[path], list(edits or ()))
