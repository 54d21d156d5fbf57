"""How far a builtin has come."""

from __future__ import annotations

from enum import Enum


class CatalogPhase(str, Enum):
    """shipped: the public engine has it; design: only this product does; deprecated: on its way out."""

    SHIPPED = "shipped"
    DESIGN = "design"
    DEPRECATED = "deprecated"
