"""A chat that renders pages, as MCP Apps asks of one that is a web page itself.

It does what the reference host of the extension does: the page is written into a frame within a frame of another
origin, under the extension's strictest policy, and both sides talk in messages.
"""

from typing import Any, Final

from playwright.sync_api import Browser, Frame, Request, Route

_POLICY: Final = (
    "default-src 'none'; script-src 'self' 'unsafe-inline'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; "
    "media-src 'self' data:; connect-src 'none'; frame-src 'none'; object-src 'none'; base-uri 'self'"
)
_CHAT: Final = """<!doctype html><meta name="color-scheme" content="light dark"><link rel="icon" href="data:,">
<style>body { margin: 0 } iframe { width: 100%; height: 400px; border: 0 } .large { position: fixed; inset: 0; height: 100% !important }</style>
<p>What did you learn?</p>"""
_SANDBOX: Final = """<!doctype html><style>html, body { margin: 0; height: 100% } iframe { width: 100%; height: 100%; border: 0 }</style>
<body><script>
  const inner = document.createElement("iframe");
  inner.setAttribute("sandbox", "allow-scripts allow-same-origin allow-forms");
  document.body.append(inner);
  addEventListener("message", ({source, data}) => {
    if (source === inner.contentWindow) parent.postMessage(data, "*");
    else if (data.method !== "ui/notifications/sandbox-resource-ready") inner.contentWindow.postMessage(data, "*");
    else {
      inner.contentDocument.open();
      inner.contentDocument.write(data.params.html);
      inner.contentDocument.close();
    }
  });
  parent.postMessage({jsonrpc: "2.0", method: "ui/notifications/sandbox-proxy-ready", params: {}}, "*");
</script>"""
_RENDER: Final = """([html, hostContext]) => {
  const frame = document.createElement("iframe");
  frame.sandbox = "allow-scripts allow-same-origin allow-forms";
  frame.src = "http://sandbox.example/";
  window.said = [];
  window.tell = (message) => frame.contentWindow.postMessage({jsonrpc: "2.0", ...message}, "*");
  window.enlarge = (mode) => frame.classList.toggle("large", mode === "fullscreen");
  const answers = {
    "ui/notifications/sandbox-proxy-ready": () => tell({method: "ui/notifications/sandbox-resource-ready", params: {html}}),
    "ui/initialize": ({id}) => tell({id, result: {protocolVersion: "2026-01-26", hostInfo: {name: "a chat", version: "1"}, hostCapabilities: {}, hostContext}}),
    "ui/notifications/initialized": () => {
      tell({method: "ui/notifications/tool-input", params: {arguments: {}}});
      tell({method: "ui/notifications/tool-result", params: {content: [{type: "text", text: "It is shown."}]}});
    },
    "ui/notifications/size-changed": ({params}) => { frame.style.height = `${params.height}px`; },
    "ui/request-display-mode": ({id, params}) => { enlarge(params.mode); tell({id, result: {mode: params.mode}}); },
  };
  addEventListener("message", ({source, data}) => {
    if (source !== frame.contentWindow) return;
    said.push(data);
    answers[data.method]?.(data);
  });
  document.body.append(frame);
}"""


class Chat:
    """A chat that shows a page.

    Args:
        browser: Where it runs.
        page: The page's text.
        width: The width of the chat in pixels.
        context: What the chat tells the page of itself.
    """

    def __init__(self, browser: Browser, page: str, width: int = 900, **context: Any) -> None:
        self.asked: set[str] = set()
        self.complaints: list[str] = []
        self._page = browser.new_page(viewport={"width": width, "height": 900}, color_scheme="light")
        self._page.set_default_timeout(60_000)
        self._page.on("console", lambda message: self.complaints.append(message.text))
        self._page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self._page.route("**/*", self._serve)
        self._page.goto("http://chat.example/")
        self._page.evaluate(_RENDER, [page, context])
        self.wait_for_said("ui/notifications/initialized")

    def _serve(self, route: Route, request: Request) -> None:
        self.asked.add(request.url)
        if request.url == "http://sandbox.example/":
            route.fulfill(body=_SANDBOX, content_type="text/html", headers={"Content-Security-Policy": _POLICY})
        elif request.url == "http://chat.example/":
            route.fulfill(body=_CHAT, content_type="text/html")
        else:
            route.abort()

    @property
    def app(self) -> Frame:
        """The frame in which the page is."""
        (found,) = (each for each in self._page.frames if each.parent_frame and each.parent_frame.parent_frame)
        return found

    @property
    def said(self) -> list[dict[str, Any]]:
        """What the page has said so far, and its sandbox."""
        found: list[dict[str, Any]] = self._page.evaluate("said")
        return found

    @property
    def sizes(self) -> list[tuple[int, int]]:
        """The sizes that the page told, in pixels."""
        return [
            (each["params"]["width"], each["params"]["height"])
            for each in self.said
            if each.get("method") == "ui/notifications/size-changed"
        ]

    def wait_for_said(self, method: str, at_least: int = 1) -> None:
        """Wait until the page has sent so many messages of a method."""
        self._page.wait_for_function(
            "([method, least]) => said.filter((one) => one.method === method).length >= least", arg=[method, at_least]
        )

    def change(self, **context: Any) -> None:
        """Tell the page what is different in the chat now."""
        self._page.evaluate(
            "(params) => { enlarge(params.displayMode); tell({method: 'ui/notifications/host-context-changed', params}) }",
            context,
        )

    def ask(self, method: str) -> dict[str, Any]:
        """Ask the page something, and return its answer."""
        self._page.evaluate("(method) => tell({id: `asked ${method}`, method, params: {}})", method)
        found = self._page.wait_for_function("(method) => said.find((one) => one.id === `asked ${method}`)", arg=method)
        answer: dict[str, Any] = found.json_value()
        return answer

    def show(self, view: str) -> None:
        """Show a view of the page by its link."""
        self.app.locator(f"nav [data-view={view}]").click()
        self.app.wait_for_selector(f'html[data-drawn="{view}"]', state="attached")

    def require_quiet(self) -> None:
        """Require that nothing went wrong, and that the page asked no network for anything."""
        assert self.asked == {"http://chat.example/", "http://sandbox.example/"}
        assert self.complaints == []
        self._page.close()
