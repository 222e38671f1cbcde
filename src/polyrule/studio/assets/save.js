// Save: the files to take away, and the history of the model.

const SAVED = [
  ["model.json", "The model", "with its history, names and comments; every polyrule command reads it"],
  ["report.html", "The report", "one page to pass on that needs nothing else"],
  ["script.py", "A Python script", "that repeats every step with the library"],
  ["predictions.csv", "Predictions", "of every example, with the truth beside them"],
  ["rules.txt", "The rules as text", "to paste into a document"],
  ["model.sql", "SQL", "one query that predicts"],
  ["model.py", "Python code", "that needs nothing but Python"],
  ["model.js", "JavaScript", "for a web page"],
  ["model.c", "C", "for small machines"],
  ["model.onnx", "ONNX", "for any runtime of that format"],
];

function saveSection() {
  const opened = studio.history.versions[0]?.what === "opened a model";
  const made = SAVED.filter(([name]) => name !== "model.onnx" || studio.onnx);
  const files = opened ? [...made, ["opened.json", "The model as it was opened", "which the script begins with"]] : made;
  return [
    el("h2", { tabindex: "-1" }, "Save"),
    lead(studio.project ? `The work itself is saved after every change, in ${studio.project}. Take away what you need:` : "Take away what you need:"),
    el("ul", { class: "files" }, files.map(([name, words, help]) => el("li", {}, el("a", { href: `save/${name}`, download: name, class: "file" }, el("b", {}, words), el("span", { class: "soft" }, name)), el("span", { class: "soft" }, help)))),
    !studio.onnx && soft("For ONNX, too, install its package beside polyrule: pip install \"polyrule[onnx]\"."),
    historyList(),
  ];
}

const MOST_VERSIONS = 300;

function historyList() {
  const { versions, at } = studio.history;
  const path = new Set(pathHere().map((one) => one.number));
  const list = el("ol", { class: "history", reversed: true });
  const count = el("p", { class: "soft", role: "status" });
  const draw = (text) => {
    studio.findVersion = text;
    const words = text.toLowerCase().split(/\s+/).filter(Boolean);
    const found = [...versions].reverse().filter((one) => {
      const all = `${one.number + 1} ${one.what} ${one.why} ${one.by}`.toLowerCase();
      return words.every((word) => all.includes(word));
    });
    const shown = found.slice(0, MOST_VERSIONS);
    fill(list, shown.map((one) => versionEntry(one, at, path)));
    fill(count, words.length > 0 && `${plural(found.length, "version")} of ${whole(versions.length)}. `, found.length > shown.length && `The latest ${MOST_VERSIONS} are shown.`);
  };
  draw(studio.findVersion ?? "");
  return titled("History",
    soft("Every version stays. Going back and changing something begins a branch; nothing is lost."),
    versions.length > 5 && el("div", { class: "filters" }, field("Find a version", searchBox(studio.findVersion ?? "", draw, "rule, reason, name"))),
    count,
    list);
}

const versionEntry = (one, at, path) =>
  el("li", { class: one.number === at ? "here" : path.has(one.number) ? "on-path" : "aside", value: one.number + 1 },
    el("p", {}, one.what, one.number === at && [" ", el("span", { class: "badge" }, "at hand")], !path.has(one.number) && [" ", el("span", { class: "badge" }, "another branch")]),
    one.why && el("p", { class: "why" }, `Why: ${one.why}`),
    el("p", { class: "soft row" }, `${one.by ? `${one.by}, ` : ""}${new Date(one.when).toLocaleString()}, ${plural(one.rules, "rule")}${one.scores ? `, micro F1 held out ${score(one.scores[1])}` : ""}`,
      one.number !== at && button("Go to this version", () => goToVersion(one.number), { class: "quiet small", "data-focus": `go-${one.number}`, "aria-label": `Go to version ${one.number + 1}` })));

const goToVersion = trying(async (version) => {
  took(await ask("go_to", { version }));
  announce(`Version ${version + 1} is at hand. ${scoreText()}`);
});
