"""RF: references to steps, files and other workflows, and declarations that nothing refers to."""

from __future__ import annotations

import os
import posixpath
import re
from collections import Counter
from collections.abc import Iterator
from fnmatch import fnmatchcase
from typing import Any, ClassVar

from workrail_lint.base import js
from workrail_lint.base.files import inside, read_file
from workrail_lint.base.patterns import Pattern
from workrail_lint.base.result import Ok
from workrail_lint.base.suggest import nearest
from workrail_lint.base.wording import quoted
from workrail_lint.documents.operations import Remove, Replace
from workrail_lint.documents.scanner import loads
from workrail_lint.findings import Finding, Fix, Severity, unsafe
from workrail_lint.rules.base import Example, Report
from workrail_lint.systems.workrail import identity
from workrail_lint.systems.workrail.compiler.tokens import TOKEN
from workrail_lint.systems.workrail.model.nodes import BINDING_PREFIX
from workrail_lint.systems.workrail.model.workflow import FunctionDefinition, WorkflowReference
from workrail_lint.systems.workrail.rules.base import WholeWorkflowRule, WorkflowContext, WorkflowRule
from workrail_lint.systems.workrail.rules.prose import author_text
from workrail_lint.systems.workrail.rules.samples import loop, parallel, step, workflow

_AUTHORING_FILE = r"workflow[._-]?schema|authoring[._-]spec|provenance"
# "Review workflow" is how workflows are named; the plural, or a verb, shows that workflows are the subject.
_ABOUT_AUTHORING = (
    r"\bauthor(?:s|ing)?\b|\bworkflows\b|\bworkflow (?:definition|file|schema|quality)"
    r"|\b(?:creat|design|writ|validat|lint|moderni[sz])\w* (?:an? |the )?(?:new )?workflow\b"
)


# -------------------------------------------------------------------------------------------- loop bodies


class LoopBodyReferenceInvalid(WorkflowRule):
    code = "RF001"
    name = "loop-body-reference-invalid"
    severity = Severity.ERROR
    origin = "struct"
    summary = "A loop's body names a step that does not exist, is a loop itself, or calls a template."
    why = "The engine can't run the body and refuses the workflow."
    fix = "Name the existing step with the closest id."
    bad: ClassVar[Any] = (
        {"steps": [{"id": "collect"}, {"type": "loop", "body": "colect"}]},
        {"steps": [{}, {"type": "loop", "id": "inner"}, {"type": "loop", "id": "outer", "body": "inner"}]},
    )
    good: ClassVar[Any] = (
        {"steps": [{"id": "collect"}, {"type": "loop", "body": "collect"}]},
        {"steps": [{}, {"type": "loop", "id": "inner"}, {"type": "loop", "id": "outer", "body": "first-step"}]},
    )
    fixed: ClassVar[Any] = (
        {"steps": [{"id": "collect"}, {"type": "loop", "body": "collect"}]},
        None,
    )

    def fix_for(self, finding: Finding, workflow: WorkflowContext) -> Fix | None:
        ident = finding.suggestion
        return unsafe(f"use {quoted(ident)}", Replace(finding.pointer, ident)) if ident is not None else None

    def examples(self) -> Iterator[Example]:
        yield from super().examples()
        call = step("probe", None, templateCall={"templateId": "wr.templates.routine.execution-simulation"})
        yield Example(
            workflow(step(), call, {**loop(), "body": "probe"}),
            workflow(step(), call, {**loop(), "body": "first-step"}),
        )


# ------------------------------------------------------------------------------------------------- files


