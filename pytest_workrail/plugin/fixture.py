"""The fixture `workrail`: runs workflows for a test."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from types import FrameType
from typing import Any, Unpack

import pytest
from msgspec import structs

from pytest_workrail import api
from pytest_workrail.agents.agent import Agent, Transcript
from pytest_workrail.agents.scripted import Fixtures
from pytest_workrail.engine.core.profiles import ProfileName
from pytest_workrail.engine.model.words import Autonomy
from pytest_workrail.golden.files import SCENARIO_ENDING
from pytest_workrail.golden.plugin import check_golden, check_inline
from pytest_workrail.golden.profiles import Comparison
from pytest_workrail.lifecycle import LifecycleOptions, LifecycleResult, compilation_failed, run_lifecycle
from pytest_workrail.run import result
from pytest_workrail.run.project import project_profile, project_sources
from pytest_workrail.run.pytest_session import record_run
from pytest_workrail.run.result import Matcher, Run
from pytest_workrail.run.start import Options, Script, Source, Sources, known_options
from pytest_workrail.sessions.recorded_session import RecordedSession, SessionUnusable, open_session
from workrail_lint.base.result import Err
from workrail_lint.systems.workrail.compiler.compiled import CompiledWorkflow


class Workrail:
    """The API of the fixture. Relative paths start beside the test file, else in pytest's root folder."""

    script = staticmethod(api.script)
    auto = staticmethod(api.auto)
    stubborn = staticmethod(api.stubborn)
    erratic = staticmethod(api.erratic)
    lossy = staticmethod(api.lossy)
    path = staticmethod(result.path)
    any_value = staticmethod(result.any_value)
    any_text = staticmethod(result.any_text)
    any_timestamp = result.any_timestamp
    any_number = result.any_number
    any_uuid = result.any_uuid

    def __init__(self, request: pytest.FixtureRequest) -> None:
        self._config = request.config
        self._nodeid = request.node.nodeid
        self._folder = request.path.parent

    def compile(self, workflow: Source, **sources: Unpack[Sources]) -> CompiledWorkflow:
        """Return the compiled workflow; what is not given here comes from the project's configuration."""
        __tracebackhide__ = True
        known_options(sources, Sources)
        return self._compiled(workflow, sources)

    def run(
        self,
        workflow: Source,
        agent: Agent | Script | None = None,
        mode: Autonomy = "guided",
        profile: ProfileName | None = None,
        **options: Unpack[Options],
    ) -> Run:
        """Run a workflow with an agent, by default the automatic one, under the profile of the project."""
        __tracebackhide__ = True
        chosen = profile or project_profile(os.fspath(self._folder))
        result = api.run(self._compiled(workflow, options), agent, mode, chosen, **options)
        return self._attached(result)

    def compare(
        self,
        workflow: Source,
        agent: Agent | Script | None = None,
        mode: Autonomy = "guided",
        **options: Unpack[Options],
    ) -> Comparison:
        """Run a workflow or a scenario file under both profiles and show where they differ."""
        __tracebackhide__ = True
        source = self._found(workflow)
        is_scenario = isinstance(source, Path) and source.name.endswith(SCENARIO_ENDING)
        both = api.compare(source if is_scenario else self._compiled(source, options), agent, mode, **options)
        return Comparison(self._attached(both.reference), self._attached(both.locked))

    def lifecycle(self, workflow: Source, fixtures: Fixtures, **options: Unpack[LifecycleOptions]) -> LifecycleResult:
        """Drive a workflow with prepared outputs, step by step, and say how it ended."""
        __tracebackhide__ = True
        try:
            compiled = self._compiled(workflow, {})
        except api.WorkflowInvalid as invalid:
            return compilation_failed(invalid)
        result = run_lifecycle(compiled, fixtures, **options)
        return result if result.run is None else replace(result, run=self._attached(result.run))

    def session(
        self, path: str | os.PathLike[str], session_id: str | None = None, profile: ProfileName = "reference"
    ) -> RecordedSession:
        """Return a recorded session: its folder, a data folder that holds only this one, or an exported file."""
        __tracebackhide__ = True

        opened = open_session(os.fspath(self._located(Path(path))), session_id, profile)
        if isinstance(opened, Err):
            raise SessionUnusable(f"{os.fspath(path)} can't be used as a session: {opened.error}")
        return opened.value

    def _attached(self, run: Run) -> Run:
        """The run, counted for coverage and able to find its golden."""
        record_run(self._config, self._nodeid, run.transcript)
        return structs.replace(run, golden=self._match, inline=self._match_inline)

    def _match(self, transcript: Transcript, name: str | None, matchers: tuple[Matcher, ...]) -> None:
        __tracebackhide__ = True
        check_golden(self._config, self._nodeid, transcript, name, matchers)

    def _match_inline(self, outline: str, expected: str | None, frame: FrameType) -> None:
        __tracebackhide__ = True
        check_inline(self._config, self._nodeid, outline, expected, frame)

    def _compiled(self, workflow: Source, options: Sources) -> CompiledWorkflow:
        __tracebackhide__ = True
        if isinstance(workflow, CompiledWorkflow):
            return workflow
        source = self._found(workflow)
        folder = source.parent if isinstance(source, Path) else self._folder
        sources = project_sources(os.fspath(folder))
        if isinstance(sources, Err):
            raise pytest.UsageError(sources.error)
        given: dict[str, Any] = sources.value._asdict()
        given |= {name: options[name] for name in given if name in options}  # type: ignore[literal-required]
        return api.compile(source, **{name: self._path(value) for name, value in given.items()})

    def _found(self, workflow: Source) -> Source:
        if isinstance(workflow, bytes | Mapping | CompiledWorkflow):
            return workflow
        if isinstance(workflow, str) and workflow.lstrip().startswith("{"):
            return workflow
        return self._located(Path(workflow))

    def _path(self, value: object) -> object:
        return self._located(Path(value)) if isinstance(value, str | os.PathLike) else value

    def _located(self, path: Path) -> Path:
        beside = self._folder / path
        return beside if os.path.exists(beside) else self._config.rootpath / path
