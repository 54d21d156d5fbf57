"""Claims of tests about locks, the record of them, and the verdict: enforced, proven, or neither."""

from __future__ import annotations

import ast
import hashlib
import inspect
import io
import json
import re
import tokenize
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import pytest
from msgspec import Struct
from msgspec.structs import replace

from pytest_workrail.locks.registry import Lock, Registry
from pytest_workrail.locks.sabotage import Sabotage
from pytest_workrail.run.pytest_session import ItemOutcome
from workrail_lint.base.files import read_bytes
from workrail_lint.base.result import Err, Ok
from workrail_lint.base.suggest import nearest_id

MARKER = "enforces"

_TAG = re.compile(r"^\s*(?:\*|#)?\s*@enforces\s+(\S*[\w*])", re.IGNORECASE | re.MULTILINE)
_NAMES_NONE = 'claims no lock: pass the ids as strings, such as @pytest.mark.enforces("lock-id")'
_CLAIM = re.compile(r"(?P<lock>[a-z0-9]+(?:-[a-z0-9]+)*)(?:@(?P<revision>[1-9]\d*))?")

_MISPLACED = "claims nothing here: write it directly above a test or a class, or at the top of the module"
_OWN_DECORATOR = "@pytest.mark.enforces("
VERSION = 1
_WAY_OUT = "Restore it, or delete it and run --workrail-locks-prove again."


class Claim(NamedTuple):
    """One lock that a test claims, with the revision it names, if it names one.

    `is_own` distinguishes a claim of the test itself from one of its class or module, which holds for all their tests.
    """

    lock_id: str
    revision: int | None
    is_own: bool = True


class Claims(NamedTuple):
    """All claims of a test, and what is wrong with how they are written, each with its place."""

    claims: tuple[Claim, ...]
    problems: tuple[str, ...]


def read_claim(text: str) -> Claim | None:
    """Return a claim, or None if the string is not one."""
    match = _CLAIM.fullmatch(text)
    if match is None:
        return None
    revision = match["revision"]
    return Claim(match["lock"], int(revision) if revision else None)


def tagged(text: str | None) -> list[str]:
    """Return the claims in a docstring or comment, one for each line that begins with the tag."""
    return [tag.lower() for tag in _TAG.findall(text or "")]


class ClaimReader:
    """Reads the claims of collected tests; each test file is read once."""

    def __init__(self) -> None:
        self._comments: dict[Path, CommentClaims] = {}

    def read(self, item: pytest.Item) -> Claims:
        """Return every claim of a test, each once, in the order of their ids."""
        claims: dict[tuple[str, int | None], Claim] = {}
        problems = [_NAMES_NONE] if any(not mark.args or mark.kwargs for mark in item.iter_markers(MARKER)) else []
        for is_own, written in self._written(item):
            for text, times in Counter(map(str, written)).items():
                if times > 1:
                    problems.append(f'claims "{text}" {times} times in one place')
                claim = read_claim(text)
                if claim is None:
                    problems.append(f'claims "{text}", which is not a lock id')
                else:
                    known = claims.get((claim.lock_id, claim.revision))
                    is_known = known is not None and known.is_own
                    claims[claim.lock_id, claim.revision] = claim._replace(is_own=is_own or is_known)
        place = _place(item)
        problems = [f"{place} {problem}" for problem in problems]
        if isinstance(item, pytest.Function):
            file = item.location[0].replace("\\", "/")
            problems += [f"{file}:{line}: {problem}" for line, problem in self._comments_of(item.path).problems]
        ordered = sorted(claims.values(), key=lambda claim: (claim.lock_id, claim.revision or 0))
        return Claims(tuple(ordered), tuple(sorted(set(problems))))

    def _written(self, item: pytest.Item) -> Iterator[tuple[bool, Iterable[object]]]:
        """Yield the lists of claims that apply to a test, one for each place, and whether that is the test itself."""
        for node in item.listchain():
            yield node is item, [argument for mark in node.own_markers if mark.name == MARKER for argument in mark.args]
        function = getattr(item, "function", None)
        documented = {
            id(owner): owner for owner in (getattr(item, "module", None), getattr(item, "cls", None), function)
        }
        for owner in documented.values():
            yield owner is function, tagged(getattr(owner, "__doc__", None))
        if isinstance(item, pytest.Function):
            yield from self._comments_of(item.path).of(item)

    def _comments_of(self, path: Path) -> CommentClaims:
        if path not in self._comments:
            self._comments[path] = CommentClaims(path)
        return self._comments[path]


