// Change one rule: thresholds along their histogram, values, conditions to add or drop; what it would do is counted at once.

// The effect of a change in words: what it would set right and spoil, on both parts.
function effectWords(effect) {
  const names = ["Training", "Held out"];
  return el(
    "ul",
    { class: "would-do" },
    effect.map((part, at) => {
      const before = part.before.micro_f1,
        after = part.scores.micro_f1;
      return el(
        "li",
        {},
        el("span", { class: "soft" }, `${names[at]}: `),
        part.rows === 0 && before === after
          ? "nothing changes"
          : [
              el("b", { class: "good" }, whole(part.fixed)),
              ` ${part.fixed === 1 ? "label" : "labels"} set right, `,
              el("b", { class: "bad" }, whole(part.broken)),
              ` spoilt, in ${plural(part.rows, "example")}`,
              el("span", { class: "nowrap" }, `, micro F1 ${score(before)} → ${score(after)}`),
              el("div", { class: "soft" }, whyWords(part)),
            ],
      );
    }),
  );
}

// Why F1 moves as it does: it counts labels that are present and predicted, missed, or predicted in vain, never absent
// ones that are left alone.
function whyWords({ found, alarms, before, scores }) {
  const parts = [
    found && `${plural(Math.abs(found), "present label")} ${found > 0 ? "more is found" : "more is missed"}`.replace("labels more is", "labels more are"),
    alarms && `${plural(Math.abs(alarms), "false alarm")} ${alarms > 0 ? "more" : "less"}`,
  ].filter(Boolean);
  if (!parts.length) return "As many present labels are found, with as many false alarms as before.";
  const level = Math.abs(scores.micro_f1 - before.micro_f1) < 0.0005 ? "; together they leave micro F1 as it is" : "";
  return `${parts.join(", ")}${level}.`;
}

const effectText = (effect) =>
  effect.map((part, at) => `${["Training", "held out"][at]}: ${part.fixed} labels set right, ${part.broken} spoilt`).join("; ");

function openEditor(number) {
  const rule = model().rules[number];
  const scored = model().kind === "ensemble";
  const draft = { rule: number, weights: new Map(rule.head.map(([label, , , , weight]) => [label, weight])), body: structuredClone(rule.body), step: null };
  const conditions_box = el("div", { class: "grid" });
  const unchanged = () => soft("Nothing has changed yet.");
  const effect = el("div", { class: "effects" }, unchanged()); // from the first: what comes later would move what is below it
  const said_box = el("p", { class: "sr", role: "status" });
  const apply = button("Apply", async () => {
    if (!draft.step) return;
    drawer.close();
    await change(draft.step, `Changed rule ${number + 1}`);
  }, { class: "primary", disabled: true, "data-focus": "apply" });
  const words = (answer) => {
    draft.step = answer.step;
    apply.disabled = answer.text === rule.text;
    fill(said_box, apply.disabled ? "" : effectText(answer.effect));
    return apply.disabled ? unchanged() : [el("p", {}, answer.words), effectWords(answer.effect)];
  };
  const count = settled((current) => {
    const shape = { rule: number, body: draft.body.map(asColumns), ...(scored ? { weights: [...draft.weights] } : {}) };
    return tryOut(current, "shape", shape, apply, effect, words);
  });
  const redraw = () => {
    const refocused = keptPlace(conditions_box);
    fill(conditions_box, draft.body.map((_, at) => conditionEditor(draft, at, count, redraw)), !draft.body.length && el("p", { class: "always" }, "Without conditions it always applies."));
    refocused();
    count();
  };
  const lists = el("div", { class: "grid" }, soft("Looking for conditions …"));
  openDrawer(
    `Change rule ${whole(number + 1)}`,
    () => openEditor(number),
    card("Conditions", el("h3", {}, "If"), conditions_box),
    card("Labels", el("h3", {}, scored ? "then add" : "then"), scored && pointsEditor(draft, count), headEditor(number, rule)),
    el("section", { class: "card sticky", "aria-label": "What it would do" }, el("h3", {}, "What this would do"), effect, said_box, el("div", { class: "row" }, apply, button("Cancel", () => drawer.close(), { class: "quiet" }))),
    lists,
    el("details", {}, el("summary", {}, "Change it as text"), ruleWriter(rule.text, (text) => ({ do: "replace", rule: number, text }), "Apply the text", `Changed rule ${number + 1}`)),
  );
  redraw();
  suggestConditions(number, lists);
}

// Where the keyboard is among the controls of a box, to be found again after it is drawn anew.
function keptPlace(box) {
  const controls = () => [...box.querySelectorAll("button, input, select")].filter((one) => !one.closest("details:not([open])"));
  const place = controls().indexOf(document.activeElement);
  return () => {
    if (place >= 0) (controls()[Math.min(place, controls().length - 1)] ?? drawer.querySelector("button")).focus();
  };
}

// A condition as the server knows it: by the column of the table instead of the place among the features shown.
function asColumns([kind, index, value, name]) {
  if (kind === GROUP) return [kind, index, value.map(asColumns), name ?? ""];
  return [kind, kind === LABEL ? index : data.features[index].column, value];
}

