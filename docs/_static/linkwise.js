// What the theme and docutils leave unnamed or misnamed for screen readers.
document.addEventListener("DOMContentLoaded", () => {
  for (const list of document.querySelectorAll(".citation-list, .citation")) {
    list.removeAttribute("role");
  }
  for (const summary of document.querySelectorAll(".bd-links summary")) {
    const link = summary.closest("li").querySelector("a");
    summary.setAttribute("aria-label", `pages below ${link.textContent.trim()}`);
  }
  // Tables that do not fit get a note below them (linkwise.css).
  const mark = () => {
    for (const box of document.querySelectorAll(".pst-scrollable-table-container")) {
      box.classList.toggle("scrolls", box.scrollWidth > box.clientWidth + 1);
    }
  };
  mark();
  window.addEventListener("resize", mark);
});
