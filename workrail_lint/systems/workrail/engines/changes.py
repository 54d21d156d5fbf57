"""The changes between two releases of the engine, as data and as text."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import NamedTuple

from workrail_lint.documents.schema.dialect import Schema
from workrail_lint.systems.workrail.engines.releases import BUILTINS, Release, Target

_SILENT = ("title", "description")
# Keywords that say which of several forms a value has; they are compared as a whole.
_FORMS = ("if", "then", "else", "allOf", "anyOf", "oneOf", "$ref", "items")
_MEMBERS = "properties"


class SchemaChange(NamedTuple):
    """A difference at one place of two schemas: a shape or member came, went or takes other forms, or a keyword."""

    shape: str
    member: str | None = None
    change: str = ""  # empty if only a keyword differs
    keyword: str = ""
    before: object = None
    after: object = None

    def as_json(self) -> dict[str, object]:
        place = {"shape": self.shape} if self.member is None else {"shape": self.shape, "member": self.member}
        if self.change:
            return {**place, "change": self.change}
        return {**place, "keyword": self.keyword, "before": self.before, "after": self.after}

    def describe(self) -> str:
        place = self.shape if self.member is None else f"{self.shape} `{self.member}`"
        return f"{place}: {self.change or f'{self.keyword} {_shown(self.before)} -> {_shown(self.after)}'}"


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

    @property
    def schema(self) -> list[SchemaChange]:
        return list(_schema_changes(self.before.schema, self.after.schema))

    @property
    def builtins(self) -> dict[str, list[str]]:
        """The builtins that came or, against time, went, by kind."""
        names = {kind: sorted(name for each in self._between for name in each.builtins(kind)) for kind in BUILTINS}
        return {kind: added for kind, added in names.items() if added}

    @property
    def checks(self) -> dict[str, list[str]]:
        """The names of the checks that were added, and of those that were removed."""
        added = [check["name"] for release in self._between for check in release.checks]
        dropped = [name for release in self._between for name in release.strings("dropped")]
        return {"added": added, "removed": dropped} if self._is_forward else {"added": dropped, "removed": added}

    @property
    def texts(self) -> list[str]:
        """The builtins whose texts changed."""
        return sorted({name for release in self._between for name in release.strings("texts")})

    @property
    def changes_routines(self) -> bool:
        return any(release.changes_routines for release in self._between)

    @property
    def notes(self) -> list[tuple[str, str]]:
        """Remarks, each with the version it is about."""
        return [(release.version, note) for release in self._between for note in release.strings("notes")]

    @property
    def _action(self) -> str:
        return "added" if self._is_forward else "removed"

    def as_json(self) -> dict[str, object]:
        """Return the differences as one JSON object."""
        return {
            "from": self.before.version,
            "to": self.after.version,
            "schema": [change.as_json() for change in self.schema],
            "builtins": {self._action: self.builtins},
            "checks": self.checks,
            "pins": {"before": self.before.pins, "after": self.after.pins},
            "texts": self.texts,
            "routineTexts": self.changes_routines,
            "notes": [{"version": version, "note": note} for version, note in self.notes],
        }

    def as_text(self) -> str:
        """Return the differences in lines for people."""
        pins = [f"{_PINS[self.before.pins]} -> {_PINS[self.after.pins]}"] if self.before.pins != self.after.pins else []
        groups = {
            "schema": [change.describe() for change in self.schema],
            **{f"{kind} {self._action}": names for kind, names in self.builtins.items()},
            **{f"checks {action}": names for action, names in self.checks.items()},
            "texts changed": self.texts + (["routines"] if self.changes_routines else []),
            "pinned steps": pins,
            "notes": [f"{version}: {note}" for version, note in self.notes],
        }
        lines = [line for title, items in groups.items() if items for line in (f"{title}:", *(f"  {i}" for i in items))]
        return "\n".join(
            [f"{self.before.version} -> {self.after.version}", *(lines or ["nothing that a workflow could notice"])]
        )


_PINS = {"authored": "as written", "blocks": "resolved, with their blocks", "resolved": "resolved"}


def _shown(value: object) -> str:
    return "none" if value is None else json.dumps(value, ensure_ascii=False)


def _schema_changes(before: Schema, after: Schema) -> Iterator[SchemaChange]:
    """Yield what differs between two schemas of a workflow: shapes, members, keywords."""
    old, new = before["definitions"], after["definitions"]
    for name in sorted({**old, **new}):
        shape: str = (new if name in new else old)[name]["title"]
        if name not in old or name not in new:
            yield SchemaChange(shape, change="added" if name in new else "removed")
            continue
        mine, theirs = old[name].get(_MEMBERS, {}), new[name].get(_MEMBERS, {})
        for member in {**mine, **theirs}:
            if member not in mine or member not in theirs:
                yield SchemaChange(shape, member, "added" if member in theirs else "removed")
            else:
                yield from _keyword_changes(SchemaChange(shape, member), mine[member], theirs[member])
        yield from _keyword_changes(SchemaChange(shape), old[name], new[name])


def _keyword_changes(place: SchemaChange, old: Schema, new: Schema) -> Iterator[SchemaChange]:
    words = [
        word for word in sorted({*old, *new}) if word not in (*_SILENT, _MEMBERS) and old.get(word) != new.get(word)
    ]
    if any(word in _FORMS for word in words):
        yield place._replace(change="takes other forms")
        return
    for word in words:
        yield place._replace(keyword=word, before=old.get(word), after=new.get(word))


def summary(release: Release) -> str:
    """Return what a release changed for authors, in a few words; "" for nothing."""
    parts = ["schema"] if release.schema else []
    parts += [kind for kind in BUILTINS if release.builtins(kind)]
    parts += ["checks"] if release.checks or release.strings("dropped") else []
    parts += ["texts"] if release.strings("texts") or release.changes_routines else []
    parts += ["pins"] if release.pins else []
    parts += ["run time"] if release.strings("notes") and not parts else []
    return ", ".join(parts)
