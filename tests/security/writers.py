"""Everything of ours that writes: one table of commands, each with a project in which it has something to write.

Faults, linked folders and the trap folder take their commands from here. Nobody has to remember to add one: the table
must reach every call in both packages that writes (`test_every_place_that_writes_is_reached`).
"""

from __future__ import annotations

import ast
import functools
import json
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from forks import shared

import pytest_workrail
import workrail_lint
from workrail_lint.project.cache import _MOST_FILES
from workrail_lint.systems.workrail.rules.samples import step, workflow

FAULTY = Path(__file__).with_name("faulty.py")
FIXTURES = Path(__file__).parents[2] / "fixtures"
SESSIONS = FIXTURES / "sessions"
PROGRAMS = {"workrail-lint": "workrail_lint.cli", "workrail-test": "pytest_workrail.cli", "pytest": "pytest"}
PLAIN = workflow(step("first"), step("second"))
FIXABLE = json.dumps(PLAIN, indent=2).replace("\n  ]", ",\n  ]")
PYTEST = ["pytest", "-q", "-p", "no:cacheprovider", "--rootdir=.", "--workrail-write-in-ci"]
SCENARIO = {"workflow": "a.json", "profile": "reference", "agent": {"kind": "auto"}}
GOLDEN = "__goldens__/a.golden.json"
LOCK = {"id": "it-runs", "category": "all", "source": "docs/README.md#locks", "summary": "It runs.", "revision": 1}
REGISTRY = {
    "lockRegistryVersion": 1,
    "version": "1.0.0",
    "description": "What must stay true.",
    "categories": {"all": "Everything."},
    "locks": [LOCK],
}


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
        self.home = self._now / "home"
        self.between: dict[str, bytes] = {}  # files that a command writes and later takes back
        self.reached: set[tuple[str, int]] = set()  # lines of our modules on the way to a write, in all runs

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

    def run(self, command: Sequence[str], at: int | None = None, fault: str = "", *, breaks: str = "") -> Ran:
        plan = {
            "command": command,
            "module": PROGRAMS[command[0]],
            "at": at,
            "fault": fault,
            "breaks": breaks,
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
            "BROWSER": "true",
        }
        code, output = shared().run(["python", str(FAULTY), str(self._plan)], self.project, environment)
        log = json.loads(self._log.read_text())
        self.reached.update((path, line) for path, line in log["reached"])
        points = [Point(*each) for each in log["points"]]
        return Ran(code, output, self.files(), points)

    def files(self) -> dict[str, bytes]:
        paths = (path for path in self._now.rglob("*") if not path.is_dir())
        # How long a test took is another number every time.
        return {path.relative_to(self._now).as_posix(): SECONDS.sub(b"", path.read_bytes()) for path in paths}


# ------------------------------------------------------------------------------------------------------ the commands


def with_workflows(bench: Bench) -> None:
    bench.write("a.json", PLAIN)
    bench.write("b.json", FIXABLE)


def with_scenario(bench: Bench) -> None:
    bench.write("a.json", PLAIN)
    bench.write("a.scenario.json", SCENARIO)


@functools.cache
def _pending() -> Path:
    """Return a project with pending changes of three goldens, made once for all benches of a worker."""
    folder = tempfile.TemporaryDirectory(prefix="pending-", ignore_cleanup_errors=True)
    _FOLDERS.append(folder)
    bench = Bench(Path(folder.name))
    with_scenario(bench)
    for name in ("b", "c"):
        bench.write(f"{name}.scenario.json", SCENARIO)
    assert bench.run([*PYTEST, "--workrail-golden=new"]).code == 0
    bench.write("a.json", workflow(step("first"), step("second", "Do another thing, and say which.")))
    assert bench.run(PYTEST).code == 1
    return bench.project


_FOLDERS: list[tempfile.TemporaryDirectory[str]] = []  # removed when the worker ends


def with_pending(bench: Bench) -> None:
    shutil.copytree(_pending(), bench.project, dirs_exist_ok=True)


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


def with_reviewer(bench: Bench) -> None:
    """Somebody who leaves a change for later."""
    with_pending(bench)
    bench.stdin.write_text("s\n")


