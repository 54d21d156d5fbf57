"""The members of every shape, read from the shipped schema, and common misspellings of them."""

from __future__ import annotations

from collections.abc import Collection
from functools import cache

from workrail_lint.base.suggest import nearest
from workrail_lint.systems.schemas import load_schema

STEP_SHAPES = {"StandardStep": "a standard step", "LoopStep": "a loop step", "ParallelStep": "a parallel step"}
EVALUATOR_ONLY = frozenset({"startsWith", "endsWith", "matches"})
# Members that authors use for an inline output schema, where only a catalog contract is allowed.
INLINE_SCHEMA = frozenset(
    {
        "inlineSchema",
        "jsonSchema",
        "outputSchema",
        "outputSchemaRef",
        "responseSchema",
        "schema",
        "schemaRef",
    }
)
# Operators of other condition languages, by the name they have here.
_OPERATOR_ALIASES = {
    "var": "variable name key field path context_var contextvar",
    "equals": "eq equal equalto is value ==",
    "not_equals": "ne neq notequal notequals isnot differs !=",
    "gt": "greaterthan greater more above >",
    "gte": "ge greaterthanorequal greaterthanorequalto greaterorequal atleast min >=",
    "lt": "lessthan less fewer below <",
    "lte": "le lessthanorequal lessthanorequalto lessorequal atmost max <=",
    "in": "oneof isoneof anyof among enum",
    "contains": "includes include has substring",
    "and": "all allof every &&",
    "or": "any some ||",
    "not": "none negate !",
}
_ALIASES = {alias: operator for operator, aliases in _OPERATOR_ALIASES.items() for alias in aliases.split()}


@cache
def _shapes() -> dict[str, tuple[str, ...]]:
    definitions = load_schema("workflow")["definitions"]
    return {name: tuple(definition.get("properties", ())) for name, definition in definitions.items()}


def members(shape: str) -> tuple[str, ...]:
    """The members of a shape, in the order of the documentation."""
    return _shapes().get(shape, ())


def other_step_shapes(name: str, shape: str) -> list[str]:
    """The kinds of steps that have a member which this kind does not have."""
    if shape not in STEP_SHAPES:
        return []
    return [label for other, label in STEP_SHAPES.items() if other != shape and name in members(other)]


def elsewhere(name: str, shape: str) -> str | None:
    """Where a member belongs that is in the wrong object of the right document."""
    if shape in STEP_SHAPES and name in members("LoopConfig"):
        return "inside `loop` of a loop step"
    if shape in STEP_SHAPES and name in members("Workflow"):
        return "at the top level of the workflow"
    if shape == "LoopStep" and name == "loopId":
        return "to the design form, which the engine rejects; write `id`"
    if shape == "LoopConfig" and name in members("LoopStep"):
        return "on the loop step itself, next to `loop`"
    if shape == "Workflow":
        kinds = [label for step, label in STEP_SHAPES.items() if name in members(step)]
        return "on " + " or ".join(kinds) if kinds else None
    return None


def nearest_member(name: str, known: Collection[str]) -> str | None:
    """The one known member a name was meant to be: another spelling of it, or a typo of one or two keys."""
    squashed = _squashed(name)
    same = [member for member in known if _squashed(member) == squashed]
    if len(same) == 1:
        return same[0]
    return nearest(name, known, 1 if len(name) < 5 else 2)


def nearest_operator(name: str, known: Collection[str]) -> str | None:
    """The operator a condition member was meant to be."""
    alias = _ALIASES.get(name) or _ALIASES.get(_squashed(name))
    return alias if alias in known else nearest_member(name, known)


def _squashed(name: str) -> str:
    return name.replace("_", "").replace("-", "").lower()
