// The reward of one job over its completion time, as steps that people drag: see reward_editor.py.
// While a step is dragged only the page knows; where it is let go (or a key has moved it) Python hears of it.

const SVG = "http://www.w3.org/2000/svg";
const HEIGHT = 210, LEFT = 58, RIGHT = 22, TOP = 26, BOTTOM = 44;
const TYPING_MS = 500; // keys pressed one after the other are one edit
const TICKS_S = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14400, 21600, 43200, 86400];

function make(name, attributes = {}, text = "") {
  const node = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
  if (text) node.textContent = text;
  return node;
}

function words(seconds) {
  const unit = seconds >= 86400 ? 3600 : seconds >= 3600 ? 60 : 1; // two parts, the second one rounded
  const whole = Math.round(seconds / unit) * unit, parts = [];
  const days = Math.floor(whole / 86400), hours = Math.floor((whole % 86400) / 3600);
  const minutes = Math.floor((whole % 3600) / 60), rest = whole % 60;
  if (days) parts.push(`${days} d`);
  if (hours) parts.push(`${hours} h`);
  if (minutes) parts.push(`${minutes} min`);
  if (rest || !parts.length) parts.push(`${rest} s`);
  return parts.slice(0, 2).join(" ");
}

const spaced = (span, count) => TICKS_S.find((tick) => span / tick <= count) ?? 86400 * Math.ceil(span / 86400 / count);

class Editor {
  constructor(model, el) {
    this.model = model;
    this.root = el;
    el.classList.add("wb", "wb-rewards");
    el.dataset.lmSuppressShortcuts = "true";
    this.svg = make("svg", { height: HEIGHT, width: "100%" });
    el.append(this.svg);
    this.observer = new ResizeObserver(() => this.draw());
    this.observer.observe(el);
    // Whoever goes on to a button means what the keys have done so far.
    this.svg.addEventListener("focusout", (event) => !this.drawing && !this.svg.contains(event.relatedTarget) && this.tell());
    this.take();
  }

  take() {
    this.job = this.model.get("job");
    this.steps = (this.model.get("steps") ?? []).map((step) => [...step]);
    this.theirs = JSON.stringify(this.steps);
    this.dragged = -1;
    this.draw();
  }

  // Python says something new. What a person has moved stays until Python has other steps; a run's answer has none.
  heard() {
    const before = this.theirs, other = this.model.get("job") !== this.job;
    if (other && this.typing) this.tell();
    this.theirs = JSON.stringify(this.model.get("steps") ?? []);
    if (other || (this.theirs !== before && this.dragged < 0 && !this.typing)) this.take();
    else this.draw();
  }

  // -- from numbers to pixels and back --

  get span() {
    return Math.max(1, this.model.get("span_s"));
  }

  get top() {
    return Math.max(1, this.model.get("highest"));
  }

  x(seconds) {
    return LEFT + (Math.min(seconds, this.span) / this.span) * (this.width - LEFT - RIGHT);
  }

  y(reward) {
    return HEIGHT - BOTTOM - (reward / this.top) * (HEIGHT - TOP - BOTTOM);
  }

  // A step stays between its neighbours: deadlines rise, rewards do not.
  put(index, seconds, reward) {
    const { steps } = this, snap = this.snap, least = this.model.get("miss_reward");
    const low = index > 0 ? steps[index - 1][0] + snap : snap;
    const high = index + 1 < steps.length ? steps[index + 1][0] - snap : this.span;
    const most = index > 0 ? steps[index - 1][1] : this.top;
    const lowest = index + 1 < steps.length ? steps[index + 1][1] : least;
    if (low <= high) steps[index][0] = Math.min(high, Math.max(low, Math.round(seconds / snap) * snap));
    steps[index][1] = Math.min(most, Math.max(lowest, Math.round(reward)));
  }

  get snap() {
    return spaced(this.span, 400);
  }

  // -- drawing --

  draw() {
    this.width = this.root.clientWidth;
    if (this.width < LEFT + RIGHT + 60) return;
    const had = this.svg.contains(document.activeElement) ? document.activeElement.dataset.index : undefined;
    this.drawing = true;
    this.svg.setAttribute("viewBox", `0 0 ${this.width} ${HEIGHT}`);
    this.svg.replaceChildren(...this.axes(), this.curve(), ...this.done(), ...this.labels(), ...this.handles());
    if (had !== undefined) this.svg.querySelector(`[data-index="${had}"]`)?.focus({ preventScroll: true });
    this.drawing = false;
  }

