// Labels: how well each is predicted, who decides it, what it is confused with.

const LABEL_ORDERS = {
  given: ["Order in the data", (label) => label],
  frequent: ["Most frequent", (label) => -(presentIn(label) ?? 0)],
  weak: ["Lowest F1", (label) => labelScore(label, "f1") ?? 0],
  strong: ["Highest F1", (label) => -(labelScore(label, "f1") ?? 0)],
  rules: ["Most rules", (label) => -deciders(label).length],
  name: ["Name", null],
};

const presentIn = (label) => data.parts[lastPart]?.present[label];
const labelScore = (label, name) => model().parts[lastPart]?.per_label[name][label];
const deciders = (label) =>
  model().rules.flatMap((rule, number) => (rule.head.some(([index]) => index === label) ? [number] : []));

function labelsSection() {
  const box = el("div", {});
  const show = () => fill(box, labelTable());
  const order = select(
    Object.entries(LABEL_ORDERS)
      .filter(([key]) => data.parts.length || !["frequent", "weak", "strong"].includes(key))
      .map(([key, [words]]) => [key, words]),
    (app.labelOrder ??= "given"),
    (value) => {
      app.labelOrder = value;
      show();
    },
  );
  const find = searchBox(app.labelText ?? "", (text) => {
    app.labelText = text;
    show();
  });
  show();
  return [
    el("h2", { tabindex: "-1" }, "Labels"),
    searchForm("Find labels", field("Find", find), field("Order", order)),
    box,
    graphSection(),
    data.labels.length <= 40 && data.parts.length > 0 && confusionMatrix(),
  ];
}

const labelLink = (label) => button(data.labels[label], () => openLabel(label), { class: "link" });

function labelTable() {
  const text = (app.labelText ?? "").toLowerCase();
  const labels = data.labels
    .map((_, label) => label)
    .filter((label) => data.labels[label].toLowerCase().includes(text));
  const key = LABEL_ORDERS[app.labelOrder][1];
  labels.sort(
    key ? (a, b) => key(a) - key(b) || a - b : (a, b) => data.labels[a].localeCompare(data.labels[b], "en") || a - b,
  );
  const total = Math.max(1, data.parts[lastPart]?.examples ?? 0);
  const scored = data.parts.length > 0;
  const head = [
    "Label",
    ...(scored ? ["Present", "Precision", "Recall", "F1"] : []),
    "Rules",
    ...(scored && model().kind !== "ensemble" ? ["Left to default"] : []),
  ];
  const rows = labels.map((label) =>
    rowOf(
      labelLink(label),
      scored && [
        meter(presentIn(label) / total),
        el("span", { class: "nowrap" }, `${whole(presentIn(label))} (${percent(presentIn(label) / total)})`),
      ],
      ...["precision", "recall", "f1"].map(
        (name) => scored && [meter(labelScore(label, name), name), score(labelScore(label, name))],
      ),
      el("td", { class: "number" }, whole(deciders(label).length)),
      scored &&
        model().kind !== "ensemble" &&
        el("td", { class: "number" }, whole(model().parts[lastPart].unset[label])),
    ),
  );
  return [
    scored &&
      soft(`Scores on the ${data.parts[lastPart].title.toLowerCase()}. Choose a label to see what decides it.`),
    table("Labels", head, rows, { class: "numbers" }),
  ];
}

function openLabel(label) {
  openDrawer(
    data.labels[label],
    () => openLabel(label),
    data.parts.length > 0 && labelFigures(label),
    el("h3", {}, "Rules that decide it"),
    deciderTable(label),
    data.parts.length > 0 && confusedWith(label),
    labelEdges(label),
    app.showRulesOf && el("p", {}, button("Show these rules", () => app.showRulesOf(label))),
  );
}

