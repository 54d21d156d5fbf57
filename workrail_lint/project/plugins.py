"""Rules and document systems from other packages, loaded only when the configuration names them.

A plugin is a module with functions marked by `hookimpl`:

    from workrail_lint.project.plugins import hookimpl

    @hookimpl
    def workrail_lint_rules():
        return [MyRule]

pluggy is imported here and nowhere else, so a run without plugins does not pay for it.
"""

from __future__ import annotations

from collections.abc import Iterable
from importlib import import_module

import pluggy

from workrail_lint.base.result import Err, Ok
from workrail_lint.rules.base import Rule
from workrail_lint.rules.table import RuleInfo
from workrail_lint.systems.base import System

hookspec = pluggy.HookspecMarker("workrail_lint")
hookimpl = pluggy.HookimplMarker("workrail_lint")


class Hooks:
    """What a plugin can add."""

    @hookspec
    def workrail_lint_rules(self) -> list[type[Rule]]:  # type: ignore[empty-body]
        """Rule classes about the documents of a system, such as `WorkflowRule`. Codes and names must be unused."""

    @hookspec
    def workrail_lint_systems(self) -> list[System]:  # type: ignore[empty-body]
        """More document systems: their files, their checks, their rules, their keys in a configuration."""


class Plugins:
    """What the configured plugins added."""

    def __init__(self, rules: list[Rule], systems: list[System]) -> None:
        self.rules = rules
        self.systems = systems


def load_plugins(names: list[str], taken: Iterable[RuleInfo] = ()) -> Ok[Plugins] | Err[str]:
    """Import the modules and collect what they offer; `taken` are the rules that exist already."""
    manager = pluggy.PluginManager("workrail_lint")
    manager.add_hookspecs(Hooks)
    for name in names:
        try:
            manager.register(import_module(name), name)
        except ImportError as error:
            return Err(f"plugin {name!r} can't be imported: {error}; install it, or put its folder on PYTHONPATH")
        except Exception as error:  # a plugin is foreign code: its exceptions are reported, not shown as our crash
            return Err(f"plugin {name!r} failed to load: {type(error).__name__}: {error}")
    try:
        rules = [cls() for brought in manager.hook.workrail_lint_rules() for cls in brought]
        systems = [system for brought in manager.hook.workrail_lint_systems() for system in brought]
    except Exception as error:
        return Err(f"a plugin failed in one of its hooks: {type(error).__name__}: {error}")
    brought: list[Rule | RuleInfo] = [*rules, *(info for system in systems for info in system.rules())]
    problem = _clash(brought, taken)
    return Err(problem) if problem else Ok(Plugins(rules, systems))


def _clash(rules: list[Rule | RuleInfo], taken: Iterable[RuleInfo]) -> str | None:
    known = list(taken)
    codes, names = {rule.code for rule in known}, {rule.name for rule in known}
    for rule in rules:
        if not isinstance(getattr(rule, "code", None), str) or not isinstance(getattr(rule, "name", None), str):
            return f"the rule {type(rule).__name__} of a plugin has no code or name"
        if rule.code in codes or rule.name in names:
            return f"the rule {rule.code} {rule.name} of a plugin has a code or name that is already used"
        codes.add(rule.code)
        names.add(rule.name)
    return None
