"""A session, or the counts over many, as one page for a browser that loads nothing."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape

from pytest_workrail.sessions.listing import duration
from pytest_workrail.sessions.stats import Statistics, WorkflowStats
from workrail_lint.base.terminal import printable
from workrail_lint.base.wording import counted

_STYLE = """
:root { color-scheme: light dark; --line: #d0d7de; --soft: #656d76; --bad: #b3261e; }
@media (prefers-color-scheme: dark) { :root { --line: #444c56; --soft: #9198a1; --bad: #ff8a80; } }
body { font: 15px/1.5 system-ui, sans-serif; max-width: 76rem; margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.4rem; } h2 { font-size: 1.1rem; }
pre { font: 13px/1.5 ui-monospace, monospace; white-space: pre-wrap; overflow-wrap: anywhere; }
table { border-collapse: collapse; width: 100%; font-size: 14px; } th { text-align: left; color: var(--soft); }
td, th { border-bottom: 1px solid var(--line); padding: .2rem .5rem; vertical-align: top; }
td.n { text-align: right; font-variant-numeric: tabular-nums; } .bad { color: var(--bad); }
"""


def _page(title: str, body: str) -> str:
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width">'
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">"
        f"<title>{_text(title)}</title><style>{_STYLE}</style></head><body>\n<h1>{_text(title)}</h1>\n{body}\n"
        "</body></html>\n"
    )


def story_page(session_id: str, stories: list[list[str]]) -> str:
    """The runs of a session, each in its lines."""
    runs = (f"<section><pre>{_text(chr(10).join(lines))}</pre></section>" for lines in stories)
    return _page(session_id, "".join(runs))


def stats_page(statistics: Statistics) -> str:
    """The counts, a section for each workflow."""
    total = counted(sum(each.sessions for each in statistics.workflows.values()), "session")
    sections = (_workflow(name, stats) for name, stats in sorted(statistics.workflows.items()))
    remark = f'<p class="bad">{counted(statistics.damaged, "damaged session")}</p>' if statistics.damaged else ""
    return _page(f"{total} of {counted(len(statistics.workflows), 'workflow')}", remark + "".join(sections))


def _workflow(name: str, stats: WorkflowStats) -> str:
    statuses = ", ".join(f"{count} {status}" for status, count in sorted(stats.statuses.items()))
    mend = "".join(f"<li>{_text(text)}</li>" for text in stats.to_mend())
    rows = (
        (
            step_id,
            step.visits,
            step.calls,
            step.blocks,
            ", ".join(f"{code} {count}" for code, count in sorted(step.blockers.items())),
            step.retries,
            step.most_tries,
            step.skipped,
            step.abandoned,
            duration(step.total_ms // step.accepted) if step.accepted else "",
        )
        for step_id, step in stats.steps.items()
    )
    loops = ((loop_id, loop.runs, loop.most_passes, loop.hit_bound) for loop_id, loop in stats.loops.items())
    head = (
        "step",
        "visits",
        "calls",
        "blocks",
        "blocked by",
        "retries",
        "most tries",
        "skipped",
        "left here",
        "mean time",
    )
    return (
        f"<h2>{_text(name)}</h2><p>{counted(stats.sessions, 'session')}: {_text(statuses)}</p>"
        + (f"<ol>{mend}</ol>" if mend else "")
        + _table(head, rows)
        + (_table(("loop", "runs", "most passes", "ended by its bound"), loops) if stats.loops else "")
    )


def _table(head: tuple[str, ...], rows: Iterable[tuple[object, ...]]) -> str:
    cells = "".join(f"<th>{_text(each)}</th>" for each in head)
    lines = "".join(f"<tr>{''.join(map(_cell, row))}</tr>" for row in rows)
    return f"<table><thead><tr>{cells}</tr></thead><tbody>{lines}</tbody></table>"


def _cell(value: object) -> str:
    return f'<td class="n">{value}</td>' if isinstance(value, int) else f"<td>{_text(str(value))}</td>"


def _text(text: str) -> str:
    return escape("\n".join(printable(line) for line in text.split("\n")))
