"""The Markdown documents of a session."""

from __future__ import annotations

import os
from collections.abc import Iterator

from workrail_lint.base.files import CACHE_FOLDER
from workrail_lint.findings import Severity
from workrail_lint.rules.base import Example
from workrail_lint.systems.team.documents import ARTIFACTS, KEEPERS, SIDE_FOLDERS, SIDE_NAMES, TeamKind, kind_by_name
from workrail_lint.systems.team.rules import samples
from workrail_lint.systems.team.rules.base import DECIDED, FIXED, PRACTICE, MarkdownFile, Report, TeamRule
from workrail_lint.systems.team.sections import (
    ADVISED,
    DEFINITION_OF_DONE,
    EDGE_CASES,
    REQUIRED,
    USER_STORIES,
    Section,
    Sections,
)
from workrail_lint.systems.team.unit import Unit
from workrail_lint.systems.team.vocabulary import Mode
from workrail_lint.systems.team.wording import listed, shown

K = TeamKind
_STORIES = (3, 10)
_EDGE_CASES = 8
_MOST_STRAYS = 20


def _missing(document: MarkdownFile, sections: Sections) -> list[Section]:
    return [section for section in REQUIRED.get(document.kind, ()) if not sections.find(section)]


def _titles(section: Section, sections: Sections) -> str:
    """Return the headings that open a section."""
    return listed([alias.strip("/") for alias in sections.aliases(section)], "or")


class SectionMissing(TeamRule):
    code = "TC410"
    name = "section-missing"
    severity = Severity.ERROR
    origin = FIXED
    summary = "`spec.md` or `architecture.md` lacks a required section."
    why = "Every later agent reads these sections; in a lean session a missing Definition of Done is only a warning."

    def check_markdown(self, document: MarkdownFile, sections: Sections, report: Report) -> None:
        self._spec_section_missing(document, sections, report)
        self._architecture_section_missing(document, sections, report)

    def _spec_section_missing(self, document: MarkdownFile, sections: Sections, report: Report) -> None:
        if document.kind is not K.SPEC:
            return
        for section in _missing(document, sections):
            excused = section is DEFINITION_OF_DONE and document.mode is Mode.LEAN
            message = f"the section '{section.name}' is missing; use the heading {_titles(section, sections)}"
            report(f"#{section.name}", message, severity=Severity.WARNING if excused else None)

    def _architecture_section_missing(self, document: MarkdownFile, sections: Sections, report: Report) -> None:
        if document.kind is not K.ARCHITECTURE or document.mode is not Mode.FULL:
            return
        for section in _missing(document, sections):
            report(
                f"#{section.name}",
                f"the section '{section.name}' is missing; use the heading {_titles(section, sections)}",
            )

    def examples(self) -> Iterator[Example]:
        yield Example(samples.spec("Goals"), samples.spec(), path=samples.SPEC)
        yield Example(samples.architecture("Overview"), samples.architecture(), path=samples.ARCHITECTURE)


class SectionEmpty(TeamRule):
    code = "TC412"
    name = "section-empty"
    severity = Severity.ERROR
    origin = DECIDED
    summary = "A required section has a heading but no content."
    why = "The outline looks complete, but the next agent finds nothing in the section."
    example_path = samples.SPEC

    def check_markdown(self, document: MarkdownFile, sections: Sections, report: Report) -> None:
        if document.kind is K.ARCHITECTURE and document.mode is not Mode.FULL:
            return
        for section in REQUIRED.get(document.kind, ()):
            indices = sections.find(section)
            if indices and not any(sections.has_content(index) for index in indices):
                title = sections.title(indices[0])
                report(f"#{title}", f"the section {shown(title)} is empty")

    def examples(self) -> Iterator[Example]:
        yield self.example(samples.spec(goals=""), samples.spec())


