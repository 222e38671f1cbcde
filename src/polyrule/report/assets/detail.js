// The drawer: one rule with the examples it covers, or one label with the rules that decide it.

const drawer = document.getElementById("drawer");
const MOST_ROWS = 100;

// What was opened in the drawer, one after the other; "Back" goes along it.
const trail = [];

function openDrawer(title, again, ...content) {
  trail.push(again);
  const back =
    trail.length > 1 &&
    button(
      "Back",
      () => {
        trail.pop();
        trail.pop()();
      },
      { class: "quiet" },
    );
  const close = button("Close", () => drawer.close(), { class: "quiet close" });
  fill(
    drawer,
    el("header", {}, el("h2", { id: "drawer-title", tabindex: "-1" }, title), el("div", { class: "row" }, back, close)),
    el("div", { class: "inside" }, content),
  );
  if (!drawer.open) drawer.showModal();
  drawer.scrollTop = 0;
  document.getElementById("drawer-title").focus();
}

drawer.addEventListener("close", () => {
  trail.length = 0;
});
drawer.addEventListener("click", (event) => {
  if (event.target === drawer) drawer.close();
});

function openRule(number) {
  const rule = model().rules[number];
  const step = (to, words) =>
    button(
      words,
      () => {
        trail.pop();
        openRule(to);
      },
      { disabled: to < 0 || to >= model().rules.length },
    );
  openDrawer(
    `Rule ${whole(number + 1)}`,
    () => openRule(number),
    el("div", { class: "row" }, step(number - 1, "Previous rule"), step(number + 1, "Next rule")),
    el("h3", { class: "sr" }, "What it says"),
    el(
      "div",
      { class: "card rule narrow" },
      el("div", { class: "if" }, el("h4", {}, "If"), bodyList(rule)),
      el("div", { class: "then" }, el("h4", {}, "then"), openHead(rule), marks(rule)),
      el("div", { class: "facts" }, allFigures(rule)),
    ),
    model().kind !== "ensemble" && literalTable(rule),
    coveredExamples(number),
  );
}

function literalTable(rule) {
  const told = rule.chances?.some(isKnown);
  const head = ["Label", ...partTitles(), ...(told ? ["Expected"] : [])];
  const rows = rule.head.map(([label, value], at) =>
    rowOf(
      chip(data.labels[label], value),
      ...partNumbers().map((part) => verdict(...figures(rule, part).head[at])),
      Boolean(told) && el("td", { class: "number" }, isKnown(rule.chances[at]) ? shareText(rule.chances[at]) : ""),
    ),
  );
  return [
    el("h3", {}, "What it sets"),
    soft("Only labels that no earlier rule has set are counted."),
    table("What the rule sets, label by label", head, rows),
  ];
}

// Which carried examples the rule covers, and for each what it newly set.
function coverage(number) {
  const found = [];
  outcome(app.model).forEach((result, row) => {
    const hit = result.fired.find((one) => one.rule === number);
    if (!hit) return;
    const truth = examples.truth(row);
    const says = new Map(model().rules[number].head.map(([label, value]) => [label, value]));
    // What a list's rule set; what an ensemble's rule speaks for.
    const said = (label) => (model().kind === "ensemble" ? says.get(label) : result.labels[label]);
    const wrong = hit.newly.filter((label) => isWrong(said(label), truth[label]));
    found.push({ row, newly: hit.newly, wrong });
  });
  // Examples on which it decided something come first.
  return found.sort((a, b) => (b.newly.length > 0) - (a.newly.length > 0) || a.row - b.row);
}

function coveredExamples(number) {
  if (app.showCovered) return el("p", {}, button("Show the examples it covers", () => app.showCovered(number)));
  if (!examples.count)
    return note("This report carries no examples; build it with data to see whom the rule covers.");
  const found = coverage(number);
  const bad = found.filter((one) => one.wrong.length);
  const body = el("div", {});
  const only = tickBox(false, () => show());
  const show = () => {
    const list = only.checked ? bad : found;
    fill(
      body,
      table(
        "Examples the rule covers",
        ["Example", "Features it tests", model().kind === "ensemble" ? "What it speaks for" : "What it set"],
        list.slice(0, MOST_ROWS).map((one) => exampleRow(number, one)),
      ),
      list.length > MOST_ROWS &&
        soft(`The first ${MOST_ROWS} of ${whole(list.length)} are shown.`),
      !list.length &&
        note(
          only.checked
            ? "It is wrong on none of the examples in this page."
            : "It covers none of the examples in this page.",
        ),
    );
  };
  show();
  return [
    el("h3", {}, "Examples it covers"),
    soft(`${plural(found.length, "example")} of the ${whole(examples.count)} in this page; wrong about a label on ${whole(bad.length)}.`),
    el("label", { class: "check" }, only, " only where it is wrong"),
    body,
  ];
}

function exampleRow(number, { row, newly, wrong }) {
  const rule = model().rules[number];
  const values = examples.values(row);
  const slots = [...new Set(featureTests(rule.body).map(([, slot]) => slot))];
  const labels = Uint8Array.from(outcome(app.model)[row].labels);
  if (model().kind === "ensemble") for (const [label, value] of rule.head) labels[label] = value;
  const open = () => {
    drawer.close();
    openExample(row);
  };
  return rowOf(
    button(examples.name(row), open, { class: "link", title: "Open in What if" }),
    slots.map((slot) =>
      el("span", { class: "pair" }, `${data.features[slot].name} = ${valueText(data.features[slot], values[slot])}`),
    ),
    newly.length
      ? labelVerdicts(newly, labels, wrong)
      : el("span", { class: "soft" }, "nothing new: everything was set before"),
  );
}

// At most a dozen chips, the wrong ones first; rules with full predictions set very many labels.
function labelVerdicts(newly, labels, wrong) {
  const order = [...newly].sort((a, b) => wrong.includes(b) - wrong.includes(a) || a - b);
  const draw = (label) =>
    chip(data.labels[label], labels[label], { class: wrong.includes(label) ? "is-wrong" : "is-right" });
  return el(
    "div",
    { class: "chips" },
    firstFew(order, 12, draw, wrong.length > 12 ? "more" : "more, all right"),
    wrong.length > 0 && hidden(` wrong about ${wrong.map((label) => data.labels[label]).join(", ")}`),
  );
}
