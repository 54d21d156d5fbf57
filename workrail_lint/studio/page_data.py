"""The data of a page, as classes; the JSON of a page is made from them only here.

The page has the members of these classes under the same names. A member that may be missing has a default, and is left
out where it has that value.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import MISSING, dataclass, field, fields
from typing import Any, overload
from zlib import compress, decompress

from workrail_lint.base.redaction import AUTHORED, Redactor

Data = dict[str, Any]
# Who wrote a part of a prompt, which builtin it is, and the text, or the number of a shared text.
PromptPiece = list[Any]
_LONG = 80


@dataclass(slots=True)
class StepView:
    """A step as it was compiled."""

    id: str
    title: str
    type: str
    loop: str | None  # that contains it
    writer: str
    origin: str | None
    pieces: list[PromptPiece]
    notes: str
    badges: list[Data]
    reads: list[str]
    sets: list[str]
    bytes: int
    guidance: list[str]
    source: Data | None
    blockers: list[str]
    condition: str | None = None
    fragments: list[Data] | None = None
    contract: Data | None = None
    assessments: Data | None = None
    criteria: Any = None
    rounds: float | None = None
    delegations: list[Data] | None = None
    samples: dict[str, str] | None = None


@dataclass(slots=True)
class VariableView:
    """A context variable: the steps that set and read it, and its values where texts name them."""

    name: str
    set: list[str]
    read: list[str]
    values: list[Any] | None
    given: bool


@dataclass(slots=True)
class Reports:
    """The reports of other commands about a workflow, and the time of its last commit."""

    coverage: Data | None
    mutation: Data | None
    sessions: Data | None
    cost: Data | None
    committed: int | None


@dataclass(slots=True)
class WorkflowView:
    """A workflow. One that does not compile has no hash and no steps."""

    id: str
    name: str
    path: str
    findings: list[Data]
    about: str | None = None
    version: str | None = None
    hash: str | None = field(kw_only=True)
    features: list[str] | None = None
    contracts: dict[str, Data] | None = None
    assessments: list[Data] | None = None
    steps: list[StepView] = field(kw_only=True)
    vars: list[VariableView] = field(kw_only=True)
    layout: Data | None = field(kw_only=True)
    tree: list[Data] = field(kw_only=True)
    reports: Reports | None = None
    changes: Data | None = None  # since the revision
    # A file that does not compile: where (line, column, excerpt) and why (message). If an earlier version did,
    # the steps and the drawing are those of its commit (commit, committed).
    broken: Data | None = None

    @property
    def builtins(self) -> set[str]:
        """The ids of the builtins that it uses."""
        of_prompts = {
            ident
            for step in self.steps
            for kind, ident, _ in step.pieces
            if ident and kind in ("ref", "feature", "template")
        }
        return of_prompts.union(self.features or (), self.contracts or ())


@dataclass(slots=True)
class BuiltinView:
    """A builtin of the catalog: what it adds, and which workflows use it."""

    kind: str
    id: str
    title: str
    summary: str
    text: str | None = None
    schema: Data | None = None
    example: Any = None
    steps: list[Data] | None = None
    usedBy: list[str] = field(kw_only=True)  # noqa: N815 - the name in the page


@dataclass(slots=True)
class TeamView:
    """A team session: a simulated run, or a session folder."""

    name: str
    path: str
    status: str | None  # the state it is in
    blocked: int
    blockers: list[Data]
    mode: str | None
    states: list[str]  # in the order in which it went through them
    tasks: dict[str, str | None]  # by id, how far each is
    decisions: list[Data]
    events: list[Data]  # each with its `event` and `state`
    titles: dict[str, str] | None = None  # of the tasks, by id; a run has none
    kind: str = field(default="team", init=False)


@dataclass(slots=True)
class BlocksView:
    """A graph of blocks: a simulated run, or a definition that has not run."""

    name: str
    path: str
    status: str | None
    blocked: int
    blockers: list[Data]
    plan: list[Data]  # stages: a node, or a group with its lanes
    nodes: list[Data]  # each with its status and prompt; of a definition the status is null
    merges: list[Data]
    events: list[Data]
    labels: dict[str, str] | None = None  # the names of nodes; a run has none
    transitions: list[Data] | None = None  # `from`, `to` and `when`; a run has none
    kind: str = field(default="blocks", init=False)


class PackedWorkflows(Sequence[Data]):
    """The data of workflows, unpacked one at a time: a page may show 20,000 of them.

    Packed, one of them takes a twentieth of the memory. Long texts that prompts repeat are given by their numbers.
    """

    def __init__(self, *, has_revision: bool) -> None:
        self._has_revision = has_revision
        self._packed: list[bytes] = []
        self._redactor = Redactor(AUTHORED)
        self._texts: Counter[str] = Counter()
        self._numbers: Mapping[str, int] = {}

    def add(self, workflow: WorkflowView) -> None:
        data = members(workflow)
        data |= {"steps": [*map(members, workflow.steps)], "vars": [*map(members, workflow.vars)]}
        if workflow.reports is not None:
            data |= members(data.pop("reports"))
        if self._has_revision:
            data |= {"changes": data.pop("changes", None)}
        text = json.dumps(data)
        if self._redactor.is_needed_for(text):
            data = self._redactor.value(data)
            text = json.dumps(data)
        self._texts.update(_long_texts(step["pieces"] for step in data["steps"]))
        self._packed.append(compress(text.encode(), 1))

    def share(self, prompts: Sequence[list[PromptPiece]]) -> list[str]:
        """Return the long texts that occur more than once here and in more prompts, in which they become numbers."""
        self._texts.update(_long_texts(prompts))
        texts = [text for text, count in self._texts.items() if count > 1]
        self._texts.clear()
        self._numbers = {text: number for number, text in enumerate(texts)}
        self._replace(prompts)
        return texts

    def _replace(self, prompts: Iterable[list[PromptPiece]]) -> None:
        for prompt in prompts:
            for piece in prompt:
                piece[2] = self._numbers.get(piece[2], piece[2])

    def __iter__(self) -> Iterator[Data]:
        return map(self._unpacked, self._packed)

    def __len__(self) -> int:
        return len(self._packed)

    @overload
    def __getitem__(self, at: int) -> Data: ...
    @overload
    def __getitem__(self, at: slice) -> list[Data]: ...
    def __getitem__(self, at: int | slice) -> Data | list[Data]:
        if isinstance(at, slice):
            return [*map(self._unpacked, self._packed[at])]
        return self._unpacked(self._packed[at])

    def _unpacked(self, packed: bytes) -> Data:
        data: Data = json.loads(decompress(packed))
        self._replace(step["pieces"] for step in data["steps"])
        return data


def _long_texts(prompts: Iterable[list[PromptPiece]]) -> Iterator[str]:
    return (piece[2] for prompt in prompts for piece in prompt if len(piece[2]) > _LONG)


@dataclass(slots=True)
class ProjectView:
    """Everything a page shows."""

    project: str
    tool: str
    revision: str | None
    reasons: dict[str, str]
    workflows: PackedWorkflows
    runs: list[Data]
    goldens: Data | None
    catalog: list[BuiltinView]
    locks: Data | None

    def as_json(self) -> Data:
        """Return the data of the page."""
        prompts = [turn["prompt"] for run in self.runs for turn in run.get("turns", ()) if "prompt" in turn]
        return {
            "version": 1,
            "strings": self.workflows.share(prompts),
            "reasons": self.reasons,
            "project": self.project,
            "tool": self.tool,
            "revision": self.revision,
            "workflows": self.workflows,
            "runs": self.runs,
            "goldens": self.goldens,
            "catalog": [*map(members, self.catalog)],
            "locks": self.locks,
        }


def members(view: Any) -> Data:
    """Return a view as plain data."""
    pairs = ((each, getattr(view, each.name)) for each in fields(view))
    return {each.name: value for each, value in pairs if each.default is MISSING or value is not None}