class AdvisedSection(TeamRule):
    code = "TC413"
    name = "advised-section"
    severity = Severity.WARNING
    origin = PRACTICE
    summary = "A document lacks a recommended section or topic, or lists too few or too many items."
    why = "What a document leaves open, such as edge cases or error handling, every agent decides differently."
    example_path = samples.SPEC

    def check_markdown(self, document: MarkdownFile, sections: Sections, report: Report) -> None:
        self._advised_section_missing(document, sections, report)
        self._report_section_missing(document, sections, report)
        if document.kind in (K.ADR, K.RESEARCH):
            for section in _missing(document, sections):
                report(f"#{section.name}", f"the section '{section.name}' is missing")
        self._spec_item_count(document, sections, report)

    def _advised_section_missing(self, document: MarkdownFile, sections: Sections, report: Report) -> None:
        if document.kind not in ADVISED or document.mode is not Mode.FULL:
            return
        if document.kind is K.SPEC and not any(heading.level == 1 for heading in document.reader.headings):
            report("", "the document has no title; start it with a level 1 heading", severity=Severity.INFO)
        for section in ADVISED[document.kind]:
            if not sections.find(section):
                report(
                    f"#{section.name}", f"the recommended section '{section.name}' is missing", severity=Severity.INFO
                )

    def _report_section_missing(self, document: MarkdownFile, sections: Sections, report: Report) -> None:
        if document.kind is not K.REPORT:
            return
        for section in _missing(document, sections):
            message = f"the topic '{section.name}' is missing; use the heading {_titles(section, sections)}"
            report(f"#{section.name}", message)

    def _spec_item_count(self, document: MarkdownFile, sections: Sections, report: Report) -> None:
        if document.kind is not K.SPEC:
            return
        for section, low, high in ((USER_STORIES, *_STORIES), (EDGE_CASES, _EDGE_CASES, None)):
            for index in sections.find(section)[:1]:
                count = sections.item_count(index)
                if count < low or (high is not None and count > high):
                    wanted = f"{low} to {high}" if high is not None else f"at least {low}"
                    report(
                        f"#{sections.title(index)}",
                        f"'{section.name}' has {count} items; it should have {wanted}",
                        severity=Severity.INFO,
                    )

    def examples(self) -> Iterator[Example]:
        yield self.example(samples.spec("Edge cases"), samples.spec())
        yield Example(samples.report("Known issues"), samples.report(), path=samples.REPORT)
        names = ("Context", "Decision", "Alternatives", "Notes", "Consequences")
        yield Example(
            samples.document(*names[:4], title="Use sessions"),
            samples.document(*names, title="Use sessions"),
            path=f"{samples.FOLDER}/adr/ADR-001.md",
        )
        yield self.example(samples.spec(user="- As a user I log in.\n- As a user I log out."), samples.spec())


def _is_known(file: str) -> bool:
    """Return whether a file is an artifact in its place, in a side folder, or a recorded exchange."""
    folder, _, name = file.rpartition("/")
    if name in KEEPERS or file.startswith(f"{CACHE_FOLDER}/") or file.partition("/")[0] in SIDE_FOLDERS:
        return True
    kind = kind_by_name(file)
    if kind is None:
        return False
    if name in ARTIFACTS:
        return not folder
    if kind in SIDE_FOLDERS.values():
        return folder in SIDE_FOLDERS
    return kind is not TeamKind.SESSION


class SessionFileName(TeamRule):
    code = "TC416"
    name = "session-file-name"
    severity = Severity.WARNING
    origin = FIXED
    summary = "A file of the session folder has an unexpected name."
    why = "Agents find these files by name; a file with another name is never listed as context."

    def check_markdown(self, document: MarkdownFile, sections: Sections, report: Report) -> None:
        if document.kind not in SIDE_NAMES:
            return
        name = os.path.basename(document.path)
        wanted, pattern = SIDE_NAMES[document.kind]
        if not pattern.fullmatch(name):
            folder = next(folder for folder, kind in SIDE_FOLDERS.items() if kind is document.kind)
            report("", f"{shown(name)} in {folder}/ does not match the naming pattern {wanted}")

    def check_session(self, unit: Unit, report: Report) -> None:
        self._side_file_name(unit, report)
        self._stray_file(unit, report)

    def _side_file_name(self, unit: Unit, report: Report) -> None:
        """Report files that have no document kind: those in deeper folders, and those that are not Markdown."""
        for file in sorted(unit.files):
            folder, _, name = file.partition("/")
            if folder not in SIDE_FOLDERS or os.path.basename(file) in KEEPERS:
                continue
            if "/" in name or not name.endswith(".md"):
                wanted, _ = SIDE_NAMES[SIDE_FOLDERS[folder]]
                report(
                    "",
                    f"{shown(name)} in {folder}/ does not match the naming pattern {wanted}",
                    path=f"{unit.folder}/{file}",
                )

    def _stray_file(self, unit: Unit, report: Report) -> None:
        strays = [file for file in sorted(unit.files) if not _is_known(file)]
        for file in strays[:_MOST_STRAYS]:
            report(
                "",
                f"{shown(file)} is not a session file; no agent reads it",
                path=f"{unit.folder}/{file}",
                severity=Severity.INFO,
            )
        if len(strays) > _MOST_STRAYS:
            report(
                "",
                f"{len(strays) - _MOST_STRAYS} more files are not session files",
                path=unit.folder,
                severity=Severity.INFO,
            )

    def examples(self) -> Iterator[Example]:
        text = samples.document("Context", "Decision", "Alternatives", "Consequences", "Notes", title="Use sessions")
        yield Example(
            text, text, path=f"{samples.FOLDER}/adr/first.md", options={"good_path": f"{samples.FOLDER}/adr/ADR-001.md"}
        )
        yield Example(
            "Call the customer.\n",
            "Call the customer.\n",
            path=f"{samples.FOLDER}/notes.txt",
            files=samples.session(),
            options={"good_path": "notes.txt"},
        )


