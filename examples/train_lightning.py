"""A Lightning module that logs, and stops early by, an `rs.integrations.TorchMetric`.

Usage: python train_lightning.py [letor file]
"""

import logging
import warnings

import lightning
import torch
from lightning.pytorch.callbacks import EarlyStopping
from ranking import load
from torch.utils.data import DataLoader

import rankstone as rs

warnings.filterwarnings("ignore", module="lightning")
logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)

STOP = "rs.ndcg@10 (torchmetrics)"


class Ranker(lightning.LightningModule):
    """A small network that gives each row a score."""

    def __init__(self, features: int) -> None:
        super().__init__()
        self.net = torch.nn.Sequential(torch.nn.Linear(features, 32), torch.nn.ReLU(), torch.nn.Linear(32, 1))
        self.ranking = rs.integrations.TorchMetric(["ndcg@10", "rr"])

    def training_step(self, batch, _):
        rows, labels, _ = batch
        scores = self.net(rows).squeeze(-1)
        gains = 2**labels - 1
        return -(gains / gains.sum().clamp(min=1) * scores.log_softmax(0)).sum()

    def validation_step(self, batch, _):
        rows, labels, query = batch
        self.ranking.update(self.net(rows).squeeze(-1), labels, indexes=query)
        self.log_dict(self.ranking, prog_bar=True)  # Lightning computes and resets it when the epoch ends

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters(), lr=0.001)


def queries(part):
    """One query at a time: its rows, its labels, and its query number in each row."""
    rows = torch.tensor(part.rows, dtype=torch.float32).split(part.sizes.tolist())
    labels = torch.tensor(part.labels, dtype=torch.float32).split(part.sizes.tolist())
    numbers = torch.tensor(part.queries).split(part.sizes.tolist())
    return DataLoader(list(zip(rows, labels, numbers, strict=True)), batch_size=None)


lightning.seed_everything(0, verbose=False)
train, valid = load()
trainer = lightning.Trainer(
    max_epochs=15,
    accelerator="cpu",
    callbacks=[EarlyStopping(STOP, mode="max", patience=3)],
    logger=False,
    enable_checkpointing=False,
    enable_progress_bar=False,
    enable_model_summary=False,
)
trainer.fit(Ranker(train.rows.shape[1]), queries(train), queries(valid))
print(f"epoch {trainer.current_epoch}: {STOP} {trainer.callback_metrics[STOP]:.4f}")
