//! Comparisons on one page, in one file, that fetches nothing: the sentences, bars in percent of the base, curves over one
//! another, and all figures.
use super::{Columns, unfit_name, unit, value_text};
use crate::html::page;
use crate::html::text::{Escaped, Sentence, Short, json_for_script};
use analysis::words::counted;
use analysis::{Cell, ComparedFigure, Comparison, FigureKind, Word, change};
use serde::Serialize;
use std::io::{self, Write};

/// What nobody can tell of sides that were measured one after the other.
const NOT_IN_TURN: &str = "The sides were not run in turn: what changed with the day and what you changed cannot be told apart. \
    Run the base once more: a difference no larger than that between its own two results means nothing.";

const IN_TURN: &str = "The sides were run in turn, in random order within each block: what the day brought fell on all of them.";

/// The figures that have bars.
const CHARTS: [FigureKind; 9] = [
    FigureKind::Rate,
    FigureKind::Knee,
    FigureKind::Saturation,
    FigureKind::ResponseP50,
    FigureKind::ResponseP99,
    FigureKind::ResponseMean,
    FigureKind::ServiceMean,
    FigureKind::CpuPerOperation,
    FigureKind::HostCpu,
];

#[derive(Serialize)]
struct Data<'a> {
    base: &'a str,
    figures: Vec<Bars<'a>>,
    curves: Vec<Curve<'a>>,
}

/// One figure of all loads in which it is compared.
#[derive(Serialize)]
struct Bars<'a> {
    title: &'static str,
    loads: Vec<&'a str>,
    sides: Vec<BarsOfSide<'a>>,
}

#[derive(Serialize)]
struct BarsOfSide<'a> {
    name: &'a str,
    pct: Vec<Option<Short>>,
    /// How far the interval reaches from there.
    low: Vec<Option<Short>>,
    high: Vec<Option<Short>>,
    text: Vec<String>,
}

/// Rates and latencies of one side.
#[derive(Serialize)]
struct Curve<'a> {
    name: &'a str,
    /// What its loads have in common; empty where all curves have it in common.
    family: &'a str,
    rate: Vec<Short>,
    p99_s: Vec<Short>,
    loads: Vec<&'a str>,
    /// How many points come before the first that missed its rate: the line ends there.
    held: usize,
}

/// Writes the page of comparisons with one base.
///
/// # Errors
/// Those of `out`.
///
/// # Panics
/// Where there are none.
pub fn page(comparisons: &[Comparison], out: &mut dyn Write) -> io::Result<()> {
    let base = &comparisons[0].base;
    let columns = Columns::of(comparisons);
    let figures = CHARTS.iter().filter(|kind| columns.has(**kind));
    let figures = figures.filter_map(|kind| bars(comparisons, *kind));
    let data = Data {
        base,
        figures: figures.collect(),
        curves: curves(comparisons),
    };
    let json = json_for_script(&data).map_err(io::Error::other)?;
    let others: Vec<&str> = comparisons.iter().map(|one| &*one.other).collect();
    let title = format!("{} against {base}", others.join(", "));
    page::write_head(&title, out)?;
    writeln!(
        out,
        "<body>\n<main>\n<header>\n<p class=\"brand\">Fathom comparison</p>\n<h1>{}</h1>",
        Escaped(&title)
    )?;
    for comparison in comparisons {
        let sentence = comparison.sentence();
        writeln!(out, "<p id=\"verdict\">{}</p>", Sentence(&sentence))?;
    }
    let lead = match comparisons.iter().all(|one| one.is_in_turn) {
        true => IN_TURN,
        false => NOT_IN_TURN,
    };
    writeln!(
        out,
        "<p class=\"lead\">{lead}</p><noscript><p>The charts need scripts; the tables do not.</p></noscript>\n</header>"
    )?;
    write_differences(comparisons, out)?;
    write_charts(&data, out)?;
    for comparison in comparisons {
        write_table(comparison, out)?;
    }
    page::write_end(&json, page::COMPARISON, out)
}

/// `None` where no load has it in a form that is compared.
fn bars(comparisons: &[Comparison], kind: FigureKind) -> Option<Bars<'_>> {
    let fit = |cell: &Cell| {
        let figure = cell.figure(kind)?;
        figure.unfit.is_none().then(|| figure.clone())
    };
    let mut loads: Vec<&str> = Vec::new();
    for cell in comparisons.iter().flat_map(|one| &one.cells) {
        if fit(cell).is_some() && !loads.contains(&&*cell.name) {
            loads.push(&cell.name);
        }
    }
    let of_side = |comparison| of_side(comparison, &loads, fit);
    let sides = comparisons.iter().map(of_side).collect();
    let title = kind.title();
    (!loads.is_empty()).then_some(Bars {
        title,
        sides,
        loads,
    })
}

