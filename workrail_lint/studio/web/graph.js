// The flow graph: cards over one drawing of rails. All places come from the data; the page only draws, and may fold.

import { h, hidden, icon, link, svg } from "./dom.js";
import { pairsOf } from "./layers.js";
import { addressOf, here, state } from "./store.js";
import { counted, wordsOf } from "./words.js";

/** @typedef {import("../../../tools/studio/page").Workflow} Workflow */
/** @typedef {import("../../../tools/studio/page").Drawing} Drawing */
/** @typedef {import("../../../tools/studio/page").Group} Group */
/** @typedef {import("../../../tools/studio/page").Layer} Layer */
/** @typedef {[number, number]} Point */
/**
 * A run on the graph: how often it came to each step, on which way, in which round of a loop it is, where it stands.
 * @typedef {{visits?: Map<string, number>, way?: (string | null)[], rounds?: Map<string, number>, step?: string | null, failed?: string | null, href?: (step: string) => string}} Story
 */

const RADIUS = 9;
// How high a folded frame is, and how wide a folded phase is.
const [HEAD, PHASE] = [44, 300];
const [SMALLEST, LARGEST, READABLE] = [0.25, 1.6, 0.85];

/** A line through points with round corners. @param {Point[]} points */
function railPath(points) {
  let path = `M${points[0][0]} ${points[0][1]}`;
  for (let i = 1; i < points.length - 1; i++) {
    const [before, at, after] = [points[i - 1], points[i], points[i + 1]];
    const room = Math.min(RADIUS, distance(before, at) / 2, distance(at, after) / 2);
    const [a, b] = [towards(at, before, room), towards(at, after, room)];
    path += `L${a[0]} ${a[1]}Q${at[0]} ${at[1]} ${b[0]} ${b[1]}`;
  }
  const last = points[points.length - 1];
  return `${path}L${last[0]} ${last[1]}`;
}

/** @param {Point} a @param {Point} b */
function distance(a, b) {
  return Math.abs(a[0] - b[0]) + Math.abs(a[1] - b[1]);
}

/** @param {Point} from @param {Point} to @param {number} length */
function towards(from, to, length) {
  return [from[0] + Math.sign(to[0] - from[0]) * length, from[1] + Math.sign(to[1] - from[1]) * length];
}

/** What can be folded: phases, where steps are named after them, else frames that nothing stands beside. @param {Workflow} workflow @param {Drawing} drawing @returns {Group[]} */
function foldable(workflow, drawing) {
  const phases = phasesOf(workflow, drawing);
  return phases.length > 1 ? phases : framesAlone(drawing);
}

/** @param {Drawing} drawing */
function framesAlone(drawing) {
  const isInside = (/** @type {import("../../../tools/studio/page").Box} */ box, /** @type {Group} */ frame) => box.y >= frame.y && box.y + box.h <= frame.y + frame.h && box.x >= frame.x && box.x + box.w <= frame.x + frame.w;
  const isBeside = (/** @type {import("../../../tools/studio/page").Box} */ box, /** @type {Group} */ frame) => box.y < frame.y + frame.h && box.y + box.h > frame.y && !isInside(box, frame);
  return drawing.groups.filter((frame) => frame.kind !== "delegations" && drawing.nodes.filter((node) => isInside(node, frame)).length > 1 && !drawing.nodes.some((node) => isBeside(node, frame)) &&
    !drawing.groups.some((other) => other !== frame && isBeside(other, frame) && !isInside(frame, other)) && !drawing.groups.some((other) => other !== frame && isInside(other, frame)));
}

/** @typedef {import("../../../tools/studio/page").Group | import("../../../tools/studio/page").CardBox} NamedBox */

