// The shell: address, keys, theme. Every view is drawn from the address; only the open one is drawn.

import { choices, copyable, h, icon, link } from "./dom.js";
import { frontPage } from "./front.js";
import { graphOf, listOf } from "./graph.js";
import { layerName, layerOf, layersOf } from "./layers.js";
import { isLive, listen, mayWrite, placeLink } from "./live.js";
import { isRed } from "./outcomes.js";
import { excerptOf, stepPanel, workflowPanel } from "./panel.js";
import { searchBox } from "./search.js";
import { addressOf, data, editsInOrder, here, readAddress, runAddress, runs, state, views, workflows } from "./store.js";
import { counted, dateOf } from "./words.js";
import { openItem, versionsControl, worklist, worklistOf } from "./worklists.js";

/** @typedef {import("../../../tools/studio/page").Workflow} Workflow */
/** @typedef {import("../../../tools/studio/page").Layer} Layer */

const app = /** @type {HTMLElement} */ (document.getElementById("app"));
const narrow = matchMedia("(max-width: 760px)");
const dark = matchMedia("(prefers-color-scheme: dark)");
const title = data.project;
let printing = false;
/** @type {[string, string, string][]} */
const NAVIGATION = [["", "Workflows", "front workflow"], ["~runs", "Runs", "runs run"], ["~goldens", "Goldens", "goldens"], ["~catalog", "Catalog", "catalog"], ["~locks", "Locks", "locks"]];
const KEYS = [["/", "search, commands"], ["j k", "next, previous entry, step, edit or run"], ["Enter", "the step of the entry, and back"], ["[ ]", "layer"], ["1 2 3 4", "source, compiled, at run time, change"], ["← →", "next, previous moment of a run"], ["space", "play a run"], ["f", "moment of the failure"],
  ...(isLive() ? [["w", "what if"], ["a r", "accept, reject an edit"], ["e", "open in the editor"]] : []), ["+ − 0", "zoom"], ["t", "light or dark"], ["h", "front page"], ["Esc", "close the entry, then the variable, then the step"]];

/** @param {string} name @param {string} value */
function keep(name, value) {
  try { sessionStorage.setItem(`studio.${name}`, value); } catch { /* not allowed from this address */ }
}

/** @param {string} name */
function kept(name) {
  try { return sessionStorage.getItem(`studio.${name}`); } catch { return null; }
}

/** What a workflow page shows: its layer, its list, the open entry, the step in focus. @param {Workflow} workflow */
function shownOf(workflow) {
  const layers = layersOf(workflow);
  // What is wrong with a broken file is the first thing to know about it.
  if (workflow.broken && !state.params.has("layer") || !layers.some(([name]) => name === state.layer)) state.layer = workflow.broken ? "findings" : "flow";
  const list = worklistOf(workflow, state.layer);
  const { item } = openItem(list);
  const ident = (state.item && item?.step && !item.steps?.includes(state.step ?? "") ? item.step : state.step) ?? item?.step ?? null;
  const step = workflow.stepById.get(ident ?? "") ?? null;
  return { layers, list, item, step };
}

function workflowPage() {
  const workflow = workflows.get(state.workflow ?? "");
  if (!workflow) return frontPage();
  const { layers, step, item } = shownOf(workflow);
  const layer = layerOf(workflow, state.layer);
  const bar = barOf(workflow, layer);
  const asList = narrow.matches || printing;
  const body = !workflow.layout ? h("p.empty", "This workflow does not compile, and no earlier version of it can be drawn.") : asList ? listOf(workflow, layer) : graphOf(workflow, layer, { step: step?.id }, bar);
  const picked = layers.map(([value, number, tone]) => ({ value, title: layerName(value), count: number, tone }));
  const tabs = choices("Layer", state.layer, (name) => here({ layer: name, item: null, panel: null, of: null }), picked, "layers");
  return h("main.split", { class: `${workflow.broken ? "with-banner" : ""}${narrow.matches && (step || item) ? " has-step" : ""}`, id: "main" },
    h("header.view-head", h("div", h("h1", workflow.name), h("p.note", h("code", workflow.id), ` ${workflow.version ?? ""} · ${counted(workflow.steps.length, "step")}`, workflow.hash ? [" · ", h("code", { title: workflow.hash }, workflow.hash.slice(7, 15))] : null)), tabs),
    workflow.broken ? brokenBanner(workflow, workflow.broken) : null,
    h("div.left", { class: layer.stale || workflow.broken ? "stale" : "" }, asList && bar.length ? h("div.legend-bar", bar) : null, body),
    panelOf(workflow));
}

