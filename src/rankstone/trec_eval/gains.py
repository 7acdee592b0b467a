"""What documents are worth: their grades, or what `-m ndcg.1=3,2=9` says."""

from __future__ import annotations

import re
from itertools import pairwise

import numpy as np

from rankstone.align.alignment import Alignment, Floats, Ints
from rankstone.trec_eval.files import whole

Pairs = tuple[tuple[str, float], ...]  # as the command line has them
Given = tuple[tuple[int, float], ...]  # grades and their gains
Levels = list[tuple[int, float, int]]  # each grade, its gain, and how many documents have it


def given_in(pairs: Pairs, version: int) -> Given:
    """The grades among the parameters; version 10 leaves out what is not a number, such as rbp's p."""
    if version >= 10:
        pairs = tuple(pair for pair in pairs if re.fullmatch(r"[+-]?\d+", pair[0]))
    return tuple((whole(name), gain) for name, gain in pairs)


def valued(ranked: Alignment, given: Given, scaled: bool) -> Alignment:
    """The same lists with gains for grades; those of the judged documents are the best list's, down to the last above
    0. Scaled: such that all gains of a query lie between 0 and 1."""
    make = _by_table if given else _by_grade
    return ranked.remember(("valued", given, scaled), lambda: make(ranked, given, scaled))


def _by_grade(ranked: Alignment, _: Given, scaled: bool) -> Alignment:
    """A document is worth its grade."""
    if scaled:
        plain, highest = valued(ranked, (), False), ranked.ideal_grades[ranked.truth_offsets[:-1]]  # each has a first
        return plain.replace(grade=plain.grade / np.maximum(highest, 1.0)[ranked.query])
    worth = ranked.ideal_grades > 0
    offsets = np.append(0, np.cumsum(worth))[ranked.truth_offsets]
    return _replaced(ranked, np.maximum(ranked.grade, 0.0), ranked.ideal_grades[worth], offsets)


def _by_table(ranked: Alignment, given: Given, scaled: bool) -> Alignment:
    """Some grades are worth something else; -1 stands for documents that are not judged."""
    if any(level < 0 for level, _ in given):
        ranked = _every_place(ranked)
    gain, best, counts = np.zeros(len(ranked.grade)), [], [0]
    truth = ranked.truth_offsets.tolist()
    for query, (start, stop) in enumerate(pairwise(ranked.placed_offsets.tolist())):
        levels = _sorted_levels(given, ranked.ideal_grades[truth[query] : truth[query + 1]])
        ideal = _best(levels)
        worth = {level: gain for level, gain, _ in reversed(_scaled(levels) if scaled else levels)}
        gain[start:stop] = [worth.get(level, 0.0) for level in ranked.grade[start:stop].tolist()]
        best += ideal
        counts.append(len(ideal))
    return _replaced(ranked, gain, np.array(best, dtype=np.float64), np.cumsum(counts))


def _replaced(ranked: Alignment, gain: Floats, best: Floats, offsets: Ints) -> Alignment:
    return ranked.replace(grade=gain, truth_offsets=offsets, truth_grades=best, _ideal_grades=best)


def _every_place(ranked: Alignment) -> Alignment:
    """The same lists with all retrieved documents: -1 for one that is not judged."""

    def fill() -> Alignment:
        offsets = np.append(0, np.cumsum(ranked.retrieved))
        rank = np.arange(1, int(offsets[-1]) + 1) - np.repeat(offsets[:-1], ranked.retrieved)
        grade = np.full(len(rank), -1.0)
        grade[offsets[:-1][ranked.query] + ranked.rank - 1] = ranked.grade
        return ranked.replace(placed_offsets=offsets, rank=rank, grade=grade, place=rank)

    return ranked.remember("every place", fill)


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
