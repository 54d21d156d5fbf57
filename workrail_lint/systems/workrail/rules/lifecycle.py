"""LC: where a workflow is found, how old it is, and what people learn about it before they run it."""

from __future__ import annotations

from collections.abc import Iterator

from workrail_lint.base import js
from workrail_lint.base.wording import counted, listed, quoted
from workrail_lint.documents.operations import Remove, Replace
from workrail_lint.findings import Severity
from workrail_lint.findings.fix import unsafe
from workrail_lint.rules.base import Example, Report
from workrail_lint.systems.workrail import identity
from workrail_lint.systems.workrail.rules.base import Workflow, WorkflowRule
from workrail_lint.systems.workrail.rules.prose import step_members
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
    summary = "Two files have the same workflow id, in one source or in several."
    why = (
        "Which of them runs is decided by the order of sources and files, not by the author. Variants of one workflow "
        "(`.lean.`, `.v2.`, `.agentic.` in the file name) may share an id."
    )

    def examples(self) -> Iterator[Example]:
        yield Example(
            workflow(),
            workflow(id="demo.second"),
            path="workflows/second.json",
            files={"workflows/first.json": workflow()},
        )


class ShadowAttemptReserved(WorkflowRule):
    code = "LC002"
    name = "shadow-attempt-reserved"
    severity = Severity.WARNING
    origin = "registry"
    summary = "A file outside the engine carries the id of a workflow or routine that ships with it."
    why = "Ids in the namespace `wr` are protected: the bundled workflow always wins, and this file is never used."

    def examples(self) -> Iterator[Example]:
        yield Example(
            workflow(id="wr.routine-ideation"),
            workflow(id="project.ideation"),
            files={"workflows/other.json": workflow(id="demo.other")},
        )


# ------------------------------------------------------------------------------------------------ the file


class FileNameMismatch(WorkflowRule):
    code = "LC003"
    name = "file-name-mismatch"
    severity = Severity.INFO
    origin = "doc"
    summary = "The file is named neither after the workflow's id nor after the name in it."
    why = "Any file name works, but people look for a workflow under its id."
    default_on = False

    def check_workflow(self, workflow: Workflow, report: Report) -> None:
        parsed = identity.parse(workflow.id)
        stem = identity.plain_stem(workflow.path)
        if parsed is None or not stem or not _is_file(workflow.path):
            return
        names = {workflow.id, parsed.name, parsed.name.removeprefix("routine-")}
        if _bare(stem) not in {_bare(name) for name in names}:
            report("/id", f"the file {quoted(stem)} is not named after the workflow {quoted(workflow.id)} it holds")

    def examples(self) -> Iterator[Example]:
        yield Example(workflow(id="demo.review"), workflow(id="demo.sample"), path="workflows/sample.json")


def _bare(name: str) -> str:
    """A name without what file names and ids are free to vary in: separators, and the word workflow."""
    low = name.lower()
    bare = low if low.isalnum() else "".join(filter(str.isalnum, low))
    return bare.removesuffix("workflow").removeprefix("workflow") or bare


class FileExtension(WorkflowRule):
    code = "LC005"
    name = "file-extension"
    severity = Severity.INFO
    origin = "doc"
    default_on = False
    summary = "A workflow stands in a file that does not end in `.json`."
    why = "Discovery only looks at files that do."

    def check_workflow(self, workflow: Workflow, report: Report) -> None:
        if _is_file(workflow.path) and not workflow.path.endswith(".json"):
            name = workflow.path.replace("\\", "/").rpartition("/")[2]
            report("", f"the file {quoted(name)} is not discovered; its name must end in .json")

    def examples(self) -> Iterator[Example]:
        yield Example(
            workflow(), workflow(), path="workflows/example.workflow", options={"good_path": "workflows/example.json"}
        )


def _is_file(path: str) -> bool:
    """False for text that came from nowhere in particular, such as standard input."""
    return path not in ("", "-") and not path.startswith("<")


# ------------------------------------------------------------------------------------------- spec versions


