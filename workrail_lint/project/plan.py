"""From configuration and options to a plan: rules selected, suppressions and baseline loaded, cache opened."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, NamedTuple

from workrail_lint.base.canonical import canonical_hash
from workrail_lint.base.files import read_file
from workrail_lint.base.result import Err, Ok
from workrail_lint.base.version import VERSION
from workrail_lint.project.baseline import Baseline, parse_baseline
from workrail_lint.project.cache import Cache
from workrail_lint.project.config import Config
from workrail_lint.project.run import Plan
from workrail_lint.project.selection import Selection, unknown_patterns
from workrail_lint.project.suppression import CONFIGURATION_RULES, Suppressions, parse_suppressions
from workrail_lint.rules.base import Rule
from workrail_lint.systems.builtin import builtin_systems
from workrail_lint.systems.workrail.settings import Settings
from workrail_lint.systems.workrail.system import WorkRailSystem

if TYPE_CHECKING:
    from workrail_lint.systems.workrail.catalog.catalog import Catalog


class Request(NamedTuple):
    """What the caller asks for on top of the configuration."""

    select: list[str]
    ignore: list[str]
    extend_select: list[str]
    baseline: str | None  # a file
    fingerprints: bool  # whether findings are to be compared with a baseline, or written to one
    use_cache: bool
    jobs: int
    complete: bool  # a whole project is looked at


def make_plan(settings: Settings, config: Config, request: Request) -> Ok[Plan] | Err[str]:
    """Layers merge: the caller adds to the configuration, except that a selection replaces one."""
    settings.options["fingerprints"] = request.fingerprints
    systems = builtin_systems()
    system = systems[-1]
    assert isinstance(system, WorkRailSystem)
    choice: dict[str, Any] = {
        "select": request.select or config.strings("select"),
        "ignore": [*config.strings("ignore"), *request.ignore],
        "extend_select": [*config.strings("extend-select"), *request.extend_select],
        "per_file_ignores": config.table("per-file-ignores"),
        "severity": config.table("severity"),
    }
    if plugins := config.strings("plugins"):
        from workrail_lint.project.plugins import load_plugins

        loaded = load_plugins(plugins, [rule for known in systems for rule in known.rules()])
        if isinstance(loaded, Err):
            return loaded
        system.further = tuple(loaded.value.rules)
        systems = [*loaded.value.systems, *systems]

    def every_rule() -> list[Rule]:
        from workrail_lint.rules.guidelines import GUIDELINES

        return [*(rule for known in systems for rule in known.rules()), *CONFIGURATION_RULES, *GUIDELINES]

    selection = Selection(
        every_rule,
        root=config.root,
        **choice,
    )
    for known in systems:
        known.selection = selection
    for problem in selection.problems():
        return Err(problem)
    suppressions = _suppressions(config, selection)
    if isinstance(suppressions, Err):
        return suppressions
    baseline = Ok(None) if request.baseline is None else _baseline(request.baseline)
    if isinstance(baseline, Err):
        return baseline
    plan = Plan(
        systems,
        settings,
        selection,
        suppressions=suppressions.value,
        baseline=baseline.value,
        # What a plugin finds depends on code that no key can speak for.
        cache=Cache(config.root, _cache_key(settings, choice)) if request.use_cache and not plugins else None,
        jobs=request.jobs,
        complete=request.complete,
    )
    return Ok(plan)


def _cache_key(settings: Settings, choice: dict[str, Any]) -> str:
    """Everything besides a file's own content that decides what is said about it."""
    facts = {
        "version": VERSION,
        "sources": _own_sources(),
        "catalog": settings.base_catalog.digest,
        # A digest of the catalog with the project's routines would speak for them too, and take twenty times as long.
        "routines": None if settings.catalog is settings.base_catalog else _routine_facts(settings.catalog),
        "bindings": settings.bindings,
        "choice": choice,
        "parity": settings.parity,
        "engine": settings.engine,
        "policy": settings.policy,
        "workspace": settings.workspace,
        "sourceKind": settings.source_kind,
        "options": settings.options,
    }
    return canonical_hash(facts)[7:]


def _routine_facts(catalog: Catalog) -> list[Any]:
    return [catalog.routine_entries, sorted(catalog.recursive_templates)]


# The rooms whose code has a part in what is found in a file.
DECIDING = ("base", "documents", "findings", "rules", "systems", "project")


def _own_sources() -> list[int]:
    """In a checkout the rules change without the version; an installed package stays as it is."""
    package = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    if "site-packages" in package:
        return []
    times = [
        os.stat(os.path.join(folder, name)).st_mtime_ns
        for room in DECIDING
        for folder, _, names in os.walk(os.path.join(package, room))
        for name in names
        if name.endswith((".py", ".json"))
    ]
    return [len(times), max(times) // 1_000_000]


def _suppressions(config: Config, selection: Selection) -> Ok[Suppressions | None] | Err[str]:
    tables = config.tables("suppress")
    if not tables:
        return Ok(None)
    parsed = parse_suppressions(tables)
    if isinstance(parsed, Err):
        return Err(f"{config.path}: {parsed.error}")
    for problem in unknown_patterns(selection.rules, [code for entry in parsed.value for code in entry.codes]):
        return Err(f"{config.path}: suppress: {problem}")
    from datetime import date

    return Ok(Suppressions(parsed.value, date.today().isoformat(), config.path or ""))


def _baseline(path: str) -> Ok[Baseline | None] | Err[str]:
    read = read_file(path)
    if isinstance(read, Err):
        advice = "" if os.path.lexists(path) else "; make it with workrail-lint check --write-baseline"
        return Err(f"baseline: {read.error.message}{advice}")
    parsed = parse_baseline(read.value)
    if isinstance(parsed, Err):
        return Err(f"{path} can't be used as a baseline: {parsed.error}")
    parsed.value.root = os.path.dirname(os.path.abspath(path))
    return Ok(parsed.value)
