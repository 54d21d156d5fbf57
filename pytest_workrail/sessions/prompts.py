"""The prompt that the agent read at each node, rebuilt from the pinned workflow by our engine."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pytest_workrail.engine.core.profiles import ProfileName, profile_of
from pytest_workrail.engine.core.prompts import PromptStyle
from pytest_workrail.engine.model.ids import SessionId
from pytest_workrail.engine.protocol.sessions import Programs, SessionLoader, open_node, view_session
from pytest_workrail.engine.protocol.step_response import ResponseFormat, render
from pytest_workrail.engine.store.disk import SystemClock, SystemEntropy, read_only
from pytest_workrail.engine.store.gate import Home
from pytest_workrail.sessions.data_folder import DataFolder
from pytest_workrail.sessions.story import Story
from workrail_lint.base.result import Err, Ok


def read_only_home(root: str) -> Home:
    """The stores of a data folder, to look at."""
    return read_only(Path(root), SystemClock(), SystemEntropy())


def node_prompts(
    folder: DataFolder, story: Story, profile_name: ProfileName = "reference"
) -> Ok[dict[int, dict[str, Any]]] | Err[str]:
    """Return the pending step of every node, rendered from the log as it stood when the node was made."""
    home = read_only_home(folder.root)
    profile = profile_of(profile_name)
    response_format = ResponseFormat(profile, PromptStyle.FULL, home.issuer)
    workflows = home.stores.workflows
    programs = Programs(workflows.get, workflows.get_ir, profile)
    loader = SessionLoader(home.stores.sessions.load, home.stores.snapshots.get, programs)
    session = view_session(SessionId(story.session_id), story.log.truth)
    if isinstance(session, Err):
        return Err(session.error.message)
    by_number: dict[int, dict[str, Any]] = {}
    for node in story.nodes:
        then = session.value.as_of(node.index)
        run = None if isinstance(then, Err) else then.value.runs.get(story.run_id)
        if isinstance(then, Err) or run is None:
            by_number[node.number] = {"problem": "(the log can't be read up to here)"}
            continue
        opened = open_node(loader, then.value, run, run.nodes[node.node_id])
        if isinstance(opened, Err):
            by_number[node.number] = {"problem": f"({opened.error.message})"}
            continue
        pending = render(response_format, opened.value)
        if pending is not None:
            parts = [[part.slot and part.slot.value, part.text] for part in pending.parts]
            asked = {"step": pending.step_id, "title": pending.title, "prompt": pending.prompt}
            by_number[node.number] = {**asked, "parts": parts}
    return Ok(by_number)
