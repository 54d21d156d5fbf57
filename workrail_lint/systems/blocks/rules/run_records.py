"""Records of a run beside its outputs: mount, environments, prompts."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from workrail_lint.base import js
from workrail_lint.base.closed_sets import words
from workrail_lint.documents.json_reader import read_json
from workrail_lint.documents.nodes import numbered
from workrail_lint.documents.operations import Replace, Respell
from workrail_lint.documents.pointer import child
from workrail_lint.documents.schema.engine import Violation
from workrail_lint.findings import Severity, safe
from workrail_lint.rules.base import Example, Report
from workrail_lint.rules.describing import ANY, Description
from workrail_lint.systems.blocks.documents import BlockKind, id_in_name
from workrail_lint.systems.blocks.model.documents import LocalMount, StudioWorkflow
from workrail_lint.systems.blocks.prompts import (
    NAMES,
    RUN_SCOPE,
    Section,
    difference,
    joined,
    previous_block,
    restrictions_text,
    sections,
    without_revision,
)
from workrail_lint.systems.blocks.rules.base import CONTRACT, DECIDED, ENGINES, BlockDocument, BlockRule
from workrail_lint.systems.blocks.rules.samples import (
    MOUNT_PATH,
    WORKFLOW_PATH,
    edge,
    env_path,
    environment,
    mount,
    output,
    output_path,
    workflow,
)
from workrail_lint.systems.blocks.rules.samples import node as sample_node
from workrail_lint.systems.blocks.units import Unit
from workrail_lint.systems.blocks.vocabulary import RESTRICTION_CHARACTERS, BlockType, RepoSource
from workrail_lint.systems.blocks.wording import json_type, shown, written

_ENV_FILE = env_path()
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
    example_path = _ENV_FILE


def patterns_in(text: str) -> list[str] | None:
    """Return the patterns of a variable; None if it is not a JSON array of strings."""
    document = read_json(text)
    value = document.value
    if not document.readable or document.problems or not isinstance(value, list):
        return None
    patterns = js.strings_of(value)
    return patterns if len(patterns) == len(value) else None


class EnvInvalid(EnvironmentRule):
    code = "BC401"
    name = "env-invalid"
    severity = Severity.ERROR
    origin = CONTRACT
    summary = "A variable of the environment is missing, is not a string, has a wrong value, or is not one of the nine."
    why = "A block knows only its files, prompt and environment; an unset variable does not exist for it."
    fix = "Put the value in quotes."
    fix_safety = "safe"
    describes = ((ANY,),)

    def describe(self, violation: Violation, document: BlockDocument) -> Description:
        name, value = violation.member, violation.value
        if violation.keyword == "required":
            return Description(f"{shown(name)} is missing from the environment", pointer=child("", name))
        if violation.keyword == "type":
            is_scalar = isinstance(value, str | int | float | bool)
            fix = safe("put it in quotes", Replace(violation.pointer, js.text(value))) if is_scalar else None
            return Description(f"{shown(name)} must be a string, not {json_type(value)}", fix)
        return Description(f"{name} must be {_WANTED[name]}, not {shown(value)}")

    def check_document(self, document: BlockDocument, report: Report) -> None:
        value = document.environment.file_restrictions
        if document.environment.has("FILE_RESTRICTIONS") and patterns_in(value) is None:
            text = f"FILE_RESTRICTIONS must be {_WANTED['FILE_RESTRICTIONS']}, not {shown(value)}"
            report("/FILE_RESTRICTIONS", text)
        for name in document.value:
            if name not in NAMES:
                report(
                    child("", name),
                    f"{shown(name)} is not one of the nine variables",
                    on_name=True,
                    severity=Severity.INFO,
                )

    def examples(self) -> Iterator[Example]:
        yield self.example(environment(OUTPUT_DIR=...), environment())
        yield self.example(environment(STEP_INDEX=0), environment(), environment())
        yield self.example(environment(TELEMETRY_ENABLED="true"), environment())
        yield self.example(environment(FILE_RESTRICTIONS="src/**"), environment(FILE_RESTRICTIONS='["src/**"]'))
        yield self.example(environment(HOME="home"), environment())


class EnvRunMismatch(EnvironmentRule):
    code = "BC404"
    name = "env-run-mismatch"
    severity = Severity.ERROR
    origin = CONTRACT
    summary = "A variable of the environment is not the one that the run gives to this block."
    why = "Blocks of one run would work for different runs, restrictions or definitions."

    def check_unit(self, unit: Unit, report: Report) -> None:
        self._env_run_mismatch(unit, report)
        for ident, file in unit.environments.items():
            written = _strings(file.value).get("STEP_INDEX")
            expected = None if unit.plan is None else unit.plan.step_index.get(ident)
            if written is not None and expected is not None and written != str(expected):
                report(
                    "/STEP_INDEX",
                    f"STEP_INDEX of {shown(ident)} must be {shown(expected)}, not {shown(written)}",
                    path=file.path,
                )
        self._env_previous_block(unit, report)
        self._env_restrictions(unit, report)

    def _env_run_mismatch(self, unit: Unit, report: Report) -> None:
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

    def _env_previous_block(self, unit: Unit, report: Report) -> None:
        definition, plan = unit.definition, unit.plan
        if definition is None or plan is None:
            return
        for ident, file in unit.environments.items():
            written = _strings(file.value).get("PREVIOUS_BLOCK_ID")
            if written is None or ident not in plan.position:
                continue
            expected = previous_block(definition, plan, ident, unit.ran)
            if written != expected:
                wanted = shown(expected) if expected else "empty"
                report(
                    "/PREVIOUS_BLOCK_ID",
                    f"PREVIOUS_BLOCK_ID of {shown(ident)} must be {wanted}, not {shown(written)}",
                    path=file.path,
                )

    def _env_restrictions(self, unit: Unit, report: Report) -> None:
        if unit.restrictions is None:
            return
        for file in unit.environments.values():
            patterns = patterns_in(file.environment.file_restrictions)
            if patterns is not None and patterns != unit.restrictions:
                there, here = restrictions_text(unit.restrictions), restrictions_text(patterns)
                report(
                    "/FILE_RESTRICTIONS",
                    f"FILE_RESTRICTIONS is {shown(here)}, but the mount has {shown(there)}",
                    path=file.path,
                )

    def examples(self) -> Iterator[Example]:
        files: dict[str, Any] = {env_path("dev"): environment("dev", "1")}
        yield Example(environment(EXECUTION_ID="run-2"), environment(), path=env_path("plan"), files=files)
        files = {WORKFLOW_PATH: workflow()}
        yield self.example(environment(WORKFLOW_ID="logout"), environment(), files=files)
        yield self.example(environment(step="2"), environment(), files=files)
        files = {WORKFLOW_PATH: workflow(), output_path("plan"): output("plan", "plan")}
        yield self.example(environment(previous="plan"), environment(), files=files)
        files = {MOUNT_PATH: mount(fileRestrictions=["src/**"])}
        yield self.example(environment(), environment(FILE_RESTRICTIONS='["src/**"]'), files=files)


class EnvNodeMismatch(EnvironmentRule):
    code = "BC408"
    name = "env-node-mismatch"
    severity = Severity.ERROR
    origin = DECIDED
    summary = "`NODE_ID` is not the node in the file name."
    why = "The record was made for another block, or the block received the environment of another block."
    example_path = env_path("a")

    def check_document(self, document: BlockDocument, report: Report) -> None:
        named, ident = id_in_name(document.path, BlockKind.ENVIRONMENT), document.environment.node_id
        if named is not None and document.environment.has("NODE_ID") and ident != named:
            report("/NODE_ID", f"the file name says {shown(named)}, but NODE_ID is {shown(ident)}")

    def examples(self) -> Iterator[Example]:
        yield self.example(environment("b"), environment("a"))


def _strings(value: object) -> dict[str, str]:
    return {name: text for name, text in js.members_of(value).items() if isinstance(text, str)}


_SOURCE_MEMBERS = ("source", "localPath", "githubUrl")


class MountRule(BlockRule):
    """A rule about mounts."""

    kinds = (BlockKind.MOUNT,)
    example_path = MOUNT_PATH


class MountSource(MountRule):
    code = "BC360"
    name = "mount-source"
    severity = Severity.ERROR
    origin = ENGINES
    summary = "The source of a mount is unknown, has no path or address, or its address is not https."
    why = "There is no repository to mount, so no block can start."
    describes = (
        (ANY, "required"),
        *((ANY, keyword, name) for keyword in ("type", "enum", "pattern") for name in _SOURCE_MEMBERS),
    )

    def describe(self, violation: Violation, document: BlockDocument) -> Description:
        source, name = shown(document.value.get("source")), violation.member
        if violation.keyword == "required":
            choices = f"expected one of {', '.join(words(RepoSource))}"
            hint = choices if name == "source" else f"{source} requires it"
            return Description(f"{shown(name)} is missing; {hint}", pointer=child("", name))
        value = written(violation.value)
        if name == "source":
            message = f"unknown source {value}; expected one of {', '.join(words(RepoSource))}"
        else:
            message = (
                f"{value} is not {'a path' if name == 'localPath' else 'an https address'}, which {source} requires"
            )
        return Description(message)

    def check_document(self, document: BlockDocument, report: Report) -> None:
        if document.value.get("source") != RepoSource.LOCAL.value or not isinstance(document.mount, LocalMount):
            return
        path = document.mount.local_path
        if document.mount.has("localPath") and js.is_blank(path):
            report("/localPath", f"{shown(path)} is not a path, which {shown(RepoSource.LOCAL.value)} requires")

    def examples(self) -> Iterator[Example]:
        yield self.example(mount(localPath=...), mount())
        yield self.example(mount(localPath=" "), mount())
        remote: dict[str, Any] = {"source": "github", "githubUrl": "https://github.com/example/shop"}
        yield self.example({**remote, "githubUrl": "http://github.com/example/shop"}, remote)


class RestrictionInvalid(MountRule):
    code = "BC361"
    name = "restriction-invalid"
    severity = Severity.ERROR
    origin = DECIDED
    summary = f"A restriction is blank, contains `..`, or has more than {RESTRICTION_CHARACTERS} characters."
    why = "Patterns match paths inside the workspace, which never contain `..`; such a pattern protects nothing."

    def check_document(self, document: BlockDocument, report: Report) -> None:
        for at, pattern in numbered(document.mount.file_restrictions):
            fault = None
            if js.is_blank(pattern):
                fault = "is blank"
            elif ".." in pattern:
                fault = "contains '..', which no path in the workspace does"
            elif len(pattern) > RESTRICTION_CHARACTERS:
                fault = f"has {len(pattern):,} characters; engines accept {RESTRICTION_CHARACTERS}"
            if fault is not None:
                report(f"/fileRestrictions/{at}", f"the restriction {shown(pattern)} {fault}")

    def examples(self) -> Iterator[Example]:
        yield self.example(mount(fileRestrictions=["../**"]), mount(fileRestrictions=["src/**"]))


class MountWithoutEffect(MountRule):
    code = "BC362"
    name = "mount-without-effect"
    severity = Severity.WARNING
    origin = DECIDED
    summary = "A restriction matches no file, or a read-only mount has blocks that edit."
    why = "Usually a folder name is misspelled, so blocks may edit none of the intended files."

    def check_unit(self, unit: Unit, report: Report) -> None:
        self._restriction_dead(unit, report)
        self._read_only_with_editors(unit, report)

    def _restriction_dead(self, unit: Unit, report: Report) -> None:
        if unit.tree is None or unit.mount is None or unit.repo is None:
            return
        patterns = [pattern for pattern in unit.repo.file_restrictions if not js.is_blank(pattern)]
        dead = set(unit.tree.unmatched(patterns)) if patterns else set()
        for at, pattern in numbered(unit.repo.file_restrictions):
            if pattern in dead:
                report(
                    f"/fileRestrictions/{at}",
                    f"{shown(pattern)} matches no file in the workspace",
                    path=unit.mount.path,
                )

    def _read_only_with_editors(self, unit: Unit, report: Report) -> None:
        if unit.definition is None or unit.mount is None or not unit.is_read_only:
            return
        for node in unit.definition.nodes:
            if node.block_type in (BlockType.DEV, BlockType.DEVOPS):
                assert node.block_type is not None
                text = f"the mount is read-only, but the {node.block_type.value} node {shown(node.id)} edits files"
                report("/readOnly", text, path=unit.mount.path)

    def examples(self) -> Iterator[Example]:
        yield self.example(
            mount(fileRestrictions=["srcs/**"]),
            mount(fileRestrictions=["src/**"]),
            files={"src/a.py": "x = 1\n"},
            options={"block-tree": "."},
        )
        flow: dict[str, Any] = {WORKFLOW_PATH: workflow()}
        yield self.example(mount(readOnly=True), mount(readOnly=False), files=flow)


_PROMPT_FILE = ".run/prompt-plan.txt"
# A shorter string may be in any prompt by chance.
_SHORTEST_QUOTE = 8


class PromptRule(BlockRule):
    """A rule about recorded prompts."""

    kinds = (BlockKind.PROMPT,)


def expected_sections(unit: Unit, node_id: str) -> list[Section] | None:
    """Return the expected sections of a node's prompt; None if something that decides them is unknown."""
    definition = unit.definition
    restrictions = unit.restrictions
    if restrictions is None and node_id in unit.environments:
        restrictions = patterns_in(unit.environments[node_id].environment.file_restrictions)
    if definition is None or restrictions is None or node_id not in definition.by_id:
        return None
    return sections(definition, definition.by_id[node_id], restrictions)


