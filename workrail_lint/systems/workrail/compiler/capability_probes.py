"""A required capability is probed before anything else happens (IR only)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from workrail_lint.findings import Finding
from workrail_lint.systems.workrail.compiler.nodes import Node, Nodes, Origin
from workrail_lint.systems.workrail.compiler.templates import PROBE_TEMPLATE, expand_templates

if TYPE_CHECKING:
    from workrail_lint.systems.workrail.catalog.catalog import Catalog


def insert_probes(
    nodes: Nodes, authored: Nodes, capabilities: dict[str, str], catalog: Catalog
) -> tuple[Nodes, list[Finding]]:
    """Put the probe step of each required capability, in ascending order, right before the first step.

    A workflow that begins with its own call of the probe template already probes that capability.
    """
    done = _probed_first(authored)
    required = [name for name in sorted(capabilities) if capabilities[name] == "required" and name not in done]
    if not required:
        return nodes, []
    calls = tuple(_call(name) for name in required)
    probes, errors = expand_templates(calls, _with_template(catalog))
    return tuple(map(_inserted, probes)) + nodes, errors


def _probed_first(authored: Nodes) -> set[str]:
    probed: set[str] = set()
    for node in authored:
        call = node.model.template_call if node.model.kind == "standard" else None
        if call is None or call.template_id != PROBE_TEMPLATE:
            break
        probed.add(str(call.args.get("capability")))
    return probed


def _with_template(catalog: Catalog) -> Catalog:
    """An imported engine catalog has no probe template; then the one of the core catalog is used."""
    if PROBE_TEMPLATE in catalog.templates:
        return catalog
    from workrail_lint.systems.workrail.catalog.catalog import load_core

    return load_core()


def _call(capability: str) -> Node:
    args = {"capability": capability, "when": "early_if_required"}
    step = {
        "id": f"wr_probe_{capability}",
        "title": f"Probe: {capability}",
        "templateCall": {"templateId": PROBE_TEMPLATE, "args": args},
    }
    return Node(step, f"/capabilities/{capability}")


def _inserted(probe: Node) -> Node:
    """The one step of the template under the id and title that an inserted probe has."""
    assert probe.origin is not None
    capability = probe.origin.capability
    step = {**probe.step, "id": f"wr_probe_{capability}", "title": f"Probe: {capability}"}
    return Node(step, probe.pointer, origin=Origin("feature", PROBE_TEMPLATE, capability=capability))
