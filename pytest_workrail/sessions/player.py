"""Plays a script on our engine and says what each call came to.

Nodes are named by their number. Each submission is an attempt of its own on its node, so a script can go on anywhere it
has been, as the agents did that it was made from.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from pytest_workrail.agents.agent import answer_kind
from pytest_workrail.engine.core.modes import Preferences
from pytest_workrail.engine.core.profiles import ProfileName
from pytest_workrail.engine.model.ids import NodeId, RunId, SessionId, ref_of
from pytest_workrail.engine.projections.dag import Node
from pytest_workrail.engine.tokens.issuer import CheckpointGrant, ContinueGrant, NodeAddress
from pytest_workrail.run.bench import GOAL, WORKSPACE, Bench, Setup
from pytest_workrail.sessions.script import Outcome, Script, ScriptAction, SetCheckpoint, SetPreferences, SubmitStep
from workrail_lint.base.result import Err

# What differs from run to run and means nothing by itself.
_TOKENS = ("continueToken", "checkpointToken", "retryContinueToken", "nextCall", "gateToken", "resumeToken")


class Player:
    """One run of a script on one IR."""

    def __init__(self, ir: dict[str, Any], script: Script, profile: ProfileName = "reference") -> None:
        self._script = script
        self._bench = Bench(Setup(ir, profile))
        self._ir = ir
        self._session: SessionId | None = None
        self._run: RunId | None = None

    def start(self) -> Outcome:
        """Begin the run."""
        script = self._script
        request: dict[str, Any] = {
            "workflowId": self._ir["workflowId"],
            "workspacePath": WORKSPACE,
            "goal": script.goal or GOAL,
            "initialContext": script.context,
            "preferences": script.preferences,
        }
        exchange = self._bench.call("start_workflow", request)
        if not exchange.is_error:
            place = self._bench.engine.place_of(str(exchange.response["continueToken"]))
            if isinstance(place, Err):
                raise AssertionError("the engine does not know its own token")
            self._session, self._run = place.value.session_id, place.value.run_id
        return outcome_of(exchange.response, exchange.is_error)

    def play(self) -> Iterator[tuple[ScriptAction, Outcome | None]]:
        """Do what the script says, one action after the other. Only submissions have an outcome."""
        for action in self._script.actions:
            yield action, self._do(action)

    def _do(self, action: ScriptAction) -> Outcome | None:
        place = self._place(action.node)
        if place is None:
            return Outcome("error", None, False, ("TOKEN_UNKNOWN_NODE",), {"message": "the run never got there"})
        match action:
            case SubmitStep():
                return self._submit(place, action)
            case SetCheckpoint():
                issued = self._bench.home.issuer.checkpoint_token(
                    CheckpointGrant(place, self._bench.home.mint.attempt())
                )
                if not isinstance(issued, Err):
                    self._bench.call("checkpoint_workflow", {"checkpointToken": issued.value})
                return None
            case SetPreferences(effective=effective):
                wanted: Any = (effective["autonomy"], effective["riskPolicy"])
                self._bench.engine.prefer(place, Preferences(*wanted))
                return None

    def _submit(self, place: NodeAddress, action: SubmitStep) -> Outcome:
        request: dict[str, Any] = {"continueToken": self._token(place), "intent": "advance"}
        if action.context is not None:
            request["context"] = action.context
        output: dict[str, Any] = {}
        if action.notes:
            output["notesMarkdown"] = action.notes
        if action.artifacts:
            output["artifacts"] = list(action.artifacts)
        if output:
            request["output"] = output
        exchange = self._bench.call("continue_workflow", request)
        return outcome_of(exchange.response, exchange.is_error)

    def _nodes(self) -> Mapping[NodeId, Node]:
        assert self._session is not None, "the run was started"
        assert self._run is not None, "the run was started"
        session = self._bench.engine.session(self._session)
        if isinstance(session, Err):
            raise AssertionError(session.error.message)
        return session.value.runs[self._run].nodes

    def _place(self, number: int) -> NodeAddress | None:
        if self._session is None or self._run is None:
            return None
        nodes = list(self._nodes())
        return NodeAddress(self._session, self._run, nodes[number - 1]) if number <= len(nodes) else None

    def _token(self, place: NodeAddress) -> str:
        home = self._bench.home
        ref = ref_of(self._nodes()[place.node_id].workflow_hash)
        issued = home.issuer.continue_token(ContinueGrant(place, home.mint.attempt(), ref))
        if isinstance(issued, Err):
            raise AssertionError(issued.error.message)
        return issued.value


def outcome_of(response: dict[str, Any], is_error: bool) -> Outcome:
    """What an answer says, without its tokens."""
    shown = {name: value for name, value in response.items() if name not in _TOKENS}
    if is_error:
        return Outcome("error", None, False, (str(response.get("code")),), shown)
    answer = answer_kind(response)
    if answer == "gated":
        return Outcome("gate_checkpoint", str(response["stepId"]), False, (), shown)
    pending = response.get("pending")
    report = response.get("blockers")
    codes = tuple(str(each["code"]) for each in report["blockers"]) if isinstance(report, dict) else ()
    step = str(pending["stepId"]) if isinstance(pending, dict) else None
    return Outcome("blocked" if answer == "blocked" else "ok", step, answer == "complete", codes, shown)
