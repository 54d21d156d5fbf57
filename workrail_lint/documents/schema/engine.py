"""Structural validation: a JSON Schema compiled to closures, with the standard library alone.

Every document is validated on every commit, so a clean one must cost almost nothing. A check returns None if there is
no violation and builds nothing on the way; paths are built only for violations, token by token, while the result is
passed up. Where a definition refers to itself, the check returns a pending entry instead of calling itself, and a
worklist continues from there, so that nesting never reaches Python's recursion limit.

The dialect is the part of draft-07 that our generated schemas use; compiling rejects an unknown keyword, because a
constraint that is silently ignored is worse than none. Values are JavaScript's: booleans are not numbers, `1.0` is an
integer and equals `1`, lengths count code points, and a number that overflowed to infinity is not a number.
"""

from __future__ import annotations

import operator
import re
import sys
from collections.abc import Callable
from threading import RLock
from typing import Any, NamedTuple, TypeAlias

from workrail_lint.base import js
from workrail_lint.documents import pointer
from workrail_lint.documents.schema import dialect


class Violation(NamedTuple):
    """One place that breaks the schema.

    `pointer` names the invalid value: for a missing member the object that lacks it, for an unknown member the member
    itself, for a duplicate element the later one. `expected` is the keyword's parameter: the types (tuple), the allowed
    set (tuple), a bound, the pattern, the missing name, the known names (tuple), the index of the equal element; for
    `anyOf` the alternatives (tuple). `shape` is the definition that was applied. `value` is the value at the pointer,
    or the member's name for `propertyNames`.
    """

    pointer: str
    keyword: str
    expected: Any
    shape: str
    value: Any


class _Entry:
    """A violation or a pending check, with the path to it from where the check began, deepest first."""

    __slots__ = ("check", "expected", "keyword", "path", "shape", "value")

    def __init__(self, keyword: str, expected: object, shape: str, value: object, check: _Check | None = None) -> None:
        self.path: list[pointer.Token] = []
        self.keyword = keyword
        self.expected = expected
        self.shape = shape
        self.value = value
        self.check = check


_Found: TypeAlias = "list[_Entry] | None"
_Check: TypeAlias = Callable[[Any], _Found]
_Test: TypeAlias = Callable[[Any], bool]
_Prefix: TypeAlias = "tuple[_Prefix, list[pointer.Token]] | None"


class Validator:
    """A compiled schema."""

    __slots__ = ("_check",)

    def __init__(self, check: _Check | None) -> None:
        self._check = check

    def violations(self, value: object) -> list[Violation]:
        """All violations, in document order; empty for a valid value."""
        found = self._check(value) if self._check is not None else None
        if found is None:
            return []
        violations: list[tuple[list[pointer.Token], _Entry]] = []
        worklist: list[tuple[_Entry, _Prefix]] = [(entry, None) for entry in reversed(found)]
        while worklist:
            entry, prefix = worklist.pop()
            if entry.check is None:
                violations.append((_path(prefix, entry.path), entry))
                continue
            found = entry.check(entry.value)
            if found is not None:
                below = (prefix, entry.path)
                worklist += [(inner, below) for inner in reversed(found)]
        if len(violations) > 1:
            orders: dict[int, dict[str, int]] = {}
            violations.sort(key=lambda item: _place(value, item[0], orders))
        return [
            Violation(pointer.encode(path), entry.keyword, entry.expected, entry.shape, entry.value)
            for path, entry in violations
        ]


def compile_schema(schema: dict[str, Any], *, on_demand: bool = False) -> Validator:
    """A validator for a schema. Raises ValueError for a schema outside the dialect, which is a bug.

    With `on_demand`, what a schema says about a member is compiled when a document has it: few documents have all.
    """
    return Validator(_Compiler(schema, on_demand).compile(schema, ""))


def _path(prefix: _Prefix, path: list[pointer.Token]) -> list[pointer.Token]:
    tokens = list(path)
    while prefix is not None:
        prefix, outer = prefix
        tokens += outer
    tokens.reverse()
    return tokens