def with_second_thoughts(bench: Bench) -> None:
    """Somebody who accepts one of two changes and takes that back."""
    with_pending(bench)
    bench.write("a.json", workflow(step("first", "Another one."), step("second", "Do another thing, and say which.")))
    assert bench.run(PYTEST).code == 1
    bench.keep()
    bench.stdin.write_text("a\nq\n")
    bench.between = bench.run(["workrail-test", "golden", "review"]).files
    bench.restore()
    bench.stdin.write_text("a\nu\nq\n")


def with_settled(bench: Bench) -> None:
    """Goldens that are what the tests saw already, with the pending changes still there; and one without a test."""
    with_pending(bench)
    bench.write("a.json", PLAIN)
    bench.write("__goldens__/gone.golden.json", (bench.project / GOLDEN).read_text())


def with_old_golden(bench: Bench) -> None:
    """A golden of the format before this one."""
    with_scenario(bench)
    assert bench.run([*PYTEST, "--workrail-golden=new"]).code == 0
    golden = json.loads((bench.project / GOLDEN).read_text())
    bench.write(GOLDEN, {**golden, "format": "workrail.golden/1", "workflowHash": golden["metadata"]["workflowHash"]})


def with_described(bench: Bench) -> None:
    """A golden of which only the metadata are of yesterday."""
    with_scenario(bench)
    assert bench.run([*PYTEST, "--workrail-golden=new"]).code == 0
    bench.write("a.json", {**PLAIN, "description": "Says the same in other words."})


def with_gone(bench: Bench) -> None:
    """A pending change of a golden that is no longer there."""
    with_pending(bench)
    (bench.project / GOLDEN).unlink()


def with_inline_golden(bench: Bench) -> None:
    bench.write("a.json", PLAIN)
    bench.write("test_it.py", 'def test_it(workrail):\n    workrail.run("a.json").match()\n')


def with_full_cache(bench: Bench) -> None:
    """More cached results than are kept."""
    with_workflows(bench)
    folder = bench.home / "cache" / "workrail-lint"
    folder.mkdir(parents=True)
    for number in range(_MOST_FILES):
        (folder / f"{number}.json").write_text("{}")


def with_made_scenarios(bench: Bench) -> None:
    """Scenarios that were generated for a workflow, and one of them for a workflow that has changed since."""
    with_workflows(bench)
    assert bench.run(["workrail-test", "generate", "a.json", "--out", "made"]).code == 0
    bench.write("a.json", workflow(step("first"), id=PLAIN["id"]))


def without_scenarios(bench: Bench) -> None:
    """A folder for scenarios that has none, so that no mutant is noticed."""
    with_workflows(bench)
    (bench.project / "made").mkdir()


def with_changed_workflow(bench: Bench) -> None:
    """A session, and the workflow it ran, of which the first step is now another one."""
    with_sessions(bench)
    bench.write("a.json", workflow(step("another"), id="demo.release_notes"))


def with_locks(bench: Bench) -> None:
    bench.write("locks.json", REGISTRY)
    bench.write("docs/README.md", "# Locks\n")
    bench.write("test_it.py", "import pytest\n\n\n@pytest.mark.enforces('it-runs')\ndef test_it():\n    assert True\n")


class Command(NamedTuple):
    """A command that writes. In front of each output there is a `@`, in the place of which a folder can be put.

    `is_random`: what it writes differs from run to run, so it only has to be whole. `breaks` names a promise of the
    engine that a run breaks, for a command that writes only then.
    """

    line: str
    prepare: Callable[[Bench], None] = with_workflows
    is_random: bool = False
    breaks: str = ""

    @property
    def words(self) -> list[str]:
        return self.words_in("")

    def words_in(self, folder: str) -> list[str]:
        """Return the command with its outputs in a folder."""
        program, *rest = self.line.replace("@", folder).split()
        return [*PYTEST, *rest] if program == "pytest" else [program, *rest]


SECONDS = re.compile(rb'"seconds": ?[0-9.e-]+')
FIRST_SESSION = "sess_b3lhfeftt3zk4n6hopc26cabom"
LOCKS = "--workrail-locks=locks.json"
OF_SESSION = f"{FIRST_SESSION} --data data"


