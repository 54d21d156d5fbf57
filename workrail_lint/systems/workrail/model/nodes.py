"""Behaviour of the nodes of a workflow: the base classes of the generated ones, which hold the members."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, Self, TypeAlias, cast

from workrail_lint.base.wording import quoted
from workrail_lint.documents.nodes import Node, numbered
from workrail_lint.documents.pointer import Token
from workrail_lint.systems.workrail.author_texts import Group, Text, step_groups, strings_of, texts_of, top_groups

if TYPE_CHECKING:
    from workrail_lint.systems.workrail.model.workflow import (
        AssessmentConsequence,
        Condition,
        Delegation,
        LoopConfig,
        LoopStep,
        OutputContract,
        PromptBlocks,
        PromptFragment,
        PromptPart,
        PromptValue,
        Step,
        TemplateCall,
        ValidationCriteria,
        ValidationRule,
        Workflow,
    )

LOOP_CONTROL = "wr.contracts.loop_control"
BINDING_PREFIX = "{{wr.bindings."  # how the token of a binding slot starts
PROMPT_FIELDS = frozenset(
    ("prompt", "goal", "constraints", "procedure", "outputRequired", "verify", "part", "fragment")
)
# A text, and the node and the place below it where it stands.
BoundText: TypeAlias = "tuple[str, Node, tuple[Token, ...]]"
Role = Literal["run", "gate", "loop", "fragment", "delegation", "rule"]
# What a condition decides, by the member that holds it, and where that depends on the object, by both.
_ROLES: dict[str, Role] = {
    "runCondition": "run",
    "requireConfirmation": "gate",
    "when": "fragment",
    "condition": "loop",
    "ConfirmationGate.condition": "gate",
    "Delegation.runCondition": "delegation",
    "ValidationRule.condition": "rule",
}


def step_name(ident: str, pointer: str) -> str:
    """Return how a message names a step: by its id, or by its number if it has none."""
    return quoted(ident) if ident else f"number {int(pointer.rpartition('/')[2]) + 1}"


class WorkflowNode(Node):
    """Base of a workflow."""

    steps: Sequence[Step]
    damaged_members: frozenset[str] = frozenset()  # with something of a wrong type outside of single steps

    def take_damage(self, key: str) -> bool:
        if not key.startswith("steps/"):
            member = key.partition("/")[0]
            self.__dict__["damaged_members"] = self.damaged_members | {member}
        return False

    def sound(self) -> Self:
        """Return the workflow without the members and steps that have something of a wrong type."""
        steps = [step for step in self.steps if not step.is_damaged]
        if not self.damaged_members and len(steps) == len(self.steps):
            return self
        copy = self.without(self.damaged_members)
        copy.__dict__["steps"] = steps
        return copy

    @cached_property
    def text_groups(self) -> list[Group]:
        """The author texts outside the steps."""
        return top_groups(cast("Workflow", self))

    @cached_property
    def all_steps(self) -> list[Step]:
        """Top level and inline bodies, in order."""
        result: list[Step] = []
        for step in self.steps:
            result.append(step)
            result += step.body_steps
        return result


class StepNode(Node):
    """Base of all steps."""

    id: str
    run_condition: Condition | None
    lacks_text: bool = False  # a part of its prompt has a wrong type

    def take_damage(self, key: str) -> bool:
        self.__dict__["is_damaged"] = True
        if key.startswith("prompt"):
            self.__dict__["lacks_text"] = True
        return False

    @cached_property
    def around(self) -> LoopStep | None:
        """The loop whose inline body contains the step."""
        loop = self.parent
        return cast("LoopStep", loop) if isinstance(loop, LoopNode) else None

    @property
    def label(self) -> str:
        """Return how a message starts: the step, and the loop it is in."""
        around = self.around
        inside = f" (in loop {quoted(around.id)})" if around is not None and around.id else ""
        return f"{'loop' if isinstance(self, LoopNode) else 'step'} {step_name(self.id, self.pointer)}{inside}"

    @property
    def body_steps(self) -> Sequence[Step]:
        """The steps of an inline body."""
        return ()

    @property
    def inline(self) -> Sequence[Step]:
        """The steps of an inline body, without damaged ones."""
        return ()

    @property
    def calls_template(self) -> bool:
        return "templateCall" in self.raw

    @property
    def is_conditional(self) -> bool:
        """Return whether a condition decides if the step runs; an empty one is always true."""
        return self.run_condition is not None and bool(self.run_condition.raw)

    @property
    def contract(self) -> str | None:
        """The contract of the step's output."""
        return None

    @property
    def decides_loop(self) -> bool:
        return self.contract == LOOP_CONTROL

    def condition_roots(self) -> Iterator[Condition]:
        """Yield the conditions of the step, without the ones nested in them."""
        if self.run_condition is not None:
            yield self.run_condition

    def conditions(self) -> Iterator[Condition]:
        """Yield the conditions of the step, each followed by the ones nested in it."""
        for root in self.condition_roots():
            yield from root.nested()

    @cached_property
    def texts(self) -> list[Text]:
        """Every author text of the step, prompt parts and configuration blocks included."""
        return texts_of(self.text_groups, self.pointer)

    @cached_property
    def text_groups(self) -> list[Group]:
        """The same without pointers, which is enough to search them."""
        return step_groups(cast("Step", self))

    @cached_property
    def prompt_texts(self) -> list[Text]:
        """Those that become part of this step's prompt (fragments included)."""
        return [text for text in self.texts if text.field in PROMPT_FIELDS]

    @cached_property
    def prompt_text(self) -> str:
        """The prompt as one string, for rules that search for words."""
        return "\n".join(strings_of([group for group in self.text_groups if group[1] in PROMPT_FIELDS]))


