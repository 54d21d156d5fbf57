"""The end of a session: the one place where goldens are written or removed, and how unused ones are found."""

from __future__ import annotations

import os
import posixpath
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from pytest_workrail.golden import files
from pytest_workrail.golden.encoding import loads
from pytest_workrail.golden.files import (
    PENDING,
    base_of,
    function_base,
    has_no_parameters,
    is_source,
    owner_base,
    source_base,
    source_folder,
)
from pytest_workrail.golden.records import GoldenRecord, GoldensOfTest, GoldenStatus, InlineRecord, Mode, Policy, Span
from workrail_lint.base.files import read_bytes
from workrail_lint.base.result import Err, Ok
from workrail_lint.base.terminal import Style
from workrail_lint.base.wording import counted

if TYPE_CHECKING:
    # Most sessions find no difference, and then nothing is imported to tell of one.
    from pytest_workrail.golden.causes import Causes, Group

_MOST_NAMED = 20
_INLINE = {GoldenStatus.MISSING: "missing", GoldenStatus.DIFFERS: "different"}


@dataclass(slots=True)
class Unused:
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
        paths.difference_update(test.records)
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
                    files.write(self._root / path, claim.record.new)  # metadata: not worth a failure
            elif self._policy.writes(status):
                if not claim.passed:
                    self._counts["left alone, as the test did not pass"] += 1
                elif self._write(path, claim.record.new):
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
            from pytest_workrail.golden.inline import write_inline

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
        tests = {path: nodeid for nodeid, test in self._tests.items() for path in test.records}
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

    def lines(self, style: Style) -> list[str]:
        """Return what was done, for the end of the report. Nothing to do, nothing to say."""
        shown = [", ".join(f"{count} {what}" for what, count in self._counts.items())] if self._counts else []
        if self._is_pending:
            shown[0] += "; decide with: workrail-test golden review"
        if self.repeated():
            shown[0] += " (each change is shown once; -v lists every test)"
        for group in self._groups[:_MOST_NAMED]:
            from pytest_workrail.golden.show import group_summary

            shown += group_summary(group, style)
        if len(self._groups) > _MOST_NAMED:
            shown.append(f"... and {counted(len(self._groups) - _MOST_NAMED, 'more change')}")
        for title, paths in self._named:
            shown.append(title)
            shown += [f"  {path}" for path in paths[:_MOST_NAMED]]
            if len(paths) > _MOST_NAMED:
                shown.append(f"  ... and {len(paths) - _MOST_NAMED} more")
        if self._policy.is_overruled and shown:
            asked = self._policy.asked.value
            shown.append(f"--workrail-golden={asked} does nothing in CI without --workrail-write-in-ci")
        return shown

    def _claims(self) -> list[_Claim]:
        """Return every claim, in the order of paths. A golden that two tests want is nobody's."""
        by_path: dict[str, list[_Claim]] = {}
        for nodeid, test in self._tests.items():
            for record in test.records.values():
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
        from pytest_workrail.golden.causes import Causes, grouped
        from pytest_workrail.golden.pending import pending_bytes, pending_of

        found: list[tuple[str, Causes]] = []
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
                found.append((claim.record.path, Causes(before.value, loads(claim.record.new).value)))
            if self._policy.may_write:
                # A proposal that can't be kept is no failure of its own: the test has told of the change already.
                data = pending_bytes(claim.nodeid, old, claim.record.new)
                self._is_pending = files.write(pending_of(golden), data).is_ok or self._is_pending
        self._groups = grouped(found)

    def _drop_pending(self, path: str) -> None:
        if path + PENDING in self._pending:
            from pytest_workrail.golden.pending import pending_of

            pending = pending_of(self._root / path)
            self._succeeded(files.remove(pending), f"{path}: the pending change can't be removed")

    def _remove(self, path: str) -> bool:
        golden = self._root / path
        if not self._succeeded(files.remove(golden), f"{path} can't be removed"):
            return False
        from pytest_workrail.golden.pending import pending_of

        files.remove(pending_of(golden))
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
