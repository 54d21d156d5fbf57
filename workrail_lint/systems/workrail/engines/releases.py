"""The releases of the public engine: the table of what each one changed, and one of them as a target.

The table starts at the oldest known release. What a release changed in the schema is kept as what was there before,
so that the schema of a release is the shipped one with everything taken back that came later. Entries of releases
newer than the shipped schema keep what is there since.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache, cached_property
from typing import Any

from workrail_lint.base.files import read_shipped
from workrail_lint.base.patterns import Pattern
from workrail_lint.base.result import Err, Ok, Record
from workrail_lint.base.wording import quoted
from workrail_lint.documents.pointer import parent
from workrail_lint.documents.scanner import loads
from workrail_lint.documents.schema.engine import Validator, Violation, compile_schema
from workrail_lint.documents.schema.walk import SchemaWalk
from workrail_lint.findings import Finding, Phase, Severity
from workrail_lint.systems.schemas import load_schema
from workrail_lint.systems.workrail.catalog.catalog import Catalog
from workrail_lint.systems.workrail.catalog.engine_digests import ENGINE_VERSION
from workrail_lint.systems.workrail.model.workflow import Workflow
from workrail_lint.systems.workrail.step_place import StepPlace

TABLE = os.path.join(os.path.dirname(__file__), "releases.json")
BUILTINS = ("features", "refs", "contracts", "templates")
_VERSION = Pattern(r"v?(\d{1,6})\.(\d{1,6})(?:\.(\d{1,6}))?\Z")
_DEFINITIONS = "#/definitions/"
NEEDED = "engine-version-needed"
_Key = tuple[str, str, str]


class Release(Record):
    """One release, as the table lists it."""

    __slots__ = ("entry",)

    def __init__(self, entry: dict[str, Any]) -> None:
        self.entry = entry

    @property
    def version(self) -> str:
        return str(self.entry["version"])

    @property
    def date(self) -> str:
        return str(self.entry["date"])

    @property
    def order(self) -> tuple[int, ...]:
        """Return what releases are sorted by."""
        return version_order(self.version)

    @property
    def label(self) -> str:
        """Return the version as a message names it: a patch number only where there is one."""
        return self.version.removesuffix(".0") if self.version.count(".") == 2 else self.version

    @property
    def schema(self) -> dict[str, dict[str, Any]]:
        changes: dict[str, dict[str, Any]] = self.entry.get("schema", {})
        return changes

    def builtins(self, kind: str) -> list[str]:
        return list(self.entry.get(kind, ()))

    def strings(self, member: str) -> list[str]:
        return list(self.entry.get(member, ()))

    @property
    def pins(self) -> str:
        """Return which steps are pinned from this release on; "" if it changed nothing about that."""
        return str(self.entry.get("pins", ""))

    @property
    def has_routines(self) -> bool:
        """Return whether this is the release from which on routines can be called as templates."""
        return bool(self.entry.get("routines"))

    @property
    def changes_routines(self) -> bool:
        """Return whether texts of routines changed."""
        return bool(self.entry.get("routineTexts"))

    @property
    def checks(self) -> list[dict[str, str]]:
        """Return the checks that this release was the first to make, by the names of our findings."""
        return list(self.entry.get("checks", ()))


def version_order(version: str) -> tuple[int, ...]:
    """Return what versions are sorted by."""
    return tuple(int(part) for part in version.split("."))


def is_newer(version: str, other: str) -> bool:
    """Return whether a version, which may be no number at all, comes after a known one."""
    return _VERSION.match(version) is not None and version_order(version) > version_order(other)


@cache
def _table() -> dict[str, Any]:
    table: dict[str, Any] = loads(read_shipped(TABLE))
    return table


@cache
def read_table() -> tuple[Release, ...]:
    """Return all known releases, the oldest first."""
    return tuple(Release(entry) for entry in _table()["releases"])


@cache
def _shipped_order() -> tuple[int, ...]:
    return version_order(_table()["shipped"])


def find_release(version: str | None, catalog: Catalog | None = None) -> Ok[Target | None] | Err[str]:
    """Return the release that a version names, "3.60" being the last 3.60.x; None for the newest one.

    The newest needs no table: the shipped schema and catalog describe it. A catalog of an engine that no table lists
    brings what is known about that engine; without a version, it is the one that is meant.
    """
    if catalog is not None and catalog.engine_schema is not None and catalog.engine_version is not None:
        derived = derived_target(catalog.engine_version, catalog.engine_schema)
        if version in (None, derived.version, derived.label):
            return Ok(derived)
    if version is None:
        return Ok(None)
    if version in (ENGINE_VERSION, ENGINE_VERSION.removesuffix(".0")):
        return Ok(None)
    return named_release(version)


def named_release(version: str) -> Ok[Target] | Err[str]:
    """Return the release that a version names, the newest one too."""
    matched = _VERSION.match(version)
    if matched is None:
        return Err(f"{version!r} is not a version; write it like {ENGINE_VERSION.removesuffix('.0')!r}")
    asked = tuple(int(part) for part in matched.groups() if part is not None)
    table = read_table()
    fitting = [release for release in table if release.order[: len(asked)] == asked]
    if fitting:
        return Ok(target(fitting[-1].version))
    newest, oldest = table[-1], table[0]
    if asked > newest.order:
        return Err(f"engine {version} is not known; the newest known is {newest.label}")
    if asked < oldest.order[: len(asked)]:
        return Err(f"engine {version} is not known; the oldest known is {oldest.label}")
    before = max((release for release in table if release.order < asked), key=lambda release: release.order)
    after = min((release for release in table if release.order > asked), key=lambda release: release.order)
    return Err(f"there is no engine {version}; the nearest releases are {before.version} and {after.version}")


@cache
def target(version: str) -> Target:
    """Return a known release as a target; the same object for every caller, because its schema is compiled once."""
    return Target(next(release for release in read_table() if release.version == version))


def derived_target(version: str, schema: Mapping[str, Any]) -> Target:
    """Return a target that no table lists, from what its schema changed. Raise ValueError for one that can't be used.

    Its builtins are in its catalog; what it checks is taken to be what the newest known release checks.
    """
    if not isinstance(version, str) or _VERSION.match(version) is None:
        raise ValueError(version)
    changes = {path: {"is": change["is"]} for path, change in schema.items()}
    return Target(Release({"version": version, "date": "", "schema": changes}))


class Target:
    """A release that workflows are judged for."""

    def __init__(self, release: Release) -> None:
        self.release = release

    @property
    def version(self) -> str:
        return self.release.version

    @property
    def label(self) -> str:
        return self.release.label

    @cached_property
    def later(self) -> tuple[Release, ...]:
        """The releases after this one, the oldest first."""
        return tuple(release for release in read_table() if release.order > self.release.order)

    @cached_property
    def so_far(self) -> tuple[Release, ...]:
        """The releases up to this one, the oldest first."""
        known = tuple(release for release in read_table() if release.order < self.release.order)
        return (*known, self.release)

    # The schema

    @cached_property
    def schema(self) -> dict[str, Any]:
        """The JSON Schema of a workflow for this release."""
        schema = load_schema("workflow")
        definitions = schema["definitions"]
        for release in reversed(self.later):
            if release.order <= _shipped_order():
                _set_all(definitions, release.schema, "was")
        for release in self.so_far:
            if release.order > _shipped_order():
                _set_all(definitions, release.schema, "is")
        return {**schema, "definitions": _reachable(definitions, schema["$ref"].removeprefix(_DEFINITIONS))}

    @cached_property
    def validator(self) -> Validator:
        return compile_schema(self.schema, on_demand=True)

    @cached_property
    def walk(self) -> SchemaWalk:
        """The schema, to be asked about places."""
        return SchemaWalk(self.schema)

    @cached_property
    def later_schemas(self) -> tuple[Target, ...]:
        """The releases after this one whose schema is another than that of the release before."""
        return tuple(target(release.version) for release in self.later if release.schema)

    # Builtins

    @cached_property
    def missing_builtins(self) -> dict[str, Release]:
        """The builtins that only a later release has, with the release that brought each."""
        return {name: release for release in self.later for kind in BUILTINS for name in release.builtins(kind)}

    @cached_property
    def has_routines(self) -> bool:
        """Return whether routines can be called as templates."""
        return any(release.has_routines for release in self.so_far)

    def restricted(self, catalog: Catalog) -> Catalog:
        """Return a catalog without what only a later release has; a catalog of this release stays as it is."""
        missing = self.missing_builtins

        def is_there(kind: str, ident: str) -> bool:
            return ident not in missing and (kind != "templates" or self.has_routines)

        return catalog.restricted(is_there)

    # Checks and the snapshot

    @cached_property
    def _later_checks(self) -> list[dict[str, str]]:
        return [check for release in self.later for check in release.checks]

    def checks(self, finding: Finding) -> bool:
        """Return whether this release makes the check that a finding is the result of."""
        return not any(
            check["name"] == finding.name
            and check.get("phase", finding.phase.value) == finding.phase.value
            and ("under" not in check or f"/{check['under']}/" in finding.pointer)
            for check in self._later_checks
        )

    def drop_later_checks(self, findings: Iterable[Finding]) -> None:
        """Make warnings of what this release does not check."""
        for finding in findings:
            if not self.checks(finding):
                finding.details["engine"] = False
                if finding.severity is Severity.ERROR:
                    finding.severity = Severity.WARNING
                    finding.details["atMost"] = Severity.WARNING.value

    def still_makes(self, check: str) -> bool:
        """Return whether a check that a later release dropped is still made."""
        return any(check in release.strings("dropped") for release in self.later)

    @cached_property
    def pins(self) -> str:
        """The steps that are pinned: `authored` ones, resolved ones that keep their `blocks`, or `resolved` ones."""
        return [release.pins for release in self.so_far if release.pins][-1]

    # A workflow judged for this release: what it lacks, and which release brings it

    def still_refused(self, definition: dict[str, Any], violations: Sequence[Violation]) -> list[Violation]:
        """Return the violations of the newest schema without those that are none for this release."""
        if not violations:
            return []
        there = self.validator.violations(definition)
        refused = {_key(violation) for violation in there}
        places = {violation.pointer for violation in there}
        return [
            violation
            for violation in violations
            # What is inside of a refused value is not looked at there, but wrong all the same.
            if _key(violation) in refused or any(f"{violation.pointer}/".startswith(f"{place}/") for place in places)
        ]

    def findings(self, workflow: Workflow, violations: Sequence[Violation], findings: list[Finding]) -> list[Finding]:
        """Return the findings for this release, given those for the newest one and the violations of its schema."""
        self.drop_later_checks(findings)
        result = [_of_builtin(self, finding, workflow.raw) or finding for finding in findings]
        known = {_key(violation) for violation in violations}
        missing = [each for each in self.validator.violations(workflow.raw) if _key(each) not in known]
        result += _of_schema(self, workflow.raw, missing)
        if self.still_makes("consequence-dimension"):
            result += _dimension_findings(workflow)
        return result


def _set_all(definitions: dict[str, Any], changes: Mapping[str, Mapping[str, Any]], state: str) -> None:
    for path, change in changes.items():
        if state in change:
            _set(definitions, path.split("/"), change[state])


def _set(definitions: dict[str, Any], path: list[str], value: Any) -> None:
    """Put a value at a path, or remove what is there for None. A place that is gone has nothing to change."""
    place: Any = definitions
    for token in path[:-1]:
        place = place[int(token)] if isinstance(place, list) else place.get(token)
        if place is None:
            return
    if value is None:
        place.pop(path[-1], None)
    else:
        place[path[-1]] = value


def _reachable(definitions: dict[str, Any], root: str) -> dict[str, Any]:
    """Return the definitions that a document of this root can need, in order."""
    seen = {root}
    waiting = [root]
    while waiting:
        for name in _references(definitions[waiting.pop()]):
            if name not in seen:
                seen.add(name)
                waiting.append(name)
    return {name: definition for name, definition in definitions.items() if name in seen}


def _references(schema: Any) -> set[str]:
    if isinstance(schema, list):
        return {name for part in schema for name in _references(part)}
    if not isinstance(schema, dict):
        return set()
    inner = {name for word, part in schema.items() if word != "$ref" for name in _references(part)}
    return inner | ({schema["$ref"].removeprefix(_DEFINITIONS)} if isinstance(schema.get("$ref"), str) else set())


def _key(violation: Violation) -> _Key:
    return violation.pointer, violation.keyword, violation.member


def _finding(pointer: str, message: str, phase: Phase = Phase.SCHEMA, *, on_name: bool = False) -> Finding:
    details: dict[str, object] = {"engine": True}
    return Finding(NEEDED, NEEDED, Severity.ERROR, message, pointer, phase=phase, details=details, on_name=on_name)


# What the schema of the release does not admit


def _of_schema(target: Target, definition: dict[str, Any], missing: list[Violation]) -> Iterator[Finding]:
    if not missing:
        return
    needed: dict[_Key, Release] = {}
    waiting = {_key(violation) for violation in missing}
    for later in target.later_schemas:
        refused = {_key(violation) for violation in later.validator.violations(definition)}
        needed.update((key, later.release) for key in waiting - refused)
        waiting &= refused
    kinds = {parent(violation.pointer) for violation in missing if violation.member == "type"}
    for violation in missing:
        if violation.member != "type" and parent(violation.pointer) in kinds:
            continue  # a member of a kind of step that is not there
        release = needed.get(_key(violation))
        place = StepPlace(violation.pointer, definition)
        message = _message(violation, target.label, None if release is None else release.label)
        yield _finding(violation.pointer, place.say(message), on_name=violation.keyword == "additionalProperties")


def _message(violation: Violation, here: str, there: str | None) -> str:
    if there is None:  # another part of the same object has to change first
        return f"engine {here}, which this project targets, refuses {quoted(violation.member)} here"
    aim = f"; this project targets {here}"
    match violation.keyword:
        case "additionalProperties" if violation.member == "type":
            return f"`{violation.value}` steps in a loop need engine {there}{aim}"
        case "additionalProperties":
            return f"`{violation.member}` needs engine {there}{aim}"
        case "required":
            return (
                f"engine {here}, which this project targets, needs `{violation.member}` here; engine {there} does not"
            )
        case "enum" | "const" if violation.member == "type" and isinstance(violation.value, str):
            return f"`{violation.value}` steps need engine {there}{aim}"
        case "enum" | "const":
            return f"the value {quoted(violation.value)} of `{violation.member}` needs engine {there}{aim}"
        case "maxItems":
            more = f"more than {violation.expected} item{'s' if violation.expected != 1 else ''}"
            return f"{more} in `{violation.member}` needs engine {there}{aim}"
        case _:
            return f"this form of `{violation.member}` needs engine {there}{aim}"


# Builtins that came later


def _of_builtin(target: Target, finding: Finding, definition: dict[str, Any]) -> Finding | None:
    """Return what to say instead of "unknown" about a builtin of a later release; None if that is not the reason."""
    if not finding.details.get("engine"):
        return None
    place = StepPlace(finding.pointer, definition)
    name = place.value(place.tokens)
    release = target.missing_builtins.get(name) if isinstance(name, str) else None
    if release is None:
        return None
    message = f"`{name}` needs engine {release.label}; this project targets {target.label}"
    return _finding(finding.pointer, place.say(message), finding.phase)


# The trigger of a consequence, as long as it named a dimension


def _dimension_findings(workflow: Workflow) -> Iterator[Finding]:
    levels = {
        each.id: {dimension.id: dimension.levels for dimension in each.dimensions} for each in workflow.assessments
    }
    for step in workflow.all_steps:
        if step.kind != "standard" or not step.assessment_refs:
            continue
        dimensions = levels.get(step.assessment_refs[0])
        for consequence in step.assessment_consequences if dimensions is not None else ():
            when = consequence.raw.get("when")
            if not isinstance(when, dict) or "dimensionId" not in when:
                continue
            known = (dimensions or {}).get(when["dimensionId"])
            if known is None:
                message = f"{step.label}: the assessment has no dimension {quoted(when['dimensionId'])}"
                yield _finding(f"{consequence.pointer}/when/dimensionId", message, Phase.STRUCTURAL)
            elif when.get("equalsLevel") not in known:
                message = f"{step.label}: the dimension has no level {quoted(when.get('equalsLevel'))}"
                yield _finding(f"{consequence.pointer}/when/equalsLevel", message, Phase.STRUCTURAL)
