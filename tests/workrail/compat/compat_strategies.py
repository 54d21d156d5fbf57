"""Documents that mix both forms and are valid once normalized, and such documents with damage done to them."""

from __future__ import annotations

import copy
from typing import Any

from hypothesis import strategies as st

from workrail_lint.systems.workrail.compat import normalize

SCALARS = (
    st.none()
    | st.booleans()
    | st.integers(-9, 9)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=6)
)
# Values that sit at the edges the rules look at, so that damage is not just noise.
EDGES = st.sampled_from(
    [
        "",
        "_",
        "a_b",
        "loop",
        "template_call",
        "condition_ref",
        "loop_control",
        {},
        [],
        [[]],
        {"id": "a_b"},
        {"type": "contains"},
        {"type": "contains", "value": "x"},
        {"kind": "condition_ref", "conditionId": "nowhere"},
        {"contractRef": 1, "hints": {"a": []}},
        {"and": [{"type": "length"}], "type": "length"},
    ]
)
JSON = st.recursive(
    SCALARS | EDGES,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3),
    max_leaves=8,
)

WORDS = st.text("abcdefgh0123", min_size=3, max_size=6)
TEXTS = st.text("abc xyz_é", min_size=1, max_size=12)
CONTRACTS = st.sampled_from(["wr.contracts.loop_control", "wr.contracts.coding_handoff"])
FEATURES = [
    "wr.features.capabilities",
    "wr.features.memory_context",
    "wr.features.mode_guidance",
    "wr.features.subagent_guidance",
]
CONFIGS: dict[str, st.SearchStrategy[dict[str, str]]] = {
    "wr.features.capabilities": st.fixed_dictionaries(
        {},
        optional={
            "probeVisibility": st.sampled_from(["collapsed", "expanded"]),
            "recordObservationsAs": st.sampled_from(["artifact", "event"]),
        },
    ),
    "wr.features.mode_guidance": st.just({}),
}


class _Names:
    """Ids that stay apart whichever way their parts are joined."""

    def __init__(self, draw: st.DrawFn) -> None:
        self.draw = draw
        self.count = 0

    def fresh(self) -> str:
        self.count += 1
        joint = self.draw(st.sampled_from(["-", "_"]))
        return joint.join([*self.draw(st.lists(WORDS, max_size=2)), f"n{self.count:02}"])


@st.composite
def _rules(draw: st.DrawFn) -> dict[str, Any]:
    kind = draw(st.sampled_from(["contains", "regex", "length", "schema"]))
    rule: dict[str, Any] = {"type": kind}
    match kind:
        case "contains":
            rule["value"] = draw(TEXTS)
        case "regex":
            rule["pattern"] = draw(TEXTS)
        case "length":
            rule["min"] = draw(st.integers(0, 9))
        case _:
            rule["schema"] = {}
    if draw(st.booleans()):
        rule["message"] = draw(st.text(max_size=5))
    return rule


COMPOSITIONS = st.recursive(
    st.fixed_dictionaries({"and": st.lists(_rules(), min_size=1, max_size=2)}),
    lambda inner: (
        st.fixed_dictionaries({"or": st.lists(inner | _rules(), min_size=1, max_size=2)})
        | st.fixed_dictionaries({"not": inner | _rules()})
    ),
    max_leaves=4,
)
CRITERIA = _rules() | st.lists(_rules(), max_size=3) | COMPOSITIONS


@st.composite
def _standard(draw: st.DrawFn, names: _Names) -> dict[str, Any]:
    step: dict[str, Any] = {"id": names.fresh(), "title": draw(TEXTS)}
    if draw(st.booleans()):
        step["type"] = "template_call"
        step["templateId"] = draw(st.sampled_from(["wr.templates.routine.Plan It", "wr.templates.x", "a.b_c"]))
        if draw(st.booleans()):
            step["args"] = draw(st.dictionaries(TEXTS, SCALARS, max_size=2))
        for member in ("id", "title"):
            if draw(st.booleans()):
                del step[member]
    else:
        step["prompt"] = draw(TEXTS)
    if draw(st.booleans()):
        step["agentRole"] = "A role of its own"
    if draw(st.booleans()):
        step["guidance"] = draw(st.lists(TEXTS, max_size=2))
    if draw(st.booleans()):
        step["validationCriteria"] = draw(CRITERIA)
    if draw(st.booleans()):
        reference = draw(CONTRACTS)
        step["output"] = draw(st.sampled_from([{"contractRef": reference}, {"hints": {"10": "x", "b": 2, "1": None}}]))
        if draw(st.booleans()):
            step["outputContract"] = {"contractRef": reference}
    return step


