"""`rs.integrations.TorchMetric`: as torchmetrics' own, in Lightning, and over two processes."""

import pickle
import re
import subprocess
import sys
import textwrap

import numpy as np
import pytest

import rankstone as rs
from tests.effort import PATIENCE

torch = pytest.importorskip("torch")
pytest.importorskip("torchmetrics")

from torchmetrics import MetricCollection, retrieval  # noqa: E402

METRICS = ["ndcg@5", "ap", "rr", "precision@5", "recall@5", "hit_rate@5"]


def batches(queries=40, items=12, seed=0, grades=4):
    random = np.random.default_rng(seed)
    labels = random.integers(0, grades, (queries, items)) * (random.random((queries, items)) < 0.4)
    labels[:3] = 0  # nothing relevant
    return torch.from_numpy(random.random((queries, items), dtype=np.float32)), torch.from_numpy(labels)


def want(preds, labels, metrics=METRICS, **choices):
    return dict(rs.evaluate(labels.numpy(), preds.numpy(), metrics, convention="torchmetrics", **choices))


def values(found):
    """The numbers by metric. Their names say whose definition it is."""
    whose = re.compile(r"rs\.(.*) \(torchmetrics\)")
    return {whose.fullmatch(name)[1]: float(value) for name, value in found.items()}


@pytest.mark.parametrize("choices", [{}, {"averaging": "micro"}, {"no_relevant": "skip"}], ids=str)
def test_batches_in_both_styles_are_the_whole(choices):
    preds, labels = batches()
    rows = torch.arange(40).repeat_interleave(12)
    matrices, indexed = (rs.integrations.TorchMetric(METRICS, **choices) for _ in range(2))
    for half in (slice(0, 13), slice(13, 40)):
        matrices.update(preds[half], labels[half])
    for part in torch.randperm(480, generator=torch.Generator().manual_seed(1)).split(100):  # queries in pieces
        indexed.update(preds.flatten()[part], labels.flatten()[part], indexes=rows[part])
    expected = want(preds, labels, **choices)
    assert values(matrices.compute()) == pytest.approx(expected, rel=1e-12)
    assert values(indexed.compute()) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        ("ndcg@5", retrieval.RetrievalNormalizedDCG(top_k=5)),
        ("ndcg", retrieval.RetrievalNormalizedDCG()),
        ("ap", retrieval.RetrievalMAP()),
        ("ap@5", retrieval.RetrievalMAP(top_k=5)),
        ("rr", retrieval.RetrievalMRR()),
        ("precision@5", retrieval.RetrievalPrecision(top_k=5)),
        ("recall@5", retrieval.RetrievalRecall(top_k=5)),
        ("hit_rate@3", retrieval.RetrievalHitRate(top_k=3)),
        ("r_precision", retrieval.RetrievalRPrecision()),
    ],
    ids=str,
)
def test_torchmetrics_own_number(ours, theirs):
    """It computes in float32, so 7 digits are all there is to compare."""
    preds, labels = batches(seed=5, grades=4 if ours.startswith("ndcg") else 2)
    rows = torch.arange(40).repeat_interleave(12)
    metric = rs.integrations.TorchMetric(ours)
    for both in (metric, theirs):
        both.update(preds.flatten(), labels.flatten(), indexes=rows)
    assert float(metric.compute()) == pytest.approx(float(theirs.compute()), abs=5e-7)


def test_one_number_or_several_by_name():
    preds, labels = batches()
    one = rs.integrations.TorchMetric(rs.ndcg @ 5)
    assert float(one(preds[:7], labels[:7])) == pytest.approx(want(preds[:7], labels[:7])["ndcg@5"])  # of the batch
    assert float(one(preds[7:], labels[7:])) == pytest.approx(want(preds[7:], labels[7:])["ndcg@5"])
    assert float(one.compute()) == pytest.approx(want(preds, labels)["ndcg@5"], rel=1e-12)
    one.reset()
    one.update(preds[:2], labels[:2])
    assert float(one.compute()) == pytest.approx(want(preds[:2], labels[:2])["ndcg@5"])
    assert one.higher_is_better is True
    assert rs.integrations.TorchMetric("mae").higher_is_better is False
    assert rs.integrations.TorchMetric(["mae", "rr"]).higher_is_better is None


