"""Outputs as the harness sees them: usable or replaced."""

from __future__ import annotations

import json
from typing import Any

import pytest
from block_mutants import mutated
from effort import times
from hypothesis import HealthCheck, given, settings

from tools.models.blocks import examples
from workrail_lint.base.result import Err, Ok
from workrail_lint.systems.blocks.documents import BlockKind, validator
from workrail_lint.systems.blocks.outputs import (
    Discrepancy,
    discrepancy,
    node_status,
    synthetic_output,
    synthetic_summary,
    validate_output,
)
from workrail_lint.systems.blocks.rules.samples import output
from workrail_lint.systems.blocks.vocabulary import BlockType, NodeStatus, Synthetic


def judged(value: Any, node: str = "dev", **options: bool) -> Any:
    return validate_output(json.dumps(value).encode(), node, **options)


def reason(result: Any) -> Synthetic:
    assert isinstance(result, Err), result
    found: Synthetic = result.error.reason
    return found


def test_a_good_output_is_kept() -> None:
    assert judged(output()) == Ok(output())


def test_the_mount_point_is_tolerated() -> None:
    given_paths = {"filesModified": ["/workspace/src/a.py", "./b.py"], "filesCreated": []}
    assert judged(output(**given_paths)).value["filesModified"] == ["src/a.py", "b.py"]


@pytest.mark.parametrize("path", ["/etc/passwd", "../x", "a/../../x", "C:/x", "a\\b", "", "/workspace/../x"])
def test_escapes_are_rejected(path: str) -> None:
    assert reason(judged(output(filesCreated=[path]))) is Synthetic.MALFORMED


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"{not json",
        b"[]",
        b"null",
        b'{"a": 1, "a": 2}',
        b'{"a": NaN}',
        b'{"a": 1,}',
        b"\xff\xfe{\x00}\x00",
        b'{"a": "\xff"}',
        b"[" * 100_000,
        b" " * 2_000_000,
    ],
)
def test_what_is_no_json_object_is_malformed(data: bytes) -> None:
    rejected = validate_output(data, "dev")
    assert isinstance(rejected, Err)
    assert rejected.error == (Synthetic.MALFORMED, ())
    assert rejected.error.faults == 1


def test_a_byte_order_mark_is_tolerated() -> None:
    assert validate_output(b"\xef\xbb\xbf" + json.dumps(output()).encode(), "dev") == Ok(output())


def test_violations_are_counted() -> None:
    broken = output(status="done", summary="", filesModified="a")
    rejected = judged(broken)
    assert reason(rejected) is Synthetic.MALFORMED
    assert rejected.error.faults == 3


def test_another_block_is_a_mismatch() -> None:
    assert reason(judged(output("x"))) is Synthetic.MISMATCH


def test_profiles() -> None:
    tests = output("t", "test", deliverables={"blockType": "test", "testResults": {"passed": 3}})
    assert reason(judged(tests, "t")) is Synthetic.MALFORMED
    assert judged(tests, "t", extended=True) == Ok(tests)


@settings(max_examples=times(30, deep=240), deadline=None, suppress_health_check=list(HealthCheck))
@given(mutated(examples.OUTPUT))
def test_what_is_accepted_fits_the_schema(value: Any) -> None:
    result = judged(value, examples.OUTPUT["blockId"])
    if isinstance(result, Ok):
        assert validator(BlockKind.OUTPUT).violations(result.value) == []


@pytest.mark.parametrize("why", Synthetic)
@pytest.mark.parametrize("kind", BlockType)
def test_a_synthetic_output_is_a_valid_one(why: Synthetic, kind: BlockType) -> None:
    made = synthetic_output("t", kind, why, "2000-01-01T00:00:00Z", violations=2, exit_code=7)
    assert judged(made, "t") == Ok(made)
    assert made["status"] == "failed"
    assert node_status(made) is NodeStatus.FAILED


def test_synthetic_summaries() -> None:
    said = [synthetic_summary("t", why, violations=2, exit_code=7) for why in Synthetic]
    assert said == [
        "No output file was written by block t.",
        "The output file of block t is not usable: 2 violation(s).",
        "The output file of block t names another block.",
        "Block t ended with exit code 7.",
        "Block t exceeded its time limit.",
        "Block t was aborted.",
    ]


def test_node_status() -> None:
    assert node_status(output()) is NodeStatus.COMPLETED
    assert node_status(output(status="partial")) is NodeStatus.COMPLETED
    assert node_status(output(status="failed")) is NodeStatus.FAILED
    assert node_status(output(), exit_code=1) is NodeStatus.FAILED


def test_discrepancies() -> None:
    told = output(filesModified=["a", "./b"], filesCreated=["c"])
    assert discrepancy(told, ["a", "b", "c"]) is None
    assert discrepancy(told, ["a", "d"]) == Discrepancy(("d",), ("b", "c"))
