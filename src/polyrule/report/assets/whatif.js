// What if: change an example's features; the rules run here, in the page.

const MOST_INPUTS = 16;

function whatIf() {
  const state = (app.whatIf ??= startAt(0));
  const results = el("div", { class: "outcome" });
  const said = el("p", { class: "sr", role: "status" });
  const inputs = el("div", { class: "inputs" });
  const note = soft();
  const now = el("div", { class: "now" });
  const update = () => {
    const moved = [...state.values.keys()].filter((slot) => !Object.is(state.values[slot], state.original[slot]));
    const changed = new Set(moved.map((slot) => inputSlots(slot)[0])).size;
    fill(
      note,
      state.row === null
        ? "A blank example: every value is missing until you type one."
        : changed
          ? `${plural(changed, "feature")} changed.`
          : "As in the data.",
    );
    fill(now, presentNow(state));
    fill(said, presentText(state));
    fill(
      results,
      outcomeView(state, () => {
        drawInputs();
        update();
      }),
    );
  };
  const drawInputs = () => fill(inputs, featureInputs(state, update));
  const start = (row) => {
    app.whatIf = Object.assign(state, startAt(row));
    app.flip = null;
    fill(picker, pickerControls(state, start, update, drawInputs));
    drawInputs();
    update();
  };
  const picker = el("div", { class: "filters" });
  fill(picker, pickerControls(state, start, update, drawInputs));
  drawInputs();
  update();
  return [
    el("h2", { tabindex: "-1" }, "What if"),
    lead("Pick an example or type one, change its features, and watch the labels. The rules run in this page."),
    picker,
    note,
    el(
      "div",
      { class: "grid whatif" },
      el("section", { "aria-label": "Features" }, inputs),
      el("section", { "aria-label": "Labels" }, results),
    ),
    now,
    said,
  ];
}

function presentLabels(state) {
  const { labels } = predict(app.model, state.values);
  return [...data.labels.keys()].filter((label) => labels[label]);
}

// Screen readers hear one sentence after a change, not the whole list again.
const presentText = (state) =>
  `Present: ${
    presentLabels(state)
      .map((label) => data.labels[label])
      .join(", ") || "no label"
  }`;

// On narrow screens the labels stay in view below the features.
function presentNow(state) {
  const present = presentLabels(state);
  return [
    el("span", { class: "soft nowrap" }, present.length ? "Present:" : "No label is present."),
    present.map((label) => chip(data.labels[label], 1)),
  ];
}

function startAt(row) {
  const blank = row === null || row >= examples.count;
  const values = blank ? new Float64Array(data.features.length).fill(NaN) : Float64Array.from(examples.values(row));
  return { row: blank ? null : row, values, original: Float64Array.from(values) };
}

function openExample(row) {
  app.whatIf = startAt(row);
  app.flip = null;
  go("whatif", true);
}

function pickerControls(state, start, update, drawInputs) {
  const last = examples.count - 1;
  const number = el("input", {
    type: "number",
    min: 1,
    max: Math.max(1, examples.count),
    value: state.row === null ? "" : state.row + 1,
    on: {
      change: () => {
        const row = Math.round(Number(number.value)) - 1;
        if (row >= 0 && row <= last) start(row);
      },
    },
  });
  const step = (by) => start(state.row === null ? 0 : (state.row + by + examples.count) % examples.count);
  const reset = () => {
    state.values.set(state.original);
    app.flip = null;
    drawInputs();
    update();
  };
  const name = state.row === null ? "Blank example" : examples.name(state.row);
  return [
    exampleFinder(start),
    examples.count > 0 && field(`Example, 1 to ${whole(examples.count)}`, number),
    el(
      "div",
      { class: "field buttons" },
      examples.count > 0 && [
        button("Previous", () => step(-1)),
        button("Next", () => step(1)),
        wrongButton(state, start),
      ],
      button("Blank", () => start(null)),
      button("Reset", reset, { class: "quiet" }),
    ),
    el("p", { class: "which" }, el("b", {}, name)),
  ];
}

const MOST_FOUND = 8;

// Examples whose name holds a text; a page that knows more examples than it shows looks for them elsewhere.
const examplesNamed = (text) => {
  const wanted = text.toLowerCase();
  const found = [];
  for (let row = 0; row < examples.count && found.length < MOST_FOUND; row++)
    if (examples.name(row).toLowerCase().includes(wanted)) found.push(row);
  return { rows: found, words: found.length ? "" : "No example has a name like this." };
};

