"""The keyring file and the alias index: made once, kept through crashes, shared by processes.

@enforces keyring-two-keys
@enforces keyring-32-byte-entropy
@enforces crash-safe-append
@enforces no-throws-across-boundaries
"""

from __future__ import annotations

import pytest
from crash_files import RecordingFiles, crash_states

from pytest_workrail.engine.model.base import record_line
from pytest_workrail.engine.model.ids import IdMint
from pytest_workrail.engine.store import layout
from pytest_workrail.engine.store.durable import prepare_root
from pytest_workrail.engine.store.memory import SeededEntropy, TreeFiles
from pytest_workrail.engine.store.token_store import (
    TEST_KEY,
    FileAliasIndex,
    FileKeyring,
    MemoryAliasIndex,
    MemoryKeyring,
)
from pytest_workrail.engine.tokens.formats import AliasRecord, KeyPair, keyring_bytes, read_alias
from workrail_lint.base.canonical import canonical_bytes
from workrail_lint.base.result import Err, Ok

MINT = IdMint(SeededEntropy("aliases").generate)


def a_record(number: int, **changes) -> AliasRecord:
    fields = {
        "v": 1,
        "nonce_hex": f"{number:024x}",
        "token_kind": "continue",
        "session_id": MINT.session(),
        "run_id": MINT.run(),
        "node_id": MINT.node(),
        "attempt_id": MINT.attempt(),
        "workflow_hash_ref": "wf_" + "a" * 26,
        **changes,
    }
    return AliasRecord(**fields)


class ShortEntropy:
    """A source that runs dry."""

    def generate(self, size: int) -> bytes:
        return b"x" * (size - 1)


class Failing(TreeFiles):
    """Files that can be made to refuse."""

    broken = False

    def read(self, path, offset=0):
        if self.broken:
            raise PermissionError(13, "Permission denied")
        return super().read(path, offset)

    def stamp(self, path):
        if self.broken:
            raise PermissionError(13, "Permission denied")
        return super().stamp(path)

    def create(self, path):
        if self.broken:
            raise PermissionError(13, "Permission denied")
        return super().create(path)


def test_a_keyring_is_made_on_first_use_and_then_kept():
    files = TreeFiles()
    made = FileKeyring(files, SeededEntropy("a")).load().value
    assert made.previous is None
    assert files.contents == {layout.KEYRING: keyring_bytes(made)}
    assert FileKeyring(files, SeededEntropy("b")).load() == Ok(made)


def test_rotation():
    files = TreeFiles()
    keyring = FileKeyring(files, SeededEntropy("a"))
    first = keyring.load().value
    second = keyring.rotate().value
    third = keyring.rotate().value
    assert second.previous == first.current
    assert third.previous == second.current
    assert FileKeyring(files, SeededEntropy("b")).load() == Ok(third)
    assert list(files.contents) == [layout.KEYRING]


def test_of_two_processes_that_rotate_one_is_refused():
    class Taken(TreeFiles):
        def hold(self, path):
            return None

    assert FileKeyring(Taken(), SeededEntropy("a")).rotate().error.code == "KEYRING_IO_ERROR"


def test_of_two_processes_that_make_a_keyring_both_use_the_same():
    """The second one looks, finds nothing, and is overtaken by the first one before it writes."""

    class Overtaken(TreeFiles):
        def create(self, path):
            if layout.KEYRING not in self.contents:
                self.contents[layout.KEYRING] = keyring_bytes(KeyPair(b"w" * 32))
            return super().create(path)

    files = Overtaken()
    assert FileKeyring(files, SeededEntropy("slow")).load() == Ok(KeyPair(b"w" * 32))
    assert list(files.contents) == [layout.KEYRING]


@pytest.mark.parametrize("raw", [b"", b"{", b"{}", keyring_bytes(KeyPair(TEST_KEY))[:-30]])
def test_a_damaged_keyring_is_never_replaced_in_silence(raw):
    files = TreeFiles({layout.KEYRING: raw})
    keyring = FileKeyring(files, SeededEntropy("a"))
    assert keyring.load().error.code == "KEYRING_CORRUPTION_DETECTED"
    assert keyring.rotate().error.code == "KEYRING_CORRUPTION_DETECTED"
    assert files.contents == {layout.KEYRING: raw}


def test_keyring_failures_are_values():
    assert FileKeyring(TreeFiles(), ShortEntropy()).load().error.code == "KEYRING_INVARIANT_VIOLATION"
    assert MemoryKeyring(ShortEntropy()).rotate().error.code == "KEYRING_INVARIANT_VIOLATION"
    files = Failing()
    keyring = FileKeyring(files, SeededEntropy("a"))
    assert keyring.load().is_ok
    files.broken = True
    assert keyring.load().error.code == "KEYRING_IO_ERROR"
    assert keyring.rotate().error.code == "KEYRING_IO_ERROR"


def test_the_test_keyring_is_the_published_key():
    keyring = MemoryKeyring(SeededEntropy("a"))
    assert keyring.load().value == KeyPair(bytes(range(32)))
    assert keyring.rotate().value.previous == bytes(range(32))