/** The legend: only signs that occur. @param {Workflow} workflow @param {Layer} layer */
function barOf(workflow, layer) {
  const kinds = new Set(workflow.steps.flatMap((step) => [`w-${step.writer}`, ...step.badges.map((badge) => badge.kind)]));
  const signs = ["gate", "contract", "assessment", "fragments"].filter((kind) => kinds.has(kind)).map((kind) => h("span", icon(kind), kind === "fragments" ? "conditional text" : kind));
  const flow = [h("span.p-authored", h("b", "▌"), "authored"), kinds.has("w-template") ? h("span.p-template", h("b", "▌"), "template") : null, ...signs, workflow.layout?.rails.some((rail) => rail.kind === "skip") ? "┄ skipped" : null];
  const known = workflow.varByName.get(state.variable ?? "");
  return [layer.stale ? h("strong.t-warn", "of another version of this workflow") : null, state.layer === "sessions" ? versionsControl(workflow) : null, ...(state.layer === "flow" ? flow : layer.legend),
    known ? link(here({ var: null }), { class: "button small" }, `${known.name}: set in ${known.set.length}, read in ${known.read.length}`, icon("cross")) : null].filter(Boolean).map((entry) => (typeof entry === "string" ? h("span", entry) : entry));
}

/** The worklist of the layer, and the step behind a second tab. @param {Workflow} workflow */
function panelOf(workflow) {
  const { list, item, step } = shownOf(workflow);
  if (!list) return h("aside.panel", { "aria-label": step ? "Step" : "Workflow" }, missing(), step ? stepPanel(workflow, step) : workflowPanel(workflow));
  const isStep = step !== null && state.panel === "step";
  const path = encodeURIComponent(workflow.key);
  const tabs = step ? h("div.panel-tabs", link(here({ panel: null }), { class: "choice-tab", "aria-current": isStep ? null : "true" }, list.title),
    link(here({ panel: "step", item: item?.key }, `${path}/${encodeURIComponent(step.id)}`), { class: "choice-tab", "aria-current": isStep ? "true" : null }, step.title, h("kbd", "↵"))) : null;
  return h("aside.panel", { "aria-label": list.title }, missing(), tabs, isStep ? stepPanel(workflow, step) : h("div.panel-body.list-body",
    narrow.matches && (step || item) ? link(here({ item: null, panel: null }, path), { class: "button small back" }, icon("left"), "The picture") : null,
    h("h2", { class: step ? "hidden" : "list-title", tabindex: -1, id: "step-title" }, list.title), worklist(workflow, list)));
}

/** What the address names and this page does not have. */
function missing() {
  return state.missing ? h("p.notice-line", { role: "status" }, icon("info"), " ", state.missing) : null;
}

/** @param {Workflow} workflow @param {import("../../../tools/studio/page").Broken} broken */
function brokenBanner(workflow, broken) {
  const where = broken.line ? `: line ${broken.line}, column ${broken.column}. ` : ". ";
  const picture = broken.commit ? ["The picture is the last version that did: ", h("code", broken.commit.slice(0, 8)), broken.committed ? ` of ${dateOf(broken.committed * 1000).slice(0, 10)}` : "", "."] : broken.sketch ? "The picture has the steps that can be read, one after the other." : "";
  return h("div.banner", { role: "status" }, icon("error"), h("div", h("strong", `${workflow.path.split("/").pop()} does not compile${where}`), `${broken.message.replace(/^line \d+, column \d+: /u, "")}. `, h("span", picture), narrow.matches ? null : h("div.hidden", excerptOf(broken.excerpt, broken.line))), placeLink(workflow.path, broken.line ?? 1));
}

