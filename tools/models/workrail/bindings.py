"""`.workrail/bindings.json`: what a project puts into the extension points of workflows."""

from __future__ import annotations

from typing import Annotated

from pydantic import ConfigDict, Discriminator, RootModel, Tag

from workrail_lint.documents.models import AnyText, ByType

Slots = dict[str, AnyText]


class Bindings(
    RootModel[
        dict[
            str,
            Annotated[
                Annotated[AnyText, Tag("string")] | Annotated[Slots, Tag("object")],
                Discriminator(ByType()),
            ],
        ]
    ]
):
    """The bindings of slots: per workflow id an object of slots, or one flat object of slots for all
    workflows. A workflow that has a section of its own does not see the flat entries."""

    model_config = ConfigDict(frozen=True, strict=True)