/** The boxes of a block and of what is in it. @param {any} block @param {Map<string, NamedBox>} boxes @returns {NamedBox[]} */
function boxesOf(block, boxes) {
  const inner = [...(block.items ?? []), ...(block.lanes ?? []).flatMap((/** @type {any} */ lane) => lane.items)];
  return [boxes.get(block.id) ?? [], ...inner.map((each) => boxesOf(each, boxes))].flat();
}

/** The parts of a drawing one below the other, each with its boxes, and from where to where it goes. @param {Workflow} workflow @param {Drawing} drawing */
function drawnRows(workflow, drawing) {
  /** @type {NamedBox[]} */
  const all = [...drawing.groups, ...drawing.nodes];
  const boxes = new Map(all.map((box) => [box.id, box]));
  // The first rail leads from the start to the first row, the last one from the last row to the end.
  const [begin, end] = [drawing.rails[0].points[1][1], drawing.rails[drawing.rails.length - 1].points[0][1]];
  const rows = workflow.tree.map((block) => ({ top: begin, bottom: end, boxes: boxesOf(block, boxes) }));
  rows.slice(1).forEach((row, at) => {
    const above = Math.max(...rows[at].boxes.map(({ y, h: height }) => y + height));
    const below = Math.min(...row.boxes.map(({ y }) => y));
    const between = drawing.rails.find(({ kind, points: [from, to] }) => kind === "main" && from[0] === drawing.start[0] && from[1] >= above && to[1] <= below);
    [rows[at].bottom, row.top] = between?.points.map(([, y]) => y) ?? [above, below];
  });
  return rows;
}

/** Parts one below the other whose steps are called after one phase, such as "Phase 2b: Plan"; others belong to the phase above. @param {Workflow} workflow @param {Drawing} drawing @returns {Group[]} */
function phasesOf(workflow, drawing) {
  /** @type {(Group & {count: number})[]} */
  const phases = [];
  for (const { top, bottom, boxes } of drawnRows(workflow, drawing)) {
    const names = new Set(boxes.flatMap(({ id }) => /^(?:phase|step|stage|part) ?\d+/iu.exec(workflow.stepById.get(id)?.title ?? "") ?? []).map(wordsOf));
    const [x, last] = [Math.min(...boxes.map((box) => box.x)), phases[phases.length - 1]];
    const [name = last?.title ?? ""] = names;
    if (last && names.size < 2 && name === last.title) Object.assign(last, { x: Math.min(last.x, x), h: bottom - last.y, count: last.count + boxes.length });
    else phases.push({ id: `phase:${name}`, kind: "phase", x, y: top, w: PHASE, h: bottom - top, title: names.size < 2 ? name : "", note: "", bound: null, count: boxes.length });
  }
  const known = new Set();
  return phases.filter((phase) => phase.title && phase.count > 1 && !known.has(phase.id) && known.add(phase.id));
}

/** The ids of folded frames. @returns {Set<string>} */
function foldedIds() {
  return new Set((state.params.get("fold") ?? "").split(",").filter(Boolean));
}

/** The drawing without what folded phases and frames hold; phases are frames of it. @param {Drawing} drawing @param {Group[]} parts what can be folded @returns {Drawing} */
function folded(drawing, parts) {
  const ids = foldedIds();
  const frames = parts.filter((frame) => ids.has(frame.id)).sort((a, b) => b.y - a.y);
  const axis = drawing.start[0];
  return frames.reduce((rest, frame) => {
    const [top, bottom] = [frame.y + HEAD, frame.y + frame.h];
    const gone = bottom - top;
    const isGone = (/** @type {number} */ y) => (frame.kind === "phase" ? y >= frame.y : y > top - 8) && y < bottom;
    const moved = (/** @type {number} */ y) => (y >= bottom ? y - gone : Math.min(y, top));
    const kept = (/** @type {any[]} */ list) => list.filter((box) => box.id === frame.id || !isGone(box.y)).map((box) => ({ ...box, y: moved(box.y) }));
    const inside = rest.nodes.filter((node) => isGone(node.y)).map((node) => node.id);
    return {
      ...rest, height: rest.height - gone, end: [rest.end[0], moved(rest.end[1])], nodes: kept(rest.nodes), labels: kept(rest.labels), bars: kept(rest.bars),
      joints: /** @type {Point[]} */ (rest.joints.filter((at) => !isGone(at[1])).map((at) => [at[0], moved(at[1])])),
      groups: kept(rest.groups).map((group) => (group.id === frame.id ? { ...group, h: HEAD, x: group.kind === "phase" ? axis - PHASE / 2 : group.x, bound: null, folded: inside } : group)),
      // What begins or ends inside is not drawn; what leads past is shorter.
      rails: rest.rails.filter(({ points }) => !(isGone(points[0][1]) && isGone(points[points.length - 1][1]))).map((rail) => ({ ...rail, points: /** @type {Point[]} */ (rail.points.map(([x, y]) => [x, moved(y)])) })),
    };
  }, { ...drawing, groups: [...drawing.groups, ...parts.filter((part) => part.kind === "phase")] });
}

