//! The page in a real browser: everything drawn, no error, nothing fetched, no name taken for
//! markup.
mod comparison;
mod synthetic;

use plan::{Load, Swept};
use report::Conclusion;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;
use synthetic::{HOSTILE, RunSpec, Synthetic};

const ALL_CHARTS: [&str; 10] = [
    "curve",
    "sweep",
    "depth",
    "cpu",
    "run-rate",
    "run-latency",
    "run-depth",
    "run-cpu",
    "run-distribution",
    "run-targets",
];

fn page_of(execution: Synthetic) -> String {
    let mut conclusion = Conclusion::with_page();
    execution.events(|event| conclusion.on_event(&event));
    text_of(conclusion)
}

fn text_of(mut conclusion: Conclusion) -> String {
    conclusion.end();
    let mut html = Vec::new();
    conclusion.write_page(&mut html).unwrap();
    String::from_utf8(html).unwrap()
}

/// A curve with a missed point and failures, and a sweep, under hostile names.
fn full() -> Synthetic {
    let mut execution = Synthetic::new(3, 60, HOSTILE);
    execution.curve(64, 20, 0);
    execution.sweep(12);
    execution.runs[2].errors = 3;
    execution
}

fn one_run() -> RunSpec {
    RunSpec {
        name: "only".into(),
        load: Load::Rate {
            per_second: 1_000.0,
        },
        asked: Some(1_000.0),
        rate: 1_000.0,
        slots: 4,
        seconds: 10,
        warmup_seconds: 0,
        errors: 0,
        is_finished: true,
        is_preparing: false,
        swept: Vec::new(),
    }
}

/// All values of some quantities together, flat out.
fn swept(quantities: &[(&str, &[f64])]) -> Synthetic {
    let mut all: Vec<Vec<Swept>> = vec![Vec::new()];
    for (name, values) in quantities {
        let with = |some: &Vec<Swept>| {
            let one = |value: &f64| [&some[..], &[Swept::new(name, *value)]].concat();
            values.iter().map(one).collect::<Vec<_>>()
        };
        all = all.iter().flat_map(with).collect();
    }
    let mut execution = Synthetic::new(1, 20, "swept");
    for (place, swept) in all.into_iter().enumerate() {
        execution.runs.push(RunSpec {
            name: "rd".into(),
            load: Load::FlatOut,
            asked: None,
            rate: 500.0 + 10.0 * place as f64,
            seconds: 2,
            swept,
            ..one_run()
        });
    }
    execution
}

/// Presses the last cell and the switch of the colour.
const PRESS_CELL: &str = r##"<script>
addEventListener("load", () => setTimeout(() => {
  const root = document.documentElement.dataset;
  const cells = () => [...document.querySelectorAll(".heat button")];
  root.cells = cells().length;
  root.named = cells()[cells().length - 1].title;
  root.colours = new Set(cells().map((cell) => cell.style.background)).size;
  cells()[cells().length - 1].click();
  root.clicked = document.getElementById("run-select").value;
  const before = cells()[0].textContent;
  document.querySelectorAll("#chart-grid .controls button")[1].click();
  root.changed = String(cells()[0].textContent !== before);
}, 500));
</script></body>"##;

#[test]
fn each_run_of_a_sweep_of_several_quantities_is_a_cell_that_leads_to_it() {
    let execution = swept(&[
        ("transfer_size_bytes", &[4096.0, 8192.0, 16384.0, 32768.0]),
        ("read_pct", &[0.0, 50.0, 70.0, 100.0]),
        ("threads", &[1.0, 2.0, 4.0, 8.0, 16.0, 32.0]),
    ]);
    let html = page_of(execution).replace("</body>", PRESS_CELL);
    let Some(opened) = open(&html) else {
        return;
    };
    assert_eq!(opened.console(), [""; 0]);
    assert_eq!(opened.mark("cells"), "96");
    let name = "threads 32, read 100 %, transfer size 32 KiB: 14";
    assert!(
        opened.mark("named").starts_with(name),
        "{}",
        opened.mark("named")
    );
    assert!(opened.mark("colours").parse::<u32>().unwrap() > 50);
    assert_eq!(
        (opened.mark("clicked"), opened.mark("changed")),
        ("95", "true")
    );
    assert_eq!(opened.drawn("over"), Some("empty"));
}

