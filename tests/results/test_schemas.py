"""All that is saved agrees with its schema, has the version of its format, and is checked when it is read."""

import json
import math
import tempfile
from pathlib import Path

import jsonschema
import pytest

import rankstone as rs
from rankstone.cli.commands import main
from rankstone.results.export import as_json

TRUTH = {"x": {"a": 1, "b": 2, "h": 0}, "y": {"c": 3}, "z": {"d": 1}}
RUN = {"x": {"a": 0.5, "b": 0.5, "e": 0.5}, "y": {"e": 1.0, "c": 0.1}, "extra": {"a": 1.0}}
OTHER = {"x": ["b", "a"], "y": ["c"], "z": ["d"]}
METRICS = ["ndcg@2", "rr", "precision@2"]


def schema(name, capsys):
    assert main(["schema", name]) == 0
    return json.loads(capsys.readouterr().out)


def accumulator(**options):
    made = rs.Accumulator(METRICS, **options)
    made.update(TRUTH, RUN)
    return made


def accumulator_of_lists():
    made = rs.Accumulator(["coverage@2", "rr"], catalogue=["a", "b", "c", "d", "e"])
    made.update(TRUTH, RUN)
    return made


def stream():
    made = rs.Stream(TRUTH, METRICS)
    rows = {"query": ["x", "x", "y"], "item": ["a", "e", "c"], "score": [1.0, math.inf, 0.0]}
    made.first_pass(rows)
    made.second_pass(rows)
    return made


def online(**options):
    made = rs.Online(["rr", "ndcg"], window="1h", horizon=60, **options)
    words = {"country": "FI"} if options else {}
    made.log_impression("l1", ["a", "b"], time=0, **words)
    made.log_impression("l2", {"a": 0.5, "c": math.inf}, time=10, **words)
    made.log_feedback("l1", "b", time=5)
    made.log_feedback("l9", "b", time=5)
    made.advance_to(65)
    return made


def variants():
    made = rs.Online("rr", by="variant")
    for number in range(6):
        made.log_impression(number, ["a", "b"], time=number, variant="AB"[number % 2])
        made.log_feedback(number, "ab"[number % 3 == 0], time=number)
    return made


class Ledger:
    """The last line of a ledger."""

    def __init__(self, path):
        self.path = path

    def to_dict(self):
        return json.loads(self.path.read_text().splitlines()[-1])


def ledger():
    path = Path(tempfile.mkdtemp()) / "gates.jsonl"
    gates = {"truth": TRUTH, "baseline": RUN, "candidate": OTHER, "gate": [{"metric": "rr", "at_least": 0.1}]}
    rs.check(gates, ledger=path)
    return Ledger(path)


def compared(**options):
    return rs.compare(TRUTH, {"old": RUN, "new": OTHER}, METRICS, **options)


def checked(**gate):
    return rs.check({"truth": TRUTH, "baseline": RUN, "candidate": OTHER, "gate": [{"metric": "rr", **gate}]})


SAVED = {
    "result": lambda: rs.evaluate(TRUTH, RUN, METRICS),
    "result, micro, bounds": lambda: rs.evaluate(TRUTH, RUN, ["precision@2"], averaging="micro", bounds=True),
    "comparison": compared,
    "comparison, margins": lambda: compared(margin={"rr": 0.1}, test="randomization", primary="rr"),
    "collections": lambda: rs.compare({name: (TRUTH, {"old": RUN, "new": OTHER}) for name in "ab"}, METRICS),
    "check": lambda: checked(not_worse_than=0.1),
    "check, groups": lambda: checked(not_worse_than=0.1, by={"x": 1, "y": 2, "z": 2}, fewest=1),
    "check, lost": lambda: checked(lost_queries=0),
    "check, mean": lambda: checked(at_least=0.1),
    "window": lambda: online().compute(),
    "variants": lambda: variants().compute().compare("A", "B"),
    "ledger": ledger,
    "window, segments": lambda: online(by="country").compute(),
    "accumulator": accumulator,
    "accumulator, sums": lambda: accumulator(keep=False),
    "accumulator, lists": accumulator_of_lists,
    "stream": stream,
    "online": online,
    "online, segments": lambda: online(by=["country"]),
}


