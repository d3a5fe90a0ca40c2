// Hands a file from the browser to the kernel; one that is too large for the page's connection is not even read.

function render({ model, el }) {
  const input = Object.assign(document.createElement("input"), { type: "file", accept: model.get("accept") });
  const button = Object.assign(document.createElement("button"), {
    type: "button",
    className: "jupyter-widgets jupyter-button widget-button",
    title: model.get("hint"),
  });
  const icon = Object.assign(document.createElement("i"), { className: "fa fa-upload" });
  button.style.width = "100%";
  button.style.margin = "0";
  button.append(icon, ` ${model.get("label")}`);
  button.addEventListener("click", () => input.click());
  input.addEventListener("change", async () => {
    const [file] = input.files;
    if (!file) return;
    input.value = ""; // the same file may be chosen again
    const { name, size } = file;
    if (size > model.get("most_bytes")) {
      model.send({ kind: "too_large", name, bytes: size });
      return;
    }
    try {
      model.send({ kind: "file", name }, undefined, [await file.arrayBuffer()]);
    } catch (error) {
      model.send({ kind: "unreadable", name, why: String(error) });
    }
  });
  input.hidden = true;
  el.append(button, input);
}

export default { render };