def test_a_crash_leaves_the_old_keyring_or_the_new_one():
    files = RecordingFiles()
    prepare_root(files)
    keyring = FileKeyring(files, SeededEntropy("crash"))
    files.note(keyring.load().value)
    files.note(keyring.rotate().value)
    seen = set()
    for state in crash_states(files.ops):
        raw = state.contents.get(layout.KEYRING)
        seen.add(raw)
        found = FileKeyring(TreeFiles(dict(state.contents)), SeededEntropy("after")).load().value
        if state.notes:
            # Once a key was used to sign, it must verify for good.
            promised = state.notes[-1].current
            assert promised in (found.current, found.previous)
    assert len(seen) == 3


@pytest.mark.parametrize("make", [MemoryAliasIndex, lambda: FileAliasIndex(TreeFiles())], ids=["memory", "files"])
def test_an_alias_index(make):
    index = make()
    one, two = a_record(1), a_record(2)
    assert index.add(one) == Ok(None)
    assert index.add(two) == Ok(None)
    assert index.by_nonce(one.nonce) == Ok(one)
    assert index.by_key(two.key) == Ok(two)
    assert index.by_nonce(bytes(12)) == Ok(None)
    assert index.by_key(a_record(3).key) == Ok(None)
    assert index.add(a_record(1)).error.code == "TOKEN_ALIAS_DUPLICATE_NONCE"


def test_aliases_are_shared_through_the_file():
    files = TreeFiles()
    mine, theirs = FileAliasIndex(files), FileAliasIndex(files)
    records = [a_record(number) for number in range(4)]
    for number, record in enumerate(records):
        assert (mine, theirs)[number % 2].add(record) == Ok(None)
    for index in (mine, theirs, FileAliasIndex(files)):
        assert [index.by_nonce(record.nonce).value for record in records] == records
    assert files.contents[layout.TOKEN_INDEX] == b"".join(record_line(record) for record in records)


def test_lines_that_are_no_records_are_passed_over_and_half_a_line_is_not_glued_to():
    one, two = a_record(1), a_record(2)
    torn = record_line(a_record(3))[:-20]
    files = TreeFiles({layout.TOKEN_INDEX: b"garbage\n" + record_line(one) + b'{"v":2}\n\n' + torn})
    index = FileAliasIndex(files)
    assert index.add(two) == Ok(None)
    again = FileAliasIndex(files)
    assert again.by_nonce(one.nonce) == Ok(one)
    assert again.by_nonce(two.nonce) == Ok(two)
    assert again.by_nonce(a_record(3).nonce) == Ok(None)


def test_no_token_that_was_handed_out_is_lost_in_a_crash():
    files = RecordingFiles()
    prepare_root(files)
    index = FileAliasIndex(files)
    records = [a_record(number) for number in range(4)]
    for record in records:
        assert index.add(record).is_ok
        files.note(record)
    count = 0
    for state in crash_states(files.ops):
        count += 1
        found = FileAliasIndex(TreeFiles(dict(state.contents)))
        for record in state.notes:
            assert found.by_nonce(record.nonce) == Ok(record)
        # Whatever the crash left, the next token is kept whole.
        if count % 50 == 0:
            late = a_record(9)
            assert found.add(late).is_ok
            assert FileAliasIndex(found._files).by_nonce(late.nonce) == Ok(late)
    assert count > 2000


def test_a_token_of_another_process_is_safe_before_it_is_used():
    files = RecordingFiles()
    prepare_root(files)
    record = a_record(1)
    assert FileAliasIndex(files).reserve(record).is_ok  # and not settled: that process was killed
    other = FileAliasIndex(RecordingFiles.after(files.ops))
    assert other.by_nonce(record.nonce) == Ok(record)
    other._files.note(record)
    noted = [state for state in crash_states(other._files.ops) if state.notes]
    assert noted
    for state in noted:
        assert FileAliasIndex(TreeFiles(dict(state.contents))).by_nonce(record.nonce) == Ok(record)


def test_alias_failures_are_values():
    files = Failing()
    files.broken = True
    index = FileAliasIndex(files)
    assert index.by_nonce(bytes(12)).error.code == "TOKEN_ALIAS_IO_ERROR"
    assert index.by_key(a_record(1).key).error.code == "TOKEN_ALIAS_IO_ERROR"
    assert index.add(a_record(1)).error.code == "TOKEN_ALIAS_IO_ERROR"


@pytest.mark.parametrize(
    ("kind", "missing", "is_good"),
    [
        ("continue", "attempt_id", False),
        ("continue", "workflow_hash_ref", False),
        ("checkpoint", "attempt_id", False),
        ("checkpoint", "workflow_hash_ref", True),
        ("ack", "attempt_id", False),
        ("state", "workflow_hash_ref", False),
        ("state", "attempt_id", True),
    ],
)
def test_a_record_is_bound_as_its_kind_needs(kind, missing, is_good):
    whole = a_record(1, token_kind=kind).to_wire()
    name = {"attempt_id": "attemptId", "workflow_hash_ref": "workflowHashRef"}[missing]
    raw = record_line(a_record(1, token_kind=kind))
    assert read_alias(raw[:-1]).is_ok
    del whole[name]
    assert isinstance(read_alias(canonical_bytes(whole)), Ok if is_good else Err)
