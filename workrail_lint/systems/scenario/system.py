"""The scenario system: scenario files among the documents that `workrail-lint check` looks at."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from workrail_lint.systems.base import FileResult
from workrail_lint.systems.workrail.kinds import Kind, kind_by_name

if TYPE_CHECKING:
    from workrail_lint.findings import Finding
    from workrail_lint.rules.base import Rule


class ScenarioSystem:
    """Files that end in `.scenario.json`."""

    name = "scenario"

    def rules(self) -> tuple[Rule, ...]:
        from workrail_lint.systems.scenario.rules import all_rules

        return all_rules()

    def claims(self, path: str, data: bytes, named: bool) -> str | None:
        return Kind.SCENARIO.value if kind_by_name(path) is Kind.SCENARIO else None

    def check(self, path: str, data: bytes, kind: str, settings: Any) -> FileResult:
        return self.check_data(path, data, kind, settings)

    def check_data(self, path: str, data: bytes | str, kind: str, settings: Any) -> FileResult:
        """The same for a text that is on no disk."""
        from workrail_lint.systems.scenario.check import Sources, check_scenario
        from workrail_lint.systems.workrail.rules.registry import by_name
        from workrail_lint.systems.workrail.system import locate

        # The project's routines are part of its catalog by now.
        read = check_scenario(path, data, Sources(settings.catalog, None, settings.bindings))
        for finding in read.findings:
            rule = by_name().get(finding.name)
            if rule is not None:
                finding.code, finding.severity = rule.code, rule.severity
        locate(read.findings, read.document, path, fingerprints=bool(settings.options.get("fingerprints")))
        # What is found depends on the workflow, which no content key of this file can speak for.
        return FileResult(read.findings, cacheable=False)

    def cross_check(self, records: dict[str, Any], settings: Any, complete: bool) -> list[Finding]:
        return []
