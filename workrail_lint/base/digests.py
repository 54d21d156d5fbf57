"""The hash of what stays on this machine. What is pinned or shared is hashed in `canonical`."""

from __future__ import annotations

try:
    from _blake2 import blake2b as blake2b  # the one of hashlib, which also loads OpenSSL
except ImportError:
    from hashlib import blake2b as blake2b
