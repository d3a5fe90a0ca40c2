// Draws a Vega-Lite chart and keeps it in step with the widget: see vega_view.py.
// One rule holds the rest together: whatever changes, `refresh` compares what is drawn with what the widget now holds
// and does the least that makes them equal. Changes that arrive while it is busy are seen by its next round, so only
// the last of them is drawn.
// Inside an element with `data-magnify` a chart is drawn as SVG, so much larger: type, marks and all.

const DATA = "_data_";
const RESIZE_SETTLES_MS = 60;
const HIDDEN_FRAME_MS = 100;
const CLICK_SLACK_PX = 4;
const FLAT_PX = 8;
// In a lab the picture takes this share of the height above LOW_PX, which a window of 720 leaves, and half of what the
// page Schedule leaves empty; for its last rows the picture is lower, to ENOUGH.
// Rows are at most HIGHEST times as high for that. Where the page below needs the room they are lower, by LOWEST at most;
// a picture that is higher than TALL_PX scrolls.
const [SHARE, ENOUGH, LOW_PX, HIGHEST, LOWEST, TALL_PX] = [0.55, 0.75, 494, 2.5, 0.5, 200];
const HEAD_PX = 62; // above the picture, as in lab.css
const FILLED_PX = 100; // a page Schedule that is lower has no tables yet
const ANSWER_PX = 100; // the first lines of what is said below the picture of what was clicked
const FRAME_PX = 2; // a page's borders
const STATUS_PX = 30; // JupyterLab's line at the foot of the window
const NO_ROWS = /^Infinite extent for field/;

// ---- columns to rows ----

function typed(view, ArrayType) {
  // A message may put the bytes at any offset; typed arrays need theirs aligned.
  const bytes = view.buffer.slice(view.byteOffset, view.byteOffset + view.byteLength);
  return new ArrayType(bytes);
}

const finite = (x) => (Number.isFinite(x) ? x : null);

function clockTime(milliseconds) {
  if (!Number.isFinite(milliseconds)) return null;
  const t = new Date(milliseconds);
  return new Date(t.getUTCFullYear(), t.getUTCMonth(), t.getUTCDate(), t.getUTCHours(), t.getUTCMinutes(),
    t.getUTCSeconds(), t.getUTCMilliseconds()).getTime();
}

const READERS = {
  i4: (c) => typed(c.values, Int32Array),
  f8: (c) => Array.from(typed(c.values, Float64Array), finite),
  utc: (c) => Array.from(typed(c.values, Float64Array), finite),
  local: (c) => Array.from(typed(c.values, Float64Array), clockTime),
  bool: (c) => Array.from(typed(c.values, Uint8Array), Boolean),
  text: (c) => Array.from(typed(c.values, Int32Array), (code) => (code < 0 ? null : c.levels[code])),
  json: (c) => c.values,
};

function toRows(table) {
  const rows = Array.from({ length: table?.rows ?? 0 }, () => ({}));
  for (const column of table?.columns ?? []) {
    const values = READERS[column.kind](column);
    for (let i = 0; i < rows.length; i++) rows[i][column.name] = values[i];
  }
  return rows;
}

// ---- one chart on the page ----

class ChartBox {
  constructor(model, el) {
    this.model = model;
    this.root = el;
    el.classList.add("wb", "wb-chart");
    el.dataset.lmSuppressShortcuts = "true"; // JupyterLab's single-key shortcuts are not meant for a focused chart
    this.box = document.createElement("div");
    this.box.className = "wb-chart-box";
    this.box.setAttribute("role", "figure");
    this.box.tabIndex = 0;
    this.note = document.createElement("div");
    this.note.className = "wb-error-note";
    this.note.setAttribute("role", "alert");
    this.note.hidden = true;
    el.append(this.box, this.note);

    this.gone = new AbortController();
    this.result = null; // what vegaEmbed returned
    this.drawn = { spec: null, renderer: null, data: new Map(), width: 0, magnify: 1 };
    this.stale = true;
    this.busy = false;
    this.disposed = false;
    this.draws = 0;

    this.observer = new ResizeObserver(() => this.resized());
    this.observer.observe(this.root);
    requestAnimationFrame(() => this.beside().forEach((each) => this.observer.observe(each)));
    this.watchPointer();
    this.label();
  }

