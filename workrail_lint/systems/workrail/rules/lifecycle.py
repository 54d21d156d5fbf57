"""LC: where a workflow is found, how old it is, and what users learn about it before they run it."""

from __future__ import annotations

from collections.abc import Iterator

from workrail_lint.base import js
from workrail_lint.base.wording import counted, listed, quoted
from workrail_lint.documents.operations import Remove, Replace
from workrail_lint.findings import Severity, unsafe
from workrail_lint.rules.base import Example, Report
from workrail_lint.systems.workrail import identity
from workrail_lint.systems.workrail.rules.base import WorkflowContext, WorkflowRule
from workrail_lint.systems.workrail.rules.facts import DESIGN_FORM, NO_ABOUT, NO_EXAMPLES, OTHER_SPEC_VERSION, TERSE
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


class FileNameMismatch(WorkflowRule):
    code = "LC003"
    name = "file-name-mismatch"
    severity = Severity.INFO
    origin = "doc"
    summary = "The file name matches neither the workflow id nor the name in the id."
    why = "Any file name works, but people search for a workflow by its id."
    default_on = False

    def check_workflow(self, workflow: WorkflowContext, report: Report) -> None:
        parsed = identity.parse(workflow.id)
        stem = identity.plain_stem(workflow.path)
        if parsed is None or not stem or not _is_file(workflow.path):
            return
        names = {workflow.id, parsed.name, parsed.name.removeprefix("routine-")}
        if _bare(stem) not in {_bare(name) for name in names}:
            report("/id", f"file name {quoted(stem)} does not match the workflow id {quoted(workflow.id)}")

    def examples(self) -> Iterator[Example]:
        yield Example(workflow(id="demo.review"), workflow(id="demo.sample"), path="workflows/sample.json")


def _bare(name: str) -> str:
    """A name without the parts that may differ between file names and ids: separators, and the word workflow."""
    low = name.lower()
    bare = low if low.isalnum() else "".join(filter(str.isalnum, low))
    return bare.removesuffix("workflow").removeprefix("workflow") or bare


class FileExtension(WorkflowRule):
    code = "LC005"
    name = "file-extension"
    severity = Severity.INFO
    origin = "doc"
    default_on = False
    summary = "The file name of a workflow does not end in `.json`."
    why = "Discovery finds only files that end in `.json`."

    def check_workflow(self, workflow: WorkflowContext, report: Report) -> None:
        if _is_file(workflow.path) and not workflow.path.endswith(".json"):
            name = workflow.path.replace("\\", "/").rpartition("/")[2]
            report("", f"file {quoted(name)} is not discovered; rename it so that it ends in .json")

    def examples(self) -> Iterator[Example]:
        yield Example(
            workflow(), workflow(), path="workflows/example.workflow", options={"good_path": "workflows/example.json"}
        )


def _is_file(path: str) -> bool:
    """False for text without a file, such as standard input."""
    return path not in ("", "-") and not path.startswith("<")


# ------------------------------------------------------------------------------------------- spec versions


class SpecVersionStale(WorkflowRule):
    code = "LC006"
    name = "spec-version-stale"
    severity = Severity.INFO
    origin = "engine-warn"
    summary = "The workflow was last validated against an older version of the authoring rules."
    why = "Rules were added since then; the engine lists such a workflow as probably stale."
    needs = frozenset({OTHER_SPEC_VERSION})

    def check_workflow(self, workflow: WorkflowContext, report: Report) -> None:
        validated, current = _spec_versions(workflow)
        if validated is not None and validated < current:
            report(
                "/validatedAgainstSpecVersion",
                f"validated against version {js.text(validated)} of the authoring rules; the current version is "
                f"{current}",
            )

    def examples(self) -> Iterator[Example]:
        yield Example(workflow(validatedAgainstSpecVersion=1), workflow())


class SpecVersionMissing(WorkflowRule):
    code = "LC007"
    name = "spec-version-missing"
    severity = Severity.INFO
    origin = "engine-warn"
    summary = "The workflow does not say which version of the authoring rules it was validated against."
    why = "It is unknown whether it follows the current rules; the engine lists it as possibly stale."
    default_on = False

    def applies(self, workflow: WorkflowContext) -> bool:
        missing = "validatedAgainstSpecVersion" not in workflow.definition
        return missing and not workflow.is_routine and not identity.is_test(workflow.id)

    def check_workflow(self, workflow: WorkflowContext, report: Report) -> None:
        current = workflow.catalog.authoring_spec_version
        report("", f"validatedAgainstSpecVersion is missing; the current version of the authoring rules is {current}")

    def examples(self) -> Iterator[Example]:
        yield Example(workflow(validatedAgainstSpecVersion=...), workflow())


class SpecVersionFuture(WorkflowRule):
    code = "LC008"
    name = "spec-version-future"
    severity = Severity.WARNING
    origin = "product"
    summary = "The workflow names a version of the authoring rules that does not exist yet."
    why = "Either the number is wrong, or the catalog is too old to check the workflow."
    needs = frozenset({OTHER_SPEC_VERSION})

    def check_workflow(self, workflow: WorkflowContext, report: Report) -> None:
        validated, current = _spec_versions(workflow)
        if validated is not None and validated > current:
            report(
                "/validatedAgainstSpecVersion",
                f"unknown version {js.text(validated)} of the authoring rules; the current version is {current}",
            )

    def examples(self) -> Iterator[Example]:
        yield Example(workflow(validatedAgainstSpecVersion=99), workflow())


