// Pieces of which several sections are made.

// A card by the name that those know it by who do not see it; mostly that is its heading.
const card = (label, ...children) => el("section", { class: "card", "aria-label": label }, ...children);
const titled = (title, ...children) => card(title, el("h3", {}, title), ...children);

// The way through a long table, of which `size` rows are seen at once; `to` makes what leads to a first row.
const pager = (start, end, total, size, what, to) => [
  button(`Earlier${what}`, to(Math.max(0, start - size)), { disabled: start === 0 }),
  button(`Later${what}`, to(end), { disabled: end >= total }),
];

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

// A text that is shown in a row, where a long one would push everything else away.
const clipped = (text, most = 40) => (text.length > most ? `${text.slice(0, most - 1)}…` : text);
