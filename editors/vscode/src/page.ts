// The studio page as a webview shows it. No editor is needed here, so that it can be tested alone.

import { createHash } from "node:crypto";

/** The address of a step in the page. */
function address(workflow: string | null, step: string | null): string {
  if (workflow === null) return "";
  return encodeURIComponent(workflow) + (step === null ? "" : `/${encodeURIComponent(step)}`);
}

/**
 * Adds a script that goes where the editor says. The page lets no script in but its own, by hash, so the hash of this one
 * is added; nothing else about its policy changes. A webview scrolls instead of following links inside of the page, hence the
 * listener for clicks.
 */
export function inWebview(page: string, workflow: string | null, step: string | null): string {
  const script = [
    '"use strict";(() => {',
    `const start = ${JSON.stringify(address(workflow, step)).replace(/</gu, "\\u003c")};`,
    "if (start) location.hash = start;",
    "const go = (workflow, step) => { location.hash = encodeURIComponent(workflow) + (step ? `/${encodeURIComponent(step)}` : ''); };",
    'addEventListener("message", (event) => { if (event.data?.workflow) go(event.data.workflow, event.data.step); });',
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
