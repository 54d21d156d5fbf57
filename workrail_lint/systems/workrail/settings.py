"""How workflows are judged: the catalog, the bindings, the policy. Light, because every command needs it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from workrail_lint.systems.base import RunSettings

if TYPE_CHECKING:
    from workrail_lint.systems.workrail.catalog.catalog import Catalog

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
    ) -> None:
        super().__init__(options, workspace)
        self._catalog = catalog  # None: the one that comes with the product, loaded when something is looked up in it
        self._base_catalog = base_catalog or catalog
        self._bundled_ids: frozenset[str] | None = None
        self.bindings = bindings  # the content of the project's bindings file, None when there is none
        self.parity = parity  # errors are exactly what the engine rejects
        self.engine = engine or parity  # judged for the public engine; false: for the IR alone
        self.policy = REJECT if parity else (policy or NORMALIZE)  # how the design form is met
        self.pinned = pinned  # the engine expanded it already, so ids have the dots that expanding gives them
        self.source_kind = source_kind  # where the files come from; None: to be told from each path

    @property
    def catalog(self) -> Catalog:
        """The builtins that workflows can use."""
        if self._catalog is None:
            from workrail_lint.systems.workrail.catalog.catalog import load_core

            self._catalog = load_core()
        return self._catalog

    @property
    def base_catalog(self) -> Catalog:
        """The same without the project's own routines."""
        return self._base_catalog or self.catalog

    def under_parity(self) -> Settings:
        """The same, judged exactly as the public engine would."""
        return Settings(
            self.catalog,
            base_catalog=self.base_catalog,
            bindings=self.bindings,
            parity=True,
            workspace=self.workspace,
            source_kind=self.source_kind,
            options=self.options,
        )

    @property
    def bundled_ids(self) -> frozenset[str]:
        """The routines that come with the catalog, not with the project."""
        if self._bundled_ids is None:
            self._bundled_ids = frozenset(r.routine_id for r in self.base_catalog.templates.values())
        return self._bundled_ids

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
        }


def workflow_settings(settings: RunSettings) -> Settings:
    """The settings themselves; a run that says nothing about workflows uses the core catalog."""
    if isinstance(settings, Settings):
        return settings
    return Settings(options=settings.options, workspace=settings.workspace)
