"""The sessions that ship in `fixtures/sessions` for the guides, made by playing a shipped workflow."""

from __future__ import annotations

import json
from pathlib import Path

from session_files import Session, write

ROOT = Path(__file__).resolve().parents[2]
SHIPPED = ROOT / "fixtures" / "sessions"


def make(root: Path) -> None:
    """A finished session that was blocked once, one with a second branch, and one under way."""
    raw = (ROOT / "fixtures" / "workflows" / "release-notes.json").read_text(encoding="utf-8")
    release_notes = json.loads(raw)
    done = Session(release_notes, seed=1).submit().submit()
    done.submit("Nine commits since v2.3, four of them visible.").submit("Two Added, one Changed, one Fixed.")
    write(root, done.submit("Notes are in CHANGELOG.md; no upgrade steps.").played())
    forked = Session(release_notes, seed=2).submit().submit("Nine commits since v2.3.").submit("All under Changed.")
    forked.submit("Two Added, the rest Changed.", node=3)
    write(root, forked.submit("Notes are in CHANGELOG.md.", context={"upgradeSteps": 1}).played())
    write(root, Session(release_notes, seed=3).submit().submit("Nine commits.").played())


if __name__ == "__main__":
    make(SHIPPED)
