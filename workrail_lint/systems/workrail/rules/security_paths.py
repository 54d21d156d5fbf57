"""SE: references that lead somewhere else than into the workspace."""

from __future__ import annotations

import os
import posixpath
import re
from collections.abc import Iterable
from typing import Any

from workrail_lint.base.patterns import Pattern
from workrail_lint.base.wording import quoted
from workrail_lint.documents.operations import Replace
from workrail_lint.findings import Severity
from workrail_lint.findings.fix import unsafe
from workrail_lint.rules.base import Example, Report
from workrail_lint.systems.workrail.references import inside
from workrail_lint.systems.workrail.rules.base import Workflow, WorkflowRule
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

    def applies(self, workflow: Workflow) -> bool:
        return "references" in workflow.definition

    def check_workflow(self, workflow: Workflow, report: Report) -> None:
        references = workflow.definition.get("references")
        for index, reference in enumerate(references if isinstance(references, list) else ()):
            source = reference.get("source") if isinstance(reference, dict) else None
            if isinstance(source, str):
                self.check_source(source, f"/references/{index}/source", reference, workflow, report)

    def check_source(
        self, source: str, pointer: str, reference: dict[str, Any], workflow: Workflow, report: Report
    ) -> None:
        raise NotImplementedError


def _is_relative(source: str) -> bool:
    return not _ABSOLUTE.match(source) and not _SCHEME.match(source)


class ReferencePathEscape(_ReferenceRule):
    code = "SE001"
    name = "reference-path-escape"
    severity = Severity.ERROR
    origin = "runtime"
    summary = "A reference leaves the folder that it is resolved from."
    why = (
        "A run never reads outside its base, so that the reference stays unresolved; and where somebody else's tool "
        "follows it, a workflow gets at files that are not the project's."
    )

    def check_source(
        self, source: str, pointer: str, reference: dict[str, Any], workflow: Workflow, report: Report
    ) -> None:
        if _is_relative(source):
            path = posixpath.normpath(source.replace("\\", "/"))
            if path == ".." or path.startswith("../"):
                report(pointer, f"the reference {quoted(source)} leaves its base; name a file below it")

    def examples(self) -> Iterable[Example]:
        yield Example(_reference("../../secret.md"), _reference("docs/guide.md"))


class ReferenceAbsolutePath(_ReferenceRule):
    code = "SE002"
    name = "reference-absolute-path"
    severity = Severity.ERROR
    origin = "product"
    summary = "A reference is an absolute path or starts in somebody's home folder."
    why = "The path exists on one machine at most, and a run does not read outside its base anyway."

    def check_source(
        self, source: str, pointer: str, reference: dict[str, Any], workflow: Workflow, report: Report
    ) -> None:
        if _ABSOLUTE.match(source):
            report(pointer, f"the reference {quoted(source)} is no path relative to the workspace")

    def examples(self) -> Iterable[Example]:
        good = _reference("docs/guide.md")
        for source in ("/srv/docs/guide.md", "C:\\docs\\guide.md", "~/guide.md"):
            yield Example(_reference(source), good)


class ReferenceUrl(_ReferenceRule):
    code = "SE003"
    name = "reference-url"
    severity = Severity.ERROR
    origin = "product"
    summary = "A reference is an address, not a file."
    why = "References are resolved as files; nothing is fetched, and the agent would be told that it is missing."

    def check_source(
        self, source: str, pointer: str, reference: dict[str, Any], workflow: Workflow, report: Report
    ) -> None:
        if _SCHEME.match(source):
            report(pointer, f"the reference {quoted(source)} is an address; keep a copy in the workspace and name that")

    def examples(self) -> Iterable[Example]:
        yield Example(_reference("https://example.org/guide.md"), _reference("docs/guide.md"))


class ReferenceSymlinkEscape(_ReferenceRule):
    code = "SE004"
    name = "reference-symlink-escape"
    severity = Severity.ERROR
    origin = "product"
    summary = "A reference leads out of its base through a symbolic link."
    why = "The path looks as if it were inside the workspace, and what is read is a file from somewhere else."

    def applies(self, workflow: Workflow) -> bool:
        return workflow.workspace is not None and super().applies(workflow)

    def check_source(
        self, source: str, pointer: str, reference: dict[str, Any], workflow: Workflow, report: Report
    ) -> None:
        base = workflow.workspace
        if base is None or not _is_relative(source) or reference.get("resolveFrom") == "package":
            return
        path = inside(base, source)
        if path is None:
            return
        root = os.path.realpath(base)
        try:
            # A file that is not there yet counts as well: the link above it already decides where it will be read.
            real = os.path.realpath(path)
        except ValueError:  # half a character: no file has such a name
            return
        if real != root and not real.startswith(root.rstrip(os.sep) + os.sep):
            report(pointer, f"the reference {quoted(source)} leads out of the workspace through a symbolic link")

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
    summary = "The path of a reference is written with backslashes."
    why = "Only Windows takes a backslash for a separator; elsewhere it is part of a file's name, and no file has it."
    fix = "Write `/`."
    fix_safety = "unsafe"

    def check_source(
        self, source: str, pointer: str, reference: dict[str, Any], workflow: Workflow, report: Report
    ) -> None:
        if "\\" in source and _is_relative(source):
            report(
                pointer,
                f"the reference {quoted(source)} has backslashes; write / between folders",
                fix=unsafe("write /", Replace(pointer, source.replace("\\", "/"))),
            )

    def examples(self) -> Iterable[Example]:
        good = _reference("docs/guide.md")
        yield Example(_reference("docs\\guide.md"), good, good)
