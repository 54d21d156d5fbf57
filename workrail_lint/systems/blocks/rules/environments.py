"""BC401 to BC409: recorded environments."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from workrail_lint.base import js
from workrail_lint.documents.operations import Replace
from workrail_lint.documents.pointer import child
from workrail_lint.findings import Severity, safe
from workrail_lint.rules.base import Example, Report
from workrail_lint.rules.describing import ANY, Description
from workrail_lint.systems.blocks.documents import BlockKind, id_in_name
from workrail_lint.systems.blocks.environment import NAMES, RUN_SCOPE, previous_block, restrictions_text
from workrail_lint.systems.blocks.rules.base import CONTRACT, DECIDED, BlockDocument, BlockRule
from workrail_lint.systems.blocks.rules.samples import (
    MOUNT_PATH,
    WORKFLOW_PATH,
    env_path,
    environment,
    mount,
    output,
    output_path,
    workflow,
)
from workrail_lint.systems.blocks.units import Unit
from workrail_lint.systems.blocks.wording import json_type, shown

if TYPE_CHECKING:
    from workrail_lint.documents.schema.engine import Violation

_FILE = env_path()
_WANTED = {
    "STEP_INDEX": "a decimal number without a sign",
    "TELEMETRY_ENABLED": "'0' or '1'",
    "TELEMETRY_URL": "an http or https address",
    "OUTPUT_DIR": "'/workspace/.output'",
    "FILE_RESTRICTIONS": "a JSON array of strings",
}


class EnvironmentRule(BlockRule):
    """A rule about recorded environments."""

    kinds = (BlockKind.ENVIRONMENT,)


def patterns_in(text: object) -> list[str] | None:
    """The patterns of a variable; None if it is not a JSON array of strings."""
    from workrail_lint.documents.json_reader import read_json

    if not isinstance(text, str):
        return None
    document = read_json(text)
    value = document.value
    if not document.readable or document.problems or not isinstance(value, list):
        return None
    patterns = [item for item in value if isinstance(item, str)]
    return patterns if len(patterns) == len(value) else None


class EnvMissing(EnvironmentRule):
    code = "BC401"
    name = "env-missing"
    severity = Severity.ERROR
    origin = CONTRACT
    summary = "One of the nine environment variables is missing."
    why = "A block knows only its files, prompt and environment; an unset variable does not exist for it."
    describes = ((ANY, "required"),)

    def describe(self, violation: Violation, document: BlockDocument) -> Description:
        name = violation.member
        return Description(f"{shown(name)} is missing from the environment", pointer=child("", name))

    def examples(self) -> Iterator[Example]:
        yield Example(environment(OUTPUT_DIR=...), environment(), path=_FILE)


class EnvNotString(EnvironmentRule):
    code = "BC402"
    name = "env-not-string"
    severity = Severity.ERROR
    origin = CONTRACT
    summary = "The value of an environment variable is not a string."
    why = "An environment holds only strings; a record with other types does not show what the block saw."
    fix = "Put the value in quotes."
    fix_safety = "safe"
    describes = ((ANY, "type"),)

    def describe(self, violation: Violation, document: BlockDocument) -> Description:
        value = violation.value
        fix = None
        if isinstance(value, str | int | float | bool):
            fix = safe("put it in quotes", Replace(violation.pointer, js.text(value)))
        return Description(f"{shown(violation.pointer[1:])} must be a string, not {json_type(value)}", fix)

    def examples(self) -> Iterator[Example]:
        yield Example(environment(STEP_INDEX=0), environment(), environment(), path=_FILE)


class EnvValue(EnvironmentRule):
    code = "BC403"
    name = "env-value"
    severity = Severity.ERROR
    origin = CONTRACT
    summary = "An environment variable has an invalid value."
    why = "Agents take the values literally: another folder, or a flag like `true`, misleads them."
    describes = ((ANY, "pattern"), (ANY, "enum"))

    def describe(self, violation: Violation, document: BlockDocument) -> Description:
        name = violation.member
        return Description(f"{name} must be {_WANTED[name]}, not {shown(violation.value)}")

    def check_document(self, document: BlockDocument, report: Report) -> None:
        value = document.value.get("FILE_RESTRICTIONS")
        if isinstance(value, str) and patterns_in(value) is None:
            text = f"FILE_RESTRICTIONS must be {_WANTED['FILE_RESTRICTIONS']}, not {shown(value)}"
            report("/FILE_RESTRICTIONS", text)

    def examples(self) -> Iterator[Example]:
        yield Example(environment(TELEMETRY_ENABLED="true"), environment(), path=_FILE)
        yield Example(environment(FILE_RESTRICTIONS="src/**"), environment(FILE_RESTRICTIONS='["src/**"]'), path=_FILE)


class EnvRunMismatch(EnvironmentRule):
    code = "BC404"
    name = "env-run-mismatch"
    severity = Severity.ERROR
    origin = CONTRACT
    summary = "A variable that applies to a whole run differs between blocks, or names another definition."
    why = "Blocks of one run would work for different runs, restrictions or definitions."

    def check_unit(self, unit: Unit, report: Report) -> None:
        first: dict[str, tuple[str, str]] = {}
        for _, file in sorted(unit.environments.items(), key=lambda item: item[1].path):
            for name, value in _strings(file.value).items():
                if name == "WORKFLOW_ID" and unit.definition is not None and unit.definition.id:
                    if value != unit.definition.id:
                        text = f"WORKFLOW_ID is {shown(value)}, but the definition is {shown(unit.definition.id)}"
                        report(f"/{name}", text, path=file.path)
                elif name in RUN_SCOPE:
                    path, expected = first.setdefault(name, (file.path, value))
                    if value != expected:
                        text = f"{name} is {shown(value)} here, but {shown(expected)} in {shown(path)}"
                        report(f"/{name}", text, path=file.path)

    def examples(self) -> Iterator[Example]:
        files: dict[str, Any] = {env_path("dev"): environment("dev", "1")}
        yield Example(environment(EXECUTION_ID="run-2"), environment(), path=env_path("plan"), files=files)
        flow: dict[str, Any] = {WORKFLOW_PATH: workflow()}
        yield Example(environment(WORKFLOW_ID="logout"), environment(), path=_FILE, files=flow)


class EnvStepIndex(EnvironmentRule):
    code = "BC405"
    name = "env-step-index"
    severity = Severity.ERROR
    origin = CONTRACT
    summary = "`STEP_INDEX` is not the number of the node in the plan."
    why = "Numbers are fixed before a run starts; another number means that blocks ran in an unplanned order."

    def check_unit(self, unit: Unit, report: Report) -> None:
        for node, file in unit.environments.items():
            found = _strings(file.value).get("STEP_INDEX")
            expected = None if unit.plan is None else unit.plan.step_index.get(node)
            if found is not None and expected is not None and found != str(expected):
                report(
                    "/STEP_INDEX",
                    f"STEP_INDEX of {shown(node)} must be {shown(expected)}, not {shown(found)}",
                    path=file.path,
                )

    def examples(self) -> Iterator[Example]:
        files: dict[str, Any] = {WORKFLOW_PATH: workflow()}
        yield Example(environment(step="2"), environment(), path=_FILE, files=files)


class EnvPreviousBlock(EnvironmentRule):
    code = "BC406"
    name = "env-previous-block"
    severity = Severity.ERROR
    origin = CONTRACT
    summary = "`PREVIOUS_BLOCK_ID` is not the block that comes before in the plan."
    why = "The agent reads the output of the wrong block, or of none."

    def check_unit(self, unit: Unit, report: Report) -> None:
        definition, plan = unit.definition, unit.plan
        if definition is None or plan is None:
            return
        for node, file in unit.environments.items():
            found = _strings(file.value).get("PREVIOUS_BLOCK_ID")
            if found is None or node not in plan.position:
                continue
            expected = previous_block(definition, plan, node, unit.ran)
            if found != expected:
                wanted = shown(expected) if expected else "empty"
                report(
                    "/PREVIOUS_BLOCK_ID",
                    f"PREVIOUS_BLOCK_ID of {shown(node)} must be {wanted}, not {shown(found)}",
                    path=file.path,
                )

    def examples(self) -> Iterator[Example]:
        files: dict[str, Any] = {WORKFLOW_PATH: workflow(), output_path("plan"): output("plan", "plan")}
        yield Example(environment(previous="plan"), environment(), path=_FILE, files=files)


class EnvRestrictions(EnvironmentRule):
    code = "BC407"
    name = "env-restrictions"
    severity = Severity.ERROR
    origin = CONTRACT
    summary = "The restrictions in the environment are not those of the mount."
    why = "Hooks enforce the variable, so they allow what the mount forbids, or the other way round."

    def check_unit(self, unit: Unit, report: Report) -> None:
        if unit.restrictions is None:
            return
        for file in unit.environments.values():
            found = patterns_in(_strings(file.value).get("FILE_RESTRICTIONS"))
            if found is not None and found != unit.restrictions:
                there, here = restrictions_text(unit.restrictions), restrictions_text(found)
                report(
                    "/FILE_RESTRICTIONS",
                    f"FILE_RESTRICTIONS is {shown(here)}, but the mount has {shown(there)}",
                    path=file.path,
                )

    def examples(self) -> Iterator[Example]:
        files: dict[str, Any] = {MOUNT_PATH: mount(fileRestrictions=["src/**"])}
        yield Example(environment(), environment(FILE_RESTRICTIONS='["src/**"]'), path=_FILE, files=files)


class EnvNodeMismatch(EnvironmentRule):
    code = "BC408"
    name = "env-node-mismatch"
    severity = Severity.ERROR
    origin = DECIDED
    summary = "`NODE_ID` is not the node in the file name."
    why = "The record was made for another block, or the block received the environment of another block."

    def check_document(self, document: BlockDocument, report: Report) -> None:
        named, ident = id_in_name(document.path, BlockKind.ENVIRONMENT), document.value.get("NODE_ID")
        if named is not None and isinstance(ident, str) and ident != named:
            report("/NODE_ID", f"the file name says {shown(named)}, but NODE_ID is {shown(ident)}")

    def examples(self) -> Iterator[Example]:
        yield Example(environment("b"), environment("a"), path=env_path("a"))


class EnvExtra(EnvironmentRule):
    code = "BC409"
    name = "env-extra"
    severity = Severity.INFO
    origin = DECIDED
    summary = "The environment has a variable other than the nine."
    why = "A block that relies on it does not run the same everywhere; records should hold what the contract promises."

    def check_document(self, document: BlockDocument, report: Report) -> None:
        for name in document.value:
            if name not in NAMES:
                report(child("", name), f"{shown(name)} is not one of the nine variables", on_name=True)

    def examples(self) -> Iterator[Example]:
        yield Example(environment(HOME="home"), environment(), path=_FILE)


def _strings(value: object) -> dict[str, str]:
    return {name: text for name, text in value.items() if isinstance(text, str)} if isinstance(value, dict) else {}
