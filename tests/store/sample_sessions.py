"""Sessions to test with: written through the same plans and the same gate as the real ones."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from pytest_workrail.engine.model import keys
from pytest_workrail.engine.model.blockers import Blocker, BlockerReport, GapRecordedData, WorkflowStepPointer
from pytest_workrail.engine.model.events import (
    ArtifactPayload,
    AutonomyChange,
    ContextSetData,
    GitSha1,
    NodeCreated,
    NodeOutputData,
    NotesPayload,
    ObservationData,
    PreferencesChangedData,
    RiskPolicyChange,
    RunCompletedData,
    RunStartedData,
    Sha256,
    ShortString,
    ValidationPerformedData,
    ValidationResult,
)
from pytest_workrail.engine.model.ids import AttemptId, NodeId, SnapshotRef, WorkflowHash, child_attempt
from pytest_workrail.engine.model.reasons import MissingNotes
from pytest_workrail.engine.model.snapshot import (
    BlockedState,
    CompletedSet,
    CompleteState,
    EnginePayload,
    ExecutionSnapshot,
    NothingPending,
    RetryableBlock,
    RunningState,
    StepPending,
)
from pytest_workrail.engine.model.step_keys import CompletedKeys, StepInstance, collated
from pytest_workrail.engine.model.trace import DecisionTraceData, TraceEntry
from pytest_workrail.engine.model.words import Autonomy, Preferences
from pytest_workrail.engine.projections.dag import Run, project_dag
from pytest_workrail.engine.store import plan
from pytest_workrail.engine.store.gate import Home
from pytest_workrail.engine.store.memory import FixedClock, SeededEntropy, in_memory
from pytest_workrail.engine.store.plan import AppendPlan, Conclusions, EventBuilder, SessionTruth, Step
from workrail_lint.base.canonical import canonical_bytes, digest

WORKFLOW = {"format": "workrail.ir/1", "workflowId": "demo-linear", "steps": []}
WORKFLOW_HASH = WorkflowHash(digest(canonical_bytes(WORKFLOW)))


def running(completed: Sequence[str], pending: str | None) -> ExecutionSnapshot:
    """A linear run at some point."""
    step = NothingPending() if pending is None else StepPending(step=StepInstance(step_id=pending, loop_path=()))
    state = RunningState(
        completed=CompletedSet(values=CompletedKeys.from_ordered(tuple(collated(completed)))),
        loop_stack=(),
        pending=step,
    )
    return ExecutionSnapshot(v=1, engine_payload=EnginePayload(v=1, engine_state=state))


def complete() -> ExecutionSnapshot:
    """The end of a run."""
    return ExecutionSnapshot(v=1, engine_payload=EnginePayload(v=1, engine_state=CompleteState()))


def blocked(completed: Sequence[str], pending: str, attempt: AttemptId) -> ExecutionSnapshot:
    """A run whose last attempt lacked notes."""
    report = BlockerReport(
        blockers=(
            Blocker(
                code="MISSING_REQUIRED_NOTES",
                pointer=WorkflowStepPointer(step_id=pending),
                message="notes are missing",
                suggested_fix="write notes",
            ),
        )
    )
    state = BlockedState(
        completed=CompletedSet(values=CompletedKeys.from_ordered(tuple(collated(completed)))),
        loop_stack=(),
        pending=StepPending(step=StepInstance(step_id=pending, loop_path=())),
        blocked=RetryableBlock(
            reason=MissingNotes(step_id=pending), retry_attempt_id=child_attempt(attempt), blockers=report
        ),
    )
    return ExecutionSnapshot(v=1, engine_payload=EnginePayload(v=1, engine_state=state))


def artifact(attempt: AttemptId, index: int, content: object) -> NodeOutputData:
    """An artifact as it is stored."""
    raw = canonical_bytes(content)
    return NodeOutputData(
        output_id=keys.artifact_output_id(attempt, index),
        output_channel="artifact",
        payload=ArtifactPayload(
            sha256=digest(raw), content_type="application/json", byte_length=len(raw), content=content
        ),
    )


def recap(attempt: AttemptId, notes: str) -> NodeOutputData:
    """Notes as they are stored."""
    return NodeOutputData(
        output_id=keys.recap_output_id(attempt), output_channel="recap", payload=NotesPayload(notes_markdown=notes)
    )


class Story:
    """One session, told step by step. `plans` keeps every plan that was acknowledged."""

    def __init__(self, home: Home | None = None, *, seed: str = "story") -> None:
        self.home = home or in_memory(FixedClock(), SeededEntropy(seed))
        self.session_id = self.home.mint.session()
        self.run_id = self.home.mint.run()
        self.root = self.home.mint.node()
        self.plans: list[AppendPlan] = []
        self.steps: dict[NodeId, int] = {self.root: 0}
        self.before_append: Callable[[AppendPlan], None] = lambda plan: None
        self.after_append: Callable[[], None] = lambda: None

    @property
    def truth(self) -> SessionTruth:
        return self.home.stores.sessions.load(self.session_id).value

    @property
    def run(self) -> Run:
        return project_dag(self.truth.events).value[self.run_id]

    def builder(self, truth: SessionTruth) -> EventBuilder:
        return EventBuilder(
            self.session_id,
            self.run_id,
            first_index=truth.next_index,
            timestamp_ms=self.home.clock.now_ms(),
            new_event_id=self.home.mint.event,
        )

    def write(self, make: Callable[[EventBuilder], AppendPlan]) -> AppendPlan:
        """Append what `make` plans, through the gate."""

        def inside(permit, truth):
            made = make(self.builder(truth))
            self.before_append(made)
            appended = self.home.stores.sessions.append(permit, made)
            return made if appended.is_ok else appended

        outcome = self.home.gate.with_healthy_session_lock(self.session_id, inside).value
        assert isinstance(outcome, AppendPlan), outcome
        self.plans.append(outcome)
        self.after_append()
        return outcome

    def snapshot(self, snapshot: ExecutionSnapshot) -> SnapshotRef:
        return self.home.stores.snapshots.put(snapshot).value

    def start(self, goal: str = "demo", *, autonomy: Autonomy = "guided", branch: str | None = None) -> NodeId:
        self.home.stores.workflows.put(dict(WORKFLOW)).value  # noqa: B018  # the value of a failure raises
        ref = self.snapshot(running([], "step-0"))
        observations = [
            ObservationData(key="repo_root_hash", value=Sha256(value="sha256:" + "ab" * 32), confidence="high"),
            ObservationData(key="git_head_sha", value=GitSha1(value="cd" * 20), confidence="high"),
        ]
        if branch is not None:
            observations.append(ObservationData(key="git_branch", value=ShortString(value=branch), confidence="high"))
        preferences = self.preferences(keys.INITIAL_CHANGE, autonomy, "system")
        self.write(
            lambda builder: plan.start_plan(
                builder,
                run=RunStartedData(
                    workflow_id="demo-linear",
                    workflow_hash=WORKFLOW_HASH,
                    workflow_source_kind="project",
                    workflow_source_ref="demo.json",
                ),
                root=self.root,
                snapshot_ref=ref,
                preferences=preferences,
                context=ContextSetData(context_id=keys.context_id(None), context={"goal": goal}, source="initial"),
                observations=observations,
            )
        )
        return self.root

    @staticmethod
    def preferences(change: str, autonomy: Autonomy, source: str = "user") -> PreferencesChangedData:
        return PreferencesChangedData(
            change_id=change,
            source=source,
            delta=(AutonomyChange(value=autonomy), RiskPolicyChange(value="conservative")),
            effective=Preferences(autonomy=autonomy, risk_policy="conservative"),
        )

    def step(self, source: NodeId, attempt: AttemptId, ref: SnapshotRef, depth: int) -> Step:
        target = self.home.mint.node()
        self.steps[target] = depth
        return Step(source, attempt, target, WORKFLOW_HASH, ref, self.run.advance_cause(source))

    def advance(
        self,
        source: NodeId,
        notes: str | None = None,
        *,
        attempt: AttemptId | None = None,
        artifacts: Sequence[object] = (),
        context: dict[str, object] | None = None,
        gaps: Callable[[AttemptId], Sequence[GapRecordedData]] = lambda attempt: (),
        observed: Callable[[AttemptId], Conclusions] = lambda attempt: Conclusions(),
        ends: bool = False,
    ) -> NodeId:
        """A successful attempt; the answer is the node it leads to."""
        attempt = attempt or self.home.mint.attempt()
        depth = self.steps[source] + 1
        done = [f"step-{number}" for number in range(depth)]
        ref = self.snapshot(complete() if ends else running(done, f"step-{depth}"))
        step = self.step(source, attempt, ref, depth)
        outputs = [artifact(attempt, index, content) for index, content in enumerate(artifacts)]
        if notes is not None:
            outputs.append(recap(attempt, notes))
        trace = DecisionTraceData(
            trace_id=keys.trace_id(attempt),
            entries=(TraceEntry(kind="selected_next_step", summary=f"Next step: step-{depth}"),),
        )
        completion = RunCompletedData(
            start_git_sha=None, end_git_sha=None, git_branch=None, agent_commit_shas=(), capture_confidence="none"
        )
        self.write(
            lambda builder: plan.advance_plan(
                builder,
                step,
                gaps=gaps(attempt),
                context=None
                if context is None
                else ContextSetData(context_id=keys.context_id(attempt), context=context, source="agent_delta"),
                trace=None if ends else trace,
                observed=observed(attempt),
                completion=completion if ends else None,
                outputs=outputs,
            )
        )
        return step.target

    def block(
        self,
        source: NodeId,
        *,
        attempt: AttemptId | None = None,
        artifacts: Sequence[object] = (),
        observed: Callable[[AttemptId], Conclusions] = lambda attempt: Conclusions(),
    ) -> NodeId:
        """An attempt that is blocked."""
        attempt = attempt or self.home.mint.attempt()
        depth = self.steps[source]
        done = [f"step-{number}" for number in range(depth)]
        step = self.step(source, attempt, self.snapshot(blocked(done, f"step-{depth}", attempt)), depth)
        validation = ValidationPerformedData(
            validation_id=keys.validation_id(attempt),
            attempt_id=attempt,
            contract_ref="wr.contracts.gate_verdict",
            result=ValidationResult(valid=False, issues=("no",), suggestions=("yes",)),
        )
        outputs = [artifact(attempt, index, content) for index, content in enumerate(artifacts)]
        self.write(
            lambda builder: plan.block_plan(
                builder, step, validation=validation, observed=observed(attempt), artifacts=outputs
            )
        )
        return step.target

    def checkpoint(self, source: NodeId, attempt: AttemptId | None = None) -> NodeId:
        """A checkpoint below a node."""
        node = next(
            event.data
            for event in self.truth.events
            if isinstance(event, NodeCreated) and event.scope.node_id == source
        )
        step = self.step(source, attempt or self.home.mint.attempt(), node.snapshot_ref, self.steps[source])
        self.write(lambda builder: plan.checkpoint_plan(builder, step))
        return step.target

    def gate(self, source: NodeId) -> NodeId:
        """An attempt that waits."""
        depth = self.steps[source]
        ref = self.snapshot(running([f"step-{number}" for number in range(depth)], f"step-{depth}"))
        step = self.step(source, self.home.mint.attempt(), ref, depth)
        self.write(lambda builder: plan.gate_plan(builder, step))
        return step.target

    def prefer(self, node: NodeId, autonomy: Autonomy, change: str = "by-hand") -> None:
        """A person changes the autonomy at a node."""
        self.write(lambda builder: plan.preferences_plan(builder, node, self.preferences(change, autonomy)))


def tell_short(story: Story) -> Story:
    """Three plans: a start, a step with notes and artifacts, an end."""
    second = story.advance(story.start(), "found three facts", artifacts=[{"x": 1}], context={"topic": "caching"})
    story.advance(second, "done", ends=True)
    return story


def tell_medium(story: Story) -> Story:
    """Five plans, one of each kind."""
    stuck = story.block(story.start(), artifacts=[{"kind": "wr.gate_verdict"}])
    story.checkpoint(stuck)
    story.prefer(stuck, "full_auto_never_stop")
    story.advance(stuck, "retried", artifacts=[{"x": 1}, None], ends=True)
    return story


def tell_long(story: Story) -> Story:
    """A session with everything in it: notes, artifacts, a block, forks, a checkpoint, an end."""
    first = story.start(branch="feature/x")
    second = story.advance(first, "found three facts", context={"goal": "demo", "topic": "caching"})
    stuck = story.block(second, artifacts=[{"kind": "wr.gate_verdict"}])
    third = story.advance(stuck, "retried", artifacts=[{"x": 1}, None, {"b": [2]}])
    story.checkpoint(third)
    story.prefer(third, "full_auto_never_stop")
    story.advance(third, "the other way", ends=True)
    story.advance(second, "from the middle", context={"goal": "demo"})
    return story


def long_story(home: Home | None = None, *, seed: str = "story") -> Story:
    """The long story, told."""
    return tell_long(Story(home, seed=seed))
