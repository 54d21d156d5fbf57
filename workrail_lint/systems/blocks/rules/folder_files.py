"""BC601 to BC604, BC607 and BC611: which files an output folder contains, and which it should."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

from workrail_lint.findings import Severity
from workrail_lint.rules.base import Example, Report
from workrail_lint.systems.blocks.documents import BlockKind
from workrail_lint.systems.blocks.environment import previous_block
from workrail_lint.systems.blocks.paths import REJECTED_SUFFIX, output_name
from workrail_lint.systems.blocks.rules.base import CONTRACT, DECIDED, BlockRule
from workrail_lint.systems.blocks.rules.samples import (
    WORKFLOW_PATH,
    edge,
    env_path,
    environment,
    node,
    output,
    output_path,
    workflow,
)
from workrail_lint.systems.blocks.units import Unit, UnitFile
from workrail_lint.systems.blocks.wording import shown


class FolderRule(BlockRule):
    """A rule about an output folder as a whole."""

    kinds = (BlockKind.FOLDER,)


def _chain() -> dict[str, Any]:
    """Three nodes in a row: a planner, a coder and a reviewer."""
    nodes = (node("a"), node("b", "coding", "Build it."), node("c", "reviewer", "Review it."))
    return workflow(*nodes, edges=[edge("a", "b"), edge("b", "c")])


def _done(ident: str, kind: str, minute: int) -> dict[str, Any]:
    return output(ident, kind, timestamp=f"2026-03-01T10:{minute:02d}:00Z")


CHAIN: dict[str, Any] = {
    WORKFLOW_PATH: _chain(),
    output_path("a"): _done("a", "plan", 0),
    output_path("b"): _done("b", "dev", 1),
    output_path("c"): _done("c", "review", 2),
}
"""A definition and the outputs of a run that went well."""


def without(*paths: str) -> dict[str, Any]:
    return {path: value for path, value in CHAIN.items() if path not in paths}


class FolderForeignFile(FolderRule):
    code = "BC601"
    name = "folder-foreign-file"
    severity = Severity.WARNING
    origin = DECIDED
    summary = "The output folder contains something that is not an output."
    why = "Only outputs are collected from lanes and read by later blocks; other files are lost or in the way."

    def check_unit(self, unit: Unit, report: Report) -> None:
        for path in unit.folder.foreign:
            report(
                "",
                f"{shown(os.path.basename(path))} is not an output; the folder may contain only 'block-<id>.json'",
                path=path,
            )

    def examples(self) -> Iterator[Example]:
        yield Example(
            "Remember the milk.\n",
            "{not json",
            path=".output/notes.md",
            files=CHAIN,
            options={"good_path": ".output/block-b.json.rejected"},
        )


class OutputUnknownNode(FolderRule):
    code = "BC602"
    name = "output-unknown-node"
    severity = Severity.ERROR
    origin = CONTRACT
    summary = "An output belongs to no agent node of the definition."
    why = "It is left over from another run or has a wrong id; the block that it was meant for counts as missing."

    def check_unit(self, unit: Unit, report: Report) -> None:
        if unit.definition is None or unit.hides_blocks:
            return
        for ident, file in unit.outputs.items():
            found = unit.definition.by_id.get(ident)
            if found is None or found.is_control:
                what = (
                    "is a control node, which has no output" if found is not None else "is not a node of the definition"
                )
                report("/blockId", f"{shown(ident)} {what}", path=file.path)

    def examples(self) -> Iterator[Example]:
        yield Example(
            output("zz"),
            output("b"),
            path=output_path("zz"),
            files=without(output_path("b")),
            options={"good_path": output_path("b")},
        )


class OutputGap(FolderRule):
    code = "BC603"
    name = "output-gap"
    severity = Severity.ERROR
    origin = CONTRACT
    summary = "The output of a block that must have run is missing, although later blocks ran."
    why = "Every block leaves a file, even a failed one; a gap means that the run continued without a result."

    def check_unit(self, unit: Unit, report: Report) -> None:
        plan = unit.plan
        if plan is None:
            return
        latest = max((plan.position[ident] for ident in unit.outputs if ident in plan.position), default=-1)
        for ident in sorted(unit.due, key=lambda due: plan.step_index[due]):
            if plan.position[ident] < latest:
                report(
                    "",
                    f"the block {shown(ident)} must have run, but {output_name(ident)} is missing",
                    path=unit.folder.path,
                )

    def examples(self) -> Iterator[Example]:
        yield Example(
            CHAIN[output_path("c")],
            CHAIN[output_path("b")],
            path=output_path("c"),
            files=without(output_path("b"), output_path("c")),
            options={"good_path": output_path("b"), "found_at": ".output"},
        )


class PreviousOutputMissing(FolderRule):
    code = "BC604"
    name = "previous-output-missing"
    severity = Severity.ERROR
    origin = CONTRACT
    summary = "The previous block of a block that ran has no output."
    why = "The agent is sent to a file that does not exist, and works without what it should build on."

    def check_unit(self, unit: Unit, report: Report) -> None:
        recorded: set[str] = set()
        for ident, file in unit.environments.items():
            previous = file.value.get("PREVIOUS_BLOCK_ID") if isinstance(file.value, dict) else None
            if isinstance(previous, str):
                recorded.add(ident)
                if previous and previous not in unit.outputs and self._has_folder(unit):
                    report("/PREVIOUS_BLOCK_ID", _missing(ident, previous), path=file.path)
        definition, plan = unit.definition, unit.plan
        if definition is None or plan is None:
            return
        for ident, file in unit.outputs.items():
            if ident in recorded or ident not in plan.position:
                continue
            previous = previous_block(definition, plan, ident, unit.ran)
            if previous and previous not in unit.outputs:
                report("", _missing(ident, previous), path=file.path)

    @staticmethod
    def _has_folder(unit: Unit) -> bool:
        """Whether outputs were looked for; a record alone does not show that."""
        return bool(unit.folder.path)

    def examples(self) -> Iterator[Example]:
        yield Example(
            environment("b", "1", "a"),
            environment("b", "1", ""),
            path=env_path("b"),
            files={output_path("b"): CHAIN[output_path("b")]},
        )


def _missing(ident: str, previous: str) -> str:
    return f"{shown(ident)} follows {shown(previous)}, but {output_name(previous)} is missing"


class BlockIdRepeated(FolderRule):
    code = "BC607"
    name = "block-id-repeated"
    severity = Severity.ERROR
    origin = DECIDED
    summary = "Two outputs claim to be of the same block."
    why = "One of them hides the result of another block, which counts as missing."

    def check_unit(self, unit: Unit, report: Report) -> None:
        sharing: dict[str, list[UnitFile]] = {}
        for file in unit.all_outputs:
            ident = file.value.get("blockId") if isinstance(file.value, dict) else None
            if isinstance(ident, str):
                sharing.setdefault(ident, []).append(file)
        for ident, files in sharing.items():
            right = unit.outputs.get(ident)
            owner = right if right in files else files[0]
            for file in files:
                if file is not owner:
                    names = " and ".join(
                        shown(os.path.basename(each.path)) for each in (file, owner) if each is not None
                    )
                    report("/blockId", f"{names} both have the block id {shown(ident)}", path=file.path)

    def examples(self) -> Iterator[Example]:
        yield Example(output("a"), output("b"), path=output_path("b"), files={output_path("a"): output("a", "plan")})


class RejectedPresent(FolderRule):
    code = "BC611"
    name = "rejected-present"
    severity = Severity.INFO
    origin = DECIDED
    summary = "The output folder contains a file that was rejected as unusable."
    why = "The block that wrote it counts as failed; the file shows what was wrong."

    def check_unit(self, unit: Unit, report: Report) -> None:
        for path in unit.folder.rejected:
            ident = os.path.basename(path)[len("block-") : -len(f".json{REJECTED_SUFFIX}")]
            report("", f"the output of {shown(ident)} was rejected as unusable", path=path)

    def examples(self) -> Iterator[Example]:
        yield Example(
            "{not json",
            CHAIN[output_path("b")],
            path=".output/block-b.json.rejected",
            files=without(output_path("b")),
            options={"good_path": output_path("b")},
        )
