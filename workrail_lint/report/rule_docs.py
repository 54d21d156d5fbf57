"""The rules in words, made from their classes: what `workrail-lint rule`, SARIF and the pages in `docs/rules/` show."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from html import escape

from workrail_lint.base.html import html_page
from workrail_lint.base.terminal import printable
from workrail_lint.base.wording import counted
from workrail_lint.findings import Confidence
from workrail_lint.project.selection import KnownRules
from workrail_lint.rules import CONFIGURATION_FAMILIES
from workrail_lint.rules.base import Example, Rule
from workrail_lint.rules.example_files import as_shown, essentials, has_file, remarks, shown_files
from workrail_lint.rules.table import RetiredRule, RuleInfo, retired_rules
from workrail_lint.systems.builtin import known_systems

OFF = "off unless selected by name"
_LANGUAGES = {
    ".json": "json",
    ".jsonl": "json",
    ".md": "markdown",
    ".toml": "toml",
    ".yaml": "yaml",
}
_STYLE = (
    ":root{color-scheme:light dark}"
    "body{max-width:50rem;margin:2rem auto;padding:0 1rem;font:16px/1.6 system-ui,sans-serif}"
    "pre{overflow:auto;padding:.75rem 1rem;border:1px solid #8886;border-radius:6px;font-size:14px}"
)
_BLOCK = re.compile(r"^```\w*\n(.*?)^```$", re.M | re.S)
_MOST_LINES = 70
_LONGEST_LINE = 240


AnyRule = Rule | RuleInfo


@cache
def shipped() -> KnownRules:
    """Return the rules that come with the product."""
    return KnownRules(known_systems())


def rules() -> tuple[Rule, ...]:
    """Return every rule that a document can show, by code."""
    infos = sorted(shipped()(), key=lambda info: info.code)
    return tuple(shipped().rule(info) for info in infos if _is_shown(info))


def undocumented() -> tuple[Rule, ...]:
    """Return rules that no document can show: those about the configuration."""
    return tuple(shipped().rule(info) for info in shipped()() if not _is_shown(info))


def _is_shown(info: RuleInfo) -> bool:
    return info.family not in CONFIGURATION_FAMILIES


@cache
def families() -> dict[str, str]:
    """Return the two letters of each family, and what it is about."""
    return shipped().families()


def family_order(family: str) -> tuple[int, str]:
    """Return the order in which families are shown: ours as they are registered, then those of others by letters."""
    known = list(families())
    return (known.index(family) if family in known else len(known), family)


# ------------------------------------------------------------------------------------------------------- a page


def page(rule: Rule) -> str:
    """Return a document about one rule with all of its examples, always with the same headings."""
    severity, *others = _facts(rule)
    family = f"family {families().get(rule.family, rule.family)}"
    parts = [f"# {rule.code}: {rule.name}", " · ".join([severity, family, *others])]
    parts += [f"## {heading}\n\n{body}" for heading, body in _sections(rule, list(rule.examples()))]
    return "\n\n".join(parts) + "\n"


def section(rule: Rule) -> str:
    """Return the part of a family's page about one rule.

    The first example is enough: a reader scrolls past many rules.
    """
    every = list(rule.examples())
    parts = [f'<a id="{anchor(rule)}"></a>\n\n## {rule.code} {rule.name}', " · ".join(_facts(rule))]
    parts += [f"**{heading}**\n\n{body}" for heading, body in _sections(rule, every[:1])]
    if every[1:]:
        command = f"workrail-lint rule {rule.code} --format markdown"
        parts.append(f"{counted(len(every) - 1, 'more example')}: `{command}`.")
    return "\n\n".join(parts)


def anchor(rule: AnyRule) -> str:
    """Return where a rule is on the page of its family; it never changes, because a code doesn't."""
    return rule.code.lower()


def _facts(rule: AnyRule) -> list[str]:
    doubt = [] if rule.confidence is Confidence.HIGH else [f"{rule.confidence.value} confidence"]
    return [f"Severity **{rule.severity.value}**", *doubt, f"fix {fix_word(rule)}", *([] if rule.default_on else [OFF])]


def _sections(rule: Rule, examples: list[Example]) -> Iterator[tuple[str, str]]:
    """Return the headings and what is below them; only a rule that no document shows has no example."""
    yield "What it finds", rule.summary
    yield "Why it is bad", rule.why
    short = list(map(essentials, examples))
    if short:
        yield "Example", "\n\n".join(map(_shown_bad, short))
        yield "Use instead", "\n\n".join(dict.fromkeys(map(_shown_good, short)))
    yield "Fix", "\n\n".join([fix_line(rule), *dict.fromkeys(filter(None, map(_shown_fixed, short)))])
    yield "Origin", origin_line(rule)


