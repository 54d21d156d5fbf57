// The shell: address, keys, search, theme. Every view is drawn anew from the state; only the open one is drawn.

import { catalogPage, locksPage } from "./catalog.js";
import { h, icon, link } from "./dom.js";
import { frontPage } from "./front.js";
import { goldensPage } from "./goldens.js";
import { graphOf, listOf } from "./graph.js";
import { layerName, layerOf, layersOf } from "./layers.js";
import { stepPanel, workflowPanel } from "./panel.js";
import { runPage, runsPage } from "./runs.js";
import { addressOf, data, readAddress, runAddress, runs, state, workflows } from "./store.js";
import { counted } from "./words.js";

const app = /** @type {HTMLElement} */ (document.getElementById("app"));
const narrow = matchMedia("(max-width: 760px)");
let printing = false;
const NAVIGATION = [["", "Workflows", "front workflow"], ["~runs", "Runs", "runs run"], ["~goldens", "Goldens", "goldens"], ["~catalog", "Catalog", "catalog"], ["~locks", "Locks", "locks"]];
const KEYS = [["/", "search"], ["j k", "next, previous step or change"], ["← →", "next, previous moment of a run"], ["space", "play a run"], ["[ ]", "layer"], ["1 2 3 4", "source, compiled, at run time, change"],
  ["+ − 0", "zoom"], ["t", "light or dark"], ["h", "all workflows"], ["Esc", "leave the variable, then the step"]];

/** @param {string} name @param {string} value */
function keep(name, value) {
  try { sessionStorage.setItem(`studio.${name}`, value); } catch { /* not allowed from this address */ }
}

/** @param {string} name */
function kept(name) {
  try { return sessionStorage.getItem(`studio.${name}`); } catch { return null; }
}

function workflowPage() {
  const workflow = workflows.get(state.workflow ?? "");
  const layers = layersOf(workflow);
  if (!layers.some(([name]) => name === state.layer)) state.layer = "flow";
  const layer = layerOf(workflow, state.layer);
  const step = state.step ? workflow.stepById.get(state.step) : null;
  const known = state.variable ? workflow.varByName.get(state.variable) : null;
  const body = !workflow.layout ? h("p", { class: "empty" }, "This workflow does not compile.") : narrow.matches || printing ? listOf(workflow, layer) : graphOf(workflow, layer);
  const legend = state.layer === "flow" ? [h("span", { class: "p-authored" }, h("b", {}, "▌"), "authored"), h("span", { class: "p-template" }, h("b", {}, "▌"), "from a template"),
    ...["gate", "contract", "assessment", "fragments"].map((kind) => h("span", {}, icon(kind), kind === "fragments" ? "conditional text" : kind)), "┄ skipped"] : layer.legend.filter(Boolean);
  return h("main", { class: `split${step ? " has-step" : ""}`, id: "main" },
    h("header", { class: "view-head" }, h("div", {}, h("h1", {}, workflow.name), h("p", { class: "note" }, h("code", {}, workflow.id), ` ${workflow.version ?? ""} · ${counted(workflow.steps.length, "step")}`, workflow.hash ? [" · ", h("code", {}, workflow.hash.slice(0, 19))] : null)),
      h("div", { class: "tabs layers", role: "group", "aria-label": "Layer" }, layers.map(([name, value]) => h("button", { type: "button", "aria-pressed": String(state.layer === name), "data-layer": name }, layerName(name), value ? h("span", { class: "count" }, value) : null)))),
    h("div", { class: `left${layer.stale ? " stale" : ""}` }, h("div", { class: "legend-bar" }, layer.stale ? h("strong", { class: "t-warn" }, "of another version of this workflow") : null, legend.map((item) => (typeof item === "string" ? h("span", {}, item) : item)),
      known ? h("button", { type: "button", class: "button small", "data-variable": state.variable }, `${state.variable}: set in ${known.set.length}, read in ${known.read.length}; show all`) : null), body),
    h("aside", { class: "panel", "aria-label": step ? "Step" : "Workflow" }, step ? stepPanel(workflow, step) : workflowPanel(workflow)));
}

const VIEWS = new Map([["front", frontPage], ["workflow", workflowPage], ["runs", runsPage], ["run", runPage], ["goldens", goldensPage], ["catalog", catalogPage], ["locks", locksPage]]);