fn of_side<'a>(
    comparison: &'a Comparison,
    loads: &[&str],
    fit: impl Fn(&Cell) -> Option<ComparedFigure>,
) -> BarsOfSide<'a> {
    let figures: Vec<Option<ComparedFigure>> = loads
        .iter()
        .map(|load| {
            let mut cells = comparison.cells.iter();
            cells.find(|cell| cell.name == *load).and_then(&fit)
        })
        .collect();
    let pct = |of: &dyn Fn(&ComparedFigure) -> Option<f64>| -> Vec<Option<Short>> {
        let value =
            |figure: &Option<ComparedFigure>| of(figure.as_ref()?).map(|one| Short(one * 100.0));
        figures.iter().map(value).collect()
    };
    let text = |(figure, load): (&Option<ComparedFigure>, &&str)| match figure {
        Some(figure) => format!("{load}: {}", figure.words()),
        None => String::new(),
    };
    BarsOfSide {
        name: &comparison.other,
        pct: pct(&|figure| Some(figure.ratio)),
        low: pct(&|figure| Some(figure.ratio - figure.interval?.from)),
        high: pct(&|figure| Some(figure.interval?.to - figure.ratio)),
        text: figures.iter().zip(loads).map(text).collect(),
    }
}

/// Whether a word says that arrivals were not served at the rate that was asked for.
fn is_of_missed_rate(word: Word) -> bool {
    matches!(word, Word::RateMissed | Word::Unstable | Word::Unserved)
}

/// The base and the others, a curve for each family of loads that differ in the rate that was asked for.
fn curves(comparisons: &[Comparison]) -> Vec<Curve<'_>> {
    let cells = comparisons.iter().flat_map(|one| &one.cells);
    let mut families: Vec<&str> = Vec::new();
    for cell in cells.filter(|cell| cell.load().asked_per_s.is_some()) {
        if !families.contains(&&*cell.family) {
            families.push(&cell.family);
        }
    }
    let sides = comparisons.iter().map(|one| (one, false));
    let sides = std::iter::once((&comparisons[0], true)).chain(sides);
    let curve = |(comparison, is_base)| {
        let families = families.iter();
        families.filter_map(move |family| curve(comparison, is_base, family))
    };
    let mut all: Vec<Curve<'_>> = sides.flat_map(curve).collect();
    // One of a kind needs no name.
    if let Some(first) = all.first().map(|curve| curve.family)
        && all.iter().all(|curve| curve.family == first)
    {
        all.iter_mut().for_each(|curve| curve.family = "");
    }
    all
}

/// `None` where fewer than two rates were asked for.
fn curve<'a>(comparison: &'a Comparison, is_base: bool, family: &'a str) -> Option<Curve<'a>> {
    let of = |figure: &ComparedFigure| if is_base { figure.base } else { figure.other };
    let point = |cell: &'a Cell| {
        let asked = cell.load().asked_per_s?;
        let rate = of(cell.figure(FigureKind::Rate)?);
        let p99_ns = of(cell.figure(FigureKind::ResponseP99)?);
        (cell.family == family).then_some((cell, asked, rate, p99_ns))
    };
    let mut points: Vec<(&Cell, f64, f64, f64)> =
        comparison.cells.iter().filter_map(point).collect();
    // By what was asked: a point that missed its rate does not change places with its neighbour.
    points.sort_by(|one, other| one.1.total_cmp(&other.1));
    let missed = |(cell, ..): &(&Cell, f64, f64, f64)| {
        let doubts = &cell.doubts[usize::from(!is_base)];
        doubts.iter().any(|word| is_of_missed_rate(*word))
    };
    let are_several = points.first().map(|one| one.1) != points.last().map(|one| one.1);
    are_several.then(|| Curve {
        name: if is_base {
            &comparison.base
        } else {
            &comparison.other
        },
        family,
        held: points.iter().take_while(|point| !missed(point)).count(),
        rate: points.iter().map(|one| Short(one.2)).collect(),
        p99_s: points.iter().map(|one| Short(one.3 / 1e9)).collect(),
        loads: points.iter().map(|one| &*one.0.name).collect(),
    })
}

fn write_charts(data: &Data<'_>, out: &mut dyn Write) -> io::Result<()> {
    let mut chart = |number: &str, title: &str, text: &str| {
        writeln!(
            out,
            "<section><figure class=\"chart\" data-figure=\"{number}\"><figcaption><h2>{}</h2><p>{text}</p></figcaption>\
             <div class=\"plot mid\"></div></figure></section>",
            Escaped(title)
        )
    };
    for (number, bars) in data.figures.iter().enumerate() {
        let text = "Each load in percent of the base, with the interval of the change where there are runs enough.";
        chart(&number.to_string(), bars.title, text)?;
    }
    if !data.curves.is_empty() {
        let text = "Loads with a rate that was asked for, in the order of these rates. A line ends before the first point that missed its rate; points from there on are hollow.";
        chart("curves", "Latency over rate", text)?;
    }
    Ok(())
}

