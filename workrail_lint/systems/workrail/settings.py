"""How workflows are judged: the catalog, the bindings, the policy; and paths or loaded data that callers pass as such.

Light, because every command needs it.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from workrail_lint.base.files import read_file
from workrail_lint.base.result import Err, Ok, Record
from workrail_lint.documents.json_reader import read_json
from workrail_lint.findings import Finding, Severity, unreadable
from workrail_lint.systems.base import RunSettings

if TYPE_CHECKING:
    from workrail_lint.systems.workrail.catalog.catalog import Catalog
    from workrail_lint.systems.workrail.engines.releases import Target


# The names of the compatibility policies; what they do is in `compat`.
REJECT, NORMALIZE = "reject", "normalize"
# Where a project keeps its overrides of slots.
BINDINGS_FILE = ".workrail/bindings.json"
# The option that says that the bindings file is among the files looked at: what is wrong in it is told there.
BINDINGS_CHECKED = "bindings-checked"


class Settings(RunSettings):
    """How a document is judged."""

    __slots__ = (
        "_base_catalog",
        "_bundled_ids",
        "_catalog",
        "bindings",
        "engine",
        "parity",
        "pinned",
        "policy",
        "release",
        "source_kind",
    )

    def __init__(
        self,
        catalog: Catalog | None = None,
        *,
        bindings: object = None,
        parity: bool = False,
        engine: bool = True,
        policy: str | None = None,
        workspace: str | None = None,
        source_kind: str | None = None,
        base_catalog: Catalog | None = None,
        options: dict[str, object] | None = None,
        pinned: bool = False,
        release: Target | None = None,
    ) -> None:
        super().__init__(options, workspace)
        self._catalog = catalog  # None: the one that comes with the product, loaded when something is looked up in it
        self._base_catalog = base_catalog or catalog
        self._bundled_ids: frozenset[str] | None = None
        self.bindings = bindings  # the content of the project's bindings file, None when there is none
        self.parity = parity  # errors are exactly what the engine rejects
        self.engine = engine or parity  # judged for the public engine; false: for the IR alone
        self.policy = REJECT if parity else (policy or NORMALIZE)  # how the design form is met
        self.release = release  # the release of the engine that is meant; None: the newest
        self.pinned = pinned  # the engine expanded it already, so ids have the dots that expanding gives them
        self.source_kind = source_kind  # where the files come from; None: to be told from each path

    @property
    def catalog(self) -> Catalog:
        """The builtins that workflows can use."""
        if self._catalog is None:
            self._catalog = resolve_catalog(release=self.release).value
        return self._catalog

    @property
    def base_catalog(self) -> Catalog:
        """The same without the project's own routines."""
        return self._base_catalog or self.catalog

    def under_parity(self) -> Settings:
        """Return the same settings, for judging exactly as the public engine would."""
        return Settings(
            self.catalog,
            base_catalog=self.base_catalog,
            bindings=self.bindings,
            parity=True,
            workspace=self.workspace,
            source_kind=self.source_kind,
            options=self.options,
            release=self.release,
        )

    @property
    def bundled_ids(self) -> frozenset[str]:
        """The routines that come with the catalog, not with the project."""
        if self._bundled_ids is None:
            self._bundled_ids = frozenset(r.routine_id for r in self.base_catalog.templates.values())
        return self._bundled_ids

    @property
    def own_routine_ids(self) -> frozenset[str]:
        """The ids of the project's own routines."""
        if self.catalog is self.base_catalog:
            return frozenset()
        bundled = self.bundled_ids
        ids = [routine.routine_id for routine in self.catalog.templates.values()]
        return frozenset(ident for ident in ids if ident not in bundled)

    @property
    def bundled_names(self) -> dict[str, str]:
        """The ids of those routines by the name that people see."""
        routines = self.base_catalog.templates.values()
        return {str(routine.definition.get("name")): routine.routine_id for routine in routines}

    def cache_facts(self) -> dict[str, object]:
        # A digest of the catalog with the project's routines would speak for them too, and take twenty times as long.
        own = self._catalog is not self._base_catalog
        routines = [self.catalog.routine_entries, sorted(self.catalog.recursive_templates)] if own else None
        return {
            **super().cache_facts(),
            # The version of the program speaks for the catalog that comes with it.
            "catalog": None if self._base_catalog is None or self._base_catalog.is_core else self._base_catalog.digest,
            "routines": routines,
            "bindings": self.bindings,
            "parity": self.parity,
            "engine": self.engine,
            "policy": self.policy,
            "sourceKind": self.source_kind,
            "release": None if self.release is None else self.release.version,
        }


class Builtins(Record):
    """The catalog with and without the project's routines, None for the shipped one; and the release of the engine."""

    __slots__ = ("base", "catalog", "release")

    def __init__(self, catalog: Catalog | None, base: Catalog | None, release: Target | None) -> None:
        self.catalog = catalog
        self.base = base
        self.release = release


def workflow_settings(settings: RunSettings) -> Settings:
    """Return the settings themselves; a run that says nothing about workflows uses the core catalog."""
    if isinstance(settings, Settings):
        return settings
    return Settings(options=settings.options, workspace=settings.workspace)


def resolve_catalog(
    catalog: object = None,
    routines: object = None,
    remarks: list[Finding] | None = None,
    release: Target | None = None,
) -> Ok[Catalog] | Err[list[Finding]]:
    """Return the active catalog: the one given (core when none is), with the routines added to it.

    For an older `release` of the engine it has only the builtins of that time. What is said about single routines
    (skipped, replaced) goes to `remarks`.
    """
    from workrail_lint.systems.workrail.catalog.catalog import Catalog, load_core

    if routines is None and (catalog is None or isinstance(catalog, Catalog)):
        known = load_core() if catalog is None else catalog
        return Ok(known if release is None else release.restricted(known))
    from workrail_lint.systems.workrail.catalog.loading import load_catalog, with_routines

    active = load_core() if catalog is None else catalog
    if not isinstance(active, Catalog):
        loaded = load_catalog(active)  # type: ignore[arg-type]
        if isinstance(loaded, Err):
            return loaded
        active = loaded.value
    if release is not None:
        active = release.restricted(active)
    if routines is None or (release is not None and not release.has_routines):
        return Ok(active)
    extended = with_routines(active, routines)  # type: ignore[arg-type]
    errors = [finding for finding in extended.findings if finding.severity is Severity.ERROR]
    if remarks is not None:
        remarks += [finding for finding in extended.findings if finding not in errors]
    return Err(errors) if errors else Ok(extended.catalog)


def resolve_release(version: str | None, catalog: Catalog | None = None) -> Ok[Target | None] | Err[str]:
    """Return the release of the engine that a version names; None for the newest, which is also meant by no version.

    A catalog that was imported from an engine that is not known describes that engine too.
    """
    if version is None and (catalog is None or catalog.engine_schema is None):
        return Ok(None)
    from workrail_lint.systems.workrail.engines.releases import find_release

    return find_release(version, catalog)


def resolve_bindings(bindings: object = None) -> Ok[Any] | Err[list[Finding]]:
    """Return the content of a bindings file: None when there is none; what it holds is judged later."""
    if bindings is None or not isinstance(bindings, str | os.PathLike):
        return Ok(bindings)

    read = read_file(os.fspath(bindings))
    if isinstance(read, Err):
        return Err([unreadable(read.error)])
    document = read_json(read.value, max_bytes=None)
    # A file the engine can't parse counts as one that holds no object: warned about, then ignored.
    return Ok(document.value if document.readable and not document.problems else [])
