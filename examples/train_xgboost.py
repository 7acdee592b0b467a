"""XGBoost, stopped early by rankstone's nDCG@10. Usage: python train_xgboost.py [letor file]"""

import xgboost as xgb
from ranking import load

import rankstone as rs

train, valid = load()
data, check = (xgb.DMatrix(part.rows, part.labels, qid=part.queries) for part in (train, valid))
record = {}
model = xgb.train(
    {"objective": "rank:ndcg", "eval_metric": "ndcg@10", "eta": 0.1, "max_depth": 4},
    data,
    num_boost_round=200,
    evals=[(check, "valid")],
    custom_metric=rs.integrations.xgboost(["ndcg@10", "rr"]),
    callbacks=[
        xgb.callback.EarlyStopping(rounds=20, metric_name="rs.ndcg@10(xgboost)", data_name="valid", maximize=True)
    ],
    evals_result=record,
    verbose_eval=10,
)
best = model.best_iteration
ours, theirs = record["valid"]["rs.ndcg@10(xgboost)"][best], record["valid"]["ndcg@10"][best]
print(f"iteration {best}: rankstone {ours:.6f}, XGBoost {theirs:.6f}")