/**
 * The graph of a workflow with a layer on it, below a bar with its legend.
 * @param {Workflow} workflow @param {Layer} layer @param {Story} [story] @param {any} [bar]
 */
export function graphOf(workflow, layer, story = {}, bar = []) {
  if (!workflow.layout) return h("p.empty", "This workflow does not compile.");
  const parts = foldable(workflow, workflow.layout);
  const drawing = folded(workflow.layout, parts);
  const canvas = h("div.canvas", { at: { width: drawing.width, height: drawing.height } },
    drawing.groups.map((group) => frameBox(workflow, group, layer, story, parts)),
    rails(drawing, layer.traffic, story.way),
    drawing.groups.map((group) => boundBadge(group, story)),
    drawing.labels.map((label) => labelBox(label, layer)),
    drawing.nodes.map((node) => card(workflow, node, layer, story)),
    layer.traffic ? counts(drawing, layer.traffic) : null,
    ghosts(workflow, drawing, layer.ghosts ?? []));
  const sizer = h("div.sizer", canvas);
  const scroller = h("div.scroller", { tabindex: 0, role: "region", "aria-label": `Flow of ${workflow.name}` }, sizer);
  const zoomed = () => {
    canvas.style.transform = `scale(${state.zoom})`;
    sizer.style.width = `${drawing.width * state.zoom}px`;
    sizer.style.height = `${drawing.height * state.zoom}px`;
    canvas.classList.toggle("far", state.zoom < 0.58);
    scroller.dispatchEvent(new Event("zoomed"));
  };
  zoomed();
  pan(scroller);
  return h("div.graph-column", h("div.legend-bar", bar, zoomButtons(drawing, scroller, zoomed, foldButton(parts))),
    h("div.graph", scroller, overview(drawing, layer, scroller, story)));
}

/** @param {Group[]} parts */
function foldButton(parts) {
  if (!parts.length) return null;
  const isFolded = foldedIds().size > 0;
  return link(here({ fold: isFolded ? null : parts.map((frame) => frame.id).join(",") }), { class: "zoom-button" }, isFolded ? "unfold" : "fold");
}

/** The address at which a frame is folded, or is not any more. @param {Group} group */
function foldAddress(group) {
  const ids = foldedIds();
  return here({ fold: (ids.has(group.id) ? [...ids].filter((id) => id !== group.id) : [...ids, group.id]).join(",") });
}

/** A phase at the edge of the drawing: a line as long as it is, with its name. @param {Group} phase */
function phaseMark(phase) {
  return link(foldAddress(phase), { class: "phase-mark", "aria-label": `fold ${phase.title}`, title: `fold ${phase.title}`, at: { left: phase.x - 21, top: phase.y, height: phase.h } }, h("span", phase.title));
}

