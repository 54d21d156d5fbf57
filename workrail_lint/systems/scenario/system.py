"""The scenario system: scenario files among the documents that `workrail-lint check` looks at."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from typing import Any, NamedTuple, cast

from workrail_lint.base.js import Json
from workrail_lint.documents.json_reader import JsonDocument, read_json
from workrail_lint.documents.schema.engine import Validator, Violation, compile_schema
from workrail_lint.findings import Finding
from workrail_lint.rules.locate import locate, reader_finding
from workrail_lint.systems.base import (
    FileResult,
    RunSettings,
    ScenarioKind,
    System,
    is_set_by_caller,
    resolved,
    scenario_finding,
)
from workrail_lint.systems.scenario.rules import RULES
from workrail_lint.systems.schemas import load_schema

Describe = Callable[[Iterable[Violation], "dict[str, Json]"], "list[Finding]"]


class ReadScenario(NamedTuple):
    """A scenario file that was read. What it holds can be used when nothing was found."""

    document: JsonDocument
    findings: list[Finding]

    @property
    def value(self) -> dict[str, Any]:
        value = self.document.value
        return value if isinstance(value, dict) else {}


def kind_of(value: dict[str, Any], kinds: Sequence[ScenarioKind]) -> ScenarioKind:
    """Return the kind whose member a scenario has.

    One that has none is taken for the last, which is about workflows.
    """
    return next((kind for kind in kinds if kind.member in value), kinds[-1])


@cache
def _validator(schema: str) -> Validator:
    # A system that is not ours has its schema where it says.
    if ":" in schema:
        return compile_schema(resolved(schema))  # another package's: what is wrong with it is to be known at once
    return compile_schema(load_schema(schema), on_demand=True)


def read_scenario(data: bytes | str, kinds: Sequence[ScenarioKind], describe: Describe) -> ReadScenario:
    """Read a scenario and check its shape, and nothing that needs another file."""
    document = read_json(data)
    findings = [
        reader_finding(problem, document.source, None, cut=False) for problem in document.problems if problem.blocking
    ]
    if document.readable and not isinstance(document.value, dict):
        findings.append(scenario_finding("json-syntax", "", "the document must be a JSON object"))
    elif document.readable:
        value: Any = document.value
        findings += describe(_validator(kind_of(value, kinds).schema).violations(value), value)
    return ReadScenario(document, findings)


SUFFIX = ".scenario.json"


class ScenarioSystem(System):
    """Files that end in `.scenario.json`. What they say is judged by the system that they are about."""

    name = "scenario"
    table = RULES
    suffixes = (SUFFIX,)

    def claims(self, path: str, data: bytes, named: bool) -> str | None:
        return "scenario" if path.endswith(SUFFIX) else None

    def read(self, data: bytes | str) -> ReadScenario:
        """Read a scenario and check its shape, and nothing that needs another file."""
        return read_scenario(data, self._kinds, self.peers[-1].describe)

    def kind_of(self, value: dict[str, Any]) -> ScenarioKind:
        """Return the kind of a scenario."""
        return kind_of(value, self._kinds)

    def check(self, path: str, data: bytes | str, kind: str, settings: RunSettings) -> FileResult:
        read = self.read(data)
        findings = list(read.findings)
        if not findings:
            findings += self.kind_of(read.value).findings(read.value, os.path.dirname(path), settings)
        if findings:
            # A slip in the text or the shape goes by the rule about workflows.
            rules = {info.name: info for info in (*self.peers[-1].rules(), *RULES.infos)}
            for finding in findings:
                rule = rules[finding.name]
                finding.code, finding.severity = rule.code, rule.severity
        locate(findings, read.document, path, value=read.document.value, fingerprints=settings.fingerprints)
        # What is found depends on the workflow, which no content key of this file can speak for.
        return FileResult(findings, _context_of(path, read.value), cacheable=False)

    def reconsider(self, findings: list[Finding], records: Mapping[str, object]) -> list[Finding]:
        """Drop findings about variables that a scenario sets when it starts its workflow."""
        given: dict[str, set[str]] = {}
        for record in records.values():
            workflow, names = cast("tuple[str, list[str]]", record)
            given.setdefault(workflow, set()).update(names)
        return [finding for finding in findings if not is_set_by_caller(finding, given)]

    @property
    def _kinds(self) -> list[ScenarioKind]:
        return [peer.scenario for peer in self.peers if peer.scenario is not None]


def _context_of(path: str, value: object) -> list[object] | None:
    """Return the workflow of a scenario and the variables it starts with, for the check of the workflow."""
    if not isinstance(value, dict):
        return None
    workflow, context = value.get("workflow"), value.get("context")
    if not isinstance(workflow, str) or not isinstance(context, dict):
        return None
    return [os.path.normpath(os.path.join(os.path.dirname(path), workflow)), sorted(context)]
