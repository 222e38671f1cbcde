// Sections, their navigation and the theme; a section is drawn when it is first looked at.

const SECTIONS = [];
const main = document.getElementById("main");
const holders = new Map();
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

// Begin with these sections, each [name, words, function that draws it].
function build(sections) {
  SECTIONS.push(...sections);
  for (const [id] of sections) holders.set(id, el("section", { id: `section-${id}`, hidden: true }));
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
              href: `${app.home ?? ""}#${id}`,
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
  fill(main, [...holders.values()]);
}

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
