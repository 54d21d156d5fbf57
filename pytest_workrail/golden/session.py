"""The goldens of one test session: compared in the tests, written once at the end by one process.

Workers compare and remember. What they remember travels to the controller, which alone writes: only then is it known
which tests passed, and nothing can be lost between two writers.
"""

from __future__ import annotations

import os
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any

from pytest_workrail.golden.files import GoldenKey
from pytest_workrail.golden.records import (
    GoldenRecord,
    GoldensOfTest,
    GoldenStatus,
    InlineRecord,
    Mode,
    Policy,
    Span,
    add_options,
    policy,
)
from workrail_lint.base.js import Json
from workrail_lint.base.result import Err
from workrail_lint.base.terminal import Style
from workrail_lint.base.wording import counted

if TYPE_CHECKING:
    import pytest

    from pytest_workrail.agents.agent import Transcript
    from pytest_workrail.run.result import Matcher


__all__ = ["GoldenMismatch", "GoldenSession", "add_options"]

# The fastest way to compare goldens takes as long to import as it saves on about this many of them.
_WORTH_AN_IMPORT = 24

_IN_CI = "goldens are not written in CI: run the test on your own machine, look at the change and commit it"


class GoldenMismatch(AssertionError):  # noqa: N818 - reads as what it is in a test report
    """A run that is not what its golden says, or that has no golden to be held against."""


