// The studio page as a webview shows it. No editor is needed here, so that it can be tested alone.

import { createHash } from "node:crypto";

/** A part of an address. Half a character, which no address can have, is what the page makes of it. */
function encoded(id: string): string {
  return encodeURIComponent(id.replace(/\p{Surrogate}/gu, "\ufffd"));
}

/** The address of a step in the page. */
function address(workflow: string | null, step: string | null): string {
  if (workflow === null) return "";
  return encoded(workflow) + (step === null ? "" : `/${encoded(step)}`);
}

/**
 * Adds a script that goes where the editor says, or to the place that the page had, and tells the editor where it went. The page lets no script in but its own, by hash, so the hash of this one
 * is added; nothing else about its policy changes. A webview scrolls instead of following links inside of the page, hence the
 * listener for clicks.
 */
export function inWebview(page: string, workflow: string | null, step: string | null, place = ""): string {
  const start = address(workflow, step);
  const isSame = start !== "" && place.split("?")[0] === start;
  const script = [
    '"use strict";(() => {',
    `const start = ${JSON.stringify(isSame ? place : start).replace(/</gu, "\\u003c")};`,
    "if (start) location.hash = start;",
    "const go = (workflow, step) => { location.hash = encodeURIComponent(workflow) + (step ? `/${encodeURIComponent(step)}` : ''); };",
    'addEventListener("message", (event) => { if (event.data?.workflow) go(event.data.workflow, event.data.step); });',
    "const editor = typeof acquireVsCodeApi === 'function' ? acquireVsCodeApi() : undefined;",
    'addEventListener("hashchange", () => {',
    "  const place = location.hash.slice(1);",
    "  const step = place.split('?')[0].split('/')[1];",
    "  editor?.postMessage({ place, step: step === undefined ? null : decodeURIComponent(step) });",
    "});",
    'addEventListener("click", (event) => {',
    '  const link = event.target instanceof Element ? event.target.closest("a[href^=\'#\']") : null;',
    "  if (!link) return;",
    "  event.preventDefault(); event.stopImmediatePropagation();",
    '  location.hash = link.getAttribute("href");',
    "}, true);",
    "})();",
  ].join("\n");
  const hash = createHash("sha256").update(script).digest("base64");
  return page.replace("script-src ", `script-src 'sha256-${hash}' `).replace("</head>", () => `<script>${script}</script></head>`);
}
