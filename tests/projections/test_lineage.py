"""What belongs to a node's own past, and what happened elsewhere.

@enforces context-not-durable
"""

from __future__ import annotations

from drawn_sessions import stories
from effort import times
from hypothesis import given, settings
from sample_sessions import Story

from pytest_workrail.engine.model import keys
from pytest_workrail.engine.model.blockers import GapReason, GapRecordedData, Resolves, Unresolved
from pytest_workrail.engine.model.events import (
    AttemptDetail,
    AttemptProvenance,
    CapabilityObserved,
    CapabilityObservedData,
    ClaimDetail,
    ClaimProvenance,
    DivergenceData,
    ProbeDetail,
    ProbeProvenance,
)
from pytest_workrail.engine.projections import session_facts
from pytest_workrail.engine.projections.session_facts import Lineage
from pytest_workrail.engine.store.plan import Conclusions


def past(story, node):
    return Lineage(story.truth.events, story.run, node)


def status(story, node, capability):
    """What the engine makes of the observations: the newest strong one decides."""
    known = [each for each in past(story, node).observations() if each.capability == capability]
    strong = [each for each in known if each.provenance.enforcement_grade == "strong"]
    return strong[-1].status if strong else "unknown"


def probe(status):
    def observed(attempt):
        result = "success" if status == "available" else "failure"
        provenance = ProbeProvenance(
            detail=ProbeDetail(probe_template_id="t", probe_step_id="wr_probe_web_browsing", result=result)
        )
        return Conclusions(capabilities=[observation(keys.observation_id(attempt, 0), status, provenance)])

    return observed


def claim(attempt):
    provenance = ClaimProvenance(detail=ClaimDetail(claimed_by="agent", claim="available"))
    return Conclusions(capabilities=[observation(keys.observation_id(attempt, 0), "available", provenance)])


def observation(name, status, provenance):
    return CapabilityObservedData(cap_obs_id=name, capability="web_browsing", status=status, provenance=provenance)


def gap(gap_id, resolution=None):
    return GapRecordedData(
        gap_id=gap_id,
        severity="critical",
        reason=GapReason("contract_violation", "missing_required_notes"),
        summary=f"about {gap_id}",
        resolution=resolution or Unresolved(),
    )


def test_context_of_the_run_and_context_of_the_lineage():
    story = Story()
    first = story.start("demo")
    second = story.advance(first, context={"goal": "demo", "n": 1})
    third = story.advance(second)
    other = story.advance(first, context={"goal": "demo", "n": 2})
    assert session_facts.run_context(story.truth.events, story.run_id) == {"goal": "demo", "n": 2}
    assert past(story, first).context() == {"goal": "demo"}
    assert past(story, second).context() == {"goal": "demo", "n": 1}
    assert past(story, third).context() == {"goal": "demo", "n": 1}
    assert past(story, other).context() == {"goal": "demo", "n": 2}
    assert session_facts.run_context((), story.run_id) is None


def test_a_strong_observation_decides_and_a_weak_one_does_not():
    story = Story()
    first = story.start()
    assert status(story, first, "web_browsing") == "unknown"
    claimed = story.advance(first, observed=claim)
    assert status(story, claimed, "web_browsing") == "unknown"
    found = story.advance(claimed, observed=probe("available"))
    lost = story.advance(found, observed=probe("unavailable"))
    still = story.advance(lost, observed=claim)
    assert status(story, found, "web_browsing") == "available"
    assert status(story, lost, "web_browsing") == "unavailable"
    assert status(story, still, "web_browsing") == "unavailable"
    assert status(story, still, "delegation") == "unknown"
    latest = session_facts.capabilities(story.truth.events)
    assert latest[lost, "web_browsing"].provenance.enforcement_grade == "weak"


def test_what_a_blocked_attempt_saw_stays_with_it():
    story = Story()
    first = story.start()
    stuck = story.block(first, observed=probe("unavailable"))
    retried = story.advance(stuck)
    fresh = story.advance(first)
    assert status(story, stuck, "web_browsing") == "unavailable"
    assert status(story, retried, "web_browsing") == "unavailable"
    # The step itself, and whoever leaves it again, was not told.
    assert status(story, first, "web_browsing") == "unknown"
    assert status(story, fresh, "web_browsing") == "unknown"


