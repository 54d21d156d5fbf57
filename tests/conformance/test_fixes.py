"""Real fixes of real workflows: what was mended is reported in the file before, and less often or not at all after."""

from __future__ import annotations

import contextlib
import json
from collections import Counter
from pathlib import Path

import pytest
from oracle import requires_oracle, shared_folder

from workrail_lint import check
from workrail_lint.findings import Severity

pytestmark = requires_oracle

# By commit, a rule that asks for the fix at warning or error.
REPORTED = {
    "065f4c9d": "workflow-reference-unknown",
    "078d0cae": "schema-bounds",
    "09de6fc5": "condition-operator-unknown",
    "154ee600": "schema-bounds",
    "1a6dc312": "reference-missing-file",
    "29c9f726": "reference-not-shipped",
    "4279a7ff": "condition-operator-unknown",
    "55d66dcf": "design-form-construct",
    "689d78a9": "display-name-decorated",
    "6f4e25b6": "json-duplicate-key",
    "7d30cfe1": "gate-condition-self",
    "85196a44": "schema-bounds",
    "8c1c9770": "design-form-construct",
    "99da6cd3": "schema-bounds",
    "b60d221f": "context-token-expression",
    "c71cb6c3": "schema-type",
    "cc19060d": "loop-context-controlled",
    "dc834526": "criteria-regex-invalid",
    "e070707d": "role-in-prompt",
    "ec6b8494": "schema-unknown-member",
    "ed78157d": "prompt-delegation-ambiguous",
    "f27507f4": "meta-guidance-pseudo-code",
    "fed34e2b": "contract-optional",
    "ff7e1d4b": "tool-unavailable",
}
# Not among them: 5c739c34 and 84176985 (a step needs what another did not produce, and no text names it) and c92bc223
# (the engine keeps context values, so a prompt that forbids sending them does no harm). 7b33b430, ad2a4fcb: see below.


def commits() -> list[str]:
    shared = shared_folder()
    if shared is None:
        return []
    index = json.loads((shared / "corpus" / "fixes" / "index.json").read_text(encoding="utf-8"))
    return sorted(entry["commit"] for entry in index if entry["commit"] in REPORTED)


def shown(folder: Path, target: str = "engine") -> Counter[str]:
    with contextlib.chdir(folder):
        return Counter(f.name for f in check(["."], jobs=1, target=target).findings if f.severity is not Severity.INFO)


@pytest.mark.parametrize("commit", commits())
def test_the_mistake_is_reported_before_and_not_after(commit: str) -> None:
    shared = shared_folder()
    assert shared is not None
    folder = shared / "corpus" / "fixes" / commit
    before, after = shown(folder / "before"), shown(folder / "after")
    assert before[REPORTED[commit]] > after[REPORTED[commit]], before - after


def test_an_id_of_two_workflows_is_reported_where_both_are_checked(tmp_path: Path) -> None:
    """7b33b430: the other file with the same id is not part of the fix, so it is made of the same text here."""
    shared = shared_folder()
    assert shared is not None
    (source,) = (shared / "corpus" / "fixes" / "7b33b430" / "before").iterdir()
    for name in ("systematic.json", "systemic.json"):
        (tmp_path / name).write_bytes(source.read_bytes())
    assert shown(tmp_path)["duplicate-workflow-id"] > 0


def test_decisions_for_another_loop_are_reported_where_loops_are_named() -> None:
    """ad2a4fcb: prompts ask for a `loopId` that is not the loop's; the public engine ignores it, the IR does not."""
    shared = shared_folder()
    assert shared is not None
    folder = shared / "corpus" / "fixes" / "ad2a4fcb"
    rule = "loop-source-loopid-mismatch"
    assert shown(folder / "before", target="ir")[rule] > shown(folder / "after", target="ir")[rule]
