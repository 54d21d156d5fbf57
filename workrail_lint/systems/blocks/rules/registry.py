"""All block rules. A module of rules names its classes in `RULES`."""

from __future__ import annotations

from functools import cache
from importlib import import_module

from workrail_lint.systems.blocks.rules.base import BlockRule

FAMILY = "BC"
TITLE = "Stateless blocks"
# What the hundreds of a code are about, and the modules its rules stand in.
GROUPS: dict[str, tuple[str, tuple[str, ...]]] = {
    "BC0": ("reading", ("reading",)),
    "BC1": ("output files", ("output_shape", "output_paths")),
    "BC2": ("deliverables", ("deliverables",)),
    "BC3": (
        "definitions and mounts",
        ("definition_shape", "definition_graph", "definition_parts", "groups", "node_settings", "controls", "mounts"),
    ),
    "BC4": ("environments and prompts", ("environments", "prompts")),
    "BC5": ("fan-in results", ("fan_in_shape", "fan_in_merge")),
    "BC6": ("output folders", ("folder_files", "folder_outputs", "folder_paths")),
    "BC7": ("traces of runs", ("traces", "trace_lanes")),
}


@cache
def all_rules() -> tuple[BlockRule, ...]:
    """One instance of every rule, by code."""
    classes = [
        cls
        for _, modules in GROUPS.values()
        for module in modules
        for cls in import_module(f"workrail_lint.systems.blocks.rules.{module}").RULES
    ]
    return tuple(sorted((cls() for cls in classes), key=lambda rule: rule.code))


@cache
def by_name() -> dict[str, BlockRule]:
    return {rule.name: rule for rule in all_rules()}
