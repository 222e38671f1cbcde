// What was learned from what, how good it is, and how the list comes to its predictions.

const HEADLINE = ["micro_f1", "macro_f1", "example_f1", "hamming_accuracy", "subset_accuracy"];

function overview() {
  const chosen = model();
  return [
    el("h2", { tabindex: "-1" }, "Overview"),
    lead(leadSentence(chosen)),
    warningBox(chosen),
    data.parts.length > 0 && scoreTiles(chosen),
    el("div", { class: "grid two" }, howToRead(chosen), shape(chosen)),
    data.parts.length > 0 && chosen.kind !== "ensemble" && built(chosen),
    data.parts.length > 0 && dataTable(),
    howItWasMade(chosen),
  ];
}

function leadSentence(chosen) {
  const stats = chosen.statistics;
  const first = data.parts[0],
    second = data.parts[1];
  const names = `${plural(data.labels.length, "label")}`;
  const start = `${plural(stats.rules, "rule")} with ${plural(stats.conditions, "condition")} ${stats.rules === 1 ? "decides" : "decide"} ${names} from ${whole(stats.features_used)} of ${plural(data.feature_total, "feature")}.`;
  const shown = first
    ? ` Shown on ${plural(first.examples, "example")} of ${first.name}${second ? `, tested on ${whole(second.examples)} others` : first.unseen ? ", which it was not learned from" : ""}.`
    : "";
  return start + shown;
}

function warningBox(chosen) {
  const boxes = [
    noteBox("Warnings", chosen.warnings, "note warn", plural(chosen.warnings.length, "warning")),
    noteBox("Findings", data.findings, "note warn", "About the data"),
    noteBox("Notes", data.notes, "note", "About this page"),
  ];
  return boxes.some(Boolean) && el("div", { class: "notes" }, boxes);
}

function scoreTiles(chosen) {
  const part = chosen.parts[lastPart];
  const tiles = HEADLINE.map((name) => {
    const value = part.scores[name];
    const [simple, base] = strongest(part, name);
    const gain = value - base;
    return el(
      "li",
      { class: "tile" },
      el("h4", {}, MEASURE_WORDS[name]),
      el(
        "p",
        { class: "big" },
        score(value),
        el("span", { class: "soft interval" }, ` ${score(part.interval[name][0])} to ${score(part.interval[name][1])}`),
      ),
      el("span", { class: "gauge", "aria-hidden": "true", vars: { size: `${100 * value}%`, base: `${100 * base}%` } }),
      el(
        "p",
        { class: gain > 0 ? "gain" : "loss" },
        `${gain > 0 ? "▲ +" : gain < 0 ? "▼ −" : "= "}${score(Math.abs(gain))} against ${simple} ${score(base)}`,
      ),
      soft(MEASURE_HELP[name]),
    );
  });
  const full = Object.keys(MEASURE_WORDS).map((name) =>
    rowOf(
      MEASURE_WORDS[name],
      ...data.parts.map((_, at) => score(chosen.parts[at].scores[name])),
      el("td", { class: "soft" }, part.interval[name].map(score).join(" to ")),
      ...Object.values(part.simple).map((scores) => el("td", { class: "soft" }, score(scores[name]))),
    ),
  );
  const head = [
    "Measure",
    ...data.parts.map((one) => one.title),
    "95\u202f% interval",
    ...Object.keys(part.simple).map((name) => name[0].toUpperCase() + name.slice(1)),
  ];
  return el(
    "section",
    { "aria-labelledby": "scores-title" },
    el("h3", { id: "scores-title" }, `Scores on the ${data.parts[lastPart].title.toLowerCase()}`),
    el("ul", { class: "tiles" }, tiles),
    el(
      "details",
      {},
      el("summary", {}, "All measures"),
      table("All measures", head, full, { class: "numbers" }),
      soft(`0/0 counts 0; for Hamming loss lower is better. The interval comes from resampling the examples of the ${data.parts[lastPart].title.toLowerCase()}. Three simple models, fitted on ${data.parts[0].unseen ? "four fifths of these examples at a time" : `the ${data.parts[0].title.toLowerCase()}`}, are scored beside it. Majority: every label always gets its more frequent value. Label set: every example gets the most frequent set of labels. One rule per label: a label is present where the one condition with the highest F1 holds.`),
    ),
  );
}

