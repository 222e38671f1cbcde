// Ask: look at examples, the wrong ones first; ask for rules that would set them right, and why each got its labels.

const FILTERS = [
  ["wrong", "something is wrong"],
  ["missed", "a label is missed"],
  ["extra", "a label is predicted wrongly"],
  ["rule", "a rule covers them"],
  ["rule-wrong", "a rule covers them and its label is wrong"],
  ["present", "a label is present"],
  ["predicted", "a label is predicted"],
  ["undecided", "no rule set the label"],
  ["all", "all examples"],
];

function showRows(wanted) {
  studio.asked = { part: "0", filter: "wrong", label: "", rule: "", start: 0, ...wanted };
  go("ask", true);
}

// Any example: by its name or number, or by what holds for it, such as "age above 80 and smoker is current".
app.findHint = "name, number, or: age above 80";
app.findExamples = async (text) => {
  const found = await ask("find", { text }).catch((error) => ({ problem: error.message }));
  if (!found.examples) return { rows: [], words: found.problem };
  renew({ examples: found.examples });
  return { rows: found.examples.part.map((_, row) => row), words: found.words };
};

// What if begins with held-out examples where none was chosen.
function whatIfWhole() {
  if (examples.count) return whatIf();
  const box = el("div", { class: "grid" }, el("h2", { tabindex: "-1" }, "What if"));
  trying(async () => {
    renew({ examples: (await ask("rows", { part: 1, filter: "all" })).examples });
    fill(holders.get("whatif"), whatIf());
  })();
  return box;
}

app.showCovered = (number) => {
  drawer.close();
  showRows({ filter: "rule", rule: String(number) });
};

function askSection() {
  const asked = (studio.asked ??= { part: "0", filter: "wrong", label: "", rule: "", start: 0 });
  if (Number(asked.rule) >= model().rules.length) asked.rule = "";
  if (Number(asked.label) >= data.labels.length) asked.label = ""; // of another table
  const chosen = new Set();
  const rows = el("div", {});
  const answers = el("div", { class: "grid" });
  const controls = el("div", { class: "filters" });
  const again = () => {
    chosen.clear();
    fill(answers);
    fill(controls, rowFilters(asked, again));
    loadRows(asked, rows, chosen, again, answers);
  };
  again();
  return [
    el("h2", { tabindex: "-1" }, "Ask"),
    lead("Look at examples, see why they get their labels, and ask for rules that would set them right."),
    controls,
    asked.part === "1" && note("These examples are held out. Looking is fine; the more you change rules after looking here, the less the held-out scores mean."),
    answers,
    rows,
  ];
}

const selection = (asked) => {
  const value = { part: Number(asked.part), filter: asked.filter };
  if (asked.label !== "" && !asked.filter.startsWith("rule") && asked.filter !== "all") value.label = Number(asked.label);
  if (asked.filter.startsWith("rule")) value.rule = Number(asked.rule === "" ? 0 : asked.rule);
  return value;
};

function rowFilters(asked, again) {
  const set = (name) => (value) => {
    asked[name] = value;
    asked.start = 0;
    if (name === "part") refresh();
    else again();
    document.querySelector(`[data-focus="ask-${name}"]`)?.focus();
  };
  const control = (name, options) => {
    const made = select(options, asked[name], set(name));
    made.dataset.focus = `ask-${name}`;
    return made;
  };
  const list = model().kind !== "ensemble";
  const kinds = FILTERS.filter(([name]) => (list || name !== "undecided") && (model().rules.length || !name.startsWith("rule")));
  return [
    field("Examples", control("part", [["0", "training data"], ["1", "held out"]])),
    field("where", control("filter", kinds)),
    asked.filter.startsWith("rule")
      ? field("Rule", control("rule", model().rules.map((rule, at) => [at, `Rule ${at + 1}${rule.note.name ? `: ${rule.note.name}` : ""}`])))
      : asked.filter !== "all" && field("Label", control("label", [["", "any label"], ...data.labels.map((name, at) => [at, name])])),
  ];
}

