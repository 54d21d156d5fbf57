"""The Markdown pages of the site: the docs, a page for each rule, and the help of each command."""

from __future__ import annotations

import contextlib
import io
import json
import os
import re
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

import pytest_workrail.cli
import workrail_lint.cli
from tools.precision import labels
from tools.rule_pages import PAGES
from workrail_lint.base.wording import counted
from workrail_lint.report.rule_docs import AnyRule, families, family_order, page, rules, undocumented
from workrail_lint.rules.base import Rule
from workrail_lint.testing import example_findings

ROOT = Path(__file__).parents[2]
# Pages that are beside `docs/`, because that is where people look for them in a repository.
_BESIDE = ("ARCHITECTURE.md", "CHANGELOG.md", "CONTRIBUTING.md", "README.md", "SECURITY.md")
_LINK = re.compile(r"\[(?P<text>[^\[\]]*)\]\((?P<target>[^)#\s]*)(?:#(?P<anchor>[^)\s]*))?\)")
# What the docs tests read (```console exit=1) means nothing to a renderer.
_FENCE = re.compile(r"^(?P<fence> *```\w+)[ \t][^\n`]*$", re.M)
# Examples with other options are about settings, and say the same.
_OPTIONS = {"target", "engine_parity", "routines", "bindings", "good_path"}
_MOST_MESSAGES = 6
PROGRAMS = {"workrail-lint": workrail_lint.cli, "workrail-test": pytest_workrail.cli}


class Site(NamedTuple):
    """The pages by path, and the navigation: titles with a page or with more titles."""

    pages: Mapping[str, str]
    navigation: list[object]


def site() -> Site:
    """Return everything that the generator of the site reads."""
    pages = dict(_documents())
    pages |= _rule_pages()
    pages |= _command_pages()
    return Site(pages, _navigation(pages))


def _documents() -> Iterator[tuple[str, str]]:
    """Yield every page of `docs/` but those of the rules, and the pages beside it, with links that hold on the site."""
    names = [path.relative_to(ROOT).as_posix() for path in sorted((ROOT / "docs").rglob("*.md"))]
    for name in (*_BESIDE, *names):
        if not name.startswith(f"{PAGES}/") or name == f"{PAGES}/README.md":
            yield place(name), _with_site_links((ROOT / name).read_text(encoding="utf-8"), name)


def place(name: str) -> str:
    """Return where a file of the repository is on the site, whose first page is the README."""
    if name in ("README.md", "docs/README.md"):
        return "index.md" if name == "README.md" else "documentation.md"
    return name.removeprefix("docs/")


def _with_site_links(text: str, source: str) -> str:
    """Return a page for the site; a link to a file that is not on the site becomes its text."""
    here = os.path.dirname(source)

    def replaced(link: re.Match[str]) -> str:
        target, anchor = link["target"], link["anchor"]
        if "://" in target or not target:
            return link[0]
        name = os.path.normpath(os.path.join(here, target)).replace(os.sep, "/")
        if name not in _BESIDE and not name.startswith("docs/"):
            return link["text"]
        if name.startswith(f"{PAGES}/") and anchor:
            name, anchor = f"{PAGES}/{anchor.upper()}.md", ""
        there = os.path.relpath(place(name), os.path.dirname(place(source)) or ".").replace(os.sep, "/")
        return f"[{link['text']}]({there}{f'#{anchor}' if anchor else ''})"

    return _FENCE.sub(lambda match: match["fence"], _LINK.sub(replaced, text))


def _rule_pages() -> dict[str, str]:
    """Return a page for each rule, at an address that never changes, and one for each family that lists its rules."""
    documented = sorted((*rules(), *undocumented()), key=lambda rule: rule.code)
    counts: dict[str, Counter[str]] = {}
    for label in labels():
        counts.setdefault(label.rule, Counter())[label.label] += 1
    pages = {
        f"rules/{rule.code}.md": f"{_with_messages(rule)}\n{_precision(counts.get(rule.code))}\n" for rule in documented
    }
    for family in sorted({rule.family for rule in documented}, key=family_order):
        members = [rule for rule in documented if rule.family == family]
        rows = "\n".join(
            f"| [{rule.code}]({rule.code}.md) | `{rule.name}` | {rule.severity.value} | {_cell(rule)} |"
            for rule in members
        )
        head = f"# {family}: {families()[family]}\n\n{counted(len(members), 'rule')}; [all families](README.md).\n\n"
        pages[f"rules/{family}.md"] = f"{head}| code | name | severity | finds |\n| --- | --- | --- | --- |\n{rows}\n"
    return pages


