"""The analysis of one workflow: built from its parts on demand, and asked by rules, diagrams and generators."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cached_property
from typing import Any

from workrail_lint.systems.workrail.analysis import domains
from workrail_lint.systems.workrail.analysis.definitions_and_uses import (
    AUTHORED,
    CALLER,
    CERTAIN,
    ENGINE,
    STATED,
    Decision,
    Definition,
    Domain,
    Mention,
    Origin,
    PlacedStep,
    Use,
)
from workrail_lint.systems.workrail.analysis.flow import Flow, LoopFacts, build_flow
from workrail_lint.systems.workrail.analysis.inputs import Input, declared_inputs, undescribed_input
from workrail_lint.systems.workrail.analysis.logic import ONLY_UNSET, Answer, Node, Values, impossible, parse, satisfy
from workrail_lint.systems.workrail.analysis.scan import Said, Scanner, is_identifier
from workrail_lint.systems.workrail.analysis.texts import Texts, build_decisions, build_uses
from workrail_lint.systems.workrail.catalog.catalog import Catalog
from workrail_lint.systems.workrail.compiler.compiled import CompiledWorkflow, index_steps, resolve
from workrail_lint.systems.workrail.compiler.nodes import Nodes
from workrail_lint.systems.workrail.compiler.steps import Loop
from workrail_lint.systems.workrail.model.workflow import Condition, Workflow

# What a run holds without any step setting it.
_GIVEN = frozenset(("goal", "is_autonomous", "triggerSource", "workspacePath"))
_GIVEN_PREFIX = "metrics_"
_EMPTY: dict[str, Values] = {}


class KnownDomain:
    """All that is said about the values of a variable, taken together."""

    __slots__ = ("kind", "statement", "values")

    def __init__(self, values: tuple[Any, ...], kind: str, statement: Domain) -> None:
        self.values = values
        self.kind = kind
        self.statement = statement  # the first one that closes it


class Analysis:
    """The analysis of a workflow; every part is computed on first use."""

    def __init__(
        self,
        workflow: Workflow,
        nodes: Nodes,
        loops: dict[str, Loop],
        catalog: Catalog,
        *,
        given: frozenset[str] = frozenset(),
        is_routine: bool = False,
        is_complete: bool = True,
    ) -> None:
        self.workflow = workflow
        self.flow: Flow = build_flow(workflow, nodes, loops)
        self.steps: list[PlacedStep] = self.flow.steps
        self.loops: dict[str, LoopFacts] = self.flow.loops
        self.is_routine = is_routine  # its caller sets things we can't see
        self.is_complete = is_complete  # false when something that could set variables was not found
        self._catalog = catalog
        self._given = given
        self._said: dict[str, Said] = {}
        self._nodes: dict[int, Node | None] = {}

    @cached_property
    def texts(self) -> Texts:
        return Texts(self.workflow, self.flow, self._catalog)

    @cached_property
    def decisions(self) -> list[Decision]:
        return build_decisions(self.flow)

    @cached_property
    def uses(self) -> list[Use]:
        return build_uses(self.flow, self.decisions, self.texts)

    @cached_property
    def uses_of_decision(self) -> dict[str, list[Use]]:
        """The comparisons of each condition, by the pointer of the whole."""
        result: dict[str, list[Use]] = {}
        for use in self.uses:
            if use.leaf is not None:
                result.setdefault(use.root, []).append(use)
        return result

    @cached_property
    def by_name(self) -> dict[str, list[Use]]:
        """The uses of each variable whose name can be one; others are left to the rules about names."""
        result: dict[str, list[Use]] = {}
        for use in self.uses:
            if use.name in result:
                result[use.name].append(use)
            elif is_identifier(use.name):
                result[use.name] = [use]
        return result

    @cached_property
    def scanner(self) -> Scanner:
        return Scanner(self.texts)

    @cached_property
    def all_names(self) -> frozenset[str]:
        """Every name that is used, set or looks like a variable. The texts are read for one when it is asked about."""
        items = (facts.items for facts in self.loops.values() if facts.items)
        return frozenset({*self._said, *self.by_name, *items, *self.inputs, *self.scanner.candidates()})

    def definitions(self, name: str) -> list[Definition]:
        """Everything that sets the variable or might, the loop variables of that name first."""
        written = self._of(name).definitions
        own = self._loop_definitions.get(name)
        return [*own, *written] if own else written

    def each_definition(self, name: str) -> Iterator[Definition]:
        """The same one by one: mostly the first few are enough, and the other places are not read."""
        yield from self._loop_definitions.get(name, ())
        statements, number = self._of(name), 0
        while (definition := statements.definition(number)) is not None:
            yield definition
            number += 1

    def mentions(self, name: str) -> list[Mention]:
        return self._of(name).mentions

    def statements(self, name: str) -> list[Domain]:
        return self._of(name).statements

    def setters(self, name: str) -> list[Definition]:
        """The definitions that count as setting the variable; those of loops are not among them."""
        return list(self.each_setter(name))

    def each_setter(self, name: str) -> Iterator[Definition]:
        """The same one by one: mostly the first few are enough, and the other places are not read."""
        statements, number = self._of(name), 0
        while (setter := statements.setter(number)) is not None:
            yield setter
            number += 1

    def is_set(self, name: str) -> bool:
        """Return whether a definition of the variable exists."""
        return self._of(name).setter(0) is not None

    def _of(self, name: str) -> Said:
        result = self._said.get(name)
        if result is None:
            result = self._said[name] = self.scanner.said(name)
            if name in self.inputs:
                result.give(self._input_definition(self.inputs[name]))
        return result

    @cached_property
    def inputs(self) -> dict[str, Input]:
        """Return what the caller provides: as the workflow declares, or as the project's configuration does."""
        configured = {name: undescribed_input(name) for name in sorted(self._given)}
        return {**configured, **declared_inputs(self.workflow)}

    @staticmethod
    def _input_definition(given: Input) -> Definition:
        origin = Origin(given.pointer, AUTHORED)
        return Definition(given.name, None, given.pointer, given.span, "input", CALLER, given.text, None, origin)

    @cached_property
    def _loop_definitions(self) -> dict[str, list[Definition]]:
        result: dict[str, list[Definition]] = {}
        for facts in self.loops.values():
            pointer = f"{self.steps[facts.step].pointer}/loop"
            for name, kind in facts.variables.items():
                origin = Origin(pointer, AUTHORED)
                definition = Definition(name, facts.step, pointer, (0, 0), kind, CERTAIN, "", None, origin)
                result.setdefault(name, []).append(definition)
        return result

    def is_given(self, name: str) -> bool:
        """Return whether the engine sets the variable, or the caller as one of the inputs."""
        return name in _GIVEN or name in self.inputs or name.startswith(_GIVEN_PREFIX)

    def giver(self, name: str) -> str | None:
        """Return who sets the variable before the first step, in words; None if no one does."""
        if name in self.inputs:
            return "the caller"
        return "the engine" if self.is_given(name) else None

    def is_given_at_start(self, name: str) -> bool:
        """Return whether the engine or the caller sets the variable before the first step."""
        return self.is_given(name) or any(setter.step is None for setter in self.each_setter(name))

    def is_known_at(self, name: str, pointer: str) -> bool:
        """Return whether the variable may have a value when the step at a place begins."""
        here = next((step for step in self.steps if step.pointer == pointer), None)
        facts = self.loops.get(here.loop) if here is not None and here.loop is not None else None
        if self.is_given(name) or (facts is not None and name in facts.variables):
            return True
        return any(
            setter.step is None or (here is not None and self.steps[setter.step].position < here.position)
            for setter in self.each_setter(name)
        )

    def given(self, name: str) -> Definition | None:
        if not self.is_given(name):
            return None
        return Definition(name, None, "", (0, 0), "given", ENGINE, "", None, Origin("", AUTHORED))

    def is_of_loop(self, name: str) -> bool:
        """Return whether some loop has a variable of that name."""
        return name in self._loop_definitions

    def in_scope(self, name: str, use: Use) -> bool:
        """Return whether the name is a variable of the loop around the use (or of the loop whose condition it is)."""
        loop = self.steps[use.step].loop
        if loop is None and use.kind == "loop":
            loop = self.steps[use.step].id
        facts = self.loops.get(loop) if loop is not None else None
        return facts is not None and name in facts.variables

    # Values and conditions

    def node(self, condition: Condition) -> Node | None:
        """A condition as a tree, each only once."""
        key = id(condition.raw)
        if key not in self._nodes:
            self._nodes[key] = parse(condition)
        return self._nodes[key]

    def domain(self, name: str) -> KnownDomain | None:
        """All values of the variable, when some text says that these are all."""
        if name not in self._domains:
            self._domains[name] = _known_domain(self.statements(name))
        return self._domains[name]

    @cached_property
    def _domains(self) -> dict[str, KnownDomain | None]:
        return {}

    def values(self, names: Iterable[str], surely_set: frozenset[str] = frozenset()) -> dict[str, Values]:
        """Return what the variables may hold by what the texts say."""
        result: dict[str, Values] = {}
        for name in names:
            known = self.domain(name)
            if known is not None:
                result[name] = Values(known.values, True, name not in surely_set)
            elif name in surely_set:
                result[name] = Values((), False, False)
        return result

    def satisfy(
        self,
        positive: tuple[Condition, ...],
        negative: tuple[Condition, ...] = (),
        *,
        within_domains: bool = False,
        surely_set: frozenset[str] = frozenset(),
        unset: str = "",
    ) -> Answer:
        """Is there an assignment under which all of the first hold and none of the second does?

        Without `within_domains` a variable may hold anything; `unset` names one that holds nothing.
        """
        return satisfy(*self._question(positive, negative, within_domains, surely_set, unset))

    def impossible(
        self,
        positive: tuple[Condition, ...],
        negative: tuple[Condition, ...] = (),
        *,
        within_domains: bool = False,
        surely_set: frozenset[str] = frozenset(),
        unset: str = "",
    ) -> bool:
        """Return whether it is certain that no solution exists."""
        return impossible(*self._question(positive, negative, within_domains, surely_set, unset))

    def _question(
        self,
        positive: tuple[Condition, ...],
        negative: tuple[Condition, ...],
        within_domains: bool,
        surely_set: frozenset[str],
        unset: str,
    ) -> tuple[list[Node | None], list[Node | None], dict[str, Values]]:
        holds, fails = [self.node(c) for c in positive], [self.node(c) for c in negative]
        values = _EMPTY
        if within_domains or surely_set:
            names = {leaf.variable for node in (*holds, *fails) if node is not None for leaf in node.leaves}
            values = self.values(names, surely_set)
        if unset:
            values = {**values, unset: ONLY_UNSET}
        return holds, fails, values