def _place(root: Any, path: list[pointer.Token], orders: dict[int, dict[str, int]]) -> list[int]:
    """The position of a path, as numbers that sort in document order."""
    place = []
    for token in path:
        if isinstance(token, str):
            order = orders.get(id(root))
            if order is None:
                order = orders[id(root)] = {name: index for index, name in enumerate(root)}
            place.append(order[token])
        else:
            place.append(token)
        root = root[token]
    return place


def _holds(check: _Check | None, value: object) -> bool:
    """Whether a check passes, for keywords that need only the result."""
    worklist = [(check, value)]
    while worklist:
        check, value = worklist.pop()
        for entry in (check(value) if check is not None else None) or ():
            if entry.check is None:
                return False
            worklist.append((entry.check, entry.value))
    return True


class _Members(dict[str, _Check]):
    """The checks of members by name; one that was not met before is made by `add`."""

    __slots__ = ("add",)
    add: Callable[[str], _Check]

    def __missing__(self, name: str) -> _Check:
        return self.add(name)


class _Compiler:
    """Turns schemas into checks; None is a schema that accepts everything."""

    def __init__(self, root: dict[str, Any], on_demand: bool) -> None:
        self._root = root
        self._on_demand = on_demand
        self._checks: dict[str, _Check | None] = {}
        self._ranks: dict[str, int] = {"": 0}  # of definitions, in the order in which they are met
        self._owner = ""  # the definition that is being compiled
        self._lock = RLock()  # members are compiled by whoever meets them first

    def compile(self, schema: dict[str, Any] | bool, shape: str) -> _Check | None:
        if schema is True:
            return None
        if schema is False:
            return lambda value: [_Entry("false", None, shape, value)]
        if not dialect.KEYWORDS.issuperset(schema):
            raise ValueError(f"outside the dialect: {sorted(schema.keys() - dialect.KEYWORDS)}")
        if "$ref" in schema:
            if schema.keys() - dialect.ANNOTATIONS != {"$ref"}:
                raise ValueError("draft-07 ignores keywords next to $ref")
            return self._reference(schema["$ref"])
        if dialect.GENERAL.isdisjoint(schema):
            return self._typed(schema, shape)
        if schema.keys() - dialect.ANNOTATIONS in _WORDS and schema["type"] == "string":
            return _word(schema, shape)
        if schema.get("type") == "object" and schema.keys() - dialect.ANNOTATIONS <= _BRANCHES:
            switch = self._switch(schema, shape)
            if switch is not None:
                return switch
        check = self._typed(schema, shape)
        general = [self._general(word, schema, shape) for word in schema if word in dialect.GENERAL]
        return _together([part for part in (check, *general) if part is not None])

    def _reference(self, target: str) -> _Check | None:
        checks = self._checks
        rank = self._ranks.get(target)
        if rank is None:
            if not target.startswith("#/"):
                raise ValueError(f"only local references: {target}")
            self._ranks[target] = len(self._ranks)
            schema: Any = pointer.resolve(self._root, target[1:])
            checks[target] = self._compile_for(target, schema, pointer.decode(target[1:])[-1])
        elif (
            rank <= self._ranks[self._owner]
            and checks.get(target, _accept) is not None
            and (target == self._owner or not self._is_closed(target))
        ):
            # A definition that refers to itself does so, at some point, by referring to one that was met before.
            return lambda value: [_Entry("", None, "", value, checks[target])]
        return checks[target]

    def _is_closed(self, target: str) -> bool:
        """Whether a definition refers to no other one, so that it can't be part of a longer cycle."""
        stack: list[Any] = [pointer.resolve(self._root, target[1:])]
        while stack:
            part = stack.pop()
            if type(part) is dict:
                if part.get("$ref", target) != target:
                    return False
                stack += part.values()
            elif type(part) is list:
                stack += part
        return True

    def _compile_for(self, owner: str, schema: dict[str, Any] | bool, shape: str) -> _Check | None:
        """Compile a part of a definition."""
        outer, self._owner = self._owner, owner
        check = self.compile(schema, shape)
        self._owner = outer
        return check

    def _typed(self, schema: dict[str, Any], shape: str) -> _Check | None:
        """One check per JSON type; each passes other types to the next, and the last one rejects."""
        declared = schema.get("type")
        if type(declared) is str:
            return self._of_type(declared, schema, shape, _refuse((declared,), shape))
        if declared is not None:
            names, last = tuple(declared), _refuse(tuple(declared), shape)
        else:
            names = tuple(name for name, words in dialect.BY_TYPE.items() if not words.isdisjoint(schema))
            last = _accept
        for name in reversed(names):
            if name != "integer" or "number" not in names:
                last = self._of_type(name, schema, shape, last)
        return last if names else None

    def _of_type(self, name: str, schema: dict[str, Any], shape: str, other: _Check) -> _Check:
        match name:
            case "object":
                return self._object(schema, shape, other)
            case "array":
                return self._array(schema, shape, other)
            case "string":
                return _text(schema, shape, other)
            case "boolean":
                return lambda value: None if value is True or value is False else other(value)
            case "null":
                return lambda value: None if value is None else other(value)
            case _:
                return _number(schema, shape, other, whole=name == "integer")

    def _object(self, schema: dict[str, Any], shape: str, other: _Check) -> _Check:
        properties: dict[str, dict[str, Any] | bool] = schema.get("properties", {})
        required = tuple(schema.get("required", ()))
        additional = schema.get("additionalProperties", True)
        known = tuple(properties)
        default: _Check | None
        if additional is False:
            default = lambda value: [_Entry("additionalProperties", known, shape, value)]  # noqa: E731
        else:
            default = self.compile(additional, shape)
        if not properties and not required and default is None:
            return lambda value: None if type(value) is dict else other(value)
        # Most members are plain strings, and asking a function about each would take longer than all the rest.
        longest: dict[str, int] = {}
        owner, longest_of, least = self._owner, longest.get, frozenset(required)

        def add_member(name: str) -> _Check:
            if name not in properties:
                return default or _accept
            with self._lock:
                check = self._compile_for(owner, properties[name], shape) or _accept
            bound = self._string_bounds(properties[name])
            if bound is not None and bound[0] < 2:
                longest[name] = bound[1]
            members[name] = check
            return check

        members = _Members()
        members.add = add_member
        if not self._on_demand:
            for name in properties:
                add_member(name)

        def check(value: Any) -> _Found:
            if type(value) is not dict:
                return other(value)
            found: _Found = None
            if not value.keys() >= least:
                found = [_Entry("required", name, shape, value) for name in required if name not in value]
            for name, item in value.items():
                if type(item) is str and len(item) <= longest_of(name, -1) and item:
                    continue
                inner = members[name](item)
                if inner is not None:
                    found = _joined(found, inner, name)
            return found

        return check

    def _string_bounds(self, schema: dict[str, Any] | bool) -> tuple[int, int] | None:
        """The least and the greatest length of a string, if a schema accepts strings and asks nothing else of them."""
        while type(schema) is dict and "$ref" in schema:
            schema = pointer.resolve(self._root, schema["$ref"][1:])  # type: ignore[assignment]
        if type(schema) is not dict or "string" not in schema.get("type", ()):
            return None
        if not _NOT_ONLY_LENGTH.isdisjoint(schema):
            return None
        return schema.get("minLength", 0), schema.get("maxLength", _UNBOUNDED)

    def _array(self, schema: dict[str, Any], shape: str, other: _Check) -> _Check:
        element = self.compile(schema.get("items", True), shape)
        low, high = schema.get("minItems", 0), schema.get("maxItems")
        unique = schema.get("uniqueItems", False)
        bounds = self._string_bounds(schema.get("items", True))

        def check(value: Any) -> _Found:
            if type(value) is not list:
                return other(value)
            found: _Found = None
            if len(value) < low:
                found = [_Entry("minItems", low, shape, value)]
            elif high is not None and len(value) > high:
                found = [_Entry("maxItems", high, shape, value)]
            if element is not None and not (bounds and _are_strings(value, *bounds)):
                for index, item in enumerate(value):
                    inner = element(item)
                    if inner is not None:
                        found = _joined(found, inner, index)
            if unique and len(value) > 1:
                for later, first in dialect.duplicates(value):
                    found = _joined(found, [_Entry("uniqueItems", first, shape, value[later])], later)
            return found

        return check

    def _general(self, keyword: str, schema: dict[str, Any], shape: str) -> _Check | None:
        parameter: Any = schema[keyword]
        match keyword:
            case "enum":
                return _one_of(keyword, tuple(parameter), tuple(parameter), shape)
            case "const":
                return _one_of(keyword, parameter, (parameter,), shape)
            case "propertyNames":
                return _names(self.compile(parameter, shape))
            case "minProperties":
                return _size(keyword, operator.ge, parameter, shape)
            case "maxProperties":
                return _size(keyword, operator.le, parameter, shape)
            case "allOf":
                return _together([check for check in (self.compile(part, shape) for part in parameter) if check])
            case "anyOf":
                return self._alternatives(keyword, parameter, lambda count: count >= 1, shape)
            case "oneOf":
                return self._alternatives(keyword, parameter, lambda count: count == 1, shape)
            case "not":
                test = self._test(parameter)
                return lambda value: [_Entry(keyword, parameter, shape, value)] if test(value) else None
            case _:
                return self._conditional(schema, shape)

    def _alternatives(
        self, keyword: str, schemas: list[dict[str, Any] | bool], enough: Callable[[int], bool], shape: str
    ) -> _Check:
        tests = [self._test(schema) for schema in schemas]
        expected = tuple(_summary(schema) for schema in schemas)

        def check(value: Any) -> _Found:
            if enough(sum(1 for test in tests if test(value))):
                return None
            return [_Entry(keyword, expected, shape, value)]

        return check

    def _switch(self, schema: dict[str, Any], shape: str) -> _Check | None:
        """Branches that depend on one member: a lookup of its value instead of a test for each branch.

        None if the branches depend on something else.
        """
        name, by_tag, present = "", dict[str, _Check](), None
        rest: Any = schema
        while present is None and type(rest) is dict and "if" in rest:
            condition: dict[str, Any] = rest["if"]
            tags = None
            if len(condition.get("required", ())) == 1 and name in ("", condition["required"][0]):
                name = condition["required"][0]
                tags = () if condition.keys() == {"required"} else _tags(condition, name)
            if tags is None:
                break
            then = self.compile(rest.get("then", True), shape) or _accept
            for tag in tags:
                by_tag.setdefault(tag, then)
            present = None if tags else then
            rest = rest.get("else", True)
        if not by_tag:
            return None
        absent = self.compile(rest, shape) or _accept
        other, refuse = present or absent, _refuse(("object",), shape)

        def check(value: Any) -> _Found:
            if type(value) is not dict:
                return refuse(value)
            if name not in value:
                return absent(value)
            tag = value[name]
            return (by_tag.get(tag, other) if type(tag) is str else other)(value)

        return check

    def _conditional(self, schema: dict[str, Any], shape: str) -> _Check:
        test = self._test(schema["if"])
        then = self.compile(schema.get("then", True), shape) or _accept
        otherwise = self.compile(schema.get("else", True), shape) or _accept
        return lambda value: then(value) if test(value) else otherwise(value)

    def _test(self, schema: dict[str, Any] | bool) -> _Test:
        """A predicate; common forms need no general check."""
        if isinstance(schema, bool):
            return lambda value: schema
        words = schema.keys()
        if words == {"type"} and schema["type"] in _PYTHON_TYPES:
            kind = _PYTHON_TYPES[schema["type"]]
            return lambda value: type(value) is kind
        if len(schema.get("required", ())) == 1:
            name = schema["required"][0]
            if words == {"required"}:
                return lambda value: type(value) is not dict or name in value
            if words == {"type", "required"} and schema["type"] == "object":
                return lambda value: type(value) is dict and name in value
            tags = _tags(schema, name)
            if tags is not None:
                return lambda value: type(value) is dict and value.get(name) in tags
        check = self.compile(schema, "")
        return lambda value: _holds(check, value)