  axes() {
    const made = [], floor = HEIGHT - BOTTOM;
    const every = spaced(this.span, Math.max(3, Math.floor(this.width / 95)));
    for (let at = 0; at <= this.span; at += every) {
      made.push(make("line", { class: "wb-axis", x1: this.x(at), x2: this.x(at), y1: floor, y2: floor + 5 }));
      made.push(make("text", { class: "wb-tick", x: this.x(at), y: floor + 18, "text-anchor": "middle" }, words(at)));
    }
    for (const part of [0, 0.25, 0.5, 0.75, 1]) {
      const reward = part * this.top;
      made.push(make("line", { class: "wb-grid", x1: LEFT, x2: this.width - RIGHT, y1: this.y(reward), y2: this.y(reward) }));
      made.push(make("text", { class: "wb-tick", x: LEFT - 7, y: this.y(reward) + 4, "text-anchor": "end" },
        String(Math.round(reward * 100) / 100)));
    }
    const middle = (LEFT + this.width - RIGHT) / 2;
    made.push(make("text", { class: "wb-title", x: middle, y: HEIGHT - 6, "text-anchor": "middle" },
      "Completion after arrival"));
    made.push(make("text", { class: "wb-title", x: 4, y: 14 }, "Reward"));
    return made;
  }

  // When the job was done in the last run.
  done() {
    const at = this.model.get("done_s");
    if (!(at > 0)) return [];
    const x = this.x(at), late = at > this.span;
    const line = make("line", { class: "wb-done", x1: x, x2: x, y1: TOP - 6, y2: HEIGHT - BOTTOM });
    const right = x > this.width * 0.6;
    const text = make("text", { class: "wb-done-text", x: x + (right ? -6 : 6), y: HEIGHT - BOTTOM - 10,
      "text-anchor": right ? "end" : "start" }, `last run: done after ${words(at)}${late ? " (beyond)" : ""}`);
    return [line, text];
  }

  curve() {
    const least = this.model.get("miss_reward"), first = this.steps[0]?.[1] ?? least;
    let path = `M ${this.x(0)} ${this.y(first)}`;
    this.steps.forEach(([at], i) => {
      path += ` H ${this.x(at)} V ${this.y(this.steps[i + 1]?.[1] ?? least)}`;
    });
    return make("path", { class: "wb-curve", d: `${path} H ${this.width - RIGHT}` });
  }

  labels() {
    return this.steps.map(([at, reward], i) => {
      const near = i > 0 && this.x(at) - this.x(this.steps[i - 1][0]) < 150 && this.steps[i - 1][1] - reward < 15;
      const full = this.steps.length === 1 || i === this.dragged || !near;
      const right = this.x(at) > this.width - 150;
      return make("text", { class: "wb-step", x: this.x(at) + (right ? -12 : 12), y: this.y(reward) - 8,
        "text-anchor": right ? "end" : "start" }, full ? `${words(at)}: ${reward}` : String(reward));
    });
  }

  handles() {
    return this.steps.map(([at, reward], i) => {
      const handle = make("circle", { class: "wb-handle", cx: this.x(at), cy: this.y(reward), r: 9, tabindex: 0,
        role: "slider", "data-index": i, "aria-valuenow": Math.round(at), "aria-valuemin": 0,
        "aria-valuemax": Math.round(this.span), "aria-label": `Deadline ${i + 1} of ${this.steps.length}`,
        "aria-valuetext": `${words(at)} after arrival, reward ${reward}` });
      handle.append(make("title", {}, "Drag; or arrow keys (with Shift ten times as far)"));
      handle.addEventListener("pointerdown", (event) => this.grab(event, i));
      handle.addEventListener("keydown", (event) => this.key(event, i));
      return handle;
    });
  }

  // -- moving --

  grab(event, index) {
    event.preventDefault();
    const from = [event.clientX, event.clientY], [at, reward] = this.steps[index];
    const scale = [this.span / (this.width - LEFT - RIGHT), this.top / (HEIGHT - TOP - BOTTOM)];
    this.dragged = index;
    const move = (e) => {
      this.put(index, at + (e.clientX - from[0]) * scale[0], reward - (e.clientY - from[1]) * scale[1]);
      this.draw();
    };
    const drop = () => {
      window.removeEventListener("pointermove", move);
      window.removeEventListener("pointerup", drop);
      window.removeEventListener("pointercancel", drop);
      this.dragged = -1;
      this.draw();
      this.svg.querySelector(`[data-index="${index}"]`)?.focus({ preventScroll: true });
      this.tell();
    };
    window.addEventListener("pointermove", move);
    window.addEventListener("pointerup", drop);
    window.addEventListener("pointercancel", drop);
  }

  key(event, index) {
    const far = event.shiftKey ? 10 : 1;
    const by = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] }[event.key];
    if (!by) return;
    event.preventDefault();
    const [at, reward] = this.steps[index];
    this.put(index, at + by[0] * far * this.snap, reward + by[1] * far);
    this.draw();
    clearTimeout(this.typing);
    this.typing = setTimeout(() => this.tell(), TYPING_MS);
  }

  tell() {
    clearTimeout(this.typing);
    this.typing = undefined;
    if (JSON.stringify(this.steps) === this.theirs) return;
    this.model.send({ kind: "steps", job: this.job, steps: this.steps });
  }

  dispose() {
    if (this.typing) this.tell();
    this.observer.disconnect();
  }
}

function render({ model, el }) {
  const editor = new Editor(model, el);
  const heard = () => editor.heard();
  model.on("change", heard);
  return () => {
    model.off("change", heard);
    editor.dispose();
  };
}

export default heard({ render });