#[test]
fn a_sweep_of_one_quantity_is_rate_and_latency_over_it() {
    let execution = swept(&[("working_set_bytes", &[1e6, 1e7, 1e8, 1e9])]);
    let Some(opened) = open(&page_of(execution)) else {
        return;
    };
    assert_eq!(opened.console(), [""; 0]);
    assert_eq!(opened.drawn("over"), Some("true"));
    assert!(opened.dom.contains("working set"));
    // What varies with the rate alone is a curve.
    let mut execution = Synthetic::new(1, 20, "rates");
    execution.curve(8, 2, 0);
    assert!(!page_of(execution).contains("id=\"grid\""));
}

struct Opened {
    dom: String,
    log: String,
}

/// Opens a page without any way to a network; `None` where there is no browser.
fn open(html: &str) -> Option<Opened> {
    open_as("report.html", html)
}

fn open_as(name: &str, html: &str) -> Option<Opened> {
    let browser = std::env::var_os("PATH").and_then(|path| {
        let files = std::env::split_paths(&path).map(|folder| folder.join("chromium"));
        files.into_iter().find(|file: &PathBuf| file.is_file())
    });
    let Some(browser) = browser else {
        println!("skipped: no chromium");
        return None;
    };
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("report.html"), html).unwrap();
    let file = folder.path().join(name);
    std::fs::write(folder.path().join("framed.html"), FRAMED).unwrap();
    let output = Command::new(browser)
        .args([
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-quic",
            "--no-first-run",
        ])
        .args([
            "--disable-background-networking",
            "--disable-component-update",
            "--disable-sync",
            "--allow-file-access-from-files",
        ])
        .args([
            "--host-resolver-rules=MAP * ~NOTFOUND",
            "--proxy-server=127.0.0.1:9",
        ])
        .args(["--virtual-time-budget=20000", "--window-size=1300,3000"])
        .args(["--enable-logging=stderr", "--v=0", "--dump-dom"])
        .arg(format!(
            "--user-data-dir={}",
            path_text(&folder.path().join("profile"))
        ))
        .arg(format!("file://{}", path_text(&file)))
        .output()
        .unwrap();
    Some(Opened {
        dom: String::from_utf8_lossy(&output.stdout).into_owned(),
        log: String::from_utf8_lossy(&output.stderr).into_owned(),
    })
}

fn path_text(path: &Path) -> &str {
    path.to_str().unwrap()
}

impl Opened {
    /// What the page itself wrote to the console, errors of the script and of the policy too.
    fn console(&self) -> Vec<&str> {
        let lines = self.log.lines();
        lines.filter(|line| line.contains("CONSOLE")).collect()
    }

    /// How a chart came out: `true`, `empty`, or nothing when it was not reached.
    fn drawn(&self, chart: &str) -> Option<&str> {
        let at = self.dom.find(&format!("id=\"chart-{chart}\""))?;
        let tag_start = self.dom[..at].rfind('<')?;
        let tag = &self.dom[tag_start..][..self.dom[tag_start..].find('>')?];
        let value = tag.split("data-drawn=\"").nth(1)?;
        value.split('"').next()
    }

    /// A mark that a script has left.
    fn mark(&self, name: &str) -> &str {
        let value = self.root().split(&format!("data-{name}=\"")).nth(1);
        let value = value.unwrap_or_else(|| panic!("no {name}: {}{}", self.root(), self.log));
        value.split('"').next().unwrap()
    }

    /// The first tag, where the script leaves its marks.
    fn root(&self) -> &str {
        let end = self.dom.find("<head").unwrap_or(self.dom.len());
        &self.dom[..end]
    }

    fn svgs(&self) -> usize {
        self.dom.matches("class=\"main-svg\"").count()
    }
}

#[test]
fn every_chart_is_drawn_without_an_error() {
    let Some(opened) = open(&page_of(full())) else {
        return;
    };
    assert!(opened.dom.contains("data-ready=\"true\""), "{}", opened.log);
    assert_eq!(opened.console(), [""; 0]);
    for chart in ALL_CHARTS {
        assert_eq!(opened.drawn(chart), Some("true"), "chart {chart}");
    }
    assert!(
        opened.svgs() >= ALL_CHARTS.len(),
        "{} drawings",
        opened.svgs()
    );
}

