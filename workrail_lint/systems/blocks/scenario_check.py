"""Problems of a block scenario that its schema can't express: files, nodes, paths and answers that do not fit."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from workrail_lint.base.closed_sets import words
from workrail_lint.base.files import read_file
from workrail_lint.base.result import Err, Ok
from workrail_lint.base.suggest import did_you_mean, nearest, nearest_id
from workrail_lint.documents.nodes import Build
from workrail_lint.documents.pointer import child
from workrail_lint.findings import Finding, Severity
from workrail_lint.systems.base import RunSettings, scenario_finding
from workrail_lint.systems.blocks.check import check_document, read_document
from workrail_lint.systems.blocks.documents import BlockKind
from workrail_lint.systems.blocks.expressions import parse_expression
from workrail_lint.systems.blocks.model.documents import Block, BlockScenario, Expectations, StudioWorkflow
from workrail_lint.systems.blocks.options import BlockOptions, block_options
from workrail_lint.systems.blocks.outputs import MANUAL
from workrail_lint.systems.blocks.paths import OUTPUT_FOLDER, is_agents_path
from workrail_lint.systems.blocks.rules import RULES
from workrail_lint.systems.blocks.rules.definition_graph import expressions
from workrail_lint.systems.blocks.vocabulary import (
    ABORT,
    CONTINUE,
    NO_OUTPUT,
    PERMUTED_LANES,
    BlockerCode,
    BlockProfile,
    ControlType,
    FailureMode,
    Profile,
    RunProfile,
)
from workrail_lint.systems.blocks.wording import shown

# A definition with a cycle can be run: that is how a scenario shows its blocker.
_CYCLES = ("BC312", "BC334")
# What every file system accepts, with room for the folder of the workspace.
_LONGEST_NAME = 255
_LONGEST_PATH = 2000


class Definitions(NamedTuple):
    """The definition of a scenario, and by their ids those that its subWorkflow nodes run."""

    main: StudioWorkflow
    others: dict[str, StudioWorkflow]

    @property
    def all(self) -> list[StudioWorkflow]:
        return [self.main, *self.others.values()]

    @property
    def nodes(self) -> list[str]:
        """The ids of everything that can have a reply, an answer or a status."""
        return [ident for definition in self.all for ident in definition.by_id]


def findings(value: dict[str, Any], folder: str, settings: RunSettings | None = None) -> Iterator[Finding]:
    """Yield everything that is wrong with a scenario whose shape is right; paths are relative to its folder."""
    scenario = scenario_model(value)
    options = run_options(scenario.block, {} if settings is None else settings.options)
    loaded = load_definitions(scenario.block, folder, options)
    if isinstance(loaded, Err):
        yield from loaded.error
    else:
        yield from content_findings(scenario, loaded.value)


# ------------------------------------------------------------------------------------------------------ definitions


def scenario_model(value: dict[str, Any]) -> BlockScenario:
    """Return the model of a scenario whose shape is right."""
    model: BlockScenario = Build().root(BlockScenario, value)
    return model


def run_options(block: Block, settings: Mapping[str, object]) -> BlockOptions:
    """Return how the definitions of a scenario are judged and run: its own profile, else that of its project."""
    usual = RunProfile.STUDIO if block_options(settings).studio else RunProfile.CONTRACT
    profile = BlockProfile(block.profile or usual)
    return BlockOptions(extended=block.deliverables == Profile.EXTENDED.value, profile=profile)


def load_definitions(block: Block, folder: str, options: BlockOptions) -> Ok[Definitions] | Err[list[Finding]]:
    """Read the definitions that a scenario names."""
    main = _load(os.path.join(folder, block.workflow), block.workflow, "/block/workflow", options)
    if isinstance(main, Err):
        return main
    others = []
    for at, name in enumerate(block.workflows):
        other = _load(os.path.join(folder, name), name, block.at("workflows", at), options)
        if isinstance(other, Err):
            return other
        others.append(other.value)
    return related(main.value, others)


def related(main: StudioWorkflow, others: Iterable[StudioWorkflow]) -> Ok[Definitions] | Err[list[Finding]]:
    """Return the definitions that are run together, or why they can't be."""
    given = list(others)
    definitions = Definitions(main, {other.id: other for other in given})
    findings = [*_missing_definitions(definitions), *_same_names([main, *given]), *_shared_ids(definitions)]
    return Err(findings) if findings else Ok(definitions)