_PYTHON_TYPES = {"object": dict, "array": list, "string": str, "boolean": bool, "null": type(None)}


def _joined(found: _Found, inner: list[_Entry], token: pointer.Token) -> list[_Entry]:
    """Add the violations of one level down, with that level in their path."""
    for entry in inner:
        entry.path.append(token)
    if found is None:
        return inner
    found += inner
    return found


def _accept(value: object) -> _Found:
    return None


def _refuse(types: tuple[str, ...], shape: str) -> _Check:
    return lambda value: [_Entry("type", types, shape, value)]


def _together(checks: list[_Check]) -> _Check | None:
    """All of several checks. A value of the wrong type has no further faults worth naming."""
    if len(checks) < 2:
        return checks[0] if checks else None

    def check(value: Any) -> _Found:
        found: list[_Entry] = []
        for part in checks:
            inner = part(value)
            if inner is not None:
                if inner[0].keyword == "type" and not inner[0].path:
                    return inner
                found += inner
        return found or None

    return check


def _are_strings(values: list[Any], shortest: int, longest: int) -> bool:
    """Whether all values are strings of these lengths."""
    if not _STRINGS.issuperset(map(type, values)):
        return False
    if longest == _UNBOUNDED and shortest < 2:
        return not (shortest and "" in values)
    lengths = list(map(len, values)) or [shortest]
    return shortest <= min(lengths) and max(lengths) <= longest


