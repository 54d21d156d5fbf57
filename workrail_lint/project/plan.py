"""From configuration and options to a plan: rules selected, suppressions and baseline loaded, cache opened.

Paths are grouped by their configuration first. A folder below a path may have its own: its files are checked with that
one, and compared with each other, not with those around it.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from workrail_lint.base.files import read_file
from workrail_lint.base.result import Err, Ok
from workrail_lint.base.version import VERSION
from workrail_lint.project.baseline import Baseline, parse_baseline
from workrail_lint.project.config import Config, config_file
from workrail_lint.project.discovery import Discovery, Found, discover, suffixes_of
from workrail_lint.project.run import Plan
from workrail_lint.project.selection import KnownRules, Selection, unknown_patterns
from workrail_lint.rules.base import Rule
from workrail_lint.rules.table import remarks
from workrail_lint.systems.base import RunSettings, System
from workrail_lint.systems.builtin import builtin_systems, introduce, known_systems

if TYPE_CHECKING:
    from workrail_lint.project.cache import Cache
    from workrail_lint.project.suppression import Suppressions


class Request:
    """The options of the caller, on top of the configuration."""

    __slots__ = ("baseline", "complete", "extend_select", "fingerprints", "ignore", "jobs", "select", "use_cache")

    def __init__(
        self,
        select: list[str],
        ignore: list[str],
        extend_select: list[str],
        baseline: str | None,
        fingerprints: bool,
        use_cache: bool,
        jobs: int,
        complete: bool,
    ) -> None:
        self.select = select
        self.ignore = ignore
        self.extend_select = extend_select
        self.baseline = baseline  # a file
        self.fingerprints = fingerprints  # whether findings are to be compared with a baseline, or written to one
        self.use_cache = use_cache
        self.jobs = jobs
        self.complete = complete  # a whole project is checked


def make_plan(settings: RunSettings, config: Config, request: Request) -> Ok[Plan] | Err[str]:
    """Merge the layers: the caller adds to the configuration, except that a selection replaces one."""
    settings.options["fingerprints"] = request.fingerprints
    systems = builtin_systems()
    choice: dict[str, Any] = {
        "select": request.select or config.strings("select"),
        "ignore": [*config.strings("ignore"), *request.ignore],
        "extend_select": [*config.strings("extend-select"), *request.extend_select],
        "per_file_ignores": config.table("per-file-ignores"),
        "severity": config.table("severity"),
    }
    extra: tuple[Rule, ...] = ()
    problems: list[str] = []
    if plugins := config.strings("plugins"):
        # Here and below: what only some projects need is imported there, since every check pays for the rest.
        from workrail_lint.project.plugins import load_plugins

        loaded = load_plugins(plugins, KnownRules(systems)())
        problems = loaded.problems
        systems = [*loaded.systems, *systems]
        introduce(systems)
        extra = tuple(loaded.rules)
        for system in systems:
            system.extra_rules = extra
    selection = Selection(KnownRules(systems, extra), root=config.root, **choice)
    for system in systems:
        system.choice = selection
    for problem in selection.problems():
        return Err(problem)
    suppressions = _suppressions(config, selection)
    if isinstance(suppressions, Err):
        return suppressions
    baseline: Ok[Baseline] | Ok[None] | Err[str] = (
        Ok(None) if request.baseline is None else load_baseline(request.baseline)
    )
    if isinstance(baseline, Err):
        return baseline
    cache_folder = config.file("cache-dir")
    if cache_folder is not None and not _is_inside(cache_folder, config.root):
        return Err(f"{config.path}: 'cache-dir' must be a folder inside the project, and no symbolic link")
    # What a plugin finds depends on code that no key can speak for.
    use_cache = request.use_cache and not plugins
    plan = Plan(
        systems,
        settings,
        selection,
        suppressions=suppressions.value,
        baseline=baseline.value,
        cache=_open_cache(config.root, _cache_key(settings, choice), cache_folder) if use_cache else None,
        # Other processes could not tell what went wrong with a plugin.
        jobs=1 if plugins else request.jobs,
        complete=request.complete,
        plugin_problems=problems,
    )
    return Ok(plan)


def _is_inside(folder: str, root: str) -> bool:
    """Return whether a folder, which need not be there, lies in another one, and no link leads to it."""
    if "\0" in folder:
        return False
    real, top = os.path.realpath(folder), os.path.realpath(root)
    return real.startswith(os.path.join(top, "")) and real == os.path.join(top, os.path.relpath(folder, root))


def document_suffixes(config: Config) -> tuple[str, ...]:
    """Return the suffixes that files of documents of the project can have."""
    systems: list[System] = [*known_systems()]
    if plugins := config.strings("plugins"):
        from workrail_lint.project.plugins import load_plugins

        systems += load_plugins(plugins).systems  # the plan says what is wrong with the others
    return suffixes_of(systems)


def _open_cache(root: str, key: bytes, folder: str | None) -> Cache:
    from workrail_lint.project.cache import Cache, content_key

    return Cache(root, content_key(key), folder)


def _cache_key(settings: RunSettings, choice: dict[str, Any]) -> bytes:
    """Return everything besides a file's content that decides its findings."""
    facts = {"version": VERSION, "sources": _own_sources(), "choice": choice, **settings.cache_facts()}
    # Plain values all the way down, so that different ones never look the same.
    return repr(facts).encode("utf-8", "surrogatepass")


