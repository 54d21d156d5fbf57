"""Broken shapes: each switch lets one thing pass that records and states must not hold, or loses one they must."""

from __future__ import annotations

import copy
import itertools
import re

from pytest_workrail.locks.sabotage import breaks
from workrail_lint.base.result import Err, Ok

READ = "pytest_workrail.engine.model.base:Shape.read_value"


def after(original, repair):
    """A reader that repairs what it would refuse, and so accepts it."""

    def read(shape, value):
        found = original(shape, value)
        if isinstance(found, Ok):
            return found
        repaired = repair(copy.deepcopy(value))
        again = original(shape, repaired)
        return again if isinstance(again, Ok) else found

    return read


def widened(original, member, good):
    """A reader for which any text will do in a member of a closed set."""

    def repair(value):
        if isinstance(value, list):
            return [repair(item) for item in value]
        if not isinstance(value, dict):
            return value
        return {
            name: good if name == member and isinstance(inner, str) else repair(inner) for name, inner in value.items()
        }

    return after(original, repair)


@breaks("event-kinds-closed-set", at=READ)
def unknown_events_pass_for_telemetry(original):
    """An event of a kind that nobody knows is kept."""

    def repair(value):
        from pytest_workrail.engine.model.events import EVENT_TYPES

        known = [kind.__struct_config__.tag for kind in EVENT_TYPES]
        is_unknown = isinstance(value, dict) and isinstance(value.get("kind"), str) and value["kind"] not in known
        return {**value, "kind": "usage_recorded"} if is_unknown else value

    return after(original, repair)


@breaks("snapshot-discriminated-union", at=READ)
def flags_beside_the_state_are_dropped(original):
    """A state may carry flags of its own."""

    def repair(value):
        state = value.get("enginePayload", {}).get("engineState", {}) if isinstance(value, dict) else {}
        for name in [name for name in state if name.startswith("is")]:
            del state[name]
        return value

    return after(original, repair)


@breaks("snapshot-pending-explicit", at=READ)
def what_is_not_pending_may_be_left_out(original):
    """A state without a member for its pending step has none."""

    def repair(value):
        if isinstance(value, dict):
            value.get("enginePayload", {}).get("engineState", {}).setdefault("pending", {"kind": "none"})
        return value

    return after(original, repair)


@breaks("snapshot-impossible-state-rejected", at="pytest_workrail.engine.model.step_keys:StepInstance.key")
def completed_steps_may_be_pending(original):
    """That a pending step is completed already is not seen."""
    return property(lambda step: f"{original.fget(step)}?")


@breaks("snapshot-loop-id-unique", at=READ)
def a_loop_may_stand_on_itself(original):
    """A loop that is on the stack twice counts once."""

    def repair(value):
        if isinstance(value, dict):
            state = value.get("enginePayload", {}).get("engineState", {})
            stack = state.get("loopStack", [])
            state["loopStack"] = [frame for at, frame in enumerate(stack) if frame["loopId"] not in _ids(stack[:at])]
        return value

    return after(original, repair)


def _ids(frames):
    return [frame["loopId"] for frame in frames]


@breaks("snapshot-completed-sorted", at="pytest_workrail.engine.model.step_keys:collation_key")
def completed_keys_may_stand_anyhow(original):
    """Any order of completed keys will do, and any repetition."""
    numbers = itertools.count()
    return lambda text: next(numbers)


@breaks("step-instance-key-delimiter-safe", at=READ)
def ids_may_hold_delimiters(original):
    """An id may hold the characters that separate the parts of a key."""

    def repair(value):
        if isinstance(value, list):
            return [repair(item) for item in value]
        if isinstance(value, dict):
            return {
                name: re.sub("[@/:]", "-", inner) if name in ("loopId", "stepId") else repair(inner)
                for name, inner in value.items()
            }
        return value

    return after(original, repair)


@breaks("step-instance-key-format", at="pytest_workrail.engine.model.step_keys:step_key")
def keys_forget_their_iteration(original):
    """The key of a step in a loop does not say in which iteration."""
    return lambda step_id, loop_path=(): original(step_id, tuple(at.replaced(iteration=0) for at in loop_path))


@breaks("snapshot-rehydration-only", at=READ)
def snapshots_may_hold_more(original):
    """Something that follows from the rest may be kept beside a state."""

    def repair(value):
        if isinstance(value, dict):
            for name in ("prompt", "cache"):
                value.get("enginePayload", {}).get("engineState", {}).pop(name, None)
                value.get("enginePayload", {}).pop(name, None)
                value.pop(name, None)
        return value

    return after(original, repair)


@breaks("user-only-dependency-closed-set", at=READ)
def people_may_be_needed_for_anything(original):
    """What only a person can provide may be anything."""
    return widened(original, "detail", "needs_user_approval")


@breaks("non-assumable-choice-closed-set", at=READ)
def any_choice_is_the_users(original):
    """A choice may be of any kind."""
    return widened(original, "choice", "scope_boundary")