class GoldenSession:
    """One per test session and process."""

    def __init__(self) -> None:
        self.errors: tuple[str, ...] = ()
        self.repeated: set[str] = set()  # tests that failed by changes which another one shows
        self._root = Path()
        self._here = Path()
        self._folders: tuple[Path, ...] = ()
        self._skipped_folders: tuple[str, ...] = ()
        self._policy = Policy()
        self._is_verbose = False
        self._tests: dict[str, GoldensOfTest] = {}
        self._running: dict[str, GoldensOfTest] = {}
        self._calls: dict[str, int] = {}
        self._claimants: dict[str, GoldenKey] = {}
        self._safe_folders: set[str] = set()  # those of goldens that were read: neither links nor below one
        self._inline: dict[tuple[str, Span], InlineRecord] = {}

    def start(self, config: pytest.Config) -> None:
        """Take over what pytest was told."""
        self._root = config.rootpath
        self._here = config.invocation_params.dir
        self._policy = policy(config)
        self._is_verbose = config.getoption("verbose") > 1
        named = [self._here / argument for argument in config.args]
        # Only a whole folder can tell which of its goldens nobody claims.
        self._folders = tuple(named) if all(path.is_dir() for path in named) else ()
        self._skipped_folders = tuple(config.getini("norecursedirs"))

    def match(
        self, nodeid: str, run: Transcript | bytes, name: str | None = None, matchers: tuple[Matcher, ...] = ()
    ) -> None:
        """Compare a run with the golden of a test: the one with a name, or simply the next."""
        __tracebackhide__ = True
        call = 1
        if name is None:
            call = self._calls[nodeid] = self._calls.get(nodeid, 0) + 1
        self.check(GoldenKey.of(nodeid, name, call), run, matchers)

    def check(self, key: GoldenKey, run: Transcript | bytes, matchers: tuple[Matcher, ...] = ()) -> None:
        """Compare a run with a golden. Raises GoldenMismatch, unless the golden may become what the run is.

        The run is a transcript, or what another contract's driver has made of one: the bytes of the golden.
        """
        __tracebackhide__ = True
        from pytest_workrail.golden.document import folded_golden
        from pytest_workrail.golden.encoding import encode_file, says
        from pytest_workrail.golden.files import read, unwritable
        from pytest_workrail.run.result import NoSuchMember

        path = f"{self._root}{os.sep}{key.path}"
        folder = key.path.rpartition("/")[0]
        try:
            golden = run if isinstance(run, bytes) else folded_golden(run, matchers)
        except NoSuchMember as problem:
            raise GoldenMismatch(f"golden can't be compared: {problem}") from None
        try:
            old = read(path, in_safe_folder=folder in self._safe_folders)
        except OSError as problem:
            raise GoldenMismatch(f"golden can't be read: {self._shown(path)}: {problem.strerror}") from None
        if old is not None:
            self._safe_folders.add(folder)
        is_one_of_many = len(self._claimants) >= _WORTH_AN_IMPORT
        if old and is_one_of_many and not isinstance(golden, bytes) and says(old, golden):
            self._claim(key, GoldenRecord(key.path, GoldenStatus.SAME))
            return
        new = golden if isinstance(golden, bytes) else encode_file(golden)
        record = GoldenRecord(key.path, *_compared(old, new))
        self._claim(key, record)
        if record.status is GoldenStatus.SAME:
            return

        shown = self._shown(path)
        if self._policy.writes(record.status):
            blocked = unwritable(Path(path))
            if blocked is not None:
                raise GoldenMismatch(unwritable_message(shown, self._shown(blocked)))
            return
        if old is None:
            raise GoldenMismatch(missing_message(shown, self._policy))
        raise GoldenMismatch(difference_message(shown, old, new, self._policy, in_full=self._is_verbose))

    def match_inline(self, nodeid: str, outline: str, expected: str | None, frame: FrameType) -> None:
        """Compare the outline of a run with the text in the test that is calling."""
        __tracebackhide__ = True

        from pytest_workrail.golden import files, inline

        is_missing = expected is None or not expected.strip()
        if not is_missing and inline.same_outline(expected or "", outline):
            status = GoldenStatus.SAME
        else:
            status = GoldenStatus.MISSING if is_missing else GoldenStatus.DIFFERS
        place = f"{self._shown(Path(frame.f_code.co_filename))}:{frame.f_lineno}"
        is_written = self._policy.writes(status)
        if status is not GoldenStatus.SAME and not is_written:
            self._note_inline(nodeid, place, status)
            raise GoldenMismatch(inline_message(place, expected, outline, self._policy))
        if self._policy.mode not in (Mode.NEW, Mode.UPDATE):
            self._note_inline(nodeid, place, status)
            return
        found = inline.call_at(frame)
        if isinstance(found, Err):
            if status is GoldenStatus.SAME:
                return
            raise GoldenMismatch(f"inline golden can't be written: {found.error}\nin {place}")
        call = found.value
        if is_written and files.unwritable(call.file) is not None:
            folder = self._shown(call.file.parent)
            raise GoldenMismatch(f"inline golden can't be written: no permission to write in {folder}\nin {place}")
        path = os.path.relpath(call.file, self._root).replace(os.sep, "/")
        new = inline.literal(call, outline) if is_written else ""
        record = InlineRecord(path, call.span, status, call.digest, new)
        self._running.setdefault(nodeid, GoldensOfTest()).inline.append(record)
        if self._inline.setdefault((path, call.span), record).new != new:
            raise GoldenMismatch(
                "inline golden has to be two things at once: this call sees different runs, use match_golden"
                f"\nin {place}"
            )

    def _note_inline(self, nodeid: str, place: str, status: GoldenStatus) -> None:
        record = InlineRecord(place, Span(0, 0, 0, 0), status, "")
        self._running.setdefault(nodeid, GoldensOfTest()).inline.append(record)

    def _shown(self, path: str | Path) -> str:
        """Return a path as it can be used where pytest was called."""
        return os.path.relpath(path, self._here).replace(os.sep, "/")

    def _claim(self, key: GoldenKey, record: GoldenRecord) -> None:
        """One golden, one test: two that write the same file would overwrite each other for ever."""
        __tracebackhide__ = True
        # Some file systems make no difference between upper and lower case.
        claimant = self._claimants.setdefault(key.path.casefold(), key)
        if claimant is not key and claimant != key:
            owner = f"belongs to {claimant.nodeid}" + ("" if claimant.path == key.path else f" as {claimant.path}")
            raise GoldenMismatch(f"golden claimed twice: {key.path} already {owner}")
        test = self._running.setdefault(key.nodeid, GoldensOfTest())
        earlier = test.records.get(key.path)
        if earlier is not None and earlier.new != record.new:
            raise GoldenMismatch(
                f"golden claimed twice: {key.path} has to be two things at once; "
                "give each call of match_golden in this test a name of its own"
            )
        test.records[key.path] = record

    def test_finished(self, nodeid: str, passed: bool, skipped: bool) -> None:
        """A test is over, teardown and all."""
        self._calls.pop(nodeid, None)
        test = self._running.pop(nodeid, None)
        known = self._tests.get(nodeid)
        if test is None and known is not None:
            known.passed = known.passed and passed and not skipped
            return
        done = self._tests[nodeid] = test or GoldensOfTest()
        done.passed = passed and not skipped

    def worker_state(self) -> dict[str, Json]:
        """Return what a worker has to tell."""
        return {nodeid: test.to_json() for nodeid, test in self._tests.items()}

    def merge(self, state: dict[str, Any]) -> None:
        """Hear what a worker has to tell. A test may have run on several of them."""
        for nodeid, data in state.items():
            reported = GoldensOfTest.from_json(data)
            known = self._tests.get(nodeid)
            if known is not None and (known.records or known.inline):
                is_same = (reported.records, reported.inline) == (known.records, known.inline)
                reported.passed = reported.passed and known.passed and is_same
            self._tests[nodeid] = reported

    def finish(self, exitstatus: int, full_run: bool, style: Style | None = None) -> list[str]:
        """Now that all is known: write what is to be written, and say what was done. See `errors` afterwards."""
        if not self._tests and self._policy.mode is not Mode.PRUNE:
            return []
        from pytest_workrail.golden.finish import GoldenFinish

        changes = GoldenFinish(self._root, self._policy, self._tests)
        changes.write_changes()
        changes.write_inline()
        is_pruning = self._policy.mode is Mode.PRUNE
        if not full_run or not self._folders:
            if is_pruning:
                changes.report_no_prune()
        elif is_pruning or changes.has_goldens:
            changes.handle_unused(self._folders, self._skipped_folders, is_green=exitstatus == 0)
        self.errors = tuple(changes.errors)
        self.repeated = changes.repeated()
        return changes.lines(style or Style(False))


