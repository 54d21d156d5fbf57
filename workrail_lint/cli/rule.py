"""`workrail-lint rule`: explain a rule, or list all rules."""

from __future__ import annotations

import os
import sys
import tempfile
import textwrap
from collections.abc import Mapping
from typing import Any

from workrail_lint.base.files import write_atomically
from workrail_lint.base.processes import open_in_browser
from workrail_lint.base.result import Ok
from workrail_lint.base.suggest import did_you_mean, nearest
from workrail_lint.base.terminal import Style, columns, err, json_text, out, printable, uses_colour
from workrail_lint.cli import OK, UsageError
from workrail_lint.cli.parser import Parser, add_format
from workrail_lint.findings import Severity
from workrail_lint.project.config import find_config
from workrail_lint.project.plugins import load_plugins
from workrail_lint.project.selection import KnownRules
from workrail_lint.report.data import rule_address
from workrail_lint.report.rule_docs import OFF, family_order, fix_line, index, origin_line, page, rule_html, shown_lines
from workrail_lint.report.text import file_address
from workrail_lint.rules.base import Rule
from workrail_lint.rules.example_files import as_shown, essentials, has_file, remarks, shown_files
from workrail_lint.rules.table import RuleInfo, retired_rule
from workrail_lint.systems.builtin import known_systems

_COLOURS = {Severity.ERROR: "red", Severity.WARNING: "yellow", Severity.INFO: "cyan"}
_WIDTH = 100


def main(arguments: list[str], name: str = "rule") -> int:
    args = parser(name).parse_args(arguments)
    rules = _known_rules()
    families = rules.families()
    known = tuple(sorted(rules(), key=lambda rule: (family_order(rule.family), rule.code)))
    style = Style(uses_colour())
    if args.code is None or args.code.upper() in {*families, *(rule.family for rule in known)}:
        family = None if args.code is None else args.code.upper()
        chosen = [rule for rule in known if family in (None, rule.family)]
        match args.format:
            case "json":
                out(_json({"version": 1, "rules": [rule_object(rule, families) for rule in chosen]}))
            case "markdown":
                out(index(chosen), end="")
            case _:
                out(_table(chosen, families, style))
        return OK
    rule = _named(args.code, known)
    if args.open:
        return _open_page(rule, rules)
    match args.format:
        case "json":
            out(_json(rule_object(rule, families)))
        case "markdown":
            out(page(rules.rule(rule)), end="")
        case _:
            out(_explained(rules.rule(rule), families, style))
    return OK


def parser(name: str = "rule") -> Parser:
    result = Parser(name, "Explain a rule, or list all rules.")
    result.add_argument(
        "code",
        nargs="?",
        metavar="CODE",
        help="the code or name of a rule, or the two letters of a family (default: list all rules)",
    )
    result.add_argument("--open", action="store_true", help="open the page of the rule in your browser")
    add_format(result, ("text", "json", "markdown"), "format of the answer")
    return result


def _open_page(rule: RuleInfo, rules: KnownRules) -> int:
    """Open the page of a rule: on the project's site, else as a file."""
    config = find_config(os.curdir)
    docs_url = config.value.text("docs-url") if isinstance(config, Ok) else None
    address = rule_address(docs_url or "", rule)
    if address is None:
        html = rule_html(rules.rule(rule)).encode()
        try:
            folder = tempfile.mkdtemp(prefix="workrail-lint-")
            page_file = os.path.join(folder, f"{rule.code}.html")
            write_atomically(page_file, html, folder, durable=False)
        except OSError as problem:
            raise UsageError(f"the page of the rule can't be written ({problem.strerror})") from None
        address = file_address(page_file)
    out(address)
    if not open_in_browser(address):
        raise UsageError("no browser was found; open the address above")
    return OK


def _known_rules() -> KnownRules:
    """Return our rules, and those of the plugins in the configuration of this folder."""
    ours = KnownRules(known_systems())
    config = find_config(os.curdir)
    names = config.value.strings("plugins") if isinstance(config, Ok) else []
    if not names:
        return ours

    loaded = load_plugins(names, ours())
    for problem in loaded.problems:  # all other rules can be looked up all the same
        err(f"workrail-lint: {printable(problem)}")
    return KnownRules([*loaded.systems, *known_systems()], loaded.rules)