  label() {
    this.box.setAttribute("aria-label", this.model.get("aria_label"));
  }

  // -- keeping in step --

  changed() {
    if (this.reporting) return;
    this.stale = true;
    if (!this.busy) this.work();
  }

  async work() {
    this.busy = true;
    try {
      while (this.stale && !this.disposed && this.visible()) {
        await nextFrame();
        this.stale = false;
        await this.refresh();
      }
    } finally {
      this.busy = false;
    }
  }

  // A chart in a closed tab has no width: it is drawn when it is first seen.
  visible() {
    return this.root.isConnected && this.root.clientWidth > 0;
  }

  async refresh() {
    const started = performance.now();
    const spec = this.model.get("_spec");
    this.label();
    if (!spec || !Object.keys(spec).length) return;
    try {
      const same = spec === this.drawn.spec && this.renderer() === this.drawn.renderer && this.drawn.magnify === this.magnify();
      if (same && this.failed && this.sameData()) return; // it would fail again
      const what = same && this.result ? await this.update() : await this.embed(spec);
      if (this.disposed) return;
      this.say("");
      if (what) this.record(what, performance.now() - started);
      this.root.dataset.of = this.drawn.of;
    } catch (error) {
      if (!this.disposed) this.fail(error);
    }
  }

  sameData() {
    return [...this.tables()].every(([name, table]) => this.drawn.data.get(name) === table);
  }

  tables() {
    const found = new Map();
    for (const key of this.model.get("_names") ?? []) found.set(key, this.model.get(DATA + key));
    return found;
  }

  async embed(spec) {
    const carrier = String(this.model.get("_programs")).replace(/^IPY_MODEL_/, "");
    const programs = await vegaPrograms(await this.model.widget_manager.get_model(carrier));
    if (this.disposed) return null;
    const tables = this.tables();
    const of = this.model.get("of");
    const [renderer, magnify, width] = [this.renderer(), this.magnify(), this.width()];
    this.drawn = { spec, renderer, data: tables, width, magnify, of };
    const settings = this.settings();
    const problems = [];
    // The data go into the compiled chart, so that its first frame already shows them.
    const patch = (vega) => {
      for (const source of vega.data ?? []) {
        if (tables.has(source.name) && !source.source) source.values = toRows(tables.get(source.name));
      }
      for (const signal of vega.signals ?? []) {
        if (signal.name === "width") delete signal.on; // `update` follows: Vega would take the 0 of a hidden page
        if (signal.name in settings && !("update" in signal)) signal.value = settings[signal.name];
      }
      // Which picture it is stands on the buttons above it: what else is said of it takes its place.
      if (this.beside().length) {
        const said = vega.title?.subtitle;
        if (said) Object.assign(vega.title, { text: said, fontSize: 12, fontWeight: "normal", subtitle: undefined });
        else delete vega.title;
      }
      // A title that is too long would have the plot's room: it begins where the chart does, and ends there.
      if (vega.title && (vega.signals ?? []).some(({ name }) => name === "width")) Object.assign(vega.title, { frame: "bounds", limit: { signal: "width + 100" } });
      return vega;
    };
    // The former chart stays in sight until this one is ready.
    const stage = document.createElement("div");
    stage.className = "wb-chart-stage wb-chart-coming";
    if (magnify !== 1) Object.assign(stage.style, { width: `${width}px`, transform: `scale(${magnify})`, transformOrigin: "0 0" });
    this.box.append(stage);
    const result = await programs.embed(stage, spec, {
      mode: "vega-lite", actions: false, renderer, patch, viewClass: viewFor(programs.View, problems, magnify),
    });
    if (this.disposed) {
      result.finalize();
      return null;
    }
    this.release(stage);
    stage.classList.remove("wb-chart-coming");
    this.result = result;
    this.problems = problems;
    result.view.addEventListener("click", (event, item) => this.clicked(event, item));
    this.follows = (result.vgSpec.signals ?? []).some((s) => s.name === "width" && /containerSize/.test(s.init ?? ""));
    this.apply(settings);
    await this.run();
    this.fit();
    await this.run("again");
    this.followWindow();
    return "embed";
  }

