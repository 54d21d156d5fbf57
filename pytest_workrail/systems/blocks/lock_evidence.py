"""The locks of the block contract: what a run must show to demonstrate each of them."""

from __future__ import annotations

from typing import Any, NamedTuple

from pytest_workrail.systems.kernel.scenario import LockEvidence
from workrail_lint.systems.blocks.environment import NAMES
from workrail_lint.systems.blocks.merging import path_conflicts, reported
from workrail_lint.systems.blocks.run_vocabulary import CONTINUE
from workrail_lint.systems.blocks.traces import FanIn, Trace
from workrail_lint.systems.blocks.vocabulary import MergeStrategy, Resolution, Synthetic

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
            for path, found in hashes.items():
                counts.setdefault(path, set()).add(found)
        if "BC705" not in run.codes and any(len(found) > 1 for found in counts.values()):
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
