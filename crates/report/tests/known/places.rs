//! Where a report speaks, as plain text.
use crate::scenes::Story;
use report::vdbench::{Face, FaceOptions};
use report::{Conclusion, repetitions, summary};

/// A part of what the reports show.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Place {
    /// Sentence, signs and tiles of the HTML report.
    Top,
    /// All of it but the scripts.
    Whole,
    /// The table of the terminal.
    Table,
    /// The lines below that table, the verdict last.
    Console,
    /// The line of progress, of every interval.
    Live,
    /// The console of Vdbench.
    Vdbench,
}

impl Place {
    pub const ALL: [Place; 6] = [
        Place::Top,
        Place::Whole,
        Place::Table,
        Place::Console,
        Place::Live,
        Place::Vdbench,
    ];

    pub fn text(self, story: &Story) -> String {
        match self {
            Place::Top => plain(&top(&page(story))),
            Place::Whole => plain(page(story).split("<script").next().unwrap()),
            Place::Table => summary::table(&conclusion(story).rows, u16::MAX),
            Place::Console => {
                let conclusion = conclusion(story);
                let verdict = conclusion.verdict().map(|verdict| verdict.text());
                repetitions::text(&conclusion.rows) + &verdict.unwrap_or_default()
            }
            Place::Live => live(story),
            Place::Vdbench => vdbench(story),
        }
    }
}

fn conclusion(story: &Story) -> Conclusion {
    let mut conclusion = Conclusion::with_page();
    let events = story.events.iter();
    events.for_each(|event| conclusion.on_event(event));
    conclusion.end();
    conclusion
}

/// What the verdict states, and the tiles of the page, where it has both.
pub fn lead_and_tiles(story: &Story) -> Option<(String, Vec<String>)> {
    let speed = conclusion(story).verdict()?.speed;
    let page = page(story);
    let (_, tiles) = page.split_once("<div class=\"cards\">")?;
    let tiles = tiles.split("<section").next()?;
    let tiles = tiles.split("<h2>").skip(1).map(plain);
    Some((speed, tiles.collect()))
}

fn page(story: &Story) -> String {
    let mut html = Vec::new();
    conclusion(story).write_page(&mut html).unwrap();
    let html = String::from_utf8(html).unwrap();
    let (_, body) = html.split_once("<body>").unwrap();
    body.to_owned()
}

fn top(page: &str) -> String {
    let header = in_lines(page.split("</header>").next().unwrap());
    let tiles = page.split("<div class=\"cards\">").nth(1);
    let tiles = tiles.and_then(|rest| rest.split("<section").next());
    format!("{header}<div>{}", tiles.unwrap_or_default())
}

/// Facts that stand in lines of their own, as the sentences that they come from.
fn in_lines(html: &str) -> String {
    html.replace("</li>\n<li class=\"more\">", "; ")
        .replace("</li>\n<li>", ". ")
}

/// Text without markup, with one blank for any white space.
fn plain(html: &str) -> String {
    let mut text = String::new();
    for part in html.split('<') {
        // The first part has no tag.
        let behind = part.split_once('>').map_or(part, |(_, behind)| behind);
        text.push_str(behind);
        text.push(' ');
    }
    let text = text
        .replace("&lt;", "<")
        .replace("&gt;", ">")
        .replace("&#39;", "'")
        .replace("&amp;", "&");
    let words: Vec<&str> = text.split_whitespace().collect();
    words.join(" ").replace(" : ", ": ")
}

fn live(story: &Story) -> String {
    let intervals = story.events.iter().filter_map(|event| match event {
        measure::Event::Interval(interval) => Some(summary::live_line(interval)),
        _ => None,
    });
    intervals.collect::<Vec<_>>().join("\n")
}

fn vdbench(story: &Story) -> String {
    let scratch = tempfile::tempdir().unwrap();
    let mut face = Face::create(&scratch.path().join("output"), FaceOptions::default()).unwrap();
    let events = story.events.iter();
    let lines = events.flat_map(|event| face.on_event(event).unwrap());
    lines.collect::<Vec<_>>().join("\n")
}
