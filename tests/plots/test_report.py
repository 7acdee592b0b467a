"""The report: its numbers, its size, that it is safe, and how it looks in a real browser."""

import hashlib
import re
from base64 import b64encode
from html import unescape
from html.parser import HTMLParser

import numpy as np
import pytest

import rankstone as rs
from rankstone.results.answer import number, p_value, signed
from tests.effort import BROWSER_PATIENCE

HOSTILE = [
    "</script><img src=x onerror=alert(1)>", "]]>", '" onmouseover="alert(1)', "'><svg onload=alert(1)>",
    "\u202egnihtyna", "a\x00b\x1b[31m", "{{7*7}}", "javascript:alert(1)", "x" * 1_000_000, "",
]  # fmt: skip


def made(queries=60, names=("old", "new", "other"), ids=lambda at: f"q{at}", items=15):
    rng = np.random.default_rng(0)
    truth = {
        ids(at): {f"d{n}": int(grade) for n, grade in enumerate(rng.integers(0, 3, items))} for at in range(queries)
    }
    runs = {}
    for at, name in enumerate(names):
        spread = 2.0 - at / len(names)
        runs[name] = {
            query: {item: grade + spread * float(rng.normal()) for item, grade in grades.items()}
            for query, grades in truth.items()
        }
    return truth, runs


@pytest.fixture(scope="module")
def comparison():
    truth, runs = made()
    groups = {query: "odd" if int(query[1:]) % 2 else "even" for query in truth}
    return rs.compare(truth, runs, ["ndcg@5", "rr"], baseline="old", by=groups, margin=0.02)


