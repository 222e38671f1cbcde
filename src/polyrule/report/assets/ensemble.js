// Rule ensembles: rules that fire add weights to labels; the decision turns sums into labels. Sums are formed in the
// library's order, so they are the same to the last bit.

function runEnsemble(model, values) {
  const scores = Float64Array.from(model.intercepts);
  const fired = [];
  model.rules.forEach((rule, number) => {
    if (!bodyHolds(rule, values, null)) return;
    for (const [label, , , , weight] of rule.head) scores[label] += weight;
    fired.push({ rule: number, newly: rule.head.map(([label]) => label) });
  });
  const margins = model.relations ? sumMargins(model, scores) : undefined;
  return { labels: decide(model, scores), margins, scores, fired, stopped: null };
}

function nearSums(model, values) {
  const { labels, scores } = runEnsemble(model, values);
  return model.rules.flatMap((rule, number) => {
    const failed = rule.body.filter((condition) => !satisfies(condition, values, null));
    if (failed.length !== 1) return [];
    const sums = Float64Array.from(scores);
    for (const [label, , , , weight] of rule.head) sums[label] += weight;
    const news = newsOf(labels, decide(model, sums));
    return news.length ? [{ rule: number, failed: failed[0], news }] : [];
  });
}

const sumMargins = (model, scores) =>
  scores.map((score, label) => (score - model.decision.cuts[label]) * model.units[label]);

function decide(model, scores) {
  const { kind, cuts, label_sets: sets, bonuses } = model.decision;
  if (model.relations) return related(model, sumMargins(model, scores)).labels;
  if (kind === "threshold" || kind === "per-label")
    return Uint8Array.from(scores, (score, label) => (score >= cuts[label] ? 1 : 0));
  const beyond = cuts.length ? scores.map((score, label) => score - cuts[label]) : scores;
  const totals = sets.map((labels, place) => labels.reduce((sum, label) => sum + beyond[label], bonuses[place]));
  const merits = kind === "subset" ? totals : expectedF1(model, totals);
  // Expected values are rounded differently here and there: a difference of a billionth is none.
  const least = Math.max(...merits) * (kind === "subset" ? 1 : 1 - 1e-9);
  const chosen = new Uint8Array(scores.length);
  for (const label of sets[merits.findIndex((merit) => merit >= least)]) chosen[label] = 1;
  return chosen;
}

function expectedF1(model, totals) {
  model.overlaps ??= pairwiseF1(model.decision.label_sets);
  const most = Math.max(...totals);
  const merits = new Array(totals.length).fill(0);
  totals.forEach((total, from) => {
    const chance = Math.exp(model.units[0] * (total - most));
    if (chance < 1e-20) return; // too little to change any sum
    for (let to = 0; to < merits.length; to++) merits[to] += chance * model.overlaps[from][to];
  });
  return merits;
}

function pairwiseF1(sets) {
  const members = sets.map((labels) => new Set(labels));
  return sets.map((labels) =>
    Float64Array.from(members, (other) => {
      const size = labels.length + other.size;
      return size ? (2 * labels.filter((label) => other.has(label)).length) / size : 1;
    }),
  );
}

const chanceOf = (chosen, label, sum) => 1 / (1 + Math.exp(-chosen.units[label] * sum));
const weightText = (weight) =>
  `${weight < 0 ? "−" : "+"}${Number.isInteger(weight) ? Math.abs(weight) : Math.abs(weight).toFixed(2)}`;

function weightChip([label, value, , , weight], attributes = {}, name = data.labels[label]) {
  const node = chip(name, value, attributes);
  node.querySelector(".sign").textContent = value ? "▲" : "▼";
  node.querySelector(".sr").textContent = value ? "for: " : "against: ";
  node.append(el("span", { class: "weight", title: String(weight) }, weightText(weight)));
  return node;
}

// The largest weights first, so that the point of a rule is seen at once.
function weightChips(rule, attributes = () => ({})) {
  const order = [...rule.head].sort((a, b) => Math.abs(b[4]) - Math.abs(a[4]) || a[0] - b[0]);
  return chipBox(order, (entry) => weightChip(entry, attributes(entry[0])));
}

