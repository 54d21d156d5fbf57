"""`workrail-test golden review`: changes of goldens, those of one edit together, decided with single keys."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from pytest_workrail.golden import files
from pytest_workrail.golden.diff import Group, headline
from pytest_workrail.golden.edits import Edit, Explained
from pytest_workrail.golden.pending import Outcome, PendingChanges, pending_of
from pytest_workrail.golden.show import golden_names, group_lines
from workrail_lint.base.processes import run_attached
from workrail_lint.base.result import Err
from workrail_lint.base.terminal import Style, err, out, printable, uses_colour
from workrail_lint.base.wording import counted
from workrail_lint.cli import FINDINGS, OK

_KEYS = "[a]ccept  [r]eject  [s]kip  [b]ack  [u]ndo  show a[l]l runs  [o]pen both  [?] help  [q]uit"
_HELP = (
    "a  accept: the goldens become what the tests saw",
    "r  reject: the change is dropped, the goldens stay",
    "s  skip: leave it for later; the next review asks again",
    "b  back to the one before, if it is still undecided",
    "u  undo the last decision of this review",
    "A  accept all that is left, after a question",
    "l  show all goldens that have it",
    "o  open the golden and what it would become in your editor",
    "q  quit; what was decided stays decided",
)
_END = ("", "q", "\x03", "\x04")


class Section(NamedTuple):
    """A decision to make: about the changes that one edit explains, or about one that no edit does."""

    groups: Sequence[Group]
    edit: Edit | None
    base: str | None

    @property
    def id(self) -> str:
        return self.groups[0].key.id if self.edit is None else self.edit.id

    @property
    def header(self) -> str:
        """The workflow and the step."""
        key = self.groups[0].key
        step = key.step if self.edit is None else self.edit.step
        return " · ".join(part for part in (key.workflow, step) if part) or "golden"

    @property
    def goldens(self) -> list[str]:
        return self.groups[0].goldens if self.edit is None else self.edit.goldens

    def lines(self, style: Style, *, in_full: bool = False) -> Iterator[str]:
        """Yield its title, the lines before and now, and what follows from it in one line each."""
        if self.edit is None:
            first, *rest = group_lines(self.groups[0], style, all_goldens=in_full, in_full=in_full)
            yield first if self.base is None else f"{first} {style('(no edit explains it)', 'red')}"
            yield from rest
            return
        title = printable(self.edit.title)
        yield f"{style(f'[{self.edit.id}]', 'bold')} {title}, in {counted(len(self.goldens), 'run')}"
        whole = self.groups if in_full else self.groups[:1]
        for group in whole:
            yield from (f"    {line}" for line in group_lines(group, style, all_goldens=in_full, in_full=in_full))
        for group in self.groups[len(whole) :]:
            yield f"    {style(f'[{group.key.id}]', 'bold')} {printable(headline(group.difference))}"


def sections(explained: Explained) -> list[Section]:
    """Return what is to decide: first what no edit explains, then edit by edit."""
    alone = [Section([group], None, explained.base) for group in explained.unexplained]
    return alone + [Section(edit.groups, edit, explained.base) for edit in explained.in_goldens]


class _Undo(NamedTuple):
    """A decision that can be undone: the files before and after it, and where the review was."""

    position: int
    before: dict[Path, bytes]
    after: dict[Path, bytes | None]


class _Review:
    """Asks about one section after the other."""

    def __init__(self, load: Callable[[], PendingChanges], explain: Callable[[Sequence[Group]], Explained]) -> None:
        self._load = load
        self._explain = explain
        self._style = Style(uses_colour())
        self._decisions: list[_Undo] = []
        self._position = 0
        self._queue: list[str] = []
        self._header = ""

    def _sections(self) -> list[Section]:
        return sections(self._explain(self._load().groups))

    def run(self) -> int:
        changes = self._load()
        if not changes.groups:
            _others(changes)
            out("nothing is pending")
            return FINDINGS if changes.proposals else OK
        later = changes.skipped()
        listed = self._sections()
        skipped = {each.id for each in listed if {group.key.id for group in each.groups} <= later}
        # What was left for later comes again, but after what nobody has seen yet.
        self._queue = sorted((each.id for each in listed), key=lambda each: each in skipped)
        if skipped:
            out(f"{counted(len(skipped), 'change')} skipped earlier: at the end")
        while self._position < len(self._queue):
            section = self._section(self._position)
            if section is None:
                self._position += 1  # decided already, or went with another one
                continue
            self._show(section)
            if not self._asked(section):
                break
        changes = self._load()
        _others(changes)
        left = len(changes.groups)
        out(f"\n{counted(left, 'change')} left" if left else "\nnothing is left")
        return FINDINGS if changes.proposals else OK

    def _section(self, position: int) -> Section | None:
        return next((each for each in self._sections() if each.id == self._queue[position]), None)

    def _show(self, section: Section) -> None:
        out(f"\n{self._position + 1} of {len(self._queue)}  {self._style(printable(section.header), 'bold')}")
        for line in section.lines(self._style):
            out(line)

    def _asked(self, section: Section) -> bool:
        """Ask about a section until the review goes on. False when that was all for now."""
        ids = {group.key.id for group in section.groups}
        while True:
            out(f"{self._style(_KEYS, 'bold')} ", end="")
            sys.stdout.flush()
            key = _key()
            out("" if key in _END else key)
            match key:
                case "A":
                    if self._accepts_all():
                        return True
                case "a":
                    return self._decided(ids, "accepted")
                case "r" | "R":
                    return self._decided(ids, "rejected")
                case "s" | "S":
                    return self._skipped(section)
                case "b" | "B":
                    if self._goes_back():
                        return True
                case "u" | "U":
                    if self._undone():
                        return True
                case "l" | "L":
                    for line in golden_names(section.goldens, all_goldens=True):
                        out(f"    {line}")
                case "o" | "O":
                    _open(section)
                case "?":
                    for line in _HELP:
                        out(f"    {line}")
                case key if key.lower() in _END:
                    return False

    def _decided(self, ids: set[str], word: str) -> bool:
        changes = self._load()
        before = changes.files_of(ids)
        outcome = changes.accept(ids) if word == "accepted" else changes.reject(ids)
        return self._goes_on(outcome, word, before)

    def _skipped(self, section: Section) -> bool:
        before = self._load().files_of({group.key.id for group in section.groups})
        outcomes = [self._load().skip(group) for group in section.groups]
        done = dict.fromkeys(name for each in outcomes for name in each.done)
        outcome = Outcome(list(done), [problem for each in outcomes for problem in each.refused])
        return self._goes_on(outcome, "left for later", before)

    def _goes_on(self, outcome: Outcome, word: str, before: dict[Path, bytes]) -> bool:
        _report(outcome, word)
        if outcome.done:
            self._decisions.append(_Undo(self._position, before, {path: files.read(path) for path in before}))
        self._position += 1
        return True

    def _accepts_all(self) -> bool:
        ids = {group.key.id for group in self._load().groups}
        out(f"accept {counted(len(ids), 'change')}? [y]es, any other key: no ", end="")
        sys.stdout.flush()
        key = _key()
        out("" if key in _END else key)
        if key.lower() != "y":
            return False
        self._decided(ids, "accepted")
        return True

    def _goes_back(self) -> bool:
        undecided = {each.id for each in self._sections()}
        for position in range(self._position - 1, -1, -1):
            if self._queue[position] in undecided:
                self._position = position
                return True
        out("there is nothing undecided before this one; u undoes the last decision")
        return False

    def _undone(self) -> bool:
        if not self._decisions:
            out("there is nothing to undo")
            return False
        last = self._decisions[-1]
        if any(files.read(path) != data for path, data in last.after.items()):
            del self._decisions[-1]
            err("the goldens have changed since; the decision can't be undone")
            return False
        written = files.write_all(last.before)
        if isinstance(written, Err):
            err(written.error)
            return False
        del self._decisions[-1]
        out("undone")
        self._position = last.position
        return True


def review(load: Callable[[], PendingChanges], explain: Callable[[Sequence[Group]], Explained]) -> int:
    """Ask about every change. The exit code says whether some are left."""
    return _Review(load, explain).run()


def _report(outcome: Outcome, word: str) -> None:
    if outcome.refused:
        for name, problem in outcome.refused:
            err(f"{printable(name)} was not {word}: {problem}")
    else:
        out(f"{word} in {counted(len(outcome.done), 'golden')}")


def _others(changes: PendingChanges) -> None:
    for each in changes.proposals:
        if each.problem:
            out(f"{printable(each.name)}: {each.problem}; run the test again")


def _open(section: Section) -> None:
    """The golden and what it would become, in the reader's editor."""
    editor = os.environ.get("VISUAL") or os.environ.get("EDITOR")
    if not editor:
        out("set VISUAL to a program that opens two files, for example: export VISUAL='code --diff'")
        return
    golden = Path(section.goldens[0])
    try:
        run_attached([*shlex.split(editor), str(golden), str(pending_of(golden))])
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
    finally:
        termios.tcsetattr(descriptor, termios.TCSADRAIN, before)