views.set("front", frontPage);
views.set("workflow", workflowPage);

/** How to get what a view would show: whether it is there, the title, the command. @type {Map<string, [boolean, string, string]>} */
const SOURCES = new Map([["runs", [data.runs.length > 0, "Runs", "pytest --workrail-runs-json=runs.json; workrail-lint studio --runs runs.json"]],
  ["goldens", [data.goldens !== null, "Goldens", "workrail-test golden diff --json > goldens.json; workrail-lint studio --goldens goldens.json"]],
  ["locks", [Boolean(data.locks), "Locks", "pytest --workrail-lock-report=locks.json; workrail-lint studio --locks locks.json"]]]);

/** The view of the address, or how to get what it would show. */
function viewPage() {
  const [isThere, title, command] = SOURCES.get(state.view) ?? [true, "", ""];
  return isThere ? (views.get(state.view) ?? frontPage)() : h("main.page", { id: "main" }, h("h1", title), h("p.empty", "Not asked for. Show them with:"), copyable(command));
}

function header() {
  const pending = editsInOrder().length;
  const failing = data.runs.filter(isRed).length;
  const counts = new Map([["~goldens", [pending, "warm", "to review"]], ["~runs", [failing, "hot", "failed"]]]);
  const shown = NAVIGATION.filter(([address, , views]) => (address !== "~locks" || data.locks) && (!data.views || views.split(" ").some((view) => data.views?.includes(view))));
  const item = (/** @type {[string, string, string]} */ [address, name, views]) => {
    const [count, kind, words] = counts.get(address) ?? [0];
    return link(address, { class: "nav-item", "aria-current": views.split(" ").includes(state.view) ? "page" : null }, name, count ? h("span.count", { class: kind, "aria-label": `${count} ${words}`, role: "img" }, String(count)) : null);
  };
  const brand = [icon("logo"), h("strong", "studio"), h("span", title)];
  return h("header.top", data.views ? h("span.brand", brand) : link("", { class: "brand", "aria-label": "studio, front page" }, brand),
    h("nav", { "aria-label": "Views" }, shown.map(item)), isLive() ? h("span.live", { title: "served from this machine; loads itself again when a file changes" }, h("i"), "live") : null,
    h("div.tools-right", h("button.button", { type: "button", "aria-label": "Search", "data-open": "search" }, icon("search"), h("span.wide", "Search"), h("kbd.wide", "/")),
      h("button.button", { type: "button", "aria-label": "light or dark", "data-theme-toggle": "1" }, icon("moon")), h("button.button", { type: "button", "aria-label": "keys", "data-open": "keys" }, "?")));
}

/** What a drawn graph shows: as long as it is the same, only its place moves. */
function graphKey() {
  return [state.view, state.workflow ?? state.run ?? state.entry, state.layer, state.of, state.variable, state.params.get("fold")].join(" ");
}

/** The graph of the last drawing, to be kept when only the entry changed. */
let drawn = "";

/** Draw the view. What survives is the place in the graph and the focus. */
function render() {
  const key = graphKey();
  const focused = document.activeElement;
  const remembered = focused instanceof HTMLElement ? focusKey(focused) : null;
  if (state.view === "workflow" && key === drawn && !printing && !narrow.matches && app.querySelector(".canvas")) renderEntry();
  else renderAll(key);
  drawn = key;
  document.title = `${state.workflow ? workflows.get(state.workflow)?.name : state.run ?? title} - studio`;
  if (remembered) /** @type {HTMLElement | null | undefined} */ ([...app.querySelectorAll("button, a, input")].find((element) => focusKey(/** @type {HTMLElement} */ (element)) === remembered))?.focus({ preventScroll: true });
  app.querySelector(".work.open")?.scrollIntoView({ block: "nearest" });
}

