"""The active catalog: features, refs, routines, contract packs and capabilities, looked up by id.

This is on the path of every compilation, so nothing is checked here and every table is built when it is first asked
for. Files that users bring are checked in `checks`; the shipped one by the test suite.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from enum import Enum
from functools import cached_property, lru_cache
from typing import Any, ClassVar

from workrail_lint.base import js
from workrail_lint.base.canonical import canonical_hash
from workrail_lint.base.files import read_shipped
from workrail_lint.base.patterns import Pattern
from workrail_lint.documents.scanner import loads
from workrail_lint.systems.schemas import shipped_packs

# A name in single braces; double braces are run-time tokens and stay.
PLACEHOLDER = Pattern(r"(?<!\{)\{([^{}]+)\}(?!\})")
TEMPLATE_PREFIX = "wr.templates.routine."
_ROUTINE_PREFIXES = ("wr.routine-", "routine-")
Entry = dict[str, Any]


class Routine:
    """One callable template, from its entry. Values derived from the texts are computed on demand."""

    kind = "template"

    def __init__(self, entry: Entry) -> None:
        self.definition: dict[str, Any] = entry["definition"]
        self.phase = CatalogPhase(entry["phase"])
        self.template_id: str = entry.get("templateId") or template_id_of(self.definition["id"])
        self.arg_values: dict[str, list[str]] = entry.get("argValues") or {}  # those that take one of a closed set

    @property
    def id(self) -> str:
        return self.template_id

    @property
    def title(self) -> str:
        return str(self.definition["name"])

    @property
    def summary(self) -> str:
        return str(self.definition["description"])

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

    @cached_property
    def required_args(self) -> tuple[str, ...]:
        """Placeholder names of prompts and titles, by first appearance."""
        texts = (text_of(step.get(member)) for step in self.steps for member in ("prompt", "title"))
        return tuple(dict.fromkeys(name for text in texts for name in PLACEHOLDER.findall(text)))

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
PLACEMENTS = ("goal", "constraints", "procedure", "verify")
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


class Builtin:
    """An entry of a catalog: the members that all kinds have."""

    __slots__ = ("id", "phase", "summary", "title")
    kind: ClassVar[str]

    def __init__(self, entry: Entry) -> None:
        self.id: str = entry["id"]
        # Capabilities have none: the public engine knows no capability.
        self.phase = CatalogPhase(entry.get("phase", CatalogPhase.DESIGN))
        self.title: str = entry["title"]
        self.summary: str = entry["summary"]


class Feature(Builtin):
    """Texts appended to every step that is written in prompt blocks."""

    __slots__ = ("config_schema", "constraints", "procedure", "verify")
    kind = "feature"

    def __init__(self, entry: Entry) -> None:
        super().__init__(entry)
        inject: dict[str, list[PromptValue]] = entry["inject"]
        self.constraints = tuple(inject.get("constraints", ()))
        self.procedure = tuple(inject.get("procedure", ()))
        self.verify = tuple(inject.get("verify", ()))
        self.config_schema: dict[str, Any] | None = entry.get("configSchema")


class Ref(Builtin):
    """A text that a prompt block can include by name."""

    __slots__ = ("placements", "text")
    kind = "ref"

    def __init__(self, entry: Entry) -> None:
        super().__init__(entry)
        self.text: str = entry["text"]
        self.placements: tuple[str, ...] = tuple(entry.get("placements", PLACEMENTS))


class Contract(Builtin):
    """A contract pack: the artifact a step can be required to submit."""

    __slots__ = ("artifact_kind", "example", "runtime_validated", "schema")
    kind = "contract"

    def __init__(self, entry: Entry) -> None:
        super().__init__(entry)
        self.artifact_kind: str = entry["artifactKind"]
        self.runtime_validated: bool = entry["runtimeValidated"]
        self.schema: dict[str, Any] = entry["schema"]
        self.example: dict[str, Any] = entry["example"]

    @property
    def mode(self) -> str:
        """Return what unknown members of the artifact itself mean: strict, strip or open."""
        return str(self.schema.get("x-objectMode", "open"))


class Capability(Builtin):
    """Something an agent session may or may not be able to do."""

    __slots__ = ()
    kind = "capability"


class Catalog:
    """A catalog document with its lookup tables. Listing order is the document's order."""

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

    @cached_property
    def features(self) -> dict[str, Feature]:
        return {entry["id"]: Feature(entry) for entry in self._document["features"]}

    @cached_property
    def refs(self) -> dict[str, Ref]:
        return {entry["id"]: Ref(entry) for entry in self._document["refs"]}

    @cached_property
    def templates(self) -> dict[str, Routine]:
        """The routines by template id. The later of two with the same template id wins."""
        routines = [Routine(entry) for entry in self._document["routines"]]
        return {routine.template_id: routine for routine in routines}

    @cached_property
    def contracts(self) -> dict[str, Contract]:
        return {entry["id"]: Contract(entry) for entry in self._complete()["contracts"]}

    @cached_property
    def workflow_contracts(self) -> dict[str, Contract]:
        """The contracts for workflows; packs of the other document systems can be used, but fit no step."""
        foreign = {entry["id"] for entry in shipped_packs()}
        return {name: contract for name, contract in self.contracts.items() if name not in foreign}

    @cached_property
    def capabilities(self) -> dict[str, Capability]:
        return {entry["id"]: Capability(entry) for entry in self._document["capabilities"]}

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
            "routines": [entry for entry in self.routine_entries if is_there("templates", Routine(entry).template_id)],
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
    """Return entries in catalog order, which for ids of plain letters is alphabetical."""
    return sorted(entries, key=lambda entry: str(entry["id"]))


def digest_of(document: dict[str, Any]) -> str:
    """Return the digest of a catalog document: over everything except the digest itself."""
    return canonical_hash({name: value for name, value in document.items() if name != "digest"})
