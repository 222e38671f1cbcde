// Groups: who is found, who is missed and who gets a false alarm, by the values of one column.

const GROUP_MEASURES = {
  coverage: "share that is predicted",
  precision: "share of predictions that are right",
  recall: "share of present labels that are predicted",
  "false alarms": "share of absent labels that are predicted",
};

function groupsSection() {
  const { groups } = model();
  const heading = el("h2", { tabindex: "-1" }, "Groups");
  if (!groups) return [heading, note("This model was not counted in groups.")];
  const box = el("div", { class: "grid" });
  const draw = (label) => fill(box, groupTable(groups, label));
  const control = select(Object.keys(groups.labels).map((name) => [name, name]), "all labels", draw);
  draw("all labels");
  return [
    heading,
    lead(`Examples of the ${data.parts[lastPart].title.toLowerCase()}, grouped by ${groups.column}.`),
    el("div", { class: "filters" }, field("Label", control)),
    box,
    bullets(Object.entries(GROUP_MEASURES).map(([name, words]) => [el("b", {}, name[0].toUpperCase() + name.slice(1)), `: ${words}`])),
    soft(`Intervals are 95 % Wilson intervals. Shares of fewer than ${groups.small} examples are marked “few”. Difference: largest share less smallest. Ratio: smallest by largest.`),
    groups.rules.length > 0 && groupRules(groups),
  ];
}

function shareCell([hits, total, low, high], small) {
  if (!total) return el("td", { class: "soft" }, "none");
  return el("td", {}, meter(hits / total), el("span", { class: "nowrap" }, el("b", {}, percent(hits / total, 1)), el("span", { class: "soft" }, ` ${percent(low)} to ${percent(high)}`)),
    el("div", { class: "soft nowrap" }, `${whole(hits)} of ${whole(total)}`, total < small && [" ", el("span", { class: "badge" }, "few")]));
}

function groupTable(groups, label) {
  const found = groups.labels[label];
  const names = Object.keys(GROUP_MEASURES);
  const rows = groups.groups.map((group, at) =>
    rowOf([breakable(group), el("div", { class: "soft nowrap" }, plural(groups.sizes[at], "example"))], ...names.map((name) => shareCell(found[name][at], groups.small))));
  const gap = (value) => el("td", { class: "number" }, value === null ? "none" : score(value));
  rows.push(rowOf("Difference", ...names.map((name) => gap(found.difference[name]))), rowOf("Ratio", ...names.map((name) => gap(found.ratio[name]))));
  return table(`${label} by ${groups.column}`, [groups.column, ...names.map((name) => name[0].toUpperCase() + name.slice(1))], rows, { class: "numbers" });
}

// Rules whose precision differs most between groups come first.
function groupRules(groups) {
  const shares = (one) => one.precision.filter(([, total]) => total >= groups.small).map(([hits, total]) => hits / total);
  const gap = (one) => (shares(one).length > 1 ? Math.max(...shares(one)) - Math.min(...shares(one)) : -1);
  const order = [...groups.rules.keys()].sort((a, b) => gap(groups.rules[b]) - gap(groups.rules[a]) || a - b).slice(0, 20);
  return el("section", {}, el("h3", {}, "Rules"),
    soft("How often each rule is right about the examples that its conditions hold for, by group; the largest differences first."),
    table("Rules by group", ["Rule", "If", ...groups.groups], order.map((number) => rowOf(numberLink(number), bodyCell(model().rules[number]), ...groups.rules[number].precision.map((share) => shareCell(share, groups.small)))), { class: "numbers" }));
}
