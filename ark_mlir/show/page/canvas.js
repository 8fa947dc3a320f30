// Conversion of time and lanes to pixels, and the drawing of the items of all lanes.
// page.html joins all scripts to one function, in the order that timeline.py states.

const canvas = $("canvas"), pen = canvas.getContext("2d", { alpha: false });
const low = document.createElement("canvas"), lowPen = low.getContext("2d");
let width = 0, height = 0, ratio = 1, hatch, overview;
const x = (t) => GUTTER + ((t - view.from) / (view.to - view.from)) * (width - GUTTER);
const t = (px) => view.from + ((px - GUTTER) / (width - GUTTER)) * (view.to - view.from);
const y = (lane) => TOP + lane * view.laneHeight - view.top;

function resize() {
  const box = $("plot").getBoundingClientRect();
  ratio = devicePixelRatio || 1;
  width = Math.max(200, box.width - 14);
  height = Math.max(120, box.height);
  canvas.width = Math.round(width * ratio);
  canvas.height = Math.round(height * ratio);
  canvas.style.width = width + "px";
  canvas.style.height = height + "px";
  $("scroll").style.top = TOP + "px";
  $("scroll").style.height = height - TOP + "px";
  pen.setTransform(ratio, 0, 0, ratio, 0, 0);
  hatch = pen.createPattern(paint.hatch, "repeat");
  overview = null;
  clampView();
}

function clampView() {
  const least = Math.max(total / 1e7, 1e-3);
  let size = Math.min(Math.max(view.to - view.from, least), total * 1.02);
  view.from = Math.min(Math.max(view.from, -0.01 * total), 1.01 * total - size);
  view.to = view.from + size;
  const most = Math.max(0, lanes.length * view.laneHeight - (height - TOP));
  view.top = Math.min(Math.max(view.top, 0), most);
  $("scrolled").style.height = lanes.length * view.laneHeight + "px";
  if (Math.abs($("scroll").scrollTop - view.top) > 1) $("scroll").scrollTop = view.top;
}

let pending = false;
function redraw() {
  if (pending) return;
  pending = true;
  requestAnimationFrame(() => {
    pending = false;
    draw();
  });
}

// The first item of a lane that ends after `when`.
function firstAfter(span, lane, when) {
  let [, from, to] = lanes[lane];
  while (from < to) {
    const middle = (from + to) >> 1;
    if (span.end[middle] <= when) from = middle + 1;
    else to = middle;
  }
  // Items of no length before it end at the same time; one step is enough for drawing.
  return from;
}

const dimmed = (i) =>
  !shown[sort[i]] ||
  (code(i) === RUN && !matches[subject(i)]) ||
  (query && code(i) !== RUN) ||
  (chosenTask >= 0 && !(code(i) === RUN && subject(i) === chosenTask));

function draw() {
  pen.fillStyle = paint.panel;
  pen.fillRect(0, 0, width, height);
  drawBands();
  drawGrid();
  if (mode === "both") {
    drawItems(spans.predicted, 0, 0.5);
    drawItems(spans.traced, 0.5, 0.5);
  } else drawItems(main(), 0, 1);
  drawChoice();
  pen.fillStyle = paint.panel;
  pen.fillRect(0, 0, width, TOP);
  drawOverview();
  drawAxis();
  drawGutter();
}

function visible() {
  const first = Math.max(0, Math.floor(view.top / view.laneHeight));
  const last = Math.min(lanes.length, Math.ceil((view.top + height - TOP) / view.laneHeight));
  return [first, last];
}

function drawBands() {
  const [first, last] = visible();
  pen.fillStyle = paint.ground;
  for (let lane = first; lane < last; lane++)
    if (lanes[lane][0] % 2) pen.fillRect(GUTTER, y(lane), width - GUTTER, view.laneHeight);
  pen.fillStyle = paint.ground;
  const bottom = y(lanes.length);
  if (bottom < height) pen.fillRect(GUTTER, bottom, width - GUTTER, height - bottom);
}

