"""How much a lint reads: counts that are the same on every machine, so that a dear rule is noticed when it is written.

Each word is searched for in all texts at once, a pattern is tried where its word is, and what a text says about a
variable is read where something depends on it. A rule that goes through all texts by itself, or has many words or
frequent ones, moves these counts. Raise one only for a rule that is worth it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from benchmarks.real import rich_workflow
from workrail_lint import check_text
from workrail_lint.systems.workrail.analysis import scan
from workrail_lint.systems.workrail.rules import delivered_text, prose

FIXTURES = Path(__file__).parents[3] / "fixtures" / "workflows"
MOST = {
    "words searched for": 3_740,
    "places where a pattern may be tried": 1_475,
    "passages taken apart": 25,
    "mentions of variables read": 23,
    "statements about values read": 11,
}


def test_a_lint_reads_no_more_than_it_has_to(monkeypatch: pytest.MonkeyPatch) -> None:
    texts = [path.read_text("utf-8") for path in sorted(FIXTURES.glob("*.json"))] + [rich_workflow(60_000, flawed=True)]
    counts: Counter[str] = Counter()

    def count(owner: Any, name: str, what: str) -> None:
        original: Callable[..., Any] = getattr(owner, name)

        def counting(*args: Any, **options: Any) -> Any:
            counts[what] += 1
            return original(*args, **options)

        monkeypatch.setattr(owner, name, counting)

    count(prose.TextIndex, "_find", "words searched for")
    count(prose.Search, "match", "places where a pattern may be tried")
    count(delivered_text.Passage, "__init__", "passages taken apart")
    count(scan, "read_mention", "mentions of variables read")
    count(scan, "read_domain", "statements about values read")
    for text in texts:
        check_text(text)
    assert {what: number for what, number in counts.items() if number > MOST[what]} == {}
    assert counts.keys() == MOST.keys()
