// Numbers and rules in words.

const AT_MOST = 0,
  ABOVE = 1,
  CATEGORY = 2,
  LABEL = 3,
  IN = 4,
  MISSING = 5,
  GROUP = 6; // [GROUP, how many members must hold, members, name, which members part 0 from 1]

// The conditions of a body, the members of a group instead of the group.
const plainTests = (body) => body.flatMap((condition) => (condition[0] === GROUP ? condition[2] : [condition]));
const featureTests = (body) => plainTests(body).filter(([kind]) => kind !== LABEL);

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
  const bodies = data.models.flatMap((one) => one.rules.flatMap((rule) => plainTests(rule.body)));
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
};
for (const average of ["Micro", "Macro", "Example"])
  for (const ratio of ["precision", "recall", "F1", "Jaccard"])
    MEASURE_WORDS[`${average}_${ratio}`.toLowerCase()] = `${average} ${ratio}`;

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
  if (feature.item && (kind === ABOVE || kind === AT_MOST))
    return { name: feature.of, verb: kind === ABOVE ? "has" : "lacks", values: [feature.item], exact: "" };
  const bare = !data.labels.includes(feature.name) && bareParts(kind, feature, value, feature.flag && value >= 0 && value < 1);
  if (bare && (feature.flag || feature.categories.join(" ") === FLAGS[0])) return bare;
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

const FLAGS = ["0 1", "no yes", "n y", "false true", "absent present"];

// A member of a group that only says that something is there, or is not, is known by its name alone; so is any condition
// on a feature of 0 and 1 that no label is called like.
function memberParts(member, counted, data) {
  const [kind, index, value] = member;
  const feature = data.features[index];
  if (feature.item) return conditionParts(member, data);
  return bareParts(kind, feature, value, counted && feature.kind === "numeric") || conditionParts(member, data);
}

function bareParts(kind, feature, value, counted) {
  const flag = kind === CATEGORY && FLAGS.includes(feature.categories.join(" ").toLowerCase());
  if (!flag && !(counted && (kind === ABOVE || kind === AT_MOST))) return null;
  const there = flag ? value === 1 : kind === ABOVE;
  return { name: `${there ? "" : "not "}${feature.name}`, verb: "", values: [], exact: "" };
}

const leastWords = (least) => (least === 1 ? "any of" : `at least ${least} of`);

function conditionText(condition, data) {
  if (condition[0] === GROUP) {
    const [, least, members, name, counted] = condition;
    const words = members.map((member, at) => wordsOf(memberParts(member, counted[at], data)));
    return `${leastWords(least)} ${name ? `${name} ` : ""}(${words.join(", ")})`;
  }
  return wordsOf(conditionParts(condition, data));
}

const wordsOf = ({ name, verb, values }) => `${name} ${verb} ${values.join(", ")}`.trim();

const partNodes = ({ name, verb, values, exact }) => [
  el("b", {}, breakable(name)),
  verb ? ` ${verb} ` : "",
  values.map((value) => [el("span", { class: "value", title: exact || null }, value), " "]),
];

// A condition as people read it; with the values of an example, the members of a group show whether they hold.
function conditionWords(condition, data, values = null) {
  if (condition[0] === GROUP) return groupWords(condition, data, values);
  return el(
    "span",
    { class: condition[0] === LABEL ? "words on-label" : "words" },
    condition[0] === LABEL && el("span", { class: "kind" }, "label"),
    partNodes(conditionParts(condition, data)),
  );
}

function groupWords([, least, members, name, counted], data, values) {
  return el(
    "span",
    { class: "words group" },
    `${leastWords(least)} `,
    name && el("span", { class: "group-name" }, name, " "),
    members.map((member, at) => {
      const holds = values && satisfies(member, values, []);
      return [
        el(
          "span",
          { class: values ? `member ${holds ? "holds" : "fails"}` : "member" },
          values && el("span", { class: "sign", "aria-hidden": "true" }, holds ? "✓" : "✕"),
          values && hidden(holds ? "holds: " : "does not hold: "),
          partNodes(memberParts(member, counted[at], data)),
        ),
        " ",
      ];
    }),
  );
}

function ruleText(rule, data) {
  const head = rule.head
    .map(([label, value, , , weight]) => (weight === undefined ? (value ? "" : "not ") + data.labels[label] : `${data.labels[label]} ${weightText(weight)}`))
    .join(" and ");
  const body = rule.body.map((condition) => conditionText(condition, data)).join(" and ");
  return body ? `If ${body}, then ${head}` : `Always ${head}`;
}