class StandardNode(StepNode):
    """Base of a standard step."""

    kind: Literal["standard"] = "standard"
    output_contract: OutputContract | None
    prompt: str | None
    prompt_blocks: PromptBlocks | None
    prompt_fragments: Sequence[PromptFragment]
    require_confirmation: Any
    template_call: TemplateCall | None
    validation_criteria: ValidationCriteria | None
    assessment_refs: Sequence[str]
    assessment_consequences: Sequence[AssessmentConsequence]

    @property
    def mentions_assessments(self) -> bool:
        return bool(self.assessment_refs or self.assessment_consequences)

    @property
    def contract(self) -> str | None:
        contract = self.output_contract
        return contract.contract_ref if contract is not None and contract.has("contractRef") else None

    def condition_roots(self) -> Iterator[Condition]:
        yield from super().condition_roots()
        yield from _gate_condition(self.require_confirmation)
        for fragment in self.prompt_fragments:
            if fragment.when is not None:
                yield fragment.when
        for rule in self.validation_rules():
            if rule.condition is not None:
                yield rule.condition

    @cached_property
    def has_bindings(self) -> bool:
        """Return whether one of the bound texts has a binding token; few steps have one."""
        if self.prompt is not None and BINDING_PREFIX in self.prompt:
            return True
        return self.prompt_blocks is not None and self.prompt_blocks.has_bindings

    def bound_texts(self) -> Iterator[BoundText]:
        """Yield the texts in which binding tokens are resolved."""
        if self.prompt is not None:
            yield self.prompt, self, ("prompt",)
        if self.prompt_blocks is not None:
            yield from self.prompt_blocks.bound_texts()

    def validation_rules(self) -> Iterator[ValidationRule]:
        """Yield the single rules of the validation criteria in any form, in document order."""
        if self.validation_criteria is None:
            return
        stack: list[Any] = [self.validation_criteria]
        while stack:
            value = stack.pop()
            if isinstance(value, list):
                stack.extend(reversed(value))
            elif isinstance(value, CombinationNode):
                stack.append(value.criteria)
            elif value is not None:
                yield value


class LoopNode(StepNode):
    """Base of a loop."""

    kind: Literal["loop"] = "loop"
    loop: LoopConfig
    body: str | Sequence[Step] | None
    require_confirmation: Any

    @property
    def body_id(self) -> str | None:
        """Return the id of the step that the body names; None for a list of steps."""
        return self.body if isinstance(self.body, str) else None

    @property
    def body_steps(self) -> Sequence[Step]:
        return () if self.body is None or isinstance(self.body, str) else self.body

    @cached_property
    def inline(self) -> Sequence[Step]:
        return [step for step in self.body_steps if not step.is_damaged]

    def condition_roots(self) -> Iterator[Condition]:
        yield from super().condition_roots()
        yield from _gate_condition(self.require_confirmation)
        if self.loop.condition is not None:
            yield self.loop.condition
        source = self.loop.condition_source
        if source is not None and source.kind == "context_variable" and source.condition is not None:
            yield source.condition


