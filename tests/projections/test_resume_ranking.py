"""Resume: what a session is called, and which one a request means."""

from __future__ import annotations

import itertools

import pytest
from changed import replace
from drawn_sessions import stories
from hypothesis import given, settings
from hypothesis import strategies as st
from sample_sessions import Story, complete, running

from pytest_workrail.engine.model import keys
from pytest_workrail.engine.model.events import NodeCreated, RunStarted
from pytest_workrail.engine.projections.resume import (
    ResumeQuery,
    SessionSummary,
    Tier,
    match_ratio,
    preview,
    rank,
    summarize,
    with_snapshot,
    word_weight,
    words_of,
)
from pytest_workrail.engine.projections.session_facts import Workspace
from workrail_lint.base.canonical import digest

HERE, ELSEWHERE = "sha256:" + "1" * 64, "sha256:" + "2" * 64
HEAD = "a" * 40


def a_session(number=0, **changes):
    base = SessionSummary(
        session_id="sess_" + "abcdefghijklmnop"[number] * 26,
        run_id="run_" + "abcdefghijklmnop"[number] * 26,
        tip="node_" + "a" * 26,
        tip_snapshot="sha256:" + "0" * 64,
        last_activity_index=10,
        workflow_id="bug-hunt",
        workflow_hash="sha256:" + "0" * 64,
        title=None,
        recap_snippet="",
        workspace=Workspace(),
    )
    return replace(base, **changes)


def only(summary, **query):
    (candidate,) = rank([summary], ResumeQuery(**query))
    return candidate


def order(*summaries, **query):
    return [candidate.summary.session_id[5] for candidate in rank(summaries, ResumeQuery(**query))]


def titled(**options):
    story = Story()
    notes = options.pop("notes", [])
    node = story.start(options.pop("goal", "  "))
    for each in notes:
        node = story.advance(node, each, **options)
    return summarize(story.session_id, story.truth.events)


def test_the_title_is_the_goal():
    assert titled(goal=" Fix the parser \n").title == "Fix the parser"
    long = titled(goal="x" * 121).title
    assert long == "x" * 119 + "…"
    assert titled(goal="x" * 120).title == "x" * 120
    # A character that counts twice is not cut in half.
    assert titled(goal="x" * 118 + "😀😀").title == "x" * 118 + "…"


@pytest.mark.parametrize("key", ["taskDescription", "mrTitle", "prTitle", "ticketTitle", "problem"])
def test_other_keys_can_name_the_task(key):
    assert titled(notes=["n"], context={"goal": 3, key: "The task"}).title == "The task"


@pytest.mark.parametrize(
    ("notes", "title"),
    [
        ("# Heading that is long\n---\n| a table row |\nshort\nThe first real sentence.", "The first real sentence."),
        ("**Summary**\nThe first real sentence.", "The first real sentence."),
        ("**Goal:** write the new parser", "write the new parser"),
        ("- **Goal**: write the new parser", "write the new parser"),
        ("**Goal:** short\n***\nexactly 10\nmore than ten", "more than ten"),
        ("#hashtag is no heading", "#hashtag is no heading"),
        ("short", None),
    ],
)
def test_without_a_goal_the_earliest_notes_speak(notes, title):
    assert titled(notes=[notes, "These are later notes."]).title == title


def test_only_the_notes_on_the_first_node_make_a_title():
    story = Story()
    first = story.start("  ")
    tip = story.advance(first, None)
    story.advance(tip, "These notes are on the second node.")
    assert summarize(story.session_id, story.truth.events).title is None
    story.advance(first, "A second way on from the first node.")
    story.prefer(tip, "guided")
    assert summarize(story.session_id, story.truth.events).title == "A second way on from the first node."


def test_the_preview_is_trimmed_as_a_whole():
    shown = preview(a_session(title=" \n", recap_snippet="  third  \n\n \n\n first \n"), frozenset())
    assert shown == "third  \n\n \n\n first"
    assert preview(a_session(title=" The title ", recap_snippet=" \n "), frozenset()) == "The title"


def test_without_anything_there_is_no_title():
    assert titled().title is None


def test_the_snippet_goes_from_the_tip_to_the_root():
    assert titled(notes=["one", "two", "three"]).recap_snippet == "three\n\ntwo\n\none"
    assert len(titled(notes=["é" * 1500]).recap_snippet.encode()) == 2048
    assert len(titled(notes=[str(number) for number in range(105)]).recap_snippet.split("\n\n")) == 100


