// Learn: what kind of model, how large; it shows what it finds, beside what everybody would try first.

const BALANCES = [
  ["f0.25", "precision above all"],
  ["f0.5", "rather precision"],
  ["f1", "both alike"],
  ["f2", "rather recall"],
  ["f4", "recall above all"],
];
const SIMPLICITIES = [0.25, 0.5, 0.7, 1, 1.5, 2, 3, 5];
const NO_LIMIT = 41;

const newWish = () => ({ kind: "list", max_rules: NO_LIMIT, max_conditions: 3, simplicity: 3, balance: 2, min_precision: 0, points: 5, pinned: true, edited: true, forbid: [...(studio.limits?.forbid ?? [])], monotone: { ...(studio.limits?.monotone ?? {}) } });

function learnSection() {
  const wish = (studio.wish ??= newWish());
  const form = el("form", { class: "card sliders", on: { submit: (event) => event.preventDefault() } });
  const progress = el("div", { class: "progress", "aria-live": "off" });
  const others = el("div", {});
  const draw_form = () => fill(form, learnForm(wish, draw_form, progress));
  draw_form();
  if (studio.job) watch(studio.job, progress);
  compareWithOthers(others);
  return [
    el("h2", { tabindex: "-1" }, "Learn"),
    lead(`From ${plural(studio.examples[0], "example")}; ${whole(studio.examples[1])} others are held out to test what was learned.`),
    !studio.hasModel && noteBox("Findings", studio.findings),
    el("div", { class: "grid two" }, el("div", { class: "grid" }, progress, form), card("Scores", others)),
  ];
}

const needData = () => note(
  "First drop a table and say which columns are labels. ",
  button("To the data", () => go("data"), { class: "link" }),
);
const needModel = () => note("There is no model yet. ", button("To learning", () => go("learn"), { class: "link" }));

function learnForm(wish, redraw, progress) {
  const range = (words, name, low, high, shown) => {
    const text = el("output", {}, shown(wish[name]));
    const control = el("input", {
      type: "range", min: low, max: high, step: 1, value: wish[name], "data-focus": `learn-${name}`,
      "aria-valuetext": shown(wish[name]),
      on: {
        input: () => {
          wish[name] = Number(control.value);
          fill(text, shown(wish[name]));
          control.setAttribute("aria-valuetext", shown(wish[name]));
        },
      },
    });
    text.htmlFor = control.id = freshId("learn");
    return field([words, " ", text], control);
  };
  const kind = (value, words, help) => {
    const control = el("input", { type: "radio", name: "kind", value, checked: wish.kind === value, "data-focus": `kind-${value}`, on: { change: () => { wish.kind = value; if (value === "scorecard" && wish.max_rules > 20) wish.max_rules = 10; redraw(); form_focus(value); } } });
    return el("label", { class: "check choice" }, control, el("span", {}, el("b", {}, words), el("span", { class: "soft" }, help)));
  };
  const form_focus = (value) => document.querySelector(`[data-focus="kind-${value}"]`)?.focus();
  const list = wish.kind === "list";
  const carried = el("div", { class: "grid" });
  drawCarried(wish, carried);
  return [
    el("fieldset", {}, el("legend", {}, "What to learn"),
      kind("list", "A rule list", "Rules that can be read one by one and changed by hand."),
      kind("scorecard", "A scorecard", "Rules whose points are added up; often more accurate, but no rule decides alone.")),
    range("Most rules:", "max_rules", 1, list ? NO_LIMIT : 30, (value) => (list && value >= NO_LIMIT ? "as many as pay" : String(value))),
    range("Most conditions in a rule:", "max_conditions", 1, 6, String),
    list && range("Simplicity:", "simplicity", 0, SIMPLICITIES.length - 1, (value) => (SIMPLICITIES[value] < 1 ? "more, finer rules" : SIMPLICITIES[value] > 1 ? "fewer, simpler rules" : "balanced") + ` (${SIMPLICITIES[value]})`),
    list && range("Precision or recall:", "balance", 0, BALANCES.length - 1, (value) => BALANCES[value][1]),
    list && range("Least precision expected of a rule:", "min_precision", 0, 19, (value) => (value ? percent(value / 20) : "any")),
    !list && range("Most points of a label:", "points", 1, 10, String),
    limitsForm(wish, carried),
    carried,
    el("div", { class: "row" }, button("Learn", () => startLearning(wish, progress), { class: "primary", "data-focus": "learn" })),
  ];
}