/** How many ways lead over a rail. @param {import("../../../tools/studio/page").Rail} rail @param {import("../../../tools/studio/page").Pair[]} pairs */
function waysOver({ from, to, fromSteps = [from], toSteps = [to] }, pairs) {
  return new Set(pairs.filter((pair) => fromSteps.includes(pair.from) && toSteps.includes(pair.to)).flatMap((pair) => [...pair.ways])).size;
}

/** How many sessions took a rail; into a step, all that came to it. @param {import("../../../tools/studio/page").Rail} rail @param {import("../../../tools/studio/page").Traffic} traffic */
function sessionsOver(rail, { visits, pairs }) {
  return rail.kind === "back" || rail.toSteps || !rail.to ? waysOver(rail, pairs) : visits.get(rail.to) ?? 0;
}

/** @param {Drawing} drawing @param {import("../../../tools/studio/page").Traffic | undefined} traffic @param {(string | null)[]} way */
function rails(drawing, traffic, way = []) {
  const order = new Map([["skip", 0], ["main", 1], ["branch", 1], ["back", 2]]);
  const sorted = [...drawing.rails].sort((a, b) => (order.get(a.kind) ?? 1) - (order.get(b.kind) ?? 1));
  const taken = pairsOf([way]);
  const weight = (/** @type {import("../../../tools/studio/page").Rail} */ rail) => (traffic?.total ? ` h${Math.min(4, Math.ceil((4 * sessionsOver(rail, traffic)) / traffic.total))}` : "");
  return svg("svg", { class: "rails", width: drawing.width, height: drawing.height, "aria-hidden": "true" },
    svg("defs", {}, svg("marker", { id: "tip", markerUnits: "userSpaceOnUse", markerWidth: 12, markerHeight: 12, viewBox: "0 0 8 8", refX: 6, refY: 4, orient: "auto" },
      svg("path", { class: "tip", d: "M0 1L7 4L0 7z" }))),
    sorted.map((rail) => svg("path", { class: `rail ${rail.kind}${waysOver(rail, taken) ? " passed" : ""}${weight(rail)}`, d: railPath(rail.points), "marker-end": rail.to && rail.kind !== "back" ? "url(#tip)" : null })),
    drawing.bars.map((bar) => svg("rect", { class: "bar", x: bar.x, y: bar.y, width: bar.w, height: 4, rx: 2 })),
    drawing.joints.map((at) => svg("circle", { class: "joint", cx: at[0], cy: at[1], r: 4 })),
    svg("circle", { class: "dot", cx: drawing.start[0], cy: drawing.start[1], r: 5 }),
    svg("circle", { class: "joint", cx: drawing.end[0], cy: drawing.end[1], r: 6 }),
    svg("circle", { class: "dot", cx: drawing.end[0], cy: drawing.end[1], r: 3 }));
}

/** How many sessions took a rail: beside each step, on what leads past some, and on what leads back. @param {Drawing} drawing @param {import("../../../tools/studio/page").Traffic} traffic */
function counts(drawing, traffic) {
  return drawing.rails.map((rail) => {
    const count = sessionsOver(rail, traffic);
    const put = (/** @type {number} */ left, /** @type {number} */ top, kind = "") => (count ? h("span.flow-count", { class: kind, at: { left, top } }, String(count)) : null);
    const [, second, third] = rail.points;
    const last = rail.points[rail.points.length - 1];
    if (rail.kind === "back") return put(second[0], (second[1] + third[1]) / 2 + 26, "again");
    if (rail.kind === "skip") return put(second[0], (second[1] + third[1]) / 2, "skip");
    const label = rail.to ? drawing.labels.find((item) => item.to === rail.to) : null;
    if (label) return put(label.x + label.w + 16, label.y + label.h / 2);
    return rail.to && !rail.toSteps ? put(last[0] + 18, last[1] - 13) : null;
  });
}

