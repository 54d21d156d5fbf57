"""RF: references to steps, files and other workflows."""

from __future__ import annotations

import os
import posixpath
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from workrail_lint.base.files import read_file
from workrail_lint.base.result import Ok
from workrail_lint.base.wording import quoted
from workrail_lint.documents.operations import Remove, Replace
from workrail_lint.documents.scanner import loads
from workrail_lint.findings import Fix, Severity, unsafe
from workrail_lint.rules.base import Example, Report
from workrail_lint.systems.workrail import identity
from workrail_lint.systems.workrail.references import inside
from workrail_lint.systems.workrail.rules.base import WorkflowContext, WorkflowRule
from workrail_lint.systems.workrail.rules.samples import loop, parallel, step, workflow

if TYPE_CHECKING:
    from workrail_lint.findings import Finding

_AUTHORING_FILE = r"workflow[._-]?schema|authoring[._-]spec|provenance"
# "Review workflow" is how workflows are named; the plural, or a verb, shows that workflows are the subject.
_ABOUT_AUTHORING = (
    r"\bauthor(?:s|ing)?\b|\bworkflows\b|\bworkflow (?:definition|file|schema|quality)"
    r"|\b(?:creat|design|writ|validat|lint|moderni[sz])\w* (?:an? |the )?(?:new )?workflow\b"
)


# -------------------------------------------------------------------------------------------- loop bodies


class LoopBodyMissingStep(WorkflowRule):
    code = "RF001"
    name = "loop-body-missing-step"
    severity = Severity.ERROR
    origin = "struct"
    summary = "A loop's `body` names a step that does not exist at the top level."
    why = "There is nothing to repeat, and the engine rejects the workflow."
    fix = "Name the existing step with the closest id."
    fix_safety = "unsafe"

    def fix_for(self, finding: Finding, workflow: WorkflowContext) -> Fix | None:
        ident = finding.details.get("suggestion")
        return unsafe(f"use {quoted(ident)}", Replace(finding.pointer, ident)) if isinstance(ident, str) else None

    def examples(self) -> Iterator[Example]:
        good = workflow(step("collect"), {**loop(), "body": "collect"})
        yield Example(workflow(step("collect"), {**loop(), "body": "colect"}), good, good)


class LoopBodyRefIsLoop(WorkflowRule):
    code = "RF002"
    name = "loop-body-ref-is-loop"
    severity = Severity.ERROR
    origin = "struct"
    summary = "A loop's `body` names a loop."
    why = "Loops do not nest, not even by reference."

    def examples(self) -> Iterator[Example]:
        inner = loop(ident="inner")
        yield Example(
            workflow(step(), inner, {**loop(ident="outer"), "body": "inner"}),
            workflow(step(), inner, {**loop(ident="outer"), "body": "first-step"}),
        )


class LoopBodyRefTemplate(WorkflowRule):
    code = "RF003"
    name = "loop-body-ref-template"
    severity = Severity.ERROR
    origin = "compile"
    summary = "A loop's `body` names a step that calls a template."
    why = (
        "The compiler replaces the calling step with the routine's steps, so its id no longer exists when loops are "
        "resolved."
    )

    def examples(self) -> Iterator[Example]:
        call = step("probe", None, templateCall={"templateId": "wr.templates.routine.execution-simulation"})
        yield Example(
            workflow(step(), call, {**loop(), "body": "probe"}),
            workflow(step(), call, {**loop(), "body": "first-step"}),
        )


# ------------------------------------------------------------------------------------------------- files


class ReferenceIdDuplicate(WorkflowRule):
    code = "RF004"
    name = "reference-id-duplicate"
    severity = Severity.ERROR
    origin = "struct"
    summary = "Two references have the same id."
    why = "References are looked up by id, so only one of the two can be found."

    def examples(self) -> Iterator[Example]:
        yield Example(
            workflow(references=[_reference("api", "docs/a.md"), _reference("api", "docs/b.md")]),
            workflow(references=[_reference("api", "docs/a.md"), _reference("api-v2", "docs/b.md")]),
        )


class ReferenceMissingFile(WorkflowRule):
    code = "RF005"
    name = "reference-missing-file"
    severity = Severity.WARNING
    origin = "runtime"
    summary = "A referenced file does not exist in the workspace."
    why = "The engine starts the run anyway, marks the reference as unresolved, and the agent works without it."
    needs = frozenset({"references"})

    def applies(self, workflow: WorkflowContext) -> bool:
        return workflow.workspace is not None and "references" in workflow.definition

    def check_workflow(self, workflow: WorkflowContext, report: Report) -> None:
        for pointer, source, path in _workspace_files(workflow):
            if not os.path.lexists(path):
                message = f"the referenced file {quoted(source)} does not exist in the workspace; correct the path"
                report(f"{pointer}/source", message)

    def examples(self) -> Iterator[Example]:
        files: dict[str, Any] = {"docs/api.md": "The interface.\n"}
        yield Example(
            workflow(references=[_reference("api", "docs/apl.md")]),
            workflow(references=[_reference("api", "docs/api.md")]),
            files=files,
        )


