// The sections of the studio, undo and redo, and where the work stood when the page was opened.

function drawTools() {
  const { undo: can_undo, redo: can_redo } = studio.history;
  fill(
    document.getElementById("tools"),
    studio.hasModel && [
      button("Undo", undo, { disabled: !can_undo, "data-focus": "undo", title: "Ctrl+Z" }),
      button("Redo", redo, { disabled: !can_redo, "data-focus": "redo", title: "Ctrl+Shift+Z" }),
    ],
    themeButton(),
  );
  document.title = studio.file ? `${studio.file} – polyrule studio` : "polyrule studio";
  fill(document.getElementById("title"), document.title);
}

function takeState({ view, history, problem, ...rest }) {
  Object.assign(studio, rest, { references: null, warnings: null });
  took({ view, history, problem });
}

const begin = trying(async () => takeState(await look("state")));

addEventListener("keydown", (event) => {
  if (!(event.ctrlKey || event.metaKey) || event.key.toLowerCase() !== "z" || drawer.open) return;
  if (event.target.closest("input:not([type=checkbox],[type=radio],[type=range]), textarea")) return;
  event.preventDefault();
  if (event.shiftKey) {
    if (studio.history.redo) redo();
  } else if (studio.history.undo) undo();
});

// A section that needs data, and most need a model, says so until there is one.
const needing = (aModel, id, words, draw) => [
  id,
  words,
  () => {
    const lack = !studio.ready ? needData() : aModel && !studio.hasModel ? needModel() : null;
    return lack ? [el("h2", { tabindex: "-1" }, words), lack] : draw();
  },
];

app.home = "./"; // else a link that is scrolled out of sight passes for one that skips content
build([
  ["data", "Data", dataSection],
  needing(false, "learn", "Learn", learnSection),
  needing(true, "rules", "Rules", workSection),
  needing(true, "labels", "Labels", labelsWhole),
  needing(true, "ask", "Ask", askSection),
  needing(true, "whatif", "What if", whatIfWhole),
  needing(true, "compare", "Compare", compareSection),
  needing(true, "predict", "Predict", predictSection),
  needing(true, "save", "Save", saveSection),
]);
app.section = named() ?? "data";
fill(document.getElementById("foot"), "Nothing leaves this machine: the studio answers this browser alone.");
begin().then(() => {
  if (!named()) {
    app.section = studio.hasModel ? "rules" : studio.ready ? "learn" : "data";
    show(false);
  }
});
// For tests and for the curious.
window.polyrule = { data, studio, complain, readNumber, predict, examples };
