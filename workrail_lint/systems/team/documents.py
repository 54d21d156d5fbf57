"""Which files belong to the team contract, of which kind, and in which session folder they are.

Every file of a repository is offered to these functions, so they look at names first, then at a few bytes, and
parse only what has all signs of being ours.
"""

from __future__ import annotations

import json
import os
from enum import Enum
from typing import NamedTuple

from workrail_lint.base.closed_sets import words
from workrail_lint.base.files import read_file
from workrail_lint.base.patterns import Pattern
from workrail_lint.base.result import Ok
from workrail_lint.documents.json_reader import MAX_BYTES
from workrail_lint.systems.team.vocabulary import SESSION_NAME, SESSIONS_FOLDER, AgentName


class TeamKind(str, Enum):
    """The documents of the contract; a session is the folder that holds them."""

    STATUS = "team-status"
    TASKS = "team-tasks"
    ACCEPTANCE = "team-acceptance"
    SPEC = "team-spec"
    ARCHITECTURE = "team-architecture"
    REPORT = "team-report"
    ADR = "team-adr"
    RESEARCH = "team-research"
    DESIGN_SPEC = "team-design-spec"
    HISTORY = "team-history"
    INPUT = "team-input"
    OUTPUT = "team-output"
    PLAN = "team-plan"
    TRACE = "team-trace"
    AGENT_FILE = "team-agent-file"
    SESSION = "team-session"


K = TeamKind
MARKDOWN = (K.SPEC, K.ARCHITECTURE, K.REPORT, K.ADR, K.RESEARCH, K.DESIGN_SPEC, K.AGENT_FILE)
# What holds one object, as JSON or YAML.
TREES = tuple(kind for kind in K if kind not in (*MARKDOWN, K.HISTORY, K.SESSION))
WITH_SCHEMA = (K.STATUS, K.TASKS, K.ACCEPTANCE, K.HISTORY, K.INPUT, K.OUTPUT, K.PLAN)
SUFFIXES = (".json", ".yaml", ".md", ".jsonl")
# PyYAML reads some tens of kilobytes in a second when a file is made to be slow; this many still end soon.
MAX_YAML_BYTES = 200_000
# A thousand requested changes of one design, and more.
MAX_HISTORY_BYTES = 200_000

ARTIFACTS = {
    "status.json": K.STATUS,
    "tasks.yaml": K.TASKS,
    "acceptance.json": K.ACCEPTANCE,
    "spec.md": K.SPEC,
    "architecture.md": K.ARCHITECTURE,
    "report.md": K.REPORT,
    "approve-design-history.jsonl": K.HISTORY,
}
SIDE_FOLDERS = {"adr": K.ADR, "research": K.RESEARCH, "design-specs": K.DESIGN_SPEC}
SIDE_NAMES = {
    K.ADR: ("ADR-nnn.md", Pattern(r"ADR-[0-9]{3,}\.md")),
    K.RESEARCH: ("research-<slug>.md", Pattern(r"research-[a-z0-9]+(?:-[a-z0-9]+)*\.md")),
    K.DESIGN_SPEC: ("design-spec-<slug>.md", Pattern(r"design-spec-[a-z0-9]+(?:-[a-z0-9]+)*\.md")),
}
# Where instructions of agents are, what is beside them, and what only those of a team talk about.
_AGENTS_FOLDER = "agents"
_CONTRACT = "CONTRACT.md"
_BESIDE_AGENTS = (_CONTRACT, "WORKFLOW.md", "DISPATCH-REFERENCE.md", "README.md")
_AGENT_SIGNS = (b".agents-work/", b'"recommended_agent"')
# Files that keep a folder and say nothing.
KEEPERS = (".gitkeep", ".gitignore", ".keep")
_ENDINGS = {".input.json": K.INPUT, ".output.json": K.OUTPUT, ".plan.json": K.PLAN, ".trace.json": K.TRACE}
# Bytes that a document of a kind can hardly do without; a file that merely has the name has to show one of them.
_SIGNS: dict[TeamKind, tuple[bytes, ...]] = {
    K.STATUS: (b'"current_state"',),
    K.TASKS: (b"acceptance_checks",),
    K.ACCEPTANCE: (b'"acceptance_criteria"',),
    K.HISTORY: (b"",),
    K.INPUT: (b'"project_type"', b'"context_files"', b'"repo_state"'),
    K.OUTPUT: (b'"gates"', b'"recommended_agent"', b'"artifacts"'),
    K.PLAN: (b'"dispatch"',),
    K.TRACE: (b'"trace"',),
}
# Members that make any JSON object one of ours.
_SHAPES = (
    (K.INPUT, ("task", "project_type")),
    (K.OUTPUT, ("status", "gates", "next")),
    (K.PLAN, ("state", "dispatch")),
)
_SESSION = Pattern(SESSION_NAME[:-1])
_EXCHANGE = Pattern(rf"[0-9]{{4}}-({'|'.join(words(AgentName))})-(T-[0-9]{{3,}}|meta)\.(?:input|output)\.json")


class Place(NamedTuple):
    """The session folder of a file, and its path in it."""

    folder: str  # the path of the session folder, as the run names it
    name: str  # of the session: the name of that folder
    file: str  # the path below it, with slashes


class Exchange(NamedTuple):
    """The agent and the task in the file name of a recorded exchange."""

    agent: AgentName
    task: str


def exchange_of(path: str) -> Exchange | None:
    """Return the agent and the task that a file names, such as `0007-Reviewer-T-001.input.json`."""
    match = _EXCHANGE.fullmatch(_parts(path)[-1])
    return None if match is None else Exchange(AgentName(match[1]), match[2])


