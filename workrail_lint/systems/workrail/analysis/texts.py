"""The texts of a compiled workflow with their places, and every place that reads a context variable.

Authored text is read where it stands, so that a finding can name the very item; what templates, features, refs and
bindings bring in points at the place that took it in.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from functools import cached_property, lru_cache
from itertools import accumulate
from typing import TypeAlias

from workrail_lint.base.patterns import Pattern
from workrail_lint.documents.nodes import numbered
from workrail_lint.systems.workrail.analysis.definitions_and_uses import (
    AUTHORED,
    BINDING,
    FEATURE,
    FOREIGN,
    REF,
    VIRTUAL,
    Decision,
    Origin,
    Text,
    Use,
)
from workrail_lint.systems.workrail.analysis.flow import Flow
from workrail_lint.systems.workrail.author_texts import Group, argument_groups, strings_of, text_of
from workrail_lint.systems.workrail.catalog.catalog import Catalog
from workrail_lint.systems.workrail.compiler.prompt_blocks import LIST_SECTIONS
from workrail_lint.systems.workrail.compiler.tokens import TOKEN
from workrail_lint.systems.workrail.model.nodes import BINDING_PREFIX, Role
from workrail_lint.systems.workrail.model.workflow import (
    Condition,
    LoopConfig,
    ParallelStep,
    PromptBlocks,
    Step,
    Workflow,
)

# The virtual step that shows a text of its parent.
_BLOCK_OF = {
    "verification": "verification",
    "command": "verification",
    "audit": "audit",
    "rubric": "audit",
    "synthesis": "synthesis",
}
_GUIDANCE, _OUTPUT = "guidance", "outputRequired"
CALLER_FIELDS = frozenset(("preconditions", "clarificationPrompts"))
_NAME_LIKE = Pattern(
    r"[`'\"={]|[a-z0-9][A-Z_]|_[a-z]|\bvariable|\((?:number|boolean|bool|array|list|string|integer|object|enum)"
)
_BREAK = "\n\0\n"  # nothing that is searched for runs over it


# Where groups of texts are from: the index of their step, the step itself, how it came here, the pointer that their
# places follow, and the place to report for all of them where it is another.
_Source: TypeAlias = "tuple[int | None, Step | None, str, str, str]"


class Texts:
    """All texts: those outside the steps, then step by step.

    They are searched as one string. Few are ever asked for, so that only those become records.
    """

    def __init__(
        self,
        workflow: Workflow,
        flow: Flow,
        catalog: Catalog,
    ) -> None:
        self._steps = flow.steps
        self._groups: list[Group] = []
        self._sources: list[_Source] = []  # of each group
        self._made: dict[int, Text] = {}
        self._virtual: dict[tuple[str, str], int] = {}  # the steps made from blocks of others
        self._add([*workflow.text_groups, *_functions(workflow)], None, None, AUTHORED, "")
        self._collect(workflow, flow, catalog)
        self._join()
        if workflow.extension_points:
            self._add_bindings(workflow)
            self._join()
        self.whole = _BREAK.join(self._strings)
        # Where each text starts, and where one after the last would.
        gap = len(_BREAK)
        self._starts = [0, *accumulate([len(string) + gap for string in self._strings])]

    def _join(self) -> None:
        """The texts of all groups as one list, and the number of the first text of each group."""
        self._strings = strings_of(self._groups)
        self._firsts = [0, *accumulate([len(group[0]) for group in self._groups])]

    def _collect(self, workflow: Workflow, flow: Flow, catalog: Catalog) -> None:
        features = _feature_texts(workflow, catalog)
        authored = flow.authored
        called: set[str] = set()
        for index, step in enumerate(flow.steps):
            node, pointer, via = flow.nodes[index], step.pointer, step.origin.via
            if via == AUTHORED:
                source = authored.get(pointer, node.model)
                self._add(source.text_groups, index, source, via, pointer)
                if source.kind == "standard" and source.prompt_blocks is not None:
                    refs = _ref_texts(source.prompt_blocks, catalog)
                    if refs:
                        self._add(refs, index, source, REF, pointer)
                    if features:
                        self._add(features, index, source, FEATURE, "")
            elif via == VIRTUAL and node.origin is not None:
                self._virtual[pointer, node.origin.part] = index
            else:
                if pointer not in called:
                    called.add(pointer)
                    caller = authored.get(pointer)
                    self._add(argument_groups(caller), index, caller, AUTHORED, pointer)
                self._add(node.model.text_groups, index, node.model, via, "", step.origin.pointer)

    def _add(
        self, groups: list[Group], step: int | None, source: Step | None, via: str, pointer: str, place: str = ""
    ) -> None:
        self._groups += groups
        self._sources += [(step, source, via, pointer, place)] * len(groups)

    def _add_bindings(self, workflow: Workflow) -> None:
        """Add the values of slots that texts use."""
        slots: dict[str, tuple[str, str]] = {}
        for point in workflow.extension_points:
            slots.setdefault(point.slot_id, (point.pointer, point.default))
        count = len(self._strings)
        for text in [self[number] for number, string in enumerate(self._strings) if BINDING_PREFIX in string]:
            for slot in TOKEN.findall(text.text) if text.via == AUTHORED and text.step is not None else ():
                if slot in slots:
                    place, value = slots[slot]
                    self._made[count] = text.replaced(pointer=place, via=BINDING, text=value)
                    self._add([([value], text.field, place, ())], text.step, None, BINDING, "")
                    count += 1

    def __getitem__(self, number: int) -> Text:
        return self._made.get(number) or self._record(number)

    def __iter__(self) -> Iterator[Text]:
        return map(self.__getitem__, range(len(self._strings)))

    def _record(self, number: int) -> Text:
        group = bisect_right(self._firsts, number) - 1
        step, source, via, base, place = self._sources[group]
        written = text_of(self._groups[group], number - self._firsts[group], base)
        text, pointer, field = written.text, written.pointer, written.field
        delivered = field != _GUIDANCE
        when = _fragment_condition(source, pointer) if field == "fragment" else None
        if step is None:
            delivered = field in CALLER_FIELDS
        elif via == AUTHORED and field in _BLOCK_OF:
            step, via = self._shown_by(step, field), VIRTUAL
        result = self._made[number] = Text(place or pointer, step, field, delivered, when, via, text)
        return result

    def _shown_by(self, step: int, field: str) -> int:
        """The step made from a verification, audit or synthesis shows its prompt."""
        return self._virtual.get((self._steps[step].pointer, _BLOCK_OF[field]), step)

    def at(self, place: int) -> tuple[Text, int]:
        """The text at an offset of the whole, and the offset in that text."""
        number = bisect_right(self._starts, place) - 1
        return self._made.get(number) or self._record(number), place - self._starts[number]

    def having(self, part: str) -> list[Text]:
        """The texts that contain a string."""
        result: list[Text] = []
        at = self.whole.find(part) if part[0] in self.whole else -1  # one character is found, or not, far faster
        while at >= 0:
            number = bisect_right(self._starts, at)
            result.append(self[number - 1])
            at = self.whole.find(part, self._starts[number])
        return result

    @cached_property
    def outputs(self) -> dict[str, list[int]]:
        """The texts of `outputRequired` by their keys."""
        result: dict[str, list[int]] = {}
        for (_, field, _, names), first in zip(self._groups, self._firsts, strict=False):
            if field == _OUTPUT:
                for number, name in enumerate(names, first):
                    result.setdefault(name, []).append(number)
        return result

    @cached_property
    def read(self) -> list[str]:
        """Return what agents and callers read."""
        result: list[str] = []
        for (strings, field, _, _), source in zip(self._groups, self._sources, strict=True):
            if field in CALLER_FIELDS if source[0] is None else field != _GUIDANCE:
                result += strings
        return result

    @cached_property
    def read_in_step(self) -> dict[int, list[str]]:
        """Return what agents read, by step."""
        result: dict[int, list[str]] = {}
        for (strings, field, _, _), (step, _, via, _, _) in zip(self._groups, self._sources, strict=True):
            if step is not None and field != _GUIDANCE:
                reader = self._shown_by(step, field) if via == AUTHORED and field in _BLOCK_OF else step
                result.setdefault(reader, []).extend(strings)
        return result


def _fragment_condition(step: Step | None, pointer: str) -> Condition | None:
    """The condition of the fragment with the text at a pointer."""
    number = int(pointer.rsplit("/", 2)[1])
    for fragment in step.prompt_fragments if step is not None and step.kind == "standard" else ():
        if fragment.index == number:
            return fragment.when if fragment.when is not None and fragment.when.raw else None
    return None


def _ref_texts(blocks: PromptBlocks, catalog: Catalog) -> list[Group]:
    return [
        ([catalog.refs[part.ref_id].text], "part", f"/promptBlocks/{part.key}", ())
        for part in blocks.prompt_parts()
        if part.kind == "ref" and part.ref_id in catalog.refs
    ]


def _feature_texts(workflow: Workflow, catalog: Catalog) -> list[Group]:
    result: list[Group] = []
    for index, ident in numbered(workflow.features):
        feature = catalog.features.get(ident)
        if feature is None:
            continue
        for section in LIST_SECTIONS:
            for value in getattr(feature, section):
                text = value if isinstance(value, str) else _joined(value, catalog)
                if _may_name_variables(text):
                    result.append(([text], section, f"/features/{index}", ()))
    return result


@lru_cache(maxsize=512)
def _may_name_variables(text: str) -> bool:
    """Return whether a text that goes into every step has anything like the name of a variable."""
    return _NAME_LIKE.search(text) is not None


def _joined(parts: object, catalog: Catalog) -> str:
    """A feature's text that is made of parts."""
    texts: list[str] = []
    for part in parts if isinstance(parts, list) else ():
        if isinstance(part, dict):
            ref = catalog.refs.get(part.get("refId", "")) if part.get("kind") == "ref" else None
            texts.append(ref.text if ref is not None else str(part.get("text", "")))
    return "".join(texts)


