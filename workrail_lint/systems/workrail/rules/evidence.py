"""CR: whether passing the criteria of a step proves that the work was done."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from functools import lru_cache
from typing import TYPE_CHECKING, Any, ClassVar

from workrail_lint.findings import Severity
from workrail_lint.rules.base import Example, Report
from workrail_lint.systems.workrail.rules.base import Workflow, WorkflowRule
from workrail_lint.systems.workrail.rules.criteria_facts import Criteria, all_criteria
from workrail_lint.systems.workrail.rules.prose import label
from workrail_lint.systems.workrail.rules.samples import step, workflow

if TYPE_CHECKING:
    from workrail_lint.systems.workrail.catalog.catalog import Catalog
    from workrail_lint.systems.workrail.evidence_score import EvidenceJudgement

_PRINCIPLE = (
    "The agent sees the checks, so a check that one line satisfies gets one line. "
    "Aim at a score of 5 with one rule that asks for evidence and one for a length."
)
_SHOWN_LEAVES = 6
# What to ask for, by what a step is about.
_IDEAS: tuple[tuple[str, str], ...] = (
    (r"\b(?:decid|decision|choos|select|plan|design|recommend|strateg|scope)", 'a rationale, as in contains "because"'),
    (
        r"\b(?:implement|fix|code|refactor|change|test|build|migrat|bug|debug)",
        r"a place, as in regex `[\w/.-]+\.\w+:\d+`",
    ),
)
_FINDINGS = r"numbered findings, as in regex `Finding \d+:`"
_GENERIC = frozenset(("wr", "handoff", "signal", "control", "report", "loop", "coordinator", "assessment", "workflow"))


def _rules(*rules: dict[str, Any], message: str = "Show your work.") -> list[dict[str, Any]]:
    return [{**rule, "message": message} for rule in rules]


_NUMBERED = {"type": "regex", "pattern": "Finding \\d+:.*severity:(high|medium|low)"}
_PLACE = {"type": "contains", "value": "file:"}
_LONG = {"type": "length", "min": 200}


def _checked(criteria: Any) -> dict[str, Any]:
    return workflow(step(validationCriteria=criteria))


_GOOD = _checked({"and": _rules(_NUMBERED, _PLACE, _LONG)})


class _EvidenceRule(WorkflowRule):
    """A verdict about criteria whose result counts and which can be evaluated at all."""

    needs = frozenset({"validationCriteria"})

    raised: ClassVar[bool] = False  # an error where a project asks for strict evidence

    def applies(self, workflow: Workflow) -> bool:
        return bool(all_criteria(workflow))

    def check_workflow(self, workflow: Workflow, report: Report) -> None:
        strict = self.raised and workflow.options.get("evidence") == "strict"
        for criteria in all_criteria(workflow):
            if self.name in criteria.verdicts:
                judgement = criteria.judgement
                place = judgement.bypass if self.name == "criteria-or-bypass" else criteria.pointer
                report(
                    place or criteria.pointer,
                    f"{label(criteria.step)}: {self.says(judgement)} ({_measured(judgement)}); "
                    f"{_improvement(criteria, judgement, workflow)}",
                    severity=Severity.ERROR if strict else None,
                )

    def says(self, judgement: EvidenceJudgement) -> str:
        """What is wrong, in the words of the verdict."""
        raise NotImplementedError


def _measured(judgement: EvidenceJudgement) -> str:
    shown = [f"{leaf.rule['type']} {leaf.leaf_class.value}" for leaf in judgement.leaves]
    if len(shown) > _SHOWN_LEAVES:  # there are few kinds, however many rules
        shown = [f"{count} times {kind}" if count > 1 else kind for kind, count in Counter(shown).items()]
    return f"{', '.join(shown)}; score {judgement.score}, {judgement.cheap} characters can be enough"


def _improvement(criteria: Criteria, judgement: EvidenceJudgement, workflow: Workflow) -> str:
    """One thing to do: a contract made for such a step, evidence to ask for, or a length."""
    title = str(criteria.step.step.get("title", "")).lower()
    contract = fitting_contract(title, workflow)
    if contract is not None:
        return f"use the contract {contract}"
    if judgement.score >= 3 and not judgement.has_floor:
        return "add a length rule with min 200"
    if judgement.bypass is not None:
        return "ask every alternative for evidence"
    idea = next((advice for words, advice in _IDEAS if re.search(words, title)), _FINDINGS)
    return f"ask for {idea}"


def fitting_contract(title: str, workflow: Workflow) -> str | None:
    """A contract for workflows whose artifact is about what the step's title, in lower case, says."""
    words = re.findall(r"[a-z]{4,}", title)
    for ident, topics in _topics(workflow.catalog, workflow.engine) if words else ():
        if any(_same_topic(word, topic) for word in words for topic in topics):
            return ident
    return None


