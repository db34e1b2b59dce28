"""The studio as people use it: keys, map, contradictions, reload, two tabs, files, attacks."""

from __future__ import annotations

import csv
import io
import json
import struct
import time
import zlib

import numpy as np
import pytest
from sklearn.metrics import adjusted_rand_score

from linkwise import Constraints, MPCKMeans, Session
from linkwise.studio import Records
from linkwise.studio._start import Start
from tests.studio.cases import EVIL, Served, blobs, get, iris, post, url, write_iris
from tests.studio.test_server import fill_disk

from .visitor import ASKED, ask_own, wait_for_other

pytestmark = pytest.mark.browser


def labels_of(studio):
    return json.loads(post(url(studio, "/api/refit"), {})[1])["labels"]


def test_ten_answers_by_keys_on_iris(visit, serve):
    X, y, names = iris()
    session = Session(X, "ExploreConsolidate", MPCKMeans(), n_clusters=3, random_state=2)
    before = adjusted_rand_score(y, session.fit_.labels)
    studio = serve(session, features=names)
    me = visit(studio.url)
    me.page.locator(ASKED).wait_for()
    me.answer(y, 10)
    assert session.snapshot().progress.n_answers == 10
    after = adjusted_rand_score(y, labels_of(studio))
    assert after > before + 0.1
    me.page.get_by_text("10 answers").wait_for()
    legend = me.page.locator(".lw-legend")
    legend.get_by_text("cluster 3").wait_for()
    legend.get_by_text("same").wait_for()


def test_undo_unsure_and_reload(visit, small):
    me = visit(small.url)
    me.page.locator(ASKED).wait_for()
    first = me.asked()
    me.press("d")
    second = me.asked()
    me.press("Backspace")
    assert me.asked() == first
    me.page.locator(".lw-note").get_by_text("Undone").wait_for()
    me.press("d")
    assert me.asked() == second
    me.press("u")
    third = me.asked()
    me.page.reload()
    me.page.locator(ASKED).wait_for()
    assert me.asked() == third
    assert [a.said for a in small.controller.session.snapshot().answers if a.is_active] == [
        "different",
        "unsure",
    ]


def test_undo_with_nothing_to_undo_does_not_lock(visit, small):
    me = visit(small.url)
    me.page.locator(ASKED).wait_for()
    me.page.keyboard.press("z")
    me.page.locator(".lw-note").get_by_text("Nothing of yours to undo").wait_for()
    me.press("d")
    assert len(small.controller.session.snapshot().answers) == 1


def test_a_full_disk_does_not_lock(visit, small):
    session = small.controller.session
    me = visit(small.url)
    me.page.locator(ASKED).wait_for()
    asked = me.asked()
    fill_disk(session, full=True)
    me.page.keyboard.press("d")
    me.page.locator(".lw-note").get_by_text("not saved").wait_for()
    assert me.asked() == asked
    fill_disk(session, full=False)
    me.press("d")
    assert [answer.said for answer in session.snapshot().answers] == ["different"]
    me.complaints.clear()  # the browser notes the 507


def test_300_answers_at_15_per_second(visit, serve):
    """Each is stored once, for the question that was shown when the key was pressed."""
    rng = np.random.default_rng(0)
    y = np.repeat(np.arange(20), 20)
    X = rng.normal(size=(len(y), 4)) + 8 * rng.normal(size=(20, 4))[y]
    session = Session(X, "MinMax", n_clusters=20, refit_every=10)
    me = visit(serve(session).url)
    me.page.locator(ASKED).wait_for()
    me.page.evaluate(PRESSES, y.tolist())
    pressed = me.page.evaluate("window.pressed")
    stored = [[answer.i, answer.j, answer.said[0]] for answer in session.snapshot().answers]
    assert len(pressed) == 300
    assert stored == pressed


# Press a key for the question on the screen, at most 15 times per second; note which one it was.
PRESSES = """async (y) => {
  window.pressed = [];
  let last = "";
  let due = performance.now();
  while (window.pressed.length < 300) {
    const at = document.querySelector(".lw-asked[data-i]");
    const shown = at ? `${at.dataset.i} ${at.dataset.j}` : last;
    if (shown !== last && performance.now() >= due) {
      const [i, j] = shown.split(" ").map(Number);
      const key = y[i] === y[j] ? "s" : "d";
      document.body.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true }));
      window.pressed.push([i, j, key]);
      [last, due] = [shown, performance.now() + 1000 / 15];
    }
    await new Promise((next) => setTimeout(next, 2));
  }
  await new Promise((next) => setTimeout(next, 2500));
}"""


