"""The configuration as a document: what is wrong with it, what fits at a place, what a key or a rule means."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from typing import NamedTuple

from workrail_lint.base.result import Err, Ok
from workrail_lint.documents.source_text import SourceText
from workrail_lint.documents.toml_places import Key, keys_of
from workrail_lint.documents.toml_reader import read_toml
from workrail_lint.findings import Finding, Severity
from workrail_lint.project.config import KEYS, SHARED_FILE, TABLE, allowed_keys, our_table, problems, system_keys
from workrail_lint.project.selection import unknown_patterns
from workrail_lint.project.suppression import parse_suppressions
from workrail_lint.rules.table import RuleInfo
from workrail_lint.server.positions import shifted
from workrail_lint.server.projects import Project

_RULE_LISTS = ("select", "extend-select", "ignore", "codes", "per-file-ignores")
_SUPPRESSION = {
    "place": "a file, '#', and a pointer by ids: workflows/a.json#/steps/plan/prompt",
    "codes": "the codes or names of the rules",
    "reason": "why these findings are accepted",
    "expires": "a date after which the findings are reported again",
}
MEANINGS = {
    "select": "check only these rules",
    "extend-select": "check these rules too, even if they are off by default",
    "ignore": "skip these rules",
    "per-file-ignores": "file patterns, and the rules to skip in these files",
    "severity": "rules, and their severity: error, warning or info",
    "strict": "warnings fail the run",
    "include": "in folders, check only files that match one of these patterns",
    "exclude": "in folders, skip these files and folders",
    "suppress": "single places where a finding is intended, each with a reason",
    "baseline": "the file of accepted findings",
    "catalog": "the builtins of your engine",
    "routines": "a folder with the project's templates",
    "bindings": "the bindings file (default: .workrail/bindings.json)",
    "workspace": "the base folder of references in workflows",
    "target": "what workflows are checked for (default: engine)",
    "profile": "how runs behave: as on the public engine, or as designed (default: reference)",
    "semver": "what lock does about versions that do not say what changed (default: warn)",
    "compat": 'with target = "ir": what to do with constructs that the engine rejects',
    "evidence": "strict reports validation criteria that prove nothing as errors",
    "new-files": "patterns of files that must follow the rules for new workflows",
    "source-kind": "where the workflows come from (default: inferred from their folders)",
    "docs-url": "where your site serves these docs; findings link to its pages",
    "cache-dir": "a folder of the project for cached results",
    "plugins": "modules that provide more rules",
    "team-profile": "how strictly team sessions are checked",
    "team-mode": "the mode of all sessions, if it is inferred wrongly",
    "team-agent": "the agent that inputs and outputs belong to",
    "team-section-aliases": "sections of team documents, and other titles for them",
    "team-history-baseline": "an earlier approval history; its entries must not have changed",
    "block-workflow": "the definition of block outputs that have none beside them",
    "block-tree": "the work tree to check listed paths against",
    "block-deliverables": "extended allows more kinds of deliverables in outputs of blocks",
    "block-profile": "how strictly definitions of blocks are checked",
    "block-prompt-check": "off skips recorded prompts",
}


def is_valid(text: str) -> bool:
    return isinstance(read_toml(text), Ok)


def findings(path: str, text: str, project: Project) -> list[Finding]:
    """Return why a configuration can't be used, then what the last look at the project said about its entries."""
    source = SourceText(text)
    result: list[Finding] = []

    def add(message: str, start: int, end: int) -> None:
        span = source.span(start, end)
        result.append(Finding(TABLE, "configuration-invalid", Severity.ERROR, message, path=path, span=span))

    data = read_toml(text)
    if isinstance(data, Err):
        line = min(data.error.line or len(source.line_starts), len(source.line_starts))
        start = source.line_starts[line - 1]
        add(f"not valid TOML: {data.error.message}", start, start + len(source.line(line)))
        return result
    table = our_table(path, data.value)
    if not isinstance(table, dict):
        add(f"[tool.{TABLE}] must be a table", 0, 0)
        return result
    own = list(_own_keys(path, text))
    keys = allowed_keys(table)
    if isinstance(keys, Err):
        add(keys.error, *_place_of(own, ("plugins",)))
        return result
    for key, problem in problems(table, keys.value):
        add(problem, *_place_of(own, (key,)))
    if not result:
        for problem, start, end in _rule_problems(own, text, project):
            add(problem, start, end)
        entries = parse_suppressions(table.get("suppress", []))
        if isinstance(entries, Err):
            number = int(re.sub(r"\D", "", entries.error.partition(":")[0]) or 1)
            heads = [key for key in own if key.path == ("suppress",)]
            place = heads[min(number, len(heads)) - 1].name if heads else (0, 0)
            add(entries.error, *place)
    if project.config.path is not None and os.path.abspath(project.config.path) == os.path.abspath(path):
        if project.problem is not None and not result:
            add(project.problem.removeprefix(f"{project.config.path}: "), 0, 0)
        result += shifted(project.about_configuration, project.configuration_text, text)
    return result


