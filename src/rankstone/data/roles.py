"""Roles of columns: of a table, a file, a batch, a Spark table, or interactions to be split."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from rankstone.errors import Advice, FileError, Hint, InputError, InputTypeError

# By role, the name of a column, or its position in a file without a header line: {"query": "user_id"}
RoleMap = Mapping[str, Any]

ROLES: Mapping[str, tuple[str, ...]] = {
    "truth": ("query", "item", "grade"),
    "run": ("query", "item", "score", "rank"),
    "predictions": ("query", "item", "grade", "score"),
    "interactions": ("query", "item", "time"),
    "log": (
        "list", "place", "item", "reward", "propensity", "target", "item_propensity", "item_target",
        "cascade_propensity", "cascade_target", "predicted", "expected",
    ),
    "interleaving": ("search", "item", "team", "reward", "user"),
}  # fmt: skip

IDS = ("query", "item", "subtopic")
SEPARATOR = "|"  # of the parts of a query's id, if it is made of several columns
NOTES = ("subtopic", "weight", "propensity")  # annotations of a judged item

# Usual names; `userId`, `user_id` and `user-id` are one name.
NAMES: Mapping[str, tuple[str, ...]] = {
    "query": (
        "query", "query_id", "qid", "topic", "topic_id", "user", "user_id", "customer", "customer_id", "session",
        "session_id", "question_id", "question", "user_input", "query_text", "user_query", "search_text",
    ),
    "item": (
        "item", "items", "item_id", "docno", "doc_id", "document_id", "corpus_id", "pid", "passage_id", "chunk_id",
        "product_id", "asin", "sku", "movie_id", "track_id", "article_id", "node_id", "object_id", "passage",
    ),
    "grade": (
        "grade", "grades", "relevance", "rel", "relscore", "label", "labels", "rating", "target", "y_true", "judgment",
        "judgement", "gain",
    ),
    "score": ("score", "scores", "prediction", "pred", "y_pred", "y_score", "sim", "similarity", "rating"),
    "rank": ("rank", "ranks", "doc_position"),
    "time": (
        "time", "timestamp", "datetime", "date", "unix_timestamp", "ts", "event_time", "served_at", "clicked_at",
    ),
    "popularity": ("popularity",),
    "category": ("category", "categories", "genre", "genres"),
    "group": ("group", "groups", "provider"),
    "embedding": ("embedding", "embeddings", "vector", "features"),
    "chunk": ("chunk", "chunk_id", "passage", "passage_id", "pid", "segment", "segment_id", "node", "node_id", "child"),
    "start": ("start", "start_char", "start_index", "begin"),
    "end": ("end", "end_char", "end_index", "stop"),
    "document": ("document", "document_id", "doc", "doc_id", "docno", "parent", "parent_id", "ref_doc_id"),
    "subtopic": (
        "subtopic", "subtopic_id", "intent", "intent_id", "nugget", "nugget_id", "aspect", "aspect_id",
    ),
    "weight": ("weight",),
    "list": ("list", "list_id", "slate", "slate_id", "impression", "impression_id", "request", "request_id"),
    "place": ("place", "position", "slot", "rank"),
    "reward": ("reward", "rewards", "click", "clicks", "clicked", "conversion", "purchase"),
    "propensity": (
        "propensity", "propensity_score", "pscore", "logging_propensity", "logging_probability", "action_prob",
        "action_probability",
    ),
    "target": (
        "target", "target_propensity", "target_probability", "target_pscore", "evaluation_policy_pscore",
    ),
    "item_propensity": ("item_propensity", "pscore_item_position"),
    "item_target": ("item_target", "evaluation_policy_pscore_item_position"),
    "cascade_propensity": ("cascade_propensity", "pscore_cascade"),
    "cascade_target": ("cascade_target", "evaluation_policy_pscore_cascade"),
    "predicted": ("predicted", "prediction", "predicted_reward", "estimated_reward", "q_hat"),
    "expected": ("expected", "expected_reward"),
    "search": ("query", "query_id", "search", "search_id", "impression", "impression_id", "list", "list_id"),
    "team": ("team", "ranker", "search_config", "variant"),
    "user": ("user", "user_id", "client_id", "customer", "customer_id", "session", "session_id"),
}  # fmt: skip
# A column of lists is called one of these, alone or with what its items are: `retrieved`, `retrieved_chunk_ids`.
LISTS: Mapping[str, tuple[str, ...]] = {
    "truth": (
        "truth", "groundtruth", "relevant", "actual", "gold", "expected", "positive", "positives", "label", "reference",
    ),
    "run": (
        "rec", "recs", "recommended", "recommendation", "recommendations", "ranking", "ranked", "retrieved", "returned",
        "prediction", "predictions", "predicted", "pred", "result", "results", "hits",
    ),
}  # fmt: skip
_LISTED_NAMES = 20  # names in an error
_THINGS = ("item", "doc", "document", "chunk", "passage", "product", "movie", "article", "track", "context", "node")


def usual(name: object) -> str:
    """A column's name without marks, capitals and RecBole's types (`user_id:token`), as usual names are written."""
    return re.sub(r"[\W_]", "", re.sub(r":(token|float)(_seq)?$", "", str(name).lower()))


_USUAL = {role: frozenset(map(usual, names)) for role, names in NAMES.items()}
_MANY = frozenset(thing + end for thing in _THINGS for end in ("s", "id", "ids"))  # "docids"
_LISTS = {
    kind: frozenset(start + end for start in starts for end in ("", "s", "id", "ids", *_MANY))
    for kind, starts in LISTS.items()
}


# -- roles named by the caller -------------------------------------------------------------------------------


def roles_of(role_map: RoleMap | None, what: str, *, several: bool = False) -> RoleMap:
    """The roles that `columns=` has for a side: `{"query": "user_id"}` or `{"run": {"query": "user_id"}}`.

    several: whether a query may be several columns, `{"query": ["user", "week"]}`.
    """
    if role_map is None:
        return {}
    _check_mapping(role_map)
    if role_map.keys() & {"truth", "run"}:
        if role_map.keys() - {"truth", "run"}:
            raise InputError(Advice(Hint("columns"), " names roles, or a truth and a run that name roles, not both"))
        role_map = role_map.get(what) or {}
    check_roles(role_map, ("query", "item", "grade", "score", "rank", *NOTES), several=several)
    return _one_role_each({role: name for role, name in role_map.items() if role in roles_for(what)})


def roles_for(what: str) -> tuple[str, ...]:
    """The roles that columns of a truth, a run or predictions can play."""
    return (*ROLES[what], *NOTES) if what == "truth" else ROLES[what]


def check_role_map(role_map: RoleMap | None, kind: str) -> RoleMap:
    """The roles that `columns=` has for a file, checked."""
    if role_map is None:
        return {}
    check_roles(role_map, roles_for(kind))
    if role_map.get("score") is not None and role_map.get("rank") is not None:
        raise InputError("columns names a score and a rank; a run is ordered by one of them")
    if len({isinstance(where, int) for where in role_map.values() if where is not None}) > 1:
        raise InputError("columns mixes names and positions")
    return _one_role_each(role_map)


def _check_mapping(role_map: object) -> None:
    if not isinstance(role_map, Mapping):
        raise InputTypeError(
            Advice(Hint("columns", role_map), "; pass columns by role: ", Hint("columns", {"query": ...}))
        )


def _one_role_each(role_map: RoleMap) -> RoleMap:
    """The same, if no column plays two roles of one side."""
    columns = [name for names in role_map.values() if names is not None for name in names_of(names)]
    for name in (name for name in columns if columns.count(name) > 1):
        roles = " and ".join(role for role, column in role_map.items() if name in names_of(column))
        raise InputError(Advice(Hint("columns"), f" names {name!r} for {roles}; a column plays one role"))
    return role_map


def names_of(names: object) -> Sequence[Any]:
    """The columns of a role: one, or several of a query."""
    return names if isinstance(names, (list, tuple)) else (names,)


def check_two_sides(judged: RoleMap, returned: RoleMap, where: str) -> None:
    """Raise if one table is truth and run, and its grades and scores are missing or are one column.

    judged, returned: the columns of both sides, by role.
    """
    if judged["item"] != returned["item"]:  # two columns of lists
        return
    needed = {"grade": judged.get("grade"), "score": returned.get("score", returned.get("rank"))}
    missing = [role for role, name in needed.items() if name is None]
    problem = f"has no {' and no '.join(missing)} column" if missing else f"has {needed['score']!r} as grade and score"
    if missing or needed["grade"] == needed["score"]:
        raise NoColumnError(
            Advice(f"{where} {problem}, so it is not both the truth and the run; give a run too, or name the columns: ",
                   Hint("columns", {"grade": ..., "score": ...}))
        )  # fmt: skip


def has_positions(role_map: RoleMap) -> bool:
    """Are the columns given by position, not by name."""
    return any(isinstance(where, int) for where in role_map.values())


def check_roles(role_map: RoleMap, roles: Sequence[str], *, several: bool = False) -> None:
    """Raise for an unknown role, and for several columns in one, unless a query may have them."""
    _check_mapping(role_map)
    for role, names in role_map.items():
        if role not in roles:
            raise InputError(Advice(Hint("columns"), f" names {role!r}; the roles are {', '.join(roles)}"))
        if not names_of(names):
            raise InputError(Advice(Hint("columns"), f" names no column for the {role}"))
        if names_of(names) is names and not (several and role == "query"):
            problem = f" names several columns for the {role}: {listed(names)}; make one column of them first"
            raise InputError(Advice(Hint("columns"), problem))


# -- finding -------------------------------------------------------------------------------------------------


def find(names: Sequence[str], role: str, what: str, role_map: RoleMap, taken: Collection[str] = ()) -> str | None:
    """The column that plays a role: named by the caller, or by a usual name if it has no other role; None if none."""
    if role in role_map:
        return _named(names, role_map[role], what)
    return _only(_without_texts(_called(names, _USUAL[role], {*taken, *role_map.values()}), role), role, what)


def _named(names: Sequence[str], name: str | None, what: str) -> str | None:
    """The column of just this name; None for None, which means no column."""
    same = [column for column in names if column == name]
    if name is not None and not same:
        raise InputError(f"the {what} has no column {name!r}; it has {listed(names)}")
    if len(same) > 1:
        raise InputError(f"the {what} has {len(same)} columns called {name!r}")
    return same[0] if same else None


# Of two usual names in one table, the id: `query` may also be a text, and PyTerrier's `docid` a number of its index.
_IDS_BEFORE = {
    "query": (
        ("qid", "queryid", "questionid", "topicid", "id"),
        ("query", "question", "topic", "userinput", "querytext", "userquery", "searchtext"),
    ),
    "item": (("docno",), ("docid", "passage")),
}


def _without_texts(could: Sequence[str], role: str) -> Sequence[str]:
    ids, texts = _IDS_BEFORE.get(role, ((), ()))
    if any(usual(name) in ids for name in could):
        could = [name for name in could if usual(name) not in texts]
    return [name for name in could if usual(name) != "passage"] or could  # a text, if there is any id


def _called(names: Sequence[str], words: Collection[str], taken: Collection[object] = ()) -> list[str]:
    return [column for column in names if usual(column) in words and column not in taken]


def _only(could: Sequence[str], role: str, what: str) -> str | None:
    """The one column that could play a role. Two are never chosen between."""
    if len(could) > 1 and len(set(could)) == 1:
        raise InputError(f"the {what} has {len(could)} columns called {could[0]!r}")
    if len(could) > 1:
        raise InputError(
            Advice(f"the {what}'s {role} could be {' or '.join(map(repr, could))}; rename one, or ", _advice(role))
        )
    return could[0] if could else None


def need(names: Sequence[str], role: str, what: str, role_map: RoleMap, taken: Collection[str] = ()) -> str:
    """The column that plays a role, or an error that says what to write."""
    name = find(names, role, what, role_map, taken)
    if name is None:
        raise NoColumnError(
            Advice(f"the {what} has no {role} column among {listed(names)}; usual names are {', '.join(NAMES[role])}; ",
                   "or ", _advice(role))
        )  # fmt: skip
    return name


def listed(names: Iterable[object]) -> str:
    """Columns' names for an error, the first ones if there are many."""
    words = list(map(repr, names))
    more = [f"and {len(words) - _LISTED_NAMES} more"] if len(words) > _LISTED_NAMES else []
    return ", ".join(words[:_LISTED_NAMES] + more) or "no columns"


