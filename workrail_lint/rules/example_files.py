"""The example of a rule as files, and how they are shown."""

from __future__ import annotations

import json
from typing import Any

from workrail_lint.rules.base import Example

_CONFIG = "workrail-lint.toml"
_ROUTINES = "routines"
_BINDINGS = ".workrail/bindings.json"
# What an example of a workflow has and what does not matter to most rules.
COMMON: dict[str, Any] = {
    "name": "Example workflow",
    "description": "Shows what a rule is about.",
    "version": "1.0.0",
    "validatedAgainstSpecVersion": 3,
    "about": "An example that is as small as it can be.",
    "examples": ["Show me what this rule finds"],
}
# A prose file beside an example that is longer is named on a page, not shown: what matters is not in it.
_MOST_PROSE = 30
_WIDTH = 116


def as_bytes(content: Any) -> bytes:
    """Return a document as it is on disk: text as it is, a value as indented JSON."""
    if isinstance(content, bytes):
        return content
    text = content if isinstance(content, str) else json.dumps(content, indent=2, ensure_ascii=False) + "\n"
    return text.encode("utf-8", "surrogatepass")


def as_shown(content: Any) -> bytes:
    """Return a document as a page shows it: a value that is not a workflow has its smaller parts on one line each."""
    if isinstance(content, str | bytes) or (isinstance(content, dict) and "steps" in content):
        return as_bytes(content)
    return f"{_laid_out(content, '', 0, top=True)}\n".encode("utf-8", "surrogatepass")


def _laid_out(value: Any, indent: str, used: int, *, top: bool = False) -> str:
    line = json.dumps(value, ensure_ascii=False)
    if not isinstance(value, dict | list) or not value or (not top and len(indent) + used + len(line) <= _WIDTH):
        return line
    deeper = f"{indent}  "
    if isinstance(value, list):
        parts = [_laid_out(item, deeper, 1) for item in value]
    else:
        names = [f"{json.dumps(name, ensure_ascii=False)}: " for name in value]
        parts = [f"{n}{_laid_out(item, deeper, len(n) + 1)}" for n, item in zip(names, value.values(), strict=True)]
    opening, closing = "[]" if isinstance(value, list) else "{}"
    return f"{opening}\n{deeper}" + f",\n{deeper}".join(parts) + f"\n{indent}{closing}"


def essentials(example: Example) -> Example:
    """Return the example without the members that any workflow has and that do not matter here, for a page to show."""
    versions = [value for value in (example.bad, example.good, example.fixed) if value is not None]
    if not all(isinstance(value, dict) and "steps" in value for value in versions):
        return example
    idle = [
        name
        for name, usual in COMMON.items()
        if all(isinstance(value, dict) and value.get(name) == usual for value in versions)
    ]

    def shown(value: Any) -> Any:
        return {k: v for k, v in value.items() if k not in idle} if isinstance(value, dict) else value

    return example.replaced(bad=shown(example.bad), good=shown(example.good), fixed=shown(example.fixed))


def has_file(example: Example) -> bool:
    """Return whether the document of an example is on disk; False for an example about a missing file."""
    return "missing" not in example.options


def remarks(example: Example) -> list[str]:
    """Return what no file shows: how the check is run, and what else is the case."""
    lines = []
    if arguments(example):
        lines.append(f"Found with `{' '.join(arguments(example))}`.")
    links = example.options.get("links")
    if isinstance(links, dict):
        lines += [f"`{path}` is a link to `{target}`." for path, target in links.items()]
    if "pinned" in example.options:
        lines.append(f"The lockfile has pinned the bindings `{json.dumps(example.options['pinned'])}`.")
    return lines


def side_files(example: Example) -> dict[str, bytes]:
    """Return the files beside the document: those the example names, and those its options stand for."""
    files = {path: as_bytes(content) for path, content in example.files.items()}
    options = example.options
    settings: dict[str, Any] = {}
    if "bindings" in options:
        files[_BINDINGS] = as_bytes(options["bindings"])
    routines = options.get("routines")
    if isinstance(routines, list):
        for routine in routines:
            ident = routine.get("id") if isinstance(routine, dict) else None
            files[f"{_ROUTINES}/{ident}.json"] = as_bytes(routine)
        settings["routines"] = _ROUTINES
    elif isinstance(routines, str):
        settings["routines"] = routines
    if "target" in options:
        settings["target"] = options["target"]
    if "new_files" in options:
        settings["new-files"] = options["new_files"]
    # Names with hyphens are keys of a configuration.
    settings |= {name: value for name, value in options.items() if "-" in name}
    if settings:
        lines = [f"{name} = {json.dumps(value)}\n" for name, value in settings.items()]
        files[_CONFIG] = "".join(lines).encode()
    return files


def shown_files(example: Example) -> tuple[dict[str, bytes], list[str]]:
    """Return the files beside the document as a page shows them, and the paths of those it only names."""
    files = {path: as_shown(example.files.get(path, data)) for path, data in side_files(example).items()}
    named = [path for path, data in files.items() if path.endswith(".md") and data.count(b"\n") > _MOST_PROSE]
    return {path: data for path, data in files.items() if path not in named}, named


def found_at(example: Example) -> str:
    """Return the path that the finding is about: the document, unless it shows at another place of its folder."""
    return str(example.options.get("found_at", example.path))


def arguments(example: Example) -> list[str]:
    """Return what has to be said on the command line to see the finding."""
    return ["--engine-parity"] if example.options.get("engine_parity") else []