def _functions(workflow: Workflow) -> Iterator[Group]:
    for function in workflow.function_definitions:
        yield [function.definition], "function", f"/{function.key}/definition", ()


# Every place that reads a context variable.


# The texts that are rendered with the run's context.
TOKEN_FIELDS = frozenset(
    (
        *("title", "prompt", "goal", "constraints", "procedure", "outputRequired", "verify", "part", "fragment"),
        *("verification", "command", "audit", "rubric", "synthesis", "argument"),
    )
)
_TOKEN = Pattern(r"\{\{([A-Za-z_][A-Za-z0-9_]*)((?:\.[A-Za-z_][A-Za-z0-9_]*)*)\}\}")
# Names of the engine's own tokens.
_RESERVED = ("wr", "context", "workflowId")
_MAX_DEPTH = 60
_KINDS: dict[Role, str] = {
    "run": "runCondition",
    "gate": "gate",
    "loop": "loop",
    "fragment": "fragment",
    "delegation": "delegation",
    "rule": "criteria",
}


def build_decisions(flow: Flow) -> list[Decision]:
    """Every condition that decides something; one that several steps share is there once."""
    result: list[Decision] = []
    seen: set[str] = set()
    for index, (step, node) in enumerate(zip(flow.steps, flow.nodes, strict=True)):
        via = step.origin.via
        if step.damaged or via == VIRTUAL:
            continue  # a virtual step shares the condition of its step
        facts = flow.loops.get(step.id) if step.kind == "loop" else None
        decides = facts.condition if facts is not None and facts.step == index else None
        for condition in node.model.condition_roots():
            kind = _KINDS[condition.role]
            if (kind == "loop" and condition is not decides) or (kind == "runCondition" and not condition.raw):
                continue
            if via == AUTHORED or kind == "loop":
                pointer = condition.pointer
                origin = Origin(pointer, AUTHORED)
            elif kind == "runCondition":
                pointer, origin = _called_condition(flow, index, condition)
            else:
                pointer, origin = step.origin.pointer, step.origin
            if pointer not in seen or origin.via in FOREIGN:
                seen.add(pointer)
                result.append(Decision(pointer, kind, index, condition, origin))
    return result


