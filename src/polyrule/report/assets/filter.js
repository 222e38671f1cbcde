// Which rules are shown, and in what order.

const ORDERS = {
  list: ["List order", () => 0],
  coverage: ["Covers most", (rule) => -firstFigures(rule).covers],
  right: ["Most right", (rule) => -figures(rule).right],
  wrong: ["Most wrong", (rule) => -figures(rule).wrong],
  precision: ["Highest precision", (rule) => -precision(figures(rule))],
  imprecise: ["Lowest precision", (rule) => precision(figures(rule))],
  expected: ["Highest expected precision", (rule) => -(rule.expected ?? 0)],
  labels: ["Most labels", (rule) => -rule.head.length],
  conditions: ["Most conditions", (rule) => -plainTests(rule.body).length],
};

// Many rules are first seen one to a line.
const MANY_RULES = 12;
const noFilter = () => ({
  text: "",
  label: "",
  feature: "",
  sign: "",
  coverage: 0,
  order: "list",
  view: model().rules.length > MANY_RULES ? "lines" : "cards",
});

function filterRules(rules, filter) {
  const words = filter.text.toLowerCase().split(/\s+/).filter(Boolean);
  const kept = [];
  rules.forEach((rule, number) => {
    if (passes(rule, number, filter, words)) kept.push(number);
  });
  const key = ORDERS[filter.order][1];
  return kept.sort((a, b) => key(rules[a]) - key(rules[b]) || a - b);
}

function passes(rule, number, filter, words) {
  const label = filter.label === "" ? null : Number(filter.label);
  const sign = filter.sign === "" ? null : Number(filter.sign);
  const literal = ([index, value]) => (label === null || index === label) && (sign === null || value === sign);
  const tested =
    label !== null && sign === null && rule.body.some(([kind, index]) => kind === LABEL && index === label);
  if ((label !== null || sign !== null) && !rule.head.some(literal) && !tested) return false;
  if (filter.feature !== "" && !featureTests(rule.body).some(([, index]) => index === Number(filter.feature)))
    return false;
  if (firstFigures(rule).covers < filter.coverage) return false;
  if (!words.length) return true;
  rule.searchText ??= `rule ${number + 1} ${ruleText(rule, data)}`.toLowerCase();
  return words.every((word) => rule.searchText.includes(word));
}
