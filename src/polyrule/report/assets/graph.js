// Dependencies between labels: labels of one head (a line), labels that imply others (an arrow). Solid lines hold
// whatever the features are, dashed ones only where features satisfy something, as the paper distinguishes.

const MOST_NAMES = 40,
  NAMES_OF_MANY = 24;

function graphSection() {
  const { graph } = model();
  if (!graph.edges.length) {
    return el(
      "section",
      {},
      el("h3", {}, "How labels depend on each other"),
      note("No rule of this model connects two labels: every head names one label and no body tests one."),
    );
  }
  const shown = {
    together: true,
    implies: true,
    conditional: true,
    unconditional: true,
    present: true,
    opposite: true,
    absent: false,
  };
  if (!graph.edges.some((edge) => signs(edge) !== "absent")) shown.absent = true;
  const picture = el("div", { class: "graph" });
  const list = el("div", {});
  const alone = soft();
  const redraw = () => {
    const edges = graph.edges.filter(
      (edge) => shown[edge.kind] && shown[edge.conditional ? "conditional" : "unconditional"] && shown[signs(edge)],
    );
    fill(picture, drawGraph(graph, edges));
    fill(alone, loneLabels(edges));
    fill(list, edgeTable(edges));
  };
  const toggle = (name, words, sample) => {
    const box = tickBox(shown[name], (on) => {
      shown[name] = on;
      redraw();
    });
    return el("label", { class: "check" }, box, sample && edgeSample(sample), ` ${words}`);
  };
  redraw();
  return el(
    "section",
    { "aria-labelledby": "graph-title" },
    el("h3", { id: "graph-title" }, "How labels depend on each other"),
    soft("Read from the rules: labels that one head predicts together, and labels that a body tests to predict another. A dependency is unconditional where the rule tests no feature."),
    el(
      "div",
      { class: "legend-row" },
      legendGroup(
        "How",
        toggle("together", "predicted together", "edge plain ends"),
        toggle("implies", "one implies the other", "edge plain arrow"),
      ),
      legendGroup(
        "When",
        toggle("unconditional", "unconditional", "edge plain"),
        toggle("conditional", "depends on features", "edge plain conditional"),
      ),
      legendGroup(
        "Labels",
        toggle("present", "both present", "edge"),
        toggle("opposite", "one excludes the other", "edge opposite"),
        toggle("absent", "both absent", "edge both-absent"),
      ),
    ),
    picture,
    alone,
    graph.dropped > 0 && soft(`${whole(graph.dropped)} weaker dependencies are left out.`),
    el("details", {}, el("summary", {}, "The same as a table"), list),
  );
}

// Labels that the picture does not show.
function loneLabels(edges) {
  const busy = new Set(edges.flatMap((edge) => [edge.source, edge.target]));
  const rest = data.labels.filter((_, label) => !busy.has(label));
  if (!rest.length || !busy.size) return [];
  const shown = rest.slice(0, 20).join(", ");
  return `On their own: ${shown}${rest.length > 20 ? ` and ${whole(rest.length - 20)} more` : ""}.`;
}

const legendGroup = (title, ...toggles) =>
  el("div", { class: "legend-group", role: "group", "aria-label": title }, el("span", { class: "soft" }, title), toggles);

function edgeSample(style) {
  const sample = svg(
    "svg",
    { viewBox: "0 0 36 12", class: "key", "aria-hidden": "true" },
    svg("path", { class: style, d: "M2 6H33", "marker-end": style.includes("arrow") ? "url(#arrow)" : null }),
  );
  if (style.includes("ends")) sample.append(...[3, 33].map((cx) => svg("circle", { class: "end", cx, cy: 6, r: 3 })));
  sample.append(...signMark(style, 18, 6));
  return sample;
}

// What a line's colour says is also said by a sign in its middle.
function signMark(style, x, y) {
  if (style.includes("opposite")) return [svg("text", { class: "sign", x, y: y + 5, "text-anchor": "middle" }, "✕")];
  return style.includes("both-absent") ? [svg("circle", { class: "ring", cx: x, cy: y, r: 4 })] : [];
}

