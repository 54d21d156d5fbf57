"""`compile --explain`: the compiled steps, with their origin and that of each injected text."""

from __future__ import annotations

from workrail_lint.base.terminal import Style, printable, uses_colour
from workrail_lint.systems.workrail.compiler.compiled import CompiledWorkflow
from workrail_lint.systems.workrail.compiler.nodes import Node, walk

_WIDTH = 72


def explain(compiled: CompiledWorkflow) -> str:
    style = Style(uses_colour())
    catalog = compiled.catalog
    lines = [
        style(f"{compiled.workflow_id}  {compiled.hash}", "bold"),
        f"catalog {catalog.catalog_id} {catalog.version} ({catalog.digest})",
    ]
    for slot, value in compiled.resolved_bindings.items():
        source = "project override" if slot in compiled.resolved_overrides else "default"
        lines.append(f"binding {printable(slot)} = {printable(value)} ({source})")
    lines += [f"normalized: {code} at {pointer}" for code, pointer in compiled.warnings]
    for node in walk(compiled.nodes):
        lines += ["", *_step(node, style)]
    return "\n".join(lines) + "\n"


def _step(node: Node, style: Style) -> list[str]:
    inside = f" (in loop {node.loop_id})" if node.loop_id else ""
    lines = [f"{style(node.id, 'bold')}{inside}: {_origin(node)}"]
    for item in node.injections:
        size = len(item.text.encode("utf-8", "surrogatepass"))
        lines.append(
            f"  {style(item.kind, 'cyan')} {item.id}: {size} bytes, characters {item.start} to {item.end} of the prompt"
        )
        lines += [f"    | {_short(line)}" for line in item.text.splitlines()]
    return lines


def _origin(node: Node) -> str:
    origin = node.origin
    if origin is None:
        return f"authored at {node.pointer}"
    match origin.source:
        case "template":
            return f"step '{origin.part}' of template {origin.ref}, called at {node.pointer}"
        case "virtual":
            return f"generated from {node.pointer}/{origin.part}"
        case "feature":
            return f"probe of the required capability '{origin.capability}'"
        case _:
            return f"normalized ({origin.ref}) at {node.pointer}"


def _short(line: str) -> str:
    shown = printable(line)
    return shown if len(shown) <= _WIDTH else shown[: _WIDTH - 1] + "…"