const suggestConditions = trying(async (number, box) => {
  const found = await ask("conditions", { rule: number });
  const entry = (one, verb) =>
    el("li", {}, button(`${verb} ${one.text}`, async () => {
      drawer.close();
      await change(one.step, { Add: "Added a condition", Drop: "Dropped a condition", Take: "Added an alternative" }[verb]);
    }), effectWords(one.effect));
  fill(
    box,
    titled("Add a condition",
      found.add.length ? el("ol", { class: "offers" }, found.add.map((one) => entry(one, "Add"))) : soft("No further condition would raise micro F1 on the training data.")),
    found.widen.length > 0 && titled("Add an alternative", soft("The rule then applies where either holds: “any of”."), el("ol", { class: "offers" }, found.widen.map((one) => entry(one, "Take")))),
    found.drop.length > 0 && titled("Drop a condition", el("ol", { class: "offers" }, found.drop.map((one) => entry(one, "Drop")))),
  );
});

function headEditor(number, rule) {
  if (model().kind === "ensemble" && rule.head.length < 2) return null;
  return el(
    "ul",
    { class: "plain heads" },
    rule.head.map(([label, value]) =>
      el("li", { class: "row" }, chip(data.labels[label], value),
        rule.head.length > 1 && button("Split off", async () => {
          drawer.close();
          await change({ do: "split", rule: number, label }, `Split ${data.labels[label]} off`);
        }, { class: "quiet small", "aria-label": `Split ${data.labels[label]} off into a rule of its own` }))),
  );
}

function conditionEditor(draft, at, count, redraw) {
  const [kind, index, value] = draft.body[at];
  const about = kind === GROUP ? "group" : `condition on ${kind === LABEL ? data.labels[index] : data.features[index].name}`;
  const drop = button("Drop", () => {
    draft.body.splice(at, 1);
    redraw();
  }, { class: "quiet small", "aria-label": `Drop the ${about}` });
  if (kind === GROUP) return groupEditor(draft, at, count, redraw, drop);
  const words = el("div", {}, conditionWords(draft.body[at], data));
  const head = (control) => el("div", { class: "condition-editor" }, el("div", { class: "row spread" }, words, drop), control);
  const changed = () => {
    fill(words, conditionWords(draft.body[at], data));
    count();
  };
  if (kind === LABEL || kind === MISSING) return head(null);
  const feature = data.features[index];
  if (feature.flag || feature.item) {
    const sides = feature.item ? ["has it", "lacks it"] : ["yes", "no"];
    const side = select([[ABOVE, sides[0]], [AT_MOST, sides[1]]], kind, (chosen) => {
      draft.body[at] = [Number(chosen), index, value];
      changed();
    });
    side.setAttribute("aria-label", feature.name);
    return head(side);
  }
  if (kind === AT_MOST || kind === ABOVE) return head(thresholdEditor(draft, at, feature, changed, redraw));
  const taken = new Set(kind === IN ? value : [value]);
  if (feature.categories.length > 60) return head(null);
  return head(
    el("fieldset", { class: "values" }, el("legend", { class: "sr" }, `Values of ${feature.name}`),
      feature.categories.map((name, code) => {
        const box = tickBox(taken.has(code), (on) => {
          taken[on ? "add" : "delete"](code);
          draft.body[at] = [IN, index, [...taken].sort((a, b) => a - b)];
          changed();
        });
        return el("label", { class: "check" }, box, ` ${name} `, el("span", { class: "soft" }, whole(feature.histogram.counts[code] ?? 0)));
      })),
  );
}

// "Any of": its members as chips, how many must hold, and what a reader calls the group.
function groupEditor(draft, at, count, redraw, drop) {
  const group = draft.body[at];
  const members = group[2];
  const remove = (place) => () => {
    members.splice(place, 1);
    group[4]?.splice(place, 1);
    group.open = null;
    if (members.length === 1) draft.body[at] = members[0];
    else group[1] = Math.min(group[1], members.length - 1);
    redraw();
  };
  const words = members.map((member) => el("span", {}, conditionWords(member, data)));
  const least = select(members.slice(1).map((_, number) => [number + 1, number ? `at least ${number + 1} of` : "any of"]), group[1], (value) => {
    group[1] = Number(value);
    count();
  });
  least.setAttribute("aria-label", "How many of the group must hold");
  const name = el("input", { type: "text", maxlength: "200", value: group[3] ?? "", placeholder: "optional", on: { input: () => { group[3] = name.value; count(); } } });
  return el("div", { class: "condition-editor" }, el("div", { class: "row spread" }, least, drop),
    el("ul", { class: "plain members" }, members.map((member, place) => el("li", { class: "chip" }, words[place],
      button("×", remove(place), { class: "quiet small", "aria-label": `Remove ${conditionText(member, data)} from the group` })))),
    members.map((member, place) => (member[0] === AT_MOST || member[0] === ABOVE) && !data.features[member[1]].flag && !data.features[member[1]].item && memberThreshold(group, place, words[place], count, redraw)),
    field("Name of the group", name));
}

