"""What was read prints as a few rows, not as a wall."""

import rankstone as rs


def test_columns(tmp_path):
    (tmp_path / "a.run").write_text("".join(f"q Q0 d{n} {n} {9 - n} t\n" for n in range(1, 8)))
    lines = repr(rs.read_run(tmp_path / "a.run")).splitlines()
    assert lines[0] == "7 rows of query, item, score"
    assert lines[1].split() == ["q", "d1", "8.0"]
    assert len(lines) == 1 + 5 + 1
    assert repr(rs.columns(query=[1], item=[2])) == "1 rows of query, item\n1  2"


def test_lists():
    assert repr(rs.lists([["a", "b"], ["a"]])) == "2 lists of 3 items"
