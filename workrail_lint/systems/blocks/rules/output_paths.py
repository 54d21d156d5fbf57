"""BC109 to BC112: the two lists of files in an output."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

from workrail_lint.documents.operations import Remove, Replace
from workrail_lint.findings import Fix, Severity, safe
from workrail_lint.rules.base import Example, Report
from workrail_lint.rules.describing import ANY, REPORTED_ELSEWHERE, Description
from workrail_lint.systems.blocks.paths import is_below_output, is_rel_path, normalized
from workrail_lint.systems.blocks.rules.base import CONTRACT, DECIDED, BlockDocument
from workrail_lint.systems.blocks.rules.output_shape import OutputRule
from workrail_lint.systems.blocks.rules.samples import output, output_path
from workrail_lint.systems.blocks.vocabulary import texts_of
from workrail_lint.systems.blocks.wording import shown

if TYPE_CHECKING:
    from workrail_lint.documents.schema.engine import Violation

_LISTS = ("filesModified", "filesCreated")
_FILE = output_path()


class ListedPath(NamedTuple):
    """A path as written, as it is compared, and its pointer."""

    written: str
    path: str
    pointer: str


def listed_paths(value: dict[str, Any], member: str) -> list[ListedPath]:
    """The paths in one list of an output."""
    return [ListedPath(text, normalized(text), f"/{member}/{at}") for at, text in texts_of(value.get(member))]


class OutputPathNotRelative(OutputRule):
    code = "BC109"
    name = "output-path-not-relative"
    severity = Severity.ERROR
    origin = CONTRACT
    summary = "A listed path is not relative to the workspace."
    why = (
        "Paths are compared as strings to find conflicts between lanes, and joined to the workspace when files "
        "are merged: a path that is absolute or leaves the workspace is missed, or touches files that it must "
        "not."
    )
    fix = "Remove the mount point or the leading `./`."
    fix_safety = "safe"
    describes = tuple((ANY, "pattern", member) for member in _LISTS)

    def describe(self, violation: Violation, document: BlockDocument) -> Description:
        return REPORTED_ELSEWHERE  # every path is checked below

    def check_document(self, document: BlockDocument, report: Report) -> None:
        for member in _LISTS:
            for entry in listed_paths(document.value, member):
                if not is_rel_path(entry.written):
                    report(entry.pointer, f"{shown(entry.written)} {_fault(entry.written)}", fix=_tidied(entry))

    def examples(self) -> Iterator[Example]:
        good = output(filesModified=["src/a.py"])
        yield Example(output(filesModified=["/workspace/src/a.py"]), good, good, path=_FILE)
        yield Example(output(filesModified=["./src/a.py"]), good, good, path=_FILE)
        yield Example(output(filesModified=["../../etc/passwd"]), good, path=_FILE)
        yield Example(output(filesModified=["C:\\src\\a.py"]), good, path=_FILE)


def _tidied(entry: ListedPath) -> Fix | None:
    if not is_rel_path(entry.path):
        return None
    return safe(f"replace with {entry.path}", Replace(entry.pointer, entry.path))


def _fault(path: str) -> str:
    if "\\" in path:
        return "contains a backslash; write paths with '/'"
    if path.startswith("/"):
        return "is absolute; write it relative to the workspace"
    if ".." in path.split("/"):
        return "contains '..'; paths must stay in the workspace"
    if path.startswith("./"):
        return "starts with './'; remove the prefix"
    if path[1:2] == ":":
        return "names a drive; write it relative to the workspace"
    return "is not a path in the workspace"


class OutputPathDuplicate(OutputRule):
    code = "BC110"
    name = "output-path-duplicate"
    severity = Severity.WARNING
    origin = DECIDED
    summary = "A path is listed twice in one list."
    why = "Tools count the file twice; often the second entry was meant to be another file."
    fix = "Keep the first."
    fix_safety = "safe"

    def check_document(self, document: BlockDocument, report: Report) -> None:
        for member in _LISTS:
            seen: set[str] = set()
            for entry in listed_paths(document.value, member):
                if entry.path in seen:
                    fix = safe("remove the duplicate", Remove(entry.pointer))
                    report(entry.pointer, f"{shown(entry.path)} is listed twice in {member}", fix=fix)
                seen.add(entry.path)

    def examples(self) -> Iterator[Example]:
        good = output(filesModified=["a.py"])
        yield Example(output(filesModified=["a.py", "a.py"]), good, good, path=_FILE)


class OutputCreatedAndModified(OutputRule):
    code = "BC111"
    name = "output-created-and-modified"
    severity = Severity.WARNING
    origin = DECIDED
    summary = "A path is listed both as modified and as created."
    why = "A new file can't have existed before; listed as modified, it would count as a conflict between lanes."
    fix = "Keep it as created."
    fix_safety = "safe"

    def check_document(self, document: BlockDocument, report: Report) -> None:
        new = {entry.path for entry in listed_paths(document.value, "filesCreated")}
        for entry in listed_paths(document.value, "filesModified"):
            if entry.path in new:
                fix = safe("keep it as created", Remove(entry.pointer))
                report(entry.pointer, f"{shown(entry.path)} is listed both as modified and as created", fix=fix)

    def examples(self) -> Iterator[Example]:
        good = output(filesModified=[], filesCreated=["a.py"])
        yield Example(output(filesModified=["a.py"], filesCreated=["a.py"]), good, good, path=_FILE)


class OutputListsOutputFolder(OutputRule):
    code = "BC112"
    name = "output-lists-output-folder"
    severity = Severity.WARNING
    origin = DECIDED
    summary = "A file of the output folder is listed as changed."
    why = "The harness collects outputs and does not merge them; a listed output makes lanes appear to be in conflict."
    fix = "Remove the entry."
    fix_safety = "safe"

    def check_document(self, document: BlockDocument, report: Report) -> None:
        for member in _LISTS:
            for entry in listed_paths(document.value, member):
                if is_below_output(entry.path):
                    fix = safe("remove it", Remove(entry.pointer))
                    message = f"{shown(entry.path)} is in the output folder, which is not part of the work"
                    report(entry.pointer, message, fix=fix)

    def examples(self) -> Iterator[Example]:
        good = output(filesCreated=["b.py"])
        yield Example(output(filesCreated=["b.py", ".output/block-x.json"]), good, good, path=_FILE)