  async update() {
    const { view } = this.result;
    let what = null;
    const tables = this.tables();
    for (const [name, table] of tables) {
      if (this.drawn.data.get(name) === table) continue;
      what = "data";
      if (knows(view, name)) view.change(name, view.changeset().remove(() => true).insert(toRows(table)));
    }
    this.drawn.data = tables;
    this.drawn.of = this.model.get("of");
    if (what) view.resize(); // what stands beside the plot may need more room than before
    if (this.apply(this.settings())) what ??= "params";
    if (this.follows && Math.abs(this.width() - this.drawn.width) >= 1) {
      this.drawn.width = this.width();
      if (this.drawn.magnify !== 1) this.box.firstChild.style.width = `${this.drawn.width}px`;
      view.width(this.drawn.width);
      what ??= "resize";
    }
    if (this.fit()) what ??= "resize";
    if (what) await this.run();
    // Twice: a key that has another line by now moves what stands below it.
    for (let turn = 0; what === "resize" && turn < 2; turn++) await this.run("again");
    this.moveWindow();
    return what;
  }

  // -- the stretch that is looked at: `zoom`, a selection of Vega's, bound to the scales of a chart, marked in another --

  followWindow() {
    const { view } = this.result;
    [this.window, this.placed] = ["{}", "[{},0]"];
    for (const name of ["zoom", "zoom_x"].filter((name) => knowsSignal(view, name))) {
      view.addSignalListener(name, () => this.looked(this.marked()));
    }
    this.moveWindow();
  }

  // What is looked at. A drag across an overview that goes hardly up or down is meant for all of its rows.
  marked() {
    const { view } = this.result;
    const along = this.along();
    return along ? { t: along.map((px) => view.scale("x").invert(px)) } : (view.signal("zoom") ?? {});
  }

  // Where such a drag begins and ends, in pixels.
  along() {
    const { view } = this.result;
    const [x, y] = ["zoom_x", "zoom_y"].map((name) => (knowsSignal(view, name) ? view.signal(name) : []));
    const far = ([from, to]) => Math.abs(to - from);
    return x?.length && y?.length && far(x) > CLICK_SLACK_PX && far(y) < FLAT_PX ? x : null;
  }

  looked(found) {
    const axes = Object.entries(found).filter(([, ends]) => Array.isArray(ends));
    const window = Object.fromEntries(axes.map(([field, ends]) => [field, [...ends].sort((a, b) => a - b)]));
    if (this.moving || JSON.stringify(window) === this.window) return;
    this.root.dataset.window = this.window = JSON.stringify(window);
    this.placed = JSON.stringify([window, this.drawn.width]);
    this.model.set("window", window);
    this.model.save_changes();
  }

  // Show what `window` says, wherever that was said: in the units of an axis bound to it, in pixels where it is marked.
  moveWindow() {
    const { view } = this.result;
    const window = this.model.get("window");
    const any = Object.keys(window).length > 0;
    const placed = JSON.stringify([window, any ? this.drawn.width : 0]);
    if (placed === this.placed || !knowsSignal(view, "zoom")) return;
    [this.placed, this.window, this.moving] = [placed, JSON.stringify(window), true];
    this.root.dataset.window = this.window;
    for (const [field, axis] of [["t", "x"], ["row", "y"]]) {
      const ends = window[field] ?? this.whole(field);
      if (knowsSignal(view, `zoom_${axis}`)) view.signal(`zoom_${axis}`, any ? ends.map(view.scale(axis)) : []);
      else if (knowsSignal(view, `zoom_${field}`)) view.signal(`zoom_${field}`, any ? ends : null);
    }
    view.runAsync().finally(() => (this.moving = false));
  }

  // The mark is drawn as what it stands for.
  replace() {
    this.placed = null;
    this.moveWindow();
  }

  whole(field) {
    return this.result.view.data("span").map((corner) => corner[field]);
  }