def fix_word(rule: AnyRule) -> str:
    return rule.fix_safety or "none"


def fix_line(rule: AnyRule) -> str:
    if not rule.fix_safety:
        return "None: the author must decide what is right."
    how = "`--fix`" if rule.fix_safety == "safe" else "`--fix --unsafe-fixes`"
    return f"{rule.fix} {rule.fix_safety.capitalize()}, applied with {how}."


_ORIGINS = {
    "schema": "the engine rejects the document, because it does not match the schema",
    "struct": "the engine rejects the document in its structural checks",
    "compile": "the engine can't compile the workflow",
    "start": "the engine can't start the workflow",
    "registry": "the engine rejects the workflows of a repository together",
    "load": "the engine can't load the file",
    "runtime": "the engine accepts the workflow and then fails, hangs or misreads it",
    "engine-warn": "the engine prints a warning",
    "spec": "a rule of the authoring guide",
    "lock": "a design rule that must hold for every workflow",
    "doc": "the engine's documentation",
    "product": "added by this linter",
    "planned": "announced for the authoring guide, but not yet in force",
}


def origin_line(rule: AnyRule) -> str:
    """Return where a rule comes from, in words where its origin is a plain one."""
    words = [part.strip() for part in rule.origin.split("/")]
    if all(word in _ORIGINS for word in words):
        meaning = "; ".join(_ORIGINS[word] for word in words)
        return f"`{rule.origin}`: {meaning}."
    return f"{rule.origin[:1].upper()}{rule.origin[1:]}."


def _shown_bad(example: Example) -> str:
    if not has_file(example):
        return f"`{example.path}` is named, but does not exist."
    parts = [_block(example.bad, example.path)]
    beside, named = shown_files(example)
    parts += [f"`{path}`:\n\n{_block(data, path)}" for path, data in beside.items()]
    if named:
        parts.append(f"Other files: {', '.join(f'`{path}`' for path in named)}.")
    if example.path != "workflows/example.json" or len(parts) > 1:
        parts[0] = f"`{example.path}`:\n\n{parts[0]}"
    return "\n\n".join([*parts, *remarks(example)])


def _shown_good(example: Example) -> str:
    path = example.options.get("good_path")
    label = f"`{path}`:\n\n" if isinstance(path, str) else ""
    return label + _block(example.good, str(path or example.path))


def _shown_fixed(example: Example) -> str:
    if example.fixed is None:
        return ""
    if example.fixed == example.good:
        return "Applied to the example, it gives the result above."
    return f"Applied to the example, it gives:\n\n{_block(example.fixed, example.path)}"


def _block(content: object, path: str) -> str:
    """Return an example in a fenced block."""
    lines = shown_lines(as_shown(content))
    fence = "```"
    while any(fence in line for line in lines):
        fence += "`"
    other = "text" if isinstance(content, str | bytes) else "json"
    kind = _LANGUAGES.get(os.path.splitext(path)[1], other)
    return "\n".join([f"{fence}{kind}", *lines, fence])


def shown_lines(data: bytes) -> list[str]:
    """Return the lines of an example: invisible characters are shown as escapes, and long lines are cut."""
    text = data.decode("utf-8", "backslashreplace")
    lines = [_cut(printable(line.replace("\t", "    "))) for line in text.rstrip("\n").split("\n")]
    if len(lines) <= _MOST_LINES:
        return lines
    kept = _MOST_LINES // 2
    return [*lines[:kept], f"… {len(lines) - 2 * kept} more lines …", *lines[-kept:]]


def _cut(line: str) -> str:
    return line if len(line) <= _LONGEST_LINE else f"{line[: _LONGEST_LINE - 1]}…"


# ---------------------------------------------------------------------------------------------------- the index


def index(rules: Iterable[AnyRule], code: Callable[[AnyRule], str] = lambda rule: rule.code) -> str:
    """Return all rules in one page, by family; `code` says how the code of a rule is written, for example as a link."""
    by_family: dict[str, list[AnyRule]] = {}
    for rule in rules:
        by_family.setdefault(rule.family, []).append(rule)
    titles = families()
    total = sum(map(len, by_family.values()))
    about = (
        f"{total} rules in {len(by_family)} families. A code is two letters for the family and three digits; it is "
        "never given to another rule. `workrail-lint rule CODE` explains one on the command line."
    )
    parts = ["# Rules", about]
    for family in sorted(by_family, key=family_order):
        rows = "\n".join(_row(rule, code(rule)) for rule in by_family[family])
        head = "| code | name | severity | origin | fix | finds |\n| --- | --- | --- | --- | --- | --- |"
        parts.append(f"## {family}: {titles.get(family, family)}\n\n{head}\n{rows}")
    return "\n\n".join(parts) + "\n"


