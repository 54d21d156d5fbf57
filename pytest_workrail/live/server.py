"""The page on loopback: who may ask for what, and the answers.

The address that is printed has a random token behind `#`, which browsers do not send. The page sends it as a header,
and every request for data needs it. A request from another page has another origin or another host and is refused.
"""

from __future__ import annotations

import json
import os
import queue
import secrets
import threading
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from pytest_workrail.live.actions import Actions
from pytest_workrail.live.board import Board
from workrail_lint.base.files import read_shipped
from workrail_lint.base.result import Err
from workrail_lint.base.terminal import err, printable
from workrail_lint.studio.page import script_text, style_text

TOKEN_HEADER = "X-Studio-Token"
_WEB = os.path.join(os.path.dirname(__file__), "web")
_ADDRESS = "127.0.0.1"
_LONGEST_BODY = 64 * 1024
_IDLE_SECONDS = 30  # for one request to come in, and between two signs of life in a stream of events
_MOST_STREAMS = 16
_FOLLOW_SECONDS = 0.5
_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)


class Server(ThreadingHTTPServer):
    """Serves one board. `url` is the address to open."""

    daemon_threads = True
    block_on_close = False
    request_queue_size = 128  # a page opens several connections at once; one that finds no room waits for a second

    def __init__(self, board: Board, *, port: int) -> None:
        super().__init__((_ADDRESS, port), _Handler)
        self.board = board
        self.token = secrets.token_urlsafe(32)
        self.actions = Actions(board, self.notify)
        self._streams: set[queue.SimpleQueue[str]] = set()
        self._streams_lock = threading.Lock()
        self._is_closing = threading.Event()
        self.static = {
            "/": ("text/html; charset=utf-8", read_shipped(os.path.join(_WEB, "index.html"))),
            "/studio.js": ("text/javascript; charset=utf-8", script_text().encode()),
            "/studio.css": ("text/css; charset=utf-8", style_text().encode()),
            "/live.js": ("text/javascript; charset=utf-8", read_shipped(os.path.join(_WEB, "live.js"))),
        }

    @property
    def hosts(self) -> tuple[str, str]:
        """The names that a request may have for its host."""
        return f"{_ADDRESS}:{self.server_port}", f"localhost:{self.server_port}"

    @property
    def url(self) -> str:
        return f"http://{self.hosts[0]}/#token={self.token}"

    def follow(self) -> None:
        """Follow the files of the project until the server is closed."""
        while not self._is_closing.wait(_FOLLOW_SECONDS):
            if self.board.has_changed_files() and self.board.refresh():
                self.notify(f"changed {self.board.view.digest}")

    def notify(self, event: str) -> None:
        """Tell every open page."""
        with self._streams_lock:
            for stream in self._streams:
                stream.put(event)

    def open_stream(self) -> queue.SimpleQueue[str] | None:
        """Return the events of one page; None if there are too many pages."""
        with self._streams_lock:
            if len(self._streams) >= _MOST_STREAMS:
                return None
            stream: queue.SimpleQueue[str] = queue.SimpleQueue()
            self._streams.add(stream)
            return stream

    def close_stream(self, stream: queue.SimpleQueue[str]) -> None:
        with self._streams_lock:
            self._streams.discard(stream)

    def server_close(self) -> None:
        self._is_closing.set()
        self.actions.close()
        super().server_close()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing of a page that went away."""


class _Handler(BaseHTTPRequestHandler):
    server: Server
    protocol_version = "HTTP/1.1"
    timeout = _IDLE_SECONDS
    server_version = "workrail-studio"
    sys_version = ""

    def do_GET(self) -> None:
        if not self._has_own_host():
            return
        known = self.server.static.get(self.path)
        if known is not None:
            self._answer(HTTPStatus.OK, *known)
        elif self.path not in ("/data", "/events"):
            self._refuse(HTTPStatus.NOT_FOUND, "there is nothing at this address")
        elif self._has_token():
            if self.path == "/data":
                self._answer(HTTPStatus.OK, "application/json", self.server.board.view.content)
            else:
                self._stream_events()

    def do_POST(self) -> None:
        name = self.path.removeprefix("/")
        if not self._has_own_host() or not self._has_own_origin() or not self._has_token():
            return
        if name not in self.server.actions.names:
            self._refuse(HTTPStatus.NOT_FOUND, "there is no such action here")
            return
        body = self._body()
        if body is None:
            return
        done = self.server.actions.do(name, body)
        if isinstance(done, Err):
            self._refuse(done.error.status, done.error.message)
        else:
            self._answer(HTTPStatus.OK, "application/json", json.dumps(done.value).encode())

    # ------------------------------------------------------------------------------------------------- who may ask

    def _has_own_host(self) -> bool:
        hosts = self.headers.get_all("Host") or []
        if len(hosts) == 1 and hosts[0] in self.server.hosts:
            return True
        self._refuse(HTTPStatus.MISDIRECTED_REQUEST, "the request names another host")
        return False

    def _has_own_origin(self) -> bool:
        origins = self.headers.get_all("Origin") or []
        if len(origins) == 1 and origins[0] == f"http://{self.headers['Host']}":
            return True
        self._refuse(HTTPStatus.FORBIDDEN, "the request comes from another page")
        return False

    def _has_token(self) -> bool:
        given = self.headers.get(TOKEN_HEADER, "")
        if secrets.compare_digest(given.encode("utf-8", "replace"), self.server.token.encode()):
            return True
        self._refuse(HTTPStatus.FORBIDDEN, "the request has no token; open the address that the terminal shows")
        return False

    def _body(self) -> dict[str, Any] | None:
        if self.headers.get("Content-Type") != "application/json":
            self._refuse(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, "the body must be application/json")
            return None
        length = self.headers.get("Content-Length", "")
        if not length.isascii() or not length.isdecimal():
            self._refuse(HTTPStatus.LENGTH_REQUIRED, "the request says no length")
            return None
        if len(length) > len(str(_LONGEST_BODY)) or int(length) > _LONGEST_BODY:
            self._refuse(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, f"a body has at most {_LONGEST_BODY} bytes")
            return None
        try:
            body = json.loads(self.rfile.read(int(length)))
        except (ValueError, RecursionError):
            body = None
        if not isinstance(body, dict):
            self._refuse(HTTPStatus.BAD_REQUEST, "the body must be a JSON object")
            return None
        return body

    # ----------------------------------------------------------------------------------------------------- answers

    def _answer(self, status: int, kind: str, content: bytes) -> None:
        self.send_response(status)
        self._headers(kind)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def _headers(self, kind: str) -> None:
        self.send_header("Content-Type", kind)
        self.send_header("Content-Security-Policy", _POLICY)
        self.send_header("Cache-Control", "no-store")
        self.send_header("Cross-Origin-Resource-Policy", "same-origin")
        self.send_header("Referrer-Policy", "no-referrer")
        self.send_header("X-Content-Type-Options", "nosniff")

    def _refuse(self, status: int, message: str) -> None:
        """Answer with the reason, and name the request in the terminal. The connection ends: its body was not read."""
        request = f"{self.command} {self.path[:200]}"
        err(f"workrail-test studio: refused {printable(request)}: {printable(message)}")
        self.close_connection = True
        self._answer(status, "application/json", json.dumps({"error": message}).encode())

    def _stream_events(self) -> None:
        stream = self.server.open_stream()
        if stream is None:
            self._refuse(HTTPStatus.SERVICE_UNAVAILABLE, f"at most {_MOST_STREAMS} pages are kept up to date")
            return
        self.close_connection = True
        try:
            self.send_response(HTTPStatus.OK)
            self._headers("text/event-stream")
            self.end_headers()
            event = f"changed {self.server.board.view.digest}"
            while True:
                self.wfile.write(f"data: {event}\n\n".encode())
                self.wfile.flush()
                event = self._next_event(stream)
        except OSError:
            pass  # the page is gone
        finally:
            self.server.close_stream(stream)

    @staticmethod
    def _next_event(stream: queue.SimpleQueue[str]) -> str:
        try:
            return stream.get(timeout=_IDLE_SECONDS / 2)
        except queue.Empty:
            return "alive"

    def log_message(self, *_: Any) -> None:
        """Say nothing: what is refused and what is written is named by itself."""
