"""The goldens of one test session: compared in the tests, written once at the end by one process.

Workers compare and remember. What they remember travels to the controller, which alone writes: only then is it known
which tests passed, and nothing can be lost between two writers.
"""

from __future__ import annotations

import os
import posixpath
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from types import FrameType
from typing import Any, NamedTuple

import msgspec
import pytest
from msgspec import Struct, field

from pytest_workrail.agents.agent import Transcript
from pytest_workrail.golden import diff, encoding, files, inline, show
from pytest_workrail.golden.diff import Causes, Difference, Group, grouped, word_count
from pytest_workrail.golden.document import folded_golden
from pytest_workrail.golden.encoding import encode_file, loads, says
from pytest_workrail.golden.files import (
    PENDING,
    GoldenKey,
    base_of,
    function_base,
    has_no_parameters,
    is_source,
    owner_base,
    read,
    source_base,
    source_folder,
    unwritable,
)
from pytest_workrail.golden.golden_records import (
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
from pytest_workrail.golden.inline import write_inline
from pytest_workrail.golden.pending import pending_bytes, pending_of
from pytest_workrail.golden.show import group_summary
from pytest_workrail.run.result import Matcher, NoSuchMember
from workrail_lint.base.files import read_bytes
from workrail_lint.base.js import Json
from workrail_lint.base.result import Err, Ok
from workrail_lint.base.terminal import Style
from workrail_lint.base.wording import counted

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
        self._shows_matches = False
        self._tests: dict[str, GoldensOfTest] = {}
        self._running: dict[str, GoldensOfTest] = {}
        self._calls: dict[str, int] = {}
        self._claimants: dict[str, GoldenKey] = {}
        self._safe_folders: set[str] = set()  # those of goldens that were read: neither links nor below one
        self._inline: dict[tuple[str, Span], InlineRecord] = {}

    def start(self, config: pytest.Config) -> None:
        """Take over the options of pytest."""
        self._root = config.rootpath
        self._here = config.invocation_params.dir
        self._policy = policy(config)
        self._is_verbose = config.getoption("verbose") > 1
        self._shows_matches = config.getoption("verbose") > 0
        named = [self._here / argument for argument in config.args]
        # Only a whole folder can tell which of its goldens nobody claims.
        self._folders = tuple(named) if all(os.path.isdir(path) for path in named) else ()
        self._skipped_folders = tuple(config.getini("norecursedirs"))

    def match(
        self, nodeid: str, run: Transcript | bytes, name: str | None = None, matchers: tuple[Matcher, ...] = ()
    ) -> bool:
        """Compare a run with the golden of a test: the one with a name, or simply the next. See `check`."""
        __tracebackhide__ = True
        call = 1
        if name is None:
            call = self._calls[nodeid] = self._calls.get(nodeid, 0) + 1
        return self.check(GoldenKey.of(nodeid, name, call), run, matchers)

    def check(self, key: GoldenKey, run: Transcript | bytes, matchers: tuple[Matcher, ...] = ()) -> bool:
        """Return whether a run is like its golden; False if the golden is about to become what the run is.

        Raises GoldenMismatch where it may not.

        The run is a transcript, or what another contract's driver has made of one: the bytes of the golden.
        """
        __tracebackhide__ = True

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
            return True
        new = golden if isinstance(golden, bytes) else encode_file(golden)
        status, proposed = _compared(old, new)
        record = GoldenRecord(key.path, status, proposed.decode())
        self._claim(key, record)
        if record.status is GoldenStatus.SAME:
            return True

        name = self._shown(path)
        if self._policy.writes(record.status):
            blocked = unwritable(Path(path))
            if blocked is not None:
                raise GoldenMismatch(unwritable_message(name, self._shown(blocked)))
            return False
        if old is None:
            raise GoldenMismatch(missing_message(name, self._policy))
        raise GoldenMismatch(difference_message(name, old, new, self._policy, in_full=self._is_verbose))

    def match_inline(self, nodeid: str, outline: str, expected: str | None, frame: FrameType) -> bool:
        """Return whether the outline of a run is the text in the test that is calling, as `check` does."""
        __tracebackhide__ = True

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
            return status is GoldenStatus.SAME
        located = inline.call_at(frame)
        if isinstance(located, Err):
            if status is GoldenStatus.SAME:
                return True
            raise GoldenMismatch(f"inline golden can't be written: {located.error}\nin {place}")
        call = located.value
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
        return not is_written

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
        earlier = next((each for each in test.records if each.path == key.path), None)
        if earlier is None:
            test.records.append(record)
        elif earlier.new != record.new:
            raise GoldenMismatch(
                f"golden claimed twice: {key.path} has to be two things at once; "
                "give each call of match_golden in this test a name of its own"
            )

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
        state: dict[str, Json] = msgspec.to_builtins(self._tests)
        return state

    def merge(self, state: Mapping[str, Any]) -> None:
        """Hear what a worker has to tell. A test may have run on several of them."""
        for nodeid, reported in msgspec.convert(state, dict[str, GoldensOfTest]).items():
            known = self._tests.get(nodeid)
            if known is not None and (known.records or known.inline):
                is_same = (reported.records, reported.inline) == (known.records, known.inline)
                reported.passed = reported.passed and known.passed and is_same
            self._tests[nodeid] = reported

    def finish(self, exitstatus: int, full_run: bool, style: Style | None = None) -> list[str]:
        """Now that all is known: write what is to be written, and say what was done. See `errors` afterwards."""
        if not self._tests and self._policy.mode is not Mode.PRUNE:
            return []

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
        return [] if changes.is_quiet and not self._shows_matches else changes.lines(style or Style(False))


def _compared(old: bytes | None, new: bytes) -> tuple[GoldenStatus, bytes]:
    if old is None:
        return GoldenStatus.MISSING, new
    if old == new:
        return GoldenStatus.SAME, b""

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
    """Return the message for an outline that differs from its inline golden; it shows the outline, which is short."""
    old = "\n".join(line.strip() for line in (expected or "").strip().splitlines())
    if not old:
        how = "write it with: pytest --workrail-golden=new" if policy.may_write else _IN_CI
        return f"no inline golden yet\nin {place}\n{how}"
    change = Difference("changed", "answer", "", "outline", "", old, outline)
    lines = (f"    {line}" for line in show.change_lines(change, Style(False)))
    how = "update it with: pytest --workrail-golden=update" if policy.may_write else _IN_CI
    words = counted(word_count(change.edits), "word")
    return "\n".join([f"inline golden differs: outline: {words}", f"in {place}", *lines, how])


def unwritable_message(path: str, folder: str) -> str:
    """The golden may be written, but not there."""
    return f"golden can't be written: {path}\nthere is no permission to write in {folder}"


def difference_message(path: str, old: bytes, new: bytes, policy: Policy, *, in_full: bool) -> str:
    """Return the first change in a line; the others are counted, and shown with it where all was asked for."""
    before = encoding.loads(old)
    advice = f"look at it with: workrail-test golden diff {path}" if policy.may_write else _IN_CI
    if isinstance(before, Err):
        return f"golden can't be used: {path} is {before.error}\n{advice}"
    causes = list(diff.Causes(before.value, encoding.loads(new).value))
    more = f", and {counted(len(causes) - 1, 'more change')}" if len(causes) > 1 else ""
    what = f"golden differs: {diff.headline(causes[0].difference)}{more}"
    lines: list[str] = []
    if in_full:
        for cause in causes:
            lines.append(f"  {diff.headline(cause.difference)}")
            lines += [f"      {line}" for line in show.change_lines(cause.difference, Style(False), None)]
    return "\n".join([what, f"in {path}", *lines, advice])


_MOST_NAMED = 20
_INLINE = {GoldenStatus.MISSING: "missing", GoldenStatus.DIFFERS: "different"}


class Unused(Struct):
    """Unused goldens by their paths, sorted; only the `removable` ones are surely nobody's.

    `idle` ones belong to tests that are there, passed, and looked at no golden: a test that loops over files and finds
    none does that. `mentioned` ones belong to tests that their file still speaks of, but that pytest did not see: left
    out by a plugin, or defined on another system only.
    """

    removable: list[str] = field(default_factory=list)
    idle: list[str] = field(default_factory=list)
    mentioned: list[str] = field(default_factory=list)


def unused_goldens(
    root: Path, folders: Iterable[Path], skipped: Iterable[str], tests: Mapping[str, GoldensOfTest]
) -> Unused:
    """Return what is left over after all tests below some folders ran."""
    paths: set[str] = set()
    for folder, names in files.goldens_below(folders, skipped):
        place = os.path.relpath(folder, root).replace(os.sep, "/")
        paths.update(f"{place}/{name}" for name in names)
    for test in tests.values():
        paths.difference_update(record.path for record in test.records)
    unused = Unused()
    if not paths:
        return unused
    owners = {owner_base(nodeid): test for nodeid, test in tests.items()}
    functions = {function_base(base) for base in owners}
    emptied = {function_base(owner_base(nodeid)) for nodeid in tests if has_no_parameters(nodeid)}
    collected = {nodeid.partition("::")[0] for nodeid in tests}
    for path in sorted(paths):
        base = base_of(path)
        owner, function = owners.get(base), function_base(base)
        if owner is not None:
            if owner.passed:
                (unused.removable if owner.records else unused.idle).append(path)
        elif function not in emptied:
            sources = _sources(root, path)
            if function in functions or not sources:
                unused.removable.append(path)
            elif sources <= collected:
                is_mentioned = any(_mentions(root / source, function) for source in sources)
                (unused.mentioned if is_mentioned else unused.removable).append(path)
    return unused


def _sources(root: Path, path: str) -> set[str]:
    """Return the files that are there and may hold the owner of a golden."""
    folder = source_folder(path)
    names = (posixpath.join(folder, name) for name in os.listdir(root / folder) if is_source(name))
    return {name for name in names if path.startswith((f"{source_base(name)}/", f"{source_base(name)}."))}


def _mentions(source: Path, function: str) -> bool:
    name = posixpath.basename(function).rpartition("-")[2]
    try:
        return re.search(rf"\b{re.escape(name)}\b", read_bytes(str(source)).decode(errors="replace")) is not None
    except OSError:
        return True


class _Claim(NamedTuple):
    """A golden, the test that wants it, and whether that test passed."""

    nodeid: str
    passed: bool
    record: GoldenRecord


class GoldenFinish:
    """Does what the mode allows with what the tests found. Collects what went wrong in `errors`."""

    def __init__(self, root: Path, policy: Policy, tests: Mapping[str, GoldensOfTest]) -> None:
        self.errors: list[str] = []
        self._root = root
        self._policy = policy
        self._tests = tests
        self._pending: set[str] = set()
        self._counts: Counter[str] = Counter()
        self._named: list[tuple[str, Sequence[str]]] = []
        self._groups: list[Group] = []
        self._is_pending = False

    @property
    def has_goldens(self) -> bool:
        return any(test.records for test in self._tests.values())

    def write_changes(self) -> None:
        """Write goldens and pending changes, each from the tests that may."""
        written: dict[GoldenStatus, list[str]] = {GoldenStatus.MISSING: [], GoldenStatus.DIFFERS: []}
        differing: list[_Claim] = []
        claims = self._claims()
        if self._policy.may_write:
            for folder in sorted({claim.record.path.rpartition("/")[0] for claim in claims}):
                beside = files.remove_leftovers(self._root / folder)
                self._pending.update(f"{folder}/{name}" for name in beside if name.endswith(PENDING))
        for claim in claims:
            path, status = claim.record.path, claim.record.status
            if status is GoldenStatus.SAME:
                self._counts["match"] += 1
                self._drop_pending(path)
                if claim.record.new and claim.passed and self._policy.mode is Mode.UPDATE:
                    self._write(path, claim.record.data)  # its metadata
            elif self._policy.writes(status):
                if not claim.passed:
                    self._counts["left alone, as the test did not pass"] += 1
                elif self._write(path, claim.record.data):
                    written[status].append(path)
                    self._drop_pending(path)
            elif status is GoldenStatus.MISSING:
                self._counts["missing"] += 1
            else:
                self._counts["different"] += 1
                differing.append(claim)
        self._name("written", written[GoldenStatus.MISSING])
        self._name("updated", written[GoldenStatus.DIFFERS])
        self._propose_all(differing)

    def write_inline(self) -> None:
        """Rewrite the texts in test modules, each if all tests that came by it passed and want the same."""
        wanted: dict[tuple[str, Span], list[tuple[bool, InlineRecord]]] = {}
        for test in self._tests.values():
            for record in test.inline:
                if record.digest:
                    wanted.setdefault((record.path, record.span), []).append((test.passed, record))
                self._counts["match" if record.status is GoldenStatus.SAME else _INLINE[record.status]] += (
                    record.status is GoldenStatus.SAME or not record.new
                )
        by_file: dict[str, list[InlineRecord]] = {}
        for (path, span), claims in sorted(wanted.items()):
            texts = {record.new for _, record in claims}
            if len(texts) > 1:
                self.errors.append(f"{path}:{span.line}: inline golden has to be two things at once; use match_golden")
            elif texts != {""}:
                if all(passed for passed, _ in claims):
                    by_file.setdefault(path, []).append(claims[0][1])
                else:
                    self._counts["left alone, as the test did not pass"] += 1
        if by_file:
            written, errors = write_inline(self._root, by_file)
            self.errors += errors
            self._name("written into tests", written)
        self._counts = +self._counts

    def handle_unused(self, folders: Iterable[Path], skipped: Iterable[str], *, is_green: bool) -> None:
        """Name goldens that nobody claims and, if asked to and all went well, remove them."""
        unused = unused_goldens(self._root, folders, skipped, self._tests)
        if self._policy.mode is not Mode.PRUNE:
            self._name("unused (remove them with: pytest --workrail-golden=prune)", unused.removable)
        elif not is_green or self.errors:
            self._name("unused, but kept as the run has failures", unused.removable)
        else:
            self._name("removed", [path for path in unused.removable if self._remove(path)])
        self._name("unused, but kept as their tests passed without looking at any golden", unused.idle)
        self._name("unused, but kept as the file still speaks of their tests", unused.mentioned)

    def report_no_prune(self) -> None:
        """Goldens of tests that did not run are not unused."""
        self._named.append(("not pruned: only a run of all tests can tell what is unused", []))

    def repeated(self) -> set[str]:
        """Tests that failed by changes which an earlier test shows already."""
        if not self._groups:
            return set()
        tests = {record.path: nodeid for nodeid, test in self._tests.items() for record in test.records}
        known: set[str] = set()
        repeating: set[str] = set()
        by_golden: dict[str, set[str]] = {}
        for group in self._groups:
            for golden in group.goldens:
                by_golden.setdefault(golden, set()).add(group.key.id)
        for golden in sorted(by_golden):
            if by_golden[golden] <= known:
                repeating.add(tests[golden])
            known |= by_golden[golden]
        return repeating

    @property
    def is_quiet(self) -> bool:
        """Return whether every golden matches and there is nothing else to say."""
        return self._counts.keys() <= {"match"} and not self._named and not self._policy.is_overruled

    def lines(self, style: Style) -> list[str]:
        """Return what was done, for the end of the report. Nothing to do, nothing to say."""
        lines = [", ".join(f"{count} {what}" for what, count in self._counts.items())] if self._counts else []
        if self._is_pending:
            lines[0] += "; decide with: workrail-test golden review"
        if self.repeated():
            lines[0] += " (each change is shown once; -v lists every test)"
        for group in self._groups[:_MOST_NAMED]:
            lines += group_summary(group, style)
        if len(self._groups) > _MOST_NAMED:
            lines.append(f"... and {counted(len(self._groups) - _MOST_NAMED, 'more change')}")
        for title, paths in self._named:
            lines.append(title)
            lines += [f"  {path}" for path in paths[:_MOST_NAMED]]
            if len(paths) > _MOST_NAMED:
                lines.append(f"  ... and {len(paths) - _MOST_NAMED} more")
        if self._policy.is_overruled and lines:
            asked = self._policy.asked.value
            lines.append(f"--workrail-golden={asked} does nothing in CI without --workrail-write-in-ci")
        return lines

    def _claims(self) -> list[_Claim]:
        """Return every claim, in the order of paths. A golden that two tests want is nobody's."""
        by_path: dict[str, list[_Claim]] = {}
        for nodeid, test in self._tests.items():
            for record in test.records:
                # Some file systems make no difference between upper and lower case.
                by_path.setdefault(record.path.casefold(), []).append(_Claim(nodeid, test.passed, record))
        claims: list[_Claim] = []
        for _, wanted in sorted(by_path.items()):
            if len(wanted) == 1:
                claims += wanted
            else:
                tests = " and ".join(sorted(claim.nodeid for claim in wanted))
                self.errors.append(f"{wanted[0].record.path} is claimed by more than one test: {tests}")
        return claims

    def _write(self, path: str, data: bytes) -> bool:
        return self._succeeded(files.write(self._root / path, data), f"{path} can't be written")

    def _propose_all(self, claims: Sequence[_Claim]) -> None:
        """Sort what differs by what caused it, and leave it beside the goldens until somebody decides."""
        if not claims:
            return

        causes: list[tuple[str, Causes]] = []
        for claim in claims:
            golden = self._root / claim.record.path
            try:
                old = files.read(golden)
            except OSError:
                old = None
            if old is None:
                continue
            before = loads(old)
            if isinstance(before, Ok):
                causes.append((claim.record.path, Causes(before.value, loads(claim.record.data).value)))
            if self._policy.may_write:
                # Without the error, `golden accept` would seem to have accepted everything.
                written = files.write(pending_of(golden), pending_bytes(claim.nodeid, old, claim.record.data))
                is_kept = self._succeeded(written, f"{claim.record.path}: the pending change can't be written")
                self._is_pending = is_kept or self._is_pending
        self._groups = grouped(causes)

    def _drop_pending(self, path: str) -> None:
        if path + PENDING in self._pending:
            pending = pending_of(self._root / path)
            self._succeeded(files.remove(pending), f"{path}: the pending change can't be removed")

    def _remove(self, path: str) -> bool:
        golden = self._root / path
        if not self._succeeded(files.remove(golden), f"{path} can't be removed"):
            return False
        self._succeeded(files.remove(pending_of(golden)), f"{path}: the pending change can't be removed")
        with suppress(OSError):
            golden.parent.rmdir()  # unless there is something in it
        return True

    def _succeeded(self, done: Ok[None] | Err[str], what: str) -> bool:
        if isinstance(done, Err):
            self.errors.append(f"{what}: {done.error}")
        return done.is_ok

    def _name(self, title: str, paths: Sequence[str]) -> None:
        if paths:
            self._named.append((f"{len(paths)} {title}:", paths))
