"""How a loop repeats."""

from __future__ import annotations

from typing import Annotated, NamedTuple, Self

from pydantic import Discriminator, Field, GetJsonSchemaHandler, Tag, model_validator
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema, PydanticCustomError

from tools.models.workrail.conditions import Condition, ConditionSource
from tools.models.workrail.vocabulary import LoopType
from workrail_lint.documents.models import AnyText, ByType, Closed, Identifier, Maybe, Number, OneOf

MaxIterations = Annotated[float, Number(1, 1000)]


class _Need(NamedTuple):
    """Loops of these types need one of these members."""

    types: tuple[LoopType, ...]
    members: tuple[str, ...]

    def schema(self) -> JsonSchemaValue:
        one_of = [{"required": [member]} for member in self.members]
        tag = {"enum": [kind.value for kind in self.types]}
        return {
            "if": {"type": "object", "required": ["type"], "properties": {"type": tag}},
            "then": one_of[0] if len(one_of) == 1 else {"anyOf": one_of},
        }


_NEEDS = (
    _Need((LoopType.WHILE, LoopType.UNTIL), ("condition", "conditionSource")),
    _Need((LoopType.FOR,), ("count",)),
    _Need((LoopType.FOR_EACH,), ("items",)),
)


class LoopConfig(Closed):
    """The repetition of the body and its end. Members that belong to another type are ignored."""

    type: OneOf[LoopType] = Field(description="What decides whether the loop repeats.")
    max_iterations: MaxIterations = Field(description="Maximum number of rounds, whatever ends the loop.")
    condition: Maybe[Condition] = Field(
        None, description="Decides a `while` loop (as long as it holds) or an `until` loop (until it holds)."
    )
    condition_source: Maybe[ConditionSource] = Field(
        None, description="Where a `while` or `until` loop reads its decision; takes precedence over `condition`."
    )
    count: Maybe[
        Annotated[
            Annotated[float, Number(0, 1000), Tag("number")] | Annotated[AnyText, Tag("string")],
            Discriminator(ByType()),
        ]
    ] = Field(None, description="Rounds of a `for` loop: a number, or the context variable that holds it.")
    items: Maybe[AnyText] = Field(
        None, description="Context variable with the list that a `forEach` loop iterates over."
    )
    iteration_var: Maybe[Identifier] = Field(
        None, description="Variable that counts the rounds from 1 (default: `currentIteration`)."
    )
    item_var: Maybe[Identifier] = Field(
        None, description="Variable that holds the element of a `forEach` loop (default: `currentItem`)."
    )
    index_var: Maybe[Identifier] = Field(
        None, description="Variable that counts the elements from 0 (default: `currentIndex`)."
    )

    @model_validator(mode="after")
    def _has_what_its_type_needs(self) -> Self:
        written = {type(self).model_fields[name].alias for name in self.model_fields_set}
        for need in _NEEDS:
            if self.type in need.types and written.isdisjoint(need.members):
                raise PydanticCustomError(
                    "loop_needs",
                    "A {type} loop needs {members}",
                    {"type": self.type.value, "members": " or ".join(need.members)},
                )
        return self

    @classmethod
    def __get_pydantic_json_schema__(cls, schema: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        definition = handler(schema)
        handler.resolve_ref_schema(definition)["allOf"] = [need.schema() for need in _NEEDS]
        return definition
