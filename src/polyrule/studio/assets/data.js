// Data: drop a table, see its columns, say which are labels, set a part aside.

const PARTS = [
  ["feature", "learn from it"],
  ["label", "label"],
  ["tags", "labels, one for each value or tag"],
  ["drop", "leave out"],
  ["identifier", "name of the example"],
  ["weights", "weight of the example"],
];
const KINDS = { numeric: "numbers", nominal: "categories", ordinal: "ordered categories", date: "dates", text: "texts", list: "lists", nested: "records", relational: "tables" };
// Columns that no rule can test.
const UNTESTED = ["nested", "relational"];
// By the decimal mark and what stands between thousands.
const NUMBERS = [".", ".,", ".'", ". ", ",", ",.", ", "].map((style) => [style, `1${style[1] ?? ""}234${style[0]}5`]);
const DATES = ["day/month/year", "month/day/year"].map((form) => [form, form]);

function dataSection() {
  if (!studio.looked) return [el("h2", { tabindex: "-1" }, "Data"), dropZone()];
  const box = el("div", { class: "grid" });
  drawColumns(box);
  return [el("h2", { tabindex: "-1" }, "Data"), box];
}

function dropZone(part = "train", then = taken) {
  const input = el("input", {
    type: "file",
    class: "sr",
    tabindex: "-1",
    "aria-label": { train: "Table", test: "Held-out table", fresh: "Fresh table", predict: "Table to predict" }[part],
    accept: ".csv,.tsv,.tab,.txt,.parquet,.pq,.arff,.jsonl,.ndjson,.json,.xlsx,.xlsm,.gz,.bz2,.xz,.zst",
    on: { change: () => input.files[0] && send(input.files[0], part, then) },
  });
  const zone = el(
    "div",
    {
      class: "drop",
      on: {
        dragover: (event) => {
          event.preventDefault();
          zone.classList.add("over");
        },
        dragleave: () => zone.classList.remove("over"),
        drop: (event) => {
          event.preventDefault();
          zone.classList.remove("over");
          if (event.dataTransfer.files[0]) send(event.dataTransfer.files[0], part, then);
        },
      },
    },
    part === "train" && lead(studio.waiting ? `Drop the table that the model's ${plural(studio.waiting, "rule")} are about.` : "Drop a table here."),
    soft("CSV, TSV, Parquet, ARFF, JSON lines or xlsx. One row per example, one column per feature or label. Nothing leaves this machine."),
    button("Choose a file", () => input.click(), { class: "primary" }),
    input,
  );
  return zone;
}

const send = trying(async (file, part, then) => {
  announce("Reading the table.");
  tell(note(`Reading ${file.name} …`));
  const address = `api/upload?name=${encodeURIComponent(file.name)}&part=${part}`;
  const answer = await reach(address, {
    method: "POST",
    headers: { "content-type": "application/octet-stream" },
    body: file,
  });
  const found = await answerOf(answer);
  silence();
  await then(found, part);
});

async function taken(found, part) {
  studio.columns = found;
  studio.findColumn = "";
  if (part === "train") studio.plan = null;
  await begin();
  app.section = "data";
  refresh();
  holders.get("data").querySelector("h2").focus();
}

const drawColumns = trying(async (box) => {
  studio.columns ??= await lookForColumns(0);
  const seen = studio.columns;
  studio.choices = seen.choices ??= studio.choices ?? (await look("columns?start=0&find=")).choices; // of the whole table, whatever is searched for
  const plan = (studio.plan ??= planOf(seen));
  const status = el("p", { class: "soft", role: "status" });
  const count = () => fill(status, labelWords(seen, plan));
  count();
  const rows = new Map();
  const chooser = el("div", {});
  const columns = el("div", { class: "grid" });
  const drawTable = () => {
    rows.clear();
    fill(columns,
      table("Columns", ["Column", "Values", "What it is", "Missing", "Use it as"], studio.columns.columns.map((column) => columnRow(column, plan, changed, rows)), { class: "columns-table" }),
      studio.columns.found > studio.columns.columns.length && moreColumns(drawTable, studio.columns));
  };
  const changed = () => {
    for (const update of rows.values()) update();
    fill(chooser, labelChooser(seen, plan, changed));
    count();
  };
  fill(chooser, labelChooser(seen, plan, changed));
  drawTable();
  fill(
    box,
    lead(`${seen.file}: ${plural(seen.examples, "example")}, ${plural(seen.total, "column")}. Say which columns the rules shall predict.`),
    seen.sheets.length > 0 && sheetChooser(seen),
    chooser,
    noteBox("Findings", seen.findings),
    columnTools(drawTable, plan),
    columns,
    el("div", { class: "grid two" }, heldOutCard(plan), readyCard()),
    goOnBar(plan, status),
  );
});

// The columns from one on, of those whose name is searched for.
const lookForColumns = (start) => look(`columns?start=${start}&find=${encodeURIComponent(studio.findColumn ?? "")}`);

