"""LC: where a workflow is found, how old it is, what users learn before they run it, and how its outcome is counted.

And how its file is formatted, which does not change what it means.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Iterator
from functools import cache, partial
from typing import Any, ClassVar

from workrail_lint.base import js
from workrail_lint.base.patterns import Pattern
from workrail_lint.base.wording import counted, listed, quoted
from workrail_lint.documents.json_format import formatted, layout_problem
from workrail_lint.documents.json_reader import JsonDocument
from workrail_lint.documents.operations import Remove, Replace, Respell
from workrail_lint.findings import Fix, Safety, Severity, unsafe
from workrail_lint.rules.base import Example, Report
from workrail_lint.systems.workrail import identity
from workrail_lint.systems.workrail.compat.normalize import CODES
from workrail_lint.systems.workrail.model.workflow import Step
from workrail_lint.systems.workrail.rules import samples
from workrail_lint.systems.workrail.rules.base import Text, WholeWorkflowRule, WorkflowContext, WorkflowRule
from workrail_lint.systems.workrail.rules.prose import author_text, excerpt, label, step_members
from workrail_lint.systems.workrail.rules.rule_needs import (
    DELIVERED,
    DESIGN_FORM,
    NO_ABOUT,
    NO_EXAMPLES,
    OTHER_SPEC_VERSION,
    TERSE,
    UNCOUNTED,
    UNFINISHED,
    VERDICT,
)
from workrail_lint.systems.workrail.rules.samples import step, workflow

_DEPRECATED = ("hasValidation", "askForFiles")
_PLACEHOLDERS = frozenset({"todo", "tbd", "fixme", "xxx", "placeholder", "description", "name", "..."})
_SHORTEST_DESCRIPTION = 10


# --------------------------------------------------------------------------------------------- the registry


class DuplicateWorkflowId(WorkflowRule):
    code = "LC001"
    name = "duplicate-workflow-id"
    severity = Severity.ERROR
    origin = "registry"
    summary = "Two files have the same workflow id."
    why = (
        "The order of sources and files decides which of them runs, not the author. Variants of one workflow "
        "(`.lean.`, `.v2.` or `.agentic.` in the file name) may share an id."
    )

    def examples(self) -> Iterator[Example]:
        yield Example(
            workflow(),
            workflow(id="demo.second"),
            path="workflows/second.json",
            files={"workflows/first.json": workflow()},
        )


class DuplicateDisplayName(WorkflowRule):
    code = "LC060"
    name = "duplicate-display-name"
    severity = Severity.WARNING
    origin = "registry"
    summary = "Two workflows with different ids have the same name."
    why = "People and agents choose a workflow by its name in a list, and can't tell the two apart."

    def examples(self) -> Iterator[Example]:
        yield Example(
            workflow(id="demo.second"),
            workflow(id="demo.second", name="Another example"),
            path="workflows/second.json",
            files={"workflows/first.json": workflow()},
        )


class ShadowAttemptReserved(WorkflowRule):
    code = "LC002"
    name = "shadow-attempt-reserved"
    severity = Severity.WARNING
    origin = "registry"
    summary = "A file has the id of a workflow or routine that is bundled with the engine."
    why = "Ids in the namespace `wr` are protected: the engine always uses the bundled workflow and ignores this file."

    def examples(self) -> Iterator[Example]:
        yield Example(
            workflow(id="wr.routine-ideation"),
            workflow(id="project.ideation"),
            files={"workflows/other.json": workflow(id="demo.other")},
        )


# ------------------------------------------------------------------------------------------------ the file


# ------------------------------------------------------------------------------------------- spec versions


class SpecVersionOther(WorkflowRule):
    code = "LC008"
    name = "spec-version-other"
    severity = Severity.WARNING
    origin = "product"
    summary = "The workflow was validated against another version of the authoring rules than the current one."
    why = (
        "Rules were added since an older version; the engine lists such a workflow as probably stale, which is info. "
        "Of a version that does not exist yet, the number is wrong, or the catalog is too old to check the workflow."
    )
    needs = frozenset({OTHER_SPEC_VERSION})
    bad: ClassVar[Any] = ({"validatedAgainstSpecVersion": 99}, {"validatedAgainstSpecVersion": 1})
    good: ClassVar[Any] = ({}, {})

    def check_workflow(self, workflow: WorkflowContext, report: Report) -> None:
        validated, current = _spec_versions(workflow)
        if validated is not None and validated > current:
            report(
                "/validatedAgainstSpecVersion",
                f"unknown version {js.text(validated)} of the authoring rules; the current version is {current}",
            )
        elif validated is not None and validated < current:
            report(
                "/validatedAgainstSpecVersion",
                f"validated against version {js.text(validated)} of the authoring rules; the current version is "
                f"{current}",
                severity=Severity.INFO,
            )


def _spec_versions(workflow: WorkflowContext) -> tuple[float | None, int]:
    """Return the version a workflow was validated against, if it is to be checked, and the catalog's version."""
    current = workflow.catalog.authoring_spec_version
    validated = workflow.model.validated_against_spec_version
    return (None if identity.is_test(workflow.id) else validated), current