function header() {
  const pending = data.goldens?.groups.length;
  const item = (/** @type {string[]} */ [address, title, views]) => link(address, { class: "nav-item", "aria-current": views.split(" ").includes(state.view) ? "page" : null }, title,
    address === "~goldens" && pending ? h("span", { class: "count warm" }, String(pending)) : null);
  const shown = NAVIGATION.filter(([address]) => address !== "~locks" || data.locks);
  return h("header", { class: "top" }, link("", { class: "brand", "aria-label": "studio, all workflows" }, icon("logo"), h("strong", {}, "studio"), h("span", {}, data.project)),
    h("nav", { "aria-label": "Views" }, shown.map(item)),
    h("div", { class: "tools-right" }, h("button", { type: "button", class: "button", "aria-label": "Search", "data-open": "search" }, icon("search"), h("span", { class: "wide" }, "Search"), h("kbd", { class: "wide" }, "/")),
      h("button", { type: "button", class: "button", "aria-label": "light or dark", "data-theme-toggle": "1" }, icon("moon")), h("button", { type: "button", class: "button", "aria-label": "keys", "data-open": "keys" }, "?")));
}

/** What is drawn survives only where it must: the place in the graph. */
function render() {
  const before = app.querySelector(".scroller");
  const same = before?.getAttribute("data-of") === `${state.view} ${state.workflow ?? state.run}`;
  const [left, top] = same && before ? [before.scrollLeft, before.scrollTop] : [0, 0];
  const focused = document.activeElement;
  const remembered = focused instanceof HTMLElement ? focusKey(focused) : null;
  app.replaceChildren(h("a", { class: "skip", href: "#main", onclick: (/** @type {Event} */ event) => { event.preventDefault(); document.getElementById("step-title")?.focus(); } }, "Skip to the content"), header(), (VIEWS.get(state.view) ?? frontPage)());
  const scroller = app.querySelector(".scroller");
  if (scroller) {
    scroller.setAttribute("data-of", `${state.view} ${state.workflow ?? state.run}`);
    if (same) scroller.scrollTo(left, top);
    else fitWidth(scroller);
    reveal(scroller, same);
  }
  document.title = `${state.workflow ? workflows.get(state.workflow).name : state.run ?? data.project} - studio`;
  if (remembered) /** @type {HTMLElement | null} */ ([...app.querySelectorAll("button, a, input")].find((element) => focusKey(/** @type {HTMLElement} */ (element)) === remembered))?.focus({ preventScroll: true });
}

/** What makes two elements the same for the focus. @param {HTMLElement} element */
function focusKey(element) {
  const { dataset } = element;
  if (element.tagName === "INPUT") return "input";
  return dataset.step ?? dataset.layer ?? dataset.text ?? dataset.variable ?? dataset.zoom ?? dataset.only ?? dataset.sort ?? dataset.play ?? (element.tagName === "A" ? element.getAttribute("href") : null);
}

/** @param {Element} scroller */
function fitWidth(scroller) {
  const button = app.querySelector('[data-zoom="fit"]');
  if (button instanceof HTMLElement) button.click();
  scroller.scrollTop = 0;
}

/** Scroll to the current card, but only as far as needed. @param {Element} scroller @param {boolean} smooth */
function reveal(scroller, smooth) {
  const card = scroller.querySelector(".card.current");
  if (!card) return;
  const [box, view] = [card.getBoundingClientRect(), scroller.getBoundingClientRect()];
  if (box.top >= view.top && box.bottom <= view.bottom && box.left >= view.left && box.right <= view.right) return;
  const calm = !smooth || matchMedia("(prefers-reduced-motion: reduce)").matches;
  scroller.scrollBy({ top: box.top - view.top - view.height / 3, left: box.left < view.left || box.right > view.right ? box.left - view.left - 40 : 0, behavior: calm ? "auto" : "smooth" });
}

/** @param {string} kind */
function openDialog(kind) {
  closeDialog();
  const body = kind === "keys" ? h("table", { class: "vars" }, h("tbody", {}, KEYS.map(([keys, meaning]) => h("tr", {}, h("th", { scope: "row" }, keys.split(" ").map((key) => h("kbd", {}, key))), h("td", {}, meaning))))) : searchBox();
  const dialog = /** @type {HTMLDialogElement} */ (h("dialog", { class: "dialog", "aria-label": kind === "keys" ? "Keys" : "Search", onclick: (/** @type {any} */ event) => { if (event.target === dialog) closeDialog(); } }, body));
  dialog.addEventListener("close", () => dialog.remove());
  document.body.append(dialog);
  dialog.showModal();
  dialog.querySelector("input")?.focus();
}

