"""The cache: what comes back is what was put in, and what can't be trusted is not used."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from workrail_lint.documents.operations import Cut, Insert, Operation, Remove, Rename, Replace, ReplaceText, Respell
from workrail_lint.findings import Finding, Fix, Phase, Position, Safety, Severity, Span
from workrail_lint.project.cache import Cache, _signature, _user_key, content_key
from workrail_lint.systems.base import FileResult

KEY = "0123456789" * 4
PLAIN = Finding("AA001", "alpha", Severity.WARNING, "message", path="a.json")


def fixed(*operations: Operation, safety: Safety = Safety.SAFE) -> Finding:
    return Finding("AA001", "alpha", Severity.WARNING, "message", path="a.json", fix=Fix("mend it", safety, operations))


def signed(path: Path, text: str) -> None:
    """Make a file say something else, as the user could."""
    key = _user_key(make=False)
    assert key is not None
    path.write_bytes(_signature(key, str(path), text.encode()) + text.encode())


def lines_in(path: Path) -> list[str]:
    """The head, and an entry on each line, after the signature."""
    return path.read_bytes()[64:].decode().split("\n")


def saved(folder: Path, result: FileResult, **options: Any) -> Path:
    """Put one result into a cache and write it; where it was written."""
    cache = Cache(str(folder), KEY)
    cache.put("a.json", "content", result, **options)
    cache.save()
    assert cache.path is not None
    return Path(cache.path)


def loaded(folder: Path, content: str = "content") -> FileResult | None:
    known = Cache(str(folder), KEY).get("a.json", content)
    return None if known is None else known.result


def test_a_finding_comes_back_with_all_that_it_says(tmp_path: Path) -> None:
    finding = Finding(
        "AA001",
        "alpha",
        Severity.INFO,
        "Zwölf «Dinge»",
        "/steps/0",
        phase=Phase.SCHEMA,
        path="a.json",
        span=Span(Position(1, 2, 3, 4), Position(5, 6, 7, 8)),
        fix=Fix("mend it", Safety.UNSAFE, (Remove("/steps/0"),)),
        help="https://example.invalid",
        details={"engine": True, "number": 3, "place": "/steps/plan"},
        on_name=True,
    )
    saved(tmp_path, FileResult([finding, PLAIN], {"workflowId": "a"}), system=2)
    assert loaded(tmp_path) == FileResult([finding, PLAIN], {"workflowId": "a"})
    known = Cache(str(tmp_path), KEY).get("a.json", "content")
    assert known is not None
    assert known.system == 2
    saved(tmp_path, FileResult([PLAIN]))
    known = Cache(str(tmp_path), KEY).get("a.json", "content")
    assert known is not None
    assert known.system == 0


@pytest.mark.parametrize(
    "operation",
    [
        Cut(1, 2),
        Insert("/steps", None, 3, {"a": [1]}),
        Insert("/steps", "name", None, None),
        Remove("/steps/0"),
        Rename("/steps/0", "other"),
        Replace("/steps/0", 1.5),
        ReplaceText("/steps/0", "old", "new"),
        Respell(1, 2, "text"),
    ],
    ids=lambda operation: type(operation).__name__,
)
def test_every_kind_of_fix_comes_back(tmp_path: Path, operation: Operation) -> None:
    saved(tmp_path, FileResult([fixed(operation, Cut(8, 9))]))
    assert loaded(tmp_path) == FileResult([fixed(operation, Cut(8, 9))])


def test_details_that_are_no_plain_values_are_left_out(tmp_path: Path) -> None:
    finding = Finding("AA001", "alpha", Severity.WARNING, "m", details={"kept": "x", "list": [1], "none": None})
    saved(tmp_path, FileResult([finding]))
    result = loaded(tmp_path)
    assert result is not None
    assert result.findings[0].details == {"kept": "x"}


def test_a_result_holds_for_one_path_and_one_content(tmp_path: Path) -> None:
    saved(tmp_path, FileResult([PLAIN]))
    assert loaded(tmp_path) is not None
    assert loaded(tmp_path, "other content") is None
    assert Cache(str(tmp_path), KEY).get("b.json", "content") is None
    assert content_key(b"a") != content_key(b"b")
    assert content_key(b"") == "0e5751c026e543b2e8ab2eb06099daa1d1e5df47778f7787faab45cdf12fe3a8"


def test_one_way_of_looking_does_not_see_the_results_of_another(tmp_path: Path, user_cache: Path) -> None:
    path = saved(tmp_path, FileResult([PLAIN]))
    assert path.parent == user_cache / "workrail-lint"
    assert Cache(str(tmp_path), "1" + KEY).get("a.json", "content") is None
    assert loaded(tmp_path) is not None


def test_a_result_that_depends_on_more_than_its_file_is_not_kept(tmp_path: Path) -> None:
    assert not saved(tmp_path, FileResult([PLAIN], cacheable=False)).exists()


def test_a_fix_that_holds_most_of_the_file_is_kept_too(tmp_path: Path) -> None:
    large = FileResult([PLAIN, fixed(Respell(1, 2, "x" * 100_000))])
    saved(tmp_path, large)
    assert loaded(tmp_path) == large


def test_a_result_holds_as_long_as_the_files_that_decided_are_what_they_were(tmp_path: Path) -> None:
    project = tmp_path / "project"
    project.mkdir()
    other, read = project / "other.md", project / "package.json"

    def keep() -> None:
        saved(tmp_path, FileResult([PLAIN], consulted={str(other): False, str(read): True}))
        assert loaded(tmp_path) is not None

    keep()
    other.write_text("now it is there")
    assert loaded(tmp_path) is None
    keep()
    other.write_text("what is in it decides nothing")
    assert loaded(tmp_path) is not None
    read.write_text("{}")
    assert loaded(tmp_path) is None
    keep()
    read.write_text("[]")
    assert loaded(tmp_path) is None
    keep()
    other.unlink()
    other.symlink_to(tmp_path)
    assert loaded(tmp_path) is None
    keep()
    other.unlink()
    other.mkdir()
    assert loaded(tmp_path) is None


def test_without_a_folder_nothing_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    cache = Cache(None, KEY)
    cache.put("a.json", "content", FileResult([PLAIN]))
    cache.save()
    assert (cache.path, cache.entries, list(tmp_path.iterdir())) == (None, {}, [])


def test_earlier_results_stay_and_only_what_is_new_is_written(tmp_path: Path) -> None:
    path = saved(tmp_path, FileResult([PLAIN]))
    before = path.stat().st_mtime_ns, path.read_bytes()
    unchanged = Cache(str(tmp_path), KEY)
    assert not unchanged.changed
    path.unlink()
    unchanged.save()
    assert not path.exists()
    path.write_bytes(before[1])
    more = Cache(str(tmp_path), KEY)
    more.put("b.json", "content", FileResult([]))
    more.save()
    assert set(Cache(str(tmp_path), KEY).entries) == {"a.json", "b.json"}


def test_git_does_not_see_the_cache(tmp_path: Path) -> None:
    ignore = saved(tmp_path, FileResult([PLAIN])).parent / ".gitignore"
    assert ignore.read_bytes() == b"*\n"
    ignore.write_bytes(b"mine\n")
    saved(tmp_path, FileResult([PLAIN]))
    assert ignore.read_bytes() == b"mine\n"
    ignore.unlink()  # other tests of this process use the folder too


def test_a_folder_that_can_not_be_written_is_no_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("a file in the way")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    saved(tmp_path, FileResult([PLAIN]))
    assert loaded(tmp_path) is None


def test_a_result_that_is_no_json_is_not_written(tmp_path: Path) -> None:
    assert not saved(tmp_path, FileResult([PLAIN], {"made": object()})).exists()


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[",
        "[]",
        "{}",
        '{"format": 4}',
        '{"format":7}\n["a.json"]\t[]',
        '{"format":7}\n"a.json',
        "[" * 100_000,
        b"\xff",
    ],
    ids=lambda text: repr(text[:30]),
)
def test_a_damaged_file_is_not_used_and_is_replaced(tmp_path: Path, text: str | bytes) -> None:
    path = saved(tmp_path, FileResult([PLAIN]))
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    assert Cache(str(tmp_path), KEY).entries == {}
    if isinstance(text, str):
        signed(path, text)
    assert Cache(str(tmp_path), KEY).entries == {}
    saved(tmp_path, FileResult([PLAIN]))
    assert loaded(tmp_path) == FileResult([PLAIN])


def test_a_file_of_another_format_is_not_used(tmp_path: Path) -> None:
    path = saved(tmp_path, FileResult([PLAIN]))
    head, *entries = lines_in(path)
    number = json.loads(head)["format"]
    for other in (number + 1, number - 1):
        signed(path, "\n".join([json.dumps({"format": other}, separators=(",", ":")), *entries]))
        assert loaded(tmp_path) is None
    signed(path, "\n".join([head, *entries]))
    assert loaded(tmp_path) is not None


@pytest.mark.parametrize(
    "entry",
    [
        None,
        {},
        [],
        ["content", [], None, 0],
        ["content", [], None, 0, [["a.md", 1, "nothing"]]],
        ["content", [], None, 0, 0],
        ["content", 1, None, 0, []],
        ["content", [[]], None, 0, []],
        ["content", [["AA001", "alpha", "fatal", "m", "", "lint", None, None, {}, False, None]], None, 0, []],
        ["content", [["AA001", "alpha", "info", "m", "", "nap", None, None, {}, False, None]], None, 0, []],
        ["content", [["AA001", "alpha", "info", "m", "", "lint", [1], None, {}, False, None]], None, 0, []],
        [
            "content",
            [["AA001", "alpha", "info", "m", "", "lint", None, None, {}, False, ["t", "sure", 0]]],
            None,
            0,
            [],
        ],
        ["content", [["AA001", "alpha", "info", "m", "", "lint", None, None, {}, False, ["t"]]], None, 0, []],
    ],
    ids=str,
)
def test_a_damaged_entry_is_not_used_and_the_others_are(tmp_path: Path, entry: Any) -> None:
    path = saved(tmp_path, FileResult([PLAIN]))
    signed(path, "\n".join([*lines_in(path), f'"b.json"\t{json.dumps(entry)}']))
    assert Cache(str(tmp_path), KEY).get("b.json", "content") is None
    assert loaded(tmp_path) == FileResult([PLAIN])


@pytest.mark.parametrize("operations", ["", "[", "[]", "[[[]]]", '[[["X"]]]', '[[["Remove"]]]', "{}"])
def test_operations_that_can_not_be_decoded_are_those_of_a_fix_that_can_not_be_applied(
    tmp_path: Path, operations: str
) -> None:
    finding = ["AA001", "alpha", "info", "m", "", "lint", None, None, {}, False, ["t", "safe", 0], "high"]
    path = saved(tmp_path, FileResult([PLAIN]))
    signed(
        path, "\n".join([*lines_in(path), f'"b.json"\t{json.dumps(["content", [finding], None, 0, []])}\t{operations}'])
    )
    known = Cache(str(tmp_path), KEY).get("b.json", "content")
    assert known is not None
    fix = known.result.findings[0].fix
    assert fix is not None
    assert fix.operations == ()
