// Handlers of pointer and keyboard events, and the initialisation of the page.
// page.html joins all scripts to one function, in the order that timeline.py states.

// Events
//-----------------------------------------------------------------------------

// Returns the instruction at a point of the canvas, or -1.
function hit(px, py) {
  if (px < GUTTER || py < TOP) return -1;
  const lane = Math.floor((py - TOP + view.top) / view.laneHeight);
  if (lane < 0 || lane >= lanes.length) return -1;
  const half = (py - y(lane)) / view.laneHeight;
  const span = mode === "both" ? (half < 0.5 ? spans.predicted : spans.traced) : main();
  const reach = ((view.to - view.from) / (width - GUTTER)) * 2.5, when = t(px);
  let found = -1, distance = reach;
  for (let i = firstAfter(span, lane, when - reach); i < lanes[lane][2]; i++) {
    if (span.start[i] > when + reach) break;
    const away = Math.max(span.start[i] - when, when - span.end[i], 0);
    // A bar under the pointer takes precedence over a mark near it.
    if (away < distance || (away === 0 && sort[i] >= 0)) {
      found = i;
      distance = away;
      if (away === 0 && sort[i] >= 0) break;
    }
  }
  return found;
}

function choose(i, reveal) {
  chosen = i;
  if (i >= 0 && reveal) {
    const span = main(), middle = (span.start[i] + span.end[i]) / 2, size = view.to - view.from;
    if (middle < view.from || middle > view.to) {
      view.from = middle - size / 2;
      view.to = middle + size / 2;
    }
    const top = laneOf[i] * view.laneHeight;
    if (top < view.top || top > view.top + height - TOP - view.laneHeight)
      view.top = top - (height - TOP) / 2;
    clampView();
  }
  showDetails();
  redraw();
}

function zoom(factor, px = (GUTTER + width) / 2) {
  const at = t(px);
  view.from = at - (at - view.from) * factor;
  view.to = at + (view.to - at) * factor;
  clampView();
  redraw();
}
function pan(part) {
  const move = part * (view.to - view.from);
  view.from += move;
  view.to += move;
  clampView();
  redraw();
}
function fitRows() {
  view.laneHeight = Math.min(52, Math.max(4, Math.floor((height - TOP) / lanes.length)));
  $("laneheight").value = view.laneHeight;
}
function fit() {
  view.from = -0.01 * total;
  view.to = 1.01 * total;
  view.top = 0;
  fitRows();
  clampView();
  redraw();
}
function zoomTo(i) {
  const span = main(), size = Math.max(span.end[i] - span.start[i], total / 1e6);
  view.from = span.start[i] - size;
  view.to = span.end[i] + size;
  clampView();
  redraw();
}

let drag = null;
canvas.addEventListener("pointerdown", (event) => {
  if (event.button) return;
  canvas.focus();
  canvas.setPointerCapture(event.pointerId);
  const inOverview = event.offsetY < OVERVIEW;
  drag = { x: event.offsetX, y: event.offsetY, ...view, moved: false, inOverview };
  if (inOverview) {
    const size = view.to - view.from;
    const at = ((event.offsetX - GUTTER) / (width - GUTTER)) * total;
    if (at < view.from || at > view.to) {
      view.from = at - size / 2;
      view.to = at + size / 2;
      clampView();
      Object.assign(drag, view);
      redraw();
    }
  }
});
canvas.addEventListener("pointermove", (event) => {
  if (drag) {
    const dx = event.offsetX - drag.x, dy = event.offsetY - drag.y;
    if (Math.abs(dx) + Math.abs(dy) > 4) drag.moved = true;
    if (!drag.moved) return;
    $("tip").hidden = true;
    const size = drag.inOverview ? -total : drag.to - drag.from;
    const move = (dx / (width - GUTTER)) * size;
    view.from = drag.from - move;
    view.to = drag.to - move;
    if (!drag.inOverview) view.top = drag.top - dy;
    canvas.style.cursor = "grabbing";
    clampView();
    redraw();
    return;
  }
  const found = hit(event.offsetX, event.offsetY);
  canvas.style.cursor = found >= 0 ? "pointer" : "default";
  if (found !== hover) {
    hover = found;
    redraw();
  }
  const tip = $("tip");
  tip.hidden = found < 0;
  if (found < 0) return;
  describe(found, tip);
  placeTip(tip, event.offsetX, event.offsetY);
});
// Places the tip beside the pointer: on the side with enough room, and inside the plot.
function placeTip(tip, px, py) {
  const wide = tip.offsetWidth, tall = tip.offsetHeight;
  const left = px + 16 + wide > width ? px - 12 - wide : px + 16;
  const top = py + 18 + tall > height ? py - 12 - tall : py + 18;
  tip.style.left = Math.max(4, Math.min(left, width - wide - 4)) + "px";
  tip.style.top = Math.max(4, Math.min(top, height - tall - 4)) + "px";
}
canvas.addEventListener("pointerup", (event) => {
  const was = drag;
  drag = null;
  canvas.style.cursor = "default";
  if (was && !was.moved && !was.inOverview) choose(hit(event.offsetX, event.offsetY), false);
});
canvas.addEventListener("pointerleave", () => {
  $("tip").hidden = true;
  hover = -1;
  redraw();
});
canvas.addEventListener("dblclick", (event) => {
  const found = hit(event.offsetX, event.offsetY);
  if (found >= 0) zoomTo(found);
  else fit();
});
canvas.addEventListener("wheel", (event) => {
  event.preventDefault();
  const unit = event.deltaMode ? 16 : 1, dx = event.deltaX * unit, dy = event.deltaY * unit;
  if (event.shiftKey || (event.offsetX < GUTTER && !event.ctrlKey)) {
    view.top += dy || dx;
    clampView();
    redraw();
  } else if (event.altKey) {
    setLaneHeight(view.laneHeight * Math.exp(-dy / 300));
  } else if (Math.abs(dx) > Math.abs(dy)) pan(dx / (width - GUTTER));
  else zoom(Math.exp(dy / 350), Math.max(event.offsetX, GUTTER));
}, { passive: false });

