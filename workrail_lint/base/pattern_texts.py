"""Short texts in which an ECMAScript pattern finds something, made from the pattern itself."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import NamedTuple

from workrail_lint.base.ecma_regex import Pattern
from workrail_lint.base.regex_analysis.characters import Ranges
from workrail_lint.base.regex_analysis.syntax import (
    Assertion,
    Atom,
    Either,
    Join,
    Look,
    Program,
    Reference,
    Repeat,
    parse,
)
from workrail_lint.base.result import Ok

# Tried from left to right when a class leaves the choice.
_PREFERRED = "a1A x0-_./: \n"
_LONGEST_TEXT = 50_000
_SECONDS = 0.5


class _Choices(NamedTuple):
    """How the open questions of a pattern are answered: the same answer wherever the question comes up."""

    branch: int  # which alternative
    rounds: int  # how often more than needed something is repeated
    looks: bool  # whether what a look-around asks for is written down
    back: int = 0  # how many words a reference goes back: which group it means is not known here


# The shortest answers first.
_CHOICES = [_Choices(branch, rounds, looks) for rounds, looks, branch in product((0, 1), (False, True), range(4))]
_MOST_WORDS_BACK = 8


def texts_for(pattern: Pattern) -> Iterator[str]:
    """Yield texts in which the pattern is found, the simplest first; none when no guess was right."""
    program = parse(pattern.source, pattern.flags)
    refers = any(isinstance(operation, Reference) for operation in program.operations)
    for back, choices in product(range(_MOST_WORDS_BACK if refers else 1), _CHOICES):
        text = _generate(program, choices._replace(back=back))
        if text is not None and pattern.search(text, _SECONDS) == Ok(True):
            yield text


def _generate(program: Program, choices: _Choices) -> str | None:
    """Return a text that walks once through the pattern; None when it would get too long."""
    stack: list[str] = []
    for operation in program.operations:
        match operation:
            case Atom(characters, text):
                stack.append(text if text is not None else _character(characters))
            case Assertion():
                stack.append("")
            case Reference():
                # Nearly always it is the word written last.
                words = [text for text in reversed(stack) if text.strip()]
                stack.append(words[min(choices.back, len(words) - 1)] if words else "")
            case Join(size):
                parts = _taken(stack, size)
                stack.append("".join(parts))
            case Either(size):
                branches = _taken(stack, size)
                stack.append(branches[min(choices.branch, size - 1)])
            case Repeat(low, high):
                times = low + choices.rounds if high is None else min(low + choices.rounds, high)
                if times * len(stack[-1]) > _LONGEST_TEXT:
                    return None
                stack[-1] *= times
            case Look(_, negated):
                if negated or not choices.looks:
                    stack[-1] = ""
        if len(stack[-1]) > _LONGEST_TEXT:
            return None
    return stack[-1] if stack else ""


def _taken(stack: list[str], size: int) -> list[str]:
    used = stack[len(stack) - size :]
    del stack[len(stack) - size :]
    return used


def _character(characters: Ranges) -> str:
    for char in _PREFERRED:
        if any(low <= ord(char) <= high for low, high in characters):
            return char
    # A class of nothing matches nothing; whatever is written for it is found out not to match.
    return chr(characters[0][0]) if characters else "a"