def usable(value: object, name: str, options: BlockOptions) -> Ok[StudioWorkflow] | Err[list[Finding]]:
    """Return a definition in memory, if nothing but a cycle is wrong with it."""
    return _usable(json.dumps(value), name, "/block/workflow", options)


def _load(path: str, name: str, pointer: str, options: BlockOptions) -> Ok[StudioWorkflow] | Err[list[Finding]]:
    data = read_file(path)
    if isinstance(data, Err):
        reason = data.error.message.removeprefix(data.error.path).strip()
        return Err([scenario_finding("scenario-workflow-missing", pointer, f"the definition {shown(name)} {reason}")])
    return _usable(data.value, name, pointer, options)


def _usable(
    data: bytes | str, name: str, pointer: str, options: BlockOptions
) -> Ok[StudioWorkflow] | Err[list[Finding]]:
    document = read_document(name, data, BlockKind.WORKFLOW, options)
    findings = check_document(document)
    errors = [each for each in findings if each.severity is Severity.ERROR and each.code not in _CYCLES]
    if not errors:
        return Ok(document.definition)
    rest = "" if len(errors) == 1 else f" (and {len(errors) - 1} more)"
    first = errors[0]
    text = f"the definition {shown(name)} is not valid: {first.code} {first.pointer or '/'}: {first.message}{rest}"
    return Err([scenario_finding("scenario-workflow-invalid", pointer, text)])


def _missing_definitions(definitions: Definitions) -> Iterator[Finding]:
    for definition in definitions.all:
        for node in definition.nodes:
            inner = node.config.sub_workflow_config
            wanted = None if inner is None else inner.workflow_id
            if node.control is ControlType.SUB_WORKFLOW and wanted not in definitions.others:
                text = f"{shown(node.id)} runs the definition {shown(wanted)}, which 'workflows' does not list"
                yield scenario_finding("scenario-workflow-missing", "/block/workflows", text)


def _same_names(definitions: list[StudioWorkflow]) -> Iterator[Finding]:
    """Report ids that two definitions share: they are run by their ids. A definition may run itself."""
    first: dict[str, StudioWorkflow] = {}
    for definition in definitions:
        if first.setdefault(definition.id, definition).raw != definition.raw:
            text = f"two definitions have the id {shown(definition.id)}; give each one a different id"
            yield scenario_finding("scenario-workflow-invalid", "/block/workflows", text)


def _shared_ids(definitions: Definitions) -> Iterator[Finding]:
    """Report ids that nodes of two definitions share: they become names of files in one folder."""
    owner: dict[str, str] = {}
    for definition in definitions.all:
        for ident in definition.by_id:
            if owner.setdefault(ident, definition.id) != definition.id:
                names = f"{shown(owner[ident])} and {shown(definition.id)}"
                text = f"{names} both have a node {shown(ident)}; their outputs would be the same file"
                yield scenario_finding("scenario-workflow-invalid", "/block/workflows", text)


# ---------------------------------------------------------------------------------------------------------- content


def content_findings(scenario: BlockScenario, definitions: Definitions) -> Iterator[Finding]:
    """Yield everything in a scenario that does not fit its definitions or contradicts itself."""
    block, expect = scenario.block, scenario.expect
    yield from _unknown_nodes(scenario, definitions)
    yield from _paths(block)
    yield from _replies(block)
    yield from _answers(block, definitions)
    yield from _choices(block, definitions)
    yield from _variables(block, definitions)
    if expect is not None:
        yield from _codes(expect)
    yield from _permutations(block, definitions)
    if scenario.golden is False and not (expect and expect.raw):
        text = "this scenario only checks that the run ends; add a golden or expectations"
        yield scenario_finding("scenario-checks-little", "/golden", text)


