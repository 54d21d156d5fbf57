"""States and their durable form."""

from __future__ import annotations

from typing import Any, cast

import pytest

from pytest_workrail.engine.core.interpreter import Complete, Init, Running, State, snapshot_of, state_of
from pytest_workrail.engine.model.snapshot import read_snapshot
from pytest_workrail.engine.model.step_keys import CompletedKeys, LoopFrame, LoopPosition, StepInstance
from workrail_lint.base.canonical import canonical_hash


def _durable(state: State) -> dict[str, Any]:
    stored: Any = snapshot_of(state).to_wire()
    return cast(dict[str, Any], stored["enginePayload"]["engineState"])


def _restored(state: State) -> State:
    return state_of(read_snapshot(snapshot_of(state).to_bytes()).value)


@pytest.mark.parametrize(
    ("state", "digest"),
    [
        (
            Running(pending=StepInstance("gather")),
            "sha256:b62380a227c09414f5f9b6004bf4f0a51274e747053d55406f794815aea8659b",
        ),
        (
            Running(CompletedKeys(["step-one"]), pending=StepInstance("step-two")),
            "sha256:ebff5b690b2e156a64f782189d76bc624cbccf5d0791bfba6587ea6878987c08",
        ),
        (Complete(), "sha256:e5839a07041b0c9b886ee2eec70b0f44a8c279b8458d7ee8b0e9b3eb97b0532a"),
    ],
)
def test_golden_snapshots(state: State, digest: str) -> None:
    assert canonical_hash(snapshot_of(state).to_wire()) == digest


def test_a_state_inside_a_loop() -> None:
    state = Running(
        CompletedKeys(["setup", "refine@0::draft", "refine@0::decide"]),
        (LoopFrame("refine", 1, 0),),
        StepInstance("draft", (LoopPosition("refine", 1),)),
    )
    durable = _durable(state)
    assert durable == {
        "kind": "running",
        "completed": {"kind": "set", "values": ["refine@0::decide", "refine@0::draft", "setup"]},
        "loopStack": [{"loopId": "refine", "iteration": 1, "bodyIndex": 0}],
        "pending": {"kind": "some", "step": {"stepId": "draft", "loopPath": [{"loopId": "refine", "iteration": 1}]}},
    }
    assert _restored(state) == state


@pytest.mark.parametrize("state", [Init(), Complete(), Running()])
def test_round_trip(state: State) -> None:
    assert _restored(state) == state


def test_what_the_interpreter_noted_is_not_part_of_a_state() -> None:
    assert Running(progress="a note") == Running()
    assert hash(Running(progress="a note")) == hash(Running())
