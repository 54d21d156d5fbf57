"""Pending changes: what a golden would become, kept beside it until somebody decides.

A pending file is the new golden and, before it, which test wants it and which golden it saw. A proposal outlives a
change of branch, so it is taken only while that golden still is the one on disk. People decide by change, by step, by
file, or about all of them: a change is accepted in all goldens that have it, or in none. A golden with several changes
takes over the accepted ones and whatever follows from them; the others stay pending. Nothing is written while a golden
is not the one that was seen.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence, Set
from pathlib import Path
from typing import Any, Literal, NamedTuple

from pytest_workrail.golden import files
from pytest_workrail.golden.diff import Cause, CauseKey, Causes, Difference, Group, grouped, headline
from pytest_workrail.golden.encoding import encode, loads, plain_text
from pytest_workrail.golden.files import ENDING, PENDING, SCENARIO_ENDING, is_source, source_base
from workrail_lint.base.canonical import digest
from workrail_lint.base.result import Err, Ok

_SKIPPED_FOLDERS = (".*", "node_modules", "__pycache__", "venv")

State = Literal["changed", "settled", "stale", "damaged"]


class Pending(NamedTuple):
    """A proposal: the goldens it can replace, by their fingerprints, and the golden it offers.

    `skipped` are the changes, by their ids, that somebody looked at in a review and left for later.
    """

    test: str
    seen: tuple[str, ...]
    skipped: tuple[str, ...]
    golden: dict[str, Any]

    def file(self) -> bytes:
        """Return the bytes of the pending file."""
        about: dict[str, Any] = {"test": self.test, "seen": list(self.seen)}
        if self.skipped:
            about["skipped"] = list(self.skipped)
        return encode({"pending": about, **self.golden})


class Proposal(NamedTuple):
    """A pending file as it stands beside its golden now. `problem` says why it can't be taken."""

    path: Path
    state: State
    old: bytes | None
    pending: Pending | None
    problem: str

    @property
    def golden_path(self) -> Path:
        return golden_of(self.path)

    @property
    def name(self) -> str:
        """The name used in messages."""
        return self.golden_path.as_posix()

    @property
    def new(self) -> bytes:
        """The bytes of the golden that is offered."""
        return b"" if self.pending is None else encode(self.pending.golden)


def pending_of(golden: Path) -> Path:
    """Return where the pending change of a golden is kept."""
    return golden.with_name(golden.name + PENDING)


def golden_of(pending: Path) -> Path:
    """Return the golden that a pending file is about."""
    return pending.with_name(pending.name.removesuffix(PENDING))


def fingerprint(data: bytes) -> str:
    """Return what a golden says, in short: the same after a checkout with other line ends, or a reformatting."""
    golden = loads(data)
    return digest(plain_text(golden.value).encode() if isinstance(golden, Ok) else data)


def pending_bytes(test: str, old: bytes, new: bytes) -> bytes:
    """Return the file of a proposal."""
    return Pending(test, (fingerprint(old),), (), loads(new).value).file()


def proposal(path: Path) -> Proposal:
    """Return a pending file, held against its golden."""
    try:
        old = files.read(golden_of(path))
        data = files.read(path) or b""
    except OSError as problem:
        return Proposal(path, "damaged", None, None, (problem.strerror or "unreadable").lower())
    loaded = _read_pending(data)
    if isinstance(loaded, Err):
        return Proposal(path, "damaged", old, None, loaded.error)
    pending = loaded.value
    if old is None:
        return Proposal(path, "stale", None, pending, "the golden is gone")
    seen = fingerprint(old)
    if seen == digest(plain_text(pending.golden).encode()):
        return Proposal(path, "settled", old, pending, "")
    if seen not in pending.seen:
        return Proposal(path, "stale", old, pending, "the golden has changed since the test ran")
    return Proposal(path, "changed", old, pending, "")


def _read_pending(data: bytes) -> Ok[Pending] | Err[str]:
    golden = loads(data)
    if isinstance(golden, Err):
        return golden
    members = dict(golden.value)
    about = members.pop("pending", None)
    if not isinstance(about, dict) or not isinstance(about.get("test"), str) or not _are_texts(about.get("seen")):
        return Err("not a pending change: nothing says which test made it")
    skipped = about.get("skipped", [])
    return Ok(Pending(about["test"], tuple(about["seen"]), tuple(skipped) if _are_texts(skipped) else (), members))


