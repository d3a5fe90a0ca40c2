// Makes a lab fill the window in large type, one panel at a time: see presenter.py. Alt+S presses Solve. The lab becomes a popover, which
// lies above everything whatever it stands in; lab.css shows the panel that `data-panel` names, and charts redraw
// themselves by `data-magnify` (vega_view.js). It also tells when a slider of the lab is taken hold of: `drag`.

const [MAGNIFY, WIDTH, HEIGHT] = [1.5, 1280, 720]; // in a window of that size; in a larger one by as much more: lab.css
const GOES_ON_MS = 500;
const TYPING = "input, select, textarea, .wb-chart";
const NAMELESS = ":is(.noUi-handle, select[title], input[title]):not([aria-label], [aria-labelledby])";
const HANDLED = `${TYPING}, .wb-playback, [role=slider], [role=grid], [contenteditable]`; // where arrows are the control's own

function render({ model, el }) {
  el.classList.add("wb");
  const begin = button("wb-present-begin", "desktop", "Present", "Large type, one panel at a time (Alt+P)");
  const back = button("wb-present-back", "chevron-left", "", "Panel before (left, Page Up)");
  const on = button("wb-present-on", "chevron-right", "", "Next panel (right, Page Down)");
  const leave = button("wb-present-leave", "times", "Leave", "Back to the lab as it was (Escape)");
  const which = document.createElement("select");
  which.className = "wb-present-which";
  which.setAttribute("aria-label", "Panel that is shown");
  const place = document.createElement("span");
  place.className = "wb-present-place";
  place.setAttribute("role", "status");
  const bar = document.createElement("div");
  bar.className = "wb-present-bar";
  const keys = Object.assign(document.createElement("span"), { className: "wb-present-keys", textContent: "(keys ← →)" });
  bar.append(back, which, on, place, keys, leave);
  el.append(begin, bar);

  const lab = () => el.closest(".wb-lab");

  // What ipywidgets give a name by their title only, or to their slider's handle none at all, has it as its label.
  let naming = 0;
  function name() {
    naming = 0;
    for (const control of lab()?.querySelectorAll(NAMELESS) ?? []) {
      const whole = control.closest("[title], .widget-inline-hbox");
      const knob = control.closest("[class*=wb-knob-]");
      const said = whole?.title || whole?.querySelector("label")?.textContent || knob?.querySelector("label")?.textContent;
      if (said) control.setAttribute("aria-label", said);
    }
  }
  const watch = new MutationObserver((changes) => {
    naming ||= requestIdleCallback(name);
    const answered = changes.find(({ addedNodes, target }) => addedNodes.length && target.closest(".wb-explain-otherwise"));
    answered?.target.scrollIntoView({ block: "nearest" }); // what was asked for is seen
  });
  requestAnimationFrame(() => lab() && (watch.observe(lab(), { childList: true, subtree: true }), name()));

  function set(name, value) {
    model.set(name, value);
    model.save_changes();
  }

  function go(by) {
    const last = model.get("titles").length - 1;
    set("number", Math.max(0, Math.min(last, model.get("number") + by)));
  }

  // The mouse leaves the focus with the panel: the next key is meant for what is seen there.
  function turned(event, by) {
    go(by);
    if (event.detail > 0) lab()?.focus();
  }

  function show() {
    const presenting = model.get("on");
    const [number, titles, kinds] = ["number", "titles", "kinds"].map((name) => model.get(name));
    begin.hidden = presenting;
    bar.hidden = !presenting;
    which.replaceChildren(...titles.map((title, i) => new Option(title, String(i), false, i === number)));
    which.value = String(number);
    place.textContent = titles.length ? `${number + 1} of ${titles.length}` : "";
    back.disabled = number <= 0;
    on.disabled = number >= titles.length - 1;
    const root = lab();
    if (!root) return;
    if (presenting !== root.classList.contains("wb-presenting")) (presenting ? fill : restore)(root);
    if (presenting) root.dataset.panel = kinds[number] ?? "";
    if (presenting) root.scrollTop = 0;
  }

  function magnify() {
    const larger = Math.max(1, Math.min(innerWidth / WIDTH, innerHeight / HEIGHT));
    lab().dataset.magnify = (MAGNIFY * larger).toFixed(2);
  }

  function fill(root) {
    root.classList.add("wb-presenting");
    magnify();
    root.dataset.lmSuppressShortcuts = "true";
    root.popover = "manual";
    root.showPopover();
    moveTooltip(root);
    root.tabIndex = -1;
    root.focus(); // so that keys reach the playback of the panel, not a button of the bar
  }

  function restore(root) {
    root.hidePopover();
    root.popover = null;
    root.removeAttribute("tabindex");
    root.classList.remove("wb-presenting");
    for (const name of ["magnify", "lmSuppressShortcuts", "panel"]) delete root.dataset[name];
    moveTooltip(document.body);
    begin.focus();
    root.scrollIntoView({ block: "nearest" }); // the notebook was shorter without it
  }

  function pressed(event) {
    if (event.altKey && event.code === "KeyS" && (model.get("on") || lab()?.contains(event.target))) {
      act(event, () => lab()?.querySelector(".wb-solve")?.click());
      return;
    }
    if (!model.get("on")) {
      if (event.altKey && event.code === "KeyP" && lab()?.contains(event.target)) act(event, () => set("on", true));
      return;
    }
    const arrows = !event.target.closest?.(HANDLED);
    if (event.key === "PageDown" || (arrows && event.key === "ArrowRight")) act(event, () => go(1));
    else if (event.key === "PageUp" || (arrows && event.key === "ArrowLeft")) act(event, () => go(-1));
    else if (event.key === "Escape" && !event.target.closest?.(TYPING)) act(event, () => set("on", false));
  }

  // What follows belongs to one drag, or to keys in quick succession, until something else is pressed. Said for each of
  // these keys it would have to reach the kernel before the slider's value, which takes as long as a small run.
  let [touched, touchedAt] = [null, 0];
  function held(event) {
    const found = event.target.closest?.(".noUi-target");
    const slider = found && lab()?.contains(found) ? found : null;
    const goesOn = event.type === "keydown" && slider === touched && event.timeStamp - touchedAt < GOES_ON_MS;
    [touched, touchedAt] = [slider, event.timeStamp];
    const drag = slider ? (goesOn ? model.get("drag") : Date.now()) : 0;
    if (drag !== model.get("drag")) set("drag", drag);
  }

  begin.addEventListener("click", () => set("on", true));
  leave.addEventListener("click", () => set("on", false));
  back.addEventListener("click", (event) => turned(event, -1));
  on.addEventListener("click", (event) => turned(event, 1));
  which.addEventListener("change", () => set("number", Number(which.value)));
  const resized = () => lab()?.classList.contains("wb-presenting") && magnify();
  addEventListener("resize", resized);
  document.addEventListener("keydown", pressed, true);
  for (const kind of ["pointerdown", "keydown"]) document.addEventListener(kind, held, true);
  model.on("change", show);
  show();
  return () => {
    removeEventListener("resize", resized);
    document.removeEventListener("keydown", pressed, true);
    for (const kind of ["pointerdown", "keydown"]) document.removeEventListener(kind, held, true);
    model.off("change", show);
    watch.disconnect();
    cancelIdleCallback(naming);
    const root = lab();
    if (root?.classList.contains("wb-presenting")) restore(root);
  };
}

function button(className, icon, text, title) {
  const found = Object.assign(document.createElement("button"), { className, title, type: "button" });
  found.setAttribute("aria-label", title);
  const sign = document.createElement("i");
  sign.className = `fa fa-${icon}`;
  found.append(sign, text ? ` ${text}` : "");
  return found;
}

function act(event, what) {
  event.preventDefault();
  event.stopPropagation();
  what();
}

// The charts' tooltip hangs on the page's body, below a popover.
function moveTooltip(parent) {
  const tooltip = document.getElementById("vg-tooltip-element");
  if (tooltip) parent.append(tooltip);
}

export default heard({ render });
