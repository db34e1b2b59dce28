// Keys that work on every keyboard: the letter on the key where it is Latin, else its position.
export function letter(event) {
  if (/^[a-z]$/i.test(event.key)) return event.key.toLowerCase();
  if (/^Key[A-Z]$/.test(event.code || "")) return event.code.slice(3).toLowerCase();
  return "";
}

// Whether a key belongs to something else: a field being written in, a shortcut, a dialog.
export function isTaken(event) {
  const typing = event.target.closest?.("input:not([type=checkbox]):not([type=radio]), textarea, select, [contenteditable]");
  return Boolean(typing || event.ctrlKey || event.metaKey || event.altKey || document.querySelector(".q-dialog"));
}

export const KEYS = [
  ["S", "same"], ["D", "different"], ["U", "unsure"], ["Z or Backspace", "undo your last step"],
  ["Esc", "back to the studio's question; clear the selection"], ["/", "search in the records"],
  ["↑ ↓", "walk through the records"], ["Space", "select a record"], ["Shift ↑ ↓", "select several records"],
  ["M", "move the selected records"], ["N", "new cluster of them"], ["T", "they belong together"],
  ["1-9, G, Enter", "several at once: select, group, done"],
  ["R", "they are right here"], ["X", "they are not in here"],
  ["+ − 0, arrows", "zoom and move the map, when it has the focus"], ["?", "show the keys"],
];
