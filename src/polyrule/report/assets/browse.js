// The rules section: search, filter, sort, one rule to a line, as cards or as a table.

const PAGE = 40;

app.showRulesOf = (label) => {
  drawer.close();
  app.filter = { ...noFilter(), label: String(label), ...(app.filter ? { view: app.filter.view } : {}) };
  go("rules", true);
};

function browse() {
  const chosen = model();
  const filter = (app.filter ??= noFilter());
  const list = el("div", { class: "results" });
  const count = el("p", { class: "soft", role: "status" });
  const basis = soft(`Counted on the ${partTitles().at(-1).toLowerCase()}.`);
  let shown = PAGE;
  const show = (more = false) => {
    shown = more ? shown + PAGE : PAGE;
    const always = chosen.always ?? [];
    const found = filterRules(chosen.rules, filter).filter((number) => !always.includes(number));
    const total = chosen.rules.length - always.length;
    fill(
      count,
      found.length === total ? plural(found.length, "rule") : `${plural(found.length, "rule")} of ${whole(total)}`,
    );
    const visible = found.slice(0, app.printing ? found.length : shown);
    const rest = found.length - visible.length;
    const next =
      rest > 0 &&
      button(
        `Show ${Math.min(PAGE, rest)} more`,
        () => {
          show(true);
          list.querySelectorAll(".rule h3 button, tbody th button")[visible.length]?.focus();
        },
        { class: "more" },
      );
    const view =
      filter.view === "table"
        ? rulesTable(visible, filter, (order) => {
            filter.order = order;
            refresh();
          })
        : visible.map((number) => (filter.view === "lines" ? ruleLine(number) : ruleCard(number)));
    list.classList.toggle("lines", filter.view === "lines");
    basis.hidden = filter.view !== "lines" || data.parts.length < 2; // cards and tables name their parts
    fill(list, !found.length && note("No rule fits this filter."), view, next);
  };
  const controls = searchForm("Filter the rules");
  const refresh = () => {
    fill(controls, filterControls(filter, chosen, show, refresh));
    show();
  };
  refresh();
  app.showRules = show;
  return [
    el("h2", { tabindex: "-1" }, "Rules"),
    alwaysNote(chosen),
    controls,
    count,
    soft(UNITS),
    basis,
    list,
    defaultsNote(chosen),
    scoreSheet(chosen),
  ];
}

function filterControls(filter, chosen, show, refresh) {
  const set = (name) => (value) => {
    filter[name] = value;
    show();
  };
  const text = searchBox(filter.text, set("text"), "feature, label, value…");
  const labels = [["", "any label"], ...data.labels.map((name, index) => [index, name])];
  const used = new Set(
    chosen.rules.flatMap((rule) => featureTests(rule.body).map(([, slot]) => slot)),
  );
  const features = [
    ["", "any feature"],
    ...data.features.map((feature, slot) => [slot, feature.name]).filter(([slot]) => used.has(slot)),
  ];
  const most = Math.max(0, ...chosen.rules.map((rule) => firstFigures(rule).covers));
  const least = el("input", {
    type: "number",
    min: 0,
    max: most,
    step: 1,
    value: filter.coverage,
    inputmode: "numeric",
    on: { input: () => set("coverage")(Number(least.value) || 0) },
  });
  const view = select([["lines", "lines"], ["cards", "cards"], ["table", "table"]], filter.view, set("view"));
  const clear = button(
    "Clear",
    () => {
      Object.assign(filter, noFilter(), { view: filter.view });
      refresh();
      controlsFocus("clear");
    },
    { class: "quiet", "data-focus": "clear" },
  );
  return [
    field("Search", text, { class: "field grow" }),
    field("Label", select(labels, filter.label, set("label"))),
    field("Sign", select([["", "either"], [1, "predicts present"], [0, "predicts absent"]], filter.sign, set("sign"))),
    field("Feature", select(features, filter.feature, set("feature"))),
    field("Covers at least", least, { class: "field small" }),
    field("Order", select(Object.entries(ORDERS).map(([key, [words]]) => [key, words]), filter.order, set("order"))),
    el("div", { class: "field with-button" }, field("View", view), clear), // a button alone in a line looks lost
  ];
}

const controlsFocus = (name) => document.querySelector(`.filters [data-focus="${name}"]`)?.focus();

function rulesTable(numbers, filter, sort) {
  const header = (words, order) =>
    el(
      "th",
      { scope: "col", "aria-sort": filter.order === order ? (order === "list" ? "ascending" : "descending") : null },
      order ? button(words, () => sort(order), { class: "sort" }) : words,
    );
  const told = numbers.some((number) => isKnown(model().rules[number].expected));
  const head = [
    header("Rule", "list"),
    header("If", "conditions"),
    header("Then", "labels"),
    header("Covers", "coverage"),
    ...partTitles().map((title, at, all) => header(title, at === all.length - 1 ? "right" : null)),
    ...(told ? [header("Expected", "expected")] : []),
  ];
  const rows = numbers.map((number) => {
    const rule = model().rules[number];
    const found = partNumbers().map((part) => figures(rule, part));
    const row = rowOf(
      numberLink(number),
      bodyCell(rule),
      ruleHead(rule, () => ({})),
      el("td", { class: "number" }, whole(found[0].covers)),
      ...found.map(({ right, wrong }) => verdict(right, wrong)),
      told && el("td", { class: "number" }, isKnown(rule.expected) ? shareText(rule.expected) : ""),
    );
    row.className = "rule";
    return row;
  });
  return table("Rules", head, rows, { class: "rules-table" });
}

// What is predicted for everyone is no rule to read.
function alwaysNote(chosen) {
  if (!chosen.always?.length) return null;
  const literals = chosen.always.flatMap((number) =>
    chosen.rules[number].head.map(([label, value, right, wrong], at) => [
      number,
      label,
      value,
      chosen.rules[number].chances[at] ?? (right + wrong ? right / (right + wrong) : null),
    ]),
  );
  return el(
    "div",
    { class: "note always-note" },
    "Always predicted: ",
    literals.map(([number, label, value, share]) => [
      chip(data.labels[label], value, { on: { click: () => openRule(number) } }),
      isKnown(share) && el("span", { class: "soft nowrap" }, ` right for ${shareText(share)} `),
    ]),
  );
}