def _own_keys(path: str, text: str) -> Iterator[Key]:
    """Yield our keys, with their paths inside of our table."""
    before = ("tool", TABLE) if os.path.basename(path) == SHARED_FILE else ()
    for key in keys_of(text):
        if key.path[: len(before)] == before and len(key.path) > len(before):
            yield key._replace(path=key.path[len(before) :])


def _place_of(keys: list[Key], path: tuple[str, ...]) -> tuple[int, int]:
    return next((key.name for key in keys if key.path[: len(path)] == path), (0, 0))


def _rule_problems(keys: list[Key], text: str, project: Project) -> Iterator[tuple[str, int, int]]:
    """Yield patterns that name no rule, each at its place."""
    rules = project.plan.selection.known()
    for key in keys:
        if key.is_head or not any(name in _RULE_LISTS for name in key.path):
            continue
        for match in re.finditer(r'"([^"\\\n]*)"', text[slice(*key.value)]):
            for problem in unknown_patterns(rules, [match[1]]):
                yield problem, key.value[0] + match.start(), key.value[0] + match.end()
    for key in keys:
        if key.path[0] == "severity" and len(key.path) == 2:
            for problem in unknown_patterns(rules, [key.path[1]]):
                yield problem, *key.name


class Cursor(NamedTuple):
    """Where a cursor is: in which table, on the name or the value of which key, and what is typed before it."""

    table: tuple[str, ...]
    key: str | None  # None while a name is typed
    in_string: bool
    start: int
    end: int
    prefix: str


_HEAD = re.compile(r"^\s*\[\[?\s*([\w.\"' -]+?)\s*\]\]?\s*(?:#.*)?$")
_ASSIGNMENT = re.compile(r"^\s*([\w.\"'-]+)\s*=\s*(.*)$", re.DOTALL)


def cursor_at(path: str, text: str, offset: int) -> Cursor | None:
    """Return the place of a cursor, from the lines before it, which need not be valid; None outside of our table."""
    table: tuple[str, ...] = () if os.path.basename(path) != SHARED_FILE else ("",)
    start_of_item = 0
    at = 0
    depth = 0
    for line in text[:offset].splitlines(keepends=True):
        head = _HEAD.match(line) if depth == 0 else None
        if head is not None:
            names = tuple(part.strip(" \"'") for part in head[1].split("."))
            table = names
        if depth == 0:
            start_of_item = at
        bare = re.sub(r'"(?:[^"\\\n]|\\.)*"?', '""', line)
        depth = max(0, depth + bare.count("[") - bare.count("]")) if head is None else 0
        at += len(line)
    if text[:offset].endswith("\n") and depth == 0:
        start_of_item = offset
    if os.path.basename(path) == SHARED_FILE:
        if table[:2] != ("tool", TABLE):
            return None
        table = table[2:]
    item = text[start_of_item:offset]
    assignment = _ASSIGNMENT.match(item)
    quotes = len(re.findall(r'(?<!\\)"', item if assignment is None else assignment[2]))
    in_string = quotes % 2 == 1
    word = re.search(r'[^"\n]*$' if in_string else r"[\w.-]*$", item)
    prefix = word[0] if word else ""
    tail = re.match(r'[^"\n]*' if in_string else r"[\w.-]*", text[offset:])
    end = offset + (tail.end() if tail else 0)
    key = None if assignment is None else assignment[1].strip("\"'")
    return Cursor(table, key, in_string, offset - len(prefix), end, prefix)


