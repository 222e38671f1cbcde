// Numbers and rules in words.

const AT_MOST = 0,
  ABOVE = 1,
  CATEGORY = 2,
  LABEL = 3,
  IN = 4,
  MISSING = 5;

const whole = (number) => number.toLocaleString("en-US");
const percent = (share, digits = 0) => `${(100 * share).toFixed(digits)}\u202f%`;
const score = (value) => value.toFixed(3);
const plural = (count, one, many = `${one}s`) => `${whole(count)} ${count === 1 ? one : many}`;

// At most five significant digits, for reading; the exact number is in the tooltip wherever this is used.
function short(number) {
  if (Number.isNaN(number)) return "missing";
  if (Number.isInteger(number)) return Math.abs(number) < 1e6 ? String(number) : number.toPrecision(4);
  return String(Number(number.toPrecision(5)));
}

function valueText(feature, value) {
  if (Number.isNaN(value)) return "missing";
  if (!feature.categories) return onScale(feature, value);
  return feature.categories[value] ?? "unknown category";
}

// A threshold as people say it: a number, a day, or the category below it. Days count from 1970-01-01.
function onScale(feature, value) {
  if (feature.kind === "date") return new Date(Math.floor(value) * 86400000).toISOString().slice(0, 10);
  return feature.categories ? feature.categories[Math.floor(value)] : short(value);
}

// In words, what lies below or above a threshold.
function sideOf(feature, kind, threshold) {
  if (feature.kind === "date") return [kind === AT_MOST ? "on or before" : "after", onScale(feature, threshold)];
  if (feature.categories && kind === ABOVE) return ["at least", onScale(feature, threshold + 1)];
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

function conditionParts([kind, index, value], data) {
  if (kind === LABEL)
    return { name: data.labels[index], verb: value ? "was set present" : "was set absent", value: "", exact: "" };
  const feature = data.features[index];
  if (kind === CATEGORY) return { name: feature.name, verb: "is", value: feature.categories[value], exact: "" };
  if (kind === IN) {
    const names = value.map((code) => feature.categories[code]).join(", ");
    return { name: feature.name, verb: "is one of", value: names, exact: "" };
  }
  if (kind === MISSING) return { name: feature.name, verb: value ? "is missing" : "is known", value: "", exact: "" };
  const [side, text] = sideOf(feature, kind, value);
  const exact = feature.kind === "numeric" ? String(value) : "";
  return { name: feature.name, verb: `is ${side}`, value: text, exact };
}

function conditionText(condition, data) {
  const { name, verb, value } = conditionParts(condition, data);
  return `${name} ${verb} ${value}`.trim();
}

function conditionWords(condition, data) {
  const { name, verb, value, exact } = conditionParts(condition, data);
  return el(
    "span",
    { class: condition[0] === LABEL ? "words on-label" : "words" },
    condition[0] === LABEL && el("span", { class: "kind" }, "label"),
    el("b", {}, breakable(name)),
    ` ${verb} `,
    value !== "" && el("span", { class: "value", title: exact || null }, value),
  );
}

function ruleText(rule, data) {
  const head = rule.head.map(([label, value]) => (value ? "" : "¬") + data.labels[label]).join(", ");
  const body = rule.body.map((condition) => conditionText(condition, data)).join(" and ") || "always";
  return `${head} if ${body}`;
}
