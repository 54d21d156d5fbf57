"""The data that flows between the passes: steps with their place and origin, and the builtins a workflow names."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import accumulate
from typing import Any

from workrail_lint.base.suggest import edit_distance, nearest_id
from workrail_lint.base.wording import name_list, quoted
from workrail_lint.documents.nodes import Node as DocumentNode
from workrail_lint.documents.nodes import numbered
from workrail_lint.documents.pointer import Token
from workrail_lint.findings import Finding, Phase, Severity
from workrail_lint.systems.workrail.catalog.catalog import Catalog
from workrail_lint.systems.workrail.model.build import step_model
from workrail_lint.systems.workrail.model.nodes import step_name
from workrail_lint.systems.workrail.model.workflow import StandardStep, Step, SynthesisConfig, Workflow

RawStep = dict[str, Any]
# Ids of a catalog are at most this long; a longer name resembles none.
_LONGEST_ID = 64


class Injection:
    """A part of a rendered prompt that the author did not write. Offsets are code points."""

    __slots__ = ("end", "id", "kind", "start", "text")

    def __init__(self, kind: str, ident: str, text: str, start: int, end: int) -> None:
        self.kind = kind  # "feature" or "ref"
        self.id = ident
        self.text = text
        self.start = start
        self.end = end


class MarkedText:
    """A prompt value whose text is final, with the parts of it that the author did not write."""

    __slots__ = ("injections", "parts", "size", "text")

    def __init__(
        self, text: str, injections: tuple[Injection, ...], parts: tuple[Injection, ...] | None = None
    ) -> None:
        self.text = text
        self.injections = injections
        # The same but for their offsets: shared by all places that use them, so identity tells them apart.
        self.parts = injections if parts is None else parts
        self.size: tuple[int, tuple[int, str]] | None = None  # in bytes, and that of the largest ref, once measured


class StepSource:
    """The source of a step that is not as the author wrote it."""

    __slots__ = ("capability", "part", "ref", "source")

    def __init__(self, source: str, ref: str, part: str = "", capability: str | None = None) -> None:
        self.source = source  # "template", "virtual", "feature" or "normalized"
        self.ref = ref  # template id, parent step id or compat code
        self.part = part  # routine step id or the configuration block
        self.capability = capability  # what a probe step probes

    @property
    def text(self) -> str:
        return f"{self.ref}#{self.part}" if self.part else self.ref


_NOTHING: dict[str, Any] = {}


class Node:
    """A step on its way through the passes.

    Until a pass list is finished, a pass may give a node another step of the same id and type; it never changes the
    step itself, which is the author's or the catalog's.
    """

    __slots__ = (
        "_rendered",
        "added",
        "body",
        "id",
        "inserted",
        "is_loop",
        "loop_id",
        "model",
        "origin",
        "pieces",
        "prompt",
        "prompt_member",
    )

    def __init__(
        self,
        model: Step,
        *,
        body: tuple[Node, ...] | None = None,
        origin: StepSource | None = None,
        loop_id: str | None = None,
    ) -> None:
        self.model = model  # of the step as it is now, but for a prompt that was rendered from its blocks
        self.prompt = model.prompt if model.kind == "standard" else None  # as it is now
        self._rendered: RawStep | None = None  # the step with that prompt, once it was asked for
        self.id = model.id
        self.is_loop = model.kind == "loop"
        self.body = body  # of a loop with an inline body
        self.origin = origin
        self.loop_id = loop_id  # of the loop whose inline body holds this step
        self.added: dict[str, Any] = _NOTHING  # by section, what features add to the prompt blocks
        self.prompt_member = "prompt"  # where the author wrote the prompt
        self.pieces: Sequence[str] = ()  # of a prompt that was written from blocks
        self.inserted: Sequence[tuple[int, MarkedText]] = ()  # what builtins brought into it, by the index of its piece

    @classmethod
    def of_step(
        cls, step: RawStep, pointer: str, *, origin: StepSource | None = None, loop_id: str | None = None
    ) -> Node:
        """Return the node of a step that a pass made; the pointer is that of the step it was made from."""
        return cls(step_model(step, pointer), origin=origin, loop_id=loop_id)

    @property
    def pointer(self) -> str:
        """The place of the authored step, for an expanded one that of its caller."""
        return self.model.pointer

    @property
    def step(self) -> RawStep:
        """The step as it is now, as plain data."""
        if not self.pieces:
            return self.model.raw
        if self._rendered is None:
            self._rendered = {name: value for name, value in self.model.raw.items() if name != "promptBlocks"}
            self._rendered["prompt"] = self.prompt
        return self._rendered

    def revise(self, step: RawStep) -> None:
        """Give the node another step of the same id and type."""
        if step is not self.model.raw:
            self.model = step_model(step, self.pointer)
            self.prompt = self.model.prompt if self.model.kind == "standard" else None

    def render(self, pieces: Sequence[str], inserted: Sequence[tuple[int, MarkedText]]) -> None:
        """Give the step a prompt in place of its blocks."""
        self.prompt = "".join(pieces)
        self.pieces, self.inserted = pieces, inserted
        self.prompt_member = "promptBlocks"

    @property
    def injections(self) -> list[Injection]:
        """The parts of the prompt that the author did not write."""
        starts = [0, *accumulate(map(len, self.pieces))]
        return [
            Injection(item.kind, item.id, item.text, starts[index] + item.start, starts[index] + item.end)
            for index, marked in self.inserted
            for item in marked.injections
        ]

    @property
    def place(self) -> str:
        """The pointer an error about this step should name."""
        from_template = self.origin is not None and self.origin.source == "template"
        return f"{self.pointer}/templateCall" if from_template else self.pointer

    def replaced(self, *, body: tuple[Node, ...] | None = None, origin: StepSource | None = None) -> Node:
        """The same step in a new node, with another body or another origin."""
        body = self.body if body is None else body
        node = Node(self.model, body=body, origin=origin or self.origin, loop_id=self.loop_id)
        if self.pieces:
            node.render(self.pieces, self.inserted)
        return node


Nodes = tuple[Node, ...]


def authored_nodes(workflow: Workflow) -> Nodes:
    """Return the nodes of the steps that the author wrote."""
    return tuple(_authored(step, None) for step in workflow.steps)


def _authored(step: Step, loop_id: str | None) -> Node:
    body: Nodes | None = None
    if step.kind == "loop" and step.body is not None and not isinstance(step.body, str):
        body = tuple(_authored(inner, step.id) for inner in step.body)
    return Node(step, body=body if loop_id is None else None, loop_id=loop_id)


def walk(nodes: Nodes) -> list[Node]:
    """Every step in order: top level, and after each loop its inline body."""
    flat: list[Node] = []
    for node in nodes:
        flat.append(node)
        if node.body:
            flat += node.body
    return flat


def rendered_steps(nodes: Nodes) -> list[RawStep]:
    """The steps as plain data, inline bodies included."""
    return [
        node.step if node.body is None else {**node.step, "body": [inner.step for inner in node.body]} for node in nodes
    ]


def name_hint(suggestion: str | None, what: str, known: Collection[object]) -> str:
    """Return how a message about an unknown name ends: with the name that was probably meant, or all names."""
    if suggestion is not None:
        return f"; did you mean {quoted(suggestion)}?"
    return f" ({what}: {name_list(known)})" if known else f" (there are no {what})"


def did_you_mean(name: str, known: Iterable[object]) -> tuple[str, dict[str, object]]:
    """Return how a message about an unknown name ends if a known id is similar, and the details that suggest it."""
    suggestion = nearest_id(name, map(str, known))
    return (f"; did you mean {quoted(suggestion)}?", {"suggestion": suggestion}) if suggestion is not None else ("", {})


def catalog_hint(name: str, known: Collection[str]) -> tuple[str, dict[str, object]]:
    """The same for a name that should be in a catalog, which may be a long list."""
    hint, details = did_you_mean(name, known)
    if hint:
        return hint, details
    closest = sorted(known, key=lambda ident: (edit_distance(name[:_LONGEST_ID], ident, _LONGEST_ID), ident))[:3]
    more = f" and {len(known) - 3} more (`workrail-lint catalog list`)" if len(known) > 3 else ""
    return f"; expected one of {', '.join(closest)}{more}", {}


def compile_error(
    code: str,
    name: str,
    pass_name: str,
    node: Node | None,
    message: str,
    pointer: str | None = None,
    *,
    engine: bool = True,
    details: dict[str, object] | None = None,
) -> Finding:
    """An error of a pass. `engine` is false where the reference engine does not check."""
    facts: dict[str, object] = {"pass": pass_name, "engine": engine}
    if node is not None:
        facts["stepId"] = node.id
        if node.loop_id is not None:
            facts["loopId"] = node.loop_id
    facts.update(details or {})
    where = pointer if pointer is not None else (node.place if node else "")
    return Finding(code, name, Severity.ERROR, message, where, phase=Phase.COMPILE, details=facts)


def step_label(node: Node) -> str:
    """Return how a message starts: the step, and the loop it is in."""
    inside = f" (in loop {quoted(node.loop_id)})" if node.loop_id else ""
    kind = "loop" if node.is_loop else "step"
    return f"{kind} {step_name(node.id, node.pointer)}{inside}"


class Use:
    """A builtin named by the definition."""

    __slots__ = ("_node", "_place", "id", "kind")

    def __init__(self, kind: str, id: str, node: DocumentNode, *place: Token) -> None:
        self.kind = kind  # "feature", "ref", "template" or "contract"
        self.id = id
        self._node = node
        self._place = place

    @property
    def pointer(self) -> str:
        return self._node.at(*self._place)


def builtin_uses(workflow: Workflow) -> list[Use]:
    """Return every builtin that a workflow names."""
    uses = [Use("feature", ident, workflow, "features", index) for index, ident in numbered(workflow.features)]
    for step in workflow.all_steps:
        uses += _uses_of(step)
    return uses


def _uses_of(step: Step) -> Iterator[Use]:
    if step.kind == "parallel":
        if step.synthesis is not None:
            yield from _contract_of(step.synthesis)
    elif step.kind == "standard":
        call = step.template_call
        if call is not None:
            if call.has("templateId"):
                yield Use("template", call.template_id, call, "templateId")
            return  # everything else on a calling step is discarded
        yield from _contract_of(step)
        for part in step.prompt_blocks.prompt_parts() if step.prompt_blocks is not None else ():
            if part.kind == "ref" and part.has("refId"):
                yield Use("ref", part.ref_id, part, "refId")


def _contract_of(holder: StandardStep | SynthesisConfig) -> Iterator[Use]:
    contract = holder.output_contract
    if contract is not None and contract.has("contractRef"):
        yield Use("contract", contract.contract_ref, contract, "contractRef")


def design_only_uses(workflow: Workflow, catalog: Catalog) -> list[Use]:
    """The builtins that exist in the design (and our catalog) but in no engine."""
    uses = builtin_uses(workflow)
    if not uses:
        return []  # the catalog is not even loaded
    known: dict[str, Any] = {
        "feature": catalog.features,
        "ref": catalog.refs,
        "template": catalog.templates,
        "contract": catalog.contracts,
    }
    return [use for use in uses if (entry := known[use.kind].get(use.id)) is not None and entry.phase == "design"]


def design_only_errors(workflow: Workflow, catalog: Catalog) -> list[Finding]:
    return [
        compile_error(
            "DESIGN_ONLY_ID",
            "catalog-id-design-only",
            "C1" if use.kind == "template" else "C3",
            None,
            f"no engine has the {use.kind} {quoted(use.id)}; it works with the ir target only",
            use.pointer,
        )
        for use in design_only_uses(workflow, catalog)
    ]
