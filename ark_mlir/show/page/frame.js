// Draws the axis, the overview, the names of lanes, and the arrows of hand-offs.
// page.html joins all scripts to one function, in the order that timeline.py states.

// Overview, axis, gutter
//-----------------------------------------------------------------------------

// Lanes at work over time, stacked by kind.
function makeOverview() {
  const columns = Math.max(1, Math.floor((width - GUTTER) / 2)), span = main();
  const sums = Array.from({ length: KINDS }, () => new Float64Array(columns));
  const scale = columns / total;
  for (let i = 0; i < count; i++) {
    if (code(i) !== RUN) continue;
    const from = span.start[i] * scale, to = span.end[i] * scale;
    for (let c = Math.floor(from); c < Math.min(to, columns); c++)
      sums[sort[i]][c] += Math.min(to, c + 1) - Math.max(from, c);
  }
  const canvas = document.createElement("canvas");
  canvas.width = columns;
  canvas.height = OVERVIEW - 12;
  const pen = canvas.getContext("2d");
  for (let c = 0; c < columns; c++) {
    let base = canvas.height;
    for (let kind = 0; kind < KINDS; kind++) {
      const size = (sums[kind][c] / lanes.length) * canvas.height;
      if (size <= 0) continue;
      pen.fillStyle = palette[kind];
      pen.globalAlpha = shown[kind] ? 0.9 : 0.15;
      pen.fillRect(c, base - size, 1, size);
      base -= size;
    }
  }
  return canvas;
}
const overviewX = (when) => GUTTER + (when / total) * (width - GUTTER);

function drawOverview() {
  overview = overview || makeOverview();
  const tall = OVERVIEW - 12;
  pen.imageSmoothingEnabled = false;
  pen.drawImage(overview, GUTTER, 6, width - GUTTER, tall);
  const left = Math.max(GUTTER, overviewX(view.from)), right = Math.min(width, overviewX(view.to));
  pen.fillStyle = paint.panel;
  pen.globalAlpha = 0.72;
  pen.fillRect(GUTTER, 4, left - GUTTER, tall + 4);
  pen.fillRect(right, 4, width - right, tall + 4);
  pen.globalAlpha = 1;
  pen.strokeStyle = paint.accent;
  pen.lineWidth = 1.5;
  pen.strokeRect(left + 0.75, 4, Math.max(2, right - left - 1.5), tall + 4);
  pen.fillStyle = paint.faint;
  pen.font = '11px system-ui, "DejaVu Sans", sans-serif';
  pen.textAlign = "right";
  pen.textBaseline = "middle";
  pen.fillText("lanes at work", GUTTER - 9, 6 + tall / 2 - (spans.traced ? 7 : 0));
  if (spans.traced) pen.fillText(mainName(), GUTTER - 9, 6 + tall / 2 + 7);
  pen.textAlign = "left";
}

function ticks() {
  const wanted = (view.to - view.from) / Math.max(2, (width - GUTTER) / 110);
  const power = 10 ** Math.floor(Math.log10(wanted));
  const step = [1, 2, 5, 10].map((m) => m * power).find((s) => s >= wanted);
  const result = [];
  for (let k = Math.ceil(Math.max(0, view.from) / step); k * step <= view.to; k++)
    result.push([k * step, Math.round(x(k * step)) + 0.5]);
  return result;
}

function drawGrid() {
  pen.strokeStyle = paint.line;
  pen.lineWidth = 1;
  pen.beginPath();
  for (const [, at] of ticks()) {
    pen.moveTo(at, TOP);
    pen.lineTo(at, Math.min(height, y(lanes.length)));
  }
  pen.stroke();
  drawRanks();
}

// A line between the lanes of two ranks.
function drawRanks() {
  const [first, last] = visible();
  pen.strokeStyle = paint.faint;
  pen.lineWidth = 1.5;
  pen.beginPath();
  for (let lane = Math.max(first, 1); lane < last; lane++)
    if (rankOf(lane) !== rankOf(lane - 1)) {
      pen.moveTo(0, y(lane));
      pen.lineTo(width, y(lane));
    }
  pen.stroke();
}

