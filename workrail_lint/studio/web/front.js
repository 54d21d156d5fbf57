// The front page: what to look at first, and all workflows with their state, the most urgent on top.

import { choices, filtered, h, icon, link } from "./dom.js";
import { thumbnail } from "./graph.js";
import { coverageOf, hasGivenUp, neverRan, sessionsOf } from "./layers.js";
import { STATES, firstMoment, isRed, sentenceOf } from "./outcomes.js";
import { addressOf, data, edits, editsInOrder, here, runAddress, runsOf, state, stepTitle, workflowById } from "./store.js";
import { age, counted, percent } from "./words.js";

/** @typedef {import("../../../tools/studio/page").Workflow} Workflow */
/** @typedef {import("../../../tools/studio/page").Tone} Tone */

const MOST_FIRST = 6;

/** @param {Workflow} workflow @param {string} severity */
export function countOf(workflow, severity) {
  return workflow.findings.filter((finding) => finding.severity === severity).length;
}

/** @param {Workflow} workflow */
function failedOf(workflow) {
  return runsOf(workflow).filter(isRed);
}

/** @param {Workflow} workflow */
function changedOf(workflow) {
  return runsOf(workflow).filter((run) => run.outcome?.state === "changed");
}

/** No coverage, or none of its goals shown: failed tests show nothing. @param {Workflow} workflow */
export function isUntested(workflow) {
  return !workflow.broken && !workflow.coverage?.total.covered;
}

/** @param {Workflow} workflow */
function gaveUp(workflow) {
  if (isBroken(workflow)) return 0;
  return workflow.sessions?.each ? sessionsOf(workflow, "this").filter(hasGivenUp).length : workflow.sessions?.stale ? 0 : (workflow.sessions?.steps ?? []).reduce((sum, entry) => sum + (entry.abandoned ?? 0), 0);
}

/** @param {Workflow} workflow */
function sessionCount(workflow) {
  if (isBroken(workflow)) return 0;
  return workflow.sessions?.each ? sessionsOf(workflow, "this").length : workflow.sessions?.stale ? 0 : workflow.sessions?.sessions ?? 0;
}

/** @param {Workflow} workflow */
function urgency(workflow) {
  const pending = edits.filter((edit) => edit.goldens.length && edit.workflow === workflow.id).length;
  return (isBroken(workflow) ? 1e9 : 0) + failedOf(workflow).length * 1e7 + countOf(workflow, "error") * 1e5 + pending * 1e4 + gaveUp(workflow) * 1e3 + countOf(workflow, "warning") * 10 + neverRan(workflow).length;
}

/** @param {Workflow} workflow */
function isBroken(workflow) {
  return Boolean(workflow.broken) || !workflow.layout;
}

/** @type {Map<string, (workflow: Workflow) => number | string>} */
const SORTS = new Map(/** @type {[string, (workflow: Workflow) => number | string][]} */ ([
  ["state", (workflow) => -urgency(workflow)],
  ["workflow", (workflow) => workflow.name.toLowerCase()],
  ["findings", (workflow) => -(countOf(workflow, "error") * 1e6 + countOf(workflow, "warning") * 1e3 + countOf(workflow, "info"))],
  ["coverage", (workflow) => (workflow.coverage ? percent(workflow.coverage.total.covered, workflow.coverage.total.points) : -1)],
  ["changes", (workflow) => -(workflow.changes?.isNew ? 1e6 : workflow.changes?.list.length ?? 0)],
  ["mutants", (workflow) => -(workflow.mutation?.survived.length ?? 0)],
  ["sessions", (workflow) => -sessionCount(workflow)],
  ["committed", (workflow) => -(workflow.committed ?? 0)],
]));

/** @type {[string, string, (workflow: Workflow) => boolean][]} */
const FILTERS = [
  ["all", "All", () => true],
  ["failing", "Failing", (workflow) => isBroken(workflow) || failedOf(workflow).length > 0 || changedOf(workflow).length > 0],
  ["wrong", "Errors", (workflow) => countOf(workflow, "error") > 0],
  ["untested", "Untested", isUntested],
  ["changed", "Changed", (workflow) => Boolean(workflow.changes?.isNew || workflow.changes?.list.length)],
];

