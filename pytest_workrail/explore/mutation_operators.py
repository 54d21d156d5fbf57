"""Changes to an IR that a suite should notice, one operator for each kind of mistake an author makes."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from typing import Any, Final, NamedTuple, TypeAlias

from pytest_workrail.agents.solving import conditions_of, workflow_solver
from pytest_workrail.coverage.points import fragment_place, place_of
from workrail_lint.base import js
from workrail_lint.base.js import Json
from workrail_lint.documents.pointer import child
from workrail_lint.systems.workrail.compiler.compiled import CompiledWorkflow
from workrail_lint.systems.workrail.model.build import program_model
from workrail_lint.systems.workrail.model.ir import (
    Program,
    ProgramStep,
    PromptStep,
    RepeatingStep,
    RequiredAssessments,
    RequiredContract,
    StepOutput,
)
from workrail_lint.systems.workrail.solver.expression import UNSET

Path: TypeAlias = tuple[str | int, ...]

# By step id: the name of a builtin, and where its text starts and ends in the prompt.
Injections: TypeAlias = Mapping[str, Sequence[tuple[str, int, int]]]
# From the first letter of a line or a sentence to the end of either.
_SENTENCE = re.compile(r"[^\n.!?]*\w[^\n.!?]*(?:[.!?](?=\S)[^\n.!?]*)*[.!?]*")
_BOUNDS = {"gt": "gte", "gte": "gt", "lt": "lte", "lte": "lt"}
_COMPARED = ("equals", "not_equals", *_BOUNDS, "contains", "startsWith", "endsWith", "matches", "in")
OPERATORS: dict[str, str] = {
    "STP-DROP": "a step or loop removed",
    "STP-DUP": "a step repeated under a new id",
    "STP-SWAP": "a step exchanged with the next one",
    "CND-DROP": "a condition removed",
    "CND-NEG": "a condition negated",
    "CND-VALUE": "a comparison with another value",
    "CND-BOUND": "a bound that includes or excludes its value",
    "CND-AND-OR": "'and' and 'or' exchanged",
    "CND-MEMBER-DROP": "one member of a condition removed",
    "LOP-LIMIT+1": "one more iteration allowed",
    "LOP-LIMIT-1": "one iteration less allowed",
    "LOP-KIND": "'while' and 'until' exchanged",
    "CTR-DROP": "a contract removed",
    "CTR-OPTIONAL": "a contract made optional",
    "CTR-FIELD": "a required field of a contract made optional",
    "CRT-DROP": "validation criteria removed",
    "CRT-RULE-DROP": "one rule of the criteria removed",
    "CRT-BOUND": "a length bound of the criteria moved by one",
    "ASM-DROP": "an assessment removed",
    "ASM-LEVEL-DROP": "one level of a dimension removed",
    "ASM-DIM-OPTIONAL": "a dimension made optional",
    "CSQ-DROP": "a consequence removed",
    "CSQ-LEVEL": "a consequence set off by another level",
    "GAT-DROP": "a confirmation removed",
    "GAT-ADD": "a confirmation added",
    "GAT-ALWAYS": "a conditional confirmation made unconditional",
    "FRG-DROP": "a prompt fragment removed",
    "FRG-ALWAYS": "a prompt fragment shown always",
    "PRM-SENTENCE-DROP": "the middle sentence of a prompt removed",
    "NTS-FLIP": "notes made optional, or required",
    "INJ-DROP": "the text of a feature or ref not injected",
    "CAP-LEVEL": "a capability required instead of preferred, or the reverse",
    "PRF-DROP": "the recommended preferences removed",
    "GDN-DROP": "a line of guidance removed",
}


class Removed(Enum):
    """The marker for a removed member."""

    REMOVED = "removed"


REMOVED: Final = Removed.REMOVED


@dataclass(frozen=True, slots=True)
class Mutant:
    """One change of one IR.

    `place` is the step or loop it is about, as coverage names it, and empty for the workflow as a whole. `beside` are
    the places next to it that show the change too. `path` is the changed member of the IR, `at` the member that a
    reader would look at. `change` says what is different, as a clause: "step 'review' is removed".
    """

    operator: str
    place: str
    path: Path
    value: Json | Removed
    change: str
    at: Path
    beside: tuple[str, ...] = ()
    number: int = 0

    @property
    def id(self) -> str:
        """The name of the mutant, unique in its workflow and the same in the next run."""
        return f"{self.operator}:{self.place}" + (f":{self.number}" if self.number else "")

    @property
    def pointer(self) -> str:
        """The JSON pointer of `at` in the IR."""
        pointer = ""
        for part in self.at:
            pointer = child(pointer, part)
        return pointer

    def apply(self, ir: dict[str, Any]) -> dict[str, Any]:
        """Return the mutated IR; what it has in common with the sound one is shared."""
        changed: dict[str, Any] = _changed(ir, self.path, self.value)
        return changed


def _changed(node: Any, path: Path, value: Any) -> Any:
    if not path:
        return value
    first, rest = path[0], path[1:]
    if isinstance(first, int):
        items = list(node)
        if not rest and value is REMOVED:
            del items[first]
        else:
            items[first] = _changed(items[first], rest, value)
        return items
    if not rest and value is REMOVED:
        return {name: member for name, member in node.items() if name != first}
    return {**node, first: _changed(node.get(first), rest, value)}


def value_at(node: Any, path: Path) -> Any:
    """Return what an IR holds at a path; None where there is nothing."""
    for part in path:
        if isinstance(part, int):
            node = node[part] if isinstance(node, list) and part < len(node) else None
        else:
            node = node.get(part) if isinstance(node, dict) else None
    return node


def middle_sentence(prompt: str) -> str | None:
    """Return the sentence in the middle of a prompt, as it stands there; None if there is only one."""
    sentences = _SENTENCE.findall(prompt)
    return str(sentences[len(sentences) // 2]) if len(sentences) > 1 else None


def injections_of(compiled: CompiledWorkflow) -> dict[str, list[tuple[str, int, int]]]:
    """Return what builtins put into the prompts of a workflow, and where."""
    return {
        step_id: [(f"{item.kind} '{item.id}'", item.start, item.end) for item in node.injections]
        for step_id, node in compiled.step_by_id.items()
        if node.injections
    }


def without_injected(prompt: str, injected: Sequence[tuple[str, int, int]]) -> Iterator[tuple[str, str]]:
    """For each builtin of a prompt its name, and the prompt without all that it brought."""
    for name in dict.fromkeys(name for name, _, _ in injected):
        text = prompt
        for start, end in sorted({(start, end) for each, start, end in injected if each == name}, reverse=True):
            text = text[:start] + text[end:]
        if text != prompt:
            yield name, text


class ConditionPlace(NamedTuple):
    """A condition of an IR. `prefix` starts the ids of its operators; `what` names it in a sentence."""

    prefix: str
    place: str
    path: Path
    what: str
    beside: tuple[str, ...] = ()


def condition_mutants(at: ConditionPlace, condition: Any, known: dict[str, list[Json]]) -> Iterator[Mutant]:
    """Yield every mutant of one condition. `known` are the values that the workflow compares each variable with."""

    def mutant(operator: str, path: Path, value: Any, change: str) -> Mutant:
        return Mutant(f"{at.prefix}{operator}", at.place, path, value, change, path, at.beside)

    yield mutant("CND-NEG", at.path, {"not": condition}, f"{at.what} is negated")
    for path, node in _nodes(condition, at.path):
        for word, other in (("and", "or"), ("or", "and")):
            members = node.get(word)
            if not isinstance(members, list) or len(members) < 2:
                continue
            swapped = {(other if name == word else name): member for name, member in node.items()}
            yield mutant("CND-AND-OR", path, swapped, f"'{word}' becomes '{other}' in {at.what}")
            for index in range(len(members)):
                left = [member for place, member in enumerate(members) if place != index]
                change = f"{_described(members[index])} is removed from {at.what}"
                yield mutant("CND-MEMBER-DROP", path, {**node, word: left}, change)
        operator = next((name for name in _COMPARED if name in node), None) if "var" in node else None
        if operator is None:
            continue
        other_value = _other(node, operator, known)
        if other_value is not REMOVED:
            new = {**node, operator: other_value}
            change = f"{_described(node)} becomes {_described(new)} in {at.what}"
            yield mutant("CND-VALUE", path, new, change)
        if operator in _BOUNDS:
            new = {(_BOUNDS[operator] if name == operator else name): value for name, value in node.items()}
            yield mutant("CND-BOUND", path, new, f"{_described(node)} becomes {_described(new)} in {at.what}")


def _nodes(condition: Any, path: Path) -> Iterator[tuple[Path, dict[str, Any]]]:
    """Yield every object of a condition, outer ones first."""
    if not isinstance(condition, dict):
        return
    yield path, condition
    if "var" in condition:
        return
    for word in ("and", "or"):
        members = condition.get(word)
        for index, member in enumerate(members if isinstance(members, list) else ()):
            yield from _nodes(member, (*path, word, index))
    yield from _nodes(condition.get("not"), (*path, "not"))


def _other(node: dict[str, Any], operator: str, known: dict[str, list[Json]]) -> Any:
    """Another operand: one that the workflow knows for the variable if there is one."""
    operand = node[operator]
    if operator == "in":
        return operand[1:] if isinstance(operand, list) and len(operand) > 1 else REMOVED
    if isinstance(operand, bool):
        return not operand
    if js.is_number(operand):
        return operand + 1
    if not isinstance(operand, str) or operator == "matches":
        return REMOVED
    if operator in _BOUNDS:
        return REMOVED
    others = (value for value in known.get(js.text(node["var"]), ()) if isinstance(value, str))
    return next((value for value in others if value not in (operand, "", "other")), f"not {operand}")


def _described(node: Any) -> str:
    """Return a condition as a reader says it."""
    if not isinstance(node, dict):
        return "a condition"
    if "var" not in node:
        word = next(iter(node), "empty")
        return f"a condition with '{word}'"
    operator = next((name for name in _COMPARED if name in node), None)
    if operator is None:
        return f"'{node['var']}'"
    signs = {"equals": "=", "not_equals": "≠", "gt": ">", "gte": "≥", "lt": "<", "lte": "≤"}
    operand = ", ".join(map(js.text, node[operator])) if isinstance(node[operator], list) else js.text(node[operator])
    return f"'{node['var']} {signs.get(operator, operator)} {operand}'"


def compared_values(program: Program) -> dict[str, list[Json]]:
    """The variables of a workflow's conditions, each with values that make a difference; null for one not set."""
    classes = workflow_solver(program).classes([(condition, True) for condition in conditions_of(program)])
    return {name: [None if value is UNSET else value for value in values] for name, values in classes.items()}


