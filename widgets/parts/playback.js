// Play, pause and scrub through rounds: see playback.py. Only the number of the round travels; the kernel tells the
// charts what to show, and a chart that is slower than the frames draws the last of those that it was told.

const OTHERS_KEYS =
  "input, select, textarea, button, [contenteditable=true], [role=tab], [role=slider], .jp-InputArea-editor";

function button(className) {
  const found = Object.assign(document.createElement("button"), { className, type: "button" });
  found.append(document.createElement("i"));
  return found;
}

function says(button, icon, title) {
  button.firstChild.className = `fa fa-${icon}`;
  button.title = title;
  button.setAttribute("aria-label", title);
}

function set(model, name, value) {
  model.set(name, value);
  model.save_changes();
}

function goTo(model, number) {
  set(model, "number", Math.max(0, Math.min(model.get("last"), number)));
}

const calm = matchMedia("(prefers-reduced-motion: reduce)");

// Faster than a page can draw, or a person wants to see things move, more rounds are taken at a time.
function pace(model) {
  const wished = model.get("frame_ms") / model.get("speed");
  const interval = Math.max(wished, model.get(calm.matches ? "calm_frame_ms" : "least_frame_ms"));
  return { interval, rounds: Math.max(1, Math.round((model.get("step") * interval) / wished)) };
}

// The clock belongs to the model: however often the controls are on the page, it goes once.
function initialize({ model }) {
  let timer = null;
  const frame = () => {
    if (model.get("number") >= model.get("last")) {
      set(model, "playing", false);
      return;
    }
    goTo(model, model.get("number") + pace(model).rounds);
    timer = setTimeout(frame, pace(model).interval);
  };
  const changed = () => {
    clearTimeout(timer);
    if (model.get("playing")) timer = setTimeout(frame, pace(model).interval);
  };
  model.on("change:playing", changed);
  changed();
  return () => {
    clearTimeout(timer);
    model.off("change:playing", changed);
  };
}

function render({ model, el }) {
  el.classList.add("wb");
  el.dataset.lmSuppressShortcuts = "true"; // JupyterLab's single-key shortcuts are not meant for these controls
  const [back, toggle, on] = ["back", "toggle", "on"].map((name) => button(`wb-play-${name}`));
  says(back, "step-backward", "One round back (left arrow)");
  says(on, "step-forward", "One round on (right arrow)");
  const slider = Object.assign(document.createElement("input"), { type: "range", min: 0, step: 1 });
  slider.className = "wb-round";
  slider.title = "Show up to here";
  slider.setAttribute("aria-label", "Round that is shown");
  const speed = document.createElement("select");
  speed.className = "wb-play-speed";
  speed.title = "Speed of playback";
  speed.setAttribute("aria-label", "Speed of playback");
  for (const each of model.get("speeds")) speed.append(new Option(`${each}×`, String(each)));
  const label = document.createElement("span");
  label.className = "wb-play-time";
  el.append(back, toggle, on, slider, speed, label);

  const go = (number) => goTo(model, number);

  function show() {
    const [number, last, playing] = ["number", "last", "playing"].map((name) => model.get(name));
    slider.max = last;
    slider.value = number;
    slider.setAttribute("aria-valuetext", model.get("label"));
    speed.value = String(model.get("speed"));
    label.textContent = model.get("label");
    says(toggle, playing ? "pause" : "play", playing ? "Pause (space)" : "Play (space)");
    toggle.disabled = last === 0;
    back.disabled = number <= 0;
    on.disabled = number >= last;
    el.dataset.playing = String(playing);
  }

  function playOrPause() {
    if (model.get("playing")) {
      set(model, "playing", false);
      return;
    }
    if (model.get("number") >= model.get("last")) go(0);
    set(model, "playing", true);
  }

  function pausedAt(number) {
    if (model.get("playing")) set(model, "playing", false);
    go(number);
  }

  const keys = {
    " ": playOrPause,
    ArrowLeft: () => pausedAt(model.get("number") - 1),
    ArrowRight: () => pausedAt(model.get("number") + 1),
    Home: () => pausedAt(0),
    End: () => pausedAt(model.get("last")),
  };

  // While a lab is presented and nothing in it has the focus, keys mean the playback that is seen; arrows turn panels.
  function presented({ key, target }) {
    if (key.startsWith("Arrow")) return false;
    const lab = el.closest(".wb-presenting");
    return lab !== null && (target === lab || target === document.body) && el.checkVisibility();
  }

  // Else they mean this playback on its own slider and buttons, and on the charts that it plays.
  function pressed(event) {
    const act = keys[event.key];
    if (!act || event.ctrlKey || event.altKey || event.metaKey || event.shiftKey || model.get("last") === 0) return;
    const target = event.target;
    const mine = el.contains(target);
    const played = target.closest?.(".wb-played");
    const charts = played && played === el.closest(".wb-played") && !target.closest(OTHERS_KEYS);
    if (!mine && !charts && !presented(event)) return;
    if (mine && (target === speed || (target.tagName === "BUTTON" && event.key === " "))) return;
    event.preventDefault();
    event.stopPropagation();
    act();
  }

  back.addEventListener("click", () => pausedAt(model.get("number") - 1));
  on.addEventListener("click", () => pausedAt(model.get("number") + 1));
  toggle.addEventListener("click", playOrPause);
  slider.addEventListener("input", () => pausedAt(Number(slider.value)));
  speed.addEventListener("change", () => set(model, "speed", Number(speed.value)));
  document.addEventListener("keydown", pressed, true);
  model.on("change", show);
  show();
  return () => {
    document.removeEventListener("keydown", pressed, true);
    model.off("change", show);
  };
}

export default heard({ initialize, render });
