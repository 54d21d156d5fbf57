"""The instruction file of an agent: its front matter, what its prose promises, and the JSON that it shows.

Instructions show an output as a template: `"status": "OK|BLOCKED|FAIL"` and `<session>` stand for what a real one has.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import cached_property, partial
from typing import Any, NamedTuple

from workrail_lint.base.js import items_of, members_of
from workrail_lint.base.patterns import Pattern
from workrail_lint.documents.json_reader import JsonDocument, read_json
from workrail_lint.documents.markdown_reader import Line
from workrail_lint.documents.yaml_reader import YamlDocument, read_yaml
from workrail_lint.systems.team.documents import TeamKind, is_artifact_name
from workrail_lint.systems.team.roles import WRITTEN_KEYS
from workrail_lint.systems.team.rules.base import MarkdownFile, OutputDocument
from workrail_lint.systems.team.vocabulary import AgentName

_MOST_SAMPLES = 20  # real instructions show two or three
_REPLY = frozenset({"status", "summary", "artifacts", "gates", "next"})
_PLAN = frozenset({"state", "dispatch"})
_JSON_FENCES = ("", "json", "jsonc", "json5")
_NUMBER = Pattern(r"^[0-9]+[-_. ]+")
_ALTERNATIVES = Pattern(r"\|")
_ALTERNATIVES_IN_WORDS = Pattern(r"\|| or ")
_VISIBLE = Pattern(r"[^\r\n]")
_PLACEHOLDER = Pattern(r"<[^<>]*>")
_PROMISES = Pattern(r"required (?:outputs?|artifacts?)\b", re.IGNORECASE)
_PROMISED = Pattern(r"\s*(?:[-*+]|[0-9]{1,9}[.)])\s+`([^`\s]+)`")  # an item that begins with a path
_RETURNED = Pattern(r"(?i:\breturns?\b)[^.\n]{0,40}?\bstatus\b\W{1,4}([A-Z]{2,}(?:_[A-Z]+)*)\b")
SESSION = "2000-01-01_any-session"  # stands for `<session>`
_TASK = "T-001"  # stands for `T-XXX`


class Quote(NamedTuple):
    """A word or path of the file, and its offsets in it."""

    text: str
    start: int
    end: int

    @property
    def at(self) -> tuple[int, int]:
        return self.start, self.end


class Sample:
    """A JSON object that the file shows."""

    def __init__(self, document: JsonDocument, text: str, start: int, *, is_fenced: bool) -> None:
        self.document = document  # with the offsets of the file
        self.start = start
        self.is_fenced = is_fenced
        self._text = text

    @property
    def value(self) -> dict[str, Any]:
        return members_of(self.document.value) if self.document.readable and not self.document.problems else {}

    @property
    def is_output(self) -> bool:
        return len(self.value.keys() & _REPLY) > 1

    @property
    def is_plan(self) -> bool:
        return self.value.keys() >= _PLAN

    @property
    def is_broken(self) -> bool:
        """Return whether it is meant as an output and can't be read."""
        is_meant = '"status"' in self._text and ('"gates"' in self._text or '"next"' in self._text)
        return self.is_fenced and is_meant and (bool(self.document.problems) or not self.document.readable)

    def quotes(self, pointer: str, text: object) -> Iterator[Quote]:
        """Yield the alternatives of a string, each where the string is."""
        span = self.document.node(pointer)
        if type(text) is str and span is not None:
            for part in _alternatives(text, _ALTERNATIVES_IN_WORDS):
                if part:
                    yield Quote(part, span.start, span.end)


def _alternatives(text: str, separator: Pattern) -> list[str]:
    return [part.strip() for part in separator.compiled.split(text)]


class SampleOutput(OutputDocument):
    """A sample as the output that it stands for: of alternatives the first, of placeholders any valid value."""

    def __init__(self, file: AgentFile, sample: Sample) -> None:
        super().__init__(TeamKind.OUTPUT, file.path, sample.document, file.options)
        self._role = file.role
        self.value = members_of(_filled(sample.value))

    @property
    def agent(self) -> AgentName | None:
        return self._role


def _filled(value: Any, name: str = "") -> Any:
    if type(value) is dict:
        return {name: _filled(item, name) for name, item in value.items()}
    if type(value) is list:
        return [_filled(item) for item in value]
    if type(value) is not str:
        return value
    pattern = _ALTERNATIVES_IN_WORDS if name == "recommended_task_id" else _ALTERNATIVES
    return _alternatives(value, pattern)[0].replace("<session>", SESSION).replace("T-XXX", _TASK)