class ReferenceMissingFile(WorkflowRule):
    code = "RF005"
    name = "reference-missing-file"
    severity = Severity.WARNING
    origin = "runtime"
    summary = "A reference names a file that does not exist, or a folder."
    why = "The engine starts the run anyway, and the agent works without the file."
    needs = frozenset({"references"})

    def applies(self, workflow: WorkflowContext) -> bool:
        return workflow.workspace is not None and bool(workflow.model.references)

    def check_workflow(self, workflow: WorkflowContext, report: Report) -> None:
        self._reference_missing_file(workflow, report)
        self._reference_is_directory(workflow, report)

    def examples(self) -> Iterator[Example]:
        files: dict[str, Any] = {"docs/api.md": "The interface.\n"}
        yield Example(
            workflow(references=[_reference("api", "docs/apl.md")]),
            workflow(references=[_reference("api", "docs/api.md")]),
            files=files,
        )
        yield Example(
            workflow(references=[_reference("api", "docs")]),
            workflow(references=[_reference("api", "docs/api.md")]),
            files=files,
        )

    def _reference_missing_file(self, workflow: WorkflowContext, report: Report) -> None:
        for reference, path in _workspace_files(workflow):
            if not os.path.lexists(path):
                report(
                    reference.at("source"),
                    f"the referenced file {quoted(reference.source)} does not exist in the workspace; correct the path",
                )

    def _reference_is_directory(self, workflow: WorkflowContext, report: Report) -> None:
        for reference, path in _workspace_files(workflow):
            if os.path.lexists(path) and not os.path.isfile(path):
                what = "is a folder" if os.path.isdir(path) else "is not a regular file"
                report(reference.at("source"), f"the reference {quoted(reference.source)} {what}; name a file")


def _workspace_files(workflow: WorkflowContext) -> Iterator[tuple[WorkflowReference, str]]:
    """Yield the references to files of the workspace, with their paths. Sources outside it are another finding."""
    for reference in _with_source(workflow):
        if reference.resolve_from == "package" or "://" in reference.source or "\\" in reference.source:
            continue
        path = inside(workflow.workspace, reference.source) if workflow.workspace is not None else None
        if path is not None:
            yield reference, workflow.consult(path)


def _with_source(workflow: WorkflowContext) -> list[WorkflowReference]:
    return [reference for reference in workflow.model.references if "source" in reference]


class ReferenceNotShipped(WorkflowRule):
    code = "RF007"
    name = "reference-not-shipped"
    severity = Severity.WARNING
    origin = "doc"
    summary = "A reference names a file that the installed package does not contain."
    why = "It works where the workflow is written, and the agent of a user works without it."
    fix = "Remove `resolveFrom`, so the engine looks in the workspace."
    needs = frozenset({"references"})

    def check_workflow(self, workflow: WorkflowContext, report: Report) -> None:
        self._reference_package_scope(workflow, report)
        self._reference_authoring_only(workflow, report)

    @staticmethod
    def _is_of_engine(source: str, workflow: WorkflowContext) -> bool:
        """Return whether a file may be the engine's: its folder has such files, and the workspace lacks this one."""
        if posixpath.normpath(source).partition("/")[0] not in _ENGINE_FOLDERS:
            return False
        path = inside(workflow.workspace, source) if workflow.workspace is not None else None
        return path is None or not os.path.isfile(workflow.consult(path))

    @staticmethod
    def _package_of(workflow: WorkflowContext) -> _Package | None:
        """Return the package around the folder of bundled workflows; None when there is no readable package.json."""
        root = os.path.dirname(identity.source_root(os.path.abspath(workflow.path).replace(os.sep, "/")))
        read = read_file(workflow.consult(os.path.join(root, "package.json"), reads=True)) if root else None
        if not isinstance(read, Ok):
            return None
        try:
            described = loads(read.value)
        except (ValueError, RecursionError):
            return None
        match described:
            case {"files": [*files]}:
                return _Package(root, [item for item in files if isinstance(item, str)])
            case dict():
                return _Package(root, None)
        return None

    def examples(self) -> Iterator[Example]:
        good = workflow(references=[_reference("api", "docs/api.md")])
        yield Example(
            workflow(references=[_reference("api", "docs/api.md", resolveFrom="package")]),
            good,
            good,
            files={"docs/api.md": "The interface.\n"},
        )
        about = {"name": "Release review", "description": "Reviews a release before it goes out."}
        files: dict[str, Any] = {"spec/workflow.schema.json": {}, "docs/release.md": "How we release.\n"}
        yield Example(
            workflow(**about, references=[_reference("schema", "spec/workflow.schema.json")]),
            workflow(**about, references=[_reference("release", "docs/release.md")]),
            files=files,
        )

    def _reference_package_scope(self, workflow: WorkflowContext, report: Report) -> None:
        bundled = workflow.source_kind == "bundled"
        package = self._package_of(workflow) if bundled and workflow.workspace is not None else None
        for reference in _with_source(workflow):
            if reference.resolve_from != "package":
                continue
            if not bundled:
                if not self._is_of_engine(reference.source, workflow):
                    report(
                        reference.at("resolveFrom"),
                        f"the engine looks for {quoted(reference.source)} in its own package, not in the workspace; "
                        "remove `resolveFrom`",
                        fix=unsafe("remove `resolveFrom`", Remove(reference.at("resolveFrom"))),
                    )
            elif package is not None:
                problem = package.problem_with(reference.source, workflow)
                if problem is not None:
                    report(reference.at("source"), problem)

    def _reference_authoring_only(self, workflow: WorkflowContext, report: Report) -> None:
        about = " ".join(text.text for text in workflow.top_texts if text.field in ("name", "description"))
        if re.search(_ABOUT_AUTHORING, about, re.IGNORECASE):
            return
        for reference in workflow.model.references:
            if re.search(_AUTHORING_FILE, reference.source.rpartition("/")[2], re.IGNORECASE):
                report(
                    reference.at("source"),
                    f"{quoted(reference.source)} is for authors of workflows; remove it unless the agent needs it for "
                    "the work",
                )


