// Small helpers for texts that are shown.
const BREAKS = /([_./\\-])(?=\w)|([a-z0-9])(?=[A-Z])/g;

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