def build_uses(flow: Flow, decisions: list[Decision], texts: Texts) -> list[Use]:
    """Every place that reads a variable, conditions first."""
    result: list[Use] = []
    for decision in decisions:
        pointer, origin = decision.pointer, decision.origin
        for leaf in leaves_of(decision.condition):
            if leaf.var:
                at = leaf.at("var") if origin.via == AUTHORED else pointer
                result.append(Use(leaf.var, "", decision.step, at, decision.kind, leaf, None, pointer, origin, ""))
    for index, step in enumerate(flow.steps):
        model = flow.nodes[index].model
        if step.damaged:
            continue
        if model.kind == "loop":
            result += _loop_uses(model.loop, index)
        elif model.kind == "parallel":
            result += _mappings(model, index)
    result += _tokens(flow, texts)
    return result


def _called_condition(flow: Flow, index: int, run: Condition) -> tuple[str, Origin]:
    """A template's steps run under the condition of the call, unless they have their own."""
    step, node = flow.steps[index], flow.nodes[index]
    caller = flow.authored.get(step.pointer)
    if caller is not None and caller.run_condition is not None and caller.run_condition.raw is run.raw:
        place = f"{step.pointer}/runCondition"
        return place, Origin(place, AUTHORED)
    return node.place, step.origin