class NoColumnError(InputError):
    """No column plays a role."""


def _advice(role: str) -> Advice:
    return Advice("name it: ", Hint("columns", {role: ...}))


def find_all(
    names: Sequence[str],
    roles: Sequence[str],
    what: str,
    role_map: RoleMap,
    optional: Collection[str] = (),
    taken: Collection[str] = (),
) -> dict[str, str]:
    """The column of each role; one column is not found for two."""
    columns: dict[str, str] = {}
    for role in roles:
        look = find if role in optional else need
        name = look(names, role, what, role_map, [*taken, *columns.values()])
        if name is not None:
            columns[role] = name
    return columns


def find_list(
    names: Sequence[str], kind: str, role: str, role_map: RoleMap, is_list: Callable[[str], bool]
) -> str | None:
    """A column with a list in each row: named by the caller, or by a usual name; None if none."""
    if role in role_map:
        name = _named(names, role_map[role], "table")
        return name if name is not None and is_list(name) else None
    lists = [name for name in names if is_list(name)]
    either = _USUAL["item"] | _MANY
    if kind == "run":
        could = _called(lists, _LISTS[kind] | either, role_map.values())
    else:  # of `relevant` and `items`, the latter are a run's
        could = _called(lists, _LISTS[kind], role_map.values())
        could = could or (_called(lists, either, role_map.values()) if role == "item" else [])
    ids = {*map(usual, could)}
    texts = [name for name in could if usual(name).removesuffix("s") + "ids" in ids]  # of `retrieved_context_ids`
    return _only([name for name in could if name not in texts], role, kind)


