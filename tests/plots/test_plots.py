"""Pictures: their numbers, their text, and that nothing of a stranger's gets out of its place."""

import math
import re
import unicodedata
import xml.etree.ElementTree as ElementTree
from html import unescape
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import rankstone as rs
from rankstone.compare import plot_kinds as plots
from rankstone.plots.marks import Axis, Bars, Dots, Intervals, Line, RefLine, escape, escape_sentence, printable
from rankstone.plots.plot import Plot

HOSTILE = [
    "</script><img src=x onerror=alert(1)>",
    "]]>",
    '" onload="alert(1)',
    "\u202egnihtyna",
    "a\x00b\x1b[31m",
    "&lt;",
]
SVG = "{http://www.w3.org/2000/svg}"


def made(queries=40, names=("old", "new", "other")):
    rng = np.random.default_rng(0)
    truth = {f"q{at}": {f"d{n}": int(grade) for n, grade in enumerate(rng.integers(0, 3, 12))} for at in range(queries)}
    runs = {
        name: {
            query: {item: grade + spread * float(rng.normal()) for item, grade in grades.items()}
            for query, grades in truth.items()
        }
        for name, spread in zip(names, (2.0, 1.0, 1.8), strict=True)
    }
    return truth, runs


@pytest.fixture(scope="module")
def comparison():
    truth, runs = made()
    return rs.compare(truth, runs, ["ndcg@5", "rr"], baseline="old", by={query: int(query[1:]) % 2 for query in truth})


ASKED = {"forest": (), "slices": ("new",), "leaderboard": ("rr",)}
KINDS = [*((kind, *ASKED.get(kind, ("new", "rr"))) for kind in plots.KINDS), ("ndcg@{1..10}",)]


def drawn(plot):
    """The picture as a tree: it is well formed, and has a title and a sentence."""
    tree = ElementTree.fromstring(plot.svg())
    assert tree.find(f"{SVG}title").text == printable(plot.title)
    assert tree.find(f"{SVG}desc").text == (unescape(escape_sentence(plot.sentence, 4000)) or None)
    assert tree.get("role") == "img"
    return tree


@pytest.mark.parametrize("words", KINDS, ids=[words[0] for words in KINDS])
def test_every_kind(comparison, words):
    plot = comparison.plot(*words)
    tree = drawn(plot)
    places = [
        float(place)
        for place in re.findall(
            r"(?<=[ ML])-?\d+(?:\.\d+)?", " ".join(path.get("d") for path in tree.iter(f"{SVG}path"))
        )
    ]
    assert all(-1 <= place <= max(plot.width, plot.height) + 1 for place in places)
    assert len({len(column) for column in plot.data.values()}) == 1
    assert repr(plot).startswith(plot.title)
    assert plot._repr_html_() == plot.svg()


def test_forest_has_the_differences(comparison):
    plot = comparison.plot("forest")
    assert plot.data["difference"] == [of.difference for of in comparison]
    ends = {True: {}, False: {}}  # by row, of thick and thin intervals
    for mark in plot.marks:
        if isinstance(mark, Intervals):
            ends[mark.thick].update(zip(mark.y, zip(mark.low, mark.high, strict=True), strict=True))
    assert ends[True] == {row: (of.low, of.high) for row, of in enumerate(comparison)}
    assert ends[False] == {row: of.adjusted_interval for row, of in enumerate(comparison)}
    assert "adjusted: decides" in plot.svg()
    assert plot.y.names == ("ndcg@5, new", "ndcg@5, other", "rr, new", "rr, other")


def test_queries_are_bars_by_change(comparison):
    plot = comparison.plot("queries", "new", "ndcg@5")
    (bars,) = (mark for mark in plot.marks if isinstance(mark, Bars))
    assert list(bars.y) == [change.change for change in comparison.queries("new", "ndcg@5")]
    assert len(list(drawn(plot).iter(f"{SVG}rect"))) == 40


def test_very_many_queries_are_binned():
    truth = {at: {"a": 1} for at in range(5000)}
    runs = {"x": {at: ["a"] for at in truth}, "y": {at: ["b", "a"] if at % 7 else ["a"] for at in truth}}
    plot = rs.compare(truth, runs, "rr").plot("queries")
    (bars,) = (mark for mark in plot.marks if isinstance(mark, Bars))
    assert len(bars.y) == 2000
    assert len(plot.data["change"]) == 5000
    assert np.mean(bars.y) == pytest.approx(np.mean(plot.data["change"]), abs=0.02)


def test_points_that_coincide_are_one_of_a_size(comparison):
    (dots,) = (mark for mark in comparison.plot("scatter", "new", "rr").marks if isinstance(mark, Dots))
    assert sum(dots.sizes) == 40
    assert len(dots.x) < 40


