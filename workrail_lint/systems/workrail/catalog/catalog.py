"""The active catalog: features, refs, routines, contract packs and capabilities, looked up by id.

This is on the path of every compilation, so nothing is checked here and every table is built when it is first asked
for. Files that users bring are checked in `checks`; the shipped one by the test suite.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from enum import Enum
from functools import lru_cache
from typing import Any

from workrail_lint.base import js
from workrail_lint.base.canonical import canonical_hash
from workrail_lint.base.files import read_shipped
from workrail_lint.base.patterns import Pattern
from workrail_lint.base.result import Record
from workrail_lint.documents.scanner import loads
from workrail_lint.systems.schemas import shipped_packs

# A name in single braces; double braces are run-time tokens and stay.
PLACEHOLDER = Pattern(r"(?<!\{)\{([^{}]+)\}(?!\})")
TEMPLATE_PREFIX = "wr.templates.routine."
_ROUTINE_PREFIXES = ("wr.routine-", "routine-")


class Routine:
    """One callable template. Values derived from the texts are computed on demand."""

    __slots__ = ("_required_args", "arg_values", "definition", "phase", "template_id")

    def __init__(
        self,
        definition: dict[str, Any],
        phase: CatalogPhase,
        template_id: str | None = None,
        arg_values: dict[str, list[str]] | None = None,
    ) -> None:
        self.definition = definition
        self.phase = phase
        self.template_id = template_id or template_id_of(definition["id"])
        # Arguments that take one of a closed set of values.
        self.arg_values = arg_values or {}
        self._required_args: tuple[str, ...] | None = None

    @property
    def routine_id(self) -> str:
        return str(self.definition["id"])

    @property
    def steps(self) -> list[dict[str, Any]]:
        return list(self.definition["steps"])

    @property
    def step_ids(self) -> tuple[str, ...]:
        """Ids in order; "" for a step without one."""
        return tuple(text_of(step.get("id")) for step in self.steps)

    @property
    def conditional_step_ids(self) -> tuple[str, ...]:
        return tuple(text_of(s.get("id")) for s in self.steps if js.truthy(s.get("runCondition")))

    @property
    def required_args(self) -> tuple[str, ...]:
        """Placeholder names of prompts and titles, by first appearance."""
        if self._required_args is None:
            names: dict[str, None] = {}
            for step in self.steps:
                for member in ("prompt", "title"):
                    names.update(dict.fromkeys(PLACEHOLDER.findall(text_of(step.get(member)))))
            self._required_args = tuple(names)
        return self._required_args

    @property
    def callable(self) -> bool:
        """Return whether an expansion can succeed: every step has an id, a title and a prompt."""
        return all(text_of(step.get(m)) for step in self.steps for m in ("id", "title", "prompt"))


def template_id_of(routine_id: str) -> str:
    """Return the template id a routine is called by."""
    for prefix in _ROUTINE_PREFIXES:
        if routine_id.startswith(prefix):
            return TEMPLATE_PREFIX + routine_id[len(prefix) :]
    return TEMPLATE_PREFIX + routine_id


def text_of(value: object) -> str:
    """Return a string as it is, and "" for any other value."""
    return value if isinstance(value, str) else ""


class CatalogPhase(str, Enum):
    """shipped: the public engine has it; design: only this product does; deprecated: on its way out."""

    SHIPPED = "shipped"
    DESIGN = "design"
    DEPRECATED = "deprecated"


PromptValue = str | list[dict[str, str]]
CORE_FILE = "core.json"
# Member order of a catalog document in a file.
MEMBERS = (
    "catalogFormat",
    "catalogId",
    "catalogVersion",
    "engineVersion",
    "authoringSpecVersion",
    "engineSchema",
    "features",
    "refs",
    "routines",
    "contracts",
    "capabilities",
    "digest",
)


class Feature:
    """Texts appended to every step that is written in prompt blocks."""

    __slots__ = ("config_schema", "constraints", "id", "phase", "procedure", "summary", "title", "verify")

    def __init__(
        self,
        id: str,
        title: str,
        summary: str,
        phase: CatalogPhase,
        constraints: tuple[PromptValue, ...],
        procedure: tuple[PromptValue, ...],
        verify: tuple[PromptValue, ...],
        config_schema: dict[str, Any] | None,
    ) -> None:
        self.id = id
        self.title = title
        self.summary = summary
        self.phase = phase
        self.constraints = constraints
        self.procedure = procedure
        self.verify = verify
        self.config_schema = config_schema


class Ref:
    """A text that a prompt block can include by name."""

    __slots__ = ("id", "phase", "placements", "summary", "text", "title")

    def __init__(
        self, id: str, title: str, summary: str, phase: CatalogPhase, text: str, placements: tuple[str, ...]
    ) -> None:
        self.id = id
        self.title = title
        self.summary = summary
        self.phase = phase
        self.text = text
        self.placements = placements


class Contract(Record):
    """A contract pack: the artifact a step can be required to submit."""

    __slots__ = ("artifact_kind", "example", "id", "phase", "runtime_validated", "schema", "summary", "title")

    def __init__(
        self,
        id: str,
        artifact_kind: str,
        title: str,
        summary: str,
        phase: CatalogPhase,
        runtime_validated: bool,
        schema: dict[str, Any],
        example: dict[str, Any],
    ) -> None:
        self.id = id
        self.artifact_kind = artifact_kind
        self.title = title
        self.summary = summary
        self.phase = phase
        self.runtime_validated = runtime_validated
        self.schema = schema
        self.example = example

    @property
    def mode(self) -> str:
        """Return what unknown members of the artifact itself mean: strict, strip or open."""
        return str(self.schema.get("x-objectMode", "open"))


class Capability:
    """Something an agent session may or may not be able to do."""

    __slots__ = ("id", "summary", "title")

    def __init__(self, id: str, title: str, summary: str) -> None:
        self.id = id
        self.title = title
        self.summary = summary


PLACEMENTS = ("goal", "constraints", "procedure", "verify")


class Catalog:
    """A catalog document with its lookup tables. Listing order is the document's order."""

    __slots__ = (
        "_capabilities",
        "_contracts",
        "_digest",
        "_features",
        "_head",
        "_load",
        "_loaded",
        "_packs",
        "_refs",
        "_templates",
        "_workflow_contracts",
        "feature_items",
        "plain_parts",
        "recursive_templates",
    )

    def __init__(
        self,
        document: dict[str, Any] | Callable[[], dict[str, Any]],
        digest: str | None = None,
        packs: Callable[[], list[dict[str, Any]]] | None = None,
        head: Callable[[], dict[str, Any]] | None = None,
    ) -> None:
        """`document` may be a function that reads it when it is needed; `digest` is its own, if known to be right.

        `packs` returns contract packs that belong to the catalog but are not in the document; it is called when
        contracts or the whole catalog are needed. `head` returns the versions alone, if that takes less.
        """
        self._loaded = None if callable(document) else document
        self._load = document if callable(document) else None
        self._digest = digest
        self._packs = packs
        self._head = head
        # Templates that were rejected because their routine calls a template: routine id and calling step.
        self.recursive_templates: dict[str, tuple[str, str]] = {}
        # Whether an ordinary encoder writes it in canonical form, by the ref of a pack or the origin of a step.
        self.plain_parts: dict[str, bool] = {}
        self.feature_items: dict[tuple[str, ...], Any] = {}  # what features add to a step, by their ids
        self._features: dict[str, Feature] | None = None
        self._refs: dict[str, Ref] | None = None
        self._templates: dict[str, Routine] | None = None
        self._contracts: dict[str, Contract] | None = None
        self._workflow_contracts: dict[str, Contract] | None = None
        self._capabilities: dict[str, Capability] | None = None

    @property
    def _document(self) -> dict[str, Any]:
        if self._loaded is None:
            assert self._load is not None
            self._loaded = self._load()
        return self._loaded

    def _version(self, name: str) -> Any:
        if self._loaded is None and self._head is not None:
            return self._head()[name]
        return self._document[name]

    @property
    def is_core(self) -> bool:
        """Return whether it is the one that ships with this package, unchanged."""
        return self._load is not None

    @property
    def catalog_id(self) -> str:
        return str(self._document["catalogId"])

    @property
    def version(self) -> str:
        return str(self._version("catalogVersion"))

    @property
    def engine_version(self) -> str | None:
        version = self._version("engineVersion")
        return None if version is None else str(version)

    @property
    def engine_schema(self) -> dict[str, Any] | None:
        """Where the schema of an engine that was unknown when it was imported differs from ours; None for a known."""
        return None if self.is_core else self._document.get("engineSchema")

    @property
    def authoring_spec_version(self) -> int:
        return int(self._version("authoringSpecVersion"))

    @property
    def digest(self) -> str:
        if self._digest is None:
            # That of the shipped one is trusted; a test verifies it.
            self._digest = str(self._document["digest"]) if self.is_core else digest_of(self._complete())
        return self._digest

    @property
    def document(self) -> dict[str, Any]:
        """The whole catalog as it is written to a file, digest included."""
        complete = self._complete()
        members = {name: complete[name] for name in MEMBERS if name in complete and name != "digest"}
        return {**members, "digest": self.digest}

    def _complete(self) -> dict[str, Any]:
        """Return the document with all of its contract packs."""
        if self._packs is not None:
            contracts = by_id([*self._document["contracts"], *self._packs()])
            self._loaded, self._packs = {**self._document, "contracts": contracts}, None
        return self._document

    @property
    def features(self) -> dict[str, Feature]:
        if self._features is None:
            self._features = {entry["id"]: _feature(entry) for entry in self._document["features"]}
        return self._features

    @property
    def refs(self) -> dict[str, Ref]:
        if self._refs is None:
            self._refs = {entry["id"]: _ref(entry) for entry in self._document["refs"]}
        return self._refs

    @property
    def templates(self) -> dict[str, Routine]:
        """The routines by template id. The later of two with the same template id wins."""
        if self._templates is None:
            routines = [routine_of(entry) for entry in self._document["routines"]]
            self._templates = {routine.template_id: routine for routine in routines}
        return self._templates

    @property
    def contracts(self) -> dict[str, Contract]:
        if self._contracts is None:
            self._contracts = {entry["id"]: _contract(entry) for entry in self._complete()["contracts"]}
        return self._contracts

    @property
    def workflow_contracts(self) -> dict[str, Contract]:
        """The contracts for workflows; packs of the other document systems can be used, but fit no step."""
        if self._workflow_contracts is None:
            foreign = {entry["id"] for entry in shipped_packs()}
            self._workflow_contracts = {k: contract for k, contract in self.contracts.items() if k not in foreign}
        return self._workflow_contracts

    @property
    def capabilities(self) -> dict[str, Capability]:
        if self._capabilities is None:
            entries = self._document["capabilities"]
            self._capabilities = {e["id"]: Capability(e["id"], e["title"], e["summary"]) for e in entries}
        return self._capabilities

    @property
    def routine_entries(self) -> list[dict[str, Any]]:
        """The routines as the document lists them."""
        return list(self._document["routines"])

    def with_routine_entries(self, entries: list[dict[str, Any]]) -> Catalog:
        """Return the same catalog with another list of routines, and so with another digest."""
        return Catalog({**self._document, "routines": entries}, packs=self._packs)

    def restricted(self, is_there: Callable[[str, str], bool]) -> Catalog:
        """Return the catalog with the builtins that `is_there` says, given a kind and an id; itself if all are."""
        contracts = self._complete()["contracts"]
        kept: dict[str, Any] = {
            "features": [entry for entry in self._document["features"] if is_there("features", entry["id"])],
            "refs": [entry for entry in self._document["refs"] if is_there("refs", entry["id"])],
            "routines": [
                entry for entry in self.routine_entries if is_there("templates", routine_of(entry).template_id)
            ],
            "contracts": [entry for entry in contracts if is_there("contracts", entry["id"])],
        }
        if all(len(entries) == len(self._document[name]) for name, entries in kept.items()):
            return self
        return Catalog({**self._document, **kept})

    def __repr__(self) -> str:
        return f"Catalog({self.catalog_id} {self.version})"


