"""Tagged unions that look at one thing and then commit.

Trying every alternative turns one wrong member into a page of complaints about shapes the author never
meant. A switch picks the alternative first, for pydantic as a discriminator and for JSON Schema as a
chain of if/then/else, so that any validator reports what is wrong inside the alternative that was meant.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel
from pydantic.json_schema import JsonSchemaValue

from workrail_lint.documents.schema.dialect import BY_TYPE

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
        """The JSON Schema of the union, given those of its alternatives by tag."""


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
    """The members of an object by their names in the file; None for what is no object."""
    if isinstance(value, BaseModel):
        fields = type(value).model_fields
        return {fields[name].alias or name: getattr(value, name) for name in value.model_fields_set}
    return value if type(value) is dict else None


def _when(test: JsonSchemaValue, then: JsonSchemaValue, otherwise: JsonSchemaValue) -> JsonSchemaValue:
    return {"if": test, "then": then} | ({"else": otherwise} if otherwise else {})
