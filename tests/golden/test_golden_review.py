"""A review by keys in a real terminal: decisions hold at once, and whoever quits goes on where they stopped."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from golden_made_up import made_up

from pytest_workrail.golden.document import golden_bytes
from pytest_workrail.golden.pending import PendingChanges, pending_bytes, pending_of

pexpect = pytest.importorskip("pexpect", reason="pexpect is not installed")
if not hasattr(pexpect, "spawn"):
    pytest.skip("this system has no terminals of this kind", allow_module_level=True)

PROMPTS = ("One.", "Two.", "Three.", "Four.")
KEYS = r"\[q\]uit"


def _run(*changed: int) -> bytes:
    return golden_bytes(made_up(*(f"Changed {text}" if at in changed else text for at, text in enumerate(PROMPTS))))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Four changes: the first in three goldens, the others in two of them and in one."""
    goldens = tmp_path / "__goldens__"
    goldens.mkdir()
    for name, changed in (("a", (0, 1, 2, 3)), ("b", (0, 1, 2)), ("c", (0,))):
        golden = goldens / f"{name}.golden.json"
        golden.write_bytes(_run())
        pending_of(golden).write_bytes(pending_bytes(f"test_it.py::{name}", _run(), _run(*changed)))
    return tmp_path


class Terminal:
    """Somebody who reads and types."""

    def __init__(self, folder: Path, **variables: str) -> None:
        outside = {name: value for name, value in os.environ.items() if name not in ("CI", "BUILD_NUMBER", "NO_COLOR")}
        self._child = pexpect.spawn(
            sys.executable,
            ["-m", "pytest_workrail.cli", "golden", "review"],
            cwd=str(folder),
            env={**outside, "TERM": "xterm", **variables},
            encoding="utf-8",
            timeout=600,
            dimensions=(40, 120),
        )

    def sees(self, *texts: str) -> None:
        for text in texts:
            self._child.expect_exact(text)

    def types(self, key: str) -> None:
        self._child.expect(KEYS)
        self._child.send(key)

    def sends(self, key: str) -> None:
        self._child.send(key)

    def ends(self) -> int:
        self._child.expect(pexpect.EOF)
        self._child.close()
        return int(self._child.exitstatus)


def _goldens(folder: Path) -> dict[str, bytes]:
    return {path.name[0]: path.read_bytes() for path in folder.rglob("*.golden.json")}


def test_accept_one_reject_one_skip_one_quit_and_resume(folder: Path) -> None:
    terminal = Terminal(folder)
    terminal.sees("1 of 4", "prompt of 'step-0': one word, in 3 runs")
    terminal.types("l")
    terminal.sees("__goldens__/a.golden.json", "__goldens__/b.golden.json", "__goldens__/c.golden.json")
    terminal.types("a")
    terminal.sees("accepted in 3 goldens", "2 of 4", "prompt of 'step-1'")
    assert _goldens(folder) == dict.fromkeys("abc", _run(0))
    terminal.types("r")
    terminal.sees("rejected in 2 goldens", "3 of 4", "prompt of 'step-2'")
    terminal.types("s")
    terminal.sees("4 of 4", "prompt of 'step-3'")
    terminal.types("x")  # no such key: asked again
    terminal.types("q")
    terminal.sees("2 changes left")
    assert terminal.ends() == 1
    assert _goldens(folder) == dict.fromkeys("abc", _run(0))

    terminal = Terminal(folder)
    terminal.sees("1 change skipped earlier", "1 of 2", "prompt of 'step-3'")
    terminal.types("a")
    terminal.sees("2 of 2", "prompt of 'step-2'")
    terminal.types("a")
    terminal.sees("nothing is left")
    assert terminal.ends() == 0
    assert _goldens(folder) == {"a": _run(0, 2, 3), "b": _run(0, 2), "c": _run(0)}
    assert not list(folder.rglob("*.pending"))


def test_all_that_was_left_for_later_is_remembered(folder: Path) -> None:
    pending = sorted(folder.rglob("*.pending"))
    names = {group.key.id for group in PendingChanges(pending).groups[1:3]}
    for name in sorted(names):
        changes = PendingChanges(pending)
        changes.skip(next(group for group in changes.groups if group.key.id == name))
    assert PendingChanges(pending).skipped() == names


