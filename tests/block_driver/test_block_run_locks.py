"""One test for every lock of the block contract: the run bears witness to it, and what it promises holds."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from block_runs import chain, codes, data, edge, group, lanes_of, node, run, types, workflow

from pytest_workrail.systems.blocks.block_run import BlockRun
from workrail_lint.systems.blocks.prompts import BLOCK_SCOPE, NAMES

FILES = {"src/p.py": "p\n", "src/a.py": "a\n"}


def clash(strategy: str | None = None, **block: Any) -> BlockRun:
    """Two lanes that both edit src/p.py; b, listed second, finishes first."""
    return run(
        lanes_of(node("a", "coding"), node("b", "coding"), strategy=strategy),
        repo={"files": FILES, "git": "clean"},
        replies={
            "a": {"ticks": 5, "write": {"src/p.py": "from a\n", "src/a.py": "a2\n"}},
            "b": {"ticks": 3, "write": {"src/p.py": "from b\n", "src/n.py": "n\n"}},
        },
        **block,
    )


@pytest.mark.enforces("block-output-folder-first")
def test_the_output_folder_is_there_when_the_first_block_starts() -> None:
    seen: list[bool] = []

    def agent(workspace: Path, **_: Any) -> None:
        seen.append((workspace / ".output").is_dir())

    made = run(chain(node("a")), {"a": agent})
    assert seen == [True]
    assert types(made)[1:3] == ["folder_created", "node_started a"]
    assert "block-output-folder-first" in made.locks


@pytest.mark.enforces("block-output-required")
def test_a_block_without_output_gets_one_that_says_so(tmp_path: Path) -> None:
    made = run(chain(node("a")), replies={"a": {"output": "none"}}, keep=tmp_path)
    written = json.loads((tmp_path / ".output" / "block-a.json").read_text())
    assert (written["status"], written["summary"]) == ("failed", "No output file was written by block a.")
    assert "block-output-required" in made.locks


@pytest.mark.enforces("block-output-malformed-fails")
@pytest.mark.parametrize("raw", ["", "[]", "{not json", "\ud800", '{"blockId": "a"}'])
def test_a_broken_output_is_set_aside(raw: str, tmp_path: Path) -> None:
    made = run(chain(node("a")), replies={"a": {"raw": raw}}, keep=tmp_path)
    kept = tmp_path / ".output" / "block-a.json.rejected"
    assert kept.is_file()
    assert kept.read_bytes() == raw.encode("utf-8", "surrogatepass")
    assert made.nodes == {"a": "failed"}
    assert {"block-output-malformed-fails"} <= set(made.locks)


@pytest.mark.enforces("block-id-equals-node")
def test_an_output_of_another_block_is_rejected() -> None:
    made = run(chain(node("a")), replies={"a": {"output": {"blockId": "b"}}})
    assert made.steps[0]["synthetic"] == "mismatch"
    assert made.steps[0]["output"]["blockId"] == "a"
    assert "block-id-equals-node" in made.locks


FIVE = """Rules:
- Be brief.

You plan.

Plan it.

