"""Goldens and processes: many workers, a process that is killed, a folder that can't be written."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys

import pytest
from golden_suite import PARALLEL, Suite, environment

MANY = """
import pytest
@pytest.mark.parametrize("number", range({count}))
def test_each(golden, number):
    golden(f"{version} {{number}}.")
"""
# Ends the writing process just before, or just after, the n-th file is put in its place.
KILLER = """
import os, signal
put, count = os.replace, 0
def replace(source, target, **folders):
    global count
    if not str(target).endswith(".golden.json"):
        return put(source, target, **folders)  # such as what Python compiled
    count += 1
    if count == {at} and {before}:
        os.kill(os.getpid(), signal.SIGKILL)
    put(source, target, **folders)
    if count == {at}:
        os.kill(os.getpid(), signal.SIGKILL)
os.replace = replace
"""


def _versions(suite: Suite) -> list[str]:
    """Which version each golden is of, or what is wrong with it."""
    found = []
    for path, data in sorted(suite.files().items()):
        text = data.decode()
        whole = path.endswith(".golden.json") and text.endswith("}\n")
        found.append(next((v for v in ("old", "new", "last") if whole and f'"{v} ' in text), f"{path}: {text[:40]}"))
    return found


@pytest.mark.parametrize(("count", "workers", "rounds"), PARALLEL)
def test_parallel_updates_lose_nothing(suite: Suite, count: int, workers: int, rounds: int) -> None:
    """Written once and then updated in each round."""
    for turn in range(rounds + 1):
        version = ("old", "new")[turn % 2]
        suite.tests(test_it=MANY.format(count=count, version=version))
        together = ("-n", str(workers)) if turn or rounds > 1 else ()
        result = suite.run_apart(*together, mode="update" if turn else "new")
        assert result.ret == 0
        result.stdout.fnmatch_lines([f"{count} {'updated' if turn else 'written'}:", f"  ... and {count - 20} more"])
        assert _versions(suite) == [version] * count
    suite.run("-n", "0").assert_outcomes(passed=count)


def test_workers_obey_the_same_rules(suite: Suite) -> None:
    module = (
        "import pytest\n@pytest.mark.parametrize('number', range(12))\ndef test_each(golden, number):\n"
        "    golden(f'{0} {{number}}.')\n    {1}\n"
    )
    suite.tests(test_it=module.format("old", ""))
    assert suite.run(mode="new").ret == 0
    suite.tests(test_it=module.format("new", "assert number % 3"))
    result = suite.run_apart("-n", "2", mode="update")
    result.assert_outcomes(passed=8, failed=4)
    result.stdout.fnmatch_lines(["4 left alone, as the test did not pass"])
    assert sorted(_versions(suite)) == ["new"] * 8 + ["old"] * 4
    suite.tests(test_it=module.format("new", "").replace("range(12)", "[1, 2, 4, 5]"))
    before = suite.files()
    suite.run_apart("-n", "1", "-k", "4 or 5", mode="prune").stdout.fnmatch_lines(["not pruned: *"])
    assert suite.files() == before
    suite.run_apart("-n", "2", mode="prune").stdout.fnmatch_lines(["8 removed:"])
    assert _versions(suite) == ["new"] * 4


def test_groups_of_workers_change_no_names(suite: Suite) -> None:
    suite.tests(
        test_it="import pytest\n@pytest.mark.xdist_group('g')\ndef test_one(golden):\n    golden('One.')\n",
    )
    assert suite.run_apart("-n", "1", "--dist", "loadgroup", mode="new").ret == 0
    assert suite.names() == ["test_one"]
    assert suite.run("-W", "ignore::pytest.PytestUnknownMarkWarning").ret == 0


def test_a_worker_that_dies_leaves_old_goldens(suite: Suite) -> None:
    suite.tests(test_it=MANY.format(count=6, version="old"))
    assert suite.run(mode="new").ret == 0
    dies = "    import os, signal\n    if number == 3:\n        os.kill(os.getpid(), signal.SIGKILL)\n"
    suite.tests(test_it=MANY.format(count=6, version="new") + dies)
    assert suite.run_apart("-n", "1", mode="update").ret != 0
    versions = _versions(suite)
    assert len(versions) == 6
    assert set(versions) <= {"old", "new"}
    assert versions[3] == "old"


def test_goldens_of_tests_on_a_worker_that_dies_are_not_unused(suite: Suite) -> None:
    suite.tests(test_it=MANY.format(count=6, version="old"))
    assert suite.run(mode="new").ret == 0
    dies = "    import os\n    if number == 3:\n        os._exit(1)\n"
    suite.tests(test_it=MANY.format(count=6, version="old") + dies)
    result = suite.run_apart("-n", "1")
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    assert "unused" not in result.stdout.str()
    result.stdout.fnmatch_lines(["an xdist worker crashed: what its tests saw is not known"])


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="this system can't kill a process outright")
@pytest.mark.parametrize(("at", "before"), [(1, True), (4, False), (8, True)])
def test_a_killed_update_leaves_every_golden_old_or_new(suite: Suite, at: int, before: bool) -> None:
    suite.tests(test_it=MANY.format(count=8, version="old"))
    assert suite.run(mode="new").ret == 0
    suite.tests(test_it=MANY.format(count=8, version="new"))
    (suite.path / "killer.py").write_text(KILLER.format(at=at, before=before))
    killed = suite.run_apart("-p", "killer", mode="update")
    assert killed.ret == -signal.SIGKILL
    goldens = {path: data for path, data in suite.files().items() if not os.path.basename(path).startswith(".")}
    assert len(goldens) == 8
    done = at - 1 if before else at
    texts = [data.decode() for data in goldens.values()]
    assert sum('"new ' in text for text in texts) == done
    assert sum('"old ' in text for text in texts) == 8 - done
    assert all(text.endswith("}\n") for text in texts)
    assert suite.run(mode="update").ret == 0
    assert _versions(suite) == ["new"] * 8


def _without_privileges() -> list[str] | None:
    """What makes permissions count for this user; None where that can't be had."""
    if os.name != "posix":
        return None
    if os.geteuid() != 0:
        return []
    program = shutil.which("setpriv")
    if program is None:
        return None
    command = [program, "--bounding-set=-dac_override,-dac_read_search", "--inh-caps=-all"]
    check = [*command, sys.executable, "-c", "pass"]
    return command if subprocess.run(check, capture_output=True, check=False).returncode == 0 else None


