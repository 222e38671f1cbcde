// The finitely many ways in which a model can see an example (polyrule.model.cells). A feature is seen through *cells*:
// the intervals between the model's thresholds, or the categories. Features that are read from one date change together
// and share their cells. A set of cells is a BigInt mask.

const has = (mask, cell) => (mask >> BigInt(cell)) & 1n;

class Cells {
  constructor(slot, feature, thresholds, value) {
    this.slot = slot;
    this.feature = feature;
    this.name = feature.name;
    this.thresholds = thresholds;
    this.old = value;
    this.nominal = feature.kind === "nominal";
    this.count = this.nominal ? feature.categories.length : thresholds.length + 1;
    this.present = this.placeOf(value);
  }

  // The cell of a value; the one after the last where it is missing or unknown.
  placeOf(value) {
    if (Number.isNaN(value)) return this.count;
    if (!this.nominal) return this.place(value);
    return Number.isInteger(value) && value >= 0 && value < this.count ? value : this.count;
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

  values(cell) {
    return [[this.slot, this.value(cell)]];
  }

  // In words, what a change asks for, the interval or the category, and what there is now.
  words(cell) {
    return [this.asked(cell), valueText(this.feature, this.old)];
  }

  asked(cell) {
    if (this.nominal) return `is ${this.feature.categories[cell]}`;
    if (this.thresholds.length === 0) return "is known";
    const side = (kind, at) => sideOf(this.feature, kind, this.thresholds[at]).join(" ").trim();
    const above = cell > 0 ? side(ABOVE, cell - 1) : "";
    const below = cell < this.thresholds.length ? side(AT_MOST, cell) : "";
    return `is ${[above, below].filter(Boolean).join(" and ")}`;
  }
}

function nextAbove(number) {
  if (number === 0) return Number.MIN_VALUE;
  const bits = new BigInt64Array(new Float64Array([number]).buffer);
  bits[0] += number > 0 ? 1n : -1n;
  return new Float64Array(bits.buffer)[0];
}

// Days count from 1970-01-01; dates go from 0001-01-01 to 9999-12-31.
const FIRST_DAY = -719162,
  LAST_DAY = 2932896;

// The year, the month (0 is January) or the weekday (0 is Monday) of a day.
function partOf(day, part) {
  if (!part || Number.isNaN(day)) return day;
  const whole = Math.trunc(day);
  if (part === "weekday") return (((whole + 3) % 7) + 7) % 7;
  const date = new Date(whole * 86400000);
  return part === "year" ? date.getUTCFullYear() : date.getUTCMonth();
}

function yearStart(year) {
  if (year > 9999) return LAST_DAY + 1;
  return new Date(0).setUTCFullYear(Math.max(Math.trunc(year), 1), 0, 1) / 86400000;
}

// Cells of one date: the combinations of the cells of its tests that some day has, those that cost less first; the last
// one is the example's own where no day has it (polyrule.model.cells).
class DateCells {
  constructor(slots, tests, features, values) {
    this.slots = slots;
    this.tests = tests;
    this.features = features;
    this.name = features[slots[0]].date;
    const own = slots.find((slot) => !features[slot].part);
    this.old = own === undefined ? NaN : values[own];
    const year = slots.find((slot) => features[slot].part === "year");
    this.reference = this.nearby(year === undefined ? NaN : values[year]);
    const found = [...this.nearest().values()].sort(
      (a, b) => a.steps - b.steps || this.far(a.day) - this.far(b.day) || a.day - b.day,
    );
    const present = [...tests.values()].map((cells) => cells.present);
    const isPresent = ({ cells }) => cells.every((cell, at) => cell === present[at]);
    this.present = found.findIndex(isPresent);
    if (this.present < 0) this.present = found.push({ cells: present, steps: 0, day: NaN }) - 1;
    this.found = found;
  }

  far(day) {
    return Math.abs(day - this.reference);
  }

  missing() {
    return [...this.tests.values()].every((cells) => cells.present === cells.count);
  }

