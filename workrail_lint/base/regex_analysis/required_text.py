"""The shortest match, spellings and letters of a pattern, folded from its postfix program."""

from __future__ import annotations

import re
from itertools import product

from workrail_lint.base import js
from workrail_lint.base.regex_analysis import characters
from workrail_lint.base.regex_analysis.syntax import (
    MANY,
    Assertion,
    Atom,
    Either,
    Join,
    Look,
    Operation,
    Program,
    Reference,
    Repeat,
)

# A literal pattern with more spellings than this is not spelled out.
_MAX_SPELLINGS = 64
_WORD = re.compile(r"[^\W_]+(?:[_-][^\W_]+)*")

Spellings = tuple[str, ...] | None


class Part:
    """The analysis of a part of a pattern."""

    __slots__ = ("ahead", "behind", "blank", "letters", "loose", "spelled", "widest", "width")

    def __init__(
        self,
        width: int,
        *,
        widest: int | None,
        ahead: int | None = None,
        behind: int = 0,
        letters: int = 0,
        spelled: Spellings = None,
        loose: Spellings = None,
        blank: bool = False,
    ) -> None:
        self.width = min(width, MANY)  # the least it consumes, in UTF-16 units
        self.widest = widest  # the most it consumes; None is without end
        self.ahead = min(width if ahead is None else ahead, MANY)  # the text it needs from where it starts
        self.behind = min(behind, MANY)  # the text it needs before that
        self.letters = min(letters, MANY)  # literal letters in every match
        self.spelled = spelled  # all it can match, when it is literal
        self.loose = loose  # the same, where white space may be written as a class
        self.blank = blank  # matches white space only


_EMPTY = Part(0, widest=0, spelled=("",), loose=("",), blank=True)


class Facts:
    """The verdicts about a whole pattern."""

    __slots__ = ("foreign", "has_class", "has_quantifier", "letters", "loose", "minimum", "spelled", "words")

    def __init__(self, program: Program) -> None:
        operations = program.operations
        part, foreign = _fold(program)
        self.minimum = part.ahead + part.behind  # the shortest text it can be found in, in UTF-16 units
        self.letters = part.letters
        self.spelled = part.spelled
        self.loose = part.loose
        self.has_class = any(isinstance(op, Atom) and op.text is None for op in operations)
        self.has_quantifier = any(isinstance(op, Repeat) for op in operations)
        self.words = _words(operations)
        self.foreign = foreign  # what Python's `re` refuses or reads differently


def _fold(program: Program) -> tuple[Part, tuple[str, ...]]:
    stack: list[Part] = []
    foreign = list(program.foreign)
    for operation in program.operations:
        match operation:
            case Atom():
                stack.append(_atom(operation))
            case Assertion():
                stack.append(_EMPTY)
            case Reference():
                stack.append(Part(0, widest=None))
            case Join(size):
                stack.append(_join(_pop(stack, size)))
            case Either(size):
                stack.append(_either(_pop(stack, size)))
            case Repeat(low, high):
                stack.append(_repeat(stack.pop(), low, high))
            case Look(behind, negated):
                body = stack.pop()
                if behind and body.widest != body.width:
                    foreign.append("a lookbehind of varying length")
                stack.append(_look(body, behind, negated))
    return stack[0], tuple(dict.fromkeys(foreign))


def _pop(stack: list[Part], size: int) -> list[Part]:
    parts = stack[len(stack) - size :]
    del stack[len(stack) - size :]
    return parts


def _atom(atom: Atom) -> Part:
    if atom.text is None:
        blank = bool(atom.characters) and not characters.overlap(atom.characters, characters.SHORTHANDS["S"])
        return Part(1, widest=2, loose=(" ",) if blank else None, blank=blank)
    blank = atom.text in js.WHITESPACE
    width = 1 if atom.text < "\U00010000" else 2
    spelled = (atom.text,)
    return Part(width, widest=width, letters=int(atom.text.isalpha()), spelled=spelled, loose=spelled, blank=blank)


def _join(parts: list[Part]) -> Part:
    if not parts:
        return _EMPTY
    width = ahead = behind = letters = 0
    widest: int | None = 0
    for part in parts:
        ahead = max(ahead, width + part.ahead)
        behind = max(behind, part.behind - width)
        width += part.width
        letters += part.letters
        widest = None if widest is None or part.widest is None else min(widest + part.widest, MANY)
    return Part(
        width,
        widest=widest,
        ahead=ahead,
        behind=behind,
        letters=letters,
        spelled=_concatenated([part.spelled for part in parts]),
        loose=_concatenated([part.loose for part in parts]),
        blank=all(part.blank for part in parts),
    )


def _concatenated(parts: list[Spellings]) -> Spellings:
    known = [part for part in parts if part is not None]
    if len(known) < len(parts):
        return None
    count = 1
    for part in known:
        count *= len(part)
        if count > _MAX_SPELLINGS:
            return None
    return tuple("".join(pieces) for pieces in product(*known))


def _either(parts: list[Part]) -> Part:
    # The least of each on its own: never more than any branch needs.
    widths = [part.widest for part in parts]
    return Part(
        min(part.width for part in parts),
        widest=None if None in widths else max(width for width in widths if width is not None),
        ahead=min(part.ahead for part in parts),
        behind=min(part.behind for part in parts),
        letters=min(part.letters for part in parts),
        spelled=_alternatives([part.spelled for part in parts]),
        loose=_alternatives([part.loose for part in parts]),
        blank=all(part.blank for part in parts),
    )


def _alternatives(parts: list[Spellings]) -> Spellings:
    if any(part is None for part in parts):
        return None
    spellings = tuple(dict.fromkeys(text for part in parts for text in part or ()))
    return spellings if len(spellings) <= _MAX_SPELLINGS else None


def _repeat(part: Part, low: int, high: int | None) -> Part:
    loose = ((" ",) if low else ("",)) if part.blank else None
    widest = None if high is None or part.widest is None else min(part.widest * high, MANY)
    if low == 0:
        return Part(0, widest=widest if part.widest else part.widest, loose=loose, blank=part.blank)
    return Part(
        part.width * low,
        widest=0 if part.widest == 0 else widest,
        ahead=part.width * (low - 1) + part.ahead,
        behind=part.behind,
        letters=part.letters * low,
        loose=loose,
        blank=part.blank,
    )


def _look(body: Part, behind: bool, negated: bool) -> Part:
    if negated:
        return Part(0, widest=0)
    if behind:
        return Part(0, widest=0, behind=body.width + body.behind, letters=body.letters)
    return Part(0, widest=0, ahead=body.ahead, behind=body.behind, letters=body.letters)


def _words(operations: list[Operation]) -> tuple[str, ...]:
    """Return the words of the literal stretches, in order."""
    # Anything but a literal ends a stretch.
    texts = (op.text if isinstance(op, Atom) and op.text is not None else " " for op in operations)
    return tuple(_WORD.findall("".join(texts)))
