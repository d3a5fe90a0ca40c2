// What the page and its kernel know of the charts of a lab, for a test that has waited for one in vain.
async () => {
  const near = (element) => {
    const { display } = getComputedStyle(element);
    const { width, height } = element.getBoundingClientRect();
    return `${element.className}: ${display} ${Math.round(width)}x${Math.round(height)}`;
  };
  const chain = (element) =>
    !element || element.matches(".wb-lab") ? [] : [near(element), ...chain(element.parentElement)];
  const code = `
from ipywidgets.widgets.widget import _instances as _made
_lists = [each for each in _made.values() if "wb-chart-which" in getattr(each, "_dom_classes", ())]
_views = [each for each in _made.values() if type(each).__name__ == "VegaView"]
_told = [(each.options, each.value, each.layout.display) for each in _lists]
_told += [(each._dom_classes, len(each._spec), each.error) for each in _views]
_told += [[one.layout.display for one in each.children] for each in _made.values() if type(each).__name__ == "OneOf"]`;
  const kernel = window.jupyterapp?.shell.currentWidget.sessionContext.session.kernel;
  const within = (ms, asked) => Promise.race([asked, new Promise((resolve) => setTimeout(resolve, ms, `none in ${ms} ms`))]);
  const asked = kernel?.requestExecute({ code, silent: true, user_expressions: { told: "_told" } });
  const reply = await within(10_000, asked?.done);
  if (typeof reply === "string") {
    await kernel.interrupt(); // it says where it was
    await within(3000, asked.done);
  }
  const frame = await within(3000, new Promise((resolve) => requestAnimationFrame(() => resolve("drawn"))));
  const lists = [...document.querySelectorAll(".wb-chart-which select")];
  const charts = [...document.querySelectorAll(".wb-page-charts .wb-chart")];
  return JSON.stringify({
    page: document.querySelector(".wb-pages .lm-mod-current")?.textContent,
    lists: lists.map((list) => `${list.value}, ${near(list)}`),
    charts: charts.map((chart) => [{ ...chart.dataset }, ...chain(chart)]),
    frame: `${frame}${document.hidden ? ", in the background" : ""}`,
    kernel: reply?.content?.user_expressions?.told?.data?.["text/plain"] ?? reply?.content ?? reply,
    wrong: window.wrongInKernel,
  }, null, 1);
}
