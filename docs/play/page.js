"use strict";
// The page itself: its state, what is shown of it, and how it is changed. What people type is only ever put in as text.

const EXAMPLES = {
  "tools disagree": { run: "news\nwiki\nblog\nshop\nforum\nmap", truth: "wiki 3\nforum 2\nnews 1\nblog 0\npaper 3\nmap 1", k: "3" },
  "equal scores": { run: "a 3\nb 2\nc 2\nd 2\ne 1", truth: "a 0\nb 0\nc 1\nd 2\ne 1", k: "3" },
  "more relevant items than places": { run: "a\nx\nb", truth: "a 1\nb 1\nc 1\nd 1\ne 1\nf 1", k: "3" },
  "a short list": { run: "x\na", truth: "a 1\nb 1\nc 0", k: "5" },
  "nothing relevant": { run: "a\nb\nc", truth: "a 0\nb 0\nc 0", k: "3" },
  "predicted ratings": { run: "a 4.5\nb 4.1\nc 2.2\nd 2.0", truth: "a 5\nb 3\nc 3\nd 1", k: "" },
};
const FIRST = "tools disagree";
const COMPARED = ["rankstone", "trec_eval", "ranx", "scikit-learn", "lightgbm", "torchmetrics", "spark"];
const KINDS = { ranking: "ranked lists", count: "counts", ratings: "predicted ratings" };
const MOST_K = 1000;

const $ = (id) => document.getElementById(id);

/** An element; what stands in it is text or other elements. */
function made(tag, attributes = {}, ...inside) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...inside);
  return element;
}

class Page {
  constructor(program) {
    this.program = program;
    this.metrics = new Map(program.metrics.map((metric) => [metric.name, metric]));
    this.rows = new Map(); // of the list, by item
    this.cells = [];
    this.built = "";
    this.#controls();
    this.read(location.hash);
    window.addEventListener("hashchange", () => {
      if (location.hash.slice(1) !== this.address()) this.read(location.hash);
    });
  }

  // -- state: what was returned (and its scores), what was judged, k, the conventions and the number chosen -----------

  /** Take over what an address says. */
  read(hash) {
    const said = new URLSearchParams(hash.slice(1));
    const own = said.has("run") || said.has("truth");
    const example = own ? { run: said.get("run") ?? "", truth: said.get("truth") ?? "", k: said.get("k") ?? "" } : EXAMPLES[FIRST];
    const known = new Set(this.program.conventions.map(({ name }) => name));
    const asked = (said.get("with") ?? "").split(",").filter((name) => known.has(name));
    this.conventions = [...new Set(asked.length ? asked : COMPARED)];
    this.chosen = this.metrics.has(said.get("metric")) ? { metric: said.get("metric"), convention: said.get("as") ?? "" } : null;
    this.take(example);
  }

  /** Take over two lists in lines. */
  take({ run, truth, k }) {
    const problems = [...this.#takeRun(run), ...this.#takeTruth(truth)];
    this.k = readK(k);
    $("k").value = this.k ?? "";
    $("text-problems").textContent = problems.join("\n");
    this.written = null; // what was typed into the boxes and is shown as it was typed
    this.show();
  }

  #takeRun(text) {
    const { pairs, problems } = readLines(text, "score");
    this.run = pairs.map(([item]) => item);
    const scored = pairs.length > 0 && pairs.every(([, score]) => score !== null);
    if (!scored && pairs.some(([, score]) => score !== null)) problems.push("some items have no score: the list is taken in its order");
    this.scores = scored ? pairs.map(([, score]) => score) : null;
    this.sort();
    return problems.map((problem) => `returned, ${problem}`);
  }

