"""A project with everything the live page can act on, and a server for it."""

from __future__ import annotations

import http.client
import json
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from pytest_workrail.cli.studio import parser
from pytest_workrail.golden.document import golden_bytes
from pytest_workrail.golden.pending import pending_bytes, pending_of
from pytest_workrail.live.board import Board
from pytest_workrail.live.server import TOKEN_HEADER, Server
from pytest_workrail.scenarios.drivers import open_scenario
from pytest_workrail.scenarios.workflow_driver import load, run_scenario
from workrail_lint.base.result import Ok
from workrail_lint.systems.workrail.rules.samples import step, workflow

SECRET = "sk-live-0123456789abcdefghijklmn"


def review(bound: str = "Plan it.") -> dict[str, Any]:
    """A workflow with a branch."""
    return workflow(
        step("first", prompt="Set the context variable `size` to one of `small`, `large`."),
        step("small-way", prompt="Keep it small.", runCondition={"var": "size", "equals": "small"}),
        step("large-way", prompt=bound, runCondition={"var": "size", "equals": "large"}),
        id="demo.review",
        name="Review",
    )


def misspelt() -> dict[str, Any]:
    """A workflow with an error that has a fix."""
    return workflow(
        step("first", prompt="Set the context variable `size` to one of `small`, `large`."),
        step("large-way", prompt="Plan it.", runCondition={"var": "size", "eq": "large"}),
        id="demo.misspelt",
        name="Misspelt",
    )


class Studio:
    """A running server, and requests as a page sends them."""

    def __init__(self, root: Path, server: Server) -> None:
        self.root = root
        self.server = server
        self.data: dict[str, Any] = json.loads(server.board.view.content)

    def request(
        self, method: str, path: str, body: Any = None, *, raw: bytes | None = None, without: str = "", **headers: str
    ) -> tuple[int, Any]:
        host = self.server.hosts[0]
        sent = {"Host": host, "Origin": f"http://{host}", TOKEN_HEADER: self.server.token}
        content = raw if raw is not None else b"" if body is None else json.dumps(body).encode()
        if method == "POST":
            sent |= {"Content-Type": "application/json", "Content-Length": str(len(content))}
        sent |= {name.replace("_", "-"): value for name, value in headers.items()}
        sent.pop(without, None)
        connection = http.client.HTTPConnection("127.0.0.1", self.server.server_port, timeout=300)
        try:
            connection.putrequest(method, path, skip_host=True, skip_accept_encoding=True)
            for name, value in sent.items():
                connection.putheader(name, value)
            connection.endheaders(content)
            answer = connection.getresponse()
            text = answer.read()
        finally:
            connection.close()
        is_json = answer.headers["Content-Type"] == "application/json"
        return answer.status, json.loads(text) if is_json else text.decode()

    def post(self, action: str, **body: Any) -> tuple[int, Any]:
        return self.request("POST", f"/{action}", body)

    def fresh(self) -> dict[str, Any]:
        """Return the data as a page would get it now."""
        status, data = self.request("GET", "/data")
        assert status == 200
        return dict(data)


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A workflow with a scenario, its golden and a pending change of it; and a workflow with an error."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("CI", raising=False)
    (tmp_path / "workrail-lint.toml").write_text("")
    for folder in ("workflows", "tests/__goldens__"):
        (tmp_path / folder).mkdir(parents=True)
    _write(tmp_path / "workflows" / "misspelt.json", misspelt())
    _write(tmp_path / "workflows" / "review.json", review())
    scenario = tmp_path / "tests" / "large.scenario.json"
    turn = {"step": "first", "does": "right", "context": {"size": "large", "apiKey": SECRET}}
    _write(scenario, {"workflow": "../workflows/review.json", "agent": {"kind": "auto", "turns": [turn]}})
    golden = tmp_path / "tests" / "__goldens__" / "large.golden.json"
    before = _golden(scenario)
    golden.write_bytes(before)
    _write(tmp_path / "workflows" / "review.json", review("Plan it with care."))
    pending_of(golden).write_bytes(pending_bytes("tests/large.scenario.json::large", before, _golden(scenario)))
    return tmp_path


def _write(path: Path, value: Any) -> None:
    path.write_text(json.dumps(value, indent=2) + "\n", encoding="utf-8")


def _golden(path: Path) -> bytes:
    opened = open_scenario(path, path.name)
    assert isinstance(opened, Ok)
    loaded = load(opened.value)
    assert isinstance(loaded, Ok)
    return golden_bytes(run_scenario(loaded.value).run.transcript)


@pytest.fixture
def serve(project: Path) -> Iterator[Callable[..., Studio]]:
    """Start servers of the project."""
    servers: list[Server] = []

    def started(*arguments: str) -> Studio:
        args = parser().parse_args(["--goldens", "tests", *arguments])
        server = Server(Board(args), port=0)
        servers.append(server)
        threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()
        return Studio(project, server)

    yield started
    for server in servers:
        server.shutdown()
        server.server_close()


@pytest.fixture
def studio(serve: Callable[..., Studio]) -> Studio:
    return serve()