// What the server gets of a wish.
function askedOf(wish) {
  const list = wish.kind === "list";
  const asked = { kind: wish.kind, pinned: wish.pinned, edited: wish.edited, forbid: wish.forbid, monotone: wish.monotone, max_conditions: wish.max_conditions, max_rules: list && wish.max_rules >= NO_LIMIT ? null : wish.max_rules };
  if (list) Object.assign(asked, { simplicity: SIMPLICITIES[wish.simplicity], balance: BALANCES[wish.balance][0], min_precision: wish.min_precision / 20 });
  else asked.points = wish.points;
  return asked;
}

// Columns to leave out and directions, for the next model; the history goes on.
function limitsForm(wish, carried) {
  const box = el("div", { class: "grid" });
  const draw = () => {
    const left_out = wish.forbid.map((name) => el("li", { class: "chip" }, name, button("×", () => { wish.forbid = wish.forbid.filter((other) => other !== name); changed(); }, { class: "quiet small", "aria-label": `Use ${name} again` })));
    const ways = Object.entries(wish.monotone).map(([name, way]) => el("li", { class: "chip" }, `${way === "up" ? "more" : "less"} ${name}`, button("×", () => { delete wish.monotone[name]; changed(); }, { class: "quiet small", "aria-label": `No direction for ${name}` })));
    fill(box,
      field("Column", column), el("datalist", { id: column.getAttribute("list") }, studio.sources.map(({ name }) => el("option", { value: name }))),
      el("div", { class: "row" }, ...buttons), said,
      wish.forbid.length > 0 && [soft("No rule may test:"), el("ul", { class: "plain members" }, left_out)],
      ways.length > 0 && [soft("Speaks for labels, never against them:"), el("ul", { class: "plain members" }, ways)]);
  };
  const changed = () => {
    fill(said);
    draw();
    drawCarried(wish, carried);
  };
  const said = el("p", { class: "soft", role: "status" });
  const column = el("input", { type: "text", list: freshId("sources"), autocomplete: "off", placeholder: "name of a column", "data-focus": "limit-column" });
  const act = (words, apply) => button(words, () => {
    const found = studio.sources.find(({ name }) => name === column.value);
    const problem = found ? apply(found) : `There is no column “${column.value}”.`;
    if (problem) return fill(said, problem);
    column.value = "";
    changed();
    return column.focus();
  }, { class: "small" });
  const towards = (way) => ({ name, directed }) => {
    if (!directed) return `${name} is no number, so it has no direction.`;
    wish.monotone[name] = way;
    return null;
  };
  const buttons = [
    act("Leave out", ({ name }) => { if (!wish.forbid.includes(name)) wish.forbid.push(name); return null; }),
    act("More speaks for labels", towards("up")),
    act("Less speaks for labels", towards("down")),
  ];
  draw();
  return el("details", { open: wish.forbid.length > 0 || Object.keys(wish.monotone).length > 0 }, el("summary", {}, "Columns left out and directions"), box);
}

// What stays of a person's work when they learn again, and first what does not.
const drawCarried = trying(async (wish, box) => {
  if (!studio.hasModel) return;
  const { keeps, lost } = await ask("carried", askedOf(wish));
  const tick = (name, words) => el("label", { class: "check" }, tickBox(wish[name], (on) => { wish[name] = on; drawCarried(wish, box); }), ` ${words}`);
  fill(box,
    noteBox("What does not stay", lost),
    tick("pinned", "keep pinned rules"),
    tick("edited", "keep rules that were written or changed by hand"),
    soft(keeps.length ? `${keeps.length === 1 ? "Rule" : "Rules"} ${keeps.join(", ")} ${keeps.length === 1 ? "stays" : "stay"} in front, with name and comment; new rules decide what is left open. The history goes on.` : "No rule stays. The history goes on, and Undo brings the model at hand back."));
});

