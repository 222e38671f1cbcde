// Running a rule list on one example, exactly as the library does: rules in order, the first to set a label wins, a
// label condition reads what earlier rules set, a missing value (NaN) and an unset label satisfy no condition,
// except the one that asks for missing values. A group holds where enough of its members do.

function satisfies([kind, index, wanted], values, state) {
  if (kind === LABEL) return state[index] === wanted;
  if (kind === GROUP) return membersHeld(wanted, values) >= index;
  const value = values[index];
  if (kind === AT_MOST) return value <= wanted;
  if (kind === ABOVE) return value > wanted;
  if (kind === IN) return wanted.includes(value);
  if (kind === MISSING) return Number.isNaN(value) === (wanted === 1);
  return value === wanted;
}

const membersHeld = (members, values) => members.filter((member) => satisfies(member, values, [])).length;

const bodyHolds = (rule, values, state) => rule.body.every((condition) => satisfies(condition, values, state));

// state: -1 where nobody has set the label yet; the labels that a rule newly set are returned.
function applyHead(model, rule, state) {
  const newly = [];
  for (const [label, value] of rule.head) {
    if (state[label] < 0) {
      state[label] = value;
      newly.push(label);
    }
  }
  if (model.full) {
    for (let label = 0; label < state.length; label++) {
      if (state[label] < 0) {
        state[label] = 0;
        newly.push(label);
      }
    }
  }
  return newly;
}

// Run a list on an example of which `holds` says whether a rule's body holds, given the labels set so far.
function follow(model, holds) {
  const width = model.defaults.length;
  const state = new Int8Array(width).fill(-1);
  const setter = new Int32Array(width).fill(-1);
  const fired = [];
  let stopped = null;
  for (let number = 0; number < model.rules.length; number++) {
    if (!holds(number, state)) continue;
    const rule = model.rules[number];
    const newly = applyHead(model, rule, state);
    for (const label of newly) setter[label] = number;
    fired.push({ rule: number, newly });
    if (rule.stop && newly.length) {
      stopped = number;
      break;
    }
  }
  const alone = Uint8Array.from(state, (value, label) => (value < 0 ? model.defaults[label] : value));
  if (!model.relations) return { labels: alone, alone, setter, fired, stopped };
  const margins = listMargins(model, setter);
  return { labels: related(model, margins).labels, alone, margins, setter, fired, stopped };
}

// With `forced`, that rule fires whatever its conditions say.
const runList = (model, values, forced = -1) =>
  follow(model, (number, state) => number === forced || bodyHolds(model.rules[number], values, state));

// Rules that were tried and failed by one condition only, with what the prediction would be if they had not; those
// that would change nothing are no news. A group is one condition.
function nearMisses(model, values) {
  if (model.kind === "ensemble") return nearSums(model, values);
  const before = runList(model, values).labels;
  const state = new Int8Array(model.defaults.length).fill(-1);
  const misses = [];
  for (let number = 0; number < model.rules.length; number++) {
    const rule = model.rules[number];
    const failed = rule.body.filter((condition) => !satisfies(condition, values, state));
    if (failed.length === 0) {
      if (applyHead(model, rule, state).length && rule.stop) break;
    } else if (failed.length === 1) {
      if (!model.full && rule.head.every(([label]) => state[label] >= 0)) continue;
      const after = runList(model, values, number).labels;
      const news = newsOf(before, after);
      if (news.length) misses.push({ rule: number, failed: failed[0], news });
    }
  }
  return misses;
}

const newsOf = (before, after) =>
  [...after.keys()].filter((label) => after[label] !== before[label]).map((label) => [label, after[label]]);
