"""A person at a page of the studio."""

from __future__ import annotations

from urllib.parse import urlsplit

ASKED = ".lw-asked[data-i]"


class Visitor:
    """A person at a page that can reach no host but its own."""

    def __init__(self, browser, url, width=1280, height=720, **settings):
        self.context = browser.new_context(viewport={"width": width, "height": height}, **settings)
        self.host, self.elsewhere, self.complaints = urlsplit(url).netloc, [], []
        self.context.route("**/*", self._only_own)
        self.page = self.tab(url)

    def _only_own(self, route):
        asked = urlsplit(route.request.url)
        if asked.netloc == self.host or asked.scheme == "data":
            route.continue_()
        else:
            self.elsewhere.append(route.request.url)
            route.abort()

    def tab(self, url):
        page = self.context.new_page()
        page.set_default_timeout(60_000)  # for machines that have much else to do
        page.on("pageerror", lambda error: self.complaints.append(str(error)))
        page.on("console", self._listen)
        page.on("websocket", lambda line: self._line(line.url))
        page.goto(url)
        return page

    def _line(self, url):
        if urlsplit(url).netloc != self.host:
            self.elsewhere.append(url)

    def _listen(self, message):
        if message.type == "error":
            self.complaints.append(message.text)

    def asked(self, page=None):
        at = (page or self.page).locator(ASKED)
        return int(at.get_attribute("data-i")), int(at.get_attribute("data-j"))

    def press(self, key, page=None):
        """Press a key and wait for another question."""
        page = page or self.page
        i, j = self.asked(page)
        page.keyboard.press(key)
        wait_for_other(page, i, j)

    def answer(self, truth, n):
        for _ in range(n):
            i, j = self.asked()
            self.press("s" if truth[i] == truth[j] else "d")

    def close(self):
        complaints = list(self.complaints)  # closing ends requests, which is no fault of the page
        self.context.close()
        assert self.elsewhere == [], self.elsewhere
        assert complaints == [], complaints


def wait_for_other(page, i, j):
    page.wait_for_function(
        "([i, j]) => { const at = document.querySelector('.lw-asked');"
        " return at && (at.dataset.i !== String(i) || at.dataset.j !== String(j)); }",
        arg=[i, j],
    )


def ask_own(page, one, two):
    page.get_by_label("record A").fill(one)
    page.get_by_label("record B").fill(two)
    page.keyboard.press("Enter")
    page.get_by_text("a question of your own").wait_for()
    page.evaluate("document.activeElement.blur()")
