"""`workrail-test golden review`: one change after the other, one key each.

Every decision is carried out at once, and what was skipped is noted beside the golden: whoever stops goes on later
where they stopped.
"""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from pytest_workrail.golden.causes import Group
from pytest_workrail.golden.decisions import Outcome, PendingChanges
from pytest_workrail.golden.pending import pending_of
from pytest_workrail.golden.show import golden_names, group_lines
from workrail_lint.base.terminal import Style, err, out, printable, uses_colour
from workrail_lint.base.wording import counted
from workrail_lint.cli import FINDINGS, OK, UsageError

_KEYS = "[a]ccept  [r]eject  [s]kip  show a[l]l runs  [o]pen both  [q]uit"
_END = ("", "q", "\x03", "\x04")


def review(load: Callable[[], PendingChanges]) -> int:
    """Ask about every change. The exit code says whether some are left."""
    style = Style(uses_colour())
    changes = load()
    if not changes.groups:
        _others(changes)
        out("nothing is pending")
        return FINDINGS if changes.proposals else OK
    later = changes.skipped()
    # What was left for later comes again, but after what nobody has seen yet.
    queue = sorted((group.key.id for group in changes.groups), key=lambda each: each in later)
    if later:
        out(f"{counted(len(later), 'change')} skipped earlier: at the end")
    for number, wanted in enumerate(queue, 1):
        changes = load()
        group = next((each for each in changes.groups if each.key.id == wanted), None)
        if group is None:
            continue  # it went with another one
        out(f"\n{number} of {len(queue)}")
        for line in group_lines(group, style):
            out(line)
        if not _asked(changes, group, style):
            break
    changes = load()
    _others(changes)
    left = len(changes.groups)
    out(f"\n{counted(left, 'change')} left" if left else "\nnothing is left")
    return FINDINGS if changes.proposals else OK


def _asked(changes: PendingChanges, group: Group, style: Style) -> bool:
    """One decision. False when that was all for now."""
    while True:
        out(f"{style(_KEYS, 'bold')} ", end="")
        sys.stdout.flush()
        key = _key()
        out("" if key in _END else key)
        match key.lower():
            case "a":
                return _done(changes.accept({group.key.id}), "accepted")
            case "r":
                return _done(changes.reject({group.key.id}), "rejected")
            case "s":
                changes.skip(group)
                return True
            case "l":
                for line in golden_names(group.goldens, all_goldens=True):
                    out(f"    {line}")
            case "o":
                _open(group)
            case key if key in _END:
                return False


def _done(outcome: Outcome, word: str) -> bool:
    if outcome.refused:
        for name, problem in outcome.refused:
            err(f"{printable(name)} was not {word}: {problem}")
    else:
        out(f"{word} in {counted(len(outcome.done), 'golden')}")
    return True


def _others(changes: PendingChanges) -> None:
    for each in changes.proposals:
        if each.problem:
            out(f"{printable(each.name)}: {each.problem}; run the test again")


def _open(group: Group) -> None:
    """The golden and what it would become, in the reader's editor."""
    editor = os.environ.get("VISUAL") or os.environ.get("EDITOR")
    if not editor:
        out("set VISUAL to a program that opens two files, for example: export VISUAL='code --diff'")
        return
    golden = Path(group.goldens[0])
    try:
        subprocess.run([*shlex.split(editor), str(golden), str(pending_of(golden))], check=False)
    except (OSError, ValueError) as problem:
        out(f"{printable(editor)} can't be started: {problem}")


def _key() -> str:
    """One key from a terminal, or the first letter of a line from anything else; nothing at the end of input."""
    if not sys.stdin.isatty():
        line = sys.stdin.readline()
        return line.strip()[:1] or ("s" if line else "")
    try:
        import termios
        import tty
    except ImportError:
        return input()[:1]
    descriptor = sys.stdin.fileno()
    before = termios.tcgetattr(descriptor)
    try:
        tty.setcbreak(descriptor)
        return os.read(descriptor, 1).decode("utf-8", "replace")
    except KeyboardInterrupt:
        raise UsageError("interrupted; what was decided is done") from None
    finally:
        termios.tcsetattr(descriptor, termios.TCSADRAIN, before)
