const EXPLORED = {};
function explored(name, content) { EXPLORED[name] = content; }
(() => {
  const form = document.getElementById("picks"), list = document.getElementById("methods"), told = document.getElementById("told");
  const at = (id) => document.getElementById(id), box = (key) => form.elements[key];
  const asked = new URLSearchParams(location.hash.slice(1)), PARTS = ["panel", "dataset", "mask", "selection"];
  const COLOURS = ["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#8A6D00", "#7F7F7F"];
  const SHAPES = { circle: "●", square: "■", "triangle-up": "▲", diamond: "◆", cross: "✚", "triangle-down": "▼", "triangle-right": "▶", "triangle-left": "◀" };
  const METRICS = { mse: "mean squared error", accuracy: "accuracy (%)", excess_risk: "excess risk", ratio: "error over the non-private tree's" };
  const SELECTIONS = { oracle: "best grid point on the test rows", tuning_free: "fixed without test rows", private: "chosen by privatised reports" };
  const SCHEMA = "https://vega.github.io/schema/vega-lite/v6.json";
  const printed = (v) => v === null ? "non-private" : String(v);
  const short = (v) => v === null || v === undefined ? "–" : String(Number(v.toPrecision(4)));
  const distinct = (found, key) => [...new Set(found.map((r) => r[key]))];
  let current = null, rows = [], curves = [];

  const load = (name) => new Promise((done, fail) => {
    if (EXPLORED[name]) { done(EXPLORED[name]); return; }
    const script = document.createElement("script");
    script.src = "explorer/" + [...box("experiment").options].find((o) => o.value === name).dataset.script;
    script.onload = () => done(EXPLORED[name]);
    script.onerror = () => fail(new Error("the data of this experiment are not here: lpbench report writes them beside this page"));
    document.head.append(script);
  });
  const scale = () => current.metric === "accuracy" ? 100 : 1;
  // Rows as objects. A curve of a figure is a method on a data set, under a mask, at a budget, as far as these differ in
  // the figure; of a table all but the method is picked above, and budgets are places on the axis.
  const decode = (content) => {
    const made = content.rows.map((row) => Object.fromEntries(content.columns.map((c, i) => [c, content.texts[c] ? content.texts[c][row[i]] : row[i]])));
    const along = made.some((r) => r.x !== null && r.x !== r.epsilon);
    const parts = !content.figure ? [] : ["dataset", "mask", ...(along ? ["epsilon"] : [])].filter((key) => distinct(made, key).length > 1);
    const title = (key, v) => key === "epsilon" ? `ε = ${printed(v)}` : content.titles[v] ?? v;
    for (const r of made) {
      r.place = along ? r.x : r.epsilon;
      r.curve = [r.method, ...parts.map((key) => r[key])].join("|");
      r.name = [content.titles[r.method] ?? r.method, ...parts.map((key) => title(key, r[key]))].join(", ");
      for (const key of ["mean", "se", "published"]) if (r[key] !== null) r[key] *= scale();
      r.quantiles = r.quantiles.map((v) => v * scale());
    }
    return made;
  };
  const choose = (select, values, wish, name) => {
    const before = wish ?? select.value;
    select.replaceChildren(...values.map((v) => new Option(name(v), printed(v))));
    select.value = values.map(printed).includes(before) ? before : printed(values[0]);
    select.parentElement.hidden = values.length < 2;
  };
  // Lists of what can be picked; the curves that are ticked stay as long as the experiment does.
  const fill = (asks, afresh) => {
    const wish = (key) => asks && asked.has(key) ? asked.get(key) : undefined;
    let part = rows;
    for (const key of current.figure ? ["panel", "selection"] : PARTS) {
      choose(box(key), distinct(part, key).sort(), wish(key), (v) => SELECTIONS[v] ?? (current.titles[v] ?? v ?? "–"));
      part = part.filter((r) => r[key] === box(key).value);
    }
    for (const key of ["dataset", "mask"]) if (current.figure) box(key).parentElement.hidden = true;
    choose(box("epsilon"), distinct(part, "epsilon").sort((a, b) => (a ?? 1e9) - (b ?? 1e9)), wish("epsilon"), printed);
    if (current.figure && part.some((r) => r.place !== r.epsilon)) box("epsilon").parentElement.hidden = true;
    const kept = new Set(asks && asked.has("methods") ? asked.get("methods").split(" ") : [...list.querySelectorAll("input:checked")].map((i) => i.value));
    const first = current.figure ? distinct(part, "curve") : current.first;
    curves = distinct(part, "curve").map((curve, k) => ({ curve, name: part.find((r) => r.curve === curve).name, colour: COLOURS[k % 8], shape: Object.keys(SHAPES)[(k + Math.floor(k / 8)) % 8] }));
    const some = !afresh && curves.some((c) => kept.has(c.curve));
    list.replaceChildren(list.firstElementChild, ...curves.map((c) => {
      const label = document.createElement("label"), tick = document.createElement("input"), sign = document.createElement("span");
      tick.type = "checkbox"; tick.value = c.curve; tick.checked = some ? kept.has(c.curve) : first.includes(c.curve);
      sign.textContent = ` ${SHAPES[c.shape]} `; sign.style.color = c.colour; sign.ariaHidden = "true";
      label.append(tick, sign, c.name);
      return label;
    }));
    find();
    show();
  };
  const find = () => {
    const words = at("find").value.toLowerCase(), matches = (e) => e.textContent.toLowerCase().includes(words);
    for (const label of list.querySelectorAll("label")) label.hidden = [...list.querySelectorAll("label")].some(matches) && !matches(label);
    for (const option of box("experiment").options) option.hidden = !(matches(option) || option.selected);
  };

  const style = () => {
    const { color: fg, borderTopColor: line } = getComputedStyle(list);
    return { background: "transparent", font: "system-ui, sans-serif", view: { stroke: line }, axis: { labelColor: fg, titleColor: fg, gridColor: line, domainColor: line, tickColor: line } };
  };
  const draw = (place, spec, width) => vegaEmbed(place, { $schema: SCHEMA, width, autosize: { type: "fit", contains: "padding" }, ...spec }, { actions: false, renderer: "svg", config: style() }).catch((error) => { told.textContent = String(error); });
  const fields = (pairs, type) => pairs.map(([field, title]) => ({ field, title, type, ...(type === "quantitative" ? { format: ".4~g" } : {}) }));

  const picked = () => rows.filter((r) => (current.figure ? ["panel", "selection"] : PARTS).every((key) => r[key] === box(key).value));
  let shown = [];
  const show = () => {
    const chosen = [...list.querySelectorAll("input:checked")].map((i) => i.value), along = rows.some((r) => r.place !== r.epsilon);
    shown = picked().filter((r) => chosen.includes(r.curve) && r.place !== null);
    const axis = along ? current.axis.split(".").pop().replaceAll("_", " ") : "privacy budget ε", metric = METRICS[current.metric] ?? current.metric;
    const points = shown.map((r) => ({ ...r, kind: "ours", low: r.mean - 2 * (r.se ?? 0), high: r.mean + 2 * (r.se ?? 0), spends: r.epsilon === null ? "no privacy" : `ε = ${r.epsilon}` }));
    points.push(...shown.filter((r) => r.published !== null).map((r) => ({ name: r.name, place: r.place, mean: r.published, kind: "published" })));
    const places = distinct(points, "place"), log = places.every((v) => v > 0) && Math.max(...places) / Math.min(...places) > 6;
    const several = places.length > 1, width = Math.max(240, Math.min(900, at("chart").parentElement.clientWidth - 4));
    const x = { field: "place", type: "quantitative", title: axis, axis: { format: "~g", ...(places.length <= 10 ? { values: places } : {}) }, scale: log ? { type: "log", nice: false } : { zero: false, nice: false } };
    const y = { field: "mean", type: "quantitative", title: metric, scale: { zero: false } }, names = curves.map((c) => c.name);
    const colour = { field: "name", type: "nominal", legend: null, scale: { domain: names, range: curves.map((c) => c.colour) } };
    const shape = { field: "name", type: "nominal", legend: null, scale: { domain: names, range: curves.map((c) => c.shape) } };
    const dash = { field: "kind", type: "nominal", legend: points.some((p) => p.kind !== "ours") ? { title: null, orient: "top" } : null, scale: { domain: ["ours", "published"], range: [[1, 0], [3, 3]] } };
    const tip = fields([["name", "method"], ["kind", "source"], ["place", axis], ["mean", "value"], ["se", "standard error"], ["params", "setting"], ["spends", "spending"]], "nominal");
    for (const id of ["curves", "chart"]) at(id).hidden = !several;
    if (several) draw("#chart", { height: 340, data: { values: points }, description: `${metric} against ${axis}; the numbers stand in the table below`, layer: [
      { transform: [{ filter: "datum.kind === 'ours'" }], mark: { type: "area", opacity: 0.15 }, encoding: { x, y: { ...y, field: "low" }, y2: { field: "high" }, color: colour } },
      { mark: "line", encoding: { x, y, color: colour, strokeDash: dash } },
      { mark: { type: "point", size: 60, filled: true }, encoding: { x, y, color: colour, shape, tooltip: tip } }] }, width);
    const last = along ? Math.max(...shown.map((r) => r.place)) : null;
    const spread = shown.filter((r) => r.quantiles.length && (along ? r.place === last : printed(r.epsilon) === box("epsilon").value))
      .map((r) => ({ name: r.name, n: r.n, ...Object.fromEntries(r.quantiles.map((v, k) => [`q${k}`, v])) }));
    const ends = fields([["q0", "least"], ["q2", "a fifth below"], ["q5", "median"], ["q8", "a fifth above"], ["q10", "largest"], ["n", "replications"]], "quantitative");
    const row = { field: "name", type: "nominal", title: null, sort: names, axis: { labelLimit: Math.max(90, width * 0.4) } };
    const along_x = (field, title) => ({ field, type: "quantitative", title, scale: { zero: false } });
    for (const id of ["distribution", "spread"]) at(id).hidden = !spread.length;
    if (spread.length) draw("#spread", { height: 60 + 26 * spread.length, data: { values: spread }, description: "Quantiles of the replications", layer: [
      { mark: "rule", encoding: { y: row, x: along_x("q0", `${metric}, ${along ? `${axis} = ${last}` : `ε = ${box("epsilon").value}`}`), x2: { field: "q10" }, color: colour, tooltip: ends } },
      { mark: { type: "bar", height: 12 }, encoding: { y: row, x: along_x("q2"), x2: { field: "q8" }, color: colour, tooltip: ends } },
      { mark: { type: "tick", color: "white", thickness: 2, height: 12 }, encoding: { y: row, x: along_x("q5") } }] }, width);
    const setting = (r) => r.params === "{}" ? "" : r.params.replace(/[{}"]/g, "").replaceAll(",", ", ").replaceAll(":", " = ");
    document.querySelector("#rows tbody").replaceChildren(...shown.map((r) => {
      const made = document.createElement("tr"), button = document.createElement("button");
      made.dataset.command = button.title = command(r, along);
      button.type = "button"; button.dataset.copy = "command"; button.textContent = "Copy command";
      const cells = [r.name, printed(r.epsilon), along ? short(r.x) : "", `${short(r.mean)}${r.se ? ` ± ${Number(r.se.toPrecision(2))}` : ""}`, r.published === null ? "" : short(r.published), setting(r), String(r.n), button, current.protects[r.method]];
      made.append(...cells.map((c, i) => { const cell = document.createElement(i ? "td" : "th"); if (!i) cell.scope = "row"; cell.append(c); return cell; }));
      return made;
    }));
    // a column without an entry is not shown; that of the places has the name of its axis
    const table = at("rows"), lines = [...table.tBodies[0].rows], heads = table.tHead.rows[0];
    heads.cells[2].textContent = axis;
    [...heads.cells].forEach((head, k) => { for (const line of [heads, ...lines]) line.cells[k].hidden = !lines.some((l) => l.cells[k].textContent); });
    told.textContent = shown.length ? `${shown.length} scores, ${distinct(shown, "curve").length} curves.` : "Nothing was run like this.";
    const kept = [...PARTS, "epsilon"].filter((key) => !box(key).parentElement.hidden).map((key) => [key, box(key).value]);
    history.replaceState(null, "", `#${new URLSearchParams([["experiment", box("experiment").value], ...kept, ["methods", chosen.join(" ")]])}`);
  };
  const command = (r, along) => {
    const words = ["lpbench", "explain", r.dataset, r.method, printed(r.epsilon)];
    for (const [option, given] of [["mask", r.mask], ["experiment", box("experiment").value], ["panel", r.panel], ["x", along ? String(r.x) : ""]]) if (given) words.push(`--${option}`, given);
    return words.map(quoted).join(" ");
  };
  at("csv").addEventListener("click", () => {
    const columns = ["name", ...current.columns.filter((c) => c !== "quantiles")], along = rows.some((r) => r.place !== r.epsilon);
    download("scores.csv", [[...columns, "command"], ...shown.map((r) => [...columns.map((c) => r[c]), command(r, along)])]);
  });
  const open = async (asks) => {
    try {
      current = await load(box("experiment").value);
      rows = decode(current);
      fill(asks, !asks);
    } catch (error) { told.textContent = String(error); }
  };
  if ([...box("experiment").options].some((o) => o.value === asked.get("experiment"))) box("experiment").value = asked.get("experiment");
  form.addEventListener("change", (event) => event.target.name === "experiment" ? open(false) : fill(false, false));
  form.addEventListener("submit", (event) => event.preventDefault());
  at("find").addEventListener("input", find);
  list.addEventListener("change", show);
  addEventListener("theme", show);
  open(true);
})();