/// What a reader may do: every switch, every run, every table, a print, and a click on a point.
const EXERCISE: &str = r##"<script>
addEventListener("load", () => setTimeout(async () => {
  const settle = () => new Promise((done) => setTimeout(done, 50));
  const all = (selector) => [...document.querySelectorAll(selector)];
  all("details").forEach((details) => { details.open = true; });
  for (let round = 0; round < all(".controls button").length; round++) {
    all(".controls button")[round].click();
    await settle();
  }
  for (let run = 0; run < 40 && !document.getElementById("run-next").disabled; run++) {
    document.getElementById("run-next").click();
    await settle();
  }
  const words = document.getElementById("run-words").textContent;
  document.getElementById("run-previous").click();
  await settle();
  const root = document.documentElement.dataset;
  root.chosen = document.getElementById("run-select").value;
  root.facts = document.querySelectorAll("#run-words > li").length;
  root.wordsChange = String(words !== document.getElementById("run-words").textContent);
  const plot = document.querySelector("#chart-curve .plot");
  plot.emit("plotly_click", { points: [{ customdata: 3 }] });
  await settle();
  root.clicked = document.getElementById("run-select").value;
  dispatchEvent(new Event("beforeprint"));
  await settle();
  root.paperWidth = Math.round(plot.querySelector(".main-svg").getBoundingClientRect().width);
  dispatchEvent(new Event("afterprint"));
  // Plotly resizes after a moment.
  for (let wait = 0; wait < 20; wait++) await settle();
  root.screenWidth = Math.round(plot.querySelector(".main-svg").getBoundingClientRect().width);
  root.emptyTables = all("figure.chart").filter((one) => one.querySelectorAll("td").length === 0).length;
  root.exercised = "true";
}, 500));
</script></body>"##;

#[test]
fn every_control_works_without_an_error() {
    let html = page_of(full()).replace("</body>", EXERCISE);
    let Some(opened) = open(&html) else {
        return;
    };
    assert_eq!(opened.console(), [""; 0]);
    let root = opened.root();
    for expected in [
        "data-exercised=\"true\"",
        // The last of 16 runs and one back.
        "data-chosen=\"14\"",
        "data-words-change=\"true\"",
        "data-clicked=\"3\"",
        "data-empty-tables=\"0\"",
    ] {
        assert!(root.contains(expected), "{expected}: {root}");
    }
    let width = |name: &str| -> u32 { opened.mark(name).parse().unwrap() };
    // Load and rate, response, count, and at least one finding.
    assert!(width("facts") >= 4, "{root}");
    assert!(width("paper-width") < 960, "{root}");
    assert!(width("screen-width") > 1_000, "{root}");
}

/// How far the lines of the curve go, and how many points stand alone.
const LOOK_AT_LINES: &str = r##"<script>
addEventListener("load", () => setTimeout(() => {
  const root = document.documentElement.dataset;
  const traces = (name) => document.querySelector(`#chart-${name} .plot`).data.filter((trace) => trace.x.some((x) => x !== null));
  const isLine = (trace) => trace.mode.includes("lines");
  if (document.querySelector("#chart-curve")) {
    const all = traces("curve");
    root.lineEnd = Math.max(...all.filter(isLine).flatMap((trace) => trace.x));
    root.shown = document.getElementById("run-select").value;
    root.alone = all.filter((trace) => !isLine(trace) && trace.legendgroup === "p99" && trace.name === "p99").flatMap((trace) => trace.x).length;
  }
  if (document.querySelector("#chart-over")) {
    const all = traces("over");
    root.gaps = all.filter(isLine).map((trace) => trace.y.map((y) => (y === null ? "-" : "o")).join("")).join();
    root.crosses = all.filter((trace) => !isLine(trace)).map((trace) => trace.y.map((y) => (y === null ? "-" : "x")).join("")).join();
  }
}, 500));
</script></body>"##;

#[test]
fn no_line_of_a_curve_goes_past_a_point_that_missed_its_rate() {
    let mut execution = Synthetic::new(1, 20, "sd");
    let search = plan::SearchId(0);
    execution.push("flat", Load::FlatOut, None, 20_000.0, 64, 20);
    for (pct, reached) in [
        (10.0, 1_000.0),
        (30.0, 3_000.0),
        (50.0, 4_000.0),
        (70.0, 7_000.0),
        (90.0, 9_000.0),
    ] {
        execution.push(
            &format!("{pct}%"),
            Load::SearchPoint { search, pct },
            Some(pct * 100.0),
            reached,
            64,
            20,
        );
    }
    let Some(opened) = open(&page_of(execution).replace("</body>", LOOK_AT_LINES)) else {
        return;
    };
    assert_eq!(opened.console(), [""; 0]);
    assert_eq!(
        (opened.mark("line-end"), opened.mark("alone")),
        ("3000", "3")
    );
    // The run that leads the verdict is shown, not the flat-out one.
    assert_ne!(opened.mark("shown"), "0");
}

