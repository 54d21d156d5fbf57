"""The page about the known defects of the public engine, made from their data: `python -m tools.engine_defects`."""

from __future__ import annotations

from workrail_lint.base.files import write_atomically
from workrail_lint.systems.workrail.engine_defects import EngineDefect, engine_defects

PAGE = "docs/engine-defects.md"
_HEAD = """# Defects of the public engine

Workflows run on the [public WorkRail engine](workrail-engine.md), and that engine has defects. This page lists those
that are known (KD).
Profile `reference` continues where the engine fails, and marks the place.

- `check` reports what a document alone decides, and what it allows an agent to trigger; the table names the rule.
- `run.engine_defects` contains a mark for each point of a run at which the engine would have failed or answered
  differently. Goldens contain the marks in their member `engineDefects`.
- A scenario can demand that there are none: `"expect": {"engineDefects": []}`.

An outcome is one of these: `fails` (the engine answers with an error), `corrupts` (the session can't be read from
there on), `differs` (another answer), `log` (only the stored log differs), `none` (we do the same as the engine). Only
the first three are marked, and not what is true of every run.

The page is generated from `workrail_lint/systems/workrail/engine_defects.json`; `make schemas` writes it.

| id | outcome | decided by | rule |
| --- | --- | --- | --- |
"""


def page() -> str:
    """Return the whole page."""
    defects = engine_defects().values()
    rows = "".join(
        f"| [{each.id}](#{each.id.lower()}) | {each.outcome} | {_decided(each)} | {_rule(each)} |\n" for each in defects
    )
    return _HEAD + rows + "".join(map(_section, defects))


def _decided(defect: EngineDefect) -> str:
    return ", ".join(defect.decided)


def _rule(defect: EngineDefect) -> str:
    return ", ".join(f"[{code}](rules/{code[:2]}.md#{code.lower()})" for code in defect.rules)


def _section(defect: EngineDefect) -> str:
    return (
        f"\n## {defect.id}\n\n{defect.title}. {_source(defect)}.\n\n"
        f"- When: {defect.when}.\n- The engine: {defect.engine}.\n- Here: {defect.ours}.\n"
        f"- Shown by `{defect.scenario}`\n"
    )


def _source(defect: EngineDefect) -> str:
    if defect.seen:
        return f"Seen in {', '.join(defect.seen)}"
    return f"Read in the source of {', '.join(defect.read)}, not seen in a run"


if __name__ == "__main__":
    write_atomically(PAGE, page().encode(), "docs")
