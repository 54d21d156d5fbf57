"""The inputs of a workflow: context variables that its caller provides, declared by its author.

A precondition, or a line of `about`, that begins with "Inputs:" names them in backticks; what follows a name says which
values it has, as in a prompt: "Inputs: `ticketId`, `urgency` (low, normal or high)". To the engine both are plain text.
A project can name more of them in its configuration.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Protocol

from workrail_lint.base.patterns import Pattern
from workrail_lint.base.result import Record

# The option of a project: a list of names for each workflow id, or for all under `*`.
OPTION = "inputs"
EVERY_WORKFLOW = "*"
_LINE = Pattern(r"[ \t]*(?:[-*][ \t]+)?\**Inputs?\**:")
# In backticks, or a word that no sentence has: "Inputs: ticketId, `region`".
_NAME = Pattern(r"(?:(?<=`)|(?<![\w.`/-])(?=[a-z]+(?:[A-Z]|_[a-z])))([A-Za-z_][A-Za-z0-9_]*)(?![\w.(/])")


class Input(Record):
    """A variable that the caller provides."""

    __slots__ = ("example", "kind", "name", "pointer", "span", "text", "values")

    def __init__(
        self,
        name: str,
        pointer: str,
        text: str,
        span: tuple[int, int],
        kind: str,
        values: tuple[Any, ...],
        example: Any,
    ) -> None:
        self.name = name
        self.pointer = pointer  # of the text that declares it; "" where the configuration does
        self.text = text
        self.span = span  # of the name in the text
        self.kind = kind  # of the values, as in `domains`; "" if nothing is said about them
        self.values = values
        self.example = example  # a value that a caller could provide


class Declaring(Protocol):
    """A workflow or its compiled form, whose texts declare inputs."""

    @property
    def preconditions(self) -> Sequence[str]: ...

    @property
    def about(self) -> str | None: ...


def declared_inputs(workflow: Declaring) -> dict[str, Input]:
    """Return the inputs that a workflow declares, by name."""
    inputs: dict[str, Input] = {}
    for pointer, text in _texts(workflow):
        start = 0
        for line in text.splitlines(keepends=True):
            heading = _LINE.match(line)
            if heading is not None:
                for match in _NAME.finditer(text, start + heading.end(), start + len(line)):
                    inputs.setdefault(match[1], _input(match[1], pointer, text, match.span(1)))
            start += len(line)
    return inputs


def configured_inputs(options: Mapping[str, object], workflow_id: str) -> frozenset[str]:
    """Return the inputs that the configuration of a project names for a workflow."""
    match options.get(OPTION):
        case {**by_id}:
            lists = [by_id.get(key, ()) for key in (EVERY_WORKFLOW, workflow_id)]
            return frozenset(str(name) for names in lists if isinstance(names, list) for name in names)
    return frozenset()


def _texts(workflow: Declaring) -> Iterator[tuple[str, str]]:
    for index, text in enumerate(workflow.preconditions):
        if "Input" in text:
            yield f"/preconditions/{index}", text
    if workflow.about and "Input" in workflow.about:
        yield "/about", workflow.about


def _input(name: str, pointer: str, text: str, span: tuple[int, int]) -> Input:
    from workrail_lint.systems.workrail.analysis.domains import read_stated_domain  # few workflows declare inputs

    statement = read_stated_domain(text, *span)
    if statement is None:
        return undescribed_input(name, pointer, text, span)
    return Input(name, pointer, text, span, statement.kind, statement.values, statement.example)


def undescribed_input(name: str, pointer: str = "", text: str = "", span: tuple[int, int] = (0, 0)) -> Input:
    """Return an input whose values nothing is said about."""
    return Input(name, pointer, text, span, "", (), f"example {name}")
