"""Planted code: what a reader of our sources finds in them, with one line that must not be there."""

from __future__ import annotations

from pytest_workrail.locks.sabotage import breaks

READ_TEXT = "pathlib:Path.read_text"


def planted(original, line, *folders):
    """Sources in which the modules of some folders of the product end with one more line."""

    def read_text(self, *arguments, **others):
        text = original(self, *arguments, **others)
        is_ours = self.suffix == ".py" and "pytest_workrail" in self.parts and "tests" not in self.parts
        return f"{text}\n\n{line}\n" if is_ours and self.parent.name in folders else text

    return read_text


@breaks("durable-core-no-node-imports", at=READ_TEXT)
def the_core_looks_at_the_clock(original):
    """A pure module imports the time."""
    return planted(original, "import time", "engine", "events", "projections", "tokens")


@breaks("durable-core-no-buffer", at=READ_TEXT)
def the_core_opens_a_file(original):
    """A pure module opens a file."""
    return planted(original, "open('x')", "engine", "events", "projections", "tokens", "protocol")


@breaks("ports-interfaces-only", at=READ_TEXT)
def ports_do_something(original):
    """A port has a method with a body."""
    return planted(original, "def answer() -> int:\n    return 42", "store", "protocol")


@breaks("infra-only-node-io", at=READ_TEXT)
def the_protocol_reads_files(original):
    """A module that is no adapter imports files."""
    return planted(original, "import pathlib", "protocol", "store")


@breaks("errors-as-data", at=READ_TEXT)
def messages_decide(original):
    """Code branches on the wording of an error."""
    return planted(original, "DECIDED = error.message == 'busy'", "protocol", "store", "events", "engine")


@breaks("type-escapes-quarantined", at=READ_TEXT)
def types_are_escaped_without_a_reason(original):
    """An escape from the type checker says nothing about why it is there."""
    return planted(original, "x: int = 'y'  # type: ignore[assignment]", "engine", "protocol")


@breaks("schema-modules-load-safe", at=READ_TEXT)
def importing_does_something(original):
    """A module that defines shapes acts when it is imported."""
    return planted(original, "print('loaded')", "events", "store")


@breaks("test-fakes-usage", at=READ_TEXT)
def tests_bring_their_own_store(original):
    """A test has a store of its own instead of the one in memory."""
    store = "class OwnStore:\n    def load(self): ...\n    def append(self): ...\n    def list_sessions(self): ...\n"
    store += "    def load_validated_prefix(self): ...\n"

    def read_text(self, *arguments, **others):
        text = original(self, *arguments, **others)
        return f"{text}\n\n{store}" if self.name == "test_bundles.py" else text

    return read_text


@breaks("branded-id-types", at="pytest_workrail.engine.model.ids:id_bytes")
def ids_of_all_kinds_are_alike(original):
    """The id of a run passes for the id of a node."""
    return lambda kind, text: original(kind, f"{kind.value}_{text.rpartition('_')[2]}")
