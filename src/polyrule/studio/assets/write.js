// Write a rule as text, with names offered while typing; what it would do is counted as soon as it can be read.

function ruleWriter(start, stepOf, words, said, place = null) {
  const scored = model().kind === "ensemble";
  const list_id = freshId("offers");
  const effect = el("div", { class: "effects" });
  const input = el("textarea", {
    rows: 3, spellcheck: "false", autocomplete: "off", role: "combobox", "aria-expanded": "false", "aria-controls": list_id, "aria-autocomplete": "list",
    placeholder: `label${scored ? " +2" : ""} <- feature > 3, other feature = value`,
  });
  input.value = start;
  const list = el("ul", { class: "offer-list", id: list_id, role: "listbox", "aria-label": "Names that fit", hidden: true });
  let offers = [];
  let chosen = -1;
  const apply = button(words, async () => {
    const step = stepOf(input.value);
    const answer = await change(step, said);
    if (alertBox.childNodes.length) return answer;
    drawer.close();
    return answer;
  }, { class: "primary", disabled: true });
  const close = () => {
    offers = [];
    chosen = -1;
    list.hidden = true;
    input.setAttribute("aria-expanded", "false");
    input.removeAttribute("aria-activedescendant");
  };
  const mark = (at) => {
    chosen = at;
    [...list.children].forEach((item, place_at) => item.setAttribute("aria-selected", String(place_at === at)));
    if (at >= 0) {
      input.setAttribute("aria-activedescendant", list.children[at].id);
      list.children[at].scrollIntoView({ block: "nearest" });
    }
  };
  const take = (offer) => {
    const end = input.selectionStart;
    const before = input.value.slice(0, Number(offer.from));
    input.setRangeText((/[\s(]$|^$/.test(before) || /[{¬!~]$/.test(before) ? "" : " ") + offer.insert, Number(offer.from), end, "end");
    close();
    input.focus();
    update();
  };
  const update = settled(async (current) => {
    const begun = input.value.slice(0, input.selectionStart);
    const rest = input.value.slice(input.selectionStart);
    const answer = /^\s*(,|$)/.test(rest) ? await ask("complete", { text: begun }).catch(() => ({ offers: [] })) : { offers: [] };
    if (!current()) return;
    const typed = begun.slice(Number(answer.offers[0]?.from ?? 0)).trim();
    offers = answer.offers.filter((one) => one.insert !== typed);
    fill(list, offers.map((one, at) => el("li", { role: "option", id: `${list_id}-${at}`, "aria-selected": "false", on: { mousedown: (event) => { event.preventDefault(); take(one); } } }, one.insert, " ", el("span", { class: "soft" }, KINDS[one.kind] ?? one.kind))));
    list.hidden = !offers.length || document.activeElement !== input;
    input.setAttribute("aria-expanded", String(!list.hidden));
    mark(-1);
    if (!input.value.includes("<-") || input.value.trim() === start.trim()) {
      apply.disabled = true;
      fill(effect, soft(scored ? "A rule is written: label +2, label -1 <- condition, condition. Points that speak against a label are negative." : "A rule is written: label, label <- condition, condition. An absent label has ¬ or ! before it."));
      return;
    }
    await tryOut(current, "trial", { step: stepOf(input.value) }, apply, effect, (found) => effectWords(found.effect));
  });
  input.addEventListener("input", update);
  input.addEventListener("blur", close);
  input.addEventListener("keydown", (event) => {
    if (list.hidden) return;
    if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      event.preventDefault();
      mark((chosen + (event.key === "ArrowDown" ? 1 : -1) + offers.length) % offers.length);
    } else if ((event.key === "Enter" || event.key === "Tab") && chosen >= 0) {
      event.preventDefault();
      take(offers[chosen]);
    } else if (event.key === "Escape") {
      event.preventDefault();
      event.stopPropagation();
      close();
    }
  });
  if (place) place.addEventListener("change", update);
  update();
  return el("div", { class: "writer" }, field("Rule", input), list, place && field("Where", place), effect, el("div", { class: "row" }, apply));
}

function openWriter() {
  const rules = model().rules;
  const place = select([[rules.length, "at the end"], ...rules.map((_, at) => [at, `before rule ${at + 1}`])], rules.length, () => {});
  openDrawer(
    "Write a rule",
    openWriter,
    soft("Names of labels and features are offered while you type; choose with the arrow keys and Enter."),
    ruleWriter("", (text) => ({ do: "insert", at: Number(place.value), text }), "Add the rule", "Added a rule", place),
  );
  drawer.querySelector("textarea").focus();
}