// An item that is wider than a few pixels becomes a rectangle with a label. The colours of all
// narrower items are blended, by their share of each pixel, into a small image with one line per
// lane, so that a hundred thousand items cost the drawing of one image.
function drawItems(span, shift, part) {
  const [firstLane, lastLane] = visible();
  const lines = lastLane - firstLane, columns = Math.ceil(width - GUTTER);
  if (lines <= 0) return;
  low.width = columns;
  low.height = lines;
  const image = lowPen.createImageData(columns, lines);
  const sums = new Float32Array(4 * columns);
  const scale = columns / (view.to - view.from);
  const small = view.laneHeight * part < 7 ? 1e9 : 3;
  const large = [];
  for (let lane = firstLane; lane < lastLane; lane++) {
    const last = lanes[lane][2];
    sums.fill(0);
    for (let i = firstAfter(span, lane, view.from); i < last; i++) {
      if (span.start[i] >= view.to) break;
      if (sort[i] < 0) continue;
      const from = (span.start[i] - view.from) * scale, to = (span.end[i] - view.from) * scale;
      if (to <= from) continue;
      if (to - from >= small) {
        large.push(i);
        continue;
      }
      const left = Math.max(0, Math.floor(from)), right = Math.min(columns - 1, Math.floor(to));
      const strength = dimmed(i) ? 0.15 : 1, [red, green, blue] = mixture[tint(i)];
      for (let p = left; p <= right; p++) {
        let cover = strength * (Math.min(to, p + 1) - Math.max(from, p));
        if (sort[i] === WAITING) cover *= (p + lane) % 4 > 1 ? 0.12 : 0.6;
        sums[4 * p] += cover * red;
        sums[4 * p + 1] += cover * green;
        sums[4 * p + 2] += cover * blue;
        sums[4 * p + 3] += cover;
      }
    }
    const base = 4 * (lane - firstLane) * columns;
    for (let p = 0; p < 4 * columns; p += 4) {
      const cover = sums[p + 3];
      if (!cover) continue;
      for (let channel = 0; channel < 3; channel++)
        image.data[base + p + channel] = sums[p + channel] / cover;
      image.data[base + p + 3] = 255 * cover;
    }
  }
  lowPen.putImageData(image, 0, 0);
  const gap = view.laneHeight * part > 8 ? 1.5 : view.laneHeight * part > 6 ? 1 : 0;
  pen.imageSmoothingEnabled = false;
  for (let line = 0; line < lines; line++)
    pen.drawImage(low, 0, line, columns, 1, GUTTER, y(firstLane + line) + shift * view.laneHeight,
      columns, view.laneHeight * part - gap);
  for (const i of large) drawLarge(span, i, shift, view.laneHeight * part - gap);
  if (view.laneHeight * part >= 14) drawMarks(span, firstLane, lastLane, shift, part);
  if (view.laneHeight * part - gap < 11) drawBlockLabels(span, firstLane, lastLane, shift, part);
}

// The least size of a block of lanes that gets a label, in pixels.
const BLOCK = 15;
// Labels lanes that are too low for text: one label for neighbouring lanes that run the same task.
function drawBlockLabels(span, firstLane, lastLane, shift, part) {
  let open = [];
  const close = (block) => {
    const tall = (block.lanes - 1) * view.laneHeight + view.laneHeight * part;
    const top = y(block.lane) + shift * view.laneHeight;
    if (tall >= 13) drawBlockLabel(block, Math.max(top, TOP), Math.min(top + tall, height));
  };
  for (let lane = firstLane; lane < lastLane; lane++) {
    const next = [];
    for (let i = firstAfter(span, lane, view.from); i < lanes[lane][2]; i++) {
      if (span.start[i] >= view.to) break;
      if (code(i) !== RUN) continue;
      const left = Math.max(x(span.start[i]), GUTTER), right = Math.min(x(span.end[i]), width);
      if (right - left < BLOCK) continue;
      const fits = (b) =>
        b.task === subject(i) && Math.min(right, b.right) - Math.max(left, b.left) >= BLOCK;
      const above = open.find(fits);
      if (above) {
        open.splice(open.indexOf(above), 1);
        above.left = Math.max(left, above.left);
        above.right = Math.min(right, above.right);
        above.lanes++;
        next.push(above);
      } else next.push({ task: subject(i), i, left, right, lane, lanes: 1 });
    }
    open.forEach(close);
    open = next;
  }
  open.forEach(close);
}

// Writes along the block's longer side.
function drawBlockLabel(block, top, bottom) {
  pen.font = '600 11px system-ui, "DejaVu Sans", sans-serif';
  pen.textBaseline = "middle";
  const names = titles(block.i).filter((_, k) => k % 2);
  const find = (room) => names.find((name) => pen.measureText(name).width <= room - 9);
  const wide = block.right - block.left, tall = bottom - top;
  const across = find(wide), upright = tall > wide && !across;
  const label = across || (upright && find(tall)) || (wide > 80 && fitting(names, wide - 9));
  if (!label) return;
  pen.save();
  pen.globalAlpha = dimmed(block.i) ? 0.3 : 1;
  pen.translate(block.left + (upright ? wide / 2 : 6), (top + bottom) / 2);
  if (upright) pen.rotate(-Math.PI / 2);
  const size = pen.measureText(label).width, from = upright ? -size / 2 : 0;
  pen.fillStyle = palette[tint(block.i)];
  pen.fillRect(from - 3, -7.5, size + 6, 15);
  pen.fillStyle = darkness.matches ? "#0c0f13" : "#ffffff";
  pen.fillText(label, from, 0.5);
  pen.restore();
}

