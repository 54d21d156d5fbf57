"""CI installs files that were reviewed: each is named by its hash, in the version that everybody else gets."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
PIN = re.compile(r"^([A-Za-z0-9][\w.-]*)==([^\s;\\]+)", re.M)


def _pins(path: str) -> dict[str, set[str]]:
    pins: dict[str, set[str]] = {}
    for name, version in PIN.findall((ROOT / path).read_text(encoding="utf-8")):
        pins.setdefault(re.sub(r"[._-]+", "-", name).lower(), set()).add(version)
    return pins


def test_hashes_are_those_of_the_pinned_versions() -> None:
    hashed = {**_pins(".ci/neighbours.txt"), **_pins(".ci/requirements.txt")}
    pinned = _pins("constraints.txt")
    assert {name: versions for name, versions in hashed.items() if pinned.get(name) != versions} == {}
    assert pinned.keys() == hashed.keys()


def test_every_pin_has_a_hash_and_names_no_address() -> None:
    for path in (".ci/requirements.txt", ".ci/neighbours.txt"):
        text = (ROOT / path).read_text(encoding="utf-8")
        assert "://" not in text
        without = [entry for entry in re.split(r"\n(?=\S)", text) if "--hash=sha256:" not in entry]
        assert without == []