const startLearning = trying(async (wish, progress) => {
  studio.job = (await ask("learn", askedOf(wish))).job;
  await watch(studio.job, progress);
});

const watch = trying(async (job, box) => {
  const bar = el("progress", { max: 1, "aria-label": "Learning" });
  const status = el("p", { role: "status" }, "Learning has begun.");
  const found = el("ol", { class: "found" });
  const stop = (keep) => trying(() => { fill(status, keep ? "Ending with what was found …" : "Cancelling …"); return ask("stop", { keep }); });
  fill(
    box,
    card("Progress", el("h3", {}, "Learning"), bar, status,
      el("div", { class: "row" }, button("Stop and keep what was found", stop(true)), button("Cancel", stop(false), { class: "quiet", "data-focus": "cancel" })),
      el("details", { open: true }, el("summary", {}, "Rules as they are found"), found)),
  );
  box.querySelector("button").focus({ preventScroll: true });
  try {
    const end = await listen(job, (event) => {
      if (event.done !== undefined) bar.value = event.done;
      const words = [event.phase, event.rules !== undefined && `${plural(event.rules, "rule")} tried`, event.bodies && `${whole(event.bodies)} conditions judged for the next`, `${event.elapsed.toFixed(1)} s`];
      fill(status, words.filter(Boolean).join(", "));
      if (event.rule) {
        found.prepend(el("li", {}, event.rule));
        while (found.children.length > 30) found.lastChild.remove();
      }
    });
    studio.job = null;
    if (end.cancelled) {
      fill(box);
      announce("Cancelled; nothing has changed.");
      document.querySelector('[data-focus="learn"]')?.focus();
      return;
    }
    if (studio.ended === job) return; // the section was drawn twice meanwhile
    studio.ended = job;
    const look_at = () => {
      took(end.result);
      studio.warnings = end.result.warnings;
      go("rules", true);
      announce(`Learned ${plural(model().rules.length, "rule")}. ${scoreText()}`);
    };
    // Nothing is exchanged under the hands of somebody who works elsewhere.
    if (app.section === "learn" && !drawer.open) look_at();
    else tell(el("div", { class: "note trouble" }, el("p", {}, `Learning has ended: ${plural(end.result.view.models[0].rules.length, "rule")}. Until you look at them, the model before stays on this page.`), button("Show them", () => { silence(); if (drawer.open) drawer.close(); look_at(); }, { class: "primary" })));
  } finally {
    studio.job = null;
    fill(box);
  }
});

const OTHERS = { majority: "Majority", "label set": "Most frequent label set", "one rule per label": "One rule per label", forest: "Random forest" };
const SHOWN_SCORES = ["micro_f1", "macro_f1", "subset_accuracy"];

// Scores of simple models and of a forest, once for a table; `heard` gets what is there so far.
async function loadReferences(heard) {
  if (studio.references) return studio.references;
  const begun = await ask("compare_with_others");
  if (begun.references) return (studio.references = begun.references);
  const end = await listen(begun.job, (event) => event.references && heard(event.references, "Growing a forest …"));
  return (studio.references = end.result?.references ?? null);
}

const SIMPLE_MODELS = ["majority", "label set", "one rule per label"];
const strongestSimple = (entries) =>
  entries.filter(({ name }) => SIMPLE_MODELS.includes(name)).reduce((best, one) => (!best || one.scores.micro_f1 > best.scores.micro_f1 ? one : best), null);

// What the forest says about the table, which is not always that there is more to be had.
function forestWords(entries) {
  const forest = entries.find(({ name }) => name === "forest");
  const simple = strongestSimple(entries);
  if (!forest || !simple) return "";
  if (forest.scores.micro_f1 === 0) return " The forest predicts no label here, so it shows nothing.";
  if (forest.scores.micro_f1 <= simple.scores.micro_f1) return ` The forest is no better than ${OTHERS[simple.name].toLowerCase()} here: these columns may say little about the labels, or the examples are too few.`;
  return " The forest shows what is reached if nobody needs to read the model.";
}