function sheetChooser(seen) {
  const confirm = el("div", {});
  const control = select(seen.sheets, seen.sheet, (sheet) => {
    control.value = seen.sheet; // until it has been read
    endsHistory(confirm, trying(async () => taken(await ask("choose_sheet", { sheet }), "train")));
  });
  return el("div", { class: "grid" }, el("div", { class: "filters" }, field("Sheet of the workbook; the others are left out", control)), confirm);
}

// Go on at once, or ask first where the versions made so far would be lost.
function endsHistory(box, go_on) {
  const versions = studio.history.versions.length;
  if (!versions) return go_on();
  fill(
    box,
    el("p", { class: "note warn" }, `The history of ${plural(versions, "version")} ends here, because its rules are about other columns or examples. Save what you want to keep first.`),
    el("p", { class: "row" }, button("Begin anew", go_on, { class: "primary" }), button("Leave it", () => fill(box), { class: "quiet" })),
  );
  box.querySelector("button").focus();
  return undefined;
}

function columnTools(drawTable, plan) {
  const search = settled(async (current) => {
    const found = await lookForColumns(0);
    if (!current()) return;
    studio.columns = found;
    drawTable();
  });
  const find = searchBox(studio.findColumn ?? "", (text) => {
    studio.findColumn = text;
    search();
  });
  find.dataset.focus = "find-column";
  return el("div", { class: "filters" }, field("Find columns", find), field("Numbers are written", select(NUMBERS, plan.numbers, (style) => (plan.numbers = style))));
}

function moreColumns(drawTable, seen) {
  const to = (start) =>
    trying(async () => {
      studio.columns = await lookForColumns(start);
      drawTable();
    });
  const end = seen.start + seen.columns.length;
  return el(
    "p",
    { class: "row" },
    pager(seen.start, end, seen.found, 200, " columns", to),
    el("span", { class: "soft" }, `${whole(seen.start + 1)} to ${whole(end)} of ${whole(seen.found)}`),
  );
}

function columnRow(column, plan, changed, rows) {
  const extra = el("div", { class: "extra" });
  const part = select(PARTS.filter(([name]) => !UNTESTED.includes(column.kind) || name === "drop"), plan.parts.get(column.name) ?? "feature", (value) => {
    setPart(plan, column.name, value);
    delete plan.byValues;
    changed();
  });
  const kind = el("div", { class: "extra" });
  const drawExtra = () => {
    fill(kind, kindOf(column, plan, drawExtra));
    fill(extra, extraOf(column, plan));
  };
  rows.set(column.name, () => {
    part.value = plan.parts.get(column.name) ?? "feature";
    drawExtra();
  });
  part.setAttribute("aria-label", `Use ${column.shown} as`);
  drawExtra();
  return rowOf(
    breakable(column.shown),
    [column.kind === "text" || column.kind === "list" ? "" : (histogram(column) ?? ""), el("span", { class: "soft" }, valuesText(column))],
    kind,
    el("td", { class: "number" }, column.histogram.missing ? `${whole(column.histogram.missing)} (${percent(column.histogram.missing / Math.max(1, studio.columns.examples))})` : "none"),
    [part, extra],
  );
}

function valuesText(column) {
  if (column.categories) {
    const shown = column.categories.slice(0, column.kind === "text" ? 2 : 4).map((one) => clipped(one)).join(column.kind === "text" ? " / " : ", ");
    const total = column.categories.length + (column.more ?? 0);
    return total > 4 || column.kind === "text" ? `${shown}, … (${whole(total)})` : shown;
  }
  const { low, high } = column.histogram;
  if (low === undefined) return "no values";
  const about = (text) => onScale(column, column.kind === "numeric" ? Number(Number(text).toPrecision(5)) : Number(text));
  return `${about(low)} to ${about(high)}`;
}

const KINDS_OF = {
  nominal: ["ordinal", "numeric", "date", "words", "lists"],
  numeric: ["nominal", "date"],
  ordinal: ["nominal"],
  date: ["nominal"],
  text: ["nominal", "lists"],
  list: ["nominal", "words"],
};
const DECLARED_AS = { words: "text", lists: "list" };
// What rules can test of a column.
const BECOMES = {
  date: "rules test its month and weekday, and the days to other dates",
  text: "rules test its words",
  list: "rules test its members",
};

// What a column is, and what it becomes; one choice changes it.
function kindOf(column, plan, redraw) {
  const part = plan.parts.get(column.name) ?? "feature";
  if (part !== "feature" || !KINDS_OF[column.kind]) return KINDS[column.kind];
  const first = column.odd ? "nominal" : ""; // read as categories until a person decides
  const options = [[first, KINDS[column.kind]], ...KINDS_OF[column.kind].map((kind) => [kind, KINDS[DECLARED_AS[kind] ?? kind]])];
  const chosen = plan.kinds.get(column.name) ?? first;
  const control = select(options, chosen, (kind) => {
    if (kind) plan.kinds.set(column.name, kind);
    else plan.kinds.delete(column.name);
    if (column.odd && kind === "date") plan.dates ||= DATES[0][0];
    if (kind === "ordinal" && !plan.orders.has(column.name)) plan.orders.set(column.name, (column.categories ?? []).join("\n"));
    redraw();
    document.querySelector(`[data-focus="${CSS.escape(`kind-${column.name}`)}"]`)?.focus();
  });
  control.setAttribute("aria-label", `What ${column.shown} is`);
  control.dataset.focus = `kind-${column.name}`;
  const becomes = keptColumns(plan).includes(column.name) ? "differs in most rows, so rules about it may not hold for new ones" : !chosen && column.becomes ? `rules test ${column.becomes.join(" and ")}` : BECOMES[DECLARED_AS[chosen] ?? (chosen || column.kind)];
  return [control, becomes && soft(becomes)];
}

