"""The page in Chromium: its numbers, its reasons, its hands and its looks."""

import math
import random
import re
from collections.abc import Callable, Iterator
from typing import Any
from urllib.parse import urlencode

import pytest

import rankstone as rs
from rankstone.metrics.registry import declared, is_built_in
from tests.effort import BROWSER_PATIENCE

from .conftest import DOCS
from .lists import One, evaluated_all, off, random_lists

pytestmark = pytest.mark.slow
CONVENTIONS = list(rs.conventions)
HOSTILE = "</script><img src=x onerror=alert(1)>"
MEASURE = """async ([lists, explained]) => {
  const { program, metrics } = await window.play;
  const compared = ({ run, truth, k }) => new Comparison(program, run, truth, k);
  const numbers = lists.map((one) => {
    const found = compared(one);
    const row = (name) => program.metrics.map((metric) => [found.label(metric), found.measure(metric, name)]);
    return one.conventions.map(row);
  });
  const reasons = explained.map((one) => compared(one).explain(metrics.get(one.metric), ...one.conventions));
  return [numbers, reasons];
}"""

Opener = Callable[..., Any]


@pytest.fixture
def open_page(browser: Any, address: str) -> Iterator[Opener]:
    """Opens the page; at the end nothing must have gone wrong in it."""
    contexts, wrong = [], []

    def opened(fragment: str = "", **options: Any) -> Any:
        context = browser.new_context(**{"viewport": {"width": 1280, "height": 1000}, **options})
        contexts.append(context)
        context.set_default_timeout(BROWSER_PATIENCE)
        page = context.new_page()
        page.on("pageerror", lambda error: wrong.append(str(error)))
        page.on("console", lambda message: wrong.append(message.text))
        page.on("dialog", lambda dialog: (wrong.append(dialog.message), dialog.dismiss()))
        page.on(
            "request", lambda request: request.url.partition("#")[0] in (address, "data:,") or wrong.append(request.url)
        )
        page.goto(f"{address}#{fragment}" if fragment else address)
        page.wait_for_selector("#table td")
        return page

    yield opened
    for context in contexts:
        context.close()
    assert not wrong


def fragment(run: str, truth: str, k: int | None = None, **more: str) -> str:
    return urlencode({"run": run, "truth": truth, "k": "" if k is None else k, **more})


def order(page: Any) -> list[str]:
    found: list[str] = page.eval_on_selector_all(
        "#items > li:not(.line):not(.below) .name", "all => all.map(one => one.textContent)"
    )
    return found


def number(page: Any, metric: str, convention: str = "rankstone") -> str:
    at = page.eval_on_selector_all("thead th", "all => all.map(one => one.textContent)").index(convention)
    row = page.locator("tbody tr", has=page.get_by_role("button", name=metric, exact=True))
    found: str = row.locator("td").nth(at - 1).inner_text()
    return found


