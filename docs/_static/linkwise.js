// What the theme and docutils leave unnamed or misnamed for screen readers.
document.addEventListener("DOMContentLoaded", () => {
  for (const list of document.querySelectorAll(".citation-list, .citation")) {
    list.removeAttribute("role");
  }
  for (const summary of document.querySelectorAll(".bd-links summary")) {
    const link = summary.closest("li").querySelector("a");
    summary.setAttribute("aria-label", `pages below ${link.textContent.trim()}`);
  }
});
