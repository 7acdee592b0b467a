"""The public names, each with the module that has it: type checkers and `__init__.py`, which loads them, read this."""

from rankstone import arrays as arrays
from rankstone import authoring as authoring
from rankstone import errors as errors
from rankstone import fusion as fusion
from rankstone import integrations as integrations
from rankstone import offpolicy as offpolicy
from rankstone import spark as spark
from rankstone import splits as split  # noqa: F401
from rankstone import sql as sql
from rankstone import statistics as statistics
from rankstone import testing as testing
from rankstone import typing as typing
from rankstone.audit.audit import audit as audit
from rankstone.cli.verify_command import verify as verify
from rankstone.compare.check import check as check
from rankstone.compare.compare import compare as compare
from rankstone.compare.compare import sample_size as sample_size
from rankstone.compare.comparison import Comparison as Comparison
from rankstone.compare.score_files import read_scores as read_scores
from rankstone.compile import compile_metrics as compile  # noqa: A004, F401
from rankstone.conventions.choices import CHOICES as choices  # noqa: F401, N811
from rankstone.conventions.convention import conventions as conventions
from rankstone.data.columns import columns as columns
from rankstone.data.example import example as example
from rankstone.data.files import read_run as read_run
from rankstone.data.files import read_truth as read_truth
from rankstone.data.lists import lists as lists
from rankstone.data.side_info import catalogue as catalogue
from rankstone.evaluate.accumulate import Accumulator as Accumulator
from rankstone.evaluate.confusion import confusion as confusion
from rankstone.evaluate.evaluate import Evaluator as Evaluator
from rankstone.evaluate.evaluate import evaluate as evaluate
from rankstone.evaluate.online import Online as Online
from rankstone.evaluate.result_file import read_result as read_result
from rankstone.evaluate.roc import roc_curve as roc_curve
from rankstone.evaluate.stream import Stream as Stream
from rankstone.evaluate.unanswerable import answer_threshold as answer_threshold
from rankstone.evaluate.unanswerable import risk_coverage as risk_coverage
from rankstone.explain.explain import explain as explain
from rankstone.explain.identify import identify as identify
from rankstone.explain.sampled_metrics import sampled_metrics as sampled_metrics
from rankstone.fusion import fuse as fuse
from rankstone.fusion.pool import pool as pool
from rankstone.interleaving.analysis import interleaving as interleaving
from rankstone.interleaving.designs import interleave as interleave
from rankstone.judges.agreement import agreement as agreement
from rankstone.judges.judge_next import judge_next as judge_next
from rankstone.judges.merge_judgements import merge_judgements as merge_judgements
from rankstone.metrics.gains import ndcg as ndcg
from rankstone.metrics.precision import ap as ap
from rankstone.metrics.precision import rr as rr
from rankstone.metrics.registry import Metric
from rankstone.metrics.registry import metric as metric
from rankstone.metrics.registry import metrics as metrics
from rankstone.metrics.sets import hit_rate as hit_rate
from rankstone.metrics.sets import precision as precision
from rankstone.metrics.sets import recall as recall
from rankstone.results.definition import define as define
from rankstone.results.result import Result as Result
from rankstone.results.side_files import write_run as write_run
from rankstone.results.side_files import write_truth as write_truth
from rankstone.version import __version__ as __version__

def __getattr__(name: str) -> Metric: ...  # any other metric, by its name
