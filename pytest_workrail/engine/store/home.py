"""The home of an engine: its stores, write gate and token issuer, put together in memory (`disk`: in a folder)."""

from __future__ import annotations

from msgspec import Struct

from pytest_workrail.engine.model.ids import IdMint
from pytest_workrail.engine.store.gate import Gate
from pytest_workrail.engine.store.memory import (
    MemoryPinnedWorkflowStore,
    MemorySessionLock,
    MemorySessionStore,
    MemorySnapshotStore,
)
from pytest_workrail.engine.store.ports import Clock, Stores
from pytest_workrail.engine.store.token_store import MemoryAliasIndex, MemoryKeyring
from pytest_workrail.engine.tokens.issuer import TokenIssuer
from pytest_workrail.engine.tokens.ports import Entropy, Keyring


class Home(Struct, frozen=True):
    """Everything the protocol needs to run sessions, in one place."""

    stores: Stores
    gate: Gate
    issuer: TokenIssuer
    keyring: Keyring
    mint: IdMint
    clock: Clock
    entropy: Entropy


def in_memory(clock: Clock, entropy: Entropy) -> Home:
    """A home that is gone with the process. Its key is the public test key, so tokens can be reproduced."""
    sessions = MemorySessionStore()
    keyring = MemoryKeyring(entropy)
    return Home(
        stores=Stores(sessions, MemorySnapshotStore(), MemoryPinnedWorkflowStore()),
        gate=Gate(sessions, MemorySessionLock()),
        issuer=TokenIssuer(keyring, MemoryAliasIndex(), entropy),
        keyring=keyring,
        mint=IdMint(entropy.generate),
        clock=clock,
        entropy=entropy,
    )