class ReferenceIsDirectory(WorkflowRule):
    code = "RF006"
    name = "reference-is-directory"
    severity = Severity.WARNING
    origin = "runtime"
    summary = "A reference names something other than a regular file."
    why = "The engine only resolves files; it treats a folder like a missing file."
    needs = frozenset({"references"})

    def applies(self, workflow: WorkflowContext) -> bool:
        return workflow.workspace is not None and "references" in workflow.definition

    def check_workflow(self, workflow: WorkflowContext, report: Report) -> None:
        for pointer, source, path in _workspace_files(workflow):
            if os.path.lexists(path) and not os.path.isfile(path):
                what = "is a folder" if os.path.isdir(path) else "is not a regular file"
                report(f"{pointer}/source", f"the reference {quoted(source)} {what}; name a file")

    def examples(self) -> Iterator[Example]:
        files: dict[str, Any] = {"docs/api.md": "The interface.\n"}
        yield Example(
            workflow(references=[_reference("api", "docs")]),
            workflow(references=[_reference("api", "docs/api.md")]),
            files=files,
        )


def _workspace_files(workflow: WorkflowContext) -> Iterator[tuple[str, str, str]]:
    """References to files of the workspace: pointer, source and path. Sources outside the base are another finding."""
    for pointer, reference in _references(workflow):
        source = reference.get("source")
        if not isinstance(source, str) or reference.get("resolveFrom") == "package":
            continue
        if "://" in source or "\\" in source or workflow.workspace is None:
            continue
        path = inside(workflow.workspace, source)
        if path is not None:
            yield pointer, source, workflow.consult(path)


def _references(workflow: WorkflowContext) -> Iterator[tuple[str, dict[str, Any]]]:
    for index, reference in enumerate(_list(workflow.definition.get("references"))):
        if isinstance(reference, dict):
            yield f"/references/{index}", reference


class ReferencePackageScope(WorkflowRule):
    code = "RF007"
    name = "reference-package-scope"
    severity = Severity.WARNING
    origin = "doc"
    summary = "A reference is resolved from the engine's package, but the file is not there."
    why = (
        "`resolveFrom: package` looks in the installed engine, not in the workspace. In the engine's own workflows, a "
        "file that `files` in `package.json` omits is missing for everyone who installs the engine."
    )
    fix = "Remove `resolveFrom`, so the engine looks in the workspace."
    fix_safety = "unsafe"
    needs = frozenset({"references"})

    def check_workflow(self, workflow: WorkflowContext, report: Report) -> None:
        bundled = workflow.source_kind == "bundled"
        package = _package_of(workflow) if bundled and workflow.workspace is not None else None
        for pointer, reference in _references(workflow):
            source = reference.get("source")
            if reference.get("resolveFrom") != "package" or not isinstance(source, str):
                continue
            if not bundled:
                if not _is_of_engine(source, workflow):
                    report(
                        f"{pointer}/resolveFrom",
                        f"the engine looks for {quoted(source)} in its own package, not in the workspace; "
                        "remove `resolveFrom`",
                        fix=unsafe("remove `resolveFrom`", Remove(f"{pointer}/resolveFrom")),
                    )
            elif package is not None:
                problem = package.problem_with(source, workflow)
                if problem is not None:
                    report(f"{pointer}/source", problem)

    def examples(self) -> Iterator[Example]:
        good = workflow(references=[_reference("api", "docs/api.md")])
        yield Example(
            workflow(references=[_reference("api", "docs/api.md", resolveFrom="package")]),
            good,
            good,
            files={"docs/api.md": "The interface.\n"},
        )


# What the public engine's package holds beside its code.
_ENGINE_FOLDERS = ("docs", "spec", "workflows")


def _is_of_engine(source: str, workflow: WorkflowContext) -> bool:
    """Whether a file may belong to the engine: its folder has such files, and the workspace does not have this one."""
    if posixpath.normpath(source).partition("/")[0] not in _ENGINE_FOLDERS:
        return False
    path = inside(workflow.workspace, source) if workflow.workspace is not None else None
    return path is None or not os.path.isfile(workflow.consult(path))


# npm publishes these whatever `files` says.
_ALWAYS_PUBLISHED = ("package.json", "readme", "license", "licence")


class _Package:
    """The package that bundled workflows are part of, as its package.json describes it."""

    def __init__(self, root: str, files: list[str] | None) -> None:
        self.root = root
        self.files = files  # None: everything is published

    def problem_with(self, source: str, workflow: WorkflowContext) -> str | None:
        """What is wrong with a reference to a file of the package."""
        path = inside(self.root, source)
        if path is None:
            return None  # another finding
        if not os.path.isfile(workflow.consult(path)):
            return f"the package has no file {quoted(source)}; correct the path"
        plain = posixpath.normpath(source)
        if self.files is None or plain.lower().partition(".")[0] in _ALWAYS_PUBLISHED or plain == "package.json":
            return None
        # Where the path leads, not how it starts: `spec/../docs/a.md` is a file of `docs`.
        if any(_is_listed(plain, item) for item in self.files):
            return None
        return f"{quoted(source)} is not published: `files` in package.json omits it; add it there"


