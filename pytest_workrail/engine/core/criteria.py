"""Prose criteria: what an author demands of the notes of a step, and whether they meet it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import cache
from typing import Any, NoReturn

from msgspec import Struct

from pytest_workrail.engine.core.conditions import Context, Expansion, combination, deciding_operator, evaluate, fold
from pytest_workrail.engine.model.step_keys import utf8_prefix
from workrail_lint.base import js
from workrail_lint.base.canonical import canonical_bytes
from workrail_lint.base.ecma_regex import compile_pattern, shared_time
from workrail_lint.base.js import Json
from workrail_lint.base.patterns import Pattern
from workrail_lint.base.result import Err, Ok
from workrail_lint.systems.workrail.criteria_schema import problems

# Seconds of processor time for all patterns that one call searches. The public engine allows 30, which would hold up a
# whole server; a pattern that needs half a second needs the 30 too for a slightly longer text.
TIME_LIMIT_SECONDS = 0.5
MAX_LINES = 25
MAX_BYTES = 4096
_MAX_SCHEMA_BYTES = 512
# Deeper compositions are left out: no reader could follow them.
_MAX_DEPTH = 20


class Validation(Struct, frozen=True):
    """Whether a submission is valid, and what to say about it."""

    valid: bool
    issues: tuple[str, ...] = ()
    suggestions: tuple[str, ...] = ()


def criteria_lines(criteria: object) -> list[str]:
    """Every criterion as a line, as many as fit; the last line says how many do not."""
    lines = list(_lines(criteria, 0))
    kept: list[str] = []
    size = 0
    for line in lines:
        size += js.u8_length(line)
        if len(kept) == MAX_LINES or size > MAX_BYTES:
            break
        kept.append(line)
    left = len(lines) - len(kept)
    return [*kept, f"… and {left} more"] if left else kept


def _lines(node: object, depth: int) -> Iterator[str]:
    if depth > _MAX_DEPTH:
        return
    if isinstance(node, list):
        for member in node:
            yield from [_pattern(member)] if isinstance(member, str) and depth == 0 else _lines(member, depth + 1)
    elif isinstance(node, dict) and "type" in node:
        line = requirement(node) or _schema(node)
        if line is not None:
            yield line + _proviso(node.get("condition"))
    elif isinstance(node, dict) and isinstance(node.get("and"), list):
        yield from _lines(node["and"], depth + 1)
    elif isinstance(node, dict) and isinstance(node.get("or"), list):
        members = [text for member in node["or"] if (text := _together(member, depth))]
        if members:
            yield f"One of: {'; '.join(members)}"
    elif isinstance(node, dict) and "not" in node:
        text = _together(node["not"], depth)
        if text:
            yield f"Not: {text}"


def _together(member: object, depth: int) -> str:
    """A member of a composition in one piece."""
    return " and ".join(_lines(member, depth + 1))


def requirement(rule: dict[str, Any]) -> str | None:
    """Return the requirement of a rule in one line; None if one line can't express it."""
    match rule["type"]:
        case "contains" if rule.get("value"):
            return f'Must contain: "{js.text(rule["value"])}"'
        case "regex" if rule.get("pattern"):
            flags = f" (flags: {js.text(rule['flags'])})" if rule.get("flags") else ""
            return _pattern(rule["pattern"]) + flags
        case "length":
            low, high = rule.get("min"), rule.get("max")
            bounds = [f"≥{js.text(low)} chars"] if low is not None else []
            bounds += [f"≤{js.text(high)} chars"] if high is not None else []
            return f"Length: {', '.join(bounds)}" if bounds else None
        case _:
            return None


def _pattern(pattern: object) -> str:
    return f"Must match pattern: {js.text(pattern)}"


def _schema(rule: dict[str, Any]) -> str | None:
    if rule["type"] != "schema" or "schema" not in rule:
        return None
    return f"Must be JSON that fits: {utf8_prefix(_json(rule['schema']), _MAX_SCHEMA_BYTES)}"


