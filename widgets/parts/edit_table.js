// Draws the cells of an EditTable and takes keys; what an edit means is decided in edit_table.py.
// Rows are kept by number (not position) and patched: an edit touches only the rows that Python sends back, so focus
// and half-typed text stay where they are. All text goes in through textContent and value, never as HTML.

const MOVES = { ArrowUp: -1, ArrowDown: 1, Enter: 1 };
const SIDES = { ArrowLeft: -1, ArrowRight: 1 };
let counted = 0;

function node(tag, className, text) {
  const made = document.createElement(tag);
  if (className) made.className = className;
  if (text !== undefined) made.textContent = text;
  return made;
}

// ---- the rows as Python last sent them: state for a page that opens, patches afterwards ----

class Grid {
  constructor(model) {
    this.model = model;
    this.listeners = new Set();
    this.edits = 0; // sent from this page
    this.done = 0; // the last of them that Python has carried out
    this.take(model.get("_grid"));
    model.on("change:_grid", () => {
      this.take(model.get("_grid"));
      this.tell(null);
    });
    model.on("msg:custom", (message) => message.kind === "patch" && this.patch(message));
  }

  take(whole) {
    this.version = whole.version ?? 0;
    this.done = this.edits; // a whole grid comes after a patch was missed: take it as it is
    this.order = whole.order ?? [];
    this.rows = new Map((whole.rows ?? []).map((row) => [row[0], row]));
  }

  patch(message) {
    if (message.version <= this.version) return;
    if (message.base !== this.version) {
      this.model.send({ kind: "resend" });
      return;
    }
    this.version = message.version;
    this.done = message.done;
    for (const row of message.rows) this.rows.set(row[0], row);
    if (message.order) {
      this.order = message.order;
      const present = new Set(this.order);
      for (const number of this.rows.keys()) if (!present.has(number)) this.rows.delete(number);
    }
    this.tell(message.focus);
  }

  nextEdit() {
    return ++this.edits;
  }

  tell(focus) {
    for (const listener of this.listeners) listener(focus);
  }
}

// ---- one cell ----

class Cell {
  constructor(table, line, index) {
    this.table = table;
    this.line = line;
    this.index = index;
    this.column = table.columns[index];
    this.td = node("td", this.column.number ? "wb-number" : "");
    this.error = null;
    this.shown = this.written = "";
    this.edit = 0;
    this.input = table.readOnly ? node("span") : this.makeInput();
    this.known = this.text;
    this.td.append(this.input);
  }

  makeInput() {
    const { kind, choices, required } = this.column;
    const input = node(kind === "choice" ? "select" : "input");
    if (kind === "choice") {
      if (!required) input.add(new Option("", ""));
      for (const choice of choices) input.add(new Option(choice, choice));
    } else {
      input.type = kind === "bool" ? "checkbox" : "text";
      input.autocomplete = "off";
      input.spellcheck = false;
      if (this.column.number && kind !== "duration") input.inputMode = "decimal";
    }
    if (required) input.setAttribute("aria-required", "true");
    input.cell = this;
    input.tabIndex = -1; // the table has one Tab stop
    this.describe(input);
    return input;
  }

  describe(input = this.input) {
    const ids = [this.column.help ? `${this.column.id}-help` : "", this.error ? this.error.id : ""].filter(Boolean);
    if (ids.length) input.setAttribute("aria-describedby", ids.join(" "));
    else input.removeAttribute("aria-describedby");
  }

  get text() {
    return this.column.kind === "bool" ? String(this.input.checked) : this.input.value;
  }

  // Whether something was typed that Python has not been sent.
  get dirty() {
    return this.text !== this.known;
  }

  get waiting() {
    return this.edit > this.table.grid.done;
  }

  set(shown, written, error) {
    this.shown = shown;
    this.written = written;
    if (this.waiting) return; // Python has not yet seen what was typed here last
    if (this.table.readOnly) this.setPlain();
    else if (!this.dirty) this.setInput(document.activeElement === this.input);
    this.setError(error);
  }

  setPlain() {
    const text = this.column.kind === "bool" ? { true: "yes", false: "no" }[this.shown] ?? this.shown : this.shown;
    if (this.input.textContent !== text) this.input.textContent = text;
    this.input.title = this.written === text ? "" : this.written;
  }

