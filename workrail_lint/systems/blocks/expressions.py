"""The expression languages of transitions and conditions.

Numbers, quoted strings, `true`, `false`, variables with at most one property, comparison and logic. No calls and no
assignment: evaluating an expression can't do anything but answer. There are two languages: that of the contract, and
that of the studio as it ships, which answers as JavaScript does.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, NoReturn

from workrail_lint.base import js
from workrail_lint.base.js import Json
from workrail_lint.base.patterns import Pattern
from workrail_lint.base.result import Err, Ok

# An expression is as deep as it has operators at most, so these two keep every walk over it shallow.
_MAX_DEPTH = 50
_MAX_OPERATORS = 200
_REFUSED = frozenset({"__proto__", "constructor", "prototype"})
_ESCAPE = Pattern(r"\\(.)")
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r"}
_WORDS: dict[str, Json] = {"true": True, "false": False}
_ORDER: dict[str, Callable[[Any, Any], bool]] = {
    "<": operator.lt,
    ">": operator.gt,
    "<=": operator.le,
    ">=": operator.ge,
}
_COMPARISONS = ("==", "!=", *_ORDER)


class Language(NamedTuple):
    """The differences between the two expression languages."""

    token: Pattern
    levels: tuple[tuple[str, ...], ...]  # the operators, those that bind least first
    chains: bool  # whether the result of a comparison can be compared without parentheses
    refused_variables: frozenset[str]
    refused_members: frozenset[str]
    number: Callable[[str], Json]  # the value of a literal, from its text
    string: Callable[[str], str]
    variable: Callable[[Json], Json]  # what a name or a member stands for, from its value
    member: Callable[[Json, str], Json]
    equal: Callable[[Json, Json], bool]
    ordered: Callable[[str, Json, Json], bool]


def _unescaped(literal: str) -> str:
    return _ESCAPE.sub(lambda match: _ESCAPES.get(match[1], match[1]), literal[1:-1])


def _contract_ordered(comparison: str, left: Json, right: Json) -> bool:
    both_text = isinstance(left, str) and isinstance(right, str)
    both_numbers = js.is_number(left) and js.is_number(right)
    return (both_text or both_numbers) and _ORDER[comparison](left, right)  # what is of different kinds has no order


def _studio_member(value: Json, member: str) -> Json:
    """Return a member of an object or an array; what JavaScript objects inherit does not count."""
    if isinstance(value, list):
        return len(value) if member == "length" else None
    return value.get(member) if isinstance(value, dict) else None


def _studio_equal(left: Json, right: Json) -> bool:
    return left is right if isinstance(left, dict | list) else js.strict_equal(left, right)


def _studio_ordered(comparison: str, left: Json, right: Json) -> bool:
    """Compare like JavaScript's `<`: two strings by their code units, everything else as numbers."""
    one, other = (js.text(value) if isinstance(value, dict | list) else value for value in (left, right))
    if isinstance(one, str) and isinstance(other, str):
        return _ORDER[comparison](*(text.encode("utf-16-be", "surrogatepass") for text in (one, other)))
    return _ORDER[comparison](js.to_number(one), js.to_number(other))


CONTRACT = Language(
    token=Pattern(
        r"""(?P<space>[ \t\r\n]+)
          | (?P<number>\d+(?:\.\d+)?(?![\w$.]))
          | (?P<string>"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*')
          | (?P<name>[A-Za-z_$][\w$]*)
          | (?P<operator>&&|\|\||==|!=|<=|>=|[<>!().-])
        """,
        re.VERBOSE | re.ASCII,
    ),
    levels=(("||",), ("&&",), ("==", "!="), tuple(_ORDER)),
    chains=True,
    refused_variables=frozenset(),
    refused_members=_REFUSED,
    number=js.number,
    string=_unescaped,
    variable=lambda value: value,
    member=lambda value, member: value.get(member, False) if isinstance(value, dict) else False,
    equal=js.strict_equal,
    ordered=_contract_ordered,
)
STUDIO = Language(
    token=Pattern(
        rf"""(?P<space>[{js.WHITESPACE_CLASS}]+)
          | (?P<number>[0-9][0-9.]*)
          | (?P<string>"[^"]*"|'[^']*')
          | (?P<name>[A-Za-z_$][A-Za-z0-9_$]*)
          | (?P<operator>&&|\|\||==|!=|<=|>=|[<>!().])
        """,
        re.VERBOSE,
    ),
    levels=(("||",), ("&&",), _COMPARISONS),
    chains=False,
    refused_variables=_REFUSED,
    refused_members=frozenset({*_REFUSED, *_WORDS}),
    number=js.to_number,
    string=lambda literal: literal[1:-1],
    variable=lambda value: False if value is None else value,
    member=_studio_member,
    equal=_studio_equal,
    ordered=_studio_ordered,
)


class ExpressionProblem(NamedTuple):
    """Where an expression has a syntax error (column from 1), and which."""

    column: int
    reason: str


class _Literal(NamedTuple):
    value: Json


class _Variable(NamedTuple):
    name: str
    member: str | None


class _Not(NamedTuple):
    operand: _Node


class _Binary(NamedTuple):
    operator: str
    left: _Node
    right: _Node


_Node = _Literal | _Variable | _Not | _Binary


class Expression:
    """An expression without syntax errors."""

    __slots__ = ("_language", "_root", "text", "variables")

    def __init__(self, text: str, root: _Node, variables: tuple[str, ...], language: Language) -> None:
        self.text = text
        self._root = root
        self._language = language
        self.variables = variables  # the names it asks for, each once, in order

    def holds(self, variables: Mapping[str, Json]) -> bool:
        """Return whether it is true for these variables; one that is not among them counts as false."""
        return js.truthy(_value(self._root, variables, self._language))


