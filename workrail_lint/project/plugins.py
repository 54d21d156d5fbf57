"""Rules and document systems from other packages, loaded only when the configuration names them.

A plugin is an entry point of the group `workrail_lint.plugins`, or a module that declares itself one: it imports
`hookimpl` and marks functions with it.

    from workrail_lint.project.plugins import hookimpl

    @hookimpl
    def workrail_lint_rules():
        return [MyRule]

A configuration comes with a repository, so a name in it is no reason to run any other module. A plugin that fails is
left out of the run and named. pluggy is imported here and nowhere else, so a run without plugins does not pay for it.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, redirect_stdout
from importlib import import_module
from importlib.metadata import entry_points
from io import StringIO
from typing import Any

import pluggy

from workrail_lint.base.files import read_bytes
from workrail_lint.base.terminal import err
from workrail_lint.findings import Finding, Fix, Severity
from workrail_lint.rules.base import Example, Rule
from workrail_lint.rules.describing import Description
from workrail_lint.rules.ruleset import Reporter
from workrail_lint.rules.table import RuleInfo
from workrail_lint.systems.base import FileResult, System

GROUP = "workrail_lint.plugins"
hookspec = pluggy.HookspecMarker("workrail_lint")
hookimpl = pluggy.HookimplMarker("workrail_lint")


class Hooks:
    """The hooks of a plugin."""

    @hookspec
    def workrail_lint_rules(self) -> list[type[Rule]]:  # type: ignore[empty-body]
        """Return rule classes about the documents of a system, such as `WorkflowRule`.

        Codes and names must be unused.
        """

    @hookspec
    def workrail_lint_systems(self) -> list[System]:  # type: ignore[empty-body]
        """Return more document systems: their files, their checks, their rules, their keys in a configuration."""


class Plugins:
    """The rules and systems of the configured plugins, and their problems, now or later in the run."""

    def __init__(self) -> None:
        self.rules: list[Rule] = []
        self.systems: list[System] = []
        self.problems: list[str] = []


def load_plugins(names: list[str], existing: Iterable[RuleInfo] = ()) -> Plugins:
    """Import the plugins and collect what they offer; `taken` are the rules that exist already."""
    result = Plugins()
    known: list[Rule | RuleInfo] = list(existing)
    for name in names:
        try:
            with _remarks():
                rules, systems = _offers(_loaded(name), name)
            brought: list[Rule | RuleInfo] = [*rules, *(info for system in systems for info in system.rules())]
        except ImportError as error:
            advice = "install it, or put its folder on PYTHONPATH"
            result.problems.append(f"plugin {name!r} can't be imported: {error}; {advice}")
        except _RefusedError as refused:
            result.problems.append(f"plugin {name!r} {refused}")
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # foreign code: whatever it raises is reported, not shown as our crash
            result.problems.append(f"plugin {name!r} failed while it was loaded: {_described(error)}")
        else:
            clash = _invalid_fact(rules) or _clash(brought, known)
            if clash is not None:
                result.problems.append(f"plugin {name!r}: {clash}")
                continue
            known += brought
            result.rules += [_guarded_rule(rule, name, result.problems) for rule in rules]
            result.systems += [_guarded_system(system, name, result.problems) for system in systems]
    return result


# --------------------------------------------------------------------------------------------------------- importing


class _RefusedError(Exception):
    """A module that is not for us to import."""


def _loaded(name: str) -> object:
    for entry in entry_points(group=GROUP, name=name):
        return entry.load()
    if not _declares_itself(name):
        raise _RefusedError(f"is neither an entry point of {GROUP} nor a module that imports hookimpl from {__name__}")
    return import_module(name)


def _declares_itself(name: str) -> bool:
    """Return whether the source of a module says that it is a plugin. Nothing of it is run to find out."""
    path: Any = None
    origin: str | None = None
    parts = name.split(".")
    for count in range(1, len(parts) + 1):
        spec = _spec(".".join(parts[:count]), path)
        if spec is None:
            raise ImportError(f"No module named {name!r}")
        path, origin = spec.submodule_search_locations, spec.origin
        if path is None and count < len(parts):
            raise ImportError(f"No module named {name!r}")
    if origin is None or not origin.endswith(".py"):
        return False
    try:
        tree = ast.parse(read_bytes(origin))
    except (OSError, ValueError, SyntaxError, RecursionError, MemoryError):
        return False
    return any(
        isinstance(node, ast.ImportFrom) and node.module == __name__ and any(a.name == "hookimpl" for a in node.names)
        for node in tree.body
    )


def _spec(name: str, path: Any) -> Any:
    """Return where a module is; unlike `find_spec` of importlib this does not import the packages it lies in."""
    for finder in sys.meta_path:
        spec = finder.find_spec(name, path) if hasattr(finder, "find_spec") else None
        if spec is not None:
            return spec
    return None


def _offers(module: object, name: str) -> tuple[list[Rule], list[System]]:
    manager = pluggy.PluginManager("workrail_lint")
    manager.add_hookspecs(Hooks)
    manager.register(module, name)
    rules = [cls() for brought in manager.hook.workrail_lint_rules() for cls in brought]
    systems = [system for brought in manager.hook.workrail_lint_systems() for system in brought]
    return rules, systems


_FACTS = {
    "severity": Severity,
    "origin": str,
    "summary": str,
    "why": str,
    "fix": str,
    "needs": frozenset | None,
}


def _invalid_fact(rules: list[Rule]) -> str | None:
    for rule in rules:
        for fact, kind in _FACTS.items():
            if hasattr(type(rule), "code") and not isinstance(getattr(rule, fact, None), kind):
                return f"its rule {type(rule).__name__} has no valid {fact}"
        if not _are_keys(getattr(rule, "describes", ())):
            return f"its rule {type(rule).__name__} has no valid describes"
    return None


def _are_keys(value: object) -> bool:
    return isinstance(value, tuple) and all(
        isinstance(key, tuple) and all(isinstance(part, str) for part in key) for key in value
    )


def _clash(rules: list[Rule | RuleInfo], known: list[Rule | RuleInfo]) -> str | None:
    codes, names = {rule.code for rule in known}, {rule.name for rule in known}
    for rule in rules:
        if not isinstance(getattr(rule, "code", None), str) or not isinstance(getattr(rule, "name", None), str):
            return f"its rule {type(rule).__name__} has no code or name"
        if rule.code in codes or rule.name in names:
            return f"its rule {rule.code} {rule.name} has a code or name that is already used"
        codes.add(rule.code)
        names.add(rule.name)
    return None


# ----------------------------------------------------------------------------------------------------------- running


def _guarded_rule(rule: Rule, plugin: str, problems: list[str]) -> Rule:
    """Return the rule, left out from its first failure on."""
    guard = _Guard(f"plugin {plugin!r}: rule {rule.code} {rule.name} failed", problems)
    for hook in dir(type(rule)):
        if hook.startswith("check_") or hook == "applies":
            setattr(rule, hook, guard(getattr(rule, hook), lambda *_: False))
    setattr(rule, "describe", guard(rule.describe, lambda *_: None, _is_description))  # noqa: B010 - as below
    examples = rule.examples

    def shown() -> list[Example]:
        try:
            with _remarks():
                return list(examples())
        except (Exception, SystemExit):
            return []  # its page has none

    setattr(rule, "examples", shown)  # noqa: B010 - a method is replaced on purpose
    return rule


def _guarded_system(system: System, plugin: str, problems: list[str]) -> System:
    """Return the system, left out from its first failure on: then none of the files is its own."""
    guard = _Guard(f"plugin {plugin!r}: system {getattr(system, 'name', '')} failed", problems)
    defaults: dict[str, Callable[..., object]] = {
        "may_claim": lambda *_: False,
        "claims": lambda *_: None,
        "check": lambda *_: FileResult([]),
        "check_data": lambda *_: FileResult([]),
        "cross_check": lambda *_: [],
        "reconsider": lambda findings, *_: findings,
        "describe": lambda *_: [],
    }
    for method, default in defaults.items():
        is_answer = {"check": _is_result, "check_data": _is_result, "cross_check": _are_findings}.get(method)
        setattr(system, method, guard(getattr(system, method), default, is_answer))
    return system


def _is_description(value: object) -> bool:
    # Without a message the violation would disappear.
    return value is None or (isinstance(value, Description) and isinstance(value.message, str) and value.message != "")


def _is_result(value: object) -> bool:
    return isinstance(value, FileResult) and _are_findings(value.findings)


def _are_findings(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(each, Finding) for each in value)


class _Guard:
    """Calls into foreign code: the first failure is reported; from then on the default is returned."""

    def __init__(self, what: str, problems: list[str]) -> None:
        self._what = what
        self._problems = problems
        self._failed = False

    def __call__(
        self,
        call: Callable[..., Any],
        default: Callable[..., object],
        is_answer: Callable[[object], bool] | None = None,
    ) -> Callable[..., Any]:
        def guarded(*args: Any, **options: Any) -> Any:
            if not self._failed:
                given = [_CheckedReporter(arg.rule, arg.collector) if type(arg) is Reporter else arg for arg in args]
                try:
                    with _remarks():
                        answer = call(*given, **options)
                    if is_answer is not None and not is_answer(answer):
                        raise TypeError(f"{call.__name__} answered with {type(answer).__name__}")
                    return answer
                except KeyboardInterrupt:
                    raise
                except BaseException as error:
                    self._failed = True
                    self._problems.append(f"{self._what}: {_described(error)}")
            return default(*args)

        return guarded


class _CheckedReporter(Reporter):
    """Refuses what would otherwise fail much later, where the plugin at fault is unknown."""

    __slots__ = ()

    def __call__(self, pointer: str, message: str, **options: Any) -> None:
        given = {"pointer": pointer, "message": message, **options}
        for name, value in given.items():
            kind = _REPORTED.get(name, object)
            if not isinstance(value, kind):
                raise TypeError(f"report({name}=...) got {type(value).__name__}")
        super().__call__(pointer, message, **options)


_REPORTED: dict[str, Any] = {
    "pointer": str,
    "message": str,
    "fix": Fix | None,
    "severity": Severity | None,
    "at": tuple | None,
    "path": str | None,
    "details": dict | None,
}


@contextmanager
def _remarks() -> Iterator[None]:
    """Turn what a plugin prints into remarks about the run: standard output is for results."""
    output = StringIO()
    try:
        with redirect_stdout(output):
            yield
    finally:
        if output.getvalue():
            err(output.getvalue().rstrip("\n"))


def _described(error: BaseException) -> str:
    try:
        return f"{type(error).__name__}: {error}"
    except Exception:
        return type(error).__name__
