"""The page data of one workflow: its drawing, its steps with the origin of their texts, its variables, its findings."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

from workrail_lint.documents.source_text import Span
from workrail_lint.studio.page_data import Data, PromptPiece, StepView, VariableView, WorkflowView
from workrail_lint.studio.runs import UNKNOWN
from workrail_lint.systems.drawing.svg import drawing_data
from workrail_lint.systems.workrail.analysis.analysis import Analysis, analyse
from workrail_lint.systems.workrail.check import CheckedDocument
from workrail_lint.systems.workrail.compiler.nodes import Node, walk
from workrail_lint.systems.workrail.graph.texts import condition_text, needs_person, notes
from workrail_lint.systems.workrail.graph.tree import structure
from workrail_lint.systems.workrail.model.ir import (
    DelegatingStep,
    Program,
    ProgramStep,
    PromptFragment,
    PromptStep,
    RepeatingStep,
)
from workrail_lint.systems.workrail.provenance import pieces

# In the source of a step, around the number of a part of its prompt, or of a line of it, and around the id of a step
# that it contains: the page puts them back. No JSON text has these characters.
PROMPT_HERE = "\x01"
STEP_HERE = "\x02"
_SHORT = 40
_STRING = re.compile(r'"(?:[^"\\]|\\.)*"')
_LIST_MARK = re.compile(r"^(?:- |\d+\. )")
# How what a step has to submit can be refused.
_ANSWER = ("MISSING_REQUIRED_OUTPUT", "INVALID_REQUIRED_OUTPUT")


class Source(NamedTuple):
    """A workflow of the project. For one that does not compile, `checked` is what is drawn in its place: the last
    version that compiles, or what can be read of the file. `broken` then says what is wrong and what is drawn.
    """

    path: str
    checked: CheckedDocument
    findings: Sequence[Data]  # as the JSON report has them
    broken: Data | None = None


def workflow_view(source: Source) -> WorkflowView:
    """Return everything about a workflow that its file alone decides."""
    checked = source.checked
    compiled = checked.compiled
    findings = list(source.findings)
    if compiled is None:
        value = checked.document.value if isinstance(checked.document.value, dict) else {}
        ident, name = (str(value.get(member) or source.path) for member in ("id", "name"))
        return WorkflowView(
            ident, name, source.path, findings, hash=None, steps=[], vars=[], layout=None, tree=[], broken=source.broken
        )
    program = compiled.program
    analysis = analyse(compiled.model, compiled.catalog, compiled=compiled, path=source.path)
    reads, sets = _flows(analysis)
    nodes = {node.id: node for node in walk(compiled.nodes)}
    steps = _Steps(checked, nodes, reads, sets, _samples(analysis))
    return WorkflowView(
        program.workflow_id,
        program.name,
        source.path,
        findings,
        program.about or program.description,
        program.version,
        hash=None if source.broken is not None else compiled.hash,
        broken=source.broken,
        features=[feature.id for feature in program.features],
        contracts={pack.ref: {"schema": pack.schema_, "example": pack.example} for pack in program.contracts},
        assessments=[assessment.raw for assessment in program.assessments],
        steps=steps.views(program),
        vars=_variables(analysis, reads, sets),
        **drawing_data(structure(program, analysis)),
    )


def program_view(program: Program, program_hash: str) -> WorkflowView:
    """Return what can be drawn of a workflow that is known only as it was compiled, such as that of a session."""
    ident = program.workflow_id
    return WorkflowView(
        ident,
        program.name,
        ident,
        [],
        program.about or program.description,
        program.version,
        hash=program_hash,
        steps=_Steps().views(program),
        vars=[],
        **drawing_data(structure(program)),
    )


class _Steps:
    """The steps of a compiled workflow, with what its analysis and its file say about each, if there are any."""

    def __init__(
        self,
        checked: CheckedDocument | None = None,
        nodes: Mapping[str, Node] = MappingProxyType({}),
        reads: Mapping[str, set[str]] = MappingProxyType({}),
        sets: Mapping[str, set[str]] = MappingProxyType({}),
        samples: Mapping[str, str] = MappingProxyType({}),
    ) -> None:
        self._checked = checked
        self._nodes = nodes
        self._reads = reads
        self._sets = sets
        self._samples = samples

    def views(self, program: Program) -> list[StepView]:
        return [
            self._view(step, loop)
            for outer in program.steps
            for step, loop in ((outer, None), *((inner, outer.id) for inner in outer.body))
        ]

    def _view(self, step: ProgramStep, loop: str | None) -> StepView:
        node = self._nodes.get(step.id)
        parts = _pieces(node, step.prompt, UNKNOWN if self._checked is None else "virtual")
        reads = sorted(self._reads.get(step.id, ()))
        view = StepView(
            step.id,
            step.title,
            step.type,
            loop,
            writer=step.provenance.source,
            origin=step.provenance.origin,
            pieces=parts,
            notes=step.notes,
            badges=[note._asdict() for note in notes(step)],
            reads=reads,
            sets=sorted(self._sets.get(step.id, ())),
            bytes=len(step.prompt.encode("utf-8", "surrogatepass")),
            guidance=[],
            source=self._source(step, parts),
            blockers=_blockers(step),
            condition=None if step.run_condition is None else condition_text(step.run_condition),
            samples={name: self._samples[name] for name in reads if name in self._samples} or None,
        )
        match step:
            case PromptStep(output=output):
                view.guidance = list(step.guidance)
                view.fragments = [{"text": item.text, "when": _when(item)} for item in step.fragments] or None
                view.contract = None if output.contract is None else output.contract.raw
                view.assessments = None if output.assessments is None else output.assessments.raw
                view.criteria = output.criteria
            case RepeatingStep():
                view.rounds = step.loop.max_iterations
            case DelegatingStep():
                view.delegations = [delegation.raw for delegation in step.delegations]
        return view

    def _source(self, step: ProgramStep, parts: list[PromptPiece]) -> Data | None:
        """Return the step as its file has it: the line it begins at, and its JSON.

        What the page has in another place is said there: the steps of a loop, and the parts of the prompt.
        """
        span = self._span(step)
        if span is None:
            return None
        text = self._text(span)
        for inner in step.body:
            within = self._span(inner)
            if within is not None:
                text = text.replace(self._text(within), f"{STEP_HERE}{inner.id}{STEP_HERE}", 1)
        known = _known_texts(parts)
        text = _STRING.sub(lambda literal: _named(literal[0], known), text)
        return {"line": span.start.line, "indent": span.start.column - 1, "text": text}

    def _span(self, step: ProgramStep) -> Span | None:
        node = self._nodes.get(step.id)
        if self._checked is None or node is None:
            return None
        return self._checked.document.locate(self._checked.pointer_map(node.pointer))

    def _text(self, span: Span) -> str:
        assert self._checked is not None
        return self._checked.document.text[span.start.offset : span.end.offset]


def _known_texts(parts: list[PromptPiece]) -> dict[str, str]:
    """Return the texts in a prompt that are long enough to be said once, and what stands for each."""
    known = {}
    for number, (_, _, part) in enumerate(parts):
        if len(part) > _SHORT:
            known[part] = f"{PROMPT_HERE}{number}{PROMPT_HERE}"
            for line, text in enumerate(part.split("\n")):
                if len(text) > _SHORT:
                    known.setdefault(_LIST_MARK.sub("", text), f"{PROMPT_HERE}{number}/{line}{PROMPT_HERE}")
    return known


def _named(literal: str, known: Mapping[str, str]) -> str:
    """Return a string of JSON with what stands for its text, if the page can write it as it is."""
    if len(literal) <= _SHORT:
        return literal
    value = json.loads(literal)
    is_plain = value in known and json.dumps(value, ensure_ascii=False) == literal
    return f'"{known[value]}"' if is_plain else literal


def _when(fragment: PromptFragment) -> str | None:
    return None if fragment.when is None or not fragment.when.raw else condition_text(fragment.when)


def _pieces(node: Node | None, prompt: str, otherwise: str) -> list[PromptPiece]:
    """Return the prompt in parts: who wrote it, which builtin it is, the text."""
    if node is None:
        return [[otherwise, None, prompt]] if prompt else []
    return [[piece.kind, piece.id, prompt[piece.start : piece.end]] for piece in pieces(node)]


def _flows(analysis: Analysis) -> tuple[dict[str, set[str]], dict[str, set[str]]]:
    """Return, by step id, the variables a step reads and those its prompt sets."""
    reads: dict[str, set[str]] = {}
    sets: dict[str, set[str]] = {}
    for name, uses in analysis.by_name.items():
        for use in uses:
            reads.setdefault(analysis.steps[use.step].id, set()).add(name)
        for setter in analysis.setters(name):
            if setter.step is not None:
                sets.setdefault(analysis.steps[setter.step].id, set()).add(name)
    return reads, sets


def _variables(analysis: Analysis, reads: dict[str, set[str]], sets: dict[str, set[str]]) -> list[VariableView]:
    result = []
    for name in sorted(analysis.by_name):
        domain = analysis.domain(name)
        setters = [step.id for step in analysis.steps if name in sets.get(step.id, ())]
        readers = [step.id for step in analysis.steps if name in reads.get(step.id, ())]
        values = None if domain is None else list(domain.values)
        result.append(VariableView(name, setters, readers, values, analysis.is_given(name)))
    return result


def _samples(analysis: Analysis) -> dict[str, str]:
    """Return a value for every variable: the first that a text names, else the name itself as a placeholder."""
    result = {}
    for name in analysis.by_name:
        domain = analysis.domain(name)
        result[name] = str(domain.values[0]) if domain is not None and domain.values else f"<{name}>"
    return result


def _blockers(step: ProgramStep) -> list[str]:
    """Return the codes with which an engine can refuse an answer to this step, or stop before it, by any profile."""
    result = ["MISSING_CONTEXT_KEY"] if step.is_conditional or step.loop_variable is not None else []
    if step.type == "loop":
        return [*result, *(_ANSWER if step.loop.source.kind == "artifact" else ()), "INVARIANT_VIOLATION"]
    contract, assessments = step.contract, step.assessments
    if contract is not None:
        result += _ANSWER if contract.required else _ANSWER[1:]
    elif assessments is not None:
        result += _ANSWER[1:]
    elif step.criteria is not None:
        result += _ANSWER
    if step.probed_capability is not None:
        result += ["REQUIRED_CAPABILITY_UNKNOWN", "REQUIRED_CAPABILITY_UNAVAILABLE"]
    if step.requires_notes:
        result.append("MISSING_REQUIRED_NOTES")
    if assessments is not None and assessments.consequences:
        result.append("ASSESSMENT_FOLLOWUP_REQUIRED")
    if needs_person(step.confirmation):
        result.append("USER_ONLY_DEPENDENCY")
    return result
