"""The page of golden changes: harmless, complete, and readable in a real browser."""

from __future__ import annotations

import html
import json
import re
import shutil
import subprocess
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from golden_made_up import made_up

from pytest_workrail.cli import main
from pytest_workrail.golden.diff import Difference
from pytest_workrail.golden.document import golden_bytes
from pytest_workrail.golden.pending import pending_bytes, pending_of
from pytest_workrail.golden.show import Span, spans

BROWSER = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
LONG = "word " * 200
OLD = ("Plan it.\nSay what is the smallest step.\nEnd.", f"{LONG}old {LONG}", "<b>bold</b> & \x1b[2J")
NEW = ("Plan it.\nSay what is the biggest step.\nEnd.", f"{LONG}new {LONG}", "<script>alert(1)</script> & \x1b[2J")
_MEASURE = """
<script>
const answer = {
  sections: document.querySelectorAll("section").length,
  gone: [...document.querySelectorAll("del")].map(e => e.textContent),
  come: [...document.querySelectorAll("ins")].map(e => e.textContent),
  beside: [...document.querySelectorAll("tbody tr")].every(row =>
    row.cells[0].getBoundingClientRect().right <= row.cells[1].getBoundingClientRect().left + 1),
  wide: document.documentElement.scrollWidth > document.documentElement.clientWidth};
document.body.append(Object.assign(document.createElement("output"), {textContent: JSON.stringify(answer)}));
</script>
"""


@pytest.fixture
def page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "__goldens__").mkdir()
    for name in ("a", "b"):
        golden = tmp_path / "__goldens__" / f"{name}.golden.json"
        golden.write_bytes(golden_bytes(made_up(*OLD)))
        pending_of(golden).write_bytes(pending_bytes("t", golden.read_bytes(), golden_bytes(made_up(*NEW))))
    assert main(["golden", "diff", "--html", "page.html"]) == 1
    return (tmp_path / "page.html").read_text(encoding="utf-8")


def test_it_runs_and_loads_nothing(page: str) -> None:
    tags: list[str] = []

    class Reader(HTMLParser):
        def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
            tags.append(tag)
            assert not {"src", "onclick", "onload"} & {name for name, _ in attrs}

    Reader().feed(page)
    assert not {"script", "b", "img", "link"} & set(tags)
    assert "default-src 'none'" in page
    assert "\x1b" not in page
    assert "3 changes in 2 goldens" in page


def test_a_page_that_can_not_be_written_is_told(page: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["golden", "diff", "--html", "nowhere/page.html"]) == 2
    assert "nowhere/page.html can't be written" in capsys.readouterr().err


@pytest.mark.skipif(BROWSER is None, reason="no Chromium on this machine")
@pytest.mark.parametrize("width", [1400, 500])
def test_a_page_in_a_browser(page: str, tmp_path: Path, width: int) -> None:
    # The page forbids scripts, and it has to be asked by one.
    measured = re.sub(r'<meta http-equiv="Content-Security-Policy"[^>]*>', "", page)
    (tmp_path / "measured.html").write_text(measured.replace("</body>", f"{_MEASURE}</body>"), encoding="utf-8")
    quiet = ("--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-sync")
    done = subprocess.run(
        [
            str(BROWSER),
            "--headless",
            "--no-sandbox",  # needed as root, and the page is our own
            *quiet,
            "--disable-component-update",
            f"--user-data-dir={tmp_path / 'profile'}",
            f"--window-size={width},1000",
            "--dump-dom",
            (tmp_path / "measured.html").as_uri(),
        ],
        capture_output=True,
        text=True,
        check=True,
        timeout=240,
    )
    found = re.search(r"<output>(.*?)</output>", done.stdout, re.DOTALL)
    assert found is not None, done.stdout[-500:]
    seen: dict[str, Any] = json.loads(html.unescape(found[1]))
    assert seen["sections"] == 3
    assert seen["gone"][:2] == ["smallest", "old"]
    assert seen["come"][:2] == ["biggest", "new"]
    assert seen["beside"]
    assert not seen["wide"]


@pytest.mark.parametrize(("length", "is_whole"), [(300, True), (301, False)])
def test_a_long_value_is_cut(length: int, is_whole: bool) -> None:
    """A text is shown whole: what changed in it is what a reader looks for."""
    listed = ["x" * (length - 4)]
    value = json.dumps(listed)
    (span,) = spans(Difference("added", "input", "plan", "context", "/context", new=listed))
    assert span == Span("come", value if is_whole else f"{value[:300]}…")
    (span,) = spans(Difference("removed", "input", "plan", "context", "/context", old=listed))
    assert span == Span("gone", value if is_whole else f"{value[:300]}…")
    gone, come = spans(Difference("changed", "input", "plan", "context", "/context", listed, "y" * 400))
    assert (gone.mark, come) == ("gone", Span("come", "y" * 400))