  setInput(editing) {
    const { input } = this;
    if (this.column.kind === "bool") {
      input.checked = this.written === "true";
    } else {
      const text = editing ? this.written : this.shown;
      if (input.tagName === "SELECT") this.offer(text);
      if (input.value !== text) input.value = text;
      input.title = this.shown === this.written ? "" : this.written;
    }
    this.known = this.text;
  }

  // A choice that is not (or no longer) on the list is shown all the same.
  offer(text) {
    this.stranger?.remove();
    this.stranger = null;
    if ([...this.input.options].some((option) => option.value === text)) return;
    this.stranger = new Option(text, text);
    this.input.add(this.stranger, 0);
  }

  setError(text) {
    if ((this.error?.textContent ?? "") === (text ?? "")) return;
    this.td.classList.toggle("wb-wrong", Boolean(text));
    if (text) {
      if (!this.error) {
        this.error = node("div", "wb-cell-error");
        this.error.id = `${this.line.th.id}-${this.index}-error`;
        this.td.append(this.error);
      }
      this.error.textContent = text;
      this.input.setAttribute("aria-invalid", "true");
    } else {
      this.error.remove();
      this.error = null;
      this.input.removeAttribute("aria-invalid");
    }
    this.describe();
  }

  focused() {
    this.sent = false;
    if (this.dirty || this.input.type !== "text") return;
    this.setInput(true);
    this.input.select();
  }

  // What is typed next takes the place of what was sent, as it did when the cell was entered; then a click sets the caret.
  clickedAgain() {
    this.sent = false;
    if (!this.dirty) this.input.select?.();
  }

  blurred() {
    this.commit();
    // Without a change the readable form comes back; after one, it comes with Python's answer.
    if (!this.waiting) this.setInput(false);
  }

  // It takes the place of a cell in which a person was at work.
  goOn({ text, dirty, edit, active, caret }) {
    this.edit = edit;
    if (active) this.input.focus({ preventScroll: true });
    if (dirty || this.waiting) {
      if (this.input.tagName === "SELECT") this.offer(text);
      if (this.column.kind === "bool") this.input.checked = text === "true";
      else this.input.value = text;
      if (!dirty) this.known = this.text;
    }
    if (active && caret) this.input.setSelectionRange(...caret);
  }

  commit() {
    if (!this.dirty) return;
    this.sent = true;
    this.known = this.text;
    this.edit = this.table.grid.nextEdit();
    const { line, column, edit, text } = this;
    this.table.model.send({ kind: "edit", row: line.number, column: column.name, text, edit });
  }

  revert() {
    if (!this.dirty) return false;
    this.setInput(true);
    this.input.select?.();
    return true;
  }
}

// ---- one row ----

class Line {
  constructor(table, number) {
    this.table = table;
    this.number = number;
    this.tr = node("tr");
    this.tr.line = this;
    this.th = node("th");
    this.th.scope = "row";
    this.th.id = `${table.id}-row-${number}`;
    this.cells = table.columns.map((_, index) => new Cell(table, this, index));
    this.tr.append(this.th, ...this.cells.map((cell) => cell.td));
  }

  set(row) {
    if (row === this.row) return;
    this.row = row;
    const [, shown, written, errors] = row;
    for (const cell of this.cells) {
      const text = shown[cell.index] ?? "";
      cell.set(text, written[cell.index] ?? text, errors[cell.index]);
    }
  }

  place(position, selected) {
    const label = String(position + 1);
    this.th.title = this.table.readOnly ? "" : this.table.model.get("follow_help");
    if (this.th.textContent !== label) {
      this.th.textContent = label;
      const named = this.table.readOnly ? [] : this.cells;
      for (const { column, input } of named) input.setAttribute("aria-label", `${column.header} ${label}`);
    }
    this.position = position;
    if (selected) this.tr.setAttribute("aria-current", "true");
    else this.tr.removeAttribute("aria-current");
    this.tr.classList.toggle("wb-lit", this.table.model.get("lit").includes(position));
  }
}

// ---- the table ----