def test_the_most_recent_run_is_the_one_that_counts():
    story = Story()
    story.start("demo")
    assert summarize(story.session_id, ()) is None
    assert summarize(story.session_id, story.truth.events[:2]) is None
    assert summarize(story.session_id, story.truth.events[::-1]) is None
    summary = summarize(story.session_id, story.truth.events, modified_ms=7)
    assert (summary.run_id, summary.tip, summary.last_activity_index) == (story.run_id, story.root, 2)
    assert summary.modified_ms == 7
    later = Story(story.home)
    later.session_id = story.session_id

    def second_run(builder):
        first = {type(event): event.data for event in story.truth.events}
        builder.write(RunStarted, keys.run_started(builder.session_id, builder.run_id), first[RunStarted])
        node = keys.node_created(builder.session_id, builder.run_id, later.root)
        builder.write(NodeCreated, node, first[NodeCreated], later.root)
        return builder.plan()

    later.write(second_run)
    assert summarize(story.session_id, later.truth.events).run_id == later.run_id


def test_the_title_can_follow_the_lineage():
    story = Story()
    first = story.start("demo")
    tip = story.advance(first, context={"goal": "on the branch"})
    story.advance(first, context={"goal": "elsewhere"})
    story.prefer(tip, "guided")
    events = story.truth.events
    assert summarize(story.session_id, events).title == "elsewhere"
    assert summarize(story.session_id, events, rewind_context="lineage").title == "on the branch"


def test_the_snapshot_says_where_a_session_stands():
    assert with_snapshot(a_session(), running([], "plan")).pending_step_id == "plan"
    done = with_snapshot(a_session(), complete())
    assert (done.pending_step_id, done.is_complete) == (None, True)


def test_words():
    assert words_of("Fix THE ｐａｒｓｅｒ, snake_case kebab-case Größe") == {
        "fix", "the", "parser", "snake_case", "kebab-case", "gr", "e",
    }  # fmt: skip
    assert words_of("") == frozenset()


@pytest.mark.parametrize(
    ("word", "weight"),
    [("ab", 0.2), ("abc", 1), ("abcd", 1), ("abcde", 1.18), ("review", 0.35), ("fix", 0.35), ("x" * 40, 2.5)],
)
def test_word_weights(word, weight):
    assert word_weight(word) == pytest.approx(weight)


def test_ratios():
    assert match_ratio(frozenset(), frozenset({"a"})) == 0
    assert match_ratio(frozenset({"owner"}), frozenset({"ownership"})) == 1
    assert match_ratio(frozenset({"ownership"}), frozenset({"owner"})) == 1
    assert match_ratio(frozenset({"ow"}), frozenset({"ownership"})) == 0
    assert match_ratio(frozenset({"abcd", "zzzz"}), frozenset({"abcd"})) == 0.5


TIERS = [
    (Tier.EXACT_ID, {"session_id": "sess_" + "a" * 26}, "matched_exact_id", "strong", "sessionId"),
    (Tier.EXACT_ID, {"run_id": "run_" + "a" * 26}, "matched_exact_id", "strong", "runId"),
    (Tier.ALL_WORDS, {"text": "parser MEMORY"}, "matched_notes", "strong", "every word"),
    (Tier.SOME_WORDS, {"text": "parser leak"}, "matched_notes_partial", "medium", "58%"),
    (Tier.WORKFLOW, {"text": "bug-hunt"}, "matched_workflow_id", "medium", "workflow"),
    (Tier.WORKFLOW, {"text": "hunt"}, "matched_workflow_id", "medium", "workflow"),
    (Tier.HEAD, {"git_head_sha": HEAD}, "matched_head_sha", "medium", "commit"),
    (Tier.BRANCH, {"git_branch": "feature/parser"}, "matched_branch", "medium", "same branch"),
    (Tier.BRANCH, {"git_branch": "feature/parser-2"}, "matched_branch", "medium", "branch like"),
    (Tier.BRANCH, {"git_branch": "feature"}, "matched_branch", "medium", "branch like"),
    (Tier.RECENT, {"text": "unrelated"}, "recency_fallback", "weak", "recent"),
    (Tier.RECENT, {}, "recency_fallback", "weak", "recent"),
]


@pytest.mark.parametrize(("tier", "query", "reason", "confidence", "phrase"), TIERS)
def test_tiers(tier, query, reason, confidence, phrase):
    workspace = Workspace(git_branch="feature/parser", git_head_sha=HEAD)
    summary = a_session(title="Parser work", recap_snippet="memory and speed", workspace=workspace)
    candidate = only(summary, **query)
    assert candidate.tier is tier
    assert candidate.why_matched[0] == reason
    assert candidate.confidence == confidence
    assert phrase in candidate.match_explanation