def _with_messages(rule: Rule) -> str:
    """Return the page of a rule with what it says of its examples: readers look for a message that they got."""
    messages = _messages(rule)
    if not messages:
        return page(rule)
    listed = "".join(f"- {_code(message)}\n" for message in messages)
    return page(rule).replace("\n## Why it is bad\n", f"\n## What it says\n\n{listed}\n## Why it is bad\n", 1)


def _messages(rule: Rule) -> list[str]:
    messages: dict[str, None] = {}
    for example in rule.examples():
        if example.options.keys() <= _OPTIONS:
            with tempfile.TemporaryDirectory() as folder:
                findings = example_findings(type(rule), example, example.bad, Path(folder))
            messages |= dict.fromkeys(finding.message for finding in findings)
    return list(messages)[:_MOST_MESSAGES]


def _code(text: str) -> str:
    """Return a text as code, which no renderer changes."""
    fence = "`" * (1 + max((len(run) for run in re.findall("`+", text)), default=0))
    return f"{fence} {text} {fence}" if "`" in text else f"{fence}{text}{fence}"


def _cell(rule: AnyRule) -> str:
    return rule.summary.replace("|", "\\|")


def _precision(counts: Counter[str] | None) -> str:
    """Return what is known about how often a rule is right."""
    if counts is None:
        known = "No finding on the public workflows so far."
    else:
        kinds = ", ".join(f"{number} {label}" for label, number in sorted(counts.items()))
        known = f"On public workflows and shipped runs: {counted(counts.total(), 'finding')}, {kinds}."
    return f"## Precision\n\n{known} [How often findings are right](../precision.md)."


def _command_pages() -> dict[str, str]:
    """Return a page for each command of both programs: what `--help` prints."""
    pages = {}
    for program, module in PROGRAMS.items():
        names = sorted(module.COMMANDS)
        rows = "\n".join(f"- [{program} {name}]({program}-{name}.md)" for name in names)
        pages[f"commands/{program}.md"] = f"# {program}\n\n{_help(program, [])}\n\n{rows}\n"
        for name in names:
            pages[f"commands/{program}-{name}.md"] = f"# {program} {name}\n\n{_help(program, [name])}\n"
    return pages


def _help(program: str, command: list[str]) -> str:
    output = io.StringIO()
    with contextlib.redirect_stdout(output), contextlib.suppress(SystemExit):
        PROGRAMS[program].main([*command, "--help"])
    return f"```text\n{output.getvalue().strip()}\n```"


def _navigation(pages: Mapping[str, str]) -> list[object]:
    """Return the navigation: the sections of the index of the docs, with the pages that they link to."""
    first = {"Home": "index.md", "Documentation": "documentation.md"}
    navigation: list[object] = [{title: name} for title, name in first.items()]
    navigation += [{"Playground": "playground/index.html"}, {"Studio": "demo/index.html"}]
    left = pages.keys() - set(first.values())
    for section in re.split(r"^## ", pages["documentation.md"], flags=re.M)[1:]:
        title, _, text = section.partition("\n")
        linked = dict.fromkeys(link["target"] for link in _LINK.finditer(text))
        entries = [{_title(pages[name]): name} for name in linked if name in left]
        left.difference_update(linked)
        if title == "Fix findings":
            families_ = [f"rules/{family}.md" for family in families() if f"rules/{family}.md" in pages]
            entries += [{_title(pages[name]): name} for name in families_]
        navigation.append({title: entries})
    authoring = sorted(name for name in left if name.startswith("authoring/"))
    navigation.insert(5, {"Authoring guide": [{_title(pages[name]): name} for name in authoring]})
    commands = sorted(name for name in left if name.startswith("commands/"))
    navigation.append({"Commands": [{_title(pages[name]): name} for name in commands]})
    rest = sorted(name for name in left if not name.startswith(("authoring/", "commands/", "rules/")))
    return [*navigation, {"More": [{_title(pages[name]): name} for name in rest]}]


def _title(page: str) -> str:
    match = re.search(r"^# (.+)$", page, re.M)
    return match[1].replace("`", "") if match else "Untitled"


def as_toml(value: object) -> str:
    """Return a value as TOML: JSON, but for tables, which TOML writes inline with an equals sign."""
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{json.dumps(name)} = {as_toml(each)}" for name, each in value.items()) + " }"
    if isinstance(value, list):
        return "[" + ", ".join(map(as_toml, value)) + "]"
    return json.dumps(value, ensure_ascii=False)
