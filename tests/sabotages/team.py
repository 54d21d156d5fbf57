"""Broken Orchestrators: each switch gives up one promise of the team contract."""

from __future__ import annotations

import json

from pytest_workrail.locks.sabotage import breaks
from workrail_lint.base.result import Err, Ok
from workrail_lint.systems.team.vocabulary import AgentName, BlockerSlug, DecisionStatus, Mode, WorkflowState

TEAM = "pytest_workrail.systems.team"
LIMITS = "workrail_lint.systems.team.state_machine:LIMITS"


@breaks("team-pending-before-ask", at=f"{TEAM}.user_gate:commit")
def questions_are_stored_with_their_answers(original):
    """What is about to be asked is not written down."""

    def commit(session, wanted):
        is_question = all(label.endswith("=pending") for label in wanted.labels)
        return Ok(None) if is_question else original(session, wanted)

    return commit


@breaks("team-verify-before-leave", at=f"{TEAM}.user_gate:_read_back")
def nothing_is_read_back(original):
    """A write that no error came back from counts as stored."""
    return lambda session, data, history: True


@breaks("team-rewrite-without-reask", at=f"{TEAM}.user_gate:commit")
def the_user_pays_for_the_disk(original):
    """Whoever gave an answer that could not be stored is asked again."""

    def commit(session, wanted):
        known = len(session.log.events)
        stored = original(session, wanted)
        failed = [e for e in session.log.events[known:] if e["event"] == "write_error" or e.get("ok") is False]
        if failed:
            session.log.emit("ask", decisions=[wanted.labels[0].partition("=")[0]])
        return stored

    return commit


@breaks("team-gate-reask-three", at=LIMITS)
def gates_are_asked_twice(original):
    """A gate is given up after one further try."""
    return original._replace(reasks=1)


@breaks("team-gate-counter-in-memory", at=f"{TEAM}.user_gate:ask_gate")
def a_resumed_gate_has_one_try(original):
    """Questions that were open before count as asked three times already."""
    from pytest_workrail.systems.team import user_gate as asking

    def ask_gate(session, ident, question):
        entry = session.status_model.decision(ident)
        limits = asking.LIMITS
        if entry is not None and entry.status == "pending":
            asking.LIMITS = limits._replace(reasks=0)
        try:
            return original(session, ident, question)
        finally:
            asking.LIMITS = limits

    return ask_gate


@breaks("team-well-known-in-place", at=f"{TEAM}.user_gate:_put_entry")
def every_question_gets_a_new_entry(original):
    """A gate that is asked again has two entries."""
    return lambda status, entry: status["user_decisions"].append(entry)


@breaks("team-history-before-overwrite", at=f"{TEAM}.user_gate:commit")
def the_history_comes_last(original):
    """The decision is overwritten before the request is in the history."""

    def commit(session, wanted):
        stored = original(session, wanted._replace(request=None))
        if wanted.request is not None:
            file = "approve-design-history.jsonl"
            kept = session.store.read(file) or b""
            session.store.append(file, kept, json.dumps(wanted.request).encode() + b"\n")
            session.log.emit("write", file=file, lines=1)
        return stored

    return commit


@breaks("team-correction-once", at=f"{TEAM}.orchestrator:_verified")
def corrections_are_sent_again(original):
    """A correction that was sent out before a break is sent once more."""
    from pytest_workrail.systems.team.states import correct

    return lambda session, status: correct(session)


@breaks("team-correction-default-none", at=f"{TEAM}.orchestrator:_correction")
def untracked_corrections_are_forgotten(original):
    """A change request without tracking counts as made."""
    return lambda session, status: Ok(None)


@breaks("team-strategy-canonical", at=f"{TEAM}.user_gate:parse_answer")
def answers_are_stored_as_they_come(original):
    """What the user said is stored in the user's words."""
    return lambda ident, text: None if original(ident, text) is None else text


@breaks("team-strategy-reread", at=f"{TEAM}.dispatch:read_status")
def the_status_is_read_once(original):
    """A dispatch goes by what is remembered."""

    def read_status(session):
        is_first = not any(event["event"] == "read_status" for event in session.log.events)
        return original(session) if is_first else session.store.status()

    return read_status


