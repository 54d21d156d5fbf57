"""Every finding on the public workflows was read and labelled; `docs/precision.md` says what came of it."""

from __future__ import annotations

import contextlib
from collections import Counter

from oracle import requires_oracle, shared_folder

from tools import precision
from workrail_lint import check

LABELS = precision.labels()
OF_RUNS = precision.of_runs(LABELS)
OF_WORKFLOWS = [label for label in LABELS if label not in OF_RUNS]


def test_the_page_is_made_from_the_labels() -> None:
    assert precision.PAGE.read_text(encoding="utf-8") == precision.page(LABELS)
    assert {label.label for label in LABELS} <= precision.LABELS.keys()
    assert sorted(LABELS) == LABELS


def test_few_findings_are_false_and_none_that_is_shown() -> None:
    false = [label for label in LABELS if label.label == "false"]
    assert len(false) <= 0.01 * len(LABELS)
    assert not any(label.severity != "info" for label in false)


def test_what_is_shown_is_useful() -> None:
    shown = [label for label in LABELS if label.severity != "info"]
    assert sum(label.label == "useful" for label in shown) >= 0.9 * len(shown)
    assert sum(label.label in ("useful", "minor") for label in shown) >= 0.97 * len(shown)


@requires_oracle
def test_every_finding_has_its_label() -> None:
    """On the files that were read; whoever changes a rule reads its findings anew."""
    shared = shared_folder()
    assert shared is not None
    with contextlib.chdir(shared / "corpus" / "workflows"):
        findings = check(["."], jobs=1).findings
    read = {label.file for label in OF_WORKFLOWS}
    found = Counter((f.code, f.path, f.pointer, f.severity.value) for f in findings if f.path in read)
    labelled = Counter((label.rule, label.file, label.place, label.severity) for label in OF_WORKFLOWS)
    assert found - labelled == Counter()
    assert labelled - found == Counter()
    shown = Counter(f.path for f in findings if f.severity.value != "info")
    assert sorted(shown[file] for file in read)[len(read) // 2] <= 1


def test_every_finding_in_a_run_has_its_label() -> None:
    labelled = Counter((label.rule, label.file, label.place, label.severity) for label in OF_RUNS)
    assert Counter(precision.run_findings()) == labelled
    assert not [label for label in OF_RUNS if label.label in ("arguable", "false")]