// The threshold of a member; it stays open while it is changed.
function memberThreshold(group, place, words, count, redraw) {
  const members = group[2];
  const feature = data.features[members[place][1]];
  const box = el("details", { open: group.open === place, on: { toggle: () => { if (box.open) group.open = place; } } },
    el("summary", {}, `Threshold of ${feature.name}`),
    thresholdEditor({ body: members }, place, feature, () => { fill(words, conditionWords(members[place], data)); count(); }, redraw));
  return box;
}

// A threshold: drag it along the histogram, slide it, or type it.
function thresholdEditor(draft, at, feature, changed, redraw) {
  const [kind, index, value] = draft.body[at];
  const low = Number(feature.histogram.low ?? 0),
    high = Number(feature.histogram.high ?? 0);
  const picture = el("div", { class: "where" });
  const steps = feature.categories ? feature.categories.length - 1 : 0;
  const least = steps ? 0.5 : low,
    most = steps ? steps - 0.5 : high;
  const draw_picture = () => fill(picture, histogram(feature, { condition: draft.body[at], wide: 560, high: 70, stretch: true }));
  const set = (number, from) => {
    draft.body[at] = [kind, index, number];
    if (from !== slider) slider.value = number;
    if (from !== input) input.value = shown(number);
    draw_picture();
    changed();
  };
  const begun = draft.body[at][3] ?? value; // in fewer digits, where they divide the examples alike
  const shown = (number) => (feature.kind === "numeric" ? String(number === value ? begun : number) : onScale(feature, number));
  const gap = (most - least) / 400 || 1;
  const near = (number) => {
    if (feature.kind !== "numeric") return Math.floor(number) + 0.5;
    // As the values of the column are written: whole numbers stay whole.
    return feature.digits === undefined ? Number((Math.round(number / gap) * gap).toPrecision(5)) : Number(number.toFixed(feature.digits));
  };
  const slider = el("input", { type: "range", min: least, max: most, step: steps ? 1 : "any", value, "aria-label": `Threshold of ${feature.name}`, "aria-valuetext": shown(value), on: { input: () => {
    const number = near(Number(slider.value));
    slider.setAttribute("aria-valuetext", shown(number));
    set(number, slider);
  } } });
  const wrong = el("p", { class: "soft", role: "status" });
  const input = el("input", { type: "text", inputmode: "decimal", value: shown(value), readonly: feature.kind !== "numeric", "aria-label": `Threshold of ${feature.name}, typed`, on: { input: () => {
    if (feature.kind !== "numeric") return;
    const number = readNumber(input.value);
    fill(wrong, Number.isNaN(number) ? `“${input.value}” is no number.` : /[.,]/.test(input.value) ? `read as ${number}` : "");
    if (!Number.isNaN(number)) set(number, input);
  } } });
  const drag = (event) => {
    const box = picture.firstElementChild.getBoundingClientRect();
    set(near(least + Math.min(1, Math.max(0, (event.clientX - box.left) / box.width)) * (most - least)), null);
  };
  picture.addEventListener("pointerdown", (event) => {
    picture.setPointerCapture(event.pointerId);
    drag(event);
  });
  picture.addEventListener("pointermove", (event) => event.buttons && drag(event));
  const side = select([[AT_MOST, "at most"], [ABOVE, feature.categories ? "more than" : "above"]], kind, (chosen) => {
    draft.body[at] = [Number(chosen), index, draft.body[at][2]];
    redraw();
  });
  side.setAttribute("aria-label", `Side of the threshold of ${feature.name}`);
  draw_picture();
  return [high > low || steps ? [picture, slider] : null, el("div", { class: "row threshold-row" }, side, input), wrong];
}

// Points of each label of a rule; 0 takes a label out, and labels that are not there yet can be added.
function pointsEditor(draft, count) {
  const box = el("div", { class: "grid" });
  const row = (label) => {
    const wrong = el("p", { class: "soft", role: "status" });
    const input = el("input", { type: "text", inputmode: "decimal", value: String(draft.weights.get(label)), on: { input: () => {
      const number = readNumber(input.value);
      fill(wrong, Number.isNaN(number) ? `“${input.value}” is no number.` : number === 0 ? "0 points: the label leaves the rule." : "");
      if (Number.isNaN(number)) return;
      draft.weights.set(label, number);
      count();
    } } });
    return el("div", { class: "points-row" }, field(`Points for ${data.labels[label]}`, input), wrong);
  };
  const draw_rows = () => {
    const others = data.labels.map((name, label) => [label, name]).filter(([label]) => !draft.weights.has(label));
    const more = select([["", "choose a label"], ...others], "", (label) => {
      draft.weights.set(Number(label), 1);
      draw_rows();
      box.querySelectorAll("input")[draft.weights.size - 1].focus();
      count();
    });
    fill(box, [...draft.weights.keys()].map(row), others.length > 0 && field("Points for another label", more));
  };
  draw_rows();
  return box;
}