class TestNumbers:
    def test_equal_to_evaluate(self, open_page: Opener, play: Any) -> None:
        lists = random_lists(1000)
        asked = [[CONVENTIONS[(at + step) % len(CONVENTIONS)] for step in (0, 12)] for at in range(len(lists))]
        sent = [one._asdict() | {"conventions": names} for one, names in zip(lists, asked, strict=True)]
        found, _ = open_page().evaluate(MEASURE, [sent, []])
        kept = {name for name, row in declared().items() if is_built_in(row) and row.kind not in play.LEFT_OUT}
        compared, refused, unknown, furthest = 0, 0, 0, 0.0
        for one, names, answers in zip(lists, asked, found, strict=True):
            for convention, row in zip(names, answers, strict=True):
                assert {label.partition("@")[0] for label, _ in row} == kept
                wanted = evaluated_all(one, [label for label, _ in row], convention)
                for label, answer in row:
                    recorded = play.recorded.metrics_of(convention)
                    if recorded is not None and label.partition("@")[0] not in recorded:
                        assert (
                            answer["absent"] == f"{convention} has no such metric, or none of its numbers is recorded"
                        )
                        continue
                    compared += 1
                    refused += wanted[label] is None
                    unknown += math.isnan(wanted[label] or 0)
                    furthest = max(furthest, off(answer, wanted[label]))
                    assert furthest <= 1e-9, (one, convention, label, answer, wanted[label])
        print(f"{compared} numbers, {refused} refused, {unknown} NaN, {furthest:.2g} apart at most")
        assert 0.3 * len(kept) < compared / (2 * len(lists)) < 0.7 * len(kept)  # the others are no metrics of the tool
        assert min(refused, unknown) > compared / 100  # both happen
        assert refused + unknown < compared / 4

    def test_reasons_are_those_of_explain(self, open_page: Opener) -> None:
        draw = random.Random(2)
        asked: list[tuple[One, str, tuple[str, str]]] = []
        for one in random_lists(300, seed=3):
            metric = draw.choice(["ndcg", "ap", "precision", "recall", "rr", "auc"])
            asked.append((one, metric, (draw.choice(CONVENTIONS), draw.choice(CONVENTIONS))))
        sent = [one._asdict() | {"metric": metric, "conventions": pair} for one, metric, pair in asked]
        _, found = open_page().evaluate(MEASURE, [[], sent])
        compared = alike = 0
        for (one, metric, pair), reason in zip(asked, found, strict=True):
            label = metric if one.k is None else f"{metric}@{one.k}"
            run: Any = [item for item, _ in one.run] if one.run and one.run[0][1] is None else dict(one.run)
            try:
                told = rs.explain({"q": dict(one.truth)}, {"q": run}, label, convention=pair)
            except ValueError:
                continue
            if reason is None:  # one of the tools has no such metric
                continue
            if math.isnan(sum(told.values)) or math.isclose(*told.values, rel_tol=1e-12, abs_tol=1e-12):
                continue
            compared += 1
            ours = {choice["name"] for choice in reason["matter"]}
            named = {share.choice for share in told.effects}
            # It takes the last digits for a difference, which the page does not.
            moving = {share.choice for share in told.effects if max(-share.lowest, share.highest) > 1e-12}
            # Where those that matter one by one do not make it together, it names all.
            assert ours <= named, (one, label, pair)
            assert moving <= ours or not told.no_effect, (one, label, pair)
            alike += ours == named
        assert compared > 40
        assert alike > 0.8 * compared

    def test_the_example_disagrees(self, open_page: Opener) -> None:
        page = open_page()
        for metric, tools in {"ndcg@3": ("scikit-learn", "lightgbm"), "ap@3": ("scikit-learn", "torchmetrics")}.items():
            assert len({number(page, metric, tool) for tool in ("rankstone", "spark", *tools)}) == 4
        assert "makes the difference" in page.inner_text("#why")

    def test_one_choice_is_named(self, open_page: Opener) -> None:
        page = open_page(
            fragment("a\nb", "a 1\nb 1\nc 1", 2, **{"with": "rankstone,spark", "metric": "ap", "as": "spark"})
        )
        said = page.inner_text("#why")
        assert "spark gives 1.0000. rankstone gives 0.6667." in said
        assert "One choice makes the difference" in said
        assert "spark: divisor='min(relevant,k)', the number of relevant items, at most k" in said
        assert "rankstone: divisor='relevant', the number of relevant items" in said

    def test_a_choice_of_a_cell(self, open_page: Opener) -> None:
        page = open_page(fragment("b\na", "a 3\nb 1\nc 1", 2, **{"with": "rankstone,lightgbm"}))
        page.locator("tbody tr", has=page.get_by_role("button", name="ndcg@2", exact=True)).locator("td").nth(1).click()
        assert "gain='exp2', exponential gain: 2^grade - 1" in page.inner_text("#why")
        assert "as=lightgbm" in page.url

    def test_numbers_in_full(self, open_page: Opener) -> None:
        page = open_page(fragment("x\na", "a 1"))
        button = (
            page.locator("tbody tr", has=page.get_by_role("button", name="ndcg", exact=True)).locator("td button").first
        )
        assert float(button.get_attribute("title")) == rs.ndcg(["x", "a"], truth=["a"])

    def test_no_number_and_no_metric(self, open_page: Opener) -> None:
        page = open_page(fragment("a\nb", "a 0\nb 0", 2, **{"with": "rankstone,rectools,implicit,python-recsys"}))
        assert number(page, "ap@2", "rectools") == "\N{NOT EQUAL TO} \N{EN DASH}"
        assert number(page, "auc@2", "implicit") == "\N{EN DASH}"
        assert number(page, "recall@2", "python-recsys") == "\N{NOT EQUAL TO} error"