def parse_expression(text: str, language: Language = CONTRACT) -> Ok[Expression] | Err[ExpressionProblem]:
    """Parse an expression, or say where its syntax error is."""
    parser = _Parser(text, language)
    try:
        parser.read()
        root = parser.binary(0)
        if parser.kind:
            parser.fail(f"expected an operator or the end, found {parser.token_in_words}")
    except _ProblemFound as error:
        return Err(error.problem)
    return Ok(Expression(text, root, tuple(dict.fromkeys(parser.variables)), language))


def holds(text: object, variables: Mapping[str, Json], language: Language = CONTRACT) -> bool:
    """Return whether an expression is true; a missing or invalid one is not."""
    if not isinstance(text, str):
        return False
    parsed = parse_expression(text, language)
    return isinstance(parsed, Ok) and parsed.value.holds(variables)


class _ProblemFound(Exception):  # noqa: N818 - control flow inside this module
    def __init__(self, problem: ExpressionProblem) -> None:
        self.problem = problem


class _Parser:
    def __init__(self, text: str, language: Language) -> None:
        self.text = text
        self.language = language
        self.at = self.start = 0
        self.kind = self.token = ""  # the token at hand; both empty at the end
        self.depth = self.operators = 0
        self.variables: list[str] = []

    @property
    def token_in_words(self) -> str:
        return f"'{self.token}'" if self.kind else "the end"

    def fail(self, reason: str, start: int | None = None) -> NoReturn:
        raise _ProblemFound(ExpressionProblem((self.start if start is None else start) + 1, reason))

    def read(self) -> None:
        """Go to the next token."""
        while True:
            self.start = self.at
            if self.at >= len(self.text):
                self.kind = self.token = ""
                return
            match = self.language.token.match(self.text, self.at)
            if match is None:
                self.fail(self.unreadable())
            self.at = match.end()
            if match.lastgroup != "space":
                self.kind, self.token = str(match.lastgroup), match[0]
                return

    def unreadable(self) -> str:
        char = self.text[self.at]
        if char in "\"'":
            return "the string is not closed"
        if char == "=":
            return "assignment is not supported; compare with =="
        if char.isdigit():
            return "invalid number; write digits with at most one decimal point"
        return f"unexpected character {char!r}"

    def take(self, *operators: str) -> str | None:
        if self.kind == "operator" and self.token in operators:
            token = self.token
            self.read()
            return token
        return None

    def deeper(self) -> None:
        self.depth += 1
        if self.depth > _MAX_DEPTH:
            self.fail("the expression nests too deeply")

    def binary(self, level: int) -> _Node:
        levels = self.language.levels
        if level == len(levels):
            return self.unary()
        left = self.binary(level + 1)
        while operator := self.take(*levels[level]):
            self.operators += 1
            if self.operators > _MAX_OPERATORS:
                self.fail(f"the expression has more than {_MAX_OPERATORS} operators")
            left = _Binary(operator, left, self.binary(level + 1))
            if not self.language.chains and self.token in _COMPARISONS and operator in _COMPARISONS:
                self.fail("comparisons can't be chained; use parentheses")
        return left

    def unary(self) -> _Node:
        if self.take("!"):
            self.deeper()
            operand = self.unary()
            self.depth -= 1
            return _Not(operand)
        return self.primary()

    def primary(self) -> _Node:
        start, kind, token = self.start, self.kind, self.token
        if self.take("("):
            self.deeper()
            inner = self.binary(0)
            self.depth -= 1
            if not self.take(")"):
                self.fail(f"expected ')', found {self.token_in_words}")
            return inner
        if self.take("-"):
            if self.kind != "number":
                self.fail("'-' is only allowed before a number")
            number = js.number(f"-{self.token}")
            self.read()
            return _Literal(number)
        if kind == "number":
            self.read()
            return _Literal(self.language.number(token))
        if kind == "string":
            self.read()
            return _Literal(self.language.string(token))
        if kind != "name":
            self.fail(f"expected a value, found {self.token_in_words}")
        return self.name(token, start)

    def name(self, name: str, start: int) -> _Node:
        self.read()
        if self.kind == "operator" and self.token == "(":
            self.fail("calls are not supported", start)
        if name in _WORDS:
            return _Literal(_WORDS[name])
        if name in self.language.refused_variables:
            self.fail(f"the variable '{name}' is not allowed", start)
        self.variables.append(name)
        if not self.take("."):
            return _Variable(name, None)
        if self.kind != "name":
            self.fail(f"expected a property name, found {self.token_in_words}")
        member = self.token
        if member in self.language.refused_members:
            self.fail(f"the property '{member}' is not allowed")
        self.read()
        if self.kind == "operator" and self.token == ".":
            self.fail("only one property access is supported")
        if self.kind == "operator" and self.token == "(":
            self.fail("calls are not supported", start)
        return _Variable(name, member)


def _value(node: _Node, variables: Mapping[str, Json], language: Language) -> Json:
    match node:
        case _Literal(value):
            return value
        case _Variable(name, member):
            value = variables.get(name, False)
            return language.variable(value if member is None else language.member(value, member))
        case _Not(operand):
            return not js.truthy(_value(operand, variables, language))
        case _Binary(operator, left, right):
            one, other = _value(left, variables, language), _value(right, variables, language)
            match operator:
                case "||":
                    return js.truthy(one) or js.truthy(other)
                case "&&":
                    return js.truthy(one) and js.truthy(other)
                case "==":
                    return language.equal(one, other)
                case "!=":
                    return not language.equal(one, other)
                case _:
                    return language.ordered(operator, one, other)