class TableView {
  constructor(model, grid, el) {
    this.model = model;
    this.grid = grid;
    this.id = `wb-table-${++counted}-${Math.random().toString(36).slice(2, 8)}`;
    this.root = el;
    el.classList.add("wb", "wb-table");
    // JupyterLab's single-key shortcuts (D D deletes a cell) must not hear keys meant for the table.
    el.dataset.lmSuppressShortcuts = "true";
    this.listen();
    this.build();
  }

  build() {
    const { model } = this, unfinished = this.unfinished();
    this.readOnly = model.get("read_only");
    this.columns = model.get("_columns").map((column, i) => ({
      ...column,
      id: `${this.id}-column-${i}`,
      number: ["int", "float", "duration"].includes(column.kind),
    }));
    this.lines = new Map();
    this.stop = null;
    this.title = node("div", "wb-table-title");
    this.title.id = `${this.id}-title`;
    this.scroll = node("div", "wb-table-scroll");
    this.table = node("table");
    this.table.setAttribute("aria-labelledby", this.title.id);
    if (this.readOnly) this.table.setAttribute("role", "grid");
    this.body = node("tbody");
    this.table.append(this.columnWidths(), this.head(), this.body);
    this.empty = node("div", "wb-table-empty", "No rows.");
    this.scroll.append(this.table, this.empty);
    this.problems = node("div", "wb-error-note");
    this.problems.setAttribute("role", "status");
    this.building = true; // who is at work in a cell has not left it
    this.root.replaceChildren(this.title, this.scroll, this.problems, this.toolbar());
    this.building = false;
    this.labels();
    this.sync();
    this.history();
    for (const cell of unfinished) this.lines.get(cell.row)?.cells.find((c) => c.column.name === cell.name)?.goOn(cell);
  }

  // What is typed here and Python has not answered yet: it stays when the table is built anew.
  unfinished() {
    const cells = this.readOnly ? [] : [...(this.lines?.values() ?? [])].flatMap((line) => line.cells);
    const found = cells.filter((cell) => cell.dirty || cell.waiting || cell.input === document.activeElement);
    return found.map(({ line, column, text, dirty, edit, input }) => ({
      row: line.number, name: column.name, text, dirty, edit, active: input === document.activeElement,
      caret: input.type === "text" ? [input.selectionStart, input.selectionEnd] : null,
    }));
  }

  columnWidths() {
    const group = node("colgroup");
    const widths = ["3.2em", ...this.columns.map((column) => `${column.width * 0.62 + 1.2}em`)];
    group.append(...widths.map((width) => Object.assign(node("col"), { style: `width:${width}` })));
    this.table.style.width = `calc(${widths.join(" + ")})`;
    // The first column stays in sight: a cell that gets the focus is not scrolled under it.
    this.scroll.style.scrollPaddingLeft = `calc(${widths.slice(0, 2).join(" + ")})`;
    return group;
  }

  head() {
    const row = node("tr");
    const corner = node("th");
    corner.scope = "col";
    corner.append(node("span", "wb-hidden", "Row"));
    row.append(corner);
    for (const column of this.columns) {
      const th = node("th", column.number ? "wb-number" : "", column.header);
      th.scope = "col";
      th.id = column.id;
      row.append(th);
      if (column.help) {
        th.title = column.help;
        const help = node("div", "", column.help); // read out with each cell; shown on hover by `title`
        help.id = `${column.id}-help`;
        help.hidden = true;
        corner.append(help);
      }
    }
    const head = node("thead");
    head.append(row);
    return head;
  }

  toolbar() {
    this.buttons = {};
    const bar = node("div", "wb-toolbar");
    bar.setAttribute("role", "group");
    bar.setAttribute("aria-labelledby", this.title.id);
    const add = (kind, label, title) => {
      const button = node("button", "", label);
      button.type = "button";
      button.title = title;
      button.addEventListener("click", () => this.act(kind));
      this.buttons[kind] = button;
      bar.append(button);
    };
    if (!this.readOnly) {
      add("add", "Add row", "Add a row below the current one");
      add("duplicate", "Duplicate", "Copy the current row below itself");
      add("remove", "Remove", "Remove the current row");
      if (this.model.get("follow")) add("follow", this.model.get("follow"), this.model.get("follow_help"));
      add("undo", "Undo", "Undo the last change (Ctrl+Z)");
      add("redo", "Redo", "Do again what was undone (Ctrl+Y)");
    }
    this.status = node("span", "wb-table-status");
    this.status.setAttribute("role", "status");
    bar.append(this.status);
    return bar;
  }