/** @param {string} key */
function renderAll(key) {
  const place = `${state.view} ${state.workflow ?? state.run}`;
  const before = app.querySelector(".scroller");
  const same = before?.getAttribute("data-of") === place;
  const [left, top] = same && before ? [before.scrollLeft, before.scrollTop] : [0, 0];
  const page = viewPage();
  const words = state.view === "workflow" && worklistOrStep() ? null : missing();
  if (words) page.prepend(words);
  app.replaceChildren(h("a.skip", { href: "#main", onclick: (/** @type {Event} */ event) => { event.preventDefault(); (document.getElementById("step-title") ?? app.querySelector("h1"))?.focus(); } }, "Skip to the content"), header(), page);
  const scroller = app.querySelector(".scroller");
  if (!scroller) return;
  scroller.setAttribute("data-of", place);
  if (same) scroller.scrollTo(left, top);
  else press('[data-zoom="fit"]');
  if (!same) scroller.scrollTop = 0;
  reveal(scroller, same && key === drawn);
}

function worklistOrStep() {
  return workflows.has(state.workflow ?? "");
}

/** Only the panel, and the two cards whose sign of being current changes. */
function renderEntry() {
  const workflow = workflows.get(state.workflow ?? "");
  const panel = app.querySelector(".panel");
  if (!workflow || !panel) return renderAll(graphKey());
  const scrolled = panel.scrollTop;
  const { step } = shownOf(workflow);
  const next = panelOf(workflow);
  panel.replaceWith(next);
  next.scrollTop = scrolled;
  for (const old of app.querySelectorAll(".canvas .current")) {
    old.classList.remove("current");
    old.removeAttribute("aria-current");
    old.querySelector("[aria-current]")?.removeAttribute("aria-current");
  }
  for (const card of app.querySelectorAll(".canvas [data-step], .canvas .ghost")) markCurrent(card, step?.id ?? null);
  for (const ghost of app.querySelectorAll(".canvas .ghost")) ghost.classList.toggle("current", Boolean(state.item) && decodeURIComponent(ghost.getAttribute("href") ?? "").includes(`item=${state.item}`));
  const scroller = app.querySelector(".scroller");
  if (scroller) reveal(scroller, true);
}

/** @param {Element} card @param {string | null} step */
function markCurrent(card, step) {
  if (card.getAttribute("data-step") !== step || card.classList.contains("delegation")) return;
  (card.closest(".frame") ?? card).classList.add("current");
  card.setAttribute("aria-current", "step");
}

/** What makes two elements the same for the focus. @param {HTMLElement} element */
function focusKey(element) {
  const { dataset } = element;
  if (element.tagName === "INPUT") return "input";
  return dataset.step ?? dataset.item ?? dataset.choice ?? dataset.variable ?? dataset.zoom ?? dataset.sort ?? dataset.play ?? (element.tagName === "A" ? element.getAttribute("href") : null);
}

/** Scroll to the current card, but only as far as needed. @param {Element} scroller @param {boolean} smooth */
function reveal(scroller, smooth) {
  const card = scroller.querySelector(".card.current, .frame.current > .frame-head, .ghost.current");
  if (!card) return;
  const [box, view] = [card.getBoundingClientRect(), scroller.getBoundingClientRect()];
  if (box.top >= view.top && box.bottom <= view.bottom && box.left >= view.left && box.right <= view.right) return;
  const calm = !smooth || matchMedia("(prefers-reduced-motion: reduce)").matches;
  scroller.scrollBy({ top: box.top - view.top - view.height / 3, left: box.left < view.left || box.right > view.right ? box.left - view.left - 40 : 0, behavior: calm ? "auto" : "smooth" });
}

/** @param {string} kind */
function openDialog(kind) {
  closeDialog();
  const body = kind === "keys" ? h("table.vars", h("tbody", KEYS.map(([keys, meaning]) => h("tr", h("th", { scope: "row" }, keys.split(" ").map((key) => h("kbd", key))), h("td", meaning))))) : searchBox(closeDialog, [["Light or dark", toggleTheme], ["Keys", () => openDialog("keys")], ["Print", () => print()]]);
  const dialog = /** @type {HTMLDialogElement} */ (h("dialog.dialog", { class: `d-${kind}`, "aria-label": kind === "keys" ? "Keys" : "Search", onclick: (/** @type {any} */ event) => { if (event.target === dialog) closeDialog(); } }, body));
  // The browser's own close comes a moment later: a key typed meanwhile would be lost.
  dialog.addEventListener("keydown", (event) => { if (event.key === "Escape") { event.stopPropagation(); closeDialog(); } });
  dialog.addEventListener("close", () => dialog.remove());
  document.body.append(dialog);
  dialog.showModal();
  dialog.querySelector("input")?.focus();
}