function exampleFinder(start) {
  const list = el("div", { class: "found-examples" });
  const status = el("span", { class: "soft", role: "status" });
  let latest = "";
  const show = async (text) => {
    latest = text;
    if (!text.trim()) return fill(list);
    const { rows, words } = await (app.findExamples ?? examplesNamed)(text.trim());
    if (text !== latest) return undefined;
    fill(status, words);
    return fill(list, rows.map((row) => button(examples.name(row), () => start(row), { class: "small" })), status);
  };
  return el("div", { class: "field grow" }, field("Find an example", searchBox("", show, app.findHint ?? "name or number")), list);
}

// Wrong predictions are what a reader wants to look at.
function wrongButton(state, start) {
  return button("Next wrong one", () => {
    const results = outcome(app.model);
    for (let step = 1; step <= examples.count; step++) {
      const row = ((state.row ?? -1) + step) % examples.count;
      const truth = examples.truth(row);
      if (results[row].labels.some((value, label) => isWrong(value, truth[label]))) {
        start(row);
        return;
      }
    }
  });
}

// What one input sets: a feature, or a date with all that follows from it.
function inputSlots(slot) {
  const { date } = data.features[slot];
  const slots = [...data.features.keys()];
  return date === undefined ? [slot] : slots.filter((other) => data.features[other].date === date);
}

// Inputs in the order of what they matter here: features of rules that fired or nearly did come first.
function inputOrder(state) {
  const chosen = model();
  const weight = new Map();
  const add = (rule, amount) => {
    for (const [, slot] of featureTests(rule.body)) {
      const [first] = inputSlots(slot);
      weight.set(first, (weight.get(first) ?? 0) + amount);
    }
  };
  for (const rule of chosen.rules) add(rule, 1);
  const result = predict(app.model, state.original);
  const near = nearMisses(chosen, state.original);
  for (const { rule } of [...result.fired, ...near]) add(chosen.rules[rule], 1000);
  return [...weight.keys()].sort((a, b) => weight.get(b) - weight.get(a) || a - b).map(inputSlots);
}

function featureInputs(state, update) {
  const order = inputOrder(state);
  const list = el("div", { class: "input-list" });
  const find = searchBox(app.featureText ?? "", (text) => {
    app.featureText = text;
    show();
  });
  let all = app.allFeatures ?? false;
  const show = () => {
    const text = (app.featureText ?? "").toLowerCase();
    const found = order.filter((slots) => slots.some((slot) => data.features[slot].name.toLowerCase().includes(text)));
    const visible = all ? found : found.slice(0, MOST_INPUTS);
    const rest = found.length - visible.length;
    const idle = text && data.untested.filter((name) => name.toLowerCase().includes(text));
    fill(
      list,
      visible.map((slots) => featureInput(slots, state, update)),
      idle.length > 0 && note(`No rule tests ${idle.slice(0, 5).join(", ")}${idle.length > 5 ? " …" : ""}.`),
      rest > 0 &&
        button(
          `Show ${whole(rest)} more features`,
          () => {
            all = app.allFeatures = true;
            show();
          },
          { class: "more" },
        ),
    );
  };
  show();
  return [
    order.length > 8 && field("Find a feature", find),
    list,
    !order.length && note("No rule tests a feature."),
    untestedFeatures(order),
  ];
}

// What no rule tests cannot change anything; a reader who looks for it should find that said.
function untestedFeatures(order) {
  const set = new Set(order.flat());
  const elsewhere = data.features.filter((_, slot) => !set.has(slot)).map((feature) => feature.name);
  const names = [...elsewhere, ...data.untested];
  const total = data.feature_total - set.size;
  return (
    total > 0 &&
    el(
      "details",
      { class: "untested" },
      el(
        "summary",
        {},
        total === 1
          ? "1 other feature: no rule tests it, so it changes nothing"
          : `${whole(total)} other features: no rule tests them, so they change nothing`,
      ),
      soft(names.join(", "), total > names.length && ` and ${whole(total - names.length)} more`),
    )
  );
}