# ------------------------------------------------------------------------------------------- old members


class DeprecatedMember(WorkflowRule):
    code = "LC013"
    name = "deprecated-member"
    severity = Severity.INFO
    origin = "product"
    summary = "A step has `hasValidation` or `askForFiles`, which no longer do anything."
    why = "They look as if they changed how the step runs."
    fix = "Remove the field."
    needs = frozenset(_DEPRECATED)
    bad = {"hasValidation": True}

    def check_workflow(self, workflow: WorkflowContext, report: Report) -> None:
        places = [(step, member) for step in workflow.all_steps for member in _DEPRECATED if member in step]
        if not places:
            return
        step, first = places[0]
        members = listed(dict.fromkeys(member for _, member in places))
        also = f" (the same in {counted(len(places) - 1, 'other place')})" if len(places) > 1 else ""
        report(
            step.at(first),
            f"step {quoted(step.id)}: {first} has no effect{also}; remove it",
            fix=unsafe(f"remove {members}", *(Remove(holder.at(member)) for holder, member in places)),
            on_name=True,
        )


class DesignFormConstruct(WorkflowRule):
    code = "LC014"
    name = "design-form-construct"
    severity = Severity.ERROR
    origin = "product"
    summary = "The workflow uses a construct that the public engine rejects."
    why = (
        'The engine does not load the workflow at all. With `target = "ir"` the construct is rewritten before the '
        "workflow is checked and compiled, and this is a warning."
    )
    fix = "Rewrite the workflow in the form that the engine accepts."
    needs = frozenset({DESIGN_FORM})
    bad = {"steps": [{"id": "plan_it"}]}
    good = {"steps": [{"id": "plan-it"}]}

    def applies(self, workflow: WorkflowContext) -> bool:
        return workflow.normalized is not None and bool(workflow.normalized.warnings)

    def check_workflow(self, workflow: WorkflowContext, report: Report) -> None:
        if workflow.normalized is None:
            return
        severity = Severity.ERROR if workflow.engine else Severity.WARNING
        fix = unsafe(
            "rewrite the workflow in the form that the engine accepts", Replace("", workflow.normalized.document)
        )
        for warning in workflow.normalized.warnings:
            code = CODES[warning.code]
            message = f"the engine rejects {code.what}; {code.instead}"
            if not workflow.engine:
                message = f"{code.what} works with the ir target only, and the engine rejects it; {code.instead}"
            report(warning.pointer, message, fix=fix, severity=severity, original=True)


# ----------------------------------------------------------------------------------------- what people read