def test_keys_of_other_layouts(visit, small):
    me = visit(small.url)
    me.page.locator(ASKED).wait_for()
    i, j = me.asked()
    me.page.evaluate(  # the key that is S on a Latin keyboard, on a Cyrillic one
        "document.body.dispatchEvent(new KeyboardEvent('keydown',"
        " { key: 'ы', code: 'KeyS', bubbles: true }))"
    )
    wait_for_other(me.page, i, j)
    assert [answer.said for answer in small.controller.session.snapshot().answers] == ["same"]
    me.page.keyboard.press("?")
    me.page.locator(".lw-keys").get_by_text("undo your last step").wait_for()


def test_records_are_selected_and_moved(visit, small):
    session = small.controller.session
    labels = session.fit_.labels.copy()
    me = visit(small.url)
    me.page.locator(".lw-cluster").first.wait_for()
    number = int(labels[0])
    me.page.get_by_role("button", name=f"records of cluster {number + 1}").click()
    rows = me.page.locator(".lw-rows tbody tr")
    wait_until(lambda: rows.count() == 6)
    me.page.get_by_label("select r0", exact=True).click()
    me.page.get_by_label("select r1", exact=True).click()
    me.page.keyboard.press("s")  # nobody answers a question that is not shown
    me.page.get_by_label("move to").select_option(label=f"cluster {2 - number}")
    me.page.locator(".lw-records .lw-note").get_by_text("2 records moved to").wait_for()
    wait_until(lambda: rows.count() == 4)
    assert not session.snapshot().answers
    assert (session.fit_.labels[[0, 1]] == 1 - number).all()
    me.page.keyboard.press("z")
    wait_until(lambda: rows.count() == 6)
    assert session.fit_.labels.tolist() == labels.tolist()
    me.page.get_by_label("search in all records").fill("size:3.0")
    wait_until(lambda: rows.count() == 1)
    me.page.get_by_label("search in all records").fill("")
    wait_until(lambda: rows.count() == 6)
    me.page.get_by_label("search in all records").blur()
    for key in ("ArrowDown", "Space", "Shift+ArrowDown", "r"):
        me.page.keyboard.press(key)
    me.page.locator(".lw-records .lw-note").get_by_text("2 records stay").wait_for()
    rows.first.drag_to(me.page.locator(f"[data-cluster='{1 - number}']"))
    wait_until(lambda: rows.count() == 5)


def test_several_at_once(visit, small):
    session = small.controller.session
    me = visit(small.url)
    me.page.locator(ASKED).wait_for()
    me.page.get_by_role("tab", name="Several at once").click()
    cards = me.page.locator(".lw-set li")
    cards.first.wait_for()
    numbers = [int(text.split(". r")[1].split()[0]) for text in cards.all_inner_texts()]
    low = [place for place, row in enumerate(numbers) if row < 6]
    for place in low:
        me.page.keyboard.press(str(place + 1))
    me.page.keyboard.press("g")
    high = [place for place, row in enumerate(numbers) if row >= 6]
    for place in high:
        cards.nth(place).locator("button").click()
    me.page.get_by_role("button", name="Done").click()
    me.page.get_by_text("Saved. Undo with Z.").wait_for()
    known = session.constraints
    assert len(known.must_link) == len(numbers) - 2
    assert len(known.cannot_link) == 1
    session.undo(who=session.snapshot().who)
    assert len(session.constraints.must_link) == 0


def test_second_look_from_the_history(visit, small):
    me = visit(small.url)
    me.page.locator(ASKED).wait_for()
    first = me.asked()
    me.press("d")
    me.page.get_by_role("tab", name="History").click()
    me.page.get_by_text("Look again").click()
    me.page.locator(".lw-own").get_by_text(": different").wait_for()
    assert me.asked() == first
    me.press("s")
    session = small.controller.session
    assert [a.said for a in session.snapshot().answers if a.is_active] == ["same"]


