"""The site of the docs: its pages and links, and, in the deep ring, the built site in a browser."""

from __future__ import annotations

import base64
import functools
import http.server
import json
import os
import re
import shutil
import subprocess
import sys
import threading
import zlib
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import pytest

from tools.site.licences import licences
from tools.site.pages import PROGRAMS, ROOT, Site, site
from tools.site.playground import EXAMPLE, RUNTIME
from workrail_lint.report.rule_docs import rules

_LINK = re.compile(r"\]\(([^)#\s]+)(?:#[^)\s]*)?\)")


@pytest.fixture(scope="module")
def pages() -> Site:
    return site()


def test_every_rule_and_command_has_a_page(pages: Site) -> None:
    wanted = {f"rules/{rule.code}.md" for rule in rules()}
    wanted |= {f"commands/{program}-{name}.md" for program, module in PROGRAMS.items() for name in module.COMMANDS}
    assert wanted <= pages.pages.keys()
    headings = re.findall(r"^## (.*)$", pages.pages["rules/CD023.md"], re.M)
    assert headings == [
        "What it finds",
        "What it says",
        "Why it is bad",
        "Example",
        "Use instead",
        "Fix",
        "Origin",
        "Precision",
    ]
    assert "- `nothing sets 'impactlevel', so this step never runs" in pages.pages["rules/CD023.md"]
    assert "usage: workrail-lint check" in pages.pages["commands/workrail-lint-check.md"]


def test_links_between_pages_lead_to_pages_or_files(pages: Site) -> None:
    data = {
        path.relative_to(ROOT / "docs").as_posix()
        for path in (ROOT / "docs").rglob("*")
        if path.is_file() and path.suffix != ".md"
    }
    lost = [
        f"{name}: {target}"
        for name, text in pages.pages.items()
        for target in _LINK.findall(re.sub(r"^```.*?^```|`[^`\n]*`", "", text, flags=re.M | re.S))
        if "://" not in target
        and os.path.normpath(os.path.join(os.path.dirname(name), target)) not in pages.pages.keys() | data
    ]
    assert lost == []


def test_the_navigation_has_every_page_but_those_of_single_rules(pages: Site) -> None:
    def names(entry: object) -> Iterator[str]:
        if isinstance(entry, str):
            yield entry
        else:
            for each in entry.values() if isinstance(entry, dict) else entry:  # type: ignore[attr-defined]
                yield from names(each)

    listed = [name for name in names(pages.navigation) if name.endswith(".md")]
    assert len(listed) == len(set(listed))
    assert {name for name in pages.pages if not re.fullmatch(r"rules/[A-Z]+\d+\.md", name)} == set(listed)


class _Links(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.links: list[str] = []
        self.anchors = {""}

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            if name in ("id", "name") and value:
                self.anchors.add(value)
            elif name in ("href", "src") and value:
                self.links.append(value)


@pytest.fixture(scope="session")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    pytest.importorskip("zensical", reason="zensical is not installed: make setup")
    if not RUNTIME.is_dir():
        pytest.skip("the runtime of the playground is not installed: npm ci in tools/site/web")
    output = tmp_path_factory.mktemp("site") / "html"
    subprocess.run([sys.executable, "-m", "tools.site", "--output", str(output)], cwd=ROOT, check=True)
    return output


@pytest.mark.deep
def test_no_link_and_no_anchor_of_the_built_site_is_lost(built: Path) -> None:
    parsed: dict[Path, _Links] = {}
    for path in built.rglob("*.html"):
        if "demo" not in path.parts:
            parsed[path] = _Links()
            parsed[path].feed(path.read_text(encoding="utf-8"))
    lost, elsewhere = set(), set()
    for path, page in parsed.items():
        for link in page.links:
            parts = urlsplit(link)
            if parts.scheme in ("http", "https"):
                elsewhere.add(parts.netloc)
                continue
            if parts.scheme or path.name == "404.html":  # data:, mailto:; 404 is served at any address
                continue
            target = Path(os.path.normpath(path.parent / unquote(parts.path))) if parts.path else path
            target = target / "index.html" if target.is_dir() else target
            anchors = parsed[target].anchors if target in parsed else {unquote(parts.fragment)}
            if not target.is_file() or unquote(parts.fragment) not in anchors:
                lost.add(f"{path.relative_to(built)}: {link}")
    assert sorted(lost) == []
    assert elsewhere <= {"zensical.org"}, "only the name of the generator in the footer leads elsewhere"


@pytest.mark.deep
def test_the_built_site_has_the_licences_of_its_parts(built: Path) -> None:
    assert (built / "licences.txt").read_text(encoding="utf-8") == licences(has_playground=True)
    icons = set(re.findall(r'<svg[^>]* class="(\w+)', (built / "cli.html").read_text(encoding="utf-8")))
    assert icons == {"lucide"}, "docs/licences.md names the icons of the pages"


class _Handler(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *arguments: object) -> None:
        """Say nothing."""


@pytest.fixture(scope="session")
def address(built: Path) -> Iterator[str]:
    handler = functools.partial(_Handler, directory=str(built))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_address[1]}"
        server.shutdown()