class Reader(HTMLParser):
    """Tags with their attributes, and the cells of tables."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.tables, self._cell = [], [], None
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        self.tags.append((tag, dict(attributes)))
        if tag == "table":
            self.tables.append([])
        elif tag == "tr":
            self.tables[-1].append([])
        elif tag in ("td", "th"):
            self._cell = ""

    def handle_data(self, text):
        if self._cell is not None:
            self._cell += text

    def handle_endtag(self, tag):
        if tag in ("td", "th"):
            self.tables[-1][-1].append(self._cell)
            self._cell = None


class TestPage:
    def test_numbers_are_those_of_the_comparison(self, comparison):
        text = comparison.report()
        head, *rows = next(table for table in Reader(text).tables if table[0][:2] == ["metric", "run"])
        assert len(rows) == len(comparison)
        for row, of in zip(rows, comparison, strict=True):
            found = dict(zip(head, row, strict=True))
            assert (found["metric"], found["run"], found["verdict"]) == (of.metric, of.run, of.verdict)
            low, high = of.adjusted_interval
            assert found["difference"] == signed(of.difference)
            assert found["interval, each alone"] == f"{signed(of.low)} to {signed(of.high)}"
            assert found["adjusted interval"] == f"{signed(low)} to {signed(high)}"
            assert (found["p"], found["adjusted p"]) == (p_value(of.p), p_value(of.adjusted))
            assert found["better / same / worse"] == f"{of.wins} / {of.ties} / {of.losses}"
        grid = next(table for table in Reader(text).tables if table[0] == ["run", *comparison.metrics])
        assert [row[0] for row in grid[1:]] == ["oldbaseline", "new", "other"]
        for row in grid[2:]:
            for label, cell in zip(grid[0][1:], row[1:], strict=True):
                of = comparison[row[0], label]
                assert cell.startswith(f"{number(of.second)} {signed(of.difference)} ({100 * of.relative:+.1f}%)")
                assert cell.endswith(of.verdict)
        queries = next(table for table in Reader(text).tables if table[0] == ["query", "old", "new", "change", "group"])
        assert [row[0] for row in queries[1:]] == [change.query for change in comparison.queries("new", "ndcg@5")]
        assert comparison.headline in unescape(text)
        for part in ("differences", "queries", "cutoffs", "slices", "power", "ties", "leaderboard", "definitions"):
            assert f'<details class="part" id="{part}">' in text
        assert "rs.compare(truth, {&#x27;old&#x27;: ..." in text
        assert "All items at ranks 1 to 15 of all runs are judged." in text  # the lists have 15 items

    def test_how_much_is_judged(self):
        truth, runs = made(queries=4)
        runs["new"] = {query: {**scores, "unjudged": 9.0} for query, scores in runs["new"].items()}
        assert "<title>judged by cutoff</title>" in rs.compare(truth, runs, "ndcg@5").report()

    @pytest.mark.parametrize("more", [
        {}, {"convention": "trec_eval"}, {"averaging": "micro"}, {"convention": "ranx", "threshold": 2},
        {"test": "randomization", "correction": "bh", "margin": 0.01, "confidence": 0.9, "seed": 3,
         "primary": "precision@5"},
    ])  # fmt: skip
    def test_the_call_makes_it_again(self, more):
        truth, runs = made(queries=12)
        found = rs.compare(truth, runs, ["precision@5", "recall@5"], baseline="old", **more)
        call = unescape(re.search("<pre>(.*?)</pre>", found.report())[1])
        for name in runs:
            call = call.replace(f"{name!r}: ...", f"{name!r}: runs[{name!r}]")
        again = eval(call, {"rs": rs, "truth": truth, "runs": runs})
        assert str(again.to_dict()) == str(found.to_dict())  # where no number equals itself
        choices = {name: more[name] for name in more if name in ("convention", "averaging", "threshold")}
        result = rs.evaluate(truth, runs["old"], ["precision@5", "recall@5"], **choices)
        call = unescape(re.search("<pre>(.*?)</pre>", result.report())[1])
        assert dict(eval(call, {"rs": rs, "truth": truth, "run": runs["old"]})) == dict(result)

    def test_a_result(self, tmp_path):
        truth, runs = made()
        result = rs.evaluate(truth, runs["old"], ["ndcg@5", "rr"])
        result.write(tmp_path / "a.html")
        text = (tmp_path / "a.html").read_text(encoding="utf-8")
        means, *_ = Reader(text).tables
        assert [row[:2] for row in means[1:]] == [[label, number(mean)] for label, mean in result.items()]
        for part in ("queries", "definitions"):
            assert f'<details class="part" id="{part}">' in text
        assert "<title>ndcg by cutoff</title>" in text
        result.write(tmp_path / "a.json")
        again, *_ = Reader(rs.read_result(tmp_path / "a.json").report()).tables
        assert [row[:2] for row in again] == [row[:2] for row in means]

    def test_written_by_its_name(self, comparison, tmp_path):
        comparison.write(tmp_path / "a.html")
        assert (tmp_path / "a.html").read_text(encoding="utf-8") == comparison.report()

    def test_size(self):
        truth, runs = made(queries=1000, names=[f"run {at}" for at in range(10)])
        for baseline in ("run 0", None):
            found = rs.compare(truth, runs, ["ndcg@10", "rr", "recall@10", "ap", "precision@5"], baseline=baseline)
            assert len(found.report().encode()) <= 300_000

    def test_never_too_large(self):
        truth = {f"query {at}": {"a": 1} for at in range(20_000)}
        rng = np.random.default_rng(0)
        ranks = rng.integers(0, 5, (2, len(truth)))
        runs = {
            name: {query: [*"vwxyz"[:rank], "a"] for query, rank in zip(truth, own, strict=True)}
            for name, own in zip("ab", ranks.tolist(), strict=True)
        }
        assert len(rs.compare(truth, runs, "rr").report().encode()) <= 2_000_000

    @pytest.mark.parametrize(
        ("truth", "runs"),
        [
            ({"q": {"a": 1}}, {"x": {"q": ["a"]}, "y": {"q": ["b", "a"]}}),
            ({"q": {"a": 1}, "r": {"b": 1}}, {"x": {"q": ["a"]}, "y": {"q": ["a"]}}),
            ({"q": {"a": 0}}, {"x": {"q": ["a"]}, "y": {"q": ["a"]}}),
        ],
        ids=["one query", "equal runs", "nothing relevant"],
    )
    def test_little_to_show(self, truth, runs):
        assert "<h1>" in rs.compare(truth, runs, ["rr", "ndcg@3"]).report()
        assert "<h1>" in rs.evaluate(truth, runs["x"], ["rr", "ndcg@3"]).report()

    def test_saved_results(self, tmp_path):
        truth, runs = made()
        for name in ("old", "new"):
            rs.evaluate(truth, runs[name], "ndcg@5").write(tmp_path / f"{name}.json")
        saved = {name: rs.read_result(tmp_path / f"{name}.json") for name in ("old", "new")}
        text = rs.compare(saved).report()
        assert 'id="cutoffs"' not in text
        assert "Items that moved" not in text


class TestSafety:
    def test_policy_names_what_is_there(self, comparison):
        text = comparison.report()
        policy = re.search(r'Content-Security-Policy" content="([^"]*)"', text)[1]
        for tag in ("style", "script"):
            (inside,) = re.findall(rf"<{tag}>(.*?)</{tag}>", text, re.DOTALL)
            digest = b64encode(hashlib.sha256(inside.encode()).digest()).decode()
            assert f"{tag}-src 'sha256-{digest}'" in policy
        assert policy.startswith("default-src 'none'")

    @pytest.mark.parametrize("name", HOSTILE, ids=range(len(HOSTILE)))
    def test_nothing_gets_out_of_its_place(self, name):
        truth, runs = made(queries=8, names=("old", name, "other"), ids=lambda at: f"{name}{at}")
        groups = dict.fromkeys(truth, name)
        found = rs.compare(truth, runs, ["ndcg@5", "rr"], baseline="old", by=groups)
        plain = rs.compare(
            *made(queries=8), ["ndcg@5", "rr"], baseline="old", by=dict.fromkeys(made(queries=8)[0], "x")
        )
        for tag, attributes in Reader(found.report()).tags:
            assert tag not in ("img", "iframe", "object", "link", "a" if attributes.get("href", "#")[0] != "#" else "")
            assert not any(one.startswith("on") or one == "style" for one in attributes)
            assert attributes.get("id", "x").replace("-", "").isalnum() or "id" not in attributes
        assert [tag for tag, _ in Reader(found.report()).tags].count("script") == 1
        assert len(found.report()) < len(plain.report()) + 400_000

    def test_a_page_of_one_result(self):
        name = HOSTILE[0]
        text = rs.evaluate({name: {name: 1}}, {name: [name]}, "rr").report()
        assert "<img" not in text


@pytest.fixture(scope="module")
def page(comparison, browser, tmp_path_factory):
    """Opens the report: width, colours, and what went wrong."""
    path = tmp_path_factory.mktemp("report") / "report.html"
    comparison.write(path)

    def opened(width=1280, scheme="light", where=path, unfold=True, **more):
        context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme, **more)
        context.set_default_timeout(BROWSER_PATIENCE)
        tab = context.new_page()
        tab.wrong = []
        tab.on("console", lambda message: tab.wrong.append(message.text))
        tab.on("pageerror", lambda error: tab.wrong.append(str(error)))
        tab.on("dialog", lambda dialog: (tab.wrong.append("dialog"), dialog.dismiss()))
        tab.on("request", lambda request: request.url.startswith("file:") or tab.wrong.append(request.url))
        tab.goto(where.as_uri())
        if unfold:
            for part in tab.locator("details.part > summary").all():
                part.click()
        return tab

    return opened


CONTRAST = """() => {
  const channel = value => { value /= 255; return value <= .03928 ? value / 12.92 : ((value + .055) / 1.055) ** 2.4; };
  const light = ([r, g, b]) => .2126 * channel(r) + .7152 * channel(g) + .0722 * channel(b);
  const parts = text => text.match(/[\\d.]+/g).map(Number);
  const behind = node => { for (; node; node = node.parentElement) {
    const found = parts(getComputedStyle(node).backgroundColor);
    if (found.length < 4 || found[3] > 0) return found; } return [255, 255, 255]; };
  const lowest = [];
  for (const node of document.querySelectorAll('p,li,td,th,h1,h2,h3,a,figcaption,caption,summary,svg text')) {
    if (!node.textContent.trim() || !node.getClientRects().length) continue;
    const style = getComputedStyle(node), back = behind(node);
    let ink = parts(node.closest('svg') ? style.fill : style.color);
    const share = node.closest('svg') ? parseFloat(style.fillOpacity) : 1;
    ink = ink.slice(0, 3).map((value, at) => value * share + back[at] * (1 - share));
    const [a, b] = [light(ink), light(back)].sort((x, y) => y - x);
    lowest.push([(a + .05) / (b + .05), node.tagName, node.textContent.slice(0, 30)]);
  }
  return lowest.sort((x, y) => x[0] - y[0])[0];
}"""


CROWDED = """() => {
  const found = [];
  for (const picture of document.querySelectorAll('svg')) {
    const edge = picture.getBoundingClientRect();
    const texts = [...picture.querySelectorAll('text')].map(text => [text.textContent, text.getBoundingClientRect()]);
    texts.forEach(([name, a], at) => {
      if (a.left < edge.left - 1 || a.right > edge.right + 1 || a.top < edge.top - 1 || a.bottom > edge.bottom + 1)
        found.push([name, 'outside']);
      for (const [other, b] of texts.slice(at + 1)) {
        const wide = Math.min(a.right, b.right) - Math.max(a.left, b.left);
        const high = Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top);
        if (wide > 1 && high > 4) found.push([name, other]);
      }
    });
  }
  return found;
}"""
LONG = "a system with all of its settings in its name: rate=0.0001 batch=1024 epochs=30 seed="


class TestInABrowser:
    @pytest.mark.parametrize("width", [390, 1280])
    @pytest.mark.parametrize(
        "names",
        [
            [f"{LONG}{at}" for at in range(8)],
            [f"{'Unbroken_' * 12}{at}" for at in range(3)],
            ["a\x00" * 30, "日本語" * 30],
        ],
        ids=["long", "unbroken", "codes and wide letters"],
    )
    def test_labels_have_room(self, page, tmp_path, names, width):
        truth, runs = made(queries=44, names=names, ids=lambda at: f"{LONG}{at}")
        groups = {query: f"{LONG}{at % 2}" for at, query in enumerate(truth)}
        rs.compare(truth, runs, ["ndcg@5", "rr"], baseline=names[0], by=groups).write(tmp_path / "a.html")
        tab = page(width, where=tmp_path / "a.html")
        assert tab.evaluate("document.documentElement.scrollWidth") <= width
        assert tab.evaluate(CROWDED) == []
        values = tab.locator("#table-queries-0 tbody tr:first-child td").last.bounding_box()
        assert width < 1000 or values["x"] + values["width"] < width  # a long name does not push the numbers away
        tab.context.close()

    @pytest.mark.parametrize("width", [390, 1280, 1920])
    @pytest.mark.parametrize("scheme", ["light", "dark"])
    def test_fits_and_can_be_read(self, page, width, scheme):
        tab = page(width, scheme)
        assert tab.evaluate("document.documentElement.scrollWidth") <= width
        ratio, tag, text = tab.evaluate(CONTRAST)
        assert ratio >= 4.5, (tag, text)
        background = tab.evaluate("getComputedStyle(document.body).backgroundColor")
        assert background == ("rgb(255, 255, 255)" if scheme == "light" else "rgb(13, 17, 23)")
        assert tab.evaluate(CROWDED) == []
        assert tab.wrong == []
        tab.context.close()

    @pytest.mark.parametrize("scheme", ["light", "dark"])
    def test_axe_finds_nothing(self, page, scheme):
        axe = pytest.importorskip("axe_playwright_python.sync_playwright").Axe()
        tab = page(scheme=scheme)
        found = axe.run(tab).response["violations"]
        assert [(one["id"], [node["html"][:80] for node in one["nodes"]][:3]) for one in found] == []
        tab.context.close()

    def test_sorting(self, page, comparison):
        tab = page()
        heads = tab.locator("#table-queries-0 th")
        heads.nth(3).get_by_role("button").click()
        changes = tab.locator("#table-queries-0 tbody td:nth-child(4)").all_inner_texts()
        wanted = sorted(change.change for change in comparison.queries("new", "ndcg@5"))
        assert changes == [signed(value) for value in wanted]
        assert heads.nth(3).get_attribute("aria-sort") == "ascending"
        heads.nth(3).get_by_role("button").click()
        assert tab.locator("#table-queries-0 tbody td:nth-child(4)").all_inner_texts() == changes[::-1]
        heads.nth(0).get_by_role("button").click()
        names = tab.locator("#table-queries-0 tbody td:nth-child(1)").all_inner_texts()
        assert names == sorted(names)
        assert tab.wrong == []
        tab.context.close()

    def test_filtering(self, page):
        tab = page()
        box = tab.get_by_label("Show rows with").first
        box.fill("q13")
        rows = tab.locator("#table-queries-0 tbody tr:visible")
        assert rows.count() == 1
        assert rows.first.locator("td").first.inner_text() == "q13"
        assert tab.get_by_text("1 shown").count() == 1
        tab.context.close()

    def test_drilling_down(self, page, comparison):
        tab = page()
        first = tab.locator("#queries details").first
        change = comparison.queries("new", "ndcg@5")[0]
        assert first.locator("summary").inner_text().startswith(f"{change.query}: {number(change.first)} to")
        assert not first.locator("table").is_visible()
        first.locator("summary").click()
        assert first.locator("table").is_visible()
        moved = [row[0] for row in change.explain()._answer().table[1:11] if row]
        assert first.locator("tbody td:first-child").all_inner_texts()[: len(moved)] == moved
        tab.context.close()

    def test_a_bar_leads_to_its_query(self, page, comparison):
        tab = page()
        changes = comparison.queries("new", "ndcg@5")
        figure = tab.locator("#queries figure").first
        for place in (0, 20, len(changes) - 1):
            figure.scroll_into_view_if_needed()
            area = figure.locator(".strong").bounding_box()
            tab.mouse.click(area["x"] + (place + 0.5) / len(changes) * area["width"], area["y"] - 5)
            found = tab.locator("tr.at td:first-child")
            assert found.all_inner_texts() == [changes[place].query]
            assert found.is_visible()
        opened = tab.locator("#queries details[open] summary").all_inner_texts()
        explained = [changes[0], changes[len(changes) - 1]]
        assert [text.split(":")[0] for text in opened] == [one.query for one in explained if one.change]
        tab.context.close()

    def test_a_point_leads_to_its_query(self, page, comparison):
        tab = page()
        tab.locator("#queries figure").nth(1).scroll_into_view_if_needed()
        point = tab.locator("#queries figure").nth(1).locator("circle").nth(7)
        name = point.locator("title").text_content()
        box = point.bounding_box()
        tab.mouse.click(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
        found = tab.locator("tr.at td").all_inner_texts()
        assert f"{found[0]}: {found[1]} to {found[2]}" == name
        tab.context.close()

    def test_a_group_leads_to_its_queries(self, page, comparison):
        tab = page()
        tab.locator("#table-slices").get_by_role("button", name="odd").first.click()
        rows = tab.locator("#table-queries-0 tbody tr:visible")
        wanted = [one.query for one in comparison.queries("new", "ndcg@5") if int(one.query[1:]) % 2]
        assert rows.locator("td:first-child").all_inner_texts() == wanted
        assert tab.get_by_label("Show rows with").first.input_value() == "odd"
        assert tab.wrong == []
        tab.context.close()

    def test_keyboard(self, page):
        tab = page(unfold=False)
        order = []
        for _ in range(3):
            tab.keyboard.press("Tab")
            order.append(tab.evaluate("document.activeElement.textContent.trim()"))
        assert order[-2:] == ["All differences", "Queries, by ndcg@5"]
        tab.keyboard.press("Enter")
        tab.locator("#queries details summary").first.focus()
        tab.keyboard.press("Enter")
        assert tab.locator("#queries details").first.get_attribute("open") is not None
        tab.context.close()

    def test_without_script(self, page, comparison):
        tab = page(java_script_enabled=False)
        assert tab.locator("#table-queries-0 tbody tr").count() == 60
        assert tab.get_by_label("Show rows with").first.is_hidden()
        tab.locator("#queries details summary").first.click()
        assert tab.locator("#queries details table").first.is_visible()
        tab.context.close()

    def test_on_paper(self, page):
        tab = page(scheme="dark")
        tab.emulate_media(media="print")
        assert tab.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
        assert not tab.locator("nav").is_visible()
        assert not tab.locator(".why").first.is_visible()  # explanations that nobody opened
        assert tab.locator("#definitions pre").is_visible()
        tab.set_viewport_size({"width": 688, "height": 1000})  # A4 without its margins
        wide = "[...document.querySelectorAll('table,pre')].map(one => one.getBoundingClientRect().right)"
        assert max(tab.evaluate(wide)) <= 688  # paper does not scroll
        tab.context.close()
        folded = page(unfold=False)
        assert folded.locator("#definitions pre").is_hidden()
        folded.emulate_media(media="print")
        assert folded.locator("#definitions pre").is_visible()
        assert 1 <= len(re.findall(rb"/Type\s*/Page\b", folded.pdf())) <= 6
        folded.context.close()

    def test_seen_at_once(self, page):
        """A headline, the grid and at most three caveats stand before the first picture; no table is cut."""
        tab = page(unfold=False)
        first = tab.locator("svg").first.bounding_box()
        assert first["y"] + first["height"] < 1_000
        assert tab.locator(".lead p, .caveats > ul > li").count() <= 4
        for width in (1280, 390):
            tab = page(width)
            for fold in tab.locator("#queries details summary").all():
                fold.click()
            cut = "[...document.querySelectorAll('.scroll')].filter(one => one.scrollWidth > one.clientWidth + 1)"
            assert tab.evaluate(f"{cut}.map(one => one.ariaLabel)") == []
            tab.context.close()
        names = "[...document.querySelectorAll('table.grid tbody th')]"  # of one or two lines
        tab = page(390)
        assert tab.evaluate(f"Math.max(...{names}.map(one => one.getBoundingClientRect().height))") < 60
        tab.context.close()

    def test_hostile_names(self, page, tmp_path):
        for at, name in enumerate(HOSTILE):
            truth, runs = made(queries=6, names=("old", name, "other"), ids=lambda number, name=name: f"{name}{number}")
            path = tmp_path / f"{at}.html"
            rs.compare(truth, runs, ["ndcg@5"], baseline="old", by=dict.fromkeys(truth, name)).write(path)
            tab = page(390, where=path)
            tab.wait_for_timeout(50)
            assert tab.wrong == []
            assert tab.evaluate("document.documentElement.scrollWidth") <= 390
            assert tab.locator("img, iframe, object").count() == 0
            tab.context.close()

    def test_a_result(self, page, tmp_path):
        truth, runs = made()
        rs.evaluate(truth, runs["old"], ["ndcg@5", "rr", "ap"]).write(tmp_path / "a.html")
        for width, scheme in ((390, "dark"), (1280, "light")):
            tab = page(width, scheme, tmp_path / "a.html")
            assert tab.evaluate("document.documentElement.scrollWidth") <= width
            assert tab.evaluate(CONTRAST)[0] >= 4.5
            assert tab.wrong == []
            tab.context.close()
