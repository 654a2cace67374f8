// Loads PAGES into frames of WIDTHS, tries what a reader would, and writes what it found into the page.
const wait = (ms) => new Promise((done) => setTimeout(done, ms));
// Rows of a table whose every cell is made like one above it: the same elements, classes, styles and attributes, and
// text where that has text (one letter or more: axe-core leaves single letters alone). Axe-core would find there what it
// finds above, and it takes its time for every cell.
const alike = (page) => [...page.querySelectorAll("tbody")].flatMap((body) => {
  const known = new Set();
  return [...body.rows].filter((row) => {
    const made = [...row.cells].map((cell) => row.className + cell.outerHTML.replace(/>\s*[^<\s][^<]+</g, ">…<").replace(/>\s*[^<\s…]</g, ">.<")
      .replace(/ (?!class|style)([\w-]+)="[^"]+"/g, " $1"));
    const all = made.every((m) => known.has(m));
    made.forEach((m) => known.add(m));
    return all;
  });
});
const look = async (page, width) => {
  const frame = document.createElement("iframe");
  frame.style.cssText = `width:${width}px;height:900px;border:0`;
  const loaded = new Promise((done) => { frame.onload = done; });
  frame.src = page;
  document.body.append(frame);
  await loaded;
  const view = frame.contentWindow, page_ = frame.contentDocument, root = page_.documentElement, found = { page, width };
  found.scrolls = root.scrollWidth - root.clientWidth;
  found.height = root.scrollHeight;
  const stops = page_.querySelectorAll("a[href], button, input, select, summary, [tabindex='0']");
  found.stops = [...stops].filter((e) => e.tabIndex >= 0 && e.checkVisibility()).length;
  const levels = [...page_.querySelectorAll("h1, h2, h3, h4, h5")].map((h) => Number(h.tagName[1]));
  found.skipped = levels.filter((level, k) => level > (k ? levels[k - 1] : 0) + 1);
  page_.querySelectorAll("details").forEach((d) => { d.open = true; });
  const pictures = [...page_.images];
  pictures.forEach((i) => { i.loading = "eager"; });
  await Promise.all(pictures.map((i) => i.decode().catch(() => 0)));
  found.scrolls = Math.max(found.scrolls, root.scrollWidth - root.clientWidth);
  found.broken = pictures.filter((i) => !i.naturalWidth).map((i) => i.getAttribute("src"));
  found.elsewhere = view.performance.getEntriesByType("resource").map((r) => r.name)
    .filter((n) => !n.startsWith(location.origin) && !n.startsWith("data:"));
  // what is wider than its place says so, and keeps its first column
  await wait(200);
  found.silent = [...page_.querySelectorAll(".scroll")].filter((box) => box.scrollWidth > box.clientWidth + 1).filter((box) => {
    const first = box.querySelector("tbody tr > :first-child"), hint = box.parentElement.querySelector(".hint");
    return (first && view.getComputedStyle(first).position !== "sticky") || !hint?.getClientRects().length;
  }).map((box) => box.getAttribute("aria-label"));
  found.menu = new Set([...page_.querySelectorAll(".top nav a")].map((a) => a.offsetTop)).size;
  // a caption stays in view while its table is scrolled sideways
  found.strayed = [...page_.querySelectorAll(".scroll:has(caption .wrap)")].filter((box) => box.checkVisibility()).filter((box) => {
    box.scrollLeft = box.scrollWidth;
    const away = box.querySelector("caption .wrap").getBoundingClientRect().left < box.getBoundingClientRect().left - 1;
    box.scrollLeft = 0;
    return away;
  }).map((box) => box.getAttribute("aria-label"));
  found.crowded = [...page_.querySelectorAll("svg.chart")].flatMap(crowded);
  if (AXE_WIDTHS.includes(width)) {
    const again = alike(page_);
    again.forEach((row) => { row.hidden = true; });
    const script = page_.createElement("script");
    const ready = new Promise((done) => { script.onload = done; });
    script.src = "/axe.js";
    page_.head.append(script);
    await ready;
    const result = await view.axe.run(page_, { resultTypes: ["violations"] });
    found.axe = result.violations
      .map((v) => `${v.id}: ${v.nodes.slice(0, 3).map((n) => n.html.slice(0, 160)).join(" ;; ")} (${v.nodes.length})`);
    again.forEach((row) => { row.hidden = false; });
  }
  found.background = view.getComputedStyle(page_.body).backgroundColor;
  const head = page_.querySelector("table.sortable:has(tbody tr + tr) thead tr:last-child th:nth-child(2) button");
  if (head) {
    const table = head.closest("table"), column = head.closest("th").cellIndex;
    const read = () => [...table.tBodies[0].rows].map((r) => r.cells[column].textContent);
    const before = read(), begins = head.closest("th").getAttribute("aria-sort");
    head.focus();
    head.click();
    const once = head.closest("th").getAttribute("aria-sort"), first = read();
    head.click();
    found.sort = { focused: page_.activeElement === head, begins, once, twice: head.closest("th").getAttribute("aria-sort"),
      same: [...before].sort().join() === [...first].sort().join(), reversed: read().join() !== first.join() || new Set(first).size < 2 };
  }
  const cell = page_.querySelector("td[data-i] button");
  if (cell) {
    cell.click();
    found.detail = page_.querySelector("dialog[open] pre")?.textContent ?? "";
    found.link = page_.getElementById("replications")?.getAttribute("href") ?? "";
    page_.querySelector("dialog").close();
  }
  found.seconds = view.performance.timing.domContentLoadedEventEnd / 1000 - view.performance.timing.navigationStart / 1000;
  frame.remove();
  return found;
};
(async () => {
  const all = [];
  for (const page of PAGES) for (const width of WIDTHS) all.push(await look(page, width));
  const out = document.createElement("pre");
  out.id = "result";
  out.textContent = JSON.stringify(all);
  document.body.append(out);
})();