def with_changed_title(bench: Bench) -> None:
    """A workflow that changed since it was pinned, and whose version did not."""
    with_workflows(bench)
    bench.run(["workrail-lint", "lock", "--update", "--file", "pinned.json", "a.json"])
    bench.write("a.json", {**PLAIN, "name": "Another name"})


def with_revision(bench: Bench) -> None:
    """A workflow that changed since it was committed."""
    if shutil.which("git") is None:
        pytest.skip("git is not installed")
    with_workflows(bench)
    who = {f"GIT_{role}_{part}": "a@example.invalid" for role in ("AUTHOR", "COMMITTER") for part in ("NAME", "EMAIL")}
    environment = {"PATH": os.environ["PATH"], "HOME": str(bench.home), "GIT_CONFIG_NOSYSTEM": "1", **who}
    for words in (["init"], ["add", "."], ["commit", "--message=start"]):
        subprocess.run(["git", *words], cwd=bench.project, env=environment, check=True, capture_output=True)
    bench.write("a.json", {**PLAIN, "name": "Another name"})


def with_page_of_gone_workflow(bench: Bench) -> None:
    with_workflows(bench)
    bench.run(["workrail-lint", "docs", "a.json", "--out", "pages"])
    bench.write("pages/gone.md", (bench.project / "pages" / "README.md").read_text("utf-8"))


COMMANDS = [
    Command("workrail-lint check --fix a.json b.json"),
    Command("workrail-lint check --output @out.json --format json a.json"),
    Command("workrail-lint check --write-baseline @base.json a.json b.json"),
    Command("workrail-lint check a.json", with_full_cache),
    Command("workrail-lint format a.json b.json"),
    Command("workrail-lint lock --update --file @out.json a.json"),
    Command("workrail-lint semver --base pinned.json --fix a.json", with_changed_title),
    Command("workrail-lint docs a.json --out @pages"),
    Command("workrail-lint docs a.json --out pages", with_page_of_gone_workflow),
    Command("workrail-lint graph a.json --output @out.svg"),
    Command("workrail-lint studio a.json --output @out.html"),
    Command("workrail-lint studio a.json --format markdown --git HEAD --output @out.md", with_revision),
    Command("workrail-lint rule LP002 --open"),
    Command("workrail-lint catalog export --output @out.json"),
    Command("workrail-lint init --ci github @new"),
    Command("workrail-test generate a.json --out @made"),
    Command("workrail-test generate a.json --out made --prune", with_made_scenarios),
    Command("workrail-test mutate a.json --report @out.json --no-cache"),
    Command("workrail-test mutate a.json --html @out.html"),
    Command("workrail-test mutate a.json --scenarios made --write", without_scenarios),
    Command("workrail-test explore a.json --runs 2 --out @made", breaks="order"),
    Command("workrail-test golden accept --all", with_pending),
    Command("workrail-test golden reject --all", with_pending),
    Command("workrail-test golden reject --all", with_gone),
    Command("workrail-test golden review", with_reviewer),
    Command("workrail-test golden review", with_second_thoughts),
    Command("workrail-test golden migrate", with_old_golden),
    Command("workrail-test golden diff --html @out.html", with_pending),
    Command(f"workrail-test sessions record {OF_SESSION} --out @made", with_sessions),
    Command(f"workrail-test sessions record {OF_SESSION} --out @made --workflow a.json", with_changed_workflow),
    Command(f"workrail-test sessions export {OF_SESSION} --out @made/e.json", with_sessions, is_random=True),
    Command(f"workrail-test sessions show {OF_SESSION} --html @out.html", with_sessions),
    Command("workrail-test sessions stats --data data --html @out.html", with_sessions),
    Command("workrail-test sessions list --data data", with_sessions),
    Command("workrail-test sessions import e.json --into @new", with_export, is_random=True),
    Command("workrail-test combine record --workrail-cov-json=@out.json", with_record),
    Command("workrail-test serve workflows --data @new", with_client, is_random=True),
    Command("workrail-test serve workflows --record @made", with_client, is_random=True),
    Command("pytest --workrail-golden=new", with_scenario),
    Command("pytest --workrail-golden=new", with_inline_golden),
    Command("pytest --workrail-golden=update", with_pending),
    Command("pytest --workrail-golden=update", with_described),
    Command("pytest --workrail-golden=prune", with_settled),
    Command("pytest", with_pending),
    Command("pytest --workrail-cov-json=@deep/out.json", with_scenario),
    Command("pytest --workrail-runs-json=@runs.json", with_scenario),
    Command("pytest --workrail-record=@record", with_scenario),
    Command("pytest --workrail-html=@out.html", with_scenario),
    Command(f"pytest {LOCKS} --workrail-lock-report=@docs", with_locks),
    Command(
        "pytest --workrail-locks=locks.json --workrail-lock-record=@record.json --workrail-locks-prove", with_locks
    ),
]


