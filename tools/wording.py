"""Checks the wording of rules, messages and guides: `python -m tools.wording [CODE or FAMILY]...`.

Of a rule it checks the summary, the explanation and the fix, and every message and fix title that its examples give.
Without arguments it also checks the strings of all code that talks to users, and
the guides. A signal word is not forbidden English; it usually marks a sentence that was translated word by word.
"""

from __future__ import annotations

import ast
import contextlib
import functools
import io
import json
import os
import re
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from tools.broken_files import broken_files, broken_stem
from workrail_lint.cli import main as workrail_lint
from workrail_lint.report.rule_docs import rules, undocumented
from workrail_lint.rules.base import Example, Rule
from workrail_lint.rules.example_files import arguments, found_at
from workrail_lint.systems.team.vocabulary import AgentName

# Measured on the longest texts that could not be said in fewer words.
LONGEST_SUMMARY = 105
LONGEST_WHY = 230
LONGEST_MESSAGE = 300


class Signal(NamedTuple):
    """A pattern that marks a translated sentence, and what to write."""

    pattern: re.Pattern[str]
    instead: str


def _signal(pattern: str, instead: str) -> Signal:
    return Signal(re.compile(pattern, re.IGNORECASE), instead)


SIGNALS = (
    _signal(r"\b(?:is|are|was|were|be|been) told\b(?! apart)", "say who says what, or 'is reported', 'is inferred'"),
    _signal(r"\btells? more\b", "'see ... for details'"),
    _signal(r"(?<!there )\b(?:is|are|was|were) no (?!longer\b)", "'is not a', 'must be', or 'unknown ...'"),
    _signal(r"\b(?:is|are) (?:none|nothing) (?:of|that|the)\b", "'is not one of', or 'unknown ...'"),
    _signal(r"\bneither\b(?!.*\bnor\b)", "'not even', or 'neither ... nor'"),
    _signal(r"\b(?:some|any|every)body\b", "'someone', or name the reader: the agent, the engine, the user"),
    _signal(r"\bnobody\b", "name what does not happen: 'is never read', 'the user is not asked'"),
    _signal(r"\bwhoever\b|\bwhatever (?:is|was|else)\b", "name the reader: the agent, the engine, the user"),
    _signal(r"\ba look\b", "'check', 'read'"),
    _signal(r"\b(?:stands?|stood)\b", "'is', 'comes', 'appears'"),
    _signal(r"\b(?:lies?|lay) (?!down)", "'is'"),
    _signal(r"\bhand(?:s|ed|ing)? (?:in|on|back|over)\b", "'submit', 'set', 'deliver', 'pass on'"),
    _signal(r"\bis (?:handed|given) ", "'receives'"),
    _signal(r"\bworded by\b", "'written by'"),
    _signal(r"\bby (?:it|them)sel(?:f|ves)\b", "'alone', 'automatically'"),
    _signal(r"\bfurther\b", "'other', 'more', 'later'"),
    _signal(r"\bwithout a word\b", "'silently'"),
    _signal(r"\bof (?:its|their) own\b", "'separate', 'its own ...'"),
    _signal(r"\b(?:a|another|one|two|as) texts?\b|\btexts\b", "'a string'"),
    _signal(r"\b(?:goes|go|went|going) on\b", "'continues'"),
    _signal(r"\bway on\b", "'cannot continue'"),
    _signal(r"\b(?:in|round) a? ?circles?\b|\bcircles?\b", "'cycle', 'circular'"),
    _signal(r"\bbehind\b(?! a (?:sym)?link)", "'after', 'past the end of'"),
    _signal(r"\bin front\b", "'prefix', 'before'"),
    _signal(r"\bfor want of\b", "'because ... is missing', 'for lack of'"),
    _signal(r"\bfor ever\b", "'forever'"),
    _signal(r"\btake[sn]? (?:it|them|the \w+) for\b", "'treat as'"),
    _signal(r"\bso that (?:no|none|nobody|nothing)\b", "'so no ...'"),
    _signal(r"\b(?:has|have) to be\b", "'must be'"),
    _signal(r"\bmisspelt\b", "'misspelled'"),
    _signal(r"\bslips?\b", "'problem', 'mistake'"),
    _signal(r"\belse than\b", "'other than'"),
    _signal(r"\bdoes not go with\b|\bgoes ill\b", "'contradicts', 'is not allowed with'"),
    _signal(r"\btoken-based\b|\bdesign form\b", "'the engine'"),
)
# What names code: a field or variable, a file, a name in camel case.
_CODE = re.compile(r"\b[A-Za-z0-9]+_\w+|\b[\w-]+\.(?:jsonl?|ya?ml|md|toml|txt)\b|\b[a-z]+[A-Z]\w*")
_IN_BACKTICKS = re.compile(r"`[^`]*`")
_IN_QUOTES = re.compile(r"(?<!\w)'[^']*'(?!\w)")
_DOUBLE_QUOTED = re.compile(r"(?<![{\[:,] )(?<![{\[])\"[\w .-]+\"|[“”‘’«»]")
_NAMES = frozenset(agent.value for agent in AgentName)


