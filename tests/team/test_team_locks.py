"""The locks of the team contract name what the guide says."""

from __future__ import annotations

import json
import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
LOCKS = json.loads((ROOT / "pytest_workrail" / "team" / "locks.json").read_text(encoding="utf-8"))


def test_there_are_23_locks_with_all_their_facts() -> None:
    assert len(LOCKS) == len({lock["id"] for lock in LOCKS}) == 23
    for lock in LOCKS:
        assert list(lock) == ["id", "category", "source", "summary", "revision"]
        assert re.fullmatch(r"team(-[a-z0-9]+)+", lock["id"])
        assert lock["summary"].endswith(".")
        assert lock["revision"] == 1


def test_every_source_is_a_section_of_a_document() -> None:
    for lock in LOCKS:
        file, _, anchor = lock["source"].partition("#")
        text = (ROOT / file).read_text(encoding="utf-8")
        titles = re.findall(r"^## (.*)$", text, re.MULTILINE)
        assert anchor in [re.sub(r"[^a-z0-9]+", "-", title.lower()).strip("-") for title in titles], lock["source"]


def test_the_guide_names_every_setting_and_every_pack() -> None:
    from workrail_lint.team.models.packs import packs

    guide = (ROOT / "docs" / "team.md").read_text(encoding="utf-8")
    for pack in packs():
        assert f"`{pack['id'].rpartition('.')[2]}`" in guide
    for option in ("team-profile", "team-mode", "team-agent", "team-section-aliases", "team-history-baseline"):
        assert f"`{option}`" in guide
