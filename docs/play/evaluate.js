"use strict";
// Computes what docs/play.py compiled of the metrics' definitions, for one list. It knows operations, and no metric.
// Nothing (null) is what SQL means by it: what is made of nothing is nothing, and a condition of nothing does not hold.

const PLAIN = {
  "+": (a, b) => a + b,
  "-": (a, b) => a - b,
  "*": (a, b) => a * b,
  "/": (a, b) => a / b,
  "<": (a, b) => a < b,
  "<=": (a, b) => a <= b,
  ">": (a, b) => a > b,
  ">=": (a, b) => a >= b,
  "=": (a, b) => a === b,
  "<>": (a, b) => a !== b,
  not: (a) => !a,
  negative: (a) => -a,
  power: Math.pow,
  least: Math.min,
  greatest: Math.max,
  log2: Math.log2,
  ln: Math.log,
  sqrt: Math.sqrt,
  abs: Math.abs,
  floor: Math.floor,
  ceil: Math.ceil,
  exp: Math.exp,
  round: rounded,
};

const DECIDING = {
  known: (a) => a !== null,
  or_else: (a, b) => (a === null ? b : a),
  where: (test, yes, no) => (test === true ? yes : no),
  and: (a, b) => (a === false || b === false ? false : a === null || b === null ? null : true),
  or: (a, b) => (a === true || b === true ? true : a === null || b === null ? null : false),
  count: (a) => (a === null ? 0 : 1),
};

/** To so many decimals, a half to the even one. */
function rounded(x, digits) {
  const scale = 10 ** digits;
  const whole = Math.floor(x * scale);
  const rest = x * scale - whole;
  return (whole + (rest > 0.5 || (rest === 0.5 && whole % 2 !== 0) ? 1 : 0)) / scale;
}

/** Which of two ids comes first: by code points, as bytes of UTF-8 do. */
function compared(a, b) {
  const [left, right] = [Array.from(a), Array.from(b)];
  for (let i = 0; i < Math.min(left.length, right.length); i++) {
    if (left[i] !== right[i]) return left[i].codePointAt(0) - right[i].codePointAt(0);
  }
  return left.length - right.length;
}

/** One list in one order: `run` and `truth` are pairs of an item with a score (null: none) and a grade; k may be null. */
class Listing {
  constructor(program, run, truth, k, how) {
    this.program = program;
    this.k = k;
    this.values = new Array(program.nodes.length);
    this.made = new Array(program.rows.length);
    const grades = new Map(truth.map(([item, grade], at) => [item, { grade, place: at + 1 }]));
    this.ranked = ordered(run, ...program.hows[how]).map((row) => ({ ...row, ...grades.get(row.item) }));
    this.judged = truth.map(([, grade], at) => ({ grade, place: at + 1 }));
  }

  /** The number of a definition: null if there is none; or what is wrong with the data. */
  measure(root) {
    const [node, faults] = this.program.roots[root];
    for (const fault of this.program.faults[faults]) {
      const [condition, problem, about] = fault;
      const holds = this.value(condition);
      const at = Array.isArray(holds) ? holds.indexOf(true) : holds === true ? 0 : -1;
      if (at < 0) continue;
      const value = about < 0 ? null : this.value(about);
      return { problem: problem.replace("{}", Array.isArray(value) ? value[at] : value) };
    }
    const value = this.value(node);
    if (value !== null && !Number.isFinite(value)) return { problem: "the numbers are too large to add up" };
    return { value };
  }

  value(at) {
    const known = this.values[at];
    return known === undefined ? (this.values[at] = this.compute(this.program.nodes[at])) : known;
  }

  compute([op, ...args]) {
    if (op in PLAIN) return each(args.map((arg) => this.value(arg)), (...x) => (x.includes(null) ? null : PLAIN[op](...x)));
    if (op in DECIDING) return each(args.map((arg) => this.value(arg)), DECIDING[op]);
    if (op === "number") return args[0];
    if (op === "true" || op === "false") return op === "true";
    if (op === "null") return null;
    if (op === "parameter") return this.k;
    if (op === "of query") return args[0] === "retrieved" ? this.ranked.length : 1;
    const rows = this.rows(args[0]);
    if (op === "column") return rows.map((row) => row[args[1]]);
    if (op === "carried") return this.carried(rows, args[1]);
    if (op === "highest grade") return Math.max(0, ...rows.map((row) => row.grade));
    if (op === "aggregate") return gathered(args[1], this.each(rows, args[2]), args[1] === "min" ? null : 0);
    if (op === "window") return this.window(rows, ...args.slice(1));
    throw new Error(`unknown operation ${op}`);
  }

