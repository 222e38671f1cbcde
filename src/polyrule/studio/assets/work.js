// The rules: every one a card of the report with its counts on training and held-out data, and what can be done to it.

const CARDS = 40;

function workSection() {
  studio.joins = new Set();
  const chosen = model();
  const filter = (app.filter ??= { ...noFilter(), view: chosen.rules.length > 3 ? "lines" : "cards" });
  const cards = el("div", { class: "results" });
  const count = el("p", { class: "soft", role: "status" });
  let shown = Math.max(CARDS, studio.shownCards ?? 0);
  const draw_cards = () => {
    const found = filterRules(chosen.rules, filter);
    const rest = found.length - shown;
    studio.joins.clear();
    drawJoining(joining);
    cards.className = filter.view === "lines" ? "results lines" : "results";
    fill(count, found.length < chosen.rules.length && `${plural(found.length, "rule")} of ${whole(chosen.rules.length)}`);
    fill(cards, !found.length && note("No rule fits this filter."),
      filter.view === "table" ? workTable(found.slice(0, shown), filter, draw_all) : found.slice(0, shown).map((number) => (filter.view === "lines" ? workLine(number) : workCard(number))),
      rest > 0 && button(`Show ${whole(Math.min(CARDS, rest))} more of ${whole(rest)}`, () => { shown = studio.shownCards = shown + CARDS; draw_cards(); }, { class: "more" }));
  };
  const controls = searchForm("Filter the rules");
  const draw_all = (order) => {
    if (order) filter.order = order;
    fill(controls, filterControls(filter, chosen, draw_cards, draw_all));
    draw_cards();
  };
  const joining = el("div", {});
  draw_all();
  cards.addEventListener("change", ({ target }) => {
    if (target.dataset.joins === undefined) return;
    if (target.checked) studio.joins.add(Number(target.dataset.joins));
    else studio.joins.delete(Number(target.dataset.joins));
    target.closest("article").after(joining); // beside what was chosen last, and next for the keyboard
    drawJoining(joining);
  });
  const why = el("input", { type: "text", value: studio.why, maxlength: "2000", placeholder: "optional", "data-focus": "why", on: { input: () => (studio.why = why.value) } });
  const baseline = el("div", {});
  warnOfBaseline(baseline);
  return [
    el("h2", { tabindex: "-1" }, "Rules"),
    scoreStrip(),
    baseline,
    tunedWords(),
    noteBox("Warnings", studio.warnings),
    el("div", { class: "filters work-tools" },
      el("div", { class: "field buttons" }, button("Write a rule", openWriter, { "data-focus": "write" })),
      field("Why the next change? It goes into the history", why, { class: "field grow" })),
    chosen.rules.length > 1 && controls,
    count,
    chosen.rules.length > 0 && soft(UNITS),
    chosen.rules.length ? cards : note("There are no rules. Write one, or learn again."),
    defaultsNote(chosen),
    scoreSheet(chosen),
  ];
}

function scoreStrip() {
  const [train, held] = model().parts;
  const item = (name) => el("li", {}, el("span", { class: "soft" }, MEASURE_WORDS[name]), el("b", {}, score(held.scores[name])), el("span", { class: "soft nowrap" }, `training ${score(train.scores[name])}`));
  const stats = model().statistics;
  return el("section", { class: "strip", "aria-label": "Scores", tabindex: "0" },
    el("ul", {}, el("li", {}, el("b", {}, "Held out"), el("span", { class: "soft nowrap" }, plural(data.parts[1].examples, "example"))), ["micro_f1", "macro_f1", "micro_precision", "micro_recall", "subset_accuracy"].map(item),
      el("li", {}, el("span", { class: "soft" }, "Size"), el("b", {}, plural(stats.rules, "rule")), el("span", { class: "soft nowrap" }, plural(stats.conditions, "condition")))));
}

function workCard(number) {
  const rule = model().rules[number];
  const id = freshId("rule");
  return el(
    "article",
    { class: "card rule work", "aria-labelledby": id },
    el("header", {}, el("h3", { id }, `Rule ${whole(number + 1)}`, givenName(rule)), rule.note.pinned && el("span", { class: "badge" }, "pinned"), marks(rule),
      ruleComment(rule)),
    el("div", { class: "if" }, el("h4", {}, "If"), bodyList(rule)),
    el("div", { class: "then" }, el("h4", {}, model().kind !== "ensemble" ? "then" : "then add"), ruleHead(rule, (label) => ({ on: { click: () => openLabelWhole(label) } }))),
    el("div", { class: "facts" }, allFigures(rule)),
    ruleActions(number),
  );
}

// One rule in little room: what it says, its counts on both parts, and what can be done to it.
function workLine(number) {
  const rule = model().rules[number];
  const id = freshId("rule");
  const words = rule.body.length ? rule.body.map((condition, at) => [at ? ", " : "", conditionWords(condition, data)]) : el("span", { class: "always" }, "always");
  return el(
    "article",
    { class: "rule work compact", "aria-labelledby": id },
    el("h3", { id }, hidden("Rule "), whole(number + 1), givenName(rule)),
    el("p", { class: "if" }, hidden("If "), words),
    el("div", { class: "then" }, hidden("then "), ruleHead(rule, (label) => ({ on: { click: () => openLabelWhole(label) } })), rule.note.pinned && el("span", { class: "badge" }, "pinned"), marks(rule)),
    el("div", { class: "counts" }, partNumbers().map((part) => lineFigures(rule, part)), isKnown(rule.expected) && el("span", { class: "soft" }, `expect ${shareText(rule.expected)} right on new examples`)),
    ruleComment(rule),
    ruleActions(number),
  );
}