def test_further_signals_are_added_once():
    workspace = Workspace(git_branch="main", git_head_sha=HEAD, repo_root_hash=HERE)
    summary = a_session(workspace=workspace, is_complete=True)
    candidate = only(summary, git_branch="main", git_head_sha=HEAD, repo_root_hash=HERE)
    assert candidate.why_matched == ("matched_head_sha", "matched_repo_root", "matched_branch")
    assert candidate.match_explanation.endswith("; same workspace; completed")
    assert only(summary, repo_root_hash=HERE).confidence == "medium"
    assert only(summary, repo_root_hash=ELSEWHERE).confidence == "weak"


def test_order_within_a_tier():
    here = Workspace(repo_root_hash=HERE)
    assert order(a_session(0), a_session(1, workspace=here), repo_root_hash=HERE) == ["b", "a"]
    assert order(a_session(0, is_complete=True), a_session(1)) == ["b", "a"]
    assert order(a_session(0), a_session(1, last_activity_index=11)) == ["b", "a"]
    assert order(a_session(1), a_session(0)) == ["a", "b"]
    # The repository comes before completion, completion before the words.
    done_here = a_session(0, workspace=here, is_complete=True)
    assert order(a_session(1), done_here, repo_root_hash=HERE) == ["a", "b"]
    one = a_session(0, title="parser of logs", is_complete=True)
    other = a_session(1, title="parser")
    assert order(one, other, text="parser logs zzz") == ["b", "a"]
    better = a_session(2, title="parser of logs")
    assert order(other, better, text="parser logs zzz") == ["c", "b"]


def test_a_tier_beats_everything_below_it():
    exact = a_session(0, is_complete=True, last_activity_index=0)
    words = a_session(1, title="parser")
    assert order(words, exact, text="parser", session_id=exact.session_id) == ["a", "b"]


def test_five_are_kept():
    many = [a_session(number, last_activity_index=number) for number in range(9)]
    assert order(*many) == ["i", "h", "g", "f", "e"]


def test_same_workspace_only():
    here, there = Workspace(repo_root_hash=HERE), Workspace(repo_root_hash=ELSEWHERE)
    sessions = [a_session(0, workspace=here), a_session(1, workspace=there), a_session(2)]
    assert order(*sessions, repo_root_hash=HERE, same_workspace_only=True) == ["a", "c"]
    assert order(*sessions, repo_root_hash=HERE) == ["a", "b", "c"]
    assert order(*sessions, same_workspace_only=True) == ["a", "b", "c"]


def test_the_preview_without_a_hit_is_the_start():
    summary = a_session(title="t" * 400, recap_snippet="r" * 2000)
    assert preview(summary, frozenset()) == "t" * 320 + "...\n\n" + "r" * 1600 + "..."
    assert preview(a_session(title="T", recap_snippet="R"), frozenset()) == "T\n\nR"
    assert preview(a_session(recap_snippet="R"), frozenset()) == "R"
    assert preview(a_session(), frozenset()) == ""


def test_the_preview_with_a_hit_is_a_window_around_the_first_one():
    text = "a" * 1000 + " Needle " + "b" * 1000
    shown = preview(a_session(recap_snippet=text), frozenset({"needle"}))
    assert shown == "..." + "a" * 399 + " Needle " + "b" * 793 + "..."
    # Words of two letters are no hits.
    assert preview(a_session(recap_snippet="x" * 1700 + "ab"), frozenset({"ab"})).startswith("x" * 1600)
    # The window is used even when everything would fit.
    short = preview(a_session(title="y" * 100 + "needle" + "z" * 200), frozenset({"needle"}))
    assert short == "..." + "y" * 80 + "needle" + "z" * 154 + "..."
    # Dots only where something is left out.
    assert preview(a_session(title="y" * 80 + "needle"), frozenset({"needle"})) == "y" * 80 + "needle"
    assert preview(a_session(title="y" * 81 + "needle"), frozenset({"needle"})) == "..." + "y" * 80 + "needle"
    assert preview(a_session(title="needle" + "z" * 154), frozenset({"needle"})) == "needle" + "z" * 154
    assert preview(a_session(title="needle" + "z" * 155), frozenset({"needle"})) == "needle" + "z" * 154 + "..."