def mutants(ir: dict[str, Any], injections: Injections | None = None) -> list[Mutant]:
    """Every mutant of an IR, in the order of its steps; each has an id of its own.

    `injections` says where builtins put text into the prompts; without it no such text is left out.
    """
    seen: Counter[str] = Counter()
    numbered: list[Mutant] = []
    for mutant in _Mutants(program_model(ir), injections or {}).all():
        numbered.append(replace(mutant, number=seen[mutant.id]))
        seen[mutant.id] += 1
    return numbered


class _Mutants:
    """Goes through one IR."""

    def __init__(self, program: Program, injections: Injections) -> None:
        self._program = program
        self._injections = injections
        self._known = compared_values(program)
        self._packs = {pack.ref: index for index, pack in enumerate(program.contracts)}
        self._assessments = {each.id: index for index, each in enumerate(program.assessments)}
        self._seen_packs: set[str] = set()
        self._seen_assessments: set[str] = set()

    def all(self) -> Iterator[Mutant]:
        yield from self._workflow()
        yield from self._siblings(self._program.steps, ("steps",), None)

    def _workflow(self) -> Iterator[Mutant]:
        for name, level in sorted(self._program.capabilities.items()):
            other = {"required": "preferred", "preferred": "required"}.get(level)
            if other is not None:
                path: Path = ("capabilities", name)
                yield Mutant("CAP-LEVEL", "", path, other, f"capability '{name}' becomes {other}", path)
        if self._program.raw.get("recommendedPreferences"):
            path = ("recommendedPreferences",)
            yield Mutant("PRF-DROP", "", path, REMOVED, "the recommended preferences are removed", path)

    def _siblings(self, steps: Sequence[ProgramStep], path: Path, loop_id: str | None) -> Iterator[Mutant]:
        places = [place_of(step.id, () if loop_id is None else ((loop_id, 0),)) for step in steps]
        around = () if loop_id is None else (loop_id,)
        written: list[Any] = [step.raw for step in steps]
        for index, step in enumerate(steps):
            at: Path = (*path, index)
            beside = (*places[max(0, index - 1) : index], *places[index + 1 : index + 2], *around)
            what = f"{'loop' if step.type == 'loop' else 'step'} '{step.id}'"

            def structural(
                operator: str, value: Json, change: str, near: tuple[str, ...] = beside, here: Path = at, k: int = index
            ) -> Mutant:
                return Mutant(operator, places[k], path, value, change, here, near)

            if len(steps) > 1:
                left = [*written[:index], *written[index + 1 :]]
                yield structural("STP-DROP", left, f"{what} is removed")
            if step.type != "loop":
                again = {**step.raw, "id": f"{step.id}-again"}
                repeated = [*written[: index + 1], again, *written[index + 1 :]]
                yield structural("STP-DUP", repeated, f"{what} runs twice")
            if index + 1 < len(steps):
                swapped = [*written[:index], written[index + 1], step.raw, *written[index + 2 :]]
                yield structural("STP-SWAP", swapped, f"{what} and '{steps[index + 1].id}' change places")
            yield from self._step(step, at, places[index], what)

    def _step(self, step: ProgramStep, at: Path, place: str, what: str) -> Iterator[Mutant]:
        if step.run_condition is not None:
            path = (*at, "runCondition")
            yield Mutant("CND-DROP", place, path, REMOVED, f"{what} always runs", path)
            named = ConditionPlace("", place, path, f"the condition of {what}")
            yield from condition_mutants(named, step.run_condition.raw, self._known)
        yield from self._confirmation(step, at, place, what)
        if step.type == "loop":
            yield from self._loop(step, at, place, what)
            return
        path = (*at, "notes")
        other = "optional" if step.notes == "required" else "required"
        yield Mutant("NTS-FLIP", place, path, other, f"the notes of {what} become {other}", path)
        if step.type == "step":
            yield from self._prompt(step, at, place, what)
            yield from self._output(step.output, (*at, "output"), place, what)

    def _confirmation(self, step: ProgramStep, at: Path, place: str, what: str) -> Iterator[Mutant]:
        path, confirmation = (*at, "confirmation"), step.confirmation
        if confirmation.kind == "never":
            if step.type != "loop":
                added: Json = {"kind": "always", "gate": "coordinator_eval"}
                yield Mutant("GAT-ADD", place, path, added, f"{what} asks for confirmation", at)
            return
        yield Mutant("GAT-DROP", place, path, {"kind": "never"}, f"{what} no longer asks for confirmation", path)
        if confirmation.kind == "when":
            always = {**confirmation.raw, "kind": "always"}
            del always["condition"]
            yield Mutant("GAT-ALWAYS", place, path, always, f"{what} always asks for confirmation", path)
            named = ConditionPlace("GAT-", place, (*path, "condition"), f"the confirmation condition of {what}")
            yield from condition_mutants(named, confirmation.condition.raw, self._known)

    def _loop(self, step: RepeatingStep, at: Path, place: str, what: str) -> Iterator[Mutant]:
        kind, path = step.loop.kind, (*at, "loop")
        limit, body = step.loop.max_iterations, tuple(place_of(each.id, ((place, 0),)) for each in step.body)
        for name, value in (("LOP-LIMIT+1", limit + 1), ("LOP-LIMIT-1", limit - 1)):
            if value >= 1:
                here = (*path, "maxIterations")
                yield Mutant(name, place, here, value, f"{what} may run {value} times instead of {limit}", here, body)
        if kind in ("while", "until"):
            other = "until" if kind == "while" else "while"
            yield Mutant("LOP-KIND", place, (*path, "kind"), other, f"{what} becomes '{other}'", path, body)
        if step.loop_condition is not None:
            here = (*path, "source", "condition")
            yield Mutant("LOP-CND-DROP", place, here, {}, f"{what} loses its condition", here, body)
            named = ConditionPlace("LOP-", place, here, f"the condition of {what}", body)
            yield from condition_mutants(named, step.loop_condition.raw, self._known)
        yield from self._siblings(step.body, (*at, "body"), place)

    def _prompt(self, step: PromptStep, at: Path, place: str, what: str) -> Iterator[Mutant]:
        path = (*at, "prompt")
        sentence = middle_sentence(step.prompt)
        if sentence is not None:
            text = step.prompt.replace(sentence, "", 1)
            yield Mutant("PRM-SENTENCE-DROP", place, path, text, f"a sentence of the prompt of {what} is removed", path)
        for name, text in without_injected(step.prompt, self._injections.get(step.id, ())):
            yield Mutant("INJ-DROP", place, path, text, f"{name} is not injected into {what}", path)
        for index, fragment in enumerate(step.fragments):
            here, name = (*at, "fragments", index), f"fragment '{fragment.id}' of {what}"
            where = fragment_place(place, fragment.id)
            yield Mutant("FRG-DROP", where, here, REMOVED, f"{name} is removed", here)
            if fragment.when is not None:
                when = (*here, "when")
                yield Mutant("FRG-ALWAYS", where, when, REMOVED, f"{name} is always shown", when)
                named = ConditionPlace("FRG-", where, when, f"the condition of {name}")
                yield from condition_mutants(named, fragment.when.raw, self._known)
        for index in range(len(step.guidance)):
            here = (*at, "guidance", index)
            yield Mutant("GDN-DROP", place, here, REMOVED, f"a line of guidance of {what} is removed", here)

    def _output(self, output: StepOutput, at: Path, place: str, what: str) -> Iterator[Mutant]:
        if output.contract is not None:
            yield from self._contract(output.contract, (*at, "contract"), place, what)
        if output.assessments is not None:
            yield from self._assessed(output.assessments, (*at, "assessments"), place, what)
        if output.criteria is not None:
            path = (*at, "criteria")
            yield Mutant("CRT-DROP", place, path, REMOVED, f"the validation criteria of {what} are removed", path)
            yield from _criteria(output.criteria, path, place, what)

    def _contract(self, contract: RequiredContract, at: Path, place: str, what: str) -> Iterator[Mutant]:
        ref = contract.ref
        yield Mutant("CTR-DROP", place, at, REMOVED, f"{what} no longer requires contract '{ref}'", at)
        if contract.required:
            path = (*at, "required")
            yield Mutant("CTR-OPTIONAL", place, path, False, f"contract '{ref}' of {what} becomes optional", at)
        index = self._packs.get(ref)
        if index is None or ref in self._seen_packs:
            return
        self._seen_packs.add(ref)
        required = self._program.contracts[index].schema_.get("required", [])
        for name in required:
            # What an artifact is, is looked at before its contract is.
            if name == "kind":
                continue
            path = ("contracts", index, "schema", "required")
            left: list[Json] = [each for each in required if each != name]
            yield Mutant("CTR-FIELD", place, path, left, f"field '{name}' of contract '{ref}' becomes optional", at)

    def _assessed(self, asked: RequiredAssessments, at: Path, place: str, what: str) -> Iterator[Mutant]:
        yield Mutant("ASM-DROP", place, at, REMOVED, f"{what} no longer asks for an assessment", at)
        for index, consequence in enumerate(asked.consequences):
            path = (*at, "consequences", index)
            level = consequence.when.any_equals_level
            change = f"level '{level}' no longer has a consequence in {what}"
            yield Mutant("CSQ-DROP", place, path, REMOVED, change, path)
            scope = consequence.when.for_assessment
            other = next((each for each in self._levels(asked.refs, scope) if each != level), None)
            if other is not None:
                here = (*path, "when", "anyEqualsLevel")
                yield Mutant("CSQ-LEVEL", place, here, other, f"{change}, but level '{other}' has", path)
        for ref in asked.refs:
            if ref not in self._seen_assessments:
                self._seen_assessments.add(ref)
                yield from self._assessment(self._assessments[ref], place)

    def _levels(self, refs: Sequence[str], scope: str | None) -> Iterator[str]:
        for ref in refs:
            if scope in (None, ref):
                for dimension in self._program.assessments[self._assessments[ref]].dimensions:
                    yield from dimension.levels

    def _assessment(self, index: int, place: str) -> Iterator[Mutant]:
        assessment = self._program.assessments[index]
        for number, dimension in enumerate(assessment.dimensions):
            path: Path = ("assessments", index, "dimensions", number)
            name = f"dimension '{dimension.id}' of assessment '{assessment.id}'"
            if len(dimension.levels) > 1:
                *left, last = dimension.levels
                here = (*path, "levels")
                yield Mutant("ASM-LEVEL-DROP", place, here, [*left], f"{name} loses level '{last}'", here)
            if dimension.required is not False:
                here = (*path, "required")
                yield Mutant("ASM-DIM-OPTIONAL", place, here, False, f"{name} becomes optional", path)


def _criteria(criteria: Any, path: Path, place: str, what: str) -> Iterator[Mutant]:
    """Yield the mutants of a rule, a list of rules or a composition."""
    if isinstance(criteria, dict) and "type" in criteria:
        for bound, step in (("min", 1), ("max", -1)):
            if criteria["type"] == "length" and isinstance(criteria.get(bound), int):
                value = criteria[bound] + step
                here = (*path, bound)
                change = f"the {bound}imum length of the notes of {what} becomes {value}"
                yield Mutant("CRT-BOUND", place, here, value, change, here)
        return
    groups: list[tuple[Path, list[Any]]] = [((), criteria)] if isinstance(criteria, list) else []
    if isinstance(criteria, dict):
        groups = [((word,), criteria[word]) for word in ("and", "or") if isinstance(criteria.get(word), list)]
        if "not" in criteria:
            yield from _criteria(criteria["not"], (*path, "not"), place, what)
    for inner, rules in groups:
        for index, rule in enumerate(rules):
            here = (*path, *inner, index)
            if len(rules) > 1:
                change = f"a rule of the validation criteria of {what} is removed"
                yield Mutant("CRT-RULE-DROP", place, here, REMOVED, change, here)
            yield from _criteria(rule, here, place, what)
