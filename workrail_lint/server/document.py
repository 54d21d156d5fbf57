"""An open document: its text, what checking it said, and what is known about it as long as it can be read."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

from workrail_lint.documents.json_reader import JsonDocument, read_json
from workrail_lint.documents.pointer import encode
from workrail_lint.documents.schema_walk import SchemaWalk
from workrail_lint.findings import Finding
from workrail_lint.project.run import Plan, reported_outcome
from workrail_lint.server.place import raw_offsets
from workrail_lint.systems.schemas import kinds, load_schema
from workrail_lint.systems.workrail.check import CheckedDocument, check_document
from workrail_lint.systems.workrail.compat import normalize
from workrail_lint.systems.workrail.compile import read_for_compiling
from workrail_lint.systems.workrail.settings import Settings

if TYPE_CHECKING:
    from workrail_lint.systems.workrail.analysis.analysis import Analysis

# Kinds that are described by the schema of another.
_SCHEMAS = {"routine": "workflow", "workflow?": "workflow"}


class Setup(NamedTuple):
    """What the project says about a document: how it is checked, and with which catalog it is compiled."""

    plan: Plan
    settings: Settings


class Checked(NamedTuple):
    """What checking a text said; and, where it can't be read, what an earlier one had."""

    findings: list[Finding]
    stale: list[Finding]


class OpenDocument:
    """A text under a path. A new text makes a new one, which remembers what the last readable one said."""

    def __init__(self, path: str, text: str, setup: Callable[[str], Setup], before: OpenDocument | None = None) -> None:
        self.path = path
        self.text = text
        self._setup_of = setup
        self._last_good: OpenDocument | None = None
        if before is not None:
            self._last_good = before if before.json.readable else before._last_good

    @cached_property
    def setup(self) -> Setup:
        return self._setup_of(self.path)

    @cached_property
    def json(self) -> JsonDocument:
        return read_json(self.text, max_bytes=None)

    @cached_property
    def kind(self) -> str | None:
        data = self.text.encode("utf-8", "surrogatepass")
        for system in self.setup.plan.systems:
            kind = system.claims(self.path, data, True)
            if kind is not None:
                return kind
        return None

    @property
    def is_workflow(self) -> bool:
        return _SCHEMAS.get(self.kind or "", self.kind) == "workflow"

    def findings_of(self, text: str) -> list[Finding]:
        """What the project's rules say about a text under this path."""
        plan = self.setup.plan
        data = text.encode("utf-8", "surrogatepass")
        for system in plan.systems:
            kind = system.claims(self.path, data, True)
            if kind is not None:
                found = system.check_data(self.path, data, kind, plan.settings).findings
                return reported_outcome(found, [self.path], plan).findings
        return []

    @cached_property
    def checked(self) -> Checked:
        """The findings of this text; while it can't be read, also those of the last one that could."""
        findings = self.findings_of(self.text)
        earlier = self._last_good if not self.json.readable else None
        if earlier is None:
            return Checked(findings, [])
        codes = {finding.code for finding in findings}
        return Checked(findings, [one for one in earlier.checked.findings if one.code not in codes])

    @cached_property
    def known(self) -> OpenDocument:
        """The last text that could be read, which may be this one: what completion and hover know is from there."""
        return self if self.json.readable or self._last_good is None else self._last_good

    @cached_property
    def value(self) -> Any:
        return self.json.value if self.json.readable else None

    @cached_property
    def compiled(self) -> CheckedDocument:
        data = self.text.encode("utf-8", "surrogatepass")
        return check_document(read_for_compiling(data), self.path, self.setup.settings, None)

    @cached_property
    def analysis(self) -> Analysis | None:
        """What is known about variables; for a workflow that does not compile, as far as that goes."""
        from workrail_lint.systems.workrail.analysis.build import analyse

        if not self.is_workflow or not isinstance(self.value, dict):
            return None
        try:
            definition = normalize(self.value).document
            return analyse(definition, self.setup.settings.catalog, compiled=self.compiled.compiled, path=self.path)
        except (KeyError, TypeError, AttributeError, ValueError):
            return None  # a document whose parts have wrong types, which its findings say

    @cached_property
    def walk(self) -> SchemaWalk | None:
        kind = _SCHEMAS.get(self.kind or "", self.kind)
        return SchemaWalk(load_schema(kind)) if kind in kinds() else None

    def at(self, tokens: tuple[str, ...]) -> Any:
        """The value at a place, None where there is none."""
        value = self.value
        for token in tokens:
            if isinstance(value, dict) and token in value:
                value = value[token]
            elif isinstance(value, list) and token.isdecimal() and int(token) < len(value):
                value = value[int(token)]
            else:
                return None
        return value

    def range_of(self, tokens: tuple[str, ...] | str, on_name: bool = False) -> tuple[int, int] | None:
        """The offsets of a value, or of its name."""
        node = self.json.node(tokens if isinstance(tokens, str) else encode(tokens))
        if node is None:
            return None
        if on_name and node.name_start is not None and node.name_end is not None:
            return node.name_start, node.name_end
        return node.start, node.end

    def part_of(self, pointer: str, start: int, end: int) -> tuple[int, int] | None:
        """The offsets of a part of a string, which is given by its own code points."""
        node = self.json.node(pointer)
        if node is None or self.text[node.start : node.start + 1] != '"':
            return None
        offsets = raw_offsets(self.text[node.start : node.end])
        if end >= len(offsets):
            return None
        return node.start + offsets[start], node.start + offsets[end]