  #takeTruth(text) {
    const { pairs, problems } = readLines(text, "grade");
    this.truth = new Map(pairs.map(([item, grade]) => [item, grade ?? 1]));
    return problems.map((problem) => `judged, ${problem}`);
  }

  /** Put the places with the higher scores first. */
  sort() {
    if (this.scores === null) return;
    const order = this.run.map((_, at) => at).sort((a, b) => this.scores[b] - this.scores[a] || a - b);
    this.run = order.map((at) => this.run[at]);
    this.scores = order.map((at) => this.scores[at]);
  }

  get pairs() {
    return this.run.map((item, at) => [item, this.scores === null ? null : this.scores[at]]);
  }

  get judged() {
    return [...this.truth].filter(([, grade]) => grade !== null);
  }

  /** Judged items that were not returned. */
  get below() {
    return [...this.truth.keys()].filter((item) => !this.run.includes(item));
  }

  address() {
    const said = new URLSearchParams({ run: writeLines(this.pairs), truth: writeLines(this.judged), k: this.k ?? "", with: this.conventions.join(",") });
    if (this.chosen) said.set("metric", this.chosen.metric);
    if (this.chosen?.convention) said.set("as", this.chosen.convention);
    return said.toString();
  }

  // -- changes ---------------------------------------------------------------------------------------------------------

  /** Show a list that was changed by hand, in the boxes too. */
  #changed(still) {
    this.written = null;
    $("text-problems").textContent = "";
    this.show(still);
  }

  /** Put an item at a place, from 0; past the last it is not returned, if it is judged. Scores stay with the places. */
  move(item, to) {
    const from = this.run.indexOf(item);
    if (from >= 0) this.run.splice(from, 1);
    const place = this.truth.get(item) === null || !this.truth.has(item) ? Math.min(to, this.run.length) : to;
    const returned = place <= this.run.length;
    if (returned) this.run.splice(place, 0, item);
    if (this.scores !== null) {
      if (from < 0 && returned) this.scores.splice(place, 0, this.scores[Math.min(place, this.scores.length - 1)] ?? 1);
      if (from >= 0 && !returned) this.scores.splice(from, 1);
    }
    $("moved").textContent = returned ? `${item} is at rank ${place + 1} of ${this.run.length}` : `${item} is not returned`;
    this.#changed(item);
  }

  /** An unjudged item keeps its place among the judged ones, for its next grade. */
  grade(item, text) {
    if (text !== "" && !(isNumber(text) && Math.abs(text) <= LARGEST.grade)) return;
    this.truth.set(item, text === "" ? null : Number(text));
    this.#changed(item);
  }

  score(item, text) {
    if (!isNumber(text) || Math.abs(text) > LARGEST.score) return;
    this.scores[this.run.indexOf(item)] = Number(text);
    this.sort();
    this.#changed(item);
  }

  remove(item) {
    const at = this.run.indexOf(item);
    if (at >= 0) this.run.splice(at, 1);
    if (at >= 0 && this.scores !== null) this.scores.splice(at, 1);
    this.truth.delete(item);
    this.#changed();
  }

  add(item) {
    if (!item || this.run.includes(item) || this.run.length >= MOST_ITEMS) return;
    this.run.push(item);
    if (this.scores !== null) this.scores.push(this.scores.length ? this.scores[this.scores.length - 1] : 1);
    this.#changed();
  }

  // -- controls --------------------------------------------------------------------------------------------------------

  #controls() {
    const { conventions, version, left_out: leftOut } = this.program;
    $("version").textContent = version;
    $("left-out").textContent = leftOut.join(", ");
    $("examples").append(made("option", { value: "" }, "choose"), ...Object.keys(EXAMPLES).map((name) => made("option", { value: name }, name)));
    $("examples").addEventListener("change", () => {
      if ($("examples").value) this.take(EXAMPLES[$("examples").value]);
    });
    $("baseline").append(...conventions.map(({ name }) => made("option", { value: name }, name)));
    $("baseline").addEventListener("change", () => {
      const first = $("baseline").value;
      this.conventions = [first, ...this.conventions.filter((name) => name !== first)];
      this.show();
    });
    for (const { name, summary } of conventions) {
      const box = made("input", { type: "checkbox", value: name });
      $("choices").append(made("label", { title: summary }, box, name));
      box.addEventListener("change", () => {
        const others = this.conventions.filter((other) => other !== name);
        this.conventions = box.checked ? [...others, name] : others.length ? others : [name];
        this.show();
      });
    }
    $("k").addEventListener("input", () => {
      this.k = readK($("k").value);
      this.show();
    });
    $("only").addEventListener("change", () => this.show());
    $("scored").addEventListener("change", () => {
      const count = this.run.length;
      this.scores = $("scored").checked && count ? this.run.map((_, at) => count - at) : null;
      this.#changed();
    });
    $("adding").addEventListener("submit", (event) => {
      event.preventDefault();
      this.add($("added").value.trim());
      $("added").value = "";
    });
    for (const id of ["run-text", "truth-text"]) {
      $(id).addEventListener("input", () => {
        this.written = [$("run-text").value, $("truth-text").value];
        const problems = [...this.#takeRun(this.written[0]), ...this.#takeTruth(this.written[1])];
        $("text-problems").textContent = problems.join("\n");
        this.show();
      });
    }
    document.addEventListener("pointermove", (event) => this.#drag(event));
    for (const end of ["pointerup", "pointercancel"]) document.addEventListener(end, () => this.#drop());
  }

  #drag(event) {
    if (!this.dragged) return;
    event.preventDefault();
    const line = $("items").querySelector(".line").getBoundingClientRect();
    const others = this.run.filter((item) => item !== this.dragged);
    const middles = others.map((item) => {
      const { top, height } = this.rows.get(item).getBoundingClientRect();
      return top + height / 2;
    });
    const above = middles.filter((middle) => middle < event.clientY).length;
    const out = event.clientY > line.top + line.height / 2;
    const to = out ? Infinity : above;
    const from = this.run.indexOf(this.dragged);
    if (to !== (from < 0 ? Infinity : from)) this.move(this.dragged, to);
  }

  #drop() {
    if (!this.dragged) return;
    this.rows.get(this.dragged)?.classList.remove("dragged");
    this.dragged = null;
  }

  #row(item) {
    const grip = made("span", { class: "grip", "aria-hidden": "true" }, "\u2807\u2807");
    const handle = made("button", { type: "button", class: "handle" }, grip, made("span", { class: "rank" }), made("span", { class: "name" }, item));
    const grade = made("input", { type: "number", step: "any", class: "of-grade", placeholder: "none", "aria-label": `grade of ${item}` });
    const score = made("input", { type: "number", step: "any", class: "of-score", "aria-label": `score of ${item}` });
    const remove = made("button", { type: "button", class: "remove", "aria-label": `remove ${item}`, title: "remove" }, "\u2715");
    const row = made("li", {}, handle, grade, score, remove);
    handle.addEventListener("pointerdown", (event) => {
      if (event.button !== 0) return;
      this.dragged = item;
      row.classList.add("dragged");
    });
    handle.addEventListener("keydown", (event) => {
      const at = this.run.indexOf(item);
      const here = at < 0 ? this.run.length : at;
      const to = { ArrowUp: here - 1, ArrowDown: at < 0 ? null : here + 1, Home: 0, End: this.run.length - (at < 0 ? 0 : 1) }[event.key];
      if (to === undefined) return;
      event.preventDefault();
      if (at < 0 && event.key === "ArrowUp") this.move(item, this.run.length);
      else if (to !== null && to >= 0 && to !== at) this.move(item, to);
    });
    grade.addEventListener("input", () => grade.validity.badInput || this.grade(item, grade.value));
    grade.addEventListener("change", () => this.truth.get(item) === null && !this.run.includes(item) && this.remove(item));
    score.addEventListener("change", () => this.score(item, score.value));
    remove.addEventListener("click", () => this.remove(item));
    return row;
  }

  // -- what is shown ---------------------------------------------------------------------------------------------------

  /** Show the state; `still` is the item whose row must stay where it is in the document, as it is held. */
  show(still) {
    this.compared = new Comparison(this.program, this.pairs, this.judged, this.k);
    document.body.classList.toggle("scored", this.scores !== null);
    $("scored").checked = this.scores !== null;
    this.#showItems(still);
    this.#showTexts();
    this.#showChoices();
    this.#showTable();
    this.#showWhy();
    const address = this.address();
    try {
      history.replaceState(null, "", `#${address}`);
    } catch {
      location.hash = address; // where a page from disk may not
    }
  }

  #showItems(still) {
    const items = $("items");
    const below = this.below;
    const line = items.querySelector(".line") ?? made("li", { class: "line" });
    line.textContent = below.length ? "judged, but not returned" : "drag an item here if it is not returned";
    for (const item of [...this.rows.keys()]) {
      if (this.run.includes(item) || this.truth.has(item)) continue;
      this.rows.get(item).remove();
      this.rows.delete(item);
    }
    const wanted = [...this.run, null, ...below].map((item) => {
      if (item === null) return line;
      if (!this.rows.has(item)) this.rows.set(item, this.#row(item));
      return this.rows.get(item);
    });
    // A row that is held by a finger or by the keyboard is not moved: the others are moved around it.
    const fixed = still === undefined ? -1 : wanted.indexOf(this.rows.get(still));
    const held = wanted[fixed];
    wanted.forEach((row, at) => {
      if (at < fixed && held.isConnected) items.insertBefore(row, held);
      else if (at !== fixed || !held.isConnected) items.append(row);
    });
    this.run.forEach((item, at) => this.#fill(item, at));
    below.forEach((item) => this.#fill(item, -1));
  }

  #fill(item, at) {
    const row = this.rows.get(item);
    const grade = this.truth.get(item);
    const score = at < 0 || this.scores === null ? null : this.scores[at];
    const handle = row.querySelector(".handle");
    row.classList.toggle("below", at < 0);
    row.classList.toggle("cut", at >= 0 && at === this.k);
    const tied = score !== null && [at - 1, at + 1].some((other) => this.scores[other] === score);
    row.querySelector(".rank").textContent = at < 0 ? "\u2013" : `${at + 1}${tied ? "=" : ""}`;
    const place = at < 0 ? "not returned" : `rank ${at + 1} of ${this.run.length}${tied ? ", tied" : ""}`;
    handle.setAttribute("aria-label", `${item}, ${place}; arrow keys move it`);
    handle.title = item;
    fillInput(row.querySelector(".of-grade"), grade);
    fillInput(row.querySelector(".of-score"), score);
  }

  #showTexts() {
    if (this.written !== null) return;
    $("run-text").value = writeLines(this.pairs);
    $("truth-text").value = writeLines(this.judged);
  }

  #showChoices() {
    for (const box of $("choices").querySelectorAll("input")) box.checked = this.conventions.includes(box.value);
    $("baseline").value = this.conventions[0];
    $("chosen").textContent = `${this.conventions.length} of ${this.program.conventions.length}`;
  }

  #showTable() {
    const key = JSON.stringify(this.conventions);
    if (key !== this.built) this.#buildTable();
    this.built = key;
    const first = this.conventions[0];
    for (const row of this.cells) {
      const metric = row.metric;
      const usual = this.compared.measure(metric, first);
      row.name.textContent = this.compared.label(metric);
      let differs = false;
      row.cells.forEach(({ cell, button }, at) => {
        const answer = this.compared.measure(metric, this.conventions[at]);
        const other = !("absent" in usual) && !("absent" in answer) && !same(usual, answer);
        const missing = !("value" in answer) || answer.value === null;
        button.textContent = (other ? "\u2260 " : "") + shown(answer, metric);
        button.title = described(answer);
        cell.className = other ? "other" : missing ? "none" : "";
        differs ||= other;
      });
      row.differs = differs;
      row.row.hidden = ($("only").checked && !differs) || (metric.kind === "ratings" && this.scores === null);
    }
    this.ratings.textContent = KINDS.ratings + (this.scores === null ? ", which need scores" : "");
    if (!this.chosen || (this.chosen.convention !== null && !this.conventions.includes(this.chosen.convention))) this.#chooseFirst();
    for (const { metric, name, cells } of this.cells) {
      name.setAttribute("aria-pressed", this.chosen?.metric === metric.name && !this.chosen.convention);
      cells.forEach(({ button }, at) => {
        button.setAttribute("aria-pressed", this.chosen?.metric === metric.name && this.chosen.convention === this.conventions[at]);
      });
    }
  }

  /** The first number that differs, of the metric if there is one; a convention of null is all of them. */
  #chooseFirst() {
    const asked = this.cells.find(({ metric }) => metric.name === this.chosen?.metric);
    const row = asked ?? this.cells.find(({ differs }) => differs) ?? this.cells[0];
    const at = Math.max(row.cells.findIndex(({ cell }) => cell.className === "other"), 0);
    this.chosen = { metric: row.metric.name, convention: this.conventions[at] };
  }

  #buildTable() {
    const head = made("tr", {}, made("th", { scope: "col" }, "metric"));
    for (const name of this.conventions) {
      const { summary } = this.program.conventions.find((convention) => convention.name === name);
      head.append(made("th", { scope: "col" }, made("a", { href: `conventions/${name}/index.html`, title: summary }, name)));
    }
    const body = made("tbody");
    this.cells = [];
    let kind = "";
    for (const metric of this.program.metrics) {
      if (metric.kind !== kind) {
        kind = metric.kind;
        const title = made("th", { colspan: this.conventions.length + 1, scope: "colgroup" }, KINDS[kind]);
        if (kind === "ratings") this.ratings = title;
        body.append(made("tr", { class: "kind" }, title));
      }
      const choose = (convention) => {
        const button = made("button", { type: "button" });
        button.addEventListener("click", () => {
          this.chosen = { metric: metric.name, convention };
          $("why").setAttribute("aria-live", "polite"); // what was asked for is read out, and not every step of a drag
          this.show();
          $("why").setAttribute("aria-live", "off");
        });
        return button;
      };
      const name = choose(null);
      name.title = metric.summary;
      const cells = this.conventions.map((convention) => {
        const button = choose(convention);
        return { cell: made("td", {}, button), button };
      });
      const row = made("tr", {}, made("th", { scope: "row" }, name), ...cells.map(({ cell }) => cell));
      body.append(row);
      this.cells.push({ metric, name, cells, row, differs: false });
    }
    $("table").replaceChildren(made("thead", {}, head), body);
  }

  // -- why -------------------------------------------------------------------------------------------------------------

  #showWhy() {
    const { metric: name, convention } = this.chosen;
    const metric = this.metrics.get(name);
    const first = this.conventions[0];
    const label = this.compared.label(metric);
    const parts = [];
    if (!convention || convention === first) {
      const answer = this.compared.measure(metric, first);
      parts.push(made("p", {}, made("a", { href: `metrics/${name}/index.html` }, made("strong", {}, label)), `: ${metric.summary}`));
      parts.push(made("p", {}, `${first} gives `, made("strong", {}, shown(answer, metric)), after(answer)));
      parts.push(this.#formula(metric, first));
    } else {
      parts.push(...this.#difference(metric, label, first, convention));
    }
    $("why").replaceChildren(...parts);
    const seen = [...new Set([first, convention ?? first])].map((name) => `${name} ${shown(this.compared.measure(metric, name), metric)}`);
    $("now").textContent = `${label}: ${seen.join(", ")}`;
  }

  #formula(metric, convention) {
    return made("p", { class: "formula" }, `${convention}: `, made("code", {}, this.compared.formula(metric, convention) || "it has no such number"));
  }

  #difference(metric, label, first, second) {
    const [usual, answer] = [first, second].map((convention) => this.compared.measure(metric, convention));
    const link = made("a", { href: `metrics/${metric.name}/index.html` }, made("strong", {}, label));
    const said = made("p", {}, link, `: ${second} gives `, made("strong", {}, shown(answer, metric)), after(answer), ` ${first} gives `, made("strong", {}, shown(usual, metric)), after(usual));
    const found = this.compared.explain(metric, first, second);
    if (found === null) return [said];
    const formulas = [...new Set([first, second].map((name) => this.compared.formula(metric, name)))];
    const shownFormulas = formulas.length > 1 ? [second, first].map((name) => this.#formula(metric, name)) : [made("p", { class: "formula" }, "both: ", made("code", {}, formulas[0]))];
    return [said, ...reasons(found, metric, first, second), ...shownFormulas];
  }
}

