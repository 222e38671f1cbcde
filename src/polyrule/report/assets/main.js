// Sections, the switch between models, the theme; a section is drawn when it is first looked at.

const SECTIONS = [
  ["overview", "Overview", overview],
  ["rules", "Rules", browse],
  ["labels", "Labels", labelsSection],
  ["whatif", "What if", whatIf],
];
if (data.models.every((one) => one.importance)) SECTIONS.splice(2, 0, ["matters", "What matters", mattersSection]);
if (data.models.length > 1) SECTIONS.push(["compare", "Compare", compareSection]);

const main = document.getElementById("main");
const holders = new Map(SECTIONS.map(([id]) => [id, el("section", { id: `section-${id}`, hidden: true })]));
const drawn = new Set();

function draw(id) {
  if (drawn.has(id)) return;
  drawn.add(id);
  fill(holders.get(id), SECTIONS.find(([name]) => name === id)[2]());
}

const named = () => (holders.has(location.hash.slice(1)) ? location.hash.slice(1) : null);

// On a phone the sections are a row that scrolls sideways; the row alone is moved, not the page around it.
function bringIntoSight(link) {
  const row = document.querySelector("#nav ul");
  const [inner, outer] = [link.getBoundingClientRect(), row.getBoundingClientRect()];
  if (inner.right > outer.right) row.scrollLeft += inner.right - outer.right;
  else if (inner.left < outer.left) row.scrollLeft -= outer.left - inner.left;
}

function show(focus) {
  const id = app.section;
  draw(id);
  for (const [name, holder] of holders) holder.hidden = name !== id;
  for (const link of document.querySelectorAll("#nav a")) {
    if (link.hash === `#${id}`) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
  bringIntoSight(document.querySelector("#nav a[aria-current]"));
  if (focus) {
    window.scrollTo({ top: 0, behavior: "instant" });
    holders.get(id).querySelector("h2")?.focus({ preventScroll: true });
  }
}

function go(id, again = false) {
  if (again) drawn.delete(id);
  app.section = id;
  show(true);
  location.hash = id;
}

function chooseModel(index) {
  app.model = index;
  app.filter = null;
  app.flip = null;
  drawn.clear();
  show(false);
}

function themeButton() {
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const isDark = () => (document.documentElement.dataset.theme ?? (dark.matches ? "dark" : "light")) === "dark";
  const control = button(
    "",
    () => {
      document.documentElement.dataset.theme = isDark() ? "light" : "dark";
      name();
    },
    { class: "quiet" },
  );
  const name = () => fill(control, isDark() ? "Light" : "Dark");
  dark.addEventListener("change", name);
  name();
  return control;
}

document.getElementById("title").textContent = data.title;
fill(
  document.getElementById("nav"),
  el(
    "ul",
    {},
    SECTIONS.map(([id, words]) =>
      el(
        "li",
        {},
        el(
          "a",
          {
            href: `#${id}`,
            on: {
              click: (event) => {
                event.preventDefault();
                go(id);
              },
            },
          },
          words,
        ),
      ),
    ),
  ),
);
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
fill(main, [...holders.values()]);
fill(document.getElementById("foot"), `Made with ${data.generator}. This file needs no network.`);
// In a notebook's frame "#rules" would lead out of the page, so links are followed here; the address still tells where we are.
document.querySelector(".skip").addEventListener("click", (event) => {
  event.preventDefault();
  main.focus();
});
addEventListener("hashchange", () => {
  if (named() && named() !== app.section) {
    app.section = named();
    show(true);
  }
});
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
window.polyrule = { data, predict, outcome, smallestFlip, examples, filterRules, noFilter };
