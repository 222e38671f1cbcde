// What the columns are: what was proposed, what a person chose, and what the server gets in the end.

const DECLARED = ["nominal", "numeric", "date", "words", "lists"]; // kinds that are said by a list of columns

function planOf(seen) {
  const said = seen.setup;
  const plan = {
    parts: new Map(), kinds: new Map(), orders: new Map(), ways: new Map(Object.entries(said.monotone ?? {})),
    share: said.share, separator: said.tag_separator ?? null, numbers: (said.decimal ?? ".") + (said.thousands ?? ""), dates: said.dates ?? "",
  };
  for (const kind of DECLARED) for (const name of said[kind] ?? []) plan.kinds.set(name, kind);
  for (const [name, values] of Object.entries(said.ordinal ?? {})) {
    plan.kinds.set(name, "ordinal");
    plan.orders.set(name, values.join("\n"));
  }
  for (const part of ["labels", "drop"]) for (const name of said[part] ?? []) if (!seen.named.includes(name)) plan.parts.set(name, part === "labels" ? "label" : part);
  for (const part of ["tags", "identifier", "weights"]) if (said[part]) plan.parts.set(said[part], part);
  if (!said.labels && !said.tags) for (const [name, part] of Object.entries(seen.choices.parts)) if (part === "tags" || !plan.parts.has(name)) plan.parts.set(name, part);
  return plan;
}

// A column has one part, and the labels one source: columns that say yes or no, or the values of one column. The choice
// made last wins.
function setPart(plan, name, part) {
  const others = (mine) => [...plan.parts].filter(([other, own]) => own === mine && other !== name).map(([other]) => other);
  if (part === "tags") for (const other of [...others("label"), ...others("tags")]) plan.parts.delete(other);
  if (part === "label") for (const other of others("tags")) plan.parts.delete(other);
  if (part === "identifier") for (const other of others(part)) plan.parts.set(other, "drop");
  if (part === "weights") for (const other of others(part)) plan.parts.delete(other);
  if (part === "feature") plan.parts.delete(name);
  else plan.parts.set(name, part);
}

const partNamed = (plan, part) => [...plan.parts].filter(([, mine]) => mine === part).map(([name]) => name);

// What the rules will predict, in a sentence with counts.
function labelWords(seen, plan) {
  const [tags] = partNamed(plan, "tags");
  if (tags) {
    const found = seen.choices.values.find(({ name }) => name === tags);
    if (!found) return `Labels: the values in ${tags}.`;
    return `${plural(found.labels, "label")}: ${found.listed ? `the members of the lists in ${found.shown}` : found.mark ? `the parts of ${found.shown}, separated by “${plan.separator ?? found.mark}”` : `the values of ${found.shown}`}, such as ${found.first.map(([value, count]) => `${value} (${whole(count)})`).join(", ")}.`;
  }
  const names = [...seen.named, ...partNamed(plan, "label")];
  if (!names.length) return "No label chosen yet: a label is what the rules shall predict.";
  const known = new Map(seen.choices.columns.map((one) => [one.name, one]));
  const words = names.slice(0, 6).map((name) => (known.has(name) ? `${known.get(name).shown} (${whole(known.get(name).present)})` : name));
  return `${plural(names.length, "label")} chosen: ${words.join(", ")}${names.length > 6 ? ", …" : ""}${known.size ? ` of ${plural(seen.examples, "example")}` : ""}.`;
}

const MOST_CHOICES = 40;
const MOST_LABELS = 1000;

// The labels: columns that say yes or no, to be ticked, or one column whose values become labels.
function labelChooser(seen, plan, changed) {
  const { columns: flags, values } = seen.choices;
  if (!flags.length && !values.length) return null;
  const tags = partNamed(plan, "tags")[0];
  const byValues = tags !== undefined || (!flags.length && !partNamed(plan, "label").length);
  const box = el("fieldset", { class: "card candidates" });
  const radio = (on, words, choose) => el("label", { class: "check choice" },
    el("input", { type: "radio", name: "labels-from", checked: on, "data-focus": `labels-${words}`, on: { change: () => { choose(); redraw(`labels-${words}`); } } }), el("span", {}, el("b", {}, words)));
  const redraw = (focus) => {
    changed();
    document.querySelector(`[data-focus="${focus}"]`)?.focus();
  };
  const toColumns = () => {
    for (const name of partNamed(plan, "tags")) plan.parts.delete(name);
    for (const name of plan.ticked ?? []) setPart(plan, name, "label");
    plan.byValues = false;
  };
  const toValues = () => {
    plan.ticked = partNamed(plan, "label");
    for (const name of plan.ticked) plan.parts.delete(name);
    plan.byValues = true;
  };
  const shown = plan.byValues ?? byValues;
  return fill(box, el("legend", {}, "What shall the rules predict?"),
    seen.named.length > 0 && soft(`The file itself names labels: ${seen.named.join(", ")}.`),
    flags.length > 0 && values.length > 0 && el("div", { class: "row" },
      radio(!shown, "Columns that say yes or no", toColumns), radio(shown, "The values of one column", toValues)),
    shown ? valuesChooser(values, plan, redraw) : flagsChooser(flags, plan, changed));
}