class PromptDiffers(PromptRule):
    code = "BC420"
    name = "prompt-differs"
    severity = Severity.ERROR
    origin = CONTRACT
    summary = "A recorded prompt is not the one that the definition and the mount produce."
    why = "The agent read something other than its authors wrote: a section moved, is missing, or was added."
    fix = "Write the assembled prompt into the record."
    fix_safety = "safe"
    example_path = _PROMPT_FILE

    def check_unit(self, unit: Unit, report: Report) -> None:
        for ident, file in unit.prompts.items() if unit.options.prompt_check else ():
            expected = expected_sections(unit, ident)
            if expected is None or not isinstance(file.value, str):
                continue
            change = difference(expected, file.value)
            if change is not None:
                where = "the prompt" if change.part is None else f"the section {shown(change.part.value)}"
                what = _PROBLEMS[change.how].format(where)
                feedback = file.value[len(without_revision(file.value)) :]
                fix = safe("write the assembled prompt", Respell(0, len(file.value), joined(expected) + feedback))
                report("", f"{change.how}: {what}", path=file.path, fix=fix)

    def examples(self) -> Iterator[Example]:
        flow = workflow(sample_node("plan", config={"outputChecklist": ["A task list"]}))
        task, checklist = "Plan the login page.", "You must produce the following outputs:\n1) A task list"
        files: dict[str, Any] = {WORKFLOW_PATH: flow, MOUNT_PATH: mount()}
        good = f"{task}\n\n{checklist}"
        yield self.example(f"{checklist}\n\n{task}", good, good, files=files)
        yield self.example(f"{task}\n\n\n{checklist}", good, good, files=files)


