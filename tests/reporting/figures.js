// Draws each of FIGURES and writes which texts are cut off or stand over each other.
(async () => {
  const all = [];
  for (const name of FIGURES) {
    const place = document.createElement("div");
    place.attachShadow({ mode: "open" }).innerHTML = (await (await fetch(name)).text()).replace(/^[^]*?(?=<svg)/, "");
    document.body.append(place);
    all.push({ name, wrong: crowded(place.shadowRoot.querySelector("svg")) });
    place.remove();
  }
  const out = document.createElement("pre");
  out.id = "result";
  out.textContent = JSON.stringify(all);
  document.body.append(out);
})();