/** @param {string} address @param {Tone} tone @param {string} value @param {string} title @param {string} detail */
function tile(address, tone, value, title, detail) {
  return link(address, { class: `tile tone-${tone}` }, h("span.tile-value", value), h("span.tile-title", title), h("span.note", detail));
}

function tiles() {
  const all = data.workflows;
  const tests = data.runs.filter((run) => run.outcome);
  const failed = tests.filter(isRed).length;
  const passed = tests.filter((run) => run.outcome?.state === "passed" || run.outcome?.state === "flaky").length;
  const skipped = tests.filter((run) => run.outcome?.state === "skipped").length;
  const sum = (/** @type {(workflow: Workflow) => number} */ what) => all.reduce((total, workflow) => total + what(workflow), 0);
  const [errors, warnings] = ["error", "warning"].map((severity) => sum((workflow) => countOf(workflow, severity)));
  const [shown, points] = [sum((workflow) => workflow.coverage?.total.covered ?? 0), sum((workflow) => workflow.coverage?.total.points ?? 0)];
  const none = all.filter(isUntested).length;
  const broken = all.filter(isBroken).length;
  const pending = editsInOrder();
  const odd = pending.filter((edit) => edit.kind === "unexplained").length;
  const goldens = new Set(pending.flatMap((edit) => edit.goldens)).size;
  const [left, observed] = [sum(gaveUp), sum(sessionCount)];
  const worst = [...all].filter((workflow) => workflow.sessions).sort((a, b) => gaveUp(b) - gaveUp(a))[0];
  return h("div.tiles",
    tests.length ? tile(failed ? "~runs?only=failed" : "~runs", failed ? "err" : "ok", failed ? String(failed) : "✓", failed ? `test${failed === 1 ? "" : "s"} failed` : "no test failed", `${passed} of ${tests.length} passed${skipped ? `, ${skipped} skipped` : ""}`) : null,
    data.goldens ? tile("~goldens", pending.length ? "warn" : "ok", String(pending.length), "to review", `${odd ? `${odd} unexplained, ` : ""}in ${counted(goldens, "golden")}`) : null,
    tile("?only=wrong", errors ? "err" : warnings ? "warn" : "ok", String(errors), `error${errors === 1 ? "" : "s"}`, `${counted(warnings, "warning")}${broken ? `, ${counted(broken, "broken file")}` : ""}`),
    tile("?only=untested", none ? "warn" : "ok", String(none), `workflow${none === 1 ? "" : "s"} untested`, points ? `${percent(shown, points)}% of ${counted(points, "goal")} shown` : "no coverage was recorded"),
    worst ? tile(addressOf(worst, null, { layer: "sessions" }), left ? "warn" : "ok", String(left), `session${left === 1 ? "" : "s"} gave up`, `of ${observed} on current versions`) : null);
}

/** What has to be looked at before anything else: tone, icon, address, name, why. @returns {[Tone, string, string, string, string][]} */
function firstThings() {
  const all = data.workflows;
  /** @type {[Tone, string, string, string, string][]} */
  const items = [];
  for (const workflow of all.filter(isBroken)) {
    const { line, message = workflow.findings[0]?.message ?? "" } = workflow.broken ?? {};
    items.push(["err", "error", addressOf(workflow, null, { layer: "findings" }), workflow.name, `does not compile: ${line && !message.startsWith("line ") ? `line ${line}, ` : ""}${message}`]);
  }
  for (const run of data.runs.filter(isRed)) items.push(["err", "cross", runAddress(run.key, firstMoment(run)), run.name, sentenceOf(run)]);
  const odd = editsInOrder().filter((edit) => edit.kind === "unexplained");
  for (const name of new Set(odd.map((edit) => edit.workflow))) {
    const own = odd.filter((edit) => edit.workflow === name);
    items.push(["warn", "change", `~goldens/${encodeURIComponent(own[0].id)}`, workflowById(name)?.name ?? name, own.length === 1 ? `a golden changed, and no edit explains it: ${own[0].title}` : `${own.length} changes of goldens that no edit explains, first ${own[0].title}`]);
  }
  for (const workflow of all.filter((item) => !isBroken(item))) {
    /** @type {Map<string, number>} */
    const steps = new Map();
    for (const session of sessionsOf(workflow, "this").filter(hasGivenUp)) if (session.stuck) steps.set(session.stuck, (steps.get(session.stuck) ?? 0) + 1);
    const [worst] = [...steps].sort((a, b) => b[1] - a[1]);
    if (worst) items.push(["warn", "person", addressOf(workflow, null, { layer: "sessions", item: `left:${worst[0]}` }), workflow.name, `${counted(worst[1], "session")} gave up at “${stepTitle(workflow, worst[0])}”`]);
  }
  for (const workflow of all.filter((item) => item.changes?.version && !item.changes.version.ok)) {
    const { due, declared, required } = workflow.changes?.version ?? {};
    items.push(["warn", "merge", addressOf(workflow, null, { layer: "changes" }), workflow.name, `needs version ${due} before a release: a ${required} change, and it says ${declared}`]);
  }
  for (const workflow of all.filter((item) => countOf(item, "error") && !isBroken(item)).sort((a, b) => countOf(b, "error") - countOf(a, "error"))) {
    const first = workflow.findings.find((finding) => finding.severity === "error");
    items.push(["warn", "error", addressOf(workflow, null, { layer: "findings" }), workflow.name, `${counted(countOf(workflow, "error"), "error")}, first ${first?.code}: ${first?.message}`]);
  }
  return items;
}