def test_masks_bfloat16_errors_and_pickles():
    preds, labels = batches()
    mask = torch.from_numpy(np.random.default_rng(2).random((40, 12)) < 0.7)
    metric = rs.integrations.TorchMetric(["ndcg@5", "rmse"])
    metric.update(preds, labels, mask=mask)
    expected = rs.evaluate(
        labels.numpy(), preds.numpy(), ["ndcg@5", "rmse"], mask=mask.numpy(), convention="torchmetrics"
    )
    assert values(pickle.loads(pickle.dumps(metric)).compute()) == pytest.approx(dict(expected), rel=1e-12)
    rows = torch.arange(40)[:, None].expand(40, 12)
    metric.reset()
    metric.update(preds, labels, indexes=rows, mask=mask)
    assert values(metric.compute()) == pytest.approx(dict(expected), rel=1e-12)
    coarse = rs.integrations.TorchMetric("ndcg@5", ties="input")
    coarse.update(preds.bfloat16(), labels)
    assert float(coarse.compute()) == pytest.approx(want(preds.bfloat16().float(), labels, ties="input")["ndcg@5"])


def test_in_a_collection():
    preds, labels = batches()
    collection = MetricCollection(
        {"ndcg": rs.integrations.TorchMetric("ndcg@5"), "rr": rs.integrations.TorchMetric("rr")}
    )
    collection.update(preds, labels)
    expected = want(preds, labels)
    found = {name: float(value) for name, value in collection.compute().items()}
    assert found == pytest.approx({"ndcg": expected["ndcg@5"], "rr": expected["rr"]})


@pytest.mark.parametrize("rows", [False, True], ids=["matrices", "rows"])
def test_in_a_collection_without_names(rows):
    """Two metrics that have the same numbers at first are two all the same."""
    preds = torch.tensor([[3.0, 2.0, 1.0], [3.0, 2.0, 1.0]])
    labels = torch.tensor([[1, 0, 0], [0, 1, 0]])  # the first has 1 by either metric, the second 1 and 1/2
    collection = MetricCollection([rs.integrations.TorchMetric(m) for m in ("hit_rate@5", "rr", "rbp(p=0.8)")])
    for at in range(2):
        indexes = torch.full((1, 3), at) if rows else None
        collection.update(preds[at : at + 1], labels[at : at + 1], indexes=indexes)
    for found in (collection, pickle.loads(pickle.dumps(collection)), collection.clone()):
        assert {name: float(value) for name, value in found.compute().items()} == pytest.approx({
            "rs_hit_rate@5 (torchmetrics)": 1,
            "rs_rr (torchmetrics)": (1 + 1 / 2) / 2,
            "rs_rbp(p=0_8) (torchmetrics)": (0.2 + 0.2 * 0.8) / 2,
        })  # fmt: skip


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        ((torch.ones(3), torch.ones(3)), "without indexes, preds are a matrix of one row per query, not 1-dimensional"),
        ((torch.ones(3), torch.ones(2), torch.ones(3)), r"preds have shape \(3,\) but target \(2,\)"),
        ((torch.ones(3), torch.ones(3), torch.ones(2)), r"preds have shape \(3,\) but indexes \(2,\)"),
        ((torch.ones(3), torch.ones(3), torch.ones(3)), "indexes are torch.float32; they must be whole numbers"),
    ],
)
def test_what_is_no_batch(given, problem):
    with pytest.raises((ValueError, TypeError), match=problem):
        rs.integrations.TorchMetric("rr").update(*given)


def test_what_cannot_be_summed():
    with pytest.raises(ValueError, match="averaging='weighted' needs weights"):
        rs.integrations.TorchMetric("rr", averaging="weighted")
    with pytest.raises(ValueError, match="err uses the highest grade over all queries"):
        rs.integrations.TorchMetric("err")


# -- processes -----------------------------------------------------------------------------------------------

