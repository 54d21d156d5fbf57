"""What is taken out of a recorded session before it becomes a file of a project, and what is put in its place.

Each rule has a name and can be left out; a project can add its own. What takes the place of a text keeps its shape, as
far as steps look at it: a commit id stays 40 hexadecimal digits, and equal ids stay equal.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from workrail_lint.base.result import Err, Ok


@dataclass(frozen=True, slots=True)
class TextRule:
    """Whatever matches is replaced. `shape` says by what: `text` as it is, `path` and `sha` by one that looks alike."""

    name: str
    summary: str
    pattern: re.Pattern[str]
    shape: str = "text"
    text: str = "[redacted]"


@dataclass(frozen=True, slots=True)
class ContextRule:
    """Variables that are left out of the context."""

    name: str
    summary: str
    names: re.Pattern[str]


_SECRET = "[redacted secret]"
RULES: tuple[ContextRule | TextRule, ...] = (
    ContextRule(
        "reserved-context",
        "leaves out what the engine and its hosts put into the context: eat_token, parent_eat_token, metrics_*, "
        "triggerSource",
        re.compile(r"eat_token|parent_eat_token|triggerSource|metrics_.*"),
    ),
    TextRule(
        "private-keys",
        "replaces blocks of private keys",
        re.compile(
            r"-----BEGIN [A-Z ]{0,40}PRIVATE KEY-----[A-Za-z0-9+/=\s]{0,20000}-----END [A-Z ]{0,40}PRIVATE KEY-----"
        ),
        text=_SECRET,
    ),
    TextRule(
        "secrets",
        "replaces tokens of well-known services, bearer tokens and what follows password=, secret=, token= or api_key=",
        re.compile(
            r"\b(?:gh[pousr]_[A-Za-z0-9]{20,255}|github_pat_[A-Za-z0-9_]{20,255}|glpat-[A-Za-z0-9_-]{20,255}"
            r"|sk-[A-Za-z0-9_-]{16,255}|xox[abeprs]-[A-Za-z0-9-]{10,255}|AKIA[0-9A-Z]{16}|AIza[0-9A-Za-z_-]{35}"
            r"|npm_[A-Za-z0-9]{36}|pypi-[A-Za-z0-9_-]{16,255}|eyJ[A-Za-z0-9_-]{10,2000}\.[A-Za-z0-9_-]{10,4000}\.[A-Za-z0-9_-]{0,2000})"
            r"|(?i:\bbearer\s+)[A-Za-z0-9._~+/-]{16,4000}=*"
            r"|(?i:\b(?:password|passwd|secret|token|api[_-]?key)\s*[=:]\s*)[^\s\"',;]{6,400}"
        ),
        text=_SECRET,
    ),
    TextRule(
        "commit-ids",
        "replaces commit ids of 40 digits by numbered ones, equal ids by equal ones",
        re.compile(r"(?<![0-9a-fA-F])[0-9a-f]{40}(?![0-9a-fA-F])"),
        "sha",
    ),
    TextRule(
        "absolute-paths",
        "keeps only the last part of absolute paths, below /workspace",
        re.compile(
            r"(?<![\w./:~-])/(?:home|Users|root|workspace|tmp|var|private|opt|srv|mnt|data|etc|usr|Volumes)"
            r"(?:/[\w.@+-]{1,255}){0,64}|\b[A-Za-z]:\\(?:[\w.@+ -]{1,255}\\){0,64}[\w.@+-]{0,255}"
        ),
        "path",
    ),
)
NAMES = tuple(rule.name for rule in RULES)


def own_rule(given: str) -> Ok[TextRule] | Err[str]:
    """A rule of the user's: a regular expression, or `NAME=` before it."""
    name, found, pattern = given.partition("=")
    if not found or not re.fullmatch(r"[a-z][a-z0-9-]{0,40}", name):
        name, pattern = "own", given
    try:
        return Ok(TextRule(name, f"replaces {pattern}", re.compile(pattern)))
    except (re.error, RecursionError, OverflowError) as problem:
        return Err(f"'{pattern}' is not a regular expression: {problem}")


@dataclass(slots=True)
class Redactor:
    """Applies rules to one session and counts what it did."""

    rules: Iterable[ContextRule | TextRule] = RULES
    counts: Counter[str] = field(default_factory=Counter)
    _shas: dict[str, str] = field(default_factory=dict)

    def context(self, context: dict[str, Any]) -> dict[str, Any]:
        """A context, or a change to one, without reserved variables."""
        kept = dict(context)
        for rule in self.rules:
            if isinstance(rule, ContextRule):
                for name in [name for name in kept if rule.names.fullmatch(name)]:
                    del kept[name]
                    self.counts[rule.name] += 1
        return {name: self.value(value) for name, value in kept.items()}

    def value(self, value: Any) -> Any:
        """Any JSON value, with the rules applied to all of its strings."""
        match value:
            case str():
                return self.text(value)
            case dict():
                return {name: self.value(item) for name, item in value.items()}
            case list() | tuple():
                return [self.value(item) for item in value]
            case _:
                return value

    def text(self, text: str) -> str:
        """A string with the rules applied."""
        for rule in self.rules:
            if isinstance(rule, TextRule):
                text = rule.pattern.sub(partial(self._replacement, rule), text)
        return text

    def _replacement(self, rule: TextRule, match: re.Match[str]) -> str:
        found = match[0]
        self.counts[rule.name] += 1
        match rule.shape:
            case "sha":
                return self._shas.setdefault(found, f"{len(self._shas) + 1:040x}")
            case "path":
                last = re.split(r"[/\\]", found.rstrip("/\\"))[-1]
                return found if found == "/workspace" else f"/workspace/{last}"
            case _:
                return rule.text
