"""The door for processes: who goes through it, what a child gets, and what ends it."""

from __future__ import annotations

import os
import re
import sys
import time
import webbrowser
from pathlib import Path

import pytest
from test_files_door import sources

import workrail_lint
from workrail_lint.base.pools import forked_pool, spawned_pool
from workrail_lint.base.processes import (
    Child,
    Ending,
    Limits,
    environment,
    open_in_browser,
    program,
    python,
    run,
    run_attached,
)

pytestmark = pytest.mark.promise("Processes start in one place", "what a child process gets, and its limits")

STARTERS = {"subprocess", "multiprocessing", "pty", "webbrowser", "_posixsubprocess"}
STARTERS |= {"concurrent.futures.ProcessPoolExecutor"}
STARTING_CALLS = re.compile(r"\b(os\.(exec|spawn|posix_spawn|popen|system|startfile)\w*|create_subprocess_\w+)\(")
DOORS = {"workrail_lint/base/pools.py", "workrail_lint/base/processes.py"}


def test_only_two_modules_start_programs() -> None:
    """The door itself, and that for pools of processes. A fork starts no program."""
    top = Path(workrail_lint.__path__[0]).parent
    importing = {
        name
        for name, (_, imports) in sources().items()
        if not STARTERS.isdisjoint({*imports, *(module.partition(".")[0] for module in imports)})
    }
    calling = {name for name in sources() if STARTING_CALLS.search((top / name).read_text(encoding="utf-8"))}
    assert importing == DOORS
    assert calling == set()


def test_a_child_gets_the_variables_on_the_list_and_no_others(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in (
        "PYTHONSTARTUP",
        "PYTHONWARNINGS",
        "PYTEST_ADDOPTS",
        "NODE_OPTIONS",
        "GIT_DIR",
        "LD_PRELOAD",
        "SECRET",
    ):
        monkeypatch.setenv(name, "x")
    monkeypatch.setenv("LC_ALL", "C.UTF-8")
    ran = run(python("-c", "import os; print(*sorted(os.environ))"))
    names = set(ran.output.decode().split())
    assert {"PATH", "PYTHONSAFEPATH", "LC_ALL"} <= names
    assert names <= set(environment())
    assert (
        not {"PYTHONSTARTUP", "PYTHONWARNINGS", "PYTEST_ADDOPTS", "NODE_OPTIONS", "GIT_DIR", "LD_PRELOAD", "SECRET"}
        & names
    )


def test_search_paths_lose_what_depends_on_the_current_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    path = os.pathsep.join([".", "", "relative", str(tmp_path)])
    monkeypatch.setenv("PATH", path)
    monkeypatch.setenv("PYTHONPATH", path)
    assert (environment()["PATH"], environment()["PYTHONPATH"]) == (str(tmp_path), str(tmp_path))
    monkeypatch.setenv("PATH", f".{os.pathsep}")
    assert environment()["PATH"] == os.defpath  # an empty one would be the current folder
    monkeypatch.setenv("PATH", path)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "relative").mkdir()
    (tmp_path / "relative" / "tool").write_text("")
    (tmp_path / "relative" / "tool").chmod(0o755)
    assert program("tool") is None
    with pytest.raises(FileNotFoundError):
        run_attached(["tool"])


@pytest.mark.skipif(sys.platform != "linux", reason="other systems have one browser, and no search path leads to it")
def test_a_browser_is_never_a_program_of_the_current_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("xdg-open", "xdg-settings", "firefox", "www-browser", "w3m"):
        Path(name).write_text('#!/bin/sh\n: > "$0.ran"\n')
        Path(name).chmod(0o755)
    path = os.pathsep.join([".", "", str(tmp_path / "none")])
    for name, value in {"PATH": path, "DISPLAY": ":0"}.items():
        monkeypatch.setenv(name, value)
    monkeypatch.delenv("BROWSER", raising=False)
    # Which browsers there are is looked up once in a process.
    monkeypatch.setattr(webbrowser, "_tryorder", None)
    monkeypatch.setattr(webbrowser, "_browsers", {})
    assert open_in_browser("https://docs.example/") is False
    assert list(tmp_path.glob("*.ran")) == []
    assert os.environ["PATH"] == path


