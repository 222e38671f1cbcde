// Numbers and rules in words.

const AT_MOST = 0,
  ABOVE = 1,
  CATEGORY = 2,
  LABEL = 3,
  IN = 4,
  MISSING = 5,
  GROUP = 6;

const whole = (number) => number.toLocaleString("en-US");
const percent = (share, digits = 0) => `${(100 * share).toFixed(digits)}\u202f%`;
const score = (value) => value.toFixed(3);
const plural = (count, one, many = `${one}s`) => `${whole(count)} ${count === 1 ? one : many}`;

// Five significant digits, for reading; more where the number would else cross one of `cuts`.
function short(number, cuts = []) {
  for (let digits = 5; digits < 17; digits++) {
    const rounded = Number(number.toPrecision(digits));
    if (cuts.every((cut) => rounded <= cut === number <= cut)) return String(rounded);
  }
  return String(number);
}

// Numbers of a feature that the page shows as thresholds.
function cutsOf(feature) {
  if (feature.cuts) return feature.cuts;
  const slot = data.features.indexOf(feature);
  const bodies = data.models.flatMap((one) => one.rules.flatMap((rule) => rule.body));
  return (feature.cuts = bodies
    .filter(([kind, index]) => (kind === AT_MOST || kind === ABOVE) && index === slot)
    .flatMap(([, , threshold, shown]) => [threshold, shown ?? threshold]));
}

function valueText(feature, value) {
  if (Number.isNaN(value)) return "missing";
  if (feature.kind === "numeric") return short(value, cutsOf(feature));
  return feature.categories ? (feature.categories[value] ?? "unknown category") : onScale(feature, value);
}

const dayText = (day) => new Date(Math.floor(day) * 86400000).toISOString().slice(0, 10);

// A threshold as people say it: a number, a day, or the category below it. Days count from 1970-01-01.
function onScale(feature, value) {
  if (feature.kind === "date") return dayText(value);
  return feature.categories ? feature.categories[Math.floor(value)] : String(value);
}

// In words, what lies below or above a threshold; nothing but one category at an end of the scale.
function sideOf(feature, kind, threshold) {
  if (feature.kind === "date") return [kind === AT_MOST ? "on or before" : "after", onScale(feature, threshold)];
  if (feature.categories) {
    const place = Math.floor(threshold) + (kind === ABOVE ? 1 : 0);
    const alone = place === (kind === ABOVE ? feature.categories.length - 1 : 0);
    return [alone ? "" : kind === ABOVE ? "at least" : "at most", feature.categories[place]];
  }
  return [kind === AT_MOST ? "at most" : "above", onScale(feature, threshold)];
}

const MEASURE_WORDS = {
  hamming_accuracy: "Hamming accuracy",
  hamming_loss: "Hamming loss",
  subset_accuracy: "Subset accuracy",
  micro_precision: "Micro precision",
  micro_recall: "Micro recall",
  micro_f1: "Micro F1",
  micro_jaccard: "Micro Jaccard",
  macro_precision: "Macro precision",
  macro_recall: "Macro recall",
  macro_f1: "Macro F1",
  macro_jaccard: "Macro Jaccard",
  example_precision: "Example precision",
  example_recall: "Example recall",
  example_f1: "Example F1",
  example_jaccard: "Example Jaccard",
};

const MEASURE_HELP = {
  hamming_accuracy: "share of all single label decisions that are right",
  subset_accuracy: "share of examples with every label right",
  micro_f1: "precision and recall in one, over all labels together",
  macro_f1: "F1 of each label, averaged, so that rare labels count as much as frequent ones",
  example_f1: "F1 of each example, averaged",
};

// Long names may break after these characters rather than anywhere.
const breakable = (name) =>
  String(name)
    .split(/(?<=[_.\-/:])/)
    .flatMap((piece, at) => (at ? [el("wbr"), piece] : [piece]));

// A label with its sign: a filled chip with a tick for present, a dashed one with a cross for absent.
function chip(name, value, attributes = {}) {
  const tag = attributes.on ? "button" : "span";
  const extra = tag === "button" ? { type: "button" } : {};
  return el(
    tag,
    { ...extra, ...attributes, class: `chip ${value ? "present" : "absent"} ${attributes.class ?? ""}` },
    el("span", { class: "sign", "aria-hidden": "true" }, value ? "✓" : "✕"),
    hidden(value ? "present: " : "absent: "),
    el("span", { class: "name" }, breakable(name)),
  );
}

function conditionParts([kind, index, value, shown], data) {
  if (kind === LABEL)
    return { name: data.labels[index], verb: value ? "was set present" : "was set absent", values: [], exact: "" };
  const feature = data.features[index];
  if (kind === CATEGORY) return { name: feature.name, verb: "is", values: [feature.categories[value]], exact: "" };
  if (kind === IN) {
    const names = value.map((code) => feature.categories[code]);
    return { name: feature.name, verb: "is one of", values: names, exact: "" };
  }
  if (kind === MISSING) return { name: feature.name, verb: value ? "is missing" : "is known", values: [], exact: "" };
  const [side, text] = sideOf(feature, kind, shown ?? value);
  const exact = feature.kind === "numeric" ? `exactly ${value}` : "";
  return { name: feature.name, verb: `is ${side}`.trim(), values: [text], exact };
}

function conditionText(condition, data) {
  const { name, verb, values } = conditionParts(condition, data);
  return `${name} ${verb} ${values.join(", ")}`.trim();
}

function conditionWords(condition, data) {
  const { name, verb, values, exact } = conditionParts(condition, data);
  return el(
    "span",
    { class: condition[0] === LABEL ? "words on-label" : "words" },
    condition[0] === LABEL && el("span", { class: "kind" }, "label"),
    el("b", {}, breakable(name)),
    ` ${verb} `,
    values.map((value) => [el("span", { class: "value", title: exact || null }, value), " "]),
  );
}

function ruleText(rule, data) {
  const head = rule.head.map(([label, value]) => (value ? "" : "¬") + data.labels[label]).join(", ");
  const body = rule.body.map((condition) => conditionText(condition, data)).join(" and ") || "always";
  return `${head} if ${body}`;
}
