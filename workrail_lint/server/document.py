"""An open document: its text, what checking it said, and what is known about it as long as it can be read."""

from __future__ import annotations

import os
from functools import cached_property
from typing import Any, NamedTuple

from workrail_lint.documents.json_reader import JsonDocument, read_json
from workrail_lint.documents.pointer import encode
from workrail_lint.documents.schema.walk import SchemaWalk
from workrail_lint.documents.yaml_reader import YamlDocument, read_yaml
from workrail_lint.findings import Finding
from workrail_lint.project.config import OWN_FILE, SHARED_FILE
from workrail_lint.server.configuration import findings, is_valid
from workrail_lint.server.place import Place, place_at, raw_offsets, yaml_place
from workrail_lint.server.positions import shifted
from workrail_lint.server.projects import Project
from workrail_lint.systems.schemas import kinds, schema_walk
from workrail_lint.systems.workrail.analysis.analysis import Analysis, analyse
from workrail_lint.systems.workrail.analysis.inputs import configured_inputs
from workrail_lint.systems.workrail.check import CheckedDocument, check_document
from workrail_lint.systems.workrail.compat import normalize
from workrail_lint.systems.workrail.compile import read_for_compiling
from workrail_lint.systems.workrail.model.build import step_model, workflow_model
from workrail_lint.systems.workrail.model.workflow import Step, Workflow

CONFIGURATION = "configuration"
# Kinds that are described by the schema of another.
_SCHEMAS = {"routine": "workflow", "workflow?": "workflow"}


class Checked(NamedTuple):
    """The findings of a text; if it can't be read, also those of the last readable version."""

    findings: list[Finding]
    stale: list[Finding]