class SpecVersionStale(WorkflowRule):
    code = "LC006"
    name = "spec-version-stale"
    severity = Severity.INFO
    origin = "engine-warn"
    summary = "The workflow was last validated against an older version of the authoring rules."
    why = "Rules were added since; the engine lists such a workflow as probably stale."

    def check_workflow(self, workflow: Workflow, report: Report) -> None:
        validated, current = _spec_versions(workflow)
        if validated is not None and validated < current:
            report(
                "/validatedAgainstSpecVersion",
                f"validated against version {js.text(validated)} of the authoring rules; the current one is {current}",
            )

    def examples(self) -> Iterator[Example]:
        yield Example(workflow(validatedAgainstSpecVersion=1), workflow())


class SpecVersionMissing(WorkflowRule):
    code = "LC007"
    name = "spec-version-missing"
    severity = Severity.INFO
    origin = "engine-warn"
    summary = "The workflow does not say which version of the authoring rules it was validated against."
    why = "Nobody can tell whether it follows the current rules; the engine lists it as possibly stale."
    default_on = False

    def applies(self, workflow: Workflow) -> bool:
        missing = "validatedAgainstSpecVersion" not in workflow.definition
        return missing and not workflow.is_routine and not identity.is_test(workflow.id)

    def check_workflow(self, workflow: Workflow, report: Report) -> None:
        current = workflow.catalog.authoring_spec_version
        report("", f"validatedAgainstSpecVersion is missing; the current version of the authoring rules is {current}")

    def examples(self) -> Iterator[Example]:
        yield Example(workflow(validatedAgainstSpecVersion=...), workflow())


class SpecVersionFuture(WorkflowRule):
    code = "LC008"
    name = "spec-version-future"
    severity = Severity.WARNING
    origin = "product"
    summary = "The workflow claims a version of the authoring rules that does not exist yet."
    why = "Either the number is a slip, or the catalog is older than the workflow and can't judge it."

    def check_workflow(self, workflow: Workflow, report: Report) -> None:
        validated, current = _spec_versions(workflow)
        if validated is not None and validated > current:
            report(
                "/validatedAgainstSpecVersion",
                f"version {js.text(validated)} of the authoring rules is unknown; the current one is {current}",
            )

    def examples(self) -> Iterator[Example]:
        yield Example(workflow(validatedAgainstSpecVersion=99), workflow())


def _spec_versions(workflow: Workflow) -> tuple[float | None, int]:
    """The version a workflow was validated against, when it is to be judged, and the catalog's."""
    current = workflow.catalog.authoring_spec_version
    validated = workflow.definition.get("validatedAgainstSpecVersion")
    judged = js.is_number(validated) and not identity.is_test(workflow.id)
    return (validated if judged else None), current


# ------------------------------------------------------------------------------------------- old members


class DeprecatedMember(WorkflowRule):
    code = "LC013"
    name = "deprecated-member"
    severity = Severity.INFO
    origin = "product"
    summary = "A step has `hasValidation` or `askForFiles`, which no longer do anything."
    why = "They read as if they changed how the step runs."
    fix = "Remove the member."
    fix_safety = "unsafe"

    def applies(self, workflow: Workflow) -> bool:
        return not step_members(workflow).isdisjoint(_DEPRECATED)

    def check_workflow(self, workflow: Workflow, report: Report) -> None:
        found = [(step, member) for step in workflow.all_steps for member in _DEPRECATED if member in step.step]
        if not found:
            return
        step, first = found[0]
        members = listed(dict.fromkeys(member for _, member in found))
        also = f" (the same in {counted(len(found) - 1, 'other place')})" if len(found) > 1 else ""
        report(
            step.at(first),
            f"Step {quoted(step.id)}: {first} has no effect{also}; remove it",
            fix=unsafe(f"remove {members}", *(Remove(holder.at(member)) for holder, member in found)),
            on_name=True,
        )

    def examples(self) -> Iterator[Example]:
        yield Example(workflow(step(hasValidation=True)), workflow(), workflow())


