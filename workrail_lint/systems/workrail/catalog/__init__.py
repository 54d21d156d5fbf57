"""Builtins as data: features, refs, templates, contract packs, capabilities. Closed, versioned, hashed."""

from workrail_lint.systems.workrail.catalog.catalog import (
    Capability,
    Catalog,
    CatalogPhase,
    Contract,
    Feature,
    Ref,
    Routine,
    load_core,
)

__all__ = ["Capability", "Catalog", "CatalogPhase", "Contract", "Feature", "Ref", "Routine", "load_core"]
