"""Finds the names of variables in all texts, and reads what is said about each."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property, partial

from workrail_lint.base.patterns import Pattern
from workrail_lint.base.result import Record
from workrail_lint.systems.workrail.analysis.definitions_and_uses import (
    CALLER,
    LISTED,
    MENTIONED,
    SET,
    STATED,
    UNDELIVERED,
    Definition,
    Domain,
    Mention,
    Origin,
    Text,
)
from workrail_lint.systems.workrail.analysis.domains import Statement, read_domain
from workrail_lint.systems.workrail.analysis.prose import (
    CONDITION,
    PLAIN,
    Reading,
    comes_from_caller,
    is_plain_word,
    read_mention,
)
from workrail_lint.systems.workrail.analysis.texts import CALLER_FIELDS, Texts

# A search for each name is cheaper than an index of all words as long as the names are few.
_FEW_NAMES = 60
_WORD = Pattern(r"[\w$]+")
_MARKED = Pattern(r"`(?:context\.)?([A-Za-z_][A-Za-z0-9_]*)`")
# A plain word that a sentence calls a variable, or sets to something.
_CALLED_VARIABLE = Pattern(r"\bvariables?,? (?:called |named )?[\"'*]?([a-z_][A-Za-z0-9_]{2,})\b")
# The first letter comes before the test that a word begins there: such a pattern is searched three times as fast.
_SET_WORD = Pattern(
    r"[RSrs](?<!\w[RSrs])(?:(?<=[Ss])(?:et|tore)|(?<=[Rr])ecord) (?:the )?([a-z_][A-Za-z0-9_]{2,}) (?:to|as)\b"
)
_CALLED_WORD = Pattern(r"\w+\(?")  # with the bracket of a call
# Small letters and digits as `a`, capitals as `A`, and everything else as a blank.
_SHAPES = bytes(32 if not chr(code).isalnum() or code > 127 else 65 if 65 <= code <= 90 else 97 for code in range(256))
_IN_NAMES = ("_", "$")  # besides letters and digits
_KEY = Pattern(r"[A-Za-z_][A-Za-z0-9_]*")
_TOKEN = Reading(PLAIN, "")


def is_identifier(name: str) -> bool:
    """Return whether a name has letters, digits, `_`, `$` and `-` only, and begins with a letter, `_` or `$`."""
    return name.isascii() and name[:1] != "-" and name.replace("$", "_").replace("-", "_").isidentifier()


class _Place(Record):
    """Where a text has the name."""

    __slots__ = ("is_token", "start", "text")

    def __init__(self, text: Text, start: int, is_token: bool) -> None:
        self.text = text
        self.start = start
        self.is_token = is_token  # in braces


class Said:
    """The definitions, mentions and domains of one name. Texts are read in order, and only as many as are needed."""

    __slots__ = ("_definitions", "_keys", "_mentions", "_name", "_places", "_roles", "_setters", "_statements")

    def __init__(self, name: str, keys: list[Text], places: list[_Place]) -> None:
        self._name = name
        self._keys = keys  # the texts of `outputRequired` under this name
        self._places = places
        self._roles: list[str | None] = []  # of the places that were read
        self._definitions = [
            Definition(name, text.step, text.pointer, (0, 0), "key", STATED, text.text, text.when, text.origin)
            for text in keys
        ]
        self._setters = self._definitions.copy()
        self._mentions: list[Mention] = []
        self._statements: list[Domain] | None = None

    @property
    def definitions(self) -> list[Definition]:
        """Return what sets the variable, or may set it."""
        self._read_until(len(self._places))
        return self._definitions

    @property
    def mentions(self) -> list[Mention]:
        self._read_until(len(self._places))
        return self._mentions

    def setter(self, number: int) -> Definition | None:
        """One of the definitions that count as setting the variable, in the order of the texts."""
        return self._one_of(self._setters, number)

    def definition(self, number: int) -> Definition | None:
        """One of the definitions, in the order of the texts."""
        return self._one_of(self._definitions, number)

    def _one_of(self, definitions: list[Definition], number: int) -> Definition | None:
        while len(definitions) <= number:
            if len(self._roles) == len(self._places):
                return None
            self._read()
        return definitions[number]

    def give(self, definition: Definition) -> None:
        """Add a definition that no sentence makes, before all others."""
        self._definitions.insert(0, definition)
        self._setters.insert(0, definition)

    @property
    def statements(self) -> list[Domain]:
        """Return what is said about the values."""
        if self._statements is None:
            self._statements = self._read_statements()
        return self._statements

    def _read_until(self, count: int) -> None:
        while len(self._roles) < count:
            self._read()

    def _read(self) -> None:
        """Read the next place."""
        place = self._places[len(self._roles)]
        text, start, is_token = place.text, place.start, place.is_token
        step, field, whole = text.step, text.field, text.text
        span = (start, start + len(self._name))
        reading = _TOKEN if is_token else read_mention(whole, *span, field)
        if reading is None:
            self._roles.append(None)
            return
        role, kind = reading.role, reading.kind
        self._roles.append(role)
        confidence = role
        if field in CALLER_FIELDS:
            confidence, kind = CALLER, "token" if is_token else "caller"
        elif role in (PLAIN, MENTIONED) and comes_from_caller(whole, *span):
            confidence, kind, step = CALLER, "caller", None
        elif role in (CONDITION, PLAIN):
            self._mentions.append(Mention(self._name, step, text.pointer, span, role, field))
            return
        elif step is None:
            confidence = MENTIONED
        elif not text.delivered and role in (STATED, LISTED):
            confidence = UNDELIVERED
        origin = Origin(text.pointer, text.via)
        definition = Definition(self._name, step, text.pointer, span, kind, confidence, whole, text.when, origin)
        self._definitions.append(definition)
        if confidence in SET:
            self._setters.append(definition)

    def _role(self, number: int) -> str | None:
        self._read_until(number + 1)
        return self._roles[number]

    def _read_statements(self) -> list[Domain]:
        name, size = self._name, len(self._name)
        result: list[Domain] = []
        for text in self._keys:
            # No sentence sets a key, so that bullets below it are not its values.
            statement = read_domain(f"{name}: {text.text}", 0, size, lambda: LISTED)
            if statement is not None:
                result.append(_domain(name, statement, text, (0, 0)))
        is_word = is_plain_word(name)
        for number, place in enumerate(self._places):
            text, start = place.text, place.start
            if place.is_token or (is_word and self._role(number) is None):
                continue
            statement = read_domain(text.text, start, start + size, partial(self._role, number))
            if statement is not None:
                result.append(_domain(name, statement, text, (start, start + size)))
        return result


def _domain(name: str, statement: Statement, text: Text, span: tuple[int, int]) -> Domain:
    return Domain(name, statement.values, statement.closed, statement.kind, text.pointer, span, text.text)


class Scanner:
    """Finds names in all texts at once."""

    def __init__(self, texts: Texts) -> None:
        self.texts = texts
        self.whole = texts.whole
        self._searches = 0

    def candidates(self) -> set[str]:
        """Every name in backticks or called a variable, every word in camel case, the keys of `outputRequired`."""
        whole = self.whole
        plain = [
            *(_CALLED_VARIABLE.findall(whole) if "ariable" in whole else ()),
            *(_SET_WORD.findall(whole) if "et " in whole or "ecord " in whole or "tore " in whole else ()),
        ]
        return {*_MARKED.findall(whole), *plain, *self._camel_words(), *filter(_KEY.fullmatch, self.texts.outputs)}

    def _camel_words(self) -> Iterator[str]:
        """The words that have a capital after a small letter; bytes are searched for one far faster than words."""
        whole = self.whole
        shapes = whole.encode("latin-1", "replace").translate(_SHAPES)
        at = shapes.find(b"aA")
        while at >= 0:
            start = shapes.rfind(b" ", 0, at) + 1
            match = _CALLED_WORD.match(whole, start)
            assert match is not None
            word, before = match[0], whole[start - 1 : start]
            if word.isalnum() and word.isascii() and word[0].islower() and not (before.isalnum() or before == "_"):
                yield word
            at = shapes.find(b"aA", match.end())

    def said(self, name: str) -> Said:
        """Return what the texts say about a name."""
        places: list[_Place] = []
        if not is_identifier(name):
            return Said(name, [], places)  # no prompt can ask for it by such a name
        texts, whole = self.texts, self.whole
        for at in self._hits(name):
            head = whole[at - 4 if at > 4 else 0 : at]
            is_token = "{{" in head and not head.rpartition("{{")[2].strip()
            text, start = texts.at(at)
            if not is_token or text.field in CALLER_FIELDS:
                places.append(_Place(text, start, is_token))
        return Said(name, [texts[number] for number in texts.outputs.get(name, ())], places)

    def occurs(self, word: str) -> bool:
        """Return whether an agent reads the word, in any case."""
        # Mostly it is there as it is written, and then the texts need not be made lower case.
        if any(self.texts.at(place)[0].delivered for place in _places_of(word, self.whole)):
            return True
        return any(True for _ in _places_of(word.lower(), self._lowered))

    @cached_property
    def _lowered(self) -> str:
        return "\n".join(map(str.lower, self.texts.read))  # one by one: most are ASCII, which is far faster

    def _hits(self, name: str) -> list[int]:
        """Where the name is a word of its own."""
        whole, size = self.whole, len(name)
        result: list[int] = []
        for at in self._places(name):
            before, after = whole[at - 1 : at], whole[at + size : at + size + 1]
            if before.isalnum() or after.isalnum() or before in _IN_NAMES or after in _IN_NAMES:
                continue
            if before != "." or whole.endswith("context.", 0, at):
                result.append(at)
        return result

    def _places(self, name: str) -> list[int]:
        """Where the name is, or a word that it is a part of."""
        whole = self.whole
        self._searches += 1
        if self._searches > _FEW_NAMES:
            first = _WORD.match(name)
            return [at for at in self._words.get(first[0], ()) if whole.startswith(name, at)] if first else []
        result: list[int] = []
        at = whole.find(name)
        while at >= 0:
            result.append(at)
            at = whole.find(name, at + len(name))
        return result

    @cached_property
    def _words(self) -> dict[str, list[int]]:
        result: dict[str, list[int]] = {}
        for match in _WORD.finditer(self.whole):
            result.setdefault(match[0], []).append(match.start())
        return result


def _places_of(word: str, text: str) -> Iterator[int]:
    """Where a text has something as a word of its own."""
    start = text.find(word) if word else -1
    while start >= 0:
        end = start + len(word)
        if not _in_word(text[start - 1 : start]) and not _in_word(text[end : end + 1]):
            yield start
        start = text.find(word, start + 1)


def _in_word(character: str) -> bool:
    return character.isalnum() or character == "_" or character == "-"
