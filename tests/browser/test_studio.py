"""The studio as people use it: keys, map, contradictions, reload, two tabs, files, attacks."""

from __future__ import annotations

import csv
import io
import json
import struct
import zlib
from urllib.parse import urlsplit

import numpy as np
import pytest
from sklearn.metrics import adjusted_rand_score

from linkwise import Constraints, Session, Studio
from linkwise.studio import Records
from tests.studio.cases import EVIL, Served, blobs, get, iris, write_iris

pytestmark = pytest.mark.browser

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
        page.set_default_timeout(20_000)
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
        self.context.close()
        assert self.elsewhere == []
        assert self.complaints == []


def wait_for_other(page, i, j):
    page.wait_for_function(
        "([i, j]) => { const at = document.querySelector('.lw-asked');"
        " return at && (at.dataset.i !== String(i) || at.dataset.j !== String(j)); }",
        arg=[i, j],
    )


@pytest.fixture
def visit(chromium, serve):  # pages are closed before the studios are
    visitors = []

    def visiting(url, *arguments, **settings):
        visitors.append(Visitor(chromium, url, *arguments, **settings))
        return visitors[-1]

    yield visiting
    for visitor in visitors:
        visitor.close()


@pytest.fixture
def serve():
    """Studios of sessions in this process."""
    opened = []

    def serving(session, *arguments, **settings):
        studio = Studio(session, *arguments, port=0, **settings)
        opened.append((studio, session))
        return studio

    yield serving
    for studio, session in opened:
        studio.close()
        session.close()


@pytest.fixture
def small(serve):
    """Twelve rows in two groups that one sees at once."""
    X = np.r_[np.arange(6), 20 + np.arange(6)].reshape(-1, 1).astype(float)
    session = Session(X, n_clusters=2, sample_ids=[f"r{row}" for row in range(12)])
    return serve(session, {"size": X[:, 0]}, features=["size"])


def labels_of(url):
    return json.loads(get(url + "api/labels?refit=true")[1])["labels"]


def test_ten_answers_by_keys_on_iris(visit, serve):
    X, y, names = iris()
    session = Session(X, n_clusters=3, random_state=2)
    before = adjusted_rand_score(y, session.fit_.labels)
    studio = serve(session, features=names)
    me = visit(studio.url)
    me.page.locator(ASKED).wait_for()
    me.answer(y, 10)
    assert session.progress.n_answers == 10
    after = adjusted_rand_score(y, labels_of(studio.url))
    assert after > before + 0.1
    me.page.get_by_text("10 answers").wait_for()
    legend = me.page.locator(".lw-legend")
    legend.get_by_text("cluster 3").wait_for()
    assert "same" in legend.inner_text()


def test_undo_unsure_and_reload(visit, small):
    me = visit(small.url)
    me.page.locator(ASKED).wait_for()
    first = me.asked()
    me.press("d")
    second = me.asked()
    me.press("z")
    assert me.asked() == first
    assert "Taken back" in me.page.locator(".lw-note").inner_text()
    me.press("d")
    assert me.asked() == second
    me.press("u")
    third = me.asked()
    me.page.reload()
    me.page.locator(ASKED).wait_for()
    assert me.asked() == third
    assert [a.said for a in small.work.session.answers if a.stands] == ["different", "unsure"]


def test_keys_do_not_answer_while_writing(visit, small):
    me = visit(small.url)
    me.page.locator(ASKED).wait_for()
    box = me.page.get_by_label("name of cluster 1")
    box.fill("")
    box.type("sd us")
    me.page.keyboard.press("Enter")
    me.page.locator(".lw-legend").get_by_text("sd us").wait_for()
    assert small.work.session.answers == []
    assert small.work.cluster_name(0) == "sd us"


def test_two_tabs_show_the_same_session(visit, small):
    me = visit(small.url)
    other = me.tab(small.url)
    for page in (me.page, other):
        page.locator(ASKED).wait_for()
    first = me.asked()
    assert me.asked(other) == first
    me.press("d")
    wait_for_other(other, *first)
    assert me.asked(other) == me.asked()
    me.press("s", other)
    other.get_by_text("2 answers").wait_for()
    me.page.get_by_text("2 answers").wait_for()


