"""BC609, BC610 and BC613 to BC616: the files that the outputs of a folder list."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from workrail_lint.findings import Severity
from workrail_lint.rules.base import Example, Report
from workrail_lint.systems.blocks.documents import BlockKind
from workrail_lint.systems.blocks.merging import created, reported
from workrail_lint.systems.blocks.model.documents import StudioWorkflow
from workrail_lint.systems.blocks.outputs import discrepancy
from workrail_lint.systems.blocks.paths import is_allowed, is_below_output, is_rel_path, normalized
from workrail_lint.systems.blocks.plan import Lanes, Plan
from workrail_lint.systems.blocks.rules.base import CONTRACT, DECIDED, ENGINES, BlockDocument, BlockRule
from workrail_lint.systems.blocks.rules.environments import patterns_in
from workrail_lint.systems.blocks.rules.folder_files import CHAIN, FolderRule, without
from workrail_lint.systems.blocks.rules.folder_outputs import GROUP_FILES
from workrail_lint.systems.blocks.rules.samples import MOUNT_PATH, TRACE_PATH, lane, mount, output, output_path
from workrail_lint.systems.blocks.units import Unit, UnitFile
from workrail_lint.systems.blocks.vocabulary import texts_of
from workrail_lint.systems.blocks.wording import shown, shown_list

_LISTS = ("filesModified", "filesCreated")
# Paths times patterns: far above any project, and a limit for files made to keep the linter busy.
_MOST_LOOKS = 500_000
_B = output_path("b")


def listed_files(unit: Unit) -> Iterator[tuple[str, UnitFile, str, str]]:
    """Node, file, pointer and normalized path of everything that the outputs list."""
    for ident, file in unit.outputs.items():
        for name in _LISTS if isinstance(file.value, dict) else ():
            for at, path in texts_of(file.value.get(name)):
                yield ident, file, f"/{name}/{at}", normalized(path)


class RestrictedPath(FolderRule):
    code = "BC609"
    name = "restricted-path"
    severity = Severity.ERROR
    origin = CONTRACT
    summary = "A block edited a file that no restriction allows."
    why = "Restrictions say what a run may change; an edit elsewhere was never agreed to."

    def check_unit(self, unit: Unit, report: Report) -> None:
        known: dict[str, list[str] | None] = {}
        looks = 0
        for ident, file, pointer, path in listed_files(unit):
            if ident not in known:
                known[ident] = _restrictions(unit, ident)
            patterns = known[ident]
            if not patterns or not is_rel_path(path):
                continue
            looks += len(patterns)
            if looks > _MOST_LOOKS:
                return
            if not is_allowed(path, patterns):
                report(
                    pointer, f"{shown(path)} matches none of the restrictions {shown_list(patterns)}", path=file.path
                )

    def examples(self) -> Iterator[Example]:
        files: dict[str, Any] = {**without(_B), MOUNT_PATH: mount(fileRestrictions=["src/**"])}
        good = CHAIN[_B]
        yield Example({**good, "filesModified": ["docs/a.md"]}, good, path=_B, files=files)


def _restrictions(unit: Unit, ident: str) -> list[str] | None:
    """The restrictions a block ran under: those of the mount, else those its environment names."""
    if unit.restrictions is not None or ident not in unit.environments:
        return unit.restrictions
    values = unit.environments[ident].value
    return patterns_in(values.get("FILE_RESTRICTIONS")) if isinstance(values, dict) else None


class ReadOnlyPath(FolderRule):
    code = "BC610"
    name = "read-only-path"
    severity = Severity.ERROR
    origin = ENGINES
    summary = "A block edited a file of a read-only mount."
    why = "The reported edits can't exist: the write was refused, or the mount was not what it should be."

    def check_unit(self, unit: Unit, report: Report) -> None:
        for _, file, pointer, path in listed_files(unit) if unit.is_read_only else ():
            if not is_below_output(path):
                report(pointer, f"{shown(path)} can't have been edited: the mount is read-only", path=file.path)

    def examples(self) -> Iterator[Example]:
        files: dict[str, Any] = {output_path("r"): output("r", "review"), MOUNT_PATH: mount(readOnly=True)}
        bad = output("s", "review", filesModified=["a.py"])
        yield Example(bad, output("s", "review"), path=output_path("s"), files=files)


class CreatedTwice(FolderRule):
    code = "BC613"
    name = "created-twice"
    severity = Severity.WARNING
    origin = DECIDED
    summary = "Two sequential blocks both report that they created the same file."
    why = "The later block overwrote the file, or one of the two reports is wrong."

    def check_unit(self, unit: Unit, report: Report) -> None:
        definition, plan = unit.definition, unit.plan
        if definition is None or plan is None:
            return
        makers: dict[str, list[str]] = {}
        ways = _Ways(definition)
        for ident in sorted(unit.outputs, key=lambda found: plan.step_index.get(found, -1)):
            value = unit.outputs[ident].value
            if ident not in plan.position or not isinstance(value, dict):
                continue
            places = {normalized(path): at for at, path in texts_of(value.get("filesCreated"))}
            for path in created(value):
                before = [maker for maker in makers.get(path, ()) if ways.lead(maker, ident)]
                if before:
                    text = f"{shown(path)} is created by {shown(ident)}, but {shown(before[-1])} already created it"
                    report(f"/filesCreated/{places[path]}", text, path=unit.outputs[ident].path)
                makers.setdefault(path, []).append(ident)

    def examples(self) -> Iterator[Example]:
        first = {**CHAIN[output_path("a")], "filesCreated": ["x.py"]}
        files = {**without(_B), output_path("a"): first}
        good = CHAIN[_B]
        yield Example({**good, "filesCreated": ["x.py"]}, {**good, "filesModified": ["x.py"]}, path=_B, files=files)


class _Ways:
    """Which nodes transitions lead to, worked out once for each start."""

    def __init__(self, definition: StudioWorkflow) -> None:
        self._following: dict[str, list[str]] = {}
        for edge in definition.edges:
            self._following.setdefault(edge.source, []).append(edge.target)
        self._reached: dict[str, set[str]] = {}

    def lead(self, start: str, end: str) -> bool:
        if start not in self._reached:
            seen: set[str] = set()
            queue = [start]
            for ident in queue:
                new = [target for target in self._following.get(ident, ()) if target not in seen]
                seen.update(new)
                queue += new
            self._reached[start] = seen
        return end in self._reached[start]


class SequentialOverlapWithLane(FolderRule):
    code = "BC614"
    name = "sequential-overlap-with-lane"
    severity = Severity.INFO
    origin = DECIDED
    summary = "The block right after a group edits a file that a lane edited too."
    why = "That may be its task, but it can also hide the result of a faulty merge."

    def check_unit(self, unit: Unit, report: Report) -> None:
        plan = unit.plan
        for before, after in _behind_groups(plan) if plan is not None else ():
            file = unit.outputs.get(after)
            if file is None or not isinstance(file.value, dict):
                continue
            places = {path: pointer for ident, _, pointer, path in listed_files(unit) if ident == after}
            for ident in before:
                value = unit.outputs[ident].value if ident in unit.outputs else None
                for path in reported(value) if isinstance(value, dict) else ():
                    if path in places:
                        report(places[path], f"{shown(path)} was edited by the lane {shown(ident)} too", path=file.path)

    def examples(self) -> Iterator[Example]:
        files = {path: value for path, value in GROUP_FILES.items() if path != output_path("d")}
        files[output_path("a")] = lane("a", 2, "p.py")
        yield Example(lane("d", 3, "p.py"), lane("d", 3, "d.py"), path=output_path("d"), files=files)


def _behind_groups(plan: Plan) -> Iterator[tuple[tuple[str, ...], str]]:
    """The lanes of each group and the single node right after it."""
    for before, after in zip(plan.entries, plan.entries[1:], strict=False):
        if isinstance(before, Lanes) and not isinstance(after, Lanes):
            yield before.nodes, after.node


class ListedFileAbsent(FolderRule):
    code = "BC615"
    name = "listed-file-absent"
    severity = Severity.WARNING
    origin = DECIDED
    summary = "A listed file is not in the workspace, or only through a link that leaves it (workspace known)."
    why = "The report is wrong, the file was lost in a merge, or the edit changed a file outside the workspace."

    def check_unit(self, unit: Unit, report: Report) -> None:
        for _, file, pointer, path in listed_files(unit) if unit.tree is not None else ():
            if not is_rel_path(path) or is_below_output(path) or unit.tree is None:
                continue
            link = unit.tree.way_out(path)
            if link is not None:
                report(pointer, f"{shown(path)} leaves the workspace through the link {shown(link)}", path=file.path)
            elif not unit.tree.holds(path):
                report(pointer, f"{shown(path)} is not in the workspace", path=file.path)

    def examples(self) -> Iterator[Example]:
        files: dict[str, Any] = {**without(_B), "src/a.py": "x = 1\n"}
        good = CHAIN[_B]
        yield Example(
            {**good, "filesModified": ["src/gone.py"]}, good, path=_B, files=files, options={"block-tree": "."}
        )


class ReportedNotDetected(BlockRule):
    code = "BC616"
    name = "reported-not-detected"
    severity = Severity.WARNING
    origin = CONTRACT
    summary = "The files that a block reports are not those that changed (known from the trace of a run)."
    why = "Merging and review use the report: an unreported file is lost with the lane, or passes unseen."
    kinds = (BlockKind.TRACE,)

    def check_document(self, document: BlockDocument, report: Report) -> None:
        steps = document.value.get("steps")
        for at, step in enumerate(steps if isinstance(steps, list) else ()):
            detected = step.get("detected") if isinstance(step, dict) else None
            output_value = step.get("output") if isinstance(step, dict) else None
            if not isinstance(detected, list) or not isinstance(output_value, dict) or step.get("synthetic"):
                continue
            found = discrepancy(output_value, [path for _, path in texts_of(detected)])
            if found is not None:
                parts = [f"{shown_list(found.unreported)} changed without being reported"] if found.unreported else []
                parts += [f"{shown_list(found.unchanged)} reported without having changed"] if found.unchanged else []
                report(f"/steps/{at}/detected", f"{shown(step.get('node'))}: {', '.join(parts)}")

    def examples(self) -> Iterator[Example]:
        def trace(*changed: str) -> dict[str, Any]:
            step = {"node": "b", "stepIndex": 0, "output": output("b", filesModified=list(changed))}
            return {"steps": [{**step, "synthetic": None, "detected": ["a.py"]}]}

        yield Example(trace(), trace("a.py"), path=TRACE_PATH)
