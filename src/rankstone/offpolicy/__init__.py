"""Off-policy (counterfactual) evaluation: the value of another policy, estimated from logged lists and feedback."""

from rankstone.offpolicy.estimate import OffPolicyResult, estimate
from rankstone.offpolicy.estimators import Estimator, estimator, estimators
from rankstone.offpolicy.logged_data import LoggedData

__all__ = ["Estimator", "LoggedData", "OffPolicyResult", "estimate", "estimator", "estimators"]
