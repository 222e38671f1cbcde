// Talking to the server: questions, answers, what goes wrong, and the model that the page looks at.

const studio = { file: null, ready: false, history: { at: -1, versions: [], undo: false, redo: false }, why: "" };

async function answerOf(response) {
  const told = await response.json().catch(() => ({ error: "The studio's answer could not be read." }));
  if (!response.ok) throw new Error(told.error ?? "The studio could not do that.");
  return told;
}

async function reach(address, options) {
  try {
    return await fetch(address, options);
  } catch {
    throw new Error("The studio does not answer. Is it still running in its terminal? Everything up to the last change is saved.");
  }
}

const ask = async (name, value = {}) =>
  answerOf(
    await reach(`api/${name}`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify(value),
    }),
  );

const look = async (name) => answerOf(await reach(`api/${name}`));

// Run something that may fail; what went wrong is said over the page, and nothing is lost.
function trying(work) {
  return async (...args) => {
    try {
      silence();
      return await work(...args);
    } catch (error) {
      complain(error.message);
      return undefined;
    }
  };
}

const alertBox = document.getElementById("alert");

// A message over the page, wherever it is scrolled to; over a dialog, because all behind that is inert.
function tell(...message) {
  const dialog = document.getElementById("drawer");
  const place = dialog.open ? dialog : document.body;
  if (alertBox.parentNode !== place) place.append(alertBox);
  fill(alertBox, message);
}

document.getElementById("drawer").addEventListener("close", () => document.body.append(alertBox));

const complain = (text) =>
  tell(el("div", { class: "note warn trouble" }, el("p", {}, text), button("Dismiss", silence, { class: "quiet" })));

const silence = () => fill(alertBox);

// What a screen reader hears after a change.
const announce = (text) => fill(document.getElementById("said"), text);

// Take over what the server says about the model; the section in sight is drawn anew and the keyboard stays where it was.
function took({ view, history, problem }) {
  if (view) renew(view);
  studio.hasModel = Boolean(view);
  if (history) studio.history = history;
  studio.interval = null;
  app.flip = null;
  app.whatIf = undefined;
  refresh();
  if (problem) complain(problem);
}

function refresh() {
  const key = document.activeElement?.dataset?.focus;
  drawn.clear();
  drawTools();
  show(false);
  if (key) (document.querySelector(`[data-focus="${CSS.escape(key)}"]:not(:disabled)`) ?? holders.get(app.section).querySelector("h2"))?.focus();
}

// Do one step to the model.
const change = trying(async (step, words) => {
  const answer = await ask("change", { step, why: studio.why, at: studio.history.at });
  if (!answer.problem) studio.why = "";
  took(answer);
  if (!answer.problem) announce(`${words ?? "Done"}. ${scoreText()}`);
});

const undo = trying(async () => {
  took(await ask("undo"));
  announce("Undone.");
});
const redo = trying(async () => {
  took(await ask("redo"));
  announce("Done again.");
});

const heldOut = () => data.models[0]?.parts[1];
const scoreText = () => (heldOut() ? `Micro F1 on held-out data ${score(heldOut().scores.micro_f1)}` : "");

// Listen to a job until it ends; `heard` gets every event.
function listen(job, heard) {
  return new Promise((resolve, reject) => {
    const source = new EventSource(`api/events/${job}`);
    source.onmessage = ({ data: text }) => {
      const event = JSON.parse(text);
      if (!event.finished) {
        heard(event);
        return;
      }
      source.close();
      if (event.error) reject(new Error(event.error));
      else resolve(event);
    };
    source.onerror = () => {
      source.close();
      reject(new Error("The studio does not answer. Is it still running in its terminal?"));
    };
  });
}

// Wait until somebody has stopped typing or dragging; an answer that comes too late is dropped.
function settled(work, pause = 120) {
  let timer = 0;
  let latest = 0;
  return (...args) => {
    clearTimeout(timer);
    const mine = ++latest;
    timer = setTimeout(() => work(() => mine === latest, ...args), pause);
  };
}
