"""Findings about the text and shape of a scenario file. The system it belongs to checks its content."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import cache
from typing import Any, NamedTuple

from workrail_lint.base.js import Json
from workrail_lint.documents.json_reader import JsonDocument, read_json
from workrail_lint.documents.schema.engine import Validator, Violation, compile_schema
from workrail_lint.findings import Finding
from workrail_lint.rules.locate import reader_finding
from workrail_lint.systems.base import ScenarioKind, resolved, scenario_finding
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
    """The kind whose member a scenario has; one that has none is taken for the last, which is about workflows."""
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
