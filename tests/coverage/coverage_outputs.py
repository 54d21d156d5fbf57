"""What runs of the shipped workflows show of them, kept in `expected/`.

python tests/coverage/coverage_outputs.py     # writes it anew
"""

from __future__ import annotations

import json
from pathlib import Path

from pytest_workrail import api
from pytest_workrail.coverage.goals import goals
from pytest_workrail.coverage.report import CoverageSession, document, table
from pytest_workrail.engine.core.profiles import PROFILES
from workrail_lint.systems.workrail.compile import compile_workflow

ROOT = Path(__file__).resolve().parents[2]
EXPECTED = Path(__file__).parent / "expected"


def outputs() -> dict[str, str]:
    """The goals of every workflow under each profile, and what a report says after some runs of it."""
    session = CoverageSession()
    lines: list[str] = []
    for path in sorted((ROOT / "fixtures" / "workflows").glob("*.json")):
        compiled = compile_workflow(path, routines=ROOT / "fixtures" / "routines").value
        for name, profile in PROFILES.items():
            lines += [f"{path.stem} {name}: {point.name}" for point in goals(compiled.program, profile)]
        for number, mode in enumerate(("guided", "full_auto_never_stop")):
            test = f"test_{path.stem}_{mode}"
            session.record(test, api.run(compiled, mode=mode, profile="reference").transcript)
            session.test_finished(test, passed=number == 0 or "release" in path.stem)
    report = "\n".join(table(session.tally, missing=True))
    return {
        "goals.txt": "\n".join(lines) + "\n",
        "report.txt": f"{report}\n",
        "report.json": f"{json.dumps(json.loads(document(session.tally)), indent=1)}\n",
    }


if __name__ == "__main__":
    EXPECTED.mkdir(exist_ok=True)
    for name, text in outputs().items():
        (EXPECTED / name).write_text(text, encoding="utf-8")
