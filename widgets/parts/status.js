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
  return () => model.off(null, show);
}

export default heard({ render });