def test_a_metric_by_cutoff(comparison):
    truth, runs = made()
    result = rs.evaluate(truth, runs["old"], "ndcg@5")
    plot = result.plot("ndcg@{1..10}")
    wanted = rs.evaluate(truth, runs["old"], "ndcg@{1..10}")
    (line,) = (mark for mark in plot.marks if isinstance(mark, Line))
    assert list(line.y) == list(wanted.values())
    assert plot.data["k"] == list(range(1, 11))
    several = comparison.plot("ndcg@{1..10..3}")
    assert several.data["old"] == [wanted[f"ndcg@{k}"] for k in (1, 4, 7, 10)]
    assert [name for _, name in several.series] == ["old", "new", "other"]
    with pytest.raises(ValueError, match="plot one metric at many cutoffs"):
        result.plot("ndcg@{1..3},rr")
    with pytest.raises(ValueError, match="judged@1 needs data that ndcg@5 did not keep; evaluate it with them"):
        result.plot("judged@{1..3}")


def test_saved_results_have_no_lists(tmp_path):
    truth, runs = made()
    rs.evaluate(truth, runs["old"], "ndcg@{1..4}").write(tmp_path / "a.json")
    saved = rs.read_result(tmp_path / "a.json")
    assert saved.plot("ndcg@{1..4}").data["k"] == [1, 2, 3, 4]
    with pytest.raises(ValueError, match="a saved result has values but no lists; evaluate the run again"):
        saved.plot("ndcg@{1..5}")


def test_unknown_words(comparison):
    with pytest.raises(ValueError, match="unknown plot 'pie'; choose from forest, queries"):
        comparison.plot("pie")
    with pytest.raises(ValueError, match="name a run and a metric"):
        comparison.plot("power")
    truth, runs = made()
    with pytest.raises(ValueError, match="slices need by="):
        rs.compare(truth, runs, "rr").plot("slices")


class TestCurves:
    def test_precision_and_recall(self):
        truth = {"q": {"a": 1, "b": 1, "c": 1, "d": 1}}
        result = rs.evaluate(truth, {"q": ["a", "x", "b", "y", "z", "c"]}, "ap")
        data = result.plot("precision-recall").data
        # Found at ranks 1, 3 and 6 of four: precision 1 up to 1/4, 2/3 up to 1/2, 1/2 up to 3/4, then nothing.
        wanted = np.select([data["recall"] <= 0.25, data["recall"] <= 0.5, data["recall"] <= 0.75], [1, 2 / 3, 1 / 2])
        np.testing.assert_allclose(data["precision"], wanted)
        both = rs.evaluate({**truth, "r": {"a": 1}}, {"q": ["a"], "r": ["x", "a"]}, "ap")
        np.testing.assert_allclose(both.plot("precision-recall", query="r").data["precision"], 0.5)
        with pytest.raises(ValueError, match="the truth has no query 's'"):
            both.plot("precision-recall", query="s")

    def test_roc(self):
        metrics = pytest.importorskip("sklearn.metrics")
        rng = np.random.default_rng(0)
        labels, scores = rng.integers(0, 2, 50), np.round(rng.random(50), 1)
        truth = {"q": dict(enumerate(labels.tolist()))}
        result = rs.evaluate(truth, {"q": dict(enumerate(scores.tolist()))}, "auc")
        plot = result.plot("roc")
        fpr, tpr, _ = metrics.roc_curve(labels, scores, drop_intermediate=False)
        np.testing.assert_allclose(plot.data["false positive rate"], fpr)
        np.testing.assert_allclose(plot.data["true positive rate"], tpr)
        assert f"{metrics.auc(fpr, tpr):.4f}" in plot.sentence

    def test_unknown(self):
        with pytest.raises(ValueError, match="unknown curve 'lift'; choose from 'precision-recall', 'roc'"):
            rs.evaluate({"q": ["a"]}, {"q": ["a"]}, "ap").plot("lift")