  // + and - come closer and go back, Shift and the arrows move, 0 shows the whole.
  zoomBy(key) {
    const steps = { "+": [0.1, -0.1], "-": [-0.125, 0.125], ArrowLeft: [-0.2, -0.2], ArrowRight: [0.2, 0.2] };
    const along = { ArrowUp: "ArrowLeft", ArrowDown: "ArrowRight" }[key];
    const step = steps[along ?? key];
    if (key !== "0" && !step) return false;
    const field = along ? "row" : "t";
    const window = { t: this.whole("t"), row: this.whole("row"), ...this.model.get("window") };
    const [[first, last], [from, to]] = [this.whole(field), window[field]];
    const length = Math.min((to - from) * (1 + (step ? step[1] - step[0] : 0)), last - first);
    const start = Math.min(Math.max(from + (step ? step[0] : 0) * (to - from), first), last - length);
    this.model.set("window", step ? { ...window, [field]: [start, start + length] } : {});
    this.model.save_changes();
    return true;
  }

  // What a lab shows beside the picture that this is: what it leaves is the picture's.
  beside() {
    const stage = this.root.closest(".wb-stage");
    return stage ? [stage.parentElement, ...[...stage.children].filter((each) => !each.contains(this.root))] : [];
  }

  // Rows as high as a lab has room for; whether that is another height.
  fit() {
    const [staged, ...others] = this.beside();
    const { spec, magnify } = this.drawn;
    if (!staged || typeof spec.height !== "number" || this.root.matches(".wb-overview")) return false;
    const { view } = this.result;
    const stage = this.root.closest(".wb-stage");
    const charts = [...stage.querySelectorAll(".wb-picture .wb-chart")];
    const high = (all) => all.reduce((sum, each) => sum + each.offsetHeight, 0);
    const fixed = high(charts) - view.height() * magnify; // key, title, axis, overview
    const head = magnify === 1 ? HEAD_PX : 0; // in a lecture names of pages and status are not seen
    const least = parseFloat(getComputedStyle(staged).getPropertyValue("--wb-least")) || 0;
    const room = (below) => (staged.clientHeight - head - below - high(others) - fixed) / magnify;
    const more = Math.max(0, SHARE * (staged.clientHeight - LOW_PX)) / magnify;
    const lowest = spec.height > TALL_PX ? spec.height : LOWEST * spec.height;
    let wanted = Math.min(room(least), spec.height + more);
    const left = this.left(staged, room, head);
    if (getComputedStyle(this.page).display === "none") wanted = room(0); // a scene of the picture alone
    else if (left > wanted) wanted += (left - wanted) / 2;
    else if (left > LOWEST * wanted) wanted = Math.max(left, ENOUGH * wanted);
    const height = Math.round(Math.max(lowest, Math.min(wanted, HIGHEST * spec.height)));
    const whole = Math.ceil(high(others) + fixed + height * magnify);
    stage.style.minHeight = spec.height > TALL_PX ? "" : `${whole}px`; // the page gives way, not the axis
    if (Math.abs(height - view.height()) < 1) return false;
    view.height(height);
    return true;
  }

  // How high the rows may be beside the whole page Schedule, which is kept for the page Why; NaN before it is filled, and
  // on other pages. The least since the lab has this size, so that nothing jumps when a line comes or goes.
  left(staged, room, head) {
    const page = staged.querySelector(":scope > .wb-contents");
    const [schedule, , why] = page.children;
    if (page !== this.page) this.observer.observe((this.page = page));
    const of = [this.drawn.spec, staged.clientWidth, staged.clientHeight];
    if (of.some((each, i) => each !== this.leaves?.of[i])) this.leaves = { of, most: NaN };
    if (schedule.scrollHeight > FILLED_PX) {
      const above = page.previousElementSibling.offsetTop; // where status and names share a line: less
      const most = room(schedule.scrollHeight + FRAME_PX + above - head);
      this.leaves.most = this.leaves.most < most ? this.leaves.most : most;
    }
    return schedule.clientHeight || why.clientHeight ? this.leaves.most : NaN;
  }

  // again: what depends on the width, as the lines of a key do, is placed by now and may need more room.
  async run(again) {
    if (again) this.result.view.resize();
    await this.result.view.runAsync();
    // What is magnified takes as much room as before, as far as the page knows.
    const { magnify } = this.drawn;
    this.box.style.height = magnify === 1 ? "" : `${Math.ceil(this.box.firstChild.offsetHeight * magnify)}px`;
    if (this.problems.length) throw new Error(this.problems.splice(0).join("\n"));
  }

