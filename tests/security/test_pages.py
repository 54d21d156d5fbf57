"""Every HTML page we write: it loads nothing, runs nothing but its own script, and says so in its policy."""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path

import pytest

import pytest_workrail
import workrail_lint
from workrail_lint.studio.inputs import Inputs
from workrail_lint.studio.page import goldens_page, mutants_page, sessions_page
from workrail_lint.studio.page import page as studio_page
from workrail_lint.systems.workrail.settings import Settings

pytestmark = pytest.mark.promise("Pages are closed", "the policy of every page")

HOSTILE = "</title><script>alert(1)</script>\x1b[2J"
PAGES: dict[str, Callable[[], str]] = {
    "mutate": lambda: mutants_page([], {"workflows": []}, Settings().catalog, HOSTILE).decode(),
    "golden diff": lambda: goldens_page({"groups": []}, HOSTILE).decode(),
    "sessions": lambda: sessions_page([], Inputs(), HOSTILE).decode(),
    "studio": lambda: studio_page({"workflows": []}, HOSTILE),
}


@pytest.mark.parametrize("name", list(PAGES))
def test_a_page_has_a_policy_for_its_own_style_and_script_only(name: str) -> None:
    text = PAGES[name]()
    head = text.index('<meta http-equiv="Content-Security-Policy" content="')
    # What precedes a policy is not bound by it.
    assert re.fullmatch(r'<!doctype html>\n<html lang="en"><head><meta charset="utf-8">', text[:head])
    policy = text[head:].split('"')[3]
    parts = dict(part.split(" ", 1) for part in policy.split("; "))
    assert parts["default-src"] == parts["base-uri"] == parts["form-action"] == "'none'"
    for kind, tag in (("style-src", "style"), ("script-src", "script")):
        own = re.findall(rf"<{tag}>(.*?)</{tag}>", text, re.DOTALL)
        hashes = " ".join(f"'sha256-{b64encode(sha256(each.encode()).digest()).decode()}'" for each in own)
        assert parts.get(kind, "") == hashes
    assert set(parts) <= {"default-src", "base-uri", "form-action", "style-src", "script-src"}
    assert "<script>" in text
    assert '<meta name="referrer" content="no-referrer">' in text
    assert not re.search(r"<[^>]*\sstyle=|alert\(1\)</script>|\x1b", text)


def test_there_are_no_other_pages() -> None:
    files = [path for package in (workrail_lint, pytest_workrail) for path in Path(package.__path__[0]).rglob("*.py")]
    assert len(files) > 300
    named = [path.name for path in files if re.search("<!doctype|<html", path.read_text(encoding="utf-8"), re.I)]
    assert named == ["html.py"]