class AcceptanceReference(TeamRule):
    code = "TC418"
    name = "acceptance-reference"
    severity = Severity.WARNING
    origin = FIXED
    summary = "The criteria of the spec, of `acceptance.json` and of the tasks are not the same."
    why = "What is named in one place only is never built, or never checked."

    def check_session(self, unit: Unit, report: Report) -> None:
        self._spec_acceptance_unmapped(unit, report)
        self._acceptance_reference_unknown(unit, report)
        self._acceptance_uncovered(unit, report)

    def _spec_acceptance_unmapped(self, unit: Unit, report: Report) -> None:
        spec, acceptance = unit.facts("spec.md"), unit.facts("acceptance.json")
        if spec is None or acceptance is None or spec["title"] is None:
            return
        known = {ident for _, ident in acceptance["ids"]}
        for ident in spec["ids"]:
            if ident not in known:
                message = f"{ident} is in the spec, but not in acceptance.json"
                report(f"#{spec['title']}", message, path=unit.path("spec.md"))
        for index, ident in acceptance["ids"]:
            if ident not in spec["ids"]:
                message = f"{shown(ident)} is missing from the section {shown(spec['title'])} of the spec"
                report(f"/acceptance_criteria/{index}/id", message, path=unit.path("acceptance.json"))

    def _acceptance_reference_unknown(self, unit: Unit, report: Report) -> None:
        acceptance = unit.facts("acceptance.json")
        if acceptance is None:
            return
        known = {ident for _, ident in acceptance["ids"]}
        for task in unit.tasks or ():
            for pointer, ident in task.criteria:
                if ident not in known:
                    label = task.label
                    report(
                        pointer,
                        f"{label} refers to {ident}, which is not in acceptance.json",
                        path=unit.path("tasks.yaml"),
                    )

    def _acceptance_uncovered(self, unit: Unit, report: Report) -> None:
        acceptance = unit.facts("acceptance.json")
        if acceptance is None or unit.tasks is None:
            return
        named = {ident for task in unit.tasks for _, ident in task.criteria}
        for index, ident in acceptance["ids"]:
            if ident not in named:
                at = f"/acceptance_criteria/{index}/id"
                report(
                    at, f"no task refers to {shown(ident)}", path=unit.path("acceptance.json"), severity=Severity.INFO
                )

    def examples(self) -> Iterator[Example]:
        yield Example(
            samples.spec(acceptance="- AC-001: it works.\n- AC-004: it looks good."),
            samples.spec(),
            path=samples.SPEC,
            files=samples.session({samples.SPEC: ...}),
        )
        yield Example(
            samples.tasks(samples.task(done_when=["Meets AC-099", "Meets AC-001"])),
            samples.tasks(samples.task(done_when=["Meets AC-001"])),
            path=samples.TASKS,
            files=samples.session({samples.TASKS: ...}),
        )
        spec = samples.spec(acceptance="- AC-001: it works.\n- AC-002: it looks good.")
        yield Example(
            samples.acceptance(samples.criterion(), samples.criterion("AC-002")),
            samples.acceptance(),
            path=samples.ACCEPTANCE,
            files=samples.session({samples.ACCEPTANCE: ..., samples.SPEC: spec}),
        )