class TestHands:
    def test_dragging(self, open_page: Opener) -> None:
        page = open_page(fragment("x\ny\na", "a 1\nb 1"))
        assert number(page, "rr") == "0.3333"
        self._drag(page, "a", page.locator("#items > li").first, 0.1)
        assert order(page) == ["a", "x", "y"]
        assert number(page, "rr") == "1.0000"
        self._drag(page, "b", page.locator("#items > li").nth(1), 0.1)
        assert order(page) == ["a", "b", "x", "y"]
        assert number(page, "ap") == "1.0000"
        self._drag(page, "a", page.locator("#items .line"), 2)
        assert order(page) == ["b", "x", "y"]
        assert number(page, "ap") == "0.5000"
        self._drag(page, "x", page.locator("#items .line"), 2)  # nobody judged it: out of the list it would be nowhere
        assert order(page) == ["b", "y", "x"]

    def _drag(self, page: Any, item: str, to: Any, share: float) -> None:
        grip = page.locator("#items > li", has=page.get_by_text(item, exact=True)).locator(".grip").bounding_box()
        goal = to.bounding_box()
        page.mouse.move(grip["x"] + 3, grip["y"] + grip["height"] / 2)
        page.mouse.down()
        page.mouse.move(grip["x"] + 5, goal["y"] + goal["height"] * share, steps=12)
        page.mouse.up()

    def test_dragging_by_touch(self, open_page: Opener) -> None:
        page = open_page(fragment("x\ny\na", "a 1"), has_touch=True, viewport={"width": 390, "height": 800})
        touch = page.context.new_cdp_session(page)
        grips = [grip.bounding_box() for grip in page.locator(".grip").all()]
        x = grips[2]["x"] + 5

        def send(kind: str, y: float) -> None:
            points = [] if kind == "touchEnd" else [{"x": x, "y": y}]
            touch.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": points})

        start, end = grips[2]["y"] + 10, grips[0]["y"] - 5
        send("touchStart", start)
        for step in range(1, 11):
            send("touchMove", start + (end - start) * step / 10)
        send("touchEnd", end)
        assert order(page) == ["a", "x", "y"]
        assert page.evaluate("scrollY") == 0
        assert "rankstone 1.0000" in page.inner_text("#now") or number(page, "rr") == "1.0000"

    def test_scores_stay_with_the_places(self, open_page: Opener) -> None:
        page = open_page(fragment("x 3\ny 2\na 2", "a 1"))
        assert number(page, "rr") == "0.3333"  # y goes first, by id
        page.get_by_role("button", name=re.compile("^a, rank 3")).press("Home")
        assert page.eval_on_selector_all("#items .of-score", "all => all.map(one => one.value)") == ["3", "2", "2"]
        assert number(page, "rr") == "1.0000"
        page.get_by_label("score of a").fill("1")
        page.get_by_label("score of a").press("Tab")
        assert order(page) == ["x", "y", "a"]
        assert number(page, "rr") == "0.3333"

    def test_keyboard(self, open_page: Opener) -> None:
        page = open_page(fragment("x\na", "a 1\nb 1"))
        handle = page.get_by_role("button", name=re.compile("^a, rank 2 of 2"))
        handle.focus()
        page.keyboard.press("ArrowUp")
        assert order(page) == ["a", "x"]
        assert page.evaluate("document.activeElement.querySelector('.name').textContent") == "a"
        assert page.inner_text("#moved") == "a is at rank 1 of 2"
        assert number(page, "rr") == "1.0000"
        page.keyboard.press("ArrowUp")  # it is the first
        for _ in range(2):
            page.keyboard.press("ArrowDown")
        assert order(page) == ["x"]
        assert page.inner_text("#moved") == "a is not returned"
        page.keyboard.press("ArrowUp")
        assert order(page) == ["x", "a"]
        page.keyboard.press("Tab")
        assert page.evaluate("document.activeElement.getAttribute('aria-label')") == "grade of a"

    def test_grades(self, open_page: Opener) -> None:
        page = open_page(fragment("a\nb", "a 1\nb 0\nc 2"))
        page.get_by_label("grade of b").fill("2")
        assert number(page, "precision") == "1.0000"
        page.get_by_label("grade of b").fill("")
        assert number(page, "judged") == "0.5000"
        page.get_by_label("grade of c").fill("")  # it stays, to be given another
        page.get_by_label("grade of c").type("3")
        assert number(page, "num_rel") == "2"
        page.get_by_label("grade of c").fill("")
        page.keyboard.press("Tab")
        assert page.get_by_label("grade of c").count() == 0

    def test_adding_and_removing(self, open_page: Opener) -> None:
        page = open_page(fragment("a\nb", "a 1\nb 1"))
        page.get_by_label("Add an item").fill("new one")
        page.keyboard.press("Enter")
        assert order(page) == ["a", "b", "new one"]
        page.get_by_role("button", name="remove a").click()
        assert order(page) == ["b", "new one"]
        assert number(page, "num_rel") == "1"

    def test_k_and_scores(self, open_page: Opener) -> None:
        page = open_page(fragment("x\na", "a 1"))
        page.get_by_label("k", exact=True).fill("1")
        assert number(page, "rr@1") == "0.0000"
        page.get_by_label("k", exact=True).fill("2")
        assert number(page, "rr@2") == "0.5000"
        assert page.get_by_role("button", name="mae", exact=True).count() == 0
        page.get_by_label("scores", exact=True).check()
        assert number(page, "mae") == "0.0000"

    def test_typed_lists(self, open_page: Opener) -> None:
        page = open_page()
        page.get_by_text("Type or paste the two lists").click()
        page.locator("#run-text").fill("q Q0 d1 1 3.5 tag\nd two\t2\nd1 7\n")
        page.locator("#truth-text").fill("q 0 d1 1\nd two\t2\nd3 many\n")
        assert order(page) == ["d1", "d two"]
        said = page.inner_text("#text-problems")
        assert "returned, line 3: d1 is there already" in said
        assert "judged, line 3: the grade many is not a number from -100 to 100" in said
        assert number(page, "ap@3") == "1.0000"
        assert page.locator("#truth-text").input_value().endswith("d3 many\n")  # as typed, until something is moved
        page.get_by_role("button", name=re.compile("^d1, rank 1")).press("ArrowDown")
        assert page.locator("#truth-text").input_value() == "d1 1\nd two\t2"
        assert page.inner_text("#text-problems") == ""

    def test_conventions(self, open_page: Opener) -> None:
        page = open_page()
        page.locator("#conventions summary").click()
        page.get_by_label("hivemall", exact=True).check()
        page.get_by_label("ranx", exact=True).uncheck()
        page.get_by_label("Compared with").select_option("lightgbm")
        heads = page.eval_on_selector_all("thead th", "all => all.map(one => one.textContent)")
        assert heads == [
            "metric",
            "lightgbm",
            "rankstone",
            "trec_eval",
            "scikit-learn",
            "torchmetrics",
            "spark",
            "hivemall",
        ]
        assert not number(page, "ndcg@3", "lightgbm").startswith("\N{NOT EQUAL TO}")
        assert number(page, "ndcg@3", "rankstone").startswith("\N{NOT EQUAL TO}")
        page.get_by_label("only what differs").check()
        assert page.get_by_role("button", name="rr@3", exact=True).count() == 0
        assert page.get_by_role("button", name="ndcg@3", exact=True).count() == 1

    def test_address(self, open_page: Opener) -> None:
        page = open_page(fragment("a b\t\nx\nc", "a b\t2\nc 0.5", 3, **{"with": "rankstone,ranx"}))
        page.get_by_role("button", name=re.compile("^x, rank 2")).press("ArrowUp")
        again = open_page(page.url.partition("#")[2])
        assert order(again) == order(page) == ["x", "a b", "c"]
        assert again.inner_text("#table") == page.inner_text("#table")
        again.evaluate("location.hash = 'run=z&truth=z+1'")
        again.wait_for_function("document.querySelector('#items .name').textContent === 'z'")
        assert number(again, "rr") == "1.0000"

    def test_every_example(self, open_page: Opener) -> None:
        page = open_page()
        names = page.eval_on_selector_all("#examples option", "all => all.map(one => one.value).filter(Boolean)")
        tables = set()
        for name in names:
            page.get_by_label("Example").select_option(name)
            tables.add(page.inner_text("#table"))
            assert page.locator("td.other:visible").count() > 0, name
            assert page.inner_text("#text-problems") == ""
        assert len(tables) == len(names) > 4