def leaves_of(condition: Condition) -> Iterator[Condition]:
    """The comparisons of a condition, in document order and without recursion."""
    stack = [(condition, 0)]
    while stack:
        part, depth = stack.pop()
        if "var" in part:
            yield part
        elif depth < _MAX_DEPTH:
            logic = part.and_ if "and" in part else part.or_ if "or" in part else (part.not_,)
            stack.extend((inner, depth + 1) for inner in reversed(logic) if inner is not None)


def _loop_uses(config: LoopConfig, index: int) -> Iterator[Use]:
    used = {"forEach": ("items", config.items), "for": ("count", config.count)}.get(config.type or "")
    if used is not None and used[1] and isinstance(used[1], str):
        place = config.at(used[0])
        yield Use(used[1], "", index, place, used[0], None, None, place, Origin(place, AUTHORED), "")


def _mappings(step: ParallelStep, index: int) -> Iterator[Use]:
    for delegation in step.parallel_delegations:
        for name in delegation.context_mapping:
            place = delegation.at("contextMapping", name)
            yield Use(name, "", index, place, "mapping", None, None, place, Origin(place, AUTHORED), "")


def _tokens(flow: Flow, texts: Texts) -> Iterator[Use]:
    passed: dict[str, str] = {}
    for text in texts.having("{{"):
        if text.step is None or text.field not in TOKEN_FIELDS:
            continue
        if flow.steps[text.step].damaged:
            continue
        if text.field == "argument":
            base = text.pointer.partition("/templateCall/")[0]
            passed[base] = passed.get(base, "") + text.text
        foreign = text.via in FOREIGN
        # Text of an argument is reported where the call passes it.
        own = passed.get(flow.steps[text.step].pointer, "") if foreign else ""
        for match in _TOKEN.finditer(text.text):
            name, path = match[1], match[2][1:]
            if name in _RESERVED or (own and match[0] in own):
                continue
            yield Use(
                name, path, text.step, text.pointer, "token", None, text.when, text.pointer, text.origin, text.text
            )
