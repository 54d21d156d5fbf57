"""CR: whether passing the criteria of a step proves that the work was done."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any, ClassVar

from workrail_lint.base.wording import article, counted
from workrail_lint.findings import Confidence, Severity
from workrail_lint.rules.base import Report
from workrail_lint.systems.workrail.catalog.catalog import Catalog
from workrail_lint.systems.workrail.evidence_score import EvidenceEvaluation
from workrail_lint.systems.workrail.rules.base import WorkflowContext, WorkflowRule
from workrail_lint.systems.workrail.rules.criteria import Criteria, all_criteria, checked
from workrail_lint.systems.workrail.rules.prose import label

_PRINCIPLE = (
    "Agents see the checks and often do no more than they require. Require evidence in one rule and a minimum length "
    "in another."
)
# What to require, by the topic of a step.
_IDEAS: tuple[tuple[str, str], ...] = (
    (
        r"\b(?:review|audit|inspect|find|analy|assess|investigat|challeng|verif|check)",
        r"numbered findings, such as regex `Finding \d+:`",
    ),
    (
        r"\b(?:decid|decision|choos|select|plan|design|recommend|strateg|scope)",
        "a rationale, such as contains 'because'",
    ),
    (
        r"\b(?:implement|fix|code|refactor|change|test|build|migrat|bug|debug)",
        r"file positions, such as regex `[\w/.-]+\.\w+:\d+`",
    ),
)
_WORK = "something the agent can't write without doing the work"
_GENERIC = frozenset(("wr", "handoff", "signal", "control", "report", "loop", "coordinator", "assessment", "workflow"))


class _EvidenceRule(WorkflowRule):
    """A verdict about criteria whose result counts and that can be evaluated."""

    needs = frozenset({"validationCriteria"})

    raised: ClassVar[bool] = False  # an error if a project sets strict evidence
    good = {
        "and": [
            {"type": "regex", "pattern": "Finding \\d+:.*severity:(high|medium|low)"},
            {"type": "contains", "value": "file:"},
            {"type": "length", "min": 200},
        ]
    }

    def document(self, part: Any) -> Any:
        return checked(part)

    def applies(self, workflow: WorkflowContext) -> bool:
        return bool(all_criteria(workflow))

    def check_workflow(self, workflow: WorkflowContext, report: Report) -> None:
        strict = self.raised and workflow.options.get("evidence") == "strict"
        for criteria in all_criteria(workflow):
            if self.name in criteria.verdicts:
                evaluation = criteria.evaluation
                place = evaluation.bypass if self.name == "criteria-or-bypass" else criteria.pointer
                report(
                    place or criteria.pointer,
                    f"{label(criteria.step)}: {self.verdict(evaluation.cheap)}; "
                    f"{_improvement(criteria, evaluation, workflow)}",
                    severity=Severity.ERROR if strict else None,
                )

    def verdict(self, shortest: int) -> str:
        """Return what is wrong, given the length of the shortest answer that passes."""
        raise NotImplementedError


def _improvement(criteria: Criteria, evaluation: EvidenceEvaluation, workflow: WorkflowContext) -> str:
    """Return one thing to do: use a contract for such a step, require evidence, or require a length."""
    title = criteria.step.title.lower()
    contract = fitting_contract(title, workflow)
    if contract is not None:
        return f"use the contract {contract}"
    if evaluation.score >= 3 and not evaluation.has_floor:
        return "add a length rule with min 200"
    if evaluation.bypass is not None:
        return "require evidence in every branch"
    idea = next((advice for words, advice in _IDEAS if re.search(words, title)), _WORK)
    return f"require {idea}"


def fitting_contract(title: str, workflow: WorkflowContext) -> str | None:
    """Return a contract for workflows whose artifact fits the topic of a step's title, given in lower case."""
    words = re.findall(r"[a-z]{4,}", title)
    for ident, topics in _topics(workflow.catalog, workflow.engine) if words else ():
        if any(_same_topic(word, topic) for word in words for topic in topics):
            return ident
    return None


def _enough(shortest: int) -> str:
    return f"{counted(shortest, 'character')} can be enough"


