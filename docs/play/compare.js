"use strict";
// What conventions make of one list, and which choice makes the difference between two of them.

class Comparison {
  /** run and truth: pairs of an item with a score (null: none) and of an item with a grade; k: null for the whole list. */
  constructor(program, run, truth, k) {
    Object.assign(this, { program, run, truth, k, listings: [] });
  }

  form(metric) {
    return (this.k !== null && metric.forms.k) || metric.forms.all;
  }

  label(metric) {
    return this.k !== null && metric.forms.k ? `${metric.name}@${this.k}` : metric.name;
  }

  /** A number as {value}, null where there is none; or {problem}, or {absent}: why the convention has no such metric. */
  measure(metric, convention) {
    const form = this.form(metric);
    const at = form.conventions[convention];
    return typeof at === "string" ? { absent: at } : this.made(...form.definitions[at].made);
  }

  made(how, root) {
    if (root < 0) return { problem: "these choices do not go together" };
    this.listings[how] ??= new Listing(this.program, this.run, this.truth, this.k, how);
    return this.listings[how].measure(root);
  }

  formula(metric, convention) {
    const form = this.form(metric);
    const at = form.conventions[convention];
    return typeof at === "string" ? "" : form.definitions[at].formula;
  }

  /** What two conventions choose differently: which choices matter here, alone or left out, and which are enough. */
  explain(metric, first, second) {
    const form = this.form(metric);
    const [a, b] = [first, second].map((name) => form.definitions[form.conventions[name]]);
    if (!a || !b) return null;
    const ends = [a, b].map((definition) => this.made(...definition.made));
    const differing = form.choices.flatMap(([name, values], at) => {
      const [from, to] = [a.chosen[at], b.chosen[at]];
      if (from === to) return [];
      const alone = this.changed(a, at, to);
      const without = this.changed(b, at, from);
      const matters = !same(alone, ends[0]) || !same(without, ends[1]);
      return [{ name, from: values[from], to: values[to], alone, matters, enough: same(alone, ends[1]) }];
    });
    const matter = differing.filter((choice) => choice.matters);
    const enough = same(...ends) ? [] : matter.filter((choice) => choice.enough);
    return { ends, matter: matter.length || same(...ends) ? matter : differing, enough, idle: differing.filter((choice) => !choice.matters) };
  }

  /** A definition with one choice made otherwise. */
  changed(definition, choice, value) {
    const other = definition.changed.find(([at, nth]) => at === choice && nth === value);
    return this.made(...(other ? other.slice(2) : definition.made));
  }
}

/** Are two answers the same, but for the last digits. */
function same(a, b) {
  if ("value" in a !== "value" in b) return false;
  if (!("value" in a)) return "problem" in a === "problem" in b;
  if (a.value === null || b.value === null) return a.value === b.value;
  return Math.abs(a.value - b.value) <= 1e-12 * Math.max(1, Math.abs(a.value));
}
