"use strict";
(() => {
  const form = document.getElementById("filters"), body = document.querySelector("#board tbody"), told = document.getElementById("told");
  const rows = BOARD.groups.flatMap(([task, mask_key, mask, epsilon, selection, lines]) => lines.map((line) => {
    const [set, of, from, sets, score, se, floor, best, rank, low, high, bits] = line;
    const [dataset_key, dataset] = BOARD.sets[set], [method, title, protects, work, badge, paper] = BOARD.methods[of];
    return { task, mask_key, mask, epsilon, selection, dataset_key, dataset, method, title, protects, work, bits, badge, paper,
      experiment: BOARD.experiments[from], sets, score, se, floor, best, rank, low, high };
  }));
  const text = (v) => typeof v === "number" ? String(v) : v;
  const cell = (content, value, tag = "td") => {
    const made = document.createElement(tag);
    if (tag === "th") made.scope = "row";
    if (value !== undefined) made.dataset.v = value ?? "";
    made.append(...[content].flat());
    return made;
  };
  const span = (cls, words, tag = "span") => { const made = document.createElement(tag); made.className = cls; made.textContent = words; return made; };
  const given = (v, print) => v === null ? "–" : print(v);
  const against = (r, v) => r.task === "classification" ? `${v > 0 ? "+" : ""}${v.toFixed(1)} pt` : `× ${(1 - v / 100).toFixed(2)}`;
  const quoted = (w) => /^[\w.,\/=:@%+-]+$/.test(w) ? w : `'${w}'`;
  const command = (r) => r.badge !== "in the package" ? `lpbench verify submission results/submissions/${r.method}`
    : !r.dataset_key ? `lpbench reproduce ${r.experiment}`
    : `lpbench explain ${[r.dataset_key, r.method, r.epsilon, "--mask", r.mask_key, "--experiment", r.experiment].map(String).map(quoted).join(" ")}`;
  const line = (r) => {
    const made = document.createElement("tr");
    const change = (v) => cell(v === null ? "–" : span(v > 0 ? "good" : v < 0 ? "bad" : "none", against(r, v)), v);
    const score = `${given(r.score, (v) => String(Number(v.toPrecision(4))))}`;
    made.append(cell(r.title, undefined, "th"),
      cell(r.rank === null ? "–" : [`${r.rank.toFixed(1)} `, span("", `[${r.low.toFixed(1)}, ${r.high.toFixed(1)}]`, "small")], r.rank),
      cell(r.se ? [score, span("", ` ±${Number(r.se.toPrecision(2))}`, "small")] : score, r.score),
      change(r.floor), change(r.best), cell(span("badge", r.protects)), cell(String(r.sets)),
      cell(given(r.work, (v) => String(Number(v.toPrecision(2)))), r.work), cell(given(r.bits, String), r.bits),
      cell(span("badge", r.badge)), cell(r.paper || "–"), cell(span("", command(r), "code")));
    return made;
  };
  let shown = [];
  const keys = [...form.elements].filter((e) => e.name).map((e) => e.name);
  const matches = (r, key, value) => value === "any" || text(r[key]) === value;
  const show = (changed) => {
    // a choice that the others leave without rows gives way to one that has some
    let found = rows, chosen = changed ? [changed, ...keys.filter((k) => k !== changed)] : keys;
    for (const key of chosen) {
      const box = form.elements[key];
      for (const o of box.options) o.disabled = o.value !== "any" && !found.some((r) => text(r[key]) === o.value);
      if (box.selectedOptions[0]?.disabled) box.value = [...box.options].find((o) => !o.disabled)?.value ?? "any";
      found = found.filter((r) => matches(r, key, box.value));
    }
    for (const o of changed ? form.elements[changed].options : []) o.disabled = false;
    found.sort((a, b) => (a.rank ?? 1e9) - (b.rank ?? 1e9) || (b.floor ?? -1e9) - (a.floor ?? -1e9));
    shown = found;
    body.replaceChildren(...found.map(line));
    const best = found[0];
    told.textContent = !best ? "No method was run like this."
      : `First: ${best.title}` + (best.floor === null ? "." : `, ${best.floor > 0 ? "better" : "no better"} than a constant (${
        best.task === "classification" ? against(best, best.floor) + " of accuracy" : "error " + against(best, best.floor)}).`);
    const state = new URLSearchParams(keys.map((k) => [k, form.elements[k].value]));
    history.replaceState(null, "", `#${state}`);
  };
  // the rows that are shown, as they are sorted and chosen, with every digit of the script
  document.getElementById("csv").addEventListener("click", () => {
    const columns = ["task", "dataset", "mask", "epsilon", "selection", "method", "title", "protects", "rank", "low", "high", "score", "se", "floor", "best", "sets", "work", "bits", "badge", "paper", "experiment"];
    const field = (v) => /[",\n]/.test(v ?? "") ? `"${String(v).replaceAll('"', '""')}"` : v ?? "";
    const lines = [[...columns, "command"], ...shown.map((r) => [...columns.map((c) => field(r[c])), field(command(r))])];
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([lines.map((l) => l.join(",")).join("\n") + "\n"], { type: "text/csv" }));
    link.download = "leaderboard.csv";
    link.click();
    URL.revokeObjectURL(link.href);
  });
  const asked = new URLSearchParams(location.hash.slice(1));
  for (const key of keys) if (asked.has(key)) form.elements[key].value = asked.get(key);
  form.addEventListener("change", (event) => show(event.target.name));
  form.addEventListener("submit", (event) => event.preventDefault());
  show();
})();