const compareWithOthers = trying(async (box) => {
  const draw_with = (entries, waiting) => {
    const mine = studio.hasModel && { name: "mine", words: "the model at hand", scores: heldOut().scores, interval: studio.interval };
    const rows = [mine, ...entries].filter(Boolean).map((one) =>
      el("tr", { class: one === mine ? "mine" : null },
        el("th", { scope: "row" }, one === mine ? `Your model, ${plural(model().rules.length, "rule")}` : OTHERS[one.name]),
        SHOWN_SCORES.map((name) => el("td", {}, el("b", {}, score(one.scores[name])), one.interval && el("div", { class: "soft nowrap" }, `${score(one.interval[name][0])} to ${score(one.interval[name][1])}`)))));
    fill(box,
      el("h3", {}, "Compared with others"),
      soft(`Scores on the held-out examples, with 95 % intervals. A model that is not clearly better than one rule per label has learned little.${forestWords(entries)}`),
      table("Scores of the model and of others", ["Model", ...SHOWN_SCORES.map((name) => MEASURE_WORDS[name])], rows, { class: "numbers" }),
      el("details", {}, el("summary", {}, "What the columns and rows are"),
        bullets([...SHOWN_SCORES.map((name) => [el("b", {}, MEASURE_WORDS[name]), `: ${MEASURE_HELP[name]}`]), ...entries.map((one) => [el("b", {}, OTHERS[one.name]), `: ${one.words}`])])),
      waiting && el("p", { class: "soft", role: "status" }, waiting));
  };
  draw_with(studio.references ?? [], studio.references ? null : "Scoring simple models …");
  await loadInterval();
  draw_with(studio.references ?? [], studio.references ? null : "Scoring simple models …");
  if (!studio.references) draw_with((await loadReferences(draw_with)) ?? [], null);
});

// How far the held-out scores of the model at hand could be off.
async function loadInterval() {
  if (!studio.hasModel || studio.interval) return;
  const { interval, at } = await ask("intervals");
  if (at === studio.history.at) studio.interval = interval;
}

// At the top of the rules: that the model is no better than what anybody would try first, and what to do about it.
const warnOfBaseline = trying(async (box) => {
  const at = studio.history.at;
  await loadInterval();
  const draw = (entries) => {
    if (at !== studio.history.at) return;
    const words = baselineWords(strongestSimple(entries));
    fill(box, words && el("section", { class: "note warn", "aria-label": "Worse than a baseline" },
      el("p", {}, words),
      el("p", {}, "What to try: ", tryButton("fewer, simpler rules", { simplicity: SIMPLICITIES.length - 1 }), ", ", tryButton("rules that are right more often", { min_precision: 10 }), ", ", tryButton("precision before recall", { balance: 1 }), "; other columns or more examples. ", forestWords(entries).trim())));
  };
  draw((await loadReferences(draw)) ?? []);
});

const tryButton = (words, wish) => button(words, () => {
  Object.assign((studio.wish ??= newWish()), { kind: "list" }, wish);
  go("learn", true);
}, { class: "link" });

function baselineWords(simple) {
  if (!simple || !heldOut()) return "";
  const { micro_f1: mine, micro_precision: right } = heldOut().scores;
  const other = `${OTHERS[simple.name].toLowerCase()} (${simple.words}) has ${score(simple.scores.micro_f1)}`;
  const share = right < 0.5 ? ` Of the labels that it predicts, ${percent(right)} are right.` : "";
  if (mine < simple.scores.micro_f1) return `On the held-out examples the model is worse than a baseline: its micro F1 is ${score(mine)}, and ${other}.${share}`;
  if (studio.interval && studio.interval.micro_f1[0] <= simple.scores.micro_f1) return `On the held-out examples the model is not clearly better than a baseline: its micro F1 is ${score(mine)} (${score(studio.interval.micro_f1[0])} to ${score(studio.interval.micro_f1[1])}), and ${other}.${share}`;
  return "";
}