def _compared(old: bytes | None, new: bytes) -> tuple[GoldenStatus, bytes]:
    if old is None:
        return GoldenStatus.MISSING, new
    if old == new:
        return GoldenStatus.SAME, b""
    from pytest_workrail.golden import encoding

    golden = encoding.loads(old)
    if isinstance(golden, Err):
        return GoldenStatus.DIFFERS, new
    value = encoding.loads(new).value
    if not encoding.same(golden.value, value):
        return GoldenStatus.DIFFERS, new
    return GoldenStatus.SAME, b"" if encoding.same_metadata(golden.value, value) else new


def missing_message(path: str, policy: Policy) -> str:
    """There is nothing to compare with."""
    how = "write it with: pytest --workrail-golden=new" if policy.may_write else _IN_CI
    return f"no golden yet: {path}\n{how}"


def inline_message(place: str, expected: str | None, outline: str, policy: Policy) -> str:
    """Return the outline of a run is not what the test says; it is short, so it is shown."""
    from pytest_workrail.golden import show
    from pytest_workrail.golden.diff import Difference, word_count

    said = "\n".join(line.strip() for line in (expected or "").strip().splitlines())
    if not said:
        how = "write it with: pytest --workrail-golden=new" if policy.may_write else _IN_CI
        return f"no inline golden yet\nin {place}\n{how}"
    change = Difference("changed", "answer", "", "outline", "", said, outline)
    shown = (f"    {line}" for line in show.change_lines(change, Style(False)))
    how = "update it with: pytest --workrail-golden=update" if policy.may_write else _IN_CI
    words = counted(word_count(change.edits), "word")
    return "\n".join([f"inline golden differs: outline: {words}", f"in {place}", *shown, how])


def unwritable_message(path: str, folder: str) -> str:
    """The golden may be written, but not there."""
    return f"golden can't be written: {path}\nthere is no permission to write in {folder}"


def difference_message(path: str, old: bytes, new: bytes, policy: Policy, *, in_full: bool) -> str:
    """Return the first change in a line; the others are counted, and shown with it where all was asked for."""
    from pytest_workrail.golden import causes, encoding, show  # here, because most goldens fit

    before = encoding.loads(old)
    advice = f"look at it with: workrail-test golden diff {path}" if policy.may_write else _IN_CI
    if isinstance(before, Err):
        return f"golden can't be used: {path} is {before.error}\n{advice}"
    found = list(causes.Causes(before.value, encoding.loads(new).value))
    more = f", and {counted(len(found) - 1, 'more change')}" if len(found) > 1 else ""
    what = f"golden differs: {causes.headline(found[0].difference)}{more}"
    shown: list[str] = []
    if in_full:
        for cause in found:
            shown.append(f"  {causes.headline(cause.difference)}")
            shown += [f"      {line}" for line in show.change_lines(cause.difference, Style(False), None)]
    return "\n".join([what, f"in {path}", *shown, advice])
