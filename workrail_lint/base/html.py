"""The frame of every HTML page: it loads nothing, and lets in only the style and the script it was made with."""

from __future__ import annotations

from base64 import b64encode
from hashlib import sha256
from html import escape

from workrail_lint.base.terminal import one_line


def html_page(title: str, style: str, body: str, *, script: str = "", frames: str = "") -> str:
    """Return a page. The body is markup, with everything in it escaped already; the script is at its end."""
    sources = {"script-src": _hash(script), "style-src": _hash(style), "frame-src": frames}
    allowed = "".join(f"{kind} {source}; " for kind, source in sources.items() if source)
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta http-equiv="Content-Security-Policy" '
        f"content=\"default-src 'none'; {allowed}base-uri 'none'; form-action 'none'\">"
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        '<meta name="referrer" content="no-referrer">'
        f"<title>{escape(one_line(title))}</title><style>{style}</style></head><body>"
        f"{body}{f'<script>{script}</script>' if script else ''}</body></html>\n"
    )


def _hash(text: str) -> str:
    return f"'sha256-{b64encode(sha256(text.encode()).digest()).decode()}'" if text else ""
