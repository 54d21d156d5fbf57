"""The page that `graph` makes, in a real browser: every text stands inside of its box, and prompts open."""

from __future__ import annotations

import html
import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from cli_types import Run

from workrail_lint.systems.workrail.rules.samples import controlled_loop, parallel, step, workflow

BROWSER = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
LONG = "Weigh every candidate against every other one and WRITE DOWN WHICH OF THEM SURVIVES, WITH REASONS"
DOCUMENT = workflow(
    step("first", title=LONG, prompt="Look <here>.", runCondition={"and": [{"var": "w" * 90, "equals": "漢字" * 40}]}),
    {**controlled_loop(), "title": LONG},
    parallel(),
)
# Asks the browser where things really are, and leaves the answer in the document.
_MEASURE = """
<script>
const outside = [];
for (const group of document.querySelectorAll("svg g")) {
  const box = group.querySelector("rect").getBoundingClientRect();
  for (const text of group.querySelectorAll("text")) {
    const at = text.getBoundingClientRect();
    if (at.left < box.left || at.right > box.right || at.top < box.top || at.bottom > box.bottom)
      outside.push(text.textContent);
  }
}
const details = document.querySelector("details");
const closed = details.querySelector("pre").checkVisibility();
details.querySelector("summary").click();
const answer = {outside, closed, opened: details.querySelector("pre").checkVisibility(),
                drawn: document.querySelectorAll("svg text").length, prompt: details.querySelector("pre").textContent,
                wide: document.documentElement.scrollWidth > document.documentElement.clientWidth};
document.body.append(Object.assign(document.createElement("output"), {textContent: JSON.stringify(answer)}));
</script>
"""


def _seen(page: str, folder: Path, width: int) -> dict[str, Any]:
    """What a browser makes of a page."""
    (folder / "page.html").write_text(page.replace("</body>", f"{_MEASURE}</body>"), encoding="utf-8")
    quiet = ("--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-sync")
    done = subprocess.run(
        [
            str(BROWSER),
            "--headless",
            "--no-sandbox",  # needed as root, and the page is our own
            *quiet,
            "--disable-component-update",
            f"--user-data-dir={folder / 'profile'}",
            f"--window-size={width},1000",
            "--dump-dom",
            (folder / "page.html").as_uri(),
        ],
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )
    found = re.search(r"<output>(.*?)</output>", done.stdout, re.DOTALL)
    assert found is not None, done.stdout[-500:]
    answer: dict[str, Any] = json.loads(html.unescape(found[1]))
    return answer


@pytest.mark.skipif(BROWSER is None, reason="no Chromium on this machine")
@pytest.mark.parametrize("width", [1400, 500])
def test_a_page_in_a_browser(run: Run, write: Any, tmp_path: Path, width: int) -> None:
    write("a.json", DOCUMENT)
    seen = _seen(run("graph", "a.json", "--format", "html").out, tmp_path, width)
    assert seen["outside"] == []
    assert seen["drawn"] > 10
    assert (seen["closed"], seen["opened"]) == (False, True)
    assert seen["prompt"] == "Look <here>."
    assert not seen["wide"]