@pytest.mark.deep
@pytest.mark.parametrize("query", ["CD023", "variable-never-set", "so this step never runs"])
def test_the_search_finds_a_rule_by_code_name_and_words(tab: Any, address: str, query: str) -> None:
    tab.goto(f"{address}/index.html", wait_until="networkidle")
    tab.keyboard.press("Control+k")
    # The dialog, which has a tree of its own, takes the focus late.
    tab.wait_for_function("() => document.activeElement.shadowRoot?.activeElement?.matches('input')")
    tab.keyboard.type(query, delay=20)
    tab.locator("a[href*='rules/CD023.html']").first.wait_for(state="attached")


@pytest.mark.promise("An untrusted link to the playground", "every address that the page asks for")
@pytest.mark.deep
def test_the_playground_says_what_the_terminal_says_and_sends_nothing(tab: Any, address: str, tmp_path: Path) -> None:
    file = tmp_path / EXAMPLE
    file.parent.mkdir(parents=True)
    file.write_bytes((ROOT / EXAMPLE).read_bytes())
    command = [sys.executable, "-m", "workrail_lint", "check", "--no-cache", EXAMPLE]
    terminal = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False).stdout
    requested: list[str] = []
    page = tab
    page.on("request", lambda request: requested.append(request.url))
    page.goto(f"{address}/playground/index.html")
    checked = page.locator("#state", has_text="Checked")
    checked.wait_for()
    assert page.inner_text("#findings").rstrip() == terminal.rstrip()
    assert "error[CD023" in terminal

    page.click(".place")  # the editor shows the place
    selected = "area => area.value.slice(area.selectionStart, area.selectionEnd)"
    assert page.locator("#text").evaluate(selected).startswith('"impactlevel"')
    page.click("#tab-page")
    page.frame_locator("#page").get_by_text("impactlevel is major").first.wait_for()

    page.fill("#text", page.input_value("#text").replace('"impactlevel"', '"impactLevel"'))
    page.locator("#findings", has_text="1 file checked, nothing found").wait_for(state="attached")
    page.click("#tab-compiled")
    page.locator("#compiled", has_text="workrail.ir/1").wait_for()
    page.click("#share")
    page.locator("#state", has_text="The link is in").wait_for()
    shared, text = page.url, page.input_value("#text")
    page.goto("about:blank")
    page.goto(shared)
    page.locator("#state", has_text="Checked").wait_for()
    assert page.input_value("#text") == text
    assert {urlsplit(url).netloc for url in requested if url.startswith("http")} == {urlsplit(address).netloc}


_STUB = """
onmessage = ({ data: { id, name, text } }) => {
  if (text.includes("fail")) postMessage({ id, failed: "as told" });
  else postMessage({ id, findings: `checked ${name}: ${text}`, page: "<html><head></head></html>", compiled: "" });
};
"""