def _is_listed(path: str, item: str) -> bool:
    """Whether an entry of `files` covers a path: the file itself, a folder, or a pattern."""
    plain = posixpath.normpath(item.lstrip("/")).removesuffix("/**").removesuffix("/*")
    if plain in (".", "*", "**") or path == plain or path.startswith(f"{plain}/"):
        return True
    if "*" not in plain:
        return False
    from fnmatch import fnmatchcase

    return fnmatchcase(path, plain)


def _package_of(workflow: WorkflowContext) -> _Package | None:
    """The package around the folder of bundled workflows; None when there is no readable package.json."""
    root = os.path.dirname(identity.source_root(os.path.abspath(workflow.path).replace(os.sep, "/")))
    read = read_file(workflow.consult(os.path.join(root, "package.json"), reads=True)) if root else None
    if not isinstance(read, Ok):
        return None
    try:
        described = loads(read.value)
    except (ValueError, RecursionError):
        return None
    if not isinstance(described, dict):
        return None
    files = described.get("files")
    return _Package(root, [item for item in files if isinstance(item, str)] if isinstance(files, list) else None)


class ReferenceAuthoringOnly(WorkflowRule):
    code = "RF008"
    name = "reference-authoring-only"
    severity = Severity.WARNING
    origin = "spec"
    summary = "A reference is about authoring workflows, but the workflow is about something else."
    why = "The schema, authoring rules and provenance help authors; they distract an agent that runs the workflow."
    needs = frozenset({"references"})

    def check_workflow(self, workflow: WorkflowContext, report: Report) -> None:
        about = " ".join(text.text for text in workflow.top_texts if text.field in ("name", "description"))
        if re.search(_ABOUT_AUTHORING, about, re.IGNORECASE):
            return
        for pointer, reference in _references(workflow):
            source = reference.get("source")
            if isinstance(source, str) and re.search(_AUTHORING_FILE, source.rpartition("/")[2], re.IGNORECASE):
                report(
                    f"{pointer}/source",
                    f"{quoted(source)} is for authors of workflows; remove it unless the agent needs it for the work",
                )

    def examples(self) -> Iterator[Example]:
        about = {"name": "Release review", "description": "Reviews a release before it goes out."}
        files: dict[str, Any] = {"spec/workflow.schema.json": {}, "docs/release.md": "How we release.\n"}
        yield Example(
            workflow(**about, references=[_reference("schema", "spec/workflow.schema.json")]),
            workflow(**about, references=[_reference("release", "docs/release.md")]),
            files=files,
        )


def _reference(ident: str, source: str, **members: str) -> dict[str, Any]:
    made = {"id": ident, "title": "A document", "source": source, "purpose": "Says what holds.", "authoritative": True}
    return {**made, **members}


# ---------------------------------------------------------------------------------------------- delegation


class DelegationSelf(WorkflowRule):
    code = "RF009"
    name = "delegation-self"
    severity = Severity.ERROR
    origin = "registry"
    summary = "A parallel step delegates to its own workflow."
    why = "Every run would start another run of the same workflow."

    def examples(self) -> Iterator[Example]:
        yield Example(_delegating("demo.example"), _delegating("demo.other"), files=_others())


class DelegationUnknown(WorkflowRule):
    code = "RF010"
    name = "delegation-unknown"
    severity = Severity.ERROR
    origin = "registry"
    summary = "A parallel step delegates to an unknown workflow."
    why = (
        "The run fails when it reaches the step. It is an error if all workflows were checked, and info otherwise, "
        "because the target may be among the others."
    )

    def examples(self) -> Iterator[Example]:
        yield Example(_delegating("demo.othre"), _delegating("demo.other"), files=_others())


class DelegationCycle(WorkflowRule):
    code = "RF011"
    name = "delegation-cycle"
    severity = Severity.ERROR
    origin = "registry"
    summary = "Workflows delegate to each other in a cycle."
    why = "Every run would start another run of each workflow, endlessly."

    def examples(self) -> Iterator[Example]:
        back = _others("demo.example")
        yield Example(_delegating("demo.other"), workflow(), files=back)


def _delegating(target: str) -> dict[str, Any]:
    return workflow(step(), parallel(parallelDelegations=[{"workflowId": target}]))


def _others(target: str | None = None) -> dict[str, Any]:
    steps = [parallel(parallelDelegations=[{"workflowId": target}])] if target else []
    return {"workflows/other.json": workflow(step(), *steps, id="demo.other")}


def _list(value: object) -> list[Any]:
    return value if isinstance(value, list) else []