_PROBLEMS = {
    "order": "{} is in the wrong place",
    "separator": "{} must be separated by exactly one blank line",
    "missing": "{} is missing",
    "extra": "{} is surrounded by text that belongs to no section",
    "text": "{} has a different wording",
}


class PromptInlinesOutput(PromptRule):
    code = "BC421"
    name = "prompt-inlines-output"
    severity = Severity.ERROR
    origin = CONTRACT
    summary = "A prompt quotes the output of an earlier block."
    why = "Agents read earlier outputs from the output folder; quoted in prompts they bloat every later prompt."
    example_path = ".run/prompt-dev.txt"

    def check_unit(self, unit: Unit, report: Report) -> None:
        for ident, file in unit.prompts.items():
            if isinstance(file.value, str):
                for earlier in _quoted(unit, ident, without_revision(file.value)):
                    report("", f"the prompt quotes the output of the block {shown(earlier)}", path=file.path)

    def examples(self) -> Iterator[Example]:
        flow = workflow(sample_node("plan"), sample_node("dev", "coding", "Build it."), edges=[edge("plan", "dev")])
        plan = output("plan", "plan", summary="Three tasks: a form, a route and a test.")
        files: dict[str, Any] = {WORKFLOW_PATH: flow, output_path("plan"): plan}
        bad = "Build it.\n\nThree tasks: a form, a route and a test."
        yield self.example(bad, "Build it.", files=files)


def _quoted(unit: Unit, ident: str, prompt: str) -> Iterator[str]:
    """Yield the earlier blocks that a prompt quotes, unless its author wrote the same words."""
    own = "" if unit.definition is None else _authored(unit.definition, ident)
    for earlier, file in unit.outputs.items():
        if earlier == ident or not _is_before(unit, earlier, ident):
            continue
        for text in (file.output.summary, file.output.raw.get("document", "")):
            quote = text.strip()
            if len(quote) >= _SHORTEST_QUOTE and quote in prompt and quote not in own:
                yield earlier
                break


def _authored(definition: StudioWorkflow, ident: str) -> str:
    return joined(sections(definition, definition.by_id[ident])) if ident in definition.by_id else ""


def _is_before(unit: Unit, earlier: str, ident: str) -> bool:
    plan = unit.plan
    if plan is None or earlier not in plan.position or ident not in plan.position:
        return True  # without a plan every other output may be an earlier one
    return plan.position[earlier] < plan.position[ident]