@pytest.fixture
def playground(tab: Any, tmp_path: Path) -> Iterator[Any]:
    """The page of the playground, with a worker that needs no Python."""
    for name in ("index.html", "playground.css", "playground.js"):
        shutil.copy(ROOT / "tools" / "site" / "web" / name, tmp_path)
    (tmp_path / "worker.js").write_text(_STUB, encoding="utf-8")
    (tmp_path / "build.json").write_text('{"example": "workflows/a.json"}', encoding="utf-8")
    (tmp_path / "example.json").write_text("{}", encoding="utf-8")
    handler = functools.partial(_Handler, directory=str(tmp_path))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        tab.address = f"http://127.0.0.1:{server.server_address[1]}/index.html"
        yield tab
        server.shutdown()


def _packed(text: bytes) -> str:
    packer = zlib.compressobj(9, wbits=-15)
    return base64.urlsafe_b64encode(packer.compress(text) + packer.flush()).decode().rstrip("=")


@pytest.mark.promise("An untrusted link to the playground", "links that hold a thousand times their size")
@pytest.mark.deep
def test_a_link_is_unpacked_up_to_a_limit(playground: Any) -> None:
    """A link of 65 kB could hold 64 MB, and one of 2 MB two gigabytes."""
    playground.goto(f"{playground.address}#file=a.json&text={_packed(bytes(1 << 26))}")
    playground.locator("#state", has_text="too long").wait_for()
    assert playground.input_value("#text") == "{}"
    playground.goto("about:blank")
    text = json.dumps({"id": "é😀", "steps": "x" * 100_000}, ensure_ascii=False)
    playground.goto(f"{playground.address}#file=a.json&text={_packed(text.encode())}")
    playground.locator("#findings", has_text="checked a.json").wait_for()
    assert playground.input_value("#text") == text


@pytest.mark.deep
def test_a_check_that_fails_does_not_hold_the_next_one(playground: Any) -> None:
    playground.goto(playground.address)
    playground.locator("#state", has_text="Checked").wait_for()
    playground.fill("#text", "fail")
    playground.locator("#state", has_text="Python failed: as told").wait_for()
    playground.fill("#text", "good")
    playground.locator("#findings", has_text="checked workflows/a.json: good").wait_for()


@pytest.mark.deep
@pytest.mark.parametrize("workflow_id", [r"\ud800", "</script><script>parent.hurt = 1</script>", "$&$`"])
def test_no_id_keeps_the_page_of_a_workflow_away(playground: Any, workflow_id: str) -> None:
    problems: list[object] = []
    playground.on("pageerror", lambda problem: problems.append(problem))
    playground.goto(playground.address)
    playground.locator("#state", has_text="Checked").wait_for()
    playground.fill("#text", f'{{"id": "{workflow_id}"}}')
    playground.locator("#findings", has_text=workflow_id).wait_for()
    page = playground.get_attribute("#page", "srcdoc")
    assert page.startswith("<html><head><script>location.hash = ")
    assert page.count("<script>") == 1
    assert problems == []


@pytest.mark.promise("An untrusted link to the playground", "markup, names that lead out, damaged text")
@pytest.mark.deep
def test_the_playground_survives_hostile_text(tab: Any, address: str) -> None:
    page = tab
    page.goto(f"{address}/playground/index.html")
    page.locator("#state", has_text="Checked").wait_for()
    hostile = {"id": "</script><img src=x onerror=alert(1)>", "name": "<b>x</b>", "steps": "<svg onload=alert(1)>"}
    dialogs: list[object] = []
    page.on("dialog", lambda dialog: (dialogs.append(dialog), dialog.dismiss()))
    page.fill("#name", "../../packages/evil<img>.json")
    page.fill("#text", json.dumps(hostile))
    page.locator("#findings", has_text="onerror=alert").wait_for(state="attached")
    assert page.locator("#findings img, #findings svg").count() == 0
    page.fill("#text", "{")
    page.locator("#findings", has_text="SY004").wait_for(state="attached")
    assert dialogs == []
