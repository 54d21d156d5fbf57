"""The shipped catalog: complete, correct, in our own words, and cheap to load."""

from __future__ import annotations

import json
import random
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tools.catalog.generate import files
from tools.models.workrail.catalog import CatalogDocument
from workrail_lint.systems.workrail.catalog import Catalog, CatalogPhase, load_core
from workrail_lint.systems.workrail.catalog import engine_digests as known
from workrail_lint.systems.workrail.catalog.catalog import PLACEHOLDER, Routine, digest_of
from workrail_lint.systems.workrail.catalog.checks import check_document
from workrail_lint.systems.workrail.catalog.contracts import validate_artifact

CORE = load_core()
SHIPPED_FEATURES = {"capabilities": (3, 3, 3), "memory_context": (1, 0, 0), "subagent_guidance": (3, 2, 2)}
REF_LINES = {
    "memory_usage": 5,
    "memory_store": 4,
    "memory_query": 4,
    "notes_first_durability": 6,
    "synthesis_under_disagreement": 8,
    "parallelize_cognition_serialize_synthesis": 6,
    "adversarial_challenge_rules": 9,
}
# version, steps, arguments, guidance items
ROUTINES: dict[str, tuple[str, int, set[str], int]] = {
    "context-gathering": ("2.1.0", 8, {"deliverableName"}, 12),
    "design-review": ("1.0.0", 5, {"deliverableName"}, 4),
    "execution-simulation": ("1.1.0", 4, set(), 12),
    "feature-implementation": ("1.0.0", 5, set(), 17),
    "feedback-resolution": ("1.0.0", 5, {"deliverableName"}, 4),
    "final-verification": ("1.0.0", 5, {"deliverableName"}, 5),
    "hypothesis-challenge": ("1.0.0", 5, {"deliverableName"}, 6),
    "ideation": ("1.0.0", 5, {"deliverable", "quantity"}, 0),
    "parallel-work-partitioning": ("0.1.0", 5, {"deliverableName"}, 3),
    "philosophy-alignment": ("1.0.0", 5, {"deliverableName"}, 5),
    "plan-analysis": ("1.1.0", 6, {"deliverableName"}, 11),
    "plan-generation": ("1.0.0", 5, {"deliverableName"}, 5),
    "reviewer-family": ("1.0.0", 1, {"deliverableName"}, 0),
    "tension-driven-design": ("1.3.0", 6, set(), 8),
}
ENGINE_CONTRACTS = {
    "assessment",
    "coding_handoff",
    "coordinator_signal",
    "differentiation_handoff",
    "discovery_handoff",
    "gate_verdict",
    "loop_control",
    "review_verdict",
    "shaping_handoff",
}
DESIGN_CONTRACTS = {"capability_observation", "verification_report", "workflow_divergence"}
PROBE = CORE.templates["wr.templates.capability_probe"]


def phases(table: dict[str, Any], phase: CatalogPhase) -> set[str]:
    return {key.rpartition(".")[2] for key, entry in table.items() if entry.phase is phase}


def routine(name: str) -> Routine:
    return CORE.templates[f"wr.templates.routine.{name}"]


def test_the_shipped_files_are_what_the_sources_and_the_model_make() -> None:
    for path, text in files().items():
        assert Path(path).read_text(encoding="utf-8") == text, f"{path} is stale: run the generator"


def test_the_shipped_digest_is_the_digest_of_the_content() -> None:
    document = CORE.document
    assert document["digest"] == digest_of(document) == CORE.digest


def test_the_shipped_catalog_passes_its_own_checks_and_the_model() -> None:
    assert check_document(CORE.document) == []
    CatalogDocument.model_validate(CORE.document)


def test_identity() -> None:
    assert (CORE.catalog_id, CORE.engine_version, CORE.authoring_spec_version) == ("core", None, 3)
    assert repr(CORE) == f"Catalog(core {CORE.version})"


def test_features() -> None:
    assert phases(CORE.features, CatalogPhase.SHIPPED) == set(SHIPPED_FEATURES)
    assert phases(CORE.features, CatalogPhase.DESIGN) == {
        "mode_guidance",
        "durable_recap_guidance",
        "output_contracts",
    }
    for name, counts in SHIPPED_FEATURES.items():
        feature = CORE.features[f"wr.features.{name}"]
        assert (len(feature.constraints), len(feature.procedure), len(feature.verify)) == counts
    memory = CORE.features["wr.features.memory_context"].constraints
    assert memory == ([{"kind": "ref", "refId": "wr.refs.memory_usage"}],)
    subagents = CORE.features["wr.features.subagent_guidance"].constraints
    assert [type(value) for value in subagents] == [str, str, list]
    assert subagents[2] == [{"kind": "ref", "refId": "wr.refs.parallelize_cognition_serialize_synthesis"}]