def _text(schema: dict[str, Any], shape: str, other: _Check) -> _Check:
    low, high, pattern = schema.get("minLength", 0), schema.get("maxLength"), schema.get("pattern")
    if not low and high is None and pattern is None:
        return lambda value: None if type(value) is str else other(value)

    def bounded(value: Any) -> _Found:
        if type(value) is not str:
            return other(value)
        if len(value) < low:
            return [_Entry("minLength", low, shape, value)]
        if high is not None and len(value) > high:
            return [_Entry("maxLength", high, shape, value)]
        return None

    if pattern is None:
        return bounded
    search: Callable[[str], object] | None = None
    is_plain = _plain_text(pattern)

    most = _UNBOUNDED if high is None else high

    def check(value: Any) -> _Found:
        nonlocal search
        if type(value) is not str or not low <= len(value) <= most:
            return bounded(value)
        if is_plain(value):
            return None
        if search is None:  # a pattern costs more to compile than a document to check
            search = re.compile(dialect.python_pattern(pattern), re.ASCII).search
        return None if search(value) is not None else [_Entry("pattern", pattern, shape, value)]

    return check


def _plain_text(pattern: str) -> Callable[[str], bool]:
    """A quick test that accepts nearly all values that match the commonest patterns, ids and versions."""
    if pattern in ("^[a-z0-9-]+$", "^[a-z0-9_-]+$"):
        return _is_plain_word
    if pattern == rf"^([a-z0-9_-]+|{_NAME}\.{_NAME})$":
        return _is_plain_id
    if pattern.startswith(rf"^{_NUMBER}\.{_NUMBER}\.{_NUMBER}(?:-") and pattern.endswith(")?$"):
        return _is_plain_version
    return lambda text: False