# What the public engine's package holds beside its code.
_ENGINE_FOLDERS = ("docs", "spec", "workflows")


# npm publishes these whatever `files` says.
_ALWAYS_PUBLISHED = ("package.json", "readme", "license", "licence")


class _Package:
    """The package that bundled workflows are part of, as its package.json describes it."""

    def __init__(self, root: str, files: list[str] | None) -> None:
        self.root = root
        self.files = files  # None: everything is published

    def problem_with(self, source: str, workflow: WorkflowContext) -> str | None:
        """Return what is wrong with a reference to a file of the package."""
        path = inside(self.root, source)
        if path is None:
            return None  # another finding
        if not os.path.isfile(workflow.consult(path)):
            return f"the package has no file {quoted(source)}; correct the path"
        plain = posixpath.normpath(source)
        if self.files is None or plain.lower().partition(".")[0] in _ALWAYS_PUBLISHED or plain == "package.json":
            return None
        # Where the path leads, not how it starts: `spec/../docs/a.md` is a file of `docs`.
        if any(self._is_listed(plain, item) for item in self.files):
            return None
        return f"{quoted(source)} is not published: `files` in package.json omits it; add it there"

    @staticmethod
    def _is_listed(path: str, item: str) -> bool:
        """Return whether an entry of `files` covers a path: the file itself, a folder, or a pattern."""
        plain = posixpath.normpath(item.lstrip("/")).removesuffix("/**").removesuffix("/*")
        if plain in (".", "*", "**") or path == plain or path.startswith(f"{plain}/"):
            return True
        if "*" not in plain:
            return False
        return fnmatchcase(path, plain)


def _reference(ident: str, source: str, **members: str) -> dict[str, Any]:
    reference = {
        "id": ident,
        "title": "A document",
        "source": source,
        "purpose": "Says what holds.",
        "authoritative": True,
    }
    return {**reference, **members}


# ---------------------------------------------------------------------------------------------- delegation


class DelegationCircular(WorkflowRule):
    code = "RF009"
    name = "delegation-circular"
    severity = Severity.ERROR
    origin = "registry"
    summary = "A workflow delegates to itself, directly or through others."
    why = "The engine follows delegations without end."

    def examples(self) -> Iterator[Example]:
        yield Example(_delegating("demo.example"), _delegating("demo.other"), files=_others())
        back = _others("demo.example")
        yield Example(_delegating("demo.other"), workflow(), files=back)


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


def _delegating(target: str) -> dict[str, Any]:
    return workflow(step(), parallel(parallelDelegations=[{"workflowId": target}]))