@pytest.mark.parametrize(
    ("name", "config", "valid"),
    [
        ("capabilities", {"probeVisibility": "collapsed", "recordObservationsAs": "event"}, True),
        ("capabilities", {"probeVisibility": "hidden"}, False),
        ("capabilities", {"other": 1}, False),
        ("output_contracts", {"enforce": "block_in_blocking_modes_gap_in_never_stop"}, True),
        ("output_contracts", {"enforce": "never"}, False),
        ("mode_guidance", {}, True),
        ("mode_guidance", {"mode": "guided"}, False),
    ],
)
def test_feature_configuration(name: str, config: dict[str, Any], valid: bool) -> None:
    schema = CORE.features[f"wr.features.{name}"].config_schema
    assert schema is not None
    assert (validate_artifact(schema, config) == []) is valid


def test_only_three_features_take_configuration() -> None:
    configurable = {name for name, feature in CORE.features.items() if feature.config_schema is not None}
    assert configurable == {f"wr.features.{n}" for n in ("capabilities", "mode_guidance", "output_contracts")}


def test_refs_have_a_heading_line_and_bullets_within_budget() -> None:
    assert phases(CORE.refs, CatalogPhase.SHIPPED) == set(REF_LINES)
    assert phases(CORE.refs, CatalogPhase.DESIGN) == {"v2_definition", "append_only_truth", "jcs_hashing"}
    for name, lines in REF_LINES.items():
        assert len(CORE.refs[f"wr.refs.{name}"].text.split("\n")) == lines
    for ref in CORE.refs.values():
        heading, *bullets = ref.text.split("\n")
        assert heading.endswith(":")
        assert bullets
        assert all(bullet.startswith("- ") for bullet in bullets)
        assert len(ref.text.encode()) <= 4096
        assert ref.placements == ("goal", "constraints", "procedure", "verify")


def test_the_text_of_all_features_together_fits_the_budget_of_a_step() -> None:
    total = 0
    for feature in CORE.features.values():
        for value in (*feature.constraints, *feature.procedure, *feature.verify):
            parts = [value] if isinstance(value, str) else [CORE.refs[part["refId"]].text for part in value]
            total += sum(len(part.encode()) for part in parts)
    assert total <= 16384


@pytest.mark.parametrize("name", ROUTINES)
def test_routine_matches_the_published_interface(name: str) -> None:
    version, steps, arguments, guidance = ROUTINES[name]
    entry = routine(name)
    assert entry.routine_id == f"wr.routine-{name}"
    assert entry.definition["version"] == version
    assert len(entry.step_ids) == len(set(entry.step_ids)) == steps
    assert set(entry.required_args) == arguments
    assert len(entry.definition.get("metaGuidance", [])) == guidance
    assert entry.phase is CatalogPhase.SHIPPED
    assert entry.callable


def test_conditional_steps() -> None:
    conditional = {name: routine(name).conditional_step_ids for name in ROUTINES}
    assert conditional.pop("context-gathering") == tuple(f"step-execute-depth-{depth}" for depth in range(1, 5))
    assert conditional.pop("hypothesis-challenge") == ("step-thorough-alternatives",)
    assert set(conditional.values()) == {()}
    depths = [s["runCondition"] for s in routine("context-gathering").steps if "runCondition" in s]
    assert depths == [{"var": "depth", "gte": depth} for depth in range(1, 5)]


@pytest.mark.parametrize("template_id", CORE.templates)
def test_routines_obey_the_authoring_bounds(template_id: str) -> None:
    definition = CORE.templates[template_id].definition
    assert re.fullmatch(r"[a-z][a-z0-9_-]+\.[a-z][a-z0-9_-]+", definition["id"])
    assert 10 <= len(definition["description"]) <= 512
    for member in ("metaGuidance", "preconditions", "clarificationPrompts"):
        items = definition.get(member, [])
        assert len(set(items)) == len(items)
        assert all(1 <= len(item) <= 256 for item in items)
    for step in definition["steps"]:
        assert re.fullmatch(r"[a-z0-9-]{3,64}", step["id"])
        assert 1 <= len(step["title"]) <= 128
        assert 1 <= len(step["prompt"]) <= 8192
        assert 10 <= len(step.get("agentRole", "x" * 10)) <= 1024
        assert "{{" not in step["prompt"], "a run-time token would need a context nobody promised"
        assert not re.search(
            r"\b(if appropriate|minimal pass|light scan|you may|smallest|cheapest)\b", step["prompt"], re.I
        )


def test_no_sentence_is_boilerplate() -> None:
    for entry in CORE.templates.values():
        seen: dict[str, int] = {}
        for step in entry.steps:
            for sentence in set(re.split(r"(?<=[.!?])\s+", step["prompt"])):
                seen[sentence] = seen.get(sentence, 0) + 1
        assert not [s for s, count in seen.items() if count >= 3 and len(s) >= 60]


