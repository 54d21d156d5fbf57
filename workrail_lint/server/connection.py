"""The connection to a client: messages of a bounded size, an answer to requests that make no sense, no tracebacks."""

from __future__ import annotations

import json
import logging
import re
from typing import Any, BinaryIO

from lsprotocol.types import (
    DidChangeTextDocumentNotification,
    Range,
    TextDocumentContentChangeEvent,
    TextDocumentContentChangePartial,
)
from pygls.exceptions import JsonRpcException, JsonRpcInvalidParams
from pygls.protocol import LanguageServerProtocol

from workrail_lint.base import js
from workrail_lint.base.files import MAX_FILE_BYTES
from workrail_lint.base.terminal import err, printable
from workrail_lint.documents.scanner import loads

_MAX_HEADER = 4096  # all of its lines together
_MAX_MESSAGE = 2 * MAX_FILE_BYTES  # a document in JSON, with all that is escaped in there
_LENGTH = re.compile(rb"content-length:[ \t]*([0-9]{1,12})[ \t]*\r?\n", re.IGNORECASE)
_LONG_NUMBER = re.compile(rb"[0-9]{400}")


class Input:
    """The stream from the client, which ends where no message can begin."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream
        self._header = 0  # bytes of the header that is being read
        self.problem: str | None = None  # why nothing more was read

    def readline(self) -> bytes:
        """Return a line of a header."""
        line = b"" if self.problem is not None else self._stream.readline(_MAX_HEADER)
        self._header += len(line)
        if not line.lower().startswith(b"content-length"):
            return line if self._header < _MAX_HEADER else self._end("a header is too long")
        length = _LENGTH.fullmatch(line)
        if length is None:
            return self._end("the Content-Length of a message is not a number")
        if int(length[1]) > _MAX_MESSAGE:
            return self._end(f"a message of {int(length[1]):,} bytes is too long")
        return b"Content-Length: %d\r\n" % int(length[1])

    def read(self, size: int) -> bytes:
        """Return a whole message; nothing when the client left in the middle of it."""
        self._header = 0
        body = self._stream.read(size)
        if len(body) < size:
            return b""
        if _LONG_NUMBER.search(body) is None:
            return body
        try:  # a number that Python refuses to convert is out of range here
            return json.dumps(loads(body, parse_int=js.number)).encode()
        except (ValueError, RecursionError):
            return body

    def _end(self, problem: str) -> bytes:
        self.problem = problem
        return b""


class Protocol(LanguageServerProtocol):
    """Answers a request whose parameters are not what the protocol says; pygls would only log it."""

    def structure_message(self, data: dict[str, Any]) -> Any:
        try:
            message = super().structure_message(data)
        except JsonRpcException:
            if "method" in data and isinstance(data.get("id"), int | str):
                message = f"the parameters of {printable(str(data['method']))} are not valid"
                self._send_response(data["id"], None, JsonRpcInvalidParams(message).to_response_error())
            return None
        if isinstance(message, DidChangeTextDocumentNotification):
            for change in message.params.content_changes:
                _put_in_order(change)
        return message

    def handle_message(self, message: Any) -> None:
        if message is not None:
            super().handle_message(message)


def _put_in_order(change: TextDocumentContentChangeEvent) -> None:
    """Make a range that ends before it starts what the editor means; pygls would repeat what is in between."""
    if isinstance(change, TextDocumentContentChangePartial) and change.range.end < change.range.start:
        change.range = Range(change.range.end, change.range.start)


class _OneLine(logging.Handler):
    """Writes the first line of a message to standard error. Tracebacks are in the answers to the client."""

    def emit(self, record: logging.LogRecord) -> None:
        err(f"workrail-lint server: {printable(record.getMessage().partition(chr(10))[0])}")


def log_in_one_line() -> None:
    """Keep the log of pygls short: who starts a server may not read what it logs, and it must not wait for that."""
    logger = logging.getLogger("pygls")
    logger.handlers = [_OneLine(logging.WARNING)]
    logger.propagate = False
