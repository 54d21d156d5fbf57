"""Scenario files, and the workflows of `workrail_auto`, as tests of pytest."""

from __future__ import annotations

import json
import os
import posixpath
import re
from collections.abc import Iterable, Iterator
from fnmatch import fnmatch
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from pytest_workrail.engine.core.profiles import PROFILES, ProfileName
from pytest_workrail.golden.files import ENDING, SCENARIO_ENDING
from pytest_workrail.golden.plugin import check_golden
from pytest_workrail.run import start
from pytest_workrail.run.project import project_sources
from pytest_workrail.run.pytest_session import AUTO_WORKFLOWS, in_own_words, note_assertion, record_run
from pytest_workrail.run.result import transcript_lines, unreached_steps
from pytest_workrail.scenarios.drivers import ScenarioFailure, play
from workrail_lint.base.files import is_below, read_bytes, walk
from workrail_lint.base.result import Err
from workrail_lint.base.terminal import one_line, shown_path

_HOOKS = pytest.StashKey[Any]()
# What a test id uses for itself.
_NOT_IN_NAMES = frozenset(":[]\n\r\t")

_WILDCARD = re.compile(r"[*?\[]")


def scenario_node(path: Path, parent: pytest.Collector) -> pytest.Collector | pytest.Item:
    """Return what a folder holds where a scenario lies: its item, ready made, with no collector of its own in between.

    A file that was asked for by name is a collector instead, because what follows `::` is looked for inside of it.
    """
    if parent.session.isinitpath(path):
        return ScenarioFile.from_parent(parent, path=path, name=one_line(path.name))
    # As pytest calls a file: by its path below the root, which itself has no name.
    above, name = parent.nodeid, path.name
    return _item(parent, path, name if above in ("", ".") else f"{above}/{name}")


def show_folders(config: pytest.Config) -> None:
    """Show the progress of scenarios by folder: with a line for each file, the lines would say nothing but names."""
    reporter: Any = config.pluginmanager.get_plugin("terminalreporter")
    write = getattr(reporter, "write_fspath_result", None)
    if write is None:
        return

    def write_by_folder(nodeid: str, *result: Any, **markup: Any) -> None:
        folder, slash, name = nodeid.partition("::")[0].rpartition("/")
        write(f"{folder}{slash}*{SCENARIO_ENDING}" if name.endswith(SCENARIO_ENDING) else nodeid, *result, **markup)

    reporter.write_fspath_result = write_by_folder


class ScenarioFile(pytest.File):
    """A file that holds one scenario."""

    def collect(self) -> list[pytest.Item]:
        return [_item(self, self.path, self.nodeid)]


def _item(parent: pytest.Collector, path: Path, file: str) -> ScenarioItem:
    header = _read_header(path)
    file = shown_path(file)
    stem = file.rpartition("/")[2].removesuffix(SCENARIO_ENDING)
    name = (_name(header) if header else None) or stem
    return ScenarioItem.from_parent(parent, name=name, nodeid=f"{file}::{name}", path=path, file=file, header=header)