def _known_domain(statements: list[Domain]) -> KnownDomain | None:
    closing = next((statement for statement in statements if statement.closed), None)
    if closing is None or any(statement.kind in (domains.NUMBER, domains.LIST) for statement in statements):
        return None
    values = domains.joined([value for statement in statements for value in statement.values])
    kinds = [statement.kind for statement in statements if statement.closed]
    # The strictest statement names the domain; a boolean one only when nothing else is said.
    kind = next((kind for kind in (domains.ONE_OF, domains.ALTERNATIVES, domains.BULLETS) if kind in kinds), kinds[0])
    closing = next(statement for statement in statements if statement.closed and statement.kind == kind)
    return KnownDomain(values, kind, closing)


def surely_set_before(analysis: Analysis, name: str, step: PlacedStep) -> bool:
    """Return whether an unconditional step outside loops, before this one, is told to set the variable."""
    for setter in analysis.each_setter(name):
        if setter.step is None:
            return True
        other = analysis.steps[setter.step]
        is_certain = setter.confidence == STATED and setter.when is None and not other.conditions and other.loop is None
        if is_certain and other.position < step.position:
            return True
    return False


# The analysis of a definition, compiled or not.


def analyse(
    workflow: Workflow,
    catalog: Catalog,
    *,
    compiled: CompiledWorkflow | None = None,
    path: str = "",
    is_routine: bool = False,
    given: frozenset[str] = frozenset(),
) -> Analysis:
    """Return what can be known about a workflow. One that does not compile is followed as far as the passes get."""
    routine = is_routine or _is_routine(workflow, path)
    if compiled is not None:
        return Analysis(
            workflow,
            compiled.nodes,
            compiled.loops,
            catalog,
            given=given,
            is_routine=routine,
        )

    resolved, errors = resolve(workflow, catalog, {}, for_engine=False)
    executable, _ = index_steps(workflow, resolved, catalog)
    return Analysis(
        workflow,
        executable.nodes,
        executable.lookup.loops,
        catalog,
        given=given,
        is_routine=routine,
        is_complete=not any(error.code in _MISSING_TEXT for error in errors)
        and not any(step.lacks_text for step in workflow.all_steps),
    )


# Errors after which some text that may set variables is not there.
_MISSING_TEXT = ("UNKNOWN_TEMPLATE", "TEMPLATE_EXPAND_FAILED", "UNKNOWN_FEATURE", "UNKNOWN_REF")


def _is_routine(workflow: Workflow, path: str) -> bool:
    """Return whether others call the workflow and set variables that can't be seen here."""
    folders = path.replace("\\", "/").split("/")[:-1]
    if "routines" in folders or "internal" in folders:
        return True
    return "routine" in workflow.id.replace("-", ".").replace("_", ".").split(".")
