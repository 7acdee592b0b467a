"""Parameters of metrics written as choices of a call are moved onto the metrics, where the library takes them."""

import rankstone as rs


def on_metrics(metrics, choices):
    """The metrics as a list of values, each with its own parameters set on it, and the remaining choices.

    `divisor` goes to every metric that has such a parameter, `ap_divisor` and `ap_ties` to `ap` alone, which is before
    `divisor`; a parameter that is already set on a metric stays. What no metric takes remains, for the library to
    refuse. `catalogue` remains, since it is an argument of its own.
    """
    one = isinstance(metrics, (str, rs.authoring.Metric))
    parsed = [
        metric
        for asked in ([metrics] if one else metrics)
        for metric in (rs.authoring.Metric.parse(asked) if isinstance(asked, str) else [asked])
    ]
    moved, taken = [], set()
    for metric in parsed:
        own = {name: choices[name] for name in choices if name in metric.declaration.defaults and name != "catalogue"}
        known = {f"{metric.name}_{name}": name for name in (*metric.declaration.defaults, *rs.choices)}
        prefixed = [name for name in choices if name in known and name not in own]
        taken |= {*own, *prefixed}
        own |= {known[name]: choices[name] for name in prefixed}
        moved.append(metric.given(**(own | dict(metric.params))))
    return moved, {name: value for name, value in choices.items() if name not in taken}


def on_metric(metric, choices):
    """`on_metrics` of one metric."""
    (metric,), choices = on_metrics(metric, choices)
    return metric, choices
