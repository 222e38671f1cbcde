// The smallest change of the features that flips a label: the library's exact best-first search (polyrule.model.flips).
// A feature is seen through *cells*: the intervals between the list's thresholds, or the categories. A set of cells is
// a BigInt mask. A node allows each feature some cells; its cheapest example is tried; if the label does not flip, the
// run gives reasons (cells that force the old outcome), and the node is split into parts that leave one of them.

const has = (mask, cell) => (mask >> BigInt(cell)) & 1n;

class Cells {
  constructor(feature, thresholds, value) {
    this.feature = feature;
    this.thresholds = thresholds;
    this.nominal = feature.kind === "nominal";
    this.count = this.nominal ? feature.categories.length : thresholds.length + 1;
    if (Number.isNaN(value)) this.present = this.count;
    else if (this.nominal)
      this.present = Number.isInteger(value) && value >= 0 && value < this.count ? value : this.count;
    else this.present = this.place(value);
  }

  place(value) {
    const at = this.thresholds.findIndex((threshold) => threshold >= value);
    return at < 0 ? this.thresholds.length : at;
  }

  everything() {
    return (1n << BigInt(Math.max(this.count, this.present + 1))) - 1n;
  }

  steps(cell) {
    if (cell === this.present) return 0;
    return this.nominal || this.present === this.count ? 1 : Math.abs(cell - this.present);
  }

  cheapest(mask) {
    if (has(mask, this.present)) return this.present;
    let best = -1;
    for (let cell = 0; cell < this.count; cell++) {
      if (has(mask, cell) && (best < 0 || this.steps(cell) < this.steps(best))) best = cell;
    }
    return best;
  }

  satisfying([kind, , wanted]) {
    if (kind === CATEGORY) return 1n << BigInt(wanted);
    if (kind === IN) return wanted.reduce((mask, code) => mask | (1n << BigInt(code)), 0n);
    const missing = 1n << BigInt(this.count);
    if (kind === MISSING) return wanted ? missing : missing - 1n;
    const below = (1n << BigInt(this.place(wanted) + 1)) - 1n;
    return kind === AT_MOST ? below : (missing - 1n) & ~below;
  }

  value(cell) {
    if (this.nominal) return cell;
    if (this.thresholds.length === 0) return 0;
    const stepped = this.feature.kind !== "numeric";
    if (cell < this.present && cell < this.thresholds.length)
      return stepped ? Math.floor(this.thresholds[cell]) : this.thresholds[cell];
    const below = this.thresholds[cell - 1];
    return stepped ? Math.floor(below) + 1 : nextAbove(below);
  }
}

function nextAbove(number) {
  if (number === 0) return Number.MIN_VALUE;
  const bits = new BigInt64Array(new Float64Array([number]).buffer);
  bits[0] += number > 0 ? 1n : -1n;
  return new Float64Array(bits.buffer)[0];
}

function cellsOf(model, features, values) {
  const thresholds = new Map();
  for (const rule of model.rules) {
    for (const [kind, index, wanted] of rule.body) {
      if (kind === LABEL) continue;
      if (!thresholds.has(index)) thresholds.set(index, new Set());
      if (kind === AT_MOST || kind === ABOVE) thresholds.get(index).add(wanted + 0);
    }
  }
  const slots = [...thresholds.keys()].sort((a, b) => a - b);
  return new Map(
    slots.map((slot) => [
      slot,
      new Cells(
        features[slot],
        [...thresholds.get(slot)].sort((a, b) => a - b),
        values[slot],
      ),
    ]),
  );
}

class Program {
  constructor(model, cells) {
    this.defaults = model.defaults;
    this.stop = model.rules.map((rule) => rule.stop);
    this.stops = model.rules.flatMap((rule, number) => (rule.stop ? [number] : []));
    this.writers = model.defaults.map(() => []);
    this.tests = [];
    this.labelTests = [];
    this.heads = model.rules.map((rule, number) => {
      this.tests.push(
        rule.body.filter(([kind]) => kind !== LABEL).map((test) => [test[1], cells.get(test[1]).satisfying(test)]),
      );
      this.labelTests.push(rule.body.filter(([kind]) => kind === LABEL).map(([, label, value]) => [label, value]));
      let head = new Map(rule.head.map(([label, value]) => [label, value]));
      if (model.full) head = new Map(model.defaults.map((_, label) => [label, head.get(label) ?? 0]));
      for (const label of head.keys()) this.writers[label].push(number);
      return head;
    });
  }