@pytest.mark.parametrize("name", SAVED)
def test_what_is_written_agrees_with_its_schema(name, capsys, tmp_path):
    saved = SAVED[name]()
    if hasattr(saved, "state_dict"):
        text = json.dumps(saved.state_dict(), allow_nan=False)
    elif name.startswith("result"):
        saved.write(tmp_path / "a.json")
        text = (tmp_path / "a.json").read_text(encoding="utf-8")
    else:
        text = as_json(saved.to_dict())
    kind = name.split(",")[0]
    data = json.loads(text)
    assert data["format"] == f"rankstone {kind}"
    assert data["format_version"] == 1
    jsonschema.Draft202012Validator(schema(kind, capsys)).validate(data)


def test_every_format_has_a_schema(capsys):
    assert main(["schema"]) == 0
    names = capsys.readouterr().out.split()
    assert set(names) == {name.split(",")[0] for name in SAVED}
    for name in names:
        jsonschema.Draft202012Validator.check_schema(schema(name, capsys))


@pytest.mark.parametrize("name", [name for name in SAVED if name.startswith(("acc", "str", "onl"))])
def test_states_go_through_json(name):
    saved, again = SAVED[name](), SAVED[name]()
    again.reset()
    again.load_state_dict(json.loads(json.dumps(saved.state_dict(), allow_nan=False)))
    assert repr(again.compute()) == repr(saved.compute())


@pytest.mark.parametrize("name", ["accumulator", "stream", "online"])
@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"format_version": 2}, r"has version 2 of its format, and rankstone .* reads up to 1; upgrade rankstone"),
        ({"format_version": "1"}, "format_version is '1', not a number from 1"),
        ({"format": "rankstone result"}, "its format is 'rankstone result', not 'rankstone {name}'"),
    ],
)
def test_states_of_another_format(name, change, problem):
    saved = SAVED[name]()
    with pytest.raises(ValueError, match=problem.format(name=name)):
        saved.load_state_dict({**saved.state_dict(), **change})


# -- files that are not what they were -----------------------------------------------------------------------


def change(*path, to):
    def changed(data):
        part = data
        for name in path[:-1]:
            part = part[name]
        if to is ...:
            del part[path[-1]]
        else:
            part[path[-1]] = to

    return changed


def renamed(data):
    run = data["runs"]["run"]
    for name in ("means", "ties", "definitions", "per_query"):
        run[name]["best@2"] = run[name].pop("ndcg@2")
    run["definitions"]["best@2"]["metric"] = "best@2"


OF = ("runs", "run")
CHANGES = {
    "a mean": (change(*OF, "means", "rr", to=99), r"the mean of rr is 99\.0, but that of its values per query is"),
    "a value": (change(*OF, "per_query", "rr", 0, to=1), "the mean of rr is 0.33"),
    "text": (change(*OF, "means", "rr", to="0.9"), r"runs\.run\.means\.rr is '0\.9', which is not a number"),
    "text of a value": (change(*OF, "per_query", "rr", 1, to="0.9"), r"per_query\.rr\[1\] is '0\.9'"),
    "a flag": (change(*OF, "means", "rr", to=True), "means.rr is True, which is not a number"),
    "no mean": (change(*OF, "means", "rr", to=...), "ties is of ndcg@2, rr, precision@2, means of ndcg@2, precision@2"),
    "no means": (change(*OF, "means", to=...), r"runs\.run has no means"),
    "a list of means": (change(*OF, "means", to=[1]), r"runs\.run\.means is \[1\]; expected: type 'object'"),
    "one value less": (lambda data: data["runs"]["run"]["per_query"]["rr"].pop(), "one value for each of 3 queries"),
    "a query twice": (change(*OF, "queries", 1, to="x"), "a query occurs twice"),
    "a query of no type": (change(*OF, "queries", 1, to=None), r"queries\[1\] is None"),
    "an unknown metric": (renamed, "unknown metric 'best@2'"),
    "another metric": (change(*OF, "definitions", "rr", "metric", to="ap"), "'rr' has the definition of 'ap'"),
    "a range": (change(*OF, "ties", "rr", "lowest", to=0.9), "outside of 0.9 to 0.5"),
    "a count": (change(*OF, "account", "judged", to=-3), "account.judged is -3"),
    "half a query": (change(*OF, "account", "missing", to=0.5), "account.missing is 0.5"),
    "an unknown entry": (change(*OF, "account", "lost", to=3), "account.lost is unknown"),
    "a later version": (change(*OF, "versions", "rankstone", to="9.0.0"), r"rankstone 9\.0\.0 wrote it, and this is"),
    "no version": (change(*OF, "versions", "rankstone", to="new"), "versions.rankstone is 'new', not a version"),
    "a later format": (change("format_version", to=2), "version 2 of its format"),
    "another format": (change("format", to="rankstone check"), "its format is 'rankstone check'"),
    "no runs": (change("runs", to={}), "it has no runs"),
    "runs in a list": (change("runs", to=[]), "runs is"),
}  # fmt: skip


