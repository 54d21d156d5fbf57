"""Which files belong to the block contract, and what each of them is.

A name decides where the contract fixes names. Where it does not, or where other tools use the same names, the content
has to look the part: `.output` is also what some web frameworks build into.
"""

from __future__ import annotations

from enum import Enum
from functools import cache

from workrail_lint.documents.json_reader import read_json
from workrail_lint.documents.schema.engine import Validator, compile_schema
from workrail_lint.systems.blocks.paths import OUTPUT_FOLDER, REJECTED_SUFFIX, RUN_FOLDER, is_safe_id
from workrail_lint.systems.schemas import SCHEMA_SUFFIX, load_schema

EXTENDED = "-extended"
SCENARIO = "block-scenario"  # no document of the contract: a test of it
WORKFLOW_SUFFIX = ".workflow.json"
MOUNT_FILE = "repo-mount.json"
TRACE_FILE = "trace.json"
SUFFIXES = (".json", ".txt")
# Member names that no other tool's files with such names are likely to have.
_OUTPUT_SIGNS = (b'"blockId"', b'"deliverables"', b'"filesModified"', b'"filesCreated"')


class BlockKind(str, Enum):
    """The documents of the block contract."""

    WORKFLOW = "studio-workflow"
    OUTPUT = "studio-output"
    FOLDER = "studio-output-dir"
    MOUNT = "studio-repo-mount"
    ENVIRONMENT = "studio-env"
    PROMPT = "studio-prompt"
    FAN_IN = "studio-fan-in"
    TRACE = "studio-trace"  # what a simulated run recorded about itself


WITH_SCHEMA = (BlockKind.WORKFLOW, BlockKind.OUTPUT, BlockKind.MOUNT, BlockKind.ENVIRONMENT, BlockKind.FAN_IN)


def split_path(path: str) -> tuple[str, str, str]:
    """Return a path as the folder of its folder, the name of its folder, and its own name."""
    folder, _, name = path.replace("\\", "/").rpartition("/")
    above, _, parent = folder.rpartition("/")
    return above, parent, name


def kind_by_name(path: str) -> BlockKind | None:
    """Return the kind by file name and folder; more evidence may be needed."""
    _, parent, name = split_path(path)
    if parent == RUN_FOLDER:
        return _recorded_kind(name)
    if name.endswith(WORKFLOW_SUFFIX):
        return BlockKind.WORKFLOW
    if name.startswith("block-") and name.endswith(".json") and not name.endswith(SCHEMA_SUFFIX):
        return BlockKind.OUTPUT
    return None


def _recorded_kind(name: str) -> BlockKind | None:
    if name == MOUNT_FILE:
        return BlockKind.MOUNT
    if name == TRACE_FILE:
        return BlockKind.TRACE
    for kind, (before, after) in _RECORDS.items():
        if name.startswith(before) and name.endswith(after):
            return kind
    return None


_RECORDS = {
    BlockKind.ENVIRONMENT: ("env-", ".json"),
    BlockKind.PROMPT: ("prompt-", ".txt"),
    BlockKind.FAN_IN: ("fan-in-", ".json"),
    BlockKind.OUTPUT: ("block-", ".json"),
}


def id_in_name(path: str, kind: BlockKind) -> str | None:
    """Return the node or group id that a file name holds; None when it holds none that could be one."""
    before, after = _RECORDS[kind]
    name = split_path(path)[2]
    if not name.startswith(before) or not name.endswith(after):
        return None
    ident = name[len(before) : len(name) - len(after)]
    return ident if is_safe_id(ident) else None


def may_claim(path: str) -> bool:
    """Return whether a file can be ours at all, by its name; any JSON can, by its shape."""
    return path.endswith(".json") or kind_by_name(path) is not None


def claims(path: str, data: bytes, named: bool) -> str | None:
    """Return the name of the kind of a file, None when it is not ours."""
    kind = detect(path, data, named)
    return None if kind is None else kind.value


def detect(path: str, data: bytes, named: bool) -> BlockKind | None:
    """Return the kind of a file, None for other files. Cheap for those: only their names and some words are checked."""
    kind = kind_by_name(path)
    if kind is BlockKind.WORKFLOW:
        # WorkRail's own workflows may carry the same suffix; theirs have steps where these have nodes.
        return None if b'"steps"' in data and not (b'"nodes"' in data and _has_members(data, "nodes")) else kind
    if kind is BlockKind.OUTPUT:
        return kind if named or split_path(path)[1] == OUTPUT_FOLDER or _looks_like_output(data, 1) else None
    if kind is not None:
        return kind
    if not path.endswith(".json"):
        return None
    if (named or split_path(path)[1] == OUTPUT_FOLDER) and _looks_like_output(data, 2):
        return BlockKind.OUTPUT
    if b'"nodes"' in data and b'"transitions"' in data and _has_members(data, "nodes", "transitions"):
        return BlockKind.WORKFLOW
    return None


def _looks_like_output(data: bytes, signs: int) -> bool:
    return sum(sign in data for sign in _OUTPUT_SIGNS) >= signs


def _has_members(data: bytes, *names: str) -> bool:
    """Return whether the root really has members of these names; words inside other values do not make a definition."""
    document = read_json(data)
    if not document.readable:
        return b'"steps"' not in data
    return isinstance(document.value, dict) and document.value.keys() >= {*names}


def is_rejected(name: str) -> bool:
    """Return whether a name is that of an output that was set aside."""
    return name.startswith("block-") and name.endswith(f".json{REJECTED_SUFFIX}")


@cache
def validator(kind: BlockKind, extended: bool = False) -> Validator:
    """Return the compiled schema of a kind, that of the extended profile if it has one."""
    has_profile = kind in (BlockKind.OUTPUT, BlockKind.FAN_IN)
    return compile_schema(load_schema(f"{kind.value}{EXTENDED}" if extended and has_profile else kind.value))
