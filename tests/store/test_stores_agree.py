"""The store in memory and the store on files give the same answers to any sequence of operations.

@enforces dedupe-key-idempotent
@enforces test-fakes-usage
@enforces determinism
"""

from __future__ import annotations

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule
from msgspec import structs
from sample_sessions import Story

from pytest_workrail.engine.model.ids import NodeId, WorkflowHash
from pytest_workrail.engine.store.filesystem import Holder, on_files
from pytest_workrail.engine.store.memory import FixedClock, SeededEntropy, TreeFiles, in_memory
from pytest_workrail.engine.store.plan import AppendPermit, AppendPlan, SnapshotPin
from workrail_lint.base.result import Err, Ok

NOTES = st.none() | st.text(min_size=1, max_size=30)
ARTIFACTS = st.lists(
    st.recursive(
        st.none()
        | st.booleans()
        | st.integers()
        | st.floats(allow_nan=False, allow_infinity=False)
        | st.text(max_size=8),
        lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=4), inner, max_size=2),
        max_leaves=4,
    ),
    max_size=2,
)
CONTEXT = st.none() | st.dictionaries(st.text(max_size=4), st.integers() | st.text(max_size=4), max_size=3)


class Twins(RuleBasedStateMachine):
    """Two homes that are told the same story."""

    @initialize()
    def begin(self):
        self.files = TreeFiles()
        holder = Holder(1, "main", "one")
        self.stories = [
            Story(in_memory(FixedClock(), SeededEntropy("twin"))),
            Story(on_files(self.files, FixedClock(), SeededEntropy("twin"), holder)),
        ]
        self.ended: set[NodeId] = set()
        # A home on files draws nothing else from the shared entropy before the first id, so ids agree.
        for story in self.stories:
            story.start()
        self.nodes = [self.stories[0].root]

    def both(self, act):
        outcomes = [act(story) for story in self.stories]
        assert outcomes[0] == outcomes[1]
        return outcomes[0]

    def open_node(self, data):
        return data.draw(st.sampled_from([node for node in self.nodes if node not in self.ended]))

    @rule(data=st.data(), notes=NOTES, artifacts=ARTIFACTS, context=CONTEXT, ends=st.booleans())
    def advance(self, data, notes, artifacts, context, ends):
        source = self.open_node(data)
        node = self.both(lambda story: story.advance(source, notes, artifacts=artifacts, context=context, ends=ends))
        self.nodes.append(node)
        if ends:
            self.ended.add(node)

    @rule(data=st.data(), artifacts=ARTIFACTS)
    def block(self, data, artifacts):
        source = self.open_node(data)
        self.nodes.append(self.both(lambda story: story.block(source, artifacts=artifacts)))

    @rule(data=st.data())
    def checkpoint(self, data):
        source = self.open_node(data)
        self.nodes.append(self.both(lambda story: story.checkpoint(source)))

    @rule(data=st.data())
    def repeat(self, data):
        """A known plan is a success that changes nothing."""
        which = data.draw(st.integers(0, len(self.stories[0].plans) - 1))
        before = [story.truth for story in self.stories]
        outcome = self.both(
            lambda story: story.home.stores.sessions.append(AppendPermit(story.session_id), story.plans[which])
        )
        assert outcome == Ok(None)
        assert [story.truth for story in self.stories] == before

    @rule(data=st.data(), how=st.sampled_from(["drop", "shift", "pin", "half", "foreign", "stale"]))
    def bad_plan(self, data, how):
        """A plan that breaks a rule is refused by both, in the same words."""
        which = data.draw(st.integers(0, len(self.stories[0].plans) - 1))

        def attempt(story):
            plan, permit = story.plans[which], AppendPermit(story.session_id)
            events = plan.events
            match how:
                case "drop":
                    plan = AppendPlan((), ())
                case "shift":
                    events = tuple(event.replaced(dedupe_key=f"new:{event.event_index}") for event in events)
                    plan = AppendPlan(events, plan.snapshot_pins)
                case "pin":
                    pin = SnapshotPin(0, "sha256:" + "0" * 64, "evt_" + "a" * 26)
                    fresh = events[0].replaced(event_index=story.truth.next_index, dedupe_key="new:x")
                    plan = AppendPlan((fresh,), (pin,))
                case "half":
                    fresh = events[0].replaced(dedupe_key="new:y")
                    plan = structs.replace(plan, events=(*events, fresh))
                case "foreign":
                    permit = AppendPermit("sess_" + "a" * 26)
                    fresh = events[0].replaced(event_index=0, dedupe_key="new:z")
                    plan = AppendPlan((fresh,), ())
                case "stale":
                    permit.revoke()
            return story.home.stores.sessions.append(permit, plan)

        assert isinstance(self.both(attempt), Err)

    @invariant()
    def they_hold_the_same(self):
        if hasattr(self, "stories"):
            one, other = (story.truth for story in self.stories)
            assert one == other
            assert one == self.both(
                lambda story: story.home.stores.sessions.load_validated_prefix(story.session_id).value.truth
            )
            listed = [
                [entry.session_id for entry in story.home.stores.sessions.list_sessions().value]
                for story in self.stories
            ]
            assert listed[0] == listed[1]

    @invariant()
    def they_hold_the_same_snapshots(self):
        if hasattr(self, "stories"):
            for node in self.stories[0].run.nodes.values():
                snapshot = self.both(lambda story, ref=node.snapshot_ref: story.home.stores.snapshots.get(ref).value)
                assert snapshot.ref == node.snapshot_ref


Twins.TestCase.settings = settings(max_examples=30, stateful_step_count=12, deadline=None)
TestTwins = Twins.TestCase


def test_workflows_are_kept_in_the_same_way() -> None:
    first, other, unknown = {"id": "first"}, {"id": "other"}, WorkflowHash("sha256:" + "0" * 64)
    for home in (
        in_memory(FixedClock(), SeededEntropy("twin")),
        on_files(TreeFiles(), FixedClock(), SeededEntropy("twin"), Holder(1, "main", "one")),
    ):
        workflows = home.stores.workflows
        pinned = workflows.put(first).value
        assert [workflows.get(each).value for each in (pinned, unknown)] == [first, None]
        assert workflows.get_ir(pinned).value is None
        assert workflows.put_ir(pinned, other).is_ok
        assert [workflows.get_ir(each).value for each in (pinned, unknown)] == [other, None]
        assert workflows.get(pinned).value == first
