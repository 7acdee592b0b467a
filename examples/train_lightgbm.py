"""LightGBM, stopped early by rankstone's nDCG@10. Usage: python train_lightgbm.py [letor file]"""

import lightgbm as lgb
from ranking import load

import rankstone as rs

train, valid = load()
data = lgb.Dataset(train.rows, train.labels, group=train.sizes)
check = data.create_valid(valid.rows, valid.labels, group=valid.sizes)
model = lgb.train(
    # metric="None": no other metric than ours; with "ndcg" LightGBM's own would be printed too, with the same value.
    {"objective": "lambdarank", "metric": "None", "learning_rate": 0.05, "min_data_in_leaf": 10, "verbose": -1},
    data,
    num_boost_round=200,
    valid_sets=[check],
    feval=rs.integrations.lightgbm(["ndcg@10", "ap", "rr"]),
    callbacks=[lgb.log_evaluation(10), lgb.early_stopping(20, first_metric_only=True, verbose=False)],
)
best = model.best_score["valid_0"]
print(f"iteration {model.best_iteration}: " + ", ".join(f"{name} {value:.4f}" for name, value in best.items()))