def test_words_are_coloured_and_the_terminal_is_left_as_it_was(folder: Path) -> None:
    terminal = Terminal(folder)
    terminal.sees("\x1b[32;1mChanged ")
    terminal.types("q")
    assert terminal.ends() == 1


def test_both_are_opened_in_the_readers_program(folder: Path) -> None:
    terminal = Terminal(folder, VISUAL=f"{sys.executable} -c 'import sys; print(len(sys.argv), *sys.argv[1:])'")
    terminal.types("o")
    terminal.sees("3 __goldens__/a.golden.json __goldens__/a.golden.json.pending")
    terminal.types("q")
    terminal.ends()
    terminal = Terminal(folder, VISUAL="", EDITOR="")
    terminal.types("o")
    terminal.sees("set VISUAL")
    terminal.types("q")
    terminal.ends()


def test_back_undo_and_help(folder: Path) -> None:
    terminal = Terminal(folder)
    terminal.sees("1 of 4", "made-up · step-0", " One.", "Changed ")
    terminal.types("b")
    terminal.sees("nothing undecided before this one")
    terminal.types("u")
    terminal.sees("there is nothing to undo")
    terminal.types("?")
    terminal.sees("u  undo the last decision")
    terminal.types("a")
    terminal.sees("accepted in 3 goldens", "2 of 4")
    terminal.types("s")
    terminal.sees("left for later", "3 of 4")
    terminal.types("b")
    terminal.sees("2 of 4", "step-1")
    terminal.types("r")
    terminal.sees("rejected in 2 goldens", "3 of 4")
    terminal.types("u")
    terminal.sees("undone", "2 of 4", "step-1")
    terminal.types("u")
    terminal.sees("undone", "2 of 4", "step-1")
    terminal.types("u")
    terminal.sees("undone", "1 of 4", "step-0")
    terminal.types("q")
    terminal.sees("4 changes left")
    assert terminal.ends() == 1
    assert _goldens(folder) == dict.fromkeys("abc", _run())


def test_a_decision_is_not_undone_when_a_golden_changed_since(folder: Path) -> None:
    terminal = Terminal(folder)
    terminal.types("a")
    terminal.sees("accepted in 3 goldens", "2 of 4")
    golden = folder / "__goldens__" / "c.golden.json"
    golden.write_bytes(golden.read_bytes() + b"\n")
    terminal.types("u")
    terminal.sees("can't be undone")
    terminal.types("q")
    terminal.ends()
    assert _goldens(folder)["a"] == _run(0)


def test_everything_that_is_left_is_accepted_after_a_question(folder: Path) -> None:
    terminal = Terminal(folder)
    terminal.types("r")
    terminal.sees("rejected in 3 goldens", "2 of 4")
    terminal.types("A")
    terminal.sees("accept 3 changes?")
    terminal.sends("n")
    terminal.types("A")
    terminal.sees("accept 3 changes?")
    terminal.sends("y")
    terminal.sees("accepted in 2 goldens", "nothing is left")
    assert terminal.ends() == 0
    assert _goldens(folder) == {"a": _run(1, 2, 3), "b": _run(1, 2), "c": _run()}


@pytest.mark.parametrize("key", ["\x03", "\x04"])
def test_the_usual_keys_end_it(folder: Path, key: str) -> None:
    terminal = Terminal(folder)
    terminal.types(key)
    terminal.ends()
    assert _goldens(folder) == dict.fromkeys("abc", _run())


def test_answers_come_from_a_pipe_too_and_ci_is_refused(folder: Path) -> None:
    command = [sys.executable, "-m", "pytest_workrail.cli", "golden", "review"]
    outside = {name: value for name, value in os.environ.items() if name not in ("CI", "BUILD_NUMBER")}
    refused = subprocess.run(command, cwd=folder, env={**outside, "CI": "1"}, capture_output=True, text=True, input="a")
    assert (refused.returncode, _goldens(folder)) == (2, dict.fromkeys("abc", _run()))
    done = subprocess.run(command, cwd=folder, env=outside, capture_output=True, text=True, input="accept\nr\n")
    assert done.returncode == 1
    assert "2 changes left" in done.stdout
    assert _goldens(folder) == dict.fromkeys("abc", _run(0))
