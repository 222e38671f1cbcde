// The sections of a report, the switch between models, printing.

const listed = [
  ["overview", "Overview", overview],
  ["rules", "Rules", browse],
  ["labels", "Labels", labelsSection],
  ["whatif", "What if", whatIf],
];
if (data.models.every((one) => one.importance)) listed.splice(2, 0, ["matters", "What matters", mattersSection]);
if (data.models.some((one) => one.groups)) listed.push(["groups", "Groups", groupsSection]);
if (data.models.some((one) => storyOf(one).length || lastWordsOf(one).length)) listed.push(["story", "History", storySection]);
if (data.models.length > 1) listed.push(["compare", "Compare", compareSection]);

function chooseModel(index) {
  app.model = index;
  app.filter = null;
  app.flip = null;
  drawn.clear();
  show(false);
}

document.getElementById("title").textContent = data.title;
build(listed);
fill(
  document.getElementById("tools"),
  data.models.length > 1 &&
    field(
      "Model",
      select(
        data.models.map((one, index) => [index, one.name]),
        0,
        (index) => chooseModel(Number(index)),
      ),
      { class: "field inline" },
    ),
  themeButton(),
);
fill(document.getElementById("foot"), `Made with ${data.generator}. This file needs no network.`);
// Print everything: all sections, all rules that pass the filter.
addEventListener("beforeprint", () => {
  app.printing = true;
  for (const [id] of SECTIONS) draw(id);
  app.showRules?.();
  for (const holder of holders.values()) holder.hidden = false;
  for (const details of document.querySelectorAll("#section-overview details")) details.open = true;
});
addEventListener("afterprint", () => {
  app.printing = false;
  app.showRules?.();
  show(false);
});
app.section = named() ?? SECTIONS[0][0];
show(false);
// "#rule-12" opens a rule, so that people can point each other to it.
const wanted = /^#rule-(\d+)$/.exec(location.hash);
if (wanted && model().rules[wanted[1] - 1]) {
  go("rules");
  openRule(wanted[1] - 1);
}
// For tests and for the curious: everything the page can compute, without the page.
window.polyrule = { data, predict, outcome, smallestFlip, relationReason, examples, filterRules, noFilter };
