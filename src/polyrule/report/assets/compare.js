// Several models side by side.

function compareSection() {
  return [
    el("h2", { tabindex: "-1" }, "Compare"),
    lead(`${whole(data.models.length)} models of the same data.`),
    data.parts.length > 0 && scoreComparison(),
    sizeComparison(),
    data.comparison.map(pairView),
  ];
}

const modelHead = () => data.models.map((one) => one.name);

function scoreComparison() {
  const rows = Object.keys(MEASURE_WORDS).map((name) => {
    const values = data.models.map((one) => one.parts[lastPart].scores[name]);
    const best = name === "hamming_loss" ? Math.min(...values) : Math.max(...values);
    // A model that resampling cannot tell from the best one is as good as it, as far as these examples show.
    const level = data.level[name];
    const alone = level.filter(Boolean).length === 1;
    const simple = data.models[0].parts[lastPart].simple;
    return rowOf(
      MEASURE_WORDS[name],
      ...values.map((value, at) =>
        el(
          "td",
          {
            class: level[at] ? "best" : null,
            title: `95 % interval ${data.models[at].parts[lastPart].interval[name].map(score).join(" to ")}`,
          },
          meter(value),
          score(value),
          level[at] && [" ", el("span", { class: "badge" }, alone ? "best" : value === best ? "best so far" : "level")],
        ),
      ),
      ...Object.values(simple).map((scores) => el("td", { class: "soft" }, score(scores[name]))),
    );
  });
  return el(
    "section",
    {},
    el("h3", {}, `Scores on the ${data.parts[lastPart].title.toLowerCase()}`),
    table(
      "Scores of the models",
      [
        "Measure",
        ...modelHead(),
        ...Object.keys(data.models[0].parts[lastPart].simple).map((name) => name[0].toUpperCase() + name.slice(1)),
      ],
      rows,
      { class: "numbers" },
    ),
    soft(`“Level” and “best so far”: on ${plural(data.parts[lastPart].examples, "example")} these models cannot be told apart; the 95\u202f% interval of their difference, over resampled examples, holds zero.`),
  );
}

function sizeComparison() {
  const row = (words, cell) => rowOf(words, ...data.models.map((one) => cell(one.statistics)));
  return el(
    "section",
    {},
    el("h3", {}, "Size"),
    table(
      "Size of the models",
      ["", ...modelHead()],
      [
        row("Rules", (stats) => whole(stats.rules)),
        row("Conditions", (stats) => whole(stats.conditions)),
        row("Conditions per rule", (stats) => stats.conditions_per_rule.toFixed(2)),
        row("Labels per head", (stats) => stats.labels_per_head.toFixed(2)),
        row("Heads with several labels", (stats) => percent((stats.multi_label_heads_percent ?? 0) / 100)),
        row("Conditions on labels", (stats) => whole(stats.label_conditions ?? 0)),
        row("Features used", (stats) => whole(stats.features_used)),
      ],
      { class: "numbers" },
    ),
  );
}

function pairView(pair) {
  const [a, b] = pair.models;
  const [first, second] = [data.models[a], data.models[b]];
  return el(
    "section",
    { class: "pair-view" },
    el("h3", {}, `${first.name} and ${second.name}`),
    el(
      "p",
      {},
      `They share ${plural(pair.same.length, "rule")} word for word`,
      pair.same_body.length > 0 && ` and ${plural(pair.same_body.length, "body", "bodies")} with other heads`,
      ".",
    ),
    pair.same.length > 0 && el("details", {}, el("summary", {}, "Shared rules"), sharedTable(pair.same, first, second)),
    pair.same_body.length > 0 &&
      el("details", {}, el("summary", {}, "Same conditions, other labels"), sharedTable(pair.same_body, first, second)),
    pair.examples !== undefined && disagreement(pair, first, second),
  );
}

function sharedTable(pairs, first, second) {
  const rows = pairs
    .slice(0, MOST_ROWS)
    .map(([left, right]) =>
      el(
        "tr",
        {},
        el("td", { class: "number" }, whole(left + 1)),
        el("td", { class: "number" }, whole(right + 1)),
        el("td", { class: "words-cell" }, ruleText(first.rules[left], data)),
        el(
          "td",
          { class: "words-cell" },
          firstFew(second.rules[right].head, 12, ([label, value]) => [chip(data.labels[label], value), " "]),
        ),
      ),
    );
  return table(
    "Rules in both models",
    [`In ${first.name}`, `In ${second.name}`, "Rule", `Head in ${second.name}`],
    rows,
  );
}

function disagreement(pair, first, second) {
  const [a, b] = pair.models;
  const total = data.parts[lastPart].examples;
  const labels = pair.labels
    .map((count, label) => [count, label])
    .filter(([count]) => count)
    .sort((x, y) => y[0] - x[0] || x[1] - y[1])
    .slice(0, 20);
  const rows = labels.map(([count, label]) =>
    rowOf(
      data.labels[label],
      [meter(count / Math.max(1, total)), whole(count)],
      [
        splitBar(pair.first_right[label] / count),
        `${whole(pair.first_right[label])} to ${whole(count - pair.first_right[label])}`,
      ],
    ),
  );
  const list = el("div", {});
  const where = el(
    "details",
    {
      on: {
        toggle: () => {
          if (where.open && !list.childNodes.length) fill(list, disagreeing(a, b));
        },
      },
    },
    el("summary", {}, "Examples on which they differ"),
    list,
  );
  return [
    el(
      "p",
      {},
      `They predict different labels on ${whole(pair.examples)} of ${plural(total, "example")} of the ${data.parts[lastPart].title.toLowerCase()}.`,
    ),
    rows.length > 0 &&
      table("Disagreement by label", ["Label", "They differ on", `Right then: ${first.name} to ${second.name}`], rows, {
        class: "numbers",
      }),
    where,
  ];
}

function disagreeing(a, b) {
  const [left, right] = [outcome(a), outcome(b)];
  const rows = [];
  for (let row = 0; row < examples.count && rows.length < MOST_ROWS; row++) {
    if (data.examples.part[row] !== lastPart) continue;
    const differ = [...data.labels.keys()].filter((label) => left[row].labels[label] !== right[row].labels[label]);
    if (!differ.length) continue;
    const truth = examples.truth(row);
    const cell = ({ labels }) => judgedChips(differ.map((label) => [label, labels[label], truth[label]]));
    const example = button(examples.name(row), () => openExample(row), { class: "link" });
    rows.push(rowOf(example, cell(left[row]), cell(right[row])));
  }
  return rows.length
    ? table("Examples on which the models differ", ["Example", data.models[a].name, data.models[b].name], rows)
    : soft("None of the examples in this page.");
}
