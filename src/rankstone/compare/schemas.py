"""The JSON Schemas of all that is saved, by name: `rankstone schema NAME`."""

from __future__ import annotations

from collections.abc import Mapping

from rankstone.compare.caveats import Caveat
from rankstone.compare.check import GateOutcome, GroupOutcome
from rankstone.compare.collections import CollectionDifference
from rankstone.compare.differences import Difference
from rankstone.compare.ledger import LedgerEntry
from rankstone.compare.pins import PinOutcome
from rankstone.evaluate import result_file
from rankstone.evaluate.variants import VariantDifference
from rankstone.results.definition import DEFINITION
from rankstone.results.difference_bounds import DifferenceBounds
from rankstone.results.reproduction import SCHEMA as REPRODUCTION
from rankstone.results.schema import (
    ANY,
    COUNT,
    FLAG,
    ID,
    OBJECT,
    REAL,
    TEXT,
    Schema,
    array,
    by_name,
    document,
    record,
    record_of,
)
from rankstone.statistics.prediction_powered import PredictionPowered

_NULL: Schema = {"type": "null"}
_TEXT_OR_NONE: Schema = {"type": ["string", "null"]}
_FLAG_OR_NONE: Schema = {"type": ["boolean", "null"]}
_NUMBERS = array(REAL)
_COUNTS = array(COUNT)
_CAVEATS = array(record_of(Caveat))
_DEFINITIONS = by_name(DEFINITION)


def _or_none(of: Schema) -> Schema:
    return {"anyOf": [of, _NULL]}


_EFFECT = record(dz=REAL, low=REAL, high=REAL, hedges=REAL, d_av=REAL)
_DIFFERENCE = record_of(
    Difference, {"bounds": record_of(DifferenceBounds), "machine": record_of(PredictionPowered)},
    direction={"enum": [-1, 0, 1]}, relative=REAL, superiority=REAL, effect=_EFFECT, caveats=_CAVEATS,
)  # fmt: skip
_COMPARISON = record(
    {"reproduce": REPRODUCTION},
    runs=array(TEXT), baseline=_TEXT_OR_NONE, metrics=array(TEXT), queries=COUNT, test=TEXT, correction=TEXT,
    confidence=REAL, margin={"anyOf": [REAL, by_name(REAL)]}, primary=_or_none(array(TEXT)),
    resamples=_or_none(COUNT), seed=_or_none({"type": "integer"}), means=by_name(by_name(REAL)),
    differences=array(_DIFFERENCE), notes=array(TEXT), definitions=_DEFINITIONS,
)  # fmt: skip
_COLLECTIONS = record(
    correction=TEXT, differences=array(record_of(CollectionDifference)), collections=by_name(OBJECT), notes=array(TEXT)
)
_VERDICT: Schema = {"enum": ["passed", "failed", "inconclusive"]}
_GATE = record_of(
    GateOutcome, verdict=_VERDICT, lost=array(record(query=ID, change=REAL)), groups=array(record_of(GroupOutcome)),
    caveats=_CAVEATS, summary=TEXT, notes=array(TEXT),
)  # fmt: skip
_PLACES = array(record(item=ID, rank=_or_none(COUNT)))
_PIN = record_of(
    PinOutcome, query=ID, verdict=_VERDICT, places=_PLACES, before=_or_none(_PLACES),
)  # fmt: skip
_CHECK = record(
    {"pins": array(_PIN), "reproduce": REPRODUCTION},
    verdict=_VERDICT, exit_code=COUNT, undecided=TEXT, confidence=REAL, ledger=_or_none(record_of(LedgerEntry)),
    gates=array(_GATE), notes=array(TEXT),
    definitions=_DEFINITIONS,
)  # fmt: skip
_WINDOW = record(
    start=REAL, end=REAL, confidence=REAL, anytime=_or_none(REAL), estimates=by_name(array(ANY)),
    counters=by_name(COUNT), definitions=_DEFINITIONS,
)  # fmt: skip
_LEDGER = record(truth=TEXT, candidate=TEXT, level=REAL, spending=TEXT, verdict=_VERDICT)
_VARIANTS = record(
    baseline=TEXT, run=TEXT, confidence=REAL, anytime=FLAG, differences=array(record_of(VariantDifference)),
    caveats=array(TEXT), definitions=_DEFINITIONS,
)  # fmt: skip

# -- states --------------------------------------------------------------------------------------------------


def _settings(optional: Mapping[str, Schema] | None = None, **more: Schema) -> Schema:
    return record(optional or {}, metrics=array(TEXT), choices=array(TEXT), side_info=array(_TEXT_OR_NONE), **more)


_SUBTOPICS = record(offsets=_COUNTS, subtopic=_COUNTS, grade=_NUMBERS, order=_COUNTS)
_ALIGNMENT = record(
    retrieved=_COUNTS, present=array(FLAG), truth_offsets=_COUNTS, truth_grades=_NUMBERS, placed_offsets=_COUNTS,
    rank=_COUNTS, grade=_NUMBERS, score=_NUMBERS, place=_COUNTS, above=_or_none(_COUNTS), tied=_or_none(_COUNTS),
    ordered_truth=FLAG, ordered_grades=FLAG,
    notes=_or_none(record(weight=_or_none(_NUMBERS), subtopics=_or_none(_SUBTOPICS))),
)  # fmt: skip
_FIRST = record(offsets=_COUNTS, rank=_or_none(_COUNTS), item=array(ID), score=_or_none(_NUMBERS))
_TERMS = {"tops": array(_NUMBERS), "bottoms": array(_NUMBERS), "counted": array(array(FLAG))}
_PARTIAL = record(
    {**_TERMS, "times": _NUMBERS, "segments": array(ANY)},
    ranked=array(_ALIGNMENT), ids=_or_none(array(ID)), weights=_or_none(_NUMBERS), extra=array(ID), dropped=COUNT,
    firsts=array(_FIRST), judged=FLAG,
)  # fmt: skip
_ACCUMULATOR = record(
    {"scale": COUNT},
    settings=_settings(keep=FLAG), queries=COUNT, named=_FLAG_OR_NONE, ordered=_FLAG_OR_NONE, ids=array(ID),
    sums=array(array(ANY)), pieces=array(_PARTIAL), extra_pieces=array(_PARTIAL),
)  # fmt: skip
_STREAM = record(
    {"rows": COUNT},
    settings=_settings(truth=_TEXT_OR_NONE), finds=array(OBJECT), counts=array(OBJECT), found=array(TEXT),
    counted=array(TEXT), counting=FLAG, extra=_or_none(array(ID)), firsts=array({"type": ["object", "null"]}),
)  # fmt: skip
_SEGMENTS: Schema = {"anyOf": [_TEXT_OR_NONE, array(TEXT)]}
_ONLINE = record(
    settings=_settings({"clusters": TEXT}, window=REAL, horizon=REAL, half_life=REAL, by=_SEGMENTS), clock=REAL,
    times=_TEXT_OR_NONE, scored=FLAG, lists=array(array(ANY)), early=array(array(ANY)), settled=_PARTIAL,
    counts=by_name(COUNT),
)  # fmt: skip

SCHEMAS: dict[str, Schema] = {
    "result": result_file.SCHEMA,
    **{
        name: document(name, of)
        for name, of in {
            "comparison": _COMPARISON, "collections": _COLLECTIONS, "check": _CHECK, "window": _WINDOW,
            "variants": _VARIANTS, "ledger": _LEDGER, "accumulator": _ACCUMULATOR, "stream": _STREAM, "online": _ONLINE,
        }.items()
    },
}  # fmt: skip
