"""The guide of the team contract names what there is."""

from __future__ import annotations

from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def test_the_guide_names_every_setting_and_every_pack() -> None:
    from tools.models.team.packs import packs

    guide = (ROOT / "docs" / "team.md").read_text(encoding="utf-8")
    for pack in packs():
        assert f"`{pack['id'].rpartition('.')[2]}`" in guide
    for option in ("team-profile", "team-mode", "team-agent", "team-section-aliases", "team-history-baseline"):
        assert f"`{option}`" in guide
