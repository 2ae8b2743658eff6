"use strict";
(() => {
  const all = (selector, root = document) => [...root.querySelectorAll(selector)];
  const make = (tag, text, set = {}) => Object.assign(document.createElement(tag), { textContent: text }, set);

  // Values under the pointer, or under the arrow keys.
  const tip = make("div", "", { id: "tip", hidden: true });
  tip.setAttribute("role", "status");
  document.body.append(tip);
  const show = (mark) => {
    const box = mark.getBoundingClientRect();
    tip.textContent = mark.dataset.t;
    tip.hidden = false;
    const left = Math.min(box.x + box.width / 2, document.documentElement.clientWidth - tip.offsetWidth - 8);
    tip.style.left = `${Math.max(4, left) + scrollX}px`;
    tip.style.top = `${box.y + scrollY - tip.offsetHeight - 8}px`;
  };
  const hide = () => { tip.hidden = true; };
  // What a mark says is its title for readers without a script: two tips would cover each other.
  all(".chart .mark > title").forEach((title) => {
    title.parentNode.dataset.t = title.textContent;
    title.remove();
  });
  // The narrow figure has the same marks.
  all(".chart").forEach((chart) => {
    const wide = all(".wide .mark", chart);
    all(".narrow .mark", chart).forEach((mark, at) => { mark.dataset.t = wide[at].dataset.t; });
  });
  document.addEventListener("pointerover", (event) => {
    const mark = event.target.closest?.(".mark[data-t]");
    if (mark) show(mark); else hide();
  });
  all(".chart svg").forEach((svg) => {
    let at = -1;
    svg.setAttribute("tabindex", "0");
    // Parts of a picture cannot be reached by those who listen to it; parts of a group can.
    svg.setAttribute("role", "group");
    svg.addEventListener("keydown", (event) => {
      const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
      if (event.key === "Escape") hide();
      if (!step || event.target !== svg) return;
      const marks = all(".mark[data-t]", svg).filter((mark) => !mark.closest(".hidden"));
      if (!marks.length) return;
      event.preventDefault();
      at = (at + step + marks.length) % marks.length;
      show(marks[at]);
    });
    svg.addEventListener("blur", hide);
  });

  // Keys hide and show their series.
  all(".chart svg .key[data-series]").forEach((key) => {
    const series = all(`.series[data-series="${CSS.escape(key.dataset.series)}"]`, key.closest("svg"));
    key.setAttribute("role", "switch");
    key.setAttribute("tabindex", "0");
    key.setAttribute("aria-checked", "true");
    key.setAttribute("aria-label", `Show ${key.querySelector("text")?.textContent ?? "series"}`);
    const turn = () => {
      const shown = key.getAttribute("aria-checked") !== "true";
      key.setAttribute("aria-checked", String(shown));
      series.forEach((one) => one.classList.toggle("hidden", !shown));
    };
    key.addEventListener("click", turn);
    key.addEventListener("keydown", (event) => {
      if (event.key !== "Enter" && event.key !== " ") return;
      event.preventDefault();
      turn();
    });
  });

  // Tables are sorted by their headings: numbers by size whatever their unit, words by letters.
  const units = {
    B: 1, KiB: 2 ** 10, MiB: 2 ** 20, GiB: 2 ** 30, TiB: 2 ** 40, kB: 1e3, MB: 1e6, GB: 1e9,
    ns: 1, us: 1e3, "\u00b5s": 1e3, ms: 1e6, s: 1e9, min: 6e10, h: 3.6e12,
  };
  const number = (text) => {
    const found = /^[<>~\u00b1]?\s*([+-]?\d[\d,]*(?:\.\d+)?(?:e[+-]?\d+)?)\s*([^\s/]*)/.exec(text);
    return found ? Number(found[1].replaceAll(",", "")) * (units[found[2]] ?? 1) : NaN;
  };
  const order = (left, right) => {
    const [a, b] = [number(left), number(right)];
    if (Number.isNaN(a) !== Number.isNaN(b)) return Number.isNaN(a) ? 1 : -1;
    return Number.isNaN(a) ? left.localeCompare(right) : a - b;
  };
  // Rows that hold every word that is typed.
  const filter = (table, body) => {
    const label = make("label", `${table.dataset.filter}: `, { className: "filter" });
    const typed = make("input", "", { type: "search" });
    const count = make("span", "");
    count.setAttribute("role", "status");
    label.append(typed);
    (table.closest(".scroll") ?? table).before(label, count);
    const texts = new Map([...body.rows].map((row) => [row, row.textContent.toLowerCase()]));
    typed.addEventListener("input", () => {
      const words = typed.value.toLowerCase().split(/\s+/);
      let shown = 0;
      texts.forEach((text, row) => {
        row.hidden = !words.every((word) => text.includes(word));
        shown += Number(!row.hidden);
      });
      count.textContent = typed.value.trim() ? ` ${shown} of ${texts.size}` : "";
    });
  };
  const absent = (text) => text === "" || text === "-";
  const letters = new Intl.Collator("en", { numeric: true, sensitivity: "base" });
  all("table").forEach((table) => {
    const body = table.tBodies[0];
    if (!body || body.rows.length < 2) return;
    if ("filter" in table.dataset) filter(table, body);
    all("thead th", table).forEach((head, column) => {
      const button = make("button", head.textContent, { type: "button" });
      head.replaceChildren(button);
      button.addEventListener("click", () => {
        const rising = head.getAttribute("aria-sort") !== "ascending";
        all("thead th", table).forEach((other) => other.removeAttribute("aria-sort"));
        head.setAttribute("aria-sort", rising ? "ascending" : "descending");
        const text = (row) => row.cells[column]?.textContent.trim() ?? "";
        const by = "words" in head.dataset ? letters.compare : order;
        // What is absent comes last either way.
        const rows = [...body.rows].map((row) => [text(row), row]).sort(([a], [b]) =>
          absent(a) !== absent(b) ? Number(absent(a)) - Number(absent(b)) : by(a, b) * (rising ? 1 : -1)
        ).map(([, row]) => row);
        body.append(...rows);
      });
    });
  });

  // Texts can be copied and saved.
  const act = (name, before, what) => {
    const button = make("button", name, { type: "button", className: "act" });
    before.before(button);
    button.addEventListener("click", () => what(button));
  };
  const say = (button, text) => {
    const old = button.textContent;
    button.textContent = text;
    setTimeout(() => { button.textContent = old; }, 1500);
  };
  const copy = async (text) => {
    try {
      await navigator.clipboard.writeText(text);
    } catch {
      const area = make("textarea", "", { value: text });
      document.body.append(area);
      area.select();
      document.execCommand("copy");
      area.remove();
    }
  };
  all("pre[data-name]").forEach((text) => {
    if ("copy" in text.dataset) {
      act("Copy", text, (button) => copy(text.textContent).then(() => say(button, "Copied")));
    }
    act(`Save ${text.dataset.name}`, text, () => {
      const blob = URL.createObjectURL(new Blob([text.textContent], { type: "text/plain" }));
      const link = make("a", "", { href: blob, download: text.dataset.name });
      link.click();
      setTimeout(() => URL.revokeObjectURL(blob), 1000);
    });
  });
})();