// The simple model that is hardest to beat.
function strongest(part, name) {
  return Object.entries(part.simple)
    .map(([simple, scores]) => [simple, scores[name]])
    .reduce((best, other) => (other[1] > best[1] ? other : best));
}

// Whether every rule of a list can be read by itself: none says what is absent, looks at labels or ends the list.
function orderless(chosen) {
  const { label_conditions: onLabels, negative_literals: absent, stops } = chosen.statistics;
  return !onLabels && !absent && !stops && !chosen.full && !chosen.defaults.some(Boolean);
}

function howToRead(chosen) {
  const at = sampleRule(chosen);
  const rule = chosen.rules[at];
  const words =
    chosen.kind === "ensemble"
      ? `Every rule whose conditions hold adds its ${chosen.scorecard ? "points" : "weights"} to the labels it names. ${decisionWords(chosen)}`
      : orderless(chosen)
        ? "Every rule can be read by itself. A label is present if any rule that names it holds, and absent if none does. The order of the rules changes nothing."
        : "Rules are tried from the top. A rule whose conditions all hold sets its labels, unless an earlier rule has set them already. Labels that no rule sets get their default" +
          (chosen.defaults.some(Boolean) ? "." : ", absent.");
  return el(
    "section",
    { class: "card" },
    el("h3", {}, "How to read it"),
    el("p", {}, words),
    relationWords(chosen) && el("p", {}, relationWords(chosen)),
    chosen.costs && el("p", {}, `${chosen.costs[0][0].toUpperCase()}${chosen.costs[0].slice(1)}.`),
    chosen.costs && bullets(chosen.costs.slice(1).map((text, at) => `${data.parts[at].title}: ${text}`)),
    rule &&
      el(
        "div",
        { class: "sample" },
        soft(`Rule ${at + 1}, for example:`),
        el(
          "p",
          {},
          "If ",
          rule.body.length
            ? rule.body.flatMap((condition, number) => [number ? ", and " : "", conditionWords(condition, data)])
            : "no rule above has decided",
          ", then",
        ),
        ruleHead(rule, () => ({})),
      ),
    chosen.kind === "ensemble"
      ? soft(
        weightChip([0, 1, 0, 0, chosen.scorecard ? 1 : 1.2], {}, "name"),
        " speaks for the label, ",
        weightChip([0, 0, 0, 0, chosen.scorecard ? -1 : -0.8], {}, "name"),
        " speaks against it.",
      )
      : soft(chip("name", 1), " the label is predicted present, ", chip("name", 0), " it is predicted absent."),
    chosen.rules.some((other) => other.stop) &&
      soft("A rule marked “stops here” ends the list for the examples it sets a label of: no later rule is tried for them."),
    chosen.full &&
      soft("This list makes full predictions: a rule that fires sets all labels outside its head to absent."),
  );
}

// A rule that shows much with little: several labels, one of them present, few conditions.
function sampleRule(chosen) {
  const cost = (rule) =>
    plainTests(rule.body).length +
    Math.abs(rule.head.length - 3) +
    (rule.body.length ? 0 : 9) +
    (rule.head.some((literal) => literal[1] > 0) ? 0 : 5);
  const costs = chosen.rules.map(cost);
  return Math.max(0, costs.indexOf(Math.min(...costs)));
}

// Long tails share a last column.
function tally(numbers, most = 10) {
  const counts = new Map();
  for (const number of numbers) counts.set(Math.min(number, most), (counts.get(Math.min(number, most)) ?? 0) + 1);
  return counts;
}