def find_side(
    names: Sequence[str],
    kind: str,
    role_map: RoleMap,
    *,
    what: str | None = None,
    is_list: Callable[[str], bool] = lambda name: False,
    is_float: Callable[[str], bool] = lambda name: False,
    by_row: bool = False,
) -> dict[str, str]:
    """The columns of a truth or a run by their roles: query and item, then its grade, its score or else its rank, then
    what a truth says besides.

    what: the word for it in errors. by_row: lists need no query, as their rows can be matched. An
    unknown column of floats means that a run may not be in ranked order.
    """
    columns = _find_side(names, kind, role_map, what or kind, is_list, is_float, by_row)
    if kind != "truth" or is_list(columns["item"]):
        return columns
    others = [name for name in names if not is_list(name)]
    notes = find_all(others, NOTES, what or kind, role_map, NOTES, columns.values())
    if "weight" in notes and "propensity" in notes:
        raise InputError(
            f"the {what or kind} has a weight {notes['weight']!r} and a propensity {notes['propensity']!r}; a weight "
            "is one over a propensity, so leave one out: columns={'weight': None}"
        )
    return {**columns, **notes}


def _find_side(
    names: Sequence[str],
    kind: str,
    role_map: RoleMap,
    what: str,
    is_list: Callable[[str], bool],
    is_float: Callable[[str], bool],
    by_row: bool,
) -> dict[str, str]:
    """Query and item, and one that is a grade, a score or a rank."""
    listing = None if "item" in role_map else find_list(names, kind, "item", role_map, is_list)
    item = listing or find(names, "item", what, role_map)
    in_lists = item is not None and is_list(item)
    look = find if by_row and in_lists else need
    query = (in_lists and _query_of_lists(names, what, role_map)) or look(names, "query", what, role_map)
    columns = {} if query is None else {"query": query}
    columns["item"] = item or need(names, "item", what, role_map)
    others = [name for name in names if is_list(name) == is_list(columns["item"]) or name in role_map.values()]
    for role in ROLES[kind][2:]:
        if role == "score" and role_map.get("rank") is not None:
            continue
        value = find(names if role in role_map else others, role, what, role_map, columns.values())
        if value is not None:
            return {**columns, role: value}
    taken = {*columns.values(), *role_map.values()}
    if kind == "truth" and "grade" not in role_map:  # what a truth calls a score can only be a grade
        scores = _called(others, ("score", "scores"), taken)
        if any(is_list(name) for name in {*others} - taken - {*scores}):  # if not that of another list
            return columns
        value = _only(scores, "grade", what)
        return columns if value is None else {**columns, "grade": value}
    if kind == "run" and not role_map.keys() & {"score", "rank"}:
        strange = [
            name for name in others if is_float(name) and name not in taken and usual(name) not in _USUAL["time"]
        ]
        if strange:
            raise NoColumnError(
                Advice(
                    f"the {what} has no score column, and {listed(strange)} could be it; ", _advice("score"), ", or ",
                    Hint("columns", {"score": None}), " if its rows are in ranked order",
                )
            )  # fmt: skip
    return columns


