// The smallest change of the features that flips a label: the library's exact best-first search (polyrule.model.flips).
// A node allows each feature some cells (cells.js); its cheapest example is tried. If the label does not flip, the model
// divides the node. A list's run gives reasons, cells that force the old outcome, and the parts leave one of them.

class Program {
  constructor(model, grid, target) {
    this.target = target;
    this.defaults = model.defaults;
    this.stop = model.rules.map((rule) => rule.stop);
    this.stops = model.rules.flatMap((rule, number) => (rule.stop ? [number] : []));
    this.writers = model.defaults.map(() => []);
    this.tests = [];
    this.labelTests = [];
    this.heads = model.rules.map((rule, number) => {
      this.tests.push(
        rule.body.filter(([kind]) => kind !== LABEL).map((test) => grid.test(test)),
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

  outcome(trial) {
    this.last = this.run(trial);
    return this.last.state.get(this.target) ?? this.defaults[this.target];
  }

  // Divide a node whose trial, the last one that was judged, has the old outcome.
  parts(domain) {
    return splitDomain(domain, new Cause(this, this.last, domain).explain(this.target))[0];
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

// The same for an ensemble (polyrule.ensemble.flips): rules that a node neither forces nor forbids to fire are undecided;
// the sums that are still possible lie between those in which each of them does its worst and its best. Where the old
// outcome holds even then, the node is dropped; otherwise one undecided rule is decided both ways.
class Additive {
  constructor(model, grid, target) {
    this.model = model;
    this.target = target;
    this.tests = model.rules.map((rule) => mergedTests(rule.body.map((test) => grid.test(test))));
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

  outcome(trial) {
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
    const [failing, passing] = splitDomain(domain, this.tests[chosen]);
    return [...failing, passing];
  }

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

// What one rule asks of the same cells, joined, so that a rule that can no longer fire is seen to.
function mergedTests(tests) {
  const merged = new Map();
  for (const [owner, mask] of tests) merged.set(owner, (merged.get(owner) ?? mask) & mask);
  return [...merged];
}

const SLACK = 1e-9; // sums are compared with bounds that were added up in another order

// The search itself; it pauses after every trial, so that a page can stay alive and people can give up.
function* searchFlip(model, features, values, label, limit = 20000) {
  const grid = new Grid(model, features, values);
  const search = new (model.kind === "ensemble" ? Additive : Program)(model, grid, label);
  const before = search.outcome(grid.present());
  const queue = new Queue();
  queue.push({ changed: 0, steps: 0, domain: grid.everything() });
  let explored = 0;
  while (queue.items.length && explored < limit) {
    const { steps, domain } = queue.pop();
    explored++;
    yield explored;
    const trial = grid.cheapest(domain);
    if (search.outcome(trial) !== before)
      return { label, was: before, becomes: 1 - before, changes: grid.changes(trial), steps, exact: true, explored };
    for (const part of search.parts(domain, trial, before)) queue.push({ ...grid.cost(part), domain: part });
  }
  return { label, was: before, becomes: 1 - before, changes: null, steps: 0, exact: !queue.items.length, explored };
}

function smallestFlip(...question) {
  const search = searchFlip(...question);
  for (let step = search.next(); ; step = search.next()) if (step.done) return step.value;
}
