"""The page of golden changes: harmless, complete, and readable in a real browser."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from browsers import go
from golden_made_up import made_up

from pytest_workrail.cli import main
from pytest_workrail.golden.diff import Difference
from pytest_workrail.golden.document import golden_bytes
from pytest_workrail.golden.pending import pending_bytes, pending_of
from pytest_workrail.golden.show import Span, spans

LONG = "word " * 200
OLD = ("Plan it.\nSay what is the smallest step.\nEnd.", f"{LONG}old {LONG}", "<b>bold</b> & \x1b[2J")
NEW = ("Plan it.\nSay what is the biggest step.\nEnd.", f"{LONG}new {LONG}", "<script>alert(1)</script> & \x1b[2J")


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


def test_it_is_a_studio_of_one_view(page: str) -> None:
    assert "default-src 'none'" in page
    assert "\x1b" not in page
    found = re.search(r'id="data">(.*?)</script>', page, re.DOTALL)
    assert found is not None
    data = json.loads(found[1])
    assert (data["views"], data["workflows"], data["runs"]) == (["goldens"], [], [])
    assert len(data["goldens"]["groups"]) == 3
    assert len(data["goldens"]["pending"]) == 2


def test_a_page_that_can_not_be_written_is_told(page: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["golden", "diff", "--html", "nowhere/page.html"]) == 2
    assert "nowhere/page.html can't be written" in capsys.readouterr().err


@pytest.mark.usefixtures("page")
def test_a_page_in_a_browser(tab: Any, tmp_path: Path) -> None:
    tab.context.set_offline(True)
    tab.goto((tmp_path / "page.html").as_uri())
    assert [text.split() for text in tab.locator(".nav-item").all_inner_texts()] == [["Goldens", "3"]]
    for width in (1400, 500):
        tab.set_viewport_size({"width": width, "height": 1000})
        assert tab.locator(".cause").count() == 3
        gone, come = [], []
        for address in tab.eval_on_selector_all(".cause", "all => all.map(each => each.hash)"):
            go(tab, address)
            tab.wait_for_selector(f".cause[href='{address}'].current", state="attached")
            gone += tab.locator(".cause-body del").all_inner_texts()
            come += tab.locator(".cause-body ins").all_inner_texts()
            assert "workrail-test golden accept --group" in tab.inner_text(".decide")
        assert [text.strip() for text in gone[:2]] == ["smallest", "old"]
        assert [text.strip() for text in come[:2]] == ["biggest", "new"]
        assert tab.locator("b:text-is('bold'), .cause-body script").count() == 0
        assert tab.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert tab.problems == []


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