def _are_texts(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(item, str) for item in value)


class Outcome(NamedTuple):
    """The outcome of a decision: the goldens it was carried out for, and the refused ones with the reason."""

    done: list[str]
    refused: list[tuple[str, str]]


class PendingChanges:
    """All proposals of some files, sorted by what caused them."""

    def __init__(self, paths: Iterable[Path]) -> None:
        self.proposals = [proposal(path) for path in paths]
        self._causes = {each.name: causes for each in self.proposals if (causes := _causes_of(each)) is not None}
        self.groups = grouped((name, list(causes)) for name, causes in self._causes.items())
        self._ids: dict[str, list[str]] = {}
        for group in self.groups:
            for name in group.goldens:
                self._ids.setdefault(name, []).append(group.key.id)

    def ids(self, name: str) -> list[str]:
        """Return the changes of a golden, in the order of the groups."""
        return self._ids.get(name, [])

    def differences(self, name: str) -> list[Difference]:
        """Return all that differs about a golden, whatever caused it."""
        causes = self._causes.get(name)
        return causes.differences if isinstance(causes, Causes) else []

    def accept(self, chosen: Set[str]) -> Outcome:
        """Make goldens what the tests saw, as far as the chosen changes go."""
        return self._decide(frozenset(chosen), self._accepted)

    def reject(self, chosen: Set[str]) -> Outcome:
        """Drop the chosen changes. The goldens stay as they are."""
        return self._decide(frozenset(chosen), self._rejected)

    def skip(self, group: Group) -> Outcome:
        """Remember that somebody left a change for later."""
        outcome = Outcome([], [])
        for each in self.proposals:
            if group.key.id in self.ids(each.name) and each.pending is not None:
                kept = each.pending._replace(skipped=(*each.pending.skipped, group.key.id))
                written = files.write(each.path, kept.file())
                if isinstance(written, Err):
                    outcome.refused.append((each.name, f"it can't be written: {written.error}"))
                else:
                    outcome.done.append(each.name)
        return outcome

    def files_of(self, chosen: Set[str]) -> dict[Path, bytes]:
        """Return the files that a decision about these changes may touch, as they are."""
        touched = [each for each in self.proposals if not chosen.isdisjoint(self.ids(each.name))]
        paths = [path for each in touched for path in (each.path, each.golden_path)]
        return {path: data for path in paths if (data := files.read(path)) is not None}

    def skipped(self) -> set[str]:
        """Return the changes that somebody left for later."""
        return {name for each in self.proposals if each.pending is not None for name in each.pending.skipped}

    def _decide(self, chosen: frozenset[str], plan: Callable[[Proposal, Set[str]], Ok[_Writes] | Err[str]]) -> Outcome:
        refused: list[tuple[str, str]] = []
        allowed = set(chosen)
        members = [each for each in self.proposals if not chosen.isdisjoint(self.ids(each.name))]
        plans: list[tuple[Proposal, _Writes]] = []
        for each in members:
            planned = plan(each, chosen.intersection(self.ids(each.name)))
            if isinstance(planned, Err):
                refused.append((each.name, planned.error))
                allowed.difference_update(self.ids(each.name))
            else:
                plans.append((each, planned.value))
        if allowed != chosen:
            # Whoever shares a change with a golden that can't follow does not go ahead alone.
            again = self._decide(frozenset(allowed), plan) if allowed else Outcome([], [])
            return Outcome(again.done, refused + again.refused)
        first = {path: data for _, writes in plans for path, data in writes.first.items()}
        then = {path: data for _, writes in plans for path, data in writes.then.items()}
        for contents in (first, then):
            written = files.write_all(contents)
            if isinstance(written, Err):
                return Outcome([], [(", ".join(each.name for each in members), written.error)])
        for each, writes in plans:
            if writes.is_settled:
                removed = files.remove(each.path)
                if isinstance(removed, Err):
                    refused.append((each.name, f"the pending change can't be removed: {removed.error}"))
        return Outcome([each.name for each in members], refused)

    def _accepted(self, each: Proposal, chosen: Set[str]) -> Ok[_Writes] | Err[str]:
        if each.state == "stale" or each.pending is None:
            return Err(f"{each.problem}; run the test again")
        if files.read(each.golden_path) != each.old:
            return Err("the golden has changed meanwhile; look at the change again")
        if chosen == set(self.ids(each.name)):
            return Ok(_Writes({}, {each.golden_path: each.new}, True))
        part = self._part(each, chosen)
        if isinstance(part, Err):
            return part
        # The proposal has to know the golden between the two before that golden is there.
        known = each.pending._replace(seen=(*each.pending.seen, fingerprint(part.value)))
        return Ok(_Writes({each.path: known.file()}, {each.golden_path: part.value}, False))

    def _rejected(self, each: Proposal, chosen: Set[str]) -> Ok[_Writes] | Err[str]:
        rest = set(self.ids(each.name)) - chosen
        if not rest or each.pending is None:
            return Ok(_Writes({}, {}, True))
        part = self._part(each, rest)
        if isinstance(part, Err):
            return part
        return Ok(_Writes({}, {each.path: each.pending._replace(golden=loads(part.value).value).file()}, False))

    def _part(self, each: Proposal, chosen: Set[str]) -> Ok[bytes] | Err[str]:
        causes = self._causes[each.name]
        golden = causes.with_only(chosen) if isinstance(causes, Causes) else Err("the golden can't be read")
        if isinstance(golden, Err):
            return Err(f"{golden.error}: decide about all changes of this golden at once")
        return Ok(encode(golden.value))