class CommentClaims:
    """The claims in the comments of one file, by the qualified name of what they are about ("" for the module).

    A comment directly above a test or its decorators is about that test, above a class about the class, before the
    first statement about the module. Anywhere else nobody could say which test it is about, so that it is a problem.
    """

    def __init__(self, path: Path) -> None:
        self.claims: dict[str, list[str]] = {}
        self.problems: list[tuple[int, str]] = []
        try:
            source = read_bytes(str(path)).decode()
        except (OSError, UnicodeDecodeError):
            return
        if "@enforces" not in source.lower():
            return
        try:
            tokens = list(tokenize.generate_tokens(io.StringIO(source).readline))
            tree = ast.parse(source)
        except (SyntaxError, tokenize.TokenError):
            return
        comments = [token for token in tokens if token.type == tokenize.COMMENT]
        alone = {token.start[0] for token in comments if token.line.lstrip().startswith("#")}
        subjects = _subjects(tree, alone)
        for token in comments:
            line = token.start[0]
            for claim in tagged(token.string):
                if line in alone and line in subjects:
                    self.claims.setdefault(subjects[line], []).append(claim)
                else:
                    self.problems.append((line, f'"@enforces {claim}" {_MISPLACED}'))

    def of(self, item: pytest.Function) -> Iterator[tuple[bool, list[str]]]:
        """Yield the claims of the module, of the classes around a test, and of the test itself."""
        names = item.function.__qualname__.split(".")
        for depth in range(len(names) + 1):
            yield depth == len(names), self.claims.get(".".join(names[:depth]), [])
        # A test that a class inherits is called after the class that defines it.
        own = "" if item.cls is None else item.cls.__qualname__
        if own and own != ".".join(names[:-1]):
            yield False, self.claims.get(own, [])


def _subjects(tree: ast.Module, comments: set[int]) -> dict[int, str]:
    """Return what each line of comments that can claim something is about."""
    subjects: dict[int, str] = {}
    definitions = list(_definitions(tree, ""))
    counts = Counter(name for name, _ in definitions)
    for name, first in definitions:
        # Of two definitions with the same name only one is a test, and which one is not certain before they run.
        if counts[name] > 1:
            continue
        line = first - 1
        while line in comments:
            subjects[line] = name
            line -= 1
    statements = tree.body[1:] if ast.get_docstring(tree) is not None else tree.body
    end = _first_line(statements[0]) if statements else 1 + max(comments, default=0)
    return {**dict.fromkeys((line for line in comments if line < end), ""), **subjects}


