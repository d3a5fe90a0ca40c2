// One line of words that a screen reader hears when it changes: the element stays, only its text is exchanged.

function render({ model, el }) {
  const line = document.createElement("div");
  line.setAttribute("role", "status");
  line.setAttribute("aria-live", "polite");
  el.append(line);
  const show = () => {
    const tone = model.get("tone");
    line.className = tone ? `wb-${tone}` : "";
    line.dataset.state = model.get("state");
    line.textContent = line.title = model.get("text");
  };
  show();
  for (const name of ["text", "tone", "state"]) model.on(`change:${name}`, show);
  const begin = () => el.closest(".wb-contents > *")?.scrollTo(0, 0);
  model.on("change:asked", begin);
  return () => [show, begin].forEach((each) => model.off(null, each));
}

export default heard({ render });
