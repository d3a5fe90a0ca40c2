// A button that puts a text on the clipboard: see copy_button.py.

const SAYS_MS = 2000;

function render({ model, el }) {
  el.classList.add("wb");
  const button = document.createElement("button");
  button.className = "jupyter-button wb-copy";
  button.type = "button";
  button.title = "Then click a cell, press B for one below it, and paste";
  const says = (icon, text) => {
    const sign = document.createElement("i");
    sign.className = `fa fa-${icon}`;
    button.replaceChildren(sign, ` ${text}`);
  };
  button.setAttribute("aria-live", "polite");
  let back = 0;
  button.addEventListener("click", async () => {
    const copied = await copy(model.get("text"));
    says(copied ? "check" : "times", copied ? "Copied: paste it into a new cell" : "Not copied: Ctrl+C does it");
    clearTimeout(back);
    back = setTimeout(says, SAYS_MS, "copy", "Copy for a new cell");
  });
  says("copy", "Copy for a new cell");
  el.append(button);
  return () => clearTimeout(back);
}

// A page that did not come by https, from elsewhere than this computer, has no clipboard: there the old way is the way.
async function copy(text) {
  if (navigator.clipboard) return navigator.clipboard.writeText(text).then(() => true, () => false);
  const held = Object.assign(document.createElement("textarea"), { value: text });
  const before = document.activeElement;
  document.body.append(held);
  held.select();
  const copied = document.execCommand("copy");
  held.remove();
  before?.focus();
  return copied;
}

export default heard({ render });
