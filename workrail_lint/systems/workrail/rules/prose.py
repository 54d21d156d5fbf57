"""Helpers for rules about author text: all prompts as one string, sentences, quoting, and cheap checks.

Searching twenty kilobytes for one word costs as much as a whole rule may. So all prompts are searched at once, each
word once for all rules, and a pattern is tried only around the places where its word was found.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Container, Iterable, Iterator
from functools import lru_cache
from itertools import accumulate
from typing import TypeAlias, TypeGuard

from workrail_lint.base import js
from workrail_lint.base.patterns import Pattern
from workrail_lint.base.wording import quoted
from workrail_lint.documents import pointer as pointers
from workrail_lint.documents.operations import Replace
from workrail_lint.findings import Finding, Fix, unsafe
from workrail_lint.systems.workrail.author_texts import ARGUMENT, Group, argument_groups, strings_of, text_of
from workrail_lint.systems.workrail.model.nodes import PROMPT_FIELDS, step_name
from workrail_lint.systems.workrail.model.workflow import Step
from workrail_lint.systems.workrail.rules.base import Text, WorkflowContext

_SHOWN = 60
# No sentence is longer, and no phrase ends farther after its word.
_SENTENCE = 400
_AFTER = 96
# Parts of several words each. A part is searched for once, and the words are looked for only near it.
_PARTS = ("tep", "off", "mini", "wr.", "phase", "s:", "note", "already", "discuss", "might", "seen")
_NEAR = 24
# Characters that many texts do not have. They are found, or not, many times as fast as a word.
_MARKS = "|~$%=>?{<[`\"_/'(:-"
_ENDS = (". ", "! ", "? ", "\n", "\r")
# Besides the prompt itself: the texts of the steps made from these blocks, and the goal of a delegation.
_ALSO_DELIVERED = frozenset(("verification", "audit", "rubric", "synthesis", "delegationGoal"))
# As one of the `words` of a rule: the others are looked for only in texts that reach the agent.
IN_PROMPTS = "<in prompts>"

_Owned: TypeAlias = "tuple[Step | None, Group]"

# Hyphens belong to words: "sub-agent".
_WORD = Pattern(r"\w[\w-]*")


class Search:
    """A lower-case pattern, and words one of which is in everything it matches.

    `before` says how far before its word a match may begin; most begin with the word. What is known of every match is
    cheaper to look at than to try the pattern, which is compiled only where it may match: around the word there is one
    of `also` and, as a whole word, one of `near`; the word follows one of the words `after`; and if the match is
    `unbroken`, there is no blank or line break before the word.
    """

    __slots__ = ("after", "also", "before", "near", "pattern", "unbroken", "words")

    def __init__(
        self,
        words: tuple[str, ...],
        pattern: str,
        before: int = 0,
        *,
        also: tuple[str, ...] = (),
        near: frozenset[str] = frozenset(),
        after: tuple[str, ...] = (),
        unbroken: bool = False,
    ) -> None:
        self.words = words
        self.pattern = Pattern(pattern)
        self.before = before
        self.also = also
        self.near = near
        self.after = after
        self.unbroken = unbroken

    def match(self, low: str, place: int, last_end: Callable[[], int]) -> re.Match[str] | None:
        """Return the match around a place of a word in the joined texts; `last_end` tells where these end."""
        if self.after and not (low.endswith(self.after, 0, place) and _word_before(low, place) in self.after):
            return None
        start, end = max(0, place - self.before), place + _AFTER
        if self.before:
            breaks = "\0\n " if self.unbroken else "\0"
            start = max(start, *[low.rfind(mark, start, place) + 1 for mark in breaks])
        if self.also and all(low.find(word, start, end) < 0 for word in self.also):
            return None
        if self.near and self.near.isdisjoint(_WORD.compiled.findall(low, start, end)):
            return None
        if not self.before:
            return self.pattern.match(low, place)
        for match in self.pattern.finditer(low, start, end):
            # A match that ends with the searched stretch may have been cut off.
            if match.end() > place and (match.end() < end or end >= last_end()):
                return match
        return None


def _word_before(low: str, place: int) -> str:
    """Return the letters and digits right before a place."""
    start = place
    while start > 0 and (low[start - 1].isalnum() or low[start - 1] == "_"):
        start -= 1
    return low[start:place]


class Hit:
    """A phrase that was found in a prompt text."""

    __slots__ = ("match", "phrase", "start", "step", "text")

    def __init__(self, step: Step, text: Text, match: re.Match[str], start: int) -> None:
        self.step = step
        self.text = text
        self.match = match
        self.start = start
        # Lower-casing a few letters makes two of one; then the places do not fit the original.
        phrase = text.text[start : start + len(match[0])]
        self.phrase = phrase if phrase.lower() == match[0] else match[0]

    @property
    def end(self) -> int:
        return self.start + len(self.match[0])


@lru_cache(maxsize=512)
def _signs_of(word: str) -> tuple[str, str]:
    """Return a mark that a word contains, and a part of it; "" if there is none."""
    parts = [part for part in _PARTS if part in word and part != word] if len(word) <= _NEAR else []
    return next((mark for mark in _MARKS if mark in word), ""), parts[0] if parts else ""


class TextIndex:
    """Every author text of a workflow in lower case, joined to one string: those that reach the agent come first.

    Each word is searched for once for all rules. Most of them do not occur, and then their rules are not even imported.
    """

    __slots__ = (
        *("_delivered", "_end", "_first", "_firsts", "_groups", "_others", "_places", "_stretches"),
        *("delivered", "low", "starts", "strings"),
    )

    def __init__(self, delivered: list[_Owned], others: list[_Owned]) -> None:
        self._delivered, self._groups = delivered, delivered + others
        groups = [group for _, group in self._groups]
        self._firsts = [0, *accumulate([len(group[0]) for group in groups])]
        self.delivered = self._firsts[len(delivered)]  # how many texts
        texts = self.strings = strings_of(groups)
        # No pattern matches the separator, so no match runs over from one text into the next.
        if all(map(str.isascii, texts)):
            self.low = "\0".join(texts).lower()
        else:  # one by one, because plain ASCII is made lower case many times as fast
            texts = list(map(str.lower, texts))
            self.low = "\0".join(texts)
        # Where each text starts, and where the last one would be followed by another.
        self.starts = [0, *accumulate([len(text) + 1 for text in texts])]
        self._end = self.starts[self.delivered]
        self._first: dict[str, int] = {IN_PROMPTS: -1}  # where a word is delivered first, -1 if it is not
        self._places: dict[str, list[int]] = {IN_PROMPTS: []}  # all places where it is delivered
        self._others: dict[str, list[int]] = {IN_PROMPTS: []}  # those in other texts
        self._stretches: dict[str, str] = {}  # what is around the places of a part

    def has(self, words: tuple[str, ...]) -> bool:
        """Return whether one of some words occurs; with `IN_PROMPTS` among them, in a text that reaches the agent."""
        known = self._first
        for word in words:
            first = known.get(word)
            if (self._find(word) if first is None else first) >= 0:
                return True
        return IN_PROMPTS not in words and any(map(self._in_others, words))

    def _find(self, word: str) -> int:
        mark, part = _signs_of(word)
        may_occur = mark in self.low and (not part or word in self._near(part))
        first = self._first[word] = self.low.find(word, 0, self._end) if may_occur else -1
        if first < 0:
            self._places[word] = []
        return first

    def _near(self, part: str) -> str:
        """Return the stretches around a part of words."""
        stretches = self._stretches.get(part)
        if stretches is None:
            low = self.low
            around = [low[max(0, place - _NEAR) : place + _NEAR] for place in self.places(part)]
            stretches = self._stretches[part] = "\0".join(around)
        return stretches

    def places(self, word: str) -> list[int]:
        """Return where a word is delivered."""
        places = self._places.get(word)
        if places is None:
            first = self._first.get(word)
            places = self._following(word, self._find(word) if first is None else first, self._end)
            self._places[word] = places
        return places

    def _in_others(self, word: str) -> list[int]:
        places = self._others.get(word)
        if places is None:
            first = self.low.find(word, self._end)
            places = self._others[word] = self._following(word, first, len(self.low))
        return places

    def _following(self, word: str, place: int, end: int) -> list[int]:
        places: list[int] = []
        while place >= 0:
            places.append(place)
            place = self.low.find(word, place + 1, end)
        return places

    def having(self, words: Iterable[str]) -> list[tuple[Step | None, Text]]:
        """Return the delivered texts that contain one of some words, each with its step."""
        return self._owners_of([place for word in words for place in self.places(word)])

    def texts_with(self, words: Iterable[str]) -> list[tuple[Step | None, Text]]:
        """Return all texts that contain one of some words, without those that a template call passes on."""
        texts = self._owners_of([place for word in words for place in (*self.places(word), *self._in_others(word))])
        return [owned for owned in texts if owned[1].field != ARGUMENT]

    def _owners_of(self, places: list[int]) -> list[tuple[Step | None, Text]]:
        return [self.owner(index) for index in sorted(set(map(self.index, places)))]

    def index(self, place: int) -> int:
        """Return which text contains a place."""
        return bisect_right(self.starts, place) - 1

    def delivered_in(self, fields: Container[str]) -> list[str]:
        """Return the texts of some fields that reach the agent."""
        return strings_of([group for _, group in self._delivered if group[1] in fields])

    def owner(self, index: int) -> tuple[Step | None, Text]:
        """Return a text with its step."""
        number = bisect_right(self._firsts, index) - 1
        step, group = self._groups[number]
        return step, text_of(group, index - self._firsts[number], "" if step is None else step.pointer)


class Prompts:
    """The texts of a workflow that reach the agent, in lower case, each with its step."""

    __slots__ = ("_end", "_texts")

    def __init__(self, texts: TextIndex) -> None:
        self._texts = texts
        self._end: int | None = None

    def _is_among(self, step: Step | None, text: Text) -> bool:
        """Return whether a text is a part of the prompt of its step. Steps that only call a template have none."""
        return step is not None and text.field in PROMPT_FIELDS and not step.calls_template

    def having(self, words: Iterable[str]) -> list[tuple[Step, Text]]:
        """Return the texts that contain one of some words, each with its step."""
        texts = self._texts.having(words)
        return [(step, text) for step, text in texts if step is not None and self._is_among(step, text)]

    def hits(self, search: Search, wanted: Callable[[re.Match[str]], bool] | None = None) -> Iterator[Hit]:
        """Yield what a search finds, in the order of its words, nothing twice; only matches that are wanted."""
        seen: set[int] = set()
        for word in search.words:
            for place in self._texts.places(word):
                match = search.match(self._texts.low, place, self._last_end)
                if match is not None and match.start() not in seen:
                    seen.add(match.start())
                    hit = self._hit(match) if wanted is None or wanted(match) else None
                    if hit is not None:
                        yield hit

    def _last_end(self) -> int:
        """Return where the last of the texts ends."""
        if self._end is None:
            counts = range(self._texts.delivered, 0, -1)
            last = next((count for count in counts if self._is_among(*self._texts.owner(count - 1))), 0)
            self._end = self._texts.starts[last] - 1
        return self._end

    def has(self, *words: str) -> bool:
        """Return whether one of some words may occur."""
        return self._texts.has((IN_PROMPTS, *words))

    def begins(self, word: str, phrases: tuple[str, ...]) -> bool:
        """Return whether some occurrence of a word begins one of some phrases."""
        return any(self._texts.low.startswith(phrases, place) for place in self._texts.places(word))

    def first(self, *searches: Search) -> Hit | None:
        return next((hit for search in searches for hit in self.hits(search)), None)

    def _hit(self, match: re.Match[str]) -> Hit | None:
        """Return the match with its text; None in a text that is not among these."""
        index = self._texts.index(match.start())
        step, text = self._texts.owner(index)
        if index >= self._texts.delivered or step is None or not self._is_among(step, text):
            return None
        return Hit(step, text, match, match.start() - self._texts.starts[index])


def sentences(text: str, at_least: int) -> list[str]:
    """Return the sentences of some length. A line break ends one too, as lists need no full stop."""
    lines = [line for line in text.split("\n") if len(line) >= at_least]
    text = ". ".join(lines).replace("! ", ". ").replace("? ", ". ")
    return [piece.strip(" .!?") for piece in text.split(". ") if len(piece) >= at_least]


@lru_cache(maxsize=4)
def text_index(workflow: WorkflowContext) -> TextIndex:
    delivered: list[_Owned] = []
    others: list[_Owned] = [(None, group) for group in workflow.top_groups]
    for step in workflow.all_steps:
        groups = step.text_groups
        if step.calls_template:
            delivered += [(step, group) for group in argument_groups(step)]
            others += [(step, group) for group in groups]
            continue
        rest = []
        for group in groups:
            if group[1] in PROMPT_FIELDS:
                delivered.append((step, group))
            else:
                rest.append((step, group))
        for owned in rest:
            (delivered if owned[1][1] in _ALSO_DELIVERED else others).append(owned)
    return TextIndex(delivered, others)


@lru_cache(maxsize=4)
def prompts(workflow: WorkflowContext) -> Prompts:
    """Return all prompt texts. Steps that only call a template have none."""
    return Prompts(text_index(workflow))


@lru_cache(maxsize=4)
def author_text(workflow: WorkflowContext) -> str:
    """Return all author text of a workflow as one string."""
    return "\n".join(strings_of([*workflow.top_groups, *[g for step in workflow.all_steps for g in step.text_groups]]))


@lru_cache(maxsize=4)
def step_members(workflow: WorkflowContext) -> frozenset[str]:
    """Return the names of all members that some step has."""
    return frozenset().union(*[step.raw for step in workflow.all_steps])


def has_braces(workflow: WorkflowContext) -> bool:
    """Return whether some text of a step has what a token starts with."""
    texts = text_index(workflow)
    if not texts.has(("{{",)):
        return False
    return any(step is not None for step, _ in texts.texts_with(("{{",)))


def sentence_at(text: str, position: int) -> str:
    """Return the sentence around a position."""
    start = max(0, position - _SENTENCE)
    start = max([start, *(at + len(end) for end in _ENDS if (at := text.rfind(end, start, position)) >= 0)])
    stop = position + _SENTENCE
    return text[start : min([stop, *(at for end in _ENDS if (at := text.find(end, position, stop)) >= 0)])]


def excerpt(text: str) -> str:
    """Return author text for a message: on one line, and not longer than a glance."""
    flat = " ".join(text.split())
    return quoted(flat, _SHOWN)


def listing(names: Iterable[object]) -> str:
    """Return the names that an author chose, for a message."""
    return ", ".join(map(quoted, names)) or "(none)"


def label(step: Step) -> str:
    """Return how a message about a step starts."""
    inside = f" (in loop {quoted(step.around.id)})" if step.around is not None else ""
    kind = "loop" if step.kind == "loop" else "step"
    return f"{kind} {step_name(step.id, step.pointer)}{inside}"


def is_reported(name: str, pointer: str, workflow: WorkflowContext) -> bool:
    """Return whether an earlier phase already reported the rule at a place."""
    return any(finding.name == name and finding.pointer == pointer for finding in workflow.earlier)


def value_at(root: object, pointer: str) -> object:
    """Return the value at a pointer, None when there is none."""
    try:
        return pointers.resolve(root, pointer)
    except (KeyError, ValueError):
        return None


def text_at(root: object, pointer: str) -> str | None:
    """Return the string at a pointer, None when there is none."""
    value = value_at(root, pointer)
    return value if isinstance(value, str) else None


def use_suggestion(finding: Finding, workflow: WorkflowContext) -> Fix | None:
    """Replace the name at the finding's place by the nearest known one.

    Text from a template is not in this document: there the place is the whole call.
    """
    suggestion = finding.suggestion
    authored = text_at(workflow.definition, finding.pointer)
    if suggestion is None or authored is None or authored == suggestion:
        return None
    return unsafe(f"use {quoted(suggestion)}", Replace(finding.pointer, suggestion))


def is_text(value: object) -> TypeGuard[str]:
    """Return whether a value is a string that is not blank."""
    return isinstance(value, str) and not js.is_blank(value)


def expressions(text: str) -> Iterator[str]:
    """Yield what is between `{{` and `}}`, without the pairs that contain a single closing brace.

    The same as matching `{{([^}]*)}}` again and again, but linear on text full of opening braces.
    """
    start = text.find("{{")
    while start >= 0:
        end = text.find("}", start + 2)
        if end < 0:
            return
        if text.startswith("}}", end):
            yield text[start + 2 : end]
        start = text.find("{{", end + 1)


def mentions(text: str, name: str) -> bool:
    """Return whether a text has the name as a separate word."""
    start = text.find(name) if name else -1
    while start >= 0:
        end = start + len(name)
        is_word = not (start and _in_name(text[start - 1])) and not (end < len(text) and _in_name(text[end]))
        if is_word:
            return True
        start = text.find(name, end)
    return False


def _in_name(character: str) -> bool:
    return character == "_" or character == "$" or (character.isascii() and character.isalnum())
