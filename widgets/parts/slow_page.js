// What stands above the program of each widget. Anywidget (0.11) gives a page two seconds to load one. A page that is
// slower draws the widget all the same, but whatever the kernel tells it afterwards is lost without a word: then the
// widget listens by itself, and asks for what it has missed. Nor does anywidget follow classes once a widget is drawn.
function heard(widget) {
  return {
    ...widget,
    initialize(context) {
      const model = context.model.set({}); // itself, not what anywidget hands out of it
      const passedOn = model._handle_comm_msg({ content: { data: {} } });
      passedOn.catch(() => {
        const { _handle_comm_msg: hear } = Object.getPrototypeOf(model.constructor.prototype);
        model.comm?.on_msg(hear.bind(model));
        model.comm?.send({ method: "request_state" }, model.callbacks());
      });
      return widget.initialize?.(context);
    },
    render(context) {
      const { model, el } = context;
      let worn = [];
      model.on("change:_dom_classes", () => {
        el.classList.remove(...worn);
        el.classList.add(...(worn = model.get("_dom_classes")));
      });
      worn = model.get("_dom_classes");
      return widget.render(context);
    },
  };
}

