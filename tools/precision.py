"""`docs/precision.md`, made from the labels beside it: `python -m tools.precision`.

A label is one finding that a person has read: rule, file, place, severity, and one of `LABELS`. Findings about
workflows are those on public workflows; findings about teams and blocks are those in the runs of the shipped scenarios.
`tests/conformance/test_precision.py` compares the labels with what the rules say today.
"""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import NamedTuple

from workrail_lint.rules.table import RuleInfo
from workrail_lint.systems.blocks.rules import RULES as BLOCK_RULES
from workrail_lint.systems.team.rules import RULES as TEAM_RULES
from workrail_lint.systems.workrail.rules import RULES

ROOT = Path(__file__).parent.parent
DATA = ROOT / "docs" / "precision.jsonl"
PAGE = ROOT / "docs" / "precision.md"
GOLDENS = sorted(ROOT.glob("fixtures/scenarios/team/__goldens__/*.json")) + sorted(
    ROOT.glob("fixtures/scenarios/blocks/__goldens__/*.json")
)
LABELS = {
    "useful": "true, and the author would want to change the workflow",
    "minor": "true, but rarely worth a change",
    "arguable": "a matter of taste, or the reader needs to know more than the file says",
    "false": "wrong about the workflow",
}
_ABOUT = """\
Every finding of `workrail-lint check --severity info` on the public workflows was read beside its workflow and
labelled: {findings} findings in {files} files. The labels are in [precision.jsonl](precision.jsonl); the workflows are
not part of this repository."""
_REST = "The other {rules} rules about workflows have no finding here; {off} of them are off by default."
_RUNS = """\
Every finding in the runs of the shipped scenarios (`fixtures/scenarios`) was read and labelled by its rule:
{findings} findings in {files} of {runs} runs; in the others there is none. The sessions and outputs in
`fixtures/team` and `fixtures/blocks` have none either."""
_RUNS_REST = "The other {rules} rules about teams and blocks have no finding here; each shows one in its example."
_SEVERITIES = ("error", "warning", "info")


class Label(NamedTuple):
    """A finding that was read, and what it was worth."""

    rule: str
    file: str
    place: str
    severity: str
    label: str


def labels() -> list[Label]:
    return [Label(**json.loads(line)) for line in DATA.read_text(encoding="utf-8").splitlines()]


def of_runs(labels: list[Label]) -> list[Label]:
    """Return the labels of findings about teams and blocks."""
    return [label for label in labels if label.rule.startswith(("TC", "BC"))]


def run_findings() -> list[tuple[str, str, str, str]]:
    """Return the findings in the runs of the shipped scenarios: rule, file, place, severity."""
    findings = []
    for path in GOLDENS:
        golden = json.loads(path.read_text(encoding="utf-8"))
        name = path.relative_to(ROOT).as_posix()
        findings += [
            (each["code"], name, f"{each['file']}#{each['pointer']}", each["severity"]) for each in golden["findings"]
        ]
    return findings


def page(every_label: list[Label]) -> str:
    runs = of_runs(every_label)
    labels = [label for label in every_label if label not in runs]
    files = len({label.file for label in labels})
    by_rule = {info.code: info for info in RULES.infos}
    spoken = sorted({label.rule for label in labels})
    parts = [
        "# How often findings are right",
        _ABOUT.format(findings=len(labels), files=files),
        _table(("label", "meaning"), [(f"`{name}`", meaning) for name, meaning in LABELS.items()]),
        "## By severity",
        _table(("", *_SEVERITIES, "all"), [_severity_row(name, labels) for name in LABELS]),
        "## By rule",
        "A rule whose findings are useful less often than nine times in ten is `info` or off by default.",
        _table(
            ("rule", "name", "findings", *LABELS),
            [_rule_row(by_rule[code], [label for label in labels if label.rule == code]) for code in spoken],
        ),
        _REST.format(rules=len(by_rule) - len(spoken), off=sum(not info.default_on for info in RULES.infos)),
        *_about_runs(runs),
    ]
    return "\n\n".join(parts) + "\n"


def _about_runs(labels: list[Label]) -> list[str]:
    rules = {info.code: info for known in (TEAM_RULES, BLOCK_RULES) for info in known.infos}
    spoken = sorted({label.rule for label in labels})
    files = len({label.file for label in labels})
    return [
        "## Teams and blocks",
        _RUNS.format(findings=len(labels), files=files, runs=len(GOLDENS)),
        _table(
            ("rule", "name", "findings", *LABELS),
            [_rule_row(rules[code], [label for label in labels if label.rule == code]) for code in spoken],
        ),
        _RUNS_REST.format(rules=len(rules) - len(spoken)),
    ]


def _severity_row(name: str, labels: list[Label]) -> tuple[str, ...]:
    own = [label for label in labels if label.label == name]
    counts = Counter(label.severity for label in own)
    return (f"`{name}`", *(str(counts[severity]) for severity in _SEVERITIES), f"{len(own)} ({_share(own, labels)})")


def _rule_row(rule: RuleInfo, labels: list[Label]) -> tuple[str, ...]:
    counts = Counter(label.label for label in labels)
    return (
        f"[{rule.code}](rules/{rule.family}.md)",
        f"`{rule.name}`",
        str(len(labels)),
        *(str(counts[name] or "") for name in LABELS),
    )


def _share(part: list[Label], whole: list[Label]) -> str:
    return f"{100 * len(part) / len(whole):.1f} %" if whole else "0 %"


def _table(head: tuple[str, ...], rows: list[tuple[str, ...]]) -> str:
    lines = [head, ("---",) * len(head), *rows]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


if __name__ == "__main__":
    PAGE.write_text(page(labels()), encoding="utf-8")