def _proviso(condition: object) -> str:
    """When a rule applies, for one that does not always."""
    if not isinstance(condition, dict) or not condition:
        return ""
    if "var" not in condition:
        return " (under a condition)"
    operator = deciding_operator(condition)
    if operator is None:
        return f" (when {js.text(condition['var'])} truthy)"
    return f" (when {js.text(condition['var'])} {operator} {_json(condition[operator])})"


def _json(value: Json) -> str:
    return canonical_bytes(value).decode("utf-8", "replace")


_COMPOSITION_FAILED = "Validation composition failed"
_REVIEW = "Review validation criteria and adjust output accordingly."
_NO_OUTPUT = "The output is empty."
_GIVE_OUTPUT = "Say in the notes what was done in this step."
_JSON_HINT = "The criteria quote a piece of JSON: make sure that the notes contain it exactly as it is written there."
_QUOTED_JSON = Pattern(rf"[\"'`][{js.WHITESPACE_CLASS}]*[{{\[]")


class _EvaluationError(Exception):
    """The criteria themselves can't be evaluated; stays inside this module."""


def evaluate_criteria(
    criteria: object, text: str, context: Context, time_limit: float = TIME_LIMIT_SECONDS
) -> Ok[Validation] | Err[str]:
    """The verdict on a text, or why the criteria can't give one.

    A list reports every rule that fails. A composition is a single yes or no.
    """
    if criteria is None or criteria == []:
        return Ok(Validation(False, (_NO_OUTPUT,), (_GIVE_OUTPUT,)) if js.is_blank(text) else Validation(True))
    evaluator = _RuleEvaluator(text, context)
    try:
        with shared_time(time_limit):
            if isinstance(criteria, list) or _is_rule(criteria):
                rules = [_listed_rule(rule) for rule in criteria] if isinstance(criteria, list) else [criteria]
                return Ok(_rules_validation([(rule, list(evaluator.issues(rule))) for rule in rules]))
            if evaluator.holds(criteria):
                return Ok(Validation(True))
    except _EvaluationError as error:
        return Err(str(error))
    return Ok(Validation(False, (_COMPOSITION_FAILED,), (_REVIEW,)))


def _rules_validation(found_issues: list[tuple[Any, list[str]]]) -> Validation:
    issues = tuple(issue for _, own in found_issues for issue in own)
    if not issues:
        return Validation(True)
    quotes_json = any(own and _QUOTED_JSON.search(js.text(rule.get("message", ""))) for rule, own in found_issues)
    return Validation(False, issues, (_JSON_HINT, _REVIEW) if quotes_json else (_REVIEW,))


def _listed_rule(rule: object) -> object:
    """A member of a list. The public engine reads a bare string there, and only there, as a pattern."""
    if not isinstance(rule, str):
        return rule
    return {"type": "regex", "pattern": rule, "message": f"Output does not match pattern: {rule}"}


def _is_rule(node: object) -> bool:
    return isinstance(node, dict) and "type" in node