function lookAtFirst() {
  const items = firstThings();
  const shown = items.slice(0, MOST_FIRST);
  const row = (/** @type {typeof items[number]} */ [tone, sign, address, name, text]) => h("li", link(address, h("span.sign", { class: `t-${tone}` }, icon(sign)), h("strong", name), h("span.next-text", text), icon("right")));
  const rest = items.length - shown.length;
  return items.length ? h("section.next", h("h2", "Look at first"), h("ol", shown.map(row)), rest ? h("details.more", h("summary.note", `and ${rest} more`), h("ol", items.slice(MOST_FIRST).map(row))) : null) : null;
}

export function frontPage() {
  const { field, body } = filtered("workflows", state.filters, "Filter by name, id or path", workflowTable);
  return h("main.page", { id: "main" }, h("h1.hidden", data.project), data.views ? null : [tiles(), lookAtFirst()],
    h("div.row.tools", h("h2", "Workflows"), data.views ? null : choices("Show", state.only, (only) => here({ only }, ""), FILTERS.map(([value, title, keeps]) => ({ value, title, count: value === "all" ? "" : data.workflows.filter(keeps).length }))), field), body);
}

function workflowTable() {
  const words = (state.filters.get("workflows") ?? "").toLowerCase();
  const keeps = FILTERS.find(([name]) => name === state.only)?.[2] ?? (() => true);
  const [sort, isReversed] = [state.sort.replace(/^-/u, ""), state.sort.startsWith("-")];
  const by = SORTS.get(sort) ?? (() => 0);
  const rows = data.workflows.filter((workflow) => keeps(workflow) && `${workflow.name} ${workflow.id} ${workflow.path}`.toLowerCase().includes(words))
    .map((workflow) => ({ key: by(workflow), workflow })).sort((a, b) => (a.key < b.key ? -1 : a.key > b.key ? 1 : 0));
  if (isReversed) rows.reverse();
  if (!rows.length) return h("p.empty", "No workflow fits.");
  const columns = COLUMNS.filter(({ has }) => !has || data.workflows.some(has));
  const head = (/** @type {string} */ name, /** @type {string} */ title, kind = "") => h("th", { scope: "col", class: kind, "aria-sort": sort === name ? (isReversed ? "descending" : "ascending") : null },
    link(here({ sort: sort === name && !isReversed ? `-${name}` : name }, ""), { "data-sort": name }, title, sort !== name ? "" : isReversed ? " ↑" : " ↓"));
  return h("div.table-wrap", h("table.workflows", h("thead", h("tr", h("th.thumb-cell", { scope: "col" }, h("span.hidden", "picture")), head("workflow", "Workflow"), columns.map(({ name, title, kind }) => head(name, title, kind)))),
    h("tbody", rows.map(({ workflow }) => h("tr", { class: isBroken(workflow) ? "is-broken" : "" },
      h("td.thumb-cell", thumbnail(workflow)),
      h("td", link(addressOf(workflow, null, data.layer ? { layer: data.layer } : {}), { class: "name" }, workflow.name), h("p.note", h("code", workflow.key), h("span.nowrap", " · ", isBroken(workflow) ? h("b.t-err", "does not compile") : counted(workflow.steps.length, "step")))),
      columns.map(({ title, kind, cell }) => { const shown = cell(workflow); return h("td", { class: `${kind ?? ""}${shown ? "" : " empty-cell"}`, "data-title": title }, shown ?? h("span.note", "–")); }))))));
}