#[test]
fn no_line_over_what_was_varied_leads_to_a_point_that_missed_its_rate() {
    let mut execution = swept(&[("working_set_bytes", &[1e6, 1e7, 1e8, 1e9])]);
    for (place, run) in execution.runs.iter_mut().enumerate() {
        run.load = Load::Rate {
            per_second: 1_000.0,
        };
        run.asked = Some(1_000.0);
        run.rate = if place == 1 { 700.0 } else { 1_000.0 };
        run.seconds = 20;
    }
    let Some(opened) = open(&page_of(execution).replace("</body>", LOOK_AT_LINES)) else {
        return;
    };
    assert_eq!(opened.console(), [""; 0]);
    assert_eq!(opened.mark("gaps"), "o-oo,o-oo,o-oo");
    assert_eq!(opened.mark("crosses"), "-x--,-x--,-x--");
}

#[test]
fn columns_of_a_grid_are_as_wide_as_their_words() {
    let execution = swept(&[
        (
            "transfer_size_bytes",
            &[
                512.0, 1024.0, 2048.0, 4096.0, 8192.0, 16384.0, 32768.0, 65536.0, 131072.0,
                16777216.0,
            ],
        ),
        ("a_quantity_with_a_long_name", &[1.0, 1234567.0]),
        ("threads", &[1.0, 1024.0]),
    ]);
    let Some(opened) = open_framed(&page_of(execution)) else {
        return;
    };
    assert_ne!(opened.mark("cells"), "0");
    assert_eq!(opened.mark("faults"), "");
}

/// The page in a frame that becomes narrower, and what is wrong there at each width.
const FRAMED: &str = r##"<!DOCTYPE html><html><head></head>
<body style="margin: 0"><iframe src="report.html" style="border: 0; width: 1300px; height: 1000px"></iframe>
<script>
const settle = (ms) => new Promise((done) => setTimeout(done, ms));
const box = (one) => one.getBoundingClientRect();
const isOver = (one, other) => one.left < other.right - 1 && other.left < one.right - 1 && one.top < other.bottom - 1 && other.top < one.bottom - 1;
const LABELS = ".legendtext, .xtick > text, .ytick > text, .y2tick > text, .xtitle, .ytitle, .y2title, .annotation-text, .textpoint > text";
const isSlanted = (text) => text.matches(".xtick > text") && /rotate\((?!0[,)])/.test(text.getAttribute("transform"));

function faultsOf(plot) {
  const drawn = plot.querySelector(".main-svg");
  if (!drawn) return ["nothing drawn"];
  const faults = [];
  const sheet = box(plot);
  if (Math.abs(box(drawn).width - sheet.width) > 1) faults.push(`${box(drawn).width} of ${sheet.width} wide`);
  const labels = [...plot.querySelectorAll(LABELS)].filter((one) => getComputedStyle(one).visibility !== "hidden" && box(one).width);
  labels.forEach((one, at) => {
    const own = box(one);
    if (own.left < sheet.left - 1 || own.right > sheet.right + 1 || own.top < sheet.top - 1) faults.push(`cut off: ${one.textContent}`);
    if (isSlanted(one)) return;
    labels.slice(at + 1).filter((other) => !isSlanted(other) && isOver(own, box(other)))
      .forEach((other) => faults.push(`${one.textContent} over ${other.textContent}`));
  });
  return faults;
}