  run(trial) {
    const state = new Map(),
      setter = new Map(),
      fruitless = new Set();
    let stopped = null;
    for (let number = 0; number < this.heads.length; number++) {
      if (!this.tests[number].every(([slot, mask]) => has(mask, trial.get(slot)))) continue;
      if (!this.labelTests[number].every(([label, value]) => state.get(label) === value)) continue;
      let news = 0;
      for (const [label, value] of this.heads[number]) {
        if (!state.has(label)) {
          state.set(label, value);
          setter.set(label, number);
          news++;
        }
      }
      if (!news) fruitless.add(number);
      else if (this.stop[number]) {
        stopped = number;
        break;
      }
    }
    return { trial, state, setter, fruitless, stopped };
  }

  value(run, label) {
    return run.state.get(label) ?? this.defaults[label];
  }
}

// The growing conjunction of cells that alone forces what a run did to a label.
class Cause {
  constructor(program, run, domain) {
    Object.assign(this, { program, run, domain, found: new Map(), done: new Set(), todo: [] });
  }

  explain(label) {
    this.add("label", label, this.program.heads.length);
    while (this.todo.length) {
      const [what, number, before] = this.todo.pop();
      this[what](number, before);
    }
    return this.found;
  }

  add(what, number, before = 0) {
    const key = `${what} ${number} ${before}`;
    if (!this.done.has(key)) {
      this.done.add(key);
      this.todo.push([what, number, before]);
    }
  }

  label(label, before) {
    const { run, program } = this;
    const setter = run.setter.get(label) ?? before;
    let writers = program.writers[label].filter((rule) => rule < Math.min(setter, before));
    if (setter < before) {
      this.add("fired", setter);
      this.add("reached", setter);
    } else if (run.stopped !== null && writers.some((rule) => rule > run.stopped)) {
      writers = writers.filter((rule) => rule < run.stopped);
      this.add("fired", run.stopped);
      this.add("reached", run.stopped);
      // The stop took effect because of some label that nobody had set before it; one such label is enough.
      const fresh = [...program.heads[run.stopped].keys()].find((other) => run.setter.get(other) === run.stopped);
      this.add("label", fresh, run.stopped);
    }
    for (const rule of writers) this.add("failed", rule);
  }

  fired(rule) {
    for (const [slot, mask] of this.program.tests[rule]) this.require(slot, mask);
    for (const [label] of this.program.labelTests[rule]) this.add("label", label, rule);
  }

  // Pick one condition that failed; best one that cannot hold anywhere in the domain, or is a reason already.
  failed(rule) {
    const { run } = this;
    const failing = this.program.tests[rule]
      .filter(([slot, mask]) => !has(mask, run.trial.get(slot)))
      .map(([slot, mask]) => [slot, ~mask]);
    const known = failing.find(
      ([slot, mask]) => (this.domain.get(slot) & ~mask) === 0n || ((this.found.get(slot) ?? -1n) & ~mask) === 0n,
    );
    const chosen = known ?? failing.find(([slot]) => this.found.has(slot)) ?? failing[0];
    if (chosen) {
      this.require(...chosen);
      return;
    }
    for (const [label, value] of this.program.labelTests[rule]) {
      const state = (run.setter.get(label) ?? rule) < rule ? run.state.get(label) : undefined;
      if (state !== value) {
        this.add("label", label, rule);
        return;
      }
    }
  }

  reached(rule) {
    for (const stop of this.program.stops) {
      if (stop >= rule) return;
      if (!this.run.fruitless.has(stop)) this.add("failed", stop);
      else for (const label of this.program.heads[stop].keys()) this.add("label", label, stop);
    }
  }

  require(slot, mask) {
    this.found.set(slot, (this.found.get(slot) ?? this.domain.get(slot)) & mask);
  }
}