def checked_rules() -> list[Rule]:
    """Return every rule, by code."""
    return sorted((*rules(), *undocumented()), key=lambda rule: rule.code)


# ------------------------------------------------------------------------------------------------------------ texts


def sentence_problems(text: str, longest: int) -> list[str]:
    """Return the problems of a summary, an explanation or the description of a fix."""
    plain = _IN_BACKTICKS.sub("x", text)
    problems = _plain_problems(text, plain)
    if not (text[:1].isupper() or text[:1] == "`"):
        problems.append("does not start with a capital")
    if not text.endswith("."):
        problems.append("does not end with a full stop")
    if len(text) > longest:
        problems.append(f"has {len(text)} characters, more than {longest}")
    code = _CODE.search(plain)
    if code is not None:
        problems.append(f"names {code[0]} without backticks")
    if _IN_QUOTES.search(plain):
        problems.append("puts a value in single quotes; use backticks")
    return problems


def message_problems(message: str) -> list[str]:
    """Return the problems of a message, or of the title of a fix."""
    plain = _IN_BACKTICKS.sub("x", _IN_QUOTES.sub("''", message))
    problems = _plain_problems(message, plain)
    word = re.match(r"[A-Z][a-z]+\b", message)
    if word is not None and word[0] not in _NAMES:
        problems.append(f"starts with {word[0]}, which is not a name")
    if message.endswith("."):
        problems.append("ends with a full stop")
    if len(message) > LONGEST_MESSAGE:
        problems.append(f"has {len(message)} characters, more than {LONGEST_MESSAGE}")
    if _DOUBLE_QUOTED.search(_IN_QUOTES.sub("''", message)):
        problems.append("puts a value in double quotes; use single quotes")
    return problems


def _signals(plain: str) -> list[str]:
    return [
        f"has '{match[0].strip()}'; write {signal.instead}"
        for signal in SIGNALS
        if (match := signal.pattern.search(plain)) is not None
    ]


def _plain_problems(text: str, plain: str) -> list[str]:
    problems = _signals(plain)
    if "  " in plain or plain != plain.strip() or not text.isprintable():
        problems.append("has blanks or characters that do not belong into a sentence")
    return problems


def text_problems(rule: Rule) -> list[str]:
    """Return the problems of the texts of a rule, one line each."""
    limits = {"summary": LONGEST_SUMMARY, "why": LONGEST_WHY, "fix": LONGEST_SUMMARY}
    return [
        f"{rule.code} {name} {problem}: {text}"
        for name, longest in limits.items()
        if (text := getattr(rule, name))
        for problem in sentence_problems(text, longest)
    ]


# --------------------------------------------------------------------------------------------------------- messages


@functools.cache
def example_messages(rule: Rule) -> list[tuple[str, str]]:
    """Return the messages that the examples of a rule give, and the titles of their fixes (or nothing)."""
    messages: list[tuple[str, str]] = []
    written = broken_files(rule)
    for number, example in enumerate(rule.examples(), 1):
        files = {path: data for path, data in written.items() if _is_of(path, broken_stem(rule, number))}
        if files:
            messages += _messages_of(rule, example, files, broken_stem(rule, number))
    return messages


def _is_of(path: str, stem: str) -> bool:
    return path == f"{stem}.json" or path.startswith(f"{stem}/")