function look(page) {
  const all = (selector) => [...page.querySelectorAll(selector)].filter((one) => box(one).width > 0);
  const figures = all("figure.chart").filter((one) => one.querySelector(".plot"));
  const faults = figures.flatMap((one) => faultsOf(one.querySelector(".plot")).map((fault) => `${one.id}: ${fault}`));
  const rows = all(".pair > .chart").map((one) => [one, box(one).top, box(one.querySelector(".plot"))]);
  rows.forEach(([one, top, plot]) => rows.filter((other) => other[1] === top && (other[2].top !== plot.top || other[2].height !== plot.height))
    .forEach((other) => faults.push(`${one.id} is not in line with ${other[0].id}`)));
  all("html, header, section, .card").filter((one) => one.scrollWidth > one.clientWidth).forEach((one) => faults.push(`${one.id || one.className || one.tagName} is cut off`));
  // What stands in a cell of a grid stands within it.
  const words = (one) => { const range = page.createRange(); range.selectNodeContents(one); return range.getBoundingClientRect(); };
  const isIn = (one, cell) => one.left >= cell.left - 1 && one.right <= cell.right + 1;
  const cells = all(".heat th, .heat td");
  cells.filter((one) => !isIn(words(one), box(one)) || one.scrollWidth > one.clientWidth + 1).forEach((one) => faults.push(`wider than its column: ${one.textContent}`));
  const buttons = all(".heat button");
  buttons.filter((one) => !isIn(words(one), box(one)) || !isIn(box(one), box(one.parentElement))).forEach((one) => faults.push(`wider than its cell: ${one.textContent}`));
  // A figure and its unit stand in one line.
  const lines = (one) => { const range = page.createRange(); range.selectNodeContents(one); return new Set([...range.getClientRects()].map((part) => Math.round(part.top))).size; };
  all(".heat th, .heat button").filter((one) => lines(one) > 1).forEach((one) => faults.push(`in several lines: ${one.textContent}`));
  const scrolled = all(".scroll, pre").filter((one) => one.scrollWidth > one.clientWidth);
  if (scrolled.some((one) => !getComputedStyle(one).backgroundAttachment.includes("local"))) faults.push("a table hides that it scrolls");
  return { faults, cells: cells.length, scrolled: scrolled.length, figures: figures.length };
}

addEventListener("load", async () => {
  const frame = document.querySelector("iframe");
  const page = frame.contentDocument;
  while (!page.documentElement.dataset.ready) await settle(50);
  const root = document.documentElement.dataset;
  const faults = [];
  root.first = page.querySelector(".chart").id;
  const picture = box(page.querySelector(".chart .plot"));
  root.firstScreen = String((picture.top + picture.bottom) / 2 < frame.clientHeight);
  const depth = page.querySelector("#chart-depth .plot").data;
  root.runs = depth ? depth[0].x.join() : "none";
  for (const width of [1300, 760, 400]) {
    frame.style.width = `${width}px`;
    const isWide = (plot) => !plot.data || Math.abs(box(plot.querySelector(".main-svg")).width - box(plot).width) <= 1;
    for (let wait = 0; wait < 40 && ![...page.querySelectorAll(".plot")].every(isWide); wait++) {
      const isShown = new Promise((done) => requestAnimationFrame(() => done(true)));
      if (!await Promise.race([isShown, settle(1000)])) {
        root.frames = "none";
        return;
      }
      await settle(50);
    }
    await settle(300);
    const found = look(page);
    faults.push(...found.faults.map((fault) => `at ${width}: ${fault}`));
    [root.scrolled, root.figures, root.cells] = [found.scrolled, found.figures, found.cells];
  }
  root.faults = faults.join("; ");
});
</script></body></html>"##;

/// A browser without a screen may give a page no frame any more, so that nothing in it follows a resize: then it is opened
/// again.
fn open_framed(html: &str) -> Option<Opened> {
    for _ in 0..8 {
        let opened = open_as("framed.html", html)?;
        if !opened.root().contains("data-frames=\"none\"") {
            return Some(opened);
        }
    }
    panic!("the browser gives no frames");
}

/// What tells curves apart: their traces, and the entries of the legend below the chart.
const LOOK_AT_NAMES: &str = r##"<script>
addEventListener("load", () => setTimeout(() => {
  const root = document.documentElement.dataset;
  const chart = document.getElementById("chart-curve");
  const curves = chart.querySelector(".plot").data.filter((trace) => trace.mode.includes("lines") && trace.x[0] !== null);
  root.curves = curves.length;
  root.styles = new Set(curves.map((one) => [one.line.color, one.line.dash, one.marker.symbol[0]].join())).size;
  root.labels = new Set(curves.flatMap((one) => one.text.filter((text) => text.trim()))).size;
  const entries = () => [...chart.querySelectorAll(".names li")].map((item) => item.textContent);
  root.entries = new Set(entries()).size;
  root.twice = entries().length - root.entries;
  root.legend = chart.querySelectorAll(".legendtext").length;
  chart.querySelectorAll(".controls button")[0].click();
  root.more = entries().length;
}, 500));
</script></body>"##;