RANK = """
    import sys
    import numpy as np
    import torch
    import torch.distributed as dist
    import rankstone as rs

    path, rank = sys.argv[1], int(sys.argv[2])
    dist.init_process_group("gloo", init_method=f"file://{path}/meet", rank=rank, world_size=2)
    data = np.load(f"{path}/data.npz")
    preds, labels = torch.from_numpy(data["preds"]), torch.from_numpy(data["labels"])
    rows = torch.arange(len(preds)).repeat_interleave(preds.shape[1])
    shares = {"matrices": [slice(0, 29), slice(29, 40)], "only one": [slice(0, 40), slice(0, 0)]}
    for averaging in ("macro", "micro"):
        for name, share in shares.items():
            metric = rs.integrations.TorchMetric(["ndcg@5", "ap", "recall@5"], averaging=averaging)
            part_preds, part_labels = preds[share[rank]], labels[share[rank]]
            for start in range(0, len(part_preds), 10):
                metric.update(part_preds[start : start + 10], part_labels[start : start + 10])
            for label, value in metric.compute().items():
                print(f"{averaging} {name}|{label}|{float(value)!r}")
        metric = rs.integrations.TorchMetric(["ndcg@5", "ap", "recall@5"], averaging=averaging)
        mine = torch.arange(len(rows)) % 3 == 0 if rank else torch.arange(len(rows)) % 3 != 0  # queries in pieces
        for part in torch.arange(len(rows))[mine].split(100):
            metric.update(preds.flatten()[part], labels.flatten()[part], indexes=rows[part])
        for label, value in metric.compute().items():
            print(f"{averaging} rows|{label}|{float(value)!r}")
        metric = rs.integrations.TorchMetric(["ndcg@5", "ap", "recall@5"], averaging=averaging)
        if rank == 1:
            metric.update(preds.flatten(), labels.flatten(), indexes=rows)
        for label, value in metric.compute().items():
            print(f"{averaging} rows of one|{label}|{float(value)!r}")
    dist.destroy_process_group()
"""