class TestFiles:
    @pytest.mark.parametrize("words", KINDS, ids=[words[0] for words in KINDS])
    def test_painted(self, comparison, tmp_path, words):
        pytest.importorskip("matplotlib")
        plot = comparison.plot(*words)
        for ending, magic in (("png", b"\x89PNG"), ("pdf", b"%PDF"), ("svg", b"<svg")):
            plot.save(tmp_path / f"a.{ending}")
            assert (tmp_path / f"a.{ending}").read_bytes().startswith(magic)

    def test_on_axes_of_ones_own(self, comparison):
        figure = pytest.importorskip("matplotlib.figure").Figure()
        ax = figure.add_subplot()
        assert comparison.plot("ndcg@{1..10}").to_matplotlib(ax) is ax
        assert [line.get_label() for line in ax.lines] == ["old", "new", "other"]
        np.testing.assert_allclose(ax.lines[0].get_ydata(), comparison.plot("ndcg@{1..10}").data["old"])

    def test_other_endings(self, comparison, tmp_path):
        with pytest.raises(ValueError, match=r"end it with \.svg, \.png, \.pdf"):
            comparison.plot("forest").save(tmp_path / "a.gif")


class TestStrangers:
    @pytest.mark.parametrize("name", [*HOSTILE, "x" * 1_000_000])
    def test_names(self, name):
        truth, runs = made(names=("old", name, "other"))
        found = rs.compare(truth, runs, "rr", baseline="old")
        for words in (("forest",), ("queries", name), ("leaderboard",), ("rr@{1..3}",)):
            text = comparison_text(found.plot(*words))
            assert "<img" not in text
            assert "onerror=alert(1)>" not in text.replace("&gt;", "")
            assert len(text) < 100_000

    @pytest.mark.parametrize("name", HOSTILE)
    def test_ids(self, name):
        truth = {name: {"a": 1}, "r": {"b": 1}}
        found = rs.compare(truth, {"x": {name: ["a"], "r": ["b"]}, "y": {name: ["b", "a"], "r": ["b"]}}, "rr")
        tree = drawn(found.plot("queries"))
        titles = [title.text for title in tree.iter(f"{SVG}title")]
        assert any(printable(name) in title for title in titles)

    @given(st.text())
    def test_safe_text(self, text):
        found = escape(text, None)
        assert not set(found) & set("<>\"'")
        assert ElementTree.fromstring(f"<a b='{found}'>{found}</a>").text == (printable(text, None) or None)
        assert len(printable(text)) <= 80

    def test_names_that_differ_at_the_end_are_told_apart(self):
        first, second = (printable(f"{'a' * 100} seed {seed}", 34) for seed in (1, 2))
        assert first == f"{'a' * 17}\N{HORIZONTAL ELLIPSIS}{'a' * 9} seed 1"
        assert first != second
        assert len(first) == 34
        assert len(printable("\x00" * 1000, 34)) == 34  # the codes of marks count too

    @pytest.mark.parametrize("name", ["שלום", "مرحبا"])
    def test_what_follows_an_id_stays_behind_it(self, name):
        said = escape_sentence(f"{name}29: 0.5148 to 0.9270")
        assert said.replace("\N{LEFT-TO-RIGHT MARK}", "") == f"{name}29: 0.5148 to 0.9270"
        for before, after in pairwise(said):  # a number after such a letter would be drawn before it
            turned = unicodedata.bidirectional(before) in ("R", "AL")
            assert not (turned and before != "\N{LEFT-TO-RIGHT MARK}" and after.isdigit())
        assert "\N{LEFT-TO-RIGHT MARK}" not in escape(f"{name}29")  # an id alone can be copied


def comparison_text(plot):
    drawn(plot)
    return plot.svg()


@given(st.floats(-1e6, 1e6), st.floats(1e-3, 1e6), st.integers(2, 12))
def test_ticks_are_round_and_inside(low, span, about):
    axis = Axis("x", low, low + span)
    if not axis.low < axis.high:
        return
    ticks = axis.ticks(about)
    assert 0 <= len(ticks) <= about + 2
    assert all(axis.low - 1e-6 * span <= tick <= axis.high + 1e-6 * span for tick in ticks)
    assert len({axis.tick_label(tick, about) for tick in ticks}) == len(ticks)


def test_ticks_say_what_they_are():
    """Half units, where a picture is wide enough for them, are not rounded to whole ones."""
    line = Plot("a line", "", Axis("x", 0, 3.3), Axis("y", 0, 3.3), (Line([0, 3.3], [0, 3.3]),))
    texts = [node.text for node in drawn(line).iter(f"{SVG}text")]
    assert {"0.0", "0.5", "1.0", "1.5", "2.0", "2.5", "3.0"} <= set(texts)


def test_more_points_in_one_place_are_larger():
    assert Dots([0, 1], [0, 1], [1, 1]).radii == [4, 4]
    one, four = Dots([0, 1], [0, 1], [1, 4]).radii
    assert (one, four) == (4, 8)  # four times the area
    assert max(Dots([0, 1], [0, 1], [1, 10_000]).radii) == 12