function setLaneHeight(size) {
  const middle = (view.top + (height - TOP) / 2) / view.laneHeight;
  view.laneHeight = Math.min(64, Math.max(3, size));
  view.top = middle * view.laneHeight - (height - TOP) / 2;
  $("laneheight").value = view.laneHeight;
  clampView();
  redraw();
}
$("laneheight").oninput = () => setLaneHeight(+$("laneheight").value);
$("scroll").onscroll = () => {
  if (Math.abs($("scroll").scrollTop - view.top) < 1) return;
  view.top = $("scroll").scrollTop;
  redraw();
};
$("fit").onclick = fit;
$("search").oninput = () => {
  query = $("search").value.trim().toLowerCase();
  matches = meta.tasks.map((task) =>
    [task.name, task.at, ...task.ops].some((text) => text.toLowerCase().includes(query)));
  showTasks();
  redraw();
};
addEventListener("keydown", (event) => {
  if (event.target === $("search")) {
    if (event.key === "Escape") {
      $("search").value = "";
      $("search").oninput();
      canvas.focus();
    }
    return;
  }
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const keys = {
    w: () => zoom(0.7), s: () => zoom(1 / 0.7), a: () => pan(-0.2), d: () => pan(0.2),
    "+": () => zoom(0.7), "-": () => zoom(1 / 0.7), "=": () => zoom(0.7), f: fit,
    ArrowLeft: () => pan(-0.1), ArrowRight: () => pan(0.1),
    ArrowUp: () => { view.top -= view.laneHeight; clampView(); redraw(); },
    ArrowDown: () => { view.top += view.laneHeight; clampView(); redraw(); },
    "?": () => $("guide-button").click(),
    Escape: () => { chosenTask = -1; choose(-1, false); showTasks(); },
    "/": () => $("search").focus(),
  };
  const action = keys[event.key] || keys[event.key.toLowerCase()];
  if (!action) return;
  event.preventDefault();
  action();
});
const modes = document.querySelectorAll("#modes button");
function showMode() {
  for (const button of modes) button.setAttribute("aria-pressed", button.dataset.mode === mode);
}
for (const button of modes)
  button.onclick = () => {
    mode = button.dataset.mode;
    showMode();
    overview = null;
    refresh();
  };

function refresh() {
  showLegend();
  showTasks();
  showLinks();
  showDetails();
  redraw();
}

// Start
//-----------------------------------------------------------------------------

$("program").textContent = meta.program;
$("target").textContent = meta.target;
$("producer").textContent = meta.producer;
for (const [name, value] of meta.figures) {
  const pair = element("div");
  pair.append(element("dt", "", name), element("dd", "", value));
  $("figures").append(pair);
}
$("unit").textContent = meta.unit === "SM" ? "an SM of the GPU" : "a thread of the processor";
$("guide-button").onclick = () => {
  $("guide").hidden = !$("guide").hidden;
  $("guide-button").setAttribute("aria-pressed", !$("guide").hidden);
};
$("modes").hidden = !spans.traced;
$("units").hidden = $("unitsguide").hidden = !byUnit;
$("units").onclick = () => {
  byUnit = !byUnit;
  $("units").setAttribute("aria-pressed", byUnit);
  refresh();
};
showMode();
if (!count) {
  $("message").hidden = false;
  $("message").textContent = "The schedule has no instructions.";
}
usePalette();
resize();
fit();
refresh();
darkness.addEventListener("change", () => {
  usePalette();
  resize();
  refresh();
});
new ResizeObserver(() => {
  resize();
  redraw();
}).observe($("plot"));
document.body.dataset.ready = "yes";
