// Pieces of which several sections are made.

// A card with a heading, by which it is also known to those who do not see it.
const titled = (title, ...children) => el("section", { class: "card", "aria-label": title }, el("h3", {}, title), ...children);

// A box to tick; `told` gets whether it is ticked.
function tickBox(checked, told, attributes = {}) {
  const box = el("input", { type: "checkbox", checked, ...attributes, on: { change: () => told(box.checked) } });
  return box;
}

const scoreCell = (value, [low, high]) =>
  el("td", {}, el("b", {}, score(value)), el("span", { class: "soft nowrap" }, ` ${score(low)} to ${score(high)}`));

// Show in `box` what a draft would do, in words, or why it makes no sense yet, which is no failure; an answer that comes
// too late is dropped. Only a draft that makes sense can be applied.
async function tryOut(current, name, value, apply, box, words) {
  const answer = await ask(name, value).catch((error) => ({ problem: error.message }));
  if (!current()) return;
  apply.disabled = Boolean(answer.problem);
  fill(box, answer.problem ? el("p", { class: "note warn" }, answer.problem) : words(answer));
}

// The versions that led to the one at hand, the latest first.
function pathHere() {
  const { versions, at } = studio.history;
  const found = [];
  for (let number = at; number !== null && number >= 0; number = versions[number].parent) found.push(versions[number]);
  return found;
}