def kind_by_name(path: str) -> TeamKind | None:
    """Return the kind that a file would be if it is one of ours."""
    parts = _parts(path)
    base = parts[-1]
    if base in ARTIFACTS:
        return ARTIFACTS[base]
    if base.endswith(".md"):
        folder = parts[-2] if len(parts) > 1 else ""
        is_agent = folder == _AGENTS_FOLDER and base not in _BESIDE_AGENTS
        return K.AGENT_FILE if is_agent else SIDE_FOLDERS.get(folder)
    if base.endswith(".json"):
        return next((kind for ending, kind in _ENDINGS.items() if base.endswith(ending)), None)
    return None


def is_artifact_name(path: str) -> bool:
    """Return whether a path without a session prefix names a file of a session folder."""
    head, _, rest = path.removeprefix("./").partition("/")
    return head in SIDE_FOLDERS if rest else head in ARTIFACTS


def place_by_path(path: str) -> Place | None:
    """Return the session folder that a path itself shows: below `.agents-work`, or one with the name of a session."""
    parts = _parts(path)
    for index in range(len(parts) - 2, -1, -1):
        below = index > 0 and parts[index - 1] == SESSIONS_FOLDER
        if below or _SESSION.fullmatch(parts[index]):
            return Place("/".join(parts[: index + 1]), parts[index], "/".join(parts[index + 1 :]))
    return None


def place_of(path: str) -> Place | None:
    """Return the session folder of a file on disk, found by its path or by the files beside it."""
    place = place_by_path(path)
    if place is not None:
        return place
    absolute = place_by_path(os.path.abspath(path))
    if absolute is not None:
        return _seen_from_here(absolute, path)
    if kind_by_name(path) is None:
        return None
    folder = os.path.dirname(path)
    if os.path.basename(os.path.abspath(folder)) in SIDE_FOLDERS:
        folder = os.path.dirname(folder) if folder else os.pardir
    if not is_session_folder(folder):
        return None
    name = os.path.basename(os.path.abspath(folder))
    return Place(_slashes(folder) or os.curdir, name, _slashes(os.path.relpath(path, folder or os.curdir)))


def _seen_from_here(place: Place, path: str) -> Place:
    """Return the place with its folder written like the path, relative or absolute."""
    depth = place.file.count("/") + 1
    parts = _parts(path)
    folder = "/".join(parts[:-depth]) if len(parts) > depth else _slashes(os.path.relpath(place.folder))
    return place._replace(folder=folder)


def is_session_folder(folder: str) -> bool:
    """Return whether a folder on disk holds a team's status.json, or both spec.md and acceptance.json."""
    status = os.path.join(folder, "status.json")
    if os.path.isfile(status):
        read = read_file(status, MAX_BYTES)
        if isinstance(read, Ok) and _has_sign(K.STATUS, read.value):
            return True
    return all(os.path.isfile(os.path.join(folder, name)) for name in ("spec.md", "acceptance.json"))


def may_claim(path: str) -> bool:
    """Return whether a file can be ours at all, by its name; any JSON can, by its shape."""
    return path.endswith(".json") or kind_by_name(path) is not None


def claims(path: str, data: bytes, named: bool) -> str | None:
    """Return the kind of a file, None when it is not ours. A file named on the command line needs no other evidence."""
    kind = kind_by_name(path)
    if kind is K.AGENT_FILE:
        return kind.value if named or _is_of_a_team(path, data) else None
    if kind is None or not (
        named or exchange_of(path) is not None or _has_sign(kind, data) or place_of(path) is not None
    ):
        kind = kind_by_shape(path, data)
    return None if kind is None else kind.value


def _is_of_a_team(path: str, data: bytes) -> bool:
    """Return whether instructions of an agent are those of a team.

    Other tools keep theirs in folders of the same name.
    """
    if not data.startswith(b"---"):
        return False
    if any(sign in data for sign in _AGENT_SIGNS):
        return True
    folder = os.path.dirname(path)
    places = [folder]
    if _parts(path)[-3:-2] == [".github"]:
        places.append(os.path.join(folder, os.pardir, os.pardir, _AGENTS_FOLDER))
    return any(os.path.isfile(os.path.join(place, _CONTRACT)) for place in places)


def _has_sign(kind: TeamKind, data: bytes) -> bool:
    """Return whether the bytes of a file bear out its name. Others keep a state somewhere in a status.json, too."""
    if not any(sign in data for sign in _SIGNS.get(kind, ())):
        return False
    if kind is not K.STATUS:
        return True
    try:
        value = json.loads(data)
    except (ValueError, RecursionError):
        return True  # report a typo instead of ignoring the file
    return not isinstance(value, dict) or "current_state" in value


def kind_by_shape(path: str, data: bytes) -> TeamKind | None:
    """Return the kind of a JSON object that has the members of one of ours, whatever its name."""
    if not path.endswith(".json") or len(data) > MAX_BYTES:
        return None
    for kind, members in _SHAPES:
        if all(b'"%s"' % member.encode() in data for member in members):
            try:
                value = json.loads(data)
            except (ValueError, RecursionError):
                return None
            if isinstance(value, dict) and all(member in value for member in members):
                return kind
    return None


def _parts(path: str) -> list[str]:
    return _slashes(path).split("/")


def _slashes(path: str) -> str:
    return path.replace(os.sep, "/") if os.sep != "/" else path