class OpenDocument:
    """A text under a path. A new text makes a new one, which remembers the last one that could be read."""

    def __init__(self, path: str, text: str, project: Project, before: OpenDocument | None = None) -> None:
        self.path = path
        self.text = text
        self.project = project
        self._before = before
        self._earlier_analysis: Analysis | None = None
        if before is not None:
            self._earlier_analysis = before.__dict__.get("analysis") or before._earlier_analysis
            if before.is_readable:
                before._before = None  # one is enough: a chain of all texts would never be freed
            else:
                self._before, before._before = before._before, None

    @property
    def last_good(self) -> OpenDocument | None:
        """The last text that could be read, if it is not this one."""
        if self.is_readable:
            self._before = None
        return self._before

    @property
    def is_json(self) -> bool:
        return self.path.endswith(".json") or "." not in os.path.basename(self.path)

    @cached_property
    def json(self) -> JsonDocument:
        """The JSON of a text; that of any other text can't be read."""
        return read_json(self.text, max_bytes=None)

    @cached_property
    def tree(self) -> JsonDocument | YamlDocument | None:
        """Return what has values and their places; None for prose."""
        if self.is_json:
            return self.json
        return read_yaml(self.text) if self.path.endswith((".yaml", ".yml")) else None

    @cached_property
    def is_readable(self) -> bool:
        if self.kind == CONFIGURATION:
            return is_valid(self.text)
        return self.tree is None or self.tree.readable

    @cached_property
    def kind(self) -> str | None:
        """The kind of the document, None if it is not a document of ours."""
        if os.path.basename(self.path) in (OWN_FILE, SHARED_FILE):
            return CONFIGURATION
        claim = self.project.claim(self.path, self.text.encode("utf-8", "surrogatepass"))
        return None if claim is None else claim.kind

    @property
    def is_workflow(self) -> bool:
        return _SCHEMAS.get(self.kind or "", self.kind) == "workflow"

    def findings_of(self, text: str) -> list[Finding]:
        """Return what the project's rules say about a text under this path."""
        if self.kind == CONFIGURATION:
            return findings(self.path, text, self.project)
        return self.project.findings(self.path, text) or []

    @cached_property
    def checked(self) -> Checked:
        """The findings of this text; while it can't be read, also those of the last one that could."""
        findings = self.findings_of(self.text)
        earlier = self.last_good
        if earlier is None:
            return Checked(findings, [])
        stale = shifted(earlier.checked.findings, earlier.text, self.text)
        current = {(finding.code, finding.message) for finding in findings}
        return Checked(findings, [one for one in stale if (one.code, one.message) not in current])

    @property
    def known(self) -> OpenDocument:
        """The last text that could be read, which may be this one: what completion and hover know is from there."""
        return self.last_good or self

    @cached_property
    def value(self) -> Any:
        return self.tree.value if self.tree is not None and self.tree.readable else None

    @cached_property
    def compiled(self) -> CheckedDocument:
        data = self.text.encode("utf-8", "surrogatepass")
        return check_document(read_for_compiling(data), self.path, self.project.settings, None)

    @cached_property
    def workflow(self) -> Workflow:
        """The model of a workflow as it is written; that of anything else is empty."""
        return workflow_model(self.value if self.is_workflow and isinstance(self.value, dict) else {})

    @cached_property
    def steps(self) -> list[Step]:
        """The steps of the top level and of inline bodies, in order."""
        tops = [_meant(step) for step in self.workflow.steps]
        return [step for top in tops for step in (top, *top.body_steps)]

    @cached_property
    def analysis(self) -> Analysis | None:
        """Return what is known about variables; for a workflow that does not compile, as far as that goes."""
        if not self.is_workflow or self.workflow.raw is not self.value:
            return None
        definition = normalize(self.value).document
        workflow = self.workflow if definition is self.value else workflow_model(definition)
        return analyse(
            workflow,
            self.project.settings.catalog,
            compiled=self.compiled.compiled,
            path=self.path,
            given=configured_inputs(self.project.plan.settings.options, workflow.id),
        )

    @property
    def recent_analysis(self) -> Analysis | None:
        """The analysis of this text, or of an earlier one, which is good enough for names, while the user types."""
        if "analysis" not in self.__dict__ and self._earlier_analysis is not None and self.is_workflow:
            return self._earlier_analysis
        return self.analysis

    @property
    def walk(self) -> SchemaWalk | None:
        kind = _SCHEMAS.get(self.kind or "", self.kind)
        if kind == "scenario" and isinstance(self.value, dict):
            declared = (system.scenario for system in self.project.plan.systems)
            kind = next((each.schema for each in declared if each is not None and each.member in self.value), kind)
        if kind == "workflow" and self.project.settings.release is not None:
            return self.project.settings.release.walk
        return schema_walk(kind) if kind in kinds() else None

    def place(self, offset: int) -> Place:
        """Return the place of a cursor."""
        if self.is_json:
            return place_at(self.text, offset)
        if self.path.endswith((".yaml", ".yml")):
            return yaml_place(self.text, offset)
        return Place((), False, offset, offset, False, "")

    def at(self, tokens: tuple[str, ...]) -> Any:
        """Return the value at a place, None where there is none."""
        value = self.value
        for token in tokens:
            if isinstance(value, dict) and token in value:
                value = value[token]
            elif isinstance(value, list) and token.isdecimal() and int(token) < len(value):
                value = value[int(token)]
            else:
                return None
        return value

    def string_at(self, tokens: tuple[str, ...]) -> str | None:
        """Return the string at a place, None where there is another value or none."""
        value = self.at(tokens)
        return value if isinstance(value, str) else None

    def range_of(self, tokens: tuple[str, ...] | str, on_name: bool = False) -> tuple[int, int] | None:
        """Return the offsets of a value, or of its name."""
        pointer = tokens if isinstance(tokens, str) else encode(tokens)
        node = None if self.tree is None else self.tree.node(pointer)
        return None if node is None else node.extent(on_name)

    def part_of(self, pointer: str, start: int, end: int) -> tuple[int, int] | None:
        """Return the offsets of a part of a JSON string, which is given by its own code points."""
        node = self.json.node(pointer)
        if node is None or self.text[node.start : node.start + 1] != '"':
            return None
        offsets = raw_offsets(self.text[node.start : node.end])
        if end >= len(offsets):
            return None
        return node.start + offsets[start], node.start + offsets[end]


def _meant(step: Step) -> Step:
    """Return the loop that a step with a body is going to be, else the step.

    While its `type` is missing or half written, the model takes it for a standard step, which has no body.
    """
    if step.kind != "standard" or "body" not in step:
        return step
    return step_model({**step.raw, "type": "loop"}, step.pointer)
