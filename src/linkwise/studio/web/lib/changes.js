// What becomes of a session whose data changed, in words.
import { count } from "linkwise/lib/words.js";

const SHOWN = 5; // names of records

function some(names) {
  return names.slice(0, SHOWN).join(", ") + (names.length > SHOWN ? ", …" : "");
}

// One line per kind of change; the answers that stay come first. `n_before`: records of the session.
export function changeLines(changes, n_before) {
  const { n_answers, added, removed, reordered, n_features } = changes;
  // Other records give other means and spreads: then every record has new values.
  const rescaled = changes.changed.length === n_before - removed.length && added.length + removed.length > 0;
  const changed = rescaled ? [] : changes.changed;
  const lines = [`${count(n_answers, "answer")} kept`];
  for (const [names, what] of [[added, "new"], [removed, "gone"], [changed, "changed"]]) {
    if (names.length) lines.push(`${count(names.length, "record")} ${what}: ${some(names)}`);
  }
  if (rescaled) lines.push("the others are measured on a scale that fits the new data");
  if (reordered) lines.push("the records are in another order");
  if (n_features[0] !== n_features[1]) lines.push(`${count(n_features[1], "measured value")} per record, before ${n_features[0].toLocaleString("en")}`);
  return lines;
}

// What is lost and what comes back, each with a title.
export function changeLists({ dropped, restored }) {
  return [
    [`Left out: ${dropped.length.toLocaleString("en")} about records that are gone; they return with them`, dropped],
    [`Back again: ${restored.length.toLocaleString("en")} about records that returned`, restored],
  ].filter(([, lines]) => lines.length);
}
