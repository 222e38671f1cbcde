// Dependencies between labels: labels of one head (a line), labels that imply others (an arrow). Solid lines hold
// whatever the features are, dashed ones only where features satisfy something, as the paper distinguishes.

const MOST_NAMES = 40;

function graphSection() {
  const { graph } = model();
  if (!graph.edges.length) {
    return el("section", {}, el("h3", {}, "How labels depend on each other"),
      el("p", { class: "note" }, "No rule of this model connects two labels: every head names one label and no body tests one."));
  }
  const shown = { together: true, implies: true, conditional: true, unconditional: true, present: true, opposite: true, absent: false };
  if (!graph.edges.some((edge) => signs(edge) !== "absent")) shown.absent = true;
  const picture = el("div", { class: "graph" });
  const list = el("div", {});
  const redraw = () => {
    const edges = graph.edges.filter((edge) => shown[edge.kind] && shown[edge.conditional ? "conditional" : "unconditional"] && shown[signs(edge)]);
    fill(picture, drawGraph(graph, edges));
    fill(list, edgeTable(edges));
  };
  const toggle = (name, words, sample) => {
    const box = el("input", { type: "checkbox", checked: shown[name], on: { change: () => { shown[name] = box.checked; redraw(); } } });
    return el("label", { class: "check" }, box, sample && edgeSample(sample), ` ${words}`);
  };
  redraw();
  return el("section", { "aria-labelledby": "graph-title" },
    el("h3", { id: "graph-title" }, "How labels depend on each other"),
    el("p", { class: "soft" }, "Read from the rules: labels that one head predicts together, and labels that a body tests to predict another. A dependency is unconditional where the rule tests no feature."),
    el("div", { class: "legend-row" },
      toggle("together", "predicted together", "edge"), toggle("implies", "one implies the other", "edge arrow"),
      toggle("unconditional", "unconditional", "edge"), toggle("conditional", "depends on features", "edge conditional"),
      toggle("present", "both present", "edge"), toggle("opposite", "one excludes the other", "edge opposite"), toggle("absent", "both absent", "edge both-absent")),
    picture,
    graph.dropped > 0 && el("p", { class: "soft" }, `${whole(graph.dropped)} weaker dependencies are left out.`),
    el("details", {}, el("summary", {}, "The same as a table"), list));
}

function edgeSample(style) {
  return svg("svg", { viewBox: "0 0 30 8", class: "key", "aria-hidden": "true" },
    svg("path", { class: style, d: "M1 4H28", "marker-end": style.includes("arrow") ? "url(#arrow)" : null }));
}

const signs = ({ values: [a, b] }) => (a !== b ? "opposite" : a ? "present" : "absent");

function edgeStyle(edge) {
  return ["edge", edge.conditional && "conditional", { opposite: "opposite", absent: "both-absent" }[signs(edge)]].filter(Boolean).join(" ");
}

const signed = (label, value) => (value ? "" : "¬") + data.labels[label];
const edgeText = ({ kind, source, target, values, conditional, rules }) =>
  `${signed(source, values[0])} ${kind === "implies" ? "→" : "with"} ${signed(target, values[1])}${conditional ? ", depending on features" : ""}: ${plural(rules.length, "rule")}`;

function drawGraph(graph, edges) {
  const wide = 920, high = 540, side = 110;
  const x = (label) => side + graph.places[label][0] * (wide - 2 * side);
  const y = (label) => 34 + graph.places[label][1] * (high - 68);
  const degree = data.labels.map(() => 0);
  for (const edge of edges) { degree[edge.source] += edge.rules.length; degree[edge.target] += edge.rules.length; }
  const named = new Set(degree.map((value, label) => [value, label]).sort((a, b) => b[0] - a[0] || a[1] - b[1]).slice(0, MOST_NAMES).map(([, label]) => label));
  const picture = svg("svg", { viewBox: `0 0 ${wide} ${high}`, role: "group", "aria-label": "Graph of label dependencies" },
    svg("defs", {}, svg("marker", { id: "arrow", viewBox: "0 0 8 8", refX: 7, refY: 4, markerWidth: 7, markerHeight: 7, orient: "auto-start-reverse" }, svg("path", { class: "head", d: "M0 0L8 4L0 8z" }))));
  const bends = new Map();
  for (const edge of merged(edges)) picture.append(drawEdge(edge, x, y, bends));
  data.labels.forEach((name, label) => {
    if (!degree[label] && data.labels.length > MOST_NAMES) return;
    picture.append(svg("g", {
      class: `node${named.has(label) ? " named" : ""}`, tabindex: "0", role: "button", "aria-label": `Label ${name}`, transform: `translate(${x(label)} ${y(label)})`,
      on: { click: () => openLabel(label), keydown: (event) => { if (event.key === "Enter" || event.key === " ") { event.preventDefault(); openLabel(label); } } },
    }, svg("title", {}, name), svg("circle", { r: 6 + Math.min(10, Math.sqrt(degree[label])) }),
      svg("text", { y: -12 - Math.min(10, Math.sqrt(degree[label])), "text-anchor": "middle" }, name.length > 22 ? `${name.slice(0, 21)}…` : name)));
  });
  return picture;
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
function drawEdge(edge, x, y, bends) {
  const key = [edge.source, edge.target].sort((a, b) => a - b).join();
  const turn = bends.get(key) ?? 0;
  bends.set(key, turn + 1);
  const forward = edge.source < edge.target ? 1 : -1;
  const bend = (turn % 2 ? 1 : -1) * Math.ceil(turn / 2) * 26 * forward;
  const [x1, y1, x2, y2] = [x(edge.source), y(edge.source), x(edge.target), y(edge.target)];
  const length = Math.hypot(x2 - x1, y2 - y1) || 1;
  const [ux, uy] = [(x2 - x1) / length, (y2 - y1) / length];
  const gap = Math.min(17, length / 3);
  const [mx, my] = [(x1 + x2) / 2 - uy * bend, (y1 + y2) / 2 + ux * bend];
  return svg("path", {
    class: edgeStyle(edge), d: `M${x1 + ux * gap} ${y1 + uy * gap}Q${mx} ${my} ${x2 - ux * gap} ${y2 - uy * gap}`,
    "stroke-width": Math.min(6, 1 + Math.sqrt(edge.rules.length) * 0.8), "marker-end": edge.kind === "implies" ? "url(#arrow)" : null,
  }, svg("title", {}, edge.also ? `${edgeText(edge)}, also ${signed(edge.also.source, edge.also.values[0])} with ${signed(edge.also.target, edge.also.values[1])}` : edgeText(edge)));
}

function edgeTable(edges) {
  const rows = edges.slice(0, MOST_ROWS).map((edge) => el("tr", {},
    el("td", {}, chip(data.labels[edge.source], edge.values[0])), el("td", {}, edge.kind === "implies" ? "implies" : "together with"),
    el("td", {}, chip(data.labels[edge.target], edge.values[1])), el("td", {}, edge.conditional ? "depends on features" : "unconditional"),
    el("td", {}, ruleLinks(edge.rules))));
  return table("Dependencies between labels", ["Label", "How", "Label", "Condition", "Rules"], rows);
}

function ruleLinks(numbers) {
  return [numbers.slice(0, 12).map((number) => [button(whole(number + 1), () => openRule(number), { class: "link", "aria-label": `Rule ${number + 1}` }), " "]),
    numbers.length > 12 && el("span", { class: "soft" }, `and ${numbers.length - 12} more`)];
}
