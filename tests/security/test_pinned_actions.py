"""Continuous integration runs what was reviewed: every action is named by its commit, here and in what we generate."""

from __future__ import annotations

import re
from pathlib import Path

from workrail_lint.systems.workrail import scaffold

ROOT = Path(__file__).parents[2]
PINNED = re.compile(r"[\w.-]+/[\w./-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+")


def test_every_action_is_pinned_by_its_commit() -> None:
    texts = {
        path.relative_to(ROOT).as_posix(): path.read_text(encoding="utf-8")
        for folder, pattern in ((".github", "*.yml"), ("docs", "*.md"))
        for path in (ROOT / folder).rglob(pattern)
    }
    texts["what init writes"] = Path(scaffold.__file__).read_text(encoding="utf-8")
    used = [(place, action) for place, text in texts.items() for action in re.findall(r"^ *- uses: (.*)$", text, re.M)]
    assert {place for place, _ in used} >= {
        ".github/workflows/ci.yml",
        "docs/continuous-integration.md",
        "what init writes",
    }
    assert [each for each in used if not PINNED.fullmatch(each[1])] == []
