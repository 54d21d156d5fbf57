"""The licences of what others wrote in the site, as one text file of the site."""

from __future__ import annotations

import json
import sysconfig
from collections.abc import Iterator
from importlib.metadata import distribution
from pathlib import Path

from tools.site.playground import LIBRARIES, RUNTIME

_RULE = f"\n{'-' * 72}\n\n"


def licences(*, has_playground: bool) -> str:
    """Return a heading and the licence text of each part of the site."""
    parts = [*_pages(), *(_playground() if has_playground else ())]
    head = "Licences of the parts of this site that others wrote\n"
    return _RULE.join((head, *(f"{title}\n\n{text.strip()}\n" for title, text in parts)))


def _pages() -> Iterator[tuple[str, str]]:
    yield _packaged("zensical", "dist-info/licenses/LICENSE.md")
    yield "Lucide icons", _packaged("zensical", "/.icons/lucide/LICENSE")[1]


def _playground() -> Iterator[tuple[str, str]]:
    runtime = json.loads((RUNTIME / "package.json").read_text(encoding="utf-8"))
    source = runtime["repository"]["url"].removeprefix("git+")
    text = f"Licence: {runtime['license']}. The files are unmodified, and their source code is at {source}"
    yield f"pyodide {runtime['version']}", text
    # Every installation of Python has it beside its modules.
    python = Path(sysconfig.get_path("stdlib")) / "LICENSE.txt"
    yield "Python, in pyodide", python.read_text(encoding="utf-8")
    yield from (_packaged(library, "LICENSE") for library in LIBRARIES)


def _packaged(package: str, name: str) -> tuple[str, str]:
    """Return the name and version of an installed package, and its file whose path ends like this."""
    installed = distribution(package)
    (file,) = (file for file in installed.files or () if str(file).endswith(name))
    return f"{package} {installed.version}", file.read_text(encoding="utf-8")
