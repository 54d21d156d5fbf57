"""How the static side grows with its input: one kind of thing at a time, more and more of it."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Callable, Iterator
from contextlib import redirect_stderr, redirect_stdout
from io import StringIO
from pathlib import Path
from typing import Any

from benchmarks.measure import Growth, grown
from benchmarks.real import Author
from workrail_lint import check_text, compile_workflow
from workrail_lint.cli import main

Workflow = dict[str, Any]
_PROMPT = "Look at part {0} and write down what it does."


def run(quick: bool) -> Iterator[Growth]:
    sizes, rounds = ((40, 80, 160), 1) if quick else ((125, 250, 500, 1_000), 2)
    for name, make in INPUTS.items():
        yield grown(f"check: {name}", sizes, lambda size, make=make: _check(make(size)), rounds)  # type: ignore[misc]
    yield grown("compile: steps", sizes, lambda size: _compile(steps(size)), rounds)
    for name, prepare in COMMANDS.items():
        with tempfile.TemporaryDirectory() as folder:
            yield grown(name, sizes, lambda size, prepare=prepare: prepare(_folder(folder, size), size), rounds)  # type: ignore[misc]


def _folder(parent: str, size: int) -> Path:
    made = Path(parent, str(size))
    made.mkdir()
    return made


def _document(*found: Workflow, **members: Any) -> Workflow:
    facts = {"id": "demo.large", "name": "Large", "description": "Grows.", "version": "1.0.0", "metricsProfile": "none"}
    return {**facts, "steps": list(found), **members}


def _step(number: int, prompt: str = _PROMPT, **members: Any) -> Workflow:
    return {"id": f"part-{number}", "title": f"Part {number}", "prompt": prompt.format(number), **members}


def steps(size: int) -> Workflow:
    return _document(*map(_step, range(size)))


def conditions(size: int) -> Workflow:
    """Steps of which each runs for one value of a variable."""
    made = (_step(n, runCondition={"var": "mode", "equals": f"value-{n}"}) for n in range(size))
    return _document(_step(0, "Set `mode` to what fits."), *made)


def nested(size: int) -> Workflow:
    """One condition with many parts."""
    parts = [{"var": f"flag{n}", "equals": True} for n in range(size)]
    return _document(_step(0), _step(1, runCondition={"or": parts}))


def loops(size: int) -> Workflow:
    made = []
    for n in range(size // 2):
        loop = {**Author().loop(f"round-{n}")}
        loop["body"] = [_step(n, "Look at round {0}."), loop["body"][-1]]
        loop["body"][0]["id"] = f"round-{n}-look"
        made.append(loop)
    return _document(*made)


def long_conditions(size: int) -> Workflow:
    """Conditions with many parts each, of variables that nothing sets."""
    made = []
    for n in range(0, size, 50):
        parts = [{"var": f"flag{n + part}", "equals": True} for part in range(50)]
        made.append(_step(n, runCondition={"or": parts}))
    return _document(*made)


def conditional_loops(size: int) -> Workflow:
    """Loops of which each may come right after any one before it."""
    document = loops(size)
    for n, loop in enumerate(document["steps"]):
        loop["runCondition"] = {"var": f"mode{n % 7}", "equals": f"value-{n}"}
    return document


def setters(size: int) -> Workflow:
    """A variable that many conditional steps set, and that as many others show."""
    half = range(size // 2)
    made = [_step(n, "Set `mode` to `a` or `b`.", runCondition={"var": "kind", "equals": f"value-{n}"}) for n in half]
    return _document(*made, *(_step(size + n, "Go on with {{{{mode}}}}.") for n in half))


def repeated(size: int) -> Workflow:
    """One long sentence in many steps, each with a condition."""
    said = "Do not edit any file in this step, and report back before you start the next one."
    made = (_step(n, f"Look. {said}", runCondition={"var": "mode", "equals": f"value-{n}"}) for n in range(size))
    return _document(*made)


def variables(size: int) -> Workflow:
    """As many variables as steps: each is set by one step and decides the next one."""
    made = []
    for n in range(size):
        condition = {"runCondition": {"var": f"value{n - 1}", "equals": "yes"}} if n else {}
        made.append(_step(n, f"Set `value{n}` to `yes` or `no`, and say why.", **condition))
    return _document(*made)


def unset(size: int) -> Workflow:
    """Findings: variables that nothing sets."""
    return _document(*(_step(n, runCondition={"var": f"value{n}", "equals": "yes"}) for n in range(size)))


def findings(size: int) -> Workflow:
    """Steps with several findings each."""
    return _document(
        *(_step(n, "TODO {0}: go back to step 2. Use workflow_next.", guidance=["x"]) for n in range(size))
    )


def similar(size: int) -> Workflow:
    """Long prompts that are nearly alike."""
    words = " ".join(_PROMPT.format(n) for n in range(6))
    return _document(*(_step(n, f"Part {n}. {words} Part {n}.") for n in range(size)))


def prompt(size: int) -> Workflow:
    """One long prompt."""
    return _document(_step(0, Author().prose(size * 200).replace("{", "(").replace("}", ")")))


def blocks(size: int) -> Workflow:
    lines = [_PROMPT.format(n) for n in range(size)]
    return _document({"id": "one", "title": "One", "promptBlocks": {"goal": "Go on.", "procedure": lines}})


def typical(size: int) -> Workflow:
    return Author().workflow("demo.large", max(1, size // 4))


INPUTS: dict[str, Callable[[int], Workflow]] = {
    "steps": steps,
    "run conditions": conditions,
    "parts of a condition": nested,
    "long conditions": long_conditions,
    "loops": loops,
    "conditional loops": conditional_loops,
    "steps that set one variable": setters,
    "repeated sentences under conditions": repeated,
    "variables": variables,
    "unset variables": unset,
    "findings": findings,
    "similar prompts": similar,
    "length of a prompt": prompt,
    "items of a block": blocks,
    "size of a typical workflow": typical,
}


def text_of(document: Workflow) -> str:
    return json.dumps(document, indent=2) + "\n"


def _check(document: Workflow) -> Callable[[], object]:
    text = text_of(document)
    assert len(text) < 1_000_000
    return lambda: check_text(text, "workflows/large.json")


def _compile(document: Workflow) -> Callable[[], object]:
    text = text_of(document)
    return lambda: compile_workflow(text).value.hash


# ------------------------------------------------------------------------------------------------------- commands


def _command(folder: Path, *arguments: str) -> Callable[[], object]:
    """A command in a folder, without its output."""

    def work() -> None:
        before = os.getcwd()
        os.chdir(folder)
        try:
            with redirect_stdout(StringIO()), redirect_stderr(StringIO()):
                assert main([*arguments]) in (0, 1)
        finally:
            os.chdir(before)

    return work


def _write(folder: Path, name: str, document: Workflow) -> str:
    (folder / name).write_text(text_of(document), encoding="utf-8")
    return name


def fixes(folder: Path, size: int) -> Callable[[], object]:
    """Places that can be fixed, shown as a patch."""
    document = _document(*(_step(n, _PROMPT, hasValidation=True, validationCriteria=[]) for n in range(size)))
    return _command(folder, "check", "--isolated", "--diff", "--unsafe-fixes", _write(folder, "fixes.json", document))


def report(folder: Path, size: int) -> Callable[[], object]:
    """A report of many findings, with all their frames."""
    name = _write(folder, "report.json", unset(size))
    return _command(folder, "check", "--isolated", "--no-cache", "--severity", "info", name)


def suppressions(folder: Path, size: int) -> Callable[[], object]:
    entries = "".join(
        f'[[suppress]]\nplace = "many.json#/steps/part-{n}"\ncodes = ["ALL"]\nreason = "known"\n' for n in range(size)
    )
    (folder / "workrail-lint.toml").write_text(entries, encoding="utf-8")
    _write(folder, "many.json", findings(size))
    return _command(folder, "check", "--no-cache", ".")


def files(folder: Path, size: int) -> Callable[[], object]:
    project = folder / f"files-{size}"
    project.mkdir(exist_ok=True)
    author = Author()
    for n in range(size):
        _write(project, f"file-{n}.json", author.workflow(f"demo.file-{n}", 2))
    return _command(project, "check", "--isolated", "--no-cache", "--jobs", "1", "--format", "json", ".")


def lock(folder: Path, size: int) -> Callable[[], object]:
    """A lockfile with an entry for each of many small workflows."""
    project = folder / f"lock-{size}"
    project.mkdir(exist_ok=True)
    for n in range(size):
        _write(project, f"file-{n}.json", _document(_step(n), id=f"demo.file-{n}"))
    _command(project, "lock", "--update", ".")()
    return _command(project, "lock", "--check", ".")


def diff(folder: Path, size: int) -> Callable[[], object]:
    old, new = steps(size), steps(size)
    for step in new["steps"][::2]:
        step["prompt"] += " Then stop."
    for step in new["steps"][::3]:
        step["id"] += "-renamed"
    new["steps"].reverse()
    return _command(folder, "diff", _write(folder, "old.json", old), _write(folder, "new.json", new))


def graph(folder: Path, size: int) -> Callable[[], object]:
    return _command(folder, "graph", _write(folder, "drawn.json", conditions(size)))


COMMANDS: dict[str, Callable[[Path, int], Callable[[], object]]] = {
    "check --diff: fixable places": fixes,
    "check: findings in a report": report,
    "check: suppressions": suppressions,
    "check: files": files,
    "lock --check: entries": lock,
    "diff: steps": diff,
    "graph: steps": graph,
}