def ask_own(page, one, two):
    page.get_by_label("record A").fill(one)
    page.get_by_label("record B").fill(two)
    page.keyboard.press("Enter")
    page.get_by_text("a question of your own").wait_for()
    page.evaluate("document.activeElement.blur()")


def test_contradiction_opens_with_its_chain(visit, small):
    session = small.work.session
    session.tell("same", (0, 1))
    session.tell("same", (1, 2))
    me = visit(small.url)
    ask_own(me.page, "r0", "r2")
    assert me.asked() == (0, 2)
    me.page.keyboard.press("d")
    dialog = me.page.locator(".lw-dialog")
    dialog.get_by_text("These answers cannot all be right").wait_for()
    told = [claim.inner_text() for claim in dialog.locator(".lw-claim").all()]
    assert ["r0 and r1 are the same" in told[0], "r1 and r2 are the same" in told[1]] == [True] * 2
    assert "r0 and r2 are different" in told[2]
    dialog.get_by_text("Later").click()
    dialog.wait_for(state="hidden")
    me.page.get_by_text("1 to settle").click()
    dialog.locator(".lw-claim").nth(0).get_by_text("Take back").click()
    dialog.wait_for(state="hidden")
    me.page.get_by_text("1 to settle").wait_for(state="hidden")
    assert session.disputes == []
    assert [a.said for a in session.answers if a.stands] == ["same", "different"]


def test_own_question_by_picking_two_points(visit, small):
    me = visit(small.url)
    me.page.locator(ASKED).wait_for()
    first = me.asked()
    me.page.locator(".lw-legend").get_by_text("cluster 2").wait_for()
    canvas = me.page.locator(".lw-map canvas")
    box = canvas.bounding_box()
    # One column: the least and the largest lie at the left and right ends, half-way down.
    for x in (18, box["width"] - 18):
        canvas.hover(position={"x": x, "y": (box["height"] + 30) / 2})
        me.page.locator(".lw-tip").get_by_text("size").wait_for()
        canvas.click(position={"x": x, "y": (box["height"] + 30) / 2})
    me.page.get_by_text("a question of your own").wait_for()
    assert set(me.asked()) == {0, 11}
    me.page.keyboard.press("Escape")
    me.page.get_by_text("a question of your own").wait_for(state="hidden")
    assert me.asked() == first
    canvas.focus()
    for key in ("+", "ArrowLeft", "-", "0"):
        me.page.keyboard.press(key)


def test_blind_until_asked(visit, small):
    me = visit(small.url)
    me.page.locator(".lw-legend").get_by_text("cluster 2").wait_for()
    assert me.page.get_by_text("The model").count() == 1  # the switch itself
    me.page.get_by_text("Show the model's guess").click()
    me.page.locator(".lw-guess").get_by_text("The model").wait_for()


def test_merge_and_split(visit, small):
    session = small.work.session
    me = visit(small.url)
    row = me.page.locator(".lw-cluster").first
    row.get_by_text("Split").click()
    said = me.page.locator(".lw-dialog").get_by_text("are different")
    said.first.wait_for()
    n = said.count()
    me.page.get_by_text("Yes, say so").click()
    me.page.get_by_text(f"{n} answers").wait_for()
    assert [a.said for a in session.answers] == ["different"] * n
    session.undo(n)
    me.page.get_by_text("0 answers").wait_for()
    me.page.locator(".lw-cluster").first.get_by_text("Merge").click()
    me.page.get_by_text("with cluster 2").click()
    me.page.locator(".lw-dialog").get_by_text("belong together").first.wait_for()
    me.page.locator(".lw-dialog").get_by_text("No", exact=True).click()
    me.page.locator(".lw-dialog").first.wait_for(state="hidden")
    assert session.progress.n_answers == 0


def download(page, text):
    with page.expect_download() as waiting:
        page.get_by_text(text).click()
    return waiting.value.path().read_text("utf-8")


def test_take_away(visit, small, tmp_path):
    me = visit(small.url)
    me.page.locator(ASKED).wait_for()
    me.answer([0] * 6 + [1] * 6, 4)
    me.page.get_by_role("tab", name="Take away").click()
    labels = list(csv.DictReader(io.StringIO(download(me.page, "Labels (CSV)"))))
    assert [row["id"] for row in labels] == [f"r{row}" for row in range(12)]
    assert len({row["cluster"] for row in labels[:6]}) == 1
    links = tmp_path / "links.csv"
    links.write_text(download(me.page, "Constraints (CSV)"))
    assert Constraints.read(links, ids="text") == small.work.session.constraints
    assert "MPCKMeans" in download(me.page, "Report (HTML)")
    me.page.get_by_text("Show the Python lines").click()
    me.page.locator(".lw-code").get_by_text("MPCKMeans").wait_for()


