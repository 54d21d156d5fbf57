"""BC360 to BC363: the repository that blocks work on."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from workrail_lint.base import js
from workrail_lint.documents.pointer import child
from workrail_lint.findings import Severity
from workrail_lint.rules.base import Example, Report
from workrail_lint.rules.describing import ANY, Description
from workrail_lint.systems.blocks.documents import BlockKind
from workrail_lint.systems.blocks.limits import RESTRICTION_CHARACTERS
from workrail_lint.systems.blocks.rules.base import DECIDED, ENGINES, BlockDocument, BlockRule
from workrail_lint.systems.blocks.rules.definition_shape import written
from workrail_lint.systems.blocks.rules.samples import MOUNT_PATH, WORKFLOW_PATH, mount, workflow
from workrail_lint.systems.blocks.units import Unit
from workrail_lint.systems.blocks.vocabulary import BlockType, RepoSource, members, texts_of
from workrail_lint.systems.blocks.wording import shown

if TYPE_CHECKING:
    from workrail_lint.documents.schema.engine import Violation

_SOURCE_MEMBERS = ("source", "localPath", "githubUrl")


class MountRule(BlockRule):
    """A rule about mounts."""

    kinds = (BlockKind.MOUNT,)


class MountSource(MountRule):
    code = "BC360"
    name = "mount-source"
    severity = Severity.ERROR
    origin = ENGINES
    summary = "The source of a mount is unknown, has no path or address, or its address is not https."
    why = "There is no repository to mount, so no block can start."
    describes = (
        (ANY, "required"),
        *((ANY, keyword, name) for keyword in ("type", "enum", "pattern") for name in _SOURCE_MEMBERS),
    )

    def describe(self, violation: Violation, document: BlockDocument) -> Description:
        source, name = shown(document.value.get("source")), violation.member
        if violation.keyword == "required":
            hint = f"; {source} requires it" if name != "source" else ""
            return Description(f"{shown(name)} is missing{hint}", pointer=child("", name))
        found = written(violation.value)
        if name == "source":
            message = f"unknown source {found}; expected one of {', '.join(members(RepoSource))}"
        else:
            message = (
                f"{found} is not {'a path' if name == 'localPath' else 'an https address'}, which {source} requires"
            )
        return Description(message)

    def check_document(self, document: BlockDocument, report: Report) -> None:
        path = document.value.get("localPath")
        if document.value.get("source") == RepoSource.LOCAL.value and isinstance(path, str) and js.is_blank(path):
            report("/localPath", f"{shown(path)} is not a path, which {shown(RepoSource.LOCAL.value)} requires")

    def examples(self) -> Iterator[Example]:
        yield Example(mount(localPath=...), mount(), path=MOUNT_PATH)
        yield Example(mount(localPath=" "), mount(), path=MOUNT_PATH)
        remote: dict[str, Any] = {"source": "github", "githubUrl": "https://github.com/example/shop"}
        yield Example({**remote, "githubUrl": "http://github.com/example/shop"}, remote, path=MOUNT_PATH)


class RestrictionInvalid(MountRule):
    code = "BC361"
    name = "restriction-invalid"
    severity = Severity.ERROR
    origin = DECIDED
    summary = f"A restriction is blank, contains `..`, or has more than {RESTRICTION_CHARACTERS} characters."
    why = "Patterns match paths inside the workspace, which never contain `..`; such a pattern protects nothing."

    def check_document(self, document: BlockDocument, report: Report) -> None:
        for at, pattern in texts_of(document.value.get("fileRestrictions")):
            fault = None
            if js.is_blank(pattern):
                fault = "is blank"
            elif ".." in pattern:
                fault = "contains '..', which no path in the workspace does"
            elif len(pattern) > RESTRICTION_CHARACTERS:
                fault = f"has {len(pattern):,} characters; engines accept {RESTRICTION_CHARACTERS}"
            if fault is not None:
                report(f"/fileRestrictions/{at}", f"the restriction {shown(pattern)} {fault}")

    def examples(self) -> Iterator[Example]:
        yield Example(mount(fileRestrictions=["../**"]), mount(fileRestrictions=["src/**"]), path=MOUNT_PATH)


class RestrictionDead(MountRule):
    code = "BC362"
    name = "restriction-dead"
    severity = Severity.WARNING
    origin = DECIDED
    summary = "A restriction matches no file in the workspace (checked only if the workspace is known)."
    why = "Usually a folder name is misspelled, so blocks may edit none of the intended files."

    def check_unit(self, unit: Unit, report: Report) -> None:
        if unit.tree is None or unit.mount is None or unit.restrictions is None:
            return
        patterns = [pattern for pattern in unit.restrictions if not js.is_blank(pattern)]
        dead = set(unit.tree.unmatched(patterns)) if patterns else set()
        for at, pattern in texts_of(unit.mount.value.get("fileRestrictions")):
            if pattern in dead:
                report(
                    f"/fileRestrictions/{at}",
                    f"{shown(pattern)} matches no file in the workspace",
                    path=unit.mount.path,
                )

    def examples(self) -> Iterator[Example]:
        yield Example(
            mount(fileRestrictions=["srcs/**"]),
            mount(fileRestrictions=["src/**"]),
            path=MOUNT_PATH,
            files={"src/a.py": "x = 1\n"},
            options={"block-tree": "."},
        )


class ReadOnlyWithEditors(MountRule):
    code = "BC363"
    name = "read-only-with-editors"
    severity = Severity.WARNING
    origin = ENGINES
    summary = "The mount is read-only, but the definition has nodes that edit files."
    why = "Every dev and devops block of the run will fail or leave its work undone."

    def check_unit(self, unit: Unit, report: Report) -> None:
        if unit.definition is None or unit.mount is None or not unit.is_read_only:
            return
        for node in unit.definition.nodes:
            if node.block_type in (BlockType.DEV, BlockType.DEVOPS):
                assert node.block_type is not None
                text = f"the mount is read-only, but the {node.block_type.value} node {shown(node.id)} edits files"
                report("/readOnly", text, path=unit.mount.path)

    def examples(self) -> Iterator[Example]:
        flow: dict[str, Any] = {WORKFLOW_PATH: workflow()}
        yield Example(mount(readOnly=True), mount(readOnly=False), path=MOUNT_PATH, files=flow)
