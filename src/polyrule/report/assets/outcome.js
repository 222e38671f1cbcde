// What the rules make of the example in the what-if view: labels, why, and the smallest change that flips one.

function outcomeView(state, changed) {
  const chosen = model();
  const result = predict(app.model, state.values);
  const before = predict(app.model, state.original);
  const truth = state.row === null ? null : examples.truth(state.row);
  const order = [...data.labels.keys()].sort((a, b) => result.labels[b] - result.labels[a] || a - b);
  const wrong = truth && data.labels.filter((_, label) => isWrong(result.labels[label], truth[label])).length;
  return [
    el("h3", {}, `${plural(result.labels.reduce((sum, value) => sum + value, 0), "label")} present`),
    truth &&
      soft(
        wrong
          ? `${plural(wrong, "label")} differ${wrong === 1 ? "s" : ""} from the truth of this example.`
          : truth.includes(2) ? "All known labels agree with the truth of this example." : "All labels agree with the truth of this example.",
      ),
    chosen.kind === "ensemble" && soft(decisionWords(chosen)),
    relationWords(chosen) && soft(relationWords(chosen)),
    app.flip && flipView(app.flip, state, changed),
    el("ul", { class: "label-list" }, order.map((label) => labelLine(label, result, before, truth, state, changed))),
    chosen.kind === "ensemble" ? null : trace(result, chosen, state),
    nearView(chosen, state),
  ];
}

function labelLine(label, result, before, truth, state, changed) {
  const chosen = model();
  const flipped = result.labels[label] !== before.labels[label];
  const reason = result.margins && relationReason(chosen, result.margins, label);
  return el(
    "li",
    { class: flipped ? "flipped" : null },
    chip(data.labels[label], result.labels[label], { on: { click: () => openLabel(label) } }),
    chosen.kind === "ensemble" ? sumLine(chosen, result, label) : setterLine(result, label),
    reason && el("span", { class: "soft" }, reason),
    flipped && el("span", { class: "badge" }, "changed"),
    truth &&
      isWrong(result.labels[label], truth[label]) &&
      el("span", { class: "badge wrong" }, `truth: ${truth[label] ? "present" : "absent"}`),
    truth && truth[label] === 2 && el("span", { class: "badge" }, "truth: unknown"),
    button("Flip", () => findFlip(label, state, changed), {
      class: "quiet small",
      "data-label": label,
      "aria-label": `Smallest change that flips ${data.labels[label]}`,
    }),
  );
}

// Search in slices of a few milliseconds; large lists can have hard questions.
function findFlip(label, state, changed) {
  const search = searchFlip(model(), data.features, Float64Array.from(state.values), label);
  const mine = (app.flip = { label, searching: true, explored: 0 });
  const slice = () => {
    if (app.flip !== mine) return;
    const until = performance.now() + 40;
    let step = search.next();
    while (!step.done && performance.now() < until) step = search.next();
    if (!step.done) {
      if (mine.explored === 0) changed();
      mine.explored = step.value;
      const count = document.querySelector(".flip .tried");
      if (count) count.textContent = whole(mine.explored);
      setTimeout(slice);
      return;
    }
    app.flip = step.value;
    changed();
    document.querySelector(".flip h4")?.focus();
  };
  slice();
}

function setterLine(result, label) {
  const rule = result.setter[label];
  return rule < 0
    ? el("span", { class: "soft" }, "default")
    : ruleLink(rule, `rule ${whole(rule + 1)}`);
}

function flipView(flip, state, changed) {
  // When the card is gone, the keyboard goes on at the label it was about.
  const focusLabel = () => document.querySelector(`.label-list [data-label="${flip.label}"]`)?.focus();
  const name = data.labels[flip.label];
  const becomes = flip.becomes ? "present" : "absent";
  const close = button(
    flip.searching ? "Stop" : "Dismiss",
    () => {
      app.flip = null;
      changed();
      focusLabel();
    },
    { class: "quiet" },
  );
  if (flip.searching)
    return el(
      "div",
      { class: "flip card" },
      el("h4", { tabindex: "-1" }, `Searching the smallest change for ${name}`),
      soft(el("span", { class: "tried" }, "0"), " possibilities tried"),
      close,
    );
  if (!flip.changes) {
    const words = flip.exact
      ? `${name} cannot become ${becomes}, whatever the features are.`
      : `No change that makes ${name} ${becomes} was found in ${whole(flip.explored)} tries.`;
    return el("div", { class: "flip card" }, el("h4", { tabindex: "-1" }, words), close);
  }
  const apply = () => {
    for (const { values } of flip.changes) for (const [slot, value] of values) state.values[slot] = value;
    app.flip = null;
    changed();
    focusLabel();
  };
  return el(
    "div",
    { class: "flip card" },
    el("h4", { tabindex: "-1" }, `Smallest change that makes ${name} ${becomes}`),
    el(
      "ul",
      { class: "plain" },
      flip.changes.map((change) =>
        el(
          "li",
          {},
          el("b", {}, change.name),
          ` ${change.asked} `,
          el("span", { class: "soft" }, `(now ${change.now})`),
        ),
      ),
    ),
    soft(`No smaller change does it: fewest features first, then fewest thresholds crossed.`),
    el("p", { class: "row" }, button("Apply", apply, { class: "primary" }), close),
  );
}

function trace(result, chosen, state) {
  const idle = result.fired.filter(({ newly }) => !newly.length).map(({ rule }) => rule);
  return [
    el("h3", {}, "What happened"),
    result.fired.length
      ? el(
          "ol",
          { class: "trace" },
          result.fired
            .filter(({ newly }) => newly.length)
            .map(({ rule, newly }) =>
              el(
                "li",
                {},
                ruleLink(rule),
                " fired",
                " and set ",
                firstFew(newly, 10, (label) => [chip(data.labels[label], result.alone[label]), " "]),
                result.stopped === rule && el("span", { class: "badge" }, "stopped here"),
              ),
            ),
        )
      : soft("No rule fired; every label has its default."),
    idle.length > 0 &&
      soft(`${plural(idle.length, "more rule")} fired, but their labels were set already: `, ruleLinks(idle)),
  ];
}

// Of a group that lacks one member, those that would do are what a reader wants to know.
function missingWords(failed, values) {
  if (failed[0] !== GROUP) return [" needs ", conditionWords(failed, data)];
  const [, least, members] = failed;
  const lacking = least - membersHeld(members, values);
  const more = lacking === 1 ? "one" : lacking;
  const needs = lacking < least ? ` needs ${more} more of these: ` : " needs ";
  return [needs, conditionWords(failed, data, values)];
}

function nearView(chosen, state) {
  const misses = nearMisses(chosen, state.values).slice(0, 5);
  return [
    misses.length > 0 && [
      el("h3", {}, "Nearly fired"),
      el(
        "ul",
        { class: "trace" },
        misses.map(({ rule, failed, news }) =>
          el(
            "li",
            {},
            ruleLink(rule),
            missingWords(failed, state.values),
            " to make it ",
            firstFew(news, 6, ([label, value]) => [chip(data.labels[label], value), " "]),
          ),
        ),
      ),
    ],
  ];
}