function shape(chosen) {
  const stats = chosen.statistics;
  const fact = (value, words) => el("div", {}, el("dt", {}, words), el("dd", {}, value));
  return el(
    "section",
    { class: "card" },
    el("h3", {}, "Size and shape"),
    el(
      "dl",
      { class: "facts-list" },
      fact(whole(stats.rules), "rules"),
      fact(stats.conditions_per_rule.toFixed(1), "conditions per rule"),
      fact(stats.labels_per_head.toFixed(1), "labels per head"),
      fact(percent((stats.multi_label_heads_percent ?? 0) / 100), "heads with several labels"),
      stats.label_conditions > 0 && fact(whole(stats.label_conditions), "conditions on labels"),
      stats.negative_literals > 0 &&
        fact(
          whole(stats.negative_literals),
          chosen.kind !== "ensemble"
            ? "predictions of absence"
            : `${chosen.scorecard ? "points" : "weights"} against a label`,
        ),
      stats.stops > 0 && fact(whole(stats.stops), "stops"),
      stats.hand_made > 0 && fact(whole(stats.hand_made), "rules made by hand"),
    ),
    el(
      "div",
      { class: "grid two tight" },
      el(
        "div",
        {},
        el("h4", {}, "Rules by labels in the head"),
        columns(tally(chosen.rules.map((rule) => rule.head.length)), "Rules by labels in the head", "labels"),
      ),
      el(
        "div",
        {},
        el("h4", {}, "Rules by conditions"),
        columns(tally(chosen.rules.map((rule) => plainTests(rule.body).length)), "Rules by conditions", "conditions"),
      ),
    ),
  );
}

function built(chosen) {
  const steps = chosen.rules.length;
  const first = chosen.parts[0].curve,
    last = chosen.parts[lastPart].curve;
  const total = Math.max(1, data.parts[0].examples);
  const scores = data.parts.map((part, at) => ({
    name: `Micro F1, ${part.title.toLowerCase()}`,
    values: chosen.parts[at].curve.micro_f1,
  }));
  scores.push({ name: `Subset accuracy, ${data.parts[lastPart].title.toLowerCase()}`, values: last.subset_accuracy });
  return el(
    "section",
    { "aria-labelledby": "built-title" },
    el("h3", { id: "built-title" }, "How the list decides, rule by rule"),
    el(
      "div",
      { class: "grid two" },
      el(
        "div",
        { class: "card" },
        lineChart({
          title: `What is decided (${data.parts[0].title.toLowerCase()})`,
          steps,
          series: [
            { name: "Labels set", values: first.set },
            { name: "Examples still open", values: first.open.map((count) => count / total) },
          ],
        }),
      ),
      el("div", { class: "card" }, lineChart({ title: "Score if the list ended here", steps, series: scores })),
    ),
  );
}

function dataTable() {
  const row = (words, cell) => rowOf(words, ...data.parts.map(cell));
  return el(
    "section",
    {},
    el("h3", {}, "The data"),
    table(
      "The data",
      ["", ...data.parts.map((part) => part.title)],
      [
        row("Name", (part) => part.name),
        row("Examples", (part) => whole(part.examples)),
        row("Labels per example", (part) => part.cardinality.toFixed(2)),
        row("Share of labels present", (part) => percent(part.density, 1)),
        row("Distinct label sets", (part) => whole(part.label_sets)),
        row("Missing values", (part) => whole(part.missing)),
        data.parts.some((part) => part.unknown > 0) && row("Unknown labels", (part) => whole(part.unknown)),
      ],
      { class: "numbers" },
    ),
  );
}

function howItWasMade(chosen) {
  const { options = {}, ...rest } = chosen.info;
  const entries = [...Object.entries(rest), ...Object.entries(options)].filter(
    ([, value]) => value !== null && typeof value !== "object",
  );
  if (!entries.length) return null;
  return el(
    "details",
    {},
    el("summary", {}, "How the model was made"),
    table(
      "Options and provenance",
      ["Option", "Value"],
      entries.map(([name, value]) => rowOf(name.replaceAll("_", " "), String(value))),
    ),
  );
}