const loadRows = trying(async (asked, box, chosen, again, answers) => {
  if (asked.filter.startsWith("rule") && !model().rules.length) asked.filter = "wrong";
  const found = await ask("rows", { ...selection(asked), start: asked.start });
  renew({ examples: found.examples });
  app.whatIf = undefined;
  const results = outcome(0);
  const every = tickBox(false, (on) => {
    for (const control of box.querySelectorAll("tbody input")) if (control.checked !== on) control.click();
  }, { "aria-label": "Choose all rows shown" });
  const suggest_words = () => (chosen.size ? plural(chosen.size, "chosen example") : `all ${whole(found.total)}`);
  const suggest = button("", () => askSuggest(asked, chosen, answers));
  const shared = button("", () => askShared(asked, chosen, answers));
  const name_buttons = () => {
    fill(suggest, `Suggest rules for ${suggest_words()}`);
    fill(shared, `Which rules do ${chosen.size ? "the chosen ones" : "these"} share?`);
  };
  name_buttons();
  const rows = found.examples.part.map((_, row) => exampleLine(row, results[row], chosen, name_buttons, found.examples.row[row]));
  const end = asked.start + rows.length;
  const to = (start) => () => { asked.start = start; again(); };
  fill(
    box,
    el("div", { class: "row actions" },
      asked.part === "0" && found.total > 0 && suggest,
      found.total > 0 && shared,
      asked.part === "1" && soft("Rules are suggested for training examples only.")),
    rows.length
      ? table("Examples", [el("th", { scope: "col" }, every), "Example", "Predicted", "Truth differs"], rows, { class: "examples-table" })
      : note("There are no such examples."),
    el("p", { class: "row" },
      found.total > rows.length && pager(asked.start, end, found.total, 25, "", to),
      el("span", { class: "soft", role: "status" }, rows.length ? `${whole(asked.start + 1)} to ${whole(end)} of ${plural(found.total, "example")}` : "")),
  );
});

function exampleLine(row, result, chosen, changed, own) {
  const truth = examples.truth(row);
  const wrong = [...data.labels.keys()].filter((label) => isWrong(result.labels[label], truth[label]));
  const predicted = [...data.labels.keys()].filter((label) => result.labels[label]);
  const choose = (on) => {
    chosen[on ? "add" : "delete"](own);
    changed();
  };
  return el("tr", {},
    el("td", {}, tickBox(false, choose, { "aria-label": `Choose ${examples.name(row)}` })),
    el("th", { scope: "row" }, button(examples.name(row), () => openExample(row), { class: "link", title: "Why these labels? What would change them?" })),
    el("td", {}, el("div", { class: "chips" }, firstFew(predicted, 10, (label) => chip(data.labels[label], 1)), !predicted.length && el("span", { class: "soft" }, "no label"))),
    el("td", {}, el("div", { class: "chips" }, firstFew(wrong, 10, (label) => chip(data.labels[label], truth[label], { class: "truth" })), !wrong.length && el("span", { class: "soft" }, "all right"))));
}

const meant = (asked, chosen) => (chosen.size ? { part: Number(asked.part), rows: [...chosen] } : selection(asked));

const askSuggest = trying(async (asked, chosen, box) => {
  fill(box, el("p", { class: "soft", role: "status" }, "Growing rules …"));
  const { suggestions } = await ask("suggest", meant(asked, chosen));
  fill(box, card("Suggested rules", el("h3", { tabindex: "-1" }, "Suggested rules"),
    suggestions.length
      ? [
          soft("Grown from the training examples alone, placed where they take effect. “Spoilt” counts labels that are right now and would not be."),
          el("ol", { class: "offers" }, suggestions.map((one, at) => el("li", {}, el("p", {}, one.words), one.hints.map((hint) => note(hint)), effectWords(one.effect), button("Add", () => change(one.step, "Added a suggested rule"), { "aria-label": `Add suggestion ${at + 1}` })))),
        ]
      : el("p", {}, "No rule would raise micro F1 on the training data. Choose other examples, or look at single ones.")));
  box.querySelector("h3").focus();
});

const askShared = trying(async (asked, chosen, box) => {
  const { rules } = await ask("shared", meant(asked, chosen));
  fill(box, card("Shared rules", el("h3", { tabindex: "-1" }, "Rules they share"),
    rules.length
      ? table("Rules that fire on these examples", ["Rule", "Says", "Fires on", "Elsewhere"], rules.slice(0, 20).map((one) => rowOf(
          ruleLink(one.rule),
          el("td", { class: "words-cell" }, ruleText(model().rules[one.rule], data)),
          [meter(one.rows / one.of), `${whole(one.rows)} of ${whole(one.of)}`],
          whole(one.elsewhere))))
      : el("p", {}, "No rule fires on any of them: every label has its default.")));
  box.querySelector("h3").focus();
});