/// Eight transfer sizes, only reads and only writes, three rates each: all of one name.
fn sixteen_curves() -> Synthetic {
    let mut execution = Synthetic::new(1, 20, "many");
    for (place, size) in [4u32, 8, 16, 32, 64, 128, 256, 512].into_iter().enumerate() {
        for read in [0, 100] {
            for share in [0.3, 0.6, 0.9] {
                let rate = share * 20_000.0 * (1.0 + 1.5 * place as f64 + f64::from(read) / 150.0);
                let size = Swept::new("transfer_size_bytes", f64::from(size) * 1024.0);
                let read = Swept::new("read_pct", f64::from(read));
                execution.runs.push(RunSpec {
                    name: "rd1".into(),
                    load: Load::Rate { per_second: rate },
                    asked: Some(rate),
                    rate,
                    slots: 32,
                    seconds: 2,
                    swept: vec![size, read],
                    ..one_run()
                });
            }
        }
    }
    execution
}

#[test]
fn each_of_many_curves_has_its_own_style_label_and_entry_in_the_legend() {
    let html = page_of(sixteen_curves()).replace("</body>", LOOK_AT_NAMES);
    let Some(opened) = open(&html) else {
        return;
    };
    assert_eq!(opened.console(), [""; 0]);
    for count in ["curves", "styles", "labels", "entries"] {
        assert_eq!(opened.mark(count), "16", "{count}");
    }
    assert_eq!((opened.mark("twice"), opened.mark("legend")), ("0", "0"));
    // With a second percentile two dashes are explained.
    assert_eq!(opened.mark("more"), "18");
    let framed = open_framed(&page_of(sixteen_curves())).unwrap();
    assert_eq!(framed.mark("faults"), "");
}

/// Rates that are missed together, so that their labels stand on one place.
fn crowded() -> Synthetic {
    let mut execution = full();
    for asked in [400_000.0, 404_000.0, 408_000.0, 412_000.0] {
        let search = plan::SearchId(0);
        let pct = asked / 3_200.0;
        execution.push(
            &format!("point_({pct}%)"),
            Load::SearchPoint { search, pct },
            Some(asked),
            320_000.0,
            64,
            20,
        );
    }
    execution
}

#[test]
fn at_any_width_nothing_is_cut_off_or_lies_over_something_else() {
    for execution in [full(), crowded()] {
        let Some(opened) = open_framed(&page_of(execution)) else {
            return;
        };
        assert_eq!(opened.mark("faults"), "");
        assert_eq!(opened.mark("figures"), ALL_CHARTS.len().to_string());
        assert_ne!(opened.mark("scrolled"), "0", "tables are wider than 400 px");
        let first = (opened.mark("first"), opened.mark("first-screen"));
        assert_eq!(first, ("chart-curve", "true"));
    }
}

#[test]
fn the_first_screen_of_one_run_is_its_course_and_what_prepares_is_no_bar() {
    let mut execution = Synthetic::new(1, 60, "sd");
    execution.runs.push(RunSpec {
        name: "fill".into(),
        is_preparing: true,
        ..one_run()
    });
    execution.runs.push(one_run());
    let mut two = Synthetic::new(1, 60, "sd");
    two.runs.clone_from(&execution.runs);
    two.runs.push(one_run());
    for (execution, runs) in [(execution, "none"), (two, "2,3")] {
        let html = page_of(execution);
        let [verdict, course, tiles] =
            ["id=\"verdict\"", "id=\"chart-run-rate\"", "class=\"cards\""]
                .map(|part| html.find(part).unwrap());
        assert!(verdict < course && course < tiles);
        let Some(opened) = open_framed(&html) else {
            return;
        };
        assert_eq!(opened.mark("faults"), "");
        assert_eq!(opened.mark("runs"), runs);
        let first = (opened.mark("first"), opened.mark("first-screen"));
        assert_eq!(first, ("chart-run-rate", "true"));
    }
}

/// The script takes its data by the name of an element.
#[test]
fn every_name_of_an_element_stands_once() {
    let html = page_of(full());
    let own = html.split("<script>").next().unwrap();
    let own = own.split("id=\"data\">").next().unwrap();
    let ids = own.split(" id=\"").skip(1).map(|at| at.split('"').next());
    let mut seen = BTreeSet::from([Some("data")]);
    for id in ids {
        assert!(seen.insert(id), "{id:?}");
    }
    assert!(seen.contains(&Some("written")) && seen.len() > 20);
}