def _unknown_nodes(scenario: BlockScenario, definitions: Definitions) -> Iterator[Finding]:
    nodes = definitions.nodes
    groups = [group.id for definition in definitions.all for group in definition.parallel_groups]
    named = [*_nodes_of_the_run(scenario.block, nodes, groups)]
    named += [] if scenario.expect is None else _expected_nodes(scenario.expect, nodes)
    for pointer, name, known in named:
        if name not in known:
            meant = nearest_id(name, known)
            hint = did_you_mean(meant) or f"; expected one of {', '.join(known)}"
            yield scenario_finding("scenario-step-unknown", pointer, f"unknown node {shown(name)}{hint}")


# The pointer, the name and the possible names of a place that names a node.
_Named = tuple[str, str, list[str]]


def _nodes_of_the_run(block: Block, nodes: list[str], groups: list[str]) -> Iterator[_Named]:
    for key, reply in block.replies.items():
        yield reply.pointer, key.partition("#")[0], nodes
    for node in block.gates:
        yield block.at("gates", node), node, nodes
    for name in block.pauses:
        yield block.at("pauses", name), name, [*nodes, *groups]


def _expected_nodes(expected: Expectations, nodes: list[str]) -> Iterator[_Named]:
    for at, name in enumerate(expected.steps):
        yield expected.at("steps", at), name.partition("[")[0], nodes
    for member, known in (("nodes", expected.nodes), ("synthetic", expected.synthetic)):
        for node in known:
            yield expected.at(member, node), node, nodes
    for path, lane in expected.applied.items():
        yield expected.at("applied", path), lane, [*nodes, MANUAL]
    for conflict in expected.conflicts:
        for number, lane in enumerate(conflict.lanes):
            yield conflict.at("lanes", number), lane, nodes


def _paths(block: Block) -> Iterator[Finding]:
    """Yield paths that leave the workspace, belong to git or the record of the run, or can't exist."""
    files = {} if block.repo is None else block.repo.files
    folders = {above for path in files for above in _folders(path)}
    for path in files:
        pointer = child("/block/repo/files", path)
        if not is_repository_path(path):
            yield _outside(pointer, path)
        elif path in folders:
            text = f"{shown(path)} can't be a file, because another path uses it as a folder"
            yield scenario_finding("scenario-path-outside", pointer, text)
    for reply in block.replies.values():
        for path in reply.write:
            if not is_agents_path(path):
                yield _outside(reply.at("write", path), path)


def _folders(path: str) -> Iterator[str]:
    names = path.split("/")
    return ("/".join(names[:count]) for count in range(1, len(names)))


def _outside(pointer: str, path: str) -> Finding:
    text = f"{shown(path)} can't be written: use a path in the workspace, outside of git's and the run's own files"
    return scenario_finding("scenario-path-outside", pointer, text)


def is_repository_path(path: str) -> bool:
    """Return whether a file can exist before the first block, which excludes the output folder."""
    return is_agents_path(path) and path.split("/")[0] != OUTPUT_FOLDER and _fits_a_disk(path)


def _fits_a_disk(path: str) -> bool:
    try:
        names = path.encode().split(b"/")
    except UnicodeEncodeError:
        return False
    return len(path) <= _LONGEST_PATH and all(len(name) <= _LONGEST_NAME for name in names)


def _replies(block: Block) -> Iterator[Finding]:
    for key, reply in block.replies.items():
        number = key.partition("#")[2]
        if "#" in key and not (number.isascii() and number.isdigit() and number[0] != "0"):
            text = f"after '#' comes the number of a run, from 1, not {shown(number) if number else 'nothing'}"
            yield scenario_finding("scenario-step-unknown", reply.pointer, text)
        if "raw" in reply and "output" in reply:
            text = "'output' is ignored, because 'raw' is the whole file"
            yield scenario_finding("scenario-member-ignored", reply.at("output"), text)
        for member, is_set in (("timeout", reply.timeout), ("abort", reply.abort)):
            if is_set and ("raw" in reply or reply.output not in (None, NO_OUTPUT)):
                name = "raw" if "raw" in reply else "output"
                text = f"{shown(name)} is ignored, because with {shown(member)} the block writes no output"
                yield scenario_finding("scenario-member-ignored", reply.at(name), text)


