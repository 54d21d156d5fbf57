"""Checking as a library: the same run as on the command line, as values."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Any

from workrail_lint.base.result import Err
from workrail_lint.findings import Finding, Severity
from workrail_lint.project.discovery import discover, suffixes_of
from workrail_lint.project.run import Plan, default_jobs, order, run
from workrail_lint.project.selection import KnownRules, Selection
from workrail_lint.rules.base import Rule
from workrail_lint.systems.base import System
from workrail_lint.systems.builtin import builtin_systems
from workrail_lint.systems.workrail.analysis import analysis
from workrail_lint.systems.workrail.compiler.compiled import CompiledWorkflow
from workrail_lint.systems.workrail.settings import Settings, resolve_bindings, resolve_catalog, resolve_release

Analysis = analysis.Analysis


class Report:
    """The result of a check: the findings in order, the checked files, and the findings that have a fix."""

    def __init__(self, findings: list[Finding], files: list[str]) -> None:
        self.findings = findings
        self.files = files

    @property
    def fixes(self) -> list[Finding]:
        return [finding for finding in self.findings if finding.fix is not None]

    @property
    def errors(self) -> list[Finding]:
        return [finding for finding in self.findings if finding.severity is Severity.ERROR]

    @property
    def warnings(self) -> list[Finding]:
        return [finding for finding in self.findings if finding.severity is Severity.WARNING]

    @property
    def ok(self) -> bool:
        """True when nothing is an error."""
        return not self.errors

    def __repr__(self) -> str:
        return f"Report({len(self.findings)} findings in {len(self.files)} files)"


def check(
    paths: Iterable[str | os.PathLike[str]],
    *,
    catalog: object = None,
    routines: object = None,
    bindings: object = None,
    engine_parity: bool = False,
    engine_version: str | None = None,
    target: str = "engine",
    select: list[str] | None = None,
    ignore: list[str] | None = None,
    jobs: int | None = None,
    workspace: str | os.PathLike[str] | None = None,
    options: dict[str, object] | None = None,
    rules: Iterable[type[Rule]] = (),
) -> Report:
    """Check files and folders. Raises ValueError when the catalog, routines or bindings can't be used.

    `engine_version` is the release of the public engine that is meant, such as "3.60"; without it the newest known.
    `target` is "engine", or "ir" for workflows that are only ever compiled and run here. `options` are the settings
    of single rules, under the names they have in a configuration file. `rules` are your own, beside the built-in ones.
    """
    folder = os.fspath(workspace or os.curdir)
    settings = _settings(catalog, routines, bindings, engine_parity, engine_version, target, folder, options)
    names = [os.fspath(path) for path in paths]
    systems, selection = _systems(select, ignore, rules)
    complete = any(os.path.isdir(name) for name in names)
    is_alone = any(system.extra_rules for system in systems)  # other processes don't know these rules
    plan = Plan(systems, settings, selection, jobs=1 if is_alone else jobs or default_jobs(), complete=complete)
    outcome = run(discover(names, suffixes=suffixes_of(systems)), plan)
    return Report(outcome.findings, outcome.files)


def check_text(
    text: str | bytes,
    filename: str = "workflow.json",
    *,
    routines: object = None,
    catalog: object = None,
    bindings: object = None,
    engine_parity: bool = False,
    engine_version: str | None = None,
    target: str = "engine",
    select: list[str] | None = None,
    ignore: list[str] | None = None,
    options: dict[str, object] | None = None,
    rules: Iterable[type[Rule]] = (),
) -> Report:
    """Check a text under a name. Nothing is read from disk but what is given as a path."""
    settings = _settings(catalog, routines, bindings, engine_parity, engine_version, target, None, options)
    systems, selection = _systems(select, ignore, rules)
    data = text if isinstance(text, bytes) else text.encode("utf-8", "surrogatepass")
    claimed = ((system, system.claims(filename, data, True)) for system in systems)
    system, kind = next((pair for pair in claimed if pair[1] is not None), (systems[-1], None))
    result = system.check_data(filename, text, kind or "workflow", settings)
    findings = [selection.adjusted(finding) for finding in result.findings if selection.applies(finding)]
    return Report(sorted(findings, key=order), [filename])


def analyse(compiled: CompiledWorkflow) -> Analysis:
    """Return what can be known about a compiled workflow: its variables, what sets and reads them, what can run."""
    return analysis.analyse(compiled.model, compiled.catalog, compiled=compiled)


def _systems(
    select: list[str] | None, ignore: list[str] | None, rules: Iterable[type[Rule]]
) -> tuple[list[System], Selection]:
    systems, extra = builtin_systems(), tuple(rule() for rule in rules)
    selection = Selection(KnownRules(systems, extra), select=select, ignore=ignore)
    for system in systems:
        system.choice, system.extra_rules = selection, extra
    return systems, selection


def _settings(
    catalog: object,
    routines: object,
    bindings: object,
    parity: bool,
    engine_version: str | None,
    target: str,
    workspace: str | None,
    options: dict[str, object] | None,
) -> Settings:
    if target not in ("engine", "ir"):
        raise ValueError(f"target must be 'engine' or 'ir', not {target!r}")
    base = resolve_catalog(catalog)
    if isinstance(base, Err):
        raise ValueError(_first(base.error))
    release = resolve_release(engine_version, base.value)
    if isinstance(release, Err):
        raise ValueError(release.error)
    active = resolve_catalog(base.value, routines, release=release.value)
    if isinstance(active, Err):
        raise ValueError(_first(active.error))
    content: Any = resolve_bindings(bindings)
    if isinstance(content, Err):
        raise ValueError(_first(content.error))
    return Settings(
        active.value,
        bindings=content.value,
        parity=parity,
        engine=target == "engine",
        workspace=workspace,
        options=dict(options or {}),
        release=release.value,
    )


def _first(findings: list[Finding]) -> str:
    return findings[0].message if findings else "can't be used"
