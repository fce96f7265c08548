// What every page does: polls rest while hidden, errors show, single keys work, times stay true.
(() => {
  const polls = (element) => element.closest("[data-poll]") === element;

  // A hidden page asks nothing; once seen again it asks at once. A poll that was refused does not repeat.
  document.addEventListener("htmx:beforeRequest", (event) => {
    const element = event.detail.elt;
    if (polls(element) && (document.hidden || element.dataset.refused)) event.preventDefault();
  });
  document.addEventListener("visibilitychange", () => {
    if (!document.hidden) document.querySelectorAll("[data-poll]").forEach((each) => htmx.trigger(each, "wake"));
  });
  // Nobody's reading is interrupted: no swap while text of the fragment is selected.
  document.addEventListener("htmx:beforeSwap", (event) => {
    const selected = getSelection();
    if (polls(event.detail.elt) && !selected.isCollapsed && event.detail.elt.contains(selected.anchorNode)) {
      event.detail.shouldSwap = false;
    }
  });

  // The live region is read out when it changes; the same words again are no change.
  document.addEventListener("htmx:oobBeforeSwap", (event) => {
    const said = (element) => element.textContent.trim().replace(/\s+/g, " ");
    const { target, fragment } = event.detail;
    if (target.id === "live" && said(target) === said(fragment)) event.detail.shouldSwap = false;
  });

  const complain = (text) => {
    const note = document.createElement("p");
    note.className = "note error";
    note.textContent = text;
    document.getElementById("notice").replaceChildren(note);
  };
  document.addEventListener("htmx:responseError", (event) => {
    const { elt, xhr } = event.detail;
    if (polls(elt) && xhr.status < 500) elt.dataset.refused = "yes";
  });
  document.addEventListener("htmx:sendError", (event) => {
    complain(polls(event.detail.elt)
      ? "The server cannot be reached; this page shows an older state."
      : "The server cannot be reached. Nothing was stored; try again.");
  });
  document.addEventListener("htmx:swapError", () => complain("The answer could not be shown. Reload the page."));

  // data-key: that key, alone and outside of fields, presses a link or button, or enters a field.
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.repeat) return;
    if (event.target.closest("input, textarea, select, [contenteditable]")) {
      if (event.key === "Escape") event.target.blur();
      return;
    }
    const wanted = [...document.querySelectorAll("[data-key]")].find((each) => each.dataset.key === event.key);
    if (!wanted || wanted.disabled) return;
    event.preventDefault();
    if (wanted.matches("textarea, input")) wanted.focus();
    else wanted.click();
  });

  // data-copy: puts the text before the button on the clipboard, where the browser gives a page one.
  const offerCopies = (within) => {
    if (navigator.clipboard) within.querySelectorAll("[data-copy]").forEach((each) => { each.hidden = false; });
  };
  offerCopies(document);
  document.addEventListener("htmx:load", (event) => offerCopies(event.detail.elt));
  document.addEventListener("click", async (event) => {
    const button = event.target.closest("[data-copy]");
    if (!button) return;
    await navigator.clipboard.writeText(button.previousElementSibling.textContent);
    button.textContent = "Copied";
    document.getElementById("live").textContent = "Copied.";
  });

  const units = [["d", 86400], ["h", 3600], ["min", 60]];
  const since = (when) => {
    const past = (Date.now() - Date.parse(when)) / 1000;
    const unit = units.find(([, size]) => past >= size);
    return unit ? `${Math.floor(past / unit[1])} ${unit[0]} ago` : "just now";
  };
  setInterval(() => {
    if (document.hidden) return;
    document.querySelectorAll("time[data-ago]").forEach((each) => { each.textContent = since(each.dateTime); });
  }, 20000);
})();
