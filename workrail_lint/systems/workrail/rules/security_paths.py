"""SE: references that lead outside the workspace."""

from __future__ import annotations

import os
import posixpath
import re
from collections.abc import Iterable
from typing import Any

from workrail_lint.base.patterns import Pattern
from workrail_lint.base.wording import quoted
from workrail_lint.documents.operations import Replace
from workrail_lint.findings import Severity, unsafe
from workrail_lint.rules.base import Example, Report
from workrail_lint.systems.workrail.references import inside
from workrail_lint.systems.workrail.rules.base import WorkflowContext, WorkflowRule
from workrail_lint.systems.workrail.rules.samples import workflow

_ABSOLUTE = Pattern(r"[/~\\]|[A-Za-z]:")
_SCHEME = Pattern(r"[A-Za-z][A-Za-z0-9+.-]+://|(?:data|file|javascript|mailto|urn):", re.IGNORECASE)


def _reference(source: str, **members: Any) -> dict[str, Any]:
    made = {"id": "guide", "title": "The guide", "source": source, "purpose": "Says how.", "authoritative": True}
    return workflow(references=[{**made, **members}])


class ReferenceRule(WorkflowRule):
    """A rule about the files that a workflow refers to."""

    needs = frozenset({"references"})


class _ReferenceRule(ReferenceRule):
    """A rule about the source of a reference."""

    def applies(self, workflow: WorkflowContext) -> bool:
        return "references" in workflow.definition

    def check_workflow(self, workflow: WorkflowContext, report: Report) -> None:
        references = workflow.definition.get("references")
        for index, reference in enumerate(references if isinstance(references, list) else ()):
            source = reference.get("source") if isinstance(reference, dict) else None
            if isinstance(source, str):
                self.check_source(source, f"/references/{index}/source", reference, workflow, report)

    def check_source(
        self, source: str, pointer: str, reference: dict[str, Any], workflow: WorkflowContext, report: Report
    ) -> None:
        raise NotImplementedError


def _is_relative(source: str) -> bool:
    return not _ABSOLUTE.match(source) and not _SCHEME.match(source)


class ReferencePathEscape(_ReferenceRule):
    code = "SE001"
    name = "reference-path-escape"
    severity = Severity.ERROR
    origin = "runtime"
    summary = "A reference leads outside the folder it is resolved from."
    why = (
        "The engine never reads outside that folder, so the reference stays unresolved. A tool that does follow it "
        "would read files outside the project."
    )

    def check_source(
        self, source: str, pointer: str, reference: dict[str, Any], workflow: WorkflowContext, report: Report
    ) -> None:
        if _is_relative(source):
            path = posixpath.normpath(source.replace("\\", "/"))
            if path == ".." or path.startswith("../"):
                report(pointer, f"the reference {quoted(source)} leads outside its base folder; name a file inside it")

    def examples(self) -> Iterable[Example]:
        yield Example(_reference("../../secret.md"), _reference("docs/guide.md"))


class ReferenceAbsolutePath(_ReferenceRule):
    code = "SE002"
    name = "reference-absolute-path"
    severity = Severity.ERROR
    origin = "product"
    summary = "A reference is an absolute path or starts in a home folder."
    why = "The path exists on one machine at most, and the engine does not read outside the base folder anyway."

    def check_source(
        self, source: str, pointer: str, reference: dict[str, Any], workflow: WorkflowContext, report: Report
    ) -> None:
        if _ABSOLUTE.match(source):
            report(pointer, f"the reference {quoted(source)} is not relative to the workspace; write a relative path")

    def examples(self) -> Iterable[Example]:
        good = _reference("docs/guide.md")
        for source in ("/srv/docs/guide.md", "C:\\docs\\guide.md", "~/guide.md"):
            yield Example(_reference(source), good)


class ReferenceUrl(_ReferenceRule):
    code = "SE003"
    name = "reference-url"
    severity = Severity.ERROR
    origin = "product"
    summary = "A reference is a URL, not a file."
    why = "References are resolved as files; nothing is downloaded, and the engine reports it as missing."

    def check_source(
        self, source: str, pointer: str, reference: dict[str, Any], workflow: WorkflowContext, report: Report
    ) -> None:
        if _SCHEME.match(source):
            report(pointer, f"the reference {quoted(source)} is a URL; keep a copy in the workspace and name that")

    def examples(self) -> Iterable[Example]:
        yield Example(_reference("https://example.org/guide.md"), _reference("docs/guide.md"))


class ReferenceSymlinkEscape(_ReferenceRule):
    code = "SE004"
    name = "reference-symlink-escape"
    severity = Severity.ERROR
    origin = "product"
    summary = "A reference leads outside its base folder through a symbolic link."
    why = "The path looks as if it were inside the workspace, but the file that is read is somewhere else."

    def applies(self, workflow: WorkflowContext) -> bool:
        return workflow.workspace is not None and super().applies(workflow)

    def check_source(
        self, source: str, pointer: str, reference: dict[str, Any], workflow: WorkflowContext, report: Report
    ) -> None:
        base = workflow.workspace
        if base is None or not _is_relative(source) or reference.get("resolveFrom") == "package":
            return
        path = inside(base, source)
        if path is None:
            return
        root = os.path.realpath(workflow.consult(os.path.abspath(base)))
        try:
            # A file that does not exist yet counts too: the link above it decides where it will be read.
            real = os.path.realpath(workflow.consult(path))
        except ValueError:  # a lone surrogate: no file has such a name
            return
        if real != root and not real.startswith(root.rstrip(os.sep) + os.sep):
            message = (
                f"the reference {quoted(source)} leads outside the workspace through a symlink; name a file inside"
            )
            report(pointer, message)

    def examples(self) -> Iterable[Example]:
        files: dict[str, Any] = {"docs/guide.md": "How it is done.\n"}
        yield Example(
            _reference("docs/linked.md"),
            _reference("docs/guide.md"),
            files=files,
            options={"links": {"docs/linked.md": "../../outside.md"}},
        )


class PathBackslash(_ReferenceRule):
    code = "SE005"
    name = "path-backslash"
    severity = Severity.WARNING
    origin = "product"
    summary = "The path of a reference contains backslashes."
    why = "Only Windows treats a backslash as a separator; elsewhere it is part of the file name, so no file is found."
    fix = "Replace the backslashes with `/`."
    fix_safety = "unsafe"

    def check_source(
        self, source: str, pointer: str, reference: dict[str, Any], workflow: WorkflowContext, report: Report
    ) -> None:
        if "\\" in source and _is_relative(source):
            report(
                pointer,
                f"the reference {quoted(source)} contains backslashes; write / between folders",
                fix=unsafe("replace the backslashes with /", Replace(pointer, source.replace("\\", "/"))),
            )

    def examples(self) -> Iterable[Example]:
        good = _reference("docs/guide.md")
        yield Example(_reference("docs\\guide.md"), good, good)
