"""Disks that fail at any write: a command fails with the reason, and every file is the old one or the new one.

A command runs once on a good disk, which lists its write points, and then once for each point and fault. Every day has
one or two kinds of points of each command; the deep ring has all points with all faults. The commands come from
`writers.py`: they reach every call in both packages that writes.
"""

from __future__ import annotations

import json
import os
import re
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from effort import times
from faulty import STAYS
from writers import COMMANDS, Bench, Command, Point, Ran, clean_runs, run_clean, writing_calls

from workrail_lint.cli import INTERRUPTED

pytestmark = [
    pytest.mark.promise(
        "A failed write is said",
        "full disks, quotas, short writes and failing renames, at every write point of every command that writes",
    ),
    pytest.mark.promise("Ctrl-C stops at once", "an interrupt at every write point of every command that writes"),
    pytest.mark.search,
    pytest.mark.skipif(sys.platform != "linux", reason="names of open files are in /proc"),
]
FAULTS = {
    "open": ("ENOSPC", "EIO", "EDQUOT"),
    "write": ("EDQUOT", "ENOSPC", "EIO", "short"),
    "fsync": ("EIO", "ENOSPC", "EDQUOT"),
    "rename": ("EACCES", "EIO", "ENOSPC"),
    "mkdir": ("ENOSPC", "EIO", "EDQUOT"),
    "link": ("ENOSPC", "EIO", "EDQUOT"),
    "unlink": ("EIO",),
    "ftruncate": ("EIO",),
}
DONE = re.compile(r"\b(wrote|written|fixed|formatted|accepted|rejected|created|recorded|exported|imported|pinned)\b")
# An agent gets a code instead of the system's words.
REASONS = (
    r"No space left|Input/output error|quota exceeded|Permission denied|[A-Z]_IO_ERROR|LOCK_(ACQUIRE|RELEASE)_FAILED"
)
LEFTOVER = re.compile(r"\.tmp$|^\.workrail-[0-9a-f]+")


# -------------------------------------------------------------------------------------------------------- the judge


def wrong(
    clean: Ran,
    before: dict[str, bytes],
    between: dict[str, bytes],
    ran: Ran,
    fault: str,
    point: Point,
    *,
    is_random: bool,
) -> Iterator[str]:
    """Yield what a command did wrong when a fault happened at a point."""
    if "Traceback" in ran.output or "internal error" in ran.output or "INTERNALERROR" in ran.output:
        yield f"no message: {ran.output[-300:]}"
    is_cache = is_in_cache(point)
    changed = {name for name in {*before, *ran.files} if ran.files.get(name) != before.get(name)}
    if (is_cache or fault == "short") and ran.code == clean.code:
        pass
    elif (is_cache and fault not in STAYS) or fault == "short":  # where there is still no room, the output fails
        yield f"exit code {ran.code}, not {clean.code}"
    elif is_failure(ran, clean):
        if not re.search(f"(?i){REASONS}", ran.output):
            yield f"does not say why: {ran.output[-300:]!r}"
    else:
        yield f"reads as success (exit code {ran.code}): {ran.output[-300:]!r}"
    for name in sorted(changed) if point.kind != "unlink" else ():  # the next run removes what could not be removed
        is_temporary = name.startswith("tmp/") and not any(each.startswith("tmp/") for each in clean.files)
        if is_temporary or LEFTOVER.search(os.path.basename(name)):
            yield f"left {name}"
    if is_random:
        for name, data in ran.files.items():
            if name.endswith(".json"):
                json.loads(data)
        return
    files = {name for name in changed if name.startswith("project/")}
    for name in sorted(files):
        if ran.files.get(name) not in (clean.files.get(name), between.get(name, b"")):
            yield f"{name} is neither the old nor the new file"
    undone = {name for name in {*before, *clean.files} if before.get(name) != clean.files.get(name)} - files
    for line in claims(clean) & claims(ran) if undone else ():
        if not files or any(re.search(rf"(^|[ /]){re.escape(os.path.basename(name))}", line) for name in undone):
            yield f"says {line!r}, without {sorted(undone)}"


