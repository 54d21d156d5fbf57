"""The text of a document, before its meaning is checked."""

from __future__ import annotations

from collections.abc import Iterator

from workrail_lint.documents.operations import Cut, ReplaceText
from workrail_lint.findings import Fix, Severity, safe
from workrail_lint.rules.base import Example
from workrail_lint.systems.team import edits
from workrail_lint.systems.team.documents import TeamKind
from workrail_lint.systems.team.rules import samples
from workrail_lint.systems.team.rules.base import DECIDED, FIXED, Backlog, Document, MarkdownFile, Report, TeamRule
from workrail_lint.systems.team.sections import Sections
from workrail_lint.systems.team.vocabulary import PLACEHOLDERS, is_session_name, machine_reason
from workrail_lint.systems.team.wording import shown

_SESSION_MARK = PLACEHOLDERS[0]


class UnreadableDocument(TeamRule):
    code = "TC001"
    name = "team-unreadable-document"
    severity = Severity.ERROR
    origin = FIXED
    summary = "The file can't be read, is not UTF-8, or is not valid JSON, YAML or JSON Lines."
    why = "Every agent and every resumed session reads these files first; an unreadable file stops the team."

    def examples(self) -> Iterator[Example]:
        good = samples.status("PLAN")
        yield Example('{"current_state": "PLAN",}\n', good, path=samples.STATUS)
        yield Example("tasks:\n\t- id: T-001\n", samples.tasks(), path=samples.TASKS)
        yield Example(b"# Goals\n\nCaf\xe9\n", "# Goals\n\nCafé\n", path=samples.SPEC)


class DuplicateKey(TeamRule):
    code = "TC002"
    name = "team-duplicate-key"
    severity = Severity.ERROR
    origin = DECIDED
    summary = "An object or mapping has the same key twice."
    why = "Readers disagree about which value counts, so two agents can see two different sessions."

    def examples(self) -> Iterator[Example]:
        bad = '{"current_state": "INTAKE", "session": "2026-03-01_a-b", "session": "2026-03-01_add-login"}\n'
        yield Example(bad, samples.status("INTAKE"), path=samples.STATUS)
        plan = samples.tasks()
        yield Example(plan.replace("    goal:", "    goal: Twice\n    goal:"), plan, path=samples.TASKS)


class ByteOrderMark(TeamRule):
    code = "TC003"
    name = "team-byte-order-mark"
    severity = Severity.WARNING
    origin = DECIDED
    summary = "The file starts with a byte order mark."
    why = "JSON must not start with one, and the invisible character breaks tools that compare or append bytes."
    fix = "Remove the mark."
    fix_safety = "safe"

    def check_any(self, document: Document, report: Report) -> None:
        if document.text.startswith("\ufeff"):
            fix = safe("remove the mark", Cut(0, 1))
            report("", f"this {document.kind.value} file starts with a byte order mark", fix=fix, at=(0, 1))

    def examples(self) -> Iterator[Example]:
        for path, text in ((samples.SPEC, samples.spec()), (samples.HISTORY, samples.history())):
            yield Example(f"\ufeff{text}", text, text, path=path)


class WrongRootType(TeamRule):
    code = "TC004"
    name = "team-wrong-root-type"
    severity = Severity.ERROR
    origin = FIXED
    summary = "The root of the document is not an object (a mapping)."
    why = "Every document of the contract is an object; in any other value no field can be found."

    def examples(self) -> Iterator[Example]:
        yield Example("[]\n", samples.status("INTAKE"), path=samples.STATUS)
        yield Example("- id: T-001\n", samples.tasks(), path=samples.TASKS)


class YamlFeature(TeamRule):
    code = "TC005"
    name = "yaml-feature"
    severity = Severity.WARNING
    origin = DECIDED
    summary = "`tasks.yaml` uses an anchor, alias, tag, merge key, second document or ambiguous bare word."
    why = (
        "Agents edit this file as plain text. A value that is defined elsewhere, or that is a boolean in one tool "
        "and a string in the next, gets lost or changed. Tags, merge keys and extra documents are not followed "
        "here either."
    )
    example_path = samples.TASKS

    def examples(self) -> Iterator[Example]:
        plan = samples.tasks()
        yield self.example(plan.replace("Show a login form", '&g "Show a login form"'), plan)
        yield self.example(plan.replace("Show a login form", "yes"), plan.replace("Show a login form", '"yes"'))