  magnify() {
    return Number(this.root.closest("[data-magnify]")?.dataset.magnify ?? 1);
  }

  // A canvas would only be blown up, and no longer know where the pointer is.
  renderer() {
    return this.magnify() === 1 ? this.model.get("renderer") : "svg";
  }

  // Whole pixels, as a chart has: half of one more would be magnified to a scroll bar.
  width() {
    return Math.floor(this.root.clientWidth / this.magnify());
  }

  settings() {
    return { ...this.model.get("params"), [this.model.get("selected_param")]: this.model.get("selected") };
  }

  // Push the parameters that differ; those that this chart does not have are somebody else's.
  apply(settings) {
    const { view } = this.result;
    let any = false;
    for (const [name, value] of Object.entries(settings)) {
      if (!knowsSignal(view, name) || JSON.stringify(view.signal(name)) === JSON.stringify(value)) continue;
      view.signal(name, value);
      any = true;
    }
    return any;
  }

  resized() {
    if (this.disposed) return;
    clearTimeout(this.resizing);
    const first = !this.result && this.stale;
    this.resizing = setTimeout(() => this.changed(), first ? 0 : RESIZE_SETTLES_MS);
  }

  // -- clicks --

  watchPointer() {
    this.box.addEventListener("pointerdown", (event) => (this.pressed = [event.clientX, event.clientY]), true);
    addEventListener("pointerup", () => this.result && this.along() && this.replace(), { signal: this.gone.signal });
    this.box.addEventListener("pointerleave", hideTooltip);
    document.addEventListener("scroll", hideTooltip, { capture: true, passive: true, signal: this.gone.signal });
    for (const name of ["keydown", "blur"]) this.box.addEventListener(name, () => (this.box.style.outline = ""));
    this.box.addEventListener("keydown", (event) => {
      if (event.key === "Escape") this.pick({});
      const moves = event.shiftKey || !event.key.startsWith("Arrow");
      if (this.result && moves && knowsSignal(this.result.view, "zoom_row") && this.zoomBy(event.key)) {
        event.preventDefault();
        event.stopPropagation();
      }
    });
  }

  clicked(event, item) {
    const [x, y] = this.pressed ?? [event.clientX, event.clientY];
    if (Math.hypot(event.clientX - x, event.clientY - y) > CLICK_SLACK_PX) return; // a drag: panning, brushing
    if (event.detail > 1) return; // a double click is one
    hideTooltip(); // the mark under it is drawn anew, and so will not tell that the pointer leaves it
    this.box.focus({ preventScroll: true }); // the notebook has taken it, and Escape would not be heard
    this.box.style.outline = "none"; // who points needs no frame
    const datum = item?.datum ?? {};
    const fields = this.model.get("pick_fields");
    const hit = fields.length > 0 && fields.every((field) => datum[field] !== undefined);
    const [was, before] = [this.model.get("picked"), this.clickedAt ?? [Infinity, Infinity]];
    const { left, top } = this.box.getBoundingClientRect(); // a page that is scrolled takes the bar along
    this.clickedAt = [event.clientX - left, event.clientY - top];
    const near = Math.hypot(this.clickedAt[0] - before[0], this.clickedAt[1] - before[1]) <= CLICK_SLACK_PX;
    if (hit && near && this.model.get("selected") !== null && fields.every((field) => was[field] === datum[field])) {
      this.pick({}); // a second click lets go
      return;
    }
    this.pick({ ...(hit ? Object.fromEntries(fields.map((field) => [field, datum[field]])) : {}), ...this.place(event) });
    // The answer is below it: nothing moves while the first lines of that are in sight.
    const page = this.root.closest(".wb-stage")?.nextElementSibling.getBoundingClientRect();
    if (page && page.top + ANSWER_PX > innerHeight - STATUS_PX) this.root.closest(".wb-lab").scrollIntoView({ block: "nearest" });
  }

