"""The interpreter by the letter of its description: no index, no sharing, every scan from the first step.

Slow and obvious on purpose; the real one must not be told apart from it.
"""

from __future__ import annotations

from typing import Any

from pytest_workrail.engine.core.conditions import evaluate
from pytest_workrail.engine.core.index import contract_packs
from pytest_workrail.engine.model.step_keys import LoopPosition, step_key
from workrail_lint.systems.workrail.model.build import program_model


class LiteralError(Exception):
    def __init__(self, code: str) -> None:
        super().__init__(code)
        self.code = code


class LiteralRun:
    def __init__(self, ir: dict[str, Any]) -> None:
        self.steps = ir["steps"]
        self.packs = contract_packs(program_model(ir))
        self.completed: list[str] = []
        self.stack: list[list[Any]] = []
        self.pending: tuple[str, tuple[LoopPosition, ...]] | None = None

    def complete(self) -> None:
        assert self.pending is not None
        self.completed.append(step_key(*self.pending))
        self.pending = None

    def next(self, context: dict[str, Any], artifacts: list[Any]) -> bool | str:
        """True when a step is pending, False when the run is complete, the code of an error otherwise."""
        try:
            return self._search(context, artifacts)
        except LiteralError as error:
            return error.code

    def _search(self, context: dict[str, Any], artifacts: list[Any]) -> bool:
        for _ in range(10_000):
            if self.stack:
                self._in_loop(context, artifacts)
                if self.pending:
                    return True
                if self.stack:
                    continue
            self._top_level(context)
            if self.pending:
                return True
            if not self.stack:
                return False
        raise LiteralError("InvalidState")

    def _top_level(self, context: dict[str, Any]) -> None:
        for step in self.steps:
            if step["id"] in self.completed or not evaluate(step.get("runCondition"), context):
                continue
            if step["type"] == "loop":
                self.stack.append([step, 0, 0])
            else:
                self.pending = (step["id"], ())
            return

    def _in_loop(self, context: dict[str, Any], artifacts: list[Any]) -> None:
        loop, iteration, body_index = self.stack[-1]
        body, limit = loop["body"], loop["loop"]["maxIterations"]
        if not body or limit != int(limit):
            raise LiteralError("InvalidLoop")
        if iteration >= limit:
            raise LiteralError("InvalidState")
        if self._should_enter(loop, iteration, context, artifacts):
            path = (LoopPosition(loop["id"], iteration),)
            projected = self._project(loop, iteration, context)
            for index in range(body_index, len(body)):
                step = body[index]
                if step_key(step["id"], path) in self.completed:
                    continue
                if evaluate(step.get("runCondition"), projected):
                    self.stack[-1][2] = index
                    self.pending = (step["id"], path)
                    return
            following = iteration + 1
            if following < limit and self._should_enter(loop, following, context, artifacts):
                self.stack[-1] = [loop, following, 0]
                return
        self.stack.pop()
        self.completed.append(loop["id"])

    def _project(self, loop: dict[str, Any], iteration: int, context: dict[str, Any]) -> dict[str, Any]:
        names = loop["loop"]["variables"]
        projected = {**context, names["iteration"]: iteration + 1}
        if loop["loop"]["kind"] == "forEach":
            items = context[loop["loop"]["source"]["variable"]]
            projected[names["index"]] = iteration
            projected[names["item"]] = items[iteration] if iteration < len(items) else None
        return projected

    def _should_enter(
        self, loop: dict[str, Any], iteration: int, context: dict[str, Any], artifacts: list[Any]
    ) -> bool:
        source = loop["loop"]["source"]
        match source["kind"]:
            case "count":
                count = source["count"] if "count" in source else context.get(source["variable"])
                if isinstance(count, bool) or not isinstance(count, int | float):
                    raise LiteralError("MissingContext")
                return iteration < count
            case "items":
                items = context.get(source["variable"])
                if not isinstance(items, list):
                    raise LiteralError("MissingContext")
                return iteration < len(items)
            case "condition":
                holds = evaluate(source["condition"], self._project(loop, iteration, context))
                return holds != (loop["loop"]["kind"] == "until")
            case "artifact":
                pack = self.packs["wr.contracts.loop_control"]
                for artifact in reversed(artifacts):
                    if artifact.get("kind") == "wr.loop_control" and not pack.issues(artifact):
                        return artifact["decision"] == "continue"
                return True
            case _:
                raise LiteralError("InvalidLoop")