def test_two_processes(tmp_path):
    preds, labels = batches()
    np.savez(tmp_path / "data.npz", preds=preds.numpy(), labels=labels.numpy())
    script = tmp_path / "rank.py"
    script.write_text(textwrap.dedent(RANK))
    ranks = [
        subprocess.Popen(
            [sys.executable, script, tmp_path, str(rank)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        for rank in range(2)
    ]
    printed = [rank.communicate(timeout=PATIENCE) for rank in ranks]
    assert [rank.returncode for rank in ranks] == [0, 0], printed
    for out, _ in printed:
        lines = [line.split("|") for line in out.splitlines() if line.startswith(("macro", "micro"))]
        assert len(lines) == 2 * 4 * 3
        for how, label, value in lines:
            expected = want(preds, labels, ["ndcg@5", "ap", "recall@5"], averaging=how.split()[0])
            assert values({label: value}) == pytest.approx({m: expected[m] for m in values({label: 0})}, rel=1e-12), how


def at_the_end(module, *batch):
    module.ranking.update(*batch)


def as_an_object(module, *batch):
    module.ranking.update(*batch)
    module.log_dict(module.ranking)


def one_by_one(module, *batch):
    for metric in (module.first, module.second):
        metric.update(*batch)
    module.log("rs.ndcg@5 (torchmetrics)", module.first)
    module.log("rs.rr (torchmetrics)", module.second)


def each_batch(module, *batch):
    module.ranking(*batch)
    module.log_dict(module.ranking, on_step=True, on_epoch=True)


@pytest.mark.filterwarnings("ignore")  # Lightning has warnings of its own
@pytest.mark.parametrize("step", [at_the_end, as_an_object, one_by_one, each_batch])
def test_lightning_logs_it(step):
    lightning = pytest.importorskip("lightning")
    preds, labels = batches()

    class Model(lightning.LightningModule):
        def __init__(self):
            super().__init__()
            self.weight = torch.nn.Parameter(torch.ones(()))
            self.ranking = rs.integrations.TorchMetric(["ndcg@5", "rr"])
            self.first, self.second = rs.integrations.TorchMetric("ndcg@5"), rs.integrations.TorchMetric("rr")

        def validation_step(self, batch, _):
            step(self, self.weight * batch[0], batch[1])

        def on_validation_epoch_end(self):
            if step is at_the_end:
                self.log_dict(self.ranking.compute())
                self.ranking.reset()

    data = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(preds, labels), batch_size=16)
    trainer = lightning.Trainer(
        accelerator="cpu", devices=1, logger=False, enable_checkpointing=False, enable_progress_bar=False,
        enable_model_summary=False,
    )  # fmt: skip
    model = Model()
    for _ in range(2):  # the second time from the start
        (found,) = trainer.validate(model, data, verbose=False)
        found = {name.replace("_epoch", ""): value for name, value in found.items()}
        expected = want(preds, labels, ["ndcg@5", "rr"])
        assert values(found) == pytest.approx(expected, rel=1e-6)  # Lightning logs float32
    if step is each_batch:
        last = want(preds[32:], labels[32:], ["ndcg@5", "rr"])
        assert float(model.ranking(preds[32:], labels[32:])["rs.rr (torchmetrics)"]) == pytest.approx(last["rr"])


LIGHTNING = """
    import sys
    import lightning
    import numpy as np
    import torch
    import rankstone as rs

    data = np.load(f"{sys.argv[1]}/data.npz")

    class Model(lightning.LightningModule):
        def __init__(self):
            super().__init__()
            self.weight = torch.nn.Parameter(torch.ones(()))
            self.ranking = rs.integrations.TorchMetric(["ndcg@5", "recall@5"], averaging=sys.argv[2])

        def validation_step(self, batch, _):
            self.ranking.update(self.weight * batch[0], batch[1])

        def on_validation_epoch_end(self):
            for label, value in self.ranking.compute().items():
                print(f"{label}|{float(value)!r}\\n", end="", flush=True)

    dataset = torch.utils.data.TensorDataset(*(torch.from_numpy(data[name]) for name in ("preds", "labels")))
    trainer = lightning.Trainer(
        accelerator="cpu", devices=2, strategy="ddp", logger=False, enable_checkpointing=False,
        enable_progress_bar=False, enable_model_summary=False,
    )
    trainer.validate(Model(), torch.utils.data.DataLoader(dataset, batch_size=8), verbose=False)
"""


@pytest.mark.service("training")
@pytest.mark.parametrize("averaging", ["macro", "micro"])
def test_lightning_over_two_processes(tmp_path, averaging):
    pytest.importorskip("lightning")
    preds, labels = batches()
    np.savez(tmp_path / "data.npz", preds=preds.numpy(), labels=labels.numpy())
    script = tmp_path / "fit.py"
    script.write_text(textwrap.dedent(LIGHTNING))
    done = subprocess.run(
        [sys.executable, script, tmp_path, averaging], capture_output=True, text=True, timeout=PATIENCE
    )
    assert done.returncode == 0, done.stderr
    found = sorted(line.split("|") for line in done.stdout.splitlines() if line.startswith("rs."))
    assert len(found) == 2 * 2
    expected = want(preds, labels, ["ndcg@5", "recall@5"], averaging=averaging)
    for process in (found[::2], found[1::2]):  # the lines of two processes come in any order
        assert values(dict(process)) == pytest.approx(expected, rel=1e-12)


def test_ids_of_the_first_items_and_ragged_truth():
    """1/1 and 1/2; the third list has none of its relevant items, and the last id of the second is padding."""
    metric = rs.integrations.TorchMetric(["rr", "recall@3"], convention="rankstone")
    first = torch.tensor([[4, 7, 1], [9, 3, 0]])
    metric.update(first, [torch.tensor([4, 1, 8]), [3, 0]], mask=torch.tensor([[True] * 3, [True, True, False]]))
    metric.update(torch.tensor([[5, 6, 2]]), [[1]])
    rr, recall = map(float, metric.compute().values())
    assert (rr, recall) == pytest.approx(((1 + 1 / 2 + 0) / 3, (2 / 3 + 1 / 2 + 0) / 3))
    with pytest.raises(ValueError, match="reads returned items only"):
        rs.integrations.TorchMetric("recall@3").update(first, [[4], [9]])
    with pytest.raises(ValueError, match="preds must be a matrix of ids, one row per query"):
        metric.update(first.double(), [[4], [9]])