def _answers(block: Block, definitions: Definitions) -> Iterator[Finding]:
    """Yield answers to questions that are never asked, and answers that a question does not accept."""
    for node, answers in block.gates.items():
        owner = next((each for each in definitions.all if node in each.by_id), None)
        if owner is None:
            continue
        options = [option.value for gate in owner.gates if gate.node_id == node for option in gate.options]
        asks = owner.by_id[node].asks
        pointer = block.at("gates", node)
        if (not options and not asks) or node in owner.group_of:
            why = "gates of lanes are never asked" if node in owner.group_of else "it has no gate"
            yield scenario_finding(
                "scenario-member-ignored",
                pointer,
                f"these answers are never used: {shown(node)} asks nothing, because {why}",
            )
            continue
        for at, answer in enumerate(answers):
            if isinstance(answer, str) and answer not in (CONTINUE, ABORT, *options):
                known = ", ".join(dict.fromkeys([CONTINUE, ABORT, *options]))
                text = f"unknown answer {shown(answer)} for {shown(node)}; expected one of {known}"
                yield scenario_finding("scenario-choice-mismatch", child(pointer, at), text)
            elif not isinstance(answer, str) and not asks:
                text = f"{shown(node)} can't be revised: it has no gate after its block"
                yield scenario_finding("scenario-choice-mismatch", child(pointer, at), text)


def _choices(block: Block, definitions: Definitions) -> Iterator[Finding]:
    lanes = [lane for definition in definitions.all for group in definition.parallel_groups for lane in group.lanes]
    for path, choice in block.conflicts.items():
        pointer = block.at("conflicts", path)
        if choice not in (*lanes, MANUAL, ABORT):
            text = f"{shown(choice)} can't win {shown(path)}; expected one of {', '.join([*lanes, MANUAL, ABORT])}"
            yield scenario_finding("scenario-choice-mismatch", pointer, text)
        elif choice == MANUAL and path not in block.manual:
            text = f"a manual choice needs the content of {shown(path)} in 'manual'"
            yield scenario_finding("scenario-choice-mismatch", pointer, text)


def _variables(block: Block, definitions: Definitions) -> Iterator[Finding]:
    """Yield values for variables that no definition uses."""
    known = {name for definition in definitions.all for name in _asked_for(definition)}
    for name in block.variables:
        if name not in known:
            hint = did_you_mean(nearest(name, known))
            text = f"no definition declares or uses the variable {shown(name)}{hint}"
            yield scenario_finding("scenario-member-ignored", block.at("variables", name), text)


def _asked_for(definition: StudioWorkflow) -> Iterator[str]:
    yield from definition.declared
    for text, _ in expressions(definition):
        parsed = parse_expression(text, definition.language)
        yield from () if isinstance(parsed, Err) else parsed.value.variables
    for node in definition.nodes:
        loop, inner = node.config.for_each_config, node.config.sub_workflow_config
        if loop is not None:
            yield loop.collection_variable
        if inner is not None:
            yield from (name for name in inner.input_mappings.values() if isinstance(name, str))


def _codes(expected: Expectations) -> Iterator[Finding]:
    """Yield codes that do not exist."""
    known = {
        "blockers": (expected.blockers, words(BlockerCode)),
        "findings": (expected.findings, tuple(rule.code for rule in RULES.infos)),
    }
    for member, (items, codes) in known.items():
        for at, item in enumerate(items):
            code = item if isinstance(item, str) else item["code"]
            if code not in codes:
                text = f"unknown code {shown(code)} in '{member}'{did_you_mean(nearest(code, codes))}"
                yield scenario_finding("scenario-choice-mismatch", expected.at(member, at), text)


def _permutations(block: Block, definitions: Definitions) -> Iterator[Finding]:
    if block.check is None or not block.check.permutations:
        return
    sizes = [len(group.lanes) for definition in definitions.all for group in definition.parallel_groups]
    why = None
    if block.failure_mode == FailureMode.STRICT.value:
        why = "in a strict run, lanes stop each other"
    elif not sizes:
        why = "there is no parallel group"
    elif min(sizes) > PERMUTED_LANES:
        why = f"every group has more than {PERMUTED_LANES} lanes"
    if why is not None:
        text = f"'permutations' has no effect: {why}"
        yield scenario_finding("scenario-checks-little", block.check.at("permutations"), text)
