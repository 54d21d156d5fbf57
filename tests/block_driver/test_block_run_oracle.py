"""A run and the rules about runs watch each other: break the driver in any way the contract names, and a rule tells."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from block_runs import chain, lanes_of, node, run

from pytest_workrail.locks.sabotage import Sabotage, load_sabotages
from pytest_workrail.systems.blocks import driver
from pytest_workrail.systems.blocks import lanes as merging
from pytest_workrail.systems.blocks.attempts import Attempt
from pytest_workrail.systems.blocks.block_run import BlockRun
from pytest_workrail.systems.blocks.run_state import BlockLog
from pytest_workrail.systems.blocks.workspaces import Workspace
from workrail_lint.systems.blocks.rules import RULES
from workrail_lint.systems.blocks.vocabulary import EventType

ROOT = Path(__file__).resolve().parents[2]
SABOTAGES: dict[str, Sabotage] = {each.name: each for each in load_sabotages(["tests/sabotages/blocks.py"], ROOT)}
GATED = {"gateMode": "gate", "maxRetries": 1, "retryableExitCodes": [75]}

Broken = Callable[[pytest.MonkeyPatch], BlockRun]


def row(**block: Any) -> BlockRun:
    """Two blocks in a row, the first with a gate."""
    return run(chain(node("a", config=GATED), node("b")), **{"gates": {"a": ["continue"]}, **block})


def lanes(strategy: str = "workspace", **block: Any) -> BlockRun:
    """Two lanes that edit one file."""
    return run(
        lanes_of(node("a", "coding"), node("b", "coding"), strategy=strategy),
        repo={"files": {"p.py": "p\n"}},
        replies={"a": {"ticks": 2, "write": {"p.py": "a\n"}}, "b": {"write": {"p.py": "b\n"}}},
        **block,
    )


def held_back(patch: pytest.MonkeyPatch, late: EventType, until: EventType) -> None:
    """Events of one type are only told behind the next one of another."""
    told = BlockLog.emit
    waiting: list[tuple[Any, ...]] = []

    def emit(self: BlockLog, kind: EventType, node: str | None = None, **data: Any) -> None:
        if kind is late:
            waiting.append((kind, node, data))
            return
        told(self, kind, node, **data)
        if kind is until:
            for earlier, whose, said in waiting:
                told(self, earlier, whose, **said)
            waiting.clear()

    patch.setattr(BlockLog, "emit", emit)


def sabotaged(name: str, play: Callable[[], BlockRun]) -> BlockRun:
    with SABOTAGES[name].applied():
        return play()


def late_folder(patch: pytest.MonkeyPatch) -> BlockRun:
    held_back(patch, EventType.FOLDER_CREATED, EventType.NODE_STARTED)
    return row()


def early_start(patch: pytest.MonkeyPatch) -> BlockRun:
    held_back(patch, EventType.NODE_COMPLETED, EventType.NODE_STARTED)
    return run(chain(node("a"), node("b")))


def no_synthetic(patch: pytest.MonkeyPatch) -> BlockRun:
    patch.setattr(Workspace, "put_output", lambda *_: None)
    return row(gates={})


def stray(patch: pytest.MonkeyPatch) -> BlockRun:
    def vandal(workspace: Path, **_: Any) -> None:
        (workspace.parent / "workspace" / "p.py").write_text("vandal")

    return run(lanes_of(node("a", "coding"), node("b", "coding")), {"a": vandal}, repo={"files": {"p.py": "p\n"}})


def silent_conflict(patch: pytest.MonkeyPatch) -> BlockRun:
    held_back(patch, EventType.LANE_CONFLICT, EventType.EXECUTION_STARTED)
    return lanes()


def hasty_copy(patch: pytest.MonkeyPatch) -> BlockRun:
    asked = merging._choices

    def choices(shared: Any, group: str, path_conflicts: Any) -> Any:
        shared.main.put("p.py", b"a\n")
        shared.copies.append({"n": shared.log.n, "groupId": group, "path": "p.py", "lane": "a"})
        return asked(shared, group, path_conflicts)

    patch.setattr(merging, "_choices", choices)
    return lanes("fail-on-conflict", conflicts={"p.py": "a"})


def memory(patch: pytest.MonkeyPatch) -> BlockRun:
    def agent(memory: dict[str, Any], **_: Any) -> dict[str, Any]:
        memory["runs"] = memory.get("runs", 0) + 1
        return {"write": {"count.txt": f"{memory['runs']}\n"}}

    both = chain(node("a", "coding"), node("b", "coding"))
    return run(both, {"a": agent, "b": agent}, check={"stateless": True})


def eleven_revisions(patch: pytest.MonkeyPatch) -> BlockRun:
    patch.setattr(driver, "MAX_REVISIONS", 100)
    return row(gates={"a": [{"revise": "more"}] * 11 + ["continue"]})


def three_tries(patch: pytest.MonkeyPatch) -> BlockRun:
    patch.setattr(Attempt, "may_retry", property(lambda attempt: attempt.retry < 3))
    return row(replies={"a": {"exit": 75}}, gates={})


def one_order_differs(patch: pytest.MonkeyPatch) -> BlockRun:
    return sabotaged("the-order-leaves-a-trace", lambda: lanes(check={"permutations": True}))


BREAKS: dict[str, Broken] = {
    "BC701": late_folder,
    "BC702": early_start,
    "BC703": no_synthetic,
    "BC704": lambda _: sabotaged("variables-are-set-once", row),
    "BC705": stray,
    "BC706": lambda _: sabotaged("the-merge-begins-with-the-first-lane", lanes),
    "BC707": silent_conflict,
    "BC708": lambda _: sabotaged("losers-lose-everything", lambda: lanes_with_more()),
    "BC709": hasty_copy,
    "BC710": memory,
    "BC711": eleven_revisions,
    "BC712": three_tries,
    "BC713": lambda _: sabotaged("lanes-have-one-number", lanes),
    "BC714": one_order_differs,
    "BC715": lambda _: sabotaged("failures-are-asked-about", lambda: row(replies={"a": {"exit": 1}})),
}


def lanes_with_more() -> BlockRun:
    """The lane that loses one file has another one to give."""
    return run(
        lanes_of(node("a", "coding"), node("b", "coding")),
        repo={"files": {"p.py": "p\n"}},
        replies={"a": {"ticks": 2, "write": {"p.py": "a\n", "q.py": "q\n"}}, "b": {"write": {"p.py": "b\n"}}},
    )


def trace_codes(made: BlockRun) -> set[str]:
    return {code for code in made.codes if code.startswith("BC7")}


def test_every_rule_about_runs_is_put_to_the_test() -> None:
    assert set(BREAKS) == {rule.code for rule in RULES.infos if rule.code.startswith("BC7")}


@pytest.mark.parametrize("play", [row, lanes, lanes_with_more], ids=lambda play: play.__name__)
def test_a_sound_driver_breaks_no_rule(play: Callable[[], BlockRun]) -> None:
    assert trace_codes(play()) == set()


@pytest.mark.parametrize("code", BREAKS)
def test_a_broken_driver_is_found_out(code: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert code in trace_codes(BREAKS[code](monkeypatch))
