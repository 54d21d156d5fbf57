"""The workflows of a run seen together: ids that clash, and delegations to unknown workflows or in a cycle.

Each file contributes a small entry, which can travel between processes and be kept in a cache; the findings are
a function of the entries. They are the engine's own verdict only when all workflows were looked at.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any

from workrail_lint.base.result import Record
from workrail_lint.base.suggest import did_you_mean, nearest_id
from workrail_lint.base.wording import quoted
from workrail_lint.documents.operations import Replace
from workrail_lint.findings import Finding, Phase, Severity, unsafe
from workrail_lint.systems.workrail import identity
from workrail_lint.systems.workrail.catalog.catalog import template_id_of
from workrail_lint.systems.workrail.document_kinds import is_routine
from workrail_lint.systems.workrail.identity import Variant
from workrail_lint.systems.workrail.rules import RULES

# A workflow is known by its workspace and its id: workspaces may use the same ids.
_Node = tuple[str, str]
_Graph = dict[_Node, set[_Node]]
_SHOWN = 3  # of a list of other files or ids
_MANY = 2000  # ids
_LONG = 12  # cycle of delegations
# Rules that suggest another id; which one is free shows only among all files.
RENAMES = frozenset({"workflow-id-reserved", "workflow-id-legacy", "workflow-id-legacy-new"})
_OWN_FOLDER = ".workrail"
_OWN_SOURCE = f"{_OWN_FOLDER}/{identity.SOURCE_FOLDER}"


class Delegation(Record):
    """A workflow that a parallel step delegates to, and where it says so."""

    __slots__ = ("gives", "pointer", "target")

    def __init__(self, pointer: str, target: str, gives: tuple[str, ...] = ()) -> None:
        self.pointer = pointer
        self.target = target
        self.gives = gives  # the context variables it starts with


class Mention(Record):
    """A workflow that a prompt names, and where it says so first."""

    __slots__ = ("is_name", "pointer", "target")

    def __init__(self, pointer: str, target: str, is_name: bool) -> None:
        self.pointer = pointer
        self.target = target
        self.is_name = is_name  # the name that people see, not an id


class Entry(Record):
    """The facts about a workflow that other files need."""

    __slots__ = ("delegations", "id", "mentions", "name", "path", "slots", "source_kind")

    def __init__(
        self,
        path: str,
        id: str,
        source_kind: str,
        delegations: tuple[Delegation, ...] = (),
        mentions: tuple[Mention, ...] = (),
        name: str = "",
        slots: tuple[str, ...] = (),
    ) -> None:
        self.path = path
        self.id = id
        self.source_kind = source_kind
        self.delegations = delegations
        self.mentions = mentions
        self.name = name
        self.slots = slots  # that bindings can fill

    @classmethod
    def from_record(cls, path: str, record: list[Any]) -> Entry:
        """Return the entry of a workflow from what `as_record` made of it."""
        ident, kind, delegations, slots, mentions, name = record
        known = (Delegation(pointer, target, tuple(gives)) for pointer, target, gives in delegations)
        return cls(path, ident, kind, tuple(known), tuple(Mention(*each) for each in mentions), name, tuple(slots))

    def as_record(self) -> list[Any]:
        """Return the entry without its path as plain JSON, which comes back from a cache as it was."""
        delegations = [[each.pointer, each.target, list(each.gives)] for each in self.delegations]
        mentions = [[each.pointer, each.target, each.is_name] for each in self.mentions]
        return [self.id, self.source_kind, delegations, list(self.slots), mentions, self.name]

    @property
    def root(self) -> str:
        """The source the file belongs to; a file that is in none is only met by those beside it."""
        return identity.source_root(self.path) or self.path.replace("\\", "/").rpartition("/")[0]

    @property
    def node(self) -> _Node:
        """Itself among all others; the two sources of a workspace are one place."""
        root = self.root
        return root.removesuffix(_OWN_SOURCE) + identity.SOURCE_FOLDER if root.endswith(_OWN_SOURCE) else root, self.id

    @property
    def variant(self) -> Variant:
        return identity.variant_of(identity.inside_source(self.path))

    @property
    def is_routine(self) -> bool:
        return is_routine(self.path, self.id)

    @property
    def is_discovered(self) -> bool:
        """Folders named `examples` are never looked into; what is internal is loaded, though not listed."""
        folders = identity.inside_source(self.path).split("/")[:-1]
        return "examples" not in folders


def registry_findings(
    entries: Iterable[Entry],
    *,
    bundled_ids: Collection[str] = (),
    bundled_names: Mapping[str, str] | None = None,
    routine_ids: Collection[str] = (),
    complete: bool = False,
) -> dict[str, list[Finding]]:
    """Return the findings by path, for the paths that have any.

    `bundled_ids` are workflows and routines that come with the engine and need not be among the entries, and
    `bundled_names` the ids of some of them by the name that people see. `routine_ids` are those of the folder that
    the project configures for its routines: with it, a routine that is missing there is known to be missing.
    `complete` says that the entries are all workflows there are: only then a missing target is an error, and
    only then the engine's registry validation would say the same.
    """
    registry = _Registry(
        sorted(entries, key=lambda each: (each.path, each.id, each.source_kind)),
        frozenset(bundled_ids),
        bundled_names or {},
        frozenset(routine_ids),
        complete,
    )
    findings: dict[str, list[Finding]] = {}
    for path, finding in registry.findings():
        finding.path = path
        findings.setdefault(path, []).append(finding)
    return findings


def with_free_ids(findings: list[Finding], entries: Iterable[Entry]) -> list[Finding]:
    """Return the findings, with another suggestion where the id to rename a workflow to belongs to somebody else.

    Of two workflows that would get the same id the later file has to give way; variants of one keep sharing theirs.
    """
    by_path = {entry.path: entry for entry in entries}
    used: dict[str, set[str]] = {}
    for entry in by_path.values():
        used.setdefault(entry.node[0], set()).add(entry.id)
    given: dict[_Node, str | None] = {}
    changed: dict[int, Finding] = {}
    renames = [finding for finding in findings if finding.name in RENAMES and finding.path in by_path]
    for finding in sorted(renames, key=lambda finding: finding.path):
        entry = by_path[finding.path]
        ids = used[entry.node[0]]
        if entry.node not in given:
            plain = entry.id.removeprefix(f"{identity.RESERVED_NAMESPACE}.")
            given[entry.node] = new = identity.suggest(plain, entry.source_kind, ids)
            ids.update([new] if new is not None else [])
        changed[id(finding)] = _renamed_to(finding, given[entry.node])
    return [changed.get(id(finding), finding) for finding in findings]


def _renamed_to(finding: Finding, new: str | None) -> Finding:
    operation = finding.fix.operations[0] if finding.fix is not None else None
    if new is None or not isinstance(operation, Replace) or operation.value == new:
        return finding

    # Another finding, because what the file's own check said may be kept for the next run.
    return finding.replaced(
        message=finding.message.removesuffix(quoted(operation.value)) + quoted(new),
        fix=unsafe(f"rename it to {new}", Replace(operation.pointer, new)),
    )


class _Registry:
    def __init__(
        self,
        entries: list[Entry],
        bundled_ids: frozenset[str],
        bundled_names: Mapping[str, str],
        routine_ids: frozenset[str],
        complete: bool,
    ) -> None:
        self.entries = entries
        self.routine_ids = routine_ids
        names = {**bundled_names, **{entry.name: entry.id for entry in entries if entry.name}}
        self.ids_by_name = {_plain_name(name): ident for name, ident in names.items()}
        self.complete = complete
        self.bundled = bundled_ids | {entry.id for entry in entries if entry.source_kind == "bundled"}
        self.has_bundled_source = any(entry.source_kind == "bundled" for entry in entries)
        self._suggestions: dict[str, str | None] = {}
        self.by_id: dict[str, list[Entry]] = {}
        self.nodes: dict[str, set[_Node]] = {}
        self.discovered = {entry.id for entry in entries if entry.is_discovered}
        # What a run finds: not examples, and not a reserved id outside the engine's own source.
        self.startable = {
            entry.id
            for entry in entries
            if entry.is_discovered and (entry.source_kind == "bundled" or not identity.is_reserved(entry.id))
        }
        for entry in entries:
            self.by_id.setdefault(entry.id, []).append(entry)
            self.nodes.setdefault(entry.id, set()).add(entry.node)

    def findings(self) -> Iterator[tuple[str, Finding]]:
        yield from self._duplicates()
        yield from self._equal_names()
        yield from self._template_collisions()
        for entry in self.entries:
            if entry.source_kind != "bundled" and identity.is_reserved(entry.id) and entry.id in self.bundled:
                text = (
                    f"the engine ignores this file, because a bundled workflow has the id {quoted(entry.id)}; rename it"
                )
                yield entry.path, self._finding("shadow-attempt-reserved", "/id", text)
        yield from self._delegations()
        for entry in self.entries:
            for mention in entry.mentions:
                finding = self._judged_mention(entry, mention)
                if finding is not None:
                    yield entry.path, finding

    # ------------------------------------------------------------------------------------------------ ids

    def _duplicates(self) -> Iterator[tuple[str, Finding]]:
        for ident, sharing in self.by_id.items():
            rivals = [entry for entry in sharing if entry.is_discovered]
            if len(rivals) < 2:
                continue
            for entry, others in _clashes(rivals):
                message = f"duplicate workflow id {quoted(ident)}, also used by {others}"
                yield entry.path, self._finding("duplicate-workflow-id", "/id", message)

    def _equal_names(self) -> Iterator[tuple[str, Finding]]:
        """Yield the workflows that people can't tell apart: the same name, but another id."""
        by_name: dict[tuple[str, str], list[Entry]] = {}
        for entry in self.entries:
            if entry.name and entry.is_discovered:
                by_name.setdefault((entry.node[0], " ".join(entry.name.lower().split())), []).append(entry)
        for sharing in by_name.values():
            first = sharing[0]
            for entry in sharing[1:]:
                if entry.id != first.id:
                    text = (
                        f"the name {quoted(entry.name)} is also that of {quoted(first.id)}, so a list of "
                        f"workflows shows "
                        "it twice; give each its own"
                    )
                    yield entry.path, self._finding("duplicate-display-name", "/name", text, engine=False)

    def _template_collisions(self) -> Iterator[tuple[str, Finding]]:
        templates: dict[tuple[str, str], list[Entry]] = {}
        for entry in self.entries:
            if entry.is_routine:
                templates.setdefault((entry.root, template_id_of(entry.id)), []).append(entry)
        for (_, template), sharing in templates.items():
            ids = {entry.id for entry in sharing}
            for entry in sharing if len(ids) > 1 else ():
                others = _listed([ident for ident in sorted(ids) if ident != entry.id], len(ids) - 1)
                text = (
                    f"routine {quoted(entry.id)} maps to template {quoted(template)}, and so does {others}; the later "
                    "one silently replaces the other, so rename one"
                )
                yield entry.path, self._finding("routine-template-collision", "/id", text, engine=False)

    # -------------------------------------------------------------------------------------------- delegation

    def _delegations(self) -> Iterator[tuple[str, Finding]]:
        targets: _Graph = {}
        for entry in self.entries:
            own_targets = targets.setdefault(entry.node, set())
            for delegation in entry.delegations:
                own_targets |= self._meant(entry, delegation.target)
        circular = _circular_part(targets)
        for entry in self.entries:
            for delegation in entry.delegations:
                finding = self._judged(entry, delegation, circular)
                if finding is not None:
                    yield entry.path, finding

    def _judged(self, entry: Entry, delegation: Delegation, circular: _Graph) -> Finding | None:
        pointer, target = delegation.pointer, delegation.target
        if target == entry.id:
            text = f"the workflow {quoted(entry.id)} delegates to itself; name another workflow"
            return self._finding("delegation-circular", pointer, text)
        if target not in self.by_id:
            is_known = target in self.bundled or target in self.routine_ids
            return None if is_known else self._unknown(entry, pointer, target)
        if entry.is_discovered and target not in self.discovered and target not in self.bundled:
            text = f"the workflow {quoted(target)} is in a folder named examples, where no run finds it; move it"
            return self._not_found(pointer, target, text)
        ways = (_way_back(entry.node, meant, circular) for meant in sorted(self._meant(entry, target)))
        cycle = next((way for way in ways if way is not None), None)
        if cycle is None:
            return None
        if len(cycle) > _LONG:
            cycle = [*cycle[:4], "...", *cycle[-2:]]
        path = " -> ".join(quoted(ident)[1:-1] for ident in cycle)
        return self._finding("delegation-circular", pointer, f"circular delegation: {path}; remove one of them")

    # ------------------------------------------------------------------------------------ what prompts name

    def _judged_mention(self, entry: Entry, mention: Mention) -> Finding | None:
        """Return whether a prompt names a workflow that an agent can start."""
        pointer, target, is_name = mention.pointer, mention.target, mention.is_name
        # Bundled workflows are there at run time even when only a project's own were looked at.
        judged = self.complete and (self.has_bundled_source or not (is_name or identity.is_reserved(target)))
        if is_name:
            ident = self.ids_by_name.get(_plain_name(target))
            if ident is not None:
                judged = True  # this name is certainly not an id
                text = f"workflows are started by id, not by name; write {quoted(ident)} instead of {quoted(target)}"
            else:
                text = f"workflow {quoted(target)} was not found in the checked folders"
        elif target in self.by_id or target in self.bundled or target in self.routine_ids:
            return None
        else:
            bundled = f"{identity.RESERVED_NAMESPACE}.{target}"  # what most of them are called by mistake
            is_near = bundled in self.startable or bundled in self.bundled
            suggestion = bundled if is_near else self._nearest(target) or self._nearest(bundled)
            judged = judged or self._is_elsewhere_known(target, suggestion)
            hint = f"; did you mean {quoted(suggestion)}?" if suggestion not in (None, entry.id) else ""
            text = f"workflow {quoted(target)} was not found in the checked folders{hint}"
        severity = None if judged else Severity.INFO
        return self._finding("workflow-reference-unknown", pointer, text, engine=False, severity=severity)

    def _is_elsewhere_known(self, target: str, suggestion: str | None) -> bool:
        """Return whether an id would be known if it existed, also when only some files are checked."""
        is_routine = "routine" in target.replace(".", "-").split("-")
        if identity.is_reserved(target):  # the routines of the engine are all in the catalog
            return suggestion in self.bundled or (is_routine and bool(self.bundled))
        # A project that has its own routine does not name it nearly like one of the engine.
        if is_routine and suggestion in self.bundled and suggestion != f"{identity.RESERVED_NAMESPACE}.{target}":
            return True
        return is_routine and bool(self.routine_ids)  # those of the project are where it keeps them

    def _meant(self, entry: Entry, target: str) -> set[_Node]:
        """Return the workflows an id can stand for: that of the same workspace, or else those of the others."""
        nodes = self.nodes.get(target, set())
        own = (entry.node[0], target)
        return {own} if own in nodes else nodes

    def _unknown(self, entry: Entry, pointer: str, target: str) -> Finding:
        suggestion = self._nearest(target)
        if suggestion == entry.id:
            suggestion = None  # a workflow must not delegate to itself
        hint = did_you_mean(suggestion)
        text = f"workflow {quoted(target)} was not found in the checked folders{hint}"
        finding = self._not_found(pointer, target, text)
        if finding.severity is Severity.INFO and self._is_elsewhere_known(target, suggestion):
            finding = self._finding("delegation-unknown", pointer, text, engine=False, severity=Severity.WARNING)
        if suggestion:
            finding.details["suggestion"] = suggestion
        return finding

    def _not_found(self, pointer: str, target: str, message: str) -> Finding:
        # Bundled workflows are there at run time even when only a project's own were looked at.
        judged = self.complete and (self.has_bundled_source or not identity.is_reserved(target))
        severity = None if judged else Severity.INFO
        return self._finding("delegation-unknown", pointer, message, engine=judged, severity=severity)

    def _nearest(self, target: str) -> str | None:
        """Return the id that was probably meant. Among very many the look would take longer than it helps."""
        if target not in self._suggestions:
            known = sorted(self.startable | self.bundled | self.routine_ids)
            self._suggestions[target] = nearest_id(target, known) if len(known) <= _MANY else None
        return self._suggestions[target]

    def _finding(
        self, name: str, pointer: str, message: str, *, engine: bool = True, severity: Severity | None = None
    ) -> Finding:
        rule = RULES.by_name[name]
        return Finding(
            rule.code,
            name,
            severity or rule.severity,
            message,
            pointer,
            phase=Phase.REGISTRY,
            details={"engine": engine and self.complete},
        )


