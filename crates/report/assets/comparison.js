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
  const { esc, short, apart, fitting, listNames } = charts;
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
  const UPRIGHT_LETTERS = 14;

  // Upright where each label has room, else lying, a row for each load.
  function bars(figure, plot) {
    const l = look();
    const places = figure.loads.map((_, place) => place);
    const isLying = places.length * LABEL_PX * 2 > plot.clientWidth || !fitting(figure.loads, UPRIGHT_LETTERS);
    const narrow = plot.clientWidth < 600;
    const along = (values) => (isLying ? { y: values } : { x: values });
    const across = (values) => (isLying ? { x: values } : { y: values });
    const base = {
      type: "scatter", mode: "lines", name: `${esc(short(data.base, 32))} (100 %)`, meta: `${short(data.base, 32)} (100 %)`, line: { color: l.series[0], width: 2, dash: "dash" },
      ...along([-1, places.length]), ...across([100, 100]), hoverinfo: "skip",
    };
    const error = (side) => side.high.some((value) => value !== null)
      ? { type: "data", symmetric: false, array: side.high, arrayminus: side.low, color: l.ink, thickness: 1.2 } : undefined;
    const names = apart(figure.sides.map((side) => side.name), 40);
    const of = (side, number) => ({
      type: "bar", name: esc(names[number]), meta: names[number], orientation: isLying ? "h" : "v", ...style(number + 1).bar,
      ...along(places), ...across(side.pct), [isLying ? "error_x" : "error_y"]: error(side),
      customdata: side.text.map(esc), hovertemplate: "%{customdata}<extra></extra>",
    });
    const wide = places.length < 3 ? 0.8 : 0.5;
    const ends = [-wide, places.length - 1 + wide];
    const loads = {
      tickmode: "array", tickvals: places, ticktext: apart(figure.loads, isLying ? (narrow ? 22 : 48) : UPRIGHT_LETTERS).map(esc),
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
    const { color, dash, symbol, pattern } = charts.style(number, look().series);
    return { bar: { marker: { color, pattern: { shape: pattern } } }, line: { line: { color, dash } }, marker: { color, symbol } };
  }

  function curves() {
    const names = apart(data.curves.map((curve) => [curve.name, curve.family].filter(Boolean).join(": ")), 100);
    // The line ends before the first point that missed its rate.
    const part = (curve, number, isBeyond, from, to) => ({
      type: "scatter", mode: isBeyond ? "markers" : "lines+markers", legendgroup: String(number), showlegend: !isBeyond || !curve.held,
      name: esc(names[number]), meta: names[number],
      ...style(number).line, marker: { ...style(number).marker, symbol: style(number).marker.symbol + (isBeyond ? "-open" : "") },
      x: curve.rate.slice(from, to), y: curve.p99_s.slice(from, to), customdata: curve.loads.slice(from, to).map(esc),
      hovertemplate: "%{fullData.name}<br>%{customdata}<br>%{x:.4~s} I/O/s, p99 %{y:.3~s}s<extra></extra>",
    });
    const of = (curve, number) => [part(curve, number, false, 0, curve.held), part(curve, number, true, curve.held)].filter((trace) => trace.x.length);
    const y = { title: { text: "response p99" }, type: "log", dtick: "D2", tickformat: "~s", ticksuffix: "s" };
    return [data.curves.flatMap(of), layout({ title: { text: "I/O/s" }, rangemode: "tozero" }, y), 330];
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
