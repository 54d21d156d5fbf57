"""Worked examples E1 to E9: every digest, in every mode, byte for byte."""

from __future__ import annotations

import pytest
import worked

from workrail_lint import CompiledWorkflow, Ok, canonical_bytes, compile_workflow
from workrail_lint.base.canonical import canonical_hash, hash_ref
from workrail_lint.systems.workrail.compile import resolve_references
from workrail_lint.systems.workrail.compiler.engine_target import HashMode


def compiled(text: str, **inputs: object) -> CompiledWorkflow:
    result = compile_workflow(text, **inputs)  # type: ignore[arg-type]
    assert isinstance(result, Ok), result
    return result.value


def digest(text: str, mode: HashMode, **inputs: object) -> str:
    snapshot = compiled(text, **inputs).engine_target(mode)
    assert isinstance(snapshot, Ok)
    return canonical_hash(snapshot.value)


SWEEP = [worked.loaded(worked.SWEEP)]


@pytest.mark.parametrize(
    ("text", "mode", "expected"),
    [
        (worked.MINIMAL, "pinned", "31c5d47cd67cbdfa4a795a01c788013b6cab2c90fc8afd49f889131b17cb6835"),
        (worked.MINIMAL, "preview", "f2fc258b9e6a3a8592b2e246c57d1959fb34433a0afb91d9f75ad1c9bc0c9ac5"),
        (worked.MINIMAL, "pinned+onboarding", "e6c60cdc4b42b86ee578e45068ffbec8641bd54c1ec2bccc97baf18f14cd4723"),
        (worked.BLOCKS, "pinned", "243206284e5909c61645aba763459f2ffdc9aefdddfcea53ea24c4a7b72100fb"),
        (worked.BLOCKS, "preview", "c6ba4a93c464de74a26b8bb31afd3cf0d4ebb59a84bd4e06cdfe3f4a961af431"),
        (worked.BIND, "pinned", "3bcedd827f388d3e704dcb7d1bf6e17d96f771a4cb47a4c8b1704cdd017cfe47"),
        (worked.NUMS, "pinned", "b9852e863f62ff2ae17d14c98b67edd3e15ffd4aff8c465c2b9c5b392950ff74"),
        (worked.NUMS, "preview", "da141137fa5ddf7fa47a15941c3fd23c004801deab9d4f4904555e76030a338a"),
        (worked.TEXT, "pinned", "6e2cb83671f5f45c1b71125f2a96e0d7676a85daa3148e7428e182c1f0c9bb29"),
        (worked.VIRTUAL, "pinned", "8cb01f0f0b3fdd296b57c5499662166b4e58dd280c389e60c68ffdc77e094b77"),
        (worked.LOOP_CONTROL, "pinned", "6ea26f4a86ecdcf0befac88a5726368ba0a2b137774a5b572717237babf8b954"),
        (worked.LOOP_CONTROL, "preview", "78bacc05d317dafee79f1159fe606103a36e160395413a64006a4bc86817a5c4"),
        (worked.REFS, "pinned", "a01593f58b3b6d9c51635f04b9ec23216b985bc93f505a6d5b0843c0293517ae"),
    ],
)
def test_digests(text: str, mode: str, expected: str) -> None:
    assert digest(text, HashMode(mode)) == f"sha256:{expected}"


def test_e1_canonical_bytes() -> None:
    snapshot = compiled(worked.MINIMAL).engine_target().value
    assert canonical_bytes(snapshot) == (
        b'{"definition":{"description":"One step.","id":"demo.minimal","name":"Minimal","steps":[{"id":"say-hi",'
        b'"prompt":"Say hi.","title":"Say hi"}],"version":"1.0.0"},"description":"One step.","name":"Minimal",'
        b'"schemaVersion":1,"sourceKind":"v1_pinned","version":"1.0.0","workflowId":"demo.minimal"}'
    )


def test_short_references() -> None:
    assert hash_ref(str(compiled(worked.MINIMAL).engine_hash)) == "wf_ghc5i7gwps67ustzlia4pcabhm"
    assert hash_ref(str(compiled(worked.BLOCKS).engine_hash)) == "wf_eqzamkcolee4mfsfvotwgrm7f4"


def test_e2_rendered_prompt() -> None:
    (step,) = compiled(worked.BLOCKS).resolved
    assert step["prompt"] == (
        "## Goal\nPlan it.\n\n## Constraints\n- No code.\n\n## Procedure\n1. List.\n2. Sort.\n\n## Output Required\n"
        "- **9**: nine\n- **10**: ten\n- **zeta**: last\n- **alpha**: first\n\n## Verify\n- Plan is short."
    )


