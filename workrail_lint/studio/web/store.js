// The data of the page, found by id in maps (a step may be called `constructor`), and where the reader is.

import { isJson } from "./words.js";

/** @typedef {import("../../../tools/studio/page").Page} Page */
/** @typedef {import("../../../tools/studio/page").Workflow} Workflow */
/** @typedef {import("../../../tools/studio/page").Run} Run */
/** @typedef {import("../../../tools/studio/page").Edit} Edit */

/** @type {Page} */
export const data = JSON.parse(document.getElementById("data")?.textContent ?? "{}");

// Long texts that occur more than once stand in a table and are referred to by number.
for (const step of data.workflows.flatMap((workflow) => workflow.steps)) step.pieces.forEach(withText);
for (const turn of data.runs.flatMap((run) => run.turns ?? [])) turn.prompt?.forEach(withText);
const reasons = new Map(Object.entries(data.reasons ?? {}));

/** @param {import("../../../tools/studio/page").Piece} piece */
function withText(piece) {
  if (typeof piece[2] === "number") piece[2] = data.strings[piece[2]];
}

/** Why a rule exists. @param {{name: string}} finding */
export function whyOf(finding) {
  return reasons.get(finding.name) ?? "";
}

/** @type {Map<string, Workflow>} */
export const workflows = new Map();
for (const workflow of data.workflows) {
  // Two files may have one id: the second is found by its path.
  workflow.key = workflows.has(workflow.id) ? workflow.path : workflow.id;
  workflow.stepById = new Map(workflow.steps.map((step) => [step.id, step]));
  workflow.varByName = new Map(workflow.vars.map((item) => [item.name, item]));
  workflow.order = new Map(workflow.steps.map((step, number) => [step.id, number]));
  if (workflow.sessions) workflow.sessions.versions = versionsOf(workflow.sessions, workflow);
  workflows.set(workflow.key, workflow);
}

/** The sessions of each version; older reports have no single sessions. @param {import("../../../tools/studio/page").Sessions} sessions @param {Workflow} workflow */
function versionsOf(sessions, workflow) {
  const versions = sessions.each ?? [];
  for (const version of versions) {
    version.version ??= version.current ? workflow.version ?? "this version" : version.hash.slice(7, 15);
    for (const session of version.sessions) {
      session.version = version.version;
      session.blocked ??= [];
      session.steps = session.steps.map(lastPart);
      session.stuck = session.stuck ? lastPart(session.stuck) : null;
      for (const entry of session.blocked) entry[0] = lastPart(entry[0]);
    }
  }
  return versions;
}

/** The step of a place such as `loop/step`. @param {string} place */
export function lastPart(place) {
  return place.split("/").pop() ?? place;
}

/** @type {Map<string, Run>} */
export const runs = new Map();
/** @type {Map<string, Run[]>} */
const runsByWorkflow = new Map();
for (const run of data.runs) {
  run.key = runs.has(run.name) ? run.path : run.name;
  run.differences = [];
  run.edits = [];
  runs.set(run.key, run);
  if (run.turns && run.workflow) runsByWorkflow.set(run.workflow, [...(runsByWorkflow.get(run.workflow) ?? []), run]);
}

/** The edits that explain changes of goldens; a change that no edit explains is an entry of its own, before them. */
export const edits = editsOf();
giveDifferences();

function editsOf() {
  const { groups = [], edits: explained = [], unexplained = null } = data.goldens ?? {};
  const byId = new Map(groups.map((group) => [group.id, group]));
  /** @type {(id: string) => import("../../../tools/studio/page").GoldenChange[]} */
  const group = (id) => [byId.get(id) ?? []].flat();
  const alone = unexplained ?? groups.map(({ id }) => id);
  /** @type {Edit[]} */
  const list = alone.flatMap(group).map((change) => ({
    ...change, kind: unexplained ? "unexplained" : "change", step: change.step ?? null, changes: [change], goldens: change.goldens ?? [],
    before: change.before ?? change.old, after: change.after ?? change.new,
  }));
  for (const edit of explained) list.push({ ...edit, changes: edit.groups.flatMap(group) });
  return list;
}

