"""Chromium for tests of pages. The tests of a module share one window: a new one costs as much as a whole test.

Nothing here waits for time. `go` returns when the page has drawn an address, and every other wait is for something that
the page shows, with a limit that no busy machine comes near.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from typing import Any

import pytest

PROGRAM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
PATIENCE = 120_000  # milliseconds until a page is called hung
_OPTIONS = (
    *("--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update"),
)
_SIZE = {"width": 1400, "height": 900}
# The page has drawn its address when those who listen after it hear of a change. An address that stays tells nobody.
_GO = """([address, patience]) => new Promise((heard, hung) => {
  setTimeout(() => hung(new Error(`the page did not go to ${address}`)), patience);
  const before = location.href;
  addEventListener("hashchange", () => heard(), { once: true });
  location.hash = address;
  if (location.href === before) heard();
})"""


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    playwright = pytest.importorskip("playwright.sync_api", reason="Playwright is not installed")
    if PROGRAM is None:
        pytest.skip("Chromium is not installed")
    with playwright.sync_playwright() as started:
        running = started.chromium.launch(executable_path=PROGRAM, args=_OPTIONS, timeout=PATIENCE)
        yield running
        running.close()


@pytest.fixture(scope="module")
def window(browser: Any) -> Iterator[Any]:
    context = browser.new_context()
    context.set_default_timeout(PATIENCE)
    yield context
    context.close()


def _opened(window: Any) -> Any:
    """Return a new page of the usual size. `problems` is what its console says."""
    page = window.new_page()
    page.set_viewport_size(_SIZE)
    page.problems = []
    page.on("pageerror", lambda error: page.problems.append(str(error)))
    page.on("console", lambda line: page.problems.append(line.text))
    return page


@pytest.fixture
def tab(window: Any) -> Iterator[Any]:
    """A new page, for a test that puts something into it, or of a page that loads itself again."""
    page = _opened(window)
    yield page
    page.close()


@pytest.fixture(scope="module")
def _shared_page(window: Any) -> Any:
    return _opened(window)


@pytest.fixture
def page(_shared_page: Any) -> Iterator[Any]:
    """An empty page that remembers nothing of the test before. It costs less than a new one."""
    _shared_page.set_viewport_size(_SIZE)
    _shared_page.emulate_media(media="screen", color_scheme="light")
    _shared_page.problems.clear()
    yield _shared_page
    _shared_page.evaluate("location.protocol === 'about:' || sessionStorage.clear()")
    _shared_page.goto("about:blank")


def go(page: Any, address: str) -> None:
    """Lead an open page to another place of its own, and return when it is drawn."""
    page.evaluate(_GO, [address, PATIENCE])


def axe_violations(page: Any) -> list[tuple[str, list[str]]]:
    """Return what axe objects to in a page as it is drawn now, with some of the elements."""
    axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="axe is not installed").Axe()
    if not page.evaluate("'axe' in globalThis"):
        page.evaluate(axe.axe_script)
    found = page.evaluate("axe.run({ resultTypes: ['violations'] })")["violations"]
    return [(item["id"], [node["html"][:160] for node in item["nodes"][:3]]) for item in found]