def test_cells_stay_text(visit, serve):
    X = np.arange(8.0).reshape(-1, 1)
    ids = [f"{EVIL}{row}" for row in range(7)] + ["=cmd()"]
    passage = f"{EVIL} and a long text that goes on and on until it counts as a passage of text"
    session = Session(X, n_clusters=2, sample_ids=ids)
    columns = {EVIL: [EVIL] * 8, "text": [passage + " x" * row for row in range(8)]}
    studio = serve(session, Records(columns, ["<b onmouseover=alert(1)>"]))
    studio.work.rename(0, EVIL[:60])
    session.tell("same", (0, 1))
    session.tell("different", (0, 1))
    me = visit(studio.url)
    me.page.locator(".lw-dialog").get_by_text("cannot all be right").wait_for()
    me.page.locator(".lw-dialog").get_by_text("Later").click()
    me.page.locator(".lw-dialog").wait_for(state="hidden")
    assert EVIL in me.page.locator(".lw-fields").inner_text()
    me.page.locator(".lw-legend").get_by_text("<script>").wait_for()
    canvas = me.page.locator(".lw-map canvas")
    box = canvas.bounding_box()
    canvas.hover(position={"x": 18, "y": (box["height"] + 30) / 2})
    me.page.locator(".lw-tip").get_by_text("<script>").first.wait_for()
    me.page.get_by_label("record A").fill(EVIL)
    me.page.get_by_text("Ask", exact=True).click()
    me.page.get_by_text("there is no record called").first.wait_for()
    assert me.page.evaluate("window.taken") is None
    assert me.page.title() == "linkwise studio"
    assert me.page.locator("img").count() == 0
    labels = list(csv.reader(io.StringIO(get(studio.url + "api/export/labels.csv")[1])))
    assert labels[8][0] == "'=cmd()"
    assert "<script>" not in get(studio.url + "api/export/report.html")[1]


def test_wrong_token(visit, serve):
    X, _ = blobs(30)
    studio = serve(Session(X, n_clusters=3), host="127.0.0.1")
    bare = f"http://127.0.0.1:{studio.port}/"
    stranger = visit(bare)
    assert "needs the token" in stranger.page.inner_text("body")
    stranger.page.goto(bare + "?token=guess")
    assert "needs the token" in stranger.page.inner_text("body")
    stranger.complaints.clear()  # the browser notes the 401
    me = visit(studio.url)
    me.page.locator(ASKED).wait_for()
    assert me.page.url == bare  # the token is not left in the history
    me.press("d")
    me.page.reload()
    me.page.get_by_text("1 answer").wait_for()


def test_images(visit, serve, tmp_path):
    def png(red):
        rows = b"".join(b"\0" + bytes([red, 90, 120]) * 40 for _ in range(40))
        parts = [(b"IHDR", struct.pack(">IIBBBBB", 40, 40, 8, 2, 0, 0, 0))]
        parts += [(b"IDAT", zlib.compress(rows)), (b"IEND", b"")]
        body = (
            struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
            for kind, data in parts
        )
        return b"\x89PNG\r\n\x1a\n" + b"".join(body)

    folder = tmp_path / "photos"
    folder.mkdir()
    for row in range(6):
        (folder / f"{row}.png").write_bytes(png(40 * row))
    (tmp_path / "secret.png").write_bytes(png(0))
    files = [f"{row}.png" for row in range(6)] + ["../secret.png"] * 2
    session = Session(np.arange(8.0).reshape(-1, 1), n_clusters=2)
    studio = serve(session, Records({"file": files}, ["x"], "file", folder))
    me = visit(studio.url)
    me.page.locator(ASKED).wait_for()
    ask_own(me.page, "1", "2")
    me.page.wait_for_function(
        "() => [...document.querySelectorAll('.lw-images img')].filter(i => i.naturalWidth === 40)"
        ".length === 2"
    )
    assert get(studio.url + "view/image/6")[0] == 404


