"""Author text that reaches the agent, and how the context of a phrase changes its meaning.

A phrase in a fenced block or a code span is an example, in a negated clause a prohibition, and after "if" it concerns
only some runs. Rules that compare a prompt with its workflow use this module, so that all of them read a sentence in
the same way. Only the context of a phrase that was found is read, and each text is parsed once.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache

from workrail_lint.base.patterns import Pattern
from workrail_lint.systems.workrail.model.workflow import Step
from workrail_lint.systems.workrail.rules.base import Text, WorkflowContext
from workrail_lint.systems.workrail.rules.prose import Hit, Prompts, Search, TextIndex, text_index
from workrail_lint.systems.workrail.workflow_registry import Mention

# Beyond this a clause is not read.
_CLAUSE = 400
# How many lines back the heading of a list is searched for.
_LIST_LINES = 40

_SENTENCE_END = Pattern(r"\n|[.!?;](?=[\s*_\"')]|\Z)")
_NO_END = ("e.g", "i.e", "etc", "vs", "cf", "no", "approx")
# The last of these before a phrase is where its clause begins.
_CLAUSE_START = Pattern(r"[,;:]\s|\s(?:--?|—|–|->|→|=>)\s|\b(?:but|then|instead)\b(?! of)")
_NEGATION = Pattern(
    r"\b(?:not|never|without|avoid(?:s|ing)?|cannot|nor|neither|nothing|refrain\w*|forbid\w*|forbidden|prohibit\w*"
    r"|instead of|rather than|no (?:need|reason|longer)|stop short of|resist\w*)\b|n['’]t\b"
)
_NEGATED_AFTER = Pattern(
    r"[^,;:\n]{0,40}?\b(?:is|are|was|were|be|must|should|will|can|may|does|do)(?: (?:not|never|forbidden)\b|n['’]t\b)"
)
_CONDITION = Pattern(
    r"\b(?:if|when|whenever|unless|in case|where|should (?:you|it|they|the)|only for|depending on|optionally|otherwise"
    r"|else)\b"
)
_GOVERNS = Pattern(
    r"[ \t>*_#\d.)-]*(?:(?:only |else |otherwise,? )?(?:if|when|whenever|unless|in case|for)\b|(?:else|otherwise)\b)"
)
_BULLET = Pattern(r"[ \t]*(?:[-*•+]|\d+[.)])[ \t]")
_FENCES = ("```", "~~~")


class Passage:
    """One delivered text, in lower case, and which parts of it are examples."""

    __slots__ = ("_code", "_fences", "low", "step", "text")

    def __init__(self, step: Step, text: Text) -> None:
        self.step = step
        self.text = text
        self.low = text.text.lower()
        self._fences: list[tuple[int, int]] | None = None
        self._code: list[tuple[int, int]] | None = None

    # ------------------------------------------------------------------------------------------- examples

    @property
    def fences(self) -> list[tuple[int, int]]:
        """Return where fenced blocks begin and end, fences included. One that is never closed extends to the end."""
        if self._fences is None:
            self._fences = list(_fences(self.low)) if any(fence in self.low for fence in _FENCES) else []
        return self._fences

    @property
    def code(self) -> list[tuple[int, int]]:
        """Return where code spans begin and end, without their backticks."""
        if self._code is None:
            self._code = list(_code_spans(self.low, self.fences)) if "`" in self.low else []
        return self._code

    def is_fenced(self, position: int) -> bool:
        return _holds(self.fences, position)

    def is_code(self, position: int) -> bool:
        """Return whether a position is an example of either kind."""
        return self.is_fenced(position) or _holds(self.code, position)

    # ---------------------------------------------------------------------------------- sentence and clause

    def sentence(self, start: int, end: int | None = None) -> tuple[int, int]:
        """Return where the sentence around a range begins and ends. A line break ends one too."""
        return self._sentence_start(start), self._sentence_end(start if end is None else end)

    def _sentence_start(self, position: int) -> int:
        first = max(0, position - _CLAUSE)
        first = max(first, self.low.rfind("\n", first, position) + 1)
        for match in _SENTENCE_END.compiled.finditer(self.low, first, position):
            if not self._is_abbreviation(match.start()):
                first = match.end()
        return first

    def _sentence_end(self, position: int) -> int:
        last = min(len(self.low), position + _CLAUSE)
        for match in _SENTENCE_END.compiled.finditer(self.low, position, last):
            if not self._is_abbreviation(match.start()):
                return match.start()
        return last

    def _is_abbreviation(self, position: int) -> bool:
        return self.low[position] == "." and self.low[max(0, position - 6) : position].endswith(_NO_END)

    def before(self, start: int) -> str:
        """Return the clause before a phrase."""
        first = self._sentence_start(start)
        for match in _CLAUSE_START.compiled.finditer(self.low, first, start):
            first = match.end()
        return self.low[first:start]

    def is_negated(self, start: int, end: int) -> bool:
        """Return whether the clause of a phrase forbids or denies it."""
        if _NEGATION.search(self.before(start)):
            return True
        return _NEGATED_AFTER.match(self.low, end, self._sentence_end(end)) is not None

    def is_conditional(self, start: int, end: int) -> bool:
        """Return whether a phrase concerns only some runs: its sentence says so, or the line above its list does."""
        first, last = self.sentence(start, end)
        return bool(_CONDITION.search(self.low, first, last)) or bool(_GOVERNS.match(self.heading(start)))

    def heading(self, position: int) -> str:
        """Return the line above the list that contains a position; "" if there is none."""
        line_start = self.low.rfind("\n", 0, position) + 1
        for _ in range(_LIST_LINES):
            if line_start == 0:
                return ""
            line_end = line_start - 1
            line_start = self.low.rfind("\n", 0, line_end) + 1
            line = self.low[line_start:line_end]
            if line.rstrip(" *_").endswith((":", "→", "->")):
                return line
            if line.strip() and not _BULLET.match(line):
                return ""
        return ""

    def original(self, start: int, end: int) -> str:
        """Return a range as the author wrote it, in lower case if lower-casing moved the letters."""
        written = self.text.text[start:end]
        return written if written.lower() == self.low[start:end] else self.low[start:end]


def _holds(ranges: list[tuple[int, int]], position: int) -> bool:
    index = bisect_right(ranges, (position, len(ranges) and ranges[-1][1])) - 1
    return index >= 0 and ranges[index][0] <= position < ranges[index][1]


def _fences(text: str) -> Iterator[tuple[int, int]]:
    opened, fence = -1, ""
    start = 0
    while start <= len(text):
        end = text.find("\n", start)
        end = len(text) if end < 0 else end
        line = text[start : min(end, start + 80)].lstrip(" \t>")
        if opened < 0:
            fence = next((mark for mark in _FENCES if line.startswith(mark)), "")
            opened = start if fence else -1
        elif line.startswith(fence):
            yield opened, end
            opened = -1
        start = end + 1
    if opened >= 0:
        yield opened, len(text)


def _code_spans(text: str, fences: list[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """Yield the spans on one line that are opened and closed by the same number of backticks."""
    at = text.find("`")
    while at >= 0:
        width = 1
        while text[at + width : at + width + 1] == "`":
            width += 1
        opened = at + width
        if not _holds(fences, at):
            line_end = text.find("\n", opened)
            closed = text.find("`" * width, opened, line_end if line_end >= 0 else len(text))
            if closed >= 0:
                yield opened, closed
                opened = closed + width
        at = text.find("`", opened)


class Phrase:
    """A phrase of a delivered text: the match, whose groups are in lower case, and where it is."""

    __slots__ = ("end", "hit", "passage", "start")

    def __init__(self, hit: Hit, passage: Passage) -> None:
        self.hit = hit
        self.passage = passage
        self.start = hit.start
        self.end = hit.start + len(hit.match[0])

    @property
    def step(self) -> Step:
        return self.hit.step

    @property
    def pointer(self) -> str:
        return self.hit.text.pointer

    def group(self, number: int) -> str:
        """Return a group of the match as the author wrote it; "" if it did not match."""
        if self.hit.match[number] is None:
            return ""
        offset = self.start - self.hit.match.start()
        return self.passage.original(self.hit.match.start(number) + offset, self.hit.match.end(number) + offset)

    @property
    def words(self) -> str:
        return self.passage.original(self.start, self.end)

    @property
    def is_negated(self) -> bool:
        return self.passage.is_negated(self.start, self.end)

    @property
    def is_conditional(self) -> bool:
        return self.passage.is_conditional(self.start, self.end)

    @property
    def sentence(self) -> str:
        """Return the whole sentence, in lower case."""
        first, last = self.passage.sentence(self.start, self.end)
        return self.passage.low[first:last]


class Delivered(Prompts):
    """All delivered author texts of a workflow."""

    __slots__ = ("_passages",)

    def __init__(self, texts: TextIndex) -> None:
        super().__init__(texts)
        self._passages: dict[str, Passage] = {}

    def _is_among(self, step: Step | None, text: Text) -> bool:
        return True

    def phrases(
        self, search: Search, *, in_code: bool = False, wanted: Callable[[re.Match[str]], bool] | None = None
    ) -> Iterator[Phrase]:
        """Yield what a search finds outside fenced blocks and, unless `in_code`, outside code spans.

        `wanted` filters matches before their context is read.
        """
        for hit in self.hits(search, wanted):
            passage = self.passage(hit.step, hit.text)
            hidden = passage.is_fenced(hit.start) if in_code else passage.is_code(hit.start)
            if not hidden:
                yield Phrase(hit, passage)

    def passage(self, step: Step, text: Text) -> Passage:
        passage = self._passages.get(text.pointer)
        if passage is None:
            passage = self._passages[text.pointer] = Passage(step, text)
        return passage

    def passages(self, words: Iterable[str]) -> Iterator[Passage]:
        """Yield the texts that contain one of some words."""
        for step, text in self.having(words):
            yield self.passage(step, text)


@lru_cache(maxsize=4)
def delivered(workflow: WorkflowContext) -> Delivered:
    return Delivered(text_index(workflow))


# -------------------------------------------------------------------------------------- mentioned workflows

_QUOTE = "[\"'`]"
_VERB = "(?:run|execute|start|launch|invoke|trigger|spawn)"
# Routines have the word in their id, bundled workflows their namespace and a hyphen, which no artifact kind has.
_IDS = (
    Search(("routine-",), rf"(?<={_QUOTE})(?:[a-z][a-z0-9_-]*\.)?routine-[a-z0-9][a-z0-9_-]*(?={_QUOTE})", before=40),
    Search(("wr.",), rf"(?<={_QUOTE})wr\.[a-z][a-z0-9]*(?:-[a-z0-9]+)+(?={_QUOTE})"),
    Search(("workflowid",), rf"\bworkflowid{_QUOTE}?\s?[:=]\s?{_QUOTE}([a-z][a-z0-9_-]*(?:\.[a-z0-9_-]+)?){_QUOTE}"),
)
# The default of a slot, where it is the id of a routine.
_BOUND_ID = Pattern(r"(?:[a-z][a-z0-9_-]*\.)?routine-[a-z0-9][a-z0-9_-]*")
_NAMED = Search(
    (" the '", ' the "', " the `"),
    rf"\b{_VERB} the (?:`([^`\n\0]{{3,60}})`|'([^'\n\0]{{3,60}})'|\"([^\"\n\0]{{3,60}})\") (?:workflow|routine)\b",
    before=8,
)
_ID_LETTERS = "abcdefghijklmnopqrstuvwxyz0123456789_-."


def mentions_of(workflow: WorkflowContext) -> list[Mention]:
    """Return the other workflows that prompts name, each once. Whether they exist is known only with all files."""
    texts = delivered(workflow)
    mentions: dict[str, Mention] = {}
    for search in _IDS:
        for phrase in texts.phrases(search, in_code=True):
            ident = phrase.hit.match[1] if search.pattern.compiled.groups else phrase.hit.match[0]
            if ident not in mentions and not phrase.is_negated:
                mentions[ident] = Mention(phrase.pointer, ident, False)
    for point in workflow.model.extension_points:
        if _BOUND_ID.fullmatch(point.default) and point.default not in mentions:
            mentions[point.default] = Mention(point.at("default"), point.default, False)
    for phrase in texts.phrases(_NAMED, in_code=True):
        name = phrase.group(1) or phrase.group(2) or phrase.group(3)
        is_id = not name.strip(_ID_LETTERS)
        if name not in mentions and not phrase.is_negated and "{" not in name and "<" not in name:
            mentions[name] = Mention(phrase.pointer, name, not is_id)
    return list(mentions.values())
