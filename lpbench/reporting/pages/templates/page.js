"use strict";
(() => {
  const root = document.documentElement, toggle = document.getElementById("theme");
  const dark = () => root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  const label = () => {
    toggle.textContent = dark() ? "Light" : "Dark";
    toggle.setAttribute("aria-label", `${toggle.textContent}: use ${toggle.textContent.toLowerCase()} colours`);
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
  const boxes = (within) => within.querySelectorAll(".wide > .scroll");
  addEventListener("filled", () => boxes(document).forEach(measure));

  const value = (row, k) => { const c = row.cells[k]; return c ? c.dataset.v ?? c.textContent.trim().split(" / ").pop() : ""; };
  const compare = (a, b) => {
    const x = parseFloat(a), y = parseFloat(b);
    if (!isNaN(x) && !isNaN(y) && x !== y) return x - y;
    if (isNaN(x) !== isNaN(y)) return isNaN(x) ? 1 : -1;
    return a.localeCompare(b, undefined, { numeric: true });
  };
  const prepare = (within) => {
    boxes(within).forEach((box) => { measure(box); watcher.observe(box); });
    for (const table of within.querySelectorAll("table.sortable")) {
      const heads = [...table.tHead.rows[table.tHead.rows.length - 1].cells];
      heads.forEach((head, k) => {
        if (!head.textContent.trim()) return;
        const button = document.createElement("button");
        button.type = "button";
        button.append(...head.childNodes);
        head.append(button);
        button.addEventListener("click", () => {
          const down = head.getAttribute("aria-sort") === "ascending";
          heads.forEach((h) => h.removeAttribute("aria-sort"));
          head.setAttribute("aria-sort", down ? "descending" : "ascending");
          const body = table.tBodies[0];
          body.append(...[...body.rows].sort((a, b) => (down ? -1 : 1) * compare(value(a, k), value(b, k))));
        });
      });
    }
  };
  prepare(document);

  // tables that the page does not carry come when their fold is opened
  const scripts = {};
  const load = (address) => scripts[address] ??= new Promise((done, fail) => {
    const script = document.createElement("script");
    script.onload = done;
    script.onerror = fail;
    script.src = address;
    document.head.append(script);
  });
  const bring = async (places) => {
    for (const place of places) {
      const address = place.closest("section").dataset.t;
      try {
        await load(address);
      } catch {
        place.textContent = `${address} is not here: lpbench report writes it.`;
        continue;
      }
      if (!place.isConnected) continue;
      const made = document.createElement("div");
      made.innerHTML = TABLES[address][place.dataset.table];
      place.replaceWith(made);
      prepare(made);
    }
  };
  document.addEventListener("toggle", ({ target }) => {
    if (target.open) bring([...target.querySelectorAll("[data-table]")].filter((p) => p.closest("details") === target));
  }, true);

  // what an entry does not say itself stands at its row, its column's head and its table
  const KEYS = ["d", "m", "k", "e", "p", "x"];
  const of = (cell, key) => {
    const table = cell.closest("table"), heads = table.tHead.rows[table.tHead.rows.length - 1].cells;
    for (const at of [cell, cell.parentElement, heads[cell.cellIndex], table]) if (at?.dataset[key] !== undefined) return at.dataset[key];
    return "";
  };
  const quote = (word) => /^[\w.,\/=:@%+-]+$/.test(word) ? word : `'${word}'`;
  const name = (cell) => ["entry", cell.closest("section")?.dataset.n ?? "", ...KEYS.map((key) => of(cell, key))].join("|");
  const detail = document.getElementById("detail");
  const show = (button) => {
    const cell = button.closest("td"), [d, m, k, e, p, x] = KEYS.map((key) => of(cell, key));
    const section = button.closest("section"), [metric, mean, se, n, setting] = button.dataset.i.split("|");
    const printed = button.innerText.trim().replace(/\s+/g, " ");
    const options = { mask: k, experiment: section?.dataset.n, panel: p, x };
    const words = ["lpbench", "explain", d, m, e];
    for (const [option, given] of Object.entries(options)) if (given) words.push(`--${option}`, given);
    detail.dataset.command = words.map(quote).join(" ");
    detail.dataset.link = `${location.href.split("#")[0]}#${encodeURIComponent(name(cell))}`;
    detail.querySelector("pre").textContent = [
      [d, k, m, e && `ε = ${e}`, p && `panel ${p}`, x && `x = ${x}`].filter(Boolean).join(", "), printed,
      metric && `${metric} ${mean}, standard error ${se}, ${n} replications`, setting && `setting ${setting}`,
      section?.dataset.n && `all of it: lpbench reproduce ${section.dataset.n}`, detail.dataset.command].filter(Boolean).join("\n");
    detail.showModal();
  };
  document.addEventListener("click", (event) => {
    const button = event.target.closest("button[data-i]");
    if (button) show(button);
    const copy = event.target.closest("button[data-copy]");
    if (copy) navigator.clipboard?.writeText(copy.closest("[data-command]").dataset[copy.dataset.copy]).then(() => { copy.textContent = "Copied"; }, () => {});
  });

  // a link to something folded unfolds it; a link to an entry shows what stands behind it
  const follow = async () => {
    const wanted = decodeURIComponent(location.hash.slice(1));
    if (!wanted) return;
    let target = document.getElementById(wanted);
    const find = () => [...document.querySelectorAll("td button[data-i]")].find((b) => name(b.closest("td")) === wanted);
    let entry = wanted.startsWith("entry|") && find();
    if (entry === undefined) {
      const late = [...document.querySelectorAll("section[data-t]")].filter((s) => s.dataset.n === wanted.split("|")[1]);
      for (const section of late) await bring(section.querySelectorAll("[data-table]"));
      entry = find();
    }
    if (entry) target = entry;
    for (let at = target; at; at = at.parentElement) if (at.tagName === "DETAILS") at.open = true;
    if (target && (entry || !target.checkVisibility?.() || target.closest("details"))) target.scrollIntoView({ block: "center" });
    if (entry && !detail.open) show(entry);
  };
  addEventListener("hashchange", follow);
  follow();
  addEventListener("beforeprint", () => document.querySelectorAll("details").forEach((d) => { d.open = true; }));
})();