def test_a_line_has_the_shape_of_its_legend(comparison):
    """Colour alone tells some people nothing."""
    tree = drawn(comparison.plot("ndcg@{1..100}"))
    assert len(tree.findall(f".//{SVG}circle")) > 2  # old: in the legend, and on its line
    assert [title.text for title in tree.iter(f"{SVG}title")][1:] == ["old", "new", "other"]


def test_an_axis_over_nothing():
    assert Axis.over("x", []).ticks()
    assert Axis.over("x", [math.nan, math.inf]).ticks()
    assert Axis.over("x", [3.0, 3.0]).low < 3 < Axis.over("x", [3.0, 3.0]).high


def boxes(ax, artists):
    renderer = ax.figure.canvas.get_renderer()
    return [artist.get_window_extent(renderer) for artist in artists]


def test_png_legend_stands_right_of_the_lines_in_their_order(comparison):
    pytest.importorskip("matplotlib")
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    plot = comparison.plot("ndcg@{1..10}")
    ax = plot.to_matplotlib()
    FigureCanvasAgg(ax.figure).draw()
    legend = ax.get_legend()
    assert boxes(ax, [legend])[0].x0 >= ax.bbox.x1
    assert boxes(ax, [legend])[0].x1 <= ax.figure.bbox.x1
    names = [text.get_text() for text in legend.get_texts()]
    assert names == sorted(names, key=lambda name: -plot.data[name][-1])
    assert len(names) == len(comparison.runs) > 1


def test_png_has_the_kinds_of_intervals(comparison):
    pytest.importorskip("matplotlib")
    plot = comparison.plot("forest")
    legend = plot.to_matplotlib().get_legend()
    widths = [line.get_linewidth() for line in legend.get_lines()]
    assert [(width > 1, text.get_text()) for width, text in zip(widths, legend.get_texts(), strict=True)] == plot.widths
    assert len(widths) == 2


def test_png_ticks_are_those_of_the_svg(comparison):
    pytest.importorskip("matplotlib")
    ax = comparison.plot("ndcg@{1..10}").to_matplotlib()
    assert [label.get_text() for label in ax.get_xticklabels()] == ["2", "4", "6", "8", "10"]
    ax = comparison.plot("forest").to_matplotlib()
    assert all(label.get_text()[0] in "+-0" for label in ax.get_xticklabels())


def test_png_label_of_a_line_is_above_the_curve():
    pytest.importorskip("matplotlib")
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    marks = RefLine(0.5, label="observed"), Line([0.0, 1.0], [1.0, 1.0])
    ax = Plot("Title", "", Axis("x", 0, 1), Axis("y", 0, 1.04), marks).to_matplotlib()
    FigureCanvasAgg(ax.figure).draw()
    label, title = boxes(ax, [*ax.texts, ax._left_title])
    assert ax.bbox.y1 <= label.y0 < label.y1 <= title.y0


def test_the_area_of_the_lorenz_curve_is_the_gini_index():
    _, runs, _, films = rs.example()
    for name, run in runs.items():
        result = rs.evaluate(run=run, metrics="gini@10", catalogue=films)
        items, places = result.plot("lorenz").data.values()
        area = float(np.diff(items) @ (places[1:] + places[:-1])) / 2
        assert 1 - 2 * area == pytest.approx(result["gini@10"], abs=1e-12), name
    with pytest.raises(ValueError, match="evaluate gini@k with catalogue="):
        rs.evaluate({"q": ["a"]}, {"q": ["a"]}, "rr").plot("lorenz")


def test_bounds_are_those_of_the_result():
    truth, runs, _, _ = rs.example()
    result = rs.evaluate(truth, runs["hybrid"], ["ndcg@10", "rbp"], bounds=True)
    plot = result.plot("bounds")
    assert plot.data["lowest"] == [result.bounds[label].lowest for label in ("ndcg@10", "rbp")]
    assert plot.data["highest"] == [result.bounds[label].highest for label in ("ndcg@10", "rbp")]
    assert plot.svg().startswith("<svg")
    with pytest.raises(ValueError, match="bounds=True"):
        rs.evaluate(truth, runs["hybrid"], "rbp").plot("bounds")


def test_curves_leave_choices_of_other_metrics_out():
    """catalogue= is for auc, which counts the items that were not returned; nDCG has no use for it."""
    truth, runs, _, _ = rs.example()
    result = rs.evaluate(truth, runs["hybrid"], "auc", catalogue=240)
    curve = next(column for name, column in result.plot("ndcg@{1..5}").data.items() if name != "k")
    assert curve == list(rs.evaluate(truth, runs["hybrid"], "ndcg@{1..5}").values())
    assert result.plot("precision-recall").data["recall"][-1] == 1
