"""Data that can mean two things is refused, or read with a note; it is never measured as what it is not."""

import collections
import uuid

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import rankstone as rs
from rankstone.errors import DataError, DataTypeError, FileError

TRUTH = {"q": {"a": 1, "b": 0}, "p": {"c": 2}}
RUN = {"q": {"a": 0.5, "b": 0.7}, "p": {"c": 0.1, "d": 0.3}}


# -- arrays --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("how", [{"query": [1, 1, 2, 2]}, {"groups": [2, 2]}, {}])
def test_labels_and_scores_swapped(how):
    labels, scores = np.array([0, 1, 2, 0]), np.array([0.2, 0.5, -0.1, 0.3])
    if not how:
        labels, scores = labels.reshape(2, 2), scores.reshape(2, 2)
    with pytest.warns(UserWarning, match=r"the labels come first, evaluate\(truth=labels, run=scores\)"):
        rs.evaluate(scores, labels, "ndcg@10", **how)
    assert rs.evaluate(labels, scores, "ndcg@10", **how)["ndcg@10"] == pytest.approx(
        (1 + 1 / np.log2(3)) / 2, rel=1e-14
    )
    rs.evaluate(scores, labels + 1 + np.arange(4).reshape(labels.shape) * 4, "ndcg@10", **how)  # no grades


def test_labels_that_are_padding():
    """Two items are relevant of two; with padding as items they would be third and fourth."""
    labels, scores = np.array([[0, 1, -100, -100]]), np.array([[0.1, 0.2, 0.3, 0.4]])
    with pytest.raises(DataError, match=r"-100 are padding, not grades: pass mask=labels != -100, or lengths="):
        rs.evaluate(labels, scores, "rr")
    with pytest.raises(DataError, match="-100 are padding, not grades: leave these rows out"):
        rs.evaluate(labels[0], scores[0], "rr", groups=[4])
    with pytest.raises(DataError, match="-100 are padding"):
        rs.Accumulator("rr").update(labels, scores)
    table = pa.table({"query": [1] * 4, "label": labels[0], "score": scores[0]})
    with pytest.raises(DataError, match="-100 are padding, not grades: leave these rows out"):
        rs.evaluate(table, metrics="rr")
    for several in (labels[0], labels[0].tolist()):
        with pytest.raises(DataError, match="-100 are padding, not grades: leave these items out"):
            rs.rr(labels=several, scores=list(scores[0]))
    assert rs.metrics.mae(labels=[-100.0], scores=[-99.0]) == 1  # a value, as any other
    assert rs.evaluate(labels, scores, "rr", mask=labels != -100)["rr"] == 1
    assert rs.evaluate(labels, scores, "rr", lengths=[2])["rr"] == 1
    noted = rs.evaluate(np.array([[0, 1, -1, -1], [1, 0, 0, 0]]), np.repeat(scores, 2, axis=0), "rr")
    assert any("labels of -1 end some rows and count as items" in note for note in noted.notes)


def test_masked_arrays():
    hidden = np.ma.array([[1.0, 2.0]], mask=[[False, True]])
    with pytest.raises(DataTypeError, match="a masked array hides values"):
        rs.evaluate(np.array([[1, 0]]), hidden, "rr")
    with pytest.raises(DataTypeError, match="a masked array hides values"):
        rs.columns(query=["q", "q"], item=["a", "b"], score=hidden[0])
    assert rs.evaluate(np.array([[1, 0]]), np.ma.array([[2.0, 1.0]]), "rr")["rr"] == 1


def test_bytes_in_another_order():
    truth = rs.columns(query=np.array([1, 2]), item=np.array([1, 2], dtype=">i8"))
    run = rs.columns(query=np.array([1, 2]), item=np.array([3, 4], dtype=">i8"))
    with pytest.warns(rs.errors.UnmatchedWarning, match="the truth's items are 1, 2, the run's 3, 4"):
        assert rs.evaluate(truth, run, "rr")["rr"] == 0


# -- objects -------------------------------------------------------------------------------------------------


class Document:
    def __init__(self, name):
        self.id = name


Hit = collections.namedtuple("Hit", "docid text score")


@pytest.mark.parametrize("item", [Document("a"), Hit("a", "text", 1.0), object()])
def test_an_object_is_not_an_id(item):
    for truth, run in (({"q": ["a"]}, {"q": [item]}), ({"q": ["a"]}, {"q": {item: 1}}), ({"q": [item]}, {"q": ["a"]}),
                       ({"q": ["a"], "p": ["b"]}, {"q": ["a"], "p": [item]})):  # fmt: skip
        with pytest.raises(DataTypeError, match=r"not an id; pass its id: \[item\."):
            rs.evaluate(truth, run, "rr")
    with pytest.raises(DataTypeError, match="not an id; pass its id"):
        rs.rr([item], truth=["a"])


