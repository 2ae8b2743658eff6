"use strict";
(() => {
  const words = document.getElementById("q");
  const rows = [...document.querySelectorAll("#results tbody tr")];
  const compare = document.getElementById("compare");
  if (words) {
    words.addEventListener("input", () => {
      const wanted = words.value.toLowerCase().split(/\s+/).filter(Boolean);
      for (const row of rows) {
        const text = row.textContent.toLowerCase();
        row.hidden = !wanted.every((word) => text.includes(word));
      }
    });
  }
  if (compare) {
    const boxes = [...document.querySelectorAll("#results input[type=checkbox]")];
    const look = () => { compare.disabled = boxes.filter((box) => box.checked).length < 2; };
    for (const box of boxes) box.addEventListener("change", look);
    look();
  }
})();