/** Say at each run where it differs from its golden, and because of which edit. */
function giveDifferences() {
  for (const item of data.goldens?.pending ?? []) {
    const run = data.runs.find((each) => each.path === item.golden || (item.test && each.test === item.test));
    if (!run) continue;
    run.edits = editsInOrder().filter((edit) => edit.goldens.includes(item.golden));
    for (const difference of item.differences ?? []) {
      const moment = /^\/transcript\/([0-9]+)/u.exec(difference.pointer ?? "");
      const last = Math.max(0, (run.turns?.length ?? 1) - 1);
      const shows = (/** @type {Edit} */ edit) => edit.changes.some((change) => change.step === difference.step && change.change === difference.change && withoutNumbers(change.field) === withoutNumbers(difference.field));
      const edit = run.edits.find(shows) ?? (run.edits.length === 1 ? run.edits[0] : null);
      run.differences.push({ ...difference, moment: moment ? Math.min(last, Number(moment[1])) : null, edit });
    }
  }
}

/** A change has one name, whatever the number of the item is. @param {string | undefined} field */
function withoutNumbers(field) {
  return (field ?? "").replace(/\/([0-9]+|\*)(?=\/|$)/gu, "/*");
}

/** The edits that goldens show, in the order in which they are read: by workflow, those with something unexplained first. */
export function editsInOrder() {
  const shown = edits.filter((edit) => edit.goldens.length);
  const odd = new Set(shown.filter((edit) => edit.kind === "unexplained").map((edit) => edit.workflow));
  const place = (/** @type {Edit} */ edit) => (odd.has(edit.workflow) ? 0 : 1);
  const path = (/** @type {Edit} */ edit) => workflowById(edit.workflow)?.path ?? edit.workflow ?? "";
  return shown.map((edit, number) => ({ edit, number })).sort((a, b) => place(a.edit) - place(b.edit) ||
    (path(a.edit) < path(b.edit) ? -1 : path(a.edit) > path(b.edit) ? 1 : a.number - b.number)).map(({ edit }) => edit);
}

/** @param {string | null | undefined} ident @returns {Workflow | undefined} */
export function workflowById(ident) {
  return workflows.get(ident ?? "") ?? data.workflows.find((workflow) => workflow.id === ident);
}

/** The runs of a workflow. @param {Workflow} workflow */
export function runsOf(workflow) {
  return runsByWorkflow.get(workflow.id) ?? [];
}

/** A run by the id of its test, as coverage names it. @param {string} test @returns {Run | undefined} */
export function runOfTest(test) {
  const ran = data.runs.find((run) => run.test === test);
  if (ran) return ran;
  const path = test.split("::")[0];
  const name = path.split("/").pop()?.replace(/\.scenario\.json$/u, "") ?? "";
  const folder = path.split("/").slice(0, -1).join("/");
  return data.runs.find((run) => run.name === name && run.path.startsWith(folder));
}

