"""PR, RF: names in prompts that lead nowhere: files nobody writes, unknown references, tokens of another language."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from workrail_lint.base.files import inside
from workrail_lint.base.patterns import Pattern
from workrail_lint.base.result import Record
from workrail_lint.base.suggest import nearest
from workrail_lint.base.wording import name_list, quoted
from workrail_lint.documents.operations import ReplaceText
from workrail_lint.findings import Severity, unsafe
from workrail_lint.rules.base import Example, Report
from workrail_lint.systems.workrail.analysis.prose import has_any
from workrail_lint.systems.workrail.model.workflow import Step
from workrail_lint.systems.workrail.rules.base import WholeWorkflowRule, WorkflowContext, WorkflowRule
from workrail_lint.systems.workrail.rules.delivered_text import Passage, Phrase, delivered
from workrail_lint.systems.workrail.rules.prose import IN_PROMPTS, Search, author_text, label, step_members
from workrail_lint.systems.workrail.rules.samples import step, workflow

# ------------------------------------------------------------------------------------------------- files

_EXTENSIONS = (".md", ".txt", ".csv", ".html", ".json", ".yaml", ".yml", ".log")
# Nothing that a name has before its `/` or `.` is given back: what is no name is left after one try.
_NAME = r"((?:[\w.-]++/)*+[a-z0-9][\w-]*+\.(?:md|txt|csv|html|json|ya?ml|log))(?![\w/{<*-]|\.\w)"
_FILE = Search(_EXTENSIONS, rf"(?<![\w/<>{{}}$*.:-]){_NAME}", before=80, unbroken=True)
# Each pattern has words one of which it contains, which are looked for first.
_WRITING = (
    *("writ", "creat", "sav", "generat", "produc", "stor", "record", "export", "emit", "draft", "append", "put"),
    *("output", "captur", "document", "compil", "collect"),
)
_WRITES = Pattern(rf"\b(?:{'|'.join(_WRITING)})(?:e|es|ed|ing|ten)?\b")
_READS = Pattern(
    r"\b(?:read|open|use|load|follow|consult|review|take|apply|implement|check|from|per|based on|according to|in|with"
    r"|compare|summari[sz]e|publish|send|present|against|using|of|add|extend|edit|remove|to|turn|convert"
    r"|translate|go through|parse|import|upload|attach|share|post|mail|copy|finish|polish|continue)\b"
)
_NAMING = Pattern(r"[`'\"*]{0,2} (?:names|lists|says|contains|describes|marks|shows|proposes|asks for|records)\b")
# "Join the parts to `guide.md`".
_JOINING = (
    *("join", "merge", "combine", "assemble", "turn", "convert", "translate", "copy", "move", "split", "render"),
    *("pour", "put together"),
)
_INTO = Pattern(
    rf"\b(?:{'|'.join(_JOINING)})\b.{{0,80}}"
    r"\b(?:into|to|as)\s(?:the |a )?(?:new )?(?:file )?[`'\"]?(?:[\w.-]+/)*$"
)
# "Write an announcement based on `draft.md` and `changes.md`".
_SOURCES = ("based on", "from", "using", "against", "per", "according to", "following")
_FROM = Pattern(
    rf"\b(?:{'|'.join(_SOURCES)})\s(?:the |your )?(?:\w+ (?:in|of) )?"
    r"(?:[`'\"\s,]|and\b)*$"
)
_SAME_KIND = {"log": "txt", "yml": "yaml"}
_MAYBE = Pattern(
    r"\b(?:if|any|e\.g|example|when|whenever|unless|optional\w*|such as|like|where|exists?)\b"
    r"|\bor (?:its |an? |another |similar |equivalent |[`'\"]?[\w./-]*\.[a-z]{2,4}\b)"
)
# Files that projects have.
_USUAL = frozenset(
    ("package.json", "readme.md", "tsconfig.json", "agents.md", "claude.md", "changelog.md", "requirements.txt")
)


class _FileUse(Record):
    """A file name in a prompt, or one that a step passes to a routine."""

    __slots__ = ("is_written", "name", "phrase", "position", "step")

    def __init__(self, name: str, step: Step, position: int, is_written: bool, phrase: Phrase | None = None) -> None:
        self.name = name  # without its folder
        self.step = step
        self.position = position  # of the step
        self.is_written = is_written
        self.phrase = phrase


def _matches(pattern: Pattern, words: tuple[str, ...], low: str) -> bool:
    """Return whether a pattern matches somewhere, which it can do only where one of some words is."""
    return any(map(low.__contains__, words)) and pattern.search(low) is not None


_LEAST_NAME = 8  # characters, with the extension, that a name needs to be taken for a misspelled one


def _arguments(step: Step) -> Iterator[str]:
    """Yield the file names that a step passes to the routines it calls."""
    calls: list[Mapping[str, Any]] = []
    if step.kind == "parallel":
        calls = [each.args for each in step.parallel_delegations]
    elif step.kind == "standard" and step.template_call is not None:
        calls = [step.template_call.args]
    for call in calls:
        for value in map(str, call.values()):
            if value.endswith(_EXTENSIONS) and "{" not in value and " " not in value:
                yield value


def _are_related(a: str, b: str) -> bool:
    """Return whether two file names have a word in common, or several if they are long."""
    words = [set(re.findall(r"[a-z]{3,}", name.rpartition(".")[0])) for name in (a, b)]
    return 2 * len(words[0] & words[1]) >= max(map(len, words))


def _times_named(name: str, text: str) -> int:
    """Return how often a text has a file name that is not the end of a longer one."""
    count = 0
    at = text.find(name)
    while at >= 0:
        before = text[at - 1] if at else " "
        count += not (before.isalnum() or before in "_-")
        at = text.find(name, at + len(name))
    return count


class DeliverableNameDiffers(WholeWorkflowRule):
    code = "RF060"
    name = "deliverable-name-differs"
    severity = Severity.WARNING
    origin = "product"
    summary = "A step reads a file that nothing writes, while a file that an earlier step writes is never used."
    why = "The agent looks for a file that does not exist; the names of what is written and what is read differ."
    words = (IN_PROMPTS, *_FILE.words)

    def check_workflow(self, workflow: WorkflowContext, report: Report) -> None:
        uses = list(self._uses(workflow))
        written = [use for use in uses if use.is_written]
        if not written:
            return
        # A routine may write more files than those whose names it is given.
        is_open = not step_members(workflow).isdisjoint(("templateCall", "parallelDelegations"))
        text = ""
        by_name: dict[str, list[_FileUse]] = {}
        for use in uses:
            by_name.setdefault(use.name, []).append(use)
        self._check_about(by_name, workflow, report)
        for name, own in by_name.items():
            use = own[0]
            if any(each.is_written for each in own):
                continue
            text = text or author_text(workflow).lower()
            # Where a text names the file in another way, it may say there that it is written.
            if _times_named(name, text) != len(own):
                continue
            if use.phrase is None or not self._is_read(use.name, use.phrase) or self._is_there(use, workflow):
                continue
            if meant := self._misspelled(use, written):
                report(
                    use.phrase.pointer,
                    f"{label(use.step)}: no step writes {quoted(use.name)}; did you mean {quoted(meant)}?",
                )
                continue
            unused = [
                other
                for other in written
                # What a step passes on may be read by its own synthesis.
                if other.position < use.position + (other.phrase is None)
                and self._kind(other.name) == self._kind(use.name)
                and (not is_open or _are_related(other.name, use.name))
                and not any(later.name == other.name and later.position > other.position for later in uses)
            ]
            if unused:
                other = unused[-1]
                verb = "writes" if other.phrase is not None else "passes on"
                report(
                    use.phrase.pointer,
                    f"{label(use.step)}: no step writes {quoted(use.name)}; {label(other.step)} {verb} "
                    f"{quoted(other.name)}, which no later step uses. Use one name",
                )

    @staticmethod
    def _check_about(by_name: dict[str, list[_FileUse]], workflow: WorkflowContext, report: Report) -> None:
        """Report a file that `about` names nearly as the steps do."""
        for text in workflow.top_texts:
            low = text.text.lower() if text.field in ("about", "description") else ""
            if not has_any(low, _EXTENSIONS):
                continue
            names = {match[1].rpartition("/")[2] for match in _FILE.pattern.compiled.finditer(low)}
            for name in sorted(names - by_name.keys()):
                digits = re.sub(r"\D", "", name)
                same_digits = [other for other in by_name if re.sub(r"\D", "", other) == digits]
                meant = nearest(name, [other for other in same_digits if other not in names], 2)
                if meant is not None and len(name) > _LEAST_NAME and name not in _USUAL:
                    report(
                        text.pointer,
                        f"`{text.field}` names {quoted(name)}, and no step does; did you mean {quoted(meant)}?",
                    )

    @staticmethod
    def _kind(name: str) -> str:
        extension = name.rpartition(".")[2]
        return _SAME_KIND.get(extension, extension)

    @staticmethod
    def _misspelled(use: _FileUse, written: list[_FileUse]) -> str | None:
        """Return the file of an earlier step whose name is nearly the same; names that differ in a digit are two."""
        extension = use.name.rpartition(".")[2]
        earlier = [other.name for other in written if other.position < use.position]
        same_kind = [name for name in earlier if re.sub(r"\D", "", name) == re.sub(r"\D", "", use.name)]
        same_kind = [name for name in same_kind if name.endswith(extension)]
        return nearest(use.name, same_kind, 2) if len(use.name) > _LEAST_NAME else None

    @staticmethod
    def _uses(workflow: WorkflowContext) -> Iterator[_FileUse]:
        order = {each.pointer: index for index, each in enumerate(workflow.all_steps)}
        named = [
            (phrase.hit.match[1].rpartition("/")[2], phrase)
            for phrase in delivered(workflow).phrases(_FILE, in_code=True)
        ]
        passed = [
            _FileUse(value.lower().rpartition("/")[2], each, order[each.pointer], True)
            for each in workflow.all_steps
            for value in _arguments(each)
        ]
        if len({name for name, _ in named} | {use.name for use in passed}) < 2:
            return  # what is read is what is written
        yield from passed
        for name, phrase in named:
            first, _ = phrase.passage.sentence(phrase.start)
            # "Read `draft.md` and …" drafts nothing.
            before = _FILE.pattern.compiled.sub("", phrase.passage.low[first : phrase.start])
            makes = _matches(_WRITES, _WRITING, before) or _matches(_INTO, _JOINING, before)
            is_written = makes and not _matches(_FROM, _SOURCES, before)
            yield _FileUse(name, phrase.step, order[phrase.step.pointer], is_written, phrase)

    @staticmethod
    def _is_read(name: str, phrase: Phrase) -> bool:
        if name in _USUAL or phrase.is_negated or _MAYBE.search(phrase.sentence):
            return False
        if _NAMING.match(phrase.passage.low, phrase.end) is not None:
            return True
        before = phrase.passage.before(phrase.start)
        if before.strip(" `'\"*") in ("", "and"):  # one of several: "Read a.md, b.md and c.md"
            first, _ = phrase.passage.sentence(phrase.start)
            before = phrase.passage.low[first : phrase.start]
            before = before if _FILE.pattern.compiled.search(before) else ""
        return _READS.search(before) is not None

    @staticmethod
    def _is_there(use: _FileUse, workflow: WorkflowContext) -> bool:
        """Return whether a reference provides the file, or the workspace has it."""
        if any(reference.source.lower().endswith(use.name) for reference in workflow.model.references):
            return True
        if workflow.workspace is None:
            return False
        place = inside(workflow.workspace, use.phrase.group(1) if use.phrase is not None else use.name)
        return place is None or os.path.lexists(workflow.consult(place))

    def examples(self) -> Iterable[Example]:
        def passing(name: str) -> dict[str, Any]:
            return workflow(
                step("research", "Write what you learn to `interviews.md`."),
                step("outline", f"Read `{name}` and outline the article."),
            )

        yield Example(bad=passing("research-notes.md"), good=passing("interviews.md"))


# ------------------------------------------------------------------------------------------------ references

_REFERENCE = Search(
    ("reference",),
    r"\breferences? (?:document |id )?[`'\"]([a-z0-9][a-z0-9_.-]{1,63})[`'\"]"
    r"|[`'\"]([a-z0-9][a-z0-9_.-]{1,63})[`'\"] reference\b",
    before=70,
)


class ReferenceIdUnknown(WorkflowRule):
    code = "RF061"
    name = "reference-id-unknown"
    severity = Severity.WARNING
    origin = "product"
    summary = "A prompt names a reference that the workflow does not declare."
    why = "The engine gives the agent only the declared references, so it looks for a document that is not there."
    needs = frozenset({"references"})
    words = (IN_PROMPTS, *_REFERENCE.words)

    def check_workflow(self, workflow: WorkflowContext, report: Report) -> None:
        references = workflow.model.references
        known = {name.lower() for each in references for name in (each.id, each.title, each.source) if name}
        known |= {name.rpartition("/")[2] for name in known}
        seen: set[str] = set()
        for phrase in delivered(workflow).phrases(_REFERENCE, in_code=True) if known else ():
            name = phrase.hit.match[1] or phrase.hit.match[2]
            if name in known or name in seen or phrase.is_negated or name in workflow.analysis.by_name:
                continue
            seen.add(name)
            ids = [each.id for each in references]
            near = nearest(name, ids)
            hint = f"did you mean {quoted(near)}?" if near else f"the workflow has {name_list(ids[:6])}"
            report(phrase.pointer, f"{label(phrase.step)}: there is no reference {quoted(name)}; {hint}")

    def examples(self) -> Iterable[Example]:
        def consulting(ident: str) -> dict[str, Any]:
            declared = {"id": "house-style", "title": "Style", "source": "./docs/style.md", "purpose": "How we write."}
            return workflow(
                step(prompt=f"Follow the reference `{ident}`."), references=[{**declared, "authoritative": True}]
            )

        yield Example(bad=consulting("style-guide"), good=consulting("house-style"))


# ---------------------------------------------------------------------------------------------------- tokens

_FOREIGN_NAME = r"([a-z_][a-z0-9_]*)"
# What may also be a part of a command or a blank.
_BARE = (
    Search((" {", "({"), rf"[ (]\{{{_FOREIGN_NAME}\}}(?![}}\w/-]|\.\w)"),
    Search((" $", "($"), rf"[ (]\${_FOREIGN_NAME}(?![\w({{/-]|\.\w)"),
    Search((" %",), rf"[ (]%{_FOREIGN_NAME}%"),
)
_FOREIGN = (
    Search(("${",), rf"\$\{{\s?{_FOREIGN_NAME}\s?\}}"),
    Search(("<%",), rf"<%=?\s?{_FOREIGN_NAME}\s?%>"),
    _BARE[0],
    Search(("[[",), rf"\[\[\s?{_FOREIGN_NAME}\s?\]\]"),
    *_BARE[1:],
    Search(("{{",), rf"\{{\{{\s?{_FOREIGN_NAME}\s?\}}(?!\}})"),
)


class TokenForeignSyntax(WorkflowRule):
    code = "PR063"
    name = "token-foreign-syntax"
    severity = Severity.WARNING
    origin = "product"
    summary = "A prompt inserts a context variable as `${name}`, `{name}` or `[[name]]`, which stays as it is."
    why = "The engine replaces `{{name}}` only; the agent sees the other forms literally."
    fix = "Write `{{name}}`."
    words = (IN_PROMPTS, *(word for search in _FOREIGN for word in search.words))

    def check_workflow(self, workflow: WorkflowContext, report: Report) -> None:
        seen: set[tuple[str, str]] = set()
        texts = delivered(workflow)
        phrases = ((search, phrase) for search in _FOREIGN for phrase in texts.phrases(search, in_code=True))
        for search, phrase in phrases:
            name = phrase.group(1)
            written = phrase.words.lstrip(" (")
            if search in _BARE and self._is_form(phrase):
                continue
            if (phrase.pointer, name) in seen or not self._is_variable(name, workflow):
                continue
            if self._is_shell(phrase.passage, phrase.start):
                continue
            seen.add((phrase.pointer, name))
            report(
                phrase.pointer,
                f"{label(phrase.step)}: the engine does not replace {quoted(written)}, so the agent sees it "
                f"literally; write "
                f"{{{{{name}}}}}",
                fix=unsafe(f"write {{{{{name}}}}}", ReplaceText(phrase.pointer, written, f"{{{{{name}}}}}")),
            )

    @staticmethod
    def _is_variable(name: str, workflow: WorkflowContext) -> bool:
        analysis = workflow.analysis
        is_named = any(each.kind != "example" for each in analysis.definitions(name))
        return is_named or analysis.is_given(name) or name in analysis.by_name

    @staticmethod
    def _is_form(phrase: Phrase) -> bool:
        """Return whether `{name}` or `$name` is a part of a command, or a blank in a form: "Strategy: {strategy}"."""
        low = phrase.passage.low
        brace = phrase.start + 1
        line = low[low.rfind("\n", 0, brace) + 1 : brace + 1]
        return phrase.passage.is_code(brace) or ": {" in line or ":** {" in line

    @staticmethod
    def _is_shell(passage: Passage, position: int) -> bool:
        """Return whether the text assigns it as a shell variable, or it is inside a script literal."""
        low = passage.low
        return "export " in low or "#!/" in low or "```" in low[max(0, position - 400) : position]

    def examples(self) -> Iterable[Example]:
        def greeting(token: str) -> dict[str, Any]:
            return workflow(step("ask", "Set `guestName`."), step("greet", f"Write a greeting for {token}."))

        good = greeting("{{guestName}}")
        yield Example(bad=greeting("${guestName}"), good=good, fixed=good)
        yield Example(bad=greeting("{guestName}"), good=good, fixed=good)