@pytest.mark.parametrize("mode", ["check", "update"])
def test_a_folder_that_can_not_be_written_is_told_clearly(suite: Suite, mode: str) -> None:
    command = _without_privileges()
    if command is None:
        pytest.skip("permissions do not bind root, and no command runs as another user here (setpriv)")
    suite.tests(test_it="def test_one(golden):\n    golden('One.')\ndef test_two(golden):\n    golden('Two.')\n")
    assert suite.run(mode="new").ret == 0
    before = suite.files()
    suite.tests(test_it="def test_one(golden):\n    golden('First.')\ndef test_new(golden):\n    golden('New.')\n")
    folder = suite.golden("test_one").parent
    folder.chmod(0o555)
    try:
        arguments = [*command, sys.executable, "-m", "pytest", "-q", f"--workrail-golden={mode}"]
        done = subprocess.run(arguments, cwd=suite.path, env=environment(), capture_output=True, text=True, check=False)
    finally:
        folder.chmod(0o755)
    assert done.returncode == 1, done.stdout
    assert suite.files() == before
    assert "Traceback" not in done.stdout + done.stderr
    if mode == "update":
        assert "golden can't be written: __goldens__/test_it/test_new.golden.json" in done.stdout
        assert "there is no permission to write in __goldens__/test_it" in done.stdout
