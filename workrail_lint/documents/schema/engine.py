"""Structural validation: a JSON Schema compiled to closures, with the standard library alone.

Every document is validated on every commit, so a clean one must cost almost nothing. A check returns None if there is
no violation and builds nothing on the way; paths are built only for violations, token by token, while the result is
passed up. Where a definition refers to itself, the check returns a pending entry instead of calling itself, and a
worklist continues from there, so that nesting never reaches Python's recursion limit.

The dialect is the part of draft-07 that our generated schemas use; compiling rejects an unknown keyword, because a
constraint that is silently ignored is worse than none. Values are JavaScript's: booleans are not numbers, `1.0` is an
integer and equals `1`, lengths count code points (with `x-lengthUnit: u16` UTF-16 code units), and a number that
overflowed to infinity is not a number. `oneOf` whose alternatives differ in a constant member or in their type is a
switch: what is wrong is said about the alternative that was meant.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any, TypeAlias

from workrail_lint.base import js
from workrail_lint.base.result import Record
from workrail_lint.documents import pointer
from workrail_lint.documents.schema import dialect
from workrail_lint.documents.schema.dialect import (
    UNBOUNDED,
    Check,
    Entry,
    Found,
    Part,
    Schema,
    Test,
    accept,
    are_strings,
    joined,
    together,
)


class Violation(Record):
    """One place that breaks the schema.

    `pointer` names the invalid value: for a missing member the object that lacks it, for an unknown member the member
    itself, for a duplicate element the later one. `expected` is the keyword's parameter: the types (tuple), the allowed
    set (tuple), a bound, the pattern, the missing name, the known names (tuple), the index of the equal element; for
    `anyOf` and `oneOf` the alternatives (tuple). `shape` is the definition that was applied. `value` is the value at
    the pointer, or the member's name for `propertyNames`. `schema` is the object that holds the keyword.
    """

    __slots__ = ("expected", "keyword", "pointer", "schema", "shape", "value")

    def __init__(self, pointer: str, keyword: str, expected: Any, shape: str, value: Any, schema: Schema) -> None:
        self.pointer = pointer
        self.keyword = keyword
        self.expected = expected
        self.shape = shape
        self.value = value
        self.schema = schema

    @property
    def member(self) -> str:
        """The member it is about: the missing one, or the one that holds the value, directly or in a list."""
        if self.keyword == "required":
            return str(self.expected)
        tokens = pointer.decode(self.pointer)
        if self.keyword == "additionalProperties":
            return tokens[-1]
        return next((token for token in reversed(tokens) if not token.isdecimal()), "")


Matcher: TypeAlias = Callable[[str, str], bool]
_Prefix: TypeAlias = "tuple[_Prefix, list[pointer.Token]] | None"
_PYTHON_TYPES = {"object": dict, "array": list, "string": str, "boolean": bool, "null": type(None)}
_NOT_ONLY_LENGTH = dialect.GENERAL | {"pattern"}
_BRANCHES = {"type", "if", "then", "else"}
_WORDS = ({"type", "enum"}, {"type", "const"})


class Validator:
    """A compiled schema."""

    __slots__ = ("_by_schema", "_check")

    def __init__(self, check: Check | None, by_schema: bool) -> None:
        self._check = check
        self._by_schema = by_schema

    def violations(self, value: object) -> list[Violation]:
        """Return all violations, in the order of the document or of the schema; none for a valid value."""
        entries = self._check(value) if self._check is not None else None
        if entries is None:
            return []
        violations: list[tuple[list[pointer.Token], Entry]] = []
        worklist: list[tuple[Entry, _Prefix]] = [(entry, None) for entry in reversed(entries)]
        while worklist:
            entry, prefix = worklist.pop()
            if entry.check is None:
                violations.append((_path(prefix, entry.path), entry))
                continue
            entries = entry.check(entry.value)
            if entries is not None:
                below = (prefix, entry.path)
                worklist += [(inner, below) for inner in reversed(entries)]
        if len(violations) > 1 and not self._by_schema:
            orders: dict[int, dict[str, int]] = {}
            violations.sort(key=lambda item: _place(value, item[0], orders))
        return [
            Violation(
                pointer.encode(path), entry.keyword, entry.expected, entry.part.shape, entry.value, entry.part.schema
            )
            for path, entry in violations
            if entry.part is not None
        ]


def compile_schema(
    schema: Schema, *, on_demand: bool = False, by_schema: bool = False, matches: Matcher | None = None
) -> Validator:
    """Return a validator for a schema. Raise ValueError for a schema outside the dialect, which is a bug.

    With `on_demand`, what a schema says about a member is compiled when a document has it: few documents have all.
    `by_schema` is how agents see the violations of a contract pack: in the order of the schema, a closed set before a
    type, every broken keyword of a value; and infinity is a number. `matches(pattern, text)` decides about patterns
    that may come from others.
    """
    compiler = _Compiler(schema, on_demand, by_schema, matches)
    return Validator(compiler.compile(schema), by_schema)


def _path(prefix: _Prefix, path: list[pointer.Token]) -> list[pointer.Token]:
    tokens = list(path)
    while prefix is not None:
        prefix, outer = prefix
        tokens += outer
    tokens.reverse()
    return tokens


def _place(root: Any, path: list[pointer.Token], orders: dict[int, dict[str, int]]) -> list[int]:
    """Return the position of a path, as numbers that sort in document order."""
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


def _holds(check: Check | None, value: object) -> bool:
    """Return whether a check passes, for keywords that need only the result."""
    worklist = [(check, value)]
    while worklist:
        check, value = worklist.pop()
        for entry in (check(value) if check is not None else None) or ():
            if entry.check is None:
                return False
            worklist.append((entry.check, entry.value))
    return True


class _Members(dict[str, Check]):
    """The checks of members by name; one that was not met before is made by `add`."""

    __slots__ = ("add",)
    add: Callable[[str], Check]

    def __missing__(self, name: str) -> Check:
        return self.add(name)


class _Compiler:
    """Turns schemas into checks; None is a schema that accepts everything.

    Members are compiled by whoever meets them first, also by several threads at once: what they keep is the same.
    """

    def __init__(self, root: Schema, on_demand: bool, by_schema: bool, matches: Matcher | None) -> None:
        self._root = root
        self._on_demand = on_demand
        self._by_schema = by_schema
        self._matches = matches
        self._checks: dict[str, Check | None] = {}
        self._ranks: dict[str, int] = {"": 0}  # of definitions, in the order in which they are met

    def compile(self, schema: Schema | bool, shape: str = "", u16: bool = False, owner: str = "") -> Check | None:
        if schema is True:
            return None
        if schema is False:
            part = Part({}, shape, u16, owner)
            return lambda value: [Entry("false", None, part, value)]
        if not dialect.KEYWORDS.issuperset(schema):
            raise ValueError(f"outside the dialect: {sorted(schema.keys() - dialect.KEYWORDS)}")
        if "$ref" in schema:
            if schema.keys() - dialect.ANNOTATIONS != {"$ref"}:
                raise ValueError("draft-07 ignores keywords next to $ref")
            return self._reference(schema["$ref"], owner)
        part = Part(schema, shape, u16, owner)
        if dialect.GENERAL.isdisjoint(schema):
            return self._typed(part)
        if self._by_schema:
            return self._strict(part)
        if schema.keys() - dialect.ANNOTATIONS in _WORDS and schema["type"] == "string":
            return dialect.word(part)
        if schema.get("type") == "object" and schema.keys() - dialect.ANNOTATIONS <= _BRANCHES:
            switch = self._switch(part)
            if switch is not None:
                return switch
        check = self._typed(part)
        general = [self._general(word, part) for word in schema if word in dialect.GENERAL]
        return together([each for each in (check, *general) if each is not None])

    def _inner(self, schema: Schema | bool, part: Part) -> Check | None:
        """Compile a schema inside another one."""
        return self.compile(schema, part.shape, part.u16, part.owner)

    def _reference(self, target: str, owner: str) -> Check | None:
        if not target.startswith("#/"):
            raise ValueError(f"only local references: {target}")
        if (
            self._ranks.setdefault(target, len(self._ranks)) <= self._ranks[owner]
            and self._checks.get(target, accept) is not None
            and (target == owner or not self._is_closed(target))
        ):
            # A definition that refers to itself does so, at some point, by referring to one that was met before.
            return lambda value: [Entry("", None, None, value, self._definition(target))]
        return self._definition(target)

    def _definition(self, target: str) -> Check | None:
        if target not in self._checks:
            schema: Any = pointer.resolve(self._root, target[1:])
            self._checks[target] = self.compile(schema, pointer.decode(target[1:])[-1], owner=target)
        return self._checks[target]

    def _is_closed(self, target: str) -> bool:
        """Return whether a definition refers to no other one, so that it can't be part of a longer cycle."""
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

    def _strict(self, part: Part) -> Check:
        """Return a check that reports a wrong constant, set or type alone, else all other violations, unions first."""
        schema = part.schema
        literals = [self._general(word, part) for word in ("const", "enum") if word in schema]
        typed = self._typed(part) or accept
        others = dialect.GENERAL.difference(("const", "enum"))
        general = [each for word in schema if word in others if (each := self._general(word, part)) is not None]

        def check(value: Any) -> Found:
            for literal in literals:
                result = literal(value) if literal is not None else None
                if result is not None:
                    return result
            content = typed(value)
            if content is not None and content[0].keyword == "type" and not content[0].path:
                return content
            return [entry for each in general for entry in each(value) or ()] + (content or []) or None

        return check

    def _typed(self, part: Part) -> Check | None:
        """Return one check per JSON type; each passes other types to the next, and the last one rejects."""
        declared = part.schema.get("type")
        if type(declared) is str:
            return self._of_type(declared, part, dialect.refuse((declared,), part))
        if declared is not None:
            names, last = tuple(declared), dialect.refuse(tuple(declared), part)
        else:
            names = tuple(name for name, words in dialect.BY_TYPE.items() if not words.isdisjoint(part.schema))
            last = accept
        for name in reversed(names):
            if name != "integer" or "number" not in names:
                last = self._of_type(name, part, last)
        return last if names else None

    def _of_type(self, name: str, part: Part, other: Check) -> Check:
        match name:
            case "object":
                return self._object(part, other)
            case "array":
                return self._array(part, other)
            case "string":
                return self._string(part, other)
            case "boolean":
                return lambda value: None if value is True or value is False else other(value)
            case "null":
                return lambda value: None if value is None else other(value)
            case _:
                return dialect.number(part, other, whole=name == "integer", finite=not self._by_schema)

    def _object(self, part: Part, other: Check) -> Check:
        schema = part.schema
        properties: dict[str, Schema | bool] = schema.get("properties", {})
        required = tuple(schema.get("required", ()))
        additional = schema.get("additionalProperties", schema.get("x-objectMode") != "strict")
        known = tuple(properties)
        default: Check | None
        if additional is False:
            default = lambda value: [Entry("additionalProperties", known, part, value)]  # noqa: E731
        else:
            default = self._inner(additional, part)
        if not properties and not required and default is None:
            return lambda value: None if type(value) is dict else other(value)
        # Most members are plain strings, and asking a function about each would take longer than all the rest.
        longest: dict[str, int] = {}
        longest_of, least = longest.get, frozenset(required)

        def add_member(name: str) -> Check:
            if name not in properties:
                return default or accept
            check = self._inner(properties[name], part) or accept
            bound = self._string_bounds(properties[name], part)
            if bound is not None and bound[0] < 2:
                longest[name] = bound[1]
            members[name] = check
            return check

        members = _Members()
        members.add = add_member
        if not self._on_demand:
            for name in properties:
                add_member(name)

        def check(value: Any) -> Found:
            if type(value) is not dict:
                return other(value)
            result: Found = None
            if not value.keys() >= least:
                result = [Entry("required", name, part, value) for name in required if name not in value]
            for name, item in value.items():
                if type(item) is str and len(item) <= longest_of(name, -1) and item:
                    continue
                inner = members[name](item)
                if inner is not None:
                    result = joined(result, inner, name)
            return result

        def check_by_schema(value: Any) -> Found:
            """Yield the declared members in declared order, missing ones among them; then the others."""
            if type(value) is not dict:
                return other(value)
            result: list[Entry] = []
            for name in dict.fromkeys((*known, *required)):
                if name not in value:
                    result += [Entry("required", name, part, value)] if name in least else []
                elif name in properties:
                    result = joined(result, members[name](value[name]) or [], name)
            for name in value:
                if name not in properties and default is not None:
                    result = joined(result, default(value[name]) or [], name)
            return result or None

        return check_by_schema if self._by_schema else check

    def _string_bounds(self, schema: Schema | bool, part: Part) -> tuple[int, int] | None:
        """Return the least and the greatest length of a string, if a schema accepts strings and asks nothing else of
        them.
        """
        while type(schema) is dict and "$ref" in schema:
            schema = pointer.resolve(self._root, schema["$ref"][1:])  # type: ignore[assignment]
        if type(schema) is not dict or "string" not in schema.get("type", ()):
            return None
        if not _NOT_ONLY_LENGTH.isdisjoint(schema) or part.u16 or "x-lengthUnit" in schema:
            return None
        return schema.get("minLength", 0), schema.get("maxLength", UNBOUNDED)

    def _array(self, part: Part, other: Check) -> Check:
        schema = part.schema
        items = schema.get("items", True)
        element = self._inner(items, part)
        low, high = schema.get("minItems", 0), schema.get("maxItems")
        unique = schema.get("uniqueItems", False)
        bounds = self._string_bounds(items, part)

        def check(value: Any) -> Found:
            if type(value) is not list:
                return other(value)
            result: Found = None
            if len(value) < low:
                result = [Entry("minItems", low, part, value)]
            elif high is not None and len(value) > high:
                result = [Entry("maxItems", high, part, value)]
            if element is not None and not (bounds and are_strings(value, *bounds)):
                for index, item in enumerate(value):
                    inner = element(item)
                    if inner is not None:
                        result = joined(result, inner, index)
            if unique and len(value) > 1:
                for later, first in dialect.duplicates(value):
                    result = joined(result, [Entry("uniqueItems", first, part, value[later])], later)
            return result

        return check

    def _string(self, part: Part, other: Check) -> Check:
        schema = part.schema
        low, high, pattern = schema.get("minLength", 0), schema.get("maxLength"), schema.get("pattern")
        if not low and high is None and pattern is None:
            return lambda value: None if type(value) is str else other(value)
        length: Callable[[str], int] = js.u16_length if part.u16 else len

        def bounded(value: Any) -> Found:
            if type(value) is not str:
                return other(value)
            if length(value) < low:
                return [Entry("minLength", low, part, value)]
            if high is not None and length(value) > high:
                return [Entry("maxLength", high, part, value)]
            return None

        if pattern is None:
            return bounded
        matches, search = self._matches, dialect.search(pattern)
        if self._by_schema:
            test = search if matches is None else lambda text: matches(pattern, text)

            def check_by_schema(value: Any) -> Found:
                result = bounded(value)
                if type(value) is not str or test(value):
                    return result
                return [*(result or ()), Entry("pattern", pattern, part, value)]

            return check_by_schema
        is_plain = dialect.plain_text(pattern)
        most = UNBOUNDED if high is None else high

        def check(value: Any) -> Found:
            if type(value) is not str or not low <= length(value) <= most:
                return bounded(value)
            if is_plain(value) or search(value):
                return None
            return [Entry("pattern", pattern, part, value)]

        return check

    def _general(self, keyword: str, part: Part) -> Check | None:
        parameter: Any = part.schema[keyword]
        match keyword:
            case "enum":
                return dialect.one_of(keyword, tuple(parameter), tuple(parameter), part)
            case "const":
                return dialect.one_of(keyword, parameter, (parameter,), part)
            case "propertyNames":
                return dialect.names(self._inner(parameter, part))
            case "minProperties":
                return dialect.size(keyword, operator.ge, parameter, part)
            case "maxProperties":
                return dialect.size(keyword, operator.le, parameter, part)
            case "allOf":
                return together([check for each in parameter if (check := self._inner(each, part)) is not None])
            case "anyOf":
                return self._alternatives(keyword, parameter, lambda count: count >= 1, part)
            case "oneOf":
                return (
                    self._by_tag(parameter, part)
                    or self._by_type(parameter, part)
                    or self._alternatives(keyword, parameter, lambda count: count == 1, part)
                )
            case "not":
                test = self._test(parameter, part)
                return lambda value: [Entry(keyword, parameter, part, value)] if test(value) else None
            case _:
                return self._conditional(part)

    def _alternatives(
        self, keyword: str, schemas: list[Schema | bool], enough: Callable[[int], bool], part: Part
    ) -> Check:
        tests = [self._test(schema, part, u16=part.u16) for schema in schemas]
        expected = tuple(dialect.summary(schema) for schema in schemas)

        def check(value: Any) -> Found:
            if enough(sum(1 for test in tests if test(value))):
                return None
            return [Entry(keyword, expected, part, value)]

        return check

    def _by_tag(self, schemas: list[Schema], part: Part) -> Check | None:
        """Return alternatives that differ in the constant of one member: the one that a value names."""
        tag = dialect.tag_of(schemas)
        if tag is None:
            return None
        by_tag = {each["properties"][tag]["const"]: self._inner(each, part) or accept for each in schemas}
        tags, refuse = tuple(by_tag), dialect.refuse(("object",), part)

        def check(value: Any) -> Found:
            if type(value) is not dict:
                return refuse(value)
            if tag not in value:
                return [Entry("required", tag, part, value)]
            named = value[tag]
            if type(named) is str and named in by_tag:
                return by_tag[named](value)
            return joined(None, [Entry("enum", tags, part, named)], tag)

        return check

    def _by_type(self, schemas: list[Schema], part: Part) -> Check | None:
        """Return alternatives of different types: the one that a value has the type of."""
        types = [each.get("type") if type(each) is dict else None for each in schemas]
        kinds = {kind for kind in types if type(kind) is str}
        if len(kinds) < len(schemas) or kinds >= {"integer", "number"}:
            return None
        tests = [
            (self._test({"type": kind}, part), self._inner(each, part))
            for kind, each in zip(types, schemas, strict=True)
        ]
        expected = tuple(dialect.summary(schema) for schema in schemas)

        def check(value: Any) -> Found:
            for fits, inner in tests:
                if fits(value):
                    return inner(value) if inner is not None else None
            return [Entry("oneOf", expected, part, value)]

        return check

    def _switch(self, part: Part) -> Check | None:
        """Return branches that depend on one member: a lookup of its value instead of a test for each branch.

        None if the branches depend on something else.
        """
        name, by_tag, present = "", dict[str, Check](), None
        rest: Any = part.schema
        while present is None and type(rest) is dict and "if" in rest:
            condition: Schema = rest["if"]
            tags = None
            if len(condition.get("required", ())) == 1 and name in ("", condition["required"][0]):
                name = condition["required"][0]
                tags = () if condition.keys() == {"required"} else dialect.required_tags(condition, name)
            if tags is None:
                break
            then = self._inner(rest.get("then", True), part) or accept
            for tag in tags:
                by_tag.setdefault(tag, then)
            present = None if tags else then
            rest = rest.get("else", True)
        if not by_tag:
            return None
        absent = self._inner(rest, part) or accept
        other, refuse = present or absent, dialect.refuse(("object",), part)

        def check(value: Any) -> Found:
            if type(value) is not dict:
                return refuse(value)
            if name not in value:
                return absent(value)
            tag = value[name]
            return (by_tag.get(tag, other) if type(tag) is str else other)(value)

        return check

    def _conditional(self, part: Part) -> Check:
        test = self._test(part.schema["if"], part)
        then = self._inner(part.schema.get("then", True), part) or accept
        otherwise = self._inner(part.schema.get("else", True), part) or accept
        return lambda value: then(value) if test(value) else otherwise(value)

    def _test(self, schema: Schema | bool, part: Part, u16: bool = False) -> Test:
        """Return a predicate; common forms need no general check."""
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
            tags = dialect.required_tags(schema, name)
            if tags is not None:
                return lambda value: type(value) is dict and value.get(name) in tags
        check = self.compile(schema, u16=u16, owner=part.owner)
        return lambda value: _holds(check, value)