#[test]
fn what_was_sent_stands_beside_what_was_asked() {
    let mut execution = Synthetic::new(1, 60, "sd");
    execution.runs.push(one_run());
    let row = "<td>1</td><td class=\"text\">only</td><td class=\"text\">wd1</td>\
               <td>3.00</td><td>2.90</td><td>–</td><td>2.00</td>";
    assert!(page_of(execution).contains(row));
}

#[test]
fn hostile_names_stay_text() {
    let html = page_of(full());
    assert!(!html.contains("<img"));
    let Some(opened) = open(&html) else {
        return;
    };
    assert!(!opened.dom.contains("<img"));
    assert!(opened.dom.contains("made-up.parm – Fathom</title>"));
}

#[test]
fn an_execution_cut_short_is_shown_and_said_to_be() {
    let mut execution = Synthetic::new(1, 60, "sd");
    execution.runs.push(RunSpec {
        is_finished: false,
        ..one_run()
    });
    let html = page_of(execution);
    assert!(html.contains("<b>Unfinished result</b>"));
    assert!(html.contains("<b>Unfinished</b>: run 1, only: its end was not recorded"));
    let Some(opened) = open(&html) else {
        return;
    };
    assert_eq!(opened.console(), [""; 0]);
    assert_eq!(opened.drawn("run-rate"), Some("true"));
    // One target has no sisters to stand beside.
    assert_eq!(opened.drawn("run-targets"), Some("empty"));
}

#[test]
fn an_empty_result_is_a_page_without_charts() {
    let html = text_of(Conclusion::with_page());
    assert!(!html.contains("id=\"chart-"));
    assert!(html.contains("<b>Unfinished result</b>") && !html.contains("All checks passed"));
    let Some(opened) = open(&html) else {
        return;
    };
    assert_eq!(opened.console(), [""; 0]);
    assert!(opened.dom.contains("data-ready=\"true\""));
}

#[test]
fn a_run_of_no_interval_is_said_to_have_none() {
    let mut execution = Synthetic::new(2, 60, "sd");
    execution.runs.push(RunSpec {
        seconds: 0,
        ..one_run()
    });
    let Some(opened) = open(&page_of(execution)) else {
        return;
    };
    assert_eq!(opened.console(), [""; 0]);
    assert_eq!(opened.drawn("run-rate"), Some("empty"));
}

#[test]
fn the_page_names_no_address() {
    let html = page_of(full());
    for (at, _) in html.match_indices("://") {
        let before = &html[..at];
        let is_web = before.ends_with("http") || before.ends_with("https");
        let is_vocabulary = html[at + 3..].starts_with("www.w3.org/");
        let start = html.floor_boundary(at.saturating_sub(40));
        assert!(!is_web || is_vocabulary, "{}", &html[start..][..80]);
    }
    for reference in [
        "@import",
        "<iframe",
        "<object",
        "<embed",
        " src=\"",
        "rel=\"stylesheet\"",
    ] {
        let own = html.split("<script>").next().unwrap();
        assert!(!own.contains(reference), "{reference}");
    }
}

#[test]
fn figures_of_the_table_are_those_of_the_run() {
    let mut execution = Synthetic::new(1, 60, "sd");
    execution.runs.push(one_run());
    let html = page_of(execution);
    // 700 reads and 300 writes of 4 KiB per second.
    assert!(html.contains("<td>1\u{202f}000</td><td><b>1\u{202f}000</b></td><td>4.10</td>"));
}

#[test]
fn doubts_stand_at_the_top_in_words() {
    let mut execution = Synthetic::new(1, 60, "sd");
    execution.push(
        "slow",
        Load::Rate {
            per_second: 1_000.0,
        },
        Some(1_000.0),
        900.0,
        4,
        20,
    );
    execution.push(
        "fine",
        Load::Rate { per_second: 500.0 },
        Some(500.0),
        500.0,
        4,
        20,
    );
    execution.runs[1].errors = 1;
    let html = page_of(execution);
    let top = html.split("</header>").next().unwrap();
    for words in [
        "<b>Unstable</b>: run 1, sd_slow: 900 of 1\u{202f}000 I/Os per second reached (90 %)",
        "<b>Depth-bound</b>: run 1, sd_slow: no slot was free for 90 % of the time",
        "<b>Response above service</b>: run 1, sd_slow: response p99 is ",
        "<b>Errors</b>: run 2, sd_fine: 4 I/Os failed",
    ] {
        assert!(top.contains(words), "{words}\n{top}");
    }
    assert!(!top.contains("Unfinished") && !top.contains("All checks passed"));
}

