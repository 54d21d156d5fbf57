"""Where the texts of a report come from, and what a terminal adds."""

from __future__ import annotations

import io
import os
import subprocess
import sys
from pathlib import Path

import pytest

from workrail_lint import check_text
from workrail_lint.findings import Edit, Finding, Severity
from workrail_lint.report import FORMATS, render
from workrail_lint.report.data import ReportData, Sources
from workrail_lint.report.text import Terminal, file_address, terminal_of


def test_texts_are_read_from_disk_and_kept(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_text('{"a": 1}\n', encoding="utf-8")
    sources = Sources()
    first = sources(str(path))
    assert first is not None
    assert first.text == '{"a": 1}\n'
    path.write_text("{}", encoding="utf-8")
    assert sources(str(path)) is first


def test_a_file_that_can_not_be_read_has_no_text(tmp_path: Path) -> None:
    assert Sources()(str(tmp_path / "gone.json")) is None
    assert Sources()(str(tmp_path)) is None
    assert Sources()("nul\x00byte") is None


def test_given_texts_come_before_the_disk() -> None:
    source = Sources({"-": b"[1]"})("-")
    assert source is not None
    assert source.text == "[1]"


def test_only_a_few_texts_are_kept() -> None:
    given = {str(number): b"{}" for number in range(100)}
    sources = Sources(given)
    for path in given:
        sources(path)
    assert len(sources._documents) <= 4


def test_findings_get_the_edits_of_their_fixes() -> None:
    text = '{"a": 1,}'
    found = check_text(text, "workflows/a.json").findings
    items = Sources({"workflows/a.json": text.encode()}).reported(found)
    by_name = {item.finding.name: item for item in items}
    (edit,) = by_name["json-trailing-comma"].edits
    assert (edit.start, edit.end, edit.text) == (7, 8, "")


def test_without_a_text_there_are_no_edits() -> None:
    found = check_text('{"a": 1,}', "workflows/a.json").findings
    assert any(finding.fix is not None for finding in found)
    assert all(item.edits == () for item in Sources().reported(found))
    assert all(item.edits == () for item in Sources({"-": b"{}"}, disk=False).reported(found))


def test_edits_are_worked_out_only_for_formats_that_show_them(monkeypatch: pytest.MonkeyPatch) -> None:
    text = '{"a": 1,}'
    path = "workflows/a.json"
    asked: list[Finding] = []
    edits = Sources.edits

    def counted(self: Sources, finding: Finding) -> tuple[Edit, ...]:
        asked.append(finding)
        return edits(self, finding)

    monkeypatch.setattr(Sources, "edits", counted)
    found = check_text(text, path).findings
    for name in FORMATS:
        asked.clear()
        sources = Sources({path: text.encode()})
        render(name, ReportData(sources.reported(found), sources=sources, rules={}, files=1, version="1"))
        assert len(asked) == (len(found) if name in ("json", "jsonl", "sarif") else 0)


def test_reasons_of_suppressions_go_with_their_findings() -> None:
    one, two = (Finding("AA001", "aa", Severity.ERROR, "m") for _ in range(2))
    items = Sources().reported([one, two], {id(two): "because"})
    assert [item.reason for item in items] == [None, "because"]


class Screen(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_file_gets_no_decoration(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.delenv("FORCE_COLOR", raising=False)
    assert terminal_of(None) == Terminal(False, None, 100, None)
    assert terminal_of(io.StringIO()) == Terminal(False, None, 100, None)


def test_a_terminal_gets_colours_links_and_its_width(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "77")
    assert terminal_of(Screen()) == Terminal(True, file_address, 77, 77)
    monkeypatch.setenv("NO_COLOR", "1")
    assert terminal_of(Screen()) == Terminal(False, None, 77, 77)


def test_addresses_are_absolute_and_hold_nothing_special() -> None:
    here = os.getcwd().replace(os.sep, "/")
    assert file_address("a b.json").endswith("/a%20b.json")
    assert file_address("a b.json", 7).endswith("/a%20b.json#7")
    assert file_address("a.json") == f"file://{here}/a.json" or "%" in file_address("a.json")
    assert file_address("\x1b]8;;x\udcff.json").isprintable()
    assert file_address("\x1b]8;;x\udcff.json").isascii()


def test_an_unknown_format_is_refused() -> None:
    with pytest.raises(ValueError, match="unknown format"):
        render("yaml", ReportData([], sources=Sources(), rules={}, files=0, version="1"))


@pytest.mark.parametrize("name", ["text", "concise", "json", "jsonl", "github"])
def test_a_report_imports_nothing_heavy(name: str) -> None:
    program = (
        "import sys; from workrail_lint.report import render; from workrail_lint.report.data import ReportData\n"
        f"render({name!r}, ReportData([], sources=lambda path: None, rules={{}}, files=0, version='1'))\n"
        "heavy = {'pydantic', 'jsonschema', 'pluggy', 'dataclasses', 'xml', 'asyncio'} & set(sys.modules)\n"
        "sys.exit(str(heavy) if heavy else 0)"
    )
    done = subprocess.run([sys.executable, "-S", "-c", program], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
