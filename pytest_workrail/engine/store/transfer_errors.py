"""Why a session could not be exported or imported. Apart from what does it, which few runs need."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, TypeAlias

import msgspec
from msgspec import Struct

BundleErrorCode: TypeAlias = Literal[
    "BUNDLE_INVALID_FORMAT",
    "BUNDLE_UNSUPPORTED_VERSION",
    "BUNDLE_INTEGRITY_FAILED",
    "BUNDLE_EVENT_ORDER_INVALID",
    "BUNDLE_MANIFEST_ORDER_INVALID",
    "BUNDLE_MISSING_SNAPSHOT",
    "BUNDLE_MISSING_PINNED_WORKFLOW",
]


class BundleError(Struct, frozen=True):
    """Why a bundle is refused. Nothing was written, and trying again will not help."""

    code: BundleErrorCode
    message: str
    details: Mapping[str, str] = msgspec.field(default_factory=dict)


ExportCode: TypeAlias = Literal[
    "EXPORT_SESSION_STORE_ERROR",
    "EXPORT_SNAPSHOT_STORE_ERROR",
    "EXPORT_PINNED_WORKFLOW_STORE_ERROR",
    "EXPORT_MISSING_SNAPSHOT",
    "EXPORT_MISSING_PINNED_WORKFLOW",
    "EXPORT_BUILD_FAILED",
    "BUNDLE_BUILD_EMPTY_EVENTS",
]
ImportCode: TypeAlias = Literal[
    "IMPORT_SNAPSHOT_PARSE_ERROR",
    "IMPORT_SNAPSHOT_STORE_ERROR",
    "IMPORT_PINNED_WORKFLOW_STORE_ERROR",
    "IMPORT_SESSION_STORE_ERROR",
]


class ExportFailure(Struct, frozen=True):
    """Why a session could not be taken out."""

    code: ExportCode
    message: str


class ImportFailure(Struct, frozen=True):
    """Why a bundle that was in order could not be stored."""

    code: ImportCode
    message: str