@pytest.mark.parametrize("name", CHANGES)
def test_a_changed_file_is_refused(name, tmp_path):
    changed, problem = CHANGES[name]
    rs.evaluate(TRUTH, RUN, METRICS).write(tmp_path / "a.json")
    assert rs.read_result(tmp_path / "a.json")["rr"] == pytest.approx((1 / 2 + 1 / 2 + 0) / 3)
    data = json.loads((tmp_path / "a.json").read_text(encoding="utf-8"))
    changed(data)
    (tmp_path / "a.json").write_text(json.dumps(data), encoding="utf-8")
    with pytest.raises(rs.errors.FileError, match=problem):
        rs.read_result(tmp_path / "a.json")


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ('{"runs": ' * 100_000, "nested too deeply"),
        ("[" * 100_000, "nested too deeply"),
        ('{"runs": {}, "runs": {}}', "an object has twice the key 'runs'"),
        ('{"runs": {"run": {"means": {"rr": NaN}}}}', "NaN is not JSON"),
        ("[]", r"it is \[\]"),
        ("{}", "it has no runs"),
    ],
)
def test_a_file_that_is_no_result(text, problem, tmp_path):
    (tmp_path / "a.json").write_text(text, encoding="utf-8")
    with pytest.raises(rs.errors.FileError, match=rf"a\.json: is not a result that rankstone wrote.*{problem}"):
        rs.read_result(tmp_path / "a.json")


def test_a_gate_with_a_changed_baseline(tmp_path):
    rs.evaluate(TRUTH, RUN, "rr").write(tmp_path / "base.json")
    text = (tmp_path / "base.json").read_text(encoding="utf-8")
    data = json.loads(text)
    data["runs"]["run"]["means"]["rr"] = 0.01
    (tmp_path / "base.json").write_text(json.dumps(data), encoding="utf-8")
    gates = {"truth": TRUTH, "candidate": OTHER, "gate": [{"metric": "rr", "not_worse_than": 0.1}]}
    with pytest.raises(rs.errors.FileError, match=r"the mean of rr is 0\.01, but"):
        rs.check(gates, baseline=str(tmp_path / "base.json"))


def test_ids_that_are_tuples_go_through_json():
    saved, again = rs.Accumulator("rr"), rs.Accumulator("rr")
    saved.update({("x", 1): {"a": 1}}, {("x", 1): ["b", "a"]})
    again.load_state_dict(json.loads(json.dumps(saved.state_dict())))
    assert again.compute().queries == [("x", 1)]
    assert again.compute()["rr"] == 1 / 2


def test_gates_that_are_nested_too_deeply(tmp_path):
    (tmp_path / "gates.toml").write_text("gate = " + "[" * 100_000, encoding="utf-8")
    with pytest.raises(rs.errors.GatesError, match="is no TOML file"):
        rs.check(tmp_path / "gates.toml")
