"""Stored records with one thing changed, and how much each member holds: as kept in `expected/records.txt`.

python tests/model/test_record_limits.py     # writes it anew
"""

from __future__ import annotations

import sys
from bisect import bisect_left
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

sys.path += [str(Path(__file__).parents[1] / "events"), str(Path(__file__).parents[2])]

from event_samples import BLOCKER, DATA, DIGEST, SESSION, sample

from pytest_workrail.engine.model.events import EVENTS
from pytest_workrail.engine.model.lenient import ANY_RECORDS, ANY_SNAPSHOTS, any_event_from
from pytest_workrail.engine.model.manifest import RECORDS, segment_path
from pytest_workrail.engine.model.snapshot import SNAPSHOTS
from tests.fuzz.damage import every_change
from workrail_lint.base.result import Err

FILE = Path(__file__).parent / "expected" / "records.txt"
MOST = 9_000
LOOP = {"loopId": "again", "iteration": 1}
STEP = {"stepId": "inner", "loopPath": [LOOP]}
STATE = {
    "kind": "running",
    "completed": {"kind": "set", "values": ["first", "second"]},
    "loopStack": [{**LOOP, "bodyIndex": 0}],
    "pending": {"kind": "some", "step": STEP},
}
REASON = {"kind": "missing_notes", "stepId": "inner"}
BLOCK = {"kind": "retryable_block", "reason": REASON, "retryAttemptId": "attempt_4qdvofanirw43ttqtwc4hknmme"}
STATES: dict[str, dict[str, Any]] = {
    "complete": {"kind": "complete"},
    "init": {"kind": "init"},
    "running": STATE,
    "blocked": {**STATE, "kind": "blocked", "blocked": {**BLOCK, "blockers": {"blockers": [BLOCKER]}}},
}
SEGMENT = {
    "firstEventIndex": 0,
    "lastEventIndex": 1,
    "segmentRelPath": segment_path(0, 1),
    "sha256": DIGEST,
    "bytes": 1,
}
PINNED = {"eventIndex": 0, "snapshotRef": DIGEST, "createdByEventId": "evt_" + "a" * 26}

Reader = Callable[[Any], Any]


def records() -> Iterator[tuple[str, dict[str, Any], Reader, Reader]]:
    """Yield a record of every kind, and how it is read: strictly, and as another engine may have written it."""
    for kind in DATA:
        yield kind, sample(kind), EVENTS.read_value, any_event_from
    for name, state in STATES.items():
        whole = {"v": 1, "kind": "execution_snapshot", "enginePayload": {"v": 1, "engineState": state}}
        yield name, whole, SNAPSHOTS.read_value, ANY_SNAPSHOTS.read_value
    for kind, members in (("segment_closed", SEGMENT), ("snapshot_pinned", PINNED)):
        whole = {"v": 1, "manifestIndex": 0, "sessionId": SESSION, "kind": kind, **members}
        yield kind, whole, RECORDS.read_value, ANY_RECORDS.read_value


def leaves(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[tuple[Any, ...], Any]]:
    """Yield where the texts, numbers and lists of a record are, and what they are; of a list only the first item."""
    if isinstance(value, dict):
        for name, inner in value.items():
            yield from leaves(inner, (*path, name))
        return
    yield path, value
    if isinstance(value, list) and value:
        yield from leaves(value[0], (*path, 0))


def with_other(value: Any, path: tuple[Any, ...], other: Any) -> Any:
    if not path:
        return other
    if isinstance(value, list):
        return [with_other(value[0], path[1:], other), *value[1:]]
    return {**value, path[0]: with_other(value[path[0]], path[1:], other)}


def most(accepts: Callable[[Any], bool], made: Callable[[int], Any]) -> str:
    """How many of something are accepted: none, any number, or as many as this."""
    if not accepts(made(1)) and not accepts(made(2)):
        return "0"
    refused = bisect_left(range(MOST), True, key=lambda number: number > 0 and not accepts(made(number)))
    return "any number" if refused == MOST else str(refused - 1)


def limits(record: dict[str, Any], own: dict[str, Any], read: Reader) -> Iterator[str]:
    """Yield how long each text and list of some members of a record may be, and which numbers are accepted."""
    for path, value in leaves(record):
        if path[0] not in own:
            continue

        def accepts(other: Any, path: tuple[Any, ...] = path) -> bool:
            return not isinstance(read(with_other(record, path, other)), Err)

        name = ".".join(map(str, path))
        match value:
            case str():
                counts = [most(accepts, lambda number, each=each: each * number) for each in ("x", "é")]
                yield f"{name}: {counts[0]} letters, {counts[1]} of two bytes, {'' if accepts('') else 'not '}empty"
            case bool():
                yield f"{name}: {[each for each in (True, False) if accepts(each)]}"
            case int():
                numbers = (-(2**53), -(2**53) + 1, -1, 0, 1, 2, 2**53 - 1, 2**53, 1.5)
                yield f"{name}: {[each for each in numbers if accepts(each)]}"
            case list() if value:
                yield f"{name}: {most(accepts, lambda number, value=value: value[:1] * number)} items"


def lines() -> Iterator[str]:
    for kind, record, strict, lenient in records():
        assert not isinstance(strict(record), Err), strict(record)
        # Events differ in their data; what is around it is the same in all of them.
        own = {"data": record["data"]} if kind in DATA and kind != "node_created" else record
        rest = {name: record[name] for name in record if name not in own}
        yield kind
        yield from (f"  {line}" for line in limits(record, own, strict))
        for what, changed in ((what, {**rest, **each}) for what, each in every_change(own, "")):
            found = [read(changed) for read in (strict, lenient)]
            words = [each.error.code if isinstance(each, Err) else "fine" for each in found]
            yield f"  {what[1:]}: {words[0]}{'' if words[0] == words[1] else f' / {words[1]}'}"


def test_what_a_record_may_hold_is_as_expected() -> None:
    expected = FILE.read_text(encoding="utf-8").splitlines()
    found = list(lines())
    assert [line for line in found if line not in expected] == []
    assert len(found) == len(expected)


if __name__ == "__main__":
    FILE.parent.mkdir(exist_ok=True)
    FILE.write_text("".join(f"{line}\n" for line in lines()), encoding="utf-8")