@st.composite
def _loop(draw: st.DrawFn, names: _Names, conditions: list[str], referable: list[str]) -> dict[str, Any]:
    step: dict[str, Any] = {"type": "loop"}
    if draw(st.booleans()):
        name = names.fresh()
        step |= {"id": name, "title": draw(TEXTS)}
        source = {"kind": "artifact_contract", "contractRef": "wr.contracts.loop_control", "loopId": name}
        step["loop"] = {"type": "while", "maxIterations": 3, "conditionSource": source}
    else:
        step["loopId"] = names.fresh()
        step["while"] = {"kind": "condition_ref", "conditionId": draw(st.sampled_from(conditions))}
        step["maxIterations"] = draw(st.integers(1, 1000))
        if draw(st.booleans()):
            step["title"] = draw(TEXTS)
    match draw(st.sampled_from(["list", "object", "string"])):
        case "string" if referable:
            step["body"] = draw(st.sampled_from(referable))
        case "object":
            step["body"] = draw(_standard(names))
        case _:
            step["body"] = draw(st.lists(_standard(names), min_size=1, max_size=2))
    return step


@st.composite
def design_documents(draw: st.DrawFn) -> dict[str, Any]:
    """A document in a mixture of both forms, sound apart from that."""
    names = _Names(draw)
    kinds = draw(st.lists(st.sampled_from(["always_true", "always_false", "loop_control"]), min_size=1, max_size=3))
    conditions = [{"id": f"c_{index}", "kind": kind} for index, kind in enumerate(kinds)]
    for condition in conditions:
        if condition["kind"] == "loop_control" and draw(st.booleans()):
            condition["continueWhen"] = "continue"
    steps = draw(st.lists(_standard(names), min_size=1, max_size=3))
    referable = [step["id"] for step in steps if "id" in step and "type" not in step]
    loops = _loop(names, [condition["id"] for condition in conditions], referable)
    steps += draw(st.lists(loops, max_size=2))
    delegations = [{"workflowId": "demo.child"}]
    parallel = {"id": names.fresh(), "type": "parallel", "title": "P", "parallelDelegations": delegations}
    if draw(st.booleans()):
        steps.insert(0, parallel)
    document: dict[str, Any] = {"id": "demo.generated", "name": "N", "description": "D", "steps": steps}
    if draw(st.booleans()) or any("while" in step for step in steps):
        document["conditions"] = conditions
    document |= draw(_top_level())
    return {name: document[name] for name in draw(st.permutations(list(document)))}


@st.composite
def _top_level(draw: st.DrawFn) -> dict[str, Any]:
    features = [
        feature
        if draw(st.booleans())
        else {"id": feature} | ({"config": draw(CONFIGS[feature])} if feature in CONFIGS else {})
        for feature in draw(st.lists(st.sampled_from(FEATURES), unique=True))
    ]
    slots = draw(st.lists(st.text("abc", min_size=2, max_size=4), unique=True, max_size=3))
    members: dict[str, Any] = {"purpose": "P", "defaultBinding": "routine-x", "acceptedKinds": ["routine"]}
    members |= draw(st.sampled_from([{}, {"inputContract": {"requires": ["a"]}}, {"outputContract": {}}]))
    listed = [{"slotId": slot, "purpose": "P", "default": "d"} for slot in slots]
    levels = st.sampled_from(["required", "preferred", "disabled"])
    possible: dict[str, Any] = {
        "version": "1.2.3",
        "agentRole": "Careful senior engineer",
        "features": features,
        "capabilities": draw(st.dictionaries(st.sampled_from(["delegation", "web_browsing"]), levels)),
        "extensionPoints": draw(st.sampled_from([dict.fromkeys(slots, members), listed])),
        "kind": draw(st.sampled_from(["routine", "workflow"])),
        "extensionContract": {"accepts": []},
        "metaGuidance": ["Be careful."],
    }
    return {name: possible[name] for name in draw(st.sets(st.sampled_from(sorted(possible))))}


def shipping_documents() -> st.SearchStrategy[dict[str, Any]]:
    """A document in shipping form only."""
    return design_documents().map(lambda document: copy.deepcopy(normalize(document).document))


@st.composite
def damaged_documents(draw: st.DrawFn) -> Any:
    """A document of either form with any JSON in place of some of its members."""
    document: Any = copy.deepcopy(draw(design_documents() | shipping_documents()))
    for _ in range(draw(st.integers(1, 3))):
        slots = _slots(document)
        holder, key = slots[draw(st.integers(0, len(slots) - 1))]
        holder[key] = copy.deepcopy(draw(JSON))  # a sampled value must not be shared, or the next round alters it
    if draw(st.integers(0, 3)) == 0:
        document[draw(st.sampled_from(["while", "steps", "conditions", "features", "extra"]))] = draw(JSON)
    return document


def _slots(root: Any) -> list[tuple[Any, Any]]:
    found: list[tuple[Any, Any]] = []
    stack = [root]
    while stack:
        value = stack.pop()
        entries = list(value.items()) if isinstance(value, dict) else list(enumerate(value))
        for key, inner in entries:
            found.append((value, key))
            if isinstance(inner, dict | list):
                stack.append(inner)
    return found