// A binary heap ordered by features changed, then steps, then age.
class Queue {
  constructor() {
    this.items = [];
    this.age = 0;
  }

  static before(a, b) {
    return a.changed - b.changed || a.steps - b.steps || a.age - b.age;
  }

  push(item) {
    item.age = this.age++;
    const { items } = this;
    let at = items.push(item) - 1;
    while (at > 0) {
      const parent = (at - 1) >> 1;
      if (Queue.before(items[parent], items[at]) <= 0) break;
      [items[parent], items[at]] = [items[at], items[parent]];
      at = parent;
    }
  }

  pop() {
    const { items } = this;
    const top = items[0],
      last = items.pop();
    if (items.length) {
      items[0] = last;
      for (let at = 0; ;) {
        let least = at;
        for (const child of [2 * at + 1, 2 * at + 2]) {
          if (child < items.length && Queue.before(items[child], items[least]) < 0) least = child;
        }
        if (least === at) break;
        [items[least], items[at]] = [items[at], items[least]];
        at = least;
      }
    }
    return top;
  }
}

function costOf(cells, domain) {
  let changed = 0,
    steps = 0;
  for (const [slot, mask] of domain) {
    const cell = cells.get(slot);
    if (!has(mask, cell.present)) {
      changed++;
      steps += cell.steps(cell.cheapest(mask));
    }
  }
  return { changed, steps };
}

// The same for an ensemble (polyrule.ensemble.flips): rules that a node neither forces nor forbids to fire are undecided;
// the sums that are still possible lie between those in which each of them does its worst and its best. Where the old
// outcome holds even then, the node is dropped; otherwise one undecided rule is decided both ways.
class Additive {
  constructor(model, cells, target) {
    this.model = model;
    this.target = target;
    this.tests = model.rules.map((rule) => rule.body.map((test) => [test[1], cells.get(test[1]).satisfying(test)]));
    this.weights = model.rules.map((rule) => new Map(rule.head.map(([label, , , , weight]) => [label, weight])));
    this.sets = ["subset", "expected-f1"].includes(model.decision.kind);
    this.relevant = [...this.tests.keys()].filter((rule) => this.sets || this.weights[rule].has(target));
  }

  fires(rule, trial) {
    return this.tests[rule].every(([slot, mask]) => has(mask, trial.get(slot)));
  }

  sums(rules) {
    const scores = Float64Array.from(this.model.intercepts);
    for (const rule of rules) for (const [label, weight] of this.weights[rule]) scores[label] += weight;
    return scores;
  }

  value(trial) {
    const fired = [...this.tests.keys()].filter((rule) => this.fires(rule, trial));
    return decide(this.model, this.sums(fired))[this.target];
  }

  parts(domain, trial, before) {
    const can = this.relevant.filter((rule) => this.tests[rule].every(([slot, mask]) => mask & domain.get(slot)));
    const sure = (rule) => this.tests[rule].every(([slot, mask]) => !(domain.get(slot) & ~mask));
    const undecided = can.filter((rule) => !sure(rule));
    const helps = undecided.length ? this.helps(can.filter(sure), undecided, before) : null;
    if (!helps) return [];
    // First what would change the sum most from what it is in the trial.
    let chosen = -1,
      most = -Infinity;
    undecided.forEach((rule, place) => {
      const gain = helps[place] * (this.fires(rule, trial) ? -1 : 1);
      if (gain > most) [chosen, most] = [rule, gain];
    });
    const inside = new Map(domain),
      found = [];
    for (const [slot, mask] of this.tests[chosen]) {
      const outside = inside.get(slot) & ~mask;
      if (outside) found.push(new Map(inside).set(slot, outside));
      inside.set(slot, inside.get(slot) & mask);
    }
    return [...found, inside];
  }

