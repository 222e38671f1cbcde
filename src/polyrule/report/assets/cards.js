// One rule as a card: if these conditions hold, then these labels, and how often that was right.

const MOST_CHIPS = 14;

// The chips of a head; of a long one the first, and a button for the rest.
function chipBox(literals, draw) {
  const box = el("div", { class: "chips" }, literals.slice(0, MOST_CHIPS).map(draw));
  const rest = literals.slice(MOST_CHIPS);
  if (rest.length) {
    const more = button(`+ ${rest.length} more`, () => more.replaceWith(...rest.map(draw)), { class: "quiet" });
    box.append(more);
  }
  return box;
}

// Labels as a model says them, [label, said, truth], marked where they are right or wrong.
const judgedChips = (literals) =>
  el(
    "div",
    { class: "chips" },
    firstFew(literals, MOST_CHIPS, ([label, said, truth]) =>
      chip(data.labels[label], said, { class: truth === 2 ? "" : said === truth ? "is-right" : "is-wrong" }),
    ),
  );

const headChips = (rule, attributes = () => ({})) =>
  chipBox(rule.head, ([label, value]) => chip(data.labels[label], value, attributes(label)));

function bodyList(rule) {
  if (!rule.body.length)
    return el(
      "p",
      { class: "always" },
      model().kind === "ensemble" ? "Always applies." : "Always applies to what no earlier rule has set.",
    );
  return el(
    "ul",
    { class: "conditions" },
    rule.body.map((condition) =>
      el(
        "li",
        { class: condition[0] === GROUP ? "wide" : null },
        conditionWords(condition, data),
        condition[0] !== LABEL && condition[0] !== GROUP && histogram(data.features[condition[1]], { condition }),
      ),
    ),
  );
}

const agreement = () => (model().kind === "ensemble" ? [" agree, ", " do not"] : [" right, ", " wrong"]);
const UNITS = "Right and wrong count labels, one for each label that a rule sets in an example; covers counts examples.";

function partFigures(rule, part) {
  const found = figures(rule, part);
  const total = part >= 0 ? data.parts[part].examples : null;
  const learned = model().info?.weighted ? "When learned, in sample weights" : "When learned";
  const name = part >= 0 ? data.parts[part].title : learned;
  const words = agreement();
  if (part < 0 && model().kind === "ensemble")
    return rule.coverage !== null && soft(`covered ${whole(rule.coverage)} when learned`);
  return el(
    "div",
    { class: "figures" },
    el("h4", {}, name),
    verdictBar(found.right, found.wrong),
    el(
      "p",
      {},
      el("b", {}, whole(found.right)),
      words[0],
      el("span", { class: "nowrap" }, el("b", {}, whole(found.wrong)), words[1]),
      found.right + found.wrong > 0 && el("span", { class: "soft nowrap" }, ` (${precisionText(found)})`),
    ),
    aloneText(found) && soft(`alone right for ${aloneText(found)}`),
    total !== null && [
      meter(found.covers / Math.max(1, total)),
      soft(`covers ${whole(found.covers)} of ${plural(total, "example")}`),
    ],
  );
}

// What a rule is right on whatever earlier rules have set, if that is not what it adds to the list.
const aloneText = ({ right, wrong, alone }) =>
  alone && (alone[0] !== right || alone[1] !== wrong) ? `${whole(alone[0])} of ${whole(alone[0] + alone[1])}` : "";

function allFigures(rule) {
  return [...partNumbers().map((part) => partFigures(rule, part)), expectation(rule), doubt(rule)];
}

// What was not proved about a rule whose search was limited.
const doubt = (rule) =>
  rule.doubt && el("div", { class: "figures" }, el("h4", {}, "Limited search"), el("p", {}, rule.doubt));

// What to expect on new examples, beside counts on examples that the rule was chosen for.
function expectation(rule) {
  if (!isKnown(rule.expected)) return null;
  return el(
    "div",
    { class: "figures" },
    el("h4", {}, "On new examples"),
    el(
      "p",
      { title: "Estimated from answers that did not see the example's own labels; counts of training examples flatter." },
      "expect ",
      el("b", {}, shareText(rule.expected)),
      " right",
    ),
  );
}