def test_from_an_empty_page_to_the_file_taken_home(visit, serve, tmp_path):
    studio = serve(None, start=Start(tmp_path / "home"))
    me = visit(studio.url)
    with me.page.expect_file_chooser() as chooser:
        me.page.get_by_text("Choose a file").click()
    chooser.value.set_files(write_iris(tmp_path / "iris.csv"))
    roles = me.page.get_by_label("what flower is")
    roles.wait_for()
    assert roles.input_value() == "id"
    me.page.get_by_label("number of clusters").fill("3")
    me.page.get_by_text("Go", exact=True).click()
    me.page.locator(ASKED).wait_for()
    _, y, _ = iris()
    me.answer(y, 2)
    me.page.get_by_role("tab", name="Export").click()
    rows = list(csv.DictReader(io.StringIO(download(me.page, "CSV: Your data with the clusters"))))
    assert len(rows) == 150
    assert list(rows[0])[:2] == ["flower", "sepal length"]
    assert {row["cluster"] for row in rows} == {"1", "2", "3"}
    me.page.get_by_text("Other data").click()
    me.page.get_by_text("2 answers").wait_for()
    me.page.get_by_role("button", name="iris").click()
    me.page.locator(ASKED).wait_for()
    assert studio.controller.session.snapshot().progress.n_answers == 2
    studio.go_to_start()


def test_keys_do_not_answer_while_writing(visit, small):
    me = visit(small.url)
    me.page.locator(ASKED).wait_for()
    box = me.page.get_by_label("name of cluster 1")
    box.fill("")
    box.type("sd us")
    me.page.keyboard.press("Enter")
    me.page.locator(".lw-legend").get_by_text("sd us").wait_for()
    assert not small.controller.session.snapshot().answers
    assert small.controller.clusters.name(0) == "sd us"


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


def test_contradiction_opens_with_its_chain(visit, small):
    session = small.controller.session
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
    dialog.get_by_text("Decide later").click()
    dialog.wait_for(state="hidden")
    me.page.get_by_text("1 to settle").click()
    dialog.locator(".lw-claim").nth(0).get_by_text("Undo").click()
    dialog.wait_for(state="hidden")
    me.page.get_by_text("1 to settle").wait_for(state="hidden")
    assert session.snapshot().disputes == ()
    assert [a.said for a in session.snapshot().answers if a.is_active] == ["same", "different"]


def test_own_question_by_picking_two_points(visit, small):
    me = visit(small.url)
    me.page.locator(ASKED).wait_for()
    first = me.asked()
    me.page.locator(".lw-legend").get_by_text("cluster 2").wait_for()
    canvas = me.page.locator(".lw-map canvas")
    box = canvas.bounding_box()
    # One column: the least and the largest lie at the left and right ends, half-way down.
    for x in (18, box["width"] - 18):
        canvas.hover(position={"x": x, "y": box["height"] / 2})
        me.page.locator(".lw-tip").get_by_text("size").wait_for()
        canvas.click(position={"x": x, "y": box["height"] / 2})
    me.page.get_by_text("a question of your own").wait_for()
    assert set(me.asked()) == {0, 11}
    me.page.keyboard.press("Escape")
    me.page.get_by_text("a question of your own").wait_for(state="hidden")
    assert me.asked() == first
    canvas.focus()
    for key in ("+", "ArrowLeft", "-", "0"):
        me.page.keyboard.press(key)


def test_clusters_beside_a_question_can_be_hidden(visit, small):
    small.controller.session.refit()
    me = visit(small.url)
    around = me.page.locator(".lw-around")
    around.first.wait_for()
    shown = around.inner_text()
    i, j = me.asked()
    labels = small.controller.session.snapshot().fit.labels
    for row in (i, j):
        assert f"cluster {labels[row] + 1}" in shown
    me.page.get_by_label("Hide clusters").check()
    around.wait_for(state="hidden")


def test_a_lasso_selects_and_outliers_are_marked(visit, small):
    me = visit(small.url)
    me.page.locator(".lw-legend").get_by_text("cluster 2").wait_for()
    me.page.locator(".lw-loading").wait_for(state="hidden")
    box = me.page.locator(".lw-map canvas").bounding_box()
    left, top, bottom = box["x"] + 4, box["y"] + 4, box["y"] + box["height"] - 4
    me.page.get_by_label("Select with a lasso").click()
    me.page.mouse.move(left, top)
    me.page.mouse.down()
    for x, y in ((box["x"] + box["width"] / 2, top), (box["x"] + box["width"] / 2, bottom)):
        me.page.mouse.move(x, y)
    me.page.mouse.move(left, bottom)
    me.page.mouse.up()
    me.page.get_by_text("6 records selected on the map").wait_for()
    me.page.get_by_text("6 selected").wait_for()
    me.page.keyboard.press("o")
    me.page.get_by_text("6 records marked as outliers").wait_for()
    assert (small.controller.clusters.view().labels < 0).sum() == 6
    me.page.get_by_role("button", name="Show others").click()
    me.page.get_by_label("which cluster").select_option(label="Outliers")
    wait_until(lambda: me.page.locator("[data-row]").count() == 6)
    me.page.get_by_label("select all shown").click()
    me.page.keyboard.press("o")
    me.page.get_by_text("no longer marked").wait_for()
    me.page.get_by_label("which cluster").select_option(label="All clusters")
    me.page.get_by_label("select r3", exact=True).click()
    me.page.keyboard.press("l")
    me.page.get_by_text("Records like r3, nearest first").wait_for()
    wait_until(lambda: me.page.locator("[data-row]").first.get_attribute("data-row") == "3")


