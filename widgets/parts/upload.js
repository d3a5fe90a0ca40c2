// Hands files from the browser to the kernel, those chosen at once together; what is too large for the page's connection is not even read.

function render({ model, el }) {
  const input = Object.assign(document.createElement("input"), { type: "file", accept: model.get("accept") });
  input.multiple = model.get("several");
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
    const files = [...input.files];
    if (!files.length) return;
    input.value = ""; // the same files may be chosen again
    const names = files.map((file) => file.name);
    const bytes = files.reduce((sum, file) => sum + file.size, 0);
    if (bytes > model.get("most_bytes")) {
      model.send({ kind: "too_large", names, bytes });
      return;
    }
    try {
      const contents = await Promise.all(files.map((file) => file.arrayBuffer()));
      model.send({ kind: "files", names }, undefined, contents);
    } catch (error) {
      model.send({ kind: "unreadable", names, why: String(error) });
    }
  });
  input.hidden = true;
  el.append(button, input);
}

export default heard({ render });