  // The day that others are compared with: the example's, or one that is as near as can be told.
  nearby(year) {
    if (!Number.isNaN(this.old)) return Math.floor(this.old);
    if (!Number.isNaN(year)) return yearStart(year);
    return this.cuts().at(-1) ?? 0;
  }

  // Last days before a threshold of the date or of its year is crossed.
  cuts() {
    const cuts = [...this.tests.values()].flatMap(({ feature, thresholds }) => {
      if (feature.part === "year") return thresholds.map((threshold) => yearStart(Math.floor(threshold) + 1) - 1);
      return feature.part ? [] : thresholds.map(Math.floor);
    });
    return [...new Set(cuts.map((cut) => Math.min(Math.max(cut, FIRST_DAY - 1), LAST_DAY)))].sort((a, b) => a - b);
  }

  // Per combination that occurs, the nearest day. A weekday of a month occurs within 400 days of any day of a stretch.
  nearest() {
    const tests = [...this.tests.values()];
    const missing = this.missing();
    const found = new Map();
    let first = FIRST_DAY;
    for (const last of [...this.cuts(), LAST_DAY]) {
      const middle = Math.min(Math.max(this.reference, first), last);
      for (let day = Math.max(first, middle - 400); day <= Math.min(last, middle + 400); day++) {
        const cells = tests.map((test) => test.placeOf(partOf(day, test.feature.part)));
        const key = cells.join();
        if (found.has(key) && this.far(found.get(key).day) <= this.far(day)) continue;
        const steps = missing ? 1 : tests.reduce((sum, test, at) => sum + test.steps(cells[at]), 0);
        found.set(key, { cells, steps, day });
      }
      first = last + 1;
    }
    return found;
  }

  everything() {
    return (1n << BigInt(this.found.length)) - 1n;
  }

  steps(cell) {
    return cell === this.present ? 0 : this.found[cell].steps;
  }

  cheapest(mask) {
    return has(mask, this.present) ? this.present : this.found.findIndex((_, cell) => has(mask, cell));
  }

  satisfying(test) {
    const place = [...this.tests.keys()].indexOf(test[1]);
    const mask = this.tests.get(test[1]).satisfying(test);
    return this.found.reduce((all, { cells }, cell) => (has(mask, cells[place]) ? all | (1n << BigInt(cell)) : all), 0n);
  }

  value(cell) {
    return this.found[cell].day;
  }

  values(cell) {
    return this.slots.map((slot) => [slot, partOf(this.value(cell), this.features[slot].part)]);
  }

  // In words, what a change asks for and what there is now.
  words(cell) {
    const changed = [...this.tests.values()].flatMap((test, at) => {
      const other = this.found[cell].cells[at];
      return other === test.present ? [] : [[test.feature.part || "date", ...test.words(other)]];
    });
    const required = `has a day whose ${changed.map(([part, required]) => `${part} ${required}`).join(" and ")}`;
    if (!Number.isNaN(this.old)) return [`${required}, such as ${dayText(this.value(cell))}`, dayText(this.old)];
    return [required, [...new Set(changed.map(([, , now]) => now))].join(", ")];
  }
}

// The cells of everything that a model tests, seen from one example; features of one date have one owner.
class Grid {
  constructor(model, features, values) {
    const alone = testedCells(model, features, values);
    const parts = new Set([...alone.keys()].filter((slot) => features[slot].part).map((slot) => features[slot].date));
    this.cells = new Map();
    this.owner = new Map();
    for (const [slot, cells] of alone) {
      const { date } = features[slot];
      if (date === undefined || !parts.has(date)) {
        this.cells.set(slot, cells);
        this.owner.set(slot, slot);
      } else if (!this.owner.has(slot)) {
        const slots = [...features.keys()].filter((other) => features[other].date === date);
        slots.sort((a, b) => Boolean(features[a].part) - Boolean(features[b].part) || a - b);
        const tests = new Map([...alone].filter(([other]) => slots.includes(other)));
        this.cells.set(slot, new DateCells(slots, tests, features, values));
        for (const other of slots) this.owner.set(other, slot);
      }
    }
  }

