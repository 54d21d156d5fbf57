"""`results.md` and its plot, from the figures of one run beside those of an earlier one."""

from __future__ import annotations

import json
import math
import os
import platform
from html import escape
from pathlib import Path
from typing import Any

from benchmarks.measure import FLAT, Figure, Growth

_FOLDER = Path(__file__).parent
_EARLIER = _FOLDER / "before.json"
_LATEST = _FOLDER / "latest.json"
_COLOURS = (
    "#0b6e99",
    "#c4561b",
    "#3d7d3a",
    "#7a3fa0",
    "#a01f4a",
    "#6b6b1f",
    "#20756b",
    "#8c5a2b",
    "#4455cc",
    "#777777",
)
_WIDTH, _HEIGHT, _LEFT, _TOP, _LEGEND = 620, 420, 60, 20, 330

Results = dict[str, list[Figure | Growth]]


def figures_of(results: Results) -> dict[str, float]:
    """The figures by the names of their modules and their own."""
    return {
        f"{module}: {shown.name}": round(shown.value, 4)
        for module, found in results.items()
        for shown in (item.figure if isinstance(item, Growth) else item for item in found)
    }


def write_json(path: Path, results: Results) -> None:
    path.write_text(json.dumps(figures_of(results), indent=2) + "\n", encoding="utf-8")


def write_results(fresh: Results) -> None:
    """Write the page; modules that did not run keep the figures of their last run."""
    known: dict[str, list[dict[str, Any]]] = json.loads(_LATEST.read_text("utf-8")) if _LATEST.exists() else {}
    known |= {module: [item._asdict() for item in found] for module, found in fresh.items()}
    _LATEST.write_text(json.dumps(dict(sorted(known.items())), indent=1) + "\n", encoding="utf-8")
    results: Results = {
        module: [Growth(**item) if "points" in item else Figure(**item) for item in found]
        for module, found in sorted(known.items())
    }
    earlier: dict[str, float] = json.loads(_EARLIER.read_text(encoding="utf-8")) if _EARLIER.exists() else {}
    growths = [item for found in results.values() for item in found if isinstance(item, Growth)]
    lines = [
        "# Benchmarks",
        "",
        "Written by `make bench`; each section is from the last complete run of its module. Times are minima of",
        "processor time unless a line says otherwise. Compare ratios, not times: machines differ. *Before*: the",
        "start-up of an earlier version was measured by this program. The other figures are stated in, or computed",
        "from, the table that the promises were made with: another program, partly other sizes, and no analysis of",
        "variables in a lint.",
        "",
        f"CPython {platform.python_version()}, {len(os.sched_getaffinity(0))} cores.",
    ]
    for module, found in results.items():
        lines += ["", f"## {module}", "", "| measured | before | now | promise |", "| --- | ---: | ---: | --- |"]
        for item in found:
            shown = item.figure if isinstance(item, Growth) else item
            old = earlier.get(f"{module}: {shown.name}")
            before = "" if old is None else f"{_number(old)} {shown.unit}".rstrip()
            missed = "" if shown.kept else " **(missed)**"
            lines.append(
                f"| {shown.name} | {before} | {_number(shown.value)} {shown.unit} | {shown.promise}{missed} |".replace(
                    "  |", " |"
                )
            )
    if growths:
        lines += ["", "## Growth", "", "![what each input costs as it grows](growth.svg)"]
        (_FOLDER / "growth.svg").write_text(plot(growths), encoding="utf-8")
    (_FOLDER / "results.md").write_text("\n".join(lines) + "\n", encoding="utf-8")


def _number(value: float) -> str:
    if value == 0 or abs(value) >= 100:
        return f"{value:,.0f}"
    return f"{value:.3g}"


def plot(growths: list[Growth]) -> str:
    """The growths on logarithmic axes, with a dashed line that grows as fast as is allowed."""
    points = [point for growth in growths for point in growth.points]
    left, right = (edge(math.log10(size) for size, _ in points) for edge in (min, max))
    low, high = (edge(math.log10(max(cost, 1e-6)) for _, cost in points) for edge in (min, max))
    inner_width, inner_height = _WIDTH - _LEFT - 20, _HEIGHT - _TOP - 50

    def x(size: float) -> float:
        return _LEFT + (math.log10(size) - left) / ((right - left) or 1) * inner_width

    def y(cost: float) -> float:
        return _TOP + (1 - (math.log10(max(cost, 1e-6)) - low) / ((high - low) or 1)) * inner_height

    height = max(_HEIGHT, 40 + 18 * len(growths))
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH + _LEGEND} {height}">',
        "<style>text { font: 12px sans-serif }</style>",
        f'<rect width="{_WIDTH + _LEGEND}" height="{height}" fill="#ffffff"/>',
    ]
    for power in range(math.ceil(left), math.floor(right) + 1):
        at = x(10.0**power)
        parts.append(f'<path d="M{at:.1f} {_TOP}V{_TOP + inner_height}" stroke="#dddddd"/>')
        parts.append(f'<text x="{at:.1f}" y="{_TOP + inner_height + 18}" text-anchor="middle">{10**power:,}</text>')
    for power in range(math.ceil(low), math.floor(high) + 1):
        at = y(10.0**power)
        parts.append(f'<path d="M{_LEFT} {at:.1f}H{_LEFT + inner_width}" stroke="#dddddd"/>')
        parts.append(f'<text x="{_LEFT - 6}" y="{at + 4:.1f}" text-anchor="end">{10.0**power:g} s</text>')
    parts.append(f'<text x="{_LEFT + inner_width / 2}" y="{_TOP + inner_height + 38}" text-anchor="middle">size</text>')
    steepest = min(high, low + (right - left) * FLAT)
    end = left + (steepest - low) / FLAT
    parts.append(
        f'<path d="M{x(10**left):.1f} {y(10**low):.1f}L{x(10**end):.1f} {y(10**steepest):.1f}" stroke="#999999"'
        ' stroke-dasharray="5 4" fill="none"/>'
    )
    for number, growth in enumerate(growths):
        colour = _COLOURS[number % len(_COLOURS)]
        path = "L".join(f"{x(size):.1f} {y(cost):.1f}" for size, cost in growth.points)
        dashes = "" if number < len(_COLOURS) else ' stroke-dasharray="2 2"'
        parts.append(f'<path d="M{path}" stroke="{colour}" stroke-width="2" fill="none"{dashes}/>')
        row = 34 + 18 * number
        parts.append(f'<path d="M{_WIDTH} {row - 4}h18" stroke="{colour}" stroke-width="2"{dashes}/>')
        label = f"{growth.name} ({growth.exponent:.2f})"
        parts.append(f'<text x="{_WIDTH + 24}" y="{row}">{escape(label)}</text>')
    return "\n".join([*parts, "</svg>"]) + "\n"