def test_merge_and_split(visit, serve):
    X, y = blobs(60)
    session = Session(X, n_clusters=2, who="ana")
    me = visit(serve(session).url)
    me.page.locator(".lw-cluster").first.wait_for()
    mixed = int(np.bincount(session.fit_.labels).argmax())
    me.page.locator(f"[data-cluster='{mixed}']").get_by_text("Split").click()
    dialog = me.page.locator(".lw-dialog")
    dialog.get_by_text("There will be 3 clusters").wait_for()
    dialog.get_by_text("Part B").wait_for()
    wait_until(lambda: dialog.locator(".lw-preview li").count() == 6)
    dialog.get_by_role("button", name="Split").click()
    me.page.locator(".lw-cluster").nth(2).wait_for()
    assert [one.kind for one in session.snapshot().corrections] == ["split"]
    assert adjusted_rand_score(y, session.fit_.labels) == 1
    me.page.get_by_label("merge cluster 1 with").select_option(label="cluster 2")
    me.page.get_by_text("Merge", exact=True).click()
    dialog.get_by_text("cluster 1 and cluster 2").wait_for()
    dialog.get_by_text("Cancel", exact=True).click()
    dialog.wait_for(state="hidden")
    assert len(np.unique(session.fit_.labels)) == 3
    me.page.keyboard.press("z")
    me.page.locator(".lw-note").get_by_text("Undone").wait_for()
    me.page.locator(".lw-cluster").nth(2).wait_for(state="hidden")
    assert (session.snapshot().n_clusters, session.snapshot().progress.n_answers) == (2, 0)
    me.page.get_by_label("number of clusters").fill("4")
    me.page.keyboard.press("Enter")
    me.page.locator(".lw-cluster").nth(3).wait_for()
    assert session.snapshot().cluster_counts[-1].n_clusters == 4


def test_clusters_show_whole_records(visit, small):
    me = visit(small.url)
    cluster = me.page.locator(".lw-cluster").first
    cluster.get_by_text("Typical:").click()
    wait_until(lambda: cluster.locator("thead th").count() == 4)
    told = cluster.locator("table").inner_text().split()
    typical = small.controller.clusters.profiles()[0].typical
    assert told == [
        "Field",
        *(f"r{row}" for row in typical),
        "size",
        *(f"{small.controller.session.X[row, 0]:.1f}" for row in typical),
    ]
    small.controller.session.refit()  # what is open stays open
    assert cluster.locator("table").is_visible()


def test_choose_for_me(visit, serve):
    X, y = blobs(60)
    session = Session(X)
    for row in range(1, 40, 2):
        session.tell(bool(y[row] == y[row - 1]), (row, row - 1))
    me = visit(serve(session).url)
    me.page.locator(ASKED).wait_for()
    assert me.page.get_by_label("number of clusters").input_value() == ""
    me.page.get_by_text("Choose for me").click()
    me.page.get_by_text("choosing…").wait_for()
    me.answer(y, 1)  # nobody has to wait
    me.page.get_by_text("Use 3 clusters").click()
    me.page.get_by_text("Use 3 clusters").wait_for(state="hidden")
    assert session.snapshot().n_clusters == 3
    me.page.wait_for_function("() => document.querySelector('.lw-count input').value === '3'")


