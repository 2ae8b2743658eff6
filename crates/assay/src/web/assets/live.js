"use strict";
(() => {
  const page = document.querySelector("[data-events]");
  if (!page || !window.EventSource) return;
  const part = (name) => document.getElementById("live-" + name);
  const rows = part("rows");
  let count = Number(page.dataset.rows);
  let told = null;
  let toldAt = 0;
  let source = null;

  const clock = (seconds) => {
    const two = (number) => String(number).padStart(2, "0");
    const whole = Math.max(0, Math.floor(seconds));
    return Math.floor(whole / 3600) + ":" + two(Math.floor(whole / 60) % 60) + ":" + two(whole % 60);
  };

  const tick = () => {
    if (!told) return;
    const since = (Date.now() - toldAt) / 1000;
    const show = (name, value) => { part(name).textContent = value === null ? "-" : clock(value); };
    show("elapsed", told.elapsed_s === null ? null : told.elapsed_s + since);
    show("left", told.left_s === null ? null : told.left_s - since);
  };

  const add = (index, cells) => {
    const row = rows.insertRow(0);
    row.dataset.row = index;
    const head = document.createElement("th");
    head.scope = "row";
    head.textContent = index + 1;
    row.append(head);
    for (const text of cells) row.insertCell().textContent = text;
    row.cells[3].className = "long";
    row.cells[4].className = "n";
    row.cells[6].className = "long";
    if (cells[4] === "disturbed") row.cells[5].className = "doubtful";
    if (cells[4] === "failed") row.cells[5].className = "bad";
  };

  const show = (event) => {
    told = JSON.parse(event.data);
    toldAt = Date.now();
    for (const row of [...rows.rows]) if (Number(row.dataset.row) >= told.from) row.remove();
    told.rows.forEach((cells, index) => add(told.from + index, cells));
    count = told.from + told.rows.length;
    const most = Number(page.dataset.most);
    while (rows.rows.length > most) rows.deleteRow(-1);
    const earlier = count - rows.rows.length;
    part("earlier").textContent = earlier > 0 ? earlier + " earlier ones are not shown here." : "";
    page.dataset.phase = told.phase;
    part("state").textContent = told.sentence;
    part("done").textContent = told.done + " of " + told.planned;
    part("bar").max = Math.max(1, told.planned);
    part("bar").value = told.done;
    part("now").textContent = told.now === null ? "-" : told.now;
    part("warnings").replaceChildren(...told.warnings.map((text) => {
      const item = document.createElement("li");
      item.textContent = text;
      return item;
    }));
    part("result").hidden = told.phase === "running";
    tick();
    if (told.phase === "ended") source.close();
  };

  const open = () => {
    source = new EventSource(page.dataset.events + "?from=" + count);
    source.onmessage = show;
    source.onopen = () => { part("link").textContent = ""; };
    source.onerror = () => {
      part("link").textContent = "The server does not answer at the moment; this page tries again.";
      // Browsers try again by themselves unless an answer was a refusal.
      if (source.readyState === EventSource.CLOSED) setTimeout(open, 3000);
    };
  };

  open();
  setInterval(tick, 1000);
})();
