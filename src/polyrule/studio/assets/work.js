// The rules: every one a card of the report with its counts on training and held-out data, and what can be done to it.

const CARDS = 40;

function workSection() {
  studio.joins = new Set();
  const chosen = model();
  const cards = el("div", { class: "results" });
  let shown = Math.max(CARDS, studio.shownCards ?? 0);
  const draw_cards = () => {
    const rest = chosen.rules.length - shown;
    studio.joins.clear();
    drawJoining(joining);
    fill(cards, chosen.rules.slice(0, shown).map((_, number) => workCard(number)),
      rest > 0 && button(`Show ${whole(Math.min(CARDS, rest))} more of ${whole(rest)}`, () => { shown = studio.shownCards = shown + CARDS; draw_cards(); }, { class: "more" }));
  };
  const joining = el("div", {});
  draw_cards();
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
    chosen.rules.length ? cards : note("There are no rules. Write one, or learn again."),
    defaultsNote(chosen),
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
  const last = model().rules.length - 1;
  const list = model().kind !== "ensemble";
  const act = (words, name, action, more = {}) => button(words, action, { class: "small", "data-focus": `${name}-${number}`, "aria-label": `${words} rule ${number + 1}`, ...more });
  return el(
    "article",
    { class: "card rule work", "aria-labelledby": id },
    el("header", {}, el("h3", { id }, `Rule ${whole(number + 1)}`, givenName(rule)), rule.note.pinned && el("span", { class: "badge" }, "pinned"), marks(rule),
      ruleComment(rule)),
    el("div", { class: "if" }, el("h4", {}, "If"), bodyList(rule)),
    el("div", { class: "then" }, el("h4", {}, list ? "then" : "then add"), ruleHead(rule, (label) => ({ on: { click: () => openLabelWhole(label) } }))),
    el("div", { class: "facts" }, allFigures(rule)),
    el("div", { class: "row actions" },
      act("Change", "change", () => openEditor(number)),
      act("Up", "up", () => change({ do: "move", rule: number, to: number - 1 }, `Rule ${number + 1} moved up`).then(() => refocus("up", number - 1)), { disabled: number === 0 }),
      act("Down", "down", () => change({ do: "move", rule: number, to: number + 1 }, `Rule ${number + 1} moved down`).then(() => refocus("down", number + 1)), { disabled: number === last }),
      act(rule.note.pinned ? "Unpin" : "Pin", "pin", () => change({ do: "note", rule: number, pinned: !rule.note.pinned }, rule.note.pinned ? "Unpinned" : "Pinned"), { title: list ? "Pinned rules stay when you learn again" : "Pinned rules stay when you learn again, with other points" }),
      act("Name", "name", () => openNote(number)),
      act("Examples", "examples", () => showRows({ filter: "rule", rule: String(number) })),
      act("Remove", "remove", () => change({ do: "remove", rule: number }, `Removed rule ${number + 1}`), { class: "small danger" }),
      last > 0 && el("label", { class: "check" }, el("input", { type: "checkbox", "data-joins": number, "aria-label": `Join rule ${number + 1} with others` }), " join …")),
  );
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
  const words = (found) => [el("p", { class: "as-text" }, found.text), effectWords(found.effect)];
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
    el("p", { class: "soft as-text" }, rule.text),
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
