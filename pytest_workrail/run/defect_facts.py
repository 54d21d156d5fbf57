"""What the IR alone says about the engine's defects."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import Any

from pytest_workrail.engine.core.index import IrIndex
from pytest_workrail.engine.core.loop_gate import is_gate
from pytest_workrail.engine.core.prompts import last_step_id
from workrail_lint.base import js
from workrail_lint.base.patterns import Pattern
from workrail_lint.base.result import Ok

_ROOT = Pattern(r"\{\{(?!wr\.)([A-Za-z_][A-Za-z0-9_]*)(?:\.[A-Za-z0-9_.]+)?\}\}")


class DocumentFacts:
    """Looked up for every exchange of a run, computed once where needed."""

    def __init__(self, index: IrIndex) -> None:
        self.index = index
        self.definitions = index.definitions

    @cached_property
    def generated(self) -> set[str]:
        """The steps that the public engine selects but has not pinned."""
        return {
            step_id
            for step_id, step in self.definitions.items()
            if step["provenance"]["source"] == "virtual" and not is_gate(step)
        }

    @cached_property
    def unset_loop_variables(self) -> set[str]:
        """Steps of bodies by reference that read a variable of their loop."""
        return {
            step["id"]
            for loop in self.index.loops.values()
            if "bodyRef" in loop
            for step in loop["body"]
            if self.variables(step["id"]) & set(loop["loop"]["variables"].values())
        }

    @cached_property
    def misplaced_metrics(self) -> set[str]:
        """The steps whose prompt has the final metrics here or there, but not in both engines."""
        ir = self.index.ir
        if ir.get("metricsProfile", "none") == "none" or not ir["steps"]:
            return set()
        last = ir["steps"][-1]
        if last["type"] == "loop":
            shown = last_step_id(ir)
            return {shown} if last.get("bodyRef") == "earlier" and shown is not None else set()
        return {last["provenance"]["origin"].partition("#")[0]} if last["id"] in self.generated else set()

    def variables(self, step_id: str) -> set[str]:
        """The variables that the texts of a step show."""
        step = self.definitions[step_id]
        texts = [step["title"], step.get("prompt", ""), *(each["text"] for each in step.get("fragments", ()))]
        return {name for text in texts if "{{" in text for name in _ROOT.findall(text)}

    @staticmethod
    def contract(step: dict[str, Any] | None) -> str | None:
        """The contract of a step's output."""
        ref = (step or {}).get("output", {}).get("contract", {}).get("ref")
        return None if ref is None else str(ref)

    @staticmethod
    def messages(step: dict[str, Any] | None) -> Iterator[str]:
        """What the criteria of a step say when they fail."""
        stack = [(step or {}).get("output", {}).get("criteria")]
        while stack:
            node = stack.pop()
            if isinstance(node, list):
                stack += node
            elif isinstance(node, dict):
                if isinstance(node.get("message"), str):
                    yield js.text(node["message"])
                stack += [node[name] for name in ("and", "or", "not") if name in node]

    @staticmethod
    def fails_criteria(step: dict[str, Any] | None, notes: str, context: dict[str, Any]) -> bool:
        """Whether notes do not meet the criteria of a step."""
        criteria = (step or {}).get("output", {}).get("criteria")
        if criteria is None:
            return False
        from pytest_workrail.engine.core.criteria import evaluate_criteria

        verdict = evaluate_criteria(criteria, notes, context)
        return isinstance(verdict, Ok) and not verdict.value.valid
