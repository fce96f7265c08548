// A comparison by keyboard: n and p go from file to file, arrows along the line numbers of one.
(() => {
  const titles = [...document.querySelectorAll(".compare-file h3")];

  // The file that has the focus, else the one at the top of the window.
  const current = () => {
    const focused = titles.findIndex((each) => each.closest(".compare-file").contains(document.activeElement));
    return focused >= 0 ? focused : titles.findLastIndex((each) => each.getBoundingClientRect().top < 20);
  };

  const walk = (event) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    const number = event.target.closest(".compared a");
    if (!step || !number) return;
    event.preventDefault();
    const numbers = [...number.closest("table").querySelectorAll("a")];
    numbers[numbers.indexOf(number) + step]?.focus();
  };

  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.target.closest("input, textarea, select")) return;
    walk(event);
    const step = { n: 1, p: -1 }[event.key];
    const title = step && titles[current() + step];
    if (!title) return;
    event.preventDefault();
    title.focus({ preventScroll: true });
    title.scrollIntoView();
  });

  // One stop of the tab key for each file; without this script every number is one.
  for (const table of document.querySelectorAll(".compared")) {
    [...table.querySelectorAll("a")].slice(1).forEach((each) => { each.tabIndex = -1; });
  }
})();
