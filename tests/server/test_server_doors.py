"""What a language server does with files that never end, positions that are none, and messages of no length."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any, SupportsIndex

import forks
import pytest

pytest.importorskip("pygls", reason="pygls is not installed")

from lsprotocol import types as lsp
from opened import opened as document_of
from sample_project import make_project
from tables import for_each
from test_server_end import EXIT, INITIALIZE, SHUTDOWN, WORKFLOW, framed, opened

from workrail_lint.server import outline
from workrail_lint.server.positions import Positions
from workrail_lint.systems.workrail.rules.samples import step, workflow

pytestmark = pytest.mark.promise(
    "An untrusted folder in an editor", "pipes and devices, positions and lengths that are none, one-line files"
)

REQUESTS = ("hover", "completion", "definition", "references", "documentHighlight", "prepareRename")
RANGE_REQUESTS = ("inlayHint", "codeAction")
DOCUMENT_REQUESTS = ("documentSymbol", "foldingRange", "semanticTokens/full", "codeLens", "documentLink", "formatting")
POSITIONS: dict[str, Any] = {
    "before the first line": {"line": -1, "character": 0},
    "before the first column": {"line": 0, "character": -5},
    "more than 31 bits": {"line": 0, "character": 10**12},
    "more than 64 bits": {"line": 10**30, "character": 10**30},
    "a string": {"line": "x", "character": 0},
    "null": {"line": None, "character": 0},
    "no column": {"line": 0},
    "nothing in it": {},
    "no object": "x",
    "null itself": None,
    "a list": [],
}


def talk(folder: Path, messages: bytes) -> tuple[int, dict[Any, Any], str]:
    """The exit code, the answers by the ids of their requests, and what was written to standard error."""
    ran = forks.shared().answer(["workrail-lint", "server"], folder, messages)
    answers, rest = {}, ran.stdout
    while rest:
        head, _, rest = rest.partition(b"\r\n\r\n")
        size = int(head.partition(b"Content-Length: ")[2].split(b"\r\n")[0])
        answer, rest = json.loads(rest[:size]), rest[size:]
        if "id" in answer and "method" not in answer:
            answers[answer["id"]] = answer
    return ran.returncode, answers, ran.stderr.decode()


def request(ident: int, method: str, uri: str, **params: Any) -> dict[str, Any]:
    context = {"includeDeclaration": True, "diagnostics": [], "triggerKind": 1}
    more = {"context": context, "options": {"tabSize": 2, "insertSpaces": True}}
    return {"id": ident, "method": method, "params": {"textDocument": {"uri": uri}, **more, **params}}


def ask(folder: Path, *requests: dict[str, Any]) -> tuple[dict[Any, Any], str]:
    """The answers of a server that begins and ends as it should."""
    end = {**SHUTDOWN, "id": 999_999}
    messages = b"".join(map(framed, [INITIALIZE, opened(folder), *requests, end, EXIT]))
    code, answers, error = talk(folder, messages)
    assert (code, [each["id"] for each in requests if "id" in each and each["id"] not in answers]) == (0, [])
    assert "Traceback" not in error
    return answers, error


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes here")
def test_requests_about_files_that_are_not_open(tmp_path: Path) -> None:
    """A pipe and a device would hold the server; all of them get an error, and what is there its result."""
    make_project(tmp_path)
    os.mkfifo(tmp_path / "pipe.json")
    (tmp_path / "latin.json").write_bytes('{"a": "é"}'.encode("latin-1"))
    (tmp_path / "huge.json").touch()
    os.truncate(tmp_path / "huge.json", 10**10)
    names = {
        "pipe.json": "is not a regular file",
        "/dev/zero": "is not a regular file",
        "none.json": "does not exist",
        "workflows": "is a directory",
        "huge.json": "has more than",
        "a\0b.json": "can't be read",
        "latin.json": None,
    }
    methods = [f"textDocument/{name}" for name in (*REQUESTS, *RANGE_REQUESTS, *DOCUMENT_REQUESTS)]
    here = {"line": 0, "character": 0}
    places = {"position": here, "range": {"start": here, "end": here}}
    requests = [
        request(number * 100 + each, method, (tmp_path / name).as_uri(), **places)
        for number, name in enumerate(names, 1)
        for each, method in enumerate([*methods, "workrail/preview"])
    ]
    answers, _ = ask(tmp_path, *requests)
    for number, (name, expected) in enumerate(names.items(), 1):
        for each in range(len(methods)):
            answer = answers[number * 100 + each]
            if expected is None:
                assert "result" in answer, (name, methods[each], answer)
            else:
                assert answer["error"]["code"] == -32602
                assert expected in answer["error"]["message"], name


def test_positions_that_are_none(tmp_path: Path) -> None:
    make_project(tmp_path)
    uri = (tmp_path / WORKFLOW).as_uri()
    requests: list[dict[str, Any]] = []
    for position in (*POSITIONS.values(), {"line": 10**6, "character": 10**6}):
        for name in REQUESTS:
            requests.append(request(len(requests) + 10, f"textDocument/{name}", uri, position=position))
        for name in RANGE_REQUESTS:
            area = {"start": position, "end": position}
            requests.append(request(len(requests) + 10, f"textDocument/{name}", uri, range=area))
        requests.append(request(len(requests) + 10, "workrail/preview", uri, position=position))
    answers, error = ask(tmp_path, *requests)
    last = len(requests) - len(requests) // (len(POSITIONS) + 1)
    for each in requests[:last]:
        assert answers[each["id"]].get("error", {}).get("code") == -32602, each
    for each in requests[last:]:  # past the end of the text is its end
        assert "result" in answers[each["id"]], each
    assert max(map(len, error.splitlines())) < 200


def test_a_number_of_5000_digits_is_out_of_range(tmp_path: Path) -> None:
    make_project(tmp_path)
    hover = request(10, "textDocument/hover", (tmp_path / WORKFLOW).as_uri(), position={"line": 7, "character": 0})
    body = json.dumps({"jsonrpc": "2.0", **hover}).replace('"line": 7', f'"line": {"9" * 5_000}').encode()
    end = b"".join(map(framed, (SHUTDOWN, EXIT)))
    code, answers, error = talk(
        tmp_path, framed(INITIALIZE) + b"Content-Length: %d\r\n\r\n%b" % (len(body), body) + end
    )
    assert (code, answers[10]["error"]["code"]) == (0, -32602)
    assert "Traceback" not in error


ENDS = {
    "20 digits": (b"Content-Length: 99999999999999999999\r\n\r\n{}", "is not a number"),
    "5,000 digits": (b"Content-Length: %b\r\n\r\n{}" % (b"9" * 5_000), "is not a number"),
    "12 digits": (b"Content-Length: 999999999999\r\n\r\n{}", "a message of 999,999,999,999 bytes is too long"),
    "negative": (b"Content-Length: -5\r\n\r\n{}", "is not a number"),
    "no digits": (b"Content-Length: abc\r\n\r\n{}", "is not a number"),
    "nothing": (b"Content-Length:\r\n\r\n{}", "is not a number"),
    "another header without end": (b"X: %b" % (b"a" * 100_000), "a header is too long"),
    "headers without end": (b"X: y\r\n" * 10_000, "a header is too long"),
}


@for_each("name", ENDS)
def test_where_no_message_can_begin_the_server_ends_with_a_sentence(name: str, tmp_path: Path) -> None:
    raw, message = ENDS[name]
    code, answers, error = talk(tmp_path, framed(INITIALIZE) + raw)
    assert (code, 1 in answers) == (2, True)
    assert message in error
    assert error.count("\n") == 1


GOES_ON = {
    "zero": b"Content-Length: 0\r\n\r\n",
    "not JSON": b"Content-Length: 3\r\n\r\nxxx",
    "nested": b"Content-Length: 100000\r\n\r\n" + b"[" * 100_000,
    "other capitals": b"content-length:  2\r\n\r\n{}",
    "another header": b"Content-Type: application/vscode-jsonrpc; charset=utf-8\r\n",
}


@for_each("name", GOES_ON)
def test_after_any_other_message_the_server_goes_on(name: str, tmp_path: Path) -> None:
    end = b"".join(map(framed, (SHUTDOWN, EXIT)))
    code, answers, error = talk(tmp_path, framed(INITIALIZE) + GOES_ON[name] + end)
    assert (code, 2 in answers) == (0, True)
    assert "Traceback" not in error
    assert error.count("\n") <= 1


def test_a_client_that_leaves_in_the_middle_of_a_message(tmp_path: Path) -> None:
    code, _, error = talk(tmp_path, framed(INITIALIZE) + b'Content-Length: 50\r\n\r\n{"a')
    assert (code, error) == (0, "")


class Counted(str):
    """A text that counts how many characters are copied out of it."""

    __slots__ = ()
    copied = 0

    def __getitem__(self, key: SupportsIndex | slice) -> str:
        part = super().__getitem__(key)
        Counted.copied += len(part)
        return part


@pytest.mark.parametrize("mark", ["", "é", "😀"])
@pytest.mark.parametrize("shape", ["steps", "loop"])
def test_symbols_of_one_line_cost_as_much_as_it_is_long(shape: str, mark: str) -> None:
    def cost(count: int) -> float:
        steps = [step(f"s{number}", f"Do {mark} it.") for number in range(count)]
        loop = {"id": "all", "type": "loop", "title": "All", "loop": {"type": "for", "count": 2}, "body": steps}
        made = workflow(*steps) if shape == "steps" else workflow(step("first"), loop)
        document = document_of(json.dumps(made, ensure_ascii=False))
        found = outline.symbols(document)
        places = Positions(Counted(document.text))
        Counted.copied = 0
        seen = [places.range(each.start, each.end) for symbol in found for each in (symbol, *symbol.inner)]
        assert len(seen) >= count
        return Counted.copied / len(document.text)

    # The marks are made once; then every place copies at most a stride.
    assert cost(800) < 1.2 * max(cost(200), 1)


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "utf-32"])
def test_positions_agree_with_a_plain_count(encoding: str) -> None:
    text = ("aé😀\ud800" * 700 + "\n") * 2 + "b" * 2_000 + "é"
    places = Positions(text, encoding)
    size = {"utf-8": 1, "utf-16": 2, "utf-32": 4}[encoding]
    codec = {"utf-8": "utf-8", "utf-16": "utf-16-le", "utf-32": "utf-32-le"}[encoding]
    for offset in [*range(0, len(text), 97), 1_023, 1_024, 1_025, 2_048, 2_800, 2_801, 2_802, len(text)]:
        before = text[:offset].rpartition("\n")[2]
        units = len(before.encode(codec, "surrogatepass")) // size
        assert places.position(offset) == lsp.Position(text.count("\n", 0, offset), units)
        assert places.offset(places.position(offset)) == offset


def test_a_change_that_ends_before_it_starts_repeats_nothing(tmp_path: Path) -> None:
    """Ten of them would make a document of one line a thousand times as long."""
    make_project(tmp_path)
    uri = (tmp_path / WORKFLOW).as_uri()
    text = json.dumps(workflow(step("first")))
    whole = {"start": {"line": 0, "character": len(text)}, "end": {"line": 0, "character": 0}}
    changes = [
        {
            "method": "textDocument/didChange",
            "params": {
                "textDocument": {"uri": uri, "version": version},
                "contentChanges": [{"text": text}, {"range": whole, "text": '{"a":1}'}],
            },
        }
        for version in range(2, 5)
    ]
    answers, error = ask(
        tmp_path, *changes, request(10, "textDocument/documentSymbol", uri), request(11, "textDocument/formatting", uri)
    )
    assert "Traceback" not in error
    (edit,) = answers[11]["result"]
    assert edit["range"]["end"]["character"] <= len('{"a":1}')
