"""Leaf types with JSON's own rules: nothing is converted, bounds are code points, numbers are finite.

Each constraint is an object that does two jobs from one definition: it checks a value for pydantic and
writes the same constraint into the JSON Schema.
"""

from __future__ import annotations

import re
from enum import Enum
from typing import Annotated, Any, TypeVar

from pydantic import GetCoreSchemaHandler, GetJsonSchemaHandler, Strict
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema, PydanticCustomError, PydanticKnownError, core_schema

from workrail_lint.documents.schema.dialect import duplicates, python_pattern

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