def _others(target: str | None = None) -> dict[str, Any]:
    steps = [parallel(parallelDelegations=[{"workflowId": target}])] if target else []
    return {"workflows/other.json": workflow(step(), *steps, id="demo.other")}


# ------------------------------------------------------------------------------------------------ unused

_WORD = Pattern(r"[A-Za-z_][A-Za-z0-9_]*")
_ALMOST_TOKEN = Pattern(rf"\{{\{{[{js.WHITESPACE_CLASS}]*wr\.bindings\.([^{js.WHITESPACE_CLASS}{{}}]+)", re.IGNORECASE)
_FEW = 20  # tokens with an unknown slot; among more, none is suggested


class AssessmentUnused(WholeWorkflowRule):
    code = "RF012"
    name = "assessment-unused"
    severity = Severity.WARNING
    origin = "spec"
    summary = "An assessment is declared, but no step refers to it."
    why = "The agent is never asked for it, so a check that seems to exist does not."
    needs = frozenset({"assessments"})

    def check_workflow(self, workflow: WorkflowContext, report: Report) -> None:
        used = {ref for user in workflow.all_steps if user.kind == "standard" for ref in user.assessment_refs}
        # One that a misspelled reference means is used.
        unknown = [finding for finding in workflow.earlier if finding.name == "assessment-ref-unknown"]
        used |= {finding.suggestion or "" for finding in unknown}
        for assessment in workflow.model.assessments:
            if "id" in assessment and assessment.id not in used:
                report(
                    assessment.at("id"),
                    f"no step refers to the assessment {quoted(assessment.id)}; add it to `assessmentRefs` or remove "
                    "it",
                )

    def examples(self) -> Iterator[Example]:
        dimension = {"id": "coverage", "purpose": "How much was read.", "levels": ["low", "high"]}
        assessment = {"id": "depth", "purpose": "How deep the work went.", "dimensions": [dimension]}
        yield Example(
            workflow(step(), assessments=[assessment]),
            workflow(
                step(prompt="Rate the depth in a wr.assessment artifact.", assessmentRefs=["depth"]),
                assessments=[assessment],
            ),
        )


class FunctionUnused(WholeWorkflowRule):
    code = "RF013"
    name = "function-unused"
    severity = Severity.INFO
    origin = "product"
    summary = "A function is defined, but nothing calls, references or mentions it."
    why = "The definition is hashed and reviewed with the workflow, but the agent never sees it."
    needs = frozenset({"functionDefinitions"})
    bad = {"functionDefinitions": [{"name": "score", "definition": "Rate it from 1 to 5."}]}
    good = {
        "functionDefinitions": [{"name": "score", "definition": "Rate it from 1 to 5."}],
        "steps": [{"functionCalls": [{"name": "score", "args": {}}]}],
    }

    def check_workflow(self, workflow: WorkflowContext, report: Report) -> None:
        definitions = self._functions(workflow)
        unused = {function.name for function in definitions}.difference(self._called(workflow))
        if not unused:
            return
        unused = {name for name in unused if not self._has_word(author_text(workflow), name)}
        # One definition may use another, but its own name in its text does not count as a use.
        words = [self._words(function.definition) for function in definitions]
        mentions = Counter(word for own in words for word in own)
        for function, own in zip(definitions, words, strict=True):
            name = function.name
            if name in unused and mentions[name] == (name in own):
                report(function.at("name"), f"nothing uses the function {quoted(name)}; call it or remove it")

    def _has_word(self, text: str, name: str) -> bool:
        """Return whether a name is one of the words of a text, without taking the text apart."""
        at = text.find(name)
        while at >= 0:
            end, before = at + len(name), at - 1
            while before >= 0 and "0" <= text[before] <= "9":
                before -= 1  # a word starts after digits
            if not (end < len(text) and self._in_word(text[end])) and not (before >= 0 and self._in_word(text[before])):
                return _WORD.fullmatch(name) is not None
            at = text.find(name, at + 1)
        return False

    @staticmethod
    def _in_word(char: str) -> bool:
        return char == "_" or (char.isascii() and char.isalnum())

    @staticmethod
    def _words(text: str) -> set[str]:
        return set(_WORD.findall(text))

    @staticmethod
    def _functions(workflow: WorkflowContext) -> list[FunctionDefinition]:
        """Return every definition with a name, at any level."""
        holders = [workflow.model, *(owner for owner in workflow.all_steps if owner.kind != "parallel")]
        return [function for holder in holders for function in holder.function_definitions if "name" in function]

    @staticmethod
    def _called(workflow: WorkflowContext) -> Iterator[str]:
        for user in workflow.all_steps:
            if user.kind == "standard":
                yield from (call.name for call in user.function_calls)
                yield from (reference.removesuffix("()") for reference in user.function_references)