class ParallelNode(StepNode):
    """Base of a parallel step."""

    kind: Literal["parallel"] = "parallel"
    parallel_delegations: Sequence[Delegation]
    require_confirmation: Any

    def condition_roots(self) -> Iterator[Condition]:
        yield from super().condition_roots()
        yield from _gate_condition(self.require_confirmation)
        for delegation in self.parallel_delegations:
            if delegation.run_condition is not None:
                yield delegation.run_condition


def _gate_condition(confirmation: Any) -> Iterator[Condition]:
    """Yield the condition under which a step needs approval."""
    if isinstance(confirmation, ConditionNode):
        yield cast("Condition", confirmation)
    elif isinstance(confirmation, Node):
        condition: Condition | None = getattr(confirmation, "condition", None)
        if condition is not None:
            yield condition


class PromptBlocksNode(Node):
    """Base of prompt blocks."""

    goal: PromptValue | None
    constraints: Sequence[PromptValue]
    procedure: Sequence[PromptValue]
    output_required: Mapping[str, str]
    verify: Sequence[PromptValue]

    @property
    def sections(self) -> tuple[tuple[str, Sequence[PromptValue]], ...]:
        """The sections that are lists, each with its name."""
        return ("constraints", self.constraints), ("procedure", self.procedure), ("verify", self.verify)

    @property
    def has_bindings(self) -> bool:
        """Return whether one of the bound texts has a binding token."""
        values = [self.goal, *self.constraints, *self.procedure, *self.verify, *self.output_required.values()]
        return BINDING_PREFIX in "\n".join([value for value in values if isinstance(value, str)])

    def bound_texts(self) -> Iterator[BoundText]:
        """Yield the texts in which binding tokens are resolved."""
        if isinstance(self.goal, str):
            yield self.goal, self, ("goal",)
        for section, values in self.sections:
            for index, value in numbered(values):
                if isinstance(value, str):
                    yield value, self, (section, index)
        for name, text in self.output_required.items():
            yield text, self, ("outputRequired", name)

    def prompt_parts(self) -> Iterator[PromptPart]:
        """Yield the parts of the values that are made of parts."""
        for value in (self.goal, *self.constraints, *self.procedure, *self.verify):
            if value is not None and not isinstance(value, str):
                yield from value


class CombinationNode(Node):
    """Criteria that combine others."""

    @property
    def criteria(self) -> Any:
        """The combined ones: a list, or for `not` a single one."""
        name = next(iter(self.parts))
        return getattr(self, self.parts[name][0])


class ConditionNode(Node):
    """Base of a condition."""

    and_: Sequence[Condition]
    or_: Sequence[Condition]
    not_: Condition | None

    @property
    def root(self) -> bool:
        """Return whether it is not inside of another condition."""
        return not isinstance(self.parent, ConditionNode)

    @cached_property
    def role(self) -> Role:
        """The decision that depends on it."""
        top = self.top
        return _ROLES.get(f"{type(top.parent).__name__}.{top.key}") or _ROLES[top.key]

    @property
    def top(self) -> ConditionNode:
        """The condition that contains this one, or this one itself."""
        node = self
        while isinstance(node.parent, ConditionNode):
            node = node.parent
        return node

    @cached_property
    def step(self) -> Step:
        """The step it belongs to."""
        node: Any = self.parent
        while not isinstance(node, StepNode):
            node = node.parent
        return cast("Step", node)

    @property
    def combined(self) -> tuple[str, Sequence[Condition]]:
        """The word that decides how other conditions are combined, and these; an empty word if there is none."""
        if "and" in self.raw:
            return "and", self.and_
        if "or" in self.raw:
            return "or", self.or_
        return ("", ()) if self.not_ is None else ("not", (self.not_,))

    def recombined(self, members: list[dict[str, Any]]) -> dict[str, Any]:
        """Return the JSON of the same combination of other conditions."""
        word, _ = self.combined
        return {word: members[0] if word == "not" else members} if word else self.raw

    def nested(self) -> Iterator[Condition]:
        """Yield the condition and everything below it, in document order."""
        stack: list[Any] = [self]
        while stack:
            condition = stack.pop()
            yield condition
            if condition.not_ is not None:
                stack.append(condition.not_)
            stack.extend(reversed(condition.or_))
            stack.extend(reversed(condition.and_))
