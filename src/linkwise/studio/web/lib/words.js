// Small helpers for texts that are shown.
const BREAKS = /[_/\\](?=\w)|[.-](?=[A-Za-z])|[a-z0-9](?=[A-Z])/g; // never inside a number or a date

// A name of a column with places where a line may break.
export function breakable(name) {
  return String(name).replace(BREAKS, "$&\u200b");
}

export function count(n, what) {
  return `${n.toLocaleString("en")} ${what}${n === 1 ? "" : "s"}`;
}

export function percent(share) {
  return share === null || share === undefined ? "" : `${Math.round(100 * share)}%`;
}

// Whether a cell is better on one line: a number, a date, a word or two.
export function isShort(text) {
  return text.length <= 16;
}

// Answers per minute, without digits that say nothing.
export function rate(perMinute) {
  return perMinute >= 10 ? Math.round(perMinute).toLocaleString("en") : String(Math.round(10 * perMinute) / 10);
}

// Letters without accents and case, for search.
export function plain(text) {
  return String(text).normalize("NFD").replace(/\p{M}/gu, "").toLowerCase();
}

// The clusters whose name, number or traits have all words of a search, in an order.
export function arranged(clusters, search, order) {
  const words = plain(search).split(/\s+/).filter(Boolean);
  const text = (c) => plain([c.name, c.number + 1, ...c.traits.map((trait) => trait[1])].join(" "));
  const found = clusters.filter((c) => words.every((word) => text(c).includes(word)));
  const by = { size: (a, b) => b.size - a.size, name: (a, b) => a.name.localeCompare(b.name, "en", { numeric: true }) };
  return by[order] ? found.sort(by[order]) : found;
}
