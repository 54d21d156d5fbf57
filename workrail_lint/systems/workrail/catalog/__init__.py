"""Builtins as data: features, refs, templates, contract packs, capabilities. Closed, versioned, hashed."""

from workrail_lint.systems.workrail.catalog.catalog import Capability, Catalog, Contract, Feature, Ref, load_core
from workrail_lint.systems.workrail.catalog.phase import CatalogPhase
from workrail_lint.systems.workrail.catalog.routine import Routine

__all__ = ["Capability", "Catalog", "CatalogPhase", "Contract", "Feature", "Ref", "Routine", "load_core"]