@pytest.mark.parametrize("item", [uuid.UUID(int=7), (1, 2), frozenset([1]), b"x", np.int64(3)])
def test_values_are_ids(item):
    assert rs.evaluate({"q": [item]}, {"q": [item]}, "rr")["rr"] == rs.rr([item], truth=[item]) == 1


def test_items_as_search_engines_return_them():
    hits = [{"_id": "b", "_score": 1.5, "_index": "x"}, {"_id": "a", "_score": 2.5}]
    assert rs.evaluate({"q": ["b"]}, {"q": hits}, "rr")["rr"] == 1 / 2
    assert rs.evaluate({"q": ["b"]}, {"q": [{"id": "b", "rank": 2}, {"id": "a", "rank": 1}]}, "rr")["rr"] == 1 / 2
    assert rs.evaluate({"q": [{"id": "b", "grade": 1}]}, {"q": [{"id": "a"}, {"id": "b"}]}, "rr")["rr"] == 1 / 2
    with pytest.raises(DataTypeError, match=r"objects such as {'x': 'b'}, which have no usual name of an id in common"):
        rs.evaluate({"q": ["b"]}, {"q": [{"x": "b"}]}, "rr")


def test_data_that_is_nested_too_deeply():
    deep, nested = {}, []
    for _ in range(100_000):
        deep, nested = {"a": deep}, [nested]
    for truth, run in (({"q": deep}, RUN), (TRUTH, {"q": deep}), ({"q": nested}, RUN), (TRUTH, {"q": nested})):
        with pytest.raises(DataTypeError):
            rs.evaluate(truth, run, "rr")


# -- texts and dicts for sequences ---------------------------------------------------------------------------


def test_a_text_is_not_a_sequence():
    truth, run = {"a": ["x"], "b": ["x"]}, {"a": ["x"], "b": ["y"]}
    result = rs.evaluate(truth, run, "rr")
    for call in (
        lambda text: result.by_group(text), lambda text: result.interval("rr", clusters=text),
        lambda text: result.compare(result, names=text), lambda text: rs.columns(query=text, item=["x", "y"]),
        lambda text: rs.columns(query=["x", "y"], item=text), lambda text: rs.lists([["x"], ["y"]], query=text),
        lambda text: rs.evaluate([1, 0], [0.1, 0.2], "rr", query=text),
        lambda text: rs.catalogue(["x", "y"], category=text), lambda text: rs.catalogue(["x", "y"], popularity=text),
    ):  # fmt: skip
        for text in ("ab", b"ab"):
            with pytest.raises(TypeError, match=r"is the text b?'ab'; pass a dict or a list with an entry each"):
                call(text)


def test_metrics_are_not_a_dict():
    named = {"MAP": "ndcg@10"}
    for call in (
        lambda: rs.evaluate(TRUTH, RUN, named), lambda: rs.Evaluator(named), lambda: rs.Accumulator(named),
        lambda: rs.Online(named), lambda: rs.compare(TRUTH, {"a": RUN, "b": RUN}, named),
    ):  # fmt: skip
        with pytest.raises(TypeError, match=r"is a dict; pass a list of metrics: \['ndcg@10'\]"):
            call()
    with pytest.raises(TypeError, match="a metric is a name such as 'ndcg@10'"):
        rs.evaluate(TRUTH, RUN, 5)
    with pytest.raises(ValueError, match="there is no run; a comparison needs two"):
        rs.compare(TRUTH, {}, "rr")


# -- columns -------------------------------------------------------------------------------------------------


def test_a_dictionary_of_a_dictionary():
    words = pa.DictionaryArray.from_arrays(pa.array([0, 1]), pa.array(["a", "b"]))
    twice = pa.DictionaryArray.from_arrays(pa.array([1, 0]), words)
    truth = rs.columns(query=["q", "q"], item=["a", "b"], grade=[1, 0])
    assert rs.evaluate(truth, rs.columns(query=["q", "q"], item=twice, score=[2, 1]), "rr")["rr"] == 1 / 2
    assert rs.evaluate(truth, pa.table({"query": ["q", "q"], "item": twice, "score": [2, 1]}), "rr")["rr"] == 1 / 2