function flagsChooser(flags, plan, changed) {
  const list = el("div", { class: "values" });
  const text = plan.findLabel ?? "";
  const draw = (wanted) => {
    plan.findLabel = wanted;
    const fitting = flags.filter(({ name, shown }) => plan.parts.get(name) === "label" || shown.toLowerCase().includes(wanted.toLowerCase()));
    fill(list, firstFew(fitting, MOST_CHOICES, ({ name, shown, present, absent, unknown }) => {
      const tick = tickBox(plan.parts.get(name) === "label", (on) => {
        setPart(plan, name, on ? "label" : "feature");
        changed();
        document.querySelector(`[data-focus="${CSS.escape(tick.dataset.focus)}"]`)?.focus();
      }, { "aria-label": shown, "data-focus": `tick-${name}` });
      return el("label", { class: "check" }, tick, el("span", {}, ` ${shown} `, el("span", { class: "soft" }, `${whole(present)} of ${whole(present + absent)}${unknown ? `, ${whole(unknown)} unknown` : ""}`)));
    }, "columns: type a part of the name"));
  };
  draw(text);
  const all = flags.every(({ name }) => plan.parts.get(name) === "label");
  const every = button(all ? "None of them" : "All of them", () => {
    const meant = flags.filter(({ shown }) => shown.toLowerCase().includes((plan.findLabel ?? "").toLowerCase()));
    for (const { name } of meant) setPart(plan, name, all ? "feature" : "label");
    changed();
    document.querySelector('[data-focus="tick-all"]')?.focus();
  }, { class: "quiet small", "data-focus": "tick-all" });
  return [
    flags.length > MOST_CHOICES && field("Find a label", searchBox(text, draw)),
    list,
    el("div", { class: "row" }, flags.length > 1 && every, soft("How often each says yes. Columns that are not ticked are learned from.")),
  ];
}

function valuesChooser(values, plan, redraw) {
  const tags = partNamed(plan, "tags")[0] ?? "";
  const usable = values.filter(({ labels }) => labels <= MOST_LABELS);
  const words = ({ shown, labels, mark, listed }) => `${shown}: ${plural(labels, "label")}${listed ? ", a list in each cell" : mark ? `, separated by “${mark}”` : ""}`;
  const control = select([["", "choose a column"], ...usable.map((one) => [one.name, words(one)])], tags, (name) => {
    if (name) setPart(plan, name, "tags");
    else for (const other of partNamed(plan, "tags")) plan.parts.delete(other);
    redraw("labels-column");
  });
  control.dataset.focus = "labels-column";
  const rest = values.length - usable.length;
  return [
    field("Each value, or each part of a text, becomes a label", control),
    rest > 0 && soft(`${plural(rest, "column has", "columns have")} more than ${whole(MOST_LABELS)} different values, too many to predict: ${values.filter((one) => !usable.includes(one)).slice(0, 8).map(({ shown }) => shown).join(", ")}.`),
  ];
}

// Columns that tell rows apart, which learners leave out, but which a person wants to learn from.
const keptColumns = (plan) =>
  Object.entries(studio.choices.parts).filter(([name, part]) => ["drop", "identifier"].includes(part) && !plan.parts.has(name)).map(([name]) => name);

function setupOf(plan) {
  const chosen = (part) => partNamed(plan, part);
  const kinds = (kind) => [...plan.kinds].filter(([name, mine]) => mine === kind && !plan.parts.has(name)).map(([name]) => name);
  const lines = (name) => plan.orders.get(name).split("\n").map((line) => line.trim()).filter(Boolean);
  const setup = { share: plan.share, monotone: Object.fromEntries([...plan.ways].filter(([name]) => !plan.parts.has(name))) };
  const named = studio.columns.named;
  if (chosen("label").length) setup.labels = [...named, ...chosen("label")];
  if (chosen("tags").length) Object.assign(setup, { tags: chosen("tags")[0], tag_separator: plan.separator });
  for (const part of ["drop", "identifier", "weights"]) if (chosen(part).length) setup[part] = part === "drop" ? chosen(part) : chosen(part)[0];
  for (const kind of DECLARED) if (kinds(kind).length) setup[kind] = kinds(kind);
  if (kinds("ordinal").length) setup.ordinal = Object.fromEntries(kinds("ordinal").map((name) => [name, lines(name)]));
  const kept = keptColumns(plan);
  if (kept.length) setup.keep = kept;
  if (plan.numbers[0] === ",") setup.decimal = ",";
  if (plan.numbers[1]) setup.thousands = plan.numbers[1];
  if (plan.dates) setup.dates = plan.dates;
  return setup;
}
