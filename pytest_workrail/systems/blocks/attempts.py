"""One run of one block: what it is given, what it does to its workspace, and what it leaves behind.

An attempt has a beginning and an end, because lanes overlap in time. What a scripted agent writes, it writes at the
end; an agent in Python does its work at the beginning, and only its end is put off.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from pytest_workrail.scenarios.clock import TICK_MS
from pytest_workrail.systems.blocks.agent_script import completed_output
from pytest_workrail.systems.blocks.container_pool import Container
from pytest_workrail.systems.blocks.run_state import Stage, Step, encoded
from pytest_workrail.systems.blocks.setup import Agent, Reply, reply_of
from pytest_workrail.systems.blocks.snapshots import Changes, Snapshot, Watch, changes
from pytest_workrail.systems.blocks.workspaces import Content, Workspace
from workrail_lint.systems.blocks.definition import Node
from workrail_lint.systems.blocks.environment import environment
from workrail_lint.systems.blocks.limits import time_limit_ms
from workrail_lint.systems.blocks.paths import is_allowed, is_below_output
from workrail_lint.systems.blocks.prompts import assemble
from workrail_lint.systems.blocks.run_vocabulary import Enforcement, EventType
from workrail_lint.systems.blocks.vocabulary import BlockType


class Killed(Exception):  # noqa: N818 - what happens to an agent, not an error of the harness
    """Raised by an agent in Python to end as a process does that is killed half way."""

    def __init__(self, exit_code: int = 137) -> None:
        super().__init__(f"exit code {exit_code}")
        self.exit_code = exit_code


class Attempt:
    """A block at work in a workspace."""

    def __init__(
        self,
        stage: Stage,
        node: Node,
        workspace: Workspace,
        container: Container,
        *,
        retry: int = 0,
        feedback: str | None = None,
        lane: bool = False,
        watch: Watch | None = None,
    ) -> None:
        """`retry` counts from 0; `watch` knows the workspaces that this block must not touch."""
        shared = stage.shared
        self.stage, self.node, self.workspace, self.container = stage, node, workspace, container
        self._watch = watch
        restrictions = shared.setup.repo.restrictions
        self.step = Step(
            node.id,
            stage.plan.step_index[node.id],
            environment(stage.definition, stage.plan, node.id, shared.run, stage.ran),
            assemble(stage.definition, node, restrictions, feedback),
            stage.iteration,
            lane,
            container.number,
            container.is_warm,
        )
        self.reply = Reply()
        self.refused: list[str] = []
        seconds = node.config.get("timeoutSeconds")
        self._limit = time_limit_ms(retry, seconds)
        self._start = shared.clock.elapsed_ms
        self._before: Snapshot | None = None

    @property
    def block_type(self) -> BlockType:
        assert self.node.block_type is not None, "only agents run blocks"
        return self.node.block_type

    # ------------------------------------------------------------------------------------------- beginning

    def begin(self) -> None:
        """Start the process."""
        reply = self.stage.shared.script.take(self.node.id)
        self._before = Snapshot(self.workspace, None if self._watch is None else self._watch.known(self.node.id))
        self.reply = reply if isinstance(reply, Reply) else self._perform(reply)

    def _perform(self, agent: Agent) -> Reply:
        if self._watch is not None:
            self._watch.remember(self.node.id)
        kept = self._forbidden_files() if self.stage.shared.setup.enforce is Enforcement.HOOK else {}
        try:
            given = agent(
                env=dict(self.step.env),
                prompt=self.step.prompt,
                workspace=Path(self.workspace.root),
                memory=self.container.memory,
            )
            reply = reply_of(given)
        except Killed as end:
            reply = Reply(exit=end.exit_code, output=None)
        for workspace, path in self._watch.foreign_changes(self.node.id) if self._watch is not None else ():
            self._access(workspace, path)
        if self.stage.shared.setup.enforce is Enforcement.HOOK:
            self._undo(kept)
        return reply

    def _access(self, workspace: str, path: str) -> None:
        shared = self.stage.shared
        shared.accesses.append({"n": shared.log.n, "lane": self.node.id, "workspace": workspace, "path": path})

    def _is_forbidden(self, path: str) -> bool:
        repo = self.stage.shared.setup.repo
        if is_below_output(path):
            return False
        return repo.read_only or not is_allowed(path, list(repo.restrictions))

    def _forbidden_files(self) -> dict[str, Content]:
        """The files that an agent must not change, as they are."""
        assert self._before is not None, "a snapshot is taken before anything else"
        return {path: self.workspace.content(path) for path in self._before.paths if self._is_forbidden(path)}

    def _undo(self, kept: dict[str, Content]) -> None:
        """What a hook would have refused is as it was before."""
        for path in self._changes().paths:
            if self._is_forbidden(path):
                self.workspace.restore(path, kept.get(path))
                self.refused.append(path)

    # ------------------------------------------------------------------------------------------------- end

    @property
    def timed_out(self) -> bool:
        return self.reply.timeout or self.reply.ticks * TICK_MS > self._limit

    @property
    def ends(self) -> float:
        """When it is over."""
        return self._start + (self._limit if self.timed_out else self.reply.ticks * TICK_MS)

    def end(self) -> None:
        """Let the process come to its end: its writes, its output, and what was seen to change."""
        for path, text in self.reply.write.items():
            self._write(path, text)
        for path in self.refused:
            self.stage.shared.log.emit(EventType.WRITE_BLOCKED, self.node.id, path=path)
        found = self._look()
        reply, here = self.reply, self.workspace
        if self.timed_out or reply.abort:
            return
        if reply.raw is not None:
            here.put_output(self.node.id, encoded(reply.raw))
        elif reply.output is not None and not here.has_output(self.node.id):
            stamp = self.stage.shared.clock.timestamp
            made = completed_output(self.node.id, self.block_type, reply.output, found, stamp)
            here.put_output(self.node.id, as_bytes(made))

    def stop(self) -> None:
        """Kill the process: what it has done so far is there, what it would have done is not."""
        self._look()

    def _write(self, path: str, text: str | None) -> None:
        hook = self.stage.shared.setup.enforce is Enforcement.HOOK
        data = None if text is None else encoded(text)
        if (hook and self._is_forbidden(path)) or not self.workspace.write(path, data):
            self.refused.append(path)
        elif self.step.lane:
            self._access(self.node.id, path)

    def _look(self) -> Changes:
        found = self._changes()
        self.step.detected = found.paths
        return found

    def _changes(self) -> Changes:
        if self._before is None:
            return Changes()
        return changes(self._before, Snapshot(self.workspace, self._before))


def as_bytes(output: dict[str, Any]) -> bytes:
    """An output as it stands in its file; names that are no text on their disk are written as escapes."""
    return (json.dumps(output, ensure_ascii=False, indent=2) + "\n").encode("utf-8", "backslashreplace")