def _messages_of(rule: Rule, example: Example, files: dict[str, bytes], stem: str) -> Iterator[tuple[str, str]]:
    with tempfile.TemporaryDirectory() as folder:
        for path, data in files.items():
            target = Path(folder, path)
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(data)
        inner = Path(folder, stem) if os.path.isdir(Path(folder, stem)) else Path(folder)
        where = found_at(example) if inner != Path(folder) else f"{stem}.json"
        asked = ["."] if example.files else [where]
        config = [] if Path(inner, "workrail-lint.toml").exists() else ["--isolated"]
        output = io.StringIO()
        with contextlib.chdir(inner), contextlib.redirect_stdout(output):
            workrail_lint(
                [
                    *("check", "--no-cache", "--jobs", "1", "--format", "json", "--select", rule.code),
                    *(*config, *arguments(example), *asked),
                ]
            )
    for finding in json.loads(output.getvalue())["findings"]:
        if finding["code"] == rule.code and finding["path"] == where:
            yield finding["message"], (finding["fix"] or {}).get("title", "")


def example_problems(rule: Rule) -> list[str]:
    """Return the problems of the messages of a rule, one line each."""
    problems: list[str] = []
    for message, title in example_messages(rule):
        problems += [f"{rule.code} message {problem}: {message}" for problem in message_problems(message)]
        if title:
            problems += [f"{rule.code} fix title {problem}: {title}" for problem in message_problems(title)]
    return problems


# ------------------------------------------------------------------------------------------------- messages and pages

# Code that talks to users; the words of the engine are fixed by its protocol, and goldens were not rewritten yet.
_TALKING = ("workrail_lint/cli", "pytest_workrail")
_NOT_CHECKED = ("pytest_workrail/engine", "pytest_workrail/golden", "pytest_workrail/cli/golden")
_PAGES = ("README.md", "docs/*.md", "docs/authoring/*")
_BLOCK = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
_PARAGRAPH = re.compile(r"\n(?=\s*\n|\s*(?:[-*#|]|\d+\.) )")


def user_texts(root: Path) -> list[Path]:
    """Return the modules and guides that are checked."""
    modules = sorted(path for name in _TALKING for path in (root / name).rglob("*.py"))
    checked = [path for path in modules if not path.relative_to(root).as_posix().startswith(_NOT_CHECKED)]
    return [*checked, *sorted(path for pattern in _PAGES for path in root.glob(pattern))]


def file_problems(path: Path) -> list[str]:
    """Return the signals in a module or guide, one line each."""
    texts = _strings(path) if path.suffix == ".py" else _paragraphs(path)
    return [
        f"{path.name}:{line} {problem}: {text}" for line, text in texts for problem in _signals(_without_code(text))
    ]


def _strings(path: Path) -> Iterator[tuple[int, str]]:
    """Yield the strings of a module with their lines: help, errors, notes. Docstrings are not for users."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    nodes = list(ast.walk(tree))
    parts = [part for node in nodes if isinstance(node, ast.JoinedStr) for part in node.values]
    skipped = {id(node) for node in (*parts, *(node.value for node in nodes if isinstance(node, ast.Expr)))}
    for node in nodes:
        match node:
            case ast.JoinedStr(values):
                yield (
                    node.lineno,
                    "".join(str(part.value) if isinstance(part, ast.Constant) else "x" for part in values),
                )
            case ast.Constant(str(text)) if id(node) not in skipped and " " in text:
                yield node.lineno, text


def _paragraphs(path: Path) -> Iterator[tuple[int, str]]:
    """Yield the paragraphs, list items and table rows of a guide with their lines, without code blocks."""
    prose = _BLOCK.sub(lambda block: "\n" * block[0].count("\n"), path.read_text(encoding="utf-8"))
    line = 1
    for text in _PARAGRAPH.split(prose):
        yield line + len(text) - len(text.lstrip("\n")), " ".join(text.split())
        line += text.count("\n") + 1


def _without_code(text: str) -> str:
    return _IN_BACKTICKS.sub("x", _IN_QUOTES.sub("''", text))


def main(asked: list[str]) -> int:
    """Print every problem; 1 if there is one."""
    every = (*rules(), *undocumented()) if asked else checked_rules()
    chosen = [rule for rule in every if not asked or rule.code in asked or rule.family in asked]
    problems = [problem for rule in chosen for problem in text_problems(rule)]
    documented = set(map(id, rules()))
    problems += [problem for rule in chosen if id(rule) in documented for problem in example_problems(rule)]
    if not asked:
        problems += [problem for path in user_texts(Path(__file__).parents[1]) for problem in file_problems(path)]
    sys.stdout.write("".join(f"{problem}\n" for problem in dict.fromkeys(problems)))
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