/** Which choices make the difference, in words. */
function reasons({ ends, matter, enough, idle }, metric, first, second) {
  const listed = (choices, alone = false) =>
    choices.map((choice) => made("li", {}, ...side(second, choice.name, choice.to), made("br"), ...side(first, choice.name, choice.from), ...(alone ? [made("br"), `This choice alone would make it ${shown(choice.alone, metric)}.`] : [])));
  const names = idle.map(({ name }) => name).join(", ");
  const also = idle.length ? [made("p", { class: "hint" }, `Also different, but without effect on this list: ${names}.`)] : [];
  if (same(...ends)) {
    const cancelled = matter.length ? " They choose differently, but here it comes to the same:" : "";
    return [made("p", {}, `The same number.${cancelled}`), ...(matter.length ? [made("ul", {}, ...listed(matter))] : []), ...also];
  }
  if (enough.length) {
    const text = enough.length > 1 ? "Any one of these choices makes the difference:" : "One choice makes the difference:";
    return [made("p", {}, text), made("ul", {}, ...listed(enough)), ...also];
  }
  return [made("p", {}, "No single choice makes the difference; these have a part in it:"), made("ul", {}, ...listed(matter, true)), ...also];
}

/** What a convention chooses. */
function side(convention, name, [value, words]) {
  return [`${convention}: `, made("code", {}, `${name}=${value}`), ...(words ? [`, ${words}`] : [])];
}