const signs = ({ values: [a, b] }) => (a !== b ? "opposite" : a ? "present" : "absent");

function edgeStyle(edge) {
  return ["edge", edge.conditional && "conditional", { opposite: "opposite", absent: "both-absent" }[signs(edge)]]
    .filter(Boolean)
    .join(" ");
}

const signed = (label, value) => (value ? "" : "not ") + data.labels[label];
const edgeText = ({ kind, source, target, values, conditional, rules }) =>
  `${signed(source, values[0])} ${kind === "implies" ? "→" : "with"} ${signed(target, values[1])}${conditional ? ", depending on features" : ""}: ${plural(rules.length, "rule")}`;

function drawGraph(graph, edges) {
  const degree = data.labels.map(() => 0);
  for (const edge of edges) {
    degree[edge.source] += edge.rules.length;
    degree[edge.target] += edge.rules.length;
  }
  const many = data.labels.length > MOST_NAMES;
  // Labels without a dependency are left out of the picture; of many labels only the busiest are named.
  const visible = [...data.labels.keys()]
    .filter((label) => degree[label])
    .sort((a, b) => degree[a] - degree[b] || b - a);
  if (!visible.length) return note("No dependency of the chosen kinds.");
  const named = new Set(visible.slice(many ? -NAMES_OF_MANY : 0));
  // A few labels need no large picture.
  const high = Math.min(540, Math.max(170, 90 + 45 * visible.length));
  const { x, y } = placing(graph, visible, high);
  const ways = data.labels.map(() => []);
  for (const { source, target } of edges) {
    const length = Math.hypot(x(target) - x(source), y(target) - y(source)) || 1;
    const way = [(x(target) - x(source)) / length, (y(target) - y(source)) / length];
    ways[source].push(way);
    ways[target].push(way.map((part) => -part));
  }
  const picture = svg(
    "svg",
    { viewBox: `0 0 920 ${high}`, role: "group", "aria-label": "Graph of label dependencies", class: many ? "many" : null },
    svg(
      "defs",
      {},
      svg(
        "marker",
        {
          id: "arrow",
          viewBox: "0 0 8 8",
          refX: 7,
          refY: 4,
          markerWidth: 7,
          markerHeight: 7,
          orient: "auto-start-reverse",
        },
        svg("path", { class: "head", d: "M0 0L8 4L0 8z" }),
      ),
    ),
  );
  const bends = new Map();
  for (const edge of merged(edges)) picture.append(drawEdge(edge, x, y, bends, many));
  for (const label of visible)
    picture.append(
      drawNode(
        label,
        x(label),
        y(label),
        Math.min(10, Math.sqrt(degree[label])) / (many ? 2 : 1) + (many ? 3 : 6),
        named.has(label),
        ways[label],
      ),
    );
  return picture;
}

// Places stretched so that the labels shown fill the picture.
function placing(graph, visible, height) {
  const axis = (at, low, high) => {
    const places = visible.map((label) => graph.places[label][at]);
    const least = Math.min(...places),
      span = Math.max(...places) - least || 1;
    return (label) => low + ((graph.places[label][at] - least) / span) * (high - low);
  };
  return { x: axis(0, 145, 750), y: axis(1, 44, height - 48) };
}

// Where a name stands beside its point: above, unless lines or their arrow heads arrive there.
function nameSide(ways, x, radius, width) {
  const near = radius + 3,
    far = radius + 22,
    half = width / 2;
  const sides = [
    { across: 0, down: -1, box: [-half, half, -far, -near] },
    { across: 0, down: 1, box: [-half, half, near, far] },
  ];
  if (x + near + width < 905) sides.push({ across: 1, down: 0, box: [near, near + width, -10, 10] });
  if (x - near - width > 15) sides.push({ across: -1, down: 0, box: [-near - width, -near, -10, 10] });
  const steps = Array.from({ length: 12 }, (_, step) => radius + 6 * step);
  const hits = ({ box: [left, right, top, bottom] }) =>
    ways.reduce(
      (sum, [dx, dy]) =>
        sum +
        steps.filter((t) => dx * t > left - 8 && dx * t < right + 8 && dy * t > top - 4 && dy * t < bottom + 4).length,
      0,
    );
  return sides.reduce((best, side) => (hits(side) < hits(best) ? side : best));
}