@pytest.mark.parametrize(
    ("bindings", "value", "expected"),
    [
        (
            {"demo.bind": {"final_check": "team-check", "n": 3}},
            "team-check",
            "60019746a2642d20711c9021ddb3acf8035b4091717b1303ba2d3d5172599e3d",
        ),
        (
            {"final_check": "flat-check"},
            "flat-check",
            "02867dd8ea5e4ea30ca0227c76c5cb4f7d42dc46630d385d4dcabe26e18fe48c",
        ),
    ],
)
def test_e3_overrides(bindings: dict[str, object], value: str, expected: str) -> None:
    workflow = compiled(worked.BIND, bindings=bindings)
    assert workflow.resolved_bindings == workflow.resolved_overrides == {"final_check": value}
    assert workflow.engine_hash == f"sha256:{expected}"
    assert workflow.ir["bindings"] == {"resolved": {"final_check": value}, "overrides": {"final_check": value}}


def test_e3_default() -> None:
    workflow = compiled(worked.BIND)
    assert workflow.resolved_bindings == {"final_check": "routine-check"}
    assert workflow.resolved_overrides == {}


def test_e4_numbers() -> None:
    snapshot = canonical_bytes(compiled(worked.NUMS).engine_target().value)
    assert (
        b"[0,1e-7,9007199254740992,1.2345678901234568e+29,0.1,100000000000000000000,1e+21,5e-324,1.7976931348623157e+308]"
        in snapshot
    )


def test_e6_virtual_steps_are_compiled_but_not_hashed() -> None:
    workflow = compiled(worked.VIRTUAL)
    assert [step["id"] for step in workflow.steps] == [
        "build",
        "build__verification",
        "build__audit",
        "fan-out",
        "fan-out__synthesis",
    ]
    assert [step["id"] for step in workflow.resolved] == ["build", "fan-out"]
    assert "```bash\nmake test\n```" in workflow.step_by_id["build__verification"].step["prompt"]
    assert "\n- Complete\n- Correct\n" in workflow.step_by_id["build__audit"].step["prompt"]
    assert workflow.step_by_id["fan-out__synthesis"].step["prompt"] == "Merge."


def test_e7_templates() -> None:
    workflow = compiled(worked.TEMPL, routines=SWEEP)
    assert canonical_bytes(workflow.resolved).decode() == (
        '[{"id":"start","prompt":"Start.","title":"Start"},{"agentRole":"Careful reader of {target}","guidance":'
        '["Read first.","Stay in scope."],"id":"sweep.look","prompt":"Look at the parser. Limit 5. Keep {{ctxVar}}.",'
        '"requireConfirmation":false,"runCondition":{"equals":true,"var":"doSweep"},"title":"Look at the parser"},'
        '{"guidance":["Stay in scope."],"id":"sweep.report","prompt":"Write 5 lines.","runCondition":{"equals":true,'
        '"var":"wantReport"},"title":"Report"},{"body":[{"agentRole":"Careful reader of {target}","guidance":'
        '["Read first.","Stay in scope."],"id":"again.look","prompt":"Look at loop. Limit true. Keep {{ctxVar}}.",'
        '"requireConfirmation":false,"title":"Look at loop"},{"guidance":["Stay in scope."],"id":"again.report",'
        '"prompt":"Write true lines.","runCondition":{"equals":true,"var":"wantReport"},"title":"Report"}],'
        '"id":"repeat","loop":{"count":2,"maxIterations":2,"type":"for"},"title":"Repeat","type":"loop"}]'
    )
    assert workflow.engine_hash == "sha256:b3c0c659ef9b6c1382ea97c5e46234fbc27f0981882355fc00e02ea94e4d98dc"


def test_e9_references_unresolved(tmp_path: object) -> None:
    workflow = compiled(worked.REFS)
    references = resolve_references(workflow.definition["references"], str(tmp_path), str(tmp_path))
    assert [entry["status"] for entry in references] == ["unresolved", "unresolved"]
    snapshot = workflow.engine_target(HashMode.PINNED_REFS, references)
    expected = "sha256:a6abcd7edfe327c93eb0fbd0365d4f776b9ae809748d70234ca7acbcb2ffb6c3"
    assert canonical_hash(snapshot.value) == expected


def test_onboarding_with_references_has_a_digest_of_its_own(tmp_path: object) -> None:
    workflow = compiled(worked.REFS)
    references = resolve_references(workflow.definition["references"], str(tmp_path))
    digests = {
        canonical_hash(workflow.engine_target(mode, references).value)
        for mode in (
            HashMode.PINNED,
            HashMode.PINNED_REFS,
            HashMode.PINNED_ONBOARDING,
            HashMode.PINNED_ONBOARDING_REFS,
            HashMode.PREVIEW,
        )
    }
    assert len(digests) == 5