class ExtensionPointUnused(WorkflowRule):
    code = "RF014"
    name = "extension-point-unused"
    severity = Severity.WARNING
    origin = "product"
    summary = "An extension point is declared, but no token uses it."
    why = "A project that binds the slot expects something to change, but nothing does."
    fix = "Remove the declaration, unless a token with an unknown slot may mean this one."
    needs = frozenset({"extensionPoints"})

    def check_workflow(self, workflow: WorkflowContext, report: Report) -> None:
        points = [point for point in workflow.model.extension_points if "slotId" in point]
        slots = [point.slot_id for point in points]
        texts = [text.text for step in workflow.all_steps for text in step.texts]
        tokens = [match[1] for text in texts for match in TOKEN.finditer(text)]
        called = list(self._called_prompts(workflow))
        used = {*tokens, *(match[1] for text in called for match in TOKEN.finditer(text))}
        # A token that is unfinished, has an unknown slot, or is in a step too broken to be read may mean this one.
        all_understood = len(tokens) >= workflow.document.text.count(BINDING_PREFIX)
        strays = used.difference(point.slot_id for point in points)
        misspelled = self._misspelled([*texts, *called])
        for point in points:
            slot = point.slot_id
            if slot in used:
                continue
            # Removing the last one removes the whole member, not leaving an empty list.
            place = "/extensionPoints" if len(workflow.model.extension_points) == 1 else point.pointer
            meant = misspelled.get(slot) or (nearest(slot, strays) if len(strays) <= _FEW else None)
            name = quoted(slot)[1:-1]
            advice = (
                f"correct {quoted(meant)}, which may mean it"
                if meant
                else f"use {{{{wr.bindings.{name}}}}}, or remove the slot"
            )
            report(
                point.at("slotId"),
                f"no prompt uses the slot {quoted(slot)}; {advice}",
                # A token that means the slot must be corrected, and needs the declaration.
                fix=unsafe(f"remove the extension point {quoted(slot)}", Remove(place))
                if all_understood and not strays and not meant and slots.count(slot) == 1
                else None,
            )

    @staticmethod
    def _called_prompts(workflow: WorkflowContext) -> Iterator[str]:
        """Yield the prompts of the routines that are called: their tokens are resolved with the slots of the caller."""
        for caller in workflow.all_steps:
            routine = workflow.called_routine(caller)
            for inner in routine.steps if routine is not None else ():
                if isinstance(inner.get("prompt"), str):
                    yield inner["prompt"]

    @staticmethod
    def _misspelled(texts: list[str]) -> dict[str, str]:
        """Return the slots of tokens that have spaces, capital letters or no end; each with its token."""
        matches = (match for text in texts if "{{" in text for match in _ALMOST_TOKEN.finditer(text))
        return {match[1].lower(): match[0] for match in matches}

    def examples(self) -> Iterator[Example]:
        points = [
            {"slotId": "final_check", "purpose": "Checks the result.", "default": "routine-check"},
            {"slotId": "first_look", "purpose": "Looks around.", "default": "routine-look"},
        ]
        used = step(prompt="Run {{wr.bindings.final_check}} on the result.")
        good = workflow(used, extensionPoints=points[:1])
        yield Example(workflow(used, extensionPoints=points), good, good)
