"""The expression language of transitions and conditions.

Numbers, quoted strings, `true`, `false`, variables with at most one property, comparison and logic. No calls and no
assignment: evaluating an expression can't do anything but answer.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import NamedTuple, NoReturn

from workrail_lint.base import js
from workrail_lint.base.js import Json
from workrail_lint.base.patterns import Pattern
from workrail_lint.base.result import Err, Ok

# An expression is as deep as it has operators at most, so these two keep every walk over it shallow.
_MAX_DEPTH = 50
_MAX_OPERATORS = 200
_REFUSED_PROPERTIES = ("__proto__", "constructor", "prototype")
_TOKEN = Pattern(
    r"""(?P<space>[ \t\r\n]+)
      | (?P<number>\d+(?:\.\d+)?(?![\w$.]))
      | (?P<string>"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*')
      | (?P<name>[A-Za-z_$][\w$]*)
      | (?P<operator>&&|\|\||==|!=|<=|>=|[<>!().-])
    """,
    re.VERBOSE | re.ASCII,
)
_ESCAPE = Pattern(r"\\(.)")
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r"}
_WORDS: dict[str, Json] = {"true": True, "false": False}
_LEVELS: tuple[tuple[str, ...], ...] = (("||",), ("&&",), ("==", "!="), ("<", ">", "<=", ">="))


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

    __slots__ = ("_root", "text", "variables")

    def __init__(self, text: str, root: _Node, variables: tuple[str, ...]) -> None:
        self.text = text
        self._root = root
        self.variables = variables  # the names it asks for, each once, in order

    def holds(self, variables: Mapping[str, Json]) -> bool:
        """Whether it is true for these variables; one that is not among them counts as false."""
        return js.truthy(_value(self._root, variables))


def parse_expression(text: str) -> Ok[Expression] | Err[ExpressionProblem]:
    """Parse an expression, or say where its syntax error is."""
    parser = _Parser(text)
    try:
        parser.read()
        root = parser.binary(0)
        if parser.kind:
            parser.fail(f"expected an operator or the end, found {parser.shown}")
    except _ProblemFound as found:
        return Err(found.slip)
    return Ok(Expression(text, root, tuple(dict.fromkeys(parser.variables))))


def holds(text: object, variables: Mapping[str, Json]) -> bool:
    """Whether an expression is true; a missing or invalid one is not."""
    if not isinstance(text, str):
        return False
    parsed = parse_expression(text)
    return isinstance(parsed, Ok) and parsed.value.holds(variables)


class _ProblemFound(Exception):  # noqa: N818 - control flow inside this module
    def __init__(self, slip: ExpressionProblem) -> None:
        self.slip = slip


class _Parser:
    def __init__(self, text: str) -> None:
        self.text = text
        self.at = self.start = 0
        self.kind = self.token = ""  # the token at hand; both empty at the end
        self.depth = self.operators = 0
        self.variables: list[str] = []

    @property
    def shown(self) -> str:
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
            match = _TOKEN.match(self.text, self.at)
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
            taken = self.token
            self.read()
            return taken
        return None

    def deeper(self) -> None:
        self.depth += 1
        if self.depth > _MAX_DEPTH:
            self.fail("the expression nests too deeply")

    def binary(self, level: int) -> _Node:
        if level == len(_LEVELS):
            return self.unary()
        left = self.binary(level + 1)
        while operator := self.take(*_LEVELS[level]):
            self.operators += 1
            if self.operators > _MAX_OPERATORS:
                self.fail(f"the expression has more than {_MAX_OPERATORS} operators")
            left = _Binary(operator, left, self.binary(level + 1))
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
                self.fail(f"expected ')', found {self.shown}")
            return inner
        if self.take("-"):
            if self.kind != "number":
                self.fail("'-' is only allowed before a number")
            number = js.number(f"-{self.token}")
            self.read()
            return _Literal(number)
        if kind == "number":
            self.read()
            return _Literal(js.number(token))
        if kind == "string":
            self.read()
            return _Literal(_ESCAPE.sub(lambda match: _ESCAPES.get(match[1], match[1]), token[1:-1]))
        if kind != "name":
            self.fail(f"expected a value, found {self.shown}")
        return self.name(token, start)

    def name(self, name: str, start: int) -> _Node:
        self.read()
        if self.kind == "operator" and self.token == "(":
            self.fail("calls are not supported", start)
        if name in _WORDS:
            return _Literal(_WORDS[name])
        self.variables.append(name)
        if not self.take("."):
            return _Variable(name, None)
        if self.kind != "name":
            self.fail(f"expected a property name, found {self.shown}")
        member = self.token
        if member in _REFUSED_PROPERTIES:
            self.fail(f"the property '{member}' is not allowed")
        self.read()
        if self.kind == "operator" and self.token == ".":
            self.fail("only one property access is supported")
        if self.kind == "operator" and self.token == "(":
            self.fail("calls are not supported", start)
        return _Variable(name, member)


def _value(node: _Node, variables: Mapping[str, Json]) -> Json:
    match node:
        case _Literal(value):
            return value
        case _Variable(name, member):
            value = variables.get(name, False)
            if member is None:
                return value
            return value.get(member, False) if isinstance(value, dict) else False
        case _Not(operand):
            return not js.truthy(_value(operand, variables))
        case _Binary("||", left, right):
            return js.truthy(_value(left, variables)) or js.truthy(_value(right, variables))
        case _Binary("&&", left, right):
            return js.truthy(_value(left, variables)) and js.truthy(_value(right, variables))
        case _Binary(operator, left, right):
            return _compared(operator, _value(left, variables), _value(right, variables))


def _compared(operator: str, left: Json, right: Json) -> bool:
    if operator == "==":
        return js.strict_equal(left, right)
    if operator == "!=":
        return not js.strict_equal(left, right)
    if isinstance(left, str) and isinstance(right, str):
        return _ordered(operator, left < right, left == right)
    if js.is_number(left) and js.is_number(right):
        return _ordered(operator, left < right, left == right)  # type: ignore[operator]
    return False  # what is of different kinds has no order


def _ordered(operator: str, less: bool, equal: bool) -> bool:
    match operator:
        case "<":
            return less
        case "<=":
            return less or equal
        case ">":
            return not less and not equal
        case _:
            return not less
