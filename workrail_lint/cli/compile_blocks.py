"""Compiling a studio definition: the plan and the prompts of its blocks, or what stands in their way."""

from __future__ import annotations

from typing import Any

from workrail_lint.base.canonical import canonical_bytes
from workrail_lint.base.result import Ok
from workrail_lint.base.terminal import printable
from workrail_lint.cli import UsageError
from workrail_lint.cli.arguments import Workflow
from workrail_lint.cli.reporting import report_errors
from workrail_lint.documents.json_reader import read_json
from workrail_lint.findings import Severity
from workrail_lint.systems.blocks.documents import BlockKind
from workrail_lint.systems.blocks.ir import compile_definition
from workrail_lint.systems.blocks.system import BlockSystem
from workrail_lint.systems.workrail.settings import Settings


def compiled_definition(file: Workflow, active: Settings, target: str) -> tuple[str, bytes] | None:
    """The id of a definition and the canonical bytes of its IR, or None (and a report) when it has none."""
    if target != "ir":
        raise UsageError(f"{printable(file.path)} is a definition of blocks, for which there is no --target {target}")
    found = BlockSystem().check_data(file.path, file.data, BlockKind.WORKFLOW.value, active).findings
    errors = [finding for finding in found if finding.severity is Severity.ERROR]
    if errors:
        report_errors(errors)
        return None
    value: Any = read_json(file.data).value
    compiled = compile_definition(value)
    assert isinstance(compiled, Ok), "a definition without errors has a plan"
    return value["id"], canonical_bytes(compiled.value)
