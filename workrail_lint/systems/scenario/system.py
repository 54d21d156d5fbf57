"""The scenario system: scenario files among the documents that `workrail-lint check` looks at."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any, cast

from workrail_lint.findings import Finding
from workrail_lint.rules.base import Rule
from workrail_lint.rules.locate import locate
from workrail_lint.rules.table import RuleInfo
from workrail_lint.systems.base import FileResult, RunSettings, ScenarioKind, System, is_set_by_caller
from workrail_lint.systems.scenario.check import ReadScenario, kind_of, read_scenario
from workrail_lint.systems.scenario.rules import RULES

SUFFIX = ".scenario.json"


class ScenarioSystem(System):
    """Files that end in `.scenario.json`. What they say is judged by the system that they are about."""

    name = "scenario"
    suffixes = (SUFFIX,)

    def rules(self) -> Sequence[RuleInfo]:
        return RULES.infos

    def rule(self, name: str) -> Rule:
        return RULES.rule(name)

    def claims(self, path: str, data: bytes, named: bool) -> str | None:
        return "scenario" if path.endswith(SUFFIX) else None

    def read(self, data: bytes | str) -> ReadScenario:
        """Read a scenario and check its shape, and nothing that needs another file."""
        return read_scenario(data, self._kinds, self.peers[-1].describe)

    def kind_of(self, value: dict[str, Any]) -> ScenarioKind:
        """The kind of a scenario."""
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
        """Variables that a scenario starts its workflow with are set."""
        given: dict[str, set[str]] = {}
        for record in records.values():
            workflow, names = cast("tuple[str, list[str]]", record)
            given.setdefault(workflow, set()).update(names)
        return [finding for finding in findings if not is_set_by_caller(finding, given)]

    @property
    def _kinds(self) -> list[ScenarioKind]:
        return [peer.scenario for peer in self.peers if peer.scenario is not None]


def _context_of(path: str, value: object) -> list[object] | None:
    """The workflow of a scenario and the variables it starts with, for the check of the workflow."""
    if not isinstance(value, dict):
        return None
    workflow, context = value.get("workflow"), value.get("context")
    if not isinstance(workflow, str) or not isinstance(context, dict):
        return None
    return [os.path.normpath(os.path.join(os.path.dirname(path), workflow)), sorted(context)]
