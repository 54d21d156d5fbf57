// The data of the page, found by id in maps (a step may be called `constructor`), and where the reader is.

/** @typedef {any} Workflow */
/** @typedef {any} Step */
/** @typedef {any} Run */

export const data = JSON.parse(document.getElementById("data")?.textContent ?? "{}");

// Long texts that occur more than once stand in a table and are referred to by number.
for (const step of data.workflows.flatMap((/** @type {any} */ workflow) => workflow.steps)) step.pieces.forEach(withText);
for (const turn of data.runs.flatMap((/** @type {any} */ run) => run.turns ?? [])) turn.prompt?.forEach(withText);
const reasons = new Map(Object.entries(data.reasons ?? {}));

/** @param {[string, string | null, string | number]} piece */
function withText(piece) {
  if (typeof piece[2] === "number") piece[2] = data.strings[piece[2]];
}

/** Why a rule exists. @param {any} finding @returns {string} */
export function whyOf(finding) {
  return reasons.get(finding.name) ?? "";
}

/** @type {Map<string, Workflow>} */
export const workflows = new Map();
for (const workflow of data.workflows) {
  // Two files may have one id: the second is found by its path.
  workflow.key = workflows.has(workflow.id) ? workflow.path : workflow.id;
  workflow.stepById = new Map(workflow.steps.map((/** @type {Step} */ step) => [step.id, step]));
  workflow.varByName = new Map(workflow.vars.map((/** @type {any} */ item) => [item.name, item]));
  workflows.set(workflow.key, workflow);
}

/** @type {Map<string, Run>} */
export const runs = new Map();
for (const run of data.runs) {
  run.key = runs.has(run.name) ? run.path : run.name;
  runs.set(run.key, run);
}

/** The runs of a workflow. @param {Workflow} workflow @returns {Run[]} */
export function runsOf(workflow) {
  return data.runs.filter((/** @type {Run} */ run) => run.turns && run.workflow === workflow.id);
}

/** A run by the id of its test, as coverage names it. @param {string} test @returns {Run | undefined} */
export function runOfTest(test) {
  const ran = data.runs.find((/** @type {Run} */ run) => run.test === test);
  if (ran) return ran;
  const path = test.split("::")[0];
  const name = path.split("/").pop()?.replace(/\.scenario\.json$/u, "") ?? "";
  const folder = path.split("/").slice(0, -1).join("/");
  return data.runs.find((/** @type {Run} */ run) => run.name === name && run.path.startsWith(folder));
}

/** The step a place such as `loop/step` or `/steps/plan/prompt` is about. @param {Workflow} workflow @param {string} place */
export function stepOfPlace(workflow, place) {
  for (const part of String(place).split(/[/:#.]/u).reverse()) {
    if (workflow.stepById.has(part)) return part;
  }
  return workflow.stepById.has(place) ? place : null;
}

/** Where the reader is and how the page looks; `render` is called after each change. */
export const state = {
  view: "front",
  /** @type {string | null} */ workflow: null,
  /** @type {string | null} */ step: null,
  /** @type {string | null} */ run: null,
  moment: 0,
  index: 0,
  layer: "flow",
  text: "compiled",
  zoom: 1,
  /** @type {string | null} */ variable: null,
  only: "all",
  sort: "findings",
  playing: false,
  /** What changes are counted from. @type {string} */ revision: data.revision ?? "",
  /** The sort order turned round. */ reversed: false,
  /** A filter for each list. @type {Map<string, string>} */ filters: new Map(),
  /** An entry of the catalog or a lock. @type {string | null} */ entry: null,
};

/** The address of a workflow or one of its steps. @param {Workflow} workflow @param {string | null} [step] */
export function addressOf(workflow, step) {
  return encodeURIComponent(workflow.key) + (step ? `/${encodeURIComponent(step)}` : "");
}

/** @param {string} key @param {number} [moment] */
export function runAddress(key, moment) {
  return `~run/${encodeURIComponent(key)}${moment ? `/${moment}` : ""}`;
}

/** Read the address bar. An address that leads nowhere is the front page. */
export function readAddress() {
  const [first = "", second = "", third = ""] = location.hash.slice(1).split("/").map(decoded);
  Object.assign(state, { step: null, workflow: null, run: null, playing: state.playing && first === "~run" });
  if (first === "~run" && runs.has(second)) Object.assign(state, { view: "run", run: second, moment: Number(third) || 0 });
  else if (first === "~goldens") Object.assign(state, { view: "goldens", index: Number(second) || 0 });
  else if (first === "~runs" || first === "~catalog" || first === "~locks") Object.assign(state, { view: first.slice(1), entry: second || null });
  else if (workflows.has(first)) {
    const workflow = workflows.get(first);
    Object.assign(state, { view: "workflow", workflow: first, step: workflow.stepById.has(second) ? second : null });
  } else state.view = "front";
}

/** @param {string} text */
function decoded(text) {
  try { return decodeURIComponent(text); } catch { return text; }
}