/** The signs of what a folded frame holds: how many steps, how many have a sign. @param {Group} group @param {Layer} layer */
function foldedNote({ folded: inside = [] }, layer) {
  const marks = inside.flatMap((step) => layer.marks.get(step) ?? []).filter((mark) => !mark.plain);
  const worst = marks.find(({ tone }) => tone === "err") ?? marks[0];
  return h("span.note", counted(inside.length, "step"), worst ? [", ", h("strong", { class: `t-${worst.tone}` }, marks.length > 1 ? `${marks.length} marked` : worst.text)] : null);
}

/** @param {Workflow} workflow @param {Group} group @param {Layer} layer @param {Story} story @param {Group[]} parts */
function frameBox(workflow, group, layer, story, parts) {
  if (group.kind === "phase" && !group.folded) return phaseMark(group);
  const mark = layer.marks.get(group.id);
  const current = (story.step ?? null) === group.id && group.kind !== "template";
  const canFold = group.folded || parts.some((part) => part.id === group.id);
  const head = [group.kind === "loop" ? icon("loop") : null, h("strong", group.title), mark ? h("span.mark", { class: `t-${mark.tone}` }, mark.text) : group.folded ? foldedNote(group, layer) : h("span.note", group.note)];
  // A loop and a parallel step are steps; a template call only groups some.
  const isStep = group.kind !== "template" && workflow.stepById.has(group.id);
  return h("div.frame", { class: `${group.kind}${current ? " current" : ""}${group.folded ? " is-folded" : ""}`, at: { left: group.x, top: group.y, width: group.w, height: group.h } },
    canFold ? link(foldAddress(group), { class: "fold-one", "aria-label": `${group.folded ? "unfold" : "fold"} ${group.title}` }, icon(group.folded ? "plus" : "minus")) : null,
    isStep ? link(hrefOf(workflow, story, group.id), { class: "frame-head", title: group.note, "data-step": group.id, "aria-current": current ? "step" : null }, head) : h("div.frame-head", { title: group.note }, head));
}

/** @param {Workflow} workflow @param {Story} story @param {string} step */
function hrefOf(workflow, story, step) {
  return story.href ? story.href(step) : addressOf(workflow, step, { item: null, panel: null });
}

/** How often a loop runs, on its rail. @param {Group} group @param {Story} story */
function boundBadge(group, story) {
  if (group.bound === null) return null;
  const round = story.rounds?.get(group.id);
  return h("span.bound", { title: `at most ${group.bound} rounds`, at: { left: group.x - 2, top: group.y + group.h / 2 } }, round ? `${round} of ${group.bound}` : `≤ ${group.bound}`);
}

/** Steps that are gone, on the rail of the lane where they were; each is a link to its change. @param {Workflow} workflow @param {Drawing} drawing @param {import("../../../tools/studio/page").Ghost[]} gone */
function ghosts(workflow, drawing, gone) {
  /** @type {Map<string, number>} */
  const stacked = new Map();
  return gone.map(({ step, title, beside, isBefore }) => {
    const box = drawing.nodes.find((node) => node.id === beside) ?? drawing.groups.find((group) => group.id === beside);
    const place = `${beside} ${isBefore}`;
    const number = stacked.get(place) ?? 0;
    stacked.set(place, number + 1);
    const shift = number * 12;
    const [middle, top] = !box ? [drawing.start[0], drawing.start[1] + 6] : isBefore ? [box.x + box.w / 2, box.y - 23] : [box.x + box.w / 2, box.y + box.h + 3];
    const key = `removed:${step}`;
    return link(here({ item: key, layer: "changes", panel: null }, encodeURIComponent(workflow.key)), { class: `ghost${state.item === key ? " current" : ""}`, title: `${title} is gone`, at: { left: middle - 118 + shift, top: top + shift / 3 } }, h("span", "− ", h("del", title)));
  });
}