function marks(rule) {
  return [
    rule.stop &&
      el(
        "span",
        { class: "badge", title: "When this rule sets a label, later rules are not tried for that example." },
        "stops here",
      ),
    rule.stale &&
      el(
        "span",
        { class: "badge hand", title: "An earlier rule was edited since this rule was counted." },
        "learned counts are those before the edit",
      ),
    rule.origin !== "learned" &&
      el("span", { class: "badge hand" }, rule.origin === "hand" ? "made by hand" : "edited by hand"),
  ];
}

// What people said about a rule: its name behind its number, and a comment.
const givenName = (rule) => rule.note?.name && el("span", { class: "rule-name" }, ` ${rule.note.name}`);
const ruleComment = (rule) => rule.note?.comment && el("p", { class: "comment" }, rule.note.comment);

// A rule by its name, or by its number alone where there are many.
const ruleLink = (number, words = `Rule ${whole(number + 1)}`, attributes = {}) =>
  button(words, () => openRule(number), { class: "link", ...attributes });
const numberLink = (number) => ruleLink(number, whole(number + 1), { "aria-label": `Rule ${number + 1}` });
const toExamples = { title: "Show the examples it covers" };

// What a rule says, its labels to be opened; the same words in a cell.
const openHead = (rule) => ruleHead(rule, (label) => ({ on: { click: () => openLabel(label) } }));
const bodyCell = (rule) =>
  el(
    "td",
    { class: "words-cell" },
    rule.body.length ? rule.body.map((condition) => el("div", {}, conditionWords(condition, data))) : "always",
  );
const verdict = (right, wrong) => [
  verdictBar(right, wrong),
  el("span", { class: "nowrap" }, `${whole(right)} right, ${whole(wrong)} wrong`),
];

function ruleCard(number, rules = model().rules) {
  const rule = rules[number];
  const id = freshId("rule");
  return el(
    "article",
    { class: "card rule", "aria-labelledby": id },
    el(
      "header",
      {},
      el("h3", { id }, ruleLink(number, undefined, toExamples), givenName(rule)),
      marks(rule),
      ruleComment(rule),
      rule.value !== null &&
        rule.value !== undefined &&
        el("span", { class: "soft value", title: `exactly ${rule.exact}` }, `${measureName()} ${score(rule.value)}`),
    ),
    el("div", { class: "if" }, el("h4", {}, "If"), bodyList(rule)),
    el("div", { class: "then" }, el("h4", {}, "then"), openHead(rule)),
    el("div", { class: "facts" }, allFigures(rule)),
  );
}

// One rule to a line: the same words, without pictures.
function ruleLine(number) {
  const rule = model().rules[number];
  const id = freshId("rule");
  const found = figures(rule);
  return el(
    "article",
    { class: "rule line", "aria-labelledby": id },
    el("h3", { id }, ruleLink(number, [hidden("Rule "), whole(number + 1)], toExamples)),
    el(
      "p",
      { class: "if" },
      hidden("If "),
      rule.body.length
        ? rule.body.map((condition, at) => [at ? ", " : "", conditionWords(condition, data)])
        : el("span", { class: "always" }, "always"),
    ),
    el("div", { class: "then" }, hidden("then "), openHead(rule), marks(rule)),
    found.right + found.wrong > 0
      ? soft(
          verdictBar(found.right, found.wrong),
          whole(found.right),
          agreement()[0],
          whole(found.wrong),
          agreement()[1],
          aloneText(found) && `, alone right for ${aloneText(found)}`,
          isKnown(rule.expected) && `, expect ${shareText(rule.expected)}`,
        )
      : soft(lastPart >= 0 ? "sets nothing here" : rule.coverage !== null && `covered ${whole(rule.coverage)} when learned`),
  );
}

const ruleHead = (rule, attributes) =>
  model().kind === "ensemble" ? weightChips(rule, attributes) : headChips(rule, attributes);
const measureName = () =>
  String(model().info.options?.measure ?? "value") + (model().info.options?.lift ? ", lifted" : "");

// What becomes of labels that no rule decides.
function defaultsNote(chosen) {
  if (chosen.kind === "ensemble") return note(decisionWords(chosen));
  const present = chosen.defaults.flatMap((value, label) => (value ? [label] : []));
  const words =
    present.length === 0
      ? "Labels that no rule sets are absent."
      : present.length === data.labels.length
        ? "Labels that no rule sets are present."
        : `Labels that no rule sets are absent, except for ${present.map((label) => data.labels[label]).join(", ")}, which are present.`;
  return note(words);
}
