// Follows each of TASKS from the front page at each of WIDTHS: clicks what a reader would, and writes what stands there.
const wait = (ms) => new Promise((done) => setTimeout(done, ms));
const seen = (found) => found.checkVisibility() && found.getClientRects().length > 0;
const step = async (frame, action) => {
  const page = frame.contentDocument;
  const found = [...page.querySelectorAll(action.at)].filter((e) => seen(e) && (!action.text || e.textContent.trim().startsWith(action.text)));
  if (!found.length) throw new Error(`nothing to press: ${action.at} ${action.text ?? ""}`);
  if (action.choose) {
    const option = [...found[0].options].find((o) => o.textContent.trim() === action.choose && !o.disabled);
    if (!option) throw new Error(`no choice ${action.choose}`);
    found[0].value = option.value;
    found[0].dispatchEvent(new frame.contentWindow.Event("change", { bubbles: true }));
    return;
  }
  const leaves = found[0].tagName === "A" && found[0].pathname !== frame.contentWindow.location.pathname;
  const loaded = new Promise((done) => { frame.onload = done; });
  found[0].scrollIntoView({ block: "center" });
  found[0].click();
  if (leaves) await loaded;
  await wait(100);
};
(async () => {
  const all = [];
  for (const task of TASKS) for (const width of WIDTHS) {
    const frame = document.createElement("iframe");
    frame.style.cssText = `width:${width}px;height:900px;border:0`;
    const loaded = new Promise((done) => { frame.onload = done; });
    frame.src = "index.html";
    document.body.append(frame);
    await loaded;
    let text = "";
    try {
      for (const action of task.steps) await step(frame, action);
      const answer = frame.contentDocument.querySelector(task.answer);
      const box = answer?.getBoundingClientRect();
      text = !answer || !seen(answer) ? "" : box.bottom < 0 || box.top > 900 ? "out of sight" : answer.textContent.trim();
    } catch (error) { text = String(error); }
    all.push({ task: task.name, width, text });
    frame.remove();
  }
  const out = document.createElement("pre");
  out.id = "result";
  out.textContent = JSON.stringify(all);
  document.body.append(out);
})();
