"""A clean document costs a look and nothing else."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from workrail_lint.systems.workrail.compat import Policy, normalize

SHARED = Path(os.environ.get("WORKRAIL_CORPUS") or Path(__file__).parents[4] / "shared")


def clean() -> dict[str, Any]:
    return {
        "id": "demo.clean",
        "name": "N",
        "description": "D",
        "version": "1.0.0",
        "features": ["wr.features.capabilities"],
        "steps": [
            {
                "id": "one",
                "title": "T",
                "prompt": "P",
                "validationCriteria": {"and": [{"type": "length", "min": 1, "message": "m"}]},
            },
            {
                "id": "two",
                "type": "loop",
                "title": "T",
                "loop": {"type": "for", "count": 2, "maxIterations": 2},
                "body": [{"id": "inner", "title": "T", "prompt": "P"}],
            },
        ],
    }


@pytest.mark.parametrize("policy", list(Policy))
def test_a_clean_document_comes_back_itself(policy: Policy) -> None:
    document = clean()
    result = normalize(document, policy)
    assert result.document is document
    assert (result.warnings, result.errors, result.refused, result.step_codes) == ([], [], (), {})
    assert result.pointer_map("/steps/0/id") == "/steps/0/id"


def test_a_clean_document_loads_no_rule_and_nothing_heavy() -> None:
    program = (
        "import json, sys\n"
        "from workrail_lint.systems.workrail.compat import normalize\n"
        "document = json.load(sys.stdin)\n"
        "assert normalize(document).document is document\n"
        "print(json.dumps(sorted(sys.modules)))\n"
    )
    run = subprocess.run(
        [sys.executable, "-S", "-E", "-c", program],
        input=json.dumps(clean()),
        capture_output=True,
        text=True,
        check=True,
        cwd=Path(__file__).parents[3],
    )
    loaded = set(json.loads(run.stdout))
    package = "workrail_lint.systems.workrail.compat"
    assert {name for name in loaded if name.startswith(package)} == {
        package,
        f"{package}.normalize",
    }
    assert loaded.isdisjoint({"pydantic", "jsonschema", "pluggy", "dataclasses", "inspect", "pathlib"})


def corpus() -> list[Path]:
    return sorted((SHARED / "corpus" / "workflows").rglob("*.json")) + sorted(
        (SHARED / "oracle" / "bases").rglob("*.json")
    )


@pytest.mark.skipif(not corpus(), reason="no corpus: set WORKRAIL_CORPUS or put it next to the project")
def test_real_workflows_are_not_touched() -> None:
    for path in corpus():
        document = json.loads(path.read_text())
        assert normalize(document).document is document, path.name