def test_what_can_not_be_started_is_said(tmp_path: Path) -> None:
    assert run(["ls"]).ending is Ending.NOT_STARTED
    missing = run([str(tmp_path / "missing")])
    assert (missing.ending, missing.code, missing.error) == (Ending.NOT_STARTED, None, "No such file or directory")


def test_a_child_that_takes_too_long_is_ended() -> None:
    ran = run(python("-c", "import time; time.sleep(1000)"), limits=Limits(seconds=1))
    assert (ran.ending, ran.code, ran.error) == (Ending.TIMED_OUT, None, "it took more than 1 seconds")


def test_a_child_that_prints_without_end_is_ended_while_it_prints() -> None:
    code = "import sys\nwhile True: getattr(sys, sys.argv[1]).write('x' * 10_000)"
    for stream in ("stdout", "stderr"):
        ran = run(python("-c", code, stream), limits=Limits(seconds=600, output=100_000))
        assert (ran.ending, ran.output, ran.error) == (Ending.OUTPUT_LIMIT, b"", "it printed more than 100,000 bytes")


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux limits the memory of another process")
def test_a_child_that_wants_too_much_memory_does_not_get_it() -> None:
    # The limit is set while the child runs already.
    wait = "while getrlimit(RLIMIT_AS)[0] == RLIM_INFINITY: time.sleep(0.001)"
    code = f"import time\nfrom resource import *\n{wait}\nbytearray(1_000_000_000)"
    ran = run(python("-c", code), limits=Limits(seconds=600, memory=500_000_000))
    assert ran.code == 1
    assert "MemoryError" in ran.error


@pytest.mark.skipif(not hasattr(os, "killpg"), reason="process groups are POSIX")
@pytest.mark.parametrize("ends", ["child waits", "child ends first"])
def test_what_a_child_started_ends_with_it(ends: str, tmp_path: Path) -> None:
    mark = tmp_path / "pid"
    inner = f"import os, time; open({str(mark)!r}, 'w').write(str(os.getpid())); time.sleep(1000)"
    outer = f"import subprocess, sys; p = subprocess.Popen([sys.executable, '-c', {inner!r}])"
    for seconds in (1, 4, 16, 64):  # a busy machine needs more time to start both of them
        ran = run(python("-c", outer + ("; p.wait()" if ends == "child waits" else "")), limits=Limits(seconds=seconds))
        assert ran.ending is Ending.TIMED_OUT
        if mark.exists() and mark.read_text():
            break
    process = int(mark.read_text())
    for _ in range(1000):
        if not is_alive(process):
            return
        time.sleep(0.01)
    pytest.fail("it is alive")


def is_alive(process: int) -> bool:
    try:
        state = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z"


def test_a_child_can_be_ended_from_outside() -> None:
    child = Child(python("-c", "import time; time.sleep(1000)"), limits=Limits(seconds=600))
    child.kill()
    assert child.result().code == -9


def test_a_pool_leaves_the_variables_as_they_were(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PYTHONSAFEPATH", raising=False)
    monkeypatch.setenv("PYTHONPATH", "relative")
    with spawned_pool(1) as pool:
        assert pool.submit(os.getenv, "PYTHONSAFEPATH").result() == "1"
        assert pool.submit(os.getenv, "PYTHONPATH").result() == ""
    assert "PYTHONSAFEPATH" not in os.environ
    assert os.environ["PYTHONPATH"] == "relative"


def test_workers_of_a_pool_have_a_limit_of_memory() -> None:
    """Time is up to the user, who asked for a search; what they print is the command's own."""
    resource = pytest.importorskip("resource", reason="this system has no limits")
    if not hasattr(resource, "prlimit"):
        pytest.skip("this system can't limit another process")
    size = Limits().memory
    with forked_pool(1) as forked, spawned_pool(1) as spawned:
        assert forked.apply(resource.getrlimit, (resource.RLIMIT_AS,)) == (size, size)
        assert spawned.submit(resource.getrlimit, resource.RLIMIT_AS).result() == (size, size)
    assert resource.getrlimit(resource.RLIMIT_AS)[0] != size
