// Draws the charts of a comparison from the JSON beside it: bars in percent of the base, curves over one another.
(function () {
  "use strict";

  const data = JSON.parse(document.getElementById("data").textContent);
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const LIGHT = {
    ink: "#18212c", soft: "#566373", grid: "#e6eaee", paper: "#ffffff",
    series: ["#98a3af", "#1f6fb5", "#c2410c", "#12866a", "#7445b8", "#b0851a", "#c2337f", "#4b7d1b"],
  };
  const DARK = {
    ink: "#e4e9ef", soft: "#9aa8b7", grid: "#2a3541", paper: "#182029",
    series: ["#6c7a88", "#6db3f2", "#f5925c", "#4cc9a0", "#b794f4", "#e3bf5a", "#f080b4", "#9bd05f"],
  };
  const CONFIG = { displaylogo: false, responsive: true, modeBarButtonsToRemove: ["select2d", "lasso2d"] };
  // Plotly reads a small mark-up in its texts; names from outside must not be read as such.
  const esc = (text) => String(text).replace(/&/g, "&amp;").replace(/</g, "&lt;").replace(/>/g, "&gt;");
  const short = (text, length) => (text.length > length ? text.slice(0, length - 1) + "…" : text);
  const look = () => (dark.matches ? DARK : LIGHT);

  function layout(x, y) {
    const l = look();
    const axis = (own) => Object.assign({
      gridcolor: l.grid, linecolor: l.grid, zerolinecolor: l.grid, tickcolor: l.grid, automargin: true,
    }, own);
    return {
      paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)", barmode: "group", bargap: 0.3,
      font: { family: "system-ui, -apple-system, Segoe UI, Roboto, Noto Sans, DejaVu Sans, sans-serif", size: 12, color: l.ink },
      margin: { l: 56, r: 16, t: 30, b: 44 }, hovermode: "closest", showlegend: true,
      hoverlabel: { bgcolor: l.paper, bordercolor: l.grid, font: { color: l.ink, size: 12 }, align: "left" },
      legend: { orientation: "h", x: 0, y: 1, yanchor: "bottom", font: { size: 12 }, bgcolor: "rgba(0,0,0,0)" },
      xaxis: axis(x), yaxis: axis(y),
    };
  }

  const ROW_PX = 15;
  const LABEL_PX = 46;

  // Upright where each label has room, else lying, a row for each load.
  function bars(figure, plot) {
    const l = look();
    const places = figure.loads.map((_, place) => place);
    const isLying = places.length * LABEL_PX * 2 > plot.clientWidth;
    const narrow = plot.clientWidth < 600;
    const along = (values) => (isLying ? { y: values } : { x: values });
    const across = (values) => (isLying ? { x: values } : { y: values });
    const base = {
      type: "scatter", mode: "lines", name: `${esc(short(data.base, 32))} (100 %)`, meta: `${short(data.base, 32)} (100 %)`, line: { color: l.series[0], width: 2, dash: "dash" },
      ...along([-1, places.length]), ...across([100, 100]), hoverinfo: "skip",
    };
    const error = (side) => side.high.some((value) => value !== null)
      ? { type: "data", symmetric: false, array: side.high, arrayminus: side.low, color: l.ink, thickness: 1.2 } : undefined;
    const of = (side, number) => ({
      type: "bar", name: esc(short(side.name, 40)), meta: short(side.name, 40), orientation: isLying ? "h" : "v", ...style(number + 1).bar,
      ...along(places), ...across(side.pct), [isLying ? "error_x" : "error_y"]: error(side),
      customdata: side.text.map(esc), hovertemplate: "%{customdata}<extra></extra>",
    });
    const wide = places.length < 3 ? 0.8 : 0.5;
    const ends = [-wide, places.length - 1 + wide];
    const loads = {
      tickmode: "array", tickvals: places, ticktext: figure.loads.map((name) => esc(short(name, isLying ? (narrow ? 22 : 48) : 14))),
      range: isLying ? ends.reverse() : ends, showgrid: false,
    };
    // An interval of few runs may reach a thousand times as far as its bar: the bars decide how far the axis goes.
    const top = 2.5 * Math.max(100, ...figure.sides.flatMap((side) => side.pct));
    const reach = Math.max(...figure.sides.flatMap((side) => side.pct.map((pct, place) => pct + (side.high[place] || 0))));
    const values = { title: { text: `${figure.title}, % of base` }, rangemode: "tozero", ...(reach > top ? { range: [0, top] } : {}) };
    const traces = [...figure.sides.map(of), base];
    const rows = isLying ? places.length * (figure.sides.length * ROW_PX + 8) : 200;
    return [traces, isLying ? layout(values, loads) : layout(loads, values), rows + 90];
  }

  // More than there are colours differ in the line, too.
  function style(number) {
    const l = look();
    const color = l.series[number % l.series.length];
    const turn = Math.floor(number / l.series.length);
    return {
      bar: { marker: { color, pattern: { shape: ["", "/", "x"][turn % 3] } } },
      line: { line: { color, dash: ["solid", "dot", "dash", "dashdot"][turn % 4] } },
      marker: { color, symbol: ["circle", "square", "diamond", "x"][turn % 4] },
    };
  }

  const labelOf = (curve) => [short(curve.name, 40), short(curve.family, 60)].filter(Boolean).join(": ");

  function curves() {
    // The line ends before the first point that missed its rate.
    const part = (curve, number, isBeyond, from, to) => ({
      type: "scatter", mode: isBeyond ? "markers" : "lines+markers", legendgroup: String(number), showlegend: !isBeyond || !curve.held,
      name: esc(labelOf(curve)), meta: labelOf(curve),
      ...style(number).line, marker: { ...style(number).marker, symbol: style(number).marker.symbol + (isBeyond ? "-open" : "") },
      x: curve.rate.slice(from, to), y: curve.p99_s.slice(from, to), customdata: curve.loads.slice(from, to).map(esc),
      hovertemplate: "%{fullData.name}<br>%{customdata}<br>%{x:.4~s} I/O/s, p99 %{y:.3~s}s<extra></extra>",
    });
    const of = (curve, number) => [part(curve, number, false, 0, curve.held), part(curve, number, true, curve.held)].filter((trace) => trace.x.length);
    const y = { title: { text: "response p99" }, type: "log", dtick: "D2", tickformat: "~s", ticksuffix: "s" };
    return [data.curves.flatMap(of), layout({ title: { text: "I/O/s" }, rangemode: "tozero" }, y), 330];
  }

  // Many names stand in columns below the chart: there is no room beside it.
  const LEGEND_MAX = 6;
  function listNames(chart, traces) {
    chart.querySelectorAll(".names").forEach((old) => old.remove());
    const named = traces.filter((trace) => trace.showlegend !== false);
    if (named.length <= LEGEND_MAX) return true;
    const list = document.createElement("ul");
    list.className = "names";
    named.forEach((trace) => {
      const item = document.createElement("li");
      const swatch = document.createElement("span");
      const color = trace.line ? trace.line.color : trace.marker.color;
      const dash = { solid: "solid", dot: "dotted" }[trace.line ? trace.line.dash : "solid"] || "dashed";
      swatch.style.borderTop = `3px ${dash} ${color}`;
      item.append(swatch, trace.meta);
      list.append(item);
    });
    chart.append(list);
    return false;
  }

  function draw() {
    document.querySelectorAll("figure.chart").forEach((chart) => {
      const number = chart.dataset.figure;
      const plot = chart.querySelector(".plot");
      const [traces, plan, height] = number === "curves" ? curves() : bars(data.figures[Number(number)], plot);
      plot.style.height = `${height}px`;
      plan.showlegend = listNames(chart, traces);
      Plotly.react(plot, traces, plan, CONFIG).then(() => { chart.dataset.drawn = "true"; });
    });
  }

  draw();
  // A scroll bar that comes with the charts takes some of their width.
  const fit = (plot) => plot.data && plot.clientWidth && plot.clientWidth !== plot._fullLayout.width ? Plotly.Plots.resize(plot) : null;
  const sizes = new ResizeObserver((seen) => seen.forEach(({ target }) => fit(target)));
  document.querySelectorAll("figure.chart .plot").forEach((plot) => sizes.observe(plot));
  dark.addEventListener("change", draw);
})();