class DesignFormConstruct(WorkflowRule):
    code = "LC014"
    name = "design-form-construct"
    severity = Severity.ERROR
    origin = "product"
    summary = "The workflow uses a construct of the design form, which the public engine rejects."
    why = (
        "The engine does not load the workflow at all. Only the IR knows the design form: it is rewritten to what the "
        'engine knows before it is checked and compiled. With `target = "ir"` this is a warning.'
    )
    fix = "Write the workflow in the form that the engine accepts."
    fix_safety = "unsafe"

    def applies(self, workflow: Workflow) -> bool:
        return workflow.normalized is not None and bool(workflow.normalized.warnings)

    def check_workflow(self, workflow: Workflow, report: Report) -> None:
        if workflow.normalized is None:
            return
        words = _compat_words()
        severity = Severity.ERROR if workflow.engine else Severity.WARNING
        fix = unsafe(
            "write the workflow in the form that the engine accepts", Replace("", workflow.normalized.document)
        )
        for warning in workflow.normalized.warnings:
            what, instead = words[warning.code]
            message = f"the engine rejects {what}; {instead}"
            if not workflow.engine:
                message = f'{what} works with `target = "ir"` only, the engine rejects it; {instead}'
            report(warning.pointer, message, fix=fix, severity=severity, original=True)

    def examples(self) -> Iterator[Example]:
        good = workflow(step("plan-it"))
        yield Example(workflow(step("plan_it")), good, good)


def _compat_words() -> dict[str, tuple[str, str]]:
    from workrail_lint.systems.workrail.compat import codes

    known = (value for value in vars(codes).values() if isinstance(value, codes.Code))
    return {code.name: (code.what, code.instead) for code in known}


# ----------------------------------------------------------------------------------------- what people read


class DescriptionPlaceholder(WorkflowRule):
    code = "LC015"
    name = "description-placeholder"
    severity = Severity.INFO
    origin = "product"
    summary = "The workflow's name or description is a placeholder."
    why = "It is what people and agents choose a workflow by."

    def check_workflow(self, workflow: Workflow, report: Report) -> None:
        for member in ("name", "description"):
            text = workflow.definition.get(member)
            if isinstance(text, str) and text and _is_placeholder(text, member, workflow.id):
                report(f"/{member}", f"the {member} {quoted(text)} says nothing about the workflow; describe it")

    def examples(self) -> Iterator[Example]:
        yield Example(workflow(description="TODO"), workflow())


def _is_placeholder(text: str, member: str, ident: str) -> bool:
    shown = js.trim(text)
    if shown.lower() in _PLACEHOLDERS or shown == ident:
        return True
    # A name may be a single short word; a description of that length describes nothing.
    return member == "description" and len(shown) < _SHORTEST_DESCRIPTION


class AboutMissing(WorkflowRule):
    code = "LC016"
    name = "about-missing"
    severity = Severity.INFO
    origin = "doc"
    summary = "A workflow that people can choose has no `about`."
    why = "Nobody learns what it is for and what it needs before it runs."

    def applies(self, workflow: Workflow) -> bool:
        return "about" not in workflow.definition and _is_user_facing(workflow)

    def check_workflow(self, workflow: Workflow, report: Report) -> None:
        report("", f"the workflow {quoted(workflow.id)} has no about; say when to use it and what it needs")

    def examples(self) -> Iterator[Example]:
        yield Example(workflow(about=...), workflow())


class ExamplesMissing(WorkflowRule):
    code = "LC017"
    name = "examples-missing"
    severity = Severity.INFO
    origin = "doc"
    summary = "A workflow that people can choose has no `examples`."
    why = "Examples of goals are what a request is matched with when a workflow is looked for."

    def applies(self, workflow: Workflow) -> bool:
        return "examples" not in workflow.definition and _is_user_facing(workflow)

    def check_workflow(self, workflow: Workflow, report: Report) -> None:
        report("", f"the workflow {quoted(workflow.id)} has no examples; give some goals in a user's words")

    def examples(self) -> Iterator[Example]:
        yield Example(workflow(examples=...), workflow())


def _is_user_facing(workflow: Workflow) -> bool:
    """Whether people find the workflow in a listing."""
    if workflow.is_routine or identity.is_test(workflow.id):
        return False
    return identity.hidden_because(workflow.path) is None