class PlaceholderLeft(TeamRule):
    code = "TC006"
    name = "placeholder-left"
    severity = Severity.ERROR
    origin = FIXED
    summary = f"A string still contains a template placeholder: {', '.join(f'`{p}`' for p in PLACEHOLDERS)}."
    why = "A path or an id with a placeholder refers to nothing, so the agent that follows it finds no file."
    fix = "Replace `<session>` with the name of the session, if it is known."
    fix_safety = "safe"

    def check_string(self, value: str, pointer: str, document: Document, report: Report) -> None:
        for placeholder in PLACEHOLDERS:
            if placeholder in value:
                fix = _session_fix(document, pointer) if placeholder == _SESSION_MARK else None
                report(pointer, f"{shown(value)} at {pointer} still contains the placeholder {placeholder}", fix=fix)

    def check_markdown(self, document: MarkdownFile, sections: Sections, report: Report) -> None:
        if not any(placeholder in document.text for placeholder in PLACEHOLDERS):
            return
        for line in document.reader.lines:
            if line.kind not in ("text", "heading"):
                continue
            for placeholder in PLACEHOLDERS:
                column = line.text.find(placeholder)
                if column < 0:
                    continue
                start = line.start + column
                heading = document.reader.heading_of(start)
                known = document.session_name
                fix = None
                if placeholder == _SESSION_MARK and is_session_name(known):
                    fix = edits.replace_raw(_title(known), document.text, line.start, line.end, placeholder, known)
                pointer = f"#{heading.title}" if heading else ""
                report(
                    pointer,
                    f"the text{pointer and ' below '}{pointer} still contains the placeholder {placeholder}",
                    fix=fix,
                    at=(start, start + len(placeholder)),
                )

    def examples(self) -> Iterator[Example]:
        yield Example(
            samples.agent_input(samples.given(files=[".agents-work/<session>/spec.md"])),
            samples.agent_input(samples.given(files=samples.context("spec.md"))),
            samples.agent_input(samples.given(files=samples.context("spec.md"))),
            path=samples.exchange("Coder"),
        )
        plan, good = ".agents-work/<session>/spec.md", f"{samples.FOLDER}/spec.md"
        yield Example(
            samples.tasks(samples.task(context_files=[plan])),
            samples.tasks(samples.task(context_files=[good])),
            samples.tasks(samples.task(context_files=[good])),
            path=samples.TASKS,
        )
        yield Example(samples.spec(goals="Close AC-XXX."), samples.spec(goals="Close AC-001."), path=samples.SPEC)


def _title(name: str) -> str:
    return f"replace {_SESSION_MARK} with {name}"


def _session_fix(document: Document, pointer: str) -> Fix | None:
    """Return the fix that names the session, when it is known."""
    known = document.session_name
    if not is_session_name(known):
        return None
    if isinstance(document, Backlog):
        node = document.reader.node(pointer)
        if node is None:
            return None
        return edits.replace_raw(_title(known), document.text, node.start, node.end, _SESSION_MARK, known)
    if document.kind is TeamKind.HISTORY:
        return None  # what was recorded is not rewritten
    return safe(_title(known), ReplaceText(pointer, _SESSION_MARK, known))


class MachinePath(TeamRule):
    code = "TC007"
    name = "machine-path"
    severity = Severity.WARNING
    origin = DECIDED
    summary = "A path is absolute, names a drive or a home folder, uses backslashes, or leaves the repository."
    why = "Such a path points elsewhere, or nowhere, on another machine; paths are relative to the repository root."
    example_path = samples.exchange("Coder", side="output")

    def check_path(self, value: str, pointer: str, document: Document, report: Report) -> None:
        reason = machine_reason(value)
        if reason is not None:
            report(pointer, f"the path {shown(value)} {reason}; write it relative to the repository root")

    def examples(self) -> Iterator[Example]:
        for bad in ("~/repo/a.py", "C:\\repo\\a.py", "../other/a.py"):
            yield self.example(
                samples.agent_output(artifacts=samples.coded(files_changed=[bad])),
                samples.agent_output(artifacts=samples.coded(files_changed=["src/a.py"])),
            )
