"""What is kept of a run: its trace, the records beside the output folder, all findings, and the golden."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterator
from typing import Any

from pytest_workrail.golden.encoding import dumps
from pytest_workrail.systems.blocks.attempts import mount_of, output_path
from pytest_workrail.systems.blocks.run_state import WORKSPACE, SharedState, Stage, Step
from pytest_workrail.systems.kernel.run import report
from pytest_workrail.systems.kernel.scenario import ABSOLUTE, TIME, Normalizer, finding_entry
from workrail_lint.base.files import make_folders, write_in_place
from workrail_lint.documents.json_reader import read_json
from workrail_lint.findings import Finding
from workrail_lint.systems.blocks import paths
from workrail_lint.systems.blocks.check import check_document, check_trace, check_unit, read_document
from workrail_lint.systems.blocks.comparison import TRACE_MEMBERS
from workrail_lint.systems.blocks.documents import (
    MOUNT_FILE,
    TRACE_FILE,
    WORKFLOW_SUFFIX,
    BlockKind,
    id_in_name,
    is_rejected,
)
from workrail_lint.systems.blocks.model.documents import StudioWorkflow
from workrail_lint.systems.blocks.paths import OUTPUT_FOLDER, RUN_FOLDER
from workrail_lint.systems.blocks.plan import Lanes, Plan
from workrail_lint.systems.blocks.records import record_of
from workrail_lint.systems.blocks.units import Folder, Unit
from workrail_lint.systems.blocks.vocabulary import ExecutionStatus, NodeStatus, OutputStatus

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
        "plan": [] if stage is None else plan_entries(stage.plan),
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


def plan_entries(plan: Plan) -> list[dict[str, Any]]:
    """Return the plan with the numbers of its steps."""
    entries: list[dict[str, Any]] = []
    for entry in plan.entries:
        if isinstance(entry, Lanes):
            indices = [plan.step_index[node] for node in entry.nodes]
            lanes = {"group": entry.group, "nodeIds": list(entry.nodes), "stepIndices": indices}
            entries.append({**lanes, "mergeStrategy": entry.strategy})
        else:
            entries.append({"node": entry.node, "stepIndex": plan.step_index[entry.node]})
    return entries


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
