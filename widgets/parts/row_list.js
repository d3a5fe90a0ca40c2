// A table of which a row may be picked: see row_list.py. What stands in it is set as text, never as HTML.

// Whether a word, or several, stand in a text for themselves, not as a part of another.
const names = (text, word) => text.split(word).slice(1).some((after, at) =>
  !/^\w/.test(after) && !/\w$/.test(text.split(word)[at]));

function render({ model, el }) {
  el.classList.add("wb", "wb-row-list");
  const table = document.createElement("table");
  table.className = "wb-data";
  table.setAttribute("role", "grid");
  el.append(table);

  const cell = (tag, text, column) => {
    const found = document.createElement(tag);
    found.textContent = text;
    found.className = column >= model.get("numbers") ? "wb-right-aligned" : "wb-left-aligned";
    if (tag === "th") found.scope = "col";
    const [meanings, isHead] = [model.get("meanings"), tag === "th"];
    const words = Object.keys(meanings).filter((each) => (isHead ? text === each : column < model.get("numbers") && names(text, each)));
    if (words.length) found.title = words.map((each) => (isHead ? meanings[each] : `${each}: ${meanings[each]}`)).join("\n");
    return found;
  };

  function fill() {
    const head = document.createElement("thead");
    head.insertRow().append(...model.get("heads").map((text, column) => cell("th", text, column)));
    const body = document.createElement("tbody");
    for (const texts of model.get("rows")) {
      const row = body.insertRow();
      row.title = texts[1]; // in words: that column is not seen where it is narrow
      row.append(...texts.map((text, column) => cell("td", text, column)));
    }
    const at = table.contains(document.activeElement) ? numberOf(document.activeElement) : -1;
    table.replaceChildren(head, body);
    mark();
    body.rows[at]?.focus({ preventScroll: true }); // whoever goes by keyboard stays where they were
  }

  // What stays in sight over the end of the list does not cover the row that is picked, and is no higher than the page.
  const tray = new ResizeObserver(([{ target }]) => {
    const page = el.closest(".wb-contents > *");
    target.style.setProperty("--wb-page", `${page?.clientHeight ?? innerHeight}px`);
    const row = table.querySelector("[aria-selected=true]")?.getBoundingClientRect();
    if (!page || !row) return;
    // The page alone: `scrollIntoView` would also move the notebook under the pointer.
    const { top, bottom } = page.getBoundingClientRect();
    page.scrollTop += Math.min(row.top - top, Math.max(row.bottom + target.offsetHeight - bottom, 0));
  });

  function mark() {
    if (el.previousElementSibling) tray.observe(el.previousElementSibling);
    const [picked, marked] = [model.get("picked"), new Set(model.get("marked"))];
    table.setAttribute("aria-label", model.get("label"));
    [...table.tBodies[0].rows].forEach((row, number) => {
      row.setAttribute("aria-selected", String(number === picked));
      row.classList.toggle("wb-marked", marked.has(number));
      row.tabIndex = number === Math.max(picked, 0) ? 0 : -1;
    });
  }

  function pick(number) {
    model.set("picked", number);
    model.save_changes();
  }

  const numberOf = (target) => [...table.tBodies[0].rows].indexOf(target.closest("tbody tr"));

  table.addEventListener("click", (event) => {
    const number = numberOf(event.target);
    if (number >= 0) pick(number);
  });
  table.addEventListener("keydown", (event) => {
    const number = numberOf(event.target);
    const to = { ArrowDown: number + 1, ArrowUp: number - 1, Home: 0, End: table.tBodies[0].rows.length - 1 }[event.key];
    const lets = event.key === "Escape" && model.get("picked") >= 0;
    if (number < 0 || (to === undefined && event.key !== "Enter" && !lets)) return;
    event.preventDefault();
    event.stopPropagation();
    if (to === undefined) pick(lets ? -1 : number);
    else table.tBodies[0].rows[to]?.focus();
  });
  model.on("change:rows change:heads change:numbers", fill);
  model.on("change:picked change:marked change:label", mark);
  fill();
  return () => {
    tray.disconnect();
    model.off(null, null);
  };
}

export default heard({ render });
