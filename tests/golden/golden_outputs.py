"""What is said about goldens of runs whose workflow was changed, each in another way, kept in `expected/`.

python tests/golden/golden_outputs.py     # writes it anew
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

sys.path += [str(Path(__file__).parents[1])]

from zoo import ZOO

from pytest_workrail.agents.correct import Auto
from pytest_workrail.cli import main
from pytest_workrail.explore.mutation_operators import injections_of, mutants
from pytest_workrail.golden.document import golden_bytes
from pytest_workrail.golden.pending import pending_bytes, pending_of
from pytest_workrail.golden.profiles import both_profiles, profile_reasons
from pytest_workrail.run.bench import Setup
from pytest_workrail.run.driver import drive
from workrail_lint.base.canonical import digest
from workrail_lint.base.result import Ok
from workrail_lint.systems.workrail.compile import compile_workflow

EXPECTED = Path(__file__).parent / "expected"
# Changes that only the larger workflow allows.
SOME = ("PRM-SENTENCE-DROP", "CTR-OPTIONAL", "FRG-DROP", "FRG-CND-NEG", "ASM-DROP")
CONTEXT: dict[str, Any] = {"größe": "large", "count": 8, "text": "now", "files": ["special", "b"], "many": 2}


def outputs(folder: Path) -> dict[str, str]:
    """Return what the commands print about a folder of goldens with pending changes, by the name of its file."""
    goldens = folder / "__goldens__"
    goldens.mkdir(exist_ok=True)
    lines: list[str] = []
    for name, source in ZOO.items():
        made = compile_workflow(source)
        assert isinstance(made, Ok), made.error
        ir = made.value.ir
        setup = Setup(ir, "locked", context=CONTEXT, max_turns=60)
        old = golden_bytes(drive(setup, Auto()).transcript)
        kinds = {mutant.operator: mutant for mutant in mutants(ir, injections_of(made.value)) if mutant.apply(ir) != ir}
        for mutant in kinds.values() if name == "elements" else [kinds[operator] for operator in SOME]:
            changed = Setup(mutant.apply(ir), "locked", context=CONTEXT, max_turns=60)
            new = golden_bytes(drive(changed, Auto()).transcript)
            lines.append(f"{name} {mutant.id}: {len(new)} bytes {digest(new)[7:19]}")
            if new != old:
                golden = goldens / f"{name}-{len(lines):02}.golden.json"
                golden.write_bytes(old)
                pending_of(golden).write_bytes(pending_bytes("test_zoo", old, new))
        if name == "elements":
            compared = both_profiles(setup, Auto())
            lines += [f"{name}: {reason}" for reason in profile_reasons(setup, Auto(), compared)]
    with _inside(folder):
        found = {
            "goldens.txt": "\n".join(lines) + "\n",
            "list.txt": _said("list"),
            "diff.txt": _said("diff"),
            "page.txt": _said("diff", "--html", "page.html"),
        }
        found["digests.txt"] = "".join(
            f"{name}: {digest(text.encode())}\n"
            for name, text in {
                "list.json": _said("list", "--json"),
                "diff.json": _said("diff", "--json"),
                "page.html": _page_data(Path("page.html").read_text(encoding="utf-8")),
            }.items()
        )
        found["accepted.txt"] = _said("accept", "--all") + _said("list")
    return found


def _page_data(page: str) -> str:
    """Return what a page shows, without its script, its style, the version of the tool and the name of the folder."""
    data = json.loads(page.partition('id="data">')[2].partition("</script>")[0])
    return json.dumps({**data, "tool": "", "project": ""}, sort_keys=True)


@contextlib.contextmanager
def _inside(folder: Path) -> Iterator[None]:
    before = Path.cwd()
    os.chdir(folder)
    try:
        yield
    finally:
        os.chdir(before)


def _said(*arguments: str) -> str:
    said = io.StringIO()
    with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
        try:
            code: object = main(["golden", *arguments])
        except SystemExit as error:
            code = error.code
    return f"{said.getvalue()}(exit code {code})\n"


if __name__ == "__main__":
    EXPECTED.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as place:
        for name, text in outputs(Path(place)).items():
            (EXPECTED / name).write_text(text, encoding="utf-8")
