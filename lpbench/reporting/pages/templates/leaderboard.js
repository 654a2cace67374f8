(() => {
  const form = document.getElementById("filters"), body = document.querySelector("#board tbody"), told = document.getElementById("told");
  const rows = BOARD.groups.flatMap(([task, mask_key, mask, epsilon, selection, lines]) => lines.map((line) => {
    const [set, of, from, sets, score, se, floor, best, rank, low, high, bits] = line;
    const [dataset_key, dataset] = BOARD.sets[set], [method, title, protects, work, badge, paper] = BOARD.methods[of];
    return { task, mask_key, mask, epsilon, selection, dataset_key, dataset, method, title, protects, work, bits, badge, paper,
      experiment: BOARD.experiments[from], sets, score, se, floor, best, rank, low, high };
  }));
  const cell = (content, value, tag = "td") => {
    const made = document.createElement(tag);
    if (tag === "th") made.scope = "row";
    if (value !== undefined) made.dataset.v = value ?? "";
    made.append(...[content].flat());
    return made;
  };
  const span = (cls, words, tag = "span") => { const made = document.createElement(tag); made.className = cls; made.textContent = words; return made; };
  const given = (v, print) => v === null ? "–" : print(v);
  const against = (v) => `× ${v.toFixed(2)}`;
  const command = (r) => r.badge !== "in the package" ? `lpbench verify submission results/submissions/${r.method}`
    : !r.dataset_key ? `lpbench reproduce ${r.experiment}`
    : `lpbench explain ${[r.dataset_key, r.method, r.epsilon, "--mask", r.mask_key, "--experiment", r.experiment].map(String).map(quoted).join(" ")}`;
  const line = (r) => {
    const made = document.createElement("tr");
    const change = (v) => cell(v === null ? "–" : span(v < 1 ? "good" : v > 1 ? "bad" : "none", against(v)), v);
    const score = `${given(r.score, (v) => String(Number(v.toPrecision(4))))}`;
    made.append(cell(r.title, undefined, "th"),
      cell(r.rank === null ? "–" : [`${r.rank.toFixed(1)} `, span("", r.low === null ? "" : `[${r.low.toFixed(1)}, ${r.high.toFixed(1)}]`, "small")], r.rank),
      cell(r.se ? [score, span("", ` ±${Number(r.se.toPrecision(2))}`, "small")] : score, r.score),
      change(r.floor), change(r.best), cell(span("badge", r.protects)), cell(String(r.sets)),
      cell(given(r.work, (v) => String(Number(v.toPrecision(2)))), r.work), cell(given(r.bits, String), r.bits),
      cell(span("badge", r.badge)), cell(r.paper || "–"), cell(span("", command(r), "code")));
    return made;
  };
  const heads = [...document.querySelectorAll("#board thead th")];
  const find = document.getElementById("method");
  find.replaceChildren(new Option("–", ""), ...[...new Set(rows.map((r) => r.title))].sort().map((t) => new Option(t, t)));
  let shown = [];
  const keys = [...form.elements].filter((e) => e.name).map((e) => e.name);
  const matches = (r, key, value) => value === "any" || String(r[key]) === value;
  const show = (changed) => {
    // a choice that the others leave without rows gives way to one that has some
    let found = rows, chosen = changed ? [changed, ...keys.filter((k) => k !== changed)] : keys;
    for (const key of chosen) {
      const box = form.elements[key];
      for (const o of box.options) o.disabled = o.value !== "any" && !found.some((r) => String(r[key]) === o.value);
      if (box.selectedOptions[0]?.disabled) box.value = [...box.options].find((o) => !o.disabled)?.value ?? "any";
      found = found.filter((r) => matches(r, key, box.value));
    }
    for (const o of changed ? form.elements[changed].options : []) o.disabled = false;
    // ranks of different privacy models are not compared: all models together are sorted by their loss over the constant's
    const ranked = form.elements.protects.value !== "any", ratio = (a, b) => (a.floor ?? 1e9) - (b.floor ?? 1e9);
    found.sort((a, b) => (ranked ? (a.rank ?? 1e9) - (b.rank ?? 1e9) : 0) || ratio(a, b));
    heads.forEach((head) => head.removeAttribute("aria-sort"));
    heads[ranked ? 1 : 3].setAttribute("aria-sort", "ascending");
    shown = found;
    body.replaceChildren(...found.map(line));
    const sought = find.value && found.find((r) => r.title === find.value), best = sought || found[0];
    if (sought) body.rows[found.indexOf(sought)].className = "sought";
    const place = sought && ranked && sought.rank !== null ? `, rank ${sought.rank.toFixed(1)} of ${found.filter((r) => r.rank !== null).length}` : "";
    told.textContent = !best ? "No method was run like this."
      : `${sought ? "" : "First: "}${best.title}${place}` + (best.floor === null ? "." : `, ${best.floor < 1 ? "better" : "no better"} than a constant (loss ${against(best.floor)})${best.best === null ? "" : `; loss ${against(best.best)} of the best without privacy`}.`);
    document.getElementById("filter").textContent = !best ? "" : [["task", best.task], ["mask", best.mask_key], ["epsilon", best.epsilon], ["selection", best.selection], ["experiment", best.experiment], ["dataset", best.dataset_key], ["method", best.method]].filter(([, v]) => v !== "").map(([k, v]) => `${k} = ${v}`).join(", ");
    const state = new URLSearchParams(keys.map((k) => [k, form.elements[k].value]));
    history.replaceState(null, "", `#${state}`);
  };
  // the rows that are shown, as they are sorted and chosen, with every digit of the script
  document.getElementById("csv").addEventListener("click", () => {
    const columns = ["task", "dataset", "mask", "epsilon", "selection", "method", "title", "protects", "rank", "low", "high", "score", "se", "floor", "best", "sets", "work", "bits", "badge", "paper", "experiment"];
    download("leaderboard.csv", [[...columns, "command"], ...shown.map((r) => [...columns.map((c) => r[c]), command(r)])]);
  });
  const asked = new URLSearchParams(location.hash.slice(1));
  for (const key of keys) if ([...form.elements[key].options].some((o) => o.value === asked.get(key))) form.elements[key].value = asked.get(key);
  // a method that the view does not have is shown in the view most like it
  const seek = () => {
    const alike = (r) => keys.filter((key) => String(r[key]) === form.elements[key].value).length;
    const near = rows.filter((r) => r.title === find.value).reduce((a, b) => !a || alike(b) > alike(a) ? b : a, null);
    if (near) for (const key of keys) form.elements[key].value = String(near[key]);
    show();
  };
  form.addEventListener("change", (event) => event.target === find ? seek() : show(event.target.name));
  form.addEventListener("submit", (event) => event.preventDefault());
  show();
})();
