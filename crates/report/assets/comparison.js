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

  function bars(figure) {
    const l = look();
    const places = figure.loads.map((_, place) => place);
    const base = {
      type: "scatter", mode: "lines", name: `${esc(short(data.base, 32))} (100 %)`, line: { color: l.series[0], width: 2, dash: "dash" },
      x: [-1, places.length], y: [100, 100], hoverinfo: "skip",
    };
    const of = (side, number) => ({
      type: "bar", name: esc(short(side.name, 40)), marker: { color: l.series[(number + 1) % l.series.length] },
      x: places, y: side.pct,
      error_y: side.high.some((value) => value !== null)
        ? { type: "data", symmetric: false, array: side.high, arrayminus: side.low, color: l.ink, thickness: 1.2 } : undefined,
      customdata: side.text.map(esc), hovertemplate: "%{customdata}<extra></extra>",
    });
    const wide = places.length < 3 ? 0.8 : 0.5;
    const x = {
      tickmode: "array", tickvals: places, ticktext: figure.loads.map((name) => esc(short(name, 28))),
      range: [-wide, places.length - 1 + wide], showgrid: false,
    };
    // An interval of few runs may reach a thousand times as far as its bar: the bars decide how far the axis goes.
    const top = 2.5 * Math.max(100, ...figure.sides.flatMap((side) => side.pct));
    const reach = Math.max(...figure.sides.flatMap((side) => side.pct.map((pct, place) => pct + (side.high[place] || 0))));
    const y = { title: { text: `${figure.title}, % of base` }, rangemode: "tozero" };
    return [[...figure.sides.map(of), base], layout(x, reach > top ? { ...y, range: [0, top] } : y)];
  }

  function curves() {
    const l = look();
    // The line ends before the first point that missed its rate.
    const part = (curve, number, isBeyond, from, to) => ({
      type: "scatter", mode: isBeyond ? "markers" : "lines+markers", name: esc(short(curve.name, 40)), legendgroup: String(number), showlegend: !isBeyond || !curve.held,
      line: { color: l.series[number % l.series.length] }, marker: { color: l.series[number % l.series.length], symbol: isBeyond ? "circle-open" : "circle" },
      x: curve.rate.slice(from, to), y: curve.p99_s.slice(from, to), customdata: curve.loads.slice(from, to).map(esc),
      hovertemplate: "%{customdata}<br>%{x:.4~s} I/O/s, p99 %{y:.3~s}s<extra></extra>",
    });
    const of = (curve, number) => [part(curve, number, false, 0, curve.held), part(curve, number, true, curve.held)].filter((trace) => trace.x.length);
    const y = { title: { text: "response p99" }, type: "log", tickformat: "~s", ticksuffix: "s" };
    return [data.curves.flatMap(of), layout({ title: { text: "I/O/s" }, rangemode: "tozero" }, y)];
  }

  function draw() {
    document.querySelectorAll("figure.chart").forEach((chart) => {
      const number = chart.dataset.figure;
      const [traces, plan] = number === "curves" ? curves() : bars(data.figures[Number(number)]);
      Plotly.react(chart.querySelector(".plot"), traces, plan, CONFIG).then(() => { chart.dataset.drawn = "true"; });
    });
  }

  draw();
  // A scroll bar that comes with the charts takes some of their width.
  const fit = (plot) => plot.data && plot.clientWidth && plot.clientWidth !== plot._fullLayout.width ? Plotly.Plots.resize(plot) : null;
  const sizes = new ResizeObserver((seen) => seen.forEach(({ target }) => fit(target)));
  document.querySelectorAll("figure.chart .plot").forEach((plot) => sizes.observe(plot));
  dark.addEventListener("change", draw);
})();
