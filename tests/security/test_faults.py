"""Disks that fail at any write: a command fails with the reason, and every file is the old one or the new one.

A command runs once on a good disk, which lists its write points, and then once for each point and fault. Every day has
two kinds of points of each command; the deep ring has all points with all faults. `test_hostile_folder.py` sees to it
that a command that writes is in the table.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from effort import times
from faulty import STAYS
from forks import shared

from workrail_lint.systems.workrail.rules.samples import step, workflow

pytestmark = [
    pytest.mark.promise(
        "A failed write is said",
        "full disks, quotas, short writes and failing renames at every write point of 28 commands",
    ),
    pytest.mark.search,
    pytest.mark.skipif(sys.platform != "linux", reason="names of open files are in /proc"),
]
FAULTY = Path(__file__).with_name("faulty.py")
SESSIONS = Path(__file__).parents[2] / "fixtures" / "sessions"
PROGRAMS = {"workrail-lint": "workrail_lint.cli", "workrail-test": "pytest_workrail.cli", "pytest": "pytest"}
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

PLAIN = workflow(step("first"), step("second"))
FIXABLE = json.dumps(PLAIN, indent=2).replace("\n  ]", ",\n  ]")
PYTEST = ["pytest", "-q", "-p", "no:cacheprovider", "--rootdir=.", "--workrail-write-in-ci"]
SCENARIO = {"workflow": "a.json", "profile": "reference", "agent": {"kind": "auto"}}
REGISTRY = {"version": 1, "locks": []}


class Point(NamedTuple):
    """A call that changes a disk."""

    kind: str
    path: str


class Ran(NamedTuple):
    """A run of a command, and what it left."""

    code: int
    output: str
    files: dict[str, bytes]
    points: list[Point]


class Bench:
    """A project that a command runs in, over and over, each time as it was at first."""

    def __init__(self, folder: Path) -> None:
        self.project = folder / "now" / "project"
        self._now, self._template = folder / "now", folder / "template"
        self._plan, self._log, self.stdin = folder / "plan.json", folder / "log.json", folder / "stdin"
        self.project.mkdir(parents=True)
        for name in ("home", "tmp"):
            (self._now / name).mkdir()

    def write(self, name: str, content: Any) -> None:
        path = self.project / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content if isinstance(content, str) else json.dumps(content))

    def keep(self) -> None:
        """Make the project as it is now the start of every run."""
        shutil.rmtree(self._template, ignore_errors=True)
        shutil.copytree(self._now, self._template)

    def restore(self) -> None:
        shutil.rmtree(self._now)
        shutil.copytree(self._template, self._now)

    def run(self, command: Sequence[str], at: int | None = None, fault: str = "") -> Ran:
        plan = {
            "command": command,
            "module": PROGRAMS[command[0]],
            "at": at,
            "fault": fault,
            "log": str(self._log),
            "ignored": str(self._now / "tmp"),
            "stdin": str(self.stdin) if self.stdin.exists() else "",
        }
        self._plan.write_text(json.dumps(plan))
        environment = {
            "PATH": os.environ["PATH"],
            "HOME": str(self._now / "home"),
            "XDG_CACHE_HOME": str(self._now / "home" / "cache"),
            "TMPDIR": str(self._now / "tmp"),
            "PYTEST_ADDOPTS": "-p no:hypothesispytest -p no:anyio",
            "NO_COLOR": "1",
        }
        code, output = shared().run(["python", str(FAULTY), str(self._plan)], self.project, environment)
        points = [Point(*each) for each in json.loads(self._log.read_text())]
        return Ran(code, output, self.files(), points)

    def files(self) -> dict[str, bytes]:
        paths = (path for path in self._now.rglob("*") if not path.is_dir())
        return {path.relative_to(self._now).as_posix(): path.read_bytes() for path in paths}


# ------------------------------------------------------------------------------------------------------ the commands


def with_workflows(bench: Bench) -> None:
    bench.write("a.json", PLAIN)
    bench.write("b.json", FIXABLE)


def with_scenario(bench: Bench) -> None:
    bench.write("a.json", PLAIN)
    bench.write("a.scenario.json", SCENARIO)
    bench.write("locks.json", REGISTRY)


def with_pending(bench: Bench) -> None:
    with_scenario(bench)
    for name in ("b", "c"):
        bench.write(f"{name}.scenario.json", SCENARIO)
    assert bench.run([*PYTEST, "--workrail-golden=new"]).code == 0
    bench.write("a.json", workflow(step("first"), step("second", "Do another thing, and say which.")))
    assert bench.run(PYTEST).code == 1


def with_sessions(bench: Bench) -> None:
    shutil.copytree(SESSIONS, bench.project / "data")


def with_export(bench: Bench) -> None:
    with_sessions(bench)
    session = sorted(path.name for path in (SESSIONS / "sessions").iterdir())[0]
    assert bench.run(["workrail-test", "sessions", "export", session, "--data", "data", "--out", "e.json"]).code == 0
    shutil.rmtree(bench.project / "data")


def with_record(bench: Bench) -> None:
    with_scenario(bench)
    assert bench.run([*PYTEST, "--workrail-golden=new", "--workrail-record=record"]).code == 0


def with_client(bench: Bench) -> None:
    """Somebody who starts a workflow over MCP."""
    bench.write("workflows/a.json", PLAIN)
    client = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}
    start = {"workflowId": PLAIN["id"], "workspacePath": "/w", "goal": "Do it"}
    calls = [
        {"id": 1, "method": "initialize", "params": client},
        {"method": "notifications/initialized"},
        {"id": 2, "method": "tools/call", "params": {"name": "start_workflow", "arguments": start}},
    ]
    bench.stdin.write_text("".join(json.dumps({"jsonrpc": "2.0", **call}) + "\n" for call in calls))


class Command(NamedTuple):
    """A command that writes. `is_random`: what it writes differs from run to run, so it only has to be whole."""

    line: str
    prepare: Callable[[Bench], None] = with_workflows
    is_random: bool = False

    @property
    def words(self) -> list[str]:
        program, *rest = self.line.split()
        return [*PYTEST, *rest] if program == "pytest" else [program, *rest]


FIRST_SESSION = "sess_b3lhfeftt3zk4n6hopc26cabom"
COMMANDS = [
    Command("workrail-lint check --fix a.json b.json"),
    Command("workrail-lint check --output-file out.json --output-format json a.json"),
    Command("workrail-lint check --write-baseline base.json a.json b.json"),
    Command("workrail-lint format a.json b.json"),
    Command("workrail-lint lock --update a.json"),
    Command("workrail-lint graph a.json --output out.svg"),
    Command("workrail-lint studio a.json --output out.html"),
    Command("workrail-lint catalog export --output out.json"),
    Command("workrail-lint init --ci github new"),
    Command("workrail-test generate a.json --out made"),
    Command("workrail-test mutate a.json --report out.json --html out.html"),
    Command("workrail-test golden accept --all", with_pending),
    Command("workrail-test golden reject --all", with_pending),
    Command("workrail-test golden diff --html out.html", with_pending),
    Command(f"workrail-test sessions record {FIRST_SESSION} --data data --out made", with_sessions),
    Command(
        f"workrail-test sessions export {FIRST_SESSION} --data data --out made/e.json", with_sessions, is_random=True
    ),
    Command(f"workrail-test sessions show {FIRST_SESSION} --data data --html out.html", with_sessions),
    Command("workrail-test sessions stats --data data --html out.html", with_sessions),
    Command("workrail-test sessions list --data data", with_sessions),
    Command("workrail-test sessions import e.json --into new", with_export, is_random=True),
    Command("workrail-test combine record --workrail-cov-json=out.json", with_record),
    Command("workrail-test serve workflows --data new", with_client, is_random=True),
    Command("pytest --workrail-golden=new", with_scenario),
    Command("pytest --workrail-golden=update", with_pending),
    Command("pytest", with_pending),
    Command("pytest --workrail-cov-json=deep/out.json --workrail-runs-json=runs.json", with_scenario),
    Command("pytest --workrail-record=record", with_scenario),
    Command("pytest --workrail-html=out.html", with_scenario),
]


# -------------------------------------------------------------------------------------------------------- the judge


def wrong(
    clean: Ran, before: dict[str, bytes], ran: Ran, fault: str, point: Point, *, is_random: bool
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
        if LEFTOVER.search(os.path.basename(name)) or name.startswith("tmp/"):
            yield f"left {name}"
    if is_random:
        for name, data in ran.files.items():
            if name.endswith(".json"):
                json.loads(data)
        return
    files = {name for name in changed if name.startswith("project/")}
    for name in sorted(files):
        if ran.files.get(name) != clean.files.get(name):
            yield f"{name} is neither the old nor the new file"
    undone = {name for name in {*before, *clean.files} if before.get(name) != clean.files.get(name)} - files
    for line in claims(clean) & claims(ran) if undone else ():
        if not files or any(re.search(rf"(^|[ /]){re.escape(os.path.basename(name))}", line) for name in undone):
            yield f"says {line!r}, without {sorted(undone)}"


def is_in_cache(point: Point) -> bool:
    return "/now/home/cache" in point.path


def is_failure(ran: Ran, clean: Ran) -> bool:
    if '"isError":true' in ran.output.replace(" ", ""):
        return True
    return ran.code != 0 and (ran.code != clean.code or clean.code != 0)


def claims(ran: Ran) -> set[str]:
    return {line for line in ran.output.splitlines() if DONE.search(line)}


def chosen(points: list[Point], start: int) -> Iterator[tuple[int, Point, str]]:
    """Yield the faults to try: all in the deep ring, every day two kinds of points, other ones in each command."""
    if times(0, deep=1):
        yield from ((number, point, fault) for number, point in enumerate(points) for fault in FAULTS[point.kind])
        return
    last = {point.kind: (number, point) for number, point in enumerate(points) if not is_in_cache(point)}
    last = last or {point.kind: (number, point) for number, point in enumerate(points)}
    kinds = [kind for kind in FAULTS if kind in last]
    for each in range(start, start + min(2, len(kinds))):
        kind = kinds[each % len(kinds)]
        yield *last[kind], FAULTS[kind][each % len(FAULTS[kind])]


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command.line)
def test_a_disk_that_fails(command: Command, tmp_path: Path, record_property: Callable[[str, object], None]) -> None:
    bench = Bench(tmp_path)
    command.prepare(bench)
    bench.keep()
    before = bench.files()
    clean = bench.run(command.words)
    assert "Traceback" not in clean.output
    kinds = Counter(point.kind for point in clean.points)
    assert kinds, clean.output
    problems: list[str] = []
    tried = 0
    for number, point, fault in chosen(clean.points, COMMANDS.index(command)):
        bench.restore()
        ran = bench.run(command.words, number, fault)
        tried += 1
        place = f"{fault} at {number} ({point.kind} {point.path.removeprefix(str(tmp_path))})"
        problems += [
            f"{place}: {each}" for each in wrong(clean, before, ran, fault, point, is_random=command.is_random)
        ]
    record_property("points", dict(kinds))
    record_property("faults", tried)
    assert tried
    assert not problems, "\n".join(problems)