@breaks("reason-code-unified", at="pytest_workrail.engine.model.reasons:Reason.as_gap")
def gaps_have_reasons_of_their_own(original):
    """A gap does not say what the blocker would have said."""
    return lambda reason, severity="critical": original(reason, severity).replaced(
        category="unexpected", detail="evaluation_error"
    )


@breaks("autonomy-closed-set", at=READ)
def any_autonomy_will_do(original):
    """Autonomy may have any value."""
    return widened(original, "autonomy", "guided")


@breaks("risk-policy-closed-set", at=READ)
def any_risk_policy_will_do(original):
    """The risk policy may have any value."""
    return widened(original, "riskPolicy", "conservative")


@breaks("risk-policy-guardrails", at="pytest_workrail.engine.core.modes:_is_tolerated")
def the_bold_may_do_anything(original):
    """Under the boldest risk policy no reason blocks."""
    return lambda reason, policy, profile: policy == "aggressive" or original(reason, policy, profile)


@breaks("schema-versioned", at=READ)
def a_version_may_be_left_out(original):
    """A record that does not say of which version it is passes for the first."""
    return after(original, lambda value: {"v": 1, **value} if isinstance(value, dict) else value)


@breaks("schema-additive-within-version", at="pytest_workrail.engine.model.base:StoredRecord.to_wire")
def what_is_new_is_lost(original):
    """A member that a later version added does not survive."""

    from pytest_workrail.engine.model.base import Value

    return Value.to_wire


@breaks("schema-unknown-version-fail-fast", at=READ)
def later_versions_are_read_like_this_one(original):
    """A record of an unknown version is taken for one of the known version."""
    return after(original, lambda value: {**value, "v": 1} if isinstance(value, dict) else value)


@breaks("schema-unknown-fields-ignored-conditionally", at=READ)
def closed_shapes_are_open(original):
    """A member that nobody knows passes in a closed shape."""

    def repair(value):
        if isinstance(value, list):
            return [repair(item) for item in value]
        if not isinstance(value, dict):
            return value
        return {name: repair(inner) for name, inner in value.items() if name not in ("cache", "later", "more", "why")}

    return after(original, repair)


@breaks("session-health-closed-set", at="pytest_workrail.engine.store.gate:assess")
def damage_has_one_name(original):
    """Whatever is wrong with a session is called a damaged tail."""

    def assess(loaded):
        from pytest_workrail.engine.store.gate import CorruptTail, Healthy

        found = original(loaded)
        if isinstance(found, Err) or isinstance(found.value, Healthy):
            return found
        return Ok(CorruptTail(found.value.reason))

    return assess


@breaks("blocker-codes-closed-set", at=READ)
def any_blocker_code_will_do(original):
    """A blocker may have any code."""
    return widened(original, "code", "INVARIANT_VIOLATION")


@breaks("run-status-closed-set", at="pytest_workrail.engine.projections.session_facts:run_status")
def finished_runs_are_done(original):
    """A finished run has a status that is not in the list."""

    def status(events, run, tip):
        found = original(events, run, tip)
        return Ok("done") if found == Ok("complete") else found

    return status


@breaks("edge-kind-closed-set", at=READ)
def any_edge_kind_will_do(original):
    """An edge may be of any kind."""
    return widened(original, "edgeKind", "acked_step")


@breaks("edge-cause-closed-set", at=READ)
def any_cause_will_do(original):
    """An edge may have any cause."""

    def repair(value):
        cause = value.get("data", {}).get("cause") if isinstance(value, dict) and "data" in value else None
        if isinstance(cause, dict):
            cause["kind"] = "intentional_fork"
        return value

    return after(original, repair)


@breaks("output-channel-closed-set", at=READ)
def any_channel_will_do(original):
    """An output may go into any channel."""
    return widened(original, "outputChannel", "recap")


@breaks("notes-markdown-budget", at="pytest_workrail.engine.core.outputs:stored_notes")
def notes_have_no_budget(original):
    """Notes are kept whole, however long they are."""
    return lambda notes: notes or None


@breaks("truncation-marker-format", at="pytest_workrail.engine.model.step_keys:TRUNCATION_MARKER")
def cut_text_ends_otherwise(original):
    """Cut text has another marker."""
    return "\n\n[SHORTENED]"


@breaks("decision-trace-bounded", at="pytest_workrail.engine.core.outcomes:within_budget")
def traces_have_no_budget(original):
    """A trace is kept whole, however long it is."""
    return lambda entries: tuple(entries)


@breaks("blocker-budget", at="pytest_workrail.engine.model.reasons:MAX_BLOCKERS")
def reports_have_no_end(original):
    """A report may hold any number of blockers."""
    return 1000


@breaks("illegal-states-unrepresentable", at="pytest_workrail.engine.model.reasons:user_dependency")
def a_choice_may_be_missing(original):
    """A dependency on a choice can be built without the choice."""
    from pytest_workrail.engine.model.reasons import UserOnlyDependency

    return UserOnlyDependency


@breaks("budget-enforcement", at="pytest_workrail.engine.core.outputs:MAX_VALIDATION_LIST_BYTES")
def lists_of_issues_have_no_budget(original):
    """What a validation found may be longer than a record can hold."""
    return 1_000_000
