// Elements from text, never from markup: what a document says can only ever become a text node.

/** @typedef {Node | string | number | null | undefined | false} Child */

const SVG = "http://www.w3.org/2000/svg";
// Control, bidirectional and zero-width characters, which hide or reorder what is around them.
const HIDDEN = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u200b-\u200f\u202a-\u202e\u2060-\u2064\u2066-\u2069\ufeff]/gu;

/** Text with hidden characters shown by their numbers. @param {unknown} text */
export function visible(text) {
  return String(text).replace(HIDDEN, (found) => `U+${found.charCodeAt(0).toString(16).toUpperCase().padStart(4, "0")}`);
}

/** @param {Element} element @param {Child[]} children */
function append(element, children) {
  for (const child of children.flat(4)) {
    if (child === null || child === undefined || child === false) continue;
    element.append(child instanceof Node ? child : visible(child));
  }
}

/** @param {Element} element @param {Record<string, any>} props */
function set(element, props) {
  for (const [name, value] of Object.entries(props)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    // What the script reads back has to stay as it is.
    else element.setAttribute(name, value === true ? "" : name.startsWith("data-") ? value : visible(value));
  }
}

/**
 * An HTML element. `at` places it, in pixels.
 * @param {string} tag @param {Record<string, any>} [props] @param {...any} children @returns {HTMLElement}
 */
export function h(tag, props = {}, ...children) {
  const element = document.createElement(tag);
  const { at, ...rest } = props;
  set(element, rest);
  if (at) for (const [name, value] of Object.entries(at)) element.style.setProperty(name, typeof value === "number" ? `${value}px` : value);
  append(element, children);
  return element;
}

/** An SVG element. @param {string} tag @param {Record<string, any>} [props] @param {...any} children @returns {SVGElement} */
export function svg(tag, props = {}, ...children) {
  const element = document.createElementNS(SVG, tag);
  set(element, props);
  append(element, children);
  return element;
}

const ICONS = new Map(Object.entries({
  search: "M7 2a5 5 0 1 1 0 10A5 5 0 0 1 7 2zM11 11l3 3",
  moon: "M13 10A6 6 0 0 1 6 3a6 6 0 1 0 7 7z",
  gate: "M4.5 8V4.5M7 8V3M9.5 8V4M4.5 8.5c-1.5-1.2-3 .3-2 1.5l3 3.5h4.5l2.5-5V6",
  contract: "M3.5 1.5h6l3 3v10h-9zM5.5 9l2 2 3.5-4",
  assessment: "M1.5 12a6.5 6.5 0 0 1 13 0zM8 12l3-4",
  fragments: "M2 4.5h12M2 8h7M2 11.5h12",
  loop: "M13 6a5.5 5.5 0 1 0 .5 3M13.5 2v4h-4",
  check: "M2.5 8.5l3.5 3.5 7.5-8",
  error: "M8 1.5a6.5 6.5 0 1 1 0 13 6.5 6.5 0 0 1 0-13zM8 4.5v4M8 11v.5",
  warning: "M8 2l6.5 12h-13zM8 6.5v3.5M8 12v.3",
  info: "M8 1.5a6.5 6.5 0 1 1 0 13 6.5 6.5 0 0 1 0-13zM8 7.5v4M8 4.5v.5",
  missing: "M8 2a6 6 0 1 1 0 12A6 6 0 0 1 8 2z",
  left: "M10 3L5 8l5 5",
  right: "M6 3l5 5-5 5",
  play: "M4.5 3v10l8-5z",
  pause: "M5 3v10M11 3v10",
  split: "M4 2v5h8v5M4 7v7",
  copy: "M5.5 5.5h8v8h-8zM2.5 10.5v-8h8",
  logo: "M5 14V6M5 6a2 2 0 1 0 0-4 2 2 0 0 0 0 4zM11 14V9L5 6",
}));

/** A small picture; `label` when it says something that no text beside it does. @param {string} name @param {string} [label] */
export function icon(name, label) {
  const props = label ? { role: "img", "aria-label": label } : { "aria-hidden": "true" };
  return svg("svg", { class: `icon i-${name}`, viewBox: "0 0 16 16", width: 16, height: 16, ...props },
    label ? svg("title", {}, label) : null, svg("path", { d: ICONS.get(name) ?? "" }));
}

/** A link inside of the page. @param {string} hash @param {Record<string, any>} props @param {...any} children */
export function link(hash, props, ...children) {
  return h("a", { href: `#${hash}`, ...props }, ...children);
}

/** Text only for readers of the page's structure. @param {string} text */
export function hidden(text) {
  return h("span", { class: "hidden" }, text);
}

/** A button that copies a command. @param {string} text */
export function copyable(text) {
  const button = h("button", { class: "button small", type: "button", onclick: () => {
    navigator.clipboard?.writeText(text).then(() => { button.lastChild?.replaceWith("copied"); }, () => {});
  } }, icon("copy"), "copy");
  return h("div", { class: "command" }, h("code", {}, text), button);
}

/**
 * A field that filters a list as the reader types; the list is drawn anew, the field is not.
 * @param {string} name @param {Map<string, string>} filters @param {string} words @param {() => any} list
 */
export function filtered(name, filters, words, list) {
  const body = h("div", {}, list());
  const field = h("input", { type: "search", class: "filter", placeholder: words, "aria-label": words, value: filters.get(name) ?? "", oninput: (/** @type {any} */ event) => {
    filters.set(name, event.target.value);
    body.replaceChildren();
    append(body, [list()]);
  } });
  return { field, body };
}
