// Two versions side by side: rules, scores with intervals, examples decided otherwise.

function compareSection() {
  const { versions, at } = studio.history;
  const heading = el("h2", { tabindex: "-1" }, "Compare");
  if (versions.length < 2) return [heading, note("There is one version so far. Change a rule or learn again, then compare."), lastWord()];
  const wish = (studio.compared ??= {});
  if (!(wish.second < versions.length)) wish.second = at;
  if (!(wish.first < versions.length)) wish.first = versions[at].parent ?? (at ? 0 : 1);
  const box = el("div", { class: "grid" });
  const pick = (name, words) => {
    const control = select(versions.map((one) => [one.number, versionWords(one)]), wish[name], (value) => {
      wish[name] = Number(value);
      loadComparison(wish, box);
    });
    return field(words, control, { class: "field grow" });
  };
  loadComparison(wish, box);
  return [heading, lead("Two versions of the model, on the same held-out examples."), el("div", { class: "filters" }, pick("first", "First"), pick("second", "Second")), box, lastWord()];
}

// Changes since the model at hand was learned or opened: each may have been made because of the held-out scores.
function changesMade() {
  const path = pathHere();
  return path.slice(0, path.findIndex((one) => one.fresh)).filter((one) => one.counts).length;
}

const tunedWords = () =>
  changesMade() > 2 && note(
    `${plural(changesMade(), "change")} so far, with the held-out scores in sight: whoever keeps what raises them fits rules to these examples, and the scores flatter. `,
    button("Judge it on a file of its own", () => go("compare", true), { class: "link" }),
  );

// Scores on a file that nobody has seen: the only ones that are not tuned to.
function lastWord() {
  const box = el("div", { class: "grid" });
  const draw = () => fill(box, (studio.lastWords ?? []).map(judgedTable));
  draw();
  return titled("A last word",
    soft("The held-out examples were in sight while rules were changed. For scores to report, drop a second file with the same columns that nobody has looked at. It is scored and forgotten; its scores stay with the model and stand in its report. Drop it once, at the end."),
    el("details", {}, el("summary", {}, "Judge the model on a fresh file"), dropZone("fresh", async (answer) => {
      studio.lastWords = (await look("state")).lastWords;
      draw();
      if (answer.problem) complain(answer.problem);
      [...box.querySelectorAll("h4")].at(-1)?.focus();
    })),
    box);
}

function judgedTable({ file, examples: total, versions }) {
  const rows = versions.map((one) => rowOf(
    `Version ${one.version + 1}, ${plural(one.rules, "rule")}${one.version === studio.history.at ? " (at hand)" : ""}`,
    ...Object.entries(one.scores).map(([name, value]) => scoreCell(value, one.interval[name]))));
  return [el("h4", { tabindex: "-1" }, `On ${file}, ${plural(total, "example")}`),
    table("Scores on a fresh file", ["Model", ...Object.keys(versions[0].scores).map((name) => MEASURE_WORDS[name])], rows, { class: "numbers" })];
}

const versionWords = (one) => {
  const text = one.what.length > 70 ? `${one.what.slice(0, 69)}…` : one.what;
  return `${one.number + 1}. ${text}${one.number === studio.history.at ? " (at hand)" : ""}`;
};

const loadComparison = trying(async (wish, box) => {
  const found = await ask("compare", { first: wish.first, second: wish.second });
  const names = [`Version ${wish.first + 1}`, `Version ${wish.second + 1}`];
  const shared = [new Set(found.same.map(([left]) => left)), new Set(found.same.map(([, right]) => right))];
  const own = (side) => found.rules[side].filter((_, at) => !shared[side].has(at));
  const rows = Object.entries(found.scores).map(([name, both]) =>
    rowOf(
      MEASURE_WORDS[name],
      ...both.map(([value, ...interval]) => scoreCell(value, interval)),
      found.level[name] ? "cannot be told apart" : both[0][0] > both[1][0] ? `${names[0]} is better` : `${names[1]} is better`));
  fill(
    box,
    table("Scores of two versions", ["Held out", ...names, "Verdict"], rows, { class: "numbers" }),
    titled("From the first to the second", effectWords(found.effect)),
    el("div", { class: "grid two" }, [0, 1].map((side) =>
      titled(`Only in ${names[side]}`,
        own(side).length ? el("ul", { class: "plain" }, own(side).map((text) => el("li", {}, text))) : soft("No rule of its own.")))),
    soft(`${plural(found.same.length, "rule")} in both.`),
    found.rows.map((entries, part) => entries.length > 0 && card(`Decided otherwise: ${data.parts[part].title}`,
      el("h3", {}, `Decided otherwise: ${data.parts[part].title.toLowerCase()}`),
      found.effect[part].rows > entries.length && soft(`The first ${entries.length} of ${whole(found.effect[part].rows)}.`),
      table(`Examples decided otherwise, ${data.parts[part].title}`, ["Example", ...names], entries.map((one) =>
        rowOf(one.name, ...[1, 2].map((side) => judgedChips(one.labels.map((entry) => [entry[0], entry[side], entry[3]]))))))))
  );
});
