"""AS, CT: assessments that the engine rejects, and those that are valid but do not work as intended."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any

from workrail_lint.base import js
from workrail_lint.base.patterns import Pattern
from workrail_lint.base.suggest import nearest
from workrail_lint.base.wording import listed, name_list, quoted
from workrail_lint.documents.operations import Operation, Replace
from workrail_lint.documents.schema.engine import Violation
from workrail_lint.documents.schema.messages import shown
from workrail_lint.findings import Confidence, Finding, Fix, Severity, unsafe
from workrail_lint.rules.base import Example, Report
from workrail_lint.rules.describing import Description
from workrail_lint.systems.workrail.analysis.domains import read_list
from workrail_lint.systems.workrail.compiler.steps import declared_levels
from workrail_lint.systems.workrail.model.workflow import (
    AssessmentConsequence,
    AssessmentDefinition,
    AssessmentDimension,
    StandardStep,
    Step,
)
from workrail_lint.systems.workrail.rules import samples
from workrail_lint.systems.workrail.rules.base import WorkflowContext, WorkflowRule
from workrail_lint.systems.workrail.rules.delivered_text import delivered
from workrail_lint.systems.workrail.rules.prose import Search, label, sentence_at, use_suggestion
from workrail_lint.systems.workrail.rules.rule_needs import condition_facts
from workrail_lint.systems.workrail.rules.samples import loop, workflow
from workrail_lint.systems.workrail.step_place import StepPlace

_MIRRORS = ("confidence", "score")
_SAFE_ID = Pattern(r"[a-z0-9_-]+")


def dimension(ident: str = "coverage", *levels: str) -> dict[str, Any]:
    return {"id": ident, "purpose": "How much was read.", "levels": list(levels) or ["low", "high"]}


def assessment(ident: str = "depth", *dimensions: dict[str, Any]) -> dict[str, Any]:
    return {"id": ident, "purpose": "How deep the work went.", "dimensions": list(dimensions) or [dimension()]}


def consequence(level: str = "low", assessment_id: str | None = None) -> dict[str, Any]:
    when = {"anyEqualsLevel": level}
    if assessment_id is not None:
        when["forAssessment"] = assessment_id
    return {"when": when, "effect": {"kind": "require_followup", "guidance": "Read what was left out."}}


def rated(*refs: str, **members: Any) -> dict[str, Any]:
    return samples.step(
        "rate-it", "Rate the depth in a wr.assessment artifact.", assessmentRefs=list(refs or ("depth",)), **members
    )


class AssessmentRefUnknown(WorkflowRule):
    code = "AS006"
    name = "assessment-ref-unknown"
    severity = Severity.ERROR
    origin = "struct / compile"
    summary = "A step refers to an assessment that the workflow does not declare."
    why = "The engine rejects the workflow."
    fix = "Use the closest declared assessment id."

    def fix_for(self, finding: Finding, workflow: WorkflowContext) -> Fix | None:
        return use_suggestion(finding, workflow)

    def examples(self) -> Iterable[Example]:
        good = workflow(rated("depth"), assessments=[assessment("depth")])
        yield Example(workflow(rated("dept"), assessments=[assessment("depth")]), good, good)
        yield Example(workflow(rated()), workflow(rated(), assessments=[assessment()]))


class ConsequenceWithoutRefs(WorkflowRule):
    code = "AS007"
    name = "consequence-without-refs"
    severity = Severity.ERROR
    origin = "struct / compile"
    summary = "A step has `assessmentConsequences` but no `assessmentRefs`."
    why = "A consequence fires on a level that is rated on the same step; here nothing is rated."

    def examples(self) -> Iterable[Example]:
        yield Example(
            workflow(samples.step(assessmentConsequences=[consequence()]), rated(), assessments=[assessment()]),
            workflow(samples.step(), rated(assessmentConsequences=[consequence()]), assessments=[assessment()]),
        )


class ConsequenceLevelUnknown(WorkflowRule):
    code = "AS008"
    name = "consequence-level-unknown"
    severity = Severity.ERROR
    origin = "struct / compile"
    summary = "A consequence names a dimension or a level that its assessment does not have."
    why = "The engine rejects the workflow, or the consequence never applies."
    fix = "Use the closest declared level."

    def fix_for(self, finding: Finding, workflow: WorkflowContext) -> Fix | None:
        lists = [step.assessment_consequences for step in workflow.whole.all_steps if step.kind == "standard"]
        for consequences in lists:
            own = next((item for item in consequences if item.when.at("anyEqualsLevel") == finding.pointer), None)
            if own is not None:
                break
        else:
            return None  # it comes from a template
        suggestions = {earlier.pointer: earlier.suggestion for earlier in workflow.earlier if earlier.name == self.name}
        triggers = [(item.when.any_equals_level, item.when.for_assessment) for item in consequences]
        triggers += [
            (suggestions.get(item.when.at("anyEqualsLevel")) or "", item.when.for_assessment)
            for item in consequences
            if item.index < own.index
        ]
        # A duplicate trigger would be another error.
        return None if (finding.suggestion, own.when.for_assessment) in triggers else use_suggestion(finding, workflow)

    def examples(self) -> Iterable[Example]:
        def waiting(level: str) -> dict[str, Any]:
            return workflow(rated(assessmentConsequences=[consequence(level)]), assessments=[assessment()])

        good = waiting("low")
        yield Example(waiting("lov"), good, good)
        yield Example(waiting("middling"), good)
        both = [assessment("depth"), assessment("breadth")]
        asked = rated("breadth")
        yield Example(
            workflow(rated(assessmentConsequences=[consequence("low", "breadth")]), assessments=both),
            workflow(
                rated(assessmentConsequences=[consequence("low", "depth")]), {**asked, "id": "more"}, assessments=both
            ),
        )


class ConsequenceDuplicateTrigger(WorkflowRule):
    code = "AS010"
    name = "consequence-duplicate-trigger"
    severity = Severity.ERROR
    origin = "compile (top level), runtime (body)"
    summary = "Two consequences of a step have the same trigger."
    why = (
        "Both would be recorded under the same key. At the top level the compiler rejects this; in a loop body the "
        "run fails when the consequence fires."
    )

    def examples(self) -> Iterable[Example]:
        twice = [consequence("low"), consequence("low")]
        good = workflow(rated(assessmentConsequences=twice[:1]), assessments=[assessment()])
        yield Example(workflow(rated(assessmentConsequences=twice), assessments=[assessment()]), good)
        yield Example(workflow(loop(rated(assessmentConsequences=twice)), assessments=[assessment()]), good)


class _AssessmentRule(WorkflowRule):
    """A rule about the use of assessments in workflows that declare some."""

    needs = frozenset({"assessments", "assessmentRefs", "assessmentConsequences"})

    def applies(self, workflow: WorkflowContext) -> bool:
        return "assessments" in workflow.model


class AssessmentLevelDuplicate(_AssessmentRule):
    code = "AS003"
    name = "assessment-level-duplicate"
    severity = Severity.ERROR
    origin = "schema / product"
    summary = "A dimension lists a level twice, exactly or in another case."
    why = (
        "A submitted level that matches none exactly is compared without regard to case. If two levels then match, "
        "the submission is ambiguous and rejected. The engine refuses an exact repetition itself."
    )
    describes = (("AssessmentDimension", "uniqueItems"),)

    def describe(self, violation: Violation, place: StepPlace) -> Description:
        return Description(f"{place.path} repeats the level {shown(violation.value)}")

    def check_workflow(self, workflow: WorkflowContext, report: Report) -> None:
        for assessment, dimension in _dimensions(workflow):
            seen: dict[str, str] = {}
            for index, level in enumerate(dimension.levels):
                other = seen.setdefault(js.lower(js.trim(level)), level)
                if other != level:
                    report(
                        dimension.at("levels", index),
                        f"assessment {quoted(assessment.id)}: levels {quoted(other)} and {quoted(level)} differ only "
                        "in case or whitespace; rename one",
                        severity=Severity.WARNING,
                    )

    def examples(self) -> Iterable[Example]:
        yield Example(
            workflow(rated(), assessments=[assessment("depth", dimension("coverage", "low", "low"))]),
            workflow(rated(), assessments=[assessment("depth", dimension("coverage", "low", "high"))]),
        )
        yield Example(
            workflow(rated(), assessments=[assessment("depth", dimension("coverage", "Low", "low", "high"))]),
            workflow(rated(), assessments=[assessment("depth", dimension("coverage", "none", "low", "high"))]),
        )


class ConsequenceUnscoped(_AssessmentRule):
    code = "AS011"
    name = "consequence-unscoped"
    severity = Severity.WARNING
    origin = "spec"
    summary = "A consequence has a level of several assessments and does not say which one it is for."
    why = (
        "The first assessment with the level fires the consequence, once, and the agent must guess which one is "
        "meant. Guidance that names each assessment, or a dimension of each, is fine."
    )

    def check_step(self, step: Step, workflow: WorkflowContext, report: Report) -> None:
        if step.kind != "standard" or step.calls_template or len(step.assessment_refs) < 2:
            return
        levels = declared_levels(workflow.model.assessments)
        for item in step.assessment_consequences:
            level = item.when.any_equals_level
            sharing = [ref for ref in step.assessment_refs if level in levels.get(ref, ())]
            if "forAssessment" not in item.when and len(sharing) > 1 and not self._names_each(item, sharing, workflow):
                report(
                    item.at("when"),
                    f"{label(step)}: level {quoted(level)} belongs to several assessments ({name_list(sharing)}); "
                    "set forAssessment",
                )

    @staticmethod
    def _names_each(item: AssessmentConsequence, refs: list[str], workflow: WorkflowContext) -> bool:
        """Return whether the guidance of a consequence names every one of the assessments, or a dimension of it."""
        names = {
            assessment.id: [assessment.id, *(dimension.id for dimension in assessment.dimensions)]
            for assessment in workflow.model.assessments
        }
        return all(any(name in item.effect.guidance for name in names[ref]) for ref in refs)

    def examples(self) -> Iterable[Example]:
        both = [assessment("depth"), assessment("breadth")]

        def asking(*consequences: dict[str, Any]) -> dict[str, Any]:
            return workflow(rated("depth", "breadth", assessmentConsequences=list(consequences)), assessments=both)

        yield Example(asking(consequence("low")), asking(consequence("low", "depth"), consequence("low", "breadth")))


class AssessmentNoConsequence(_AssessmentRule):
    code = "AS012"
    name = "assessment-no-consequence"
    severity = Severity.INFO
    confidence = Confidence.MEDIUM
    origin = "spec"
    summary = "A step asks for an assessment that has no consequences."
    why = "The rating is recorded but never used: the run continues the same way whatever the agent answers."

    def check_workflow(self, workflow: WorkflowContext, report: Report) -> None:
        levels = declared_levels(workflow.model.assessments)
        used = {ref for step in workflow.all_steps for ref in self._with_consequence(step, levels)}
        for step in workflow.all_steps:
            if step.kind != "standard" or step.calls_template:
                continue
            for index, ref in enumerate(step.assessment_refs):
                if ref in levels and ref not in used:
                    report(
                        step.at("assessmentRefs", index),
                        f"{label(step)}: no step has consequences for assessment {quoted(ref)}, so the rating changes "
                        "nothing; add assessmentConsequences",
                    )

    @staticmethod
    def _with_consequence(step: Step, levels: dict[str, set[str]]) -> Iterator[str]:
        """Yield the assessments that a consequence of the step is about, with a level that it has or that none has."""
        if step.kind != "standard":
            return
        known = {level for ref in step.assessment_refs for level in levels.get(ref, ())}
        for item in step.assessment_consequences:
            level, scope = item.when.any_equals_level, item.when.for_assessment
            for ref in step.assessment_refs:
                # A level or assessment that is not declared is a typo, which another rule reports.
                if (scope in (None, ref) or scope not in levels) and (
                    level in levels.get(ref, ()) or level not in known
                ):
                    yield ref

    def examples(self) -> Iterable[Example]:
        yield Example(
            workflow(rated(), assessments=[assessment()]),
            workflow(rated(assessmentConsequences=[consequence()]), assessments=[assessment()]),
        )


class AssessmentIdUnsafe(_AssessmentRule):
    code = "AS013"
    name = "assessment-id-unsafe"
    severity = Severity.WARNING
    origin = "spec"
    summary = "An assessment with consequences has an id with characters other than a-z, 0-9, `_` and `-`."
    why = "The id becomes part of the key under which a consequence is recorded; other characters break that key."
    fix = "Rewrite the id in lower case with hyphens, everywhere it is used."

    def check_workflow(self, workflow: WorkflowContext, report: Report) -> None:
        involved = {
            ref
            for step in workflow.all_steps
            if step.kind == "standard" and "assessmentConsequences" in step
            for ref in step.assessment_refs
        }
        ids = [assessment.id for assessment in workflow.model.assessments]
        for assessment in workflow.model.assessments:
            ident = assessment.id
            if ident not in involved or _SAFE_ID.fullmatch(ident):
                continue
            slug = re.sub(r"[^a-z0-9_-]+", "-", ident.lower()).strip("-")
            fix = None
            if slug and slug not in ids:
                ids.append(slug)  # two ids may get the same slug
                fix = unsafe(f"rename it to {slug}", *self._renamed(workflow, assessment, slug))
            report(
                assessment.at("id"),
                f"assessment id {quoted(ident)} has characters other than a-z, 0-9, _ and -, so its consequences "
                "can't be recorded; rename it",
                fix=fix,
            )

    @staticmethod
    def _renamed(workflow: WorkflowContext, assessment: AssessmentDefinition, slug: str) -> Iterator[Operation]:
        """Replace an id in its declaration and in every reference to it."""
        yield Replace(assessment.at("id"), slug)
        for step in workflow.all_steps:
            if step.kind != "standard":
                continue
            for position, ref in enumerate(step.assessment_refs):
                if ref == assessment.id:
                    yield Replace(step.at("assessmentRefs", position), slug)
            for item in step.assessment_consequences:
                if item.when.for_assessment == assessment.id:
                    yield Replace(item.at("when", "forAssessment"), slug)

    def examples(self) -> Iterable[Example]:
        def named(ident: str) -> dict[str, Any]:
            asked = rated(ident, assessmentConsequences=[consequence("low", ident)])
            return workflow(asked, assessments=[assessment(ident)])

        yield Example(named("Gate One"), named("gate-one"), named("gate-one"))


class AssessmentMirrorDimension(_AssessmentRule):
    code = "AS014"
    name = "assessment-mirror-dimension"
    severity = Severity.INFO
    confidence = Confidence.MEDIUM
    origin = "spec"
    summary = "A dimension is a lone `confidence` or `score`, or has the name of a variable that conditions test."
    why = (
        "An assessment should rate properties of the work. A single overall score rates how the agent feels, and a "
        "dimension that mirrors a context variable is rated to match it."
    )

    def check_workflow(self, workflow: WorkflowContext, report: Report) -> None:
        for assessment, dimension in _dimensions(workflow):
            if len(assessment.dimensions) == 1 and dimension.id.lower() in _MIRRORS:
                fault = "rates one overall impression; rate specific qualities of the work instead"
            elif dimension.id in condition_facts(workflow).by_variable:
                fault = "is also a context variable that conditions test; rate what the variable is based on"
            else:
                continue
            report(
                dimension.at("id"),
                f"assessment {quoted(assessment.id)}: dimension {quoted(dimension.id)} {fault}",
            )

    def examples(self) -> Iterable[Example]:
        good = workflow(rated(), assessments=[assessment()])
        yield Example(workflow(rated(), assessments=[assessment("depth", dimension("confidence"))]), good)
        branch = samples.step("dig-deeper", runCondition={"var": "risk", "equals": "high"})
        yield Example(
            workflow(rated(), branch, assessments=[assessment("depth", dimension("risk"))]),
            workflow(rated(), branch, assessments=[assessment()]),
        )


class ConsequenceInescapable(_AssessmentRule):
    code = "AS016"
    name = "consequence-inescapable"
    severity = Severity.ERROR
    origin = "run time"
    summary = "Every level of a required dimension triggers a follow-up."
    why = (
        "A follow-up ends when the agent rates the step again at a level that triggers none. Without such a level the "
        "step stays blocked forever, whatever the agent does."
    )

    def check_step(self, step: Step, workflow: WorkflowContext, report: Report) -> None:
        if step.kind != "standard" or step.calls_template or step.decides_loop:
            return
        for assessment, dimension in _dimensions(workflow):
            if assessment.id not in step.assessment_refs or dimension.required is False:
                continue
            alarms = {
                item.when.any_equals_level
                for item in step.assessment_consequences
                if item.when.for_assessment in (None, assessment.id)
            }
            if dimension.levels and alarms.issuperset(dimension.levels):
                report(
                    step.at("assessmentConsequences"),
                    f"{label(step)}: every level of {quoted(assessment.id)}.{quoted(dimension.id)} "
                    f"({name_list(dimension.levels)}) triggers a follow-up, so the step can never complete; leave one "
                    "level without a consequence",
                    on_name=True,
                )

    def examples(self) -> Iterable[Example]:
        def asking(*consequences: dict[str, Any]) -> dict[str, Any]:
            return workflow(rated(assessmentConsequences=list(consequences)), assessments=[assessment()])

        yield Example(asking(consequence("low"), consequence("high")), asking(consequence("low")))


def _dimensions(workflow: WorkflowContext) -> Iterator[tuple[AssessmentDefinition, AssessmentDimension]]:
    """Yield every dimension, each with its assessment."""
    for assessment in workflow.model.assessments:
        for dimension in assessment.dimensions:
            yield assessment, dimension


# --------------------------------------------------------------------------------------- what prompts say

_DIMENSION = Search(
    ("dimension",),
    r"\bdimensions?:? [`'\"]([a-z][\w-]{1,63})[`'\"]((?:,? (?:and |or )?[`'\"][a-z][\w-]{1,63}[`'\"]){0,20})"
    r"|[`'\"]([a-z][\w-]{1,63})[`'\"] dimension\b",
    before=70,
)
# A name of several words beside a level: "ticket_coverage low", "`ticket-coverage` is low", "ticket_coverage = low".
_RATED = Pattern(
    r"(?<![\w{./-])`?([a-z]++(?:_[a-z0-9]++)++|(?<=`)[a-z]++(?:-[a-z0-9]++)++)`?"
    r"\s*(is |of |at |as |to |=|:|rated |scores )?\s*([`'\"]?)([A-Za-z]+(?:[_-][A-Za-z]+)*)\b(?![_-]\w)"
)
_PLAIN_RATED = Pattern(r"(?<![\w{./-])`?([a-z]++)`?\s?(=)\s?([`'\"]?)([A-Za-z]+)\b(?![_-]\w)")
# What authors call a level; other words after the name of a dimension are ordinary prose.
_LEVEL_WORDS = frozenset(
    (
        *("low", "lower", "mid", "medium", "moderate", "high", "severe", "critical"),
        *("weak", "strong", "poor", "fair", "good", "excellent", "minimal"),
    )
)
_MARKS_OF_LIST = 4  # backticks
_NAME_LIST = Pattern(r"`[a-z][\w-]{1,63}`(?:(?:,|,? and|,? or| &) `[a-z][\w-]{1,63}`)+")
_RATES = Pattern(r"\b(?:rate|score|assess|judge|evaluate|grade|rating)\b", re.IGNORECASE)
# "accuracy low -- correct the statement", "If coverage is low, …".
_WORD_RATED = Pattern(
    r"(?<![\w`./-])`?([a-z]{4,}(?:_[a-z]+)*)`?\s?(?:is |=|:|rated |scored |was )?\s?([a-z]+)\b"
    r"(?=\s*(?:--|—|,|:|;|-\s))"
)
_QUOTED_NAME = Pattern(r"[`'\"]([a-z][\w-]{1,63})[`'\"]")
# "Rate `style` (low or high)".
_BEFORE_LEVELS = Pattern(r"`([a-z][\w-]{1,63})` \(")
# "Raise `coverage` to high": a single word in backticks beside a level.
_MARKED_RATED = Pattern(r"`([a-z]{2,})`\s*(?:is|to|as|at|=|:|of)?\s*[`'\"]?([a-z]+)\b")
# "each rated weak, good or strong", "with one of the levels `low` or `high`".
_LEVEL_SIGNS = ("level", "rate", "grade", "score", " with")  # one of them is in all that this matches
_LEVELS_FOLLOW = Pattern(
    r"\b(?:each|both|all|them|dimensions?) (?:(?:is|are|as|be) )?(?:rated|graded|scored|with)\s+(?:as\s+|either\s+)?"
    r"|\blevels?(?: are| is)?:?\s+|\b(?:rate|grade|score) (?:each|both|them)(?: \w+)? (?:as |either )+"
    r"|\brated (?:as |either )?",
    re.IGNORECASE,
)


class AssessmentDimensionUnknown(WorkflowRule):
    code = "CT015"
    name = "assessment-dimension-unknown"
    severity = Severity.WARNING
    origin = "product"
    summary = "A prompt names a dimension that the assessment does not have, or a level that the dimension lacks."
    why = (
        "The engine rejects an assessment with an unknown dimension or level, so an agent that follows the prompt is "
        "blocked."
    )
    needs = frozenset({"assessmentRefs"})

    def check_workflow(self, workflow: WorkflowContext, report: Report) -> None:
        declared = self._dimensions(workflow)
        if not declared:
            return
        for step in workflow.all_steps:
            if step.kind == "standard" and step.assessment_refs:
                self._check_levels(step, workflow, report)
        seen: set[tuple[str, str]] = set()
        for phrase in delivered(workflow).phrases(_DIMENSION, in_code=True):
            refs = phrase.step.assessment_refs if phrase.step.kind == "standard" else ()
            known = {ref: declared[ref] for ref in refs if ref in declared}
            named = {ref: dims for ref, dims in known.items() if ref.lower() in phrase.sentence}
            first, rest, before = phrase.hit.match.groups()
            names = [first or before, *_QUOTED_NAME.findall(rest or "")]
            in_known = {dimension.lower() for dimensions in known.values() for dimension in dimensions}
            if not named and ("wr.assessment" in phrase.sentence or not in_known.isdisjoint(names)):
                named = known
            if not named or phrase.is_negated:
                continue
            allowed = {dimension.lower() for dimensions in named.values() for dimension in dimensions}
            for name in names:
                if name in allowed or name in {ref.lower() for ref in named} or (phrase.pointer, name) in seen:
                    continue
                seen.add((phrase.pointer, name))
                owner = listed([quoted(ref) for ref in named], "or")
                known_dimensions = name_list(dict.fromkeys(d for dimensions in named.values() for d in dimensions))
                report(
                    phrase.pointer,
                    f"{label(phrase.step)}: {owner} has no dimension {quoted(name)}; it has {known_dimensions}",
                )

    @staticmethod
    def _check_levels(step: StandardStep, workflow: WorkflowContext, report: Report) -> None:
        """Report a name beside a level that is no dimension of the step's assessments, or one beside no level."""
        owned = [item for item in workflow.model.assessments if item.id in step.assessment_refs]
        dimensions = {dimension.id for item in owned for dimension in item.dimensions}
        levels = {level.lower() for item in owned for dimension in item.dimensions for level in dimension.levels}
        known = {name.lower() for name in (*dimensions, *(item.id for item in owned))}
        if len(known) < len(owned) + 1 or not levels:
            return
        prompts = [
            (text.text, text.pointer)
            for text in step.prompt_texts
            if any(map(text.text.lower().__contains__, (*levels, *known)))
        ]
        texts = [(text, pointer) for text, pointer in prompts if any(sign in text for sign in "_-=")]
        texts += [(each.effect.guidance, each.effect.at("guidance")) for each in step.assessment_consequences]
        owner = listed([quoted(item.id) for item in owned], "or")
        others = {*levels, *workflow.analysis.by_name}
        for text, pointer in prompts:
            other = AssessmentDimensionUnknown._listed_beside(text, known, others)
            if other := other or AssessmentDimensionUnknown._given_levels(text, {*known, *others}, levels):
                report(
                    pointer,
                    f"{label(step)}: {owner} has no dimension {quoted(other)}; it has {name_list(sorted(dimensions))}",
                )
            wrong = AssessmentDimensionUnknown._wrong_levels(text, levels, {*known, "wr.assessment"})
            wrong = wrong or AssessmentDimensionUnknown._other_levels(text, dimensions.difference(others), levels)
            if wrong:
                report(
                    pointer,
                    f"{label(step)}: no dimension of {listed([quoted(item.id) for item in owned], 'or')} has the level "
                    f"{listed(map(quoted, wrong), 'or')}; the levels are {name_list(sorted(levels))}",
                )
        for text, pointer in texts:
            plain = _PLAIN_RATED.finditer(text) if "=" in text else ()
            for match in (*_RATED.finditer(text), *plain):
                name, level = match[1], match[4]
                if name in dimensions and level.lower() not in levels:
                    is_value = match[2] == "=" or bool(match[3] and match[2]) or level.lower() in _LEVEL_WORDS
                    if is_value and level.lower() not in ("true", "false"):
                        own = [each.levels for item in owned for each in item.dimensions if each.id == name]
                        allowed = listed(dict.fromkeys(each for group in own for each in group), "or")
                        report(
                            pointer,
                            f"{label(step)}: {quoted(name)} has no level {quoted(level)}; it is {allowed}",
                        )
                        break
                if level.lower() not in levels or name.lower() in known or name in workflow.analysis.by_name:
                    continue
                near = nearest(name, dimensions)
                hint = f"did you mean {quoted(near)}?" if near else f"it has {name_list(sorted(dimensions))}"
                report(pointer, f"{label(step)}: {owner} has no dimension {quoted(name)}; {hint}")
                break
        for each in step.assessment_consequences:
            guidance = each.effect.guidance
            other = AssessmentDimensionUnknown._rated_beside(guidance, known, levels)
            other = other or AssessmentDimensionUnknown._marked_beside(guidance, {*known, *others}, levels)
            if other is not None:
                report(
                    each.effect.at("guidance"),
                    f"{label(step)}: {owner} has no dimension {quoted(other)}; it has {name_list(sorted(dimensions))}",
                )

    @staticmethod
    def _given_levels(text: str, known: set[str], levels: set[str]) -> str | None:
        """Return a name that is followed by a list of the levels as dimensions are, and that is none."""
        for match in _BEFORE_LEVELS.finditer(text):
            if match[1] not in known and len(set(read_list(text, match.end())) & levels) > 1:
                return match[1]
        return None

    @staticmethod
    def _listed_beside(text: str, known: set[str], others: set[str]) -> str | None:
        """Return a name that a sentence lists with known dimensions to be rated, and that is none."""
        if text.count("`") < _MARKS_OF_LIST:
            return None
        for match in _NAME_LIST.finditer(text):
            names = _QUOTED_NAME.findall(match[0])
            unknown = [name for name in names if name.lower() not in known and name not in others]
            if not unknown or len(unknown) == len(names):
                continue
            sentence = sentence_at(text, match.start())
            # A sentence with "dimension" in it is read as a whole.
            if _RATES.search(sentence) and "dimension" not in sentence.lower():
                return unknown[0]
        return None

    @staticmethod
    def _rated_beside(guidance: str, known: set[str], levels: set[str]) -> str | None:
        """Return a word that a guidance gives a level like those of dimensions, and that is none."""
        rated = [match[1] for match in _WORD_RATED.finditer(guidance) if match[2].lower() in levels]
        if known.isdisjoint(rated):
            return None
        parts = {part for name in known for part in re.split(r"[_.-]", name)}
        return next((name for name in rated if name not in known and name not in parts and "_" not in name), None)

    @staticmethod
    def _marked_beside(guidance: str, known: set[str], levels: set[str]) -> str | None:
        """Return a word in backticks that a guidance gives a level, and that is no known name."""
        marked = [match[1] for match in _MARKED_RATED.finditer(guidance) if match[2] in levels]
        return next((name for name in marked if name not in known), None)

    @staticmethod
    def _other_levels(text: str, dimensions: set[str], levels: set[str]) -> list[str]:
        """Return the levels that a text lists for a dimension, and that no dimension has."""
        for name in dimensions:
            for match in re.finditer(rf"`{re.escape(name)}`(?: as| is|:| =)? \(?", text) if f"`{name}`" in text else ():
                values = [value.lower() for value in read_list(text, match.end())]
                wrong = [value for value in values if value not in levels]
                # Beside a level, or like one: anything else is what the dimension is about.
                if len(values) > 1 and wrong and (len(wrong) < len(values) or not _LEVEL_WORDS.isdisjoint(wrong)):
                    return wrong
        return []

    @staticmethod
    def _wrong_levels(text: str, levels: set[str], names: set[str]) -> list[str]:
        """Return what a list of levels has beside known ones, in a sentence that names an assessment or dimension."""
        low = text.lower()
        # What it finds is beside a known level, in a sentence with a known name.
        if not all(any(word in low for word in words) for words in (_LEVEL_SIGNS, levels, names)):
            return []
        for match in _LEVELS_FOLLOW.finditer(text):
            if not any(name in sentence_at(text, match.start()).lower() for name in names):
                continue
            values = read_list(text, match.end())
            wrong = [value for value in values if value.lower() not in levels]
            if wrong and len(wrong) < len(values):
                return wrong
        return []

    @staticmethod
    def _dimensions(workflow: WorkflowContext) -> dict[str, list[str]]:
        """Return the ids of the dimensions of each declared assessment."""
        return {
            assessment.id: [dimension.id for dimension in assessment.dimensions if "id" in dimension]
            for assessment in workflow.model.assessments
            if "id" in assessment and "dimensions" in assessment
        }

    def examples(self) -> Iterable[Example]:
        dimensions = [
            {"id": name, "purpose": "How good it is.", "levels": ["low", "high"]} for name in ("clarity", "accuracy")
        ]
        assessment = {"id": "draft-quality", "purpose": "How good the draft is.", "dimensions": dimensions}

        def rating(dimension: str) -> dict[str, Any]:
            prompt = f"Rate the dimension `{dimension}` of draft-quality."
            return samples.workflow(
                samples.step(prompt=prompt, assessmentRefs=["draft-quality"]), assessments=[assessment]
            )

        yield Example(rating("tone"), rating("clarity"))

        def requiring(level: str) -> dict[str, Any]:
            return samples.workflow(
                samples.step(prompt=f"Revise until reading_ease={level}.", assessmentRefs=["draft-quality"]),
                assessments=[{**assessment, "dimensions": [{**dimensions[0], "id": "reading_ease"}]}],
            )

        yield Example(requiring("strong"), requiring("high"))
