"""A session as a state machine: any calls in any order, on a store in memory and on one that is closed and reopened.

Both engines draw the same ids, so every answer and every event must be the same on both.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from effort import times
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    Bundle,
    RuleBasedStateMachine,
    initialize,
    invariant,
    multiple,
    precondition,
    rule,
)
from protocol_bench import WORKSPACE, compiled, quiet, step, workflow

from pytest_workrail.engine.model.events import Event
from pytest_workrail.engine.model.ids import SessionId
from pytest_workrail.engine.model.words import AUTONOMIES, RISK_POLICIES, Preferences
from pytest_workrail.engine.projections.dag import project_dag
from pytest_workrail.engine.projections.session_facts import (
    effective_preferences,
    project_gaps,
    project_outputs,
    recovery_text,
)
from pytest_workrail.engine.protocol.engine import Engine, Options
from pytest_workrail.engine.protocol.library import MemoryLibrary
from pytest_workrail.engine.store import layout
from pytest_workrail.engine.store.disk import on_disk
from pytest_workrail.engine.store.filesystem import Holder, on_files
from pytest_workrail.engine.store.gate import Home
from pytest_workrail.engine.store.memory import FixedClock, SeededEntropy, TreeFiles, in_memory
from pytest_workrail.engine.store.token_store import TEST_KEY
from pytest_workrail.engine.tokens.formats import KeyPair, keyring_bytes

GATE = "wr.contracts.gate_verdict"
LOOP = "wr.contracts.loop_control"
VERDICT = {"kind": "wr.gate_verdict", "version": 1, "verdict": "approved", "confidence": "low", "rationale": "x" * 20}
LEVELS = [{"id": "sure", "purpose": "How sure", "levels": ["low", "high"]}]
FOLLOWUP = {"when": {"anyEqualsLevel": "low"}, "effect": {"kind": "require_followup", "guidance": "Again."}}
SHELF = [
    workflow(
        "plain",
        step("one", "One", "One of {{goal}}."),
        step("two", "Two", "Two of {{n}}.", notesOptional=True, runCondition={"var": "n", "gt": 1}),
        step("three", "Three", "Three."),
    ),
    workflow(
        "demanding",
        quiet("judge", outputContract={"contractRef": GATE}),
        quiet("rate", assessmentRefs=["ready"], assessmentConsequences=[FOLLOWUP]),
        step("say", "Say", "Say.", validationCriteria=[{"type": "contains", "value": "x", "message": "no x"}]),
        quiet("confirm", requireConfirmation=True),
        assessments=[{"id": "ready", "purpose": "Ready?", "dimensions": LEVELS}],
        recommendedPreferences={"recommendedAutonomy": "guided"},
    ),
    workflow("gated", quiet("ask", requireConfirmation={"kind": "human_approval"}), quiet("after")),
    workflow(
        "looping",
        {
            "id": "again",
            "type": "loop",
            "title": "Again",
            "loop": {
                "type": "while",
                "maxIterations": 3,
                "conditionSource": {"kind": "artifact_contract", "contractRef": LOOP, "loopId": "again"},
            },
            "body": [quiet("draft"), quiet("decide", outputContract={"contractRef": LOOP})],
        },
        quiet("ship"),
        capabilities={"delegation": "required"},
    ),
]
ARTIFACTS: list[Any] = [
    VERDICT,
    VERDICT | {"verdict": "maybe"},
    {"kind": "wr.loop_control", "decision": "continue", "loopId": "again"},
    {"kind": "wr.loop_control", "decision": "stop", "loopId": "again"},
    {"kind": "wr.assessment", "dimensions": {"sure": "high"}},
    {"kind": "wr.assessment", "dimensions": {"sure": "LOW"}},
    {
        "kind": "wr.capability_observation",
        "capability": "delegation",
        "status": "available",
        "provenance": {"kind": "probe_step", "result": "success"},
    },
    {"kind": "wr.workflow_divergence", "reason": "safety_stop", "summary": "s"},
    None,
]
_notes = st.none() | st.sampled_from(["n", "x marks", "", "é" * 2100])
_context = st.none() | st.sampled_from([{}, {"n": 2}, {"n": None}, {"is_autonomous": "true"}])
_artifacts = st.none() | st.lists(st.sampled_from(range(len(ARTIFACTS))), max_size=2)
_TOKEN = re.compile(r"(?<![A-Za-z0-9_])(c[tk]_[A-Za-z0-9_-]{16})[A-Za-z0-9_-]{8}")


@dataclass(frozen=True)
class Held:
    """A token somebody holds, and how many keys there were when it was made."""

    text: str
    age: int


@dataclass(frozen=True)
class Settled:
    """An advance that was answered."""

    token: Held
    answer: str
    age: int


def without_signatures(answer: str) -> str:
    """A key rotation signs old tokens anew; the rest of a token stays."""
    return _TOKEN.sub(r"\1", answer)


def prepared_files() -> TreeFiles:
    """Files with the key that the engine in memory uses, so that both sign alike."""
    return TreeFiles({layout.KEYRING: keyring_bytes(KeyPair(TEST_KEY))})


class Sessions(RuleBasedStateMachine):
    tokens: Bundle[Held] = Bundle("tokens")

    def __init__(self) -> None:
        super().__init__()
        self.library = MemoryLibrary()
        for authored in SHELF:
            self.library.put_ir(compiled(authored))
        self.keys = 0
        self.newest: Held | None = None
        self.markers: list[Held] = []
        self.settled: list[Settled] = []
        self.acknowledged: dict[SessionId, tuple[Event, ...]] = {}

    @initialize(profile=st.sampled_from(["reference", "locked"]), seed=st.sampled_from("ab"))
    def open(self, profile: Any, seed: str) -> None:
        self.options = Options(profile=profile)
        self.files = prepared_files()
        # The clock stands still: a lock on files asks it too, one in memory does not.
        self.entropy, self.clock = SeededEntropy(seed), FixedClock()
        self.memory = Engine(in_memory(FixedClock(), SeededEntropy(seed)), self.library, self.options)
        self.reopenings = 0
        self.reopen()

    def home(self) -> Home:
        holder = Holder(1, "main", f"instance-{self.reopenings}")
        return on_files(self.files, self.clock, self.entropy, holder)

    @rule()
    def reopen(self) -> None:
        """A new process on the same files: nothing that was in memory is needed."""
        self.reopenings += 1
        self.disk = Engine(self.home(), self.library, self.options)

    def ask(self, tool: str, request: dict[str, Any]) -> Any:
        """Ask both engines; they must agree to the letter."""
        answers = [getattr(engine, tool)(request) for engine in (self.memory, self.disk)]
        shown = []
        for answer in answers:
            if answer.is_ok:
                shown.append((json.dumps(answer.value.to_json()), answer.value.text))
            else:
                assert answer.error.cause is None, repr(answer.error.cause)
                shown.append((json.dumps(answer.error.to_json()), ()))
        if tool != "resume_session":  # which of them was changed last is the clock's and the disk's business
            assert shown[0] == shown[1]
        return answers[0]

    def handed_out(self, answer: Any) -> Any:
        """The tokens of an answer."""
        shown = answer.value.to_json()
        if "checkpointToken" in shown:
            self.markers.append(Held(shown["checkpointToken"], self.keys))
        names = ("continueToken", "retryContinueToken", "gateToken")
        held = [Held(shown[name], self.keys) for name in names if name in shown]
        self.newest = held[-1] if held else self.newest
        return multiple(*held)

    def logs(self) -> dict[SessionId, tuple[Event, ...]]:
        stores = self.memory.home.stores.sessions
        return {entry.session_id: stores.load(entry.session_id).value.events for entry in stores.list_sessions().value}

    def is_refused(self, answer: Any, held: Held) -> bool:
        """A token outlives one rotation, not two."""
        bad = not answer.is_ok and answer.error.code == "TOKEN_BAD_SIGNATURE"
        assert bad == (self.keys - held.age >= 2)
        return bad

    @precondition(lambda self: len(self.acknowledged) < 2)
    @rule(
        target=tokens,
        workflow_id=st.sampled_from([authored["id"] for authored in SHELF]),
        autonomy=st.sampled_from(AUTONOMIES),
        n=st.sampled_from([None, 1, 2]),
    )
    def start(self, workflow_id: str, autonomy: str, n: int | None) -> Any:
        request = {
            "workflowId": workflow_id,
            "workspacePath": WORKSPACE,
            "goal": "the goal",
            "initialContext": {"n": n},
            "preferences": {"autonomy": autonomy},
        }
        return self.handed_out(self.ask("start_workflow", request))

    @rule(target=tokens, held=tokens, notes=_notes, artifacts=_artifacts, context=_context)
    def advance_somehow(self, held: Held, notes: str | None, artifacts: list[int] | None, context: Any) -> Any:
        return self.advance(held, notes, artifacts, context)

    def advance(self, held: Held, notes: str | None, artifacts: list[int] | None, context: Any) -> Any:
        request: dict[str, Any] = {"continueToken": held.text, "intent": "advance"}
        request |= {} if notes is None else {"notes": notes}
        request |= {} if artifacts is None else {"artifacts": [ARTIFACTS[at] for at in artifacts]}
        request |= {} if context is None else {"context": context}
        before = self.logs()
        answer = self.ask("continue_workflow", request)
        if self.is_refused(answer, held) or not answer.is_ok:
            assert self.logs() == before
            return multiple()
        self.settled.append(Settled(held, json.dumps(answer.value.to_json()), self.keys))
        return self.handed_out(answer)

    @precondition(lambda self: self.newest is not None)
    @rule(target=tokens, decision=st.sampled_from([2, 3]), autonomous=st.booleans())
    def advance_well(self, decision: int, autonomous: bool) -> Any:
        """Submit what any step may ask for, where the run stands, so that it gets somewhere."""
        assert self.newest is not None
        context = {"is_autonomous": "true"} if autonomous else {}
        return self.advance(self.newest, "x and more", [0, decision, 4, 6], context)

    @precondition(lambda self: self.settled)
    @rule(data=st.data(), notes=_notes)
    def replay(self, data: st.DataObject, notes: str | None) -> None:
        """The recorded answer to the letter, whatever is submitted the second time.

        @enforces ack-idempotency-key
        @enforces replay-fact-returning
        """
        done = data.draw(st.sampled_from(self.settled))
        before = self.logs()
        request = {"continueToken": done.token.text, "intent": "advance"}
        request |= {} if notes is None else {"notes": notes}
        answer = self.ask("continue_workflow", request)
        if not self.is_refused(answer, done.token):
            again = json.dumps(answer.value.to_json())
            if self.keys == done.age:
                assert again == done.answer
            assert without_signatures(again) == without_signatures(done.answer)
        assert self.logs() == before

    @rule(target=tokens, held=tokens)
    def rehydrate(self, held: Held) -> Any:
        """@enforces rehydrate-pure-no-writes
        @enforces advance-append-capable
        """
        before, files = self.logs(), dict(self.files.contents)
        answer = self.ask("continue_workflow", {"continueToken": held.text})
        files[layout.TOKEN_INDEX] = self.files.contents[layout.TOKEN_INDEX]
        assert (self.logs(), self.files.contents) == (before, files)
        return multiple() if self.is_refused(answer, held) else self.handed_out(answer)

    @precondition(lambda self: self.markers)
    @rule(data=st.data())
    def checkpoint(self, data: st.DataObject) -> None:
        held = data.draw(st.sampled_from(self.markers))
        answer = self.ask("checkpoint_workflow", {"checkpointToken": held.text})
        if not self.is_refused(answer, held):
            again = self.ask("checkpoint_workflow", {"checkpointToken": held.text})
            assert again.value == answer.value

    @rule(held=tokens, autonomy=st.sampled_from(AUTONOMIES), risk=st.sampled_from(RISK_POLICIES))
    def prefer(self, held: Held, autonomy: Any, risk: Any) -> None:
        if self.keys - held.age < 2:
            for engine in (self.memory, self.disk):
                place = engine.place_of(held.text).value
                assert engine.prefer(place, Preferences(autonomy, risk)).is_ok

    @precondition(lambda self: 0 < len(self.acknowledged) < 4)
    @rule(target=tokens, data=st.data())
    def export_and_import(self, data: st.DataObject) -> Any:
        """@enforces bundle-import-as-new
        @enforces projection-cache-rebuildable
        """
        session_id = data.draw(st.sampled_from(sorted(self.acknowledged)))
        bundles = [json.dumps(engine.export_session(session_id).value) for engine in (self.memory, self.disk)]
        # Plans become segments, so the two manifests are alike as well.
        assert bundles[0] == bundles[1]
        assert not _TOKEN.search(bundles[0])
        copies = [engine.import_session(bundles[0].encode()).value for engine in (self.memory, self.disk)]
        assert copies[0] == copies[1] != session_id
        logs = self.logs()
        assert projections(logs[copies[0]]) == projections(logs[session_id])
        found = self.ask("resume_session", {"workspacePath": WORKSPACE, "sessionId": copies[0]})
        token = found.value.to_json()["candidates"][0]["resumeToken"]
        return self.handed_out(self.ask("continue_workflow", {"continueToken": token}))

    @precondition(lambda self: self.keys < 2 and len(self.settled) > 3)
    @rule()
    def rotate(self) -> None:
        for engine in (self.memory, self.disk):
            assert engine.rotate_keys().is_ok
        self.keys += 1

    @invariant()
    def nothing_acknowledged_is_lost(self) -> None:
        """@enforces append-plan-atomic
        @enforces event-index-monotonic-contiguous
        """
        if not hasattr(self, "disk"):
            return
        logs = self.logs()
        for session_id, events in self.acknowledged.items():
            assert logs[session_id][: len(events)] == events
        for session_id, events in logs.items():
            assert [event.event_index for event in events] == list(range(len(events)))
            assert self.disk.home.stores.sessions.load(session_id).value.events == events
        self.acknowledged = logs


def projections(events: tuple[Event, ...]) -> Any:
    """Everything there is to tell about a log, apart from the name of its session."""
    runs = project_dag(events).value
    return {
        run_id: (
            run,
            project_outputs(events).value.by_node,
            project_gaps(events).of_run(run_id),
            [effective_preferences(events, run, node).value for node in run.nodes],
            [recovery_text(events, run_id, node) for node in run.nodes],
        )
        for run_id, run in runs.items()
    }


TestSessions = Sessions.TestCase
TestSessions.settings = settings(max_examples=times(25, deep=300), stateful_step_count=30, deadline=None)


def test_the_same_on_a_real_disk(tmp_path: Path) -> None:
    """A short session with everything in it, on files that are really there, reopened before every call."""
    library = MemoryLibrary()
    for authored in SHELF:
        library.put_ir(compiled(authored))
    clock, entropy = FixedClock(step_ms=1), SeededEntropy("disk")

    def engine() -> Engine:
        return Engine(on_disk(tmp_path / "data", clock, entropy).value, library)

    started = engine().start_workflow({"workflowId": "plain", "workspacePath": WORKSPACE, "goal": "g"}).value.to_json()
    token = started["continueToken"]
    blocked = engine().continue_workflow({"continueToken": token, "intent": "advance"}).value.to_json()
    assert blocked["kind"] == "blocked"
    retry = {"continueToken": blocked["retryContinueToken"], "notes": "n", "context": {"n": 2}}
    accepted = engine().continue_workflow(retry).value.to_json()
    assert accepted["pending"]["stepId"] == "two"  # type: ignore[index, call-overload]
    assert engine().rotate_keys().is_ok
    again = engine().continue_workflow(retry).value.to_json()
    assert without_signatures(json.dumps(again)) == without_signatures(json.dumps(accepted))
    marked = engine().checkpoint_workflow({"checkpointToken": started["checkpointToken"]}).value.to_json()
    assert engine().continue_workflow({"continueToken": marked["resumeToken"]}).value.to_json()["kind"] == "ok"
    (entry,) = engine().home.stores.sessions.list_sessions().value
    copy = engine().import_session(json.dumps(engine().export_session(entry.session_id).value).encode()).value
    stores = engine().home.stores.sessions
    assert projections(stores.load(copy).value.events) == projections(stores.load(entry.session_id).value.events)
