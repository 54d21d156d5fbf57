"""What CI runs: it installs what is missing, quietly and once, and then the tests run in any case."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).resolve().parents[2] / ".ci" / "run"
BASH = shutil.which("bash")
RINGS = "make setup HASHES=.ci\nmake test\nmake test-deep MINUTES=25\n"
PROGRAMS = ("chromium", "fish", "node", "nvim", "tmux", "zsh")
pytestmark = pytest.mark.skipif(
    BASH is None or not SCRIPT.is_file() or sys.platform != "linux", reason="needs bash, Linux and a checkout"
)


def ran(folder: Path, present: tuple[str, ...], apt: str | None) -> subprocess.CompletedProcess[str]:
    """Run the script where only some programs are, and make and apt-get only say what they were asked for."""
    folder.mkdir()
    for name in ("dirname", "id", "env", "timeout"):
        (folder / name).symlink_to(shutil.which(name) or "")
    stubs = {"make": 'echo "make $*"', "sudo": 'shift; exec "$@"', **dict.fromkeys(present, "exit 9")}
    stubs |= {} if apt is None else {"apt-get": f'echo "apt-get $*" >> "{folder}/asked"\n{apt}'}
    for name, body in stubs.items():
        (folder / name).write_text(f"#!{BASH}\n{body}\n")
        (folder / name).chmod(0o755)
    environment = {**os.environ, "PATH": str(folder), "LC_ALL": "C"}  # bash warns of a locale that is missing
    environment.pop("DEEP_MINUTES", None)  # whoever runs these tests may have chosen another time
    return subprocess.run([BASH or "", str(SCRIPT)], env=environment, capture_output=True, text=True, check=False)


def asked(folder: Path) -> list[str]:
    return (folder / "asked").read_text().splitlines() if (folder / "asked").exists() else []


def test_nothing_is_installed_where_all_is_there(tmp_path: Path) -> None:
    done = ran(tmp_path / "bin", PROGRAMS, "exit 1")
    assert (done.returncode, done.stdout, done.stderr) == (0, RINGS, "")
    assert asked(tmp_path / "bin") == []


def test_only_what_is_missing_is_installed(tmp_path: Path) -> None:
    done = ran(tmp_path / "bin", ("chromium", "fish", "node", "tmux"), "echo noise; echo noise >&2")
    assert (done.returncode, done.stdout, done.stderr) == (0, RINGS, "")
    assert asked(tmp_path / "bin") == ["apt-get -qq -y --no-install-recommends install neovim zsh"]


@pytest.mark.parametrize("apt", ["exit 100", None], ids=["fails", "missing"])
def test_the_tests_run_where_nothing_can_be_installed(apt: str | None, tmp_path: Path) -> None:
    done = ran(tmp_path / "bin", PROGRAMS[1:], apt)
    assert (done.returncode, done.stdout) == (0, RINGS)
    said = "" if apt is None else "not installed: chromium; tests that need them are skipped\n"
    assert done.stderr == said


def test_old_lists_of_packages_are_renewed(tmp_path: Path) -> None:
    renewed = tmp_path / "renewed"
    body = f'case "$*" in *update) : > "{renewed}";; *) [ -e "{renewed}" ];; esac'
    done = ran(tmp_path / "bin", PROGRAMS[1:], body)
    assert (done.returncode, done.stderr) == (0, "")
    assert len(asked(tmp_path / "bin")) == 3
