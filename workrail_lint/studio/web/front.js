// The front page: all workflows with their state.

import { filtered, h, icon, link } from "./dom.js";
import { thumbnail } from "./graph.js";
import { mutationScore } from "./layers.js";
import { isRed } from "./runs.js";
import { addressOf, data, runAddress, runsOf, state } from "./store.js";
import { age, counted, percent, size } from "./words.js";

const MOST_FIRST = 6;

/** @param {any} workflow @param {string} severity */
function countOf(workflow, severity) {
  return workflow.findings.filter((/** @type {any} */ finding) => finding.severity === severity).length;
}

/** @type {Map<string, (workflow: any) => number | string>} */
const SORTS = new Map([
  ["workflow", (workflow) => workflow.name.toLowerCase()],
  ["findings", (workflow) => -(countOf(workflow, "error") * 1e6 + countOf(workflow, "warning") * 1e3 + countOf(workflow, "info"))],
  ["coverage", (workflow) => (workflow.coverage ? percent(workflow.coverage.total.covered, workflow.coverage.total.points) : -1)],
  ["mutants", (workflow) => (workflow.mutation ? mutationScore(workflow.mutation) : -1)],
  ["prompts", (workflow) => -promptBytes(workflow)],
  ["sessions", (workflow) => -(workflow.sessions?.sessions ?? 0)],
  ["changes", (workflow) => -(workflow.changes?.isNew ? 1e6 : workflow.changes?.list.length ?? 0)],
  ["committed", (workflow) => -(workflow.committed ?? 0)],
]);

/** No coverage, or none of its goals was shown. @param {any} workflow */
function isUntested(workflow) {
  return !workflow.coverage || !workflow.coverage.total.covered;
}

/** @param {any} workflow */
function promptBytes(workflow) {
  return workflow.steps.reduce((/** @type {number} */ sum, /** @type {any} */ step) => sum + step.bytes, 0);
}

/** @type {[string, string, (workflow: any) => boolean][]} */
const FILTERS = [
  ["all", "All", () => true],
  ["wrong", "Wrong", (workflow) => countOf(workflow, "error") + countOf(workflow, "warning") > 0],
  ["failing", "Failing", (workflow) => runsOf(workflow).some(isRed)],
  ["untested", "Untested", isUntested],
  ["changed", "Changed", (workflow) => Boolean(workflow.changes?.isNew || workflow.changes?.list.length)],
];

export function frontPage() {
  const all = data.workflows;
  const covered = all.filter((/** @type {any} */ workflow) => workflow.coverage);
  const sum = (/** @type {(workflow: any) => number} */ of) => all.reduce((/** @type {number} */ total, /** @type {any} */ workflow) => total + of(workflow), 0);
  const [shown, points] = [sum((workflow) => workflow.coverage?.total.covered ?? 0), sum((workflow) => workflow.coverage?.total.points ?? 0)];
  const pending = data.goldens?.groups.length ?? 0;
  const failed = data.runs.filter(isRed);
  const facts = [[String(all.length), all.length === 1 ? "workflow" : "workflows"],
    [["error", "warning", "info"].map((severity) => sum((workflow) => countOf(workflow, severity))).join(" / "), "errors, warnings, infos"],
    covered.length ? [`${percent(shown, points)}%`, `${shown} of ${counted(points, "goal")} shown`] : ["–", "coverage: not run"],
    failed.length ? [link("~runs", { class: "t-err" }, String(failed.length)), failed.length === 1 ? "failed test" : "failed tests"] : null,
    [String(data.runs.length), data.runs.length === 1 ? "recorded run" : "recorded runs"],
    data.goldens ? [String(pending), "golden changes to review"] : null,
    all.some((/** @type {any} */ workflow) => workflow.sessions) ? [String(sum((workflow) => workflow.sessions?.sessions ?? 0)), "sessions"] : null,
    data.locks ? [`${data.locks.provenLocks} / ${data.locks.totalLocks}`, "locks proven"] : null];
  const { field, body } = filtered("workflows", state.filters, "Filter by name, id or path", workflowTable);
  return h("main", { class: "page", id: "main" }, h("h1", {}, "Workflows"),
    h("p", { class: "lead" }, "What agents read in this project, what is wrong, what is tested, and what changed."),
    h("div", { class: "facts" }, facts.map((fact) => (fact ? h("div", { class: "fact" }, h("strong", {}, fact[0]), h("span", {}, fact[1])) : null))),
    h("div", { class: "row tools" }, field,
      h("div", { class: "tabs", role: "group", "aria-label": "Show" }, FILTERS.map(([name, title]) =>
        h("button", { type: "button", "aria-pressed": String(state.only === name), "data-only": name }, title)))),
    lookAtFirst(failed), body);
}

