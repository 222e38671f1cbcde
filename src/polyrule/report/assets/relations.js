// Relations between labels, decided as the library does (polyrule.relations.plan): every label has a margin, at least 0
// if it would be predicted alone. Groups choose their winners one after the other; then every relation holds.

function related(model, margins) {
  const { above, below, groups } = model.relations;
  const strength = below.map((labels) => labels.reduce((most, label) => Math.max(most, margins[label]), -Infinity));
  const possible = below.map(() => true);
  const forced = below.map(() => false);
  const winners = groups.map(([members, exactly]) => {
    const rank = members.map((label) => (possible[label] ? (forced[label] ? Infinity : strength[label]) : -Infinity));
    const winner = members[rank.indexOf(rank.reduce((a, b) => (b > a ? b : a)))];
    for (const label of members)
      if (label !== winner) for (const other of below[label]) possible[other] = false;
    if (exactly) for (const other of above[winner]) forced[other] = true;
    return winner;
  });
  const labels = Uint8Array.from(margins, (_, label) =>
    possible[label] && (forced[label] || strength[label] >= 0) ? 1 : 0,
  );
  return { labels, winners };
}

// Margins of a list, by which rule set each label (-1 for none).
const listMargins = (model, setter) =>
  Float64Array.from(setter, (rule, label) => model.relations.margins.at(rule)[label]);

// Why relations gave a label another value than it would have alone; null if they did not.
function relationReason(model, margins, label) {
  const { above, below, groups } = model.relations;
  const { labels, winners } = related(model, margins);
  const name = (other) => model.relations.names[other];
  const groupText = ([members, exactly]) => `${members.map(name).join(", ")}: ${exactly ? "exactly" : "at most"} one`;
  if (labels[label] === (margins[label] >= 0 ? 1 : 0)) return null;
  if (!labels[label]) {
    const at = groups.findIndex(([members], place) =>
      members.some((member) => member !== winners[place] && below[member].includes(label)),
    );
    const winner = winners[at];
    return `because ${name(winner)} is ${labels[winner] ? "present" : "more probable"} (${groupText(groups[at])})`;
  }
  const strongest = below[label].reduce((a, b) => (margins[b] > margins[a] ? b : a));
  if (margins[strongest] >= 0)
    return `because ${name(strongest)} ${labels[strongest] ? "is present" : "was found"} (${name(strongest)} => ${name(label)})`;
  const at = groups.findIndex(([, exactly], place) => exactly && above[winners[place]].includes(label));
  const winner = winners[at];
  return winner === label
    ? `because of ${groupText(groups[at])}`
    : `because ${name(winner)} is present (${name(winner)} => ${name(label)})`;
}

// Labels on whose margins a label depends.
function relatedLabels(model, label) {
  if (!model.relations) return [label];
  const { above, below, groups } = model.relations;
  const found = new Set([label]);
  for (const one of found) {
    for (const other of [...above[one], ...below[one]]) found.add(other);
    for (const [members] of groups) if (members.includes(one)) for (const other of members) found.add(other);
  }
  return [...found].sort((a, b) => a - b);
}

const relationWords = (model) => (model.stated?.length ? `Always: ${model.stated.join("; ")}.` : "");
