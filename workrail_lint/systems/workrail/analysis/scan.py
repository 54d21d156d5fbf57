"""Finds the names of variables in all texts, and reads what is said about each."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator
from functools import cached_property
from itertools import accumulate

from workrail_lint.base.patterns import Pattern
from workrail_lint.systems.workrail.analysis.domains import read_domain
from workrail_lint.systems.workrail.analysis.prose import CONDITION, PLAIN, read_mention
from workrail_lint.systems.workrail.analysis.records import (
    CALLER,
    LISTED,
    MENTIONED,
    STATED,
    UNDELIVERED,
    Definition,
    Domain,
    Mention,
    Origin,
    Text,
)
from workrail_lint.systems.workrail.analysis.texts import CALLER_FIELDS

_BREAK = "\n\0\n"
# A search for each name is cheaper than an index of all words as long as the names are few.
_FEW_NAMES = 60
_WORD = Pattern(r"[\w$]+")
_MARKED = Pattern(r"`(?:context\.)?([A-Za-z_][A-Za-z0-9_]*)`")
_CALLED_WORD = Pattern(r"\w+\(?")  # with the bracket of a call
_KEY = Pattern(r"[A-Za-z_][A-Za-z0-9_]*")
_tuple = tuple.__new__


def is_identifier(name: str) -> bool:
    """Whether a name has letters, digits, `_`, `$` and `-` only, and begins with a letter, `_` or `$`."""
    return name.isascii() and name[:1] != "-" and name.replace("$", "_").replace("-", "_").isidentifier()


class Findings:
    """What the texts say about each name."""

    __slots__ = ("definitions", "domains", "mentions", "names")

    def __init__(self) -> None:
        self.names: set[str] = set()
        self.definitions: dict[str, list[Definition]] = {}
        self.mentions: dict[str, list[Mention]] = {}
        self.domains: dict[str, list[Domain]] = {}


class Scanner:
    """All texts of a workflow as one, so that a name is found by one search."""

    def __init__(self, texts: list[Text]) -> None:
        self.texts = texts
        strings = [text.text for text in texts]
        self.whole = _BREAK.join(strings)
        self._starts = [0, *accumulate(map(len(_BREAK).__add__, map(len, strings)))]  # and one after the end
        self._searches = 0

    def candidates(self) -> set[str]:
        """Every name in backticks, every word in camel case, and the keys of `outputRequired`."""
        found = set(_MARKED.findall(self.whole))
        capital = [word for word in set(_CALLED_WORD.findall(self.whole)) if not word.islower()]
        found.update([word for word in capital if word[0].islower() and word.isascii() and word.isalnum()])
        for text in self.texts:
            if text.field == "outputRequired" and _KEY.fullmatch(key := output_key(text.pointer)):
                found.add(key)
        return found

    def scan(self, names: Iterable[str], found: Findings) -> None:
        """Add what is said about names that were not looked for yet."""
        keys = self._keys
        for name in names:
            if name in found.names:
                continue
            found.names.add(name)
            if not is_identifier(name):
                continue  # no prompt can ask for it by such a name
            for text in keys.get(name, ()):
                self._add_key(name, text, found)
            for index, start in self._hits(name):
                self._read(name, self.texts[index], start, found)

    @cached_property
    def _keys(self) -> dict[str, list[Text]]:
        """The texts of `outputRequired` by their keys."""
        found: dict[str, list[Text]] = {}
        for text in self.texts:
            if text.field == "outputRequired":
                found.setdefault(output_key(text.pointer), []).append(text)
        return found

    def occurs(self, word: str) -> bool:
        """Whether an agent reads the word, in any case."""
        lowered = self._lowered
        word = word.lower()
        start = lowered.find(word) if word else -1
        while start >= 0:
            end = start + len(word)
            if not _in_word(lowered[start - 1 : start]) and not _in_word(lowered[end : end + 1]):
                return True
            start = lowered.find(word, start + 1)
        return False

    @cached_property
    def _lowered(self) -> str:
        return "\n".join([text.text for text in self.texts if text.delivered]).lower()

    def _hits(self, name: str) -> Iterator[tuple[int, int]]:
        """Where the name is a word of its own, as (text, offset)."""
        whole, size = self.whole, len(name)
        self._searches += 1
        for at in self._places(name):
            if whole[at - 1 : at] != "." or whole.endswith("context.", 0, at):
                if _in_name(whole[at + size : at + size + 1]):
                    continue
                index = bisect_right(self._starts, at) - 1
                yield index, at - self._starts[index]

    def _places(self, name: str) -> Iterator[int]:
        """Where a word begins that begins with the name."""
        whole = self.whole
        if self._searches > _FEW_NAMES:
            first = _WORD.match(name)
            for at in self._words.get(first[0], ()) if first else ():
                if whole.startswith(name, at):
                    yield at
            return
        at = whole.find(name)
        while at >= 0:
            if not _in_name(whole[at - 1 : at]):
                yield at
            at = whole.find(name, at + len(name))

    @cached_property
    def _words(self) -> dict[str, list[int]]:
        found: dict[str, list[int]] = {}
        for match in _WORD.finditer(self.whole):
            found.setdefault(match[0], []).append(match.start())
        return found

    def _add_key(self, name: str, text: Text, found: Findings) -> None:
        found.definitions.setdefault(name, []).append(
            Definition(name, text.step, text.pointer, (0, 0), "key", STATED, text.text, text.when, text.origin)
        )
        # No sentence sets a key, so that bullets below it are not its values.
        statement = read_domain(f"{name}: {text.text}", 0, len(name), LISTED)
        if statement is not None:
            found.domains.setdefault(name, []).append(
                Domain(name, statement.values, statement.closed, statement.kind, text.pointer, (0, 0), text.text)
            )

    def _read(self, name: str, text: Text, start: int, found: Findings) -> None:
        end = start + len(name)
        opening = text.text.rfind("{{", max(0, start - 4), start)
        if opening >= 0 and not text.text[opening + 2 : start].strip():
            if text.field in CALLER_FIELDS:
                self._define(name, text, (start, end), "token", CALLER, found)
            return
        reading = read_mention(text.text, start, end, text.field)
        if reading is None:
            return
        role, kind = reading
        span = (start, end)
        if text.field in CALLER_FIELDS:
            self._define(name, text, span, "caller", CALLER, found)
        elif role in (CONDITION, PLAIN):
            found.mentions.setdefault(name, []).append(
                _tuple(Mention, (name, text.step, text.pointer, span, role, text.field))
            )
        else:
            confidence = role
            if text.step is None:
                confidence = MENTIONED
            elif not text.delivered and role in (STATED, LISTED):
                confidence = UNDELIVERED
            self._define(name, text, span, kind, confidence, found)
        statement = read_domain(text.text, start, end, role)
        if statement is not None:
            found.domains.setdefault(name, []).append(
                Domain(name, statement.values, statement.closed, statement.kind, text.pointer, span, text.text)
            )

    @staticmethod
    def _define(name: str, text: Text, span: tuple[int, int], kind: str, confidence: str, found: Findings) -> None:
        pointer, step, _, _, when, via, whole = text
        origin = _tuple(Origin, (pointer, via))
        found.definitions.setdefault(name, []).append(
            _tuple(Definition, (name, step, pointer, span, kind, confidence, whole, when, origin))
        )


def output_key(pointer: str) -> str:
    """The key that an `outputRequired` text belongs to."""
    return pointer.rpartition("/")[2].replace("~1", "/").replace("~0", "~")


def _in_name(character: str) -> bool:
    return character.isalnum() or character == "_" or character == "$"


def _in_word(character: str) -> bool:
    return character.isalnum() or character == "_" or character == "-"