  // Where a click was, by the chart's axes x and y, if it has two that say so.
  place({ clientX, clientY }) {
    const { view } = this.result;
    const { left, top } = this.box.querySelector("canvas, svg").getBoundingClientRect();
    const [padding, origin] = [view.padding(), view.origin()];
    const plot = [(clientX - left) / this.drawn.magnify - padding.left - origin[0],
      (clientY - top) / this.drawn.magnify - padding.top - origin[1]];
    if (plot.some((px, i) => px < 0 || px > [view.width(), view.height()][i])) return {};
    const place = {};
    for (const [i, name] of ["x", "y"].entries()) {
      try {
        place[name] = finite(view.scale(name).invert(plot[i]));
      } catch {
        return {}; // no such scale, or one of names
      }
    }
    return place;
  }

  // What the page below the main picture says of it begins at its top.
  pick(picked) {
    this.root.closest(".wb-stage")?.parentElement.querySelectorAll(":scope > .wb-contents > *").forEach((page) => page.scrollTo(0, 0));
    this.model.set("picked", picked);
    this.model.save_changes();
  }

  // -- saying what happened --

  record(what, milliseconds) {
    const rows = [...this.drawn.data.values()].reduce((sum, table) => sum + (table?.rows ?? 0), 0);
    const still = this.model.get("still");
    if (still) document.querySelectorAll(`.${still}`).forEach((picture) => picture.remove());
    if (what !== "resize") this.draws++; // a page that settles late has the same picture in another size
    Object.assign(this.root.dataset, { draws: this.draws, what, rows, ms: Math.round(milliseconds) });
  }

  fail(error) {
    console.warn("chart:", error);
    this.release();
    this.failed = true;
    this.say(`This chart could not be drawn: ${error?.message ?? error}`);
  }

  say(text) {
    this.note.textContent = text;
    this.note.hidden = !text;
    if (this.model.get("error") === text) return;
    this.reporting = true; // our own change is no reason to draw
    this.model.set("error", text);
    this.model.save_changes();
    this.reporting = false;
  }

  // Let go of the chart that is drawn, and of everything in the box but `keep`.
  release(...keep) {
    this.result?.finalize();
    this.result = null;
    this.failed = false;
    this.box.replaceChildren(...keep);
  }

  dispose() {
    this.disposed = true;
    this.gone.abort();
    clearTimeout(this.resizing);
    this.observer.disconnect();
    this.release();
    this.root.replaceChildren();
  }
}

// At most one drawing per frame; a page in the background has no frames but should still follow.
function hideTooltip() {
  document.getElementById("vg-tooltip-element")?.classList.remove("visible");
}

function nextFrame() {
  return new Promise((resolve) => {
    requestAnimationFrame(resolve);
    setTimeout(resolve, HIDDEN_FRAME_MS);
  });
}

function knows(view, name) {
  try {
    view.data(name);
    return true;
  } catch {
    return false;
  }
}

function knowsSignal(view, name) {
  try {
    view.signal(name);
    return true;
  } catch {
    return false;
  }
}

// A Vega view that collects the errors met while running (Vega's own only logs them), and is told where in the chart
// the pointer is although the chart is magnified.
function viewFor(View, problems, magnify) {
  const quiet = () => logger;
  const logger = {
    level: quiet,
    info: quiet,
    debug: quiet,
    // A layer may well have no rows (no interval, no deadline, nothing before): its scale goes by the other layers.
    warn: (...message) => (NO_ROWS.test(message[0]) || console.warn("chart:", ...message), logger),
    error: (...message) => (problems.push(message.map((m) => m?.message ?? String(m)).join(" ")), logger),
  };
  return class extends View {
    constructor(runtime, options) {
      super(runtime, { ...options, logger });
    }

    events(source, type, filter) {
      if (magnify === 1) return super.events(source, type, filter);
      return super.events(source, type, (event) => {
        placeInChart(this, event, magnify);
        return filter ? filter(event) : true;
      });
    }
  };
}

// Vega has taken the place from the page, on which the chart is larger; `xy()` gives the very array that it reads.
function placeInChart(view, event, magnify) {
  const place = event.vega.xy();
  const [padding, origin] = [view.padding(), view.origin()];
  const before = [padding.left + origin[0], padding.top + origin[1]];
  for (const i of [0, 1]) place[i] = (place[i] + before[i]) / magnify - before[i];
}

function render({ model, el }) {
  const chart = new ChartBox(model, el);
  model.on("change", () => chart.changed());
  chart.changed();
  return () => chart.dispose();
}

export default heard({ render });
