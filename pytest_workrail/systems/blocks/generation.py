"""Scenarios that show what a studio definition can do: its nodes, branches, gates, retries, lanes and merges.

| goal | happens when |
|---|---|
| `node:N:completed`, `:failed`, `:skipped` | the block of a node ends so; `skipped` where a condition leads to it |
| `branch:C:true`, `:false` | a condition node comes out so |
| `each:F:none`, `:one`, `:many` | a forEach has no item, one, several |
| `retry:N:recovered`, `:exhausted` | a retry helps, or the last one fails as well |
| `gate:N:…` | a question about a node is answered so; `open` for no answer, `revised`, `revisions-used-up` |
| `lanes:G:settled`, `:stopped` | all lanes end; in strict mode one that fails stops the others |
| `merge:G:clean`, `:conflict` | lanes touch different files, or the same one |
| `conflict:G:lane`, `:manual`, `:abort`, `:undecided` | what a person does about it, where the strategy asks |
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping
from copy import deepcopy
from typing import Any

from pytest_workrail.scenarios.variations import Content, generated
from pytest_workrail.systems.blocks.block_run import BlockRun, ScenarioInvalid, run
from pytest_workrail.systems.blocks.scenario import unmet
from pytest_workrail.systems.blocks.setup import given_definitions, scenario_options
from pytest_workrail.systems.kernel.generation import DriverSubject, merged
from workrail_lint.base.files import read_file
from workrail_lint.base.js import Json
from workrail_lint.base.result import Err, Ok
from workrail_lint.documents.json_reader import read_json
from workrail_lint.systems.blocks.documents import WORKFLOW_SUFFIX
from workrail_lint.systems.blocks.model.build import definition_model
from workrail_lint.systems.blocks.model.documents import Node, ParallelGroup, StudioWorkflow
from workrail_lint.systems.blocks.plan import make_plan
from workrail_lint.systems.blocks.scenario_check import scenario_model
from workrail_lint.systems.blocks.vocabulary import (
    ABORT,
    CONTINUE,
    MAX_REVISIONS,
    BlockerCode,
    ConditionType,
    ControlType,
    EventType,
    ExecutionStatus,
    MergeStrategy,
)

_SHARED_FILE = "shared.txt"
_FAILS: dict[str, Json] = {"exit": 1}
_REVISION: dict[str, Json] = {"revise": "Say more."}
_LITERAL = re.compile(r"'([^']*)'|\"([^\"]*)\"|(\d+(?:\.\d+)?)")
_LISTS: dict[str, list[Json]] = {"none": [], "one": ["first"], "many": ["first", "second"]}
_CONFLICT_ANSWERS = ("lane", "manual", "abort", "undecided")


def prepare(path: str, folder: str) -> Ok[dict[str, Any]] | Err[str]:
    """Return a definition with those that its subWorkflow nodes run, which are looked up beside it.

    `folder` is where the scenarios will be.
    """
    beside = os.path.dirname(path) or os.curdir
    names = sorted(name for name in os.listdir(beside) if name.endswith(WORKFLOW_SUFFIX))
    loaded: dict[str, tuple[str, dict[str, Any]]] = {}
    for each in (path, *(os.path.join(beside, name) for name in names)):
        read = read_file(each)
        value: Any = read_json(read.value).value if isinstance(read, Ok) else None
        if isinstance(value, dict) and isinstance(value.get("id"), str):
            loaded.setdefault(value["id"], (each, value))
    (_, main), *_ = loaded.values() or [("", {})]
    wanted = [main]
    others: list[tuple[str, dict[str, Any]]] = []
    while wanted:
        for node in definition_model(wanted.pop()).nodes:
            inner = node.config.sub_workflow_config
            ident = None if inner is None else inner.workflow_id
            if ident in loaded and loaded[ident] not in others and loaded[ident][1] is not main:
                others.append(loaded[ident])
                wanted.append(loaded[ident][1])
    values = [main, *(value for _, value in others)]
    options = scenario_options(scenario_model({}).block, os.curdir)
    usable = options if isinstance(options, Err) else given_definitions(values, "definition", options.value)
    if isinstance(usable, Err):
        return Err(usable.error[0].message)
    for value in values:
        plan = make_plan(definition_model(value))
        if isinstance(plan, Err):
            return Err(f"{', '.join(plan.error.ids)} can't run: each waits for another")
    sources: dict[str, Json] = {"workflow": _relative(path, folder)}
    if others:
        sources["workflows"] = [_relative(each, folder) for each, _ in others]
    name = os.path.basename(path).removesuffix(".json").removesuffix(".workflow")
    return Ok({"name": name, "value": main, "others": [value for _, value in others], "sources": sources})


def is_about(document: Mapping[str, Any], folder: str, path: str) -> bool:
    """Return whether a scenario in a folder is about the definition at a path."""
    named = document["block"].get("workflow")
    return isinstance(named, str) and os.path.realpath(os.path.join(folder, named)) == os.path.realpath(path)


def _relative(path: str, folder: str) -> str:
    return os.path.relpath(os.path.realpath(path), os.path.realpath(folder)).replace(os.sep, "/")


def perform(piece: dict[str, Any]) -> dict[str, Json]:
    """Return everything that is generated for a definition."""
    return generated(BlockSubject(piece["value"], piece["others"]), piece)


class BlockSubject(DriverSubject[BlockRun]):
    """One definition, with those that its subWorkflow nodes run."""

    member = "block"

    def __init__(self, value: dict[str, Any], others: list[dict[str, Any]]) -> None:
        self._value, self._others = value, others
        self._definitions = [definition_model(each) for each in (value, *others)]
        self.ident = self._definitions[0].id
        self.goals = tuple(dict.fromkeys(goal for each in self._definitions for goal in _goals(each)))
        self._nodes = {node.id: node for each in self._definitions for node in each.nodes}
        self._groups = {group.id: (each, group) for each in self._definitions for group in each.parallel_groups}

    # --------------------------------------------------------------------------------------------------- variations

    def beginnings(self) -> Iterable[Content]:
        yield {}

    def variations(self, content: Content, goal: str) -> Iterator[Content]:
        kind, rest = goal.split(":", 1)
        name, case = rest.rsplit(":", 1)
        yield from getattr(self, f"_vary_{kind}")(content, name, case)

    def _vary_node(self, content: Content, name: str, case: str) -> Iterator[Content]:
        if case == "failed" and not self._nodes[name].is_control:
            yield merged(content, {"replies": {name: _FAILS}})
        yield from self._other_ways(content, besides=name if case == "completed" else None)

    def _vary_branch(self, content: Content, name: str, case: str) -> Iterator[Content]:
        yield from self._other_ways(content)

    def _vary_each(self, content: Content, name: str, case: str) -> Iterator[Content]:
        loop = self._nodes[name].config.for_each_config
        if loop is not None:
            yield merged(content, {"variables": {loop.collection_variable: _LISTS[case]}})
        yield from self._other_ways(content)

    def _vary_retry(self, content: Content, name: str, case: str) -> Iterator[Content]:
        code = next(iter(self._nodes[name].config.retryable_exit_codes), None)
        fails: dict[str, Json] = {"timeout": True} if code is None else {"exit": code}
        yield merged(content, {"replies": {name if case == "exhausted" else f"{name}#1": fails}})

    def _vary_gate(self, content: Content, name: str, case: str) -> Iterator[Content]:
        answers = content.get("gates", {}).get(name, [])
        given: dict[str, list[Json]] = {
            "open": [None],
            "revised": [_REVISION, CONTINUE],
            "revisions-used-up": [_REVISION] * (MAX_REVISIONS + 1),
        }
        for before in range(len(answers) + 1):
            yield merged(content, {"gates": {name: [*answers[:before], *given.get(case, [case])]}})

    def _vary_lanes(self, content: Content, name: str, case: str) -> Iterator[Content]:
        _, group = self._groups[name]
        strict = {**deepcopy(content), "failureMode": "strict"} if case == "stopped" else content
        for lane in group.lanes if case == "stopped" else ():
            rest = [each for each in group.lanes if each != lane]
            varied = merged(strict, {"replies": {lane: _FAILS}})
            for other in rest:
                varied = merged(varied, {"replies": {other: {"ticks": 5}}})
            yield varied
        yield from self._other_ways(strict)

    def _vary_merge(self, content: Content, name: str, case: str) -> Iterator[Content]:
        if case == "conflict":
            yield self._in_conflict(content, name)
        yield from self._other_ways(content)

    def _vary_conflict(self, content: Content, name: str, case: str) -> Iterator[Content]:
        lane = self._editing(name)[0]
        varied = self._in_conflict(content, name)
        varied.pop("manual", None)
        answer = {"lane": lane, "undecided": None}.get(case, case)
        varied["conflicts"] = {} if answer is None else {_SHARED_FILE: answer}
        if case == "manual":
            varied["manual"] = {_SHARED_FILE: "Both.\n"}
        yield varied

    def _in_conflict(self, content: Content, name: str) -> Content:
        """Return the scenario with two lanes that change one existing file."""
        varied = deepcopy(content)
        varied["repo"] = {"files": {_SHARED_FILE: "Before.\n"}}
        for lane in self._editing(name)[:2]:
            varied = merged(varied, {"replies": {lane: {"write": {_SHARED_FILE: f"By {lane}.\n"}}}})
        return varied

    def _editing(self, name: str) -> list[str]:
        definition, group = self._groups[name]
        return [node.id for _, node in definition.editing_lanes(group)]

    def _other_ways(self, content: Content, besides: str | None = None) -> Iterator[Content]:
        """Yield every change that can send a run another way: variables, failing blocks, options of gates."""
        for name, values in self._candidates().items():
            for value in values:
                yield merged(content, {"variables": {name: value}})
        for name, node in self._nodes.items():
            if name != besides and not node.is_control:
                yield merged(content, {"replies": {name: _FAILS}})
        if content.get("replies") or content.get("variables"):
            yield {name: value for name, value in content.items() if name not in ("replies", "variables")}

    def _candidates(self) -> dict[str, list[Json]]:
        """Return values of the declared variables that expressions may distinguish."""
        literals: list[Json] = [True, False]
        for text in (text for each in self._definitions for text in _expressions(each)):
            for single, double, number in _LITERAL.findall(text):
                literals += [float(number), float(number) + 1, float(number) - 1] if number else [single or double]
        plain = [int(each) if isinstance(each, float) and each == int(each) else each for each in literals]
        names = [each.name for each in self._definitions[0].variables]
        once = [each for at, each in enumerate(plain) if repr(each) not in map(repr, plain[:at])]
        return {name: [*once, *_LISTS.values(), ""] for name in names}

    # ------------------------------------------------------------------------------------------------------ playing

    def first(self, content: Content) -> Content:
        """Return the scenario without the marks of the gate that is to stay open."""
        gates = {node: [each for each in given if each is not None] for node, given in content.get("gates", {}).items()}
        return {**deepcopy(content), **({"gates": gates} if gates else {})}

    def run(self, content: Content) -> BlockRun | None:
        return self._run({self.member: content})

    def answer(self, content: Content, run: BlockRun, variation: Content) -> bool:
        if run.execution_status != ExecutionStatus.WAITING_GATE.value:
            return False
        blocker = run.blockers[-1]
        node = str(blocker["pointer"].get("nodeId"))
        if blocker["code"] != BlockerCode.GATE_OPEN.value or None in variation.get("gates", {}).get(node, ()):
            return False
        content.setdefault("gates", {}).setdefault(node, []).append(CONTINUE)
        return True

    def goals_of(self, document: Mapping[str, Any]) -> frozenset[str] | None:
        done = self._run(document)
        if done is None or unmet(document, done):
            return None
        return frozenset(self.shown_goals(document[self.member], done))

    def _run(self, document: Mapping[str, Any]) -> BlockRun | None:
        own = {name: value for name, value in document[self.member].items() if name not in ("workflow", "workflows")}
        try:
            return run({**document, self.member: own}, workflow=self._value, workflows=self._others)
        except ScenarioInvalid:
            return None

    def expectations(self, run: BlockRun) -> dict[str, Json]:
        return {
            "executionStatus": run.execution_status,
            "nodes": {node: status.value for node, status in run.nodes.items()},
            "blockers": [{"code": each["code"]} for each in run.blockers],
        }

    def shown_goals(self, content: Content, done: BlockRun) -> Iterator[str]:
        for node, status in done.nodes.items():
            yield f"node:{node}:{status.value}"
        for each in self._definitions:
            yield from _branches_seen(each, done)
        yield from self._lists_seen(content, done)
        retried = {event["nodeId"] for event in done.events if event["type"] == EventType.NODE_RETRY.value}
        exhausted = {event["nodeId"] for event in done.events if event["type"] == EventType.NODE_RETRY_EXHAUSTED.value}
        yield from (f"retry:{node}:{'exhausted' if node in exhausted else 'recovered'}" for node in retried)
        yield from _answers_seen(done)
        yield from self._lanes_seen(content, done)

    def _lists_seen(self, content: Mapping[str, Any], done: BlockRun) -> Iterator[str]:
        for name, node in self._nodes.items():
            if node.control is ControlType.FOR_EACH and name in done.nodes and done.nodes[name].value != "skipped":
                loop = node.config.for_each_config
                variable = "" if loop is None else loop.collection_variable
                items = content.get("variables", {}).get(variable, self._default(variable))
                count = len(items) if isinstance(items, list) else 0
                yield f"each:{name}:{('none', 'one')[count] if count < 2 else 'many'}"

    def _default(self, variable: str) -> object:
        declared = [each for definition in self._definitions for each in definition.variables]
        return next((each.default_value for each in declared if each.name == variable), None)

    def _lanes_seen(self, content: Mapping[str, Any], done: BlockRun) -> Iterator[str]:
        merges = {each["group"]: each["result"]["conflicts"] for each in done.fan_ins}
        paused = {
            event["data"]["groupId"]
            for event in done.events
            if event["type"] == EventType.BLOCK_GATE_OPEN.value and "conflicts" in event.get("data", {})
        }
        for name, (_, group) in self._groups.items():
            statuses = [done.nodes[lane].value for lane in group.lanes if lane in done.nodes]
            if name in merges or name in paused:
                is_strict = content.get("failureMode") == "strict" and "failed" in statuses
                yield f"lanes:{name}:{'stopped' if is_strict else 'settled'}"
                yield f"merge:{name}:{'conflict' if merges.get(name) or name in paused else 'clean'}"
            if name in paused:
                chosen = next(iter(content.get("conflicts", {}).values()), "undecided")
                yield f"conflict:{name}:{'lane' if chosen in group.lanes else chosen}"


def _goals(definition: StudioWorkflow) -> Iterator[str]:
    """Yield the goals of one definition, in the order of its nodes."""
    for node in definition.nodes:
        yield f"node:{node.id}:completed"
        if not node.is_control:
            yield f"node:{node.id}:failed"
        if _may_be_skipped(definition, node):
            yield f"node:{node.id}:skipped"
        match node.control:
            case ControlType.CONDITION:
                yield from (f"branch:{node.id}:{case}" for case in ("true", "false"))
            case ControlType.FOR_EACH:
                yield from (f"each:{node.id}:{case}" for case in _LISTS)
            case _ if node.id not in definition.group_of:  # a lane asks no questions
                yield from _gate_goals(definition, node)
        if not node.is_control and (node.config.max_retries or 0) > 0:
            yield from (f"retry:{node.id}:{case}" for case in ("recovered", "exhausted"))
    for group in definition.parallel_groups:
        yield from _lane_goals(definition, group)


def _may_be_skipped(definition: StudioWorkflow, node: Node) -> bool:
    """Return whether a condition, or a step that has to fail, decides about a node."""
    edges = definition.incoming.get(node.id, [])
    decided = bool(edges) and all(edge.kind != ConditionType.ALWAYS.value for edge in edges)
    return node.id in definition.branches or decided


def _gate_goals(definition: StudioWorkflow, node: Node) -> Iterator[str]:
    for gate in definition.gates:
        if gate.node_id == node.id:
            cases = [*(option.value for option in gate.options), CONTINUE, ABORT, "open"]
            yield from (f"gate:{node.id}:{case}" for case in cases)
    if node.asks:
        cases = [CONTINUE, "revised", "revisions-used-up", ABORT, "open"]
        yield from (f"gate:{node.id}:{case}" for case in cases)


def _lane_goals(definition: StudioWorkflow, group: ParallelGroup) -> Iterator[str]:
    yield f"lanes:{group.id}:settled"
    if len(group.lanes) > 1:
        yield f"lanes:{group.id}:stopped"
    yield f"merge:{group.id}:clean"
    strategy = definition.strategy_of(group)
    if strategy is MergeStrategy.CONCATENATE or len(definition.editing_lanes(group)) < 2:
        return
    yield f"merge:{group.id}:conflict"
    if strategy is MergeStrategy.FAIL_ON_CONFLICT:
        yield from (f"conflict:{group.id}:{case}" for case in _CONFLICT_ANSWERS)


def _expressions(definition: StudioWorkflow) -> Iterator[str]:
    for edge in definition.transitions:
        if edge.expression is not None:
            yield edge.expression
    for node in definition.nodes:
        if node.config.condition_config is not None:
            yield node.config.condition_config.expression


def _branches_seen(definition: StudioWorkflow, done: BlockRun) -> Iterator[str]:
    skipped = {
        event["nodeId"]
        for event in done.events
        if event["type"] == EventType.NODE_SKIPPED.value and event.get("data", {}).get("reason") == "branch"
    }
    for node in definition.nodes:
        config = node.config.condition_config
        if config is not None and node.control is ControlType.CONDITION and node.id in done.nodes:
            if config.false_branch_node_id in skipped:
                yield f"branch:{node.id}:true"
            if config.true_branch_node_id in skipped:
                yield f"branch:{node.id}:false"


def _answers_seen(done: BlockRun) -> Iterator[str]:
    for event in done.events:
        option = event.get("data", {}).get("selectedOption")
        if event["type"] == EventType.GATE_DECIDED.value and event.get("nodeId") and option is not None:
            yield f"gate:{event['nodeId']}:{option}"
        if event["type"] == EventType.BLOCK_REVISION.value:
            yield f"gate:{event['nodeId']}:revised"
    for blocker in done.blockers:
        case = {"BLOCK_GATE_OPEN": "open", "BLOCK_REVISIONS_EXHAUSTED": "revisions-used-up"}.get(blocker["code"])
        if case is not None:
            yield f"gate:{blocker['pointer'].get('nodeId')}:{case}"