function closeDialog() {
  for (const dialog of document.querySelectorAll("dialog")) { dialog.close(); dialog.remove(); }
}

/** Everything that has an address. @returns {[string, string, string][]} */
function searchable() {
  /** @type {[string, string, string][]} */
  const found = [];
  for (const workflow of workflows.values()) {
    found.push(["workflow", `${workflow.name} ${workflow.id}`, addressOf(workflow)]);
    for (const step of workflow.steps) found.push(["step", `${step.title} ${step.id} · ${workflow.name}`, addressOf(workflow, step.id)]);
    for (const item of workflow.vars) found.push(["variable", `${item.name} · ${workflow.name}`, `${addressOf(workflow)}?${item.name}`]);
  }
  for (const run of runs.values()) found.push(["run", `${run.name} · ${run.workflow ?? run.kind}`, runAddress(run.key)]);
  for (const item of data.catalog) found.push([item.kind, `${item.id} ${item.title}`, `~catalog/${encodeURIComponent(item.id)}`]);
  return found;
}

function searchBox() {
  const all = searchable();
  const results = h("ul", { class: "results" });
  const show = (/** @type {string} */ text) => {
    const words = text.toLowerCase().split(/\s+/u).filter(Boolean);
    const hits = all.filter(([, name]) => words.every((word) => name.toLowerCase().includes(word))).slice(0, 40);
    results.replaceChildren(...hits.map(([kind, name, address]) => h("li", {}, link(address.split("?")[0], { onclick: () => { state.variable = address.split("?")[1] ?? null; closeDialog(); } }, h("span", { class: "note" }, kind), " ", name))));
  };
  show("");
  const move = (/** @type {KeyboardEvent} */ event) => {
    if (event.key !== "ArrowDown" && event.key !== "ArrowUp") return;
    const links = [...results.querySelectorAll("a")];
    const at = links.indexOf(/** @type {any} */ (document.activeElement)) + (event.key === "ArrowDown" ? 1 : -1);
    links[Math.max(0, Math.min(links.length - 1, at))]?.focus();
    event.preventDefault();
  };
  return h("div", { onkeydown: move }, h("input", { type: "search", class: "filter", placeholder: "Workflow, step, variable, run, builtin", "aria-label": "Search", oninput: (/** @type {any} */ event) => show(event.target.value),
    onkeydown: (/** @type {KeyboardEvent} */ event) => { if (event.key === "Enter") results.querySelector("a")?.click(); } }), results);
}

/** @param {number} by */
function moveBy(by) {
  if (state.view === "goldens") location.hash = `~goldens/${Math.max(0, Math.min((data.goldens?.groups.length ?? 1) - 1, state.index + by))}`;
  if (state.view !== "workflow") return;
  const workflow = workflows.get(state.workflow ?? "");
  const at = workflow.steps.findIndex((/** @type {any} */ step) => step.id === state.step) + by;
  const next = workflow.steps[Math.max(0, Math.min(workflow.steps.length - 1, state.step ? at : 0))];
  if (next) location.hash = addressOf(workflow, next.id);
}

/** @param {number} by */
function momentBy(by) {
  const run = runs.get(state.run ?? "");
  if (state.view === "run" && run?.turns) location.hash = runAddress(run.key, Math.max(0, Math.min(run.turns.length - 1, state.moment + by)));
}

/** @param {number} by */
function layerBy(by) {
  if (state.view !== "workflow") return;
  const names = layersOf(workflows.get(state.workflow ?? "")).map(([name]) => name);
  state.layer = names[(names.indexOf(state.layer) + by + names.length) % names.length];
  render();
}

function leave() {
  if (state.variable) { state.variable = null; render(); }
  else if (state.step) location.hash = addressOf(workflows.get(state.workflow ?? ""));
}

function play() {
  state.playing = !state.playing;
  render();
  const tick = () => {
    const run = runs.get(state.run ?? "");
    if (!state.playing || state.view !== "run" || !run?.turns) return;
    if (state.moment >= run.turns.length - 1) { state.playing = false; render(); return; }
    momentBy(1);
    setTimeout(tick, 900);
  };
  if (state.playing) setTimeout(tick, 900);
}