// A label's sum in the what-if view, with the rules that contributed.
function sumLine(chosen, result, label) {
  const parts = result.fired.flatMap(({ rule }) =>
    chosen.rules[rule].head.filter(([index]) => index === label).map((entry) => [rule, entry[4]]),
  );
  const cut = chosen.decision.cuts[label];
  const sum = result.scores[label];
  const sets = ["subset", "expected-f1"].includes(chosen.decision.kind);
  return el(
    "details",
    { class: "sum" },
    el(
      "summary",
      {},
      `sum ${weightText(Number(sum.toFixed(6)))}`,
      el(
        "span",
        { class: "soft" },
        ` · ${percent(chanceOf(chosen, label, sum))}${sets || cut === undefined ? "" : `, needs ${weightText(Number(cut.toFixed(6)))}`}`,
      ),
    ),
    el(
      "ul",
      { class: "plain" },
      el("li", {}, `starts at ${weightText(chosen.intercepts[label])}`),
      parts.map(([rule, weight]) => el("li", {}, ruleLink(rule), ` adds ${weightText(weight)}`)),
    ),
  );
}

function decisionWords(chosen) {
  const { kind, cuts, label_sets: sets } = chosen.decision;
  if (kind === "threshold") {
    const alike = chosen.units.every((unit) => unit === chosen.units[0]);
    const chance = alike && cuts.length ? ` (a probability of ${percent(chanceOf(chosen, 0, cuts[0]))})` : "";
    return cuts.length ? `A label is present if its sum is at least ${weightText(Number(cuts[0].toFixed(6)))}${chance}.` : "";
  }
  if (kind === "per-label")
    return "A label is present if its sum is at least its own threshold; the what-if view shows each.";
  if (kind === "subset")
    return `Of the ${plural(sets.length, "label set")} seen in training, the one whose sums exceed their thresholds by most is predicted${chosen.decision.bonuses.some(Boolean) ? "; sets whose labels like to come together get a bonus" : ""}.`;
  return `Of the ${plural(sets.length, "label set")} seen in training, the one with the largest expected F1 is predicted.`;
}

// Few enough labels for one sheet of paper.
const SHEET_LABELS = 16;

// The card itself: where every label starts, what each rule adds, and what a label needs, with room to tick and add up.
function scoreSheet(chosen) {
  if (chosen.kind !== "ensemble" || data.labels.length > SHEET_LABELS || !chosen.rules.length) return null;
  const { kind, cuts } = chosen.decision;
  const cell = (weight) => el("td", { class: "number" }, weight === undefined ? "" : weightText(Number(weight.toFixed(6))));
  const line = (name, cells, marks = {}) => el("tr", marks, el("td", { class: "tick" }), el("th", { scope: "row" }, name), cells);
  const rules = chosen.rules.map((rule, number) => {
    const weights = new Map(rule.head.map(([label, , , , weight]) => [label, weight]));
    const body = rule.body.flatMap((test, place) => [place ? ", " : "", conditionWords(test, data)]);
    return line([`${number + 1}. `, body.length ? body : "always"], data.labels.map((_, label) => cell(weights.get(label))));
  });
  const needs = ["threshold", "per-label"].includes(kind);
  return el(
    "section",
    { class: "card sheet" },
    el("h3", {}, chosen.scorecard ? "The card" : "All weights"),
    soft(`Tick the rules whose conditions hold and add up each column from its start. ${decisionWords(chosen)}`),
    el(
      "div",
      { class: "scroll", tabindex: "0" },
      el(
        "table",
        {},
        el(
          "thead",
          {},
          el("tr", {}, el("td", {}), el("th", { scope: "col" }, "rule"), data.labels.map((name) => el("th", { scope: "col" }, breakable(name)))),
        ),
        el(
          "tbody",
          {},
          line("start", chosen.intercepts.map(cell)),
          rules,
          line("sum", data.labels.map(() => el("td", {})), { class: "total" }),
          needs && line("needs", cuts.map(cell)),
        ),
      ),
    ),
    button("Print this sheet", () => printSheet(), { class: "tools" }),
  );
}

// Only the sheet is printed; everything else is hidden by print.css.
function printSheet() {
  document.documentElement.classList.add("sheet-only");
  addEventListener("afterprint", () => document.documentElement.classList.remove("sheet-only"), { once: true });
  print();
}
