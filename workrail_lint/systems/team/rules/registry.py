"""All rules of the team contract. A module of rules names its classes in `RULES`."""

from __future__ import annotations

from functools import cache
from importlib import import_module

from workrail_lint.systems.team.rules.base import TeamRule

# Two letters, what the family is about, and the modules its rules stand in.
FAMILIES: dict[str, tuple[str, tuple[str, ...]]] = {
    "TC": (
        "Agent team contract",
        (
            "reading",
            "status",
            "tracking",
            "decisions",
            "gates",
            "tasks",
            "planning",
            "acceptance",
            "markdown",
            "inputs",
            "context",
            "outputs",
            "role_outputs",
            "plans",
            "history",
            "session",
            "progress",
            "trace_states",
            "trace_work",
        ),
    ),
}


@cache
def all_rules() -> tuple[TeamRule, ...]:
    """One instance of every rule, by code."""
    classes = [
        cls
        for _, modules in FAMILIES.values()
        for module in modules
        for cls in import_module(f"workrail_lint.systems.team.rules.{module}").RULES
    ]
    return tuple(sorted((cls() for cls in classes), key=lambda rule: rule.code))


@cache
def by_name() -> dict[str, TeamRule]:
    return {rule.name: rule for rule in all_rules()}
