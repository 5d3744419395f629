// Draws the charts of the page from the JSON beside it. Latencies come in microseconds and are
// drawn in seconds, so that the axes can label them with SI prefixes at any zoom.
(function () {
  "use strict";

  const data = JSON.parse(document.getElementById("data").textContent);
  const runs = data.runs;
  const byId = (id) => document.getElementById(id);
  const PERCENTILES = [["p50", "p50"], ["p90", "p90"], ["p99", "p99"], ["p999", "p99.9"]];
  const LINE = { curve: { log: true, shown: null }, sweep: { log: true, shown: null } };
  const state = { run: 0, logLatency: true, tail: false, printing: false, colour: "rate" };

  // ---- look -------------------------------------------------------------------------------

  const dark = matchMedia("(prefers-color-scheme: dark)");
  const LIGHT = {
    ink: "#18212c", soft: "#566373", grid: "#e6eaee", paper: "#ffffff", bad: "#c62828", accent: "#1f6fb5",
    warm: "rgba(110,125,140,.13)", percentile: ["#12866a", "#1f6fb5", "#7445b8", "#c2410c"], max: "#98a3af",
    series: ["#1f6fb5", "#c2410c", "#12866a", "#7445b8", "#b0851a", "#c2337f", "#4b7d1b", "#0e7f92", "#8a5a44", "#5b6673"],
  };
  const DARK = {
    ink: "#e4e9ef", soft: "#9aa8b7", grid: "#2a3541", paper: "#182029", bad: "#ff8a80", accent: "#6db3f2",
    warm: "rgba(160,175,190,.13)", percentile: ["#4cc9a0", "#6db3f2", "#b794f4", "#f5925c"], max: "#6c7a88",
    series: ["#6db3f2", "#f5925c", "#4cc9a0", "#b794f4", "#e3bf5a", "#f080b4", "#9bd05f", "#5cc8d9", "#c79a84", "#a4b0bd"],
  };
  const look = () => (dark.matches && !state.printing ? DARK : LIGHT);
  const fade = (hex, alpha) =>
    `rgba(${[1, 3, 5].map((at) => parseInt(hex.slice(at, at + 2), 16)).join(",")},${alpha})`;

  const { esc, short } = charts;
  // Names stand between backticks.
  const plain = (text) => text.replace(/`/g, '"');

  const trim = (value) => {
    const digits = value >= 100 ? 0 : value >= 10 ? 1 : 2;
    return value.toFixed(digits).replace(/\.0+$/, "");
  };
  const latency = (us) =>
    us === null || us === undefined ? "–"
      : us <= 0 ? "0"
      : us < 1 ? `${trim(us * 1e3)} ns`
      : us < 1e3 ? `${trim(us)} µs`
      : us < 1e6 ? `${trim(us / 1e3)} ms`
      : `${trim(us / 1e6)} s`;
  const number = (value) =>
    value === null || value === undefined ? "–"
      : Number(value.toFixed(Math.abs(value) >= 100 ? 0 : 2)).toLocaleString("en").replace(/,/g, "\u202f");
  const mega = (bytes) => (bytes === null ? "–" : number(bytes / 1e6));
  // A latency of something that never came back is at least its age.
  const told = (latencies, key) => ((latencies.at_least ?? []).includes(key) ? "≥ " : "") + latency(latencies[key]);
  const seconds = (values) => values.map((us) => (us === null ? null : us / 1e6));

  function layout(x, y, more) {
    const l = look();
    const axis = (own) => Object.assign({
      gridcolor: l.grid, linecolor: l.grid, zerolinecolor: l.grid, tickcolor: l.grid, automargin: true,
      title: { standoff: 8 }, fixedrange: false,
    }, own, own && own.title ? { title: { text: own.title, standoff: 8, font: { size: 12, color: l.soft } } } : {});
    return Object.assign({
      paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)",
      font: { family: "system-ui, -apple-system, Segoe UI, Roboto, Noto Sans, DejaVu Sans, sans-serif", size: 12, color: l.ink },
      margin: { l: 56, r: 16, t: 30, b: 44 }, hovermode: "closest",
      hoverlabel: { bgcolor: l.paper, bordercolor: l.grid, font: { color: l.ink, size: 12 }, align: "left" },
      legend: { orientation: "h", x: 0, y: 1, yanchor: "bottom", font: { size: 12 }, bgcolor: "rgba(0,0,0,0)" },
      modebar: { bgcolor: "rgba(0,0,0,0)", color: fade(l.soft, 0.6), activecolor: l.accent },
      xaxis: axis(x), yaxis: axis(y), axis,
    }, more);
  }
  const latencyAxis = (log, title, ...values) =>
    (log ? Object.assign({ title, type: "log" }, logTicks(values)) : { title, tickformat: "~s", ticksuffix: "s", rangemode: "tozero" });

  // Plotly labels a logarithmic axis with bare digits between the powers; ours carry their unit.
  function logTicks(values) {
    let [low, high] = [Infinity, 0];
    values.flat().forEach((value) => {
      if (value > 0) { low = Math.min(low, value); high = Math.max(high, value); }
    });
    if (low > high) return {};
    const steps = high / low < 30 ? [1, 1.5, 2, 3, 5, 7] : high / low < 2e3 ? [1, 2, 5] : [1];
    const tickvals = [];
    for (let power = Math.floor(Math.log10(low)) - 1; power <= Math.ceil(Math.log10(high)) + 1; power++) {
      steps.forEach((step) => tickvals.push(step * 10 ** power));
    }
    return { tickvals, ticktext: tickvals.map((value) => latency(value * 1e6).replace(/(\.\d)0 /, "$1 ")) };
  }
  // How far labels of an axis turn where they have no room side by side.
  const SLANTS = [0, 35, 90];
  const rateAxis = (title) => ({ title, tickformat: "~s", rangemode: "tozero" });

  // ---- frames -----------------------------------------------------------------------------

  const CONFIG = {
    displaylogo: false, responsive: false, showTips: false, showSendToCloud: false, showLink: false,
    modeBarButtonsToRemove: ["select2d", "lasso2d", "autoScale2d"], displayModeBar: "hover",
    toImageButtonOptions: { format: "svg", filename: "fathom" },
  };

  // A chart is drawn into its figure, and its rows become the table below it when that is opened.
  function draw(name, traces, plan, table) {
    const figure = byId(`chart-${name}`);
    const plot = figure.querySelector(".plot");
    delete plan.axis;
    figure.tableOf = table;
    const details = figure.querySelector("details");
    if (!details.ontoggle) details.ontoggle = () => details.open && fillTable(figure);
    if (details.open) fillTable(figure);
    plot.setAttribute("role", "img");
    plot.setAttribute("aria-label", `${figure.querySelector("h3").textContent}. The table below holds the values.`);
    figure.hidden = !traces.length;
    if (figure.hidden) {
      if (plot.data) Plotly.purge(plot);
      figure.dataset.drawn = "empty";
      return Promise.resolve(plot);
    }
    // A print does not wait for the size to be seen.
    if (state.printing) plan.width = plot.clientWidth;
    return Plotly.react(plot, traces, plan, CONFIG).then(() => {
      listen(plot, "plotly_afterplot", () => untangle(plot));
      untangle(plot);
      sizes.observe(plot);
      figure.dataset.drawn = "true";
      return plot;
    });
  }

  function listen(plot, event, handle) {
    plot.removeAllListeners(event);
    plot.on(event, handle);
  }

  // A chart is as wide as its place, whether the window changes or a neighbour comes and goes.
  const fit = (plot) => plot.data && plot.clientWidth && plot.clientWidth !== plot._fullLayout.width ? Plotly.Plots.resize(plot) : null;
  const sizes = new ResizeObserver((seen) => seen.forEach(({ target }) => fit(target)));

  // A label that would lie over something or be cut off moves aside, to the nearest place that is free. Where there is
  // none it is left out: tooltips and tables hold what it says.
  const MAX_LABELS = 200;
  function untangle(plot) {
    const sheet = plot.getBoundingClientRect();
    if (!sheet.width) return;
    const all = (selector) => [...plot.querySelectorAll(selector)];
    const labels = all(".annotation-text, .textpoint > text");
    if (labels.length > MAX_LABELS) { labels.forEach((text) => { text.style.visibility = "hidden"; }); return; }
    const box = (element) => element.getBoundingClientRect();
    const moved = ({ left, right, top, bottom }, [x, y]) => ({ left: left + x, right: right + x, top: top + y, bottom: bottom + y });
    const isOver = (one, other) => one.left < other.right - 1 && other.left < one.right - 1 && one.top < other.bottom - 1 && other.top < one.bottom - 1;
    const isWhole = (one) => one.left >= sheet.left && one.right <= sheet.right && one.top >= sheet.top && one.bottom <= sheet.bottom;
    const taken = all(".legendtext, .scatterlayer .point, [class$=title] > text").map(box);
    const put = (text, steps) => {
      text.style.translate = text.style.visibility = "";
      const own = box(text);
      const step = steps(own).find((one) => isWhole(moved(own, one)) && !taken.some((other) => isOver(moved(own, one), other)));
      if (!step) { text.style.visibility = "hidden"; return; }
      text.style.translate = `${step[0]}px ${step[1]}px`;
      taken.push(moved(own, step));
    };
    // Labels of an axis stay or go; slanted ones are wider than what they cover.
    all("[class$=tick] > text").filter((text) => !/rotate\((?!0[,)])/.test(text.getAttribute("transform"))).forEach((text) => put(text, () => [[0, 0]]));
    // What stands to the right of its point may stand to its left, and not farther away.
    const sides = (text) => (text.matches(".textpoint > text") && text.getAttribute("text-anchor") === "start" ? [0, -1, -2] : [0, 1, -1, 2, -2]);
    const aside = (text, { width }) => sides(text).flatMap((x) => [0, -14, 14, -24, 24].map((y) => [x * (width / 2 + 11), y]))
      .sort((one, other) => Math.hypot(...one) - Math.hypot(...other));
    labels.forEach((text) => put(text, (own) => aside(text, own)));
  }

  function fillTable(figure) {
    const { head, rows } = figure.tableOf();
    const table = document.createElement("table");
    const line = (cells, tag, into) => {
      const row = into.insertRow();
      cells.forEach((cell, at) => {
        const element = document.createElement(at === 0 || tag === "th" ? "th" : "td");
        if (tag === "th") element.scope = "col";
        else if (at === 0) element.scope = "row";
        element.textContent = cell;
        row.append(element);
      });
    };
    line(head, "th", table.createTHead());
    const body = table.createTBody();
    rows.forEach((cells) => line(cells, "td", body));
    figure.querySelector(".data .scroll").replaceChildren(table);
  }

  function switches(name, groups) {
    const box = byId(`chart-${name}`).querySelector(".controls");
    box.hidden = false;
    box.replaceChildren(...groups.map(({ legend, options }) => {
      const set = document.createElement("fieldset");
      const title = document.createElement("legend");
      title.textContent = legend;
      set.append(title, ...options.map(({ label, on, press }) => {
        const button = document.createElement("button");
        button.type = "button";
        button.textContent = label;
        button.setAttribute("aria-pressed", String(on));
        button.onclick = press;
        return button;
      }));
      return set;
    }));
  }
  const scaleSwitch = (isLog, set) => ({
    legend: "Latency axis",
    options: [{ label: "log", on: isLog, press: () => set(true) }, { label: "linear", on: !isLog, press: () => set(false) }],
  });

  // ---- latency against rate ---------------------------------------------------------------

  const words = (run) => {
    const lines = [`<b>${esc(short(run.name, 80))}</b> · ${esc(run.load)}`];
    if (run.asked !== null) lines.push(`asked ${number(run.asked)} I/O/s`);
    lines.push(`achieved ${number(run.rate)} I/O/s, ${mega(run.bytes)} MB/s`);
    lines.push(PERCENTILES.map(([key, label]) => `${label} ${told(run.response, key)}`).join(", "));
    lines.push(`slots busy ${number(run.busy)} of ${run.slots}`);
    run.findings.forEach((told) => lines.push(`<b>${esc(told.word)}</b>: ${esc(short(plain(told.text), 90))}`));
    return lines.join("<br>");
  };
  const symbol = (run, own) => (run.missed ? "x" : own) + (run.is_exhausted ? "-open" : "");

  function percentileSwitch(name, redraw) {
    const chart = LINE[name];
    return [
      {
        legend: "Percentiles",
        options: PERCENTILES.map(([key, label]) => ({
          label, on: chart.shown.has(key),
          press: () => {
            if (chart.shown.has(key) && chart.shown.size > 1) chart.shown.delete(key); else chart.shown.add(key);
            redraw();
          },
        })),
      },
      scaleSwitch(chart.log, (log) => { chart.log = log; redraw(); }),
    ];
  }

  // With one series the colour tells the percentile. With several it tells the series, and the dash the percentile; where
  // only one is shown the dash is free to tell apart series of one colour, as their markers do.
  const DASHES = ["dot", "dash", "solid", "dashdot"];
  function lineStyle(serie, series, percentile, shown) {
    const l = look();
    if (series === 1) return { color: l.percentile[percentile], dash: "solid", symbol: "circle" };
    const own = charts.style(serie, l.series);
    return { ...own, dash: shown > 1 ? DASHES[percentile] : own.dash };
  }

  function rateLatency(name, series, plan) {
    const chart = LINE[name];
    if (!chart.shown) chart.shown = new Set(series.length > 1 ? ["p99"] : PERCENTILES.map(([key]) => key));
    switches(name, percentileSwitch(name, () => rateLatency(name, series, plan)));
    const traces = [];
    const isNumbered = series.length > charts.LEGEND_MAX;
    const names = (isNumbered ? charts.numbered : charts.apart)(series.map((serie) => serie.name), 100);
    series.forEach((serie, at) => PERCENTILES.forEach(([key, label], percentile) => {
      if (!chart.shown.has(key)) return;
      const style = lineStyle(at, series.length, percentile, chart.shown.size);
      const title = series.length === 1 ? label : names[at];
      const isFirst = series.length === 1 || !PERCENTILES.slice(0, percentile).some(([other]) => chart.shown.has(other));
      const last = percentile === 3 || !PERCENTILES.slice(percentile + 1).some(([later]) => chart.shown.has(later));
      // The latency of a point that missed its rate grows for as long as the run lasts: the line ends before the first.
      const first = serie.points.findIndex((one) => runs[one.run].missed);
      const end = first < 0 ? serie.points.length : first;
      [serie.points.slice(0, end), serie.points.slice(end)].forEach((places, part) => {
        if (!places.length) return;
        const points = places.map((one) => runs[one.run]);
        // A line ends in the number that its name has in the list.
        const isEnd = (place) => isNumbered && last && (part === 0 || !end) && place === places.length - 1;
        const texts = places.map((one, place) => (isEnd(place) ? ` ${at + 1}` : isNumbered ? "" : plan.text(one, runs[one.run], last)));
        traces.push({
          type: "scatter", mode: (part ? "markers" : "lines+markers") + (texts.some((text) => text) ? "+text" : ""),
          name: esc(short(title, 48)), meta: title, legendgroup: title, showlegend: isFirst && (!part || !end), symbol: style.symbol,
          x: points.map((run) => run.rate), y: points.map((run) => run.response[key] === null ? null : run.response[key] / 1e6),
          line: { color: style.color, dash: style.dash, width: 2 },
          marker: { symbol: points.map((run) => symbol(run, style.symbol)), size: 10, color: style.color, line: { width: 2, color: style.color } },
          text: texts, textposition: isNumbered ? "middle right" : plan.position, textfont: { size: 11, color: style.color }, cliponaxis: false,
          customdata: places.map((one) => one.run), hovertext: points.map(words), hoverinfo: "text",
        });
      });
      if (serie.base !== undefined && serie.base !== null && runs[serie.base].response[key] !== null) {
        const base = runs[serie.base];
        traces.push({
          type: "scatter", mode: last && series.length === 1 ? "markers+text" : "markers", name: "flat out", legendgroup: title, showlegend: false,
          x: [base.rate], y: [base.response[key] / 1e6], customdata: [serie.base], hovertext: [words(base)], hoverinfo: "text",
          marker: { symbol: "square-open", size: 11, color: style.color, line: { width: 2 } },
          text: ["flat out"], textposition: "bottom center", textfont: { size: 11, color: style.color }, cliponaxis: false,
        });
      }
    }));
    const l = look();
    const shapes = [];
    const annotations = [];
    series.forEach((serie, at) => {
      if (serie.knee === undefined || serie.knee === null) return;
      const rate = runs[serie.knee].rate;
      const color = series.length > 1 ? lineStyle(at, series.length, 0, 1).color : l.soft;
      shapes.push({ type: "line", xref: "x", yref: "paper", x0: rate, x1: rate, y0: 0, y1: 1, line: { color, dash: "dot", width: 1.5 } });
      // Knees of several curves may be close together: their words stand on steps.
      annotations.push({
        xref: "x", yref: "paper", x: rate, y: 0.6 - 0.06 * (at % 6), yanchor: "middle", xanchor: "right", showarrow: false,
        text: series.length > 1 ? "knee" : `knee ${number(rate)} I/O/s`, font: { size: 12, color },
      });
    });
    series.forEach((serie, at) => {
      if (!serie.saturated) return;
      const color = series.length > 1 ? lineStyle(at, series.length, 0, 1).color : l.soft;
      shapes.push({ type: "line", xref: "x", yref: "paper", x0: serie.saturated, x1: serie.saturated, y0: 0, y1: 1, line: { color, dash: "dot", width: 1.5 } });
      annotations.push({
        xref: "x", yref: "paper", x: serie.saturated, y: 0.6 - 0.06 * (at % 6), yanchor: "middle", xanchor: "right", showarrow: false,
        text: series.length > 1 ? "saturation" : `before saturation ${number(serie.saturated)} I/O/s`, font: { size: 12, color },
      });
    });
    const isDashed = series.length > 1 && chart.shown.size > 1;
    keys(series, isDashed ? PERCENTILES.map(([key], at) => at).filter((at) => chart.shown.has(PERCENTILES[at][0])) : []).forEach((key) => traces.push(key));
    const table = () => ({
      head: ["Series", "Run", plan.column, "Asked I/O/s", "Achieved I/O/s", ...PERCENTILES.map(([, label]) => label), "Marks"],
      rows: series.flatMap((serie) => [
        ...(serie.base === undefined || serie.base === null ? [] : [{ run: serie.base, slots: runs[serie.base].slots }]), ...serie.points,
      ].map((one) => {
        const run = runs[one.run];
        return [serie.name, run.name, plan.cell(one, run), number(run.asked), number(run.rate),
          ...PERCENTILES.map(([key]) => told(run.response, key)), run.findings.map((told) => told.word).join(", ")];
      })),
    });
    return draw(name, traces, layout(rateAxis("Achieved rate (I/O per second)"),
      latencyAxis(chart.log, "Response time", ...traces.map((trace) => trace.y)), { shapes, annotations, showlegend: charts.listNames(byId(`chart-${name}`), traces), margin: { l: 60, r: 30, t: 40, b: 48 } }), table)
      .then((plot) => listen(plot, "plotly_click", (event) => {
        const run = event.points[0].customdata;
        if (run !== undefined) { choose(run); byId("run").scrollIntoView({ behavior: "smooth" }); }
      }));
  }

  const dashKey = (name, dash) => ({
    type: "scatter", mode: "lines", name, meta: name, x: [null], y: [null], hoverinfo: "skip", line: { color: look().soft, dash, width: 2 },
  });

  // The symbols and the dashes that occur, explained in the legend.
  function keys(series, percentiles) {
    const l = look();
    const all = series.flatMap((serie) => serie.points.map((one) => runs[one.run]));
    const key = (symbol, name) => ({
      type: "scatter", mode: "markers", name, meta: name, x: [null], y: [null], hoverinfo: "skip",
      marker: { symbol, size: 10, color: l.soft, line: { width: 2, color: l.soft } },
    });
    const found = percentiles.map((at) => dashKey(PERCENTILES[at][1], DASHES[at]));
    if (all.some((run) => run.is_exhausted)) found.push(key("circle-open", "no free slot"));
    if (all.some((run) => run.missed)) found.push(key("x", "rate missed"));
    if (series.some((serie) => serie.base !== undefined && serie.base !== null)) found.push(key("square-open", "flat out (closed loop)"));
    return found;
  }

  function drawCurve() {
    if (!data.curves.length) return Promise.resolve();
    const series = data.curves.map((curve) => Object.assign({}, curve, { points: curve.points.map((run) => ({ run })) }));
    return rateLatency("curve", series, {
      column: "Load", cell: (one, run) => run.load, position: "middle right",
      text: (one, run, last) => (last && run.missed && run.asked !== null ? ` missed ${number(run.asked)}` : ""),
    });
  }

  function drawSweep() {
    if (!data.sweeps.length) return Promise.resolve();
    byId("sweep-words").replaceChildren(...data.sweeps.filter((sweep) => sweep.saturation).map((sweep) =>
      element("li", { textContent: `${data.sweeps.length > 1 ? `${sweep.name}: ` : ""}${sweep.saturation}.` })));
    byId("saturation").hidden = !data.sweeps.some((sweep) => sweep.saturation);
    byId("saturation").open = data.sweeps.length <= 4;
    const series = data.sweeps.map((sweep) => ({ name: sweep.name, saturated: sweep.saturated_at, points: sweep.points.map(([run, slots]) => ({ run, slots })) }));
    return rateLatency("sweep", series, {
      column: "Threads", cell: (one) => String(one.slots ?? ""), position: "top center",
      text: (one, run, last) => (last ? String(one.slots) : ""),
    });
  }

  // ---- what a sweep varied ----------------------------------------------------------------

  // Viridis (Smith and van der Walt, 2015), at equal steps.
  const VIRIDIS = ["#440154", "#482878", "#3e4989", "#31688e", "#26828e", "#1f9e89", "#35b779", "#6ece58", "#b5de2b", "#fde725"];
  const parsed = (hex) => [1, 3, 5].map((at) => parseInt(hex.slice(at, at + 2), 16));
  function shade(share) {
    const place = Math.max(0, Math.min(1, share)) * (VIRIDIS.length - 1);
    const [from, to] = [Math.floor(place), Math.ceil(place)].map((at) => parsed(VIRIDIS[at]));
    const rgb = from.map((low, at) => Math.round(low + (place - Math.floor(place)) * (to[at] - low)));
    const bright = 0.299 * rgb[0] + 0.587 * rgb[1] + 0.114 * rgb[2];
    return { background: `rgb(${rgb.join(",")})`, color: bright > 125 ? "#000" : "#fff" };
  }
  const brief = (value) => {
    const [unit, per] = value >= 1e6 ? ["M", 1e6] : value >= 1e4 ? ["k", 1e3] : ["", 1];
    return trim(value / per) + unit;
  };
  const FIGURES = {
    rate: { label: "rate", unit: "I/O/s", of: (run) => run.rate, text: brief },
    p99: { label: "p99", unit: "response p99", log: true, of: (run) => run.response.p99, text: latency },
    cpu: { label: "CPU per I/O", unit: "CPU time of the host per I/O", log: true, of: (run) => (run.cpu === null ? null : run.cpu / 1e3), text: latency },
  };

  // Values of all runs in one place, whose mean counts.
  function meanOf(places, figure) {
    const known = places.map((place) => figure.of(runs[place])).filter((value) => value !== null && Number.isFinite(value));
    return known.length ? known.reduce((sum, value) => sum + value, 0) / known.length : null;
  }

  // The runs of a grid by their places on its axes.
  function cellsOf(grid) {
    const cells = new Map();
    grid.cells.forEach(([run, at]) => {
      const key = at.join();
      if (!cells.has(key)) cells.set(key, { at, runs: [] });
      cells.get(key).runs.push(run);
    });
    return cells;
  }

  const nameOf = (grid, at) => at.map((place, number) => `${grid.axes[number].name} ${grid.axes[number].texts[place]}`).join(", ");
  const show = (run) => { choose(run); byId("run").scrollIntoView({ behavior: "smooth" }); };

  function drawOver() {
    const l = look();
    const single = data.grids.filter((grid) => grid.axes.length === 1);
    // Lines over different quantities have no axis in common.
    const quantities = [...new Set(single.map((grid) => grid.axes[0].name))];
    const quantity = quantities.includes(state.over) ? state.over : quantities[0];
    if (quantities.length > 1) switches("over", [{ legend: "Over", options: quantities.map((name) => ({ label: name, on: name === quantity, press: () => { state.over = name; drawOver(); } })) }]);
    const lines = single.filter((grid) => grid.axes[0].name === quantity);
    const names = charts.apart(lines.map((grid) => grid.name), 100);
    const traces = [];
    const rows = [];
    const ticks = new Map(lines.flatMap((grid) => grid.axes[0].values.map((value, at) => [value, grid.axes[0].texts[at]])));
    const values = [...ticks.keys()].sort((one, other) => one - other);
    const axis = lines.length ? { name: quantity, values, texts: values.map((value) => ticks.get(value)) } : null;
    const isWide = axis && values[0] > 0 && values[values.length - 1] / values[0] > 20;
    lines.forEach((grid, place) => {
      const cells = [...cellsOf(grid).values()].sort((one, other) => one.at[0] - other.at[0]);
      const own = grid.axes[0];
      const stroke = charts.style(place, l.series);
      const missed = (cell) => cell.runs.some((run) => runs[run].missed);
      const line = (label, figure, yaxis, dash) => {
        const color = lines.length > 1 ? stroke.color : l.percentile[dash === "solid" ? 1 : dash === "dash" ? 2 : 0];
        const title = lines.length > 1 ? names[place] : label;
        const trace = (isMissed) => ({
          type: "scatter", mode: isMissed ? "markers" : "lines+markers", name: esc(short(title, 48)), meta: title, yaxis,
          legendgroup: lines.length > 1 ? String(place) : label, showlegend: isMissed === cells.every(missed) && (lines.length === 1 || yaxis === "y"),
          x: cells.map((cell) => own.values[cell.at[0]]), y: cells.map((cell) => (missed(cell) === isMissed ? meanOf(cell.runs, figure) : null)),
          line: { color, dash, width: 2 }, marker: { size: 9, color, symbol: isMissed ? "x" : stroke.symbol }, symbol: stroke.symbol,
          customdata: cells.map((cell) => cell.runs[0]), hovertext: cells.map((cell) => words(runs[cell.runs[0]])), hoverinfo: "text",
        });
        // No line leads to a point that missed its rate.
        if (!cells.every(missed)) traces.push(trace(false));
        if (cells.some(missed)) traces.push(trace(true));
      };
      line("rate", FIGURES.rate, "y", "solid");
      [["p50", "dot"], ["p99", "dash"]].forEach(([key, dash]) =>
        line(`response ${key}`, { of: (run) => (run.response[key] === null ? null : run.response[key] / 1e6) }, "y2", dash));
      cells.forEach((cell) => rows.push([grid.name, own.texts[cell.at[0]], number(meanOf(cell.runs, FIGURES.rate)), ...["p50", "p99"].map((key) =>
        latency(meanOf(cell.runs, { of: (run) => run.response[key] }))), String(cell.runs.length)]));
    });
    if (lines.length > 1) traces.push(...[["response p50", "dot"], ["response p99", "dash"]].map(([name, dash]) => dashKey(name, dash)));
    const x = axis ? { title: axis.name, tickvals: axis.values, ticktext: axis.texts.map(esc), type: isWide ? "log" : "linear", autotickangles: SLANTS } : {};
    const plan = layout(x, Object.assign(rateAxis("I/O per second"), { domain: [0, 0.42] }));
    plan.yaxis2 = plan.axis(Object.assign(latencyAxis(true, "Response time", ...traces.filter((one) => one.yaxis === "y2").map((one) => one.y)), { domain: [0.5, 1] }));
    plan.showlegend = charts.listNames(byId("chart-over"), traces);
    return draw("over", traces, plan, () => ({ head: ["Sweep", axis ? axis.name : "", "I/O/s", "p50", "p99", "Runs"], rows }))
      .then((plot) => plot.data && listen(plot, "plotly_click", (event) => show(event.points[0].customdata)));
  }

  function drawSwept() {
    if (!data.grids.length) return Promise.resolve();
    drawGrid();
    return drawOver();
  }

  function drawGrid() {
    const all = data.grids.filter((grid) => grid.axes.length > 1);
    const figure = byId("chart-grid");
    figure.hidden = !all.length;
    if (!all.length) return;
    const known = Object.entries(FIGURES).filter(([, one]) => runs.some((run) => run.measures && one.of(run) !== null));
    switches("grid", [{ legend: "Colour", options: known.map(([key, one]) => ({ label: one.label, on: state.colour === key, press: () => { state.colour = key; drawGrid(); } })) }]);
    figure.querySelector(".grids").replaceChildren(...all.flatMap((grid) => panels(grid, FIGURES[state.colour])));
    figure.dataset.drawn = "true";
  }

  const element = (tag, more, ...children) => {
    const made = Object.assign(document.createElement(tag), more);
    made.append(...children);
    return made;
  };

  // One panel for each combination of what is on no axis of a panel; one scale for all of them.
  function panels(grid, figure) {
    const cells = cellsOf(grid);
    const values = [...cells.values()].map((cell) => meanOf(cell.runs, figure)).filter((value) => value > 0);
    const [low, high] = [Math.min(...values), Math.max(...values)];
    const scale = figure.log ? Math.log : (value) => value;
    const share = (value) => (high > low ? (scale(value) - scale(low)) / (scale(high) - scale(low)) : 1);
    const rest = grid.axes.slice(2).reduce((some, axis, at) => some.flatMap((one) => axis.values.map((_, place) => [...one, place])), [[]]);
    const legend = element("p", { className: "scale" }, `${figure.unit}: ${figure.text(low)} `,
      element("span", { className: "ramp", ariaHidden: "true" }), ` ${figure.text(high)}${figure.log ? ", logarithmic" : ""}`);
    legend.querySelector(".ramp").style.background = `linear-gradient(to right, ${VIRIDIS.join(",")})`;
    const title = data.grids.length > 1 ? [element("h4", { textContent: grid.name })] : [];
    const box = element("div", { className: "panels" }, ...rest.map((at) => panel(grid, cells, at, { figure, share })));
    return [...title, legend, box];
  }

  function panel(grid, cells, rest, { figure, share }) {
    const [across, down] = grid.axes;
    const table = element("table", { className: "heat" });
    const more = rest.map((place, number) => `${grid.axes[number + 2].name} ${grid.axes[number + 2].texts[place]}`).join(", ");
    table.append(element("caption", { textContent: more || `${down.name} by ${across.name}` }));
    const head = table.createTHead().insertRow();
    head.append(element("th", { scope: "col", textContent: `${down.name} \\ ${across.name}` }),
      ...across.texts.map((text) => element("th", { scope: "col", textContent: text })));
    const body = table.createTBody();
    down.texts.forEach((text, y) => {
      const row = body.insertRow();
      row.append(element("th", { scope: "row", textContent: text }));
      across.texts.forEach((_, x) => {
        const at = [x, y, ...rest];
        const cell = cells.get(at.join());
        const value = cell ? meanOf(cell.runs, figure) : null;
        const field = row.insertCell();
        if (!cell) { field.textContent = "–"; return; }
        const doubtful = cell.runs.some((run) => runs[run].findings.some((told) => told.is_doubt));
        const name = `${nameOf(grid, at)}: ${value === null ? "–" : figure.text(value)} ${figure.unit}${doubtful ? ", doubtful" : ""}`;
        const button = element("button", { type: "button", title: name, ariaLabel: name, textContent: (value === null ? "–" : figure.text(value)) + (doubtful ? " !" : "") });
        button.onclick = () => show(cell.runs[0]);
        if (value > 0) Object.assign(button.style, shade(share(value)));
        field.append(button);
      });
    });
    return element("div", { className: "scroll" }, table);
  }

  // ---- all runs beside each other ---------------------------------------------------------

  const runNumber = (at) => at + 1;
  // What prepares targets measures nothing, and a single bar says no more than its row of the table.
  const measured = runs.map((run, at) => Object.assign({ number: runNumber(at) }, run)).filter((run) => run.measures);
  const isCompared = measured.length > 1;
  const barGap = () => (measured.length < 4 ? 0.75 : 0.25);
  const numbered = (run) => `${run.number} ${run.name}`;
  function runAxis() {
    const names = measured.map((run) => esc(short(run.name, 18)));
    // Names that are the same up to where they are cut tell nothing apart.
    const few = names.length <= 14 && new Set(names).size === names.length;
    return few
      ? { tickvals: measured.map((run) => run.number), ticktext: names, autotickangles: SLANTS, title: "Run" }
      : { title: "Run (number)", tickformat: "d" };
  }

  function drawDepth() {
    const l = look();
    const x = measured.map((run) => run.number);
    const names = measured.map((run) => `${run.number} ${esc(short(run.name, 60))}`);
    const traces = [
      {
        type: "bar", name: "slots busy", x, y: measured.map((run) => run.busy), hovertext: measured.map((run, at) =>
          `${names[at]}<br>${number(run.busy)} of ${run.slots} slots busy<br>none free ${number(run.exhausted)} % of the time`), hoverinfo: "text",
        marker: {
          color: measured.map((run) => fade(l.accent, run.is_exhausted ? 0.2 : 0.85)), line: { color: l.accent, width: measured.map((run) => (run.is_exhausted ? 2 : 0)) },
        },
      },
      {
        type: "scatter", mode: measured.length > 14 ? "lines" : "markers", name: "slots", x, y: measured.map((run) => run.slots),
        line: { shape: "hvh", color: l.ink, width: 1.5 }, marker: { symbol: "line-ew-open", size: 26, color: l.ink, line: { width: 2 } },
        hovertemplate: "%{y} slots<extra></extra>",
      },
    ];
    if (measured.some((run) => run.backlog > 0)) {
      traces.push({
        type: "scatter", mode: "markers", name: "waiting at the end (right axis)", x, y: measured.map((run) => run.backlog || null), yaxis: "y2",
        marker: { symbol: "triangle-up", size: 9, color: l.bad }, hovertext: measured.map((run, at) => `${names[at]}<br>${number(run.backlog)} arrivals waiting`), hoverinfo: "text",
      });
    }
    const plan = layout(runAxis(), { title: "Slots", rangemode: "tozero" }, { bargap: barGap() });
    if (traces.length > 2) plan.yaxis2 = plan.axis({ title: "Arrivals waiting", overlaying: "y", side: "right", rangemode: "tozero", showgrid: false, tickformat: "~s" });
    return draw("depth", isCompared ? traces : [], plan, () => ({
      head: ["Run", "Slots busy", "Slots", "None free (% of the time)", "Arrivals waiting at the end"],
      rows: measured.map((run) => [numbered(run), number(run.busy), number(run.slots), number(run.exhausted), number(run.backlog)]),
    }));
  }

  function drawCpu() {
    const l = look();
    const x = measured.map((run) => run.number);
    const table = () => ({
      head: ["Run", "Host CPU per I/O", "Fathom CPU per I/O", "In submitting calls per I/O"],
      rows: measured.map((run) => [numbered(run), ...[run.cpu, run.own_cpu, run.submit].map((ns) => (ns === null ? "–" : latency(ns / 1e3)))]),
    });
    const isKnown = measured.some((run) => run.cpu !== null || run.own_cpu);
    const bar = (name, key, color) => ({
      type: "bar", name, x, y: measured.map((run) => (run[key] === null ? null : run[key] / 1e9)), marker: { color },
      hovertext: measured.map((run) => `${run.number} ${esc(short(run.name, 60))}<br>${name}: ${latency((run[key] || 0) / 1e3)} per I/O`), hoverinfo: "text",
    });
    const traces = [bar("whole host", "cpu", fade(l.accent, 0.45)), bar("Fathom", "own_cpu", l.percentile[2])];
    return draw("cpu", isCompared && isKnown ? traces : [], layout(runAxis(), { title: "CPU time per I/O", tickformat: "~s", ticksuffix: "s", rangemode: "tozero" },
      { barmode: "group", bargap: barGap() }), table);
  }

  // ---- one run over time ------------------------------------------------------------------

  const TIME_CHARTS = ["run-rate", "run-latency", "run-depth", "run-cpu"];

  function timeFrame(run) {
    const series = run.series;
    const end = series.end.length ? series.end[series.end.length - 1] : 0;
    const [unit, per] = end > 172800 ? ["h", 3600] : end > 10800 ? ["min", 60] : ["s", 1];
    const x = series.start.map((start, at) => (start + series.end[at]) / 2 / per);
    const l = look();
    const shapes = [];
    const annotations = [];
    if (series.warmup_s > 0) {
      shapes.push({ type: "rect", xref: "x", yref: "paper", x0: 0, x1: series.warmup_s / per, y0: 0, y1: 1, fillcolor: l.warm, line: { width: 0 }, layer: "below" });
      annotations.push({ xref: "x", yref: "paper", x: 0, y: 0, xanchor: "left", yanchor: "bottom", showarrow: false, text: "warm-up", font: { size: 11, color: l.soft } });
    }
    (series.errors || []).forEach((count, at) => {
      if (count > 0) shapes.push({ type: "line", xref: "x", yref: "paper", x0: x[at], x1: x[at], y0: 0, y1: 1, line: { color: fade(l.bad, 0.55), width: 1.5 } });
    });
    const place = runs.indexOf(run);
    const marks = data.marks.filter((mark) => mark.run === place);
    const marked = [];
    marks.forEach((mark) => {
      const at = mark.at / per;
      marked.push({ type: "line", xref: "x", yref: "paper", x0: at, x1: at, y0: 0, y1: 1, line: { color: l.ink, width: 1.5, dash: "dot" } });
      annotations.push({ xref: "x", yref: "paper", x: at, y: 1, xanchor: "left", yanchor: "top", showarrow: false, text: esc(short(mark.text, 40)), font: { size: 11, color: l.ink } });
    });
    const axis = { title: `Time since the start of the run (${unit})`, range: [0, end / per] };
    return { x, axis, shapes, marked, annotations, per, unit, end: end / per };
  }

  // Hundreds of failing columns are one picture, not hundreds of lines.
  const thin = (shapes) => (shapes.length <= 200 ? shapes : shapes.filter((_, at) => at % Math.ceil(shapes.length / 200) === 0));

  // One shape for each stretch with values: a fill between two lines would bridge the intervals without.
  const band = (x, low, high, name, color) => {
    const shape = { x: [], y: [] };
    let from = 0;
    x.forEach((_, at) => {
      const is = (place) => low[place] !== null && high[place] !== null;
      if (!is(at)) { from = at + 1; return; }
      if (at + 1 < x.length && is(at + 1)) return;
      const there = Array.from({ length: at + 1 - from }, (_, place) => from + place);
      const back = there.slice().reverse();
      shape.x.push(...there.map((place) => x[place]), ...back.map((place) => x[place]), null);
      shape.y.push(...there.map((place) => high[place]), ...back.map((place) => low[place]), null);
    });
    return { type: "scatter", mode: "lines", ...shape, line: { width: 0 }, fill: "toself", fillcolor: color, name, hoverinfo: "skip" };
  };
  const curveOf = (x, y, name, color, template, more) => Object.assign(
    { type: "scatter", mode: x.length === 1 ? "lines+markers" : "lines", x, y, name, line: Object.assign({ color, width: 1.8 }, more), hovertemplate: template + "<extra></extra>" });

  function timeLayout(frame, y, more) {
    return layout(frame.axis, y, Object.assign({ shapes: thin(frame.shapes).concat(frame.marked), annotations: frame.annotations, hovermode: "x unified", margin: { l: 84, r: 16, t: 30, b: 44 } }, more));
  }

  function drawRunRate(run, frame) {
    const l = look();
    const s = run.series;
    const traces = s.rate_min ? [band(frame.x, s.rate_min, s.rate_max, `slowest to fastest of ${s.group} intervals`, fade(l.accent, 0.22))] : [];
    traces.push(curveOf(frame.x, s.rate, "achieved", l.accent, "%{y:,.5~r} I/O/s"));
    if (s.asked) {
      traces.push(curveOf(frame.x, s.asked, "asked", l.soft, "asked %{y:,.5~r} I/O/s", { dash: "dash", width: 1.3, shape: "hvh" }));
    } else if (run.asked !== null) {
      traces.push(curveOf([0, frame.end], [run.asked, run.asked], "asked", l.soft, "asked %{y:,.5~r} I/O/s", { dash: "dash", width: 1.3 }));
    }
    if (s.errors) {
      traces.push({
        type: "scatter", mode: "markers", name: "failed I/Os", x: frame.x, y: s.errors.map((count) => (count > 0 ? 0 : null)), text: s.errors.map((count) => `${number(count)} failed`),
        marker: { symbol: "triangle-up", color: l.bad, size: 9 }, hovertemplate: "%{text}<extra></extra>", cliponaxis: false,
      });
    }
    return draw("run-rate", traces, timeLayout(frame, rateAxis("I/O per second")), () => ({
      head: [`From (s)`, "To (s)", ...(s.asked ? ["Asked I/O/s"] : []), "I/O/s", "slowest interval", "fastest interval", "MB/s", "Failed"],
      rows: s.rate.map((rate, at) => [number(s.start[at]), number(s.end[at]), ...(s.asked ? [number(s.asked[at])] : []), number(rate), number((s.rate_min || s.rate)[at]), number((s.rate_max || s.rate)[at]),
        number(s.bytes[at] / 1e6), number((s.errors || [])[at] || 0)]),
    }));
  }

  function drawRunLatency(run, frame) {
    const l = look();
    const s = run.series;
    const [p50, p90, p99, max, service] = ["p50", "p90", "p99", "max", "service"].map((key) => seconds(s[key]));
    const traces = [
      band(frame.x, p50, p90, "p50 to p90", fade(l.percentile[0], 0.2)),
      band(frame.x, p90, p99, "p90 to p99", fade(l.percentile[2], 0.15)),
      curveOf(frame.x, max, "max", l.max, "max %{y:.4~s}s", { width: 1 }),
      curveOf(frame.x, p99, "p99", l.percentile[2], "p99 %{y:.4~s}s"),
      curveOf(frame.x, p90, "p90", l.percentile[1], "p90 %{y:.4~s}s"),
      curveOf(frame.x, p50, "p50", l.percentile[0], "p50 %{y:.4~s}s"),
      curveOf(frame.x, service, "service, mean", l.ink, "service mean %{y:.4~s}s", { dash: "dash", width: 1.3 }),
    ];
    if (s.oldest) traces.push(curveOf(frame.x, seconds(s.oldest).map((age) => age || null), "oldest in flight", l.bad, "oldest in flight %{y:.4~s}s", { dash: "dot", width: 1.3 }));
    traces[0].showlegend = traces[1].showlegend = false;
    switches("run-latency", [scaleSwitch(state.logLatency, (log) => { state.logLatency = log; drawRunLatency(run, frame); })]);
    return draw("run-latency", traces, timeLayout(frame, latencyAxis(state.logLatency, "Response time", p50, max, service)), () => ({
      head: ["From (s)", "p50", "p90", "p99", "p99.9", "max", "mean", "service mean", ...(s.oldest ? ["oldest in flight"] : [])],
      rows: s.start.map((start, at) => [number(start), ...["p50", "p90", "p99", "p999", "max", "mean", "service", ...(s.oldest ? ["oldest"] : [])].map((key) => latency(s[key][at]))]),
    }));
  }

  function drawRunDepth(run, frame) {
    const l = look();
    const s = run.series;
    const traces = [
      curveOf([0, frame.end], [run.slots, run.slots], "slots", l.ink, "%{y} slots", { width: 1.3, dash: "dash" }),
      curveOf(frame.x, s.busy, "busy, mean", l.accent, "%{y:.3~r} busy"),
    ];
    if (s.busy_max) traces.push(curveOf(frame.x, s.busy_max, "busy, highest interval", fade(l.accent, 0.5), "at most %{y:.3~r} busy", { width: 1 }));
    const plan = timeLayout(frame, { title: "Slots", rangemode: "tozero" });
    if (s.backlog) {
      traces.push(Object.assign(curveOf(frame.x, s.backlog, "waiting (right axis)", l.bad, "%{y:,} waiting"), { yaxis: "y2" }));
      plan.yaxis2 = plan.axis({ title: "Arrivals waiting", overlaying: "y", side: "right", rangemode: "tozero", showgrid: false, tickformat: "~s" });
    }
    return draw("run-depth", traces, plan, () => ({
      head: ["From (s)", "Slots busy", "highest interval", "Slots", "Arrivals waiting"],
      rows: s.start.map((start, at) => [number(start), number(s.busy[at]), number((s.busy_max || s.busy)[at]), number(run.slots), number((s.backlog || [])[at] || 0)]),
    }));
  }

  function drawRunCpu(run, frame) {
    const l = look();
    const s = run.series;
    const traces = [];
    if (s.cpu) traces.push(curveOf(frame.x, s.cpu, "host busy", l.accent, "host %{y:.3~r} %"));
    if (s.cpu_max) traces.push(curveOf(frame.x, s.cpu_max, "host, highest interval", fade(l.accent, 0.5), "at most %{y:.3~r} %", { width: 1 }));
    traces.push(curveOf(frame.x, s.own_cpu, "Fathom (% of one CPU)", l.percentile[2], "Fathom %{y:.3~r} % of one CPU"));
    if (s.steal) traces.push(curveOf(frame.x, s.steal, "stolen", l.bad, "stolen %{y:.3~r} %"));
    return draw("run-cpu", traces, timeLayout(frame, { title: "CPU (%)", rangemode: "tozero" }), () => ({
      head: ["From (s)", "Host busy (%)", "highest interval (%)", "Fathom (% of one CPU)", "Stolen (%)"],
      rows: s.start.map((start, at) => [number(start), number((s.cpu || [])[at]), number((s.cpu_max || s.cpu || [])[at]), number(s.own_cpu[at]), number((s.steal || [])[at])]),
    }));
  }

  // Bin i joins 16 buckets of a histogram with 256 buckets per power of two: 16 bins per doubling.
  function binStart(bin) {
    const bucket = bin * 16;
    if (bucket < 512) return bucket;
    const shift = Math.floor(bucket / 256) - 1;
    return (bucket - shift * 256) * 2 ** shift;
  }

  function bins(distribution) {
    const total = distribution.counts.reduce((sum, count) => sum + count, 0);
    let above = total;
    return distribution.counts.map((count, at) => {
      const bin = distribution.first + at;
      const [from, to] = [binStart(bin), binStart(bin + 1)];
      above -= count;
      const share = (100 * count) / total;
      // Bins are wider at the start of a doubling than at its end; drawn per equal step they make no teeth.
      const density = share / (16 * Math.log2(to / Math.max(from, 1)));
      return { from: Math.max(from, 1) / 1e9, to: to / 1e9, share, density, above: (100 * above) / total, count };
    });
  }

  function drawDistribution(run) {
    const l = look();
    const both = [["response", run.distribution, l.accent]];
    if (run.service_distribution.counts.length) both.push(["service", run.service_distribution, l.percentile[3]]);
    else if (run.distribution.counts.length) both[0][0] = "response = service (closed loop)";
    const traces = both.filter(([, one]) => one.counts.length).map(([name, one, color]) => {
      const all = bins(one);
      if (state.tail) {
        const some = all.filter((bin) => bin.above > 0);
        return curveOf(some.map((bin) => bin.to), some.map((bin) => bin.above), name, color, `${name}: %{y:.3~g} % took longer than %{x:.3~s}s`);
      }
      return Object.assign(curveOf(all.map((bin) => Math.sqrt(bin.from * bin.to)), all.map((bin) => bin.density), name, color, `${name}: %{y:.3~g} % around %{x:.3~s}s`, { shape: "hvh" }),
        { fill: "tozeroy", fillcolor: fade(color, 0.18) });
    });
    const percentiles = PERCENTILES.map(([key, label]) => [run.response[key], label]).filter(([value]) => value);
    const shapes = percentiles.map(([value]) => ({ type: "line", xref: "x", yref: "paper", x0: value / 1e6, x1: value / 1e6, y0: 0, y1: 1, line: { color: l.soft, width: 1, dash: "dot" } }));
    // Labels on one height would overlap where percentiles are close together.
    const annotations = percentiles.map(([value, label], at) => ({
      xref: "x", yref: "paper", x: Math.log10(value / 1e6), y: 1 - at * 0.08, xanchor: "left", yanchor: "top", showarrow: false, text: label, font: { size: 11, color: l.soft },
    }));
    switches("run-distribution", [{
      legend: "Show",
      options: [{ label: "histogram", on: !state.tail, press: () => { state.tail = false; drawDistribution(run); } },
        { label: "tail", on: state.tail, press: () => { state.tail = true; drawDistribution(run); } }],
    }]);
    const y = state.tail ? { title: "I/Os that took longer (%)", type: "log", tickformat: "~g" } : { title: "I/Os per 4.4 % of latency (%)", rangemode: "tozero" };
    return draw("run-distribution", traces, layout(latencyAxis(true, "Latency", ...traces.map((trace) => trace.x)), y, { shapes, annotations }), () => ({
      head: ["Latency from", "to", "Response I/Os", "share (%)", "longer (%)", "Service I/Os"],
      rows: distributionRows(run),
    }));
  }

  function distributionRows(run) {
    const service = new Map(bins(run.service_distribution).map((bin) => [bin.from, bin.count]));
    return bins(run.distribution).filter((bin) => bin.count > 0 || service.get(bin.from) > 0).map((bin) => [
      latency(bin.from * 1e6), latency(bin.to * 1e6), number(bin.count), bin.share.toPrecision(3), bin.above.toPrecision(3),
      run.service_distribution.counts.length ? number(service.get(bin.from) || 0) : number(bin.count),
    ]);
  }

  function drawTargets(run) {
    const l = look();
    const parts = run.parts.targets.map(([target, part]) => Object.assign({}, part, { name: data.targets[target] ?? `target ${target + 1}` }));
    const table = () => ({
      head: ["Target", "I/O/s", "MB/s", "p50", "p90", "p99", "max", "Failed"],
      rows: parts.map((part) => [part.name, number(part.rate), mega(part.bytes), ...["p50", "p90", "p99", "max"].map((key) => told(part.response, key)), number(part.errors)]),
    });
    if (!parts.length) return draw("run-targets", [], {}, table);
    const x = parts.map((_, at) => at + 1);
    const hover = parts.map((part) => `<b>${esc(short(part.name, 60))}</b><br>${number(part.rate)} I/O/s<br>p50 ${told(part.response, "p50")}, p99 ${told(part.response, "p99")}, max ${told(part.response, "max")}`);
    const span = { x: [], y: [] };
    parts.forEach((part, at) => {
      if (part.response.p50 === null) return;
      span.x.push(x[at], x[at], null);
      span.y.push(part.response.p50 / 1e6, part.response.p99 / 1e6, null);
    });
    const dots = (key, name, color, size, symbol) => ({
      type: "scatter", mode: "markers", name, x, y: parts.map((part) => (part.response[key] === null ? null : part.response[key] / 1e6)), yaxis: "y2",
      marker: { color, size, symbol }, hovertext: hover, hoverinfo: "text",
    });
    const traces = [
      { type: "bar", name: "rate", x, y: parts.map((part) => part.rate), marker: { color: fade(l.accent, 0.6) }, hovertext: hover, hoverinfo: "text", showlegend: false },
      { type: "scatter", mode: "lines", x: span.x, y: span.y, yaxis: "y2", line: { color: l.max, width: 2 }, hoverinfo: "skip", showlegend: false },
      dots("p50", "p50", l.percentile[0], 7, "circle"), dots("p99", "p99", l.percentile[2], 7, "circle"), dots("max", "max", l.max, 6, "line-ew-open"),
    ];
    const few = parts.length <= 12;
    const axis = few
      ? { tickvals: x, ticktext: parts.map((part) => esc(short(part.name.split("/").pop() || part.name, 14))), autotickangles: SLANTS, title: "Target" }
      : { title: "Target (number)", tickformat: "d" };
    const plan = layout(axis, Object.assign(rateAxis("I/O per second"), { domain: [0, 0.34], nticks: 4 }));
    plan.yaxis2 = plan.axis(Object.assign(latencyAxis(true, "Response time", ...traces.slice(2).map((trace) => trace.y)), { domain: [0.44, 1] }));
    return draw("run-targets", traces, plan, table);
  }

  function fillParts(run) {
    const rows = [...run.parts.operations.map((part) => ["operation", part]), ...run.parts.streams.map((part) => ["stream", part]),
      ...run.parts.groups.map((part) => ["group", part])];
    const figure = { tableOf: null };
    figure.tableOf = () => ({
      head: ["Part", "Kind", "I/O/s", "MB/s", "mean", "p50", "p90", "p99", "p99.9", "max", "Failed"],
      rows: rows.map(([kind, part]) => [part.name, kind, number(part.rate), mega(part.bytes),
        ...["mean", "p50", "p90", "p99", "p999", "max"].map((key) => told(part.response, key)), number(part.errors)]),
    });
    figure.querySelector = () => byId("run-parts");
    fillTable(figure);
  }

  // ---- choosing a run ---------------------------------------------------------------------

  let linking = false;
  function link(plots) {
    plots.forEach((plot) => {
      if (!plot.data) return;
      listen(plot, "plotly_relayout", (change) => {
        if (linking) return;
        const range = change["xaxis.range[0]"] !== undefined ? [change["xaxis.range[0]"], change["xaxis.range[1]"]] : change["xaxis.range"];
        if (!range && !change["xaxis.autorange"]) return;
        linking = true;
        const others = TIME_CHARTS.map((name) => byId(`chart-${name}`).querySelector(".plot")).filter((other) => other !== plot && other.data);
        Promise.all(others.map((other) => Plotly.relayout(other, range ? { "xaxis.range": range } : { "xaxis.autorange": true })))
          .finally(() => { linking = false; });
      });
    });
  }

  const counted = (count, singular) => `${number(count)} ${singular}${count === 1 ? "" : "s"}`;
  // Clauses of a text end with a semicolon; names between backticks are never split.
  const clauses = (text) => text.split(/; (?=(?:[^`]*`[^`]*`)*[^`]*$)/);

  // What is to be known of a run, a fact a line. What adds to the fact before is marked so.
  function runFacts(run) {
    const facts = [
      `${run.measures ? run.load : "prepares targets"}${run.asked === null ? "" : `, ${number(run.asked)} I/O/s asked`}: ${number(run.rate)} I/O/s, ${mega(run.bytes)} MB/s`,
      `response p50 ${told(run.response, "p50")}, p99 ${told(run.response, "p99")}, max ${told(run.response, "max")}`,
      `${counted(run.operations, "I/O")} in ${number(run.length_s)} s over ${counted(run.intervals, "measured interval")}`,
    ].map((text) => [text, false]);
    if (run.lateness_p99 !== null) facts.push([`lateness of submission p99 ${latency(run.lateness_p99)}, ${number(run.late)} % late`, false]);
    run.findings.forEach((told) => clauses(told.text).forEach((clause, at) => facts.push([plain(at ? clause : `${told.word}: ${clause}`), at > 0])));
    if (!run.series.start.length) facts.push(["no interval of this run was recorded", false]);
    if (run.series.group > 1) facts.push([`a point of the series stands for ${run.series.group} intervals`, false]);
    return facts;
  }

  function drawRun() {
    const run = runs[state.run];
    const frame = timeFrame(run);
    byId("run-words").replaceChildren(...runFacts(run).map(([text, isMore]) => element("li", { textContent: text, className: isMore ? "more" : "" })));
    document.querySelectorAll("#table-runs tr[data-run]").forEach((row) => row.classList.toggle("chosen", Number(row.dataset.run) === state.run));
    byId("run-select").value = String(state.run);
    byId("run-previous").disabled = state.run === 0;
    byId("run-next").disabled = state.run === runs.length - 1;
    fillParts(run);
    const time = run.series.start.length
      ? [drawRunRate, drawRunLatency, drawRunDepth, drawRunCpu].map((one) => one(run, frame))
      : TIME_CHARTS.map((name) => draw(name, [], {}, () => ({ head: [], rows: [] })));
    return Promise.all([Promise.all(time).then(link), drawDistribution(run), drawTargets(run)]);
  }

  function choose(run) {
    state.run = Math.max(0, Math.min(runs.length - 1, run));
    drawRun();
  }

  function setUpChooser() {
    const select = byId("run-select");
    select.append(...runs.map((run, at) => new Option(`${runNumber(at)} · ${short(run.name, 60)} · ${run.measures ? run.load : "prepares targets"} · ${number(run.rate)} I/O/s`, at)));
    select.onchange = () => choose(Number(select.value));
    byId("run-previous").onclick = () => choose(state.run - 1);
    byId("run-next").onclick = () => choose(state.run + 1);
    document.querySelectorAll("#table-runs a[data-run]").forEach((anchor) => {
      anchor.onclick = () => choose(Number(anchor.dataset.run));
    });
    state.run = data.leading ?? 0;
  }

  function drawAll() {
    return runs.length ? Promise.all([drawCurve(), drawSweep(), drawSwept(), drawDepth(), drawCpu(), drawRun()]) : Promise.resolve();
  }

  if (runs.length) setUpChooser();
  drawAll().then(() => { 
    document.documentElement.dataset.ready = "true";
    document.documentElement.dataset.readyMs = Math.round(performance.now());
  });
  dark.addEventListener("change", drawAll);
  // Paper is white whatever the screen shows, and a landscape sheet has room for this width.
  const PAPER_WIDTH = "960px";
  function redrawFor(paper) {
    state.printing = paper;
    document.body.style.width = paper ? PAPER_WIDTH : "";
    const drawn = drawAll();
    if (!paper) drawn.then(() => document.querySelectorAll(".plot").forEach(fit));
  }
  addEventListener("beforeprint", () => redrawFor(true));
  addEventListener("afterprint", () => redrawFor(false));
})();
