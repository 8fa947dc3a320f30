// The panels beside the timeline: the selected item, the tasks, the links, and the kinds of work.
// page.html joins all scripts to one function, in the order that timeline.py states.

function pairsOf(i) {
  const pairs = [], span = main();
  const add = (name, value, late) => pairs.push([name, value, late]);
  if (code(i) === STOP) {
    add("ends", "the launch after this iteration, if the state is not zero");
  } else if (isTask(i)) {
    const task = meta.tasks[subject(i)];
    const [begin, end] = [instructions[4 * i + 2], instructions[4 * i + 3]];
    add("vCTAs", `[${number(begin)}, ${number(end)}) of ${number(task.vctas)}`);
    add("ops", task.ops.join(", ") || "none named");
    if (task.unit) {
      add("microbatch", `${task.unit.microbatch}, ${task.unit.backward ? "backward" : "forward"}`);
      add("stage", task.unit.stage);
    }
    if (task.at) add("line", task.at);
    if (task.sends) add("task sends", task.sends);
  } else {
    const semaphore = meta.semaphores[subject(i)];
    add("arrivals", `${semaphore.arrivals} per iteration`);
    add("hand-off", semaphore.handoff);
  }
  add("lane", `${laneOf[i]} on ${smName(laneOf[i])}`);
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
    add("waits for", `${name} (${instructions[4 * wait + 2]} arrivals${by})`);
    if (pairs.length > 12) break;
  }
  return pairs;
}

function describe(i, box) {
  box.replaceChildren();
  const head = element("div", "title");
  const swatch = element("i", sort[i] === WAITING ? "hatched" : "");
  if (sort[i] >= 0 && sort[i] < KINDS) swatch.style.background = palette[tint(i)];
  head.append(swatch);
  head.append(code(i) === RUN ? nameOf(i) : `${NAMES[code(i)]} ${nameOf(i)}`);
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
      "Click a bar to see its task, its times, and arrows from the signals that it waits for."));
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
      const title = run < 0 ? "signal" : titles(run)[0];
      const text = `${title} · lane ${laneOf[s]} · ${time(span.end[s])}`;
      const link = element("button", "link", text);
      link.onclick = () => choose(run < 0 ? s : run, true);
      box.append(link);
    }
  }
}

// Returns the total time of all work items, by task.
function busyTimes(span) {
  const busy = meta.tasks.map(() => 0);
  for (let i = 0; i < count; i++)
    if (code(i) === RUN) busy[subject(i)] += span.end[i] - span.start[i];
  return busy;
}

// Returns the predicted and the traced time of a task, and their ratio.
function comparison(predicted, traced) {
  const ratio = predicted > 0 ? traced / predicted : 0;
  const entry = element("div", "row faint");
  entry.append(element("span", "", `predicted ${time(predicted, 3)} · traced ${time(traced, 3)}`),
    element("span", ratio > 2 ? "late" : "", ratio ? `× ${ratio.toPrecision(3)}` : ""));
  return entry;
}

function showTasks() {
  const busy = busyTimes(main()), traced = spans.traced && busyTimes(spans.traced);
  const predicted = busyTimes(spans.predicted);
  const order = busy.map((_, k) => k).filter((k) => matches[k]).sort((a, b) => busy[b] - busy[a]);
  const all = busy.reduce((a, b) => a + b, 0) || 1, most = busy[order[0]] || 1;
  const box = $("tasks");
  box.replaceChildren();
  for (const k of order.slice(0, 60)) {
    const entry = element("button", "task" + (k === chosenTask ? " chosen" : ""));
    const head = element("div", "row");
    head.append(element("span", "label", meta.tasks[k].name),
      element("span", "faint", `${((100 * busy[k]) / all).toFixed(1)} %`));
    const bar = element("div", "bar");
    bar.style.width = (100 * busy[k]) / most + "%";
    bar.style.background = palette[meta.tasks[k].kind];
    entry.append(head, bar);
    if (traced) entry.append(comparison(predicted[k], traced[k]));
    entry.title = [meta.tasks[k].ops.join(", "), meta.tasks[k].at].filter(Boolean).join("\n");
    entry.onclick = () => {
      chosenTask = chosenTask === k ? -1 : k;
      showTasks();
      redraw();
    };
    box.append(entry);
  }
  if (order.length > 60)
    box.append(element("div", "hint", `and ${number(order.length - 60)} more: use the search`));
  if (!order.length) box.append(element("div", "hint", "No task matches."));
}

function showLinks() {
  const box = $("links"), most = Math.max(1, ...meta.links.map((link) => link.bytes));
  $("linkshead").hidden = !meta.links.length;
  box.replaceChildren();
  for (const link of meta.links.slice(0, 16)) {
    const entry = element("div", "task"), head = element("div", "row");
    head.append(element("span", "label", link.name),
      element("span", "faint", link.text));
    const bar = element("div", "bar");
    bar.style.width = (100 * link.bytes) / most + "%";
    bar.style.background = paint.accent;
    entry.append(head, bar);
    box.append(entry);
  }
  if (meta.links.length > 16)
    box.append(element("div", "hint", `and ${number(meta.links.length - 16)} more`));
}

function showLegend() {
  const span = main(), sums = new Array(KINDS + 1).fill(0);
  for (let i = 0; i < count; i++)
    if (sort[i] >= 0) sums[sort[i]] += span.end[i] - span.start[i];
  const whole = lanes.length * span.total || 1;
  const box = $("legend");
  box.replaceChildren();
  let idle = 1000;  // tenths of a percent that no kind has
  for (let kind = 0; kind <= KINDS; kind++) {
    if (!sums[kind] && kind !== WAITING) continue;
    const button = element("button");
    button.setAttribute("aria-pressed", shown[kind]);
    const swatch = element("i", kind === WAITING ? "hatched" : "");
    if (kind < KINDS) swatch.style.background = palette[kind];
    const percent = (100 * sums[kind]) / whole;
    idle -= Math.round(10 * percent);
    const share = sums[kind] && percent < 0.05 ? "< 0.1 %" : `${percent.toFixed(1)} %`;
    button.append(swatch, kind === WAITING ? "waiting" : meta.kinds[kind].name,
      element("span", "share", share));
    button.title = `share of all lanes' ${mainName()} time; click to dim`;
    button.onclick = () => {
      shown[kind] = !shown[kind];
      overview = null;
      showLegend();
      redraw();
    };
    box.append(button);
  }
  const entry = element("span", "entry");
  entry.append(element("i", "empty"), "idle",
    element("span", "share", `${(Math.max(0, idle) / 10).toFixed(1)} %`));
  entry.title = "time in which a lane has nothing to do: before, between and after its bars";
  box.append(entry);
}
