// Arrow keys move between the nodes of a lineage's tree: to the nearest one in that direction.
(() => {
  const place = (node) => ({ x: Number(node.dataset.x), y: Number(node.dataset.y) });
  const steps = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };

  const nearest = (nodes, from, [right, down]) => {
    const origin = place(from);
    let best = null;
    let least = Infinity;
    for (const node of nodes) {
      const { x, y } = place(node);
      const along = (x - origin.x) * right + (y - origin.y) * down;
      const aside = Math.abs((x - origin.x) * down) + Math.abs((y - origin.y) * right);
      if (along > 0 && along + 2 * aside < least) [best, least] = [node, along + 2 * aside];
    }
    return best;
  };

  for (const tree of document.querySelectorAll(".tree")) {
    tree.scrollLeft = tree.scrollWidth;
    tree.addEventListener("keydown", (event) => {
      const step = steps[event.key];
      const node = event.target.closest("a.node");
      if (!step || !node || event.altKey || event.ctrlKey || event.metaKey) return;
      event.preventDefault();
      nearest(tree.querySelectorAll("a.node"), node, step)?.focus();
    });
  }
})();