Only modify files matching: src/**. Other files are read-only.

You must produce the following outputs:
1) A list
2) A date"""


def planner(**config: Any) -> dict[str, Any]:
    checklist = {"outputChecklist": ["A list", " ", "A date"]}
    return workflow(node("a", prompt="\nPlan it.\n", config={**checklist, **config}), rules=["Be brief."])


@pytest.mark.enforces("block-prompt-order")
def test_five_sections_in_their_order() -> None:
    made = run(planner(systemPromptPrefix="You plan."), repo={"restrictions": ["src/**"]})
    assert made.steps[0]["prompt"] == FIVE
    assert "block-prompt-order" in made.locks


@pytest.mark.enforces("block-prompt-omission")
def test_a_section_that_is_not_there_leaves_no_trace() -> None:
    made = run(planner(systemPromptPrefix=" \n"), repo={"restrictions": [""]})
    left = [text for text in FIVE.split("\n\n") if not text.startswith(("You plan", "Only"))]
    assert made.steps[0]["prompt"] == "\n\n".join(left)
    assert "block-prompt-omission" in made.locks


@pytest.mark.enforces("block-prompt-no-previous")
def test_no_prompt_holds_an_earlier_output() -> None:
    summary = "Three tasks: a form, a route and a test of both."
    made = run(chain(node("a"), node("b", prompt="Go on.")), replies={"a": {"output": {"summary": summary}}})
    assert made.steps[1]["prompt"] == "Go on."
    assert "block-prompt-no-previous" in made.locks


@pytest.mark.enforces("block-env-nine")
def test_every_block_is_given_nine_texts() -> None:
    made = run(chain(node("a"), node("b")), repo={"restrictions": ["a b", "ü"]}, telemetry=False, execution="run-7")
    for step in made.trace["steps"]:
        assert tuple(step["env"]) == NAMES
    assert made.trace["steps"][1]["env"] == {
        "WORKFLOW_ID": "login",
        "EXECUTION_ID": "run-7",
        "NODE_ID": "b",
        "STEP_INDEX": "1",
        "FILE_RESTRICTIONS": '["a b","ü"]',
        "TELEMETRY_ENABLED": "0",
        "TELEMETRY_URL": "http://localhost:9292/telemetry",
        "OUTPUT_DIR": "/workspace/.output",
        "PREVIOUS_BLOCK_ID": "a",
    }
    assert "block-env-nine" in made.locks


@pytest.mark.enforces("block-previous-chain")
def test_the_chain_of_previous_blocks() -> None:
    edges = [edge("a", "c"), edge("a", "b"), edge("b", "d"), edge("c", "d"), edge("d", "e")]
    made = run(workflow(*(node(name) for name in "abcde"), edges=edges, parallelGroups=[group("c", "b")]))
    previous = {step["node"]: step["env"]["PREVIOUS_BLOCK_ID"] for step in made.steps}
    assert previous == {"a": "", "c": "a", "b": "a", "d": "b", "e": "d"}
    assert "block-previous-chain" in made.locks


@pytest.mark.enforces("block-env-fresh-when-warm")
def test_a_warm_container_shows_no_block_what_was_another_ones() -> None:
    seen: list[dict[str, str]] = []
    memories: list[int] = []

    def agent(env: dict[str, str], memory: dict[str, Any], **_: Any) -> None:
        seen.append({name: env[name] for name in BLOCK_SCOPE})
        memories.append(id(memory))

    made = run(chain(node("a"), node("b"), node("c")), dict.fromkeys("abc", agent), containers="warm")
    assert len(set(memories)) == 1
    assert seen == [
        {"NODE_ID": "a", "STEP_INDEX": "0", "PREVIOUS_BLOCK_ID": ""},
        {"NODE_ID": "b", "STEP_INDEX": "1", "PREVIOUS_BLOCK_ID": "a"},
        {"NODE_ID": "c", "STEP_INDEX": "2", "PREVIOUS_BLOCK_ID": "b"},
    ]
    assert "block-env-fresh-when-warm" in made.locks


def remember(memory: dict[str, Any], **_: Any) -> None:
    memory["told"] = True


def recall(memory: dict[str, Any], **_: Any) -> dict[str, Any]:
    return {"write": {"src/t.py": "yes\n" if memory.get("told") else "no\n"}}


@pytest.mark.enforces("block-stateless")
def test_what_depends_on_memory_is_noticed_and_what_does_not_is_no_trouble() -> None:
    definition = chain(node("a"), node("b", "coding"))
    forgetful = run(definition, {"a": remember, "b": recall}, check={"stateless": True})
    assert [finding.code for finding in forgetful.findings if finding.code.startswith("BC7")] == ["BC710"]
    assert "block-stateless" not in forgetful.locks
    made = run(definition, {"a": remember}, replies={"b": {"write": {"src/t.py": "no\n"}}}, check={"stateless": True})
    assert made.codes == []
    assert "block-stateless" in made.locks


@pytest.mark.enforces("block-lane-isolation")
@pytest.mark.parametrize("git", ["clean", "none"])
def test_lanes_see_their_own_edits_only(git: str) -> None:
    seen: dict[str, str] = {}

    def agent(env: dict[str, str], workspace: Path, **_: Any) -> None:
        place = workspace / "src" / "p.py"
        seen[env["NODE_ID"]] = place.read_text()
        place.write_text(f"from {env['NODE_ID']}\n")

    lanes = lanes_of(*(node(name, "coding") for name in "abc"))
    made = run(lanes, dict.fromkeys("abc", agent), repo={"files": FILES, "git": git})
    assert seen == dict.fromkeys("abc", "p\n")
    hashes = [each["src/p.py"] for each in made.trace["fanIns"][0]["content"]["lanes"].values()]
    assert len(set(hashes)) == 3
    assert "block-lane-isolation" in made.locks


@pytest.mark.enforces("block-lane-identity")
def test_lanes_are_of_one_run_and_can_be_told_apart() -> None:
    made = clash()
    envs = [step["env"] for step in made.trace["steps"]]
    assert len({(env["WORKFLOW_ID"], env["EXECUTION_ID"]) for env in envs}) == 1
    assert [(env["NODE_ID"], env["STEP_INDEX"]) for env in envs] == [("a", "0"), ("b", "1")]
    assert "block-lane-identity" in made.locks


@pytest.mark.enforces("block-fan-in-waits")
def test_the_merge_waits_for_the_slow_lane() -> None:
    made = clash()
    assert types(made)[4:7] == ["lane_settled b", "lane_settled a", "fan_in"]
    assert "block-fan-in-waits" in made.locks


@pytest.mark.enforces("block-concatenate-no-merge")
def test_concatenating_applies_nothing(tmp_path: Path) -> None:
    made = clash("concatenate", keep=tmp_path)
    assert made.files == FILES
    assert {path.name for path in (tmp_path / ".output").iterdir()} == {"block-a.json", "block-b.json"}
    assert "block-concatenate-no-merge" in made.locks


@pytest.mark.enforces("block-first-complete-wins")
def test_the_first_to_finish_wins() -> None:
    made = clash()
    assert made.files["src/p.py"] == "from b\n"
    [told] = data(made, "lane:conflict-detected")
    assert (told["lanes"], told["appliedFrom"]) == (["b", "a"], "b")
    assert "block-first-complete-wins" in made.locks


@pytest.mark.enforces("block-non-clashing-kept")
def test_who_loses_one_file_keeps_the_others() -> None:
    made = clash()
    assert made.files["src/a.py"] == "a2\n"
    assert "block-non-clashing-kept" in made.locks


@pytest.mark.enforces("block-fail-on-conflict-pauses")
def test_nothing_is_applied_before_a_person_has_chosen() -> None:
    waiting = clash("fail-on-conflict")
    assert (waiting.execution_status, waiting.files) == ("paused", FILES)
    made = clash("fail-on-conflict", conflicts={"src/p.py": "a"})
    assert made.files["src/p.py"] == "from a\n"
    decided = next(event["n"] for event in made.events if event["type"] == "gate_decided")
    assert all(copy["n"] > decided for copy in made.trace["copies"])
    assert "block-fail-on-conflict-pauses" in made.locks


@pytest.mark.enforces("block-order-pure")
@pytest.mark.parametrize("strategy", ["concatenate", "workspace", "fail-on-conflict"])
def test_every_order_gives_the_same_but_for_who_wins(strategy: str) -> None:
    choices = {"src/p.py": "a"} if strategy == "fail-on-conflict" else {}
    made = clash(strategy, conflicts=choices, check={"permutations": True})
    assert len(made.trace["permutations"]) == 3
    assert not [code for code in made.codes if code.startswith("BC7")]
    assert "block-order-pure" in made.locks


@pytest.mark.enforces("block-gate-revise")
def test_a_block_is_revised_ten_times_at_most() -> None:
    answers: list[Any] = [{"revise": f"number {n}"} for n in range(11)]
    made = run(chain(node("a", config={"gateMode": "gate"})), gates={"a": [*answers, "continue"]})
    assert len(data(made, "block_revision")) == 10
    assert codes(made.blockers) == ["BLOCK_REVISIONS_EXHAUSTED"]
    assert made.steps[-1]["prompt"].endswith("Revision feedback:\nnumber 9")
    assert made.execution_status == "completed"
    assert "block-gate-revise" in made.locks


@pytest.mark.enforces("block-failed-no-gate")
def test_nobody_is_asked_about_a_block_that_failed() -> None:
    made = run(chain(node("a", config={"gateMode": "gate"})), replies={"a": {"exit": 1}})
    assert "block_gate_open a" not in types(made)
    assert "block-failed-no-gate" in made.locks


@pytest.mark.enforces("block-restrictions-reported")
@pytest.mark.parametrize("enforce", ["prompt", "hook"])
def test_a_forbidden_edit_is_reported_or_refused(enforce: str) -> None:
    made = run(
        chain(node("a", "coding")),
        enforce=enforce,
        repo={"files": {"docs/x.md": "x\n"}, "restrictions": ["src/**"]},
        replies={"a": {"write": {"docs/x.md": "y\n", "src/a.py": "a\n"}}},
    )
    is_refused = made.files["docs/x.md"] == "x\n"
    assert is_refused == (enforce == "hook")
    assert ("BC609" in made.codes) == (enforce == "prompt")
    assert "block-restrictions-reported" in made.locks
