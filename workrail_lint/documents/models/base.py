"""What all objects of a document have in common: closed, strict, frozen, named as in the file."""

from __future__ import annotations

import re

from pydantic import BaseModel, ConfigDict
from pydantic.alias_generators import to_camel
from pydantic.fields import ComputedFieldInfo, FieldInfo


def spaced(name: str) -> str:
    """`LoopStep` and `maxIterations` as `Loop step` and `Max iterations`."""
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
