"""The hooks of a block rule and what they receive.

A document is checked in two steps: alone, and together with the files of its unit (a definition, an output folder and
the records beside it). Exactly one rule describes each violation of the schema, so every violation is reported once.
"""

from __future__ import annotations

from collections.abc import Collection
from functools import cached_property
from typing import Any, ClassVar

from workrail_lint.documents.json_reader import JsonDocument
from workrail_lint.documents.operations import Replace
from workrail_lint.documents.schema.engine import Violation
from workrail_lint.findings import safe
from workrail_lint.rules.base import Report, Rule
from workrail_lint.rules.describing import Description
from workrail_lint.systems.blocks.documents import WITH_SCHEMA, BlockKind, validator
from workrail_lint.systems.blocks.model.build import DocumentModels, definition_model
from workrail_lint.systems.blocks.model.documents import StudioWorkflow
from workrail_lint.systems.blocks.options import BlockOptions
from workrail_lint.systems.blocks.traces import Trace
from workrail_lint.systems.blocks.units import Unit
from workrail_lint.systems.blocks.wording import field_at, json_type, type_in_words

CONTRACT = "fixed by the block contract"
ENGINES = "what shipped studio engines do, where the contract is silent"
DECIDED = "decided by this linter, where contract and engines are silent"


def wrong_type(violation: Violation, lists: Collection[str]) -> Description:
    """Describe a value of a wrong type. A single string in the place of a list gets a fix."""
    pointer, value, expected = violation.pointer, violation.value, violation.expected
    fix = None
    if violation.member in lists and isinstance(value, str) and expected == ("array",):
        fix = safe("wrap it in a list", Replace(pointer, [value]))
    wanted = " or ".join(map(type_in_words, expected))
    return Description(f"{field_at(pointer)} must be {wanted}, not {json_type(value)}", fix)


class BlockDocument(DocumentModels):
    """One file as rules see it."""

    def __init__(self, path: str, kind: BlockKind, document: JsonDocument, options: BlockOptions) -> None:
        self.path = path
        self.kind = kind
        self.document = document
        self.options = options
        self.extended = options.extended
        self.root = document.value if isinstance(document.value, dict) else {}

    @property
    def value(self) -> dict[str, Any]:
        """The root, which is an object whenever a hook is called."""
        return self.root

    @cached_property
    def violations(self) -> list[Violation]:
        """Return what the document breaks of its schema."""
        return validator(self.kind, self.options.extended).violations(self.value) if self.kind in WITH_SCHEMA else []

    @cached_property
    def trace(self) -> Trace:
        """The trace of a run."""
        return Trace(self.value)

    @cached_property
    def definition(self) -> StudioWorkflow:
        """The definition; empty for a document of another kind."""
        is_definition = self.kind is BlockKind.WORKFLOW
        return definition_model(self.value if is_definition else {}, self.options.language, self.violations)


class BlockRule(Rule):
    """A rule of the block contract. Override the hooks that are needed, and only those."""

    kinds: ClassVar[tuple[BlockKind, ...]] = ()  # the documents it checks

    def describe(self, violation: Violation, document: BlockDocument) -> Description | None:
        return None

    def check_document(self, document: BlockDocument, report: Report) -> None:
        """Check a document whose root is an object, even if it has other problems."""

    def check_unit(self, unit: Unit, report: Report) -> None:
        """Check a unit."""