def test_the_ids_are_the_engine_s() -> None:
    assert {f"wr.refs.{name}" for name in REF_LINES} == set(known.REFS)
    assert {f"wr.routine-{name}" for name in ROUTINES} == set(known.ROUTINES)
    assert {f"wr.features.{name}" for name in SHIPPED_FEATURES} == set(known.FEATURES)


def test_contracts() -> None:
    assert phases(CORE.contracts, CatalogPhase.SHIPPED) == ENGINE_CONTRACTS
    ours = {name: contract for name, contract in CORE.contracts.items() if name.startswith("wr.")}
    assert set(phases(ours, CatalogPhase.DESIGN)) >= set(DESIGN_CONTRACTS)
    assert all(contract.mode == "strict" for contract in ours.values())
    assert all(contract.schema["x-lengthUnit"] == "u16" for contract in ours.values())
    unchecked = {name for name, contract in CORE.contracts.items() if not contract.runtime_validated}
    assert unchecked == {"wr.contracts.assessment", "wr.contracts.differentiation_handoff"}
    for name, contract in CORE.contracts.items():
        assert contract.artifact_kind == name.replace(".contracts.", ".")


def test_capabilities() -> None:
    assert list(CORE.capabilities) == ["delegation", "web_browsing"]


def test_the_probe_template() -> None:
    assert PROBE.phase is CatalogPhase.DESIGN
    assert set(PROBE.required_args) == {"capability", "when"}
    assert PROBE.arg_values["capability"] == list(CORE.capabilities)
    assert PROBE.arg_values["when"] == ["early_if_required", "lazy_on_first_use"]
    (step,) = PROBE.steps
    assert step["title"] == "Probe: {capability}"
    assert step["notesOptional"] is True
    assert step["outputContract"] == {"contractRef": "wr.contracts.capability_observation"}


@pytest.mark.parametrize("capability", CORE.capabilities)
def test_every_example_in_the_probe_prompt_is_a_valid_observation(capability: str) -> None:
    arguments = {"capability": capability, "when": "early_if_required"}
    prompt = PLACEHOLDER.sub(lambda m: arguments[m[1]], PROBE.steps[0]["prompt"])
    examples = [json.loads(line) for line in prompt.split("\n") if line.startswith("{")]
    schema = CORE.contracts["wr.contracts.capability_observation"].schema
    assert [example["status"] for example in examples] == ["available", "unavailable", "unknown"]
    assert all(example["capability"] == capability for example in examples)
    assert [validate_artifact(schema, example) for example in examples] == [[], [], []]


def test_listing_order_is_document_order() -> None:
    document = CORE.document
    assert list(CORE.features) == [entry["id"] for entry in document["features"]] == sorted(CORE.features)
    assert [r.routine_id for r in CORE.templates.values()] == [e["definition"]["id"] for e in document["routines"]]


@given(st.integers(0, 2**32))
@settings(deadline=None, max_examples=25)
def test_the_digest_does_not_depend_on_member_order(seed: int) -> None:
    chance = random.Random(seed)

    def shuffled(value: Any) -> Any:
        if isinstance(value, dict):
            names = list(value)
            chance.shuffle(names)
            return {name: shuffled(value[name]) for name in names}
        return [shuffled(item) for item in value] if isinstance(value, list) else value

    assert digest_of(shuffled(CORE.document)) == CORE.digest


@pytest.mark.parametrize("name", ["features", "refs", "routines", "contracts", "capabilities"])
def test_the_digest_notices_every_list(name: str) -> None:
    changed = {**CORE.document, name: CORE.document[name][:-1]}
    assert Catalog(changed).digest != CORE.digest


def test_loading_imports_nothing_heavy() -> None:
    """The hook runs on every commit; see what this alone brings in."""
    code = (
        "import sys\n"
        "from workrail_lint.systems.workrail.catalog import load_core\n"
        "core = load_core(); core.features, core.refs, core.templates, core.contracts\n"
        "heavy = {'pydantic', 'jsonschema', 'pluggy', 'dataclasses', 'inspect', 'pathlib', 'regex', 'subprocess'}\n"
        "print(sorted(heavy & set(sys.modules)))\n"
    )
    run = subprocess.run([sys.executable, "-S", "-c", code], capture_output=True, text=True, check=True, env=_env())
    assert run.stdout.strip() == "[]"


def _env() -> dict[str, str]:
    """`-S` keeps the path hooks of an editable installation, which import much, out of the measurement."""
    import os

    import workrail_lint

    root = os.path.dirname(os.path.dirname(os.path.abspath(workrail_lint.__file__)))
    return {**os.environ, "PYTHONPATH": root}
