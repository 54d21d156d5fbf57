"""`rewrite`: the rules in their order, and those for the top of the document."""

from __future__ import annotations

from typing import Any

from workrail_lint.base import js
from workrail_lint.documents import pointer as pointers
from workrail_lint.findings import Phase
from workrail_lint.systems.workrail.compat import steps
from workrail_lint.systems.workrail.compat.draft import Action, Draft, Frame, Shape, frames_of
from workrail_lint.systems.workrail.compat.normalize import (
    AGENT_ROLE,
    CAPABILITIES,
    CAPABILITY_LEVELS,
    CAPABILITY_NAMES,
    CAPABILITY_UNKNOWN,
    DOCUMENT_KINDS,
    EXTENSION_CONTRACT,
    EXTENSION_MAP,
    FEATURE_CAPABILITIES,
    FEATURE_CONFIG,
    FEATURE_CONFIG_NOT_ALLOWED,
    FEATURE_CONFIGS,
    FEATURE_SUBAGENTS,
    VERSION_MISSING,
    Normalized,
    Policy,
    code_list,
    code_span,
)
from workrail_lint.systems.workrail.compat.steps import NamedConditions

FIRST_VERSION = "0.1.0"
MIN_ROLE = 10
MAX_ROLE = 1024
_SLOT_CONTRACTS = ("inputContract", "outputContract")


def version_missing(draft: Draft) -> None:
    """D11: a workflow without a version gets the first one."""
    if "version" in draft.original:
        return
    if draft.allows(VERSION_MISSING, "", "version", None, FIRST_VERSION):
        document = draft.own()
        members = list(document.items())
        at = next((index for index, (name, _) in enumerate(members, 1) if name == "description"), len(members))
        members.insert(at, ("version", FIRST_VERSION))
        document.clear()
        document.update(members)
        draft.places.add_derived("/version", "")


def extension_map(draft: Draft) -> None:
    """D12: a map of slots becomes a list; the contracts of a slot go to the side model."""
    slots = js.object_in(draft.original, "extensionPoints")
    if slots is None or not all(_is_slot(slot) for slot in slots.values()):
        return
    contracts = {
        name: {member: slot[member] for member in _SLOT_CONTRACTS if member in slot}
        for name, slot in slots.items()
        if not slot.keys().isdisjoint(_SLOT_CONTRACTS)
    }
    names = js.keys(slots)
    points = [_extension_point(name, slots[name]) for name in names]
    origin = "/extensionPoints"
    if not draft.allows(EXTENSION_MAP, origin, "extensionPoints", slots, points, lossy=bool(contracts)):
        return
    draft.own()["extensionPoints"] = points
    draft.side.extension_contracts = contracts
    for index, name in enumerate(names):
        place, slot = pointers.child(origin, index), pointers.child(origin, name)
        draft.places.add_moved(place, slot)
        draft.places.add_derived(pointers.child(place, "slotId"), slot)
        if "default" not in slots[name]:
            draft.places.add_moved(pointers.child(place, "default"), pointers.child(slot, "defaultBinding"))


def _is_slot(slot: object) -> bool:
    """Return whether this is an entry of the map; one with a `slotId` is a misplaced list element."""
    return isinstance(slot, dict) and "slotId" not in slot


def _extension_point(name: str, slot: dict[str, Any]) -> dict[str, Any]:
    point: dict[str, Any] = {"slotId": name}
    for member, value in slot.items():
        if member == "defaultBinding" and "default" not in slot:
            point["default"] = value
        elif member not in _SLOT_CONTRACTS:
            point[member] = value
    return point


def extension_contract(draft: Draft) -> None:
    """D13: what a child declares about itself goes to the side model."""
    _document_kind(draft)
    if "extensionContract" not in draft.original:
        return
    contract, origin = js.object_in(draft.original, "extensionContract"), "/extensionContract"
    if draft.rejects(EXTENSION_CONTRACT, origin):
        return
    if contract is None:
        draft.refuse(EXTENSION_CONTRACT.name, origin, "`extensionContract` must be an object; fix or remove it")
    elif _drops(draft, origin, "extensionContract", contract):
        draft.side.extension_contract = contract