fn write_differences(comparisons: &[Comparison], out: &mut dyn Write) -> io::Result<()> {
    if comparisons.iter().all(|one| one.differences.is_empty()) {
        return Ok(());
    }
    writeln!(
        out,
        "<section><h2>What else differs</h2><p>Any of it may be the reason.</p><div class=\"scroll\"><table class=\"facts\">\
         <thead><tr><th class=\"text\">Condition</th><th class=\"text\">Base</th><th class=\"text\">Other</th>\
         <th class=\"text\">Compared</th></tr></thead><tbody>"
    )?;
    for comparison in comparisons {
        for one in &comparison.differences {
            writeln!(
                out,
                "<tr><th scope=\"row\">{}</th><td class=\"text\">{}</td><td class=\"text\">{}</td><td class=\"text\">{}</td></tr>",
                one.name,
                Escaped(&one.base),
                Escaped(&one.other),
                Escaped(&comparison.other)
            )?;
        }
    }
    writeln!(out, "</tbody></table></div></section>")
}

/// With its unit, where the title has none.
fn titled(kind: FigureKind) -> String {
    match unit(kind) {
        "ms" => format!("{}, ms", kind.title()),
        "us" => format!("{}, µs", kind.title()),
        "pct" => format!("{}, %", kind.title()),
        _ => kind.title().to_owned(),
    }
}

fn write_table(comparison: &Comparison, out: &mut dyn Write) -> io::Result<()> {
    let (base, other) = (Escaped(&comparison.base), Escaped(&comparison.other));
    let common = match comparison.common.is_empty() {
        true => String::new(),
        false => format!("<p>All loads: {}</p>", Escaped(&comparison.common)),
    };
    writeln!(
        out,
        "<section><h2>{other} against {base}</h2>{common}\
         <p>Two values that are no farther apart than the margin count as the same.</p>"
    )?;
    write_figures(comparison, true, out)?;
    let figures = comparison.cells.iter().flat_map(|cell| &cell.figures);
    let count = figures.filter(|figure| figure.unfit.is_some()).count();
    if count > 0 {
        let figures = counted(count as u64, "figure");
        writeln!(out, "<details><summary>{figures} not compared</summary>")?;
        write_figures(comparison, false, out)?;
        writeln!(out, "</details>")?;
    }
    for (name, runs) in [
        (base, &comparison.only_base),
        (other, &comparison.only_other),
    ] {
        if !runs.is_empty() {
            writeln!(out, "<p>Only in {name}: {}</p>", Escaped(runs.join(", ")))?;
        }
    }
    writeln!(out, "</section>")
}

/// Those that are compared, or the others with the reason. A load without any of them is left out.
fn write_figures(
    comparison: &Comparison,
    is_compared: bool,
    out: &mut dyn Write,
) -> io::Result<()> {
    let (base, other) = (Escaped(&comparison.base), Escaped(&comparison.other));
    let last = match is_compared {
        true => "<th>Margin</th><th class=\"text\">Answer</th>",
        false => "<th class=\"text\">Why not</th>",
    };
    writeln!(
        out,
        "<div class=\"scroll\"><table class=\"compared\"><thead><tr><th class=\"text\">Figure</th><th>{base}</th>\
         <th>{other}</th><th>Change</th>{last}</tr></thead><tbody>"
    )?;
    for cell in &comparison.cells {
        let figures = cell.figures.iter();
        let figures = figures.filter(|figure| figure.unfit.is_none() == is_compared);
        let rows: String = figures.map(row).collect();
        if !rows.is_empty() {
            let name = Escaped(&cell.name);
            writeln!(
                out,
                "<tr class=\"load\"><th scope=\"rowgroup\" colspan=\"6\">{name}</th></tr>{rows}"
            )?;
        }
    }
    writeln!(out, "</tbody></table></div>")
}

fn row(figure: &ComparedFigure) -> String {
    let margin = format!("<td class=\"margin\">{:.0} %</td>", figure.margin * 100.0);
    let (margin, answer) = match figure.unfit {
        Some(unfit) => (String::new(), unfit_name(unfit).to_owned()),
        None if figure.interval.is_none() => (margin, "too few runs".to_owned()),
        None => (margin, figure.words()),
    };
    format!(
        "<tr><th scope=\"row\">{}</th><td>{}</td><td>{}</td><td>{}</td>{margin}<td class=\"text answer\">{}</td></tr>\n",
        titled(figure.kind),
        value_text(figure.kind, figure.base),
        value_text(figure.kind, figure.other),
        change(figure.ratio),
        Escaped(answer)
    )
}