function toggleTheme() {
  const dark = document.documentElement.dataset.theme ? document.documentElement.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  document.documentElement.dataset.theme = dark ? "light" : "dark";
  keep("theme", document.documentElement.dataset.theme);
}

/** @param {string} name */
function pressZoom(name) {
  const button = app.querySelector(`[data-zoom="${name}"]`);
  if (button instanceof HTMLElement) button.click();
}

/** @type {Map<string, () => void>} */
const ACTIONS = new Map([["/", () => openDialog("search")], ["?", () => openDialog("keys")], ["j", () => moveBy(1)], ["k", () => moveBy(-1)], ["ArrowRight", () => momentBy(1)], ["ArrowLeft", () => momentBy(-1)],
  [" ", () => { if (state.view === "run") play(); }], ["[", () => layerBy(-1)], ["]", () => layerBy(1)], ["+", () => pressZoom("+")], ["-", () => pressZoom("−")], ["0", () => pressZoom("fit")],
  ["t", toggleTheme], ["h", () => { location.hash = ""; }], ["Escape", leave],
  ...["source", "compiled", "run", "change"].map((name, number) => /** @type {[string, () => void]} */ ([String(number + 1), () => { state.text = name; render(); }]))]);

addEventListener("keydown", (event) => {
  const target = /** @type {HTMLElement} */ (event.target);
  if (event.ctrlKey || event.metaKey || event.altKey || document.querySelector("dialog") || target.closest("input")) return;
  if (event.key === " " && target.closest("a,button,summary")) return;
  if (event.key.startsWith("Arrow") && state.view !== "run") return;
  const action = ACTIONS.get(event.key);
  if (action) { event.preventDefault(); action(); }
});

addEventListener("click", (event) => {
  const target = event.target instanceof Element ? event.target.closest("[data-layer],[data-text],[data-variable],[data-only],[data-sort],[data-open],[data-play],[data-theme-toggle]") : null;
  if (!(target instanceof HTMLElement)) return;
  const { layer, text, variable, only, sort, open } = target.dataset;
  if (open) return openDialog(open);
  if (target.dataset.themeToggle) return toggleTheme();
  if (target.dataset.play) return play();
  if (layer) state.layer = layer;
  else if (text) state.text = text;
  else if (variable) state.variable = state.variable === variable ? null : variable;
  else if (only) state.only = only;
  else if (sort) Object.assign(state, { sort, reversed: state.sort === sort && !state.reversed });
  render();
});

addEventListener("hashchange", () => {
  const [view, workflow] = [state.view, state.workflow];
  readAddress();
  if (workflow !== state.workflow) state.variable = state.variable && workflows.get(state.workflow ?? "")?.varByName.has(state.variable) ? state.variable : null;
  render();
  if (view !== state.view || workflow !== state.workflow) scrollTo(0, 0);
  showEntry();
});

function showEntry() {
  if (state.entry) app.querySelector("details[open][data-entry]")?.scrollIntoView({ block: "start" });
}

narrow.addEventListener("change", render);
// On paper the nested list says the same, and has page breaks.
for (const [name, value] of /** @type {[string, boolean][]} */ ([["beforeprint", true], ["afterprint", false]])) addEventListener(name, () => { printing = value; render(); });

const theme = kept("theme");
if (theme) document.documentElement.dataset.theme = theme;
readAddress();
// Inside of a frame it only says which version it is.
if (data.watched && parent !== window) parent.postMessage(data.watched, "*");
else render();
showEntry();
if (data.watched && parent === window) watchFile();

/**
 * A page that is being rebuilt looks at its own file in a hidden frame, and loads itself again when that is another one.
 * The address keeps the place.
 */
function watchFile() {
  const scroller = app.querySelector(".scroller");
  if (scroller) scroller.scrollTop = Number(kept("top") ?? 0);
  addEventListener("message", (event) => {
    if (event.source !== frame.contentWindow || typeof event.data !== "string" || event.data === data.watched) return;
    keep("top", String(app.querySelector(".scroller")?.scrollTop ?? 0));
    location.reload();
  });
  const frame = /** @type {HTMLIFrameElement} */ (h("iframe", { hidden: true, title: "the newest version of this page" }));
  document.body.append(frame);
  setInterval(() => { if (!document.hidden) frame.src = `${location.href.split("#")[0]}?${Date.now()}`; }, 1500);
}