def test_kill_and_restart_loses_nothing(visit, tmp_path):
    data, path = write_iris(tmp_path / "iris.csv"), tmp_path / "work.db"
    options = [data, "-k", 3, "--session", path, "--id-column", "flower", "--port", 0]
    _, y, _ = iris()
    with Served(*options) as first:
        me = visit(first.url)
        me.page.locator(ASKED).wait_for()
        me.answer(y, 5)
        asked = me.asked()
        first.kill()
        me.page.close()
    me.complaints.clear()  # the browser notes that the server is gone
    with Served(data, "--session", path, "--port", 0) as second:
        again = visit(second.url)
        again.page.locator(ASKED).wait_for()
        assert again.asked() == asked
        again.page.get_by_text("5 answers").wait_for()
        again.answer(y, 1)
        again.page.close()


def test_twenty_thousand_points(visit, serve):
    X, _ = blobs(20_100, 4)
    studio = serve(Session(X, n_clusters=4))
    me = visit(studio.url)
    me.page.get_by_text("A sample of 20,000 of 20,100 records is drawn.").wait_for()
    me.page.locator(".lw-legend").get_by_text("cluster 4").wait_for()
    canvas = me.page.locator(".lw-map canvas")
    canvas.hover()
    for _ in range(3):
        me.page.mouse.wheel(0, -120)
        me.page.wait_for_timeout(50)
    assert float(canvas.get_attribute("data-ms")) > 0


CONTRAST = """() => {
  const parse = (text) => text.match(/[\\d.]+/g).map(Number);
  const light = ([r, g, b]) => [r, g, b].map((v) => v / 255)
    .map((v) => (v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4))
    .reduce((sum, v, k) => sum + v * [0.2126, 0.7152, 0.0722][k], 0);
  const ground = (at) => {
    for (; at; at = at.parentElement) {
      const colour = parse(getComputedStyle(at).backgroundColor);
      if (colour.length < 4 || colour[3] > 0.9) return colour;
    }
    return [255, 255, 255];
  };
  const poor = [];
  for (const at of document.querySelectorAll(".lw-page *")) {
    const own = [...at.childNodes].some((n) => n.nodeType === 3 && n.textContent.trim());
    if (!own || !at.checkVisibility() || at.closest("svg, :disabled, .q-tooltip")) continue;
    const [a, b] = [light(parse(getComputedStyle(at).color)), light(ground(at))];
    const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    if (ratio < 4.5) poor.push([at.className, at.textContent.slice(0, 30), ratio.toFixed(2)]);
  }
  return poor;
}"""


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize(("width", "height"), [(1280, 720), (768, 1024)])
def test_contrast_and_sizes(visit, small, scheme, width, height):
    me = visit(small.url, width, height, color_scheme=scheme)
    me.page.locator(".lw-cluster").first.wait_for()
    assert me.page.evaluate("document.body.classList.contains('body--dark')") == (scheme == "dark")
    for tab in ("Progress", "Take away", "Clusters"):
        me.page.get_by_role("tab", name=tab).click()
        assert me.page.evaluate(CONTRAST) == []
    assert me.page.evaluate("document.documentElement.scrollWidth") <= width
    assert me.page.locator(".lw-same").bounding_box()["y"] < height - 40
    if width == 1280:
        assert me.page.evaluate("document.documentElement.scrollHeight") <= height


def test_keyboard_alone(visit, small):
    me = visit(small.url)
    me.page.locator(ASKED).wait_for()
    seen = []
    for _ in range(30):
        me.page.keyboard.press("Tab")
        seen.append(
            me.page.evaluate(
                "() => { const at = document.activeElement;"
                " const [own, box] = [at, at.closest('.q-field') || at].map((e) =>"
                " getComputedStyle(e));"
                " return [at.ariaLabel || at.innerText, own.outlineWidth, box.boxShadow]; }"
            )
        )
        if seen[-1][0] == "Split":
            break
    told = " ".join(text for text, *_ in seen)
    for word in ("Same", "Different", "Unsure", "Undo", "Zoom in", "record A", "Clusters"):
        assert word in told
    for text, outline, shadow in seen:
        assert outline == "3px" or "0px 0px 0px 3px" in shadow, text
    me.page.get_by_role("tab", name="Clusters").focus()
    me.page.keyboard.press("ArrowRight")
    me.page.keyboard.press("Enter")
    me.page.get_by_text("Update the clusters now").wait_for()