@lru_cache(maxsize=4)
def _topics(catalog: Catalog, engine: bool) -> list[tuple[str, list[str]]]:
    """The contracts that a step can have, each with the words that say what it is about."""
    return [
        (ident, [word for word in re.split(r"[._]", contract.artifact_kind) if word not in _GENERIC])
        for ident, contract in catalog.workflow_contracts.items()
        if contract.runtime_validated and not (engine and contract.phase.value == "design")
    ]


def _same_topic(word: str, topic: str) -> bool:
    return word == topic or (len(word) > 5 and len(topic) > 5 and word[:6] == topic[:6])


class CriteriaFlagOnly(_EvidenceRule):
    code = "CR001"
    name = "criteria-flag-only"
    severity = Severity.WARNING
    origin = "lock"
    summary = "The criteria are met by an answer that merely says the work is done."
    why = f"Writing that something is complete costs nothing and proves nothing. {_PRINCIPLE}"
    raised = True

    def says(self, judgement: EvidenceJudgement) -> str:
        return "it is enough to say that the work is done"

    def examples(self) -> Iterable[Example]:
        yield Example(_checked(_rules({"type": "contains", "value": "analysisComplete = true"})), _GOOD)
        yield Example(_checked(_rules({"type": "contains", "value": "done"}, {"type": "length", "min": 10})), _GOOD)


class CriteriaTriviallySatisfiable(_EvidenceRule):
    code = "CR002"
    name = "criteria-trivially-satisfiable"
    severity = Severity.WARNING
    origin = "lock"
    summary = "The criteria are met by a line of at most 40 characters."
    why = f"A few words that happen to be in an answer say little about the work behind it. {_PRINCIPLE}"

    def says(self, judgement: EvidenceJudgement) -> str:
        return "one short line passes"

    def examples(self) -> Iterable[Example]:
        yield Example(_checked(_rules({"type": "contains", "value": "banana"})), _GOOD)


class CriteriaVacuous(_EvidenceRule):
    code = "CR003"
    name = "criteria-vacuous"
    severity = Severity.WARNING
    origin = "product"
    summary = "The criteria are met by any answer, or only forbid something."
    why = f"There seems to be a check, and there is none. {_PRINCIPLE}"
    raised = True

    def says(self, judgement: EvidenceJudgement) -> str:
        return "almost any answer passes"

    def examples(self) -> Iterable[Example]:
        yield Example(_checked(_rules({"type": "regex", "pattern": ".*"})), _GOOD)
        yield Example(_checked({"not": _rules({"type": "contains", "value": "TODO"})[0]}), _GOOD)


class CriteriaOrBypass(_EvidenceRule):
    code = "CR004"
    name = "criteria-or-bypass"
    severity = Severity.WARNING
    origin = "product"
    summary = "One branch of an `or` asks for evidence and another lets anything pass."
    why = f"Any branch is enough, so the weakest one is the check. {_PRINCIPLE}"

    def says(self, judgement: EvidenceJudgement) -> str:
        return "a branch of this `or` proves nothing and makes the others pointless"

    def examples(self) -> Iterable[Example]:
        escape = {"type": "contains", "value": "no issues found"}
        yield Example(_checked({"or": _rules({"type": "regex", "pattern": "Finding \\d+:"}, escape)}), _GOOD)


class CriteriaSingleCheck(_EvidenceRule):
    code = "CR005"
    name = "criteria-single-check"
    severity = Severity.INFO
    origin = "lock"
    summary = "The criteria are one rule that looks for a word or a heading."
    why = f"A single word is found in good and in empty answers alike. {_PRINCIPLE}"

    def says(self, judgement: EvidenceJudgement) -> str:
        return "one rule for one word is the whole check"

    def examples(self) -> Iterable[Example]:
        yield Example(_checked(_rules({"type": "contains", "value": "## Findings"})), _GOOD)


class CriteriaNoSubstanceFloor(_EvidenceRule):
    code = "CR006"
    name = "criteria-no-substance-floor"
    severity = Severity.INFO
    origin = "lock"
    summary = "The criteria ask for evidence but not for a length."
    why = f"One line of the right form passes; what it should say about the work can be left out. {_PRINCIPLE}"

    def says(self, judgement: EvidenceJudgement) -> str:
        return "no length is demanded"

    def examples(self) -> Iterable[Example]:
        yield Example(_checked({"and": _rules({"type": "regex", "pattern": "Finding \\d+:"})}), _GOOD)
