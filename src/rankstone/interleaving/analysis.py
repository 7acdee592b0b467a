"""`interleaving`: which ranker the clicks on interleaved lists prefer, and how sure that is."""

from __future__ import annotations

import math
from collections.abc import Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from rankstone.compare.caveats import FEW
from rankstone.errors import InputError
from rankstone.interleaving.click_log import read_log
from rankstone.results.answer import Answer, Records, p_value, plain, queries
from rankstone.statistics import adjust, confidence_sequence, proportion_interval, sample_size, student
from rankstone.statistics.anytime import tuning_of
from rankstone.statistics.paired import TUNING
from rankstone.statistics.student_t import level

if TYPE_CHECKING:
    from rankstone.align.alignment import Floats, Ints
    from rankstone.data.user_log import UserLog
    from rankstone.interleaving.designs import InterleavedList
    from rankstone.statistics.paired import Fit
    from rankstone.typing import Id

CLICKS = ("click", "item_click")  # actions of UBI


@dataclass(frozen=True)
class Preference:
    """Which of two rankers gets more credit.

    Attributes
    ----------
    first, second : str
        The rankers.
    wins, ties, losses : int
        Lists in which the second one has more credit, as much, or less; without lists that have no click.
    preference : float
        Share of the lists that the second one wins, ties counted half; 0.5 is no preference.
    low, high : float
        Confidence interval of the preference, by user.
    p, adjusted : float
        p-value of the two-sided test that there is no preference, and with Holm's correction over all pairs.
    verdict : str
        "better" or "worse": the second one; else "inconclusive".
    """

    first: str
    second: str
    wins: int
    ties: int
    losses: int
    preference: float
    low: float
    high: float
    p: float
    adjusted: float
    verdict: str
    _deviation: float = math.nan

    def sample_size(self, preference: float = 0.52, power: float = 0.8, confidence: float = 0.95) -> int:
        """Number of lists with a click that show a preference in one look, for users and clicks such as these.

        Parameters
        ----------
        preference : float, default 0.52
            The true preference.
        power : float, default 0.8
            Probability of detecting it.
        confidence : float, default 0.95
            Confidence level of the two-sided test.

        Returns
        -------
        int
        """
        if not (0 < preference < 1 and preference != 0.5):
            raise InputError(f"preference={preference!r}; give a share between 0 and 1 other than 0.5")
        if not self._deviation > 0:
            raise InputError("all lists have the same outcome; their deviation is unknown")
        return int(sample_size(abs(2 * preference - 1) / self._deviation, power, 1 - confidence).whole)


class _Estimate(NamedTuple):
    """A mean outcome from -1 to 1, its error and interval, and p of no preference."""

    mean: float
    error: float
    low: float
    high: float
    p: float


def _estimate(outcomes: Floats, clusters: Ints | None, confidence: float, tuning: float | None = None) -> _Estimate:
    """By Student's t of users; where all outcomes are equal, which has no deviation, by the exact binomial test.

    With a tuning by a confidence sequence of users. The deviation of equal outcomes, or of few users, counts as 1, the
    largest of outcomes from -1 to 1: then it is exact for users with as many lists each (Hoeffding's lemma).
    """
    fit: Fit = student(outcomes, clusters)
    mean, error, units = float(fit.mean), float(fit.error), int(fit.freedom) + 1
    if tuning is not None:
        wide = error if error > 0 and units >= FEW else max(error, units**-0.5)
        fit = confidence_sequence(mean, wide, units, confidence=confidence, tuning=tuning)
    if error > 0 or tuning is not None:
        low, high = map(float, fit.interval(confidence))
        return _Estimate(mean, error, low, high, float(fit.p()))
    if (outcomes != mean).any():  # one user, or users whose outcomes are alike
        return _Estimate(mean, 0.0, -1.0, 1.0, 1.0)
    others = float(proportion_interval(0, units, confidence, "exact").high)  # share of users who could differ
    low, high = (-others, others) if mean == 0 else sorted((mean, mean * (1 - 2 * others)))
    return _Estimate(mean, 0.0, low, high, 1.0 if mean == 0 else 2 * 0.5**units)