def test_an_observation_by_nobody_s_advance_belongs_to_its_node():
    story = Story()
    first = story.start()
    second = story.advance(first)
    other = story.advance(first)
    provenance = AttemptProvenance(detail=AttemptDetail(attempt_context="system_probe", result="success"))
    data = observation("probed-by-hand", "available", provenance)

    def write(builder):
        builder.write(CapabilityObserved, keys.capability_observed(story.session_id, data.cap_obs_id), data, second)
        return builder.plan()

    story.write(write)
    assert status(story, second, "web_browsing") == "available"
    assert status(story, story.advance(second), "web_browsing") == "available"
    assert status(story, other, "web_browsing") == "unknown"


def test_open_gaps_of_a_lineage():
    story = Story()
    first = story.start()

    def one_gap(attempt):
        return [gap(keys.gap_id(attempt, 0))]

    second = story.advance(first, gaps=one_gap)
    other = story.advance(first, gaps=one_gap)
    (mine,), (theirs,) = past(story, second).open_gaps(), past(story, other).open_gaps()
    assert mine.gap_id != theirs.gap_id
    assert past(story, first).open_gaps() == []
    assert past(story, second).open_gaps({mine.summary}) == [mine]
    assert past(story, second).open_gaps({"another"}) == []
    third = story.advance(second, gaps=lambda a: [gap("fixed", Resolves(resolves_gap_id=mine.gap_id))])
    assert past(story, third).open_gaps() == []
    assert past(story, other).open_gaps() == [theirs]


def test_artifacts_of_an_iteration():
    story = Story()
    first = story.start()
    second = story.advance(first, artifacts=[{"n": 1}, {"n": 0}])
    stuck = story.block(second, artifacts=[{"n": "refused"}])
    third = story.advance(stuck, "notes", artifacts=[{"n": 2}])
    fork = story.advance(second, artifacts=[{"n": "elsewhere"}])
    end = story.advance(third, artifacts=[None])
    everything = past(story, end).artifacts(story.run.nodes)
    # As they were submitted, not as they are sorted in the log; without what was refused or left behind.
    assert everything == [{"n": 1}, {"n": 0}, {"n": 2}, None]
    assert past(story, end).artifacts([stuck]) == [{"n": 2}]
    assert past(story, fork).artifacts(story.run.nodes) == [{"n": 1}, {"n": 0}, {"n": "elsewhere"}]
    assert past(story, first).artifacts(story.run.nodes) == []


def test_plain_facts():
    story = Story()
    first = story.start(branch="feature/x")
    attempt = story.home.mint.attempt()
    left = DivergenceData(divergence_id="d", reason="efficiency_skip", summary="skipped")
    second = story.advance(first, attempt=attempt, observed=lambda a: Conclusions(divergences=[left]))
    blocked_attempt = story.home.mint.attempt()
    story.block(second, attempt=blocked_attempt)
    story.advance(second, "notes", ends=True)
    events = story.truth.events
    seen = session_facts.workspace(events)
    assert (seen.git_branch, seen.git_head_sha, seen.repo_root) == ("feature/x", "cd" * 20, None)
    assert session_facts.workspace(()) == session_facts.Workspace()
    assert [advance.attempt_id for advance in session_facts.advances(events, first)] == [attempt]
    assert len(session_facts.advances(events, second)) == 2
    assert session_facts.divergences(events, story.run_id) == [left]
    assert session_facts.validation(events, keys.validation_id(blocked_attempt)).issues == ("no",)
    assert session_facts.validation(events, "never recorded") is None
    assert len(session_facts.completions(events, story.run_id)) == 1
    assert session_facts.assessments(events, first) == []
    assert session_facts.has_recap(events, story.run_id)
    assert not session_facts.has_recap(story.plans[0].events, story.run_id)


@given(stories())
@settings(deadline=None, max_examples=times(25, deep=160))
def test_without_forks_the_context_of_the_tip_is_the_context_of_the_run(story):
    run = story.run
    if all(len(run.children(node)) <= 1 for node in run.nodes):
        tip = Lineage(story.truth.events, run, run.preferred_tip)
        assert tip.context() == session_facts.run_context(story.truth.events, story.run_id)