function drawAxis() {
  pen.font = '11px system-ui, "DejaVu Sans", sans-serif';
  pen.textBaseline = "middle";
  pen.lineWidth = 1;
  pen.strokeStyle = paint.line;
  pen.fillStyle = paint.faint;
  pen.beginPath();
  for (const [when, at] of ticks()) {
    if (at < GUTTER) continue;
    pen.moveTo(at, TOP - 8);
    pen.lineTo(at, TOP);
    // The label of a tick at the right edge is on its left, where there is room for it.
    const label = time(when, 6), wide = pen.measureText(label).width;
    const left = at + 5 + wide > width - 2 ? at - 5 - wide : at + 5;
    pen.fillText(label, left, OVERVIEW + AXIS / 2 + 2);
  }
  pen.moveTo(0, TOP - 0.5);
  pen.lineTo(width, TOP - 0.5);
  pen.stroke();
}

function drawGutter() {
  pen.fillStyle = paint.panel;
  pen.fillRect(0, TOP, GUTTER, height);
  const [first, last] = visible();
  pen.font = '11px system-ui, "DejaVu Sans", sans-serif';
  pen.textBaseline = "middle";
  let before = -100;
  for (let lane = first; lane < last; lane++) {
    const [sm] = lanes[lane], top = y(lane);
    const several = (lanes[lane - 1] || [])[0] === sm || (lanes[lane + 1] || [])[0] === sm;
    if (top + view.laneHeight / 2 - before < 12 || top + view.laneHeight / 2 < TOP + 5) continue;
    before = top + view.laneHeight / 2;
    pen.fillStyle = hover >= 0 && laneOf[hover] === lane ? paint.text : paint.faint;
    pen.fillText(several ? `${smName(lane)} · ${lane}` : smName(lane), meta.ranks > 1 ? 4 : 14, before);
    if (mode === "both" && view.laneHeight >= 24) {
      pen.textAlign = "right";
      pen.font = '9px system-ui, "DejaVu Sans", sans-serif';
      pen.fillText("predicted", GUTTER - 6, top + view.laneHeight / 4);
      pen.fillText("traced", GUTTER - 6, top + (3 * view.laneHeight) / 4);
      pen.textAlign = "left";
      pen.font = '11px system-ui, "DejaVu Sans", sans-serif';
    }
  }
  pen.strokeStyle = paint.line;
  pen.beginPath();
  pen.moveTo(GUTTER - 0.5, TOP);
  pen.lineTo(GUTTER - 0.5, height);
  pen.stroke();
}

// The selected item, and the items that it waits for
//-----------------------------------------------------------------------------

// Returns the signals that an item waits for. If the item is not a wait, these are the signals of
// the waits directly before it.
function awaited(i) {
  const result = [];
  const first = lanes[laneOf[i]][1];
  for (let k = i; k >= first; k--) {
    if (waits(k)) result.push([k, signalsOf[subject(k)].filter((s) => s !== k)]);
    if (waits(i) || (k < i && code(k) === RUN)) break;
  }
  return result;
}
// Returns the work item whose result a signal announces, or -1.
function runBefore(i) {
  for (let k = i; k >= lanes[laneOf[i]][1]; k--) if (code(k) === RUN) return k;
  return -1;
}
function latest(signals, span) {
  return signals.reduce((a, b) => (a < 0 || span.end[b] > span.end[a] ? b : a), -1);
}

function drawChoice() {
  const span = main();
  for (const [i, color, wide] of [[hover, paint.faint, 1], [chosen, paint.text, 2]]) {
    if (i < 0) continue;
    pen.strokeStyle = color;
    pen.lineWidth = wide;
    const left = x(span.start[i]);
    pen.strokeRect(left, y(laneOf[i]) + 0.5, Math.max(2, x(span.end[i]) - left), view.laneHeight - 1.5);
  }
  if (chosen < 0) return;
  for (const [wait, signals] of awaited(chosen)) {
    const last = latest(signals, span);
    for (const s of signals.slice(0, 400)) arrow(span, s, wait, s === last);
  }
}

function arrow(span, from, to, strong) {
  const x0 = x(span.end[from]), y0 = y(laneOf[from]) + view.laneHeight / 2;
  const x1 = x(span.end[to]), y1 = y(laneOf[to]) + view.laneHeight / 2;
  const bend = Math.max(24, Math.abs(x1 - x0) / 3);
  pen.strokeStyle = pen.fillStyle = strong ? paint.wait : paint.accent;
  pen.globalAlpha = strong ? 1 : 0.4;
  pen.lineWidth = strong ? 2 : 1;
  pen.beginPath();
  pen.moveTo(x0, y0);
  pen.bezierCurveTo(x0 + bend, y0, x1 - bend, y1, x1, y1);
  pen.stroke();
  pen.beginPath();
  pen.arc(x0, y0, strong ? 3 : 2, 0, 7);
  pen.fill();
  pen.globalAlpha = 1;
}