/** @type {{name: string, title: string, kind?: string, has?: (workflow: Workflow) => unknown, cell: (workflow: Workflow) => any}[]} */
const COLUMNS = [
  { name: "state", title: "Tests", has: () => !data.views, cell: testsCell },
  { name: "findings", title: "Findings", has: () => !data.views, cell: findingsCell },
  { name: "coverage", title: "Coverage", has: () => !data.views, cell: coverageCell },
  { name: "mutants", title: "Unnoticed changes", kind: "number", has: (workflow) => data.views && workflow.mutation, cell: (workflow) => (workflow.mutation ? `${workflow.mutation.survived.length} of ${workflow.mutation.mutants}` : null) },
  { name: "changes", title: "Changes", has: (workflow) => workflow.changes, cell: (workflow) => (workflow.changes?.isNew || workflow.changes?.list.length ? link(addressOf(workflow, null, { layer: "changes" }), workflow.changes.isNew ? "new" : counted(workflow.changes.list.length, "change")) : null) },
  { name: "sessions", title: "Sessions", has: (workflow) => workflow.sessions, cell: (workflow) => (workflow.sessions && !isBroken(workflow) ? link(addressOf(workflow, null, { layer: "sessions" }), String(sessionCount(workflow)), gaveUp(workflow) ? h("b.t-err", `, ${gaveUp(workflow)} gave up`) : null) : null) },
  { name: "committed", title: "Last change", kind: "number", has: (workflow) => workflow.committed, cell: (workflow) => (workflow.committed ? h("time", { datetime: new Date(workflow.committed * 1000).toISOString(), title: new Date(workflow.committed * 1000).toISOString().slice(0, 10) }, age(workflow.committed)) : null) },
];

/** @param {Workflow} workflow */
function testsCell(workflow) {
  const own = runsOf(workflow).filter((run) => run.outcome);
  const tags = STATES.map(([name, , tone, sign, words]) => ({ name, tone, sign, words, count: own.filter((run) => run.outcome?.state === name).length })).filter(({ count }) => count);
  const word = (/** @type {typeof tags[number]} */ { name, words }) => (name === "passed" && tags.length > 1 ? "" : name === "changed" ? " changed" : name === "error" ? " error" : ` ${words}`);
  return own.length ? link(`~runs?of=${encodeURIComponent(workflow.id)}`, { class: "tests-link" }, tags.map((tag) => h("span.tag", { class: `c-${tag.tone === "err" ? "error" : tag.tone === "warn" ? "warning" : tag.tone}` }, icon(tag.sign, tag.words), `${tag.count}${word(tag)}`))) : h("span.note", "no test");
}

/** @param {Workflow} workflow */
function findingsCell(workflow) {
  const found = ["error", "warning", "info"].filter((severity) => countOf(workflow, severity));
  return found.length ? link(addressOf(workflow, null, { layer: "findings" }), { class: "tests-link" }, found.map((severity) => h("span.tag", { class: `c-${severity}` }, icon(severity, `${severity}s`), String(countOf(workflow, severity))))) : h("span.note", "none");
}

/** @param {Workflow} workflow */
function coverageCell(workflow) {
  if (isBroken(workflow)) return null;
  const { coverage } = workflow;
  if (!coverage) return h("span.note", "not run");
  const states = workflow.steps.map((step) => coverageOf(workflow, step).state).filter((how) => how !== "none");
  const fill = (/** @type {string} */ tone, /** @type {string[]} */ names) => h("span.fill", { class: `f-${tone}`, at: { width: `${(100 * states.filter((how) => names.includes(how)).length) / Math.max(1, states.length)}%` } });
  const never = states.filter((how) => how === "never").length;
  return link(addressOf(workflow, null, { layer: "coverage" }), { class: `cover${coverage.stale ? " stale" : ""}`, title: `${coverage.total.covered} of ${coverage.total.points} goals${coverage.stale ? ", of another version of this workflow" : ""}` },
    h("span.track", fill("ok", ["all", "open"]), fill("warn", ["part"]), fill("err", ["never"])), h("span", never === states.length ? "nothing ran" : never ? `${never} never ran` : `${states.length} ran`));
}
