"""What a run has to show before it counts as evidence for a lock."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from workrail_lint.findings import Finding
from workrail_lint.systems.blocks.environment import NAMES
from workrail_lint.systems.blocks.merging import path_conflicts, reported
from workrail_lint.systems.blocks.run_vocabulary import CONTINUE
from workrail_lint.systems.blocks.traces import FanIn, Trace
from workrail_lint.systems.blocks.vocabulary import MergeStrategy, Resolution

EvidenceCheck = Callable[[Trace, list[str]], bool]
_ALL_SECTIONS = ("Rules:\n", "Only modify files matching: ", "You must produce the following outputs:\n")


def evident_locks(trace: dict[str, Any], findings: list[Finding]) -> list[str]:
    """The locks that a run bears witness to."""
    seen, codes = Trace(trace), [finding.code for finding in findings]
    return [lock for lock, check in EVIDENCE_CHECKS.items() if check(seen, codes)]


# ---------------------------------------------------------------------------------------------------- in a row


def _folder_first(trace: Trace, codes: list[str]) -> bool:
    return bool(trace.of_type("node_started", "lane_started")) and "BC701" not in codes


def _synthetic(*reasons: str) -> EvidenceCheck:
    def check(trace: Trace, codes: list[str]) -> bool:
        found = [step for _, step in trace.steps if step["synthetic"] in reasons]
        names = trace.value["outputFolder"]
        return any(step["output"]["status"] == "failed" and _file(step) in names for step in found)

    return check


def _file(step: dict[str, Any]) -> str:
    return f"block-{step['env']['NODE_ID']}.json"


def _malformed_fails(trace: Trace, codes: list[str]) -> bool:
    names = trace.value["outputFolder"]
    rejected = [step for _, step in trace.steps if step["synthetic"] == "malformed"]
    return any(step["nodeStatus"] == "failed" and f"{_file(step)}.rejected" in names for step in rejected)


def _prompt_order(trace: Trace, codes: list[str]) -> bool:
    """A prompt with all five sections: three can be known by how they begin, and two more stand before the fourth."""
    return "BC420" not in codes and any(_has_five(step["prompt"]) for _, step in trace.steps)


def _has_five(prompt: str) -> bool:
    sections = prompt.split("\n\n")
    places = [next((at for at, text in enumerate(sections) if text.startswith(head)), -1) for head in _ALL_SECTIONS]
    rules, restriction, checklist = places
    return rules == 0 and restriction >= 3 and checklist == restriction + 1


def _prompt_omission(trace: Trace, codes: list[str]) -> bool:
    """A prompt with a section before and one behind the one that it lacks."""

    def lacks_middle(prompt: str) -> bool:
        return prompt.startswith(_ALL_SECTIONS[0]) and _ALL_SECTIONS[2] in prompt and not _has_five(prompt)

    return "BC420" not in codes and any(lacks_middle(step["prompt"]) for _, step in trace.steps)


def _prompt_no_previous(trace: Trace, codes: list[str]) -> bool:
    later = [step for _, step in trace.steps if step["env"]["PREVIOUS_BLOCK_ID"]]
    return bool(later) and "BC421" not in codes


def _env_nine(trace: Trace, codes: list[str]) -> bool:
    return bool(trace.steps) and all(tuple(step["env"]) == NAMES for _, step in trace.steps)


def _previous_chain(trace: Trace, codes: list[str]) -> bool:
    """An empty one, a group whose lanes share one that is not, and a block behind that group."""
    previous = {step["env"]["NODE_ID"]: step["env"]["PREVIOUS_BLOCK_ID"] for _, step in trace.steps}
    lanes = _lanes_of_first_group(trace)
    shared = {previous[lane] for lane in lanes if lane in previous}
    shares_one = len(lanes) > 1 and len(shared) == 1 and "" not in shared
    return "" in previous.values() and shares_one and any(one in lanes for one in previous.values())


def _lanes_of_first_group(trace: Trace) -> list[str]:
    started = trace.of_type("lane_started")
    return [event.lane for event in started if event.group == started[0].group]


def _fresh_when_warm(trace: Trace, codes: list[str]) -> bool:
    return "BC704" not in codes and any(step["container"]["warm"] for _, step in trace.steps)


def _stateless(trace: Trace, codes: list[str]) -> bool:
    return "cold" in trace.value and "BC710" not in codes and len(trace.steps) > 1


def _gate_revise(trace: Trace, codes: list[str]) -> bool:
    """A block was revised, and then accepted."""
    revised: set[str] = set()
    accepted = False
    for event in trace.of_type("block_revision", "gate_decided"):
        if event.type == "block_revision":
            revised.add(event.node)
        elif event.node in revised and event.data.get("selectedOption") == CONTINUE:
            accepted = True
    return accepted and "BC711" not in codes


def _failed_no_gate(trace: Trace, codes: list[str]) -> bool:
    """A block failed that would have been asked about."""
    asked = set(trace.value["asks"])
    failed = {event.node for event in trace.of_type("node_failed") if event.data.get("reason") != "aborted"}
    opened = {event.node for event in trace.of_type("block_gate_open")}
    return bool(asked & failed - opened)


def _restrictions_reported(trace: Trace, codes: list[str]) -> bool:
    return "BC609" in codes or bool(trace.of_type("write_blocked"))


# -------------------------------------------------------------------------------------------------------- in lanes


def _merges(trace: Trace) -> list[FanIn]:
    return [fan_in for fan_in in trace.fan_ins if len(fan_in.outputs) > 1]


def _lane_isolation(trace: Trace, codes: list[str]) -> bool:
    """Two lanes wrote one path, and what each of them had there was its own."""
    for fan_in in _merges(trace):
        lanes = fan_in.value["content"]["lanes"]
        counts: dict[str, set[str]] = {}
        for hashes in lanes.values():
            for path, found in hashes.items():
                counts.setdefault(path, set()).add(found)
        if "BC705" not in codes and any(len(found) > 1 for found in counts.values()):
            return True
    return False


def _lane_identity(trace: Trace, codes: list[str]) -> bool:
    return len(trace.of_type("lane_started")) > 1 and "BC713" not in codes


def _fan_in_waits(trace: Trace, codes: list[str]) -> bool:
    """The merge began behind a lane that settled later than another one."""
    return "BC706" not in codes and any(len(fan_in.order) > 1 for fan_in in trace.fan_ins)


def _concatenate(trace: Trace, codes: list[str]) -> bool:
    names = trace.value["outputFolder"]
    for fan_in in _merges(trace):
        edits = any(reported(output) for output in fan_in.outputs.values())
        kept = all(f"block-{lane}.json" in names for lane in fan_in.outputs)
        if fan_in.strategy is MergeStrategy.CONCATENATE and edits and kept and not fan_in.applied:
            return True
    return False


def _first_complete_wins(trace: Trace, codes: list[str]) -> bool:
    """A clash that a lane won which does not stand first in its group."""
    for fan_in in _merges(trace):
        first = next(iter(fan_in.outputs))
        conflicts = fan_in.result["conflicts"]
        if any(_won_by_time(conflict, first) for conflict in conflicts) and not {"BC707", "BC708"} & set(codes):
            return True
    return False


def _won_by_time(conflict: dict[str, Any], first: str) -> bool:
    winner = conflict["lanes"][0]
    by_time = bool(conflict["resolution"] == Resolution.FIRST_COMPLETE_WINS.value)
    return by_time and winner != first and bool(conflict["appliedFrom"] == winner)


def _non_clashing(trace: Trace, codes: list[str]) -> bool:
    for fan_in in _merges(trace):
        found = path_conflicts(fan_in.outputs, fan_in.order)
        losers = {lane for clash in found for lane in clash.lanes[1:]}
        contested = {clash.path for clash in found}
        others = [lane for path, lane in (fan_in.applied or {}).items() if path not in contested]
        if "BC708" not in codes and any(lane in losers for lane in others):
            return True
    return False


def _conflict_pauses(trace: Trace, codes: list[str]) -> bool:
    types = [event.type for event in trace.events if event.data.get("cause") != "user"]
    paused = {"execution_paused", "gate_decided", "execution_resumed"} <= set(types)
    resolved = any(
        conflict["resolution"] == Resolution.USER_RESOLVED.value
        for fan_in in trace.fan_ins
        for conflict in fan_in.result["conflicts"]
    )
    return paused and resolved and "BC709" not in codes


def _order_pure(trace: Trace, codes: list[str]) -> bool:
    return len(trace.value.get("permutations", ())) > 1 and "BC714" not in codes


EVIDENCE_CHECKS: dict[str, EvidenceCheck] = {
    "block-output-folder-first": _folder_first,
    "block-output-required": _synthetic("missing"),
    "block-output-malformed-fails": _malformed_fails,
    "block-id-equals-node": _synthetic("mismatch"),
    "block-prompt-order": _prompt_order,
    "block-prompt-omission": _prompt_omission,
    "block-prompt-no-previous": _prompt_no_previous,
    "block-env-nine": _env_nine,
    "block-previous-chain": _previous_chain,
    "block-env-fresh-when-warm": _fresh_when_warm,
    "block-stateless": _stateless,
    "block-lane-isolation": _lane_isolation,
    "block-lane-identity": _lane_identity,
    "block-fan-in-waits": _fan_in_waits,
    "block-concatenate-no-merge": _concatenate,
    "block-first-complete-wins": _first_complete_wins,
    "block-non-clashing-kept": _non_clashing,
    "block-fail-on-conflict-pauses": _conflict_pauses,
    "block-order-pure": _order_pure,
    "block-gate-revise": _gate_revise,
    "block-failed-no-gate": _failed_no_gate,
    "block-restrictions-reported": _restrictions_reported,
}