function drawNode(label, x, y, radius, named, ways) {
  const name = data.labels[label];
  const short = name.length > 22 ? `${name.slice(0, 21)}…` : name;
  const { across, down } = nameSide(ways, x, radius, 8 * short.length);
  const place = {
    x: across * (radius + 7),
    y: down < 0 ? -6 - radius : down > 0 ? 16 + radius : 4,
    "text-anchor": across > 0 ? "start" : across < 0 ? "end" : "middle",
  };
  const press = (event) => {
    if (event.key === "Enter" || event.key === " ") {
      event.preventDefault();
      openLabel(label);
    }
  };
  return svg(
    "g",
    {
      class: `node${named ? " named" : ""}`,
      tabindex: "0",
      role: "button",
      "aria-label": `Label ${name}`,
      transform: `translate(${x} ${y})`,
      on: { click: () => openLabel(label), keydown: press },
    },
    svg("title", {}, name),
    svg("circle", { r: radius }),
    svg("text", place, short),
  );
}

// "a without b" and "b without a" are one line in the picture; the table keeps them apart.
function merged(edges) {
  const lines = new Map();
  for (const edge of edges) {
    const key = [edge.kind, edge.source, edge.target, edge.conditional, signs(edge)].join();
    const line = lines.get(key);
    if (line) lines.set(key, { ...line, rules: [...new Set([...line.rules, ...edge.rules])], also: edge });
    else lines.set(key, edge);
  }
  return [...lines.values()];
}

// Edges between the same two labels fan out, so that none hides another.
function drawEdge(edge, x, y, bends, many) {
  const key = [edge.source, edge.target].sort((a, b) => a - b).join();
  const turn = bends.get(key) ?? 0;
  bends.set(key, turn + 1);
  const forward = edge.source < edge.target ? 1 : -1;
  const bend = (turn % 2 ? 1 : -1) * Math.ceil(turn / 2) * 26 * forward;
  const [x1, y1, x2, y2] = [x(edge.source), y(edge.source), x(edge.target), y(edge.target)];
  const length = Math.hypot(x2 - x1, y2 - y1) || 1;
  const [ux, uy] = [(x2 - x1) / length, (y2 - y1) / length];
  const gap = Math.min(many ? 9 : 17, length / 3);
  const [mx, my] = [(x1 + x2) / 2 - uy * bend, (y1 + y2) / 2 + ux * bend];
  const line = svg(
    "path",
    {
      class: edgeStyle(edge),
      d: `M${x1 + ux * gap} ${y1 + uy * gap}Q${mx} ${my} ${x2 - ux * gap} ${y2 - uy * gap}`,
      "stroke-width": many ? 1.2 : Math.min(6, 1 + Math.sqrt(edge.rules.length) * 0.8),
      "marker-end": edge.kind === "implies" ? "url(#arrow)" : null,
    },
    svg(
      "title",
      {},
      edge.also
        ? `${edgeText(edge)}, also ${signed(edge.also.source, edge.also.values[0])} with ${signed(edge.also.target, edge.also.values[1])}`
        : edgeText(edge),
    ),
  );
  const middle = [(x1 + x2 + 2 * mx) / 4, (y1 + y2 + 2 * my) / 4];
  return svg("g", {}, line, many ? [] : signMark(edgeStyle(edge), ...middle));
}

function edgeTable(edges) {
  const rows = edges
    .slice(0, MOST_ROWS)
    .map((edge) =>
      el(
        "tr",
        {},
        el("td", {}, chip(data.labels[edge.source], edge.values[0])),
        el("td", {}, edge.kind === "implies" ? "implies" : "together with"),
        el("td", {}, chip(data.labels[edge.target], edge.values[1])),
        el("td", {}, edge.conditional ? "depends on features" : "unconditional"),
        el("td", {}, ruleLinks(edge.rules)),
      ),
    );
  return table("Dependencies between labels", ["Label", "How", "Label", "Condition", "Rules"], rows);
}

const ruleLinks = (numbers) => firstFew(numbers, 12, (number) => [numberLink(number), " "]);