class _RuleEvaluator:
    """Applies rules to one text."""

    def __init__(self, text: str, context: Context) -> None:
        self._text = text
        self._context = context

    def holds(self, composition: object) -> bool:
        value = fold(composition, self._expand)
        if value is None:
            raise _EvaluationError("a member is neither a rule nor a composition")
        return value

    def _expand(self, node: Any) -> Expansion:
        if node == {}:
            return True
        if _is_rule(node):
            return not any(self.issues(node))
        return combination(node) if isinstance(node, dict) else None

    def issues(self, rule: object) -> Iterator[str]:
        """Yield the issues that a rule raises."""
        if not isinstance(rule, dict):
            raise _EvaluationError("a rule is not an object")
        if not evaluate(rule.get("condition"), self._context):
            return
        message = js.text(rule["message"]) if rule.get("message") else None
        match rule.get("type"):
            case "contains":
                value = rule.get("value")
                if not isinstance(value, str) or value not in self._text:
                    yield message or f"Output must include: {js.text(value)}"
            case "regex":
                if not self._matches(rule):
                    yield message or f"Pattern mismatch: {js.text(rule['pattern'])}"
            case "length":
                length = js.u16_length(self._text)
                if "min" in rule and length < js.to_number(rule["min"]):
                    yield message or f"Output is shorter than {js.text(rule['min'])} characters"
                if "max" in rule and length > js.to_number(rule["max"]):
                    yield message or f"Output is longer than {js.text(rule['max'])} characters"
            case "schema":
                if not self._fits(rule.get("schema")):
                    yield message or "Output does not match the schema"
            case unknown:
                raise _EvaluationError(f"unknown rule type {js.text(unknown)}")

    def _matches(self, rule: dict[str, Any]) -> bool:
        if "pattern" not in rule:
            return True
        return _search(js.text(rule["pattern"]), js.text(rule.get("flags", "")), self._text)

    def _fits(self, schema: object) -> bool:
        if schema is None:
            return False
        try:
            value = _read_json(self._text)
        except (ValueError, RecursionError):
            return False
        if isinstance(value, str) and _expects_container(schema):
            try:
                inner = _read_json(value)
            except (ValueError, RecursionError):
                inner = None
            if isinstance(inner, dict | list):
                value = inner
        return _validates(schema, value)


def _search(pattern: str, flags: str, text: str) -> bool:
    compiled = compile_pattern(pattern, flags)
    if isinstance(compiled, Err):
        raise _EvaluationError(f"invalid pattern: {compiled.error}")
    matched = compiled.value.search(text)
    if isinstance(matched, Err):
        raise _EvaluationError("the pattern took too long")
    return matched.value


def _read_json(text: str) -> Any:
    """JSON by the letter: Python's reader would also take NaN and Infinity."""
    return json.loads(text, parse_constant=_refuse_constant)


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


def _expects_container(schema: object) -> bool:
    """Whether a schema is about an object or an array."""
    stack = [schema]
    while stack:
        node = stack.pop()
        if not isinstance(node, dict):
            continue
        kinds = node.get("type")
        if any(kind in ("object", "array") for kind in (kinds if isinstance(kinds, list) else [kinds])):
            return True
        if "properties" in node or "required" in node:
            return True
        for name in ("oneOf", "anyOf", "allOf"):
            children = node.get(name)
            stack.extend(children if isinstance(children, list) else ())
    return False


def _validates(schema: object, value: Any) -> bool:
    from jsonschema_specifications import REGISTRY  # type: ignore[import-untyped]

    if not isinstance(schema, dict | bool):
        raise _EvaluationError("a schema is neither an object nor a boolean")
    # The linter's own judgement, so that a schema it lets through is one that can be evaluated.
    for pointer, problem in problems(schema) if isinstance(schema, dict) else ():
        raise _EvaluationError(f"invalid schema at '{pointer}': {problem}")
    try:
        # A registry of its own, with the meta-schemas: a reference to elsewhere is an error, never a download.
        return bool(_validator_class()(schema, registry=REGISTRY).is_valid(value))
    except _EvaluationError:
        raise
    except Exception as error:  # a schema that refers to itself without end
        raise _EvaluationError(f"the schema can't be evaluated: {type(error).__name__}") from error


@cache
def _validator_class() -> Any:
    """Draft 7 with ECMAScript patterns under a time limit."""
    import jsonschema  # slow to import, and few criteria have a schema

    def pattern(_: Any, expected: str, instance: Any, __: Any) -> Iterator[Any]:
        if isinstance(instance, str) and not _search(expected, "u", instance):
            yield jsonschema.ValidationError("does not match the pattern")

    def pattern_properties(validator: Any, patterns: dict[str, Any], instance: Any, _: Any) -> Iterator[Any]:
        if isinstance(instance, dict):
            for expected, subschema in patterns.items():
                for name, member in instance.items():
                    if _search(expected, "u", name):
                        yield from validator.descend(member, subschema)

    return jsonschema.validators.extend(  # type: ignore[no-untyped-call]
        jsonschema.Draft7Validator, {"pattern": pattern, "patternProperties": pattern_properties}
    )
