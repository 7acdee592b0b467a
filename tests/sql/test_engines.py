"""The engines in which SQL texts are tested, tried on their own."""

import json
from pathlib import Path

import pytest

from tests.sql.engines import KINDS

NAME = 'My "odd" `table`'
COLUMNS = {"select": "text", "Rank `of` it": "integer", 'a "score", 100%': "double"}
ROWS = [("it's", 1, 0.1), ("B", None, -1e300), ("", 2**53 + 1, None), (None, -7, 1 / 3), ("é\\ %s \n☃", 0, 0.0)]

LISTS = {"query": "text"} | {kind: kind for kind in KINDS if kind.startswith("list")}
OF_LISTS = [("a", ["x", "it's", ""], [1, -(2**53) - 1], [0.1, 1e300]), ("b", [], [], []), ("c", ["y"], [0], [0.0])]


@pytest.fixture
def tables(engine):
    run = [("q1", "a", 1), ("q1", "b", 2), ("q1", "c", 3), ("q2", "a", 1), ("q2", "d", 2)]
    engine.create("run", {"query": "text", "item": "text", "place": "integer"}, run)
    engine.create("truth", {"query": "text", "item": "text", "grade": "integer"}, [("q1", "a", 3), ("q1", "c", 1)])


def exactly(rows):
    """Tells 1 from 1.0, and leaves the order to the engine."""
    return sorted(map(repr, rows))


def through(engine, columns, rows):
    engine.create("lists", columns, rows)
    found = engine.ask("select * from lists")[1]
    if engine.dialect == "sqlite":  # JSON
        found = [tuple(json.loads(cell) if cell and cell[0] == "[" else cell for cell in row) for row in found]
    return found


def test_scalars_are_read_back(engine, quoted):
    engine.create(NAME, COLUMNS, ROWS)
    names, rows = engine.ask(f"select * from {quoted(NAME)}")
    assert (names, exactly(rows)) == (list(COLUMNS), exactly(ROWS))
    everything = ", ".join(map(quoted, COLUMNS))
    assert engine.ask(f"select {everything} from {quoted(NAME)} where {quoted('select')} = 'B'")[1] == [ROWS[1]]


def test_lists_are_read_back(engine):
    assert exactly(through(engine, LISTS, OF_LISTS)) == exactly(OF_LISTS)


@pytest.mark.parametrize("cell", [None, ["x", None]])
def test_a_null_for_a_list_or_in_it_is_read_back_or_refused(engine, cell):
    columns, rows = {"items": "list(text)"}, [(["y"],), (cell,)]
    if engine.dialect == "clickhouse":
        with pytest.raises(Exception, match=r"has no list that is null|Cannot convert NULL"):
            engine.create("lists", columns, rows)
    else:
        assert exactly(through(engine, columns, rows)) == exactly(rows)


def test_a_table_is_made_anew(engine, quoted):
    engine.create(NAME, COLUMNS, ROWS)
    engine.create(NAME, {"n": "integer", "items": "list(text)"}, [])
    assert engine.ask(f"select * from {quoted(NAME)}") == (["n", "items"], [])


def test_a_window(engine, tables):
    before = "sum(place) over (partition by query order by place rows between unbounded preceding and 1 preceding)"
    rows = engine.ask(f"select query, item, {before} as n from run order by query, place")[1]
    assert rows == [("q1", "a", None), ("q1", "b", 1), ("q1", "c", 1 + 2), ("q2", "a", None), ("q2", "d", 1)]


def test_named_queries_and_a_join(engine, tables):
    text = """
        with found as (select query, count(*) as n from run group by query),
             graded as (select run.query, run.item, grade from run
                        left join truth on truth.query = run.query and truth.item = run.item)
        select found.query as query, n, item, grade
        from found join graded on graded.query = found.query
        order by query, item
    """
    names, rows = engine.ask(text)
    assert names == ["query", "n", "item", "grade"]
    assert rows[:3] == [("q1", 3, "a", 3), ("q1", 3, "b", None), ("q1", 3, "c", 1)]
    assert rows[3:] == [("q2", 2, "a", None), ("q2", 2, "d", None)]


def test_an_error_passes_through_and_leaves_nothing(engine, tables):
    fails = {
        "duckdb": "error('bad ' || item)",
        "spark": "raise_error('bad ' || item)",
        "sqlite": "json_extract('{}', 'bad ' || item)",
    }.get(engine.dialect, "cast('bad ' || item as integer)")
    with pytest.raises(Exception, match="bad d"):
        engine.ask(f"select case when item = 'd' then {fails} end as e from run")
    assert engine.ask("select 7 as seven") == (["seven"], [(7,)])
    with pytest.raises(Exception, match="no_such_table"):
        engine.ask("select * from no_such_table")
    assert engine.ask("select 8 as eight") == (["eight"], [(8,)])


def test_order_of_text(engine):
    engine.create("words", {"word": "text"}, [("B",), ("a",), ("_b",), ("A",)])
    by_language = engine.dialect == "postgres" and Path("/usr/share/i18n/locales/en_US").exists()
    words = ["a", "A", "_b", "B"] if by_language else ["A", "B", "_b", "a"]
    assert engine.ask("select word from words order by word")[1] == [(word,) for word in words]