#[test]
fn the_verdict_and_the_runs_of_a_sign_have_a_line_for_each_fact() {
    let mut execution = Synthetic::new(1, 60, "sd");
    for name in ["one", "two", "three", "four", "five"] {
        execution.runs.push(RunSpec {
            name: name.into(),
            errors: 1,
            ..one_run()
        });
    }
    let html = page_of(execution);
    let top = html.split("</header>").next().unwrap();
    let verdict = top.split("id=\"verdict\">").nth(1).unwrap();
    let verdict = verdict.split("</ul>").next().unwrap();
    assert!(verdict.contains("<li><b>errors</b>: "), "{verdict}");
    assert!(verdict.contains("<li>Next: "), "{verdict}");
    assert!(verdict.matches("<li").count() >= 3, "{verdict}");
    let errors = top.split("<b>Errors</b>:<ul>").nth(1).unwrap();
    let errors = errors.split("</ul>").next().unwrap();
    assert!(errors.contains("<li>run 2, two: "), "{errors}");
    assert!(errors.contains("<li>2 more runs</li>"), "{errors}");
    assert_eq!(errors.matches("<li>").count(), 4, "{errors}");
}

#[test]
fn a_host_that_saw_less_than_this_program_took_is_not_believed() {
    let mut execution = Synthetic::new(1, 60, "sd");
    execution.runs.push(one_run());
    execution.unseen_ns = 8_000.0;
    let html = page_of(execution);
    let top = html.split("</header>").next().unwrap();
    assert!(
        top.contains("<b>CPU undercounted</b>") && html.contains("of Fathom itself in run only"),
        "{top}"
    );
    let mut execution = Synthetic::new(1, 60, "sd");
    execution.runs.push(one_run());
    let html = page_of(execution);
    assert!(!html.contains("CPU undercounted") && html.contains("of the host in run only"));
}

#[test]
fn silence_is_praise_only_where_figures_are() {
    let mut execution = Synthetic::new(1, 60, "sd");
    execution.runs.push(RunSpec {
        seconds: 15,
        ..one_run()
    });
    assert!(page_of(execution).contains("<b>All checks passed</b>"));
    let mut execution = Synthetic::new(1, 60, "sd");
    execution.runs.push(RunSpec {
        seconds: 5,
        ..one_run()
    });
    let html = page_of(execution);
    assert!(!html.contains("All checks passed"));
    assert!(html.contains("<b>Not checked</b>: run 1, only: whether rate and latency were steady"));
    let mut execution = Synthetic::new(1, 60, "sd");
    execution.runs.push(RunSpec {
        seconds: 0,
        ..one_run()
    });
    assert!(!page_of(execution).contains("All checks passed"));
    assert!(!page_of(Synthetic::new(1, 60, "sd")).contains("All checks passed"));
}

#[test]
fn an_hour_of_many_targets_stays_within_its_columns() {
    let mut execution = Synthetic::new(4, 4, "sd");
    execution.push("hour", Load::FlatOut, None, 5_000.0, 8, 4_500);
    let html = page_of(execution);
    let json = html.split("id=\"data\">").nth(1).unwrap();
    let data: serde_json::Value =
        serde_json::from_str(json.split("</script>").next().unwrap()).unwrap();
    let series = &data["runs"][0]["series"];
    let columns = series["rate"].as_array().unwrap().len();
    assert!((1_000..=2_000).contains(&columns), "{columns} columns");
    assert_eq!(series["group"], 4);
    for key in [
        "rate_min", "rate_max", "p50", "p99", "max", "service", "busy", "cpu", "own_cpu",
    ] {
        assert_eq!(series[key].as_array().unwrap().len(), columns, "{key}");
    }
    assert!(html.len() < 15_000_000);
}

trait FloorBoundary {
    fn floor_boundary(&self, at: usize) -> usize;
}

impl FloorBoundary for str {
    fn floor_boundary(&self, at: usize) -> usize {
        (0..=at)
            .rev()
            .find(|at| self.is_char_boundary(*at))
            .unwrap_or(0)
    }
}