def _document_kind(draft: Draft) -> None:
    if "kind" not in draft.original:
        return
    kind, origin = draft.original["kind"], "/kind"
    if draft.rejects(EXTENSION_CONTRACT, origin):
        return
    if kind not in DOCUMENT_KINDS:
        draft.refuse(
            EXTENSION_CONTRACT.name, origin, f"`kind` must be one of {code_list(DOCUMENT_KINDS)}; fix or remove it"
        )
    elif _drops(draft, origin, "kind", kind):
        draft.side.kind = kind


def _drops(draft: Draft, origin: str, member: str, value: Any) -> bool:
    allowed = draft.allows(EXTENSION_CONTRACT, origin, member, value, None, action=Action.DROP, lossy=True)
    if allowed:
        del draft.own()[member]
    return allowed


def capabilities(draft: Draft) -> None:
    """D7: capabilities go to the side model; the features that they imply are declared."""
    if "capabilities" not in draft.original:
        return
    wanted, origin = js.object_in(draft.original, "capabilities"), "/capabilities"
    if draft.rejects(CAPABILITIES, origin):
        return
    if wanted is None:
        draft.refuse(
            CAPABILITIES.name,
            origin,
            f"`capabilities` must be an object that maps {code_list(CAPABILITY_NAMES)} to one of "
            f"{code_list(CAPABILITY_LEVELS)}",
        )
        return
    if not _are_capabilities(draft, wanted, origin):
        return
    features = js.list_in(draft.original, "features") if "features" in draft.original else []
    if features is None:
        draft.refuse(
            CAPABILITIES.name,
            origin,
            "`capabilities` adds to `features`, which must be a list; fix `features` first",
        )
        return
    added = _missing_features(wanted, features)
    if not draft.allows(
        CAPABILITIES, origin, "capabilities", wanted, {"features": added}, action=Action.DROP, lossy=bool(wanted)
    ):
        return
    document = draft.own()
    del document["capabilities"]
    draft.side.capabilities = dict(wanted)
    if added:
        document["features"] = features + added
        if "features" not in draft.original:
            draft.places.add_derived("/features", origin)
        for index in range(len(features), len(features) + len(added)):
            draft.places.add_derived(f"/features/{index}", origin)


def _are_capabilities(draft: Draft, wanted: dict[str, Any], origin: str) -> bool:
    sound = True
    for name, level in wanted.items():
        if name not in CAPABILITY_NAMES:
            problem = f"unknown capability {code_span(name)}; expected one of {code_list(CAPABILITY_NAMES)}"
        elif level not in CAPABILITY_LEVELS:
            problem = f"the level of capability `{name}` must be one of {code_list(CAPABILITY_LEVELS)}"
        else:
            continue
        sound = False
        draft.refuse(CAPABILITY_UNKNOWN, pointers.child(origin, name), problem, keeps=origin, phase=Phase.LINT)
    return sound


def _missing_features(wanted: dict[str, str], features: list[Any]) -> list[str]:
    """Return the features that requested capabilities imply and that are not declared, as an id or as an object."""
    requested = [name for name, level in wanted.items() if level != "disabled"]
    implied = [FEATURE_CAPABILITIES] if requested else []
    if "delegation" in requested:
        implied.append(FEATURE_SUBAGENTS)
    declared = [js.string_in(feature, "id") or feature for feature in features]
    return [feature for feature in implied if feature not in declared]


def feature_configs(draft: Draft) -> None:
    """D8: a feature object becomes its id; the configuration goes to the side model."""
    for index, feature in enumerate(js.list_in(draft.original, "features") or ()):
        identifier = js.string_in(feature, "id")
        if identifier is not None and feature.keys() <= {"id", "config"}:
            _feature_config(draft, index, feature, identifier)