  // What each undecided rule adds towards a flip; null where no flip is possible.
  helps(must, undecided, before) {
    const { kind, cuts, label_sets: sets, bonuses } = this.model.decision;
    const scores = this.sums(must);
    const added = (rule, labels) => labels.reduce((sum, label) => sum + (this.weights[rule].get(label) ?? 0), 0);
    if (kind === "expected-f1")
      return undecided.map((rule) => [...this.weights[rule].values()].reduce((sum, weight) => sum + Math.abs(weight), 0));
    const best = (differences) => differences.reduce((sum, difference) => sum + Math.max(difference, 0), 0);
    if (!this.sets) {
      const sign = before ? -1 : 1;
      const found = undecided.map((rule) => sign * added(rule, [this.target]));
      return sign * (scores[this.target] - cuts[this.target]) + best(found) >= -SLACK ? found : null;
    }
    // A set with the new outcome must beat the best one with the old outcome, in particular each single one.
    const margins = sets.map((labels, k) => labels.reduce((sum, label) => sum + scores[label] - cuts[label], bonuses[k]));
    const fresh = [...sets.keys()].filter((k) => sets[k].includes(this.target) !== Boolean(before));
    if (!fresh.length || fresh.length === sets.length) return null;
    const old = [...sets.keys()].filter((k) => !fresh.includes(k)).reduce((a, b) => (margins[b] > margins[a] ? b : a));
    let reach = -Infinity,
      found = null;
    for (const k of fresh) {
      const differences = undecided.map((rule) => added(rule, sets[k]) - added(rule, sets[old]));
      const far = margins[k] - margins[old] + best(differences);
      if (far > reach) [reach, found] = [far, differences];
    }
    return reach >= -SLACK ? found : null;
  }
}

const SLACK = 1e-9; // sums are compared with bounds that were added up in another order

// The search itself; it pauses after every trial, so that a page can stay alive and people can give up.
function* searchFlip(model, features, values, label, limit = 20000) {
  const cells = cellsOf(model, features, values);
  const additive = model.kind === "ensemble" ? new Additive(model, cells, label) : null;
  const program = additive ? null : new Program(model, cells);
  const present = new Map([...cells].map(([slot, cell]) => [slot, cell.present]));
  const before = additive ? additive.value(present) : program.value(program.run(present), label);
  const queue = new Queue();
  queue.push({ changed: 0, steps: 0, domain: new Map([...cells].map(([slot, cell]) => [slot, cell.everything()])) });
  let explored = 0;
  while (queue.items.length && explored < limit) {
    const { steps, domain } = queue.pop();
    explored++;
    yield explored;
    const trial = new Map([...domain].map(([slot, mask]) => [slot, cells.get(slot).cheapest(mask)]));
    const run = additive ? null : program.run(trial);
    if ((additive ? additive.value(trial) : program.value(run, label)) !== before) {
      const changes = [...trial]
        .filter(([slot, cell]) => cell !== cells.get(slot).present)
        .map(([slot, cell]) => ({
          slot,
          cell,
          old: values[slot],
          value: cells.get(slot).value(cell),
          cells: cells.get(slot),
        }));
      return { label, was: before, becomes: 1 - before, changes, steps, exact: true, explored };
    }
    if (additive) {
      for (const child of additive.parts(domain, trial, before))
        queue.push({ ...costOf(cells, child), domain: child });
      continue;
    }
    const kept = new Map(domain);
    for (const [slot, mask] of new Cause(program, run, domain).explain(label)) {
      const outside = kept.get(slot) & ~mask;
      if (outside) {
        const child = new Map(kept).set(slot, outside);
        queue.push({ ...costOf(cells, child), domain: child });
      }
      kept.set(slot, kept.get(slot) & mask);
    }
  }
  return { label, was: before, becomes: 1 - before, changes: null, steps: 0, exact: !queue.items.length, explored };
}

function smallestFlip(...question) {
  const search = searchFlip(...question);
  for (let step = search.next(); ; step = search.next()) if (step.done) return step.value;
}

// What a change asks for, in words: the interval or the category.
function requirementText({ cells, cell }) {
  if (cells.nominal) return `is ${cells.feature.categories[cell]}`;
  if (cells.thresholds.length === 0) return "is known";
  const side = (kind, at) => sideOf(cells.feature, kind, cells.thresholds[at]).join(" ");
  const above = cell > 0 ? side(ABOVE, cell - 1) : "";
  const below = cell < cells.thresholds.length ? side(AT_MOST, cell) : "";
  return `is ${[above, below].filter(Boolean).join(" and ")}`;
}
