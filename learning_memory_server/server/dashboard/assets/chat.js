"use strict";
// The page in a chat that renders it (MCP Apps): both say hello, the chat tells its theme, and the page its size.

// A higher page would push the chat away, and its heading and its panel, which stay in view, would be out of sight.
LM.highest = 800;

LM.join = () => {
  const chat = {};
  let told = "";
  const say = (message) => window.parent.postMessage({jsonrpc: "2.0", ...message}, "*");
  const isInline = () => (chat.displayMode ?? "inline") === "inline";
  const measure = () => {
    const {height: given, maxHeight} = chat.containerDimensions ?? {};
    // The document is never lower than its frame; its body is as high as what it shows.
    const height = Math.min(Math.ceil(document.body.getBoundingClientRect().height), LM.highest, maxHeight || Infinity);
    const size = isInline() && given === undefined ? `${innerWidth} ${height}` : "";
    if (size && size !== told) say({method: "ui/notifications/size-changed", params: {width: innerWidth, height}});
    told = size;
  };
  const enlarge = () => {
    // Before the answer comes, the frame is large already, and its size would be told as one for the chat.
    adapt({displayMode: "fullscreen"});
    say({id: "larger", method: "ui/request-display-mode", params: {mode: "fullscreen"}});
  };
  const larger = LM.make("button", {type: "button", class: "larger", hidden: true, click: enlarge}, "Full screen");
  document.querySelector(".bar").append(larger);
  const adapt = (changes) => {
    Object.assign(chat, changes);
    if (chat.theme) document.documentElement.style.colorScheme = chat.theme;
    larger.hidden = !isInline() || !chat.availableDisplayModes?.includes("fullscreen");
    measure();
  };
  const answers = {
    hello: (result) => {
      if (!result) return;
      say({method: "ui/notifications/initialized", params: {}});
      adapt(result.hostContext);
      new ResizeObserver(measure).observe(document.body);
    },
    larger: (result) => adapt({displayMode: result?.mode}),
  };
  addEventListener("message", (event) => {
    if (event.source !== window.parent) return;
    const {id, method, params, result} = event.data ?? {};
    if (method === "ui/notifications/host-context-changed") adapt(params);
    else if (method === "ping" || method === "ui/resource-teardown") say({id, result: {}});
    else if (method && id !== undefined) say({id, error: {code: -32601, message: "Method not found"}});
    else if (!method && Object.hasOwn(answers, id)) answers[id](result);
  });
  const modes = ["inline", "fullscreen"];
  say({id: "hello", method: "ui/initialize", params: {protocolVersion: "2026-01-26", appInfo: {name: "learning-memory", version: "1"}, appCapabilities: {availableDisplayModes: modes}}});
};
