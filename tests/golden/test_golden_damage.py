"""Goldens and pending changes with one thing wrong: what is said of each is what is kept in `expected/damage.txt`.

python tests/golden/test_golden_damage.py     # writes it anew
"""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import tables

sys.path += [str(Path(__file__).parent), str(Path(__file__).parents[1]), str(Path(__file__).parents[2])]

from golden_outputs import CONTEXT
from zoo import ZOO

from pytest_workrail.agents.correct import Auto
from pytest_workrail.golden.diff import Causes, compare, grouped, headline, merged
from pytest_workrail.golden.document import golden_bytes
from pytest_workrail.golden.encoding import dumps, encode, fold, loads, same, same_metadata, says
from pytest_workrail.golden.pending import pending_bytes, pending_of, proposal
from pytest_workrail.golden.symbols import renumbered
from pytest_workrail.run.bench import Setup
from pytest_workrail.run.driver import drive
from tests.fuzz.damage import every_change
from workrail_lint.base.canonical import digest
from workrail_lint.base.result import Err, Ok
from workrail_lint.systems.workrail.compile import compile_workflow

FILE = Path(__file__).parent / "expected" / "damage.txt"


def golden() -> bytes:
    """A golden with loops, and prompts that come more than once."""
    made = compile_workflow(ZOO["elements"])
    assert isinstance(made, Ok), made.error
    return golden_bytes(drive(Setup(made.value.ir, "locked", context=CONTEXT, max_turns=4), Auto()).transcript)


def said(sound: dict[str, Any], data: bytes) -> str:
    """How a damaged golden differs from the sound one, and what its parts are taken for."""
    read = loads(data)
    if isinstance(read, Err):
        return read.error
    value = read.value
    answers: list[Any] = [same(sound, value), same_metadata(sound, value), says(data, fold(sound))]
    shown = 0
    for old, new in ((sound, value), (value, sound)):
        differences = compare(old, new)
        shown = len(differences)
        groups = grouped([("a", Causes(old, new))])
        half = merged(old, new, lambda number, edit: (number + edit) % 2 == 0)
        answers += [[each.to_json() for each in differences], [headline(each) for each in differences]]
        answers += [[[group.key, group.title] for group in groups]]
        answers += [half.error if isinstance(half, Err) else encode(half.value).decode()]
    answers += [encode(value).decode(), dumps(renumbered(value)).decode()]
    return f"{shown} differences, {digest(json.dumps(answers).encode())[7:19]}"


def lines() -> Iterator[str]:
    data = golden()
    file, sound = json.loads(data), loads(data).value
    seen: set[str] = set()
    for what, changed in every_change(file, "golden"):
        if what not in seen:
            yield f"{what}: {said(sound, json.dumps(changed).encode())}"
        seen.add(what)
    with tempfile.TemporaryDirectory() as name:
        path = Path(name, "a.golden.json")
        path.write_bytes(data)
        pending = json.loads(pending_bytes("test", data, data.replace(b"special", b"other")))
        for what, changed in every_change({"pending": pending["pending"]}, ""):
            pending_of(path).write_text(json.dumps({**pending, "pending": None, **changed}), encoding="utf-8")
            found = proposal(pending_of(path))
            yield f"{what}: {found.state} ({found.problem})"


def test_what_is_said_of_damaged_goldens_is_as_expected() -> None:
    tables.compare_with_file(lines(), FILE)


if __name__ == "__main__":
    FILE.write_text("".join(f"{line}\n" for line in lines()), encoding="utf-8")
