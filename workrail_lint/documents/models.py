"""The building blocks of document models: closed objects, leaf types with JSON's own rules, unions, scenarios."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Mapping
from enum import Enum
from typing import Annotated, Any, TypeVar

from pydantic import BaseModel, ConfigDict, Field, GetCoreSchemaHandler, GetJsonSchemaHandler, Strict
from pydantic.alias_generators import to_camel
from pydantic.fields import ComputedFieldInfo, FieldInfo
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema, PydanticCustomError, PydanticKnownError, core_schema

from workrail_lint.documents.schema.dialect import BY_TYPE, duplicates, python_pattern


def spaced(name: str) -> str:
    """Return `LoopStep` and `maxIterations` as `Loop step` and `Max iterations`."""
    words = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|_", " ", name).strip()
    return words[:1].upper() + words[1:].lower()


def _member_title(name: str, field: FieldInfo | ComputedFieldInfo) -> str:
    return spaced(field.alias or to_camel(name))


class Closed(BaseModel):
    """An object that takes the members it declares and no others, converting nothing."""

    model_config = ConfigDict(
        alias_generator=to_camel,
        extra="forbid",
        field_title_generator=_member_title,
        frozen=True,
        model_title_generator=lambda model: spaced(model.__name__),
        strict=True,
    )


T = TypeVar("T")
E = TypeVar("E", bound=Enum)


class Text:
    """A string: bounds in code points, and an ECMAScript pattern."""

    __slots__ = ("_keywords", "_search", "high", "low", "pattern")

    def __init__(self, low: int = 0, high: int | None = None, pattern: str | None = None) -> None:
        self.low = low
        self.high = high
        self.pattern = pattern
        self._search = re.compile(python_pattern(pattern), re.ASCII).search if pattern is not None else None
        bounds = {"minLength": low or None, "maxLength": high, "pattern": pattern}
        self._keywords = {name: value for name, value in bounds.items() if value is not None}

    def _check(self, value: Any) -> str:
        # pydantic's own string type refuses lone surrogates, which JSON text may hold.
        if type(value) is not str:
            raise PydanticKnownError("string_type")
        if len(value) < self.low:
            raise PydanticKnownError("string_too_short", {"min_length": self.low})
        if self.high is not None and len(value) > self.high:
            raise PydanticKnownError("string_too_long", {"max_length": self.high})
        if self._search is not None and self._search(value) is None:
            raise PydanticKnownError("string_pattern_mismatch", {"pattern": str(self.pattern)})
        return value

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.no_info_plain_validator_function(self._check)

    def __get_pydantic_json_schema__(self, schema: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        return {"type": "string", **self._keywords}


class Number:
    """A finite JSON number within inclusive bounds; `whole` wants an integer, which `1.0` is."""

    __slots__ = ("high", "low", "whole")

    def __init__(self, low: int | None = None, high: int | None = None, *, whole: bool = False) -> None:
        self.low = low
        self.high = high
        self.whole = whole

    def _check(self, value: Any) -> int | float:
        if type(value) is not int and type(value) is not float:
            raise PydanticKnownError("int_type" if self.whole else "float_type")
        if value - value != 0:
            raise PydanticKnownError("finite_number")
        if self.whole and value != int(value):
            raise PydanticKnownError("int_from_float")
        if self.low is not None and value < self.low:
            raise PydanticKnownError("greater_than_equal", {"ge": self.low})
        if self.high is not None and value > self.high:
            raise PydanticKnownError("less_than_equal", {"le": self.high})
        return int(value) if self.whole else value

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.no_info_plain_validator_function(self._check)

    def __get_pydantic_json_schema__(self, schema: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        bounds = {"minimum": self.low, "maximum": self.high}
        keywords = {name: value for name, value in bounds.items() if value is not None}
        return {"type": "integer" if self.whole else "number", **keywords}


class Array:
    """A JSON array, kept as a tuple; uniqueness is deep equality of what was written."""

    __slots__ = ("high", "low", "unique")

    def __init__(self, low: int = 0, high: int | None = None, *, unique: bool = False) -> None:
        self.low = low
        self.high = high
        self.unique = unique

    def _check(self, value: Any, handler: core_schema.ValidatorFunctionWrapHandler) -> Any:
        if type(value) is not list:
            raise PydanticKnownError("list_type")
        size = len(value)
        if size < self.low:
            raise PydanticKnownError("too_short", _size("min_length", self.low, size))
        if self.high is not None and size > self.high:
            raise PydanticKnownError("too_long", _size("max_length", self.high, size))
        items = handler(tuple(value))
        if self.unique and (repeated := duplicates(value)):
            later, first = repeated[0]
            raise PydanticCustomError(
                "not_unique", "Element {later} repeats element {first}", {"later": later, "first": first}
            )
        return items

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.no_info_wrap_validator_function(self._check, handler(source))

    def __get_pydantic_json_schema__(self, schema: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        bounds = {"minItems": self.low or None, "maxItems": self.high, "uniqueItems": self.unique or None}
        return handler(schema) | {name: value for name, value in bounds.items() if value is not None}


def _size(bound: str, wanted: int, actual: int) -> dict[str, Any]:
    return {"field_type": "Array", bound: wanted, "actual_length": actual}


class _Absent:
    """Optional, but never null: None stands for "not written" and is no JSON value of the member."""

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        schema = handler(source)
        if schema["type"] != "nullable":
            raise TypeError(f"not an optional type: {source}")
        inner: CoreSchema = schema["schema"]
        return inner


Maybe = Annotated[T | None, _Absent()]
Listed = Annotated[tuple[T, ...], Array()]
OneOf = Annotated[E, Strict(strict=False)]
"""A member of a closed set, given by its value."""

AnyText = Annotated[str, Text()]
FilledText = Annotated[str, Text(1)]
Title = Annotated[str, Text(1, 128)]
Finite = Annotated[float, Number()]
Identifier = Annotated[str, Text(pattern=r"^[a-zA-Z_][a-zA-Z0-9_]*$")]
StepId = Annotated[str, Text(3, 64, r"^[a-z0-9-]+$")]
AgentRole = Annotated[str, Text(10, 1024)]


_JSON_TYPES = {
    dict: "object",
    list: "array",
    tuple: "array",
    str: "string",
    bool: "boolean",
    int: "number",
    float: "number",
    type(None): "null",
}
_PLAIN = frozenset({"type", "propertyNames"}).union(*BY_TYPE.values())


class Switch(ABC):
    """A discriminator: the tag of the alternative a value means, or None for none of them.

    pydantic asks it about JSON values when reading and about its own models when writing.
    """

    __name__ = "switch"  # pydantic asks every discriminator for it

    @abstractmethod
    def __call__(self, value: Any) -> str | None: ...

    @abstractmethod
    def schema(self, choices: Mapping[str, JsonSchemaValue]) -> JsonSchemaValue:
        """Return the JSON Schema of the union, given those of its alternatives by tag."""


class ByType(Switch):
    """By JSON type; the tags are the names of the types."""

    def __call__(self, value: Any) -> str | None:
        return "object" if isinstance(value, BaseModel) else _JSON_TYPES.get(type(value))

    def schema(self, choices: Mapping[str, JsonSchemaValue]) -> JsonSchemaValue:
        union: JsonSchemaValue = {"type": list(choices)}
        if all(choice.keys() <= _PLAIN for choice in choices.values()):
            # Each keyword speaks about one type only, so the alternatives can share one schema.
            return {**{name: word for choice in choices.values() for name, word in choice.items()}, **union}
        chain: JsonSchemaValue = {}
        for tag, choice in reversed(list(choices.items())):
            chain = _when({"type": tag}, choice, chain)
        return union | chain


class ByMember(Switch):
    """By the value of one member; `absent` is the tag of a value that does not have it."""

    def __init__(self, member: str, absent: str | None = None) -> None:
        self.member = member
        self.absent = absent

    def __call__(self, value: Any) -> str | None:
        written = _members(value)
        if written is None:
            return None
        if self.member not in written:
            return self.absent
        tag = written[self.member]
        # The tag that stands for absence is not a word an author can write.
        return tag if isinstance(tag, str) and tag != self.absent else None

    def schema(self, choices: Mapping[str, JsonSchemaValue]) -> JsonSchemaValue:
        tags = [tag for tag in choices if tag != self.absent]
        known: JsonSchemaValue = {"properties": {self.member: {"enum": tags}}}
        has_member: JsonSchemaValue = {"required": [self.member]}
        # The last test passes what is no object, so that only the union itself complains about its type.
        chain = {**has_member, **known} if self.absent is None else _when(has_member, known, choices[self.absent])
        for tag in reversed(tags):
            tagged = {"type": "object", **has_member, "properties": {self.member: {"const": tag}}}
            chain = _when(tagged, choices[tag], chain)
        return {"type": "object", **chain}


class ByPresence(Switch):
    """By which member is there, first match first; `otherwise` is the tag when none of them is."""

    def __init__(self, members: Mapping[str, str], otherwise: str | None = None) -> None:
        self.members = members
        self.otherwise = otherwise

    def __call__(self, value: Any) -> str | None:
        written = _members(value) or {}
        return next((tag for member, tag in self.members.items() if member in written), self.otherwise)

    def schema(self, choices: Mapping[str, JsonSchemaValue]) -> JsonSchemaValue:
        chain: JsonSchemaValue
        if self.otherwise is None:
            chain = {"anyOf": [{"required": [member]} for member in self.members]}
        else:
            chain = choices[self.otherwise]
        for member, tag in reversed(list(self.members.items())):
            chain = _when({"type": "object", "required": [member]}, choices[tag], chain)
        # With a last resort, that alternative is the one to say what type it wants.
        return chain if self.otherwise is not None else {"type": "object", **chain}


def _members(value: Any) -> Mapping[str, Any] | None:
    """Return the members of an object by their names in the file; None for what is no object."""
    if isinstance(value, BaseModel):
        fields = type(value).model_fields
        return {fields[name].alias or name: getattr(value, name) for name in value.model_fields_set}
    return value if type(value) is dict else None


def _when(test: JsonSchemaValue, then: JsonSchemaValue, otherwise: JsonSchemaValue) -> JsonSchemaValue:
    return {"if": test, "then": then} | ({"else": otherwise} if otherwise else {})


# A colon or a bracket would be taken for a part of a test id.
Name = Annotated[str, Text(1, 100, r"^[^:\[\]\u0000-\u001f]+$")]
LockId = Annotated[str, Text(1, 128, r"^[a-z0-9]+(-[a-z0-9]+)*$")]


class Generated(Closed):
    """Who wrote the file, and what it is there for."""

    by: FilledText = Field(description="The command that wrote it.")
    goals: Maybe[Listed[FilledText]] = Field(None, description="The goals that it shows and no other one does.")
    digest: Annotated[str, Text(71, 71, "^sha256:[0-9a-f]{64}$")] = Field(
        description="Of the file in canonical form, without this member. If it differs, the file was edited."
    )


class ScenarioFile(Closed):
    """The members that the scenarios of all systems share."""

    schema_: Maybe[AnyText] = Field(None, alias="$schema", description="The schema an editor checks the file with.")
    name: Maybe[Name] = Field(None, description="The name of the test (default: the file name).")
    description: Maybe[AnyText] = Field(None, description="What the scenario shows.")
    enforces: Maybe[Listed[LockId]] = Field(None, description="The locks that this scenario enforces.")
    golden: Maybe[bool] = Field(None, description="Whether the run is compared with a golden (default: true).")
    skip: Maybe[FilledText] = Field(None, description="Why the scenario is not run.")
    generated: Maybe[Generated] = Field(None, description="Who wrote the file; left out where a person did.")
