"""Recorded sessions as pytest sees them: one item each, which replays the session on the project's version."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from pytest_workrail.run.pytest_session import SESSION_WORKFLOWS, SESSIONS, in_own_words, note_assertion
from pytest_workrail.sessions.recorded_session import open_session
from pytest_workrail.sessions.versions import versions_below
from workrail_lint.base.result import Err
from workrail_lint.base.terminal import one_line, shown_path

_VERSIONS = pytest.StashKey[Any]()


def session_folders(config: pytest.Config) -> list[Path]:
    """The folders of the settings."""
    return [config.rootpath / name for name in config.getini(SESSIONS)]


def add_to_arguments(config: pytest.Config) -> None:
    """Have the folders collected where no paths were given: a session that no run replays would test nothing."""
    for folder in session_folders(config):
        if not os.path.isdir(folder):
            text = one_line(f"{SESSIONS}: there is no folder {folder.name}")
            config.issue_config_time_warning(pytest.PytestConfigWarning(text), stacklevel=2)
        elif config.args_source is pytest.Config.ArgsSource.TESTPATHS:
            roots = [config.invocation_params.dir / argument for argument in config.args]
            if not any(folder.is_relative_to(root) for root in roots):
                config.args.append(os.fspath(folder))


def session_file(path: Path, parent: pytest.Collector) -> pytest.Collector | None:
    """The collector of a session, if its folder is one of the settings."""
    if not any(path.is_relative_to(folder) for folder in session_folders(parent.config)):
        return None
    source = path if path.name.endswith(".json") else path.parent
    try:
        relative = source.relative_to(parent.config.rootpath).as_posix()
    except ValueError:
        relative = source.name
    return SessionFile.from_parent(parent, path=path, name=one_line(source.name), nodeid=shown_path(relative))


class SessionFile(pytest.File):
    """A session: one item."""

    def collect(self) -> list[pytest.Item]:
        return [SessionItem.from_parent(self, name="replay")]


class SessionItem(pytest.Item):
    """Replays one session. It passes unless the session no longer gets through."""

    def __init__(self, **others: Any) -> None:
        super().__init__(**others)
        self.add_marker(pytest.mark.workrail)

    def runtest(self) -> None:
        source = self.path if self.path.name.endswith(".json") else self.path.parent
        opened = open_session(os.fspath(source))
        if isinstance(opened, Err):
            raise SessionBroken(f"the session can't be replayed: {opened.error}")
        version = _versions(self.config).get(opened.value.workflow_id)
        judgement = opened.value.replay(version)
        note_assertion("session")
        if judgement.verdict in ("breaks", "invalid"):
            at = f" at step {judgement.at}" if judgement.at else ""
            call = f", call {judgement.call}" if judgement.call else ""
            on = "the version it was pinned to" if version is None else shown_path(os.path.relpath(version.path))
            text = f"session {judgement.session} {judgement.verdict}{at}{call} on {on}: {judgement.reason}"
            raise SessionBroken(text)

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        problem = excinfo.value
        if not isinstance(problem, SessionBroken):
            return super().repr_failure(excinfo, style)
        return in_own_words(self.config, excinfo, one_line(str(problem)))

    def reportinfo(self) -> tuple[Path, int, str]:
        return Path(one_line(str(self.path))), 0, self.name


def _versions(config: pytest.Config) -> dict[str, Any]:
    """The project's workflows by their ids, found once: those that the settings name, else all of the project."""
    known: dict[str, Any] | None = config.stash.get(_VERSIONS, None)
    if known is None:
        named = [os.fspath(config.rootpath / name) for name in config.getini(SESSION_WORKFLOWS)]
        loaded = versions_below(named or [os.fspath(config.rootpath)])
        if isinstance(loaded, Err):
            raise SessionBroken(f"{loaded.error}; {SESSION_WORKFLOWS} says which workflows are meant")
        known = config.stash[_VERSIONS] = loaded.value
    return known


class SessionBroken(AssertionError):  # noqa: N818 - what it is called in reports
    """A recorded session that no longer gets through."""
