"""A required capability is probed before anything else happens (IR only)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from workrail_lint.findings import Finding
from workrail_lint.workrail.compiler.nodes import Node, Nodes, Origin, compile_error, one_line
from workrail_lint.workrail.compiler.templates import expand_templates

if TYPE_CHECKING:
    from workrail_lint.workrail.catalog.catalog import Catalog

TEMPLATE = "wr.templates.capability_probe"


def insert_probes(nodes: Nodes, capabilities: dict[str, str], catalog: Catalog) -> tuple[Nodes, list[Finding]]:
    """Put the probe step of each required capability, in ascending order, right before the first step."""
    required = sorted(name for name, level in capabilities.items() if level == "required")
    if not required:
        return nodes, []
    if TEMPLATE not in catalog.templates:
        names = ", ".join(map(one_line, required))
        return nodes, [
            compile_error(
                "CAPABILITY_PROBE_UNAVAILABLE",
                "catalog-id-design-only",
                "C1",
                None,
                f"The capabilities {names} are required, but catalog {one_line(catalog.catalog_id)} has no "
                f"{TEMPLATE} to probe them with",
                "/capabilities",
                engine=False,
            )
        ]
    calls = tuple(
        Node(
            {
                "id": f"probe-{name.replace('_', '-')}",
                "title": f"Probe {name}",
                "templateCall": {"templateId": TEMPLATE, "args": {"capability": name, "when": "early_if_required"}},
            },
            f"/capabilities/{name}",
        )
        for name in required
    )
    probes, errors = expand_templates(calls, catalog)
    marked = tuple(
        Node(probe.step, probe.pointer, origin=Origin("feature", probe.pointer.rpartition("/")[2])) for probe in probes
    )
    return marked + nodes, errors