def _read_header(path: Path) -> dict[str, Any]:
    """Return what can be seen at first sight; a file that can't be read shows nothing and fails when it is run."""
    try:
        data = read_bytes(os.fspath(path))
        if not (b'"name"' in data or b'"skip"' in data or b'"enforces"' in data):
            return {}
        value = json.loads(data)
    except (OSError, ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


def _name(header: dict[str, Any]) -> str | None:
    """Return the name that the scenario gives itself, unless a test can't be called that."""
    name = header.get("name")
    if not isinstance(name, str) or not name or set(name) & _NOT_IN_NAMES:
        return None
    # Reports, the environment and other processes get it, and it may hold anything that JSON can.
    return one_line(name)


@cache
def _own_mark() -> pytest.MarkDecorator:
    # Made once, and not before the mark is known.
    return pytest.mark.workrail


def _hooks(parent: pytest.Collector) -> Any:
    known = parent.stash.get(_HOOKS, None)
    if known is None:
        known = parent.stash[_HOOKS] = parent.ihook
    return known


class ScenarioItem(pytest.Item):
    """One scenario."""

    # The same for all files of a folder, and found out once: there are three hooks for each file, and many files.
    ihook = property(lambda self: _hooks(self.parent))

    def __init__(self, *, file: str, header: dict[str, Any], **others: Any) -> None:
        super().__init__(**others)
        self.file = file  # as reports name it
        # What -k can choose by, although no collector has the name of the file.
        self.extra_keyword_matches.add(file.rpartition("/")[2])
        self.add_marker(_own_mark())
        if header:
            self._mark(header)

    def _mark(self, header: dict[str, Any]) -> None:
        locks, reason = header.get("enforces"), header.get("skip")
        if isinstance(locks, list) and locks:
            self.add_marker(pytest.mark.enforces(*map(str, locks)))
        if isinstance(reason, str) and reason:
            self.add_marker(pytest.mark.skip(reason=one_line(reason)))

    def runtest(self) -> None:
        playing = play(self.path, self.file)
        if isinstance(playing, Err):
            raise playing.error
        played = [playing.value, *playing.value.further]
        for each in played:
            if each.transcript is not None:
                record_run(self.config, self.nodeid, each.transcript)
            failure = each.failure
            if failure is not None:
                raise failure
        note_assertion("expectations")
        for each in played:
            if each.golden is not None:
                check_golden(self.config, self.nodeid, each.golden, each.label)

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        """Return a failure of the scenario in its own words; anything else as pytest shows it."""
        problem = excinfo.value
        if not isinstance(problem, ScenarioFailure):
            return super().repr_failure(excinfo, style)
        reason, place = problem.reason()
        return in_own_words(self.config, excinfo, reason, place)

    def reportinfo(self) -> tuple[Path, int, str]:
        return Path(one_line(str(self.path))), 0, self.name


def workflow_file(path: Path, parent: pytest.Collector) -> pytest.Collector | None:
    """Return the file as a collector, if the project's settings name it and it is not a golden."""
    if path.name.endswith(ENDING):
        return None
    try:
        relative = path.relative_to(parent.config.rootpath).as_posix()
    except ValueError:
        return None
    if not any(fnmatch(relative, pattern) for pattern in _patterns(parent.config)):
        return None
    if not is_below(os.fspath(path), [os.fspath(parent.config.rootpath)]):  # pytest follows links to folders
        _warn(parent.config, f"{relative} is not run: a link leads to it, out of the project")
        return None
    # Reports print both names, and a file can be called anything.
    return WorkflowFile.from_parent(parent, path=path, name=one_line(path.name), nodeid=shown_path(relative))


def _patterns(config: pytest.Config) -> Iterator[str]:
    """Yield the patterns of the settings, relative to the root folder."""
    for pattern in config.getini(AUTO_WORKFLOWS):
        yield posixpath.normpath(pattern.removeprefix(f"{config.rootpath.as_posix()}/"))


def warn_of_unused_patterns(config: pytest.Config) -> None:
    """Warn of patterns that match no file, or no file that pytest collects: they would silently test nothing."""
    is_by_settings = config.args_source is pytest.Config.ArgsSource.TESTPATHS
    roots = [config.invocation_params.dir / argument for argument in config.args] if is_by_settings else None
    for pattern in _patterns(config):
        if not _names_something(pattern, config.rootpath):
            _warn(config, f"no file matches {pattern}")
        elif roots is not None and not _is_within(_folder(pattern, config.rootpath), roots):
            _warn(config, f"{pattern} is outside testpaths, so pytest runs it only if you name its folder")


def _warn(config: pytest.Config, text: str) -> None:
    config.issue_config_time_warning(pytest.PytestConfigWarning(one_line(f"{AUTO_WORKFLOWS}: {text}")), stacklevel=2)


def _folder(pattern: str, root: Path) -> Path:
    """Return the folder that holds everything a pattern can name."""
    return root / _WILDCARD.split(pattern, maxsplit=1)[0].rpartition("/")[0]


def _is_within(folder: Path, roots: Iterable[Path]) -> bool:
    return any(folder.is_relative_to(root) or root.is_relative_to(folder) for root in roots)


def _names_something(pattern: str, root: Path) -> bool:
    if _WILDCARD.search(pattern) is None:
        return os.path.isfile(root / pattern)
    folder = _folder(pattern, root)
    # A whole project is not searched for the sake of a warning.
    if folder == root:
        return True
    paths = (Path(at, name) for at, _, names in walk(str(folder)) for name in names if name.endswith(".json"))
    return any(fnmatch(path.relative_to(root).as_posix(), pattern) for path in paths)


class WorkflowFile(pytest.File):
    """A workflow: one item for each profile."""

    def collect(self) -> Iterator[pytest.Item]:
        for profile in PROFILES:
            yield WorkflowItem.from_parent(self, name=f"auto[{profile}]", profile=profile)


class WorkflowItem(pytest.Item):
    """A workflow under one profile. It passes when the run completes and no step was out of reach."""

    def __init__(self, *, profile: ProfileName, **others: Any) -> None:
        super().__init__(**others)
        self._profile = profile
        self.add_marker(pytest.mark.workrail)

    def runtest(self) -> None:
        sources = project_sources(str(self.path.parent))
        if isinstance(sources, Err):
            raise WorkflowNotDone(sources.error)
        try:
            compiled = start.compile(self.path, **sources.value._asdict())
            run = start.run(compiled, profile=self._profile)
        except (start.WorkflowInvalid, start.RunFailed) as problem:
            raise WorkflowNotDone(str(problem)) from None
        record_run(self.config, self.nodeid, run.transcript)
        if run.status != "complete":
            head = f"the run ended as {run.status}, expected complete"
            raise WorkflowNotDone("\n".join([head, *transcript_lines(run)]))
        unreached = unreached_steps(run.transcript)
        if unreached:
            raise WorkflowNotDone("\n".join(["the run is complete, but steps never ran:", *unreached]))

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        problem = excinfo.value
        return str(problem) if isinstance(problem, WorkflowNotDone) else super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[Path, int, str]:
        return Path(one_line(str(self.path))), 0, self.name


class WorkflowNotDone(Exception):  # noqa: N818 - what it is called in reports
    """A workflow that the automatic agent can't complete."""