class TooLittleSaid(WorkflowRule):
    code = "LC015"
    name = "workflow-undescribed"
    severity = Severity.INFO
    origin = "doc / product"
    summary = "The name or description is a placeholder, or a workflow for users lacks `about` or `examples`."
    why = (
        "Users and agents choose a workflow by what it says about itself. It is a warning where the author left a note "
        "such as TODO."
    )
    needs = frozenset({TERSE, NO_ABOUT, NO_EXAMPLES})
    bad = ({"description": "TODO"}, {"about": ...}, {"examples": ...})

    def check_workflow(self, workflow: WorkflowContext, report: Report) -> None:
        for member, text in (("name", workflow.model.name), ("description", workflow.model.description)):
            if text and self._is_placeholder(text, member, workflow.id):
                report(
                    f"/{member}",
                    f"{member} {excerpt(text)} says nothing about the workflow; describe what it does",
                    severity=Severity.WARNING if text.startswith(UNFINISHED) else None,
                )
        if not _is_user_facing(workflow):
            return
        subject = f"workflow {quoted(workflow.id)}"
        if "about" not in workflow.model:
            report("", f"{subject} has no 'about'; describe when to use it and what it needs")
        if "examples" not in workflow.model:
            report("", f"{subject} has no 'examples'; add some goals as users would state them")

    @staticmethod
    def _is_placeholder(text: str, member: str, ident: str) -> bool:
        trimmed = js.trim(text)
        if trimmed.lower() in _PLACEHOLDERS or trimmed == ident or trimmed.startswith(UNFINISHED):
            return True
        # A name may be a single short word, but a description may not.
        return member == "description" and len(trimmed) < _SHORTEST_DESCRIPTION


def _is_user_facing(workflow: WorkflowContext) -> bool:
    """Return whether users find the workflow in a listing."""
    if workflow.is_routine or identity.is_test(workflow.id):
        return False
    return identity.hidden_because(workflow.path) is None


# ----------------------------------------------------------------------------------------------- metrics


class MetricsProfileMissing(WorkflowRule):
    code = "LC009"
    name = "metrics-profile-missing"
    severity = Severity.INFO
    origin = "spec"
    summary = "The steps produce commits, reviews or tickets, but the workflow has no `metricsProfile`."
    why = "Without a profile the engine never asks for the outcome, so nothing that a run produces is counted."
    needs = frozenset({UNCOUNTED})
    bad = {"prompt": "Commit the changes and open a pull request."}
    good = {"metricsProfile": "coding", "steps": [{"prompt": "Commit the changes and open a pull request."}]}

    def applies(self, workflow: WorkflowContext) -> bool:
        if "metricsProfile" in workflow.model or workflow.is_routine:
            return False
        text = workflow.document.text
        return any(word in text for word in ("ommit", "ull request", "PR", "icket", "eview"))

    def check_workflow(self, workflow: WorkflowContext, report: Report) -> None:
        for owner in workflow.all_steps:
            profile = self._profile_of(owner)
            if profile is not None:
                report(
                    "",
                    f"`metricsProfile` is missing, so what {label(owner)} delivers is not counted; set it, probably "
                    f"to {quoted(profile)}, or to 'none' to count nothing",
                )
                return

    @staticmethod
    def _profile_of(step: Step) -> str | None:
        """Return the profile that matches what a step delivers."""
        if step.contract == VERDICT:
            return "review"
        # No match runs over the end of a line, and few lines name something that is delivered.
        low = step.prompt_text.lower()
        lines: set[int] = set()
        for word in DELIVERED:
            at = low.find(word)
            while at >= 0:
                if _NAMED.match(low, at):
                    lines.add(low.rfind("\n", 0, at) + 1)
                at = low.find(word, at + 1)
        for start in sorted(lines):
            end = low.find("\n", start)
            match = _deliveries().search(low, start, end if end >= 0 else len(low))
            if match is not None:
                return match.lastgroup
        return None


# Not the reviewer, the problem or the requested change.
_NAMED = Pattern(r" ?(?:review|request|pr|mr|ticket)s?\b|commit\b|user stor")