_WORD_CHARACTERS = "abcdefghijklmnopqrstuvwxyz0123456789-"
_NAME, _NUMBER = "[a-z][a-z0-9_-]+", r"(0|[1-9]\d*)"


def _is_plain_word(text: str) -> bool:
    return text != "" and not text.strip(_WORD_CHARACTERS)


def _is_plain_id(text: str) -> bool:
    """A word, or two with a dot between them, that begin with a letter."""
    return all(len(part) > 1 and part[0].isalpha() and _is_plain_word(part) for part in text.split(".", 1))


def _is_plain_version(text: str) -> bool:
    """Three numbers, without a suffix."""
    numbers = text.split(".") if text.isascii() else ()
    return len(numbers) == 3 and all(each.isdecimal() and (each[0] != "0" or each == "0") for each in numbers)


_UNBOUNDED = sys.maxsize
_STRINGS = frozenset((str,))
_NOT_ONLY_LENGTH = dialect.GENERAL | {"pattern"}
_BRANCHES = {"type", "if", "then", "else"}
_WORDS = ({"type", "enum"}, {"type", "const"})


def _word(schema: dict[str, Any], shape: str) -> _Check:
    """A string out of a closed set, which is what most closed sets are."""
    keyword, expected = ("enum", tuple(schema["enum"])) if "enum" in schema else ("const", schema["const"])
    allowed = expected if keyword == "enum" else (expected,)

    def check(value: Any) -> _Found:
        if type(value) is not str:
            return [_Entry("type", ("string",), shape, value)]
        return None if value in allowed else [_Entry(keyword, expected, shape, value)]

    return check


