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
  fill(document.getElementById("title"), studio.file ? `${studio.file} – polyrule studio` : "polyrule studio");
  document.title = studio.file ? `${studio.file} – polyrule studio` : "polyrule studio";
}

function takeState(state) {
  Object.assign(studio, {
    file: state.file, project: state.project, waiting: state.waiting, looked: state.looked, ready: state.ready,
    findings: state.findings, examples: state.examples, labels: state.labels, job: state.job, onnx: state.onnx, references: null, warnings: null,
  });
  took(state);
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

build([
  ["data", "Data", dataSection],
  ["learn", "Learn", learnSection],
  ["rules", "Rules", workSection],
  ["labels", "Labels", labelsWhole],
  ["ask", "Ask", askSection],
  ["whatif", "What if", whatIfSection],
  ["compare", "Compare", compareSection],
  ["save", "Save", saveSection],
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
window.polyrule = { data, studio, readNumber, predict, examples };