@cache
def _deliveries() -> re.Pattern[str]:
    """Return a pattern for texts in lower case: one that ignores case takes several times as long."""
    create = (
        r"\b(?:creat|open|rais|fil|publish|writ|draft|generat|post|submit)\w* "
        r"(?:(?:an?|the|your|one|all|each|every|new|final|jira|github) ){0,3}"
    )
    committed = r"\bgit commit\b|\bcommit (?:the|your|all|these|each|every) (?:\w+ )?(?:changes?|slices?|work|files?)\b"
    return re.compile(
        rf"(?P<coding>{committed}|{create}(?:pull requests?|merge requests?|prs?|mrs?)\b)"
        rf"|(?P<ticket>{create}(?:tickets?|user stories)\b)"
        rf"|(?P<review>{create}(?:(?:code|pull request|pr|mr) )?reviews?\b(?! (?:plan|process|checklist|guide|step)))"
    )


class ModelIdHardcoded(WorkflowRule):
    code = "LC012"
    name = "model-id-hardcoded"
    severity = Severity.WARNING
    origin = "spec"
    summary = "The workflow names a specific model."
    why = "Models are retired, and not every host offers this one. `modelTier` says how capable a model the work needs."
    words = ("claude-", "gpt-", "gemini-", "llama", "mistral-", "-mini")
    bad = {"prompt": "Delegate this to gpt-4o-mini."}
    good = {"prompt": "Delegate this to a helper.", "modelTier": "lightweight"}

    def applies(self, workflow: WorkflowContext) -> bool:
        text = workflow.document.text
        return any(vendor in text for vendor in _VENDORS)

    def check_text(self, text: Text, step: Step | None, workflow: WorkflowContext, report: Report) -> None:
        match = _models().search(text.text) if text.field != "examples" else None
        if match is not None and not self._is_example(text.text, match.start()):
            where = label(step) if step is not None else text.field
            report(text.pointer, f"{where} names the model {quoted(match[0])}; set `modelTier` instead")

    @staticmethod
    def _is_example(text: str, position: int) -> bool:
        """Return whether a place is in a fenced block, or follows words that announce an example."""
        if text.count("```", 0, position) % 2:
            return True
        before = text[max(0, position - 120) : position]
        return re.search(rf"(?:{_ANNOUNCES})[^.\n]{{0,80}}\Z", before, re.IGNORECASE) is not None


_ANNOUNCES = r"\be\.g\.?|\b(?:for example|for instance|examples?|such as|like)\b"


# Few, since each is searched for in the whole text; without the first letter where it may be a capital.
_VENDORS = ("laude-", "gpt-", "GPT-", "Gpt-", "emini-", "lama", "LaMA", "istral-", "-mini")


@cache
def _models() -> re.Pattern[str]:
    families = (
        r"claude-(?:\d|instant|opus|sonnet|haiku)",
        r"gpt-(?:\d|oss)",
        r"gemini-(?:\d|pro|flash|ultra)",
        r"(?:code)?llama-?\d",
        r"mistral-(?:large|medium|small|tiny)",
        r"o[134]-mini",
    )
    return re.compile(rf"(?<![\w./-])(?:{'|'.join(families)})(?:[\w.:-]*\w)?", re.IGNORECASE)


