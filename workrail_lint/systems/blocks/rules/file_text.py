"""BC0: the file and its JSON, before anything is known about blocks. The reader finds these."""

from __future__ import annotations

from collections.abc import Iterator

from workrail_lint.findings import Severity
from workrail_lint.rules.base import Example
from workrail_lint.systems.blocks.rules import samples
from workrail_lint.systems.blocks.rules.base import CONTRACT, DECIDED, BlockRule


class UnreadableDocument(BlockRule):
    code = "BC001"
    name = "block-unreadable-document"
    severity = Severity.ERROR
    origin = CONTRACT
    summary = "The file is not UTF-8, is not JSON, is larger than the limit, or is a symlink."
    why = (
        "The harness rejects such an output and writes a failed one in its place, so the work of the block goes "
        "unreported."
    )
    example_path = samples.output_path()
    good = samples.text(samples.output())
    bad = ('{"blockId": }\n', good.encode("utf-16"), good.replace('"dev",', '"dev", // done', 1))


class DuplicateKey(BlockRule):
    code = "BC002"
    name = "block-duplicate-key"
    severity = Severity.ERROR
    origin = DECIDED
    summary = "An object has the same key twice."
    why = "Readers disagree about which of the two counts: one sees a failed block where another sees a completed one."
    example_path = samples.output_path()
    good = samples.text(samples.output())
    bad = good.replace('"status"', '"status": "failed",\n  "status"')


class ByteOrderMark(BlockRule):
    code = "BC003"
    name = "block-byte-order-mark"
    severity = Severity.WARNING
    origin = DECIDED
    summary = "The file starts with a byte order mark."
    why = "JSON must not start with one, and many parsers reject the file because of this invisible character."
    fix = "Remove the mark."
    fix_safety = "safe"
    example_path = samples.output_path()
    good = samples.text(samples.output())
    bad = f"\ufeff{good}"


class WrongRootType(BlockRule):
    code = "BC004"
    name = "block-wrong-root-type"
    severity = Severity.ERROR
    origin = CONTRACT
    summary = "The root of the document is not an object."
    why = "Every document of the contract is an object; in any other value no field can be found."
    example_path = samples.output_path()

    def examples(self) -> Iterator[Example]:
        yield self.example("[]\n", samples.output())