def _query_of_lists(names: Sequence[str], what: str, role_map: RoleMap) -> str | None:
    """The id of a row that has a list: `id` is the query's there, and comes before its text."""
    if "query" in role_map:
        return None
    return _only(_without_texts(_called(names, _USUAL["query"] | {"id"}, role_map.values()), "query"), "query", what)


def find_inside(names: Sequence[str], kind: str, role_map: RoleMap = MappingProxyType({})) -> dict[str, str]:
    """The parts of the objects in a list, by role: an item, and its grade, score or rank. An `id` is an item's."""
    item = find(names, "item", "object", role_map) or _only(_called(names, ("id",)), "item", "object")
    item = item or need(names, "item", "object", role_map)
    for role in (*ROLES[kind][2:], "score"):
        value = find(names, role, "object", role_map, (item,))
        if value is not None:
            return {"item": item, "grade" if kind == "truth" else role: value}
    return {"item": item}


def find_two_lists(names: Sequence[str], role_map: RoleMap, is_list: Callable[[str], bool]) -> tuple[str, str] | None:
    """The relevant and the returned items of one table, if both are lists."""
    judged, returned = (
        find_list(names, kind, role, role_map, is_list) for kind, role in (("truth", "grade"), ("run", "item"))
    )
    return None if judged is None or returned is None else (judged, returned)


