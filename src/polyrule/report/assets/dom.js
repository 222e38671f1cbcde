// Making elements. Text from the data only ever becomes a text node or an attribute value, never markup.

const SVG = "http://www.w3.org/2000/svg";

function make(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (name === "on") for (const [event, action] of Object.entries(value)) node.addEventListener(event, action);
    else if (name === "vars") for (const [key, size] of Object.entries(value)) node.style.setProperty(`--${key}`, size);
    else node.setAttribute(name, value === true ? "" : String(value));
  }
  for (const child of children.flat(Infinity)) {
    if (child !== null && child !== undefined && child !== false) node.append(child);
  }
  return node;
}

const el = (tag, attributes = {}, ...children) => make(document.createElement(tag), attributes, children);
const svg = (tag, attributes = {}, ...children) => make(document.createElementNS(SVG, tag), attributes, children);
const hidden = (text) => el("span", { class: "sr" }, text);
const button = (text, action, attributes = {}) =>
  el("button", { type: "button", on: { click: action }, ...attributes }, text);

const soft = (...children) => el("p", { class: "soft" }, ...children);
const note = (...children) => el("p", { class: "note" }, ...children);
const lead = (...children) => el("p", { class: "lead" }, ...children);
const bullets = (items) => el("ul", {}, items.map((item) => el("li", {}, item)));

// Sentences to be looked at, if there are any.
const noteBox = (label, texts, style = "note warn", title = null) =>
  texts?.length > 0 && el("section", { class: style, "aria-label": label }, title && el("h3", {}, title), bullets(texts));

function fill(node, ...children) {
  node.replaceChildren(
    ...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false),
  );
  return node;
}

let counter = 0;
const freshId = (stem) => `${stem}-${++counter}`;

// The first of many things, each drawn, and how many more there are.
const firstFew = (things, most, draw, rest = "more") => [
  things.slice(0, most).map(draw),
  things.length > most && el("span", { class: "soft" }, `and ${whole(things.length - most)} ${rest}`),
];

// A row of controls that choose what is shown.
const searchForm = (label, ...controls) =>
  el(
    "form",
    { class: "filters", role: "search", "aria-label": label, on: { submit: (event) => event.preventDefault() } },
    ...controls,
  );

// A box to tick; `told` gets whether it is ticked.
function tickBox(checked, told, attributes = {}) {
  const box = el("input", { type: "checkbox", checked, ...attributes, on: { change: () => told(box.checked) } });
  return box;
}

// A field to search in; `typed` gets what stands in it.
function searchBox(text, typed, placeholder = "name") {
  const control = el("input", { type: "search", value: text, placeholder, on: { input: () => typed(control.value) } });
  return control;
}

// A labelled control; the label is the visible words, so that both pointers and screen readers find it.
function field(words, control, attributes = {}) {
  control.id = control.id || freshId("field");
  return el("div", { class: "field", ...attributes }, el("label", { for: control.id }, words), control);
}

function select(options, chosen, action) {
  const control = el("select", { on: { change: () => action(control.value) } });
  for (const [value, words] of options) {
    control.append(el("option", { value, selected: String(value) === String(chosen) }, words));
  }
  return control;
}

// A row of a table: its heading, then its cells; a cell without attributes may be given as what is in it.
const rowOf = (heading, ...cells) =>
  el(
    "tr",
    {},
    el("th", { scope: "row" }, heading),
    cells.map((cell) => (cell === false || cell instanceof HTMLTableCellElement ? cell : el("td", {}, cell))),
  );

function table(caption, head, rows, attributes = {}) {
  const id = freshId("caption");
  return el(
    "div",
    { class: "scroll", tabindex: "0", role: "region", "aria-labelledby": id },
    el(
      "table",
      attributes,
      el("caption", { class: "sr", id }, caption),
      el(
        "thead",
        {},
        el(
          "tr",
          {},
          head.map((cell) => (cell instanceof Element ? cell : el("th", { scope: "col" }, cell))),
        ),
      ),
      el("tbody", {}, rows),
    ),
  );
}
