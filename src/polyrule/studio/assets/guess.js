// What the page thinks the columns are until somebody says otherwise, and what it tells the server in the end.

function planOf(seen) {
  const said = seen.setup;
  const plan = {
    parts: new Map(), kinds: new Map(), orders: new Map(), ways: new Map(Object.entries(said.monotone ?? {})),
    share: said.share, separator: said.tag_separator ?? null, numbers: (said.decimal ?? ".") + (said.thousands ?? ""), dates: said.dates ?? "",
  };
  for (const kind of ["nominal", "numeric", "date"]) for (const name of said[kind] ?? []) plan.kinds.set(name, kind);
  for (const [name, values] of Object.entries(said.ordinal ?? {})) {
    plan.kinds.set(name, "ordinal");
    plan.orders.set(name, values.join("\n"));
  }
  for (const part of ["labels", "drop"]) for (const name of said[part] ?? []) if (!seen.named.includes(name)) plan.parts.set(name, part === "labels" ? "label" : part);
  for (const part of ["tags", "identifier", "weights"]) if (said[part]) plan.parts.set(said[part], part);
  if (!said.labels && !said.tags) guess([...seen.columns, ...seen.beyond], plan.parts, seen.named.length > 0);
  return plan;
}

// Labels are taken from tags, else from columns of 0 and 1 that stand together at an end of the table, else from one
// answer of yes and no. A smoker is rarely what is predicted: where such columns are scattered, a person has to say.
function guess(columns, parts, named) {
  const free = (looks) => columns.filter((column) => column.looks === looks && (!parts.has(column.name) || looks === "tags"));
  free("identifier").forEach(({ name }, at) => parts.set(name, at || [...parts.values()].includes("identifier") ? "drop" : "identifier"));
  for (const { name } of free("text")) parts.set(name, "drop");
  if (named) return;
  const lists = free("tags");
  const tags = lists.length === 1 && lists[0];
  const places = columns.filter(({ name }) => !parts.has(name)).map(({ looks }) => looks === "label");
  const labels = free("label");
  const first = places.indexOf(true);
  const together = labels.length > 0 && places.lastIndexOf(true) - first + 1 === labels.length && labels.length < places.length;
  const answers = free("answer");
  if (tags) parts.set(tags.name, "tags");
  else if (together && labels.length <= 40 && (first === 0 || first + labels.length === places.length)) for (const { name } of labels) parts.set(name, "label");
  else if (!labels.length && answers.length === 1) parts.set(answers[0].name, "label");
}

// Columns that could be labels, to be chosen without looking through the whole table.
function candidates(seen, plan, changed) {
  const found = seen.columns.filter(({ name, looks }) => ["label", "answer"].includes(looks) || plan.parts.get(name) === "label");
  if (!found.length || found.length > 60) return null;
  return el("fieldset", { class: "card candidates" }, el("legend", {}, "Which of these shall the rules predict?"),
    el("div", { class: "values" },
    found.map(({ name, shown }) => {
      const box = tickBox(plan.parts.get(name) === "label", (on) => {
        if (on) plan.parts.set(name, "label");
        else plan.parts.delete(name);
        changed(name);
      });
      return el("label", { class: "check" }, box, ` ${shown}`);
    })),
    soft("They hold 0 and 1, or yes and no. The others are learned from. A column with several values, or with tags, can be chosen below: each value is then a label."));
}

function setupOf(plan) {
  const chosen = (part) => [...plan.parts].filter(([, mine]) => mine === part).map(([name]) => name);
  const kinds = (kind) => [...plan.kinds].filter(([name, mine]) => mine === kind && !plan.parts.has(name)).map(([name]) => name);
  const lines = (name) => plan.orders.get(name).split("\n").map((line) => line.trim()).filter(Boolean);
  const setup = { share: plan.share, monotone: Object.fromEntries([...plan.ways].filter(([name]) => !plan.parts.has(name))) };
  const named = studio.columns.named;
  if (chosen("label").length) setup.labels = [...named, ...chosen("label")];
  if (chosen("tags").length) Object.assign(setup, { tags: chosen("tags")[0], tag_separator: plan.separator });
  for (const part of ["drop", "identifier", "weights"]) if (chosen(part).length) setup[part] = part === "drop" ? chosen(part) : chosen(part)[0];
  for (const kind of ["nominal", "numeric", "date"]) if (kinds(kind).length) setup[kind] = kinds(kind);
  if (kinds("ordinal").length) setup.ordinal = Object.fromEntries(kinds("ordinal").map((name) => [name, lines(name)]));
  if (plan.numbers[0] === ",") setup.decimal = ",";
  if (plan.numbers[1]) setup.thousands = plan.numbers[1];
  if (plan.dates) setup.dates = plan.dates;
  return setup;
}
