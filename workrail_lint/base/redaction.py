"""Redaction of a recorded session before it becomes a file of a project, a page or a report.

Each rule has a name and can be left out; a project can add its own. What takes the place of a text keeps its shape, as
far as steps look at it: a commit id stays 40 hexadecimal digits, and equal ids stay equal.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from functools import partial
from typing import Any, NamedTuple, TypeAlias

from workrail_lint.base.patterns import Pattern
from workrail_lint.base.result import Err, Ok


class TextRule(NamedTuple):
    """Whatever matches is replaced. `shape` says by what: `text` as it is, `path` and `sha` by one that looks alike."""

    name: str
    summary: str
    pattern: Pattern
    shape: str = "text"
    text: str = "[redacted]"


class ContextRule(NamedTuple):
    """Variables that are left out of the context."""

    name: str
    summary: str
    pattern: Pattern


class MemberRule(NamedTuple):
    """Strings that are the value of a member with such a name are replaced, wherever the member is."""

    name: str
    summary: str
    pattern: Pattern
    text: str


Rule: TypeAlias = ContextRule | MemberRule | TextRule


_SECRET = "[redacted secret]"
# The last part of such a path is the name of a person.
_HOME = Pattern(r"/workspaces?|(?:[A-Za-z]:)?[/\\](?:home|Users)(?:[/\\][^/\\]+)?")
RULES: tuple[Rule, ...] = (
    ContextRule(
        "reserved-context",
        "leaves out what the engine and its hosts put into the context: eat_token, parent_eat_token, metrics_*, "
        "triggerSource",
        Pattern(r"eat_token|parent_eat_token|triggerSource|metrics_.*"),
    ),
    TextRule(
        "private-keys",
        "replaces blocks of private keys",
        Pattern(
            r"-----BEGIN [A-Z ]{0,40}PRIVATE KEY-----[A-Za-z0-9+/=\s]{0,20000}-----END [A-Z ]{0,40}PRIVATE KEY-----"
        ),
        text=_SECRET,
    ),
    TextRule(
        "secrets",
        "replaces tokens of the engine and of well-known services, bearer tokens and what follows password=, secret=, "
        "token= or api_key=",
        Pattern(
            r"\b(?:(?:ct|ck|st)_[A-Za-z0-9_-]{24}(?![A-Za-z0-9_-])"
            r"|gh[pousr]_[A-Za-z0-9]{20,255}|github_pat_[A-Za-z0-9_]{20,255}|glpat-[A-Za-z0-9_-]{20,255}"
            r"|sk-[A-Za-z0-9_-]{16,255}|xox[abeprs]-[A-Za-z0-9-]{10,255}|AKIA[0-9A-Z]{16}|AIza[0-9A-Za-z_-]{35}"
            r"|npm_[A-Za-z0-9]{36}|pypi-[A-Za-z0-9_-]{16,255}|eyJ[A-Za-z0-9_-]{10,2000}\.[A-Za-z0-9_-]{10,4000}\.[A-Za-z0-9_-]{0,2000})"
            r"|(?i:\bbearer\s+)[A-Za-z0-9._~+/-]{16,4000}=*"
            r"|(?i:\b(?:password|passwd|secret|token|api[_-]?key)\s*[=:]\s*)[^\s\"',;]{6,400}"
        ),
        text=_SECRET,
    ),
    MemberRule(
        "secret-members",
        "replaces the value of members that are called password, secret, token, api key, credential or authorization, "
        "such as dbPassword",
        Pattern(
            r"(?i).*(?:password|passwd|passphrase|secret|api[_-]?key|private[_-]?key|credential|auth[_-]?token|"
            r"access[_-]?token)s?|token|authorization"
        ),
        _SECRET,
    ),
    TextRule(
        "commit-ids",
        "replaces commit ids of 40 digits by numbered ones, equal ids by equal ones",
        Pattern(r"(?<![0-9a-fA-F])[0-9a-f]{40}(?![0-9a-fA-F])"),
        "sha",
    ),
    TextRule(
        "absolute-paths",
        "keeps only the last part of absolute paths, below /workspace: those in the session's own workspace and those "
        "that begin as paths of a machine do, such as /home or C:\\",
        Pattern(
            r"(?:(?<![\w./:~-])|(?<=file://))/(?:home|Users|root|workspaces?|tmp|var|private|opt|srv|mnt|media|data|etc|usr"
            r"|Volumes|Applications|Library|builds?|github|runner|app|code|repos?|projects?|nix)"
            r"(?:/[\w.@+-]{1,255}){1,64}/?"
            r"|(?<![\w./:~-])/(?:home|Users|workspaces?)(?![\w/])"
            r"|\b[A-Za-z]:\\(?:[\w.@+ -]{1,255}\\){0,64}[\w.@+-]{0,255}|\b[A-Za-z]:(?:/[\w.@+-]{1,255}){1,64}/?"
            r"|\\\\[\w.-]{1,255}(?:\\[\w.@+ $-]{1,255}){1,64}"
        ),
        "path",
    ),
)
NAMES = tuple(rule.name for rule in RULES)
# The rules for texts of the project itself, whose paths and commit ids belong to what the author says.
AUTHORED = tuple(rule for rule in RULES if rule.name in ("private-keys", "secrets"))


def chosen_rules(added: Iterable[str], left_out: Iterable[str]) -> Ok[list[Rule]] | Err[str]:
    """Return the rules without those that are left out, and with those that are added."""
    for name in left_out:
        if name not in NAMES:
            return Err(f"there is no rule '{name}'; the rules are {', '.join(NAMES)}")
    rules = [rule for rule in RULES if rule.name not in set(left_out)]
    for given in added:
        rule = own_rule(given)
        if isinstance(rule, Err):
            return rule
        rules.append(rule.value)
    return Ok(rules)


def own_rule(given: str) -> Ok[TextRule] | Err[str]:
    """Return a rule of the user's: a regular expression, or `NAME=` before it."""
    name, separator, pattern = given.partition("=")
    if not separator or not re.fullmatch(r"[a-z][a-z0-9-]{0,40}", name):
        name, pattern = "own", given
    own = Pattern(pattern)
    try:
        own.compiled  # noqa: B018 - cached there; a wrong pattern is reported at once
        return Ok(TextRule(name, f"replaces {pattern}", own))
    except (re.error, RecursionError, OverflowError) as problem:
        return Err(f"'{pattern}' is not a regular expression: {problem}")