class FormatNoncanonical(WorkflowRule):
    code = "LC019"
    name = "format-noncanonical"
    severity = Severity.INFO
    origin = "product"
    summary = "The file is not formatted with two spaces per level, one item per line, LF and a final newline."
    why = (
        "A single format keeps diffs small and reviews about content. Short lists and objects may stay on one line; "
        "the order of fields, escapes and numbers is not changed."
    )
    fix = "Format the file."
    fix_safety = "safe"

    def applies(self, workflow: WorkflowContext) -> bool:
        return not workflow.document.problems

    def check_workflow(self, workflow: WorkflowContext, report: Report) -> None:
        text = workflow.document.text
        if "\r" in text:
            workflow.document.is_laid_out = False
            self._check_line_ends(text, report)
            return
        line = None if self._is_as_written(workflow.document) else layout_problem(text)
        workflow.document.is_laid_out = line is None
        if line is not None:
            fix = Fix("format the file", Safety.SAFE, lambda: (Respell(0, len(text), formatted(text)),))
            report("", self._message(text, line), fix=fix)

    @staticmethod
    def _check_line_ends(text: str, report: Report) -> None:
        pairs, feeds, returns = text.count("\r\n"), text.count("\n"), text.count("\r")
        kind = "CR LF" if pairs == feeds == returns else "CR" if not feeds else "a mixture of CR and LF"
        # JSON strings contain no raw line breaks, so all of them are between values.
        plain = text.replace("\r\n", "\n").replace("\r", "\n")
        fix = Fix("end lines with LF", Safety.SAFE, lambda: (Respell(0, len(text), formatted(plain)),))
        report("", f"lines end with {kind} instead of LF", fix=fix)

    def _is_as_written(self, document: JsonDocument) -> bool:
        """Return whether the file is exactly what an encoder writes. Importing one pays off only for many files."""
        global _checked, _encode
        if _encode is None:
            _checked += 1
            if _checked < _WORTH_AN_IMPORT and "orjson" not in sys.modules:
                return False
            import orjson

            _encode = partial(orjson.dumps, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE)
        try:
            written, data = _encode(document.value), document.source.data
            # Other encoders and authors escape some of what is not ASCII, or all.
            return written == data or (
                b"\\u" in data and self._in_ascii(written.decode()) == self._in_ascii(document.text)
            )
        except TypeError:
            return False  # a number or a character that it can't write

    @staticmethod
    def _in_ascii(text: str) -> bytes:
        return text.encode("ascii", "backslashreplace")

    @staticmethod
    def _message(text: str, line: int) -> str:
        if not text.endswith("\n"):
            return "the file does not end with a newline"
        return f"line {line} is not formatted with two spaces per level and one item per line"

    def examples(self) -> Iterator[Example]:
        document = samples.workflow()
        yield Example(json.dumps(document), _text(), _text())


_WORTH_AN_IMPORT = 300
_checked = 0
_encode: Callable[[object], bytes] | None = None


def _text() -> str:
    return json.dumps(samples.workflow(), indent=2) + "\n"


_OUTCOME = Pattern(
    r"\b(?:recommendation|sign-?off|pass(?: or |/)fail|go(?: or |/)no-go|request changes"
    r"|(?:approve|accept) or reject)\b"
)


class ReviewWithoutVerdict(WholeWorkflowRule):
    code = "LC061"
    name = "review-without-verdict"
    severity = Severity.WARNING
    origin = "spec"
    summary = "A workflow has the metrics profile of reviews, but no step delivers a verdict."
    why = (
        "What makes a review one is its verdict: without it there is nothing to count, and no one can act on it. It is "
        "info where a prompt asks for an outcome in another word, such as a recommendation."
    )
    needs = frozenset({"metricsProfile"})

    def check_workflow(self, workflow: WorkflowContext, report: Report) -> None:
        if workflow.model.metrics_profile != "review" or "templateCall" in step_members(workflow):
            return
        text = "\n".join(step.prompt_text for step in workflow.all_steps).lower()
        if "verdict" not in author_text(workflow).lower() and not any(
            step.contract == VERDICT for step in workflow.all_steps
        ):
            report(
                "/metricsProfile",
                "the profile 'review' is for workflows that end with a verdict, and no step has one; add a step with "
                f"the contract {VERDICT}, or choose another profile",
                severity=Severity.INFO if _OUTCOME.search(text) else None,
            )

    def examples(self) -> Iterator[Example]:
        judged = step(prompt="Submit a wr.review_verdict artifact.", outputContract={"contractRef": VERDICT})
        yield Example(workflow(metricsProfile="review"), workflow(judged, metricsProfile="review"))


class EngineVersionNeeded(WorkflowRule):
    code = "LC062"
    name = "engine-version-needed"
    severity = Severity.ERROR
    origin = "schema / struct"
    summary = "A workflow uses what the engine version that the project targets does not have."
    why = (
        "That release rejects the workflow. Write it without the newer part, or raise `engine-version` to the release "
        "that brings it. `workrail-lint engine diff A B` lists what changed in between."
    )

    def examples(self) -> Iterator[Example]:
        yield Example(workflow(metricsProfile="coding"), workflow(), options={"engine-version": "3.60"})