  present() {
    return new Map([...this.cells].map(([owner, cells]) => [owner, cells.present]));
  }

  everything() {
    return new Map([...this.cells].map(([owner, cells]) => [owner, cells.everything()]));
  }

  // Which cells a condition looks at, and the mask of those in which it holds.
  test(condition) {
    const owner = this.owner.get(condition[1]);
    return [owner, this.cells.get(owner).satisfying(condition)];
  }

  // What a body asks of the cells: all plain conditions, joined where they ask about the same cells, and enough members.
  asked(body) {
    const plain = new Map();
    let members = [],
      least = 0;
    for (const condition of body) {
      if (condition[0] === LABEL) continue;
      if (condition[0] === GROUP) {
        least = condition[1];
        members = condition[2].map((member) => this.test(member));
      } else {
        const [owner, mask] = this.test(condition);
        plain.set(owner, (plain.get(owner) ?? mask) & mask);
      }
    }
    return new Asked([...plain], members, least);
  }

  cheapest(domain) {
    return new Map([...domain].map(([owner, mask]) => [owner, this.cells.get(owner).cheapest(mask)]));
  }

  // Features that must change, and the least steps that takes.
  cost(domain) {
    let changed = 0,
      steps = 0;
    for (const [owner, mask] of domain) {
      const cells = this.cells.get(owner);
      if (!has(mask, cells.present)) {
        changed++;
        steps += cells.steps(cells.cheapest(mask));
      }
    }
    return { changed, steps };
  }

  changes(trial) {
    const changed = [...trial].filter(([owner, cell]) => cell !== this.cells.get(owner).present);
    return changed.map(([owner, cell]) => {
      const cells = this.cells.get(owner);
      const [asked, now] = cells.words(cell);
      return { name: cells.name, value: cells.value(cell), values: cells.values(cell), asked, now };
    });
  }
}

class Asked {
  constructor(plain, members, least) {
    Object.assign(this, { plain, members, least });
  }

  enough(passes) {
    return this.plain.every(passes) && this.members.filter(passes).length >= this.least;
  }

  holds(trial) {
    return this.enough(([owner, mask]) => has(mask, trial.get(owner)));
  }

  possible(domain) {
    return this.enough(([owner, mask]) => mask & domain.get(owner));
  }

  certain(domain) {
    return this.enough(([owner, mask]) => !(domain.get(owner) & ~mask));
  }

  // Divide a domain for which the body is neither certain nor impossible.
  parts(domain) {
    const open = this.plain.filter(([owner, mask]) => domain.get(owner) & ~mask);
    const member = this.members.find(([owner, mask]) => domain.get(owner) & mask && domain.get(owner) & ~mask);
    const [failing, passing] = splitDomain(domain, open.length ? open : [member]);
    return [...failing, passing];
  }
}

// The parts of a domain that fail the tests, without overlap, and the one that passes all of them.
function splitDomain(domain, tests) {
  const passing = new Map(domain),
    failing = [];
  for (const [owner, mask] of tests) {
    const outside = passing.get(owner) & ~mask;
    if (outside) failing.push(new Map(passing).set(owner, outside));
    passing.set(owner, passing.get(owner) & mask);
  }
  return [failing, passing];
}

function testedCells(model, features, values) {
  const thresholds = new Map();
  for (const rule of model.rules) {
    for (const [kind, index, wanted] of featureTests(rule.body)) {
      if (!thresholds.has(index)) thresholds.set(index, new Set());
      if (kind === AT_MOST || kind === ABOVE) thresholds.get(index).add(wanted + 0);
    }
  }
  const slots = [...thresholds.keys()].sort((a, b) => a - b);
  return new Map(
    slots.map((slot) => [
      slot,
      new Cells(
        slot,
        features[slot],
        [...thresholds.get(slot)].sort((a, b) => a - b),
        values[slot],
      ),
    ]),
  );
}
