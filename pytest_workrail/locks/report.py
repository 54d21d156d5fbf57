"""Lock coverage for people and for programs: `lock-coverage.{json,md}` and `lock-closure-plan.md`.

Nothing in them depends on when, where or how often the tests ran.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence

from pytest_workrail.locks.evidence import LockCoverage, LockStatus, rounded
from workrail_lint.base.js import Json
from workrail_lint.base.wording import counted

JSON_FILE, MARKDOWN_FILE, PLAN_FILE = "lock-coverage.json", "lock-coverage.md", "lock-closure-plan.md"

# Where a gap hurts first. Categories of a project's own follow by name.
_PRIORITY = (
    *("protocol", "storage", "tokens", "errors", "bundle", "schema"),
    *("model", "types", "projection", "hashing", "architecture"),
)
_NOTES = {
    "architecture": "walk the syntax trees of the modules concerned",
    "errors": "provoke the error and compare the whole envelope",
    "hashing": "compare with bytes computed elsewhere",
    "protocol": "drive the tools and compare the log before and after",
    "schema": "try every member of the set and one that is not in it",
    "storage": "enumerate crash states or damage the files",
    "tokens": "change one character or one bit at a time",
}


def reports(coverage: LockCoverage) -> dict[str, str]:
    """Return the text of each report by its file name."""
    return {
        JSON_FILE: json_report(coverage),
        MARKDOWN_FILE: markdown_report(coverage),
        PLAN_FILE: closure_plan(coverage),
    }


def json_report(coverage: LockCoverage) -> str:
    """Everything, without a newline at the end."""
    value: dict[str, Json] = {
        "registryVersion": coverage.registry.version,
        "totalLocks": len(coverage.locks),
        "coveredLocks": len(coverage.enforced),
        "uncoveredLocks": len(coverage.open),
        "coveragePercent": rounded(coverage.share(coverage.enforced)),
        "suspectLocks": len(coverage.suspect),
        "provenLocks": len(coverage.proven),
        "provenPercent": rounded(coverage.share(coverage.proven)),
        "byCategory": {
            category: {
                "total": len(locks),
                "covered": sum(status.is_enforced for status in locks),
                "proven": sum(status.is_proven for status in locks),
                "uncovered": [status.lock.id for status in locks if not status.is_enforced],
            }
            for category, locks in _by_category(coverage.locks, coverage.registry.categories).items()
        },
        "covered": [
            {
                "lockId": status.lock.id,
                "tests": list[Json](status.files),
                "proofs": [{"sabotage": proof.sabotage, "test": proof.test} for proof in status.proofs],
            }
            for status in coverage.enforced
        ],
        "uncovered": [
            {
                "lockId": status.lock.id,
                "source": status.lock.source,
                "summary": status.lock.summary,
                "category": status.lock.category,
                "suspect": status.is_suspect,
                "claims": [
                    {"test": evidence.test, "flaw": evidence.flaw or "was written for an earlier text of the lock"}
                    for evidence in status.claims
                ],
            }
            for status in coverage.open
        ],
        "warnings": list[Json](coverage.problems),
    }
    return json.dumps(value, ensure_ascii=False, indent=2)


def markdown_report(coverage: LockCoverage) -> str:
    """Return the same for readers."""
    return "\n".join(_markdown(coverage)) + "\n"


def _markdown(coverage: LockCoverage) -> Iterator[str]:
    yield "# Lock coverage"
    yield ""
    yield f"Generated from the lock registry, version {coverage.registry.version}, and a test run. Do not edit."
    yield ""
    total = len(coverage.locks)
    yield from _table(
        ("", "locks", "percent"),
        [
            ("total", str(total), ""),
            ("enforced", str(len(coverage.enforced)), _percent(coverage, coverage.enforced)),
            ("proven", str(len(coverage.proven)), _percent(coverage, coverage.proven)),
            ("suspect", str(len(coverage.suspect)), _percent(coverage, coverage.suspect)),
            ("not enforced", str(len(coverage.open)), _percent(coverage, coverage.open)),
        ],
    )
    yield ""
    yield "## By category"
    yield ""
    rows = []
    for category, locks in _by_category(coverage.locks, coverage.registry.categories).items():
        enforced = sum(status.is_enforced for status in locks)
        proven = sum(status.is_proven for status in locks)
        rows.append((category, str(len(locks)), str(enforced), str(proven), f"{_percent_of(enforced, len(locks))} %"))
    yield from _table(("category", "locks", "enforced", "proven", "enforced share"), rows)
    if coverage.open:
        yield ""
        yield "## Not enforced"
        yield ""
        yield from _table(
            ("lock", "category", "summary", "source", "claims"),
            [(_code(s.lock.id), s.lock.category, s.lock.summary, s.lock.source, _claims(s)) for s in coverage.open],
        )
    if coverage.enforced:
        yield ""
        yield "## Enforced"
        yield ""
        yield "<details>"
        known = counted(len(coverage.enforced), "lock")
        yield f"<summary>{known}, their tests and the sabotages these notice</summary>"
        yield ""
        yield from _table(
            ("lock", "tests", "proven by"),
            [
                (_code(s.lock.id), ", ".join(map(_code, s.files)), ", ".join(_code(p.sabotage) for p in s.proofs))
                for s in coverage.enforced
            ],
        )
        yield ""
        yield "</details>"
    if coverage.problems:
        yield ""
        yield "## Warnings"
        yield ""
        yield from (f"- {problem}" for problem in coverage.problems)
    yield ""
    yield "## How a lock gets here"
    yield ""
    yield from _HOW_TO


_HOW_TO = (
    '- Mark a test with `@pytest.mark.enforces("lock-id")` only if it would fail when the lock were broken.',
    "- A lock is enforced when setup, call and teardown of such a test passed and the test asserted something.",
    "- A lock is proven when a sabotage that breaks exactly this behaviour makes such a test fail.",
)


def closure_plan(coverage: LockCoverage) -> str:
    """Return what is left to do, the most urgent first."""
    return "\n".join(_plan(coverage)) + "\n"


def _plan(coverage: LockCoverage) -> Iterator[str]:
    unproven = [status for status in coverage.enforced if not status.is_proven]
    yield "# Lock closure plan"
    yield ""
    yield "Generated. Do not edit."
    yield ""
    yield from _table(
        ("", "locks"),
        [
            ("to enforce", str(len(coverage.open))),
            ("of them suspect", str(len(coverage.suspect))),
            ("to prove", str(len(unproven))),
        ],
    )
    grouped = _by_category(coverage.open)
    for category in sorted(grouped, key=_priority):
        yield ""
        yield f"## {category}"
        yield ""
        yield from _table(
            ("lock", "summary", "suggested test module", "note"),
            [
                (_code(s.lock.id), s.lock.summary, _code(suggested_module(category, s.lock.id)), _note(s))
                for s in grouped[category]
            ],
        )
    if unproven:
        yield ""
        yield "## Enforced, not proven"
        yield ""
        yield from _table(
            ("lock", "category", "note"),
            [(_code(s.lock.id), s.lock.category, _proof_note(s)) for s in unproven],
        )
    yield ""
    yield "## How to close a gap"
    yield ""
    yield "1. Write a test that fails when the lock is broken, or find the one that does, and mark it."
    yield "2. Write a sabotage that breaks exactly this behaviour, and run pytest with `--workrail-locks-prove`."
    yield "3. For a suspect lock read the new text, change the tests, then accept it with `--workrail-locks-accept`."


def suggested_module(category: str, lock_id: str) -> str:
    """Return where a test of a lock belongs; a function of category and id alone."""
    return f"tests/locks/test_{category}_locks.py::test_{lock_id.replace('-', '_')}"


def _note(status: LockStatus) -> str:
    if status.is_suspect:
        return "suspect: the text changed since its tests were written"
    if status.claims:
        return f"claimed, but {_claims(status)}"
    return _NOTES.get(status.lock.category, "")


def _proof_note(status: LockStatus) -> str:
    if not status.stale:
        return "no sabotage is noticed yet"
    return "proven before its test or sabotage changed: " + ", ".join(_code(proof.sabotage) for proof in status.stale)


def _claims(status: LockStatus) -> str:
    flaws = sorted({f"{_code(evidence.name)} {evidence.flaw or 'passed'}" for evidence in status.claims})
    return "; ".join(flaws)


def _priority(category: str) -> tuple[int, str]:
    return (_PRIORITY.index(category) if category in _PRIORITY else len(_PRIORITY), category)


def _by_category(locks: Sequence[LockStatus], known: Iterable[str] = ()) -> dict[str, list[LockStatus]]:
    """Locks by category, sorted; a known category has its place even if there are none."""
    categories = sorted({*known, *(status.lock.category for status in locks)})
    return {category: [status for status in locks if status.lock.category == category] for category in categories}


def _percent(coverage: LockCoverage, part: list[LockStatus]) -> str:
    return f"{rounded(coverage.share(part))} %"


def _percent_of(part: int, total: int) -> int:
    return (200 * part + total) // (2 * total) if total else 0


def _code(text: str) -> str:
    return f"`{text}`"


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[str]:
    yield "| " + " | ".join(head) + " |"
    yield "| " + " | ".join("---" for _ in head) + " |"
    for row in rows:
        yield "| " + " | ".join(cell.replace("|", "\\|").replace("\n", " ") for cell in row) + " |"
