"""What happened in a run before an exchange, as far as the engine's defects depend on it."""

from __future__ import annotations

from collections import Counter
from typing import Any

from pytest_workrail.agents.transcript import Exchange
from pytest_workrail.engine.events.ids import NodeId
from pytest_workrail.engine.events.kinds import GapRecorded, Log, NodeCreated, NodeOutputAppended
from pytest_workrail.engine.projections.dag import project_dag
from workrail_lint.base.result import Err


def warned_nodes(events: Log) -> set[NodeId]:
    """The nodes at which a run beyond its recommendation was warned about."""
    return {
        event.scope.node_id
        for event in events
        if isinstance(event, GapRecorded) and event.data.gap_id.startswith("rec_warn_")
    }


class History:
    """Grows with the exchanges of one run."""

    def __init__(self, log: Log) -> None:
        self._log = log
        self._nodes: dict[str, NodeId] = {}
        self._steps: dict[str, str] = {}
        self._advances: dict[str, int] = {}
        self._recaps: Counter[NodeId] = Counter()
        self._has_recap_from: int | None = None
        self._read = 0
        self._size = 0
        self.context: dict[str, Any] = {}
        self.terminal_tokens: set[str] = set()
        self.warned_nodes: set[NodeId] = set()
        self.has_completed = False

    def at(self, before: int, after: int) -> None:
        """Take in what was stored before an exchange, and the context that holds after it."""
        self._take(before)
        self._size = before
        for event in self._log[before:after]:
            if event.kind == "context_set":
                self.context = dict(event.data.context)

    def add(self, exchange: Exchange, before: int, after: int) -> None:
        """Take in an exchange: which node and step its tokens stand for."""
        response: dict[str, Any] = exchange.response
        if exchange.is_error:
            return
        token = exchange.request.get("continueToken", exchange.request.get("checkpointToken"))
        if after > before and isinstance(token, str):
            self._advances.setdefault(token, after)
        created = [event for event in self._log[before:after] if isinstance(event, NodeCreated)]
        known = self._nodes.get(str(token))
        # The tokens that a checkpoint gives are those of the node it was made at.
        node = created[-1].scope.node_id if created and exchange.tool != "checkpoint_workflow" else known
        pending = response.get("pending")
        step = pending["stepId"] if isinstance(pending, dict) else self._steps.get(str(token))
        for name in ("continueToken", "retryContinueToken", "checkpointToken", "resumeToken"):
            made = response.get(name)
            if isinstance(made, str) and node is not None and step is not None:
                self._nodes.setdefault(made, node)
                self._steps.setdefault(made, step)
        if response.get("kind") == "blocked" and response.get("retryable") is False:
            self.terminal_tokens.add(str(response.get("continueToken")))

    def _take(self, size: int) -> None:
        self.warned_nodes |= warned_nodes(self._log[self._read : size])
        for event in self._log[self._read : size]:
            if event.kind == "run_completed":
                self.has_completed = True
            elif isinstance(event, NodeOutputAppended) and event.data.output_channel == "recap":
                self._recaps[event.scope.node_id] += 1
                self._has_recap_from = self._has_recap_from or event.event_index
            elif event.kind == "context_set":
                self.context = dict(event.data.context)
        self._read = max(self._read, size)

    def step_of(self, exchange: Exchange) -> str | None:
        """The step that a call is about."""
        return self._steps.get(str(exchange.request.get("continueToken")))

    @staticmethod
    def prompt_of(exchange: Exchange) -> str:
        pending = exchange.response.get("pending")
        return str(pending["prompt"]) if isinstance(pending, dict) else ""

    @property
    def has_forked_recaps(self) -> bool:
        """Whether two advances with notes left one node."""
        return any(count > 1 for count in self._recaps.values())

    def changed_since_advance(self, exchange: Exchange) -> bool:
        """Whether context, preferences or the first notes were stored after the advance that is sent again."""
        recorded = self._advances.get(str(exchange.request.get("continueToken")))
        if recorded is None:
            return False
        later = {event.kind for event in self._log[recorded : self._size]}
        first_notes = self._has_recap_from is not None and self._has_recap_from >= recorded
        return first_notes or not later.isdisjoint(("context_set", "preferences_changed"))

    def shows_other_branch(self, exchange: Exchange) -> bool:
        """Whether a node with children is looked at while the newest branch starts elsewhere."""
        node = self._nodes.get(str(exchange.request.get("continueToken")))
        runs = project_dag(self._log[: self._size])
        if node is None or isinstance(runs, Err):
            return False
        run = next((each for each in runs.value.values() if node in each.nodes), None)
        if run is None or run.preferred_tip is None or run.is_tip(node):
            return False
        return node not in run.lineage(run.preferred_tip)