# -- files ---------------------------------------------------------------------------------------------------


def by_name(
    names: Sequence[str],
    kind: str,
    role_map: RoleMap,
    path: str,
    line: int | None = None,
    *,
    otherwise: str = "",
    **types: Any,
) -> dict[str, str]:
    """The names of a file's columns, by role; otherwise: what else can be done where there is none for a role."""
    try:
        return find_side(names, kind, role_map, **types)
    except NoColumnError as error:
        raise FileError(path, Advice(str(error), otherwise), line) from None
    except ValueError as error:
        raise FileError(path, str(error), line) from None


def by_position(count: int, kind: str, role_map: RoleMap, path: str, line: int) -> dict[str, int]:
    """Where the columns of a file without names are: as given, or query, item and value in this order."""
    value = ROLES[kind][2]
    where = {role: at for role, at in role_map.items() if at is not None}
    if not where:
        if count not in (2, 3):
            raise FileError(
                path,
                Advice(
                    f"expected 3 columns (query item {value}) or 2 in a file without a header line, found {count}; ",
                    "pass ",
                    Hint("columns", {"query": 0, "item": 1, value: 2}),
                ),
                line,
            )
        usual = dict(zip(("query", "item", value), range(count), strict=False))
        return {role: at for role, at in usual.items() if role not in role_map}
    for role in ("query", "item"):
        if role not in where:
            raise InputError(f"columns has no position for the {role}")
    for role, at in where.items():
        if not 0 <= at < count:
            raise FileError(path, f"has {count} columns; there is no position {at} for the {role}", line)
    return where


def value_role(roles: Iterable[str]) -> str | None:
    """Grade, score or rank; None: every item is relevant, or the rows are in ranked order."""
    return next((role for role in roles if role not in ("query", "item", *NOTES)), None)
