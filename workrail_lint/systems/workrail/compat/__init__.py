"""The design form of a workflow, accepted at the boundary and rewritten to the shipping form.

No code outside this package knows the design form. Every rewrite is reported; what has no counterpart in the shipping
form but matters to the compiled workflow (capabilities, feature configuration, named conditions) is kept in the side
model.
"""

from workrail_lint.systems.workrail.compat.normalize import (
    Normalized,
    PointerMap,
    Policy,
    SideModel,
    normalize,
)

__all__ = [
    "Normalized",
    "PointerMap",
    "Policy",
    "SideModel",
    "normalize",
]
