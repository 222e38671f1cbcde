// Predict: drop a table of new examples, see what the model says about each and why, take it away.

function predictSection() {
  const box = el("div", { class: "grid" });
  const show = (found) => drawPredictions(found, box);
  if (studio.predicts) loadPredictions(0, box);
  return [
    el("h2", { tabindex: "-1" }, "Predict"),
    lead("Drop a table with the same columns; it needs no labels. Each row gets its labels and the rules that are the reason."),
    studio.predicts ? el("details", {}, el("summary", {}, "Predict another table"), dropZone("predict", show)) : dropZone("predict", show),
    box,
  ];
}

const loadPredictions = trying(async (start, box) => drawPredictions(await ask("new_rows", { start }), box));

function drawPredictions(found, box) {
  studio.predicts = true;
  const { file, examples: total, labelled, notes, labels, rows, start } = found;
  const to = (first) => () => loadPredictions(first, box);
  const judged = labelled && table("Scores on these examples", Object.keys(found.scores).map((name) => MEASURE_WORDS[name]),
    [el("tr", {}, Object.entries(found.scores).map(([name, value]) => scoreCell(value, found.interval[name])))], { class: "numbers" });
  fill(box,
    el("div", { class: "row" }, el("h3", { tabindex: "-1" }, `${file}: ${plural(total, "example")}`),
      el("a", { href: "save/new-predictions.csv", download: "predictions.csv", class: "file" }, el("b", {}, "Download with reasons"), el("span", { class: "soft" }, "predictions.csv"))),
    noteBox("About the new table", notes),
    labelled && titled("Scores", soft("The table has labels, so the predictions can be scored. If nobody has looked at it before and the model is final, give it under Compare, A last word: these scores are then kept with the model."), judged),
    table("Predictions", ["Example", "Labels and why", ...(labelled ? ["Truth differs"] : [])], rows.map((row) => rowOf(row.name,
      row.labels.length ? el("ul", { class: "plain" }, row.labels.map(([label, why]) => el("li", {}, chip(data.labels[label], 1), el("span", { class: "soft" }, ` ${why}`))), row.more > 0 && el("li", { class: "soft" }, `and ${row.more} more`)) : el("span", { class: "soft" }, "no label"),
      ...(labelled ? [el("div", { class: "chips" }, firstFew(row.wrong, 10, ([label, truth]) => chip(data.labels[label], truth, { class: "truth" })))] : [])))),
    el("p", { class: "row" }, total > rows.length && pager(start, start + rows.length, total, 25, "", to), el("span", { class: "soft" }, `${whole(start + 1)} to ${whole(start + rows.length)} of ${plural(total, "example")}`)),
    titled("How often each label is predicted", table("How often each label is predicted", ["Label", "Here", "In the training data"],
      labels.map(([count, share, before], label) => rowOf(breakable(data.labels[label]), `${whole(count)} (${percent(share)})`, percent(before))), { class: "numbers" })));
  box.querySelector("h3").focus();
}
