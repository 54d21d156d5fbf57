"""Who wrote what: the parts of every compiled prompt, in order, with where each came from."""

from __future__ import annotations

from itertools import pairwise
from typing import Any, NamedTuple

from workrail_lint.systems.workrail.compiler.compiled import CompiledWorkflow
from workrail_lint.systems.workrail.compiler.nodes import Node, walk

AUTHORED = "authored"


class Piece(NamedTuple):
    """A part of a prompt. Offsets are code points."""

    start: int
    end: int
    kind: str  # authored, template, virtual, feature, ref
    id: str | None  # of the template, feature or ref


def pieces(node: Node) -> list[Piece]:
    """Return the whole prompt of a step as pieces without gaps. Of a ref inside a feature, the ref counts."""
    prompt = node.prompt
    if not prompt:
        return []
    kind, ident = _writer(node)
    cuts = sorted({0, len(prompt), *(cut for item in node.injections for cut in (item.start, item.end))})
    result: list[Piece] = []
    for start, end in pairwise(cuts):
        inside = [item for item in node.injections if item.start <= start and end <= item.end]
        # The shortest is the innermost.
        owner = min(inside, key=lambda item: item.end - item.start, default=None)
        piece = Piece(start, end, kind, ident) if owner is None else Piece(start, end, owner.kind, owner.id)
        if result and (result[-1].kind, result[-1].id) == (piece.kind, piece.id):
            piece = piece._replace(start=result.pop().start)
        result.append(piece)
    return result


def _writer(node: Node) -> tuple[str, str | None]:
    origin = node.origin
    if origin is None or origin.source == "normalized":
        return AUTHORED, None
    return origin.source, origin.ref


def provenance_data(compiled: CompiledWorkflow) -> dict[str, Any]:
    """Return the origin of every step and of every part of its prompt, as plain JSON data."""
    catalog = compiled.catalog
    return {
        "version": 1,
        "workflowId": compiled.workflow_id,
        "hash": compiled.hash,
        "catalog": {"id": catalog.catalog_id, "version": catalog.version, "digest": catalog.digest},
        "bindings": [
            {"slot": slot, "value": value, "source": _binding_source(compiled, slot)}
            for slot, value in compiled.resolved_bindings.items()
        ],
        "normalized": [{"code": code, "pointer": pointer} for code, pointer in compiled.warnings],
        "steps": [_step_data(node) for node in walk(compiled.nodes)],
    }


def _binding_source(compiled: CompiledWorkflow, slot: str) -> str:
    return "project override" if slot in compiled.resolved_overrides else "default"


def _step_data(node: Node) -> dict[str, Any]:
    kind, ident = _writer(node)
    return {
        "id": node.id,
        "loop": node.loop_id,
        "source": kind,
        "origin": ident if node.origin is None else node.origin.text,
        "pointer": node.pointer,
        "prompt": node.prompt,
        "pieces": [piece._asdict() for piece in pieces(node)],
    }