class _Writes(NamedTuple):
    """The writes of a decision, in two rounds, and whether nothing stays pending."""

    first: dict[Path, bytes]
    then: dict[Path, bytes]
    is_settled: bool


def _causes_of(each: Proposal) -> Causes | list[Cause] | None:
    """Return the changes of a proposal; None where there is nothing to decide about or nothing to compare."""
    if each.pending is None or each.old is None or each.state == "settled":
        return None
    old = loads(each.old)
    if isinstance(old, Err):
        whole = Difference("added", "answer", "", "whole golden, as the old one can't be read,", "", None, old.error)
        return [Cause(CauseKey(each.name, "added", "", "", ""), whole)]
    return Causes(old.value, each.pending.golden)


def pending_data(changes: PendingChanges, groups: Sequence[Group]) -> dict[str, Any]:
    """Return the groups, and every golden with all that differs about it."""
    pending = [
        {**about(changes, each), "differences": [one.to_json() for one in changes.differences(each.name)]}
        for each in changes.proposals
    ]
    return {"groups": [_group(group) for group in groups], "pending": pending}


def about(changes: PendingChanges, each: Proposal) -> dict[str, Any]:
    """Return a golden that has a proposal."""
    members: dict[str, Any] = {"golden": each.name, "pending": each.path.as_posix(), "state": each.state}
    if each.pending is not None:
        members["test"] = each.pending.test
    if each.problem:
        members["problem"] = each.problem
    members["groups"] = changes.ids(each.name)
    return members


def _group(group: Group) -> dict[str, Any]:
    heading = {"id": group.key.id, "title": headline(group.difference), "workflow": group.key.workflow}
    return {**heading, "runs": len(group.goldens), "goldens": group.goldens, **group.difference.to_json()}


def pending_changes(paths: Sequence[Path]) -> PendingChanges:
    """Return what is pending at and below some paths; in the current folder, if there are none."""
    return PendingChanges(golden_files(paths or [Path()], ENDING + PENDING))


def golden_files(paths: Iterable[Path], ending: str) -> list[Path]:
    """Return the goldens, or what is pending beside them, that some paths name. A file named twice is one."""
    named_files = [path for named in paths for path in _golden_files(_goldens_of(named), ending)]
    return sorted({os.path.abspath(path): path for path in reversed(named_files)}.values())


def _golden_files(path: Path, ending: str) -> Iterator[Path]:
    if os.path.isdir(path):
        for folder, names in files.goldens_below([path], _SKIPPED_FOLDERS, ending):
            yield from (folder / name for name in names)
    elif path.name.endswith(ending):
        yield path
    elif path.name.endswith(ENDING) and os.path.exists(pending_of(path)):
        yield pending_of(path)


def _goldens_of(path: Path) -> Path:
    """Return where the goldens of a scenario or a test file are; any other path stays what it is."""
    if not is_source(path.name):
        return path
    base = Path(source_base(path.as_posix()))
    return base.with_name(base.name + ENDING) if path.name.endswith(SCENARIO_ENDING) else base
