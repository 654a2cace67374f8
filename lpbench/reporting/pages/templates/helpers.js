"use strict";
const quoted = (w) => /^[\w.,\/=:@%+-]+$/.test(w) ? w : `'${w}'`;
// rows of values as a CSV file that the browser keeps
const download = (name, rows) => {
  const field = (v) => /[",\n]/.test(v ?? "") ? `"${String(v).replaceAll('"', '""')}"` : v ?? "";
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([rows.map((r) => r.map(field).join(",")).join("\n") + "\n"], { type: "text/csv" }));
  link.download = name;
  link.click();
  URL.revokeObjectURL(link.href);
};
