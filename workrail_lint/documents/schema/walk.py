"""The parts of a JSON Schema that apply to a place in a document: members, closed sets, descriptions.

A place may fit several alternatives, and while a document is being written nothing decides between them; so a place is
a list of schemas, and all of them are asked.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from workrail_lint.base.result import Record

Schema = dict[str, Any]
_ALTERNATIVES = ("anyOf", "oneOf", "allOf")
_BRANCHES = ("else", "then")  # what most documents have is said last
# References may be circular; no schema of ours needs more.
_DEEPEST = 12


class Member(Record):
    """A member that an object can have."""

    __slots__ = ("name", "required", "schemas")

    def __init__(self, name: str, schemas: list[Schema], required: bool) -> None:
        self.name = name
        self.schemas = schemas
        self.required = required  # by one of the alternatives


class SchemaWalk:
    """Asks one schema about places. Keywords that restrict values are left to the validator."""

    def __init__(self, schema: Schema) -> None:
        self._root = schema
        self._known: dict[int, list[Schema]] = {}

    def at(self, tokens: Iterable[str]) -> list[Schema]:
        """Return the schemas of the place that a pointer leads to."""
        result = self.expanded([self._root])
        for token in tokens:
            result = self._below(result, token)
        return result

    def below(self, schemas: list[Schema]) -> list[Schema]:
        """Return the schemas of the elements of a list."""
        return self._below(schemas, "0")

    def _below(self, schemas: list[Schema], token: str) -> list[Schema]:
        inner: list[Schema] = []
        for schema in schemas:
            properties = schema.get("properties", {})
            if token in properties:
                inner.append(properties[token])
            elif isinstance(schema.get("additionalProperties"), dict):
                inner.append(schema["additionalProperties"])
            items = schema.get("items")
            if isinstance(items, dict) and token.isdecimal():
                inner.append(items)
        return self.expanded(inner)

    def expanded(self, schemas: Iterable[Schema]) -> list[Schema]:
        """Return schemas with their references and alternatives, each once."""
        by_identity: dict[int, Schema] = {}
        for schema in schemas:
            if id(schema) not in self._known:
                self._known[id(schema)] = list(self._alternatives(schema, 0))
            by_identity.update((id(each), each) for each in self._known[id(schema)])
        return list(by_identity.values())

    def _alternatives(self, schema: object, depth: int) -> Iterator[Schema]:
        if not isinstance(schema, dict) or depth > _DEEPEST:
            return
        yield schema
        reference = schema.get("$ref")
        if isinstance(reference, str) and reference.startswith("#/"):
            target: Any = self._root
            for part in reference[2:].split("/"):
                target = target.get(part) if isinstance(target, dict) else None
            yield from self._alternatives(target, depth + 1)
        for keyword in _ALTERNATIVES:
            for each in schema.get(keyword, ()):
                yield from self._alternatives(each, depth + 1)
        for keyword in _BRANCHES:
            yield from self._alternatives(schema.get(keyword), depth + 1)

    def members(self, schemas: list[Schema]) -> list[Member]:
        """Return the members of the objects that fit, in the order of the model."""
        by_name: dict[str, list[Schema]] = {}
        required: set[str] = set()
        for schema in schemas:
            required.update(schema.get("required", ()))
            for name, member in schema.get("properties", {}).items():
                if member is not False:
                    by_name.setdefault(name, []).append(member)
        return [Member(name, self.expanded(each), name in required) for name, each in by_name.items()]

    @staticmethod
    def choices(schemas: list[Schema]) -> list[Any]:
        """Return the values of closed sets, and true and false where they fit."""
        result: list[Any] = []
        for schema in schemas:
            values = schema.get("enum") or ([schema["const"]] if "const" in schema else [])
            if schema.get("type") == "boolean" and not values:
                values = [True, False]
            result += [value for value in values if not any(value is each or value == each for each in result)]
        return result

    @staticmethod
    def description(schemas: list[Schema]) -> str:
        return next((str(each["description"]) for each in schemas if each.get("description")), "")

    @staticmethod
    def types(schemas: list[Schema]) -> set[str]:
        result: set[str] = set()
        for schema in schemas:
            kind = schema.get("type")
            result.update([kind] if isinstance(kind, str) else kind or ())
        return result
