"""TC410 to TC419: the Markdown documents of a session."""

from __future__ import annotations

import os
from collections.abc import Iterator

from workrail_lint.findings import Severity
from workrail_lint.rules.base import Example
from workrail_lint.systems.team.documents import KEEPERS, SIDE_FOLDERS, SIDE_NAMES, TeamKind
from workrail_lint.systems.team.rules import samples
from workrail_lint.systems.team.rules.base import DECIDED, FIXED, PRACTICE, Document, Report, TeamRule
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


def _missing(document: Document, sections: Sections) -> list[Section]:
    return [section for section in REQUIRED.get(document.kind, ()) if not sections.find(section)]


def _titles(section: Section, sections: Sections) -> str:
    """The headings that open a section."""
    return listed([alias.strip("/") for alias in sections.aliases(section)], "or")


class SpecSectionMissing(TeamRule):
    code = "TC410"
    name = "spec-section-missing"
    severity = Severity.ERROR
    origin = FIXED
    summary = "`spec.md` lacks the section Goals, Acceptance Criteria or Definition of Done."
    why = "Every later agent reads these sections; in a lean session a missing Definition of Done is only a warning."

    def check_markdown(self, document: Document, sections: Sections, report: Report) -> None:
        if document.kind is not K.SPEC:
            return
        for section in _missing(document, sections):
            excused = section is DEFINITION_OF_DONE and document.mode is Mode.LEAN
            message = f"the section '{section.name}' is missing; use the heading {_titles(section, sections)}"
            report(f"#{section.name}", message, severity=Severity.WARNING if excused else None)

    def examples(self) -> Iterator[Example]:
        yield Example(samples.spec("Goals"), samples.spec(), path=samples.SPEC)


class ArchitectureSectionMissing(TeamRule):
    code = "TC411"
    name = "architecture-section-missing"
    severity = Severity.ERROR
    origin = FIXED
    summary = "`architecture.md` has no overview or no modules section."
    why = "Tasks are planned along the modules; without them tasks overlap."

    def check_markdown(self, document: Document, sections: Sections, report: Report) -> None:
        if document.kind is not K.ARCHITECTURE or document.mode is not Mode.FULL:
            return
        for section in _missing(document, sections):
            report(
                f"#{section.name}",
                f"the section '{section.name}' is missing; use the heading {_titles(section, sections)}",
            )

    def examples(self) -> Iterator[Example]:
        yield Example(samples.architecture("Overview"), samples.architecture(), path=samples.ARCHITECTURE)


class SectionEmpty(TeamRule):
    code = "TC412"
    name = "section-empty"
    severity = Severity.ERROR
    origin = DECIDED
    summary = "A required section has a heading but no content."
    why = "The outline looks complete, but the next agent finds nothing in the section."

    def check_markdown(self, document: Document, sections: Sections, report: Report) -> None:
        if document.kind is K.ARCHITECTURE and document.mode is not Mode.FULL:
            return
        for section in REQUIRED.get(document.kind, ()):
            indices = sections.find(section)
            if indices and not any(sections.has_content(index) for index in indices):
                title = sections.title(indices[0])
                report(f"#{title}", f"the section {shown(title)} is empty")

    def examples(self) -> Iterator[Example]:
        yield Example(samples.spec(goals=""), samples.spec(), path=samples.SPEC)


class AdvisedSectionMissing(TeamRule):
    code = "TC413"
    name = "advised-section-missing"
    severity = Severity.INFO
    origin = FIXED
    summary = "A document of a full session lacks a recommended section."
    why = "What a document leaves open, such as edge cases or error handling, every agent decides differently."

    def check_markdown(self, document: Document, sections: Sections, report: Report) -> None:
        if document.kind not in ADVISED or document.mode is not Mode.FULL:
            return
        if document.kind is K.SPEC and not any(heading.level == 1 for heading in document.reader.headings):
            report("", "the document has no title; start it with a level 1 heading")
        for section in ADVISED[document.kind]:
            if not sections.find(section):
                report(f"#{section.name}", f"the recommended section '{section.name}' is missing")

    def examples(self) -> Iterator[Example]:
        yield Example(samples.spec("Edge cases"), samples.spec(), path=samples.SPEC)


class ReportSectionMissing(TeamRule):
    code = "TC414"
    name = "report-section-missing"
    severity = Severity.WARNING
    origin = PRACTICE
    summary = "`report.md` lacks one of its four topics."
    why = "The user reads in it what was done, how to run it, how to test it, and what does not work."

    def check_markdown(self, document: Document, sections: Sections, report: Report) -> None:
        if document.kind is not K.REPORT:
            return
        for section in _missing(document, sections):
            message = f"the topic '{section.name}' is missing; use the heading {_titles(section, sections)}"
            report(f"#{section.name}", message)

    def examples(self) -> Iterator[Example]:
        yield Example(samples.report("Known issues"), samples.report(), path=samples.REPORT)


