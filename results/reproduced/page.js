"use strict";
const quoted = (w) => /^[\w.,\/=:@%+-]+$/.test(w) ? w : `'${w}'`;
// rows of values as a CSV file that the browser keeps
const download = (name, rows) => {
  const field = (v) => /[",\n]/.test(v ?? "") ? `"${String(v).replaceAll('"', '""')}"` : v ?? "";
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([rows.map((r) => r.map(field).join(",")).join("\n") + "\n"], { type: "text/csv" }));
  link.download = name;
  link.click();
  URL.revokeObjectURL(link.href);
};
(() => {
  const root = document.documentElement, toggle = document.getElementById("theme");
  const dark = () => root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  const label = () => {
    toggle.textContent = dark() ? "Light" : "Dark";
    toggle.setAttribute("aria-label", `${toggle.textContent}: use ${toggle.textContent.toLowerCase()} colors`);
  };
  let kept = new URLSearchParams(location.search).get("theme");
  try { kept = kept || localStorage.getItem("theme"); } catch { /* pages opened from disk may have no storage */ }
  if (kept === "dark" || kept === "light") root.dataset.theme = kept;
  label();
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", label);
  toggle.addEventListener("click", () => {
    root.dataset.theme = dark() ? "light" : "dark";
    try { localStorage.setItem("theme", root.dataset.theme); } catch { /* the choice then lasts for this page */ }
    label();
    dispatchEvent(new Event("theme"));
  });

  // on a small screen the contents stand folded above the text
  const contents = document.querySelector(".contents details");
  if (contents && innerWidth < 1024) contents.open = false;

  // a table that is wider than its place says so
  const measure = (box) => box.parentElement.classList.toggle("is-wide", box.scrollWidth > box.clientWidth + 1);
  const watcher = new ResizeObserver((changes) => changes.forEach((c) => measure(c.target)));
  // rows that come later change the box only where they make it higher
  const rowsWatcher = new MutationObserver((changes) => new Set(changes.map((c) => c.target.closest(".scroll"))).forEach(measure));

  const value = (row, k) => { const c = row.cells[k]; return c ? c.dataset.v ?? c.textContent.trim().split(" / ").pop() : ""; };
  const compare = (a, b) => {
    const x = parseFloat(a), y = parseFloat(b);
    if (!isNaN(x) && !isNaN(y) && x !== y) return x - y;
    if (isNaN(x) !== isNaN(y)) return isNaN(x) ? 1 : -1;
    return a.localeCompare(b, undefined, { numeric: true });
  };
  const button = (head) => {
    const made = document.createElement("button");
    made.type = "button";
    if (head.closest(".scroll")) made.tabIndex = -1;
    made.append(...head.childNodes);
    head.append(made);
    return made;
  };
  document.querySelectorAll(".wide > .scroll").forEach((box) => { measure(box); watcher.observe(box); rowsWatcher.observe(box, { childList: true, subtree: true }); });
  document.querySelectorAll("td[data-i]").forEach(button);
  for (const table of document.querySelectorAll("table.sortable")) {
      const heads = [...table.tHead.rows[table.tHead.rows.length - 1].cells];
      heads.forEach((head, k) => {
        if (!head.textContent.trim()) return;
        button(head).addEventListener("click", () => {
          const down = head.getAttribute("aria-sort") === "ascending";
          heads.forEach((h) => h.removeAttribute("aria-sort"));
          head.setAttribute("aria-sort", down ? "descending" : "ascending");
          const body = table.tBodies[0];
          body.append(...[...body.rows].sort((a, b) => (down ? -1 : 1) * compare(value(a, k), value(b, k))));
        });
      });
  }

  // a table is one stop of the tab key: arrow keys move between its heads and entries
  document.addEventListener("keydown", (event) => {
    const box = event.target.closest?.(".scroll"), step = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] }[event.key];
    if (!box || !step || !box.querySelector("table button") || event.target.tagName === "SELECT") return;
    const rows = [...box.querySelectorAll("tr")].map((row) => [...row.querySelectorAll("button")]).filter((row) => row.length);
    let y = rows.findIndex((row) => row.includes(event.target)), x = y < 0 ? 0 : rows[y].indexOf(event.target);
    if (y < 0) y = 0; else [x, y] = [x + step[0], y + step[1]];
    const next = rows[y]?.[Math.min(x, rows[y].length - 1)];
    if (next && x >= 0) { event.preventDefault(); next.focus(); next.scrollIntoView({ block: "nearest", inline: "nearest" }); }
  });

  // what an entry does not say itself stands at its row, its column's head and its table
  const KEYS = ["d", "m", "k", "e", "p", "x"];
  const of = (cell, key) => {
    const table = cell.closest("table"), heads = table.tHead.rows[table.tHead.rows.length - 1].cells;
    for (const at of [cell, cell.parentElement, heads[cell.cellIndex], table]) if (at?.dataset[key] !== undefined) return at.dataset[key];
    return "";
  };
  const name = (cell) => ["entry", cell.closest("[data-n]")?.dataset.n ?? "", ...KEYS.map((key) => of(cell, key))].join("|");
  const detail = document.getElementById("detail");
  const show = (button) => {
    const cell = button.closest("td"), [d, m, k, e, p, x] = KEYS.map((key) => of(cell, key));
    const section = button.closest("[data-n]");
    const printed = button.innerText.trim().replace(/\s+/g, " ");
    const options = { mask: k, experiment: section?.dataset.n, panel: p, x };
    const words = ["lpbench", "explain", d, m, e];
    for (const [option, given] of Object.entries(options)) if (given) words.push(`--${option}`, given);
    detail.dataset.command = words.map(quoted).join(" ");
    detail.dataset.link = `${location.href.split("#")[0]}#${encodeURIComponent(name(cell))}`;
    detail.querySelector("pre").textContent = [
      [d, k, m, e && `ε = ${e}`, p && `panel ${p}`, x && `x = ${x}`].filter(Boolean).join(", "), printed,
            section?.dataset.n && `whole experiment: lpbench reproduce ${section.dataset.n}`, detail.dataset.command].filter(Boolean).join("\n");
    detail.showModal();
  };
  document.addEventListener("click", (event) => {
    const button = event.target.closest("td[data-i] button");
    if (button) show(button);
    const copy = event.target.closest("button[data-copy]");
    if (copy) navigator.clipboard?.writeText(copy.closest("[data-command]").dataset[copy.dataset.copy]).then(() => { copy.textContent = "Copied"; }, () => {});
  });

  // a link to something folded unfolds it; a link to an entry shows what stands behind it
  const follow = () => {
    const wanted = decodeURIComponent(location.hash.slice(1));
    if (!wanted) return;
    const ours = wanted.startsWith("entry|"), entry = ours && [...document.querySelectorAll("td[data-i] button")].find((b) => name(b.closest("td")) === wanted);
    const target = entry || (ours ? document.querySelector(`[data-n="${CSS.escape(wanted.split("|")[1])}"]`) : document.getElementById(wanted));
    for (let at = target; at; at = at.parentElement) if (at.tagName === "DETAILS") at.open = true;
    if (target && (entry || !target.checkVisibility?.() || target.closest("details"))) target.scrollIntoView({ block: target.tagName === "DETAILS" ? "start" : "center" });
    if (entry && !detail.open) show(entry);
  };
  addEventListener("hashchange", follow);
  follow();
})();
