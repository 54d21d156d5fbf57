"""A member that no engine knows is refused by the engine target until it is listed as one that an engine knows."""

from __future__ import annotations

import json

import pytest
from pydantic import Field

from tools.models.runtime import Plan, Runtime
from tools.models.workrail import runtime
from workrail_lint import check_text, compile_workflow
from workrail_lint.documents.models import AnyText, Closed, Maybe
from workrail_lint.systems.workrail.model import workflow as model
from workrail_lint.systems.workrail.rules.samples import loop, step, workflow

DOCUMENT = json.dumps(workflow(step(agentRole="A careful engineer"), loop(step("inner-step", agentRole="A reviewer"))))


class Widget(Closed):
    """Something with a new member."""

    name: AnyText = Field(description="Known for long.")
    shade: Maybe[AnyText] = Field(None, description="New.")


def test_a_new_member_is_unknown_until_it_is_listed() -> None:
    assert (
        "IR_ONLY: Mapping[str, Sequence[str]] = {'Widget': ('shade',)}"
        in Runtime(Widget, Plan("Widgets.", known={"Widget": ["name"]})).module()
    )
    assert (
        "IR_ONLY: Mapping[str, Sequence[str]] = {}"
        in Runtime(Widget, Plan("Widgets.", known={"Widget": ["name", "shade"]})).module()
    )


def test_no_member_is_listed_that_does_not_exist() -> None:
    listed = json.loads((runtime.HERE / "engine_members.json").read_text(encoding="utf-8"))
    for name, members in listed.items():
        cls = getattr(model, name)
        assert set(members) <= {*cls.leaves, *cls.parts}, name


def test_the_engine_target_refuses_it_and_the_ir_target_takes_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("workrail_lint.systems.workrail.structural.IR_ONLY", {"StandardStep": ("agentRole",)})
    refused = [finding for finding in check_text(DOCUMENT).errors if finding.name == "schema-unknown-member"]
    assert [finding.pointer for finding in refused] == ["/steps/0/agentRole", "/steps/1/body/0/agentRole"]
    assert refused[0].message == "no engine knows the field 'agentRole'; it works with the ir target only"
    assert not any(f.name == "schema-unknown-member" for f in check_text(DOCUMENT, target="ir").findings)
    assert any(f.name == "schema-unknown-member" for f in check_text(DOCUMENT, engine_parity=True).errors)
    compiled = compile_workflow(DOCUMENT)
    assert compiled.value.engine_hash is None
    assert compiled.value.hash.startswith("sha256:")
