"""CD, LP: rules that report what the analysis finds about variables and the values that conditions compare with.

And rules about confirmations, and whether a workflow has steps that always run.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache
from typing import Any, ClassVar

from workrail_lint.base.patterns import Pattern, folded
from workrail_lint.base.wording import listed, quoted
from workrail_lint.findings import Confidence, Severity
from workrail_lint.rules.base import Example, Report
from workrail_lint.systems.base import UNSET_VARIABLE
from workrail_lint.systems.workrail.analysis.definitions_and_uses import AUTHORED, Definition
from workrail_lint.systems.workrail.analysis.domains import BOOLEAN, read_domain
from workrail_lint.systems.workrail.analysis.prose import has_any
from workrail_lint.systems.workrail.model.workflow import ConfirmationGate, Step
from workrail_lint.systems.workrail.rules.base import WorkflowContext, WorkflowRule
from workrail_lint.systems.workrail.rules.prose import label, step_members
from workrail_lint.systems.workrail.rules.rule_needs import BRACES, CONDITIONS
from workrail_lint.systems.workrail.rules.samples import loop, step, workflow

# What reads variables.
_READERS = frozenset((CONDITIONS, "loop", "parallelDelegations", BRACES))


class AnalysisRule(WorkflowRule):
    """A rule that reports what the analysis found under its name."""

    needs: ClassVar[frozenset[str] | None] = _READERS

    def check_workflow(self, workflow: WorkflowContext, report: Report) -> None:
        for verdict in workflow.verdicts.get(self.name, ()):
            details: dict[str, object] | None = {UNSET_VARIABLE: verdict.unset} if verdict.unset else None
            report(verdict.pointer, verdict.message, severity=verdict.severity, details=details)


def _then(first: str, **members: Any) -> dict[str, Any]:
    """Return a workflow whose second step has these members."""
    return workflow(step("triage", first), step("dig", members.pop("prompt", "Dig."), **members))


class VariableNeverSet(AnalysisRule):
    code = "CD023"
    name = "variable-never-set"
    severity = Severity.WARNING
    origin = "product"
    summary = "Nothing sets a variable that a condition, a loop or a prompt reads."
    why = (
        "Agents only set what a prompt asks for. Conditions on an unset variable never change, a token shows "
        "`[unset: …]`, and a loop stops the run. It is an error when the run stops or the name is certainly misspelled."
    )

    def examples(self) -> Iterable[Example]:
        asks = "Set `impactLevel` to exactly one of: `minor`, `major`."
        yield Example(
            bad=_then(asks, runCondition={"var": "impactlevel", "equals": "major"}),
            good=_then(asks, runCondition={"var": "impactLevel", "equals": "major"}),
        )
        yield Example(
            bad=_then("Find the service that fails.", prompt="Page the owner of {{serviceName}}."),
            good=_then("Find the service that fails; set `serviceName`.", prompt="Page the owner of {{serviceName}}."),
        )


class VariableSetTooLate(AnalysisRule):
    code = "CD024"
    name = "variable-set-too-late"
    severity = Severity.WARNING
    origin = "product"
    summary = "A variable is read before the first step that sets it."
    why = (
        "The variable is unset there: a token shows `[unset: …]`, a loop stops the run, and a step whose condition "
        "becomes true later runs out of order."
    )

    def examples(self) -> Iterable[Example]:
        outline = step("outline", "Outline the article for {{audience}}.")
        interview = step("interview", "Ask who will read the article. Set `audience`.")
        yield Example(bad=workflow(outline, interview), good=workflow(interview, outline))


class VariableSetBySameStep(AnalysisRule):
    code = "CD025"
    name = "variable-set-by-same-step"
    severity = Severity.WARNING
    origin = "product"
    summary = "A prompt or condition reads a variable that only its own step sets."
    why = "The engine evaluates conditions and builds the prompt before the step runs, so the variable is still unset."

    def examples(self) -> Iterable[Example]:
        fragment = {"id": "rules", "when": {"var": "deliveryMode", "equals": "final"}, "text": "List open questions."}
        intake = step("intake", "Decide `deliveryMode`: `draft` or `final`.")
        deliver = step("deliver", "Deliver the text.")
        yield Example(
            bad=workflow({**intake, "promptFragments": [fragment]}, deliver),
            good=workflow(intake, {**deliver, "promptFragments": [fragment]}),
        )


class VariableMaybeUnset(AnalysisRule):
    code = "CD026"
    name = "variable-maybe-unset"
    severity = Severity.WARNING
    origin = "product"
    summary = "A prompt or loop reads a variable that is only set by a step that may be skipped."
    why = "In runs that skip that step the agent sees `[unset: …]`, or the run stops at the loop."

    def examples(self) -> Iterable[Example]:
        scan = step("scan", "Classify `corpusSize` as small, medium, or large.")
        large = {"var": "corpusSize", "equals": "large"}
        sample = step("sample", "Draw a sample. Store the path as `samplePath`.", runCondition=large)
        check = step("spot-check", "Compare with {{samplePath}}.")
        yield Example(bad=workflow(scan, sample, check), good=workflow(scan, sample, {**check, "runCondition": large}))


class LoopVariableOutsideLoop(AnalysisRule):
    code = "LP048"
    name = "loop-variable-outside-loop"
    severity = Severity.WARNING
    origin = "runtime"
    summary = "A loop's variable is read outside the loop."
    why = "Loop variables exist only in the body of the loop; the engine does not store them."

    def examples(self) -> Iterable[Example]:
        def closing(prompt: str) -> dict[str, Any]:
            each = loop(
                step("draft", "Write {{chapter}}."), type="forEach", count=..., items="chapters", itemVar="chapter"
            )
            return workflow(step("plan", "Set `chapters` to a list of titles."), each, step("close", prompt))

        yield Example(bad=closing("Close the file of {{chapter}}."), good=closing("Close all files."))


class ItemMemberUnknown(AnalysisRule):
    code = "LP049"
    name = "item-member-unknown"
    severity = Severity.WARNING
    origin = "runtime"
    summary = "A prompt reads a member of the loop item that the prompt for the list does not name."
    why = "Items have the members that the earlier prompt asks for; for any other the agent sees `[unset: …]`."

    def examples(self) -> Iterable[Example]:
        def writing(prompt: str) -> dict[str, Any]:
            plan = step("plan", "Set `chapters` to a list of objects, each with `heading` and `wordLimit`.")
            draft = step("draft", prompt)
            return workflow(plan, loop(draft, type="forEach", count=..., items="chapters", itemVar="chapter"))

        yield Example(
            bad=writing("Write {{chapter.heading}} in {{chapter.wordlimit}} words."),
            good=writing("Write {{chapter.heading}} in {{chapter.wordLimit}} words."),
        )


class LoopNeverEntered(AnalysisRule):
    code = "LP050"
    name = "loop-never-entered"
    severity = Severity.WARNING
    origin = "runtime"
    summary = "The condition of a loop fails before the first round, because only its body sets the variable."
    why = "Comparisons with an unset variable are false, so the loop is skipped and the variable is never set."

    def examples(self) -> Iterable[Example]:
        def retry(first: str) -> dict[str, Any]:
            source = {"kind": "context_variable", "condition": {"var": "failedRows", "gt": 0}}
            body = step("reload", "Load the rows again. Set `failedRows` to the number of rows that still fail.")
            again = loop(body, type="while", count=..., conditionSource=source, maxIterations=3)
            return workflow(step("load", first), again)

        yield Example(bad=retry("Load the rows."), good=retry("Load the rows. Set `failedRows`."))


_LEVELS = "Set `impactLevel` to exactly one of: `minor`, `major`, `critical`."


def _when(asks: str, *conditions: dict[str, Any]) -> dict[str, Any]:
    """Return a workflow whose later steps run under these conditions."""
    steps = [step(f"step-{number}", "Continue.", runCondition=item) for number, item in enumerate(conditions, 1)]
    return workflow(step("triage", asks), *steps)


class _ValueRule(AnalysisRule):
    """A rule about the values of a variable; a part of an example has the conditions of steps."""

    needs = frozenset({CONDITIONS})
    asks: ClassVar[str] = _LEVELS

    def document(self, part: Any) -> Any:
        return _when(self.asks, *part)


class ValueOutsideDomain(_ValueRule):
    code = "CD028"
    name = "value-outside-domain"
    severity = Severity.WARNING
    origin = "product"
    summary = "A condition compares a variable with a value that it never has."
    why = (
        "A prompt lists all values of the variable, and this one is not among them, so the comparison is never true. "
        "It is an error if the value is clearly misspelled and the step therefore never runs."
    )
    bad = [{"var": "impactLevel", "equals": "critcal"}]
    good = [{"var": "impactLevel", "equals": "critical"}]


class ValueSpelledDifferently(_ValueRule):
    code = "CD029"
    name = "value-spelled-differently"
    severity = Severity.WARNING
    origin = "product"
    summary = "A condition spells a value differently from the prompts, or two prompts list different values."
    why = (
        "The agent writes what the prompts say. Conditions ignore case, but not hyphens, underscores or missing "
        "letters, so the comparison is never true."
    )
    asks = "Read the request and set `scope` accordingly, for instance whole-codebase."
    bad = [{"var": "scope", "equals": "whole_codebase"}]
    good = [{"var": "scope", "equals": "whole-codebase"}]


class ComparisonType(_ValueRule):
    code = "CD030"
    name = "comparison-type"
    severity = Severity.WARNING
    origin = "runtime"
    summary = "A comparison does not fit the type of the variable."
    why = (
        "`gt`, `gte`, `lt` and `lte` are false for anything but a number, and a boolean equals no string except `true` "
        "or `false`, so the comparison is always false."
    )

    def examples(self) -> Iterable[Example]:
        yield Example(
            bad=_when(_LEVELS, {"var": "impactLevel", "gt": 2}),
            good=_when(_LEVELS, {"var": "impactLevel", "equals": "major"}),
        )
        flag = "Set `needsRetest` to true or false."
        yield Example(
            bad=_when(flag, {"var": "needsRetest", "equals": "always"}),
            good=_when(flag, {"var": "needsRetest", "equals": True}),
        )


class ConditionNeverTrue(_ValueRule):
    code = "CD031"
    name = "condition-never-true"
    severity = Severity.ERROR
    origin = "product"
    summary = "A condition can never be true, at all or in its place."
    why = (
        "No value of its variables meets the condition, so what depends on it never happens. Inside a conditional step "
        "or loop this is a warning, because a value can change in between."
    )

    def examples(self) -> Iterable[Example]:
        major, minor = {"var": "impactLevel", "equals": "major"}, {"var": "impactLevel", "equals": "minor"}
        yield Example(bad=_when(_LEVELS, {"and": [major, minor]}), good=_when(_LEVELS, {"or": [major, minor]}))

        def inside(value: str) -> dict[str, Any]:
            fragment = {"id": "quick", "when": {"var": "impactLevel", "equals": value}, "text": "Be quick."}
            review = loop(step("look", "Review.", promptFragments=[fragment]))
            condition = {"var": "impactLevel", "not_equals": "minor"}
            return workflow(step("triage", _LEVELS), {**review, "runCondition": condition})

        yield Example(bad=inside("minor"), good=inside("major"))


class ConditionAlwaysTrue(_ValueRule):
    code = "CD032"
    name = "condition-always-true"
    severity = Severity.WARNING
    origin = "product"
    summary = "A condition is always true, at all or in its place."
    why = "It looks like a decision, but it has no effect. Without it the workflow does the same and is clearer."
    bad = [{"or": [{"var": "impactLevel", "equals": "major"}, {"var": "impactLevel", "not_equals": "major"}]}]
    good = [{"var": "impactLevel", "not_equals": "major"}]


class ConditionOnlyTestsUnset(_ValueRule):
    code = "CD033"
    name = "condition-only-tests-unset"
    severity = Severity.WARNING
    origin = "product"
    summary = "A condition is true for every value of its variable."
    why = (
        "It is false only if nothing sets the variable. Test that with `not_equals: null`, or compare with the "
        "intended value."
    )
    asks = "Set `retryCount` to the number of retries."
    bad = [{"var": "retryCount", "gte": 0}]
    good = [{"var": "retryCount", "gt": 0}]


class BranchValueUnhandled(_ValueRule):
    code = "CD034"
    name = "branch-value-unhandled"
    severity = Severity.WARNING
    origin = "product"
    summary = "Steps branch on the values of a variable and leave some out."
    why = "If the variable has one of those values, the run skips all branches."
    bad = [{"var": "impactLevel", "equals": value} for value in ("minor", "major")]
    good = [*bad, {"var": "impactLevel", "equals": "critical"}]


class CounterNotInitialized(AnalysisRule):
    code = "CD060"
    name = "counter-not-initialized"
    severity = Severity.WARNING
    origin = "product"
    summary = "A variable is counted up or down and compared or shown, but nothing gives it a first value."
    why = (
        "A comparison with an unset variable is false, and an agent that is asked to increment a variable it does not "
        "have may leave it out."
    )
    needs = frozenset({CONDITIONS, BRACES, "loop"})

    def examples(self) -> Iterable[Example]:
        def stopping(first: str) -> dict[str, Any]:
            retry = loop(step("retry", "Try once more. Increment `attempts` by 1."))
            last = step("give-up", "Report the failure.", runCondition={"var": "attempts", "gte": 3})
            return workflow(step("start", first), retry, last)

        yield Example(bad=stopping("Start the job."), good=stopping("Start the job. Set `attempts` to 0."))


_OUTCOMES = ("result", "outcome", "status", "state", "verdict", "decision", "grade")
_OUTCOME = Pattern(
    r"\b(?:result|outcome|status|state|verdict|decision|grade)s?\b(?=[\s`'\"*]{0,3}(?:is|are|be|must be|:|=|\("
    r"|as)\b|[:=(])",
    re.IGNORECASE,
)


_SAYS = ("is", "are", "may be", "can be", "must be")


@lru_cache(maxsize=64)
def _noun(name: str) -> tuple[tuple[str, ...], Pattern]:
    """Return the words and a pattern for the last word of a name, as in "the risk is low, mid or high"."""
    word = re.split(r"_|(?<=[a-z])(?=[A-Z])", name)[-1]
    words = tuple(f"{folded(word)} {verb} " for verb in _SAYS)
    return words, Pattern(rf"(?<![`\w]){re.escape(word)}(?=\s(?:{'|'.join(_SAYS)})\s)", re.IGNORECASE)


class StateAsBoolean(WorkflowRule):
    code = "CD062"
    name = "state-as-boolean"
    severity = Severity.INFO
    confidence = Confidence.MEDIUM
    origin = "spec"
    summary = "A condition tests a boolean, although the prompt that sets it names a closed set of outcomes."
    why = (
        "A boolean can't tell three outcomes apart: later steps treat two of them alike. It is a warning where the "
        "prompt offers a third value beside true and false."
    )
    needs = frozenset({CONDITIONS})

    def check_workflow(self, workflow: WorkflowContext, report: Report) -> None:
        analysis = workflow.analysis
        for name, uses in analysis.by_name.items():
            domain = analysis.domain(name) if uses[0].leaf is not None else None
            if domain is None or uses[0].origin.via != AUTHORED:
                continue
            if domain.kind == BOOLEAN:
                outcomes = next(filter(None, map(self._outcomes, analysis.setters(name))), None)
                meant = next(
                    filter(None, (self._outcomes(each, *_noun(name)) for each in analysis.setters(name))), None
                )
                if meant is not None or outcomes is not None:
                    values = ", ".join(map(str, (meant or outcomes or ())[:5]))
                    report(
                        uses[0].pointer,
                        f"{quoted(name)} is true or false, but its prompt names the outcomes {values}; set a variable "
                        "to one of these and compare with it",
                        severity=Severity.WARNING if meant is not None else None,
                    )
                continue
            more = [value for value in domain.values if value not in (True, False)]
            tested = [use.leaf.equals for use in uses if use.leaf is not None]
            if 0 < len(more) < len(domain.values) and not any(value in more for value in tested):
                report(
                    uses[0].pointer,
                    f"{quoted(name)} is true or false here, but its prompt also offers "
                    f"{listed(map(quoted, more), 'or')}; give each outcome a name and compare with that",
                    severity=Severity.WARNING,
                )

    @staticmethod
    def _outcomes(
        definition: Definition, words: tuple[str, ...] = _OUTCOMES, noun: Pattern = _OUTCOME
    ) -> tuple[Any, ...] | None:
        """Return three or more outcomes that the text of a definition lists for a noun, one of whose words it has."""
        if not has_any(" ".join(definition.text.split()), words):
            return None
        for match in noun.finditer(definition.text):
            statement = read_domain(definition.text, match.start(), match.end(), lambda: None)
            if statement is not None and statement.closed and len(statement.values) > 2:
                return statement.values
        return None

    def examples(self) -> Iterable[Example]:
        def testing(condition: dict[str, Any]) -> dict[str, Any]:
            asks = (
                "The outcome is one of accepted, returned, lost. Set `parcelDone` to true or false, and `parcel` "
                "to the outcome."
            )
            return workflow(step("track", asks), step("close", runCondition=condition))

        yield Example(
            bad=testing({"var": "parcelDone", "equals": True}), good=testing({"var": "parcel", "equals": "accepted"})
        )

        def choosing(values: str) -> dict[str, Any]:
            condition = {"var": "parcelDone", "equals": True}
            return workflow(
                step("track", f"Set `parcelDone` to {values}."), step("close", runCondition=condition), step("report")
            )

        yield Example(bad=choosing("true, false or late"), good=choosing("true or false"))


_WHEN = {"var": "goal", "contains": "review"}


class ConfirmationRule(WorkflowRule):
    """A rule about confirmations and conditional steps."""

    needs = frozenset({"runCondition", "requireConfirmation"})


class GateConditionSelf(ConfirmationRule):
    code = "CD018"
    name = "gate-condition-self"
    severity = Severity.WARNING
    origin = "spec"
    summary = "The condition of a confirmation tests a variable that only the step itself sets."
    why = (
        "In an interactive run the engine evaluates the condition before the step runs. The variable is unset then, so "
        "the user is never asked. Put the confirmation on the step that acts on the value, and let an earlier one set "
        "it."
    )

    needs = frozenset({CONDITIONS})

    def check_workflow(self, workflow: WorkflowContext, report: Report) -> None:
        if "requireConfirmation" in step_members(workflow):
            for verdict in workflow.verdicts.get(self.name, ()):
                report(verdict.pointer, verdict.message)

    def examples(self) -> Iterable[Example]:
        gate = {"kind": "human_approval", "condition": {"var": "verdict", "equals": "blocking"}}
        review = step("review", "Review the change. Set `verdict` to clean, minor, or blocking.")
        yield Example(
            bad=workflow({**review, "requireConfirmation": gate}),
            good=workflow(review, step("merge", "Merge the change.", requireConfirmation=gate)),
        )


def _top_level(workflow: WorkflowContext) -> list[Step]:
    """Return the steps that are not the body of a loop."""
    return [step for step in workflow.steps if step.pointer not in workflow.loop_of]


class StepsConditional(ConfirmationRule):
    code = "CD019"
    name = "steps-conditional"
    severity = Severity.WARNING
    origin = "doc"
    summary = "The first step, or every step, runs only under a condition."
    why = (
        "A run may begin with nothing to do, or end without having done anything. For workflows of the public engine, "
        "KD001 reports a conditional first step."
    )

    def check_workflow(self, workflow: WorkflowContext, report: Report) -> None:
        if workflow.engine and not workflow.is_routine:
            return  # `engine-first-step-unconditional` says more
        if not self._all_steps_conditional(workflow, report):
            self._first_step_conditional(workflow, report)

    def examples(self) -> Iterable[Example]:
        others: tuple[dict[str, Any], ...] = ({}, {"runCondition": _WHEN})
        for second in others:
            yield Example(
                bad=workflow(step(runCondition=_WHEN), step("second-step", **second)),
                good=workflow(step(), step("second-step", runCondition=_WHEN)),
                options={"target": "ir"},
            )

    def _first_step_conditional(self, workflow: WorkflowContext, report: Report) -> None:
        first = next(iter(_top_level(workflow)), None)
        if first is not None and first.is_conditional:
            report(
                first.at("runCondition"),
                f"{label(first)}: the first step may be skipped, because no step has set a variable yet; start with a "
                "step that always runs",
            )

    def _all_steps_conditional(self, workflow: WorkflowContext, report: Report) -> bool:
        steps = _top_level(workflow)
        are_conditional = bool(steps) and all(step.is_conditional for step in steps)
        if are_conditional:
            report(
                "/steps",
                "every step has a runCondition, so a run may have no step to run; add a step that always runs",
            )
        return are_conditional


class ConfirmationOveruse(ConfirmationRule):
    code = "CD022"
    name = "confirmation-overuse"
    severity = Severity.INFO
    origin = "spec"
    summary = "More than half of the steps, and at least three, always ask for confirmation."
    why = "Users who must confirm every step stop reading what they confirm. Ask only where a decision is hard to undo."

    def check_workflow(self, workflow: WorkflowContext, report: Report) -> None:
        steps = [step for step in workflow.all_steps if step.kind != "loop"]
        asking = sum(map(self._always_asks, steps))
        if asking >= 3 and asking * 2 > len(steps):
            report(
                "/steps",
                f"{asking} of {len(steps)} steps always ask for confirmation; ask only where a decision is hard to "
                "undo",
            )

    @staticmethod
    def _always_asks(step: Step) -> bool:
        if step.calls_template or step.kind == "parallel":
            return False
        confirmation = step.require_confirmation
        if confirmation is None or isinstance(confirmation, bool):
            return confirmation is True
        condition = confirmation.condition if isinstance(confirmation, ConfirmationGate) else confirmation
        return condition is None or not condition.raw

    def examples(self) -> Iterable[Example]:
        def asked(times: int) -> list[dict[str, object]]:
            return [step(f"step-{number}", requireConfirmation=number < times) for number in range(4)]

        yield Example(bad=workflow(*asked(3)), good=workflow(*asked(2)))
