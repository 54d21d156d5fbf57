"""The live page in a real browser: it gets its token from the address, keeps its place, and follows the files."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from browsers import axe_violations, go
from live_project import Studio, review

HOSTILE = '</script><img src=x onerror="document.title=0"><!--'


def test_the_page_keeps_its_token_out_of_the_address(studio: Studio, page: Any) -> None:
    page.goto(studio.server.url)
    page.get_by_text("Review").first.wait_for()
    assert "token" not in page.url
    page.reload()
    page.get_by_text("Review").first.wait_for()
    assert page.problems == []
    other = page.context.new_page()
    other.goto(f"http://{studio.server.hosts[0]}/")
    other.get_by_text("Open the address that the terminal shows").wait_for()
    other.close()


def test_a_change_of_a_file_shows_where_the_reader_is(studio: Studio, page: Any) -> None:
    threading.Thread(target=studio.server.follow, daemon=True).start()
    page.goto(studio.server.url)
    page.get_by_text("Review", exact=True).first.wait_for()
    go(page, "demo.review")
    page.get_by_role("heading", name="Review", exact=True).first.wait_for()
    address = page.url
    path = studio.root / "workflows" / "review.json"
    document = json.loads(path.read_text())
    document["name"] = f"Review again {HOSTILE}"
    path.write_text(json.dumps(document))
    page.get_by_role("heading", name=re.compile("Review again")).first.wait_for()
    assert page.url == address
    assert page.locator("img").count() == 0
    assert page.title() != "0"
    assert page.problems == []


def test_what_is_asked_from_the_page_is_done(serve: Callable[..., Studio], page: Any) -> None:
    studio = serve()
    (group,) = studio.data["goldens"]["groups"]
    page.goto(studio.server.url)
    page.get_by_text("Review").first.wait_for()
    refused = page.evaluate("body => studioLive.post('run', body).catch(String)", {"test": "../x"})
    assert "no such scenario" in refused
    answer = page.evaluate("body => studioLive.post('golden', body)", {"edit": group["id"], "decision": "accept"})
    assert answer["goldens"] == ["tests/__goldens__/large.golden.json"]


def toast(page: Any, words: str) -> None:
    page.locator(".toast", has_text=words).wait_for()


def opened_at(page: Any, studio: Studio, address: str) -> None:
    """Open the page at an address, as a reader with a token does."""
    page.goto(studio.server.url)
    page.get_by_text("Review").first.wait_for()
    go(page, address)


def test_a_fix_is_shown_before_it_is_written(studio: Studio, page: Any) -> None:
    path = studio.root / "workflows" / "misspelt.json"
    before = path.read_bytes()
    opened_at(page, studio, "demo.misspelt?layer=findings")
    page.get_by_role("button", name=re.compile("^Apply")).click()
    difference = page.locator(".fix pre")
    difference.wait_for()
    assert '-        "eq": "large"' in difference.inner_text()
    assert '+        "equals": "large"' in difference.inner_text()
    assert path.read_bytes() == before
    page.get_by_role("button", name="Write this").click()
    toast(page, "wrote workflows/misspelt.json")
    fixed = json.loads(path.read_text())
    assert fixed["steps"][1]["runCondition"] == {"var": "size", "equals": "large"}
    assert page.problems == []


@pytest.mark.parametrize("key", ["Accept", "Reject", "a", "r"])
def test_a_golden_is_accepted_and_rejected(serve: Callable[..., Studio], page: Any, key: str) -> None:
    studio = serve()
    golden = studio.root / "tests" / "__goldens__" / "large.golden.json"
    before = golden.read_bytes()
    opened_at(page, studio, "~goldens")
    button = page.get_by_role("button", name=re.compile("^Accept"))
    button.wait_for()
    if len(key) == 1:
        page.keyboard.press(key)
    else:
        page.get_by_role("button", name=re.compile(f"^{key}")).click()
    toast(page, "wrote tests/__goldens__/large.golden.json")
    assert (golden.read_bytes() != before) == (key in ("Accept", "a"))
    assert list(golden.parent.glob("*.pending*")) == []
    assert page.problems == []


def test_what_would_follow_is_seen_and_kept_as_a_scenario(studio: Studio, page: Any) -> None:
    opened_at(page, studio, "~run/large/1")
    page.get_by_role("link", name="What if").click()
    page.get_by_role("group", name="size").get_by_text("small", exact=True).click()
    page.locator(".ways").wait_for()
    signs = [line.split()[0] for line in page.locator(".ways .way-line").all_inner_texts()]
    assert signs == ["+", "−"]
    page.locator('.card[data-step="small-way"]', has_text="+ follows now").wait_for()
    page.locator('.card[data-step="large-way"]', has_text="− no longer").wait_for()
    page.get_by_role("button", name="Keep as a scenario").click()
    toast(page, "wrote tests/review.what-if.scenario.json")
    scenario = json.loads((studio.root / "tests" / "review.what-if.scenario.json").read_text())
    assert scenario["agent"]["turns"][-1]["context"] == {"size": "small"}
    assert scenario["expect"]["steps"] == ["first", "small-way"]
    assert page.problems == []


def test_a_golden_is_run_again(serve: Callable[..., Studio], page: Any) -> None:
    studio = serve()
    opened_at(page, studio, "~run/large")
    page.get_by_role("button", name="Run again").click()
    toast(page, "job 1: done")
    page.locator("h1 .o-changed").wait_for()
    assert any(run.get("test") for run in studio.fresh()["runs"])
    assert page.problems == []


def test_a_missing_scenario_is_written(serve: Callable[..., Studio], page: Any) -> None:
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--workrail-cov-json=cov.json", "tests"]
    subprocess.run(command, check=False, capture_output=True)
    studio = serve("--coverage", "cov.json")
    opened_at(page, studio, "demo.review?layer=coverage&item=never:small-way")
    page.get_by_role("button", name="Write the missing scenario").click()
    toast(page, "wrote tests/review.")
    (written,) = (studio.root / "tests").glob("review.*.scenario.json")
    assert "small" in written.read_text()
    assert page.problems == []


AXE = (
    "",
    "~runs",
    "~run/large/1",
    '~run/large/1?panel=whatif&what=size:"small"',
    "~goldens",
    "demo.misspelt?layer=findings",
)


@pytest.mark.parametrize(("width", "scheme"), [(1400, "light"), (390, "dark")])
def test_axe_finds_nothing_on_the_live_page(studio: Studio, page: Any, width: int, scheme: str) -> None:
    page.set_viewport_size({"width": width, "height": 900})
    page.emulate_media(color_scheme=scheme)
    wrong = {}
    for address in AXE:
        opened_at(page, studio, address)
        if "findings" in address:
            page.get_by_role("button", name=re.compile("^Apply")).click()
            page.locator(".fix pre").wait_for()
        elif "whatif" in address:
            page.locator(".ways p").first.wait_for()
        if violations := axe_violations(page):
            wrong[address] = violations
    assert wrong == {}


def test_hostile_text_executes_nothing(project: Path, serve: Callable[..., Studio], page: Any) -> None:
    """In titles, prompts, conditions, values, findings, file names, messages of the server, and the address."""
    document = review(HOSTILE)
    document["name"] = HOSTILE
    for step in document["steps"]:
        step["title"] = step["prompt"] = f"{HOSTILE} Set `size` to one of `small`, `{HOSTILE}`."
    document["steps"][2]["runCondition"] = {"var": HOSTILE, "equals": HOSTILE}
    document["steps"][1]["runCondition"] = {"var": "size", "eq": HOSTILE}
    (project / "workflows" / f"{HOSTILE.replace('/', '')}.json").write_text(json.dumps({**document, "id": "demo.evil"}))
    broken = {**document, "id": "demo.broken", HOSTILE: HOSTILE, "steps": [{"id": HOSTILE, "title": HOSTILE}]}
    (project / "workflows" / "broken.json").write_text(json.dumps(broken))
    studio = serve()
    assert len(studio.data["workflows"]) == 4
    quoted = quote(HOSTILE, safe="")
    for address in (
        *("", "~goldens", "~runs", "~rule/CD000", f"~run/{quoted}", f"~rule/{quoted}", quoted, f"demo.evil/{quoted}"),
        *(f"demo.{name}?layer={layer}" for name in ("evil", "broken") for layer in ("flow", "findings")),
        f"~run/large/1?panel=whatif&what=size:{quote(json.dumps(HOSTILE), safe='')}",
        "~run/large/1?panel=whatif&what=size:{",
    ):
        opened_at(page, studio, address)
        page.keyboard.press("j")
        for button in page.get_by_role("button", name=re.compile("^Apply")).all():
            button.click()
            page.locator(".fix pre, .toast").first.wait_for()
        page.keyboard.press("/")
        page.locator(".palette-field").fill("onerror")
        page.keyboard.press("Escape")
        assert page.locator("img").count() == 0
    assert page.evaluate("body => studioLive.post('open', body).catch(String)", {"path": HOSTILE, "line": 1})
    assert page.title() != "0"
    assert [line for line in page.problems if "Failed to load resource" not in line] == []