def _plain_name(name: str) -> str:
    """Return a name without what people add or leave out: case, and the words routine and workflow."""
    words = [word for word in name.lower().split() if word not in ("routine", "workflow", "the")]
    return " ".join(words)


def _clashes(rivals: list[Entry]) -> Iterator[tuple[Entry, str]]:
    """Yield files with one id that get in each other's way, each with the others in words."""
    beside: dict[tuple[str, Variant], list[Entry]] = {}
    by_root: dict[str, list[Entry]] = {}
    for entry in rivals:
        beside.setdefault((entry.root, entry.variant), []).append(entry)
        by_root.setdefault(entry.root, []).append(entry)
    for entry in rivals:
        others = beside[entry.root, entry.variant]
        source = _other_source(entry.root)
        elsewhere = by_root.get(source, []) if source is not None else []
        # What a bundled id does in another source is a shadow attempt.
        shadows = identity.is_reserved(entry.id) and "bundled" in (e.source_kind for e in (entry, *elsewhere[:1]))
        if elsewhere and not shadows:
            others = others + elsewhere
        if len(others) > 1:
            yield entry, _listed([other.path for other in others[: _SHOWN + 1] if other is not entry], len(others) - 1)


def _listed(paths: list[str], count: int) -> str:
    text = ", ".join(quoted(path) for path in paths[:_SHOWN])
    return text if count <= _SHOWN else f"{text} and {count - _SHOWN} more"