class Clean(NamedTuple):
    """What a command did on a good disk: lines of our modules on the way to a write, and the files that were new."""

    reached: set[tuple[str, int]]
    new: set[str]


_CLEAN: dict[Command, Clean] = {}


def run_clean(command: Command, bench: Bench) -> tuple[Ran, dict[str, bytes]]:
    """Run a command on a good disk; return the run, and the files that were there before it."""
    command.prepare(bench)
    bench.keep()
    before = bench.files()
    ran = bench.run(command.words, breaks=command.breaks)
    _CLEAN[command] = Clean(set(bench.reached), ran.files.keys() - before.keys())
    return ran, before


def clean_runs(commands: Sequence[Command], folder: Path) -> Iterator[tuple[Command, Clean]]:
    """Yield what commands did on a good disk. Those that this worker has already run are not run again."""
    for number, command in enumerate(commands):
        if command not in _CLEAN:
            run_clean(command, Bench(folder / str(number)))
        yield command, _CLEAN[command]


# ---------------------------------------------------------------------------------------------------- calls that write

_DOORS = {"write_atomically", "write_in_place", "write_output", "remove_file", "make_data_folder"}
_GOLDEN_DOORS = {"write", "write_all", "remove"}  # of the module `files`
_NOT_FOR_USERS = (
    "workrail_lint/base/",  # the doors themselves, and the private folders of git
    "pytest_workrail/engine/store/",  # another door: sessions, see `tests/protocol/test_full_disk.py`
    "pytest_workrail/systems/",  # what simulated agents write in the temporary folder of a run
    "pytest_workrail/cli/conform.py",  # a temporary workspace for the engine, see `tests/mcp/test_conform.py`
    "pytest_workrail/live/",  # only requests of a page write, see `tests/live/test_live_doors.py`
)


class Call(NamedTuple):
    """A call that writes."""

    path: str
    lines: range
    door: str


def writing_calls() -> Iterator[Call]:
    """Yield the calls in both packages that write something for a user, except in what only developers run."""
    for package in (workrail_lint, pytest_workrail):
        root = Path(package.__path__[0])
        for path in sorted(root.rglob("*.py")):
            name = path.relative_to(root.parent).as_posix()
            if name.startswith(_NOT_FOR_USERS):
                continue
            tree = ast.parse(path.read_text(encoding="utf-8"))
            # What is put back after a write that failed is reached by the faults only.
            statements = (each for each in tree.body if not _is_left_out(each))
            for node in (node for statement in statements for node in ast.walk(statement)):
                if isinstance(node, ast.Call) and (door := _door(node.func)):
                    yield Call(name, range(node.lineno, (node.end_lineno or node.lineno) + 1), door)


def _is_left_out(statement: ast.stmt) -> bool:
    match statement:
        case ast.If(ast.Compare(ast.Name("__name__"))) | ast.FunctionDef("_put_back"):
            return True
    return False


def _door(function: ast.expr) -> str:
    match function:
        case ast.Name(name) | ast.Attribute(attr=name) if name in _DOORS:
            return name
        case ast.Attribute(ast.Name("files"), name) if name in _GOLDEN_DOORS:
            return f"files.{name}"
    return ""
