"""Leaf types of the block documents, and the object they are members of."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, GetCoreSchemaHandler, GetJsonSchemaHandler
from pydantic.alias_generators import to_camel
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema, PydanticKnownError, core_schema

from workrail_lint.base.timestamps import ISO_TIMESTAMP
from workrail_lint.documents.models import Listed, Text
from workrail_lint.systems.blocks.paths import HARMLESS_PATH, SAFE_ID


class Open(BaseModel):
    """An object that may hold more than it declares: studios add members of their own."""

    model_config = ConfigDict(alias_generator=to_camel, extra="allow", frozen=True, strict=True)


class Positive:
    """A finite JSON number above zero."""

    def _check(self, value: Any) -> int | float:
        if (type(value) is not int and type(value) is not float) or value - value != 0:
            raise PydanticKnownError("float_type")
        if not value > 0:
            raise PydanticKnownError("greater_than", {"gt": 0.0})
        return value

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.no_info_plain_validator_function(self._check)

    def __get_pydantic_json_schema__(self, schema: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        return {"type": "number", "exclusiveMinimum": 0}


SafeId = Annotated[str, Text(pattern=SAFE_ID)]
AnyText = Annotated[str, Text()]
Telling = Annotated[str, Text(pattern=r"\S")]
"""A text that is not blank."""
Timestamp = Annotated[str, Text(pattern=ISO_TIMESTAMP)]
HarmlessPath = Annotated[str, Text(pattern=HARMLESS_PATH)]
Texts = Listed[AnyText]
Limit = Annotated[float, Positive()]