def _feature_config(draft: Draft, index: int, feature: dict[str, Any], identifier: str) -> None:
    origin = f"/features/{index}"
    if draft.rejects(FEATURE_CONFIG, origin):
        return
    config = js.object_in(feature, "config")
    if "config" in feature and not _is_config(draft, identifier, config, origin):
        return
    if draft.allows(FEATURE_CONFIG, origin, "feature", feature, identifier, lossy=bool(config)):
        draft.own(("features",))[index] = identifier
        draft.places.add_derived(origin, f"{origin}/id")
        if config is not None:
            draft.side.feature_configs[identifier] = dict(config)


def _is_config(draft: Draft, feature: str, config: dict[str, Any] | None, origin: str) -> bool:
    place = f"{origin}/config"
    problems: list[tuple[str, str]] = []
    if feature not in FEATURE_CONFIGS:
        problems.append((place, f"feature {code_span(feature)} takes no configuration; write its id as a string"))
    elif config is None:
        problems.append((place, f"the configuration of `{feature}` must be an object"))
    else:
        members = FEATURE_CONFIGS[feature]
        for name, value in config.items():
            if name not in members:
                known = code_list(tuple(members)) or "none"
                problems.append(
                    (pointers.child(place, name), f"`{feature}` has no setting {code_span(name)} (settings: {known})")
                )
            elif value not in members[name]:
                problems.append(
                    (pointers.child(place, name), f"`{name}` of `{feature}` must be one of {code_list(members[name])}")
                )
    for pointer, message in problems:
        draft.refuse(FEATURE_CONFIG_NOT_ALLOWED, pointer, message, keeps=origin, phase=Phase.LINT)
    return not problems


def agent_role(draft: Draft, frames: list[Frame]) -> None:
    """D9: the role of the workflow is written to every standard step that has none."""
    if "agentRole" not in draft.original:
        return
    role, origin = js.string_in(draft.original, "agentRole"), "/agentRole"
    if draft.rejects(AGENT_ROLE, origin):
        return
    if role is None or not MIN_ROLE <= len(role) <= MAX_ROLE:
        draft.refuse(
            AGENT_ROLE.name,
            origin,
            f"`agentRole` must be a string of {MIN_ROLE} to {MAX_ROLE:,} characters",
        )
        return
    takers = [frame for frame in frames if _takes_role(frame)]
    after = {"steps": [frame.origin for frame in takers]}
    if not draft.allows(AGENT_ROLE, origin, "agentRole", role, after):
        return
    del draft.own()["agentRole"]
    draft.side.agent_role = role
    for frame in takers:
        draft.own(frame.path)["agentRole"] = role
        draft.touch(frame.pointer, AGENT_ROLE)
        draft.places.add_derived(pointers.child(frame.pointer, "agentRole"), origin)


def _takes_role(frame: Frame) -> bool:
    step = frame.step
    return frame.shape is Shape.STANDARD and "agentRole" not in step and "templateCall" not in step


def rewrite(document: dict[str, Any], policy: Policy) -> Normalized:
    """Apply every rule. The order decides member order and which code a step names first."""
    draft = Draft(document, policy)
    version_missing(draft)
    extension_map(draft)
    extension_contract(draft)
    capabilities(draft)
    feature_configs(draft)

    frames = frames_of(document)
    plan = steps.IdPlan(frames)
    conditions = NamedConditions(draft)
    for frame in frames:
        steps.template_call(draft, frame, plan)
        steps.dash_id(draft, frame)
        steps.dash_references(draft, frame, plan)
        steps.loop_shape(draft, frame)
        steps.loop_condition(draft, frame, conditions)
        steps.body_object(draft, frame)
        if frame.is_standard:
            steps.output_contract(draft, frame)
            steps.output_hints(draft, frame)
            steps.bare_rule(draft, frame)
            steps.rule_messages(draft, frame)

    agent_role(draft, frames)
    conditions.remove(draft)
    return draft.finish()
