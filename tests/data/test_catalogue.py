"""What is known of items, in every shape that people have it."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy import sparse

import rankstone as rs

ITEMS = ["a", "b", "c"]
VECTORS = np.array([[1.0, 0.0], [0.0, 2.0], [3.0, 0.0]])
RUN = {"u1": ["a", "b", "c"]}
METRICS = ["coverage", "popularity(popularity='given')", "categories"]


def ild(films, **choices):
    (value,) = rs.evaluate(run=RUN, metrics=rs.metrics.ild(**choices), catalogue=films).values()
    return value


def vectors(tmp_path):
    np.save(tmp_path / "v.npy", VECTORS.astype(np.float32))
    pq = tmp_path / "films.parquet"
    table = pa.table({"item_id": ITEMS, "embedding": VECTORS.tolist()})
    import pyarrow.parquet

    pyarrow.parquet.write_table(table, pq)
    yield rs.catalogue(ITEMS, embedding=VECTORS)
    yield rs.catalogue(ITEMS, embedding=dict(zip(ITEMS, VECTORS.tolist(), strict=True)))
    yield rs.catalogue(ITEMS, embedding=sparse.csr_array(VECTORS))
    yield rs.catalogue(ITEMS, embedding=np.load(tmp_path / "v.npy", mmap_mode="r"))
    yield (ITEMS, VECTORS)
    yield table
    yield pl.DataFrame({"item": ITEMS, "vector": VECTORS.tolist()})
    yield pq


def test_vectors_in_every_shape(tmp_path):
    for films in vectors(tmp_path):
        assert ild(films) == pytest.approx((1 + 0 + 1) / 3), films  # a and c point the same way


def test_an_item_without_a_vector():
    films = rs.catalogue(ITEMS, embedding={"a": [1, 0], "b": [0, 1]})
    with pytest.raises(ValueError, match=r"ild: item 'c' has no vector; missing_features='skip'.* in query 'u1'"):
        ild(films)
    assert ild(films, missing_features="skip") == 1.0  # of a and b alone
    assert ild(films, missing_features="zero") == 1.0  # like no other
    table = pa.table({"item": ITEMS, "embedding": [[1, 0], [1, 0], None]})
    assert ild(table, missing_features="skip") == 0.0
    assert ild(table, missing_features="zero") == pytest.approx((0 + 1 + 1) / 3)


def words():
    yield rs.catalogue(ITEMS, category=["x", ["x", "y"], None])
    yield rs.catalogue(ITEMS, category={"a": "x", "b": ["x", "y"]})
    yield rs.catalogue(ITEMS, category=pa.array([["x"], ["x", "y"], []]))
    yield pd.DataFrame({"movie_id": ITEMS, "genres": [["x"], ["x", "y"], []]})


def test_categories_in_every_shape():
    for films in words():
        assert rs.evaluate(run=RUN, metrics="categories", catalogue=films)["categories"] == pytest.approx(2 / 3)
    plain = pd.DataFrame({"item": ITEMS, "category": ["x", "y", None]})
    assert rs.evaluate(run=RUN, metrics="categories", catalogue=plain)["categories"] == pytest.approx(2 / 3)


def test_columns_by_name_and_files(tmp_path):
    table = pd.DataFrame({"sku": [1, 2, 3], "shelf": ["x", "x", "y"], "sold": [4, 2, 2]})
    named = rs.catalogue(table, columns={"category": "shelf", "popularity": "sold"})
    assert repr(named) == "3 items with popularity, category"
    run = {"u1": [1, 3]}
    found = rs.evaluate(run=run, metrics=METRICS, catalogue=named)
    assert [*found.values()] == pytest.approx([2 / 3, (4 + 2) / 2, 1.0])
    table.to_csv(tmp_path / "films.csv", index=False)
    assert rs.evaluate(run=run, metrics="coverage", catalogue=tmp_path / "films.csv")["coverage"] == pytest.approx(
        2 / 3
    )


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: rs.catalogue({"a": "x"}), "a dict may hold popularities, categories or groups"),
        (lambda: rs.catalogue(ITEMS, popularity=[1, 2]), "there are 3 items but 2 of popularity"),
        (lambda: rs.catalogue(ITEMS, popularity=[1, 2, float("nan")]), "item 'c': popularity is nan"),
        (lambda: rs.catalogue(ITEMS, embedding=VECTORS[:2]), "there are 3 items but 2 of embedding"),
        (lambda: rs.catalogue(ITEMS, embedding=sparse.csr_array(VECTORS[:2])), "there are 3 items but 2 of embedding"),
        (lambda: rs.catalogue(ITEMS, embedding=[1, 2, 3]), "it must have one row per item"),
        (lambda: rs.catalogue(ITEMS, category={"z": "x"}), "no item of category is in the catalogue"),
        (lambda: rs.catalogue(pd.DataFrame({"x": [1]})), "the catalogue has no item column among 'x'"),
        (lambda: rs.catalogue(pd.DataFrame({"item": [1], "genre": ["x"], "category": ["y"]})), "could be"),
        (lambda: rs.catalogue("films.xls"), "a catalogue is a .parquet, .csv, .tsv or .jsonl file"),
    ],
)
def test_what_is_refused(make, words):
    with pytest.raises((TypeError, ValueError), match=words):
        make()


GENRES = {
    "|": ["Animation|Comedy", "Comedy", "Drama|Comedy", "(none)"],
    " ": ["Animation Comedy", "Comedy", "Drama Comedy", "Drama", "Animation", "Animation Drama"],
    ", ": ["Animation, Comedy", "Comedy", "Drama, Comedy", "Drama", "Animation", "Animation, Drama"],
}


@pytest.mark.parametrize("separator", GENRES)
def test_several_categories_in_a_text(tmp_path, separator):
    """As MovieLens and RecBole write them; the result says how they were read."""
    items = [*"abcdef"][: len(GENRES[separator])]
    lists = [text.split(separator) for text in GENRES[separator]]
    run = {"q": items}
    expected = rs.evaluate(run=run, metrics="categories@3", catalogue=rs.catalogue(items, category=lists))
    frame = pd.DataFrame({"item": items, "genres": GENRES[separator]})
    frame.to_csv(tmp_path / "items.tsv", index=False, sep="\t")
    by_item = dict(zip(items, GENRES[separator], strict=True))
    for films in (frame, tmp_path / "items.tsv", rs.catalogue(items, category=GENRES[separator]),
                  rs.catalogue(items, category=by_item)):  # fmt: skip
        result = rs.evaluate(run=run, metrics="categories@3", catalogue=films)
        assert dict(result) == dict(expected)
        assert f"category {GENRES[separator][0]!r} is several labels, separated by {separator[0]!r}" in result.notes


def test_categories_that_may_be_one_or_several():
    for texts in (["Animation Comedy", "Comedy"], ["Paris, Texas", "Drama"]):
        with pytest.raises(ValueError, match="may be one label or several; pass lists of labels"):
            rs.catalogue(["a", "b"], category=texts)
    whole = rs.catalogue(["a", "b"], category=["Science Fiction", "War"])
    assert whole.category.names == ("Science Fiction", "War")
    assert whole.notes == ("category 'Science Fiction' is one label; where it is several, pass lists of labels",)
    assert rs.catalogue(["a"], category=[["Paris, Texas"]]).category.names == ("Paris, Texas",)