class SideSectionMissing(TeamRule):
    code = "TC415"
    name = "side-section-missing"
    severity = Severity.WARNING
    origin = FIXED
    summary = "A decision record or a research report lacks a required section."
    why = "A decision without its alternatives, or research without its sources, can't be judged later."

    def check_markdown(self, document: Document, sections: Sections, report: Report) -> None:
        if document.kind in (K.ADR, K.RESEARCH):
            for section in _missing(document, sections):
                report(f"#{section.name}", f"the section '{section.name}' is missing")

    def examples(self) -> Iterator[Example]:
        names = ("Context", "Decision", "Alternatives", "Notes", "Consequences")
        yield Example(
            samples.document(*names[:4], title="Use sessions"),
            samples.document(*names, title="Use sessions"),
            path=f"{samples.FOLDER}/adr/ADR-001.md",
        )


class SideFileName(TeamRule):
    code = "TC416"
    name = "side-file-name"
    severity = Severity.WARNING
    origin = FIXED
    summary = "A file in `adr/`, `research/` or `design-specs/` does not match the naming pattern of its folder."
    why = "Agents find these files by name; a file with another name is never listed as context."

    def check_markdown(self, document: Document, sections: Sections, report: Report) -> None:
        if document.kind not in SIDE_NAMES:
            return
        name = os.path.basename(document.path)
        wanted, pattern = SIDE_NAMES[document.kind]
        if not pattern.fullmatch(name):
            folder = next(folder for folder, kind in SIDE_FOLDERS.items() if kind is document.kind)
            report("", f"{shown(name)} in {folder}/ does not match the naming pattern {wanted}")

    def check_session(self, unit: Unit, report: Report) -> None:
        """Files in subfolders, and files that are not Markdown, have no document kind and match no pattern."""
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

    def examples(self) -> Iterator[Example]:
        text = samples.document("Context", "Decision", "Alternatives", "Consequences", "Notes", title="Use sessions")
        yield Example(
            text,
            text,
            path=f"{samples.FOLDER}/adr/first.md",
            options={"good_path": f"{samples.FOLDER}/adr/ADR-001.md"},
        )


class SpecItemCount(TeamRule):
    code = "TC417"
    name = "spec-item-count"
    severity = Severity.INFO
    origin = FIXED
    summary = (
        f"`spec.md` does not have {_STORIES[0]} to {_STORIES[1]} user stories, or has fewer than {_EDGE_CASES} "
        "edge cases."
    )
    why = "Too few stories or edge cases suggest a shallow analysis; too many stories suggest more than one session."

    def check_markdown(self, document: Document, sections: Sections, report: Report) -> None:
        if document.kind is not K.SPEC:
            return
        for section, low, high in ((USER_STORIES, *_STORIES), (EDGE_CASES, _EDGE_CASES, None)):
            for index in sections.find(section)[:1]:
                count = sections.item_count(index)
                if count < low or (high is not None and count > high):
                    wanted = f"{low} to {high}" if high is not None else f"at least {low}"
                    report(f"#{sections.title(index)}", f"'{section.name}' has {count} items; it should have {wanted}")

    def examples(self) -> Iterator[Example]:
        yield Example(
            samples.spec(user="- As a user I log in.\n- As a user I log out."), samples.spec(), path=samples.SPEC
        )


class SpecAcceptanceUnmapped(TeamRule):
    code = "TC418"
    name = "spec-acceptance-unmapped"
    severity = Severity.WARNING
    origin = FIXED
    summary = "A criterion is in `acceptance.json` or in the spec, but not in both."
    why = "People read the spec and tools read the JSON; a criterion in only one of them is not agreed on."

    def check_session(self, unit: Unit, report: Report) -> None:
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

    def examples(self) -> Iterator[Example]:
        yield Example(
            samples.spec(acceptance="- AC-001: it works.\n- AC-004: it looks good."),
            samples.spec(),
            path=samples.SPEC,
            files=samples.session({samples.SPEC: ...}),
        )


class ArchitectureInLean(TeamRule):
    code = "TC419"
    name = "architecture-in-lean"
    severity = Severity.WARNING
    origin = FIXED
    summary = "A lean session has an `architecture.md`."
    why = "A lean session has nothing to design; if there is something to design, use the full path."

    def check_markdown(self, document: Document, sections: Sections, report: Report) -> None:
        if document.kind is K.ARCHITECTURE and document.mode is Mode.LEAN:
            report("", "the session is lean, but has an architecture.md")

    def examples(self) -> Iterator[Example]:
        yield Example(
            samples.architecture(),
            samples.architecture(),
            path=samples.ARCHITECTURE,
            files=samples.lean_session(),
            options={"good_path": ".agents-work/2026-03-02_other-work/architecture.md"},
        )