  labels() {
    this.title.textContent = this.model.get("caption");
    this.title.hidden = !this.model.get("caption");
    this.scroll.style.maxHeight = this.model.get("height");
    this.status.textContent = this.model.get("message");
    this.problems.textContent = this.model.get("_problems").join("\n");
    this.problems.hidden = !this.problems.textContent;
  }

  history() {
    if (this.readOnly) return;
    const chosen = this.model.get("selected") in this.grid.order;
    this.buttons.undo.disabled = !this.model.get("_can_undo");
    this.buttons.redo.disabled = !this.model.get("_can_redo");
    for (const name of ["duplicate", "remove", "follow"]) if (this.buttons[name]) this.buttons[name].disabled = !chosen;
  }

  // -- keeping in step with the grid --

  sync(focus) {
    const { order, rows } = this.grid;
    const present = new Set(order);
    let bereft = null; // where the focus was, if its row is going
    for (const [number, line] of this.lines) {
      if (present.has(number)) continue;
      if (line.tr.contains(document.activeElement)) bereft = line.position;
      line.tr.remove();
      this.lines.delete(number);
    }
    const selected = this.model.get("selected");
    let next = this.body.firstElementChild;
    order.forEach((number, position) => {
      let line = this.lines.get(number);
      if (!line) {
        line = new Line(this, number);
        this.lines.set(number, line);
      }
      line.set(rows.get(number));
      line.place(position, position === selected);
      if (line.tr === next) next = next.nextElementSibling;
      else this.body.insertBefore(line.tr, next);
    });
    this.empty.hidden = order.length > 0;
    this.root.dataset.version = this.grid.version;
    if (this.readOnly) this.rove();
    else this.history();
    if (!this.readOnly && !present.has(this.stop?.line.number)) this.stopAt(this.lines.get(order[0])?.cells[0]);
    if (focus) this.goTo(order.indexOf(focus[0]), focus[1]);
    else if (bereft !== null) this.goTo(Math.min(bereft, order.length - 1));
  }

  mark() {
    const selected = this.model.get("selected");
    for (const line of this.lines.values()) line.place(line.position, line.position === selected);
  }

  select() {
    const selected = this.model.get("selected");
    this.mark();
    if (this.readOnly) this.rove();
    else this.history();
    this.reveal(this.lines.get(this.grid.order[selected]));
  }

  // Scroll the table, and not the page, to a row that was selected elsewhere.
  reveal(line) {
    if (!line || line.tr.contains(document.activeElement)) return;
    const head = this.table.tHead.offsetHeight;
    const { offsetTop: top, offsetHeight: height } = line.tr;
    const { scrollTop, clientHeight } = this.scroll;
    if (top - head < scrollTop) this.scroll.scrollTop = top - head;
    else if (top + height > scrollTop + clientHeight) this.scroll.scrollTop = top + height - clientHeight;
  }

  // Read-only rows are reached by one Tab stop and the arrow keys.
  rove() {
    const { order } = this.grid;
    const stop = this.model.get("selected") in order ? this.model.get("selected") : 0;
    order.forEach((number, position) => (this.lines.get(number).tr.tabIndex = position === stop ? 0 : -1));
  }

  // Cells are reached by one Tab stop, the cell that was left last, and the arrow keys.
  stopAt(cell) {
    if (this.stop) this.stop.input.tabIndex = -1;
    this.stop = cell;
    if (cell) cell.input.tabIndex = 0;
  }

  // -- what people do --

  listen() {
    const cellOf = (event) => event.target.cell;
    const { root } = this;
    root.addEventListener("focusin", (event) => {
      if (cellOf(event)) this.stopAt(cellOf(event));
      cellOf(event)?.focused();
      this.choose(event.target.closest("tr")?.line);
      this.last = cellOf(event)?.column.name ?? this.last;
    });
    root.addEventListener("focusout", (event) => !this.building && cellOf(event)?.blurred());
    root.addEventListener("change", (event) => !this.building && cellOf(event)?.commit());
    root.addEventListener("click", (event) => this.clicked(event.target.closest("tr")?.line, event.target));
    root.addEventListener("keydown", (event) => this.key(event, cellOf(event)));
    root.addEventListener("paste", (event) => this.paste(event, cellOf(event)));
  }

