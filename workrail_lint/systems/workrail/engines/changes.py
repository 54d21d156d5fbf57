"""The changes between two releases of the engine, as data and as text."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, NamedTuple

from workrail_lint.systems.workrail.engines.releases import BUILTINS, Release, Target

_SILENT = ("title", "description")
# Keywords that say which of several forms a value has; they are compared as a whole.
_FORMS = ("if", "then", "else", "allOf", "anyOf", "oneOf", "$ref", "items")
_MEMBERS = "properties"


class Changes(NamedTuple):
    """The differences from one release to another, in the direction of time or against it."""

    before: Target
    after: Target

    @property
    def _between(self) -> list[Release]:
        """The releases after the older one, up to the newer one."""
        older, newer = sorted((self.before, self.after), key=lambda target: target.release.order)
        return [release for release in newer.so_far if release.order > older.release.order]

    @property
    def _is_forward(self) -> bool:
        return self.before.release.order <= self.after.release.order

    def as_json(self) -> dict[str, Any]:
        """Return the differences as one JSON object."""
        between = self._between
        builtins = {kind: sorted(name for release in between for name in release.builtins(kind)) for kind in BUILTINS}
        names = {kind: added for kind, added in builtins.items() if added}
        checks = [check["name"] for release in between for check in release.checks]
        dropped = [name for release in between for name in release.strings("dropped")]
        return {
            "from": self.before.version,
            "to": self.after.version,
            "schema": list(schema_changes(self.before.schema, self.after.schema)),
            "builtins": {"added" if self._is_forward else "removed": names},
            "checks": {
                "added": checks if self._is_forward else dropped,
                "removed": dropped if self._is_forward else checks,
            },
            "pins": {"before": self.before.pins, "after": self.after.pins},
            "texts": sorted({name for release in between for name in release.strings("texts")}),
            "routineTexts": any(release.entry.get("routineTexts") for release in between),
            "notes": [
                {"version": release.version, "note": note} for release in between for note in release.strings("notes")
            ],
        }

    def as_text(self) -> str:
        """Return the differences in lines for people."""
        data = self.as_json()
        lines = [f"{self.before.version} -> {self.after.version}"]
        groups = [
            ("schema", [_schema_line(change) for change in data["schema"]]),
            *(
                (f"{kind} {action}", names)
                for action, kinds in data["builtins"].items()
                for kind, names in kinds.items()
            ),
            *((f"checks {action}", names) for action, names in data["checks"].items()),
            ("texts changed", data["texts"] + (["routines"] if data["routineTexts"] else [])),
        ]
        if data["pins"]["before"] != data["pins"]["after"]:
            groups.append(("pinned steps", [f"{_PINS[data['pins']['before']]} -> {_PINS[data['pins']['after']]}"]))
        groups.append(("notes", [f"{note['version']}: {note['note']}" for note in data["notes"]]))
        for title, items in groups:
            if items:
                lines += [f"{title}:", *(f"  {item}" for item in items)]
        return "\n".join(lines if len(lines) > 1 else [*lines, "nothing that a workflow could notice"])


_PINS = {"authored": "as written", "blocks": "resolved, with their blocks", "resolved": "resolved"}


def _schema_line(change: dict[str, Any]) -> str:
    place = change["shape"] + (f" `{change['member']}`" if "member" in change else "")
    if "keyword" not in change:
        return f"{place}: {change['change']}"
    return f"{place}: {change['keyword']} {_shown(change['before'])} -> {_shown(change['after'])}"


def _shown(value: Any) -> str:
    return "none" if value is None else json.dumps(value, ensure_ascii=False)


def schema_changes(before: dict[str, Any], after: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield what differs between two schemas of a workflow: shapes, members, keywords."""
    old, new = before["definitions"], after["definitions"]
    for name in sorted({**old, **new}):
        shape = (new if name in new else old)[name]["title"]
        if name not in old or name not in new:
            yield {"shape": shape, "change": "added" if name in new else "removed"}
            continue
        mine, theirs = old[name].get(_MEMBERS, {}), new[name].get(_MEMBERS, {})
        for member in {**mine, **theirs}:
            if member not in mine or member not in theirs:
                yield {"shape": shape, "member": member, "change": "added" if member in theirs else "removed"}
            else:
                yield from _keyword_changes({"shape": shape, "member": member}, mine[member], theirs[member])
        yield from _keyword_changes({"shape": shape}, old[name], new[name])


def _keyword_changes(place: dict[str, Any], old: dict[str, Any], new: dict[str, Any]) -> Iterator[dict[str, Any]]:
    words = [
        word for word in sorted({*old, *new}) if word not in (*_SILENT, _MEMBERS) and old.get(word) != new.get(word)
    ]
    if any(word in _FORMS for word in words):
        yield {**place, "change": "takes other forms"}
        return
    for word in words:
        yield {**place, "keyword": word, "before": old.get(word), "after": new.get(word)}


def summary(release: Release) -> str:
    """Return what a release changed for authors, in a few words; "" for nothing."""
    parts = ["schema"] if release.schema else []
    parts += [kind for kind in BUILTINS if release.builtins(kind)]
    parts += ["checks"] if release.checks or release.strings("dropped") else []
    parts += ["texts"] if release.strings("texts") or release.entry.get("routineTexts") else []
    parts += ["pins"] if "pins" in release.entry else []
    parts += ["run time"] if release.strings("notes") and not parts else []
    return ", ".join(parts)