@lru_cache(maxsize=4)
def _topics(catalog: Catalog, engine: bool) -> list[tuple[str, list[str]]]:
    """Return the contracts that a step can have, each with the words of its topic."""
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
    summary = "An answer that only claims the work is done passes the criteria."
    why = f"Claiming that something is complete costs nothing and proves nothing. {_PRINCIPLE}"
    raised = True
    bad = (
        {"type": "contains", "value": "analysisComplete = true"},
        [{"type": "contains", "value": "done"}, {"type": "length", "min": 10}],
    )

    def verdict(self, shortest: int) -> str:
        return f"an answer that only claims the work is done passes ({_enough(shortest)})"


class CriteriaTriviallySatisfiable(_EvidenceRule):
    code = "CR002"
    name = "criteria-trivially-satisfiable"
    severity = Severity.WARNING
    origin = "lock"
    summary = "An answer of 40 characters or fewer passes the criteria."
    why = f"A few expected words in an answer say little about the work. {_PRINCIPLE}"
    bad = {"type": "contains", "value": "banana"}

    def verdict(self, shortest: int) -> str:
        return f"{article(shortest)} {shortest}-character answer passes"


class CriteriaVacuous(_EvidenceRule):
    code = "CR003"
    name = "criteria-vacuous"
    severity = Severity.WARNING
    origin = "product"
    summary = "Any answer passes the criteria, or they only forbid something."
    why = f"The step seems to be checked, but it is not. {_PRINCIPLE}"
    raised = True
    bad = ({"type": "regex", "pattern": ".*"}, {"not": {"type": "contains", "value": "TODO"}})

    def verdict(self, shortest: int) -> str:
        return "almost any answer passes"


class CriteriaOrBypass(_EvidenceRule):
    code = "CR004"
    name = "criteria-or-bypass"
    severity = Severity.WARNING
    origin = "product"
    summary = "One branch of an `or` requires evidence, but another does not."
    why = f"One branch is enough to pass, so the weakest one is the check. {_PRINCIPLE}"
    bad = {"or": [{"type": "regex", "pattern": "Finding \\d+:"}, {"type": "contains", "value": "no issues found"}]}

    def verdict(self, shortest: int) -> str:
        return f"one branch of this 'or' passes without evidence ({_enough(shortest)})"


class CriteriaSingleCheck(_EvidenceRule):
    code = "CR005"
    name = "criteria-single-check"
    severity = Severity.INFO
    origin = "lock"
    summary = "The only criterion is a rule that searches for a word or a heading."
    why = f"Good and bad answers alike can contain a single word. {_PRINCIPLE}"
    bad = {"type": "contains", "value": "## Findings"}

    def verdict(self, shortest: int) -> str:
        return f"the only check searches for one phrase ({_enough(shortest)})"


class CriteriaNoSubstanceFloor(_EvidenceRule):
    code = "CR006"
    name = "criteria-no-substance-floor"
    severity = Severity.INFO
    confidence = Confidence.MEDIUM
    origin = "lock"
    summary = "The criteria require evidence but no minimum length."
    why = f"One line of the right form passes without any substance. {_PRINCIPLE}"
    bad = {"and": [{"type": "regex", "pattern": "Finding \\d+:"}]}

    def verdict(self, shortest: int) -> str:
        return f"no minimum length is required ({_enough(shortest)})"


class CriteriaPreferContract(WorkflowRule):
    code = "CR007"
    name = "criteria-prefer-contract"
    severity = Severity.INFO
    origin = "lock"
    summary = "A step uses validation criteria although a contract fits its topic."
    why = (
        "Criteria search prose for patterns. A contract asks for a typed artifact that other steps and tools can rely "
        "on; new workflows should use one."
    )

    needs = frozenset({"validationCriteria"})
    bad = {
        "title": "Review the change",
        "validationCriteria": [{"type": "contains", "value": "## Verdict", "message": "Give a verdict."}],
    }
    good = {
        "title": "Review the change",
        "prompt": "Submit a wr.review_verdict artifact.",
        "outputContract": {"contractRef": "wr.contracts.review_verdict"},
    }

    def check_workflow(self, workflow: WorkflowContext, report: Report) -> None:
        for criteria in all_criteria(workflow):
            contract = fitting_contract(criteria.step.title.lower(), workflow) if criteria.decides else None
            if contract is not None:
                report(
                    criteria.pointer,
                    f"{label(criteria.step)}: validationCriteria only searches prose; use the contract {contract} to "
                    "get a typed artifact",
                    on_name=True,
                )