def suggestions(path: str, text: str, offset: int, project: Project) -> Iterator[tuple[str, str, str, int, int]]:
    """Yield what fits at a cursor: label, meaning, text, and the offsets of what it replaces."""
    cursor = cursor_at(path, text, offset)
    if cursor is None:
        return

    def quoted(value: str) -> str:
        return value if cursor.in_string else json.dumps(value)

    names: dict[str, str] = {}
    if cursor.key is None:
        if cursor.table == ("suppress",):
            names = _SUPPRESSION
        elif not cursor.table:
            names = {key: MEANINGS.get(key, "") for key in {**KEYS, **system_keys()}}
        elif cursor.table == ("severity",):
            names = {rule.code: rule.name for rule in project.plan.selection.known()}
        for name, meaning in names.items():
            yield name, meaning, name, cursor.start, cursor.end
        return
    setting = system_keys().get(cursor.key)
    if cursor.key in _RULE_LISTS or cursor.table[:1] == ("per-file-ignores",):
        for rule in project.plan.selection.known():
            yield rule.code, f"{rule.name}: {rule.summary}", quoted(rule.code), cursor.start, cursor.end
    elif cursor.table == ("severity",):
        for level in Severity:
            yield level.value, "", quoted(level.value), cursor.start, cursor.end
    elif setting is not None and setting.allowed:
        for value in setting.allowed:
            yield value, "", quoted(value), cursor.start, cursor.end
    elif KEYS.get(cursor.key) == "bool" and not cursor.in_string:
        for value in ("true", "false"):
            yield value, "", value, cursor.start, cursor.end


def meaning(path: str, text: str, offset: int, project: Project) -> tuple[str, int, int] | None:
    """Return what is under a cursor: a rule, or a key."""
    word = _word_at(text, offset)
    if word is not None:
        start, end = word
        for rule in project.plan.selection.known():
            if text[start:end] in (rule.code, rule.name):
                return rule_text(rule), start, end
    for key in _own_keys(path, text):
        if key.name[0] <= offset <= key.name[1]:
            name = key.path[-1] if key.path[0] == "suppress" and len(key.path) > 1 else key.path[0]
            description = MEANINGS.get(name) or _SUPPRESSION.get(name)
            return (f"`{name}`: {description}", *key.name) if description else None
    return None


def _word_at(text: str, offset: int) -> tuple[int, int] | None:
    for match in re.finditer(r"[\w-]+", text[max(0, offset - 80) : offset + 80]):
        start, end = (max(0, offset - 80) + at for at in match.span())
        if start <= offset <= end:
            return start, end
    return None


def rule_text(rule: RuleInfo) -> str:
    return f"**{rule.code} {rule.name}** ({rule.severity.value}): {rule.summary}\n\n{rule.why}"


def symbols(path: str, text: str) -> list[Key]:
    """Return the tables and keys at the top of our part."""
    keys = list(_own_keys(path, text))
    return [key for key in keys if key.is_head or len(key.path) == 1]


def suppressed_place(path: str, text: str, offset: int) -> tuple[str, str] | None:
    """Return the file and the pointer by ids that the suppression under a cursor is about."""
    for key in _own_keys(path, text):
        if key.path == ("suppress", "place") and key.value[0] <= offset <= key.value[1]:
            value = read_toml(f"x = {text[slice(*key.value)]}")
            if isinstance(value, Err):
                return None
            file, _, pointer = str(value.value["x"]).partition("#")
            return os.path.join(os.path.dirname(path), file), pointer
    return None