class InterleavingResult(Records[Preference]):
    """Preferences between rankers; iterating yields a `Preference` per pair.

    Attributes
    ----------
    rankers : tuple of str
        The rankers.
    credit : dict
        Total credit by ranker.
    searches : int
        Lists in the log.
    clicked : int
        Those with a click, which are compared.
    users : int or None
        Number of users among these; None if the log has no users, so that each list counts as a user.
    outcomes : dict
        By pair of rankers: 1, 0 or -1 per list with a click, where the second one wins, ties or loses.
    clusters : ndarray or None
        The user of each of these lists, as a number.
    anytime : float or None
        The number of users at which intervals that hold at every look are narrowest; None if they are for one look.
    """

    _names = ("first", "second", "wins", "ties", "losses", "preference", "low", "high", "p", "adjusted", "verdict")

    def __init__(
        self, names: list[str], credit: Floats, searches: int, users: Sequence[Hashable] | None, confidence: float,
        others: int = 0, anytime: float | None = None,
    ) -> None:  # fmt: skip
        self.rankers, self.confidence, self._others, self.anytime = tuple(names), confidence, others, anytime
        self.credit = dict(zip(names, credit.sum(axis=0).tolist(), strict=True))
        self.searches, self.clicked = searches, len(credit)
        self.clusters = None if users is None else np.unique(list(map(str, users)), return_inverse=True)[1]
        self.users = None if users is None else len(set(map(str, users)))
        pairs = list(combinations(range(len(names)), 2))
        self.outcomes = {(names[a], names[b]): np.sign(credit[:, b] - credit[:, a]) for a, b in pairs}
        estimates = [_estimate(values, self.clusters, confidence, anytime) for values in self.outcomes.values()]
        adjusted = adjust(np.array([estimate.p for estimate in estimates]), "holm").tolist()
        self._records = tuple(map(self._preference, self.outcomes, estimates, adjusted))

    def _preference(self, pair: tuple[str, str], estimate: _Estimate, adjusted: float) -> Preference:
        values = self.outcomes[pair]
        wins, ties, losses = (int((values == outcome).sum()) for outcome in (1, 0, -1))
        low, high = ((1 + end) / 2 for end in (max(estimate.low, -1.0), min(estimate.high, 1.0)))
        decided = adjusted <= 1 - self.confidence
        verdict = ("better" if estimate.mean > 0 else "worse") if decided else "inconclusive"
        return Preference(
            *pair, wins, ties, losses, (1 + estimate.mean) / 2, low, high, estimate.p, adjusted, verdict,
            estimate.error * math.sqrt(len(values)),
        )  # fmt: skip

    def __getitem__(self, at: int | tuple[str, str]) -> Preference:
        if isinstance(at, int):
            return self._records[at]
        for record in self:
            if (record.first, record.second) == at:
                return record
        raise KeyError(f"{at!r}; there are {', '.join(str((one.first, one.second)) for one in self)}")

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON."""
        records = [{name: value for name, value in plain(one).items() if not name.startswith("_")} for one in self]
        return {
            "rankers": list(self.rankers), "credit": self.credit, "searches": self.searches,
            "clicked": self.clicked, "users": self.users, "confidence": self.confidence, "anytime": self.anytime,
            "preferences": records,
        }  # fmt: skip

    def _answer(self) -> Answer:
        percent = f"{100 * self.confidence:g} % interval"
        rows = [["verdict", "ranker", "than", "wins", "ties", "losses", "preference", percent, "p"], *(
            [one.verdict, one.second, one.first, f"{one.wins:,}", f"{one.ties:,}", f"{one.losses:,}",
             f"{one.preference:.4f}", f"{one.low:.4f} {one.high:.4f}", p_value(one.adjusted)]
            for one in self
        )]  # fmt: skip
        method, looks = "Student's t", "for one look at the end, with anytime=True for every look"
        if self.anytime:
            units = "lists" if self.users is None else "users"
            method = "asymptotic confidence sequences"
            looks = f"they hold at every look, and are narrowest at {self.anytime:,.0f} {units}"
            if (self.users or self.clicked) < FEW or not all(one._deviation for one in self):
                looks += f"; the deviation of equal outcomes, or of fewer than {FEW} {units}, counts as 1, the largest"
        notes = [
            f"preference: share of lists won, ties counted half; {self.clicked:,} of {self.searches:,} lists have a "
            "click, the others are left out",
            f"intervals and p by {method} of "
            + ("lists, as the log has no users" if self.users is None else f"{self.users:,} users as clusters")
            + "; p with Holm's correction" * (len(self) > 1)
            + f"; {looks}",
        ]
        if self._others:
            notes.append(f"{queries(self._others)} of the log are not among the lists and were ignored")
        return Answer(rows, notes=notes, align="<<<")


def interleaving(
    log: UserLog,
    lists: Mapping[Id, InterleavedList] | None = None,
    *,
    users: Mapping[Id, Id] | None = None,
    actions: Collection[str] = CLICKS,
    columns: Mapping[str, str] | None = None,
    confidence: float = 0.95,
    anytime: bool | int = False,
) -> InterleavingResult:
    """Which ranker the users of interleaved lists prefer.

    Parameters
    ----------
    log : table, dict, path or sequence of dict
        One row per click, or per shown item with a column `click`: the query, the team or the item, and the user. Or
        UBI events, such as those of OpenSearch's A/B tests, whose `search_config` is the team. Or the clicked items by
        query, `{query: [item, ...]}`.
    lists : dict of InterleavedList, optional
        What `rs.interleave` gave. Required if the log has no teams; clicks are credited as the method of the lists
        says.
    users : dict, optional
        The user of each query, if the log has none.
    actions : collection of str, default ("click", "item_click")
        Actions of UBI events that count as clicks.
    columns : dict, optional
        Columns of a table by role: search, item, team, reward, user.
    confidence : float, default 0.95
        Confidence level.
    anytime : bool or int, default False
        Intervals and p-values that hold at every look, so that you may stop when you like: asymptotic confidence
        sequences, narrowest at 500 users (lists, if the log has no users), or at the number that is given.

    Returns
    -------
    InterleavingResult
        One `Preference` per pair of rankers. A second click on the same item does not count. Lists of one user are a
        cluster: a user with ten searches is not ten users.

    Raises
    ------
    DataError
        If a row is not valid, or an item was clicked that was not shown.
    ValueError
        If there is no click, or only one ranker.

    Examples
    --------
    >>> log = {"query": [1, 2, 3, 4], "team": ["B", "B", "A", "B"], "user": ["u1", "u2", "u3", "u4"]}
    >>> rs.interleaving(log)[0].preference
    0.75
    """
    level(confidence, "confidence")
    tuning = tuning_of(anytime, "users", TUNING)
    clicks = read_log(log, (actions,) if isinstance(actions, str) else actions, columns)
    if lists is None and not clicks.teams:
        raise InputError("the log has no teams; pass the lists: rs.interleaving(log, rs.interleave(a, b, ...))")
    names, credit, others = clicks.credits(lists)
    if len(names) < 2:
        raise InputError(f"there is one ranker only, {', '.join(names)}; a preference needs two")
    clicked = [query for query in credit if clicks.searches[query].clicked]
    if not clicked:
        raise InputError(f"none of {queries(len(credit))} has a click")
    by_user: list[Any] | None = None
    if users is not None:
        lacking = [query for query in clicked if query not in users]
        if lacking:
            raise InputError(f"users has no user for query {lacking[0]!r}")
        by_user = [users[query] for query in clicked]
    elif clicks.has_users:
        by_user = [clicks.searches[query].user for query in clicked]
        if None in by_user:
            raise InputError(f"query {clicked[by_user.index(None)]!r} has no user, others have one")
    values = np.array([credit[query] for query in clicked])
    return InterleavingResult(names, values, len(credit), by_user, confidence, others, tuning)
