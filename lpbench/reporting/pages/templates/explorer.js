"use strict";
const EXPLORED = {};
function explored(name, content) { EXPLORED[name] = content; dispatchEvent(new CustomEvent("explored", { detail: name })); }
(() => {
  const form = document.getElementById("picks"), methods = document.getElementById("methods"), told = document.getElementById("told");
  const asked = new URLSearchParams(location.hash.slice(1)), BOXES = ["panel", "dataset", "mask", "epsilon", "selection"];
  const COLOURS = ["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#8A6D00", "#7F7F7F"];
  const SHAPES = ["circle", "square", "triangle-up", "diamond", "cross", "triangle-down", "triangle-right", "triangle-left"];
  const METRICS = { mse: "mean squared error", accuracy: "accuracy (%)", excess_risk: "excess risk" };
  const SELECTIONS = { oracle: "best grid point on the test rows", tuning_free: "fixed without test rows", private: "chosen by privatised reports" };
  const printed = (v) => v === null ? "non-private" : String(v);
  const short = (v) => v === null || v === undefined ? "–" : String(Number(v.toPrecision(4)));
  const load = (name) => new Promise((done, fail) => {
    if (EXPLORED[name]) { done(EXPLORED[name]); return; }
    const option = [...form.elements.experiment.options].find((o) => o.value === name), script = document.createElement("script");
    script.src = "explorer/" + option.dataset.script;
    script.onload = () => done(EXPLORED[name]);
    script.onerror = () => fail(new Error(`${script.src} is missing`));
    document.head.append(script);
  });
  const decode = (content) => content.rows.map((row) => {
    const scale = content.metric === "accuracy" ? 100 : 1;
    const made = Object.fromEntries(content.columns.map((c, i) => [c, content.texts[c] ? content.texts[c][row[i]] : row[i]]));
    for (const key of ["mean", "se"]) if (made[key] !== null) made[key] *= scale;
    made.quantiles = made.quantiles.map((v) => v * scale);
    return made;
  });
  const choose = (box, values, wish, name = printed) => {
    const before = wish ?? box.value;
    box.replaceChildren(...values.map((v) => { const o = document.createElement("option"); o.value = printed(v); o.textContent = name(v); return o; }));
    box.value = values.map(printed).includes(before) ? before : printed(values[0]);
    box.parentElement.hidden = values.length < 2;
  };
  const distinct = (rows, key) => [...new Set(rows.map((r) => r[key]))];
  let current = null, rows = [];

  const fill = (first) => {
    const title = (v) => current.titles[v] ?? v, wish = (key) => first && asked.has(key) ? asked.get(key) : undefined;
    let part = rows;
    for (const key of ["panel", "dataset", "mask", "selection"]) {
      choose(form.elements[key], distinct(part, key).sort(), wish(key), (v) => SELECTIONS[v] ?? (title(v) || "–"));
      part = part.filter((r) => r[key] === form.elements[key].value);
    }
    choose(form.elements.epsilon, distinct(part, "epsilon").sort((a, b) => (a ?? 1e9) - (b ?? 1e9)), wish("epsilon"));
    const known = distinct(part, "method"), kept = new Set(first && asked.has("methods") ? asked.get("methods").split(" ") : [...methods.querySelectorAll("input:checked")].map((i) => i.value));
    const some = known.some((m) => kept.has(m));
    methods.replaceChildren(methods.firstElementChild, ...known.map((m, k) => {
      const label = document.createElement("label"), box = document.createElement("input");
      box.type = "checkbox"; box.value = m; box.checked = some ? kept.has(m) : k < 8;
      label.append(box, ` ${title(m)}`);
      return label;
    }));
    show();
  };

  const style = () => {
    const css = getComputedStyle(document.documentElement), fg = css.getPropertyValue("--fg").trim(), line = css.getPropertyValue("--line").trim();
    return { background: "transparent", font: "system-ui, sans-serif", view: { stroke: line }, range: { category: COLOURS, symbol: SHAPES },
      axis: { labelColor: fg, titleColor: fg, gridColor: line, domainColor: line, tickColor: line }, legend: { labelColor: fg, titleColor: fg, orient: "bottom", columns: innerWidth < 640 ? 1 : 2, labelLimit: 300, symbolOpacity: 1 } };
  };
  const draw = (place, spec) => vegaEmbed(place, spec, { actions: false, renderer: "svg", config: style() }).catch((error) => { told.textContent = String(error); });

  const show = () => {
    const pick = Object.fromEntries(BOXES.map((key) => [key, form.elements[key].value]));
    const chosen = [...methods.querySelectorAll("input:checked")].map((i) => i.value), title = (m) => current.titles[m] ?? m;
    const along = rows.some((r) => r.x !== null && r.x !== r.epsilon);
    const same = rows.filter((r) => ["panel", "dataset", "mask", "selection"].every((key) => r[key] === pick[key]) && chosen.includes(r.method));
    const line = same.filter((r) => !along || printed(r.epsilon) === pick.epsilon).map((r) => ({ ...r, name: title(r.method), kind: "ours" }));
    const place = along ? "x" : "epsilon", axis = along ? (current.axis.split(".").pop().replaceAll("_", " ")) : "privacy budget ε";
    const scale = current.metric === "accuracy" ? 100 : 1;
    const printedPoints = current.published.filter(([panel, dataset, mask, , epsilon, x]) => (!panel || panel === pick.panel) && (!dataset || dataset === pick.dataset.split("[")[0])
      && (!mask || mask === pick.mask.split("[")[0]) && (!along || printed(epsilon) === pick.epsilon || epsilon === null || x !== null))
      .filter((p) => !along || epsilonOf(p) === null || printed(epsilonOf(p)) === pick.epsilon);
    const theirs = printedPoints.flatMap(([, , , method, epsilon, x, value]) => {
      const ours = line.find((r) => r.method.split("[")[0] === method);
      return ours ? [{ method: ours.method, name: ours.name, kind: "published", epsilon, x, mean: value * scale }] : [];
    });
    const all = [...line.map((r) => ({ method: r.method, name: r.name, kind: "ours", place: r[place], mean: r.mean, low: r.mean - 2 * (r.se ?? 0), high: r.mean + 2 * (r.se ?? 0), se: r.se,
      setting: r.params, spends: `${r.epsilon === null ? "no privacy" : `ε = ${r.epsilon}`}, protects ${current.protects[r.method]}` })), ...theirs.map((r) => ({ ...r, place: along ? r.x : r.x ?? r.epsilon }))].filter((r) => r.place !== null && r.place !== undefined);
    const log = all.length && all.every((r) => r.place > 0) && Math.max(...all.map((r) => r.place)) / Math.min(...all.map((r) => r.place)) > 6;
    const places = [...new Set(all.map((r) => r.place))];
    const x = { field: "place", type: "quantitative", title: axis, axis: { format: "~g", ...(places.length <= 10 ? { values: places } : {}) }, scale: log ? { type: "log", nice: false } : { zero: false, nice: false } };
    const y = { field: "mean", type: "quantitative", title: METRICS[current.metric] ?? current.metric, scale: { zero: false } };
    const colour = { field: "name", type: "nominal", title: null };
    const width = Math.max(240, Math.min(900, document.getElementById("chart").clientWidth - 4));
    const tip = [["name", "method"], ["kind", "source"], ["place", axis], ["mean", "value"], ["se", "standard error"], ["setting", "setting"], ["spends", "spending"]].map(([field, name]) => ({ field, title: name, type: typeof all[0]?.[field] === "number" ? "quantitative" : "nominal" }));
    const several = new Set(all.map((r) => r.place)).size > 1;
    document.getElementById("curves").hidden = document.getElementById("chart").hidden = !several;
    if (several) draw("#chart", { $schema: "https://vega.github.io/schema/vega-lite/v6.json", width, height: 340, autosize: { type: "fit", contains: "padding" }, data: { values: all }, description: `${METRICS[current.metric] ?? current.metric} against ${axis}; the numbers stand in the table below`, layer: [
      { transform: [{ filter: "datum.kind === 'ours'" }], mark: { type: "area", opacity: 0.15 }, encoding: { x, y: { ...y, field: "low" }, y2: { field: "high" }, color: colour } },
      { mark: { type: "line" }, encoding: { x, y, color: colour, strokeDash: { field: "kind", type: "nominal", title: null, scale: { domain: ["ours", "published"], range: [[1, 0], [3, 3]] } } } },
      { mark: { type: "point", size: 60, filled: true }, encoding: { x, y, color: colour, shape: { field: "name", type: "nominal", title: null }, tooltip: tip } }] });
    const at = same.filter((r) => printed(r.epsilon) === pick.epsilon && r.quantiles.length);
    const last = Math.max(...at.map((r) => r.x ?? 0)), spread = at.filter((r) => !along || r.x === last).map((r) => ({ name: title(r.method), q0: r.quantiles[0], q2: r.quantiles[2], q5: r.quantiles[5], q8: r.quantiles[8], q10: r.quantiles[10], n: r.n }));
    const ends = [["q0", "least"], ["q2", "a fifth below"], ["q5", "median"], ["q8", "a fifth above"], ["q10", "largest"], ["n", "replications"]].map(([field, name]) => ({ field, title: name, type: "quantitative", format: ".4~g" }));
    const wide = { field: "name", type: "nominal", title: null, axis: { labelLimit: Math.max(90, width * 0.4) } };
    document.getElementById("distribution").hidden = document.getElementById("spread").hidden = !spread.length;
    if (spread.length) draw("#spread", { $schema: "https://vega.github.io/schema/vega-lite/v6.json", data: { values: spread }, description: "Quantiles of the replications", width, height: 60 + 26 * spread.length, autosize: { type: "fit", contains: "padding" }, layer: [
      { mark: { type: "rule" }, encoding: { y: wide, x: { field: "q0", type: "quantitative", title: `${METRICS[current.metric] ?? current.metric}, ε = ${pick.epsilon}${along ? `, ${axis} = ${last}` : ""}`, scale: { zero: false } }, x2: { field: "q10" }, color: { ...colour, legend: null }, tooltip: ends } },
      { mark: { type: "bar", height: 12 }, encoding: { y: wide, x: { field: "q2", type: "quantitative" }, x2: { field: "q8" }, color: { ...colour, legend: null }, tooltip: ends } },
      { mark: { type: "tick", color: "white", thickness: 2, height: 12 }, encoding: { y: wide, x: { field: "q5", type: "quantitative" } } }] });
    const quoted = (w) => /^[\w.,\/=:@%+-]+$/.test(w) ? w : `'${w}'`;
    document.querySelector("#rows tbody").replaceChildren(...same.map((r) => {
      const made = document.createElement("tr"), words = ["lpbench", "explain", r.dataset, r.method, printed(r.epsilon)];
      for (const [option, given] of [["mask", r.mask], ["experiment", form.elements.experiment.value], ["panel", r.panel], ["x", along && r.x !== null ? String(r.x) : ""]]) if (given) words.push(`--${option}`, given);
      const command = words.map(quoted).join(" "), button = document.createElement("button"), paper = theirs.find((t) => t.method === r.method && (along ? t.x === r.x : (t.x ?? t.epsilon) === r.epsilon));
      made.dataset.command = command;
      button.type = "button"; button.dataset.copy = "command"; button.textContent = "Copy command"; button.title = command;
      const cells = [title(r.method), printed(r.epsilon), along ? short(r.x) : "", `${short(r.mean)}${r.se ? ` ± ${Number(r.se.toPrecision(2))}` : ""}`, paper ? short(paper.mean) : "",
        r.params === "{}" ? "" : r.params.replace(/[{}"]/g, "").replaceAll(",", ", ").replaceAll(":", " = "), String(r.n), button, current.protects[r.method]];
      made.append(...cells.map((c, i) => { const cell = document.createElement(i ? "td" : "th"); if (!i) cell.scope = "row"; cell.append(c); return cell; }));
      return made;
    }));
    // a column without an entry is not shown; that of the places has the name of its axis
    const table = document.getElementById("rows"), lines = [...table.tBodies[0].rows];
    table.tHead.rows[0].cells[2].textContent = axis;
    [...table.tHead.rows[0].cells].forEach((head, k) => { for (const row of [table.tHead.rows[0], ...lines]) row.cells[k].hidden = !lines.some((l) => l.cells[k].textContent); });
    dispatchEvent(new Event("filled"));
    told.textContent = same.length ? `${same.length} scores, ${distinct(same, "method").length} methods.` : "Nothing was run like this.";
    const state = new URLSearchParams({ experiment: form.elements.experiment.value, ...pick, methods: chosen.join(" ") });
    history.replaceState(null, "", `#${state}`);
  };
  const epsilonOf = (point) => point[4];
  const open = async (first) => {
    try {
      current = await load(form.elements.experiment.value);
      rows = decode(current);
      fill(first);
    } catch (error) { told.textContent = String(error); }
  };
  if (asked.has("experiment")) form.elements.experiment.value = asked.get("experiment");
  form.addEventListener("change", (event) => event.target.name === "experiment" ? open(false) : fill(false));
  form.addEventListener("submit", (event) => event.preventDefault());
  methods.addEventListener("change", show);
  addEventListener("theme", show);
  open(true);
})();
