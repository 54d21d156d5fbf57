"""docs/licences.md names what others wrote in everything we ship, and the packages contain its licences."""

from __future__ import annotations

import json
import re
import subprocess
from importlib.metadata import metadata
from pathlib import Path

import pytest

from tools.site import licences
from tools.site.playground import LIBRARIES, RUNTIME

ROOT = Path(__file__).resolve().parents[2]
VSCODE, WEB = ROOT / "editors" / "vscode", ROOT / "tools" / "site" / "web"
OF_OTHERS = re.compile(rb"copyright (?:\(c\)|\xc2\xa9|[12][09]\d\d)|SPDX-License-Identifier|@license", re.I)


def rows(title: str) -> dict[str, str]:
    """Return the table of a section of the page: parts and their licences."""
    page = (ROOT / "docs" / "licences.md").read_text(encoding="utf-8")
    (section,) = (each for each in page.split("\n## ") if each.startswith(f"{title}\n"))
    table = re.findall(r"^\| ([^|]+) \| ([^|]+) \|$", section, re.M)[2:]
    return {re.split("[:,]", part)[0].strip(): licence.strip() for part, licence in table}


def locked(folder: Path) -> dict[str, str]:
    """Return what npm installs for use, not for development, by name: the licences."""
    packages = json.loads((folder / "package-lock.json").read_text(encoding="utf-8"))["packages"]
    return {
        path.rpartition("node_modules/")[2]: each["license"]
        for path, each in packages.items()
        if path and not each.get("dev")
    }


def test_the_page_names_what_the_extension_bundles() -> None:
    assert rows("The VS Code extension") == locked(VSCODE)


def test_the_page_names_what_the_playground_ships() -> None:
    table = rows("The site")
    assert table["pyodide"] == locked(WEB)["pyodide"]
    # `ws` connects Node.js and `@types` are for compilers; the page gets neither (`_RUNTIME_FILES`).
    assert locked(WEB).keys() == {"pyodide", "ws", "@types/emscripten"}
    assert {"zensical", "Lucide icons", "Python", "pyodide", *LIBRARIES} == table.keys()
    assert table["pluggy"] == metadata("pluggy")["License"]


def test_our_own_files_carry_no_notice_of_others() -> None:
    if not (ROOT / ".git").exists():
        pytest.skip("this is not a git checkout, so nothing says which files belong to it")
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    paths = [path for name in listed.split("\0") if name and (path := ROOT / name).is_file()]
    notices = {path.relative_to(ROOT).as_posix() for path in paths if OF_OTHERS.search(path.read_bytes())}
    assert notices - {"tests/project/test_licences.py"} == {"LICENSE"}


def test_the_site_has_the_text_of_each_licence() -> None:
    pytest.importorskip("zensical", reason="zensical is not installed: make setup")
    pages = licences.licences(has_playground=False)
    assert re.findall(r"^-{72}\n\n(\w+)", pages, re.M) == ["zensical", "Lucide"]
    assert "MIT License" in pages
    assert "ISC License" in pages


def test_the_playground_has_the_text_of_each_licence() -> None:
    pytest.importorskip("zensical", reason="zensical is not installed: make setup")
    if not RUNTIME.is_dir():
        pytest.skip("the runtime of the playground is not installed: npm ci in tools/site/web")
    text = licences.licences(has_playground=True)
    titles = re.findall(r"^-{72}\n\n(\w+)", text, re.M)
    assert titles == ["zensical", "Lucide", "pyodide", "Python", *LIBRARIES]
    for words in ("MPL-2.0", "PYTHON SOFTWARE FOUNDATION LICENSE VERSION 2", "Apache License"):
        assert words in text
    assert re.search(r"source code is at https://\S+\.git", text)
