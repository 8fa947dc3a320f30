"use strict";
(async () => {
  // -- data ---------------------------------------------------------------------------------

  const $ = (id) => document.getElementById(id);
  const meta = JSON.parse($("meta").textContent);
  const packed = JSON.parse($("data").textContent);
  const RUN = 0, SIGNAL = 1, WAIT = 2, BARRIER = 3, PREFETCH = 4;
  const NAMES = ["run", "signal", "wait", "barrier", "prefetch"];
  const GUTTER = 92, AXIS = 26, OVERVIEW = 52, TOP = AXIS + OVERVIEW;

  async function unpack(text, Type) {
    const bytes = Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
    return new Type(await new Response(stream).arrayBuffer());
  }

  let rows, times;
  try {
    rows = await unpack(packed.rows, Int32Array);
    times = { predicted: await unpack(packed.predicted, Float64Array) };
    if (packed.traced) times.traced = await unpack(packed.traced, Float64Array);
  } catch (error) {
    $("message").hidden = false;
    $("message").textContent = "This browser cannot unpack the schedule: " + error;
    return;
  }

  const count = rows.length / 4, lanes = meta.lanes;
  const laneOf = new Int32Array(count);
  lanes.forEach(([, first, last], lane) => laneOf.fill(lane, first, last));
  const code = (i) => rows[4 * i], subject = (i) => rows[4 * i + 1];
  const waits = (i) => code(i) === WAIT || code(i) === BARRIER;
  const KINDS = meta.kinds.length, WAITING = KINDS;

  // Class of an item: the kind of its task, or WAITING; -1 is drawn as a mark.
  const sort = new Int8Array(count);
  for (let i = 0; i < count; i++)
    sort[i] = code(i) === RUN ? meta.tasks[subject(i)].kind : waits(i) ? WAITING : -1;

  // Start and end per item. A wait lasts until what it holds up begins.
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

  // -- state --------------------------------------------------------------------------------

  let mode = "predicted";
  const view = { from: 0, to: total, top: 0, row: 20 };
  let hover = -1, chosen = -1, chosenTask = -1, query = "";
  const shown = new Array(KINDS + 1).fill(true);
  let matches = meta.tasks.map(() => true);
  const main = () => spans[mode === "both" ? "predicted" : mode];

  // -- small helpers ------------------------------------------------------------------------

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
  let palette, mixture, paint;
  function usePalette() {
    palette = meta.kinds.map((kind) => (darkness.matches ? kind.dark : kind.light));
    paint = {};
    for (const name of ["ground", "panel", "line", "text", "faint", "accent", "wait"])
      paint[name] = css("--" + name);
    palette.push(paint.wait);
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

  // -- canvas -------------------------------------------------------------------------------

  const canvas = $("canvas"), pen = canvas.getContext("2d", { alpha: false });
  const low = document.createElement("canvas"), lowPen = low.getContext("2d");
  let width = 0, height = 0, ratio = 1, hatch, overview;
  const x = (t) => GUTTER + ((t - view.from) / (view.to - view.from)) * (width - GUTTER);
  const t = (px) => view.from + ((px - GUTTER) / (width - GUTTER)) * (view.to - view.from);
  const y = (lane) => TOP + lane * view.row - view.top;

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
    const most = Math.max(0, lanes.length * view.row - (height - TOP));
    view.top = Math.min(Math.max(view.top, 0), most);
    $("scrolled").style.height = lanes.length * view.row + "px";
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
    const first = Math.max(0, Math.floor(view.top / view.row));
    const last = Math.min(lanes.length, Math.ceil((view.top + height - TOP) / view.row));
    return [first, last];
  }

  function drawBands() {
    const [first, last] = visible();
    pen.fillStyle = paint.ground;
    for (let lane = first; lane < last; lane++)
      if (lanes[lane][0] % 2) pen.fillRect(GUTTER, y(lane), width - GUTTER, view.row);
    pen.fillStyle = paint.ground;
    const bottom = y(lanes.length);
    if (bottom < height) pen.fillRect(GUTTER, bottom, width - GUTTER, height - bottom);
  }

  // What is wider than a few pixels becomes a rectangle with a label. All else is mixed, by the
  // share of each pixel that it takes, into a small picture with one line per row, so that a
  // hundred thousand items cost one image.
  function drawItems(span, shift, part) {
    const [firstLane, lastLane] = visible();
    const lines = lastLane - firstLane, columns = Math.ceil(width - GUTTER);
    if (lines <= 0) return;
    low.width = columns;
    low.height = lines;
    const image = lowPen.createImageData(columns, lines);
    const sums = new Float32Array(4 * columns);
    const scale = columns / (view.to - view.from);
    const small = view.row * part < 7 ? 1e9 : 3;
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
        const strength = dimmed(i) ? 0.15 : 1, [red, green, blue] = mixture[sort[i]];
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
    const gap = view.row * part > 8 ? 1.5 : view.row * part > 6 ? 1 : 0;
    pen.imageSmoothingEnabled = false;
    for (let line = 0; line < lines; line++)
      pen.drawImage(low, 0, line, columns, 1, GUTTER, y(firstLane + line) + shift * view.row,
        columns, view.row * part - gap);
    for (const i of large) drawLarge(span, i, shift, view.row * part - gap);
    if (view.row * part >= 14) drawMarks(span, firstLane, lastLane, shift, part);
  }

  function drawLarge(span, i, shift, size) {
    const left = Math.max(x(span.start[i]), GUTTER - 2), right = Math.min(x(span.end[i]), width + 2);
    const top = y(laneOf[i]) + shift * view.row, wide = right - left - 0.6;
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
      pen.fillStyle = palette[sort[i]];
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
        // A label on hatching needs its own ground.
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

  // Names of a task's vCTAs, from the longest to the shortest.
  function titles(i) {
    const name = meta.tasks[subject(i)].name;
    const range = `[${rows[4 * i + 2]}, ${rows[4 * i + 3]})`;
    const parts = name.split(/[./]/), tail = parts.pop();
    const pair = parts.length ? `${parts.pop()}.${tail}` : tail;
    return [`${name} ${range}`, name, `${pair} ${range}`, pair, `${tail} ${range}`, tail];
  }
  // The first of some names that fits, else what fits of the last.
  function fitting(names, room) {
    for (const name of names) if (pen.measureText(name).width <= room) return name;
    let name = names[names.length - 1];
    while (name.length > 2 && pen.measureText(name + "…").width > room) name = name.slice(0, -1);
    return name.length > 2 ? name + "…" : "";
  }

  // Signals and prefetches take no time: a tick and a small triangle.
  function drawMarks(span, firstLane, lastLane, shift, part) {
    for (let lane = firstLane; lane < lastLane; lane++) {
      const top = y(lane) + shift * view.row, size = view.row * part - 1.5;
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

  // -- overview, axis, gutter ---------------------------------------------------------------

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
    pen.fillText("lanes at work", GUTTER - 9, 6 + tall / 2);
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
      pen.fillText(time(when, 6), at + 5, OVERVIEW + AXIS / 2 + 2);
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
      if (top + view.row / 2 - before < 12 || top + view.row / 2 < TOP + 5) continue;
      before = top + view.row / 2;
      pen.fillStyle = hover >= 0 && laneOf[hover] === lane ? paint.text : paint.faint;
      pen.fillText(several ? `SM ${sm} · ${lane}` : `SM ${sm}`, 14, before);
      if (mode === "both" && view.row >= 24) {
        pen.textAlign = "right";
        pen.font = '9px system-ui, "DejaVu Sans", sans-serif';
        pen.fillText("predicted", GUTTER - 6, top + view.row / 4);
        pen.fillText("traced", GUTTER - 6, top + (3 * view.row) / 4);
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

  // -- what was chosen, and what it waits for -----------------------------------------------

  // The signals that the waits right before an item wait for; for a wait, its own.
  function awaited(i) {
    const result = [];
    const first = lanes[laneOf[i]][1];
    for (let k = i; k >= first; k--) {
      if (waits(k)) result.push([k, signalsOf[subject(k)].filter((s) => s !== k)]);
      if (waits(i) || (k < i && code(k) === RUN)) break;
    }
    return result;
  }
  // The task whose result a signal announces.
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
      pen.strokeRect(left, y(laneOf[i]) + 0.5, Math.max(2, x(span.end[i]) - left), view.row - 1.5);
    }
    if (chosen < 0) return;
    for (const [wait, signals] of awaited(chosen)) {
      const last = latest(signals, span);
      for (const s of signals.slice(0, 400)) arrow(span, s, wait, s === last);
    }
  }

  function arrow(span, from, to, strong) {
    const x0 = x(span.end[from]), y0 = y(laneOf[from]) + view.row / 2;
    const x1 = x(span.end[to]), y1 = y(laneOf[to]) + view.row / 2;
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

  // -- words --------------------------------------------------------------------------------

  function pairsOf(i) {
    const pairs = [], span = main();
    const add = (name, value, late) => pairs.push([name, value, late]);
    if (code(i) === RUN || code(i) === PREFETCH) {
      const task = meta.tasks[subject(i)];
      const [begin, end] = [rows[4 * i + 2], rows[4 * i + 3]];
      add("vCTAs", `[${number(begin)}, ${number(end)}) of ${number(task.vctas)}`);
      add("ops", task.ops.join(", ") || "none named");
      if (task.at) add("line", task.at);
    } else {
      const semaphore = meta.semaphores[subject(i)];
      add("arrivals", `${semaphore.arrivals} per iteration`);
      add("hand-off", semaphore.handoff);
    }
    add("lane", `${laneOf[i]} on SM ${lanes[laneOf[i]][0]}`);
    for (const name in spans) {
      const s = spans[name];
      add(name, `${time(s.start[i])} + ${time(s.end[i] - s.start[i])}`);
    }
    if (spans.traced && code(i) === RUN) {
      const [p, r] = ["predicted", "traced"].map((n) => spans[n].end[i] - spans[n].start[i]);
      if (p > 0) add("ratio", `${(r / p).toPrecision(3)} × predicted`, r > 2 * p);
    }
    for (const [wait, signals] of awaited(i)) {
      const last = latest(signals, span);
      const name = meta.semaphores[subject(wait)].name;
      const run = last < 0 ? -1 : runBefore(last);
      const by = run < 0 ? "" : `, last by ${meta.tasks[subject(run)].name} on lane ${laneOf[run]}`;
      add("waits for", `${name} (${rows[4 * wait + 2]} arrivals${by})`);
      if (pairs.length > 12) break;
    }
    return pairs;
  }

  function describe(i, box) {
    box.replaceChildren();
    const head = element("div", "title");
    const swatch = element("i", sort[i] === WAITING ? "hatched" : "");
    if (sort[i] >= 0 && sort[i] < KINDS) swatch.style.background = palette[sort[i]];
    head.append(swatch);
    const isTask = code(i) === RUN || code(i) === PREFETCH;
    const name = isTask ? meta.tasks[subject(i)].name : meta.semaphores[subject(i)].name;
    head.append(code(i) === RUN ? name : `${NAMES[code(i)]} ${name}`);
    const grid = element("div", "pairs");
    for (const [key, value, late] of pairsOf(i))
      grid.append(element("span", "", key),
        element("span", late ? "late" : key === "line" ? "code" : "", value));
    box.append(head, grid);
  }

  function showDetails() {
    const box = $("details");
    if (chosen < 0) {
      box.replaceChildren(element("div", "hint",
        "Click a bar: what it is, when it runs, and arrows from what it waits for."));
      return;
    }
    describe(chosen, box);
    const span = main();
    for (const [wait, signals] of awaited(chosen)) {
      const sorted = [...signals].sort((a, b) => span.end[b] - span.end[a]).slice(0, 8);
      if (!sorted.length) continue;
      box.append(element("h2", "", `Signals of ${meta.semaphores[subject(wait)].name}, last first`));
      for (const s of sorted) {
        const run = runBefore(s);
        const what = run < 0 ? "signal" : titles(run)[0];
        const link = element("button", "link", `${what} · lane ${laneOf[s]} · ${time(span.end[s])}`);
        link.onclick = () => choose(run < 0 ? s : run, true);
        box.append(link);
      }
    }
  }

  function showTasks() {
    const span = main(), busy = meta.tasks.map(() => 0);
    for (let i = 0; i < count; i++)
      if (code(i) === RUN) busy[subject(i)] += span.end[i] - span.start[i];
    const order = busy.map((_, k) => k).filter((k) => matches[k]).sort((a, b) => busy[b] - busy[a]);
    const all = busy.reduce((a, b) => a + b, 0) || 1, most = busy[order[0]] || 1;
    const box = $("tasks");
    box.replaceChildren();
    for (const k of order.slice(0, 60)) {
      const row = element("button", "task" + (k === chosenTask ? " chosen" : ""));
      const words = element("div", "row");
      // Cut at the left, where names are alike; the mark keeps their own direction.
      words.append(element("span", "label", "\u200e" + meta.tasks[k].name),
        element("span", "faint", `${((100 * busy[k]) / all).toFixed(1)} %`));
      const bar = element("div", "bar");
      bar.style.width = (100 * busy[k]) / most + "%";
      bar.style.background = palette[meta.tasks[k].kind];
      row.append(words, bar);
      row.title = [meta.tasks[k].ops.join(", "), meta.tasks[k].at].filter(Boolean).join("\n");
      row.onclick = () => {
        chosenTask = chosenTask === k ? -1 : k;
        showTasks();
        redraw();
      };
      box.append(row);
    }
    if (order.length > 60)
      box.append(element("div", "hint", `and ${number(order.length - 60)} more: use the search`));
    if (!order.length) box.append(element("div", "hint", "No task matches."));
  }

  function showLegend() {
    const span = main(), sums = new Array(KINDS + 1).fill(0);
    for (let i = 0; i < count; i++)
      if (sort[i] >= 0) sums[sort[i]] += span.end[i] - span.start[i];
    const whole = lanes.length * span.total || 1;
    const box = $("legend");
    box.replaceChildren();
    for (let kind = 0; kind <= KINDS; kind++) {
      if (!sums[kind] && kind !== WAITING) continue;
      const button = element("button");
      button.setAttribute("aria-pressed", shown[kind]);
      const swatch = element("i", kind === WAITING ? "hatched" : "");
      if (kind < KINDS) swatch.style.background = palette[kind];
      const percent = (100 * sums[kind]) / whole;
      const share = percent < 0.05 && kind !== WAITING ? "" : `${percent.toFixed(1)} %`;
      button.append(swatch, kind === WAITING ? "waiting" : meta.kinds[kind].name,
        element("span", "share", share));
      button.title = "share of all lanes' time; click to dim";
      button.onclick = () => {
        shown[kind] = !shown[kind];
        overview = null;
        showLegend();
        redraw();
      };
      box.append(button);
    }
  }

  // -- what people do -----------------------------------------------------------------------

  function hit(px, py) {
    if (px < GUTTER || py < TOP) return -1;
    const lane = Math.floor((py - TOP + view.top) / view.row);
    if (lane < 0 || lane >= lanes.length) return -1;
    const half = (py - y(lane)) / view.row;
    const span = mode === "both" ? (half < 0.5 ? spans.predicted : spans.traced) : main();
    const reach = ((view.to - view.from) / (width - GUTTER)) * 2.5, when = t(px);
    let found = -1, distance = reach;
    for (let i = firstAfter(span, lane, when - reach); i < lanes[lane][2]; i++) {
      if (span.start[i] > when + reach) break;
      const away = Math.max(span.start[i] - when, when - span.end[i], 0);
      // What is a bar under the pointer goes before a mark near it.
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
      const top = laneOf[i] * view.row;
      if (top < view.top || top > view.top + height - TOP - view.row)
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
    view.row = Math.min(52, Math.max(4, Math.floor((height - TOP) / lanes.length)));
    $("rowheight").value = view.row;
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
    const right = event.offsetX + 16 + tip.offsetWidth > width;
    const below = event.offsetY + 18 + tip.offsetHeight > height;
    tip.style.left = Math.max(4, event.offsetX + (right ? -12 - tip.offsetWidth : 16)) + "px";
    tip.style.top = Math.max(4, event.offsetY + (below ? -12 - tip.offsetHeight : 18)) + "px";
  });
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
      setRow(view.row * Math.exp(-dy / 300));
    } else if (Math.abs(dx) > Math.abs(dy)) pan(dx / (width - GUTTER));
    else zoom(Math.exp(dy / 350), Math.max(event.offsetX, GUTTER));
  }, { passive: false });

  function setRow(size) {
    const middle = (view.top + (height - TOP) / 2) / view.row;
    view.row = Math.min(64, Math.max(3, size));
    view.top = middle * view.row - (height - TOP) / 2;
    $("rowheight").value = view.row;
    clampView();
    redraw();
  }
  $("rowheight").oninput = () => setRow(+$("rowheight").value);
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
      ArrowUp: () => { view.top -= view.row; clampView(); redraw(); },
      ArrowDown: () => { view.top += view.row; clampView(); redraw(); },
      Escape: () => { chosenTask = -1; choose(-1, false); showTasks(); },
      "/": () => $("search").focus(),
    };
    const action = keys[event.key] || keys[event.key.toLowerCase()];
    if (!action) return;
    event.preventDefault();
    action();
  });
  for (const button of document.querySelectorAll("#modes button"))
    button.onclick = () => {
      mode = button.dataset.mode;
      for (const other of document.querySelectorAll("#modes button"))
        other.setAttribute("aria-pressed", other === button);
      overview = null;
      refresh();
    };

  function refresh() {
    showLegend();
    showTasks();
    showDetails();
    redraw();
  }

  // -- start --------------------------------------------------------------------------------

  $("program").textContent = meta.program;
  $("target").textContent = meta.target;
  $("producer").textContent = meta.producer;
  for (const [name, value] of meta.figures) {
    const pair = element("div");
    pair.append(element("dt", "", name), element("dd", "", value));
    $("figures").append(pair);
  }
  $("modes").hidden = !spans.traced;
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
})();
