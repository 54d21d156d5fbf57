"""All workflow rules, by family. A module of rules names its classes in `RULES`."""

from __future__ import annotations

from functools import cache
from importlib import import_module

from workrail_lint.workrail.rules.base import WorkflowRule

# Two letters, what the family is about, and the modules its rules stand in.
FAMILIES: dict[str, tuple[str, tuple[str, ...]]] = {
    "SY": ("Syntax and JSON", ("syntax",)),
    "SC": ("Schema", ("schema",)),
    "ID": ("Identifiers", ("identifiers", "names")),
    "RF": ("References between parts", ("references", "unused")),
    "CA": ("Closed sets and catalog", ("catalog_ids", "catalog_files")),
    "LP": (
        "Loops",
        ("loop_config", "loop_body", "loop_source", "loop_exit", "loop_wording", "loop_text", "loop_variables"),
    ),
    "CD": ("Conditions", ("conditions", "condition_meaning", "confirmation")),
    "PR": (
        "Prompts",
        (
            "prompt_shape",
            "prompt_tokens",
            "prompt_fragments",
            "context_tokens",
            "prompt_wording",
            "prompt_repetition",
            "virtual_steps",
        ),
    ),
    "TP": ("Templates", ("templates", "routines")),
    "BD": ("Bindings and extension points", ("bindings", "bindings_file")),
    "FT": ("Features and refs", ("features",)),
    "CT": ("Contracts", ("contracts", "contract_shapes")),
    "AS": ("Assessments", ("assessments", "assessment_use")),
    "FN": ("Functions", ("functions",)),
    "CR": ("Validation criteria", ("evidence", "criteria", "criteria_checks")),
    "LC": ("Portability, legacy, lifecycle", ("lifecycle", "metrics", "layout")),
    "SE": (
        "Security and text hygiene",
        ("security_paths", "security", "security_text", "unicode", "unicode_names"),
    ),
}


@cache
def all_rules() -> tuple[WorkflowRule, ...]:
    """One instance of every rule, by code."""
    classes = [
        cls
        for _, modules in FAMILIES.values()
        for module in modules
        for cls in import_module(f"workrail_lint.workrail.rules.{module}").RULES
    ]
    return tuple(sorted((cls() for cls in classes), key=lambda rule: rule.code))


@cache
def by_name() -> dict[str, WorkflowRule]:
    return {rule.name: rule for rule in all_rules()}
