// The Vega programs, loaded once per page whatever the number of charts and notebooks: by the hidden widget that carries
// them (assets.py), as soon as a page knows it, or by the first chart (vega_view.js). This stands above both programs.

function loadedPrograms() {
  return (globalThis[Symbol.for("workbench.vega")] ??= new Map());
}

function vegaPrograms(carrier) {
  const digest = carrier.get("digest");
  const loaded = loadedPrograms();
  if (!loaded.has(digest)) {
    const loading = importCompressed(carrier.get("code"));
    loading.catch(() => loaded.delete(digest));
    loaded.set(digest, loading);
  }
  return loaded.get(digest);
}

async function importCompressed(code) {
  const stream = new Blob([code]).stream().pipeThrough(new DecompressionStream("gzip"));
  const source = await new Response(stream).blob();
  const url = URL.createObjectURL(new Blob([source], { type: "text/javascript" }));
  try {
    const { embed } = await import(/* webpackIgnore: true */ /* @vite-ignore */ url);
    return { embed, View: await viewClass(embed) };
  } finally {
    URL.revokeObjectURL(url);
  }
}

// The bundle gives out Vega-Embed only: Vega's own class is that of an empty chart.
async function viewClass(embed) {
  const empty = await embed(document.createElement("div"), { width: 0, height: 0 }, { mode: "vega", actions: false });
  const { constructor } = empty.view;
  empty.finalize();
  return constructor;
}