/** @param {import("../../../tools/studio/page").Label} label @param {Layer} layer */
function labelBox(label, layer) {
  const mark = label.to ? layer.labels.get(label.to) : undefined;
  return h("div.label", { class: `l-${label.kind}`, title: label.text, at: { left: label.x, top: label.y, width: label.w, height: label.h } },
    label.kind === "subject" ? icon("split") : null, label.lines.map((line) => h("span", line)), mark ? h("span.mark", { class: `t-${mark.tone}` }, mark.text) : null);
}

/** @param {Workflow} workflow @param {import("../../../tools/studio/page").CardBox} node @param {Layer} layer @param {Story} story */
function card(workflow, node, layer, story) {
  const [ident, delegation] = node.id.split("~");
  const isPart = !workflow.stepById.has(node.id);
  const step = workflow.stepById.get(isPart ? ident : node.id);
  if (!step) return null;
  const mark = layer.marks.get(node.id);
  const visits = story.visits?.get(step.id) ?? 0;
  const current = story.step === step.id;
  const related = state.variable ? (step.sets.includes(state.variable) ? "sets" : step.reads.includes(state.variable) ? "reads" : "") : "";
  const dim = state.variable ? !related : story.visits ? !visits && !mark : mark?.dim;
  const under = isPart ? step.delegations?.[Number(delegation)]?.workflowId : step.writer === "template" ? (step.origin ?? "").split("#")[1] || step.id : step.id;
  const kind = [`w-${step.writer}`, current ? "current" : "", dim ? "dim" : "", mark && !mark.plain ? `m-${mark.tone}` : "", isPart ? "delegation" : "", layer.quiet && !mark ? "calm" : "", story.failed === step.id ? "failed" : ""];
  return link(hrefOf(workflow, story, step.id), { class: `card ${kind.filter(Boolean).join(" ")}`, at: { left: node.x, top: node.y, width: node.w, height: node.h }, "data-step": step.id, "aria-current": current ? "step" : null },
    h("span.title", node.lines.map((line) => h("span", line))),
    h("span.under", h("code", under ?? ""), h("span.badges",
      isPart ? null : step.badges.map((badge) => h("span.badge", { class: `b-${badge.kind}`, title: badge.text }, icon(badge.kind))),
      related ? h("span.mark.t-info", related) : null,
      visits > 1 ? h("span.mark.t-info", `×${visits}`) : null,
      mark && !related ? h("span.mark", { class: `t-${mark.tone}` }, mark.icon ? icon(mark.icon) : null, mark.text) : null)),
    mark?.share === undefined ? null : h("span.share", { class: `t-${mark.tone}`, at: { width: `${Math.round(mark.share * 100)}%` } }),
    hidden([step.condition ? `runs if ${step.condition}` : "", ...step.badges.map((badge) => badge.text)].filter(Boolean).join("; ")));
}

/** The whole drawing in a strip beside it. @param {Drawing} drawing @param {Layer} layer @param {HTMLElement} scroller @param {Story} story */
function overview(drawing, layer, scroller, story) {
  const across = 42 / drawing.width;
  const view = svg("rect", { class: "window", x: 0.5, width: 43, rx: 3 });
  const dashes = drawing.nodes.map((node) => {
    const step = node.id.split("~")[0];
    const tone = layer.marks.get(node.id)?.tone ?? (story.visits?.has(step) || story.step === step ? "info" : "");
    return { node, dash: svg("rect", { class: `dash ${tone ? `t-${tone}` : ""}`, x: 1 + node.x * across, width: Math.max(4, node.w * across), rx: 1 }) };
  });
  const strip = svg("svg", { class: "overview", width: 44, "aria-hidden": "true" }, dashes.map(({ dash }) => dash), view);
  let down = 0.1;
  const update = () => {
    const tall = scroller.clientHeight || 1;
    down = Math.max(0.01, Math.min(0.16, (tall - 8) / drawing.height));
    strip.setAttribute("height", String(Math.ceil(drawing.height * down)));
    for (const { node, dash } of dashes) {
      dash.setAttribute("y", String(node.y * down));
      dash.setAttribute("height", String(Math.max(3, node.h * down)));
    }
    const shown = Math.min(drawing.height, tall / state.zoom);
    view.setAttribute("y", String(Math.max(0, Math.min(scroller.scrollTop / state.zoom, drawing.height - shown)) * down + 0.5));
    view.setAttribute("height", String(Math.max(8, shown * down - 1)));
  };
  scroller.addEventListener("scroll", update, { passive: true });
  scroller.addEventListener("zoomed", update);
  requestAnimationFrame(update);
  const jump = (/** @type {any} */ event) => { if (event.buttons & 1) scroller.scrollTop = ((event.clientY - strip.getBoundingClientRect().top) / down) * state.zoom - scroller.clientHeight / 2; };
  strip.addEventListener("pointerdown", jump);
  strip.addEventListener("pointermove", jump);
  return h("div.strip", strip);
}

