"""Who may ask the live page for what: everybody else is refused, and the terminal names the request."""

from __future__ import annotations

import errno
import os
import socket
from pathlib import Path

import pytest
from live_project import Studio

from pytest_workrail.cli import main
from pytest_workrail.live.server import TOKEN_HEADER


def test_without_the_token_there_are_no_data(studio: Studio, capsys: pytest.CaptureFixture[str]) -> None:
    for path in ("/data", "/events"):
        for headers in ({TOKEN_HEADER: ""}, {TOKEN_HEADER: "wrong"}, {TOKEN_HEADER: f"{studio.server.token}x"}):
            assert studio.request("GET", path, **headers)[0] == 403
        assert studio.request("GET", path, without=TOKEN_HEADER)[0] == 403
    assert studio.request("POST", "/whatif", {"run": "large", "moment": 0}, without=TOKEN_HEADER)[0] == 403
    assert capsys.readouterr().err.count("refused GET /data: the request has no token") == 4


def test_the_shell_has_nothing_of_the_project(studio: Studio) -> None:
    for path in ("/", "/studio.js", "/studio.css", "/live.js"):
        status, text = studio.request("GET", path, without=TOKEN_HEADER)
        assert status == 200
        assert "demo.review" not in text
        assert studio.server.token not in text


