// A board on which a schedule is drawn: a palette of pieces, a lane for each GPU. All text goes in through textContent.

function made(tag, className = "", text = "") {
  return Object.assign(document.createElement(tag), { className, textContent: text });
}

function render({ model, el }) {
  const [lanes, columns, pieces] = [model.get("lanes"), model.get("columns"), model.get("pieces")];
  let chosen = 0;
  const at = { lane: 0, column: 0 };
  const root = made("div", "wb wb-draw");
  root.dataset.lmSuppressShortcuts = "true"; // keys here are neither JupyterLab's nor its notebook's
  root.addEventListener("keydown", (event) => event.stopPropagation());

  const palette = made("div", "wb-draw-palette");
  palette.setAttribute("role", "radiogroup");
  palette.setAttribute("aria-label", "The piece to put");
  const buttons = pieces.map((piece, number) => {
    const button = Object.assign(made("button", "", piece.name), { type: "button" });
    button.style.setProperty("--wb-piece", piece.colour);
    button.setAttribute("role", "radio");
    button.addEventListener("click", () => choose(number));
    palette.append(button);
    return button;
  });

  const board = made("div", "wb-draw-board");
  board.tabIndex = 0;
  board.setAttribute("role", "application");
  const tracks = lanes.map((name, lane) => {
    const line = made("div", "wb-draw-lane");
    const track = made("div", "wb-draw-track");
    track.style.setProperty("--wb-columns", columns);
    track.addEventListener("click", (event) => {
      const box = track.getBoundingClientRect();
      at.lane = lane;
      at.column = Math.max(0, Math.min(columns - 1, Math.floor(((event.clientX - box.left) / box.width) * columns)));
      toggle();
    });
    line.append(made("span", "wb-draw-name", name), track);
    board.append(line);
    return track;
  });
  const cursor = made("div", "wb-draw-cursor");
  const foot = made("div", "wb-draw-foot", `Each column is ${model.get("column")}.`);
  const clear = Object.assign(made("button", "wb-draw-clear", "Take all away"), { type: "button" });
  const answer = Object.assign(made("button", "wb-draw-answer", "Show the paper's answer"), { type: "button" });
  const said = made("div", "wb-draw-said");
  said.setAttribute("role", "status");

  const covers = ([piece, lane, begin]) =>
    lane === at.lane && begin <= at.column && at.column < begin + pieces[piece].lengths[lane];

  function put(placed) {
    model.set("placed", placed);
    model.save_changes();
    show();
  }

  function toggle() {
    const placed = model.get("placed");
    const here = placed.findIndex((each) => each[0] === chosen && covers(each));
    if (here >= 0) return put(placed.filter((_, number) => number !== here));
    if (at.column + pieces[chosen].lengths[at.lane] > columns) return show();
    const others = model.get("once") ? placed.filter(([piece]) => piece !== chosen) : placed;
    put([...others, [chosen, at.lane, at.column]]);
    const free = pieces.findIndex((_, piece) => !model.get("placed").some((each) => each[0] === piece));
    if (model.get("once") && free >= 0) choose(free);
  }

  function choose(number) {
    chosen = (number + pieces.length) % pieces.length;
    show();
  }

  board.addEventListener("keydown", (event) => {
    const step = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0] }[event.key];
    const other = { PageDown: 1, PageUp: -1 }[event.key];
    if (step) {
      at.lane = Math.max(0, Math.min(lanes.length - 1, at.lane + step[0]));
      at.column = Math.max(0, Math.min(columns - 1, at.column + step[1]));
      show();
    } else if (other) choose(chosen + other);
    else if (event.key === " " || event.key === "Enter") toggle();
    else return;
    event.preventDefault();
  });
  clear.addEventListener("click", () => put([]));
  answer.addEventListener("click", () => model.send({ answer: true }));

  const percent = (columnsWide) => `${(100 * columnsWide) / columns}%`;

  function show() {
    const [placed, broken] = [model.get("placed"), model.get("broken")];
    buttons.forEach((button, number) => button.setAttribute("aria-checked", String(number === chosen)));
    tracks.forEach((track) => track.replaceChildren());
    placed.forEach(([piece, lane, begin], number) => {
      const bar = made("div", "wb-draw-bar", pieces[piece].name);
      bar.style.setProperty("--wb-piece", pieces[piece].colour);
      bar.style.left = percent(begin);
      bar.style.width = percent(pieces[piece].lengths[lane]);
      bar.title = broken[number] ?? pieces[piece].name;
      if (number in broken) bar.dataset.broken = "true";
      tracks[lane].append(bar);
    });
    cursor.style.left = percent(at.column);
    cursor.style.width = percent(Math.min(pieces[chosen].lengths[at.lane], columns - at.column));
    tracks[at.lane].append(cursor);
    board.setAttribute("aria-label", `${lanes[at.lane]}, column ${at.column + 1}: ${pieces[chosen].name} to put`);
    const told = [...new Set(Object.values(broken))];
    said.replaceChildren(
      ...told.map((text) => made("p", "wb-draw-wrong", text)),
      ...model.get("said").map((text) => made("p", "", text)),
    );
    answer.hidden = !model.get("answers");
    answer.disabled = placed.length === 0;
  }

  const names = ["placed", "broken", "said", "answers"];
  for (const name of names) model.on(`change:${name}`, show);
  foot.append(clear, answer);
  root.append(palette, board, foot, said);
  el.append(root);
  show();
  return () => names.forEach((name) => model.off(`change:${name}`, show));
}

export default heard({ render });