  /** A value of each row, where it may be the same for all. */
  each(rows, node) {
    const value = this.value(node);
    return Array.isArray(value) ? value : rows.map(() => value);
  }

  carried(rows, node) {
    const values = this.value(node);
    return rows.map((row) => values[row.rank - 1]);
  }

  window(rows, over, how, inside, order) {
    const values = this.each(rows, inside);
    if (over === "same") return values;
    if (over === "all") return rows.map(() => gathered(how, values, null));
    const level = rows.map((row) => row.items_above);
    const by = order < 0 ? level : this.each(rows, order);
    const among = {
      level: (i, j) => level[j] === level[i],
      "level and above": (i, j) => level[j] <= level[i],
      nth: (i, j) => level[j] === level[i] && (values[j] < values[i] || (values[j] === values[i] && j <= i)),
      "down to": (i, j) => by[j] < by[i] || (by[j] === by[i] && j <= i),
      before: (i, j) => by[j] < by[i] || (by[j] === by[i] && j < i),
    }[over];
    return rows.map((_, i) => {
      const inside = values.filter((_, j) => among(i, j));
      return over === "nth" ? inside.length : gathered(how, inside, over === "before" ? 0 : null);
    });
  }

  rows(at) {
    return (this.made[at] ??= this.make(...this.program.rows[at]));
  }

  make(what, of, order, nonzero, kept) {
    if (what === "ranked") return this.ranked;
    if (what === "judged") return this.judged;
    if (what === "placed") return this.ranked.filter((row) => row.grade !== undefined);
    if (what === "places") return Array.from({ length: this.k }, (_, i) => ({ item_rank: i + 1 }));
    const source = this.rows(of);
    const by = what === "pooled" ? source.map((row) => row.score) : order < 0 ? source.map((row) => row.grade) : this.each(source, order);
    const stays = kept < 0 ? null : this.each(source, kept);
    const found = source
      .map((row, i) => ({ row, by: by[i], stays: stays === null || stays[i] === true }))
      .filter(({ row, stays }) => stays && !(nonzero && row.grade === 0))
      .sort((a, b) => b.by - a.by);
    return found.map(({ row, by }, i) => ({
      ...row,
      item_rank: i + 1,
      items_above: found.filter((other) => other.by > by).length,
      items_tied: found.filter((other) => other.by === by).length,
    }));
  }
}

/** The rows of a run, best first, with their ranks; without scores as they stand. */
function ordered(run, ties, single) {
  const scored = run.length > 0 && run.every(([, score]) => score !== null);
  const rows = run.map(([item, score], at) => {
    const compared = scored && single ? Math.fround(score) : score;
    return { item, at, score: compared, key: scored ? compared : -at };
  });
  const first = { item_desc: (a, b) => compared(b.item, a.item), item_asc: (a, b) => compared(a.item, b.item),
    input: (a, b) => a.at - b.at, reverse_input: (a, b) => b.at - a.at }[ties];
  rows.sort((a, b) => b.key - a.key || first(a, b));
  return rows.map((row, i) => ({
    ...row,
    rank: i + 1,
    item_rank: i + 1,
    items_above: rows.filter((other) => other.key > row.key).length,
    items_tied: rows.filter((other) => other.key === row.key).length,
  }));
}

function each(args, made) {
  const lists = args.filter(Array.isArray);
  if (lists.length === 0) return made(...args);
  return lists[0].map((_, i) => made(...args.map((arg) => (Array.isArray(arg) ? arg[i] : arg))));
}

/** What values come to; `none` for no value at all. */
function gathered(how, values, none) {
  const known = values.filter((value) => value !== null);
  if (known.length === 0) return none;
  if (how === "max") return Math.max(...known);
  if (how === "min") return Math.min(...known);
  const sum = known.reduce((a, b) => a + b, 0);
  return how === "avg" ? sum / known.length : sum;
}