function thresholdsOf(slot) {
  const found = new Set();
  for (const rule of model().rules)
    for (const [kind, index, value] of featureTests(rule.body))
      if (index === slot && (kind === AT_MOST || kind === ABOVE)) found.add(value);
  return [...found];
}

function featureInput(slots, state, update) {
  // Of a date, the day itself is shown; a model that knows only parts of it gets a field that is empty at first.
  const slot = slots.find((one) => !data.features[one].part) ?? slots[0];
  const feature = data.features[slot];
  const picture = el("div", { class: "where" });
  const box = el("div", { class: "feature" });
  const parts = soft();
  const redraw = () => {
    const value = state.values[slot];
    fill(picture, histogram(feature, { marks: thresholdsOf(slot), value, wide: 220, high: 34, stretch: true }));
    fill(parts, slots.length > 1 && partsText(slots, state.values));
    box.classList.toggle("changed", slots.some((one) => !Object.is(state.values[one], state.original[one])));
  };
  const set = (value) => {
    for (const one of slots) state.values[one] = partOf(value, data.features[one].part);
    app.flip = null;
    redraw();
    update();
  };
  const control =
    feature.date !== undefined
      ? dateControl(feature.part ? NaN : state.values[slot], set)
      : feature.categories
        ? nominalControl(feature, state.values[slot], set)
        : numberControl(feature, state.values[slot], set);
  redraw();
  return fill(
    box,
    field(breakable(feature.date ?? feature.name), control.input),
    el("div", { class: "slide" }, picture, control.slider, parts, control.beyond),
  );
}

// What follows from a date, as rules see it: "2013, April, Friday".
const partsText = (slots, values) =>
  slots
    .filter((slot) => data.features[slot].part)
    .map((slot) => valueText(data.features[slot], values[slot]))
    .filter((text, at, all) => all.indexOf(text) === at)
    .join(", ");

function nominalControl(feature, value, set) {
  const options = [["", "missing"], ...feature.categories.map((name, index) => [index, name])];
  return {
    input: select(options, Number.isNaN(value) ? "" : value, (chosen) => set(chosen === "" ? NaN : Number(chosen))),
  };
}

function dateControl(value, set) {
  const text = Number.isNaN(value) ? "" : dayText(value);
  const read = () => (input.value === "" ? NaN : Date.parse(input.value) / 86400000);
  const input = el("input", { type: "date", value: text, on: { input: () => set(read()) } });
  return { input };
}

function numberControl(feature, value, set) {
  const text = (number) => (Number.isNaN(number) ? "" : String(number));
  const input = el("input", {
    type: "text",
    inputmode: "decimal",
    autocomplete: "off",
    value: text(value),
    placeholder: "missing",
    on: {
      input: () => {
        const number = readNumber(input.value);
        const unread = Number.isNaN(number) && input.value.trim() !== "";
        input.setAttribute("aria-invalid", String(unread));
        input.title = unread ? "This is no number." : /[.,]/.test(input.value) ? `read as ${number}` : "";
        if (unread) return;
        fill(beyond, beyondWords(feature, number));
        set(number);
        if (slider && !Number.isNaN(number)) slider.value = number;
      },
    },
  });
  const beyond = el("span", { class: "soft", role: "status" }, beyondWords(feature, value));
  const bounds = feature.histogram;
  const low = Number(bounds?.low),
    high = Number(bounds?.high);
  const slider =
    bounds?.counts.length && high > low && Number.isFinite(high - low)
      ? el("input", {
          type: "range",
          min: low,
          max: high,
          step: "any",
          value: text(value) || low,
          "aria-label": `Slide ${feature.name}`,
          on: {
            input: () => {
              const at = Number(slider.value),
                gap = (high - low) / 500;
              const number = bounds.values?.every(Number.isInteger)
                ? Math.round(at)
                : Number((Math.round(at / gap) * gap).toPrecision(6));
              input.value = number;
              input.removeAttribute("aria-invalid");
              fill(beyond, beyondWords(feature, number));
              set(number);
            },
          },
        })
      : null;
  return { input, slider, beyond };
}

// A value that no example of the data comes near: rules were never tried there.
function beyondWords(feature, value) {
  const low = Number(feature.histogram?.low), high = Number(feature.histogram?.high);
  if (Number.isNaN(value) || !(value < low || value > high)) return "";
  return `outside of the data, which goes from ${onScale(feature, low)} to ${onScale(feature, high)}`;
}