@pytest.mark.parametrize("items", [["a", 1], [2**70, 1], ["\ud800", "b"], [Document("a"), "b"]])
def test_ids_that_a_column_cannot_hold(items):
    problem = r"a column holds numbers of up to 64 bits, or valid text, not several|has half of a surrogate pair"
    with pytest.raises(DataTypeError, match=problem):
        rs.columns(query=["q", "q"], item=items)
    frame = pd.DataFrame({"query": ["q", "q"], "item": pd.Series(items, dtype=object)})
    with pytest.raises(DataTypeError, match=problem):
        rs.evaluate(frame, RUN, "rr")


def test_two_columns_of_one_name():
    frame = pd.DataFrame([["q", "a", "b", 1]], columns=["query", "item", "item", "grade"])
    with pytest.raises(DataError, match="the table has 2 columns called 'item'; rename one"):
        rs.evaluate(frame, RUN, "rr")
    table = pa.Table.from_arrays([pa.array(["q"])] * 3, names=["query", "item", "item"])
    with pytest.raises(ValueError, match="the truth has 2 columns called 'item'"):
        rs.evaluate(table, RUN, "rr")


def test_damaged_parquet(tmp_path):
    path = tmp_path / "bad.parquet"
    path.write_bytes(b"PAR1" + b"x" * 100 + b"PAR1")
    for call in (lambda: rs.read_truth(path), lambda: rs.evaluate(TRUTH, path, "rr"), lambda: rs.catalogue(path),
                 lambda: rs.evaluate(TRUTH, RUN, "rr", parent=path)):  # fmt: skip
        with pytest.raises(FileError, match=r"bad.parquet: .*Parquet file size is 108 bytes"):
            call()


@pytest.mark.parametrize(
    ("name", "text"),
    [("a.run", "q Q0 a 1 3 t\rq Q0 b 2 2 t\rq Q0 c 3 1 t\r"), ("a.csv", "query,item,score\rq,a,3\rq,b,2\rq,c,1\r"),
     ("a.jsonl", "".join(f'{{"query": "q", "item": "{item}", "score": 1}}\r' for item in "abc"))],
)  # fmt: skip
def test_lines_that_end_with_carriage_returns(tmp_path, name, text):
    (tmp_path / name).write_bytes(text.encode())
    assert np.asarray(rs.read_run(tmp_path / name).item).tolist() == ["a", "b", "c"]
    (tmp_path / name).write_bytes(text.replace("\r", "\n", 1).encode())  # and now only some do
    with pytest.raises(FileError):
        rs.read_run(tmp_path / name)


# -- names of other tools ------------------------------------------------------------------------------------


def test_headers_of_recbole(tmp_path):
    path = tmp_path / "ml.tsv"
    path.write_text("user_id:token\titem_id:token\trating:float\ttimestamp:float\n1\t7\t3\t9\n1\t8\t5\t9\n")
    assert np.asarray(rs.read_truth(path).grade).tolist() == [3, 5]


def test_a_truth_that_was_read_can_be_split(tmp_path):
    path = tmp_path / "ratings.dat"
    path.write_text("".join(f"{user}::{item}::3::9\n" for user in range(5) for item in range(6)))
    columns = {"query": 0, "item": 1, "grade": 2}
    split = rs.split.random(rs.read_truth(path, format="dat", columns=columns), 0.5)
    assert split.report.train_rows + split.report.test_rows == 30
    assert split.test.column_names == ["query", "item", "grade"]


def test_f_of_other_weights():
    """Precision 1/2, recall 1: F2 is 5 PR / (4 P + R)."""
    truth, run = {"q": ["a"]}, {"q": ["a", "b"]}
    assert rs.evaluate(truth, run, "f2@2")["f(beta=2)@2"] == pytest.approx(5 * 0.5 / (4 * 0.5 + 1))
    assert rs.evaluate(truth, run, "f_measure@2")["f@2"] == rs.evaluate(truth, run, "f1@2")["f1@2"]
    assert rs.evaluate(truth, run, "F0.5@2")["f(beta=0.5)@2"] == pytest.approx(1.25 * 0.5 / (0.25 * 0.5 + 1))


@pytest.mark.parametrize("name", ["correction", "test"])
def test_rules_of_a_comparison_are_named(name):
    with pytest.raises(ValueError, match=f"{name}={{'a': 1}}; choose from"):
        rs.compare(TRUTH, {"a": RUN, "b": RUN}, "rr", **{name: {"a": 1}})
