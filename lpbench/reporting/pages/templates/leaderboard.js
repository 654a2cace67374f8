(() => {
  const form = document.getElementById("filters"), body = document.querySelector("#board tbody"), told = document.getElementById("told");
  const rows = BOARD.groups.flatMap(([task, mask_key, mask, epsilon, inputs, lines]) => lines.map((line) => {
    const [set, of, from, sets, gain, least, most, floor, best, rank, low, high, bits, spent] = line;
    const [dataset_key, dataset, names] = BOARD.sets[set], [method, title, work, badge, paper] = BOARD.methods[of];
    return { task, mask_key, mask, epsilon, inputs, dataset_key, dataset, names, method, title, work, bits, badge, paper,
      experiment: BOARD.experiments[from], sets, gain, least, most, floor, best, rank, low, high, spent };
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
  const percent = (v) => (100 * v).toFixed(0).replace(/^-0$/, "0"), number = (v) => String(Number(v.toPrecision(4)));
  const line = (r) => {
    const made = document.createElement("tr"), small = (low, high) => span("", low === null ? "" : `[${low}, ${high}]`, "small");
    made.append(cell(r.title, undefined, "th"),
      cell(r.rank === null ? "–" : [`${r.rank.toFixed(1)} `, small(r.low?.toFixed(1) ?? null, r.high?.toFixed(1))], r.rank),
      cell(r.gain === null ? "–" : [`${percent(r.gain)} % `, small(r.least === null ? null : percent(r.least), percent(r.most))], r.gain),
      cell(given(r.floor, against), r.floor), cell(given(r.best, against), r.best), cell(String(r.sets)),
      cell(given(r.bits, String), r.bits), cell(given(r.work, (v) => String(Number(v.toPrecision(2)))), r.work), cell(given(r.spent, number), r.spent),
      cell(span("badge", r.badge)), cell(span("", command(r), "code")));
    return made;
  };
  const heads = [...document.querySelectorAll("#board thead th")];
  const find = document.getElementById("method");
  find.replaceChildren(new Option("–", ""), ...[...new Set(rows.map((r) => r.title))].sort().map((t) => new Option(t, t)));
  let shown = [];
  const keys = [...form.elements].filter((e) => e.name).map((e) => e.name);
  const show = (changed) => {
    // a choice that the others leave without rows gives way to one that has some
    let found = rows, chosen = changed ? [changed, ...keys.filter((k) => k !== changed)] : keys;
    for (const key of chosen) {
      const box = form.elements[key];
      for (const o of box.options) o.disabled = !found.some((r) => String(r[key]) === o.value);
      if (box.selectedOptions[0]?.disabled) box.value = [...box.options].find((o) => !o.disabled)?.value;
      found = found.filter((r) => String(r[key]) === box.value);
    }
    for (const o of changed ? form.elements[changed].options : []) o.disabled = false;
    found.sort((a, b) => (a.rank ?? 1e9) - (b.rank ?? 1e9) || (a.bits ?? 1e9) - (b.bits ?? 1e9));
    heads.forEach((head) => head.removeAttribute("aria-sort"));
    heads[1].setAttribute("aria-sort", "ascending");
    shown = found;
    body.replaceChildren(...found.map(line));
    const sought = find.value && found.find((r) => r.title === find.value), best = sought || found[0];
    if (sought) body.rows[found.indexOf(sought)].className = "sought";
    const place = sought && sought.rank !== null ? `, rank ${sought.rank.toFixed(1)} of ${found.filter((r) => r.rank !== null).length}` : "";
    const adds = best?.inputs.includes("public sample") ? "users add" : "gain over the constant", names = best?.names ? ` (${best.names})` : "";
    told.textContent = !best ? "No method was run with these choices."
      : `${sought || found.length === 1 ? "" : "First: "}${best.title}${place}, ${best.sets} data set${best.sets === 1 ? "" : "s"}${names}` + (best.gain === null ? "." : `; ${adds} ${percent(best.gain)} %${best.least === null ? "" : ` [${percent(best.least)}, ${percent(best.most)}]`}.`);
    document.getElementById("filter").textContent = !best ? "" : [["task", best.task], ["mask", best.mask_key], ["epsilon", best.epsilon], ["inputs", best.inputs], ["experiment", best.experiment], ["dataset", best.dataset_key], ["method", best.method]].filter(([, v]) => v !== "").map(([k, v]) => `${k} = ${v}`).join(", ");
    const state = new URLSearchParams(keys.map((k) => [k, form.elements[k].value]));
    history.replaceState(null, "", `#${state}`);
  };
  // the rows that are shown, as they are sorted and chosen, with every digit of the script
  document.getElementById("csv").addEventListener("click", () => {
    const columns = ["task", "dataset", "mask", "epsilon", "inputs", "method", "title", "rank", "low", "high", "gain", "least", "most", "floor", "best", "sets", "work", "bits", "spent", "badge", "paper", "experiment"];
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
  // a link to a place of the page keeps its address
  const place = document.getElementById(location.hash.slice(1));
  show();
  if (place) {
    history.replaceState(null, "", `#${place.id}`);
    place.scrollIntoView();
  }
})();
