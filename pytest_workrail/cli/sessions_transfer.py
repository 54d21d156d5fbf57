"""`workrail-test sessions export` and `import`: a session in one file, and back into a folder of our own engine."""

from __future__ import annotations

import argparse
import json
import os
from pathlib import Path

from pytest_workrail.cli.sessions import PROGRAM, answer, chosen_sessions, data_folder, shown_path, write_file
from pytest_workrail.engine.events.ids import SessionId
from pytest_workrail.engine.store.bundle import Producer
from pytest_workrail.engine.store.clocks import SystemClock, SystemEntropy
from pytest_workrail.engine.store.home import data_root, on_disk
from pytest_workrail.engine.store.transfer import export_session, import_bundle
from pytest_workrail.sessions.data_folder import MAX_FILE_BYTES
from pytest_workrail.sessions.prompts import read_only_home
from pytest_workrail.sessions.sources import BUNDLE_ENDING
from workrail_lint.base.files import read_bytes
from workrail_lint.base.result import Err
from workrail_lint.base.terminal import err, out, printable
from workrail_lint.base.version import VERSION
from workrail_lint.cli import FINDINGS, OK, UsageError


def run_export(args: argparse.Namespace) -> int:
    """Write a session, its snapshots and its workflow to one file."""
    folder = data_folder(args)
    (session_id,) = chosen_sessions(args, folder)
    home = read_only_home(folder.root)
    made = export_session(
        home.stores,
        SessionId(session_id),
        producer=Producer(app_version=VERSION),
        clock=home.clock,
        entropy=home.entropy,
        salvage=args.salvage,
    )
    if isinstance(made, Err):
        advice = "" if args.salvage else "; --salvage exports as much as can be trusted"
        err(f"{PROGRAM}: {session_id} was not exported: {printable(made.error.message)}{advice}")
        return FINDINGS
    target = args.out or f"{session_id}{BUNDLE_ENDING}"
    write_file(target, json.dumps(made.value, ensure_ascii=False).encode("utf-8", "surrogatepass") + b"\n")
    out(f"exported {session_id} to {shown_path(target)}")
    return OK


def run_import(args: argparse.Namespace) -> int:
    """Bring sessions in as new ones, after everything about them was verified."""
    root = data_root(os.environ, Path.home(), override=None if args.into is None else Path(args.into))
    if isinstance(root, Err):
        raise UsageError(root.error)
    home = on_disk(root.value, SystemClock(), SystemEntropy())
    if isinstance(home, Err):
        raise UsageError(home.error)
    imported: list[dict[str, str]] = []
    refused: list[dict[str, str]] = []
    for name in args.files:
        try:
            raw = read_bytes(name, MAX_FILE_BYTES)
        except OSError as problem:
            raise UsageError(f"{printable(name)} can't be read ({problem.strerror})") from None
        stores = home.value.stores
        made = import_bundle(raw, stores, home.value.gate, home.value.mint)
        if isinstance(made, Err):
            refused.append({"file": name, "code": made.error.code, "message": made.error.message})
        else:
            imported.append({"file": name, "session": made.value})
    if args.json:
        answer({"imported": imported, "refused": refused, "data": os.fspath(root.value)})
    else:
        for each in imported:
            out(f"imported {printable(each['file'])} as {each['session']} into {shown_path(os.fspath(root.value))}")
        for each in refused:
            err(f"{PROGRAM}: {printable(each['file'])} was refused ({each['code']}): {printable(each['message'])}")
    return FINDINGS if refused else OK
