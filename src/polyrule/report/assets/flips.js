// The smallest change of the features that flips a label: the library's exact best-first search (polyrule.model.flips).
// A node allows each feature some cells (cells.js); its cheapest example is tried. If the label does not flip, the model
// divides the node. A list's run gives reasons, cells that force the old outcome, and the parts leave one of them.

class Program {
  constructor(model, grid, target) {
    this.model = model;
    this.target = target;
    this.needed = relatedLabels(model, target);
    this.stops = model.rules.flatMap((rule, number) => (rule.stop ? [number] : []));
    this.writers = model.defaults.map(() => []);
    this.asked = model.rules.map((rule) => grid.asked(rule.body));
    this.labelTests = model.rules.map((rule) => rule.body.filter(([kind]) => kind === LABEL));
    this.heads = model.rules.map((rule) => (model.full ? [...model.defaults.keys()] : rule.head.map(([label]) => label)));
    this.heads.forEach((head, number) => head.forEach((label) => this.writers[label].push(number)));
  }

  outcome(trial) {
    const holds = (number, state) =>
      this.asked[number].holds(trial) && this.labelTests[number].every((test) => satisfies(test, null, state));
    this.last = { trial, ...follow(this.model, holds) };
    return this.last.labels[this.target];
  }

  // Divide a node whose trial, the last one that was judged, has the old outcome.
  parts(domain) {
    return splitDomain(domain, new Cause(this, this.last, domain).explain(this.needed))[0];
  }
}

// The growing conjunction of cells that alone forces what a run did to a label.
class Cause {
  constructor(program, run, domain) {
    Object.assign(this, { program, run, domain, found: new Map(), done: new Set(), todo: [] });
    this.ran = new Set(run.fired.map(({ rule }) => rule));
  }

  explain(labels) {
    for (const label of labels) this.add("label", label, this.program.heads.length);
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
    const setter = run.setter[label] < 0 ? before : run.setter[label];
    let writers = program.writers[label].filter((rule) => rule < Math.min(setter, before));
    if (setter < before) {
      this.add("fired", setter);
      this.add("reached", setter);
    } else if (run.stopped !== null && writers.some((rule) => rule > run.stopped)) {
      writers = writers.filter((rule) => rule < run.stopped);
      this.add("fired", run.stopped);
      this.add("reached", run.stopped);
      // The stop took effect because of some label that nobody had set before it; one such label is enough.
      const fresh = program.heads[run.stopped].find((other) => run.setter[other] === run.stopped);
      this.add("label", fresh, run.stopped);
    }
    for (const rule of writers) this.add("failed", rule);
  }

  fired(rule) {
    const { plain, members, least } = this.program.asked[rule];
    for (const [slot, mask] of plain) this.require(slot, mask);
    this.requireSome(members.filter((test) => this.holds(test)), least);
    for (const [, label] of this.program.labelTests[rule]) this.add("label", label, rule);
  }

  // Pick one condition that failed; a group failed because of as many members as are too many to spare.
  failed(rule) {
    const { run } = this;
    const { plain, members, least } = this.program.asked[rule];
    const failing = (tests) => tests.filter((test) => !this.holds(test)).map(([slot, mask]) => [slot, ~mask]);
    const single = failing(plain),
      several = failing(members);
    const spare = members.length - least;
    if (single.length) {
      this.requireSome(single, 1);
      return;
    }
    if (several.length > spare) {
      this.requireSome(several, spare + 1);
      return;
    }
    for (const [, label, value] of this.program.labelTests[rule]) {
      const setter = run.setter[label];
      if (setter < 0 || setter >= rule || run.alone[label] !== value) {
        this.add("label", label, rule);
        return;
      }
    }
  }

  reached(rule) {
    for (const stop of this.program.stops) {
      if (stop >= rule) return;
      if (!this.ran.has(stop)) this.add("failed", stop);
      else for (const label of this.program.heads[stop]) this.add("label", label, stop);
    }
  }

  holds([slot, mask]) {
    return has(mask, this.run.trial.get(slot));
  }

  // Make reasons of the tests that add least to them: best those that hold all over the domain or are there.
  requireSome(tests, count) {
    const news = ([slot, mask]) => {
      if ((this.domain.get(slot) & ~mask) === 0n || ((this.found.get(slot) ?? -1n) & ~mask) === 0n) return 0;
      return this.found.has(slot) ? 1 : 2;
    };
    const order = tests.map((test) => [news(test), test]).sort(([a], [b]) => a - b);
    for (const [, test] of order.slice(0, count)) this.require(...test);
  }

