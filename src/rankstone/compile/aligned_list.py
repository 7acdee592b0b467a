"""What the functions of a compiled file share: a run put in order, its judged items, and functions of columns.

It is text in the small part of Python that `translate.py` writes in each language. Names in capitals are choices: their
conditions are decided before. Functions, columns and variables that nothing reads are left out.
"""

TEXT = '''
def align(truth: Truth, run: Run) -> Lists:
    """Put the run in order, and look up its items in the truth; the columns have the judged items, best first."""
    judged_rows = truth_rows(truth)
    rows = run_rows(run)
    position = new_map(size(judged_rows))
    truth_grade = numbers(size(judged_rows))
    truth_place = numbers(size(judged_rows))
    truth_size = 0
    for i in range(size(judged_rows)):
        grade_here = 1.0 if TRUTH == "order" else value_of(judged_rows, i)
        if not is_finite(grade_here):
            raise ValueError("the truth has a grade that is not a finite number")
        at = look_up(position, id_of(judged_rows, i))
        if at == NOWHERE:
            put(position, id_of(judged_rows, i), truth_size)
            truth_grade[truth_size] = grade_here
            truth_place[truth_size] = float(i + 1)
            truth_size += 1
        else:
            if TRUTH_DUPLICATES == "error":
                raise ValueError("an item is judged twice")
            if TRUTH_DUPLICATES in ("count", "distinct"):
                if truth_grade[at] != grade_here:
                    raise ValueError("an item is judged twice, with two grades")
            if TRUTH_DUPLICATES == "count":
                truth_grade[truth_size] = grade_here
                truth_size += 1
            if TRUTH_DUPLICATES == "max":
                truth_grade[at] = max(truth_grade[at], grade_here)
    scores = numbers(size(rows))
    with_score = 0
    for i in range(size(rows)):
        if not is_nan(value_of(rows, i)):
            if not is_finite(value_of(rows, i)):
                raise ValueError("the run has a score that is not a finite number")
            with_score += 1
        scores[i] = float32(value_of(rows, i)) if SCORE_PRECISION == "float32" else value_of(rows, i)
    if with_score > 0 and with_score < size(rows):
        raise ValueError("the run has a score for some of its items only")
    if DUPLICATES != "count":
        shown = new_map(size(rows))
        repeated = ints(size(rows))
        for i in range(size(rows)):
            first = look_up(shown, id_of(rows, i))
            if first == NOWHERE:
                put(shown, id_of(rows, i), i)
            else:
                if DUPLICATES == "error":
                    raise ValueError("an item is in the run twice")
                if DUPLICATES == "first":
                    repeated[i] = 1
                if DUPLICATES in ("best", "once"):
                    if with_score > 0 and scores[i] > scores[first]:
                        repeated[first] = 1
                        put(shown, id_of(rows, i), i)
                    else:
                        repeated[i] = 1
    order = ints(size(rows))
    retrieved = 0
    for i in range(size(rows)):
        if DUPLICATES in ("first", "best"):
            if repeated[i] == 1:
                continue
        if UNJUDGED == "condensed":
            at = look_up(position, id_of(rows, i))
            if at == NOWHERE or truth_grade[at] < 0.0:
                continue
        order[retrieved] = i
        retrieved += 1
    if with_score > 0:
        if ORDER == "item_desc":
            sort_by_id_descending(order, retrieved, rows)
        if ORDER == "item_asc":
            sort_by_id_ascending(order, retrieved, rows)
        if ORDER == "reverse_input":
            for i in range(retrieved // 2):
                other = order[retrieved - 1 - i]
                order[retrieved - 1 - i] = order[i]
                order[i] = other
        sort_descending(order, retrieved, scores)
    rank = numbers(retrieved)
    grade = numbers(retrieved)
    score = numbers(retrieved)
    place = numbers(retrieved)
    above = numbers(retrieved)
    tied = numbers(retrieved)
    placed = 0
    start = 0
    end = 0
    for i in range(retrieved):
        if READS_TIES:
            if i == end:
                start = i
                end = i + 1
                while with_score > 0 and end < retrieved and scores[order[end]] == scores[order[start]]:
                    end += 1
        at = look_up(position, id_of(rows, order[i]))
        if DUPLICATES == "once":
            if repeated[order[i]] == 1:
                continue
        if at != NOWHERE:
            rank[placed] = float(i + 1)
            grade[placed] = truth_grade[at]
            score[placed] = scores[order[i]]
            place[placed] = truth_place[at]
            above[placed] = float(start)
            tied[placed] = float(end - start)
            placed += 1
    judged = float(truth_size)
    if UNJUDGED == "only_returned":
        if READS_PLACE:
            by_place = ints(placed)
            for i in range(placed):
                by_place[i] = i
            sort_ascending(by_place, placed, place)
            truth_grade = picked(grade, by_place, placed)
        else:
            truth_grade = same(grade)
        truth_size = placed
    return Lists(
        present=is_present(run),
        retrieved=float(retrieved),
        judged=judged,
        unjudged=float(retrieved - placed),
        truth_size=truth_size,
        truth_grade=truth_grade,
        placed=placed,
        rank=rank,
        grade=grade,
        score=score,
        place=place,
        above=above,
        tied=tied,
    )


def reordered(lists: Lists, rank: Floats) -> Lists:
    """The same list, with its items at other ranks."""
    order = ints(lists.placed)
    for i in range(lists.placed):
        order[i] = i
    sort_ascending(order, lists.placed, rank)
    return Lists(
        present=lists.present,
        retrieved=lists.retrieved,
        judged=lists.judged,
        unjudged=lists.unjudged,
        truth_size=lists.truth_size,
        truth_grade=same(lists.truth_grade),
        placed=lists.placed,
        rank=picked(rank, order, lists.placed),
        grade=picked(lists.grade, order, lists.placed),
        score=picked(lists.score, order, lists.placed),
        place=picked(lists.place, order, lists.placed),
        above=same(lists.above),
        tied=same(lists.tied),
    )


def picked(values: Floats, order: Ints, count: int) -> Floats:
    """Values in an order."""
    result = numbers(count)
    for i in range(count):
        result[i] = values[order[i]]
    return result


def filled(value: float, count: int) -> Floats:
    """The same number for each item."""
    result = numbers(count)
    for i in range(count):
        result[i] = value
    return result


def by_gain(grade: Floats, gain: Floats, count: int) -> Floats:
    """Grades by their gains, the highest gain first."""
    order = ints(count)
    for i in range(count):
        order[i] = i
    sort_descending(order, count, gain)
    return picked(grade, order, count)


def descending(grade: Floats, count: int) -> Floats:
    """Grades, the highest first: the ideal list."""
    return by_gain(grade, grade, count)


def count_nonzero(grade: Floats, count: int) -> int:
    """How many grades are not 0."""
    nonzero = 0
    for i in range(count):
        if grade[i] != 0.0:
            nonzero += 1
    return nonzero


def without_zeros(grade: Floats, count: int) -> Floats:
    """The grades that are not 0, in their order."""
    result = numbers(count)
    nonzero = 0
    for i in range(count):
        if grade[i] != 0.0:
            result[nonzero] = grade[i]
            nonzero += 1
    return result


def highest_grade(grade: Floats, count: int) -> float:
    """The highest grade of the truth, at least 0."""
    highest = 0.0
    for i in range(count):
        highest = max(highest, grade[i])
    return highest


def tied_sums(values: Floats, above: Floats, count: int) -> Floats:
    """For each item the sum over the items with the same score."""
    result = numbers(count)
    total = 0.0
    for i in range(count):
        if i > 0 and above[i] != above[i - 1]:
            total = 0.0
        total += values[i]
        result[i] = total
    for i in range(1, count):
        at = count - 1 - i
        if above[at] == above[at + 1]:
            result[at] = result[at + 1]
    return result


def tied_nths(key: Floats, above: Floats, count: int) -> Floats:
    """The place of each item among those with the same score, by a key, the lowest first."""
    result = numbers(count)
    for i in range(count):
        nth = 1.0
        for j in range(count):
            if above[j] == above[i] and (key[j] < key[i] or (key[j] == key[i] and j < i)):
                nth += 1.0
        result[i] = nth
    return result


def repeats(place: Floats, count: int) -> Floats:
    """1 for an item that is in the list above already, else 0."""
    result = numbers(count)
    for i in range(count):
        for j in range(i):
            if place[j] == place[i]:
                result[i] = 1.0
    return result


def mean_ranks(values: Floats, count: int) -> Floats:
    """The rank of each value, the lowest first; equal values share their mean rank."""
    result = numbers(count)
    for i in range(count):
        smaller = 0.0
        equal = 0.0
        for j in range(count):
            if values[j] < values[i]:
                smaller += 1.0
            if values[j] == values[i]:
                equal += 1.0
        result[i] = smaller + (equal + 1.0) / 2.0
    return result


def right_above(merit: Floats, count: int) -> Floats:
    """For each item but the first the share of those above it that are better; equal ones count half."""
    result = numbers(count)
    for i in range(1, count):
        better = 0.0
        for j in range(i):
            if merit[j] > merit[i]:
                better += 1.0
            if merit[j] == merit[i]:
                better += 0.5
        result[i] = better / float(i)
    return result


def compared_pairs(x: Floats, y: Floats, count: int) -> Floats:
    """Concordant less discordant pairs of items; pairs untied in x, pairs untied in y; tied pairs."""
    result = numbers(4)
    for i in range(count):
        for j in range(i):
            if x[i] != x[j]:
                result[1] += 1.0
            if y[i] != y[j]:
                result[2] += 1.0
            if x[i] == x[j] or y[i] == y[j]:
                result[3] += 1.0
            else:
                if (x[i] < x[j]) == (y[i] < y[j]):
                    result[0] += 1.0
                else:
                    result[0] -= 1.0
    return result


def first_hit(above: float, group: float, relevant: float, k: float) -> float:
    """The mean of 1 / rank of the first of some relevant items among those with one score, after others above."""
    total = 0.0
    none_yet = 1.0
    if relevant > 0.0:
        for i in range(index(max(min(group - relevant + 1.0, k - above), 0.0))):
            left = group - float(i)
            total += none_yet * relevant / left / (above + float(i + 1))
            none_yet *= (left - relevant) / left
    return total


def overlap(lists: Lists, k: float, p: float) -> float:
    """Rank-biased overlap of the run and the truth, extrapolated; a mean over the orders of equal grades."""
    shorter = index(min(min(lists.retrieved, lists.judged), k))
    longer = index(min(max(lists.retrieved, lists.judged), k))
    if shorter == 0:
        return 1.0 if longer == 0 else 0.0
    shared = numbers(longer + 1)
    for i in range(lists.placed):
        before = 0.0
        last = 0.0
        if TRUTH == "order":
            before = lists.place[i] - 1.0
            last = lists.place[i]
        else:
            for j in range(lists.truth_size):
                if lists.truth_grade[j] > lists.grade[i]:
                    before += 1.0
                if lists.truth_grade[j] >= lists.grade[i]:
                    last += 1.0
        for depth in range(1, longer + 1):
            if lists.rank[i] <= float(depth):
                shared[depth] += min(max((float(depth) - before) / (last - before), 0.0), 1.0)
    total = 0.0
    for depth in range(1, longer + 1):
        beyond = 0.0
        if depth > shorter:
            beyond = float(depth - shorter) * shared[shorter] / float(shorter)
        total += (shared[depth] + beyond) / float(depth) * power(p, float(depth))
    tail = (shared[longer] - shared[shorter]) / float(longer) + shared[shorter] / float(shorter)
    return total * (1.0 - p) / p + tail * power(p, float(longer))
'''
