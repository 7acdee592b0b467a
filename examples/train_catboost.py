"""CatBoost, stopped early by rankstone's nDCG@10. Usage: python train_catboost.py [letor file]"""

from catboost import CatBoost, Pool
from ranking import load

import rankstone as rs

train, valid = load()
data, check = (Pool(part.rows, part.labels, group_id=part.queries) for part in (train, valid))
model = CatBoost(
    {
        "loss_function": "YetiRank",
        "iterations": 200,
        "eval_metric": rs.integrations.catboost("ndcg@10", data, check),
        "custom_metric": ["NDCG:top=10"],
        "early_stopping_rounds": 20,
        "allow_writing_files": False,
    }
)
model.fit(data, eval_set=check, verbose=10)
best, record = model.get_best_iteration(), model.get_evals_result()["validation"]
theirs = next(values for name, values in record.items() if name.startswith("NDCG:top=10"))
print(f"iteration {best}: rankstone {record['rs.ndcg@10 (catboost)'][best]:.6f}, CatBoost {theirs[best]:.6f}")
