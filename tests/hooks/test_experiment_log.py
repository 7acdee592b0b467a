"""Results in experiment trackers, and the evaluator of MLflow."""

import re

import pytest

import rankstone as rs

TRUTH = {"q1": {"a": 1}, "q2": {"a": 2, "c": 1}}
RUN = {"q1": {"b": 0.9, "a": 0.5}, "q2": {"a": 0.8, "d": 0.2, "c": 0.1}}
NAMES = {"ndcg_at_10": "ndcg@10", "rr": "rr", "rbp_p_0.5": "rbp(p=0.5)"}


@pytest.fixture(scope="module")
def result():
    return rs.evaluate(TRUTH, RUN, list(NAMES.values()))


class OneByOne:
    def __init__(self):
        self.calls, self.files = [], {}

    def log_metric(self, name, value, step=None):
        self.calls.append((name, value, step))

    def log_artifact(self, path):
        with open(path, encoding="utf-8") as file:
            self.files[re.split(r"[\\/]", path)[-1]] = file.read()


def test_one_by_one(result):
    tracker = OneByOne()
    logged = rs.integrations.log(result, tracker, prefix="test/", step=3)
    assert logged == {f"test/{name}": result[label] for name, label in NAMES.items()}
    assert tracker.calls == [(name, mean, 3) for name, mean in logged.items()]
    assert list(tracker.files) == ["test_per_query.csv", "test_report.html"]
    assert tracker.files["test_per_query.csv"].startswith("query,ndcg@10,rr,rbp(p=0.5)\nq1,")
    assert "<!doctype html>" in tracker.files["test_report.html"].lower()


def test_without_files(result):
    tracker = OneByOne()
    rs.integrations.log(result, tracker, artifacts=False)
    assert tracker.files == {}
    assert [step for _, _, step in tracker.calls] == [None] * 3


def test_a_target_without_methods(result):
    with pytest.raises(TypeError, match="list has no method log_metric, log, add_scalar"):
        rs.integrations.log(result, [])


def test_two_metrics_of_one_name():
    result = rs.evaluate(TRUTH, RUN, ["rbp(p=0.5)", "rbp(p=0.5)@2"])
    assert set(rs.integrations.log(result, OneByOne())) == {"rbp_p_0.5", "rbp_p_0.5_at_2"}
    both = {"a(b)": 1.0, "a[b]": 2.0}
    with pytest.raises(ValueError, match="two metrics would be logged as 'a_b'"):
        rs.integrations.log(both, OneByOne(), artifacts=False)


@pytest.mark.peers
class TestTrackers:
    pytestmark = pytest.mark.filterwarnings("ignore")  # theirs

    @pytest.fixture(scope="class")  # its database is slow to make
    def mlflow(self, tmp_path_factory):
        mlflow = pytest.importorskip("mlflow", reason="mlflow is not installed")
        before, tmp_path = mlflow.get_tracking_uri(), tmp_path_factory.mktemp("mlflow")
        mlflow.set_tracking_uri(f"sqlite:///{tmp_path}/runs.db")
        mlflow.create_experiment("test", artifact_location=(tmp_path / "artifacts").as_uri())
        mlflow.set_experiment("test")
        yield mlflow
        while mlflow.active_run():
            mlflow.end_run()
        mlflow.set_tracking_uri(before)

    def test_mlflow(self, result, mlflow):
        with mlflow.start_run() as run:
            rs.integrations.log(result, mlflow, step=2)
        stored = mlflow.get_run(run.info.run_id)
        assert stored.data.metrics == pytest.approx({name: result[label] for name, label in NAMES.items()})
        files = mlflow.artifacts.list_artifacts(run_id=run.info.run_id)
        assert sorted(file.path for file in files) == ["per_query.csv", "report.html"]

    @pytest.fixture
    def registered(self, mlflow):
        """As the entry point of an installed rankstone does."""
        from mlflow.models.evaluation.evaluator_registry import _model_evaluation_registry as registry

        before = registry._registry.copy()
        registry.register("rankstone", rs.integrations.MlflowEvaluator)
        yield
        registry._registry = before

    def frame(self):
        pandas = pytest.importorskip("pandas")
        rows = {"id": ["q1", "q2"], "relevant": [["a"], ["a", "c"]], "returned": [["b", "a"], ["a", "d", "c"]]}
        return pandas.DataFrame(rows)

    def test_an_evaluation_of_mlflow(self, mlflow, registered):
        config = {"metrics": ["ndcg@10", "rr"], "query": "id"}
        asked = {
            "targets": "relevant",
            "model_type": "retriever",
            "evaluators": "rankstone",
            "evaluator_config": config,
        }
        ours = rs.evaluate(
            {"q1": ["a"], "q2": ["a", "c"]}, {"q1": ["b", "a"], "q2": ["a", "d", "c"]}, ["ndcg@10", "rr"]
        )
        with mlflow.start_run() as run:
            outcome = mlflow.models.evaluate(data=self.frame(), predictions="returned", **asked)
        assert outcome.metrics == pytest.approx({"ndcg_at_10": ours["ndcg@10"], "rr": 3 / 4})
        assert mlflow.get_run(run.info.run_id).data.metrics == pytest.approx(outcome.metrics)
        with mlflow.start_run():  # a function that retrieves
            outcome = mlflow.models.evaluate(lambda rows: rows["returned"], data=self.frame(), **asked)
        assert outcome.metrics["rr"] == 3 / 4

    def test_other_evaluations_are_not_changed(self, mlflow, registered):
        with mlflow.start_run():
            outcome = mlflow.models.evaluate(
                data=self.frame(), targets="relevant", predictions="returned", model_type="retriever"
            )
        assert "ndcg_at_3/mean" in outcome.metrics
        assert "ndcg@10" not in outcome.metrics
        assert "ndcg_at_10" not in outcome.metrics

    def test_wandb(self, result, tmp_path):
        wandb = pytest.importorskip("wandb", reason="wandb is not installed")
        with wandb.init(mode="offline", dir=tmp_path, project="test", settings=wandb.Settings(silent=True)) as run:
            rs.integrations.log(result, run)
            summary = dict(run.summary)
        assert {name: summary[name] for name in NAMES} == pytest.approx(
            {name: result[label] for name, label in NAMES.items()}
        )

    def test_tensorboard(self, result, tmp_path):
        pytest.importorskip("tensorboard", reason="tensorboard is not installed")
        board = pytest.importorskip("torch.utils.tensorboard", reason="torch is not installed")
        from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

        with board.SummaryWriter(tmp_path) as writer:
            rs.integrations.log(result, writer, step=4)
        events = EventAccumulator(str(tmp_path)).Reload()
        for name, label in NAMES.items():
            (event,) = events.Scalars(name)
            assert event.step == 4
            assert event.value == pytest.approx(result[label], rel=1e-6)
        assert "result/text_summary" in events.Tags()["tensors"]
