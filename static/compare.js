// A comparison by keyboard: n and p go from file to file, arrows among the line numbers of one.
(() => {
  const titles = [...document.querySelectorAll(".compare-file h3")];

  // The file that has the focus, else the one at the top of the window.
  const current = () => {
    const focused = titles.findIndex((each) => each.closest(".compare-file").contains(document.activeElement));
    return focused >= 0 ? focused : titles.findLastIndex((each) => each.getBoundingClientRect().top < 20);
  };

  const steps = { ArrowDown: [1, 0], ArrowUp: [-1, 0], ArrowRight: [0, 1], ArrowLeft: [0, -1] };
  const place = (number) => ({ row: number.closest("tr").rowIndex, column: number.closest("td").cellIndex });

  // The nearest number in that direction: of the same side, or of the other one. A narrow screen hides some.
  const walk = (event) => {
    const step = steps[event.key];
    const number = event.target.closest(".compared a");
    if (!step || !number) return;
    event.preventDefault();
    const from = place(number);
    const away = (each) => Math.abs(place(each).row - from.row);
    const lies = (each) => {
      const { row, column } = place(each);
      return step[0] ? column === from.column && (row - from.row) * step[0] > 0 : (column - from.column) * step[1] > 0;
    };
    [...number.closest("table").querySelectorAll("a")]
      .filter((each) => lies(each) && each.getClientRects().length)
      .reduce((best, each) => (best && away(best) <= away(each) ? best : each), null)
      ?.focus();
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

  // One stop of the tab key for each side of a file; without this script every number is one.
  for (const table of document.querySelectorAll(".compared")) {
    const sides = new Set();
    for (const each of table.querySelectorAll("a")) {
      const { column } = place(each);
      if (sides.has(column)) each.tabIndex = -1;
      sides.add(column);
    }
  }
})();
