"use strict";
// Lists as people type them, and as an address carries them: one line per item, with its grade or its score after it.

const MOST_ITEMS = 200;
const LARGEST = { grade: 100, score: 1e9 };

/** Pairs of an item and a number, or null where a line has none; and what is wrong, in words. */
function readLines(text, what) {
  const lines = text.split("\n").map((line) => line.replace(/\r$/, "")).filter((line) => line.trim());
  const pairs = new Map();
  const problems = [];
  lines.forEach((line, at) => {
    const [item, word] = readLine(line, what);
    const value = word === "" ? null : Number(word);
    if (value !== null && !(Math.abs(value) <= LARGEST[what])) {
      problems.push(`line ${at + 1}: the ${what} ${word} is not a number from ${-LARGEST[what]} to ${LARGEST[what]}`);
    } else if (pairs.has(item)) {
      problems.push(`line ${at + 1}: ${item} is there already`);
    } else if (pairs.size >= MOST_ITEMS) {
      problems.push(`only the first ${MOST_ITEMS} items are read`);
    } else {
      pairs.set(item, value);
    }
  });
  return { pairs: [...pairs], problems: [...new Set(problems)] };
}

/** The item and the number's text; a tab comes before it, or a space. Lines of trec_eval's files are read too. */
function readLine(line, what) {
  const words = line.trim().split(/\s+/);
  if (what === "grade" && words.length === 4 && /^Q?0$/.test(words[1])) return [words[2], words[3]];
  if (what === "score" && words.length === 6 && words[1] === "Q0") return [words[2], words[4]];
  const tab = line.lastIndexOf("\t");
  if (tab >= 0 && line.slice(0, tab).trim()) return [line.slice(0, tab).trim(), line.slice(tab + 1).trim()];
  const found = /^(.*\S)\s+(\S+)$/.exec(line.trim());
  if (found && (what === "grade" || isNumber(found[2]))) return [found[1], found[2]];
  return [line.trim(), ""];
}

function isNumber(word) {
  return word !== "" && Number.isFinite(Number(word));
}

function writeLines(pairs) {
  return pairs.map(([item, value]) => (value === null ? item + (/\s/.test(item) ? "\t" : "") : `${item}${/\s/.test(item) ? "\t" : " "}${value}`)).join("\n");
}
