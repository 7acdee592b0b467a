"""What documents are worth: their grades, or what `-m ndcg.1=3,2=9` says."""

from __future__ import annotations

import re
from itertools import pairwise

import numpy as np

from rankstone.align.ranked import Floats, Ints, lengths
from rankstone.trec_eval.files import whole
from rankstone.trec_eval.lists import Lists

Pairs = tuple[tuple[str, float], ...]  # as the command line has them
Given = tuple[tuple[int, float], ...]  # grades and their gains
Levels = list[tuple[int, float, int]]  # each grade, its gain, and how many documents have it


def valued(lists: Lists, pairs: Pairs, *, scaled: bool = False) -> Lists:
    """The same lists with gains for grades; those of the judged documents are the best list's, down to the last above
    0. Scaled: such that all gains of a query lie between 0 and 1."""
    given = _given(lists, pairs)
    make = (lambda: _by_table(lists, given, scaled)) if given else (lambda: _by_grade(lists, scaled))
    return lists.remember(("valued", given, scaled), make)


def _by_grade(lists: Lists, scaled: bool) -> Lists:
    """A document is worth its grade."""
    gain, worth = np.maximum(lists.grade, 0.0), lists.ideal_grades > 0
    if scaled:
        gain = gain / lists.spread(np.maximum(lists.ideal().highest(lists.ideal_grades), 1.0))
    kept = np.concatenate(([0], np.cumsum(worth)))[lists.truth_offsets]
    return _replaced(lists, gain, lists.ideal_grades[worth], lengths(kept))


def _by_table(lists: Lists, given: Given, scaled: bool) -> Lists:
    """Some grades are worth something else; -1 stands for documents that are not judged."""
    if any(level < 0 for level, _ in given):
        lists = lists.every_place()
    gain, best, counts = np.zeros(len(lists.grade)), [], []
    truth = lists.truth_offsets.tolist()
    for query, (start, stop) in enumerate(pairwise(lists.placed_offsets.tolist())):
        levels = _sorted_levels(given, lists.ideal_grades[truth[query] : truth[query + 1]])
        ideal = _best(levels)
        worth = {level: gain for level, gain, _ in reversed(_scaled(levels) if scaled else levels)}
        gain[start:stop] = [worth.get(level, 0.0) for level in lists.grade[start:stop].tolist()]
        best += ideal
        counts.append(len(ideal))
    return _replaced(lists, gain, np.array(best, dtype=np.float64), np.array(counts, dtype=np.int64))


def _replaced(lists: Lists, gain: Floats, best: Floats, counts: Ints) -> Lists:
    offsets = np.concatenate(([0], np.cumsum(counts)))
    return lists.replace(grade=gain, truth_offsets=offsets, truth_grades=best, _ideal_grades=best)


def _given(lists: Lists, pairs: Pairs) -> Given:
    """The grades among the parameters; version 10 leaves out what is not a number, such as rbp's p."""
    if lists.setup.version >= 10:
        pairs = tuple(pair for pair in pairs if re.fullmatch(r"[+-]?\d+", pair[0]))
    return tuple((whole(name), gain) for name, gain in pairs)


def _sorted_levels(given: Given, grades: Floats) -> Levels:
    counts = np.bincount(grades[grades >= 0].astype(np.int64)).tolist()
    levels = []
    for at, (level, gain) in enumerate(given):
        again = any(level == before for before, _ in given[:at])
        levels.append((level, gain, counts[level] if 0 <= level < len(counts) and not again else 0))
    known = {level for level, _ in given}
    levels += [(level, float(level), count) for level, count in enumerate(counts) if level not in known]
    return _merge_sorted(levels)


def _merge_sorted(levels: Levels) -> Levels:
    """By gain. trec_eval calls gains equal that differ by less than 1, so the way of sorting decides where they are."""
    if len(levels) < 2:
        return levels
    middle = len(levels) // 2
    left, right = _merge_sorted(levels[:middle]), _merge_sorted(levels[middle:])
    merged = []
    while left and right:
        merged.append((left if int(left[0][1] - right[0][1]) <= 0 else right).pop(0))
    return merged + left + right


def _best(levels: Levels) -> list[float]:
    """Gains of the best list, down to the first that is not above 0."""
    best: list[float] = []
    if not levels or levels[-1][1] <= 0:
        return best
    for _, gain, count in reversed(levels):
        if count and gain <= 0:
            break
        best += [gain] * count
    return best


def _scaled(levels: Levels) -> Levels:
    low, high = (function(0.0, *(gain for _, gain, _ in levels)) for function in (min, max))
    if low >= 0 and high <= 1:
        return levels
    return [(level, (gain - low) / (high - low), count) for level, gain, count in levels]