# The packages whose code decides what is found in a file.
DECIDING = ("base", "documents", "findings", "rules", "systems", "project")


def _own_sources() -> list[int]:
    """Return number and latest change of the sources in a checkout, where rules change without the version."""
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
    from workrail_lint.project.suppression import Suppressions, parse_suppressions

    parsed = parse_suppressions(tables)
    if isinstance(parsed, Err):
        return Err(f"{config.path}: {parsed.error}")
    codes = [code for entry in parsed.value for code in entry.codes]
    for problem in unknown_patterns(selection.rules, codes):
        return Err(f"{config.path}: suppress: {problem}")
    selection.remarks += remarks(codes)
    from datetime import date

    return Ok(Suppressions(parsed.value, date.today().isoformat(), config.path or ""))


def load_baseline(path: str) -> Ok[Baseline] | Err[str]:
    """Return the accepted findings that a file holds, or why it can't be used."""
    read = read_file(path)
    if isinstance(read, Err):
        advice = "" if os.path.lexists(path) else "; create it with workrail-lint check --write-baseline"
        return Err(f"baseline: {read.error.message}{advice}")

    parsed = parse_baseline(read.value)
    if isinstance(parsed, Err):
        return Err(f"{path} can't be used as a baseline: {parsed.error}")
    parsed.value.root = os.path.dirname(os.path.abspath(path))
    return Ok(parsed.value)


class Project:
    """The files of one configuration."""

    def __init__(self, config: Config) -> None:
        self.config = config
        self.problems: list[tuple[str, str]] = []
        self.is_whole = False  # a folder was checked, not some of its files
        self._files: dict[str, Found] = {}

    def add(self, path: str, discovery: Discovery) -> None:
        self.is_whole = self.is_whole or os.path.isdir(path)
        self.problems += discovery.problems
        for file in discovery.files:
            key = os.path.normpath(file.path)
            if file.named or key not in self._files:
                self._files[key] = file

    def has(self, path: str) -> bool:
        """Return whether a path is one of the files."""
        whole = os.path.abspath(path)
        return any(os.path.abspath(file.path) == whole for file in self._files.values())

    @property
    def discovery(self) -> Discovery:
        return Discovery([self._files[key] for key in sorted(self._files)], self.problems, [])


def projects(
    paths: list[str], config_of: Callable[[str], Config], suffixes: Callable[[Config], tuple[str, ...]], *, nested: bool
) -> list[Project]:
    """Return the projects in the order they are found; `nested` says that folders may have their own configuration."""
    is_apart = (lambda folder, names: config_file(folder, names) is not None) if nested else None
    by_config: dict[str, Project] = {}
    known: dict[str, Project] = {}  # by folder: many files are named together, and most are in the same folder
    waiting = deque(paths)
    while waiting:
        path = waiting.popleft()
        folder = path if os.path.isdir(path) else os.path.dirname(path)
        project = known.get(folder)
        if project is None:
            config = config_of(path)
            project = known[folder] = by_config.setdefault(config.path or config.root, Project(config))
        config = project.config
        include, exclude = config.strings("include"), config.strings("exclude")
        discovery = discover(
            [path], include=include, exclude=exclude, root=config.root, suffixes=suffixes(config), is_apart=is_apart
        )
        project.add(path, discovery)
        waiting.extend(discovery.apart)
    return list(by_config.values())
