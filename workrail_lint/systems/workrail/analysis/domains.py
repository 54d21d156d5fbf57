"""Which values a text says a variable has.

A statement follows the name directly. It is closed when it says that these are all: "one of", alternatives with `/`,
`|` or "or", true and false, or a list of bullets, each of which begins with a value.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from workrail_lint.base.patterns import Pattern, folded
from workrail_lint.base.result import Record
from workrail_lint.systems.workrail.analysis.definitions_and_uses import STATED
from workrail_lint.systems.workrail.analysis.prose import (
    CONDITION,
    MAX_LINES,
    WINDOW,
    has_any,
    sentence_at,
    sentence_start,
)
from workrail_lint.systems.workrail.condition_logic import lenient_equal, normal_text

MAX_ITEMS = 40
BOOLEAN, NUMBER, LIST, ONE_OF, ALTERNATIVES, BULLETS, VALUE = (
    "boolean",
    "number",
    "list",
    "one-of",
    "alternatives",
    "bullets",
    "value",
)

_QUOTES = "`'\"*_"
_IN_CONTEXT = Pattern(r"[`'\"*_]*(?:\s+in\s+(?:the\s+)?`?context`?)?")
_LEAD = Pattern(
    r"\s*(?:,(?=\s+(?:an?|the)\s+(?:ordered\s+|json\s+|JSON\s+)?(?:array|list|number|integer|count|boolean)\b)|\(|:=|:|==?(?!>)|<|[—–]|--?(?=\s)|(?:as|to|is(?:\s+set\s+to)?|set\s+to|are|(?:must|should|MUST)\s+be(?:\s+set)?(?:\s+(?:to|as))?|with\s+(?:the\s+|a\s+)?values?(?:\s+of)?)(?=[\s:]))\s*",
)
_LEADING = frozenset(",(:=<atimswM—–-")  # what that begins with
_ONE_OF_WORDS = ("one", "either")
_ONLY_THESE = ("one of", "either", "these values", "following values")
_ONE_OF_STARTS = frozenset("(:beosBEOS\u017f")
_BOOLEAN_WORDS = ("bool", "whether", "true", "false")
_LIST_WORDS = ("array", "list", "[]")
_NUMBER_WORDS = ("number", "integer", "count", "length", "total of", "sum of", "amount of", "how many")
_ARTICLES = ("the", "a", "current", "total", "its")
# The first characters of the patterns below.
_BOOLEAN_STARTS, _LIST_STARTS, _NUMBER_STARTS = map(frozenset, ("asbwtf`'\"", "taofcjls", "tacnihs`'-"))
_ONE_OF = Pattern(
    r"[(:]?\s*(?:be\s+)?(?:exactly\s+|strictly\s+)?(?:one\s+of|either)\b(?:\s+(?:the\s+following|these))?(?:\s+values)?\s*[:(]?\s*",
    re.IGNORECASE,
)
# In lower case, as are the two after it.
_BOOLEAN = Pattern(r"(?:(?:a|strict)\s+)?[`'\"]?(?:boolean|bool|whether)\b|[`'\"]?(?:true|false)\b")
_NUMBER = Pattern(
    r"(?:(?:the|a|an|current|total|its)\s+)*(?:(?:number|integer|count|length)\b|(?:total|sum|amount)\s+of\b|how\s+many\b|[`']?-?\d+(?:\.\d+)?\b(?!\s*[-/|]))",
)
_LIST = Pattern(r"(?:(?:the|a|an|ordered|final|full|complete|json)\s+)*(?:(?:array|list)\b|string\[\]|object\[\])")
_ITEM = Pattern(
    r"(?:`'([^`'\n]{1,60})'`|`\"([^`\"\n]{1,60})\"`|`([^`\n]{1,60})`|'([^'\n]{1,60})'|\"([^\"\n]{1,60})\"|([A-Za-z0-9][\w-]{0,59}))"
)
_REMARK = Pattern(r"\s*\([^()\n]{0,200}\)")
_SEPARATOR = Pattern(r"\s*(,\s*or\b|,|/|\||\bor\b)\s*", re.IGNORECASE)
_CONNECTIVES = (
    "based depending if when from using for in and with according by per so then where because unless after before "
    "only to on as at that which but rather plus since until via given while"
)
# "Low / Medium / High confidence band".
_MEASURES = "confidence band level rating priority severity risk tier"
_GOES_ON = frozenset((_CONNECTIVES + " " + _MEASURES).split())
# Words that begin a description, never a value.
_DESCRIBING = (
    "the a an this that these those its their your any each all not no set null empty present unknown more most "
    "something anything other others missing absent what how why who per as is are be it one both neither "
    "array list number integer count string object boolean bool whether exactly"
)
_NO_VALUE = frozenset(_DESCRIBING.split())
_WORD = Pattern(r"[A-Za-z][\w-]*")
_MEMBERS = Pattern(r"\b(?:with|having|containing)\b", re.IGNORECASE)
_BACKTICKED = Pattern(r"`([A-Za-z_]\w*)`")
_BRACED = Pattern(r"\{([^{}\n]{1,300})\}")
_MEMBER_NAME = Pattern(r"[`'\"]?([A-Za-z_]\w*)[`'\"]?\??\s*(?:[:,}=]|$)")
_BULLET_VALUE = Pattern(
    r"\s*(?:[-*+•]|\(?(?:\d{1,3}|[a-i])[.)])\s+[*_]*(?:`'?\"?([^`'\"\n]{1,60})'?\"?`|'([^'\n]{1,60})'|\"([^\"\n]{1,60})\"|([A-Za-z][\w-]{0,59}))[*_]*"
    r"\s*(?::|=|--|—|–|-\s|\(|->|→|\bif\b|\bwhen\b|([.,;]?\s*\Z))"
)
# The first two lines of a table, and the first cell of a row that is a single word.
_TABLE = Pattern(r"\n?[ \t]*\|[^\n|]{1,40}\|[^\n]{0,200}\n[ \t]*\|[ \t]*:?-{2,}[-| :\t]*\n")
_CELL = Pattern(r"[ \t]*\|[ \t]*[`'\"*_]{0,2}([A-Za-z][\w-]{0,59})[`'\"*_]{0,2}[ \t]*\|")
# The sentence after one that sets a variable: "Allowed values: a, b, c.", "Use `a` when …, and `b` otherwise."
_VALUES_FOLLOW = Pattern(
    r"(?:the |its )?(?:(?:allowed|possible|valid|permitted|accepted) )?(?:values|options|choices)(?: are)?\s*:?\s+"
    r"(?:(?:exactly )?one of:?\s+)?|(?:it|this) (?:is|must be|has to be) (?:exactly )?one of:?\s+",
    re.IGNORECASE,
)
_CASES_FOLLOW = Pattern(r"(?:use|choose|pick|write|say|put|take) (?=[`'\"])", re.IGNORECASE)
_CASE_VALUE = Pattern(
    r"(?:`'?\"?([^`'\"\n]{1,60})'?\"?`|'([^'\n]{1,60})'|\"([^\"\n]{1,60})\"),? "
    r"(?:only )?(?:if|when|for|where|once|as long as|while|otherwise|in (?:all|every) other)\b"
)
_CASES_END = Pattern(r"\n|[.!?](?=\s|$)")
# "(1) low if …, (2) high otherwise", "(a) ship …; (b) hold …".
_ENUMERATED = Pattern(
    r"\(?(?<!\w)([1-9a-i])\)\s*[*_]*(?:`'?\"?([^`'\"\n]{1,60})'?\"?`|'([^'\n]{1,60})'|\"([^\"\n]{1,60})\"|([A-Za-z][\w-]{0,59}))"
)
_LABELS = ("123456789", "abcdefghi")
_BEFORE_LABELS = Pattern(
    r"[\s:=]*(?:(?:to|as|is|be|one|of|exactly|either|these|the|following|values?|follows|accordingly|from)[\s:,]+){0,5}\(?"
)
_CASES = ("if", "when", "unless", "once", "after", "otherwise", "else", "for")
_CASE = Pattern(r"\W*(?:\d+[.)]\s*)?(?:if|when|whenever|unless|once|after|otherwise|else|for)\b")
_CHANGES = (
    *("update", "raise", "grade", "lower", "adjust", "change", "bump", "escalate", "promote", "demote", "increase"),
    *("reduce", "move", "revise", "reclassify", "re-classify", "reset", "re-set", "switch"),
)
_CHANGE = Pattern(
    r"\b(?:update|raise|upgrade|downgrade|lower|adjust|change|bump|escalate|promote|demote|increase|reduce|move|revise|"
    r"re-?classify|re-?set|switch)\b"
)
_FIRST = Pattern(r"\b(?:set|classify|initiali[sz]e|choose|determine|derive|assign|define)\b")
_SETS = Pattern(r"\b(?:set|derive|classify|choose|determine|decide|select|assign|pick)\b", re.IGNORECASE)


class Statement(Record):
    """The values that one sentence lists for a variable."""

    __slots__ = ("closed", "kind", "values")

    def __init__(self, kind: str, values: tuple[Any, ...], closed: bool) -> None:
        self.kind = kind
        self.values = values
        self.closed = closed

    @property
    def example(self) -> Any:
        """Return a value that fits."""
        match self.kind:
            case _ if self.kind == BOOLEAN:
                return True
            case _ if self.kind == NUMBER:
                return 1
            case _ if self.kind == LIST:
                return [{str(member): f"example {member}" for member in self.values} or "example"]
            case _:
                return self.values[0]


_TRUE_OR_FALSE = Statement(BOOLEAN, (True, False), True)
_A_NUMBER = Statement(NUMBER, (), False)


def read_domain(text: str, start: int, end: int, role: Callable[[], str | None]) -> Statement | None:
    """The statement that follows the name at these offsets, if there is one; few depend on the role of the name."""
    stop = text.find("\n", end, end + WINDOW)
    rest = text[end : stop if stop >= 0 else end + WINDOW]
    following = rest.lstrip(_QUOTES)
    at = len(rest) - len(following)
    if following[:1].isspace():
        following = following.lstrip()
        if following.startswith("in") and (match := _IN_CONTEXT.match(rest)):
            at = match.end()
            following = rest[at:].lstrip()
    first = following[:1]
    result: Statement | None = None
    if first in _LEADING:
        lead = _LEAD.match(rest, at)
        if lead is not None:
            result = _statement(rest, lead.end(), lead[0].strip())
            if result is not None and result.kind == ALTERNATIVES and _is_partial(text, start, lead[0].strip()):
                result = Statement(ALTERNATIVES, result.values, False)
    elif first == "!" and following.startswith("!="):
        return _single(rest, len(rest) - len(following[2:].lstrip()))
    if result is None and first in _ONE_OF_STARTS and rest[at] == " " and has_any(following, _ONE_OF_WORDS):
        one_of = _ONE_OF.match(rest, at)
        if one_of is not None:
            result = _listed(rest, one_of.end(), ONE_OF)
    if result is None and (")" in rest) and (enumerated := _enumerated(rest, at)) is not None:
        result = enumerated
    if result is None:
        if stop >= 0 and rest.rstrip().endswith(":") and role() == STATED:
            sentence = sentence_at(text, start, end)
            if sentence.endswith(":") and _SETS.search(sentence):
                return _bullets(text, stop + 1, bare=has_any(sentence, _ONLY_THESE))
        elif following.startswith(". ") and role() == STATED:
            return _in_next_sentence(rest, len(rest) - len(following[1:].lstrip()))
    elif result.closed and result.kind != BOOLEAN and role() == CONDITION:
        return Statement(result.kind, result.values, False)
    return result


def read_stated_domain(text: str, start: int, end: int) -> Statement | None:
    """Return the statement that follows a name at these offsets, where the text sets it."""
    return read_domain(text, start, end, lambda: STATED)


def _is_partial(text: str, start: int, lead: str) -> bool:
    """Return whether a sentence changes a value or applies only in some case: then there may be other values."""
    if not lead.endswith(("to", "as")):
        return False
    line = text[max(text.rfind("\n", 0, start) + 1, start - WINDOW) : start]
    words = folded(line[sentence_start(line) :])
    if _has(words, _CASES) and _CASE.match(words):
        return True
    return _has(words, _CHANGES) and _CHANGE.search(words) is not None and not _FIRST.search(words)


def _statement(rest: str, at: int, lead: str) -> Statement | None:
    # A pattern is asked where the words are that it needs: compiling it takes longer than most checks do.
    words = folded(rest[at:])
    first = words[:1]
    one_of = _ONE_OF.match(rest, at) if "one" in words or "either" in words else None
    if one_of is not None:
        return _listed(rest, one_of.end(), ONE_OF)
    if first in _BOOLEAN_STARTS and _has(words, _BOOLEAN_WORDS) and _BOOLEAN.match(words):
        listed = _listed(rest, at, ALTERNATIVES, lead) if "or" in words and words.count(",") else None
        is_mixed = listed is not None and any(isinstance(value, str) for value in listed.values)
        return listed if is_mixed else _TRUE_OR_FALSE
    if first in _LIST_STARTS and _has(words, _LIST_WORDS) and _LIST.match(words):
        return Statement(LIST, _members(rest, at), False)
    if (first in _NUMBER_STARTS or first.isdecimal()) and (
        (_has(words, _NUMBER_WORDS) or _may_begin_with_number(words)) and _NUMBER.match(words)
    ):
        return _A_NUMBER
    result = _listed(rest, at, ALTERNATIVES, lead) if "/" in words or "|" in words or "or" in words else None
    if result is not None:
        return result
    if lead in ("=", ":=", "==") or lead.startswith("to") or lead.endswith("to"):
        return _single(rest, at, bare=lead in ("=", ":=", "=="))
    return None


def _has(text: str, words: tuple[str, ...]) -> bool:
    return any(map(text.__contains__, words))


def _may_begin_with_number(text: str) -> bool:
    """Return whether there is a digit, after at most a quote and a sign where no article comes first."""
    return any(map(str.isdecimal, text if text.startswith(_ARTICLES) else text[:3]))


def _ends(rest: str, at: int) -> bool:
    """Return whether a value is over: nothing follows, or a mark."""
    following = rest[at:].lstrip()
    return not following or following[0] in ".,;:)>]*`—–" or following.startswith(("--", "->"))


def _single(rest: str, at: int, *, bare: bool = True) -> Statement | None:
    """One value that the variable may have, among others."""
    match = _ITEM.match(rest, at)
    if match is None or (match[6] is not None and not bare):
        return None
    value = _value(match)
    if value is None or (match[6] is not None and not _ends(rest, match.end())):
        return None
    if value in (True, False) and isinstance(value, bool):
        return _TRUE_OR_FALSE
    return Statement(VALUE, (value,), False)


def _listed(rest: str, at: int, kind: str, lead: str = "") -> Statement | None:
    """A list of values, all of one form."""
    values: list[Any] = []
    separators: set[str] = set()
    bare: bool | None = None
    last = False
    has_remarks = "(" in rest
    match = _ITEM.match(rest, at)
    while match is not None and len(values) < MAX_ITEMS:
        is_bare = match[6] is not None
        value = _value(match)
        if value is None or (bare is not None and is_bare is not bare):
            return None if bare is None or is_bare else _closed(values, separators, kind, lead)
        bare = is_bare
        values.append(value)
        at = match.end()
        if is_bare and rest[at : at + 1] == "." and rest[at + 1 : at + 2].isalnum():
            return None  # a file or a path
        remark = _REMARK.match(rest, at) if has_remarks else None
        if remark is not None:
            at = remark.end()
        if last:
            break
        separator = _SEPARATOR.match(rest, at)
        if separator is None:
            break
        mark = separator[1].lower().replace(" ", "")
        match = _ITEM.match(rest, separator.end())
        if match is None or (match[6] is not None) is not bare:
            break
        separators.add("or" if mark.endswith("or") else mark)
        last = mark.endswith("or")
        at = separator.end()
    if bare and not _ends(rest, at):
        word = _WORD.match(rest.lstrip() if at == 0 else rest[at:].lstrip())
        if word is None or word[0].lower() not in _GOES_ON:
            return None
    return _closed(values, separators, kind, lead)


def _closed(values: list[Any], separators: set[str], kind: str, lead: str) -> Statement | None:
    if len(values) < 2:
        return None
    needs_marks = lead in ("=", "<", ":=", "==")
    if kind == ALTERNATIVES and (separators <= {","} or (needs_marks and separators.isdisjoint("/|"))):
        return None
    if all(isinstance(value, bool) for value in values):
        return _TRUE_OR_FALSE
    return Statement(kind, tuple(values), True)


def _value(match: re.Match[str]) -> Any:
    """The value that an item names; None when it is none."""
    text = match[match.lastindex or 0].strip()
    lowered = text.lower()
    if not text or "." in text or lowered in _NO_VALUE or (" " in text and match[3] is not None and "=" in text):
        return None
    if lowered in ("true", "false"):
        return lowered == "true"
    return text


def _members(rest: str, at: int) -> tuple[str, ...]:
    """The members that the items of a list have."""
    braced = _BRACED.search(rest, at)
    if braced is not None:
        names = [match[1] for match in _MEMBER_NAME.finditer(braced[1])][:MAX_ITEMS]
        return tuple(dict.fromkeys(names))
    match = _MEMBERS.search(rest, at)
    if match is None:
        return ()
    stop = rest.find(". ", match.end())
    return tuple(dict.fromkeys(_BACKTICKED.findall(rest[match.end() : stop if stop >= 0 else len(rest)])[:MAX_ITEMS]))


def _enumerated(rest: str, at: int) -> Statement | None:
    """The values after labels such as (1), (2) or (a), (b), all of one form."""
    lead = _BEFORE_LABELS.match(rest, at)
    first = lead.end() if lead is not None else at
    if rest[first : first + 2] not in ("1)", "a)"):
        return None
    labels = _LABELS[0] if rest[first] == "1" else _LABELS[1]
    values: list[Any] = []
    is_bare: bool | None = None
    for match in _ENUMERATED.finditer(rest, first):
        if len(values) >= len(labels) or match[1] != labels[len(values)]:
            continue
        value = match[match.lastindex or 0].strip()
        if value.lower() in _NO_VALUE or (is_bare is not None and is_bare is not (match[5] is not None)):
            return None
        is_bare = match[5] is not None
        values.append({"true": True, "false": False}.get(value.lower(), value))
    if len(values) < 2:
        return None
    return (
        _TRUE_OR_FALSE if all(isinstance(value, bool) for value in values) else Statement(BULLETS, tuple(values), True)
    )


def _in_next_sentence(rest: str, at: int) -> Statement | None:
    """The values that the sentence after the one that sets the variable lists."""
    if (listing := _VALUES_FOLLOW.match(rest, at)) is not None:
        return _listed(rest, listing.end(), ONE_OF)
    if _CASES_FOLLOW.match(rest, at) is None:
        return None
    end = _CASES_END.search(rest, at)
    cases = [match[match.lastindex or 0] for match in _CASE_VALUE.finditer(rest, at, end.start() if end else len(rest))]
    if len(cases) < 2 or not _NO_VALUE.isdisjoint(map(str.lower, cases)):
        return None
    values = tuple({"true": True, "false": False}.get(value.lower(), value) for value in cases)
    return _TRUE_OR_FALSE if all(isinstance(value, bool) for value in values) else Statement(BULLETS, values, True)


def read_list(text: str, at: int) -> list[str]:
    """Return the strings of the list that begins at a place."""
    statement = _listed(text[at : at + WINDOW], 0, ONE_OF)
    return [value for value in statement.values if isinstance(value, str)] if statement is not None else []


def _bullets(text: str, start: int, *, bare: bool) -> Statement | None:
    """The values that the bullets of the next lines begin with; where they may be `bare`, nothing has to follow."""
    values: list[Any] = []
    form: int | None = None
    if (table := _TABLE.match(text, start, start + WINDOW)) is not None:
        return _first_column(text, table.end())
    for number in range(MAX_LINES):
        end = text.find("\n", start)
        line = text[start : min(end if end >= 0 else len(text), start + WINDOW)]
        if not line.strip() and not number and end >= 0:
            start = end + 1
            continue
        mark = line.lstrip()[:1]
        is_item = mark.isdigit() or mark in ("-", "*", "+", "•", "(") or line.lstrip()[1:2] == ")"
        match = _BULLET_VALUE.match(line) if is_item else None
        if match is None or (match[5] is not None and not bare):
            break
        group = next(index for index in range(1, 5) if match[index] is not None)
        value = match[group].strip()
        if (form is not None and (group == 4) is not (form == 4)) or "." in value or value.lower() in _NO_VALUE:
            return None
        form = group
        values.append({"true": True, "false": False}.get(value.lower(), value))
        if end < 0:
            break
        start = end + 1
    if len(values) < 2:
        return None
    if all(isinstance(value, bool) for value in values):
        return _TRUE_OR_FALSE
    return Statement(BULLETS, tuple(values), True)


def _first_column(text: str, start: int) -> Statement | None:
    """The values that the rows of a table begin with."""
    values: list[Any] = []
    for line in text[start : start + WINDOW].split("\n", MAX_ITEMS)[:MAX_ITEMS]:
        cell = _CELL.match(line)
        if cell is None:
            break
        values.append({"true": True, "false": False}.get(cell[1].lower(), cell[1]))
    if len(values) < 2 or not _NO_VALUE.isdisjoint(str(value).lower() for value in values):
        return None
    return (
        _TRUE_OR_FALSE if all(isinstance(value, bool) for value in values) else Statement(BULLETS, tuple(values), True)
    )


def joined(values: list[Any]) -> tuple[Any, ...]:
    """The values without those that the engine takes for one of the others."""
    texts: dict[str, str] = {}
    for value in values:
        if not isinstance(value, str):
            break
        texts.setdefault(normal_text(value), value)
    else:
        return tuple(texts.values())
    values_seen: list[Any] = []
    for value in values:
        if not any(lenient_equal(value, other) for other in values_seen):
            values_seen.append(value)
    return tuple(values_seen)