class AgentFile(MarkdownFile):
    """An instruction file: Markdown with front matter."""

    @cached_property
    def matter(self) -> YamlDocument | None:
        """The front matter, with the offsets of the file."""
        lines = [line for line in self.reader.lines if line.kind == "matter"]
        if len(lines) < 2:
            return None
        return read_yaml(" " * lines[0].end + self.text[lines[0].end : lines[-1].start])

    @cached_property
    def _members(self) -> dict[str, Any]:
        return members_of(self.matter.value) if self.matter is not None and self.matter.readable else {}

    @property
    def name(self) -> Quote | None:
        """Return what the front matter calls the agent."""
        return self._quoted("/name", self._members.get("name"))

    @property
    def subagents(self) -> list[Quote]:
        """The agents that the front matter lets it call."""
        quotes = (self._quoted(f"/agents/{at}", item) for at, item in enumerate(items_of(self._members.get("agents"))))
        return [quote for quote in quotes if quote is not None]

    def _quoted(self, pointer: str, value: object) -> Quote | None:
        node = None if self.matter is None else self.matter.node(pointer)
        return Quote(value, node.start, node.end) if type(value) is str and node is not None else None

    @property
    def file_role(self) -> AgentName | None:
        """The agent that the name of the file says: `04-coder.md`."""
        stem = self.path.replace("\\", "/").rpartition("/")[2].removesuffix(".md").removesuffix(".agent")
        return role_of(_NUMBER.compiled.sub("", stem, count=1))

    @cached_property
    def role(self) -> AgentName | None:
        """The agent that the file instructs; None when it is none of the contract."""
        return (role_of(self.name.text) if self.name is not None else None) or self.file_role

    @cached_property
    def samples(self) -> list[Sample]:
        samples: list[Sample] = []
        blank = _VISIBLE.compiled.sub(" ", self.text)
        for start, end, is_fenced in _objects(self.reader.lines):
            if len(samples) == _MOST_SAMPLES:
                break
            text = self.text[start:end]
            samples.append(Sample(read_json(blank[:start] + text), text, start, is_fenced=is_fenced))
        return samples

    @cached_property
    def outputs(self) -> list[Sample]:
        return [sample for sample in self.samples if sample.is_output]

    def statuses(self) -> Iterator[Quote]:
        """Yield every status that the file lets its agent return."""
        for sample in self.outputs:
            yield from sample.quotes("/status", sample.value.get("status"))
        if self.role is AgentName.ORCHESTRATOR:
            return  # its prose is about what the others return
        for line in self.reader.lines:
            for match in _RETURNED.compiled.finditer(line.text) if line.kind == "text" else ():
                yield Quote(match[1], line.start + match.start(1), line.start + match.end(1))

    def next_agents(self) -> Iterator[Quote]:
        """Yield every agent that the file recommends as the next."""
        for sample in self.outputs:
            pointer = "/next/recommended_agent"
            yield from sample.quotes(pointer, members_of(sample.value.get("next")).get("recommended_agent"))

    def dispatched(self) -> Iterator[Quote]:
        """Yield every agent that a dispatch plan of the file names."""
        for sample in self.samples:
            for at, item in enumerate(items_of(sample.value.get("dispatch"))) if sample.is_plan else ():
                yield from sample.quotes(f"/dispatch/{at}/agent", members_of(item).get("agent"))

    def written(self) -> Iterator[Quote]:
        """Yield every path that the file lets its agent write, with `<session>` filled in."""
        for quote in self._written():
            path = _PLACEHOLDER.compiled.sub("x", quote.text.replace("<session>", SESSION))
            if "..." not in path and not re.search(r"\s", path) and ("/" in path or is_artifact_name(path)):
                yield quote._replace(text=path)

    def _written(self) -> Iterator[Quote]:
        for sample in self.outputs:
            artifacts = members_of(sample.value.get("artifacts"))
            for key in WRITTEN_KEYS:
                for at, path in enumerate(items_of(artifacts.get(key))):
                    yield from sample.quotes(f"/artifacts/{key}/{at}", path)
            yield from sample.quotes("/artifacts/design_spec_file", artifacts.get("design_spec_file"))
        for at, heading in enumerate(self.reader.headings):
            if _PROMISES.match(heading.title):
                for line in self.reader.body(at):
                    match = _PROMISED.match(line.text) if line.kind == "text" else None
                    if match is not None:
                        yield Quote(match[1], line.start + match.start(1), line.start + match.end(1))


def role_of(name: str) -> AgentName | None:
    """Return the agent that a name means, however it is spelled."""
    folded = re.sub(r"[-_\s]", "", name).casefold()
    return next((agent for agent in AgentName if agent.value.casefold() == folded), None)


def _objects(lines: list[Line]) -> Iterator[tuple[int, int, bool]]:
    """Yield the extents of what may be an object: the content of a code fence, or from a line `{` to a line `}`."""
    at = 0
    while at < len(lines):
        line = lines[at]
        following = at + 1
        if line.kind == "code":
            opening = line.text.strip()
            mark = opening[: len(opening) - len(opening.lstrip(opening[0]))]
            last = _until(lines, at + 1, partial(_closes, mark))
            if opening[len(mark) :].strip().casefold() in _JSON_FENCES and last > at + 1:
                yield lines[at + 1].start, lines[last - 1].end, True
            following = last + 1
        elif line.kind == "text" and line.text.rstrip() == "{":
            last = _until(lines, at + 1, lambda text: text == "}")
            is_closed = last < len(lines) and lines[last].kind == "text"
            if is_closed:
                yield line.start, lines[last].end, False
            following = last + 1 if is_closed else last
        at = following


def _closes(mark: str, text: str) -> bool:
    """Return whether a line ends the fence that a mark began."""
    return text.strip(f" \t{mark[0]}") == "" and mark in text


def _until(lines: list[Line], at: int, is_end: Callable[[str], bool]) -> int:
    """Return the first line from `at` that ends a block: the one that says so, or the first of another kind."""
    kind = lines[at - 1].kind
    while at < len(lines) and lines[at].kind == kind and not is_end(lines[at].text.rstrip()):
        at += 1
    return at