function closeDialog() {
  for (const dialog of document.querySelectorAll("dialog")) { dialog.close(); dialog.remove(); }
}

/** Go somewhere without a new entry of the history: Back leaves the view. @param {string} address */
function walkTo(address) {
  history.replaceState(null, "", `#${address}`);
  readAddress();
  render();
}

/** The entry after one of a list, or before it. @template T @param {T[]} list @param {number} at @param {number} by @returns {T | undefined} */
function nextOf(list, at, by) {
  return list[Math.max(0, Math.min(list.length - 1, at < 0 ? (by > 0 ? 0 : list.length - 1) : at + by))];
}

/** @param {number} by */
function moveBy(by) {
  const workflow = workflows.get(state.workflow ?? "");
  if (state.view === "workflow" && workflow) moveInWorkflow(workflow, by);
  else if (state.view === "goldens") {
    const list = editsInOrder();
    const next = nextOf(list, list.findIndex((edit) => edit.id === (state.entry ?? list[0]?.id)), by);
    if (next) walkTo(`~goldens/${encodeURIComponent(next.id)}`);
    app.querySelector(".cause.current")?.scrollIntoView({ block: "nearest" });
  } else {
    const rows = /** @type {HTMLElement[]} */ ([...app.querySelectorAll(".next > ol a, a.name, .run-row, .entry > summary, .beat, .lane-card")]);
    const next = nextOf(rows, rows.indexOf(/** @type {any} */ (document.activeElement)), by);
    next?.focus();
    next?.scrollIntoView({ block: "nearest" });
  }
}

/** @param {Workflow} workflow @param {number} by */
function moveInWorkflow(workflow, by) {
  const { list, item } = shownOf(workflow);
  if (list && state.panel !== "step") {
    const { all } = openItem(list);
    const next = nextOf(all, item ? all.indexOf(item) : -1, by);
    if (next) walkTo(here({ item: next.key, panel: null }, encodeURIComponent(workflow.key)));
    return;
  }
  const next = nextOf(workflow.steps, workflow.order.get(state.step ?? "") ?? -1, by);
  if (next) walkTo(addressOf(workflow, next.id, { panel: state.panel }));
}

/** The step of the open entry, and back to the list. */
function openStep() {
  const workflow = workflows.get(state.workflow ?? "");
  if (!workflow || state.view !== "workflow") return;
  const { list, item, step } = shownOf(workflow);
  if (list && step) location.hash = here({ panel: state.panel === "step" ? null : "step", item: item?.key }, `${encodeURIComponent(workflow.key)}/${encodeURIComponent(step.id)}`);
}

/** @param {number} by */
function momentBy(by) {
  const run = runs.get(state.run ?? "");
  if (state.view === "run" && run?.turns?.length) walkTo(runAddress(run.key, Math.max(0, Math.min(run.turns.length - 1, state.moment + by)), Object.fromEntries(state.params)));
}

/** @param {number} by */
function layerBy(by) {
  const workflow = workflows.get(state.workflow ?? "");
  if (!workflow || state.view !== "workflow") return;
  const names = layersOf(workflow).map(([name]) => name);
  walkTo(here({ layer: names[(names.indexOf(state.layer) + by + names.length) % names.length], item: null, panel: null, of: null }));
}