function labelFigures(label) {
  const rows = data.parts.map((part, at) => {
    const per = model().parts[at].per_label;
    return rowOf(
      part.title,
      `${whole(per.present[label])} of ${whole(part.examples)}`,
      ...["tp", "fp", "fn"].map((name) => whole(per[name][label])),
      ...["precision", "recall", "f1"].map((name) => score(per[name][label])),
    );
  });
  return table(
    "Scores of this label",
    ["", "Present", "Right", "Wrongly predicted", "Missed", "Precision", "Recall", "F1"],
    rows,
    { class: "numbers" },
  );
}

function deciderTable(label) {
  const chosen = model();
  const numbers = deciders(label);
  if (!numbers.length) return note("No rule names this label.");
  const rows = numbers.slice(0, MOST_ROWS).map((number) => {
    const rule = chosen.rules[number];
    const at = rule.head.findIndex(([index]) => index === label);
    return rowOf(
      numberLink(number),
      chosen.kind === "ensemble" ? weightChip(rule.head[at]) : chip(data.labels[label], rule.head[at][1]),
      bodyCell(rule),
      ...partNumbers().map((part) => verdict(...figures(rule, part).head[at])),
    );
  });
  const unset =
    chosen.kind !== "ensemble" && data.parts.length > 0
      ? soft(`No rule sets it on ${data.parts.map((part, at) => `${whole(chosen.parts[at].unset[label])} of ${plural(part.examples, "example")} (${part.title.toLowerCase()})`).join(", ")}; there it is ${chosen.defaults[label] ? "present" : "absent"} by default.`)
      : null;
  return [
    table("Rules that decide the label", ["Rule", "Says", "If", ...partTitles()], rows),
    unset,
  ];
}

function confusedWith(label) {
  const pairs = model().parts[lastPart].confusion;
  const instead = pairs.filter(([predicted]) => predicted === label).slice(0, 8);
  const covered = pairs.filter(([, missed]) => missed === label).slice(0, 8);
  const list = (found, at) =>
    el(
      "ul",
      { class: "plain" },
      found.map((pair) =>
        el(
          "li",
          {},
          button(data.labels[pair[at]], () => openLabel(pair[at]), { class: "link" }),
          ` on ${plural(pair[2], "example")}`,
        ),
      ),
    );
  return [
    el("h3", {}, "Confused with"),
    instead.length
      ? [el("p", {}, "Predicted wrongly where these were missed:"), list(instead, 1)]
      : soft("Never predicted in place of another label."),
    covered.length
      ? [el("p", {}, "Missed where these were predicted wrongly:"), list(covered, 0)]
      : soft("No other label is predicted in its place."),
  ];
}

function labelEdges(label) {
  const edges = (model().graph?.edges ?? []).filter((edge) => edge.source === label || edge.target === label);
  return edges.length > 0 && [el("h3", {}, "Depends on other labels"), edgeTable(edges)];
}

// Rows: predicted wrongly; columns: missed on the same example.
function confusionMatrix() {
  const pairs = model().parts[lastPart].confusion;
  if (!pairs.length) return null;
  const most = Math.max(...pairs.map((pair) => pair[2]));
  const count = new Map(pairs.map(([a, b, n]) => [`${a} ${b}`, n]));
  const rows = data.labels.map((name, a) =>
    rowOf(
      name,
      ...data.labels.map((other, b) => {
        const n = count.get(`${a} ${b}`) ?? 0;
        return el(
          "td",
          {
            class: "heat",
            vars: { heat: n / most },
            title: n ? `${name} predicted wrongly, ${other} missed: ${n}` : null,
          },
          n ? whole(n) : el("span", { class: "soft" }, a === b ? "" : "·"),
        );
      }),
    ),
  );
  return el(
    "section",
    {},
    el("h3", {}, "Labels that stand in for others"),
    soft(`Examples of the ${data.parts[lastPart].title.toLowerCase()} on which the label of the row was predicted wrongly while the label of the column was missed.`),
    table("Confusion between labels", ["", ...data.labels], rows, { class: "matrix" }),
  );
}