class TestSafe:
    @pytest.mark.parametrize("way", ["address", "typed", "added"])
    def test_hostile_names(self, open_page: Opener, way: str) -> None:
        page = open_page(fragment(f"{HOSTILE}\t\nb", f"{HOSTILE}\t1") if way == "address" else "")
        if way == "typed":
            page.get_by_text("Type or paste the two lists").click()
            page.locator("#run-text").fill(f"{HOSTILE}\t\nb")
            page.locator("#truth-text").fill(f"{HOSTILE}\t1\nb 0")
        if way == "added":
            page.get_by_label("Add an item").fill(HOSTILE)
            page.keyboard.press("Enter")
        handle = page.locator("#items > li", has=page.get_by_text(HOSTILE, exact=True)).locator(".handle")
        handle.press("Home")
        handle.press("ArrowDown")
        page.wait_for_timeout(100)
        assert HOSTILE in order(page)
        assert page.locator("img").count() == 0

    def test_hostile_address(self, open_page: Opener) -> None:
        page = open_page(
            urlencode(
                {"run": "a", "truth": "a 1e999", "k": "-3", "with": "nothing,<b>", "metric": "__proto__", "as": HOSTILE}
            )
        )
        assert order(page) == ["a"]
        assert page.locator("thead th").count() > 2

    def test_one_file(self, address: str, play: Any) -> None:
        text = play.page()
        assert len(text.encode()) < 1_000_000  # it grows with the conventions; what they share is there once
        assert not re.findall(r"(?:src|href)=\"(?:https?:)?//", text)
        assert "default-src 'none'" in text

    def test_links_of_the_page_are_in_the_handbook(self, play: Any) -> None:
        text = play.page()
        named = set(re.findall(r'href="([a-z][^"$:]*)"', text))
        assert named == {"index.html", "play.html"}
        tabs = re.findall(r'<a href="(.*?)">(.*?)</a>', play.page({"Explain": "explain/index.html"}))
        assert ("explain/index.html", "Explain") in tabs
        assert "play.html" in (DOCS.parent / "mkdocs.yml").read_text(encoding="utf-8")