/** The step a place such as `loop/step` or `/steps/plan/prompt` is about. @param {Workflow} workflow @param {string | null | undefined} place @returns {string | null} */
export function stepOfPlace(workflow, place) {
  for (const part of String(place).split(/[/:#.]/u).reverse()) if (workflow.stepById.has(part)) return part;
  return workflow.stepById.has(String(place)) ? String(place) : null;
}

/** @param {Workflow | undefined} workflow @param {string | null | undefined} step */
export function stepTitle(workflow, step) {
  return workflow?.stepById.get(step ?? "")?.title ?? step ?? "";
}

/** Where the reader is and how the page looks. Everything but zoom, filters and theme is in the address. */
export const state = {
  view: "front",
  /** @type {string | null} */ workflow: null,
  /** @type {string | null} */ step: null,
  /** @type {string | null} */ run: null,
  moment: 0,
  layer: "flow",
  text: "compiled",
  /** @type {string | null} */ variable: null,
  /** The open entry of a worklist. @type {string | null} */ item: null,
  panel: "list",
  only: "all",
  sort: "state",
  /** Which sessions count: those of this version, of others, of all. */ of: "this",
  /** An edit, a rule, an entry of the catalog, a lock. @type {string | null} */ entry: null,
  /** What the reader tries in a run, by variable, as JSON. @type {Map<string, string>} */ tried: new Map(),
  /** The address without its parameters, and these. */ path: "",
  /** @type {Map<string, string>} */ params: new Map(),
  /** What the address names and the page does not have. */ missing: "",
  zoom: 1,
  playing: false,
  /** What changes are counted from. */ revision: data.revision ?? "",
  /** A filter for each list. @type {Map<string, string>} */ filters: new Map(),
};

const USUAL = new Map([["layer", "flow"], ["text", "compiled"], ["only", "all"], ["of", "this"], ["panel", "list"], ["sort", "state"]]);

/** @typedef {Record<string, string | null | undefined>} Params */

/** An address with parameters; usual values are left out. @param {string} path @param {Params} params */
export function joined(path, params) {
  const listed = Object.entries(params).filter(([name, value]) => value && USUAL.get(name) !== value)
    .map(([name, value]) => `${name}=${encodeURIComponent(value ?? "").replace(/%3A/gu, ":").replace(/%2C/gu, ",").replace(/%2F/gu, "/")}`);
  return path + (listed.length ? `?${listed.join("&")}` : "");
}

/** The address of this place with other parameters. @param {Params} changed @param {string} [path] */
export function here(changed, path = state.path) {
  return joined(path, { ...Object.fromEntries(state.params), ...changed });
}

/** The address of a workflow or one of its steps; the layer of the reader is kept. @param {Workflow} workflow @param {string | null} [step] @param {Params} [params] */
export function addressOf(workflow, step, params) {
  const kept = state.workflow === workflow.key ? { layer: state.layer, var: state.variable, text: state.text, of: state.of, fold: state.params.get("fold") } : {};
  return joined(encodeURIComponent(workflow.key) + (step ? `/${encodeURIComponent(step)}` : ""), { ...kept, ...params });
}

/** The address of a run; moments count from one. @param {string} key @param {number | null} [moment] @param {Params} [params] */
export function runAddress(key, moment, params) {
  return joined(`~run/${encodeURIComponent(key)}${moment ? `/${moment + 1}` : ""}`, params ?? {});
}

/** The address of an edit: where its goldens are reviewed, else where the workflow changed. @param {Edit} edit */
export function editAddress(edit) {
  const workflow = workflowById(edit.workflow);
  if (edit.goldens.length || !workflow) return `~goldens/${encodeURIComponent(edit.id)}`;
  return addressOf(workflow, edit.kind === "removed" ? null : edit.step, { layer: "changes", item: edit.kind === "removed" ? `removed:${edit.step}` : null });
}

/** The page of each view, by its name. One that has nothing to show is not in the script. @type {Map<string, () => HTMLElement>} */
export const views = new Map();

const LISTS = ["runs", "goldens", "catalog", "locks", "rule"];

/** Read the address bar. An address that leads nowhere opens the nearest place that exists. */
export function readAddress() {
  const [path = "", query = ""] = (location.hash.slice(1) || data.start || "").split("?");
  const params = new Map(query.split("&").filter((part) => part.includes("=")).map((part) => /** @type {[string, string]} */ ([part.slice(0, part.indexOf("=")), decoded(part.slice(part.indexOf("=") + 1))])));
  const param = (/** @type {string} */ name) => params.get(name) ?? USUAL.get(name) ?? null;
  const [first = "", second = "", third = ""] = path.split("/").map(decoded);
  Object.assign(state, {
    path, params, step: null, workflow: null, run: null, entry: null, missing: "", playing: state.playing && first === "~run",
    layer: param("layer"), text: param("text"), variable: param("var"), item: param("item"), only: param("only"), of: param("of"), panel: param("panel"), sort: param("sort"),
    tried: new Map((param("what") ?? "").split(",").map((pair) => /** @type {[string, string]} */ (pair.split(":").map(decoded))).filter(([, value]) => isJson(value))),
  });
  if (first === "~run" && runs.has(second)) Object.assign(state, { view: "run", run: second, moment: Math.max(0, (Math.floor(Number(third)) || 1) - 1) });
  else if (first === "~run") Object.assign(state, { view: "runs", missing: `There is no run “${second}” here.` });
  else if (first.startsWith("~") && LISTS.includes(first.slice(1))) readEntry(first.slice(1), second);
  else if (workflows.has(first)) {
    const workflow = workflows.get(first);
    const step = workflow?.stepById.has(second) ? second : null;
    Object.assign(state, { view: "workflow", workflow: first, step, missing: second && !step ? `This workflow has no step “${second}”.` : "" });
    if (state.variable && !workflow?.varByName.has(state.variable)) Object.assign(state, { missing: `This workflow has no variable “${state.variable}”.`, variable: null });
  } else Object.assign(state, { view: data.views?.[0] ?? "front", missing: first ? `There is no workflow “${first}” here.` : "" });
}

/** @param {string} view @param {string} entry */
function readEntry(view, entry) {
  Object.assign(state, { view, entry: entry || null });
  if (view === "goldens" && entry && !edits.some((edit) => edit.id === entry)) Object.assign(state, { entry: null, missing: /^[0-9]+$/u.test(entry) ? "" : `No edit “${entry}” is pending.` });
}

/** @param {string} text */
function decoded(text) {
  try { return decodeURIComponent(text); } catch { return text; }
}
