// Small pictures in SVG. Each has a text alternative; shapes and dashes carry what colours say.

// Distribution of one feature; what satisfies the condition is filled, the rest is faint. `marks` are thresholds.
function histogram(
  feature,
  { condition = null, marks = [], value = NaN, wide = 132, high = 40, stretch = false } = {},
) {
  const data = feature.histogram;
  if (!data || !data.counts.length) return null;
  const nominal = Boolean(feature.categories);
  const counts = data.counts,
    most = Math.max(1, ...counts);
  const low = Number(data.low),
    top = Number(data.high);
  // Halves, because the span of huge values is not a finite number.
  const share = (number) => (top > low ? (number / 2 - low / 2) / (top / 2 - low / 2) : 0.5);
  const place = (number) => 1 + Math.min(1, Math.max(0, share(number))) * (wide - 2);
  const picture = svg("svg", {
    class: "histogram",
    viewBox: `0 0 ${wide} ${high}`,
    preserveAspectRatio: stretch ? "none" : null,
    role: "img",
    "aria-label": describe(),
  });
  const slot = (wide - 2) / counts.length;
  const thin = data.values ? Math.max(2, Math.min(10, (wide - 2) / (2 * counts.length))) : 0;
  counts.forEach((count, at) => {
    const tall = count ? Math.max(1.5, (count / most) * (high - 6)) : 0;
    const left = data.values ? place(data.values[at]) - thin / 2 : 1 + at * slot;
    const inside = nominal
      ? chosen(at)
      : chosen(
          data.values ? data.values[at] : low * (1 - (at + 0.5) / counts.length) + top * ((at + 0.5) / counts.length),
        );
    picture.append(
      svg("rect", {
        class: inside ? "in" : "out",
        height: tall,
        y: high - 4 - tall,
        x: Math.min(wide - 1 - (thin || 1), Math.max(0, left)),
        width: data.values ? thin : Math.max(1, slot - 1),
      }),
    );
  });
  picture.append(svg("line", { class: "axis", x1: 0, x2: wide, y1: high - 3.5, y2: high - 3.5 }));
  for (const mark of marks) line("mark", place(mark));
  if (condition && !nominal && condition[0] !== MISSING) line("threshold", place(condition[2]));
  if (!Number.isNaN(value)) line("here", nominal ? 1 + (value + 0.5) * slot : place(value));
  return picture;

  function line(style, at) {
    picture.append(svg("line", { class: style, x1: at, x2: at, y1: 0, y2: high }));
  }

  function chosen(number) {
    return Boolean(condition) && satisfies([condition[0], 0, condition[2]], [number], []);
  }

  function describe() {
    const range = nominal ? plural(counts.length, "category", "categories") : `from ${valueText(feature, low)} to ${valueText(feature, top)}`;
    return `Distribution of ${feature.name}, ${range}${data.missing ? `, ${whole(data.missing)} missing` : ""}`;
  }
}

// Right and wrong as one bar; wrong is hatched.
function verdictBar(right, wrong, total = right + wrong) {
  const size = (count) => `${(100 * count) / Math.max(1, total)}%`;
  return el(
    "span",
    { class: "verdict", "aria-hidden": "true" },
    el("span", { class: "right", vars: { size: size(right) } }),
    el("span", { class: "wrong", vars: { size: size(wrong) } }),
  );
}

// One share against the rest, where neither is wrong.
const splitBar = (share) =>
  el("span", { class: "split", "aria-hidden": "true" }, el("span", { vars: { size: `${100 * share}%` } }));

const meter = (share, style = "") =>
  el(
    "span",
    { class: `meter ${style}`, "aria-hidden": "true" },
    el("span", { vars: { size: `${100 * Math.min(1, Math.max(0, share))}%` } }),
  );

