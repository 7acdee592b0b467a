"""scikit-learn: a search for the best depth of a tree by nDCG@10. Usage: python train_scikit_learn.py [letor file]"""

import sklearn
from ranking import load
from sklearn.model_selection import GridSearchCV, GroupKFold
from sklearn.tree import DecisionTreeRegressor

import rankstone as rs

sklearn.set_config(enable_metadata_routing=True)  # so that groups reach the scorer
train, valid = load()
scorer = rs.integrations.scorer("ndcg@10")
search = GridSearchCV(
    DecisionTreeRegressor(random_state=0),
    {"max_depth": [2, 4, 8]},
    scoring=scorer,
    cv=GroupKFold(3),
)
search.fit(train.rows, train.labels, groups=train.queries)
for depth, score in zip((2, 4, 8), search.cv_results_["mean_test_score"], strict=True):
    print(f"depth {depth}: {score:.4f}")
print(f"validation: {search.score(valid.rows, valid.labels, groups=valid.queries):.4f}")