class Redactor:
    """Applies rules to one session and counts what it did."""

    __slots__ = ("_shas", "counts", "roots", "rules")

    def __init__(
        self, rules: Iterable[Rule] = RULES, counts: Counter[str] | None = None, roots: tuple[str, ...] = ()
    ) -> None:
        self.rules = rules
        self.counts: Counter[str] = Counter() if counts is None else counts
        self.roots = roots  # the folders that the session worked in
        self._shas: dict[str, str] = {}

    @property
    def totals(self) -> dict[str, int]:
        """How often each rule had something to do."""
        return {name: count for name, count in sorted(self.counts.items()) if count}

    def is_needed_for(self, text: str) -> bool:
        """Return whether a rule for texts may have something to do in a text, or in one that is JSON."""
        return "PRIVATE KEY" in text or any(
            rule.pattern.search(text) is not None for rule in self.rules if isinstance(rule, TextRule)
        )

    def for_workspace(self, *folders: object) -> Redactor:
        """Return the same rules for a session that worked in these folders, wherever they are."""
        roots = tuple(each.rstrip("/\\") for each in folders if isinstance(each, str) and len(each) > 3)
        rules: list[Rule] = []
        for rule in self.rules:
            if isinstance(rule, TextRule) and rule.shape == "path":
                below = r"(?:[/\\][\w.@+-]{1,255}){0,64}"
                rules += [rule._replace(pattern=Pattern(re.escape(root) + below)) for root in roots]
            rules.append(rule)
        return Redactor(rules, self.counts, roots)

    def for_report(self, run: dict[str, Any]) -> Redactor:
        """Return the same rules for a run as `sessions show --json` prints it."""
        facts = [run.get("observations"), run.get("context")]
        observed, context = (each if isinstance(each, dict) else {} for each in facts)
        return self.for_workspace(observed.get("repo_root"), context.get("workspacePath"))

    def context(self, context: dict[str, Any]) -> dict[str, Any]:
        """Return a context, or a change to one, without reserved variables."""
        redacted: dict[str, Any] = self.value({name: context[name] for name in context if not self._is_reserved(name)})
        return redacted

    def value(self, value: Any) -> Any:
        """Return any JSON value, with the rules applied to all of its strings."""
        match value:
            case str():
                return self.text(value)
            case dict():
                return {name: self._member(name, item) for name, item in value.items()}
            case list() | tuple():
                return [self.value(item) for item in value]
            case _:
                return value

    def report(self, value: Any) -> Any:
        """Return any JSON value with the rules applied, and without reserved variables wherever they are."""
        match value:
            case dict():
                return {
                    name: self._member(name, item) if isinstance(item, str) else self.report(item)
                    for name, item in value.items()
                    if not self._is_reserved(name)
                }
            case list() | tuple():
                return [self.report(item) for item in value]
            case _:
                return self.value(value)

    def _is_reserved(self, name: str) -> bool:
        for rule in self.rules:
            if isinstance(rule, ContextRule) and rule.pattern.fullmatch(name):
                self.counts[rule.name] += 1
                return True
        return False

    def _member(self, name: str, value: Any) -> Any:
        if isinstance(value, str) and value:
            for rule in self.rules:
                if isinstance(rule, MemberRule) and rule.pattern.fullmatch(name):
                    self.counts[rule.name] += 1
                    return rule.text
        return self.value(value)

    def text(self, text: str) -> str:
        """Return a string with the rules applied."""
        for rule in self.rules:
            if isinstance(rule, TextRule):
                text = rule.pattern.sub(partial(self._replacement, rule), text)
        return text

    def _replacement(self, rule: TextRule, match: re.Match[str]) -> str:
        text = match[0]
        put = self._put(rule, text)
        self.counts[rule.name] += put != text
        return put

    def _put(self, rule: TextRule, text: str) -> str:
        match rule.shape:
            case "sha":
                return self._shas.setdefault(text, f"{len(self._shas) + 1:040x}")
            case "path":
                kept = text.rstrip("/\\")
                last = re.split(r"[/\\]", kept)[-1]
                return "/workspace" if kept in self.roots or _HOME.fullmatch(kept) else f"/workspace/{last}"
            case _:
                return rule.text
