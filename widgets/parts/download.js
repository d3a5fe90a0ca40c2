// Hands a file from the kernel to the browser, which saves it where it saves downloads.

function render({ model }) {
  const give = (message, buffers) => {
    if (message.kind !== "file") return;
    const url = URL.createObjectURL(new Blob(buffers));
    const link = Object.assign(document.createElement("a"), { href: url, download: message.name });
    document.body.append(link);
    link.click();
    link.remove();
    setTimeout(() => URL.revokeObjectURL(url), 60_000);
  };
  model.on("msg:custom", give);
  return () => model.off("msg:custom", give);
}

export default heard({ render });