// Columns for small whole numbers: how many rules have 1, 2, 3 … labels.
function columns(counts, words, unit, last = 10) {
  const keys = [...counts.keys()].sort((a, b) => a - b);
  const most = Math.max(1, ...counts.values());
  const list = el("ol", { class: "columns", "aria-label": words });
  for (const key of keys) {
    list.append(
      el(
        "li",
        {},
        el("span", { class: "count" }, whole(counts.get(key))),
        el("span", { class: "column", vars: { size: `${(100 * counts.get(key)) / most}%` }, "aria-hidden": "true" }),
        el("span", { class: "key" }, key === last ? `${key}+` : String(key)),
        hidden(` ${unit}`),
      ),
    );
  }
  return list;
}

// Lines over the rules of a list. A slider below moves the reading; the pointer moves it too.
function lineChart({ title, series, steps, unit = "rule", format = percent }) {
  const wide = 560,
    high = 250,
    left = 40,
    right = 12,
    top = 12,
    bottom = 30;
  const x = (step) => left + (step / Math.max(1, steps)) * (wide - left - right);
  const y = (share) => top + (1 - share) * (high - top - bottom);
  const picture = svg("svg", {
    class: "lines",
    viewBox: `0 0 ${wide} ${high}`,
    role: "img",
    "aria-label": `${title}: ${series.map((one) => one.name).join(", ")}`,
  });
  for (const share of [0, 0.25, 0.5, 0.75, 1]) {
    picture.append(
      svg("line", { class: "grid", x1: left, x2: wide - right, y1: y(share), y2: y(share) }),
      svg("text", { x: left - 6, y: y(share) + 4, "text-anchor": "end" }, percent(share)),
    );
  }
  for (const step of ticks(steps)) {
    picture.append(
      svg(
        "text",
        { x: x(step), y: high - 10, "text-anchor": step === steps && steps > 0 ? "end" : "middle" },
        whole(step),
      ),
    );
  }
  series.forEach((one, index) => {
    const points = one.values.map((value, step) => `${x(step).toFixed(1)},${y(value).toFixed(1)}`);
    // A value holds until the next rule, so the line has steps.
    const path = points
      .map((point, at) => (at ? `H${point.split(",")[0]}V${point.split(",")[1]}` : `M${point}`))
      .join("");
    picture.append(svg("path", { class: `line s${index}`, d: path }));
  });
  const cursor = svg("line", { class: "cursor", y1: top, y2: high - bottom });
  picture.append(cursor);
  const legend = el("ul", { class: "legend" });
  const slider = el("input", {
    type: "range",
    min: 0,
    max: steps,
    value: steps,
    "aria-label": `${title}: after how many rules`,
  });
  const readout = el("p", { class: "readout" });
  const show = () => {
    const at = Number(slider.value);
    cursor.setAttribute("x1", x(at));
    cursor.setAttribute("x2", x(at));
    fill(readout, at ? `After ${unit} ${whole(at)} of ${whole(steps)}` : "Before the first rule");
    fill(
      legend,
      series.map((one, index) =>
        el(
          "li",
          {},
          svg(
            "svg",
            { viewBox: "0 0 24 8", class: "key", "aria-hidden": "true" },
            svg("path", { class: `line s${index}`, d: "M0 4H24" }),
          ),
          `${one.name} `,
          el("b", {}, format(one.values[at], 1)),
        ),
      ),
    );
  };
  slider.addEventListener("input", show);
  picture.addEventListener("pointermove", (event) => {
    const box = picture.getBoundingClientRect();
    const at = ((event.clientX - box.left) / box.width) * wide;
    slider.value = Math.round(((at - left) / (wide - left - right)) * steps);
    show();
  });
  show();
  return el("figure", { class: "chart" }, el("figcaption", {}, title), picture, slider, readout, legend);
}

function ticks(steps) {
  const gap = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000].find((size) => steps / size <= 8) ?? steps;
  const found = [];
  for (let step = 0; step <= steps; step += gap) found.push(step);
  return found;
}
