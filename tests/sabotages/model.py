"""Broken readings of a log, and broken bytes: runs, gaps, preferences, tips, canonical JSON and hashes."""

from __future__ import annotations

import itertools
import json

from changed import replace

from pytest_workrail.locks.sabotage import breaks
from workrail_lint.base.result import Err, Ok

DAG = "pytest_workrail.engine.projections.dag"
CANONICAL = "workrail_lint.base.canonical"


@breaks("runs-are-dags", at=f"{DAG}:_add_edge")
def edges_may_lead_anywhere(original):
    """An edge from a node that is not the parent is no contradiction."""

    def add(draft, event):
        problem = original(draft, event)
        return None if problem is not None and "not its parent" in problem.message else problem

    return add


@breaks("gaps-append-only-resolution", at="pytest_workrail.engine.projections.session_facts:project_gaps")
def gaps_stay_open(original):
    """A later gap that resolves an earlier one is not heard."""
    return lambda events: replace(original(events), resolved=frozenset())


@breaks("preferences-node-attached", at="pytest_workrail.engine.projections.session_facts:effective_preferences")
def preferences_belong_to_the_run(original):
    """What was set last holds everywhere."""

    def effective(events, run, node):
        from pytest_workrail.engine.model.events import PreferencesChanged
        from pytest_workrail.engine.model.words import Preferences

        set_last = [event.data.effective for event in events if isinstance(event, PreferencesChanged)]
        found = original(events, run, node)
        if isinstance(found, Err) or not set_last:
            return found
        return Ok(Preferences(set_last[-1].autonomy, set_last[-1].risk_policy))

    return effective


@breaks("preferred-tip-per-run", at=f"{DAG}:project_dag")
def all_runs_prefer_one_tip(original):
    """The tip of the first run is preferred in all of them."""

    def project(events):
        found = original(events)
        if isinstance(found, Err) or not found.value:
            return found
        first = next(iter(found.value.values())).preferred_tip
        return Ok({run_id: replace(run, preferred_tip=first) for run_id, run in found.value.items()})

    return project


@breaks("preferred-tip-algorithm", at=f"{DAG}:_preferred")
def the_oldest_tip_is_preferred(original):
    """The tip that was made first is preferred."""
    return lambda draft, tips: min(tips, key=lambda tip: draft.nodes[tip].created_index, default=None)


@breaks("preferred-tip-no-timestamps", at=f"{DAG}:project_dag")
def clocks_decide(original):
    """The tip that was made last by the clock is preferred."""

    def project(events):
        from pytest_workrail.engine.model.events import NodeCreated

        found = original(events)
        if isinstance(found, Err):
            return found
        made = {event.scope.node_id: event.timestamp_ms for event in events if isinstance(event, NodeCreated)}
        return Ok(
            {
                run_id: replace(run, preferred_tip=max(run.tips, key=lambda tip: (made[tip], tip), default=None))
                for run_id, run in found.value.items()
            }
        )

    return project


@breaks("workflow-hash-jcs-sha256", at="pytest_workrail.engine.protocol.sessions:canonical_bytes")
def workflows_are_hashed_as_they_come(original):
    """The order of members has a say in the hash of a workflow."""
    return lambda value: json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()


@breaks("jcs-rfc-8785", at=f"{CANONICAL}:canonical_bytes")
def canonical_means_sorted(original):
    """Canonical JSON is what the standard library makes of it."""
    return lambda value: json.dumps(value, sort_keys=True).encode()


@breaks("hash-format-sha256-hex", at=f"{CANONICAL}:digest")
def digests_shout(original):
    """A digest is written in capitals."""
    return lambda data: original(data).upper()


@breaks("determinism", at="pytest_workrail.engine.model.ids:IdMint._fresh")
def ids_come_from_elsewhere(original):
    """Ids are not made of the bytes that were given for them."""
    numbers = itertools.count()

    def fresh(self, kind):
        from pytest_workrail.engine.model.ids import format_id

        self._generate(16)
        return format_id(kind, next(numbers).to_bytes(16, "big"))

    return fresh