def test_several_people(visit, serve):
    X, y = blobs(40)
    session = Session(X, n_clusters=3, who="the host")
    studio = serve(session, host="127.0.0.1")
    people = {name: visit(studio.url) for name in ("Ana", "Bo <b>")}
    for name, person in people.items():
        person.page.locator(".q-dialog").get_by_label("your name").fill(name)
        person.page.keyboard.press("Enter")
        person.page.locator(".q-dialog").wait_for(state="hidden")
        person.page.locator(ASKED).wait_for()
    ana, bo = people.values()
    ana.page.wait_for_function("() => document.querySelector('.lw-you input').value === 'Ana'")
    bo.page.wait_for_function("() => document.querySelector('.lw-you input').value === 'Bo <b>'")
    assert session.snapshot().pending.keys() == {"Ana", "Bo <b>"}
    assert set(ana.asked()) != set(bo.asked())
    ana.answer(y, 2)
    bo.answer(y, 1)
    assert sorted(answer.who for answer in session.snapshot().answers) == ["Ana", "Ana", "Bo <b>"]
    bo.page.keyboard.press("z")  # one's own last answer; the next question may be the same
    bo.page.locator(".lw-note").get_by_text("Undone").wait_for()
    assert [a.who for a in session.snapshot().answers if a.is_active] == ["Ana", "Ana"]
    bo.page.get_by_role("tab", name="History").click()
    history = bo.page.locator(".lw-history li")
    wait_until(lambda: history.count() == 3)
    assert "undone by Bo <b>" in bo.page.locator(".lw-history li.undone").inner_text()
    history.filter(has_text="Ana").first.get_by_text("Undo").click()
    ana.page.get_by_text("1 answer ").wait_for()
    ana.page.reload()  # the browser remembers who it is
    ana.page.locator(ASKED).wait_for()
    assert ana.page.get_by_label("your name").input_value() == "Ana"
    n_views = len(studio._views)
    bo.page.close()
    wait_until(lambda: len(studio._views) < n_views and "Bo <b>" not in session.snapshot().pending)


def wait_until(done, patience=60):
    end = time.monotonic() + patience
    while not done():
        assert time.monotonic() < end
        time.sleep(0.05)


def download(page, text):
    with page.expect_download() as waiting:
        page.get_by_role("button", name=text).click()
    return waiting.value.path().read_text("utf-8-sig")


def test_take_away(visit, small, tmp_path):
    me = visit(small.url)
    me.page.locator(ASKED).wait_for()
    me.answer([0] * 6 + [1] * 6, 4)
    me.page.get_by_role("tab", name="Export").click()
    labels = list(csv.DictReader(io.StringIO(download(me.page, "CSV: Clusters only"))))
    assert [row["id"] for row in labels] == [f"r{row}" for row in range(12)]
    assert len({row["cluster"] for row in labels[:6]}) == 1
    links = tmp_path / "links.csv"
    links.write_text(download(me.page, "CSV: Your answers"))
    assert Constraints.read(links, ids="text") == small.controller.session.constraints
    assert "Every constraint is satisfied" in download(me.page, "HTML: Report")
    me.page.get_by_text("Show the Python lines").click()
    me.page.locator(".lw-code").get_by_text("RepairedClustering").first.wait_for()


def test_cells_stay_text(visit, serve):
    X = np.arange(8.0).reshape(-1, 1)
    ids = [f"{EVIL}{row}" for row in range(7)] + ["=cmd()"]
    passage = f"{EVIL} and a long text that goes on and on until it counts as a passage of text"
    session = Session(X, n_clusters=2, sample_ids=ids)
    columns = {EVIL: [EVIL] * 8, "text": [passage + " x" * row for row in range(8)]}
    studio = serve(session, Records(columns, ["<b onmouseover=alert(1)>"]))
    session.rename(0, EVIL[:60])
    session.tell("same", (0, 1))
    session.tell("different", (0, 1))
    me = visit(studio.url)
    me.page.locator(".lw-dialog").get_by_text("cannot all be right").wait_for()
    me.page.locator(".lw-dialog").get_by_text("Decide later").click()
    me.page.locator(".lw-dialog").wait_for(state="hidden")
    assert EVIL in me.page.locator(".lw-fields").inner_text()
    me.page.locator(".lw-legend").get_by_text("<script>").wait_for()
    canvas = me.page.locator(".lw-map canvas")
    box = canvas.bounding_box()
    canvas.hover(position={"x": 18, "y": box["height"] / 2})
    me.page.locator(".lw-tip").get_by_text("<script>").first.wait_for()
    me.page.get_by_label("record A").fill(EVIL)
    me.page.get_by_text("Ask", exact=True).click()
    me.page.get_by_role("alert").get_by_text("there is no record called").wait_for()
    me.complaints.clear()  # the browser notes the 422
    assert me.page.evaluate("window.taken") is None
    assert me.page.title() == "linkwise studio"
    assert me.page.locator("img").count() == 0
    labels = list(csv.reader(io.StringIO(post(url(studio, "/api/export/labels.csv"), {})[1])))
    assert labels[8][0] == "'=cmd()"
    assert "<script>" not in post(url(studio, "/api/export/report.html"), {})[1]


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
    me.page.get_by_text("Begin").click()
    me.page.locator(".q-dialog").wait_for(state="hidden")
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
    assert get(url(studio, "/view/image/6"))[0] == 404


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