_BOUNDS: dict[str, Callable[[Any, Any], bool]] = {
    "minimum": operator.ge,
    "maximum": operator.le,
    "exclusiveMinimum": operator.gt,
    "exclusiveMaximum": operator.lt,
}


def _number(schema: dict[str, Any], shape: str, other: _Check, *, whole: bool) -> _Check:
    bounds = [(keyword, schema[keyword], holds) for keyword, holds in _BOUNDS.items() if keyword in schema]

    def check(value: Any) -> _Found:
        kind = type(value)
        if kind is float:
            if not (value.is_integer() if whole else value - value == 0):  # the latter fails for infinity
                return other(value)
        elif kind is not int:
            return other(value)
        for keyword, bound, holds in bounds:
            if not holds(value, bound):
                return [_Entry(keyword, bound, shape, value)]
        return None

    return check


def _one_of(keyword: str, expected: object, allowed: tuple[object, ...], shape: str) -> _Check:
    def check(value: Any) -> _Found:
        if any(js.deep_equal(value, member) for member in allowed):
            return None
        return [_Entry(keyword, expected, shape, value)]

    return check


def _names(name_check: _Check | None) -> _Check | None:
    if name_check is None:
        return None

    def check(value: Any) -> _Found:
        found: _Found = None
        for name in value if type(value) is dict else ():
            inner = name_check(name)
            if inner is not None:
                found = _joined(found, inner, name)
        return found

    return check


def _size(keyword: str, holds: Callable[[int, int], bool], bound: int, shape: str) -> _Check:
    def check(value: Any) -> _Found:
        if type(value) is dict and not holds(len(value), bound):
            return [_Entry(keyword, bound, shape, value)]
        return None

    return check


def _tags(schema: dict[str, Any], name: str) -> tuple[str, ...] | None:
    """The words that a member of an object must be, when a schema asks nothing else."""
    if schema.keys() != {"type", "required", "properties"} or schema["type"] != "object":
        return None
    members = schema["properties"]
    if members.keys() != {name} or members[name].keys() not in ({"enum"}, {"const"}):
        return None
    tags = members[name].get("enum", (members[name].get("const"),))
    return tuple(tags) if all(type(tag) is str for tag in tags) else None


def _summary(schema: dict[str, Any] | bool) -> object:
    """An alternative in a word: the member it asks for, the definition or the type it names."""
    if isinstance(schema, bool):
        return schema
    match schema:
        case {"required": [name], **rest} if not rest:
            return name
        case {"$ref": target}:
            return str(target).rpartition("/")[2]
    return schema.get("type", schema.get("const", "any"))
