// What the page holds: the data block, the model being looked at, and results that are computed when first needed.

const data = JSON.parse(document.getElementById("data").textContent);
// What the page shows; a page that has a place for the rules of a label, or for the examples that a rule covers, puts
// here how to get there (`showRulesOf`, `showCovered`).
const app = { model: 0 };
const model = () => data.models[app.model];
let lastPart = -1;

const examples = {
  count: 0,
  matrix: null,

  // Rows of feature values, NaN where missing; the file keeps columns, and of sparse ones only what is not 0.
  values(row) {
    const slots = data.features.length;
    if (!this.matrix) {
      this.matrix = new Float64Array(this.count * slots);
      data.examples.columns.forEach((column, slot) => {
        const put = (at, value) => {
          this.matrix[at * slots + slot] = value === null ? NaN : Number(value);
        };
        if (Array.isArray(column)) column.forEach((value, at) => put(at, value));
        else column.i.forEach((at, position) => put(at, column.v[position]));
      });
    }
    return this.matrix.subarray(row * slots, (row + 1) * slots);
  },

  // 1 present, 0 absent, 2 unknown.
  truth(row) {
    const labels = new Uint8Array(data.labels.length);
    for (const label of data.examples.truth[row]) labels[label] = 1;
    for (const label of data.examples.unknown[row]) labels[label] = 2;
    return labels;
  },

  name(row) {
    const part = data.parts[data.examples.part[row]];
    const own = data.examples.id[row];
    const kind = part.key === "test" || data.parts.length > 1 ? part.title.replace(/ data$/, "") : "Example";
    return `${kind} ${own ?? data.examples.row[row] + 1}`;
  },
};

// Parts of the data by number; without data, what the learner recorded stands for one.
const partNumbers = () => (data.parts.length ? [...data.parts.keys()] : [-1]);
const partTitles = () => (data.parts.length ? data.parts.map((part) => part.title) : ["When learned"]);

const predict = (index, values) => runOf(data.models[index])(data.models[index], values);
const runOf = (which) => (which.kind === "ensemble" ? runEnsemble : runList);

const outcomes = new Map();

// Take over other data: whatever was computed from the old is forgotten. A report does this once, the studio after
// every change.
function renew(fresh) {
  Object.assign(data, fresh);
  lastPart = data.parts.length - 1;
  examples.count = data.examples.part.length;
  examples.matrix = null;
  outcomes.clear();
}
renew({});

function outcome(index) {
  if (!outcomes.has(index)) {
    outcomes.set(
      index,
      Array.from({ length: examples.count }, (_, row) => predict(index, examples.values(row))),
    );
  }
  return outcomes.get(index);
}

// What a rule did on the part it is judged by: the test data where there is some, else what the learner recorded.
function figures(rule, part = lastPart) {
  if (part >= 0) return rule.parts[part];
  const sum = (at) => rule.head.reduce((total, literal) => total + literal[at], 0);
  return {
    covers: rule.coverage ?? 0,
    sets: rule.coverage ?? 0,
    right: sum(2),
    wrong: sum(3),
    alone: rule.alone,
    head: rule.head.map((literal) => literal.slice(2)),
  };
}

// The same on the training data, where there is some.
const firstFigures = (rule) => figures(rule, partNumbers()[0]);

// Never "100 %" where something is wrong.
function precisionText(found) {
  const share = precision(found);
  if (!found.wrong || share < 0.995) return percent(share);
  return share < 0.9995 ? percent(share, 1) : `over ${percent(0.999, 1)}`;
}

const isKnown = (share) => share !== null && share !== undefined;

// A share that is expected, never "0 %" or "100 %", which nobody can know.
const shareText = (share) => percent(Math.min(0.99, Math.max(0.01, share)));

const precision = ({ right, wrong }) => (right + wrong ? right / (right + wrong) : 0);

// Whether a prediction is wrong; nothing is where the truth is unknown.
function isWrong(said, truth) {
  return truth !== 2 && said !== truth;
}