SESSIONS = st.builds(
    a_session,
    st.integers(0, 15),
    title=st.none() | st.sampled_from(["parser work", "review logs", "x"]),
    recap_snippet=st.sampled_from(["", "memory leak in parser", "é" * 900]),
    is_complete=st.booleans(),
    last_activity_index=st.integers(0, 3),
    workspace=st.builds(
        Workspace,
        git_branch=st.none() | st.sampled_from(["main", "feature/x"]),
        git_head_sha=st.none() | st.just(HEAD),
        repo_root_hash=st.none() | st.sampled_from([HERE, ELSEWHERE]),
    ),
)
QUERIES = st.builds(
    ResumeQuery,
    text=st.none() | st.sampled_from(["parser", "memory leak", "bug", "review the logs", "ß"]),
    git_branch=st.none() | st.sampled_from(["main", "feature"]),
    git_head_sha=st.none() | st.just(HEAD),
    repo_root_hash=st.none() | st.just(HERE),
    same_workspace_only=st.booleans(),
)


@given(st.lists(SESSIONS, max_size=5, unique_by=lambda summary: summary.session_id), QUERIES)
@settings(deadline=None)
def test_the_order_of_the_input_does_not_matter(sessions, query):
    answers = [rank(order, query) for order in itertools.islice(itertools.permutations(sessions), 12)]
    assert all(answer == answers[0] for answer in answers)
    for candidate in answers[0]:
        assert len(candidate.snippet.encode()) <= 2048
        assert len(set(candidate.why_matched)) == len(candidate.why_matched)
    tiers = [candidate.tier for candidate in answers[0]]
    assert tiers == sorted(tiers)


@given(stories())
@settings(deadline=None, max_examples=30)
def test_any_started_session_can_be_summarised(story):
    summary = summarize(story.session_id, story.truth.events)
    assert summary.tip == story.run.preferred_tip
    assert len(summary.recap_snippet.encode()) <= 2048


def test_a_match_of_the_workflow_counts_three_quarters_and_one_of_the_branch_half():
    words = [letter * 4 for letter in "abcdefghijklmnopqrst"]

    def noted(number, count, **changes):
        return a_session(number, recap_snippet=" ".join(words[:count]), **changes)

    text = " ".join(words)
    by_workflow = noted(0, 8, workflow_id=" ".join(words[:14]))  # 0.75 * 14 / 20 = 0.525
    assert order(by_workflow, noted(1, 10, last_activity_index=99), text=text) == ["a", "b"]
    assert order(by_workflow, noted(1, 11), text=text) == ["b", "a"]
    by_branch = noted(0, 8, workspace=Workspace(git_branch=text))  # 0.5 * 20 / 20
    assert order(by_branch, noted(1, 9, last_activity_index=99), text=text) == ["a", "b"]
    assert order(by_branch, noted(1, 11), text=text) == ["b", "a"]


def ranking_lines():
    """Yield what is said about many sessions for many requests, a line for each candidate."""
    places = [
        Workspace(git_branch=branch, git_head_sha=head, repo_root_hash=root)
        for branch, head, root in itertools.product((None, "main", "feature/x"), (None, HEAD), (None, HERE, ELSEWHERE))
    ]
    texts = ("", "parser", "memory leak in the parser", "notes about " + "logs " * 90 + "and a leak")
    sessions = [
        a_session(
            number % 16,
            title=texts[number % 4] or None,
            recap_snippet=texts[number // 4 % 4],
            is_complete=number % 5 == 0,
            last_activity_index=number % 3,
            workflow_id=("bug-hunt", "parser-review")[number % 2],
            workspace=place,
        )
        for number, place in enumerate(places * 3)
    ]
    asked = (None, "parser", "leak zzz", "bug", "memory leak", "logs of hunt")
    for text, branch, head, root, number in itertools.product(
        asked, (None, "main", "feature"), (None, HEAD), (None, HERE), range(3)
    ):
        query = ResumeQuery(text, None, None, branch, head, root, same_workspace_only=number == 1)
        for candidate in rank(sessions[number::3], query):
            told = (candidate.tier.name, candidate.why_matched, candidate.confidence, candidate.match_explanation)
            yield f"{query} {candidate.summary.session_id} {told} {candidate.snippet}"


def test_every_session_is_ranked_as_expected():
    """When a change is wanted: print the lines before and after it, and compare."""
    lines = list(ranking_lines())
    assert len(lines) == 1080
    assert digest("\n".join(lines).encode())[7:19] == "7e861d958220"
