"""Configuration: `[tool.workrail-lint]` in pyproject.toml, or workrail-lint.toml, found from a folder upwards.

Paths in a configuration are relative to its folder. An unknown key or a wrong type is an error with a suggestion,
never ignored: a misspelled `ignore` would silently change what is checked.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator
from functools import cache
from typing import Any

from workrail_lint.base.files import is_own, project_folders, read_file
from workrail_lint.base.patterns import Pattern
from workrail_lint.base.result import Err, Ok
from workrail_lint.base.suggest import nearest
from workrail_lint.systems.base import Setting
from workrail_lint.systems.builtin import manifests

OWN_FILE = "workrail-lint.toml"
SHARED_FILE = "pyproject.toml"
TABLE = "workrail-lint"
_MAX_BYTES = 1_000_000
MAX_ENTRIES = 1_000  # of a list or table: each file is held against each pattern
# Key to the type of its value: "list", "str", "bool", or a table of such.
KEYS: dict[str, str] = {
    "select": "list",
    "ignore": "list",
    "extend-select": "list",
    "per-file-ignores": "table of lists",
    "include": "list",
    "exclude": "list",
    "baseline": "str",
    "workspace": "str",
    "strict": "bool",
    "severity": "table of str",
    "suppress": "list of tables",
    "plugins": "list",
    "cache-dir": "str",
    "docs-url": "str",
}

# Terminals, reports, editors and browsers get it: no character of it means more to them than a part of an address.
_WEB_ADDRESS = Pattern(r"https?://[A-Za-z0-9._~:/?#\[\]@!$&'()*+,;=%-]+")


@cache
def system_keys() -> dict[str, Setting]:
    """Return the keys of the document systems."""
    return {key: setting for manifest in manifests() for key, setting in manifest.config_keys.items()}


class Config:
    """The settings of one configuration file; all empty when there is none."""

    __slots__ = ("keys", "passed_over", "path", "root", "values")

    def __init__(
        self,
        root: str,
        values: dict[str, Any] | None = None,
        path: str | None = None,
        keys: dict[str, Setting] | None = None,
    ) -> None:
        self.root = root  # the folder of the configuration, which paths are relative to
        self.values = values or {}
        self.path = path
        self.keys = keys or {}  # those of the document systems that the configuration may use
        self.passed_over: list[str] = []  # nearer configurations that belong to another user

    def strings(self, key: str) -> list[str]:
        return list(self.values.get(key, ()))

    def text(self, key: str) -> str | None:
        value = self.values.get(key)
        return None if value is None else str(value)

    def flag(self, key: str) -> bool:
        return bool(self.values.get(key, False))

    def table(self, key: str) -> dict[str, Any]:
        return dict(self.values.get(key, {}))

    def tables(self, key: str) -> list[dict[str, Any]]:
        return list(self.values.get(key, ()))

    def system_options(self) -> dict[str, object]:
        """Return the settings of the document systems, paths seen from the current folder."""
        given = {key: self.keys[key] for key in self.values if key in self.keys}
        return {key: self.file(key) if setting.is_path else self.values[key] for key, setting in given.items()}

    def file(self, key: str) -> str | None:
        """Return a path setting, seen from the current folder."""
        value = self.text(key)
        return None if value is None else os.path.normpath(os.path.join(self.root, value))


def find_config(start: str) -> Ok[Config] | Err[str]:
    """Return the configuration of a file or folder: the nearest one above it that counts."""
    path, passed_over = nearest_file(start)
    loaded = Ok(unconfigured(start)) if path is None else load_config(path)
    if isinstance(loaded, Ok):
        loaded.value.passed_over = passed_over
    return loaded


def nearest_file(start: str) -> tuple[str | None, list[str]]:
    """Return the configuration file of a file or folder, whatever is in it, and nearer ones that belong to another
    user.
    """
    passed_over: list[str] = []
    for folder, is_project in project_folders(_folder(start)):
        path = config_file(folder)
        if path is not None and (is_project or is_own(path)):
            return path, passed_over
        passed_over += [] if path is None else [path]
    return None, passed_over


def config_file(folder: str, names: Collection[str] = (OWN_FILE, SHARED_FILE)) -> str | None:
    """Return the configuration file in a folder. `names` are those of its files, if they are known already."""
    own = os.path.join(folder, OWN_FILE)
    if OWN_FILE in names and os.path.isfile(own):
        return own
    shared = os.path.join(folder, SHARED_FILE)
    return shared if SHARED_FILE in names and _mentions_table(shared) else None


def unconfigured(start: str) -> Config:
    """Return a configuration without settings. Its root is the current folder, or that of a path outside of it."""
    folder, current = _folder(start), os.getcwd()
    return Config(current if f"{folder}{os.sep}".startswith(current.rstrip(os.sep) + os.sep) else folder)


def _folder(path: str) -> str:
    whole = os.path.abspath(path)
    return whole if os.path.isdir(whole) else os.path.dirname(whole)


def _mentions_table(path: str) -> bool:
    """Return whether a pyproject.toml can have our table at all; most do not, and need not be parsed."""
    read = read_file(path, _MAX_BYTES)
    if isinstance(read, Err):
        return False
    text = read.value
    return any(spelled in text for spelled in (b"tool.workrail-lint", b'tool."workrail-lint"', b"tool.'workrail-lint'"))


def load_config(path: str) -> Ok[Config] | Err[str]:
    """Read and validate one configuration file."""
    read = read_file(path, _MAX_BYTES)
    return Err(read.error.message) if isinstance(read, Err) else parse_config(path, read.value)


def parse_config(path: str, content: bytes) -> Ok[Config] | Err[str]:
    """Validate the content of a configuration file."""
    from workrail_lint.documents.toml_reader import read_toml  # here, because most projects have no configuration

    try:
        data = read_toml(content.decode())
    except UnicodeDecodeError as error:
        return Err(f"{path}: is not valid TOML: {error}")
    if isinstance(data, Err):
        return Err(f"{path}: is not valid TOML: {data.error.message}")
    table = our_table(path, data.value)
    if not isinstance(table, dict):
        return Err(f"{path}: [tool.{TABLE}] must be a table")
    keys = allowed_keys(table)
    if isinstance(keys, Err):
        return Err(f"{path}: {keys.error}")
    for _, problem in problems(table, keys.value):
        return Err(f"{path}: {problem}")
    return Ok(Config(os.path.dirname(os.path.abspath(path)), table, path, keys.value))


def our_table(path: str, data: dict[str, Any]) -> Any:
    """Return the part of a TOML file that is ours; no table if what is around it is none."""
    if os.path.basename(path) != SHARED_FILE:
        return data
    tools = data.get("tool", {})
    return tools.get(TABLE, {}) if isinstance(tools, dict) else None


def allowed_keys(table: dict[str, Any]) -> Ok[dict[str, Setting]] | Err[str]:
    """Return the keys of the document systems that a configuration may use, those of its plugins included."""
    if not table.keys() - KEYS.keys():
        return Ok({})
    keys = system_keys()
    if table.keys() - KEYS.keys() - keys.keys() and _has_kind("list", table.get("plugins")):
        brought = _plugin_keys(table["plugins"])
        if isinstance(brought, Err):
            return brought
        keys = {**keys, **brought.value}
    return Ok(keys)


def problems(table: dict[str, Any], keys: dict[str, Setting]) -> Iterator[tuple[str, str]]:
    """Yield what is wrong with each key, by key."""
    for key, value in table.items():
        problem = _problem(key, value, keys)
        if problem is not None:
            yield key, problem


def _plugin_keys(names: list[str]) -> Ok[dict[str, Setting]] | Err[str]:
    """Return the keys of the systems that plugins add."""
    from workrail_lint.project.plugins import load_plugins

    loaded = load_plugins(names)
    if loaded.problems:
        return Err(loaded.problems[0])
    return Ok({key: setting for system in loaded.systems for key, setting in system.config_keys.items()})


def _problem(key: str, value: object, keys: dict[str, Setting]) -> str | None:
    setting = keys.get(key)
    kind = KEYS.get(key) if setting is None else setting.kind
    if kind is None:
        known = {**KEYS, **keys}

        suggestion = nearest(key, known)
        hint = f"; did you mean {suggestion!r}?" if suggestion else f"; known keys are {', '.join(sorted(known))}"
        return f"unknown key {key!r}{hint}"
    if not _has_kind(kind, value):
        return f"{key!r} must be a {kind}" if kind != "str" else f"{key!r} must be a string"
    if isinstance(value, list | dict) and len(value) > MAX_ENTRIES:
        return f"{key!r} has more than {MAX_ENTRIES:,} entries"
    if key == "docs-url" and not _WEB_ADDRESS.fullmatch(str(value)):
        return f"{key!r} must begin with https:// or http://, with spaces and the like percent-encoded"
    if setting is None:
        return None
    problem = setting.problem_with(value)
    return None if problem is None else f"{key!r}{' ' if setting.allowed else ': '}{problem}"


def _has_kind(kind: str, value: object) -> bool:
    match kind:
        case "list":
            return isinstance(value, list) and all(isinstance(item, str) for item in value)
        case "str":
            return isinstance(value, str)
        case "bool":
            return isinstance(value, bool)
        case "table of lists":
            return isinstance(value, dict) and all(_has_kind("list", item) for item in value.values())
        case "table of str":
            return isinstance(value, dict) and all(isinstance(item, str) for item in value.values())
        case "list of tables":
            return isinstance(value, list) and all(isinstance(item, dict) for item in value)
        case _:  # pragma: no cover - the table above names every kind
            raise AssertionError(kind)
