"""Broken questions and answers: steps left out without a word, questions that nag or lose things, answers that hide."""

from __future__ import annotations

from changed import replace

from pytest_workrail.locks.sabotage import breaks

QUESTIONS = "pytest_workrail.engine.protocol.advance_outcome"
RESPONSES = "pytest_workrail.engine.protocol.responses"


@breaks("skipped-steps-are-data", at="pytest_workrail.engine.core.outcomes:skipped_list")
def steps_are_passed_over_in_silence(original):
    """Nothing is told of a step that is passed over."""
    from pytest_workrail.engine.model.trace import NOTHING_SKIPPED

    return lambda passed, context: NOTHING_SKIPPED


@breaks("unset-asked-once", at=f"{QUESTIONS}:questions_above")
def questions_are_forgotten(original):
    """A run does not know what it asked before."""
    from pytest_workrail.engine.protocol.advance_outcome import NO_QUESTIONS

    return lambda loader, position, profile: NO_QUESTIONS


@breaks("unset-set-smallest", at="pytest_workrail.engine.core.smallest_set:ConditionSolver.smallest")
def every_variable_is_asked_for(original):
    """A question names all unset variables that the condition reads."""

    def smallest(self, wanted, context, fixed=()):
        found = original(self, wanted, context, fixed)
        if not found:
            return found
        return {name: True for name in self.variables if name not in context and name not in fixed} | found

    return smallest


@breaks("question-loses-nothing", at="pytest_workrail.engine.store.plan:question_plan")
def a_question_keeps_nothing(original):
    """What was submitted with a question is not stored."""
    return lambda builder, step, **written: original(builder, step, **{**written, "context": None, "outputs": ()})


@breaks("unset-decision-recorded", at=f"{QUESTIONS}:Questions.decisions")
def decisions_leave_no_trace(original):
    """A variable that was left unset on purpose is not on record."""
    return lambda self, context: []


@breaks("answer-kind-closed-set", at=f"{RESPONSES}:went_on")
def answers_are_simply_ok(original):
    """A step that is pending and a run that is complete are told by the same word."""
    return lambda progress, disclosure, extras: {**original(progress, disclosure, extras), "kind": "ok"}


@breaks("no-meaningful-nulls", at=f"{RESPONSES}:where")
def a_null_says_that_nothing_follows(original):
    """Without a next call the member is null."""
    return lambda progress, params: {**original(progress, params), **({} if params else {"nextCall": None})}


@breaks("text-header-closed-set", at="pytest_workrail.engine.protocol.text:opening")
def texts_have_a_line_more(original):
    """Someone added a line to the header without a new version."""
    return lambda response: original(response).replace("\nKind: ", "\nSeen: now\nKind: ", 1)


@breaks("next-input-last", at="pytest_workrail.engine.core.prompts:PromptRenderer.render")
def the_next_input_comes_somewhere(original):
    """What is needed from outside is the first thing in a prompt."""

    def render(self, instance, situation):
        shown = original(self, instance, situation)
        return replace(shown, parts=(shown.parts[-1], *shown.parts[:-1]))

    return render
