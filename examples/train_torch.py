"""A plain PyTorch loop with an `rs.Accumulator`. Usage: python train_torch.py [letor file]"""

import torch
from ranking import load
from torch.nn.utils.rnn import pad_sequence

import rankstone as rs

torch.manual_seed(0)


def batches(part, size=16):
    """Queries side by side, the shorter ones filled up; the mask is True where there is a row."""
    rows = torch.tensor(part.rows, dtype=torch.float32).split(part.sizes.tolist())
    labels = torch.tensor(part.labels, dtype=torch.float32).split(part.sizes.tolist())
    for at in range(0, len(rows), size):
        mask = pad_sequence([torch.ones(len(one), dtype=torch.bool) for one in labels[at : at + size]], True)
        yield pad_sequence(rows[at : at + size], True), pad_sequence(labels[at : at + size], True), mask


train, valid = load()
model = torch.nn.Sequential(torch.nn.Linear(train.rows.shape[1], 32), torch.nn.ReLU(), torch.nn.Linear(32, 1))
optimizer = torch.optim.Adam(model.parameters(), lr=0.003)
ranking = rs.Accumulator(["ndcg@10", "ap", "rr"], keep=False)
best, since = 0.0, 0
for epoch in range(40):
    for rows, labels, mask in batches(train):
        scores = model(rows).squeeze(-1).masked_fill(~mask, -torch.inf)
        gains = (2**labels - 1) * mask
        # The cross-entropy of scores and gains, query by query.
        loss = -(gains / gains.sum(1, keepdim=True).clamp(min=1) * scores.log_softmax(1).masked_fill(~mask, 0)).sum(1)
        optimizer.zero_grad()
        loss.mean().backward()
        optimizer.step()
    ranking.reset()
    with torch.no_grad():
        for rows, labels, mask in batches(valid):
            ranking.update(labels, model(rows).squeeze(-1), mask=mask)
    found = ranking.compute()
    if epoch % 5 == 0:
        print(f"epoch {epoch}: " + ", ".join(f"{name} {value:.4f}" for name, value in found.items()))
    best, since = (found["ndcg@10"], 0) if found["ndcg@10"] > best else (best, since + 1)
    if since == 8:
        break
print(f"best ndcg@10: {best:.4f}, stopped after epoch {epoch}")
