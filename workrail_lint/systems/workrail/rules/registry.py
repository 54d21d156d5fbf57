"""All workflow rules, by family. A module of rules names its classes in `RULES`."""

from __future__ import annotations

from functools import cache
from importlib import import_module

from workrail_lint.systems.workrail.rules.base import WorkflowRule

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


_LOOP = frozenset({"loop", "body"})
_CONDITION = frozenset(
    {"runCondition", "requireConfirmation", "promptFragments", "parallelDelegations", "validationCriteria", *_LOOP}
)
_CRITERIA = frozenset({"validationCriteria"})
# Modules that matter only to documents with one of these members (in the workflow or a step): the others need not
# wait for them to load. `ROUTINE` and `BINDINGS` stand for a routine file and a project that has bindings. An
# empty set: the module only lends its facts to what earlier phases find.
ROUTINE, BINDINGS = "<routine>", "<bindings>"
NEEDED_FOR: dict[str, frozenset[str]] = {
    "schema": frozenset(),
    "assessments": frozenset(),
    "bindings_file": frozenset(),
    "catalog_files": frozenset(),
    "loop_config": _LOOP,
    "loop_body": _LOOP,
    "loop_source": _LOOP,
    "loop_wording": _LOOP | {"outputContract"},
    "loop_variables": _LOOP,
    "conditions": _CONDITION,
    "condition_meaning": _CONDITION,
    "confirmation": frozenset({"runCondition", "requireConfirmation"}),
    "prompt_fragments": frozenset({"promptFragments", "guidance", "metaGuidance", "clarificationPrompts"}),
    "virtual_steps": frozenset(
        {"verification", "audit", "synthesis", "guidance", "metaGuidance", "parallelDelegations"}
    ),
    "templates": frozenset({"templateCall"}),
    "routines": frozenset({ROUTINE}),
    "bindings": frozenset({"extensionPoints", BINDINGS}),
    "contracts": frozenset({"outputContract", "assessmentRefs", "validationCriteria", "synthesis"}),
    "assessment_use": frozenset({"assessments", "assessmentRefs", "assessmentConsequences"}),
    "functions": frozenset({"functionDefinitions", "functionCalls", "functionReferences"}),
    "evidence": _CRITERIA,
    "criteria": _CRITERIA,
    "criteria_checks": _CRITERIA,
    "security_paths": frozenset({"references"}),
}
MODULES: tuple[str, ...] = tuple(module for _, modules in FAMILIES.values() for module in modules)


def rules_of(module: str) -> tuple[WorkflowRule, ...]:
    """One instance of every rule of a module."""
    return tuple(cls() for cls in import_module(f"workrail_lint.systems.workrail.rules.{module}").RULES)


@cache
def all_rules() -> tuple[WorkflowRule, ...]:
    """One instance of every rule, by code."""
    return tuple(sorted((rule for module in MODULES for rule in rules_of(module)), key=lambda rule: rule.code))


@cache
def by_name() -> dict[str, WorkflowRule]:
    return {rule.name: rule for rule in all_rules()}
