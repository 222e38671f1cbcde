// What the model lives by: what it loses without a rule, or with a feature shuffled, and whether that would come back.

const FEW = 12;

function mattersSection() {
  const found = model().importance;
  const part = data.parts[found.part];
  return [
    el("h2", { tabindex: "-1" }, "What matters"),
    lead(`How far micro F1 falls on ${plural(found.examples, "example")} of the ${part.title.toLowerCase()} when a rule is left out, or when a feature's values are shuffled among the examples.`),
    soft(
      "The line across a bar is a 95\u202f% interval over resampled examples. Where it reaches zero, the effect may be chance.",
      found.resamples !== undefined &&
        ` “Comes back” is the share of ${whole(found.resamples)} models learned from resampled training data that test the feature, or have a rule with the same message; these models agree with this one on ${percent(found.agreement)} of all label decisions.`,
    ),
    part.unseen === false &&
      note("These are the training examples; on new ones the effects are usually smaller."),
    el(
      "div",
      { class: "grid two" },
      ranking("Features", found.features, found, (slot) => breakable(data.features[slot].name)),
      ranking("Rules", found.rules, found, (number) => ruleName(number)),
    ),
  ];
}

function ruleName(number) {
  const rule = model().rules[number];
  return [
    ruleLink(number),
    el("span", { class: "soft brief" }, ` ${ruleText(rule, data)}`),
  ];
}

const effectBar = (drop, low, high, at) =>
  el(
    "span",
    {
      class: drop < 0 ? "effect below" : "effect",
      "aria-hidden": "true",
      vars: { from: at(Math.min(0, drop)), to: at(Math.max(0, drop)), low: at(low), high: at(high), zero: at(0) },
    },
    el("span", { class: "amount" }),
    el("span", { class: "whisker" }),
  );

function ranking(title, rows, found, name) {
  const ends = rows.flatMap(([, drop, low, high]) => [drop, low, high]);
  const least = Math.min(0, ...ends),
    most = Math.max(0.001, ...ends);
  const at = (value) => `${(100 * (value - least)) / (most - least)}%`;
  const box = el("div", {});
  const show = (count) => {
    const lines = rows.slice(0, count).map(([index, drop, low, high, back]) =>
      rowOf(
        [name(index), effectBar(drop, low, high, at)],
        el(
          "td",
          { class: "number", title: `95 % interval ${signedScore(low)} to ${signedScore(high)}` },
          signedScore(drop),
          hidden(`, interval ${signedScore(low)} to ${signedScore(high)}`),
        ),
        found.resamples !== undefined && el("td", { class: "number" }, back === null ? "–" : percent(back)),
      ),
    );
    const rest = rows.length - count;
    fill(
      box,
      table(
        title,
        [
          title.replace(/s$/, ""),
          "Micro F1 lost",
          ...(found.resamples !== undefined ? ["Comes back"] : []),
        ],
        lines,
        { class: "numbers matters" },
      ),
      rest > 0 && button(`Show ${whole(rest)} more`, () => show(rows.length), { class: "quiet" }),
    );
  };
  show(FEW);
  return el(
    "section",
    { class: "ranking" },
    el("h3", {}, title),
    rows.length ? box : note(`There are no ${title.toLowerCase()} to rank.`),
  );
}

const signedScore = (value) => `${value < 0 ? "−" : ""}${Math.abs(value).toFixed(3)}`;