/** @param {Drawing} drawing @param {HTMLElement} scroller @param {() => void} zoomed @param {HTMLElement | null} fold */
function zoomButtons(drawing, scroller, zoomed, fold) {
  const shown = h("span.zoom-value", `${Math.round(state.zoom * 100)}%`);
  // What is under the pointer stays there.
  const to = (/** @type {number} */ zoom, x = scroller.clientWidth / 2, y = scroller.clientHeight / 2) => {
    const [left, top] = [(scroller.scrollLeft + x) / state.zoom, (scroller.scrollTop + y) / state.zoom];
    state.zoom = Math.min(LARGEST, Math.max(SMALLEST, zoom));
    zoomed();
    scroller.scrollTo(left * state.zoom - x, top * state.zoom - y);
    shown.textContent = `${Math.round(state.zoom * 100)}%`;
  };
  // Text below this size is not read, so a wide graph is moved rather than made small.
  const fit = () => {
    to(Math.max(READABLE, Math.min(1, (scroller.clientWidth - 12) / drawing.width)));
    scroller.scrollLeft = Math.max(0, drawing.start[0] * state.zoom - scroller.clientWidth / 2);
  };
  scroller.addEventListener("wheel", (event) => {
    if (!event.ctrlKey && !event.metaKey) return;
    event.preventDefault();
    const box = scroller.getBoundingClientRect();
    to(state.zoom * Math.exp(-event.deltaY / 300), event.clientX - box.left, event.clientY - box.top);
  }, { passive: false });
  pinch(scroller, to);
  const button = (/** @type {string} */ text, /** @type {string} */ name, /** @type {() => void} */ act) => h("button.zoom-button", { type: "button", "aria-label": name, "data-zoom": text, onclick: act }, text);
  return h("div.zoom", { role: "group", "aria-label": "Zoom" }, button("−", "smaller", () => to(state.zoom - 0.12)), shown, button("+", "larger", () => to(state.zoom + 0.12)), button("fit", "fit the width", fit), fold);
}

/** Two fingers zoom. @param {HTMLElement} scroller @param {(zoom: number, x: number, y: number) => void} to */
function pinch(scroller, to) {
  let before = 0;
  const apart = (/** @type {TouchList} */ [a, b]) => Math.hypot(a.clientX - b.clientX, a.clientY - b.clientY);
  scroller.addEventListener("touchstart", ({ touches }) => { before = touches.length === 2 ? apart(touches) : 0; }, { passive: true });
  scroller.addEventListener("touchmove", (event) => {
    const { touches } = event;
    if (touches.length !== 2 || !before) return;
    event.preventDefault();
    const box = scroller.getBoundingClientRect();
    const now = apart(touches);
    to((state.zoom * now) / before, (touches[0].clientX + touches[1].clientX) / 2 - box.left, (touches[0].clientY + touches[1].clientY) / 2 - box.top);
    before = now;
  }, { passive: false });
}

