"""Paths inside the workspace and the patterns that restrict them.

Everything here is a question about text. Nothing looks at a disk, so the answers are the same for a linter, a
simulated run and a recorded one.
"""

from __future__ import annotations

from functools import lru_cache

from workrail_lint.base.patterns import Pattern

WORKSPACE = "/workspace"
OUTPUT_FOLDER = ".output"
OUTPUT_DIR = f"{WORKSPACE}/{OUTPUT_FOLDER}"
RUN_FOLDER = ".run"
GIT_FOLDER = ".git"
_SHORT_GIT = "git~1"
REJECTED_SUFFIX = ".rejected"

SAFE_ID = r"^[A-Za-z0-9_-]{1,128}$"
# A path that leads nowhere else; what is merely untidy (`./a`, `a//b`) still passes.
HARMLESS_PATH = r"^(?!/|[A-Za-z]:)(?!(?:[^/]*/)*\.\.(?:/|$))[^\\]+$"
_SAFE_ID = Pattern(r"[A-Za-z0-9_-]{1,128}")
_DRIVE = Pattern(r"[A-Za-z]:")


def is_safe_id(value: object) -> bool:
    """Return whether a value can be part of a file name as it is."""
    return isinstance(value, str) and _SAFE_ID.fullmatch(value) is not None


def output_name(node_id: str) -> str:
    """Return the name of the output file of a block."""
    return f"block-{node_id}.json"


def is_rel_path(path: str) -> bool:
    """Return whether a string is a path in the workspace, in the one spelling in which paths are compared."""
    if path == "." or "\\" in path or path.startswith("./") or _DRIVE.match(path) is not None:
        return False
    return all(segment not in ("", "..") for segment in path.split("/"))


def normalized(path: str) -> str:
    """Return the path as it is compared: without the mount point it may carry and without a leading `./`."""
    if path == WORKSPACE or path.startswith(f"{WORKSPACE}/"):
        path = path[len(WORKSPACE) :].lstrip("/")
    while path.startswith("./"):
        path = path[2:]
    return path


def is_below_output(path: str) -> bool:
    """Return whether a normalized path belongs to the output folder, which no restriction concerns."""
    return path == OUTPUT_FOLDER or path.startswith(f"{OUTPUT_FOLDER}/")


def is_agents_path(path: str) -> bool:
    """Return whether an agent may write to a path: below the workspace, not git's, and not recorded."""
    names = path.split("/")
    # Some file systems ignore case, some drop dots and blanks at the end of a name or what follows a colon, and
    # some have short names for long ones.
    is_gits = any(name.casefold().partition(":")[0].rstrip(". ") in (GIT_FOLDER, _SHORT_GIT) for name in names)
    return is_rel_path(path) and "\0" not in path and names[0] != RUN_FOLDER and not is_gits


def lane_folder(isolation: str, lane: int) -> str:
    """Return the workspace of a lane (counted from 0) on the host."""
    return f"{WORKSPACE}-lane-{lane}" if isolation == "git-worktree" else f"/tmp{WORKSPACE}-lane-{lane}"


def is_allowed(path: str, patterns: list[str]) -> bool:
    """Return whether restrictions let a normalized path be edited. No pattern means no restriction."""
    kept = [pattern for pattern in patterns if pattern.strip()]
    return not kept or is_below_output(path) or any(glob_matches(pattern, path) for pattern in kept)


# ------------------------------------------------------------------------------------------------------ globs

_ANY_SEGMENTS = "**"
_Token = str | tuple[bool, tuple[tuple[str, str], ...]]  # a character, "*", "?" or a class


def glob_matches(pattern: str, path: str) -> bool:
    """Return whether a pattern covers a whole path; the time grows with the product of their lengths at most."""
    segments = _segments(pattern)
    names = path.split("/")
    # Row by row: `reached[j]` says whether the pattern so far covers the first j names.
    reached = [True] + [False] * len(names)
    for segment in segments:
        if segment is None:
            first = reached.index(True) if True in reached else len(reached)
            reached = [at >= first for at in range(len(reached))]
            continue
        reached = [False, *(reached[at] and _segment_matches(segment, name) for at, name in enumerate(names))]
        if True not in reached:
            return False
    return reached[-1]


@lru_cache(maxsize=256)
def _segments(pattern: str) -> tuple[tuple[_Token, ...] | None, ...]:
    """Return the pattern segment by segment; None matches any number of segments."""
    while pattern.startswith("./"):
        pattern = pattern[2:]
    pattern = pattern.removeprefix("/")
    return tuple(None if part == _ANY_SEGMENTS else _tokens(part) for part in pattern.split("/"))


def _tokens(part: str) -> tuple[_Token, ...]:
    tokens: list[_Token] = []
    at = 0
    while at < len(part):
        char = part[at]
        at += 1
        if char == "[":
            bracket = _class(part, at)
            if bracket is not None:
                token, at = bracket
                tokens.append(token)
                continue
        if char == "*" and tokens and tokens[-1] == "*":
            continue  # a run of stars inside a segment says no more than one
        tokens.append(char)
    return tuple(tokens)


def _class(part: str, at: int) -> tuple[_Token, int] | None:
    """Return a character class whose content starts at `at`; None when it is never closed."""
    negated = part[at : at + 1] in ("!", "^")
    at += negated
    end = part.find("]", at + 1)
    if end < 0:
        return None
    body = part[at:end]
    ranges: list[tuple[str, str]] = []
    index = 0
    while index < len(body):
        if index + 2 < len(body) and body[index + 1] == "-":
            ranges.append((body[index], body[index + 2]))
            index += 3
        else:
            ranges.append((body[index], body[index]))
            index += 1
    return (negated, tuple(ranges)), end + 1


def _segment_matches(tokens: tuple[_Token, ...], name: str) -> bool:
    """Return whether a segment covers a name. After a mismatch only the last star is tried again."""
    token = char = 0
    star = -1
    resume = 0
    while char < len(name):
        if token < len(tokens) and tokens[token] == "*":
            star, resume = token, char
            token += 1
        elif token < len(tokens) and _token_matches(tokens[token], name[char]):
            token += 1
            char += 1
        elif star >= 0:
            resume += 1
            token, char = star + 1, resume
        else:
            return False
    return all(rest == "*" for rest in tokens[token:])


def _token_matches(token: _Token, char: str) -> bool:
    if isinstance(token, str):
        return token in ("?", char)
    negated, ranges = token
    return any(low <= char <= high for low, high in ranges) != negated
