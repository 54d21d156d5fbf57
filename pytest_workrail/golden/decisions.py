"""Pending changes as people decide about them: by change, by step, by file, or all of them.

A change is accepted in all goldens that have it, or in none. A golden with several changes takes over the accepted ones
and whatever follows from them; the others stay pending. Nothing is written while a golden is not the one that was seen.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Set
from pathlib import Path

from pytest_workrail.golden import files
from pytest_workrail.golden.causes import Cause, CauseKey, Causes, Group, grouped
from pytest_workrail.golden.diff import Difference
from pytest_workrail.golden.encoding import encode, loads
from pytest_workrail.golden.pending import Proposal, fingerprint, proposal
from workrail_lint.base.result import Err, Ok
from workrail_lint.base.typed import NamedTuple


class Outcome(NamedTuple):
    """What came of a decision: the goldens it was carried out for, and what was refused, with the reason."""

    done: list[str]
    refused: list[tuple[str, str]]


class PendingChanges:
    """All proposals of some files, sorted by what caused them."""

    def __init__(self, paths: Iterable[Path]) -> None:
        self.proposals = [proposal(path) for path in paths]
        self._causes = {each.name: causes for each in self.proposals if (causes := _causes_of(each)) is not None}
        self.groups = grouped((name, list(causes)) for name, causes in self._causes.items())

    def ids(self, name: str) -> set[str]:
        """The changes of a golden."""
        return {cause.key.id for cause in self._causes.get(name, ())}

    def differences(self, name: str) -> list[Difference]:
        """All that differs about a golden, whatever caused it."""
        causes = self._causes.get(name)
        return causes.differences if isinstance(causes, Causes) else []

    def accept(self, chosen: Set[str]) -> Outcome:
        """Make goldens what the tests saw, as far as the chosen changes go."""
        return self._decide(chosen, self._accepted)

    def reject(self, chosen: Set[str]) -> Outcome:
        """Drop the chosen changes. The goldens stay as they are."""
        return self._decide(chosen, self._rejected)

    def skip(self, group: Group) -> None:
        """Remember that somebody left a change for later."""
        for each in self.proposals:
            if each.name in group.goldens and each.pending is not None:
                kept = each.pending._replace(skipped=(*each.pending.skipped, group.key.id))
                files.write(each.path, kept.file())

    def skipped(self) -> set[str]:
        """The changes that somebody left for later."""
        return {name for each in self.proposals if each.pending is not None for name in each.pending.skipped}

    def _decide(self, chosen: Set[str], plan: Callable[[Proposal, Set[str]], Ok[_Writes] | Err[str]]) -> Outcome:
        refused: list[tuple[str, str]] = []
        allowed = set(chosen)
        members = [each for each in self.proposals if self.ids(each.name) & chosen]
        plans: list[tuple[Proposal, _Writes]] = []
        for each in members:
            made = plan(each, self.ids(each.name) & chosen)
            if isinstance(made, Err):
                refused.append((each.name, made.error))
                allowed -= self.ids(each.name)
            else:
                plans.append((each, made.value))
        if allowed != chosen:
            # Whoever shares a change with a golden that can't follow does not go ahead alone.
            again = self._decide(allowed, plan) if allowed else Outcome([], [])
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
        if chosen == self.ids(each.name):
            return Ok(_Writes({}, {each.golden_path: each.new}, True))
        part = self._part(each, chosen)
        if isinstance(part, Err):
            return part
        # The proposal has to know the golden between the two before that golden is there.
        known = each.pending._replace(seen=(*each.pending.seen, fingerprint(part.value)))
        return Ok(_Writes({each.path: known.file()}, {each.golden_path: part.value}, False))

    def _rejected(self, each: Proposal, chosen: Set[str]) -> Ok[_Writes] | Err[str]:
        rest = self.ids(each.name) - chosen
        if not rest or each.pending is None:
            return Ok(_Writes({}, {}, True))
        part = self._part(each, rest)
        if isinstance(part, Err):
            return part
        return Ok(_Writes({}, {each.path: each.pending._replace(golden=loads(part.value).value).file()}, False))

    def _part(self, each: Proposal, chosen: Set[str]) -> Ok[bytes] | Err[str]:
        causes = self._causes[each.name]
        made = causes.with_only(chosen) if isinstance(causes, Causes) else Err("the golden can't be read")
        if isinstance(made, Err):
            return Err(f"{made.error}: decide about all changes of this golden at once")
        return Ok(encode(made.value))


class _Writes(NamedTuple):
    """What a decision writes, in two rounds; and whether nothing stays pending."""

    first: dict[Path, bytes]
    then: dict[Path, bytes]
    is_settled: bool


def _causes_of(each: Proposal) -> Causes | list[Cause] | None:
    """The changes of a proposal; None where there is nothing to decide about or nothing to compare."""
    if each.pending is None or each.old is None or each.state == "settled":
        return None
    old = loads(each.old)
    if isinstance(old, Err):
        whole = Difference("added", "answer", "", "whole golden, as the old one can't be read,", "", None, old.error)
        return [Cause(CauseKey(each.name, "added", "", "", ""), whole)]
    return Causes(old.value, each.pending.golden)
