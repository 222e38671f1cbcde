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

function learnSection() {
  const wish = (studio.wish ??= { kind: "list", max_rules: NO_LIMIT, max_conditions: 3, simplicity: 3, balance: 2, points: 5, pinned: true });
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
  const pins = studio.hasModel && (model().kind === "ensemble") === (wish.kind === "scorecard") ? model().rules.filter((rule) => rule.note?.pinned).length : 0;
  const keep = tickBox(wish.pinned, (on) => (wish.pinned = on));
  return [
    el("fieldset", {}, el("legend", {}, "What to learn"),
      kind("list", "A rule list", "Rules that can be read one by one and changed by hand."),
      kind("scorecard", "A scorecard", "Rules whose points are added up; often more accurate, but no rule decides alone.")),
    range("Most rules:", "max_rules", 1, list ? NO_LIMIT : 30, (value) => (list && value >= NO_LIMIT ? "as many as pay" : String(value))),
    range("Most conditions in a rule:", "max_conditions", 1, 6, String),
    list && range("Simplicity:", "simplicity", 0, SIMPLICITIES.length - 1, (value) => (SIMPLICITIES[value] < 1 ? "more, finer rules" : SIMPLICITIES[value] > 1 ? "fewer, simpler rules" : "balanced") + ` (${SIMPLICITIES[value]})`),
    list && range("Precision or recall:", "balance", 0, BALANCES.length - 1, (value) => BALANCES[value][1]),
    !list && range("Most points of a label:", "points", 1, 10, String),
    pins > 0 && el("label", { class: "check" }, keep, ` keep ${plural(pins, "pinned rule")} ${list ? `and learn what ${pins === 1 ? "it leaves" : "they leave"} open` : "beside others, with points that fit together"}`),
    el("div", { class: "row" }, button("Learn", () => startLearning(wish, progress), { class: "primary", "data-focus": "learn" })),
  ];
}

const startLearning = trying(async (wish, progress) => {
  const list = wish.kind === "list";
  const asked = { kind: wish.kind, pinned: wish.pinned, max_conditions: wish.max_conditions, max_rules: list && wish.max_rules >= NO_LIMIT ? null : wish.max_rules };
  if (list) Object.assign(asked, { simplicity: SIMPLICITIES[wish.simplicity], balance: BALANCES[wish.balance][0] });
  else asked.points = wish.points;
  studio.job = (await ask("learn", asked)).job;
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
    took(end.result);
    studio.warnings = end.result.warnings;
    go("rules", true);
    announce(`Learned ${plural(model().rules.length, "rule")}. ${scoreText()}`);
  } finally {
    studio.job = null;
    fill(box);
  }
});

const OTHERS = { majority: "Majority", "label set": "Most frequent label set", "one rule per label": "One rule per label", forest: "Random forest" };
const SHOWN_SCORES = ["micro_f1", "macro_f1", "subset_accuracy"];

const compareWithOthers = trying(async (box) => {
  const draw_with = (entries, waiting) => {
    const mine = studio.hasModel && { name: "mine", words: "the model at hand", scores: heldOut().scores, interval: studio.interval };
    const rows = [mine, ...entries].filter(Boolean).map((one) =>
      el("tr", { class: one === mine ? "mine" : null },
        el("th", { scope: "row", title: one.words }, one === mine ? `Your model, ${plural(model().rules.length, "rule")}` : OTHERS[one.name]),
        SHOWN_SCORES.map((name) => el("td", {}, el("b", {}, score(one.scores[name])), one.interval && el("div", { class: "soft nowrap" }, `${score(one.interval[name][0])} to ${score(one.interval[name][1])}`)))));
    fill(box,
      el("h3", {}, "Compared with others"),
      soft("Scores on the held-out examples, with 95 % intervals. A model that is not clearly better than one rule per label has learned little; a forest shows what is possible if nobody needs to read it."),
      table("Scores of the model and of others", ["Model", ...SHOWN_SCORES.map((name) => MEASURE_WORDS[name])], rows, { class: "numbers" }),
      waiting && el("p", { class: "soft", role: "status" }, waiting));
  };
  draw_with(studio.references ?? [], studio.references ? null : "Scoring simple models …");
  if (studio.hasModel && !studio.interval) {
    const { interval, at } = await ask("intervals");
    if (at === studio.history.at) studio.interval = interval;
    draw_with(studio.references ?? [], studio.references ? null : "Scoring simple models …");
  }
  if (studio.references) return;
  const begun = await ask("compare_with_others");
  if (!begun.references) {
    const end = await listen(begun.job, (event) => event.references && draw_with(event.references, "Growing a forest …"));
    studio.references = end.result?.references ?? null;
  } else studio.references = begun.references;
  draw_with(studio.references ?? [], null);
});
