// The studio's pencil. The text fields are what counts: every stroke rewrites them, and the server draws the result.
"use strict";

const form = document.getElementById("studio");
const field = (name) => form.elements.namedItem(name);
const drawing = () => document.getElementById("drawing");
let chosen = null;
let moving = null;

function read() {
  const datasets = new Map();
  for (const node of drawing().querySelectorAll(".dataset")) {
    const { name, x, y } = node.dataset;
    datasets.set(name, { blue: node.classList.contains("yes"), x: Number(x), y: Number(y) });
  }
  const edges = [...drawing().querySelectorAll(".edge")].map((line) => [line.dataset.a, line.dataset.b]);
  return { datasets, edges };
}

const quoted = (name) => (/[",\r\n]|^\s|\s$/.test(name) ? `"${name.replaceAll('"', '""')}"` : name);

function write({ datasets, edges }) {
  const joined = new Set(edges.flat());
  const alone = [...datasets.keys()].filter((name) => !joined.has(name)).map((name) => [name]);
  field("edges").value = [...edges, ...alone].map((row) => row.map(quoted).join(", ")).join("\n");
  field("blue").value = [...datasets].filter(([, d]) => d.blue).map(([name]) => quoted(name)).join(", ");
  field("places").value = JSON.stringify(Object.fromEntries([...datasets].map(([name, d]) => [name, [d.x, d.y]])));
  changed();
}

const changed = () => form.dispatchEvent(new Event("input", { bubbles: true }));

function point(event) {
  const at = new DOMPoint(event.clientX, event.clientY).matrixTransform(drawing().getScreenCTM().inverse());
  return { x: Math.round(at.x), y: Math.round(at.y) };
}

function freshName(datasets) {
  for (let i = 0; ; i++) {
    const name = "abcdefghijklmnopqrstuvwxyz"[i % 26] + (i < 26 ? "" : Math.floor(i / 26));
    if (!datasets.has(name)) return name;
  }
}

function choose(name) {
  chosen = name;
  for (const node of drawing()?.querySelectorAll(".dataset") ?? []) {
    node.classList.toggle("chosen", node.dataset.name === name);
  }
  document.getElementById("remove").disabled = chosen === null;
}

function click(name, at) {
  const graph = read();
  if (name === null) {
    const fresh = freshName(graph.datasets);
    graph.datasets.set(fresh, { blue: graph.datasets.size === 0, ...at });
    choose(null);
    write(graph);
  } else if (chosen === null) {
    choose(name);
  } else if (chosen === name) {
    graph.datasets.get(name).blue = !graph.datasets.get(name).blue;
    choose(null);
    write(graph);
  } else {
    const ends = [chosen, name];
    const others = graph.edges.filter((edge) => !(edge.includes(ends[0]) && edge.includes(ends[1])));
    if (others.length === graph.edges.length) others.push(ends);
    choose(null);
    write({ datasets: graph.datasets, edges: others });
  }
}

document.addEventListener("pointerdown", (event) => {
  if (!event.target.closest?.("#drawing") || event.button !== 0) return;
  const node = event.target.closest(".dataset");
  moving = { node, name: node?.dataset.name ?? null, from: [event.clientX, event.clientY], far: false };
  if (node && event.pointerType === "mouse") event.preventDefault();
});

document.addEventListener("pointermove", (event) => {
  if (!moving) return;
  moving.far ||= Math.hypot(event.clientX - moving.from[0], event.clientY - moving.from[1]) > 6;
  if (moving.far && moving.node) {
    const { x, y } = point(event);
    moving.node.setAttribute("transform", `translate(${x} ${y})`);
    for (const line of drawing().querySelectorAll(".edge")) {
      if (line.dataset.a === moving.name) [["x1", x], ["y1", y]].forEach(([key, value]) => line.setAttribute(key, value));
      if (line.dataset.b === moving.name) [["x2", x], ["y2", y]].forEach(([key, value]) => line.setAttribute(key, value));
    }
  }
});

document.addEventListener("pointerup", (event) => {
  if (!moving) return;
  const { name, far } = moving;
  moving = null;
  if (!far) return click(name, point(event));
  if (name === null) return;
  const graph = read();
  Object.assign(graph.datasets.get(name), point(event));
  write(graph);
});

document.addEventListener("pointercancel", () => {
  moving = null;
});

document.getElementById("remove").addEventListener("click", () => {
  const graph = read();
  graph.datasets.delete(chosen);
  graph.edges = graph.edges.filter((edge) => !edge.includes(chosen));
  choose(null);
  write(graph);
});

document.getElementById("arrange").addEventListener("click", () => {
  field("places").value = "";
  changed();
});

document.getElementById("clear").addEventListener("click", () => {
  for (const name of ["edges", "blue", "places", "each"]) field(name).value = "";
  field("boundary").value = "balanced";
  choose(null);
  changed();
});

for (const range of form.querySelectorAll("input[type=range]")) {
  const number = field(range.dataset.for);
  const follow = () => (range.value = number.value);
  range.closest(".slide").hidden = false;
  number.addEventListener("input", follow);
  range.addEventListener("input", () => {
    number.value = range.value;
    if (number.id === "value") field("boundary").value = "one";
  });
  follow();
}

field("value").addEventListener("input", () => (field("boundary").value = "one"));
field("each").addEventListener("input", () => (field("boundary").value = "each"));

field("unit").addEventListener("input", () => {
  const power = field("unit").value === "exp_epsilon";
  const number = field("epsilon");
  const value = Number(number.value);
  number.value = Number((power ? Math.exp(value) : Math.log(Math.max(value, 1))).toPrecision(6));
  const range = form.querySelector("[data-for=epsilon]");
  [range.min, range.max] = power ? [1, 20] : [0, 5];
  range.value = number.value;
});

document.addEventListener("htmx:afterSwap", () => choose(null));
document.getElementById("tools").hidden = false;
document.getElementById("draw").hidden = true; // Enter still sends the form