def _other_source(root: str) -> str | None:
    """Return the other of two folders that are read together: `workflows` and `.workrail/workflows`."""
    folder, _, name = root.rpartition("/")
    if name != identity.SOURCE_FOLDER:
        return None
    if folder.rpartition("/")[2] == _OWN_FOLDER:
        return folder.removesuffix(_OWN_FOLDER) + name
    return f"{folder}/{_OWN_FOLDER}/{name}" if folder or root.startswith("/") else f"{_OWN_FOLDER}/{name}"


def _circular_part(targets: _Graph) -> _Graph:
    """Return what is left of a graph without everything that only leads into cycles or out of them."""
    left = {ident: {target for target in others if target in targets} for ident, others in targets.items()}
    for _ in range(2):
        sources: _Graph = {ident: set() for ident in left}
        for ident, others in left.items():
            for target in others:
                sources[target].add(ident)
        ends = [ident for ident, others in left.items() if not others]
        while ends:
            end = ends.pop()
            del left[end]
            for source in sources[end]:
                left[source].discard(end)
                if not left[source]:
                    ends.append(source)
        # The same from the other side: turned around, what nothing leads to is an end.
        left = {ident: {source for source in sources[ident] if source in left} for ident in left}
    return left


def _way_back(start: _Node, target: _Node, graph: _Graph) -> list[str] | None:
    """Return the shortest way from a target back to where it was delegated from, as ids; None when there is none."""
    if start not in graph or target not in graph:
        return None
    before: dict[_Node, _Node] = {target: start}
    queue = [target]
    for node in queue:
        for following in sorted(graph[node]):
            if following == start:
                way = [start, node]
                while way[-1] != target:
                    way.append(before[way[-1]])
                return [ident for _, ident in (start, *reversed(way[1:]), start)]
            if following not in before:
                before[following] = node
                queue.append(following)
    return None
