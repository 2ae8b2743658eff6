// What is wrong with the page that is open: structure for those who cannot see it, contrast for
// those who can. Returns sentences; none where nothing is wrong.
const wrong = [];
const all = (selector, root = document) => [...root.querySelectorAll(selector)];
const name = (element) => {
  const short = element.cloneNode(false).outerHTML.slice(0, 120);
  return `${short} "${(element.textContent ?? "").trim().slice(0, 40)}"`;
};
const need = (holds, text) => { if (!holds) wrong.push(text); };

all("details").forEach((one) => { one.open = true; });

// Landmarks and headings.
need(document.documentElement.lang, "the page has no language");
need(document.title.trim(), "the page has no title");
need(all("main").length === 1, "there is not one main landmark");
need(all("nav").every((nav) => nav.getAttribute("aria-label")), "a nav has no name");
need(all("h1").length >= 1, "there is no h1");
let before = 0;
all("h1,h2,h3,h4,h5,h6").forEach((heading) => {
  const level = Number(heading.tagName[1]);
  need(level <= before + 1, `a heading skips a level: ${name(heading)}`);
  before = level;
});

// Names.
const ids = all("[id]").map((one) => one.id);
need(new Set(ids).size === ids.length, `ids repeat: ${ids.filter((id, at) => ids.indexOf(id) !== at).slice(0, 5)}`);
all("[aria-labelledby],[aria-describedby]").forEach((one) => {
  const named = `${one.getAttribute("aria-labelledby") ?? ""} ${one.getAttribute("aria-describedby") ?? ""}`;
  named.trim().split(/\s+/).forEach((id) => {
    need(document.getElementById(id)?.textContent.trim(), `${name(one)} is named by nothing: ${id}`);
  });
});
all("a[href],button,summary,[role=switch],input,select").forEach((one) => {
  const label = one.getAttribute("aria-label") || one.textContent.trim() || one.labels?.[0]?.textContent || one.title;
  need(label?.trim(), `nothing says what this does: ${name(one)}`);
});
all("[role=region]").forEach((one) => need(one.getAttribute("aria-label") || one.getAttribute("aria-labelledby"), `a region has no name: ${name(one)}`));
all("[role=switch]").forEach((one) => need(one.hasAttribute("aria-checked") && one.tabIndex === 0, `a switch cannot be used by keyboard: ${name(one)}`));
need(all("[tabindex]").every((one) => one.tabIndex <= 0), "an order of keys is forced");
need(all("svg").every((svg) => ["img", "group"].includes(svg.getAttribute("role")) && svg.querySelector("title")?.textContent.trim()), "a figure has no title");
need(all("img").every((one) => one.hasAttribute("alt")), "a picture has no text");
all("figure").forEach((one) => need(one.querySelector("table"), `a figure has no table: ${name(one)}`));

// Tables.
all("table").forEach((table) => {
  need(table.caption?.textContent.trim(), `a table has no caption: ${name(table)}`);
  need(all("thead th", table).length > 0, `a table has no headings: ${name(table)}`);
  need(all("th", table).every((one) => one.scope), `a heading has no scope: ${name(table)}`);
});

// Contrast: 4.5 to 1 (WCAG 2.2, 1.4.3).
const parse = (text) => (text.match(/[\d.]+/g) ?? []).map(Number);
const light = ([r, g, b]) => {
  const part = (value) => (value / 255 <= 0.04045 ? value / 255 / 12.92 : ((value / 255 + 0.055) / 1.055) ** 2.4);
  return 0.2126 * part(r) + 0.7152 * part(g) + 0.0722 * part(b);
};
const ratio = (a, b) => {
  const [low, high] = [light(a), light(b)].sort((x, y) => x - y);
  return (high + 0.05) / (low + 0.05);
};
const over = ([r, g, b, a = 1], [R, G, B]) => [r * a + R * (1 - a), g * a + G * (1 - a), b * a + B * (1 - a)];
const ground = (element) => {
  const layers = [];
  for (let one = element; one; one = one.parentElement) {
    const colour = parse(getComputedStyle(one).backgroundColor);
    if (colour.length === 3 || colour[3] > 0) layers.push(colour);
    if (colour.length === 3) break;
  }
  return layers.reduceRight((below, colour) => over(colour, below), [255, 255, 255]);
};
const check = (element, colour, below, what) => {
  const found = ratio(over(colour, below), below);
  need(found >= 4.5, `${what} ${found.toFixed(2)} to 1: ${name(element)}`);
};
const shown = (element) => element.getClientRects().length > 0 && getComputedStyle(element).visibility === "visible";
const seen = new Set();
const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
for (let node = walk.nextNode(); node; node = walk.nextNode()) {
  const element = node.parentElement;
  if (!node.data.trim() || element.closest("svg,script,style,.unseen,.skip") || !shown(element)) continue;
  const style = getComputedStyle(element);
  const below = ground(element);
  const key = `${style.color} ${below}`;
  if (seen.has(key)) continue;
  seen.add(key);
  check(element, parse(style.color), below, "text has a contrast of");
}
all("svg").forEach((svg) => {
  svg.scrollIntoView({ block: "center" });
  const paper = ground(svg);
  all("text", svg).filter(shown).forEach((text) => {
    const box = text.getBoundingClientRect();
    const under = document.elementsFromPoint(box.x + box.width / 2, box.y + box.height / 2);
    const filled = under.find((one) => one !== text && !one.contains(text) && one.closest("svg") === svg
      && ["rect", "path", "polygon"].includes(one.tagName) && /^rgb/.test(getComputedStyle(one).fill)
      && (parse(getComputedStyle(one).fill)[3] ?? 1) > 0);
    const style = filled && getComputedStyle(filled);
    const fill = style && [...parse(style.fill).slice(0, 3), Number(style.fillOpacity) * Number(style.opacity)];
    const below = fill ? over(fill, paper) : paper;
    check(text, parse(getComputedStyle(text).fill), below, "text of a figure has a contrast of");
  });
});
return [...new Set(wrong)].slice(0, 20);