const seenAsList = (name) => studio.choices.values.find((one) => one.name === name)?.listed;

// What more can be said about a column, depending on the part it plays.
function extraOf(column, plan) {
  const part = plan.parts.get(column.name) ?? "feature";
  if (part === "tags") {
    if (seenAsList(column.name)) return null;
    const mark = el("input", { type: "text", value: plan.separator ?? "", placeholder: "found by itself", maxlength: "5", on: { input: () => (plan.separator = mark.value || null) } });
    return field("Tags are separated by", mark);
  }
  if (part !== "feature") return null;
  const ways = [["", "either way"], ["up", "more speaks for labels"], ["down", "less speaks for labels"]];
  const kind = plan.kinds.get(column.name) ?? "";
  const direct = (way) => (way ? plan.ways.set(column.name, way) : plan.ways.delete(column.name));
  const order = el("textarea", { rows: Math.min(8, (column.categories ?? []).length), on: { input: () => plan.orders.set(column.name, order.value) } });
  order.value = plan.orders.get(column.name) ?? (column.categories ?? []).join("\n");
  return [
    kind === "date" && column.odd && field(`Dates in ${column.shown} are written`, select(DATES, plan.dates, (value) => (plan.dates = value))),
    kind === "ordinal" && field("From lowest to highest, one to a line", order),
    ["numeric", "ordinal"].includes(kind || column.kind) && el("details", { open: plan.ways.has(column.name) }, el("summary", {}, "Direction", hidden(` of ${column.shown}`)),
      field(`In ${column.shown}`, select(ways, plan.ways.get(column.name) ?? "", direct))),
  ];
}

function heldOutCard(plan) {
  const text = el("span", {}, percent(plan.share));
  const slider = el("input", {
    type: "range",
    min: 10,
    max: 50,
    step: 1,
    value: Math.round(100 * plan.share),
    on: {
      input: () => {
        plan.share = Number(slider.value) === 33 ? 1 / 3 : Number(slider.value) / 100;
        fill(text, percent(plan.share));
      },
    },
  });
  return el(
    "section",
    { class: "card" },
    el("h3", {}, "Held out"),
    soft("A part of the examples is set aside now and never learned from. What the model is worth is measured there."),
    studio.columns.second
      ? el("p", {}, "Held-out examples come from ", el("b", {}, studio.columns.second), ".")
      : [field(["Share held out: ", text], slider), el("details", {}, el("summary", {}, "Take them from a second file"), dropZone("test"))],
  );
}

// In sight however many columns there are.
function goOnBar(plan, status) {
  const confirm = el("div", {});
  return el("div", { class: "card sticky" },
    el("div", { class: "row" }, status, button("Set a part aside and go on", () => endsHistory(confirm, () => prepare(plan)), { class: studio.ready ? null : "primary" })),
    confirm);
}

function readyCard() {
  const confirm = el("div", {});
  const drop_another = () => {
    studio.looked = false;
    refresh();
    holders.get("data").querySelector("h2").focus();
  };
  return el(
    "section",
    { class: "card" },
    el("h3", {}, studio.ready ? "Ready" : "Go on"),
    studio.ready
      ? [
          el("p", {}, `${plural(studio.examples[0], "example")} to learn from, ${whole(studio.examples[1])} held out, ${plural(studio.labels.length, "label")}.`),
          studio.findings.length > 0 && el("details", { open: studio.findings.length < 4 }, el("summary", {}, plural(studio.findings.length, "finding")), el("ul", { class: "plain" }, studio.findings.map((one) => el("li", {}, one)))),
          el("p", { class: "row" }, button("Learn rules", () => go("learn"), { class: "primary" }), el("span", { class: "soft" }, "or change the columns above and set a part aside again.")),
        ]
      : soft("You can change everything about the columns later; a new history then begins."),
    confirm,
    el("p", {}, button("Drop another table", () => endsHistory(confirm, drop_another), { class: "quiet" })),
  );
}

const prepare = trying(async (plan) => {
  announce("Setting a part aside.");
  const state = await ask("prepare", setupOf(plan));
  studio.columns = null;
  takeState(state);
  announce(`${plural(studio.examples[0], "example")} to learn from, ${whole(studio.examples[1])} held out.`);
  go("learn", true);
});
