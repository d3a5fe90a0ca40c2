// The form of a guess: radio buttons, a number, or a list to be put in order. All text goes in through textContent.

function made(tag, className = "", text = "") {
  return Object.assign(document.createElement(tag), { className, textContent: text });
}

// With `code` and *stressed* words, as widgets/lessons/prose.py has them.
function paragraph(text) {
  const found = made("p"), parts = text.split(/(`[^`]+`|(?<![\w*])\*[^*\s$][^*$]*(?<!\s)\*(?![\w*]))/);
  found.append(...parts.map((part, at) => (at % 2 ? made(part[0] === "`" ? "code" : "em", "", part.slice(1, -1)) : part)));
  return found;
}

function button(className, text, title) {
  return Object.assign(made("button", className, text), { type: "button", title });
}

function choice(model, name, ready) {
  const inputs = model.get("options").map((option) => {
    const input = Object.assign(document.createElement("input"), { type: "radio", name, value: option });
    input.addEventListener("change", ready);
    return input;
  });
  const lines = inputs.map((input) => {
    const line = made("label", "wb-guess-line");
    line.append(input, made("span", "", input.value));
    return line;
  });
  return { lines, read: () => inputs.find((input) => input.checked)?.value };
}

function number(model, ready) {
  const input = Object.assign(document.createElement("input"), { type: "number", step: "any" });
  input.setAttribute("aria-label", `${model.get("label")} ${model.get("unit")}`);
  input.addEventListener("input", ready);
  const line = made("label", "wb-guess-line");
  line.append(input, made("span", "", model.get("unit")));
  return { lines: [line], read: () => (Number.isFinite(input.valueAsNumber) ? input.valueAsNumber : undefined) };
}

// Each item goes up and down by its buttons, or by the arrow keys on it.
function order(model, ready) {
  const list = made("ol", "wb-guess-order");
  const move = (item, by) => {
    const other = by < 0 ? item.previousElementSibling : item.nextElementSibling;
    if (!other) return;
    by < 0 ? other.before(item) : other.after(item);
    ready();
  };
  for (const option of model.get("options")) {
    const item = made("li", "wb-guess-line");
    item.dataset.option = option;
    for (const [by, sign, word] of [[-1, "↑", "earlier"], [1, "↓", "later"]]) {
      const press = button("wb-guess-move", sign, `${option}: ${word}`);
      press.setAttribute("aria-label", press.title);
      press.addEventListener("click", () => {
        move(item, by);
        press.focus();
      });
      item.append(press);
    }
    item.append(made("span", "", option));
    item.addEventListener("keydown", (event) => {
      const by = { ArrowUp: -1, ArrowDown: 1 }[event.key];
      if (!by) return;
      event.preventDefault();
      move(item, by);
      event.target.focus();
    });
    list.append(item);
  }
  return { lines: [list], read: () => [...list.children].map((item) => item.dataset.option) };
}

const MARKS = { right: "✓ ", wrong: "✗ ", failed: "! " };

function render({ model, el }) {
  const form = made("form", "wb wb-guess");
  form.dataset.lmSuppressShortcuts = "true"; // keys here are neither JupyterLab's nor its notebook's
  form.addEventListener("keydown", (event) => event.stopPropagation());
  const field = made("fieldset");
  field.append(made("legend", "wb-hidden", model.get("label")));
  const send = Object.assign(button("wb-guess-send", "This is my guess", ""), { type: "submit", disabled: true });
  const reply = made("div", "wb-guess-reply");
  reply.setAttribute("role", "status");
  reply.tabIndex = -1;
  const ready = () => (send.disabled = parts.read() === undefined);
  const kinds = { choice: () => choice(model, `guess-${Math.random()}`, ready), number: () => number(model, ready) };
  const parts = (kinds[model.get("kind")] ?? (() => order(model, ready)))();
  field.append(...parts.lines, send);
  form.append(field, reply);
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    const guess = parts.read();
    if (guess === undefined || model.get("state") !== "open") return;
    field.disabled = true;
    reply.textContent = "The run answers …";
    reply.focus(); // a form that is switched off has none to keep
    model.send({ guess });
  });
  const show = () => {
    const state = model.get("state");
    form.dataset.state = state;
    field.disabled = state !== "open";
    if (state === "running") reply.textContent = "The run answers …";
    if (state in MARKS) {
      const [first = "", ...rest] = model.get("said");
      reply.replaceChildren(...[MARKS[state] + first, ...rest].map(paragraph));
    }
  };
  model.on("change:state", show);
  el.append(form);
  if (parts.read() !== undefined) ready();
  show();
  return () => model.off("change:state", show);
}

export default heard({ render });