def retired_section() -> str:
    """Return the table of rules that no longer exist; their codes stay valid in configurations."""
    about = (
        "A configuration, suppression or baseline may still name these. The rule that a code was merged into takes its "
        "place; a code without one has no effect. Both give a remark."
    )
    rows = [f"| {rule.code} | `{rule.name}` | {rule.successor or '-'} | {rule.reason} |" for rule in retired_rules()]
    table = "\n".join(["| code | name | part of | why |", "| --- | --- | --- | --- |", *rows])
    return f"## Retired rules\n\n{about}\n\n{table}\n"


# How many rules each family had before rules had to earn their place.
_RULES_BEFORE = {
    "AS": 16,
    "BC": 133,
    "BD": 15,
    "CA": 16,
    "CD": 31,
    "CF": 2,
    "CR": 23,
    "CT": 14,
    "FN": 11,
    "FT": 9,
    "ID": 16,
    "KD": 10,
    "LC": 19,
    "LP": 43,
    "PR": 42,
    "RF": 17,
    "SC": 18,
    "SE": 20,
    "SN": 9,
    "SY": 15,
    "TC": 187,
    "TP": 13,
}


def census_section() -> str:
    """Return the table of how many rules each family had and has, by the reason for which its rules went."""
    about = (
        "A rule stays when the engine or a contract refuses what it reports, when it reported something useful in real "
        "files, or when it protects from harm. Three kinds of rules were given up: those that restated the *schema* of "
        "a document are one rule for each kind of document, or for each keyword; those about the *same* mistake in "
        "several places or forms are one rule, because one change by the author mends them; and *advice* that helped "
        "no real file is gone. The reason for each code is in the table of retired rules below."
    )
    current = {rule.code for rule in shipped()()}
    gone = {rule.code: rule for rule in retired_rules() if rule.code not in current}
    columns = ("before", "schema", "same", "advice", "new", "now")
    total: Counter[str] = Counter()
    rows: list[str] = []
    for family in families():
        counts = Counter(_reason(rule) for code, rule in gone.items() if code.startswith(family))
        lost = counts.total()
        counts["before"] = _RULES_BEFORE[family]
        counts["now"] = sum(code.startswith(family) for code in current)
        counts["new"] = counts["now"] - counts["before"] + lost
        total += counts
        rows.append(_counts(family, counts, columns))
    head = f"| family | {' | '.join(columns)} |\n| --- |{' --- |' * len(columns)}"
    return "\n".join([f"## How many rules there are\n\n{about}\n", head, *rows, _counts("all", total, columns), ""])


def _reason(rule: RetiredRule) -> str:
    if not rule.successor:
        return "advice"
    return "schema" if "schema" in rule.reason else "same"


def _counts(label: str, counts: Counter[str], columns: Iterable[str]) -> str:
    return f"| {label} | {' | '.join(str(counts[column] or '') for column in columns)} |"


def _row(rule: AnyRule, code: str) -> str:
    level = rule.severity.value + ("" if rule.default_on else " (off)")
    origin, summary = (printable(text).replace("|", "\\|") for text in (rule.origin, rule.summary))
    return f"| {code} | `{rule.name}` | {level} | {origin} | {rule.fix_safety or '-'} | {summary} |"


def rule_html(rule: Rule) -> str:
    """Return the page of a rule as HTML, for a browser on a machine without the site."""
    return html_page(f"{rule.code} {rule.name}", _STYLE, "".join(_elements(page(rule))))


def _elements(markdown: str) -> Iterator[str]:
    """Yield the elements of a page: headings, paragraphs and fenced blocks are all that the page of a rule has."""
    for number, part in enumerate(_BLOCK.split(markdown)):
        if number % 2:
            yield f"<pre><code>{escape(part)}</code></pre>"
            continue
        for paragraph in filter(None, map(str.strip, part.split("\n\n"))):
            marks, _, text = paragraph.partition(" ")
            if marks in ("#", "##"):
                yield f"<h{len(marks)}>{_inline(text)}</h{len(marks)}>"
            else:
                yield f"<p>{_inline(paragraph)}</p>"


def _inline(text: str) -> str:
    marked = re.sub(r"`([^`]+)`", r"<code>\1</code>", escape(text))
    return re.sub(r"\*\*([^*]+)\*\*", r"<strong>\1</strong>", marked)