def _named(asked: str, known: tuple[RuleInfo, ...]) -> RuleInfo:
    retired = retired_rule(asked.upper()) or retired_rule(asked.lower())
    if retired is not None:
        if not retired.successor:
            raise UsageError(retired.remark)
        err(f"workrail-lint: {retired.remark}")
        asked = retired.successor
    for rule in known:
        if asked.upper() == rule.code or asked.lower() == rule.name:
            return rule
    names = [rule.name for rule in known] + [rule.code for rule in known]
    hint = did_you_mean(nearest(asked.lower(), names) or nearest(asked.upper(), names))
    raise UsageError(f"unknown rule '{printable(asked)}'{hint} (run workrail-lint rule for a list)")


def rule_object(rule: RuleInfo, families: Mapping[str, str]) -> dict[str, Any]:
    """Return a rule as JSON, for other programs."""
    return {
        "code": rule.code,
        "name": rule.name,
        "family": {"code": rule.family, "title": families.get(rule.family, rule.family)},
        "severity": rule.severity.value,
        "confidence": rule.confidence.value,
        "origin": rule.origin,
        "summary": rule.summary,
        "why": rule.why,
        "fix": {"text": rule.fix, "safety": rule.fix_safety} if rule.fix_safety else None,
        "default": rule.default_on,
    }


def _json(value: dict[str, Any]) -> str:
    return json_text(value, indent=2)


def _table(rules: list[RuleInfo], titles: dict[str, str], style: Style) -> str:
    width = max((len(rule.name) for rule in rules), default=0)
    lines: list[str] = []
    family = ""
    for rule in rules:
        if rule.family != family:
            family = rule.family
            lines += ["", style(f"{family}  {titles.get(family, family)}", "bold")]
        level = style(rule.severity.value.ljust(7), _COLOURS[rule.severity])
        lines.append(f"{rule.code}  {rule.name.ljust(width)}  {level}  {rule.fix_safety or '-'}")
    lines += [
        "",
        f"{len(rules)} rules. The last column says how safe the fix is. Run workrail-lint rule CODE for details.",
    ]
    return "\n".join(lines[1:])


def _explained(rule: Rule, titles: dict[str, str], style: Style) -> str:
    level = style(rule.severity.value, _COLOURS[rule.severity], "bold")
    off = "" if rule.default_on else f", {OFF}"
    lines = [
        f"{style(f'{rule.code} {rule.name}', 'bold')} ({level}{off})",
        f"Family: {titles.get(rule.family, rule.family)}",
    ]
    sections = [
        ("What it finds", rule.summary),
        ("Why it is bad", rule.why),
        ("Fix", fix_line(rule).replace("`", "")),
        ("Origin", origin_line(rule).replace("`", "")),
    ]
    for heading, text in sections:
        lines += ["", style(heading, "bold"), *_wrapped(text)]
    first = next(iter(rule.examples()), None)
    if first is None:
        return "\n".join(lines)
    example = essentials(first)
    good = example.options.get("good_path") or example.path
    if has_file(example):
        lines += ["", style(f"Example ({example.path})", "bold"), *_source(as_shown(example.bad))]
    beside, named = shown_files(example)
    for path, data in beside.items():
        lines += ["", style(f"with {path}", "bold"), *_source(data)]
    lines += ["", f"and with {', '.join(named)}"] if named else []
    lines += [line for remark in remarks(example) for line in ("", remark.replace("`", ""))]
    lines += ["", style(f"Use instead ({good})", "bold"), *_source(as_shown(example.good))]
    return "\n".join(lines)


def _wrapped(text: str) -> list[str]:
    return textwrap.wrap(
        printable(text), min(_WIDTH, columns(sys.stdout) or _WIDTH), initial_indent="  ", subsequent_indent="  "
    )


def _source(data: bytes) -> list[str]:
    return [f"  {line}".rstrip() for line in shown_lines(data)]
