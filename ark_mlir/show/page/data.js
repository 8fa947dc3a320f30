// Unpacks the schedule, and holds the state of the view.
// page.html joins all scripts to one function, in the order that timeline.py states.

// Data
//-----------------------------------------------------------------------------

const $ = (id) => document.getElementById(id);
const meta = JSON.parse($("meta").textContent);
const packed = JSON.parse($("data").textContent);
const RUN = 0, SIGNAL = 1, WAIT = 2, BARRIER = 3, PREFETCH = 4, STOP = 5;
const NAMES = ["run", "signal", "wait", "barrier", "prefetch", "stop"];
const GUTTER = 92, AXIS = 26, OVERVIEW = 52, TOP = AXIS + OVERVIEW;

async function unpack(text, Type) {
  const bytes = Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  return new Type(await new Response(stream).arrayBuffer());
}

let instructions, times;
try {
  instructions = await unpack(packed.instructions, Int32Array);
  times = { predicted: await unpack(packed.predicted, Float64Array) };
  if (packed.traced) times.traced = await unpack(packed.traced, Float64Array);
} catch (error) {
  $("message").hidden = false;
  $("message").textContent = "This browser cannot unpack the schedule: " + error;
  return;
}

const count = instructions.length / 4, lanes = meta.lanes;
const laneOf = new Int32Array(count);
lanes.forEach(([, first, last], lane) => laneOf.fill(lane, first, last));
const rankOf = (lane) => Math.floor(lanes[lane][0] / meta.smsOfRank);
// Returns the SM of a lane, or its thread on a CPU, counted within its rank.
const smName = (lane) => meta.ranks > 1
  ? `rank ${rankOf(lane)} ${meta.unit} ${lanes[lane][0] % meta.smsOfRank}`
  : `${meta.unit} ${lanes[lane][0]}`;
const code = (i) => instructions[4 * i], subject = (i) => instructions[4 * i + 1];
const isTask = (i) => code(i) === RUN || code(i) === PREFETCH;
const named = (i) => isTask(i) ? meta.tasks : code(i) === STOP ? meta.slots : meta.semaphores;
const nameOf = (i) => named(i)[subject(i)].name;
const waits = (i) => code(i) === WAIT || code(i) === BARRIER;
const KINDS = meta.kinds.length, WAITING = KINDS;

// The class of an item: the kind of its task, or WAITING; -1 for an item that is drawn as a mark.
const sort = new Int8Array(count);
for (let i = 0; i < count; i++)
  sort[i] = code(i) === RUN ? meta.tasks[subject(i)].kind : waits(i) ? WAITING : -1;

// The units of a pipeline that have colours of their own: a microbatch, forward or backward.
const unitKey = (unit) => 2 * unit.microbatch + unit.backward;
const units = new Map(meta.tasks.filter((t) => t.unit).map((t) => [unitKey(t.unit), t.unit]));
const unitKeys = [...units.keys()].sort((a, b) => a - b);
const unitOf = meta.tasks.map((task) => (task.unit ? unitKeys.indexOf(unitKey(task.unit)) : -1));
let byUnit = units.size > 0;
// The index of an item's colour in the palette: that of its unit, or that of its class.
const tint = (i) =>
  byUnit && code(i) === RUN && unitOf[subject(i)] >= 0 ? KINDS + 1 + unitOf[subject(i)] : sort[i];

// Start and end per item. A wait lasts until the item that it delays begins.
function spansOf(data) {
  const start = new Float64Array(count), end = new Float64Array(count);
  let total = 0;
  for (const [, first, last] of lanes)
    for (let i = first; i < last; i++) {
      start[i] = Math.max(data[2 * i], i > first ? start[i - 1] : 0);
      end[i] = start[i] + data[2 * i + 1];
      if (i > first && waits(i - 1) && start[i] > end[i - 1]) end[i - 1] = start[i];
      total = Math.max(total, end[i]);
    }
  return { start, end, total };
}
const spans = {};
for (const name in times) spans[name] = spansOf(times[name]);
const total = Math.max(1, ...Object.values(spans).map((s) => s.total));

const signalsOf = meta.semaphores.map(() => []);
for (let i = 0; i < count; i++)
  if (code(i) === SIGNAL || code(i) === BARRIER) signalsOf[subject(i)].push(i);

// State
//-----------------------------------------------------------------------------

// If there are many lanes, each lane is too low for two bars.
let mode = !spans.traced ? "predicted" : lanes.length <= 40 ? "both" : "traced";
const view = { from: 0, to: total, top: 0, laneHeight: 20 };
let hover = -1, chosen = -1, chosenTask = -1, query = "";
const shown = new Array(KINDS + 1).fill(true);
let matches = meta.tasks.map(() => true);
// The times that figures, shares and arrows use: traced times if they are shown.
const mainName = () => mode === "both" ? "traced" : mode;
const main = () => spans[mainName()];

// Small helpers
//-----------------------------------------------------------------------------

function time(ns, digits = 4) {
  for (const unit of ["ns", "µs", "ms"]) {
    if (Math.abs(ns) < 1000) return `${+ns.toPrecision(digits)} ${unit}`;
    ns /= 1000;
  }
  return `${+ns.toPrecision(digits)} s`;
}
const number = (value) => value.toLocaleString("en-US");
function element(tag, className, text) {
  const result = document.createElement(tag);
  if (className) result.className = className;
  if (text !== undefined) result.textContent = text;
  return result;
}
const css = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
const darkness = matchMedia("(prefers-color-scheme: dark)");
// Returns a colour as six hex digits, from degrees and shares of one.
function hex(hue, saturation, lightness) {
  const channel = (n) => {
    const k = (n + hue / 30) % 12, most = saturation * Math.min(lightness, 1 - lightness);
    const value = lightness - most * Math.max(-1, Math.min(k - 3, 9 - k, 1));
    return Math.round(255 * value).toString(16).padStart(2, "0");
  };
  return `#${channel(0)}${channel(8)}${channel(4)}`;
}
// A hue for each microbatch, darker for the backward pass.
function unitColor({ microbatch, backward }) {
  const lightness = darkness.matches ? (backward ? 0.55 : 0.74) : backward ? 0.32 : 0.47;
  return hex((microbatch * 137.5) % 360, 0.5, lightness);
}
let palette, mixture, paint;
function usePalette() {
  palette = meta.kinds.map((kind) => (darkness.matches ? kind.dark : kind.light));
  paint = {};
  for (const name of ["ground", "panel", "line", "text", "faint", "accent", "wait"])
    paint[name] = css("--" + name);
  palette.push(paint.wait, ...unitKeys.map((key) => unitColor(units.get(key))));
  mixture = palette.map((color) => [1, 3, 5].map((k) => parseInt(color.slice(k, k + 2), 16)));
  const tile = document.createElement("canvas");
  tile.width = tile.height = 12;
  const pen = tile.getContext("2d");
  pen.strokeStyle = paint.wait;
  pen.lineWidth = 2;
  pen.beginPath();
  for (const shift of [-12, 0, 12]) {
    pen.moveTo(shift - 2, 14);
    pen.lineTo(shift + 14, -2);
  }
  pen.stroke();
  paint.hatch = tile;
}
