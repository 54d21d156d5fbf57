"""Workflows that are tested without a scenario: run by the automatic agent, under both profiles."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable, Iterator
from fnmatch import fnmatch
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from pytest_workrail.engine.core.profiles import PROFILES, ProfileName
from pytest_workrail.golden.files import ENDING
from pytest_workrail.run.pytest_session import AUTO_WORKFLOWS
from workrail_lint.base.neutral import one_line, shown_path

if TYPE_CHECKING:
    from pytest_workrail.agents.transcript import Transcript

_WILDCARD = re.compile(r"[*?\[]")


def workflow_file(path: Path, parent: pytest.Collector) -> pytest.Collector | None:
    """The file as a collector, if the project's settings name it and it is not a golden."""
    if path.name.endswith(ENDING):
        return None
    try:
        relative = path.relative_to(parent.config.rootpath).as_posix()
    except ValueError:
        return None
    if not any(fnmatch(relative, pattern) for pattern in _patterns(parent.config)):
        return None
    # Reports print both names, and a file can be called anything.
    return WorkflowFile.from_parent(parent, path=path, name=one_line(path.name), nodeid=shown_path(relative))


def _patterns(config: pytest.Config) -> Iterator[str]:
    """The patterns of the settings, relative to the root folder."""
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
    """The folder that holds everything a pattern can name."""
    return root / _WILDCARD.split(pattern, maxsplit=1)[0].rpartition("/")[0]


def _is_within(folder: Path, roots: Iterable[Path]) -> bool:
    return any(folder.is_relative_to(root) or root.is_relative_to(folder) for root in roots)


def _names_something(pattern: str, root: Path) -> bool:
    if _WILDCARD.search(pattern) is None:
        return (root / pattern).is_file()
    folder = _folder(pattern, root)
    # A whole project is not searched for the sake of a warning.
    return folder == root or any(fnmatch(path.relative_to(root).as_posix(), pattern) for path in folder.rglob("*.json"))


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
        from pytest_workrail.coverage import record_run
        from pytest_workrail.run import start
        from pytest_workrail.run.project_sources import project_sources
        from workrail_lint.base.result import Err

        sources = project_sources(str(self.path.parent))
        if isinstance(sources, Err):
            raise WorkflowNotDone(sources.error)
        try:
            compiled = start.compile(self.path, **sources.value._asdict())
            made = start.run(compiled, profile=self._profile)
        except (start.WorkflowInvalid, start.RunFailed) as problem:
            raise WorkflowNotDone(str(problem)) from None
        record_run(self.config, self.nodeid, made.transcript)
        if made.status != "complete":
            from pytest_workrail.scenarios.failures import transcript_lines

            head = f"the run ended as {made.status}, expected complete"
            raise WorkflowNotDone("\n".join([head, *transcript_lines(made)]))
        unreached = unreached_steps(made.transcript)
        if unreached:
            raise WorkflowNotDone("\n".join(["the run is complete, but steps never ran:", *unreached]))

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        problem = excinfo.value
        return str(problem) if isinstance(problem, WorkflowNotDone) else super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[Path, int, str]:
        return Path(one_line(str(self.path))), 0, self.name


def unreached_steps(transcript: Transcript) -> list[str]:
    """The steps that no value the agent could set would have reached, in words. A branch not taken is none of them."""
    why = {
        "unset": "it waits for variables, and the automatic agent found no values under which it runs",
        "never": "no values can make its condition hold",
    }
    return [f"  {step_id}: {why[because]}" for step_id, because in transcript.left_out if because in why]


class WorkflowNotDone(Exception):  # noqa: N818 - what it is called in reports
    """A workflow that the automatic agent can't complete."""
