// Uses PAGE, the explorer or the leaderboard, as a reader would, and writes what stood there.
const wait = (ms) => new Promise((done) => setTimeout(done, ms));
const open = async (address) => {
  const frame = document.createElement("iframe");
  frame.style.cssText = "width:1000px;height:900px;border:0";
  const loaded = new Promise((done) => { frame.onload = done; });
  frame.src = address;
  document.body.append(frame);
  await loaded;
  await wait(400);
  return frame.contentDocument;
};
const change = async (page, control, value) => {
  control.value = value;
  control.dispatchEvent(new page.defaultView.Event(control.type === "search" ? "input" : "change", { bubbles: true }));
  await wait(400);
};
const seen = (page, at) => [...page.querySelectorAll(at)].filter((e) => e.checkVisibility()).map((e) => e.textContent.trim());
const USES = {};
USES.explorer = async () => {
  const page = await open("explorer.html"), form = page.getElementById("picks"), state = {};
  const view = () => ({ told: page.getElementById("told").textContent, ticked: page.querySelectorAll("#methods input:checked").length,
    all: page.querySelectorAll("#methods input").length, plot: page.querySelector("#chart .background, #chart svg")?.getBoundingClientRect().height ?? 0,
    published: seen(page, "#rows thead th").includes("published") });
  for (const option of form.elements.experiment.options) {
    await change(page, form.elements.experiment, option.value);
    state[option.value] = view();
  }
  await change(page, page.getElementById("find"), "krr");
  state.found = seen(page, "#methods label");
  return state;
};
USES.leaderboard = async () => {
  const page = await open("leaderboard.html#dataset=nonsense&task=none"), form = page.getElementById("filters");
  const heads = [...page.querySelectorAll("#board thead th")], column = (k) => [...page.querySelectorAll("#board tbody tr")].map((r) => r.cells[k].textContent);
  const sorted = () => heads.flatMap((h, k) => h.ariaSort ? [[k, h.ariaSort]] : []);
  const state = { empty: [...form.querySelectorAll("select")].filter((s) => !s.value).length, rows: column(0).length, first: sorted() };
  heads[3].querySelector("button").click();
  state.clicked = { sorted: sorted(), values: column(3) };
  await change(page, form.elements.protects, "any");
  state.any = { sorted: sorted(), values: column(3) };
  return state;
};
(async () => {
  const out = document.createElement("pre"), found = [await USES[PAGE]()];
  out.id = "result";
  out.textContent = JSON.stringify(found);
  document.body.append(out);
})();