def wrong_when_interrupted(
    clean: Ran,
    before: dict[str, bytes],
    between: dict[str, bytes],
    ran: Ran,
    point: Point,
    *,
    is_random: bool,
    is_pytest: bool,
) -> Iterator[str]:
    """Yield what a command did wrong when it was interrupted. What pytest prints and returns then is its own affair."""
    if not is_pytest and ("Traceback" in ran.output or "internal error" in ran.output):
        yield f"no message: {ran.output[-300:]}"
    if (ran.code == 0 if is_pytest else ran.code != INTERRUPTED) or "nterrupt" not in ran.output:
        yield f"does not say that it was interrupted (exit code {ran.code}): {ran.output[-300:]}"
    changed = {name for name in {*before, *ran.files} if ran.files.get(name) != before.get(name)}
    if point.kind != "unlink":  # the next run removes what was about to be removed
        yield from (f"left {name}" for name in sorted(changed) if LEFTOVER.search(os.path.basename(name)))
    files = {name for name in changed if name.startswith("project/") and "/.pytest_cache/" not in name}
    for name in sorted(files):
        if is_random and name.endswith(".json"):
            json.loads(ran.files.get(name, b"{}"))
        elif not is_random and ran.files.get(name) not in (clean.files.get(name), between.get(name, b"")):
            yield f"{name} is neither the old nor the new file"
    if files and "before anything was written" in ran.output:
        yield f"says that nothing was written, but {sorted(files)} were"


def is_in_cache(point: Point) -> bool:
    return "/now/home/cache" in point.path


def is_failure(ran: Ran, clean: Ran) -> bool:
    if '"isError":true' in ran.output.replace(" ", ""):
        return True
    return ran.code != 0 and (ran.code != clean.code or clean.code != 0)


def claims(ran: Ran) -> set[str]:
    return {line for line in ran.output.splitlines() if DONE.search(line)}


def chosen(points: list[Point], start: int, kinds_a_day: int) -> Iterator[tuple[int, Point, str]]:
    """Yield the faults to try: all in the deep ring, every day a few kinds of points, other ones in each command."""
    if times(0, deep=1):
        yield from ((number, point, fault) for number, point in enumerate(points) for fault in FAULTS[point.kind])
        return
    last = {point.kind: (number, point) for number, point in enumerate(points) if not is_in_cache(point)}
    last = last or {point.kind: (number, point) for number, point in enumerate(points)}
    kinds = [kind for kind in FAULTS if kind in last]
    for each in range(start, start + min(kinds_a_day, len(kinds))):
        kind = kinds[each % len(kinds)]
        yield *last[kind], FAULTS[kind][each % len(FAULTS[kind])]


def interrupted(points: list[Point], start: int) -> Iterator[tuple[int, Point]]:
    """Yield the points to interrupt a command at: all in the deep ring, every day one, another one in each command."""
    numbers = range(len(points)) if times(0, deep=1) else [start % len(points)]
    yield from ((number, points[number]) for number in numbers)


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command.line)
def test_a_disk_that_fails(command: Command, tmp_path: Path, record_property: Callable[[str, object], None]) -> None:
    bench = Bench(tmp_path)
    clean, before = run_clean(command, bench)
    assert "Traceback" not in clean.output
    kinds = Counter(point.kind for point in clean.points)
    assert kinds, clean.output
    problems: list[str] = []
    tried = 0
    # The plugin of pytest writes by the functions of the commands, and a run of it costs several times as much.
    kinds_a_day = 1 if command.words[0] == "pytest" else 2
    for number, point, fault in chosen(clean.points, COMMANDS.index(command), kinds_a_day):
        bench.restore()
        ran = bench.run(command.words, number, fault, breaks=command.breaks)
        tried += 1
        place = f"{fault} at {number} ({point.kind} {point.path.removeprefix(str(tmp_path))})"
        problems += [
            f"{place}: {each}"
            for each in wrong(clean, before, bench.between, ran, fault, point, is_random=command.is_random)
        ]
    for number, point in interrupted(clean.points, COMMANDS.index(command)):
        bench.restore()
        ran = bench.run(command.words, number, "SIGINT", breaks=command.breaks)
        is_pytest = command.words[0] == "pytest"
        found = wrong_when_interrupted(
            clean, before, bench.between, ran, point, is_random=command.is_random, is_pytest=is_pytest
        )
        problems += [
            f"SIGINT at {number} ({point.kind} {point.path.removeprefix(str(tmp_path))}): {each}" for each in found
        ]
    record_property("points", dict(kinds))
    record_property("faults", tried)
    assert tried
    assert not problems, "\n".join(problems)


def test_every_place_that_writes_is_reached(tmp_path: Path) -> None:
    """A new command, option or file that is written needs a line in the table; this test names what was forgotten."""
    reached = {line for _, clean in clean_runs(COMMANDS, tmp_path) for line in clean.reached}
    calls = list(writing_calls())
    missing = [call for call in calls if not any((call.path, line) in reached for line in call.lines)]
    assert missing == []
    assert len(calls) > 30