@breaks("team-security-no-autocancel", at=f"{TEAM}.user_gate:_outcome")
def silence_cancels_everything(original):
    """A question about security that nobody answers is cancelled."""
    from pytest_workrail.systems.team.user_gate import QuestionOutcome

    def outcome(ident, topic, reply):
        if reply is None:
            return QuestionOutcome(ident, topic, DecisionStatus.CANCELLED, None, "no response provided")
        return original(ident, topic, reply)

    return outcome


@breaks("team-partial-reply", at=f"{TEAM}.user_gate:_outcome")
def what_is_not_answered_is_asked_again(original):
    """A question that nobody answers is asked for ever."""
    return lambda ident, topic, reply: None if reply is None else original(ident, topic, reply)


@breaks("team-return-by-context", at=f"{TEAM}.run_state:SessionState.enter")
def questions_lead_to_the_beginning(original):
    """After a question the session starts over."""

    def enter(self, state, slug=None):
        is_back = self.state is WorkflowState.ASK_USER and state is not WorkflowState.BLOCKED
        original(self, WorkflowState.INTAKE if is_back else state, slug)

    return enter


@breaks("team-repair-budget", at=LIMITS)
def repairs_go_on(original):
    """A task is repaired five times before anybody is asked."""
    return original._replace(repairs=5)


@breaks("team-dispatch-retry-two", at=LIMITS)
def dispatches_go_on(original):
    """A dispatch is sent five times."""
    return original._replace(dispatch_retries=4)


@breaks("team-no-role-takeover", at=f"{TEAM}.states:dispatch")
def the_orchestrator_does_it_itself(original):
    """What an agent does not deliver the Orchestrator writes."""
    from pytest_workrail.systems.team import minimal_outputs as minimal
    from pytest_workrail.systems.team.simulated_agents import AgentOutput

    def dispatch(session, agent, task, *check):
        done = original(session, agent, task, *check)
        if isinstance(done, Err) and done.error.slug is BlockerSlug.SUBAGENT_FAILURE and agent is AgentName.ARCHITECT:
            session.write_file("architecture.md", minimal.architecture().encode())
            return Ok(AgentOutput())
        return done

    return dispatch


@breaks("team-coder-not-completed", at=f"{TEAM}.dispatch:_AgentWrites._moved")
def anybody_completes_tasks(original):
    """Nobody minds who sets a task to completed."""

    def moved(self, before):
        original(self, before)

    return moved


@breaks("team-final-review", at=f"{TEAM}.states:_final_review")
def nobody_looks_across(original):
    """Per-batch ends with the last task."""
    return lambda session: Ok(None)


@breaks("team-core-agents", at=f"{TEAM}.states:_final_review")
def the_final_review_is_all_there_is(original):
    """QA and Security work only where a task calls for them."""
    from pytest_workrail.systems.team import states as building

    def final_review(session):
        passed = building._pass(session, AgentName.REVIEWER, "meta")
        return passed if isinstance(passed, Err) else Ok(None)

    return final_review


@breaks("team-lean-path", at=f"{TEAM}.states:_gate")
def lean_work_is_not_reviewed(original):
    """A small change needs no review."""
    from pytest_workrail.systems.team.states import GateOutcome

    def gate(session, agent, task):
        is_skipped = session.mode is Mode.LEAN and agent is AgentName.REVIEWER
        return Ok(GateOutcome.PASSED) if is_skipped else original(session, agent, task)

    return gate


@breaks("team-lean-exit", at=f"{TEAM}.dispatch:leaves_lean")
def lean_runs_stay_lean(original):
    """A Coder that finds more is simply blocked."""
    return lambda session, agent, output: False


@breaks("team-json-only", at=f"{TEAM}.dispatch:_Dispatch._accept_reaction")
def replies_are_looked_for_in_prose(original):
    """What stands around the object of a reply is cut away."""

    def taken(self, reaction, number, before, check):
        text = reaction.text
        if b"{" in text:
            text = text[text.index(b"{") : text.rindex(b"}") + 1]
        return original(self, reaction._replace(text=text), number, before, check)

    return taken