@lru_cache(maxsize=1)
def load_core() -> Catalog:
    """Return the catalog that ships with this package, read when something is looked up in it."""
    return Catalog(_read_core, packs=shipped_packs, head=_read_core_head)


def _core_bytes() -> bytes:
    return read_shipped(os.path.join(os.path.dirname(__file__), CORE_FILE))


def _read_core() -> dict[str, Any]:
    document: dict[str, Any] = loads(_core_bytes())
    return document


@lru_cache(maxsize=1)
def _read_core_head() -> dict[str, Any]:
    """Return what comes before the features, which is where the large part of the file begins."""
    head, _, _ = _core_bytes().partition(b',\n  "features"')
    document: dict[str, Any] = loads(head + b"}")
    return document


def by_id(entries: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Entries in catalog order, which for ids of plain letters is alphabetical."""
    return sorted(entries, key=lambda entry: str(entry["id"]))


def digest_of(document: dict[str, Any]) -> str:
    """Return the digest of a catalog document: over everything except the digest itself."""
    return canonical_hash({name: value for name, value in document.items() if name != "digest"})


def routine_of(entry: dict[str, Any]) -> Routine:
    """Return a routine from its catalog entry."""
    return Routine(entry["definition"], CatalogPhase(entry["phase"]), entry.get("templateId"), entry.get("argValues"))


def _feature(entry: dict[str, Any]) -> Feature:
    inject = entry["inject"]
    return Feature(
        entry["id"],
        entry["title"],
        entry["summary"],
        CatalogPhase(entry["phase"]),
        tuple(inject.get("constraints", ())),
        tuple(inject.get("procedure", ())),
        tuple(inject.get("verify", ())),
        entry.get("configSchema"),
    )


def _ref(entry: dict[str, Any]) -> Ref:
    placements = tuple(entry.get("placements", PLACEMENTS))
    phase = CatalogPhase(entry["phase"])
    return Ref(entry["id"], entry["title"], entry["summary"], phase, entry["text"], placements)


def _contract(entry: dict[str, Any]) -> Contract:
    return Contract(
        entry["id"],
        entry["artifactKind"],
        entry["title"],
        entry["summary"],
        CatalogPhase(entry["phase"]),
        entry["runtimeValidated"],
        entry["schema"],
        entry["example"],
    )