class TestLooks:
    @pytest.mark.parametrize("scheme", ["light", "dark"])
    @pytest.mark.parametrize("width", [390, 1280, 1920])
    def test_nothing_overflows(self, open_page: Opener, width: int, scheme: str) -> None:
        long = "a" * 150
        page = open_page(
            fragment(f"{long} 3\nb 2\nc 2", f"{long} 3\nd 1", 2, **{"with": ",".join(CONVENTIONS)}),
            viewport={"width": width, "height": 900},
            color_scheme=scheme,
        )
        page.eval_on_selector_all("details", "all => all.forEach((one) => { one.open = true; })")
        assert page.evaluate("document.documentElement.scrollWidth") == width
        wide = page.evaluate(WIDE)
        assert wide == []

    @pytest.mark.parametrize("scheme", ["light", "dark"])
    def test_contrast(self, open_page: Opener, scheme: str) -> None:
        page = open_page(fragment("a 2\nb 1\nc 1", "a 3\nd 1\nc 0", 2), color_scheme=scheme)
        page.eval_on_selector_all("details", "all => all.forEach((one) => { one.open = true; })")
        page.locator("#truth-text").fill("a many")
        faint = page.evaluate(CONTRAST)
        assert faint == []

    def test_everything_has_a_name(self, open_page: Opener) -> None:
        page = open_page(fragment("a 2\nb 1", "a 3\nd 1", 2))
        page.eval_on_selector_all("details", "all => all.forEach((one) => { one.open = true; })")
        for one in page.locator("button, input, select, textarea, [role=region]").all():
            if not one.is_visible():
                continue
            shot = one.aria_snapshot().splitlines()[0]
            assert re.search(r'"[^"]+"|: \S', shot), shot

    def test_differences_are_marked_without_colour(self, open_page: Opener) -> None:
        page = open_page()
        marked = page.eval_on_selector_all("td.other", "all => all.map((one) => one.textContent)")
        assert len(marked) > 10
        assert all(text.startswith("\N{NOT EQUAL TO} ") for text in marked)


WIDE = """() => [...document.querySelectorAll("main *")]
  .filter((one) => !one.closest(".scroll") && !one.matches(".name, .unseen"))
  .filter((one) => one.getBoundingClientRect().right > innerWidth)
  .map((one) => one.outerHTML.slice(0, 80))"""
CONTRAST = """() => {
  const parts = (text) => text.match(/[\\d.]+/g).map(Number);
  const light = ([r, g, b]) => {
    const linear = (c) => (c <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4);
    const [x, y, z] = [r, g, b].map((c) => linear(c / 255));
    return 0.2126 * x + 0.7152 * y + 0.0722 * z;
  };
  const behind = (one) => {
    for (; one; one = one.parentElement) {
      const colour = parts(getComputedStyle(one).backgroundColor);
      if (colour.length === 3 || colour[3] > 0) return colour;
    }
    return [255, 255, 255];
  };
  const text = (node) => node.nodeType === 3 && node.textContent.trim();
  const own = (one) => [...one.childNodes].some(text) || one.matches("input, select, textarea");
  const out = [];
  for (const one of document.querySelectorAll("body *")) {
    if (!own(one) || !one.checkVisibility() || one.matches("script, option, [type=checkbox]")) continue;
    const pseudo = one.placeholder ? [undefined, "::placeholder"] : [undefined];
    for (const which of pseudo) {
      const [a, b] = [light(parts(getComputedStyle(one, which).color)), light(behind(one))];
      const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
      if (ratio < 4.5) out.push([one.outerHTML.slice(0, 60), ratio]);
    }
  }
  return out;
}"""
