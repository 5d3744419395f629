// What the charts of all pages share: names that fit, styles that tell curves apart, and a legend of many names.
const charts = (function () {
  "use strict";

  // Plotly reads a small mark-up in its texts; names from outside must not be read as such.
  const esc = (text) => String(text).replace(/&/g, "&amp;").replace(/</g, "&lt;").replace(/>/g, "&gt;");
  const short = (text, length) => (text.length > length ? text.slice(0, length - 1) + "…" : text);
  const shortStart = (text, length) => (text.length > length ? "…" + text.slice(text.length - length + 1) : text);
  const shortMiddle = (text, length) => {
    if (text.length <= length) return text;
    const head = Math.ceil((length - 1) / 2);
    return text.slice(0, head) + "…" + text.slice(text.length - (length - 1 - head));
  };
  const isApart = (names) => new Set(names).size === names.length;

  // The names again and again, each time with one more mark for a word that all of them have.
  function shortened(names) {
    const bare = (word) => word.replace(/^[(]|[,;:)]+$/g, "");
    const split = names.map((name) => name.split(" "));
    const sets = split.map((words) => new Set(words.map(bare)));
    const common = [...sets[0]].filter((word) => sets.every((set) => set.has(word)));
    const without = (words, some) => words.map((word) => (some.has(bare(word)) ? "…" : word))
      .filter((word, at, all) => word !== "…" || all[at - 1] !== "…").join(" ");
    return [0, ...common].map((_, count) => split.map((words) => without(words, new Set(common.slice(0, count)))));
  }

  // Names of at most this length. What differs stays where there is a way; null where there is none.
  function fitting(names, length) {
    if (names.every((name) => name.length <= length)) return isApart(names) ? names : null;
    const ways = names.length > 1 ? shortened(names) : [names];
    const whole = ways.filter((way) => way.every((name) => name.length <= length));
    const cut = [ways[ways.length - 1], names].flatMap((way) => [shortMiddle, shortStart, short].map((one) => way.map((name) => one(name, length))));
    return [...whole, ...cut].find(isApart) || null;
  }
  const numbered = (names, length) => names.map((name, at) => shortMiddle(`${at + 1} ${name}`, length));
  // The same, with a number before each where nothing else tells them apart.
  const apart = (names, length) => fitting(names, length) || numbered(names, length);

  // Curves beyond the number of colours differ in line and marker, too.
  const DASHES = ["solid", "dash", "dot", "dashdot"];
  const SYMBOLS = ["circle", "diamond", "triangle-up", "triangle-down"];
  const PATTERNS = ["", "/", "x"];
  function style(number, colors) {
    const turn = Math.floor(number / colors.length);
    return {
      color: colors[number % colors.length], dash: DASHES[turn % DASHES.length],
      symbol: SYMBOLS[turn % SYMBOLS.length], pattern: PATTERNS[turn % PATTERNS.length],
    };
  }

  const STROKES = { solid: "", dash: "6 3", dot: "2 3", dashdot: "7 3 2 3" };
  const SHAPES = {
    circle: "M17,6a4,4 0 1 0 -8,0a4,4 0 1 0 8,0Z", diamond: "M13,1L18,6L13,11L8,6Z", square: "M9,2H17V10H9Z",
    "triangle-up": "M13,1.5L17.5,9.5H8.5Z", "triangle-down": "M13,10.5L8.5,2.5H17.5Z", x: "M9.5,2.5L16.5,9.5M16.5,2.5L9.5,9.5",
  };
  const HATCHES = { "": "", "/": "M2,12L10,0M10,12L18,0M18,12L26,0", x: "M2,12L10,0M10,12L18,0M18,12L26,0M2,0L10,12M10,0L18,12M18,0L26,12" };
  const IN_SVG = "http://www.w3.org/2000/svg";

  // How the trace looks, as a small picture.
  function swatch(trace) {
    const svg = document.createElementNS(IN_SVG, "svg");
    const add = (name, values) => {
      const part = document.createElementNS(IN_SVG, name);
      Object.entries(values).forEach(([key, value]) => part.setAttribute(key, value));
      svg.append(part);
    };
    Object.entries({ width: 26, height: 12, "aria-hidden": "true" }).forEach(([key, value]) => svg.setAttribute(key, value));
    if (trace.type === "bar") {
      add("path", { d: "M0,1H26V11H0Z", fill: trace.marker.color });
      const hatch = HATCHES[trace.marker.pattern ? trace.marker.pattern.shape : ""];
      if (hatch) add("path", { d: hatch, stroke: "var(--sheet)", "stroke-width": 2 });
      return svg;
    }
    const color = (trace.marker || trace.line).color;
    if (trace.mode.includes("lines")) {
      add("path", { d: "M0,6H26", stroke: trace.line.color, "stroke-width": 2, "stroke-dasharray": STROKES[trace.line.dash || "solid"] });
    }
    if (!trace.mode.includes("markers")) return svg;
    const symbol = trace.symbol || [trace.marker.symbol].flat()[0];
    const isOpen = symbol.endsWith("-open") || symbol === "x";
    add("path", { d: SHAPES[symbol.replace("-open", "")], fill: isOpen ? "none" : color, stroke: color, "stroke-width": isOpen ? 2 : 1 });
    return svg;
  }

  // Many names stand in columns below the chart: there is no room beside it. True where the chart shows its own legend.
  const LEGEND_MAX = 6;
  function listNames(figure, traces) {
    figure.querySelectorAll(".names").forEach((old) => old.remove());
    const named = traces.filter((trace) => trace.showlegend !== false);
    if (named.length <= LEGEND_MAX) return true;
    const list = document.createElement("ul");
    list.className = "names";
    named.forEach((trace) => {
      const item = document.createElement("li");
      item.append(swatch(trace), trace.meta);
      list.append(item);
    });
    figure.querySelector(".plot").after(list);
    return false;
  }

  return { esc, short, apart, fitting, numbered, style, listNames, LEGEND_MAX };
})();