function leave() {
  if (state.view !== "workflow") return;
  const path = encodeURIComponent(state.workflow ?? "");
  if (state.item || state.panel === "step") walkTo(here({ item: null, panel: null }, path));
  else if (state.variable) walkTo(here({ var: null }));
  else if (state.step) walkTo(here({ panel: null }, path));
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

/** The theme that the reader chose, else that of the system. */
function showTheme() {
  document.documentElement.dataset.theme = kept("theme") ?? (dark.matches ? "dark" : "light");
}

function toggleTheme() {
  const { dataset } = document.documentElement;
  dataset.theme = dataset.theme === "dark" ? "light" : "dark";
  keep("theme", dataset.theme);
}

/** @param {string} selector */
function press(selector) {
  const found = app.querySelector(selector);
  if (found instanceof HTMLElement) found.click();
}

function toFailure() {
  const run = runs.get(state.run ?? "");
  if (state.view === "run" && run && isRed(run) && run.outcome?.moment !== null) walkTo(runAddress(run.key, run.outcome?.moment));
}

/** @type {Map<string, () => void>} */
const ACTIONS = new Map([["/", () => openDialog("search")], ["?", () => openDialog("keys")], ["j", () => moveBy(1)], ["k", () => moveBy(-1)], ["ArrowRight", () => momentBy(1)], ["ArrowLeft", () => momentBy(-1)],
  [" ", () => { if (state.view === "run") play(); }], ["[", () => layerBy(-1)], ["]", () => layerBy(1)], ["+", () => press('[data-zoom="+"]')], ["-", () => press('[data-zoom="−"]')], ["0", () => press('[data-zoom="fit"]')],
  ["Enter", openStep], ["f", toFailure], ["t", toggleTheme], ["h", () => { location.hash = ""; }], ["Escape", leave],
  ...(isLive() ? /** @type {[string, () => void][]} */ ([["w", () => { if (state.view === "run") walkTo(here({ panel: state.panel === "whatif" ? null : "whatif", what: null })); }],
    ...(mayWrite() ? [["a", () => press(".decide .main-act")], ["r", () => press(".decide .button:not(.main-act)")], ["e", () => press(".work.open .place, .failure .place, .panel .place")]] : [])]) : []),
  ...["source", "compiled", "run", "change"].map((text, number) => /** @type {[string, () => void]} */ ([String(number + 1), () => { if (state.view === "workflow") walkTo(here({ text })); }]))]);

addEventListener("keydown", (event) => {
  const target = /** @type {HTMLElement} */ (event.target);
  if (event.ctrlKey || event.metaKey || event.altKey || document.querySelector("dialog") || target.closest("input")) return;
  // A link does what it says; only the card of the open entry has been followed already.
  const isFollowed = event.key === "Enter" && target.closest(".card.current");
  if ((event.key === " " || event.key === "Enter") && target.closest("a,button,summary") && !isFollowed) return;
  if (event.key.startsWith("Arrow") && state.view !== "run") return;
  const action = ACTIONS.get(event.key);
  if (action) { event.preventDefault(); action(); }
});

addEventListener("click", (event) => {
  const target = event.target instanceof Element ? event.target.closest("[data-open],[data-play],[data-theme-toggle]") : null;
  if (!(target instanceof HTMLElement)) return;
  if (target.dataset.open) openDialog(target.dataset.open);
  else if (target.dataset.themeToggle) toggleTheme();
  else play();
});

addEventListener("hashchange", () => {
  const [view, workflow] = [state.view, state.workflow];
  readAddress();
  render();
  if (view !== state.view || workflow !== state.workflow) scrollTo(0, 0);
  showEntry();
});

function showEntry() {
  if (state.entry) app.querySelector("details[open][data-entry]")?.scrollIntoView({ block: "start" });
}

narrow.addEventListener("change", () => renderAll(graphKey()));
// On paper the nested list says the same, and has page breaks.
for (const [name, value] of /** @type {[string, boolean][]} */ ([["beforeprint", true], ["afterprint", false]])) addEventListener(name, () => { printing = value; renderAll(graphKey()); });

showTheme();
dark.addEventListener("change", showTheme);
readAddress();
// Inside of a frame it only says which version it is.
if (data.watched && parent !== window) parent.postMessage(data.watched, "*");
else render();
showEntry();
if (data.watched && parent === window) watchFile();
listen();

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