  clicked(line, target) {
    this.choose(line);
    if (target.cell?.sent) target.cell.clickedAgain();
    if (line && target === line.th) this.followRow(line.number);
    if (target.classList.contains("wb-cell-error")) target.closest("td").querySelector("input, select").focus();
  }

  followRow(number) {
    if (!this.readOnly && this.model.get("follow")) this.model.send({ kind: "follow", row: number });
  }

  choose(line) {
    if (!line || this.model.get("selected") === line.position) return;
    this.model.set("selected", line.position);
    this.model.save_changes();
  }

  key(event, cell) {
    const command = event.ctrlKey || event.metaKey;
    const letter = event.key.toLowerCase();
    if (command && !event.altKey && (letter === "z" || letter === "y")) {
      if (this.readOnly || cell?.dirty) return; // half-typed text has the browser's own undo
      event.preventDefault();
      this.act(letter === "y" || event.shiftKey ? "redo" : "undo");
    } else if (event.key === "Escape" && cell?.revert()) {
      event.preventDefault();
    } else if (event.key in MOVES && !command && !event.altKey) {
      this.move(event, cell);
    } else if (event.key in SIDES && cell && !command && !event.altKey && !event.shiftKey) {
      this.sideways(event, cell);
    } else if (event.key === "F2" && cell?.input.type === "text") {
      cell.input.setSelectionRange(cell.text.length, cell.text.length);
    }
  }

  // Within a text the arrows move the caret: they leave it at its ends, and where all of it is selected.
  sideways(event, cell) {
    const step = SIDES[event.key];
    const { selectionStart: start, selectionEnd: end, type, value } = cell.input;
    const atEnd = start === end && end === (step < 0 ? 0 : value.length);
    const leaves = type !== "text" || atEnd || (start === 0 && end === value.length);
    const next = cell.line.cells[cell.index + step];
    if (!leaves || !next) return;
    event.preventDefault();
    cell.commit();
    next.input.focus();
  }

  move(event, cell) {
    const line = cell?.line ?? event.target.line;
    if (!line) return;
    if (cell?.input.tagName === "SELECT" && event.key !== "Enter") return; // arrows choose
    event.preventDefault();
    cell?.commit();
    const step = event.key === "Enter" && event.shiftKey ? -1 : MOVES[event.key];
    this.goTo(line.position + step, cell?.column.name);
  }

  goTo(position, column) {
    const line = this.lines.get(this.grid.order[position]);
    if (!line) return;
    const cell = line.cells.find((c) => c.column.name === (column ?? this.last)) ?? line.cells[0];
    (this.readOnly ? line.tr : cell?.input)?.focus();
  }

  paste(event, cell) {
    const text = event.clipboardData?.getData("text/plain") ?? "";
    if (!cell || this.readOnly || !/[\t\n\r]/.test(text.trim())) return; // one value: the browser pastes it
    event.preventDefault();
    cell.revert();
    this.model.send({ kind: "paste", row: cell.line.number, column: cell.column.name, text });
  }

  act(kind) {
    document.activeElement?.cell?.commit();
    this.model.send({ kind, row: this.grid.order[this.model.get("selected")] ?? null });
  }
}

// ---- the widget: anywidget calls this once per model ----

export default () => {
  let grid;
  return heard({
    initialize({ model }) {
      grid = new Grid(model);
    },
    render({ model, el }) {
      const view = new TableView(model, grid, el);
      const follow = (focus) => view.sync(focus);
      grid.listeners.add(follow);
      model.on("change:_columns change:read_only change:follow change:follow_help", () => view.build());
      model.on("change:selected", () => view.select());
      model.on("change:lit", () => view.mark());
      model.on("change:_can_undo change:_can_redo", () => view.history());
      model.on("change:caption change:height change:message change:_problems", () => view.labels());
      return () => {
        grid.listeners.delete(follow);
        el.replaceChildren();
      };
    },
  });
};
