//! Comparisons on one page, in one file, that fetches nothing: the sentences, bars in percent of the base, curves over one
//! another, and all figures.
use super::{unfit_name, unit, value_text};
use crate::html::page;
use crate::html::text::{Escaped, Sentence, Short, json_for_script};
use analysis::{Cell, ComparedFigure, Comparison, FigureKind, Word, change};
use serde::Serialize;
use std::io::{self, Write};

/// What nobody can tell of sides that were measured one after the other.
const NOT_IN_TURN: &str = "The sides were not run in turn: what changed with the day and what you changed cannot be told apart. \
    Run the base once more: a difference no larger than that between its own two results means nothing.";

const IN_TURN: &str = "The sides were run in turn, in random order within each block: what the day brought fell on all of them.";

/// The figures that have bars.
const CHARTS: [FigureKind; 6] = [
    FigureKind::Rate,
    FigureKind::Knee,
    FigureKind::Saturation,
    FigureKind::ResponseP50,
    FigureKind::ResponseP99,
    FigureKind::CpuPerOperation,
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
    let figures = CHARTS.iter().filter_map(|kind| bars(comparisons, *kind));
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

/// The base and the others, where loads differ in the rate that was asked for.
fn curves(comparisons: &[Comparison]) -> Vec<Curve<'_>> {
    let point = |cell: &Cell, of: &dyn Fn(&ComparedFigure) -> f64| {
        cell.load().asked_per_s?;
        let rate = of(cell.figure(FigureKind::Rate)?);
        Some((rate, of(cell.figure(FigureKind::ResponseP99)?)))
    };
    let curve = |comparison: &'_ Comparison, is_base: bool| {
        let of = |figure: &ComparedFigure| if is_base { figure.base } else { figure.other };
        let points = comparison.cells.iter().enumerate();
        let points = points.filter_map(|(place, cell)| Some((place, point(cell, &of)?)));
        let mut points: Vec<(usize, (f64, f64))> = points.collect();
        // By what was asked: a point that missed its rate does not change places with its neighbour.
        let asked = |place: usize| {
            comparison.cells[place]
                .load()
                .asked_per_s
                .unwrap_or_default()
        };
        points.sort_by(|one, other| asked(one.0).total_cmp(&asked(other.0)));
        points
    };
    let mut all = Vec::new();
    let sides = comparisons.iter().map(|one| (one, false));
    for (comparison, is_base) in std::iter::once((&comparisons[0], true)).chain(sides) {
        let points = curve(comparison, is_base);
        let asked = points
            .iter()
            .map(|(place, _)| comparison.cells[*place].load().asked_per_s);
        let mut asked: Vec<u64> = asked.flatten().map(f64::to_bits).collect();
        asked.sort_unstable();
        asked.dedup();
        if asked.len() < 2 {
            return Vec::new();
        }
        let missed = |(place, _): &(usize, (f64, f64))| {
            let doubts = &comparison.cells[*place].doubts[usize::from(!is_base)];
            doubts.iter().any(|word| is_of_missed_rate(*word))
        };
        all.push(Curve {
            held: points.iter().take_while(|point| !missed(point)).count(),
            name: if is_base {
                &comparison.base
            } else {
                &comparison.other
            },
            rate: points.iter().map(|(_, (rate, _))| Short(*rate)).collect(),
            p99_s: points.iter().map(|(_, (_, ns))| Short(*ns / 1e9)).collect(),
            loads: points
                .iter()
                .map(|(place, _)| &*comparison.cells[*place].name)
                .collect(),
        });
    }
    all
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
        "<section><h2>{other} against {base}</h2>{common}<div class=\"scroll\"><table><thead><tr><th class=\"text\">Load</th>\
         <th class=\"text\">Figure</th><th>{base}</th><th>{other}</th><th>Change</th><th class=\"text\">Answer</th></tr></thead><tbody>"
    )?;
    for cell in &comparison.cells {
        let figures = cell.figures.iter();
        for (place, figure) in figures.enumerate() {
            let name = if place == 0 { &*cell.name } else { "" };
            let answer = match figure.unfit {
                Some(unfit) => format!("not compared: {}", unfit_name(unfit)),
                None if figure.interval.is_none() => String::new(),
                None => figure.words(),
            };
            writeln!(
                out,
                "<tr><th scope=\"row\">{}</th><td class=\"text\">{}</td><td>{}</td><td>{}</td><td>{}</td><td class=\"text\">{}</td></tr>",
                Escaped(name),
                titled(figure.kind),
                value_text(figure.kind, figure.base),
                value_text(figure.kind, figure.other),
                change(figure.ratio),
                Escaped(answer)
            )?;
        }
    }
    writeln!(out, "</tbody></table></div>")?;
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