/** What has to be mended before anything else: at most six lines. @param {any[]} failed */
function lookAtFirst(failed) {
  const broken = data.workflows.filter((/** @type {any} */ workflow) => !workflow.hash);
  const lines = [...broken.map((/** @type {any} */ workflow) => [link(addressOf(workflow), {}, workflow.name), "does not compile"]),
    ...failed.map((run) => [link(runAddress(run.key, run.outcome.moment ?? 0), {}, run.name), run.outcome.message ?? "failed"])];
  if (!lines.length) return null;
  const more = lines.length - MOST_FIRST;
  return h("section", { class: "first", "aria-label": "Look at first" }, h("h2", { class: "chapter" }, "Look at first"),
    h("ul", {}, lines.slice(0, MOST_FIRST).map(([name, why]) => h("li", {}, h("strong", { class: "t-err" }, "✗ "), name, h("span", { class: "note" }, ` ${why}`)))),
    more > 0 ? h("p", { class: "note" }, `and ${more} more`) : null);
}

/** The columns that some workflow has something for: name, title, what stands in a cell. @type {[string, string, (workflow: any) => any][]} */
const NUMBERS = [
  ["mutants", "Mutants", (workflow) => (workflow.mutation ? `${mutationScore(workflow.mutation)}%` : "–")],
  ["prompts", "Prompts", (workflow) => (workflow.hash ? size(promptBytes(workflow)) : "–")],
  ["sessions", "Sessions", (workflow) => (workflow.sessions ? String(workflow.sessions.sessions ?? 0) : "–")],
  ["changes", "Changes", (workflow) => (!workflow.changes ? "–" : workflow.changes.isNew ? "new" : workflow.changes.list.length ? String(workflow.changes.list.length) : "none")],
  ["committed", "Last change", (workflow) => (workflow.committed ? h("time", { datetime: new Date(workflow.committed * 1000).toISOString(), title: new Date(workflow.committed * 1000).toISOString().slice(0, 10) }, age(workflow.committed)) : "–")],
];

function workflowTable() {
  const words = (state.filters.get("workflows") ?? "").toLowerCase();
  const keeps = FILTERS.find(([name]) => name === state.only)?.[2] ?? (() => true);
  const by = SORTS.get(state.sort) ?? (() => 0);
  const rows = data.workflows.filter((/** @type {any} */ workflow) => keeps(workflow) && (`${workflow.name} ${workflow.id} ${workflow.path}`.toLowerCase().includes(words)))
    .map((/** @type {any} */ workflow) => [by(workflow), workflow]).sort((/** @type {any} */ a, /** @type {any} */ b) => (a[0] < b[0] ? -1 : a[0] > b[0] ? 1 : 0));
  if (state.reversed) rows.reverse();
  const numbers = NUMBERS.filter(([, , of]) => data.workflows.some((/** @type {any} */ workflow) => of(workflow) !== "–"));
  const head = (/** @type {string} */ name, /** @type {string} */ title, /** @type {string} */ kind = "") => h("th", { scope: "col", class: kind, "aria-sort": state.sort !== name ? null : state.reversed ? "descending" : "ascending" },
    h("button", { type: "button", "data-sort": name }, title, state.sort !== name ? "" : state.reversed ? " ↑" : " ↓"));
  if (!rows.length) return h("p", { class: "empty" }, "No workflow fits.");
  return h("div", { class: "table-wrap" }, h("table", { class: "workflows" }, h("thead", {}, h("tr", {}, h("th", { class: "thumb-cell" }, h("span", { class: "hidden" }, "picture")), head("workflow", "Workflow"), head("findings", "Findings"),
    head("coverage", "Coverage"), numbers.map(([name, title]) => head(name, title, "number")))),
  h("tbody", {}, rows.map((/** @type {any} */ [, workflow]) => h("tr", {},
    h("td", { class: "thumb-cell" }, thumbnail(workflow)),
    h("td", {}, link(addressOf(workflow), { class: "name" }, workflow.name), h("p", { class: "note" }, h("code", {}, workflow.key), h("span", { class: `nowrap${workflow.hash ? "" : " t-err"}` }, " · ", workflow.hash ? counted(workflow.steps.length, "step") : "does not compile"))),
    h("td", { class: "tags-cell" }, ["error", "warning", "info"].map((severity) => (countOf(workflow, severity) ? h("span", { class: `tag c-${severity}` }, icon(severity, `${severity}s`), String(countOf(workflow, severity))) : null)),
      workflow.findings.length ? null : h("span", { class: "note" }, "none")),
    h("td", {}, workflow.coverage ? bar(workflow.coverage) : h("span", { class: "note" }, "not run")),
    numbers.map(([name, title, of]) => h("td", { class: `number${workflow[name === "mutants" ? "mutation" : name]?.stale ? " stale-text" : ""}${of(workflow) === "–" ? " empty-cell" : ""}`, "data-title": title }, of(workflow))))))));
}

/** @param {any} coverage */
function bar(coverage) {
  const share = percent(coverage.total.covered, coverage.total.points);
  const tone = share === 100 ? "ok" : share >= 50 ? "warn" : "err";
  return h("span", { class: `meter${coverage.stale ? " stale" : ""}`, title: coverage.stale ? "of another version of this workflow" : "" },
    h("span", { class: "track" }, h("span", { class: `fill t-${tone}`, at: { width: `${share}%` } })), ` ${share}%`);
}