@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1", "127.0.0.1:1", "[::1]", ""])
def test_another_host_is_refused(studio: Studio, host: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert studio.request("GET", "/", Host=host)[0] == 421
    assert studio.request("GET", "/data", Host=host)[0] == 421
    assert studio.request("POST", "/whatif", {}, Host=host)[0] == 421
    said = capsys.readouterr().err
    for request in ("GET /", "GET /data", "POST /whatif"):
        assert f"refused {request}: the request names another host" in said


@pytest.mark.parametrize("origin", ["http://evil.example", "null", "https://127.0.0.1", ""])
def test_another_origin_is_refused(studio: Studio, origin: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert studio.request("POST", "/whatif", {"run": "large", "moment": 0}, Origin=origin)[0] == 403
    assert studio.request("POST", "/whatif", {"run": "large", "moment": 0}, without="Origin")[0] == 403
    assert capsys.readouterr().err.count("refused POST /whatif: the request comes from another page") == 2


def test_bodies_are_small_json_objects(studio: Studio) -> None:
    path = "/whatif"
    assert studio.request("POST", path, raw=b"{}", Content_Type="text/plain")[0] == 415
    assert studio.request("POST", path, raw=b"{")[0] == 400
    assert studio.request("POST", path, raw=b"[]")[0] == 400
    assert studio.request("POST", path, raw=b"[" * 60_000)[0] == 400
    assert studio.request("POST", path, raw=b"{}", Content_Length="-1")[0] == 411
    assert studio.request("POST", path, raw=b"{}", Content_Length="9" * 5_000)[0] == 413
    assert studio.request("POST", path, raw=b"", Content_Length="70000")[0] == 413


@pytest.mark.parametrize("path", ["/nothing", "/../etc/passwd", "/data?x=1", "//evil", "/fix/", "/studio.js/.."])
def test_other_addresses_do_not_exist(studio: Studio, path: str) -> None:
    assert studio.request("GET", path)[0] == 404
    assert studio.request("POST", path, {})[0] == 404


@pytest.mark.parametrize(
    "path", ["../outside.json", "/etc/passwd", "workflows/../../x.json", "tests/large.scenario.json"]
)
def test_only_files_of_the_page_are_fixed(studio: Studio, path: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert studio.post("fix", path=path, hash="x", code="CD001", pointer="", apply=True)[0] == 404
    assert "refused POST /fix: the page shows no such file" in capsys.readouterr().err


def test_nothing_is_written_through_a_link(studio: Studio, tmp_path_factory: pytest.TempPathFactory) -> None:
    outside = tmp_path_factory.mktemp("outside")
    (studio.root / "tests").rename(studio.root / "kept")
    (studio.root / "tests").symlink_to(outside)
    status, answer = studio.post("scenario", kind="whatif", run="large", moment=0, context={"size": "small"})
    assert status == 200
    assert answer["scenario"].startswith("workflows/")
    assert list(outside.iterdir()) == []


def test_answers_say_what_a_browser_may_do_with_them(studio: Studio) -> None:
    with socket.create_connection(("127.0.0.1", studio.server.server_port)) as connection:
        connection.sendall(f"GET / HTTP/1.1\r\nHost: {studio.server.hosts[0]}\r\nConnection: close\r\n\r\n".encode())
        answer = b"".join(iter(lambda: connection.recv(65_536), b"")).decode()
    head = answer.partition("\r\n\r\n")[0].lower()
    for line in (
        "content-security-policy: default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self';",
        "cache-control: no-store",
        "cross-origin-resource-policy: same-origin",
        "x-content-type-options: nosniff",
        "referrer-policy: no-referrer",
    ):
        assert line in head
    assert "access-control" not in head
    assert "frame-ancestors 'none'" in head


def test_it_listens_on_this_machine_only(studio: Studio) -> None:
    assert studio.server.server_address[0] == "127.0.0.1"


def test_too_many_pages_are_refused(studio: Studio) -> None:
    streams = [studio.server.open_stream() for _ in range(16)]
    assert None not in streams
    assert studio.request("GET", "/events")[0] == 503


def test_it_does_not_run_in_ci_or_as_root_unless_asked(
    project: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("os.geteuid", lambda: 0)
    assert main(["studio"]) == 2
    assert "--allow-root" in capsys.readouterr().err
    monkeypatch.setenv("CI", "true")
    assert main(["studio", "--allow-root"]) == 2
    assert "--allow-ci" in capsys.readouterr().err
    assert main(["studio", "--port", "70000"]) == 2
    assert "--port takes a number" in capsys.readouterr().err


def test_a_project_without_workflows_is_not_served(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("CI", raising=False)
    assert main(["studio", "--allow-root"]) == 3
    assert "no workflow" in capsys.readouterr().err


def test_a_full_disk_is_said_and_leaves_the_file(studio: Studio, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    item = next(each for each in studio.data["workflows"] if each["path"] == "workflows/misspelt.json")
    finding = next(each for each in item["findings"] if each["fix"])
    wanted = {"path": item["path"], "hash": studio.data["live"]["files"][item["path"]], "apply": True}
    file = studio.root / item["path"]
    before = file.read_bytes()
    monkeypatch.setattr("os.replace", full)
    status, answer = studio.post("fix", **wanted, code=finding["code"], pointer=finding["pointer"])
    assert (status, "No space left" in answer["error"]) == (500, True)
    assert file.read_bytes() == before
    assert sorted(path.name for path in file.parent.iterdir()) == ["misspelt.json", "review.json"]


def test_a_client_that_never_ends_its_request_stops_nobody_else(studio: Studio) -> None:
    host = studio.server.hosts[0]
    begun = [b"", b"GET / HT", f"GET / HTTP/1.1\r\nHost: {host}\r\nX-A: ".encode()]
    begun.append(
        f"POST /whatif HTTP/1.1\r\nHost: {host}\r\nOrigin: http://{host}\r\n{TOKEN_HEADER}: {studio.server.token}\r\n"
        "Content-Type: application/json\r\nContent-Length: 100\r\n\r\n{".encode()
    )
    clients = [socket.create_connection(("127.0.0.1", studio.server.server_port)) for _ in range(20) for _ in begun]
    try:
        for client, data in zip(clients, begun * 20, strict=True):
            client.sendall(data)
        assert studio.request("GET", "/data")[0] == 200
    finally:
        for client in clients:
            client.close()


@pytest.mark.parametrize(
    "path",
    [
        "/%2e%2e/%2e%2e/etc/passwd",
        "/..%2f..%2fetc%2fpasswd",
        "/..%5c..%5cworkrail-lint.toml",
        "/studio.js%00.html",
        "/data%0d%0aX-Evil:%201",
        "/%64ata",
        "http://evil.example/data",
        "/data#token",
        "/" + "a" * 60_000,
    ],
)
def test_encoded_and_long_addresses_do_not_exist(studio: Studio, path: str) -> None:
    assert studio.request("GET", path)[0] == 404
    assert studio.request("POST", path, {})[0] == 404


@pytest.mark.parametrize("host", ["127.0.0.1.", "localhost.", "LOCALHOST", "user@127.0.0.1", "127.0.0.1.evil.example"])
def test_a_host_that_only_looks_like_its_own_is_refused(studio: Studio, host: str) -> None:
    name = f"{host}:{studio.server.server_port}"
    assert studio.request("GET", "/data", Host=name)[0] == 421
    assert studio.request("POST", "/whatif", {}, Host=name, Origin=f"http://{name}")[0] == 421