/** A number as the table has it. */
function shown(answer, metric) {
  if ("absent" in answer) return "\u2013";
  if ("problem" in answer) return "error";
  if (answer.value === null) return "\u2013";
  return metric.kind === "count" && Number.isInteger(answer.value) ? String(answer.value) : answer.value.toFixed(4);
}

/** In full. */
function described(answer) {
  if ("value" in answer) return answer.value === null ? "no number: the list does not enter the mean" : String(answer.value);
  return answer.absent ?? answer.problem;
}

function after(answer) {
  return "value" in answer && answer.value !== null ? "." : ` (${described(answer)}).`;
}

function fillInput(input, value) {
  if (document.activeElement === input && (input.value === "" ? null : Number(input.value)) === (value ?? null)) return;
  input.value = value ?? "";
}

function readK(text) {
  const k = Number(text);
  return text.trim() !== "" && Number.isInteger(k) && k >= 1 ? Math.min(k, MOST_K) : null;
}

/** The definitions, which the page carries compressed. */
async function unpacked(text) {
  const bytes = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  const program = JSON.parse(await new Response(stream).text());
  document.head.append(made("script", {}, program.script));
  return program;
}

window.play = unpacked($("program").textContent).then((program) => new Page(program));
window.play.catch((error) => {
  $("why").textContent = `This page could not start; it needs a browser of 2023 or later. ${error.message}`;
});
