// What is wrong with the texts of an inline SVG: cut off at its border, or one over another. Boxes are turned with their texts.
const corners = (text) => {
  const box = text.getBBox(), at = text.getScreenCTM();
  const point = (x, y) => new DOMPoint(x, y).matrixTransform(at);
  // letters without descenders are lower than their box: a quarter of it above and an eighth below are empty
  const top = box.y + box.height * 0.2, bottom = box.y + box.height * 0.9;
  return [point(box.x, top), point(box.x + box.width, top), point(box.x + box.width, bottom), point(box.x, bottom)];
};
const crowded = (svg) => {
  const frame = svg.getBoundingClientRect(), wrong = [];
  const texts = [...svg.querySelectorAll("text")].filter((t) => t.textContent.trim() && t.getBBox().width > 0).map((t) => ({ words: t.textContent.trim(), at: corners(t) }));
  for (const t of texts) if (t.at.some((p) => p.x < frame.left - 1 || p.x > frame.right + 1 || p.y < frame.top - 1 || p.y > frame.bottom + 1)) wrong.push(`cut off: ${t.words}`);
  // two turned boxes are apart where some side of one of them has the other beyond it
  const sides = (q) => q.map((p, k) => [p.x - q[(k + 1) % 4].x, p.y - q[(k + 1) % 4].y]).map(([x, y]) => [-y / Math.hypot(x, y), x / Math.hypot(x, y)]);
  const apart = (a, b) => [...sides(a), ...sides(b)].some(([x, y]) => {
    const [one, two] = [a, b].map((q) => q.map((p) => p.x * x + p.y * y));
    return Math.min(Math.max(...one), Math.max(...two)) - Math.max(Math.min(...one), Math.min(...two)) < 1;
  });
  texts.forEach((a, k) => texts.slice(k + 1).forEach((b) => { if (!apart(a.at, b.at)) wrong.push(`over each other: ${a.words} | ${b.words}`); }));
  return wrong;
};