  require(slot, mask) {
    this.found.set(slot, (this.found.get(slot) ?? this.domain.get(slot)) & mask);
  }
}

// Nodes that wait, by features changed, then steps, then age: few different costs occur, and nodes of one are taken in turn.
class Queue {
  costs = new Map();

  push(item) {
    const cost = item.changed * 2 ** 32 + item.steps;
    if (!this.costs.has(cost)) this.costs.set(cost, []);
    this.costs.get(cost).push(item);
  }

  pop() {
    const least = Math.min(...this.costs.keys());
    const waiting = this.costs.get(least);
    if (waiting.length === 1) this.costs.delete(least);
    return waiting.shift();
  }
}

// The same for an ensemble (polyrule.model.reasons): rules that a node neither forces nor forbids to fire are undecided;
// the sums that are still possible lie between those in which each of them does its worst and its best. Where the old
// outcome holds even then, the node is dropped; otherwise one undecided rule is decided both ways.
class Additive {
  constructor(model, grid, target) {
    this.model = model;
    this.target = target;
    this.asked = model.rules.map((rule) => grid.asked(rule.body));
    this.weights = model.rules.map((rule) => new Map(rule.head.map(([label, , , , weight]) => [label, weight])));
    this.sets = ["subset", "expected-f1"].includes(model.decision.kind);
    this.needed = relatedLabels(model, target);
    this.relevant = [...this.asked.keys()].filter(
      (rule) => this.sets || this.needed.some((label) => this.weights[rule].has(label)),
    );
  }

  sums(rules) {
    const scores = Float64Array.from(this.model.intercepts);
    for (const rule of rules) for (const [label, weight] of this.weights[rule]) scores[label] += weight;
    return scores;
  }

  outcome(trial) {
    const fired = [...this.asked.keys()].filter((rule) => this.asked[rule].holds(trial));
    return decide(this.model, this.sums(fired))[this.target];
  }

  parts(domain, trial, before) {
    const can = this.relevant.filter((rule) => this.asked[rule].possible(domain));
    const sure = (rule) => this.asked[rule].certain(domain);
    const undecided = can.filter((rule) => !sure(rule));
    const helps = undecided.length ? this.helps(can.filter(sure), undecided, before) : null;
    if (!helps) return [];
    // First what would change the sum most from what it is in the trial.
    let chosen = -1,
      most = -Infinity;
    undecided.forEach((rule, place) => {
      const gain = helps[place] * (this.asked[rule].holds(trial) ? -1 : 1);
      if (gain > most) [chosen, most] = [rule, gain];
    });
    return this.asked[chosen].parts(domain);
  }

  helps(must, undecided, before) {
    const { kind, cuts, label_sets: sets, bonuses } = this.model.decision;
    const scores = this.sums(must);
    const added = (rule, labels) => labels.reduce((sum, label) => sum + (this.weights[rule].get(label) ?? 0), 0);
    if (kind === "expected-f1")
      return undecided.map((rule) => [...this.weights[rule].values()].reduce((sum, weight) => sum + Math.abs(weight), 0));
    if (this.needed.length > 1 && !this.sets)
      return undecided.map((rule) => this.needed.reduce((sum, k) => sum + Math.abs(this.weights[rule].get(k) ?? 0), 0));
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
  const grid = new Grid(model, features, values);
  const search = new (model.kind === "ensemble" ? Additive : Program)(model, grid, label);
  const before = search.outcome(grid.present());
  const queue = new Queue();
  queue.push({ changed: 0, steps: 0, domain: grid.everything() });
  let explored = 0;
  while (queue.costs.size && explored < limit) {
    const { steps, domain } = queue.pop();
    explored++;
    yield explored;
    const trial = grid.cheapest(domain);
    if (search.outcome(trial) !== before)
      return { label, was: before, becomes: 1 - before, changes: grid.changes(trial), steps, exact: true, explored };
    for (const part of search.parts(domain, trial, before)) queue.push({ ...grid.cost(part), domain: part });
  }
  return { label, was: before, becomes: 1 - before, changes: null, steps: 0, exact: !queue.costs.size, explored };
}

function smallestFlip(...question) {
  const search = searchFlip(...question);
  for (let step = search.next(); ; step = search.next()) if (step.done) return step.value;
}