def _definitions(node: ast.AST, prefix: str) -> Iterator[tuple[str, int]]:
    """Yield the tests and classes of a module, each with its qualified name and first line."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            name = f"{prefix}.{child.name}" if prefix else child.name
            if isinstance(child, ast.ClassDef):
                yield from _definitions(child, name)
            elif not child.name.startswith("test"):
                continue
            yield name, _first_line(child)
        elif isinstance(child, ast.If | ast.Try | ast.With):
            yield from _definitions(child, prefix)


def _first_line(statement: ast.stmt) -> int:
    decorators: list[ast.expr] = getattr(statement, "decorator_list", [])
    return min([statement.lineno, *(decorator.lineno for decorator in decorators)])


class Evidence(Struct, frozen=True, array_like=True, forbid_unknown_fields=True):
    """A test and its claims, how it ended and whether it asserted anything."""

    test: str
    place: str
    digest: str
    claims: tuple[Claim, ...]
    ending: ItemOutcome = ItemOutcome.UNFINISHED
    asserted: bool = False

    @property
    def counts(self) -> bool:
        """Whether the test enforced its locks."""
        return self.ending is ItemOutcome.PASSED and self.asserted

    @property
    def flaw(self) -> str | None:
        """Why it did not."""
        if self.ending is not ItemOutcome.PASSED:
            return str(self.ending.value)
        return None if self.asserted else "asserted nothing"

    def claim(self, lock_id: str) -> Claim | None:
        """Return what it says about a lock."""
        return next((claim for claim in self.claims if claim.lock_id == lock_id), None)

    @property
    def file(self) -> str:
        return self.test.partition("::")[0]

    @property
    def name(self) -> str:
        """The test without its parameters."""
        file, separator, rest = self.test.partition("::")
        return file + separator + rest.partition("[")[0]


class LockState(Struct):
    """The evidence that one process gathered, and what is wrong with how claims are written."""

    evidence: tuple[Evidence, ...]
    problems: tuple[str, ...]


def merged(evidence: Iterable[Evidence]) -> dict[str, Evidence]:
    """Return one piece of evidence for each test. Where several processes ran it, the worst counts."""
    by_test: dict[str, Evidence] = {}
    for piece in evidence:
        known = by_test.get(piece.test)
        if known is None or known.ending is ItemOutcome.UNFINISHED:
            by_test[piece.test] = piece
        elif piece.ending is not ItemOutcome.UNFINISHED:
            worse = known if not known.counts else piece
            by_test[piece.test] = replace(worse, asserted=known.asserted and piece.asserted)
    return {test: by_test[test] for test in sorted(by_test)}


def not_yet_run(item: pytest.Item, claims: tuple[Claim, ...]) -> Evidence:
    """Return the evidence of a test that was collected and has not run yet."""
    return Evidence(item.nodeid, _place(item), _digest(item), claims)


def _place(item: pytest.Item) -> str:
    file, line, _ = item.location
    return file.replace("\\", "/") + (f":{line + 1}" if line is not None else "")


def _digest(item: pytest.Item) -> str:
    """Return a digest of what the test is made of; what it claims is no part of that."""
    if isinstance(item, pytest.Function):
        try:
            lines = inspect.getsource(item.function).splitlines()
        except (OSError, TypeError):
            lines = []
        content = "\n".join(line for line in lines if not line.lstrip().startswith(_OWN_DECORATOR)).encode()
    else:
        content = read_bytes(str(item.path)) if item.path.is_file() else b""
    return f"sha256:{hashlib.sha256(content).hexdigest()}"


class Proof(Struct, frozen=True, order=True, rename="camel"):
    """A sabotage that made a test fail."""

    sabotage: str
    sabotage_digest: str
    test: str
    test_digest: str


class LockEntry(Struct, frozen=True):
    """The record of one lock."""

    text: str
    revision: int
    proofs: tuple[Proof, ...]


class LockRecord(Struct, rename={"entries": "locks"}):
    """The entries by lock id."""

    entries: dict[str, LockEntry]

    def to_text(self) -> str:
        ordered = {
            lock_id: replace(entry, proofs=tuple(sorted(entry.proofs)))
            for lock_id, entry in sorted(self.entries.items())
        }
        record = {"lockRecordVersion": VERSION, **msgspec.to_builtins(LockRecord(ordered))}
        return json.dumps(record, indent=2) + "\n"


def text_digest(lock: Lock) -> str:
    """Return the digest of what a lock says."""
    return f"sha256:{hashlib.sha256(lock.summary.encode()).hexdigest()}"


def load_record(path: Path) -> Ok[LockRecord] | Err[str]:
    """Return a record from its file; an empty one when there is none yet."""
    if not path.exists():
        return Ok(LockRecord({}))
    try:
        value: Any = json.loads(read_bytes(str(path)))
        if value["lockRecordVersion"] != VERSION:
            version = value["lockRecordVersion"]
            return Err(f"{path.name} has the unknown lock record version {version}; this program reads {VERSION}")
        return Ok(msgspec.convert(value, LockRecord))
    except OSError as problem:
        return Err(f"{path.name} can't be read: {problem.strerror}")
    except (KeyError, TypeError, msgspec.ValidationError):
        return Err(f"{path.name} can't be used as a lock record, because members are missing or wrong. {_WAY_OUT}")
    except ValueError as problem:
        return Err(f"{path.name} can't be used as a lock record, because it is not JSON: {problem}. {_WAY_OUT}")


@dataclass(frozen=True, slots=True)
class LockStatus:
    """One lock: the tests that claim it, whether one of them enforced it, and what proves that it would notice.

    A suspect lock counts as not enforced: its tests were written for another text. `stale` are proofs that no longer
    hold, because the sabotage or the test changed since.
    """

    lock: Lock
    claims: tuple[Evidence, ...]
    is_suspect: bool
    proofs: tuple[Proof, ...]
    stale: tuple[Proof, ...]

    @property
    def enforcing(self) -> tuple[Evidence, ...]:
        return tuple(evidence for evidence in self.claims if evidence.counts)

    @property
    def is_enforced(self) -> bool:
        return bool(self.enforcing) and not self.is_suspect

    @property
    def is_proven(self) -> bool:
        return self.is_enforced and bool(self.proofs)

    @property
    def files(self) -> list[str]:
        """The files of the tests that enforce it."""
        return sorted({evidence.file for evidence in self.enforcing})


@dataclass(frozen=True, slots=True)
class LockCoverage:
    """All locks that count, and what is wrong with claims, sabotages or the record."""

    registry: Registry
    locks: tuple[LockStatus, ...]
    problems: tuple[str, ...]

    @property
    def enforced(self) -> list[LockStatus]:
        return [status for status in self.locks if status.is_enforced]

    @property
    def open(self) -> list[LockStatus]:
        return [status for status in self.locks if not status.is_enforced]

    @property
    def proven(self) -> list[LockStatus]:
        return [status for status in self.locks if status.is_proven]

    @property
    def suspect(self) -> list[LockStatus]:
        return [status for status in self.locks if status.is_suspect]

    def share(self, part: Sequence[LockStatus]) -> Fraction:
        """A part of all locks, in percent. Of no locks, nothing is missing."""
        return Fraction(100 * len(part), len(self.locks)) if self.locks else Fraction(100)


def rounded(percent: Fraction) -> int:
    """Return a percentage as a whole number, half a point up."""
    return int(percent + Fraction(1, 2))


def lock_coverage(
    registry: Registry,
    evidence: Iterable[Evidence],
    record: LockRecord,
    sabotages: Sequence[Sabotage],
    problems: Iterable[str] = (),
) -> LockCoverage:
    """Return how the locks stand, given what the tests of a run did."""
    flaws = list(problems)
    known = {lock.id: lock for lock in registry.locks}
    claimed: dict[str, list[Evidence]] = {lock.id: [] for lock in registry.counting()}
    for piece in evidence:
        for claim in piece.claims:
            lock = known.get(claim.lock_id)
            flaw = _claim_flaw(lock, claim.lock_id, claim.revision, known)
            if flaw is not None:
                flaws.append(f"{flaw} in {piece.place}")
            elif lock is not None:
                claimed[lock.id].append(piece)
    flaws += _sabotage_flaws(sabotages, known)
    locks = tuple(
        _status(known[lock_id], tuple(pieces), record, sabotages) for lock_id, pieces in sorted(claimed.items())
    )
    return LockCoverage(registry, locks, tuple(sorted(set(flaws))))


def _claim_flaw(lock: Lock | None, lock_id: str, revision: int | None, known: dict[str, Lock]) -> str | None:
    if lock is None:
        meant = nearest_id(lock_id, known)
        return f'Unknown lock ID "{lock_id}"' + (f' (did you mean "{meant}"?)' if meant else "")
    if lock.obsolete:
        return f'Outdated lock ID "{lock_id}": the lock is obsolete'
    if not lock.counts:
        return f'Lock ID "{lock_id}" does not apply: {lock.reason}'
    if revision is not None and revision != lock.revision:
        return f'Outdated lock ID "{lock_id}@{revision}": the lock is at revision {lock.revision}'
    return None


def _sabotage_flaws(sabotages: Sequence[Sabotage], known: dict[str, Lock]) -> list[str]:
    return [
        f'Unknown lock ID "{lock_id}" in sabotage {sabotage.name}'
        for sabotage in sabotages
        for lock_id in sabotage.locks
        if lock_id not in known
    ]


def _status(lock: Lock, claims: tuple[Evidence, ...], record: LockRecord, sabotages: Sequence[Sabotage]) -> LockStatus:
    entry = record.entries.get(lock.id)
    if entry is None:
        return LockStatus(lock, claims, False, (), ())
    is_suspect = entry.text != text_digest(lock) and not _reviewed(lock, entry, claims)
    switches = {sabotage.name: sabotage.digest for sabotage in sabotages if lock.id in sabotage.locks}
    tests = {(evidence.name, evidence.digest) for evidence in claims if evidence.counts}
    holding = tuple(
        proof
        for proof in sorted(entry.proofs)
        if switches.get(proof.sabotage) == proof.sabotage_digest and (proof.test, proof.test_digest) in tests
    )
    stale = tuple(proof for proof in sorted(entry.proofs) if proof not in holding)
    return LockStatus(lock, claims, is_suspect, () if is_suspect else holding, stale)


def _reviewed(lock: Lock, entry: LockEntry, claims: tuple[Evidence, ...]) -> bool:
    """Return whether an enforcing test names the new revision, and so says that it was written for the new text."""
    pinned = any(
        claim.lock_id == lock.id and claim.revision == lock.revision
        for evidence in claims
        if evidence.counts
        for claim in evidence.claims
    )
    return pinned and lock.revision > entry.revision