function lineFigures(rule, part) {
  const { right, wrong, covers } = figures(rule, part);
  return el("span", {}, el("span", { class: "soft" }, `${data.parts[part].title}: `), el("b", {}, whole(right)), agreement()[0], el("b", {}, whole(wrong)), agreement()[1], right + wrong > 0 && ` (${precisionText({ right, wrong })})`, el("span", { class: "soft" }, `, covers ${plural(covers, "example")}`));
}

function workTable(numbers, filter, sort) {
  const box = rulesTable(numbers, filter, sort);
  box.querySelector("thead tr").append(el("th", { scope: "col" }, hidden("Change")));
  [...box.querySelectorAll("tbody tr")].forEach((row, at) => row.append(el("td", {}, button("Change", () => openEditor(numbers[at]), { class: "small", "aria-label": `Change rule ${numbers[at] + 1}`, "data-focus": `change-${numbers[at]}` }))));
  return box;
}

function ruleActions(number) {
  const rule = model().rules[number];
  const last = model().rules.length - 1;
  const list = model().kind !== "ensemble";
  const act = (words, name, action, more = {}) => button(words, action, { class: "small", "data-focus": `${name}-${number}`, "aria-label": `${words} rule ${number + 1}`, ...more });
  return el("div", { class: "row actions" },
    act("Change", "change", () => openEditor(number)),
    act("Up", "up", () => change({ do: "move", rule: number, to: number - 1 }, `Rule ${number + 1} moved up`).then(() => refocus("up", number - 1)), { disabled: number === 0 }),
    act("Down", "down", () => change({ do: "move", rule: number, to: number + 1 }, `Rule ${number + 1} moved down`).then(() => refocus("down", number + 1)), { disabled: number === last }),
    act(rule.note.pinned ? "Unpin" : "Pin", "pin", () => change({ do: "note", rule: number, pinned: !rule.note.pinned }, rule.note.pinned ? "Unpinned" : "Pinned"), { title: list ? "Pinned rules stay when you learn again" : "Pinned rules stay when you learn again, with other points" }),
    act("Name", "name", () => openNote(number)),
    act("Examples", "examples", () => showRows({ filter: "rule", rule: String(number) })),
    act("Remove", "remove", () => change({ do: "remove", rule: number }, `Removed rule ${number + 1}`), { class: "small danger" }),
    last > 0 && el("label", { class: "check" }, el("input", { type: "checkbox", "data-joins": number, "aria-label": `Join rule ${number + 1} with others` }), " join …"));
}

// Rules that say nearly the same: one rule with "any of" where they differ.
function drawJoining(box) {
  const rules = [...studio.joins].sort((a, b) => a - b);
  box.hidden = !rules.length;
  if (box.hidden) return fill(box);
  const name = el("input", { type: "text", maxlength: "200", placeholder: "optional" });
  const effect = el("div", { class: "effects", role: "status" }, rules.length < 2 && soft("Choose another rule that differs from this one in one condition: both become one rule with “any of”."));
  const step = () => ({ do: "join", rules, ...(name.value.trim() ? { name: name.value.trim() } : {}) });
  const join = button("Join into “any of”", () => change(step(), `Joined ${rules.length} rules`), { class: "primary", disabled: true });
  fill(box, card("Join rules", el("h3", {}, `Chosen: ${rules.map((rule) => `rule ${rule + 1}`).join(", ")}`),
    rules.length > 1 && field("Name of the group", name), effect, rules.length > 1 && el("div", { class: "row" }, join)));
  if (rules.length < 2) return undefined;
  const words = (found) => [el("p", {}, found.words), effectWords(found.effect)];
  const count = settled((current) => tryOut(current, "trial", { step: step() }, join, effect, words), 0);
  name.addEventListener("input", count);
  count();
  return undefined;
}

const refocus = (name, number) => document.querySelector(`[data-focus="${name}-${number}"]:not(:disabled)`)?.focus();

function openNote(number) {
  const rule = model().rules[number];
  const name = el("input", { type: "text", maxlength: "200", value: rule.note.name ?? "" });
  const comment = el("textarea", { rows: 4, maxlength: "5000" });
  comment.value = rule.note.comment ?? "";
  openDrawer(
    `Name rule ${whole(number + 1)}`,
    () => openNote(number),
    el("p", { class: "soft" }, ruleText(rule, data)),
    field("Name", name),
    field("Comment", comment),
    soft("Both are saved with the model and shown in its report."),
    el("div", { class: "row" }, button("Save", async () => {
      drawer.close();
      await change({ do: "note", rule: number, name: name.value, comment: comment.value }, `Named rule ${number + 1}`);
    }, { class: "primary" }), button("Cancel", () => drawer.close(), { class: "quiet" })),
  );
}

// Labels need more than the cards do; it is asked for when somebody looks.
const loadLabels = trying(async () => {
  if (!model().graph) renew((await ask("labels")).view);
});

const openLabelWhole = trying(async (label) => {
  await loadLabels();
  openLabel(label);
});

function labelsWhole() {
  if (model().graph) return labelsSection();
  const box = el("div", { class: "grid" }, el("h2", { tabindex: "-1" }, "Labels"));
  loadLabels().then(() => {
    if (model().graph) fill(holders.get("labels"), labelsSection());
  });
  return box;
}
