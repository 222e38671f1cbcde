// How the model came about: what was learned and changed, why, by whom, what that did to the scores, and the last word.

const storyOf = (chosen) => (Array.isArray(chosen.info?.history) ? chosen.info.history.filter((step) => step && typeof step === "object") : []);
const lastWordsOf = (chosen) => (Array.isArray(chosen.info?.last_word) ? chosen.info.last_word.filter((one) => Array.isArray(one?.versions)) : []);
const textOf = (value) => (typeof value === "string" ? value : "");
const isNumber = (value) => typeof value === "number" && Number.isFinite(value);

function storySection() {
  const chosen = model();
  const steps = storyOf(chosen);
  const heading = el("h2", { tabindex: "-1" }, "History");
  if (!steps.length && !lastWordsOf(chosen).length) return [heading, note("The file of this model holds no history.")];
  return [heading, lead(storyLead(steps)), sightNote(steps, chosen), storyTable(steps), lastWordTables(chosen)];
}

function storyLead(steps) {
  const changes = steps.filter((step) => isChange(step)).length;
  const names = [...new Set(steps.map((step) => textOf(step.by)).filter(Boolean))];
  return `${plural(steps.length, "step")}, ${changes ? `of which ${plural(changes, "changed a rule", "changed rules")}` : "none of which changed a rule"}${names.length ? `, by ${names.join(", ")}` : ""}.`;
}

const isChange = (step) => !["learn", "open", "note"].includes(step.step);

// Changes since the model was last learned or opened: each may have been kept because of the held-out scores.
function changesInSight(steps) {
  const begun = steps.findLastIndex((step) => ["learn", "open"].includes(step.step));
  return steps.slice(begun + 1).filter((step) => isChange(step) && isNumber(step.micro_f1?.["held out"])).length;
}

function sightNote(steps, chosen) {
  const count = changesInSight(steps);
  if (!count) return null;
  const judged = lastWordsOf(chosen).length > 0;
  return note(`${plural(count, "change")} ${count === 1 ? "was" : "were"} made with the held-out scores in sight, so these scores are too good by an unknown amount. ${judged ? "The last word below comes from a file that was not looked at before." : "Nobody has scored the model on a fresh file since."}`);
}

function storyTable(steps) {
  const scored = steps.some((step) => isNumber(step.micro_f1?.["held out"]));
  const head = ["Step", "What was done", "Why", "By, when", "Rules", ...(scored ? ["Micro F1, training", "Micro F1, held out"] : [])];
  const rows = steps.map((step, at) =>
    rowOf(
      whole(at + 1),
      el("td", { class: "words-cell" }, textOf(step.what)),
      el("td", { class: "words-cell" }, textOf(step.why)),
      el("td", { class: "words-cell" }, [textOf(step.by), whenText(step.when)].filter(Boolean).join(", ")),
      isNumber(step.rules) ? whole(step.rules) : "",
      ...(scored ? ["training", "held out"].map((part) => (isNumber(step.micro_f1?.[part]) ? score(step.micro_f1[part]) : "")) : []),
    ),
  );
  return table("History", head, rows, { class: "numbers story" });
}

const whenText = (when) => textOf(when).replace("T", " ").replace("+00:00", " UTC");

function lastWordTables(chosen) {
  return lastWordsOf(chosen).map((one) =>
    el("section", { class: "card" },
      el("h3", {}, `Last word: ${textOf(one.file)}`),
      soft(`${isNumber(one.examples) ? plural(one.examples, "example") : "Examples"} that were neither learned from nor looked at before, scored ${[textOf(one.by) && `by ${textOf(one.by)}`, whenText(one.when)].filter(Boolean).join(", ")}.`),
      table(`Scores on ${textOf(one.file)}`, ["After step", "Rules", ...lastWordNames(one).map((name) => MEASURE_WORDS[name])],
        one.versions.filter((entry) => entry && typeof entry === "object").map((entry) => rowOf(isNumber(entry.version) ? whole(entry.version) : "", isNumber(entry.rules) ? whole(entry.rules) : "",
          ...lastWordNames(one).map((name) => [isNumber(entry.scores?.[name]) ? score(entry.scores[name]) : "", Array.isArray(entry.interval?.[name]) && entry.interval[name].every(isNumber) && el("span", { class: "soft nowrap" }, ` ${entry.interval[name].map(score).join(" to ")}`)]))),
        { class: "numbers" })));
}

const lastWordNames = (one) => Object.keys(one.versions[0]?.scores ?? {}).filter((name) => MEASURE_WORDS[name]);