/** Drag the ground to move. @param {HTMLElement} scroller */
function pan(scroller) {
  scroller.addEventListener("pointerdown", (down) => {
    if (down.button !== 0 || down.pointerType === "touch" || (down.target instanceof Element && down.target.closest("a,button"))) return;
    const [left, top] = [scroller.scrollLeft + down.clientX, scroller.scrollTop + down.clientY];
    const move = (/** @type {PointerEvent} */ event) => scroller.scrollTo(left - event.clientX, top - event.clientY);
    const up = () => { removeEventListener("pointermove", move); removeEventListener("pointerup", up); };
    addEventListener("pointermove", move);
    addEventListener("pointerup", up);
  });
}

/** The same structure as a nested list: for phones, for print, for readers. @param {Workflow} workflow @param {Layer} layer */
export function listOf(workflow, layer) {
  /** @type {(block: any) => HTMLElement | null} */
  const entry = (block) => {
    const mark = layer.marks.get(block.id);
    switch (block.kind) {
      case "step": {
        const step = workflow.stepById.get(block.id) ?? workflow.stepById.get(block.id.split("~")[0]);
        if (!step) return null;
        const gone = (layer.ghosts ?? []).filter((ghost) => ghost.beside === block.id);
        const lines = (/** @type {boolean} */ isBefore) => gone.filter((ghost) => ghost.isBefore === isBefore).map((ghost) => link(here({ item: `removed:${ghost.step}` }, encodeURIComponent(workflow.key)), { class: "gone-line" }, "− ", h("del", ghost.title)));
        return h("li", lines(true), link(addressOf(workflow, step.id, { item: null, panel: null }), { class: `card w-${step.writer} list-card${mark && !mark.plain ? ` m-${mark.tone}` : ""}`, "data-step": step.id },
          h("span.title", h("span", block.title)),
          h("span.under", h("code", step.id), h("span.badges", step.badges.map((badge) => icon(badge.kind, badge.text)), mark ? h("span.mark", { class: `t-${mark.tone}` }, mark.text) : null))), lines(false));
      }
      case "branch": return h("li", h("span.label.inline", block.text), h("ol", block.items.map(entry)));
      case "switch": return h("li", h("p.note", `${block.complete ? "one" : "at most one"} of ${block.lanes.length}${block.subject ? `, by ${block.subject}` : ""}`),
        h("ol", block.lanes.map((/** @type {any} */ lane) => h("li", h("span.label.inline", lane.text), h("ol", lane.items.map(entry))))));
      default: {
        const head = [block.kind === "loop" ? icon("loop") : null, h("strong", block.title), h("span.note", mark?.text ?? block.note)];
        return h("li.list-group", { class: block.kind }, block.kind === "template" ? h("p.frame-head", head) : link(addressOf(workflow, block.id, { item: null, panel: null }), { class: "frame-head", "data-step": block.id }, head), h("ol", block.items.map(entry)));
      }
    }
  };
  return h("ol.steps-list", workflow.tree.map(entry));
}

/** A tiny picture of a workflow: its boxes from left to right. @param {Workflow} workflow */
export function thumbnail(workflow) {
  if (!workflow.layout) return h("span.thumb");
  const drawing = workflow.layout;
  const [along, across] = [Math.min(98 / drawing.height, 0.14), Math.min(32 / drawing.width, 0.05)];
  const top = (34 - drawing.width * across) / 2;
  const path = drawing.nodes.map((node) => {
    const [long, wide] = [Math.max(1.5, node.h * along), Math.max(3, node.w * across)].map((number) => number.toFixed(1));
    return `M${(node.y * along).toFixed(1)} ${(top + node.x * across).toFixed(1)}h${long}v${wide}h-${long}z`;
  }).join("");
  return svg("svg", { class: "thumb", viewBox: "0 0 100 34", "aria-hidden": "true" }, svg("path", { d: path }));
}
