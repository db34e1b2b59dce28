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

// Where keys work, and what each does.
export const KEYS = {
  Question: [
    [["S"], "same"], [["D"], "different"], [["U"], "unsure"],
    [["Esc"], "leave a question of your own"],
  ],
  "Several at once": [[["1–9"], "select a record"], [["G"], "they belong together"], [["Enter"], "done"]],
  Records: [
    [["/"], "search"], [["↑", "↓"], "walk"], [["Space"], "select"], [["Shift ↑", "Shift ↓"], "select several"],
    [["M"], "move them"], [["N"], "new cluster"], [["T"], "belong together"], [["R"], "right where they are"],
    [["X"], "not in here"], [["O"], "outlier"], [["L"], "records like this one"], [["Esc"], "select none"],
  ],
  Everywhere: [[["Z", "Backspace"], "undo your last step"], [["?"], "show the keys"]],
  "Map, once clicked": [[["+", "−", "0"], "zoom"], [["arrows"], "move"], [["Shift"], "and drag: select records"]],
};
