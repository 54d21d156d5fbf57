"""The records of a run: its trace, files beside the output folder, findings, golden, and the locks it shows."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterator
from typing import Any, NamedTuple

from pytest_workrail.golden.encoding import dumps
from pytest_workrail.systems.blocks.attempts import mount_of, output_path
from pytest_workrail.systems.blocks.run_state import WORKSPACE, SharedState, Stage, Step
from pytest_workrail.systems.kernel.run import report
from pytest_workrail.systems.kernel.scenario import ABSOLUTE, TIME, LockEvidence, Normalizer, finding_entry
from workrail_lint.base.files import make_folders, write_in_place
from workrail_lint.documents.json_reader import read_json
from workrail_lint.findings import Finding
from workrail_lint.systems.blocks import paths
from workrail_lint.systems.blocks.check import check_document, check_trace, check_unit, read_document
from workrail_lint.systems.blocks.documents import (
    MOUNT_FILE,
    TRACE_FILE,
    WORKFLOW_SUFFIX,
    BlockKind,
    id_in_name,
    is_rejected,
)
from workrail_lint.systems.blocks.model.documents import StudioWorkflow
from workrail_lint.systems.blocks.outputs import path_conflicts, reported
from workrail_lint.systems.blocks.paths import OUTPUT_FOLDER, RUN_FOLDER
from workrail_lint.systems.blocks.prompts import NAMES
from workrail_lint.systems.blocks.traces import TRACE_MEMBERS, FanIn, Trace
from workrail_lint.systems.blocks.units import Folder, Unit, record_of
from workrail_lint.systems.blocks.vocabulary import (
    CONTINUE,
    ExecutionStatus,
    MergeStrategy,
    NodeStatus,
    OutputStatus,
    Resolution,
    Synthetic,
)

_ALL_SECTIONS = ("Rules:\n", "Only modify files matching: ", "You must produce the following outputs:\n")


class RunEvidence(NamedTuple):
    """A run as the locks look at it."""

    trace: Trace
    codes: list[str]  # of its findings


EVIDENCE: LockEvidence[RunEvidence] = LockEvidence()


# ---------------------------------------------------------------------------------------------------- in a row


@EVIDENCE.of("block-output-folder-first")
def _folder_first(run: RunEvidence) -> bool:
    return bool(run.trace.of_type("node_started", "lane_started")) and "BC701" not in run.codes


@EVIDENCE.of("block-output-required")
def _output_required(run: RunEvidence) -> bool:
    return _is_replaced(run, Synthetic.MISSING)


@EVIDENCE.of("block-id-equals-node")
def _id_equals_node(run: RunEvidence) -> bool:
    return _is_replaced(run, Synthetic.MISMATCH)


def _is_replaced(run: RunEvidence, reason: Synthetic) -> bool:
    """Return whether a failed output was written in the place of one that was missing or wrong."""
    steps = [step for _, step in run.trace.steps if step["synthetic"] == reason.value]
    names = run.trace.value["outputFolder"]
    return any(step["output"]["status"] == "failed" and _file(step) in names for step in steps)


def _file(step: dict[str, Any]) -> str:
    return f"block-{step['env']['NODE_ID']}.json"


@EVIDENCE.of("block-output-malformed-fails")
def _malformed_fails(run: RunEvidence) -> bool:
    names = run.trace.value["outputFolder"]
    rejected = [step for _, step in run.trace.steps if step["synthetic"] == "malformed"]
    return any(step["nodeStatus"] == "failed" and f"{_file(step)}.rejected" in names for step in rejected)


@EVIDENCE.of("block-prompt-order")
def _prompt_order(run: RunEvidence) -> bool:
    """Find a prompt with all five sections; three have a known beginning, and two come before the fourth."""
    return "BC420" not in run.codes and any(_has_five(step["prompt"]) for _, step in run.trace.steps)


def _has_five(prompt: str) -> bool:
    sections = prompt.split("\n\n")
    places = [next((at for at, text in enumerate(sections) if text.startswith(head)), -1) for head in _ALL_SECTIONS]
    rules, restriction, checklist = places
    return rules == 0 and restriction >= 3 and checklist == restriction + 1


@EVIDENCE.of("block-prompt-omission")
def _prompt_omission(run: RunEvidence) -> bool:
    """Find a prompt that lacks a section between two that it has."""

    def lacks_middle(prompt: str) -> bool:
        return prompt.startswith(_ALL_SECTIONS[0]) and _ALL_SECTIONS[2] in prompt and not _has_five(prompt)

    return "BC420" not in run.codes and any(lacks_middle(step["prompt"]) for _, step in run.trace.steps)


@EVIDENCE.of("block-prompt-no-previous")
def _prompt_no_previous(run: RunEvidence) -> bool:
    later = [step for _, step in run.trace.steps if step["env"]["PREVIOUS_BLOCK_ID"]]
    return bool(later) and "BC421" not in run.codes


@EVIDENCE.of("block-env-nine")
def _env_nine(run: RunEvidence) -> bool:
    return bool(run.trace.steps) and all(tuple(step["env"]) == NAMES for _, step in run.trace.steps)


@EVIDENCE.of("block-previous-chain")
def _previous_chain(run: RunEvidence) -> bool:
    """Find a first block, a group whose lanes have one predecessor, and a block after that group."""
    previous = {step["env"]["NODE_ID"]: step["env"]["PREVIOUS_BLOCK_ID"] for _, step in run.trace.steps}
    lanes = _lanes_of_first_group(run.trace)
    shared = {previous[lane] for lane in lanes if lane in previous}
    shares_one = len(lanes) > 1 and len(shared) == 1 and "" not in shared
    return "" in previous.values() and shares_one and any(one in lanes for one in previous.values())


def _lanes_of_first_group(trace: Trace) -> list[str]:
    started = trace.of_type("lane_started")
    return [event.lane for event in started if event.group == started[0].group]


@EVIDENCE.of("block-env-fresh-when-warm")
def _fresh_when_warm(run: RunEvidence) -> bool:
    return "BC704" not in run.codes and any(step["container"]["warm"] for _, step in run.trace.steps)


@EVIDENCE.of("block-stateless")
def _stateless(run: RunEvidence) -> bool:
    return "cold" in run.trace.value and "BC710" not in run.codes and len(run.trace.steps) > 1


@EVIDENCE.of("block-gate-revise")
def _gate_revise(run: RunEvidence) -> bool:
    """Find a block that was revised, and then accepted."""
    revised: set[str] = set()
    accepted = False
    for event in run.trace.of_type("block_revision", "gate_decided"):
        if event.type == "block_revision":
            revised.add(event.node)
        elif event.node in revised and event.data.get("selectedOption") == CONTINUE:
            accepted = True
    return accepted and "BC711" not in run.codes


@EVIDENCE.of("block-failed-no-gate")
def _failed_no_gate(run: RunEvidence) -> bool:
    """Find a block that failed and was not asked about, although its node asks."""
    asked = set(run.trace.value["asks"])
    failed = {event.node for event in run.trace.of_type("node_failed") if event.data.get("reason") != "aborted"}
    opened = {event.node for event in run.trace.of_type("block_gate_open")}
    return bool(asked & failed - opened)


@EVIDENCE.of("block-restrictions-reported")
def _restrictions_reported(run: RunEvidence) -> bool:
    return "BC609" in run.codes or bool(run.trace.of_type("write_blocked"))


# -------------------------------------------------------------------------------------------------------- in lanes


def _merges(trace: Trace) -> list[FanIn]:
    return [fan_in for fan_in in trace.fan_ins if len(fan_in.outputs) > 1]


@EVIDENCE.of("block-lane-isolation")
def _lane_isolation(run: RunEvidence) -> bool:
    """Find a path that two lanes wrote, each with its own content."""
    for fan_in in _merges(run.trace):
        lanes = fan_in.value["content"]["lanes"]
        counts: dict[str, set[str]] = {}
        for hashes in lanes.values():
            for path, digest in hashes.items():
                counts.setdefault(path, set()).add(digest)
        if "BC705" not in run.codes and any(len(digest) > 1 for digest in counts.values()):
            return True
    return False


@EVIDENCE.of("block-lane-identity")
def _lane_identity(run: RunEvidence) -> bool:
    return len(run.trace.of_type("lane_started")) > 1 and "BC713" not in run.codes


@EVIDENCE.of("block-fan-in-waits")
def _fan_in_waits(run: RunEvidence) -> bool:
    """Find a merge that began after a lane that settled later than another one."""
    return "BC706" not in run.codes and any(len(fan_in.order) > 1 for fan_in in run.trace.fan_ins)


@EVIDENCE.of("block-concatenate-no-merge")
def _concatenate(run: RunEvidence) -> bool:
    names = run.trace.value["outputFolder"]
    for fan_in in _merges(run.trace):
        edits = any(reported(output) for output in fan_in.outputs.values())
        kept = all(f"block-{lane}.json" in names for lane in fan_in.outputs)
        if fan_in.strategy is MergeStrategy.CONCATENATE and edits and kept and not fan_in.applied:
            return True
    return False


@EVIDENCE.of("block-first-complete-wins")
def _first_complete_wins(run: RunEvidence) -> bool:
    """Find a conflict that was won by a lane that is not the first of its group."""
    for fan_in in _merges(run.trace):
        first = next(iter(fan_in.outputs))
        conflicts = fan_in.result["conflicts"]
        if any(_won_by_time(conflict, first) for conflict in conflicts) and not {"BC707", "BC708"} & set(run.codes):
            return True
    return False


def _won_by_time(conflict: dict[str, Any], first: str) -> bool:
    winner = conflict["lanes"][0]
    by_time = bool(conflict["resolution"] == Resolution.FIRST_COMPLETE_WINS.value)
    return by_time and winner != first and bool(conflict["appliedFrom"] == winner)


@EVIDENCE.of("block-non-clashing-kept")
def _non_clashing(run: RunEvidence) -> bool:
    for fan_in in _merges(run.trace):
        clashes = path_conflicts(fan_in.outputs, fan_in.order)
        losers = {lane for clash in clashes for lane in clash.lanes[1:]}
        contested = {clash.path for clash in clashes}
        others = [lane for path, lane in (fan_in.applied or {}).items() if path not in contested]
        if "BC708" not in run.codes and any(lane in losers for lane in others):
            return True
    return False


@EVIDENCE.of("block-fail-on-conflict-pauses")
def _conflict_pauses(run: RunEvidence) -> bool:
    types = [event.type for event in run.trace.events if event.data.get("cause") != "user"]
    paused = {"execution_paused", "gate_decided", "execution_resumed"} <= set(types)
    resolved = any(
        conflict["resolution"] == Resolution.USER_RESOLVED.value
        for fan_in in run.trace.fan_ins
        for conflict in fan_in.result["conflicts"]
    )
    return paused and resolved and "BC709" not in run.codes


@EVIDENCE.of("block-order-pure")
def _order_pure(run: RunEvidence) -> bool:
    return len(run.trace.value.get("permutations", ())) > 1 and "BC714" not in run.codes


PACK = "block"
DEFINITION = f"definition{WORKFLOW_SUFFIX}"
_STEP = ("node", "stepIndex", "env", "prompt", "promptSha256", "output", "synthetic", "nodeStatus", "detected")
_FAN_IN = ("group", "isolation", "completionOrder", "result", "applied")
# The only absolute paths that may stand in an artifact.
_CONSTANT = re.compile(rf"(?:/tmp)?{paths.WORKSPACE}(?:-lane-\d+)?(?:/.*)?", re.DOTALL)
_ABSOLUTE_PATH = re.compile(r"/[^\s/]\S*|[A-Za-z]:[\\/]\S*")


def trace_of(shared: SharedState, status: ExecutionStatus, stage: Stage | None, scenario: str) -> dict[str, Any]:
    """Return everything that a run recorded about itself."""
    return {
        "pack": PACK,
        "scenario": scenario,
        "plan": [] if stage is None else stage.plan.stages(),
        "steps": [_step(step) for step in shared.steps],
        "fanIns": shared.fan_ins,
        "events": shared.log.events,
        "outputFolder": [] if stage is None else shared.main.output_names(),
        "workspace": shared.main.text_hashes(),
        "executionStatus": status.value,
        "blockers": [blocker.to_json() for blocker in report(shared.blockers)],
        "copies": shared.copies,
        "accesses": shared.accesses,
        "limits": shared.limits,
        "asks": sorted(node.id for node in shared.setup.definition.nodes if node.asks),
    }


def _step(step: Step) -> dict[str, Any]:
    return {
        "node": step.name,
        "stepIndex": step.step_index,
        "env": step.env,
        "prompt": step.prompt,
        "promptSha256": hashlib.sha256(step.prompt.encode("utf-8", "surrogatepass")).hexdigest(),
        "output": step.output,
        "synthetic": None if step.synthetic is None else step.synthetic.value,
        "nodeStatus": step.status.value,
        "detected": step.detected,
        "container": {"number": step.container, "warm": step.warm},
    }


# -------------------------------------------------------------------------------------------------------- findings


def findings_of(shared: SharedState, trace: dict[str, Any]) -> list[Finding]:
    """Return what the rules find in a run: in its outputs as they were written, its records and its trace."""
    findings = [*shared.findings, *_unit_findings(shared), *check_trace(trace, shared.setup.options)]
    # An output was checked when its block ended; a later block may have changed it.
    for path, data in (*records(shared), *_outputs(shared)):
        findings += check_document(read_document(path, data, _kind(path), shared.setup.options))
    once = {(each.path, each.pointer, each.code, each.message): each for each in findings}
    return [once[key] for key in sorted(once)]


def _unit_findings(shared: SharedState) -> list[Finding]:
    files = (*records(shared), *_outputs(shared))
    known = {path: record_of(_kind(path), _value(path, data)) for path, data in files}
    # A folder can't tell that a process ended badly after it had written that all went well; a run knows.
    for node in _failed(shared):
        record = known.get(output_path(node))
        if record is not None and isinstance(record["value"], dict):
            record["value"]["status"] = OutputStatus.FAILED.value
    known[DEFINITION] = record_of(BlockKind.WORKFLOW, shared.setup.definition.raw)
    names = [name for name in _output_names(shared) if f"{OUTPUT_FOLDER}/{name}" not in known]
    rejected = [f"{OUTPUT_FOLDER}/{name}" for name in names if is_rejected(name)]
    foreign = [f"{OUTPUT_FOLDER}/{name}" for name in names if not is_rejected(name)]
    folder = Folder(OUTPUT_FOLDER, tuple(foreign), tuple(rejected))
    findings = check_unit(Unit(known, shared.setup.options, folder=folder, workflow=DEFINITION))
    # What the definition itself is like is the linter's business, and does not change from run to run.
    return [each for each in findings if each.path != DEFINITION]


def _failed(shared: SharedState) -> list[str]:
    statuses = [item for stage in shared.stages for item in stage.statuses.items()]
    return [node for node, status in statuses if status is NodeStatus.FAILED]


def _output_names(shared: SharedState) -> list[str]:
    return shared.main.output_names() if os.path.isdir(shared.main.output_folder) else []


def _outputs(shared: SharedState) -> Iterator[tuple[str, bytes]]:
    """Yield the outputs that are in the folder at the end."""
    for name in _output_names(shared):
        ident = id_in_name(f"{OUTPUT_FOLDER}/{name}", BlockKind.OUTPUT)
        if ident is not None:
            yield f"{OUTPUT_FOLDER}/{name}", shared.main.output_bytes(ident) or b""


def _kind(path: str) -> BlockKind:
    kinds = (BlockKind.OUTPUT, BlockKind.ENVIRONMENT, BlockKind.PROMPT, BlockKind.FAN_IN)
    return next((kind for kind in kinds if id_in_name(path, kind) is not None), BlockKind.MOUNT)


def _value(path: str, data: bytes) -> Any:
    if path.endswith(".txt"):
        return data.decode("utf-8", "surrogatepass")
    document = read_json(data)
    return document.value if document.readable else None


# --------------------------------------------------------------------------------------------------------- records


def records(shared: SharedState) -> Iterator[tuple[str, bytes]]:
    """Yield the files beside the output folder; blocks of sub-workflows belong to another definition."""
    yield f"{RUN_FOLDER}/{MOUNT_FILE}", dumps(mount_of(shared.setup.repo))
    last = {step.node: step for step in shared.steps if _is_own(shared.setup.definition, step)}
    for node, step in last.items():
        yield f"{RUN_FOLDER}/env-{node}.json", dumps(step.env)
        yield f"{RUN_FOLDER}/prompt-{node}.txt", step.prompt.encode("utf-8", "surrogatepass")
    # Groups of other definitions may have the same names, but not the same nodes.
    groups = {group.id: set(group.lanes) for group in shared.setup.definition.parallel_groups}
    for fan_in in shared.fan_ins:
        if groups.get(fan_in["group"], set()) & set(fan_in["completionOrder"]):
            yield f"{RUN_FOLDER}/fan-in-{fan_in['group']}.json", dumps(fan_in["result"])


def _is_own(definition: StudioWorkflow, step: Step) -> bool:
    return step.env["WORKFLOW_ID"] == definition.id and step.node in definition.by_id


def write_records(shared: SharedState, trace: dict[str, Any]) -> None:
    """Leave a folder behind that the linter reads as one unit: outputs, records, trace and definition."""
    files = {**dict(records(shared)), f"{RUN_FOLDER}/{TRACE_FILE}": dumps(trace)}
    files[DEFINITION] = dumps(shared.setup.definition.raw)
    for path, data in files.items():
        place = shared.main.place(path)
        make_folders(os.path.dirname(place), shared.main.root)
        write_in_place(place, data, shared.main.root)


# ------------------------------------------------------------------------------------------------------------- golden


def golden_of(trace: dict[str, Any], findings: list[Finding], locks: list[str], folder: str) -> dict[str, Any]:
    """Return a trace without what differs from run to run. `folder` is the temporary folder of the run."""
    root = re.escape(os.path.realpath(folder))
    places = Normalizer(
        (re.compile(rf"{root}[\\/]{WORKSPACE}"), "«WORKSPACE»"),
        (re.compile(rf"{root}[\\/]lane-(\d+)"), r"«LANE\1»"),
        (re.compile(root), ABSOLUTE),
    )
    golden: dict[str, Any] = places.value({name: trace[name] for name in TRACE_MEMBERS})
    golden["steps"] = [_golden_step(step) for step in golden["steps"]]
    golden["events"] = [_event(event) for event in golden["events"]]
    golden["fanIns"] = [_fan_in(item) for item in golden["fanIns"]]
    golden["findings"] = places.value([finding_entry(finding) for finding in findings])
    golden["locks"] = sorted(locks)
    return golden


def _golden_step(step: dict[str, Any]) -> dict[str, Any]:
    env = {**step["env"], "EXECUTION_ID": "«EXEC1»", "TELEMETRY_URL": "«TELEMETRY_URL»"}
    return {**{name: step[name] for name in _STEP}, "env": env, "output": _output(step["output"])}


def _event(event: dict[str, Any]) -> dict[str, Any]:
    # The path of a write that was refused is the one thing in an event that can lead anywhere.
    return {**event, "data": _without_places(event["data"])} if event["type"] == "write_blocked" else event


def _fan_in(item: dict[str, Any]) -> dict[str, Any]:
    outputs = [_output(output) for output in item["result"]["blockOutputs"]]
    return {**{name: item[name] for name in _FAN_IN}, "result": {**item["result"], "blockOutputs": outputs}}


def _output(output: dict[str, Any] | None) -> Any:
    """Return an output without its time, and without paths of one machine."""
    return None if output is None else _without_places(output)


def _without_places(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: TIME if name == "timestamp" else _without_places(member) for name, member in value.items()}
    if isinstance(value, list):
        return [_without_places(item) for item in value]
    if isinstance(value, str) and _ABSOLUTE_PATH.fullmatch(value) and not _CONSTANT.fullmatch(value):
        return ABSOLUTE
    return value
