// Write a rule as text, in the notation of rules or in plain words, or put it together in the form beside it. It is shown
// as it was understood, with its counts, before it is added.

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
  let offered_for = ""; // the text for which names are offered
  let chosen = -1;
  let understood = null; // the step as it was understood
  const apply = button(words, async () => {
    if (!understood) return undefined;
    const answer = await change(understood, said);
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
    if (input.value.slice(0, end) !== offered_for) return close(); // somebody went on typing
    const before = input.value.slice(0, Number(offer.from));
    input.setRangeText((/[\s(]$|^$/.test(before) || /[{¬!~]$/.test(before) ? "" : " ") + offer.insert, Number(offer.from), end, "end");
    close();
    input.focus();
    return typed();
  };
  const update = settled(async (current) => {
    const begun = input.value.slice(0, input.selectionStart);
    const rest = input.value.slice(input.selectionStart);
    const answer = begun.trim() && /^\s*(,|$)/.test(rest) ? await ask("complete", { text: begun }).catch(() => ({ offers: [] })) : { offers: [] };
    if (!current()) return;
    const typed = begun.slice(Number(answer.offers[0]?.from ?? 0)).trim();
    offers = answer.offers.filter((one) => one.insert !== typed);
    offered_for = begun;
    fill(list, offers.map((one, at) => el("li", { role: "option", id: `${list_id}-${at}`, "aria-selected": "false", on: { mousedown: (event) => { event.preventDefault(); take(one); } } }, one.insert, " ", el("span", { class: "soft" }, KINDS[one.kind] ?? one.kind))));
    list.hidden = !offers.length || document.activeElement !== input;
    input.setAttribute("aria-expanded", String(!list.hidden));
    mark(-1);
    if (!/<-|\b(if|when|where)\b/i.test(input.value) || input.value.trim() === start.trim()) {
      apply.disabled = true;
      fill(effect, soft(scored ? "Write for example: label +2, label -1 <- column > 3, other column = value. Points that speak against a label are negative." : "Write for example: label if column above 3 and other column is value. In the notation of rules: label, ¬other label <- column > 3, other column = value."));
      return;
    }
    await tryOut(current, "trial", { step: stepOf(input.value) }, apply, effect, (found) => {
      understood = found.step;
      return understoodWords(found);
    });
  });
  // What stands there now is applied only after it was understood.
  const typed = () => {
    apply.disabled = true;
    understood = null;
    update();
  };
  const put = (text) => {
    input.value = text;
    close();
    typed();
  };
  input.addEventListener("input", typed);
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
  if (place) place.addEventListener("change", typed);
  update();
  return el("div", { class: "writer" }, el("div", { class: "with-offers" }, field("Rule", input), list), ruleForm(input, put, scored), place && field("Where", place), effect, el("div", { class: "row" }, apply));
}

// A rule as it was understood: its text, what was read in its own way, on how many examples it holds, what it changes.
const understoodWords = (found) => [
  el("p", {}, el("span", { class: "soft" }, "Understood as: "), found.words),
  el("p", { class: "soft as-text" }, found.text),
  found.notes.length > 0 && soft(`${found.notes.join("; ")}.`),
  el("ul", { class: "would-do" }, found.counts.map(({ covers, right, wrong }, at) =>
    el("li", {}, el("span", { class: "soft" }, `${["Training", "Held out"][at]}: `), `applies to ${plural(covers, "example")}; of the labels that it decides, `, el("b", { class: "good" }, whole(right)), " right, ", el("b", { class: "bad" }, whole(wrong)), " wrong"))),
  soft("Compared with the model as it is:"),
  effectWords(found.effect),
];

// Labels and conditions to be chosen; they are added to the text.
function ruleForm(input, put, scored) {
  const names = [...data.features.map(({ name }) => name), ...data.untested].sort((a, b) => a.localeCompare(b));
  const list_id = freshId("columns");
  const box = el("div", { class: "grid" });
  let drawn_for = null;
  const column = el("input", { type: "text", list: list_id, autocomplete: "off", placeholder: "name of a column", on: { change: trying(async () => {
    const name = column.value;
    if (name === drawn_for) return;
    drawn_for = name;
    if (!names.includes(name)) return fill(box, name && soft(`There is no column “${name}”.`));
    const { feature } = await ask("feature", { name });
    return name === drawn_for && fill(box, conditionForm(feature, add));
  }) } });
  const parts = () => {
    const [head, ...rest] = input.value.split("<-");
    return [head.trim(), rest.join("<-").trim()];
  };
  const add = (condition) => {
    const [head, body] = parts();
    put(`${head} <- ${body && body !== "true" ? `${body}, ` : ""}${condition}`);
  };
  const label = select([["", "choose a label"], ...data.labels.map((name) => [name, name])], "", trying(async (name) => {
    if (!name) return;
    const [head, body] = parts();
    const { text } = await ask("label_text", { name });
    put(`${head ? `${head}, ` : ""}${text}${scored ? " +1" : ""} <- ${body}`);
    label.value = "";
  }));
  return el("details", {}, el("summary", {}, "Put it together"),
    el("div", { class: "grid form" }, field("Then: add a label", label), field("If: add a condition on", column), el("datalist", { id: list_id }, names.slice(0, 500).map((name) => el("option", { value: name }))), box));
}

function conditionForm(feature, add) {
  const done = (condition) => button("Add this condition", () => add(condition()), { class: "small" });
  if (feature.kind === "nominal") {
    const value = select(feature.categories.map((name, code) => [feature.texts[code], `${name} (${whole(feature.histogram.counts[code] ?? 0)})`]), feature.texts[0], () => {});
    return [field(`${feature.name} is`, value), done(() => `${feature.text} = ${value.value}`)];
  }
  if (feature.flag || feature.item) {
    const side = select([["", feature.item ? "has it" : "yes"], ["¬", feature.item ? "lacks it" : "no"]], "", () => {});
    return [field(feature.name, side), done(() => `${side.value}${feature.text}`)];
  }
  const draft = { body: [[ABOVE, 0, feature.middle]] };
  const redraw = () => fill(box, thresholdEditor(draft, 0, feature, () => {}, redraw));
  const box = el("div", { class: "condition-editor" });
  redraw();
  return [box, done(() => {
    const [kind, , value] = draft.body[0];
    return `${feature.text} ${kind === ABOVE ? ">" : "<="} ${feature.categories ? feature.texts[Math.floor(value)] : onScale(feature, value)}`;
  })];
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
