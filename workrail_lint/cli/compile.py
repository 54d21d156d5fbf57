"""`workrail-lint compile`: the IR or the engine's snapshot, its hash, and the origin of each text."""

from __future__ import annotations

import argparse
import json
import os
import sys
from typing import Any

from workrail_lint.base.canonical import CanonicalError, canonical_bytes, digest
from workrail_lint.base.progress import tracked
from workrail_lint.base.result import Err
from workrail_lint.base.terminal import Style, err, out, out_bytes, out_json, printable, uses_colour
from workrail_lint.cli import FINDINGS, OK, UsageError
from workrail_lint.cli.arguments import (
    Workflow,
    compiled_by_other,
    configuration,
    report_no_workflow,
    settings,
    workflow_files,
)
from workrail_lint.cli.output import report_errors
from workrail_lint.cli.parser import Parser, add_inputs
from workrail_lint.systems.workrail.check import check_document
from workrail_lint.systems.workrail.compile import compile_for_engine, errors_of, read_for_compiling, resolve_references
from workrail_lint.systems.workrail.compiler.compiled import CompiledWorkflow
from workrail_lint.systems.workrail.compiler.engine_target import HashMode
from workrail_lint.systems.workrail.compiler.nodes import Node, walk
from workrail_lint.systems.workrail.provenance import provenance_data
from workrail_lint.systems.workrail.settings import Settings


def main(arguments: list[str]) -> int:
    args = parser().parse_args(arguments)
    if args.mode != HashMode.PINNED.value and args.target != "engine":
        raise UsageError("--mode needs --target engine")
    if args.json and not args.explain:
        raise UsageError("--json needs --explain; without it the output is JSON already")
    config = configuration(args, args.paths[0] if args.paths[0] != "-" else os.curdir)
    active = settings(args, config)
    if args.paths == ["-"]:
        files = [Workflow(args.stdin_filename, sys.stdin.buffer.read())]
    else:
        files = workflow_files(args.paths, config, others=True)
    if not files:
        return report_no_workflow(args.paths)
    many = len(args.paths) > 1 or os.path.isdir(args.paths[0])
    return _compile_many(files, args, active) if many else _compile_one(files[0], args, active)


def parser() -> Parser:
    result = Parser(
        "compile",
        "Compile workflows. For a folder or several paths, print one line of JSON per workflow, with its hash.",
    )
    result.add_argument("paths", nargs="+", metavar="PATH", help="a workflow, a folder of workflows, or - for stdin")
    result.add_argument(
        "--target", choices=("ir", "engine"), default="ir", help="our IR or the engine's snapshot (default: ir)"
    )
    result.add_argument(
        "--emit", choices=("json", "canonical", "hash"), default="json", help="what to print (default: json)"
    )
    result.add_argument("--explain", action="store_true", help="show the origin of each step and of each injected text")
    result.add_argument("--json", action="store_true", help="with --explain: as JSON, with the parts of each prompt")
    result.add_argument(
        "--mode",
        choices=[mode.value for mode in HashMode],
        default=HashMode.PINNED.value,
        help="which snapshot of the engine (default: pinned)",
    )
    result.add_argument(
        "--workspace", metavar="DIR", default=os.curdir, help="the base folder of references, in modes with refs"
    )
    result.add_argument("--package-root", metavar="DIR", help="the base folder of references into the engine's package")
    result.add_argument("--stdin-filename", metavar="NAME", default="-", help="the file name to assume for - (stdin)")
    add_inputs(result)
    return result


def _compile_one(file: Workflow, args: argparse.Namespace, active: Settings) -> int:
    if args.explain:
        return _explain(file, active, as_json=args.json)
    output = _bytes(file, args, active)
    if output is None:
        return FINDINGS
    _, data = output
    if args.emit == "canonical":
        out_bytes(data)
    elif args.emit == "hash":
        out(digest(data))
    else:
        out_json(json.loads(data), indent=2)
    return OK


def _explain(file: Workflow, active: Settings, *, as_json: bool) -> int:
    owner = compiled_by_other(file.path, file.data)
    if owner is not None:
        raise UsageError(f"--explain needs a workflow, but {printable(file.path)} is {owner.noun}")
    compiled = _compiled(file, active)
    if compiled is None:
        return FINDINGS
    try:
        if as_json:
            out_json(provenance_data(compiled), indent=2)
        else:
            out(explain(compiled), end="")
    except CanonicalError as error:
        _report_no_hash(file.path, error)
        return FINDINGS
    return OK


def _compile_many(files: list[Workflow], args: argparse.Namespace, active: Settings) -> int:
    code = OK
    for file in tracked(files, "workflow"):
        output = _bytes(file, args, active)
        if output is None:
            code = FINDINGS
            continue
        ident, data = output
        line = {"path": file.path, "workflowId": ident, "target": args.target, "hash": digest(data)}
        if args.target == "engine":
            line["mode"] = args.mode
        out_json(line)
    return code


def _bytes(file: Workflow, args: argparse.Namespace, active: Settings) -> tuple[str, bytes] | None:
    """Return the id of a workflow and the canonical bytes of the target, or None after reporting why there are none."""
    owner = compiled_by_other(file.path, file.data)
    if owner is not None:
        if args.target != "ir":
            raise UsageError(f"{printable(file.path)} is {owner.noun}, which --target {args.target} can't compile")
        result = owner.system.compile(file.path, file.data, owner.kind, active)
        if isinstance(result, Err):
            report_errors(result.error)
            return None
        try:
            return result.value.ident, canonical_bytes(result.value.ir)
        except CanonicalError as error:
            _report_no_hash(file.path, error)
            return None
    try:
        if args.target == "engine":
            return _engine_bytes(file, args, active)
        compiled = _compiled(file, active)
        return None if compiled is None else (compiled.workflow_id, compiled.ir_bytes)
    except CanonicalError as error:
        _report_no_hash(file.path, error)
        return None


def _compiled(file: Workflow, active: Settings) -> CompiledWorkflow | None:
    checked = check_document(read_for_compiling(file.data), file.path, active, None)
    if checked.compiled is None:
        report_errors(errors_of(checked, file.path))
    return checked.compiled


def _engine_bytes(file: Workflow, args: argparse.Namespace, active: Settings) -> tuple[str, bytes] | None:
    """Return the id and the bytes of the engine's snapshot; a document that the engine rejects has none."""
    document = read_for_compiling(file.data)
    mode = HashMode(args.mode)

    def references(declared: list[dict[str, Any]]) -> list[dict[str, Any]] | None:
        if mode not in (HashMode.PINNED_REFS, HashMode.PINNED_ONBOARDING_REFS):
            return None

        return resolve_references(declared, args.workspace, args.package_root)

    compiled = compile_for_engine(document, file.path, active, mode, references)
    if isinstance(compiled, Err):
        report_errors(compiled.error)
        return None
    return str(compiled.value["workflowId"]), canonical_bytes(compiled.value)


def _report_no_hash(path: str, error: CanonicalError) -> None:
    err(f"{printable(path)}: error: the workflow has no hash: {error}")


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
    text = printable(line)
    return text if len(text) <= _WIDTH else text[: _WIDTH - 1] + "…"