function drawLarge(span, i, shift, size) {
  const left = Math.max(x(span.start[i]), GUTTER - 2), right = Math.min(x(span.end[i]), width + 2);
  const top = y(laneOf[i]) + shift * view.laneHeight, wide = right - left - 0.6;
  const isWait = sort[i] === WAITING;
  pen.globalAlpha = dimmed(i) ? 0.14 : 1;
  if (isWait) {
    pen.fillStyle = paint.wait;
    pen.globalAlpha *= 0.12;
    pen.fillRect(left, top, wide, size);
    pen.globalAlpha *= 6;
    pen.fillStyle = hatch;
    hatch.setTransform(new DOMMatrix([0.5, 0, 0, 0.5, x(0) % 6, 0]));
    pen.fillRect(left, top, wide, size);
  } else {
    pen.fillStyle = palette[tint(i)];
    if (wide > 6 && size > 9) {
      pen.beginPath();
      pen.roundRect(left, top, wide, size, 2);
      pen.fill();
    } else pen.fillRect(left, top, wide, size);
  }
  pen.globalAlpha = dimmed(i) ? 0.3 : 1;
  if (wide > 34 && size >= 11) {
    pen.save();
    pen.beginPath();
    pen.rect(left, top, wide - 4, size);
    pen.clip();
    pen.font = `${isWait ? "" : "600 "}11px system-ui, "DejaVu Sans", sans-serif`;
    pen.textBaseline = "middle";
    const label = fitting(isWait ? [meta.semaphores[subject(i)].name] : titles(i), wide - 12);
    const at = Math.max(left, GUTTER) + 5, middle = top + size / 2 + 0.5;
    if (isWait) {
      // A label on a hatched bar needs a plain background.
      const room = Math.min(pen.measureText(label).width + 6, wide - 8);
      pen.fillStyle = paint.panel;
      pen.fillRect(at - 3, top + 2, room, size - 4);
    }
    pen.fillStyle = isWait ? paint.wait : darkness.matches ? "#0c0f13" : "#ffffff";
    pen.fillText(label, at, middle);
    pen.restore();
  }
  pen.globalAlpha = 1;
}

// Returns names of the vCTAs of a work item, from the longest to the shortest.
function titles(i) {
  const { name, unit } = meta.tasks[subject(i)];
  const range = `[${instructions[4 * i + 2]}, ${instructions[4 * i + 3]})`;
  const parts = name.split(/[./]/), tail = parts.pop();
  const pair = parts.length ? `${parts.pop()}.${tail}` : tail;
  const names = [`${name} ${range}`, name, `${pair} ${range}`, pair, `${tail} ${range}`, tail];
  if (!unit) return names;
  const label = unit.label;
  return [...names.map((each) => `${label} ${each}`), `${label} ${range}`, label];
}
// Returns the first of the names that fits into `room` pixels, else the last one, truncated.
function fitting(names, room) {
  for (const name of names) if (pen.measureText(name).width <= room) return name;
  let name = names[names.length - 1];
  while (name.length > 2 && pen.measureText(name + "…").width > room) name = name.slice(0, -1);
  return name.length > 2 ? name + "…" : "";
}

// Draws a tick for each signal and a small triangle for each prefetch: they take no time.
function drawMarks(span, firstLane, lastLane, shift, part) {
  for (let lane = firstLane; lane < lastLane; lane++) {
    const top = y(lane) + shift * view.laneHeight, size = view.laneHeight * part - 1.5;
    let before = -10;
    for (let i = firstAfter(span, lane, view.from - 1); i < lanes[lane][2]; i++) {
      if (span.start[i] > view.to) break;
      const at = x(span.end[i]);
      if (at < GUTTER || at - before < 4) continue;
      const short = span.end[i] === span.start[i];
      if (code(i) === SIGNAL || (code(i) === BARRIER && short)) {
        pen.fillStyle = code(i) === BARRIER ? paint.wait : paint.text;
        pen.globalAlpha = 0.7;
        pen.fillRect(at - 0.75, top, 1.5, size);
      } else if (waits(i) && short) {
        pen.fillStyle = paint.wait;
        pen.globalAlpha = 0.8;
        pen.fillRect(at - 0.75, top, 1.5, size);
      } else if (code(i) === PREFETCH) {
        pen.fillStyle = paint.faint;
        pen.globalAlpha = 0.9;
        pen.beginPath();
        pen.moveTo(at, top + size - 5);
        pen.lineTo(at + 5, top + size);
        pen.lineTo(at - 5, top + size);
        pen.fill();
      } else continue;
      before = at;
    }
  }
  pen.globalAlpha = 1;
}
