"use strict";
// Numbers of one list, by the functions that docs/play.py compiled of the metrics' definitions.

/** A value that several definitions read, once for each list. */
function shared(nth, lists) {
  return (lists.shared[nth] ??= FUNCTIONS[nth](lists, lists.k));
}

/** One list in one order: `run` and `truth` are pairs of an item with a score (null: none) and a grade; k may be null. */
class Listing {
  constructor(program, run, truth, k, how) {
    this.program = program;
    const scored = run.length > 0 && run.every(([, score]) => score !== null);
    this.lists = { ...HOWS[how](truth, scored ? run : run.map(([item]) => item)), shared: [], k };
  }

  /** The number of a definition: null if there is none; or what is wrong with the data. */
  measure(root) {
    const [nth, faults] = this.program.roots[root];
    try {
      for (const fault of this.program.faults[faults]) shared(fault, this.lists);
      const value = shared(nth, this.lists);
      if (Math.abs(value) === Infinity) return { problem: "the numbers are too large to add up" };
      return { value: Number.isNaN(value) ? null : value };
    } catch (error) {
      return { problem: error.message };
    }
  }
}