def _spec_versions(workflow: WorkflowContext) -> tuple[float | None, int]:
    """The version a workflow was validated against, if it is to be checked, and the catalog's version."""
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
    why = "They look as if they changed how the step runs."
    fix = "Remove the field."
    fix_safety = "unsafe"
    needs = frozenset(_DEPRECATED)

    def check_workflow(self, workflow: WorkflowContext, report: Report) -> None:
        found = [(step, member) for step in workflow.all_steps for member in _DEPRECATED if member in step.step]
        if not found:
            return
        step, first = found[0]
        members = listed(dict.fromkeys(member for _, member in found))
        also = f" (the same in {counted(len(found) - 1, 'other place')})" if len(found) > 1 else ""
        report(
            step.at(first),
            f"step {quoted(step.id)}: {first} has no effect{also}; remove it",
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
    summary = "The workflow uses a construct that the public engine rejects."
    why = (
        'The engine does not load the workflow at all. With `target = "ir"` the construct is rewritten before the '
        "workflow is checked and compiled, and this is a warning."
    )
    fix = "Rewrite the workflow in the form that the engine accepts."
    fix_safety = "unsafe"
    needs = frozenset({DESIGN_FORM})

    def applies(self, workflow: WorkflowContext) -> bool:
        return workflow.normalized is not None and bool(workflow.normalized.warnings)

    def check_workflow(self, workflow: WorkflowContext, report: Report) -> None:
        if workflow.normalized is None:
            return
        messages = _compat_messages()
        severity = Severity.ERROR if workflow.engine else Severity.WARNING
        fix = unsafe(
            "rewrite the workflow in the form that the engine accepts", Replace("", workflow.normalized.document)
        )
        for warning in workflow.normalized.warnings:
            what, instead = messages[warning.code]
            message = f"the engine rejects {what}; {instead}"
            if not workflow.engine:
                message = f"{what} works with the ir target only, and the engine rejects it; {instead}"
            report(warning.pointer, message, fix=fix, severity=severity, original=True)

    def examples(self) -> Iterator[Example]:
        good = workflow(step("plan-it"))
        yield Example(workflow(step("plan_it")), good, good)


def _compat_messages() -> dict[str, tuple[str, str]]:
    from workrail_lint.systems.workrail.compat import codes

    known = (value for value in vars(codes).values() if isinstance(value, codes.Code))
    return {code.name: (code.what, code.instead) for code in known}


# ----------------------------------------------------------------------------------------- what people read


class DescriptionPlaceholder(WorkflowRule):
    code = "LC015"
    name = "description-placeholder"
    severity = Severity.INFO
    origin = "product"
    summary = "The name or description of the workflow is a placeholder."
    why = "Users and agents choose a workflow by its name and description."
    needs = frozenset({TERSE})

    def check_workflow(self, workflow: WorkflowContext, report: Report) -> None:
        for member in ("name", "description"):
            text = workflow.definition.get(member)
            if isinstance(text, str) and text and _is_placeholder(text, member, workflow.id):
                report(f"/{member}", f"{member} {quoted(text)} says nothing about the workflow; describe what it does")

    def examples(self) -> Iterator[Example]:
        yield Example(workflow(description="TODO"), workflow())


def _is_placeholder(text: str, member: str, ident: str) -> bool:
    shown = js.trim(text)
    if shown.lower() in _PLACEHOLDERS or shown == ident:
        return True
    # A name may be a single short word, but a description may not.
    return member == "description" and len(shown) < _SHORTEST_DESCRIPTION


class AboutMissing(WorkflowRule):
    code = "LC016"
    name = "about-missing"
    severity = Severity.INFO
    origin = "doc"
    summary = "A workflow that users can choose has no `about`."
    why = "Without it users can't see what the workflow is for and what it needs before they run it."
    needs = frozenset({NO_ABOUT})

    def applies(self, workflow: WorkflowContext) -> bool:
        return "about" not in workflow.definition and _is_user_facing(workflow)

    def check_workflow(self, workflow: WorkflowContext, report: Report) -> None:
        report("", f"workflow {quoted(workflow.id)} has no 'about'; describe when to use it and what it needs")

    def examples(self) -> Iterator[Example]:
        yield Example(workflow(about=...), workflow())


class ExamplesMissing(WorkflowRule):
    code = "LC017"
    name = "examples-missing"
    severity = Severity.INFO
    origin = "doc"
    summary = "A workflow that users can choose has no `examples`."
    why = "A user's request is matched against the example goals to find a workflow."
    needs = frozenset({NO_EXAMPLES})

    def applies(self, workflow: WorkflowContext) -> bool:
        return "examples" not in workflow.definition and _is_user_facing(workflow)

    def check_workflow(self, workflow: WorkflowContext, report: Report) -> None:
        report("", f"workflow {quoted(workflow.id)} has no 'examples'; add some goals as users would state them")

    def examples(self) -> Iterator[Example]:
        yield Example(workflow(examples=...), workflow())


def _is_user_facing(workflow: WorkflowContext) -> bool:
    """Whether users find the workflow in a listing."""
    if workflow.is_routine or identity.is_test(workflow.id):
        return False
    return identity.hidden_because(workflow.path) is None
