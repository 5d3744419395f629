//! A damaged file made new of what its pages still hold: a file of its own, without damage, in which what is not whole is
//! absent. An interval whose figures are not all there is lost. Figures of machine, devices, slots and handing over that
//! are not whole are left out of an interval. A run or an execution whose start is lost gets one that says no more than
//! what followed tells. Read [`rebuild`].
mod pages;
mod shapes;
mod starts;

use crate::error::Outcome;
use crate::schema::{self, Key, LAST_IN_PARTS, SCHEMA_VERSION, Table};
use measure::LostParts;
use pages::{Kind, Page, PageRow, Pages, Tree};
use rusqlite::types::Value;
use rusqlite::{Connection, params_from_iter};
use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::path::Path;

/// An event takes more in a file than this.
const EVENT_BYTES_MIN: i64 = 16;
/// Where the first events stand.
const PROBED_PAGES: u32 = 256;

/// Tables with rows that no other program has.
const TELLING: [&str; 3] = [
    schema::EVENTS.name,
    schema::RUNS.name,
    schema::INTERVALS.name,
];

/// What is missing in the new file, by run, beside what the numbers of events and intervals tell.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Lacking {
    /// Intervals without figures of queues, machine, devices, slots or handing over that were there once.
    pub(crate) parts: BTreeMap<u32, u64>,
    /// What they lack, by event.
    pub(crate) of_event: BTreeMap<i64, LostParts>,
}

/// The part of an interval that a table holds, as [`LostParts`] tells them apart.
fn part_of(table: &Table) -> &'static str {
    match table.name {
        name if name == schema::STREAM_SAMPLES.name => "arrivals",
        name if name == schema::POOL_SAMPLES.name => "slots",
        name if name == schema::INTERVALS.name || name == schema::WORKER_USAGE.name => "submission",
        name if name == schema::HANDOVERS.name || name == schema::SERVICE_PARTS.name => "handover",
        name if name == schema::HOST_SAMPLES.name => "cpu",
        _ => "devices",
    }
}

/// What was found of one table.
#[derive(Debug, Default)]
struct Found {
    is_whole: bool,
    has_end: bool,
    /// Events of all of its rows, by row, where an index still tells.
    by_row: Option<BTreeMap<i64, i64>>,
}

struct Rebuild<'a> {
    pages: Pages,
    connection: &'a Connection,
    found: BTreeMap<&'static str, Found>,
    /// The layout of the damaged file.
    version: u32,
    event_max: i64,
}

/// Whether events of ours stand in the first pages of a file, whatever its head says.
pub(crate) fn holds_events(file: File) -> bool {
    let Ok(mut pages) = Pages::open(file) else {
        return false;
    };
    (2..=pages.count.min(PROBED_PAGES)).any(|number| {
        let page = pages.page(number);
        let is_ours =
            |row| tables_of(&page, row).is_some_and(|table| TELLING.contains(&table.name));
        page.rows.iter().any(is_ours)
    })
}

/// Makes a new file of the pages of a damaged one, whose layout is `version` where that is known. Gives the layout by
/// which the new one is read.
pub(crate) fn rebuild(
    from: File,
    to: &Path,
    version: Option<u32>,
) -> Outcome<(Connection, u32, Lacking)> {
    let bytes = from.metadata().map_or(0, |facts| facts.len());
    let pages = Pages::open(from)
        .map_err(|error| crate::error::Problem::Damaged(format!("it cannot be read: {error}")))?;
    let connection = Connection::open(to)?;
    // Nobody reads it but this process, and nobody needs it later.
    connection.pragma_update_and_check(None, "journal_mode", "OFF", |_| Ok(()))?;
    connection.pragma_update(None, "synchronous", "OFF")?;
    schema::create_all(&connection)?;
    connection.execute_batch("BEGIN IMMEDIATE")?;
    let mut rebuild = Rebuild {
        pages,
        connection: &connection,
        found: BTreeMap::new(),
        version: version.unwrap_or(SCHEMA_VERSION),
        event_max: bytes.cast_signed() / EVENT_BYTES_MIN,
    };
    rebuild.copy_rows()?;
    if version.is_none() && rebuild.is_in_parts()? {
        rebuild.version = LAST_IN_PARTS;
    }
    let in_parts = rebuild.version <= LAST_IN_PARTS;
    rebuild.drop_strangers()?;
    rebuild.list_events()?;
    if !in_parts {
        connection.execute_batch(AS_IN_PARTS)?;
    }
    starts::complete(&connection, |table| rebuild.is_whole(table))?;
    if !in_parts {
        connection.execute_batch(NO_MORE_IN_PARTS)?;
    }
    connection.execute_batch(
        "CREATE TEMP TABLE lacking (event INTEGER, part TEXT, PRIMARY KEY (event, part))",
    )?;
    let lacking = match in_parts {
        true => {
            rebuild.add_intervals()?;
            rebuild.drop_torn_intervals()?;
            rebuild.drop_torn_parts()?
        }
        false => rebuild.drop_uncounted()?,
    };
    connection.execute_batch("COMMIT")?;
    // The new file has all columns of the layout by whose tables it is read.
    let version = if in_parts {
        LAST_IN_PARTS
    } else {
        SCHEMA_VERSION
    };
    Ok((connection, version, lacking))
}

/// The tables of earlier layouts as far as starts are made of them.
const AS_IN_PARTS: &str = "
    CREATE TEMP VIEW figures AS SELECT c.event, i.run, i.interval, c.stream, c.target FROM main.counts c
        JOIN main.intervals i ON i.event = c.event;
    CREATE TEMP VIEW stream_samples AS SELECT event, run, interval, 0 AS stream, scheduled FROM main.intervals;
    CREATE TEMP VIEW pool_samples AS SELECT event, 0 AS pool, slots FROM main.intervals";
const NO_MORE_IN_PARTS: &str =
    "DROP VIEW temp.figures; DROP VIEW temp.stream_samples; DROP VIEW temp.pool_samples";

/// Removes service times whose handover is lost.
const WITHOUT_HANDOVER: &str =
    "DELETE FROM service_parts WHERE NOT EXISTS (SELECT 1 FROM handovers h WHERE
    h.event = service_parts.event AND h.stream = service_parts.stream)";

fn tables_of(page: &Page, row: &PageRow) -> Option<&'static Table> {
    shapes::table_of(page.kind?, row)
}

impl Rebuild<'_> {
    fn is_whole(&self, table: &Table) -> bool {
        self.found
            .get(table.name)
            .is_some_and(|found| found.is_whole)
    }

    /// Whether files of this layout have the table.
    fn is_known(&self, table: &Table) -> bool {
        table.is_in(self.version)
    }

    /// Whether the rows are those of a layout with a table for each part of an interval.
    fn is_in_parts(&self) -> Outcome<bool> {
        let sql = "SELECT NOT EXISTS (SELECT 1 FROM counts) AND EXISTS (SELECT 1 FROM figures)";
        Ok(self.connection.query_row(sql, [], |row| row.get(0))?)
    }

    /// Removes the intervals whose figures are not all there, and notes what else is missing of the others.
    fn drop_uncounted(&self) -> Outcome<Lacking> {
        self.connection.execute_batch(
            "DELETE FROM intervals WHERE figures IS NOT (SELECT count(*) FROM counts c WHERE c.event = intervals.event);
             DELETE FROM counts WHERE event NOT IN (SELECT event FROM intervals)",
        )?;
        self.connection.execute_batch(
            "DELETE FROM samples WHERE histograms IS NOT (SELECT count(*) FROM sample_histograms h WHERE
                 h.event = samples.event AND h.host = samples.host);
             DELETE FROM sample_histograms WHERE event NOT IN (SELECT event FROM samples)",
        )?;
        let tables = [&schema::SAMPLES, &schema::SAMPLE_HISTOGRAMS];
        if !tables.into_iter().all(|table| self.is_whole(table)) {
            let missing = "FROM intervals WHERE event NOT IN (SELECT event FROM samples)";
            for part in ["arrivals", "slots", "devices"] {
                let sql = format!("INSERT OR IGNORE INTO lacking SELECT event, '{part}' {missing}");
                self.connection.execute(&sql, [])?;
            }
            let sql = format!("DELETE FROM handovers WHERE event IN (SELECT event {missing})");
            self.connection.execute(&sql, [])?;
        }
        if !self.is_whole(&schema::MACHINE_SAMPLES) {
            let sql = "INSERT OR IGNORE INTO lacking SELECT event, 'cpu' FROM intervals WHERE event NOT IN
                (SELECT event FROM machine_samples)";
            self.connection.execute(sql, [])?;
        }
        self.drop_torn_handovers()?;
        if !self.is_whole(&schema::HANDOVERS) {
            self.drop_short(&schema::HANDOVERS)?;
        }
        self.connection.execute_batch(WITHOUT_HANDOVER)?;
        self.lacking()
    }

    /// First what the trees of the tables lead to, then what nothing leads to.
    fn copy_rows(&mut self) -> Outcome<()> {
        let roots = self.pages.roots();
        let mut seen = self.pages.free();
        for table in &schema::TABLES {
            let tree = roots.get(table.name).map(|root| self.pages.tree(*root));
            let tree = tree.unwrap_or_default();
            let mut found = Found {
                is_whole: tree.is_whole,
                has_end: tree.has_end,
                by_row: None,
            };
            for number in &tree.pages {
                let page = self.pages.page(*number);
                for row in &page.rows {
                    let is_own = tables_of(&page, row).is_some_and(|of| of.name == table.name);
                    if !(is_own && self.put(table, row)?) {
                        // Another page stands in the place of one of this table.
                        (found.is_whole, found.has_end) = (false, false);
                    }
                }
            }
            seen.extend(&tree.pages);
            self.found.insert(table.name, found);
        }
        for number in (1..=self.pages.count).filter(|number| !seen.contains(number)) {
            let page = self.pages.page(number);
            for row in &page.rows {
                let Some(table) = tables_of(&page, row) else {
                    continue;
                };
                if self.put(table, row)? {
                    // What leads to its other rows stood here, or what leads to this page is lost.
                    self.doubt(table);
                }
            }
        }
        for table in schema::TABLES
            .iter()
            .filter(|table| table.key == Key::EventIndexed)
        {
            if let (false, Some(root)) = (
                self.is_whole(table),
                roots.get(&format!("{}_by_event", table.name)),
            ) {
                let by_row = self.events_by_row(*root);
                self.found.entry(table.name).or_default().by_row = by_row;
            }
        }
        Ok(())
    }

    fn doubt(&mut self, table: &Table) {
        let found = self.found.entry(table.name).or_default();
        (found.is_whole, found.has_end) = (false, false);
    }

    /// Adds a row; `false` where it cannot be one, or is there already.
    fn put(&self, table: &Table, row: &PageRow) -> Outcome<bool> {
        let event = shapes::event_of(table, row).filter(|event| *event <= self.event_max);
        let Some(event) = event else { return Ok(false) };
        let mut values = row.values.clone();
        for (name, _) in &table.columns[values.len()..] {
            values.push(table.absent(name));
        }
        let names: Vec<&str> = table.columns.iter().map(|(name, _)| *name).collect();
        let mut names = names.join(", ");
        match table.key {
            Key::Event => values[0] = Value::Integer(event),
            Key::EventAndPlace => {}
            Key::EventIndexed => {
                names.push_str(", rowid");
                values.push(Value::Integer(row.rowid.unwrap_or(0)));
            }
        }
        let places = vec!["?"; values.len()].join(", ");
        let sql = format!(
            "INSERT OR IGNORE INTO {} ({names}) VALUES ({places})",
            table.name
        );
        let mut statement = self.connection.prepare_cached(&sql)?;
        Ok(statement.execute(params_from_iter(values))? == 1)
    }

    /// Removes figures of streams and targets with numbers that no execution with so few figures reaches.
    fn drop_strangers(&mut self) -> Outcome<()> {
        for table in [&schema::FIGURES, &schema::COUNTS] {
            let name = table.name;
            let sql = format!(
                "DELETE FROM {name} WHERE max(stream, target) > (SELECT count(*) FROM {name}) + (SELECT count(*)
                FROM targets) + (SELECT count(*) FROM streams)"
            );
            if self.connection.execute(&sql, [])? > 0 {
                self.doubt(table);
            }
        }
        Ok(())
    }

    fn events_by_row(&mut self, root: u32) -> Option<BTreeMap<i64, i64>> {
        let Tree {
            pages, is_whole, ..
        } = self.pages.tree(root);
        let mut events = BTreeMap::new();
        for number in pages.iter().filter(|_| is_whole) {
            let page = self.pages.page(*number);
            if !matches!(page.kind, Some(Kind::IndexLeaf | Kind::IndexInterior)) {
                return None;
            }
            for row in page.rows {
                let [Value::Integer(event), Value::Integer(row)] = row.values[..] else {
                    return None;
                };
                // An entry that is there twice stands in the place of another.
                if events.insert(row, event).is_some() {
                    return None;
                }
            }
        }
        is_whole.then_some(events)
    }

    /// Other tables tell the kind of what the list of events has lost.
    fn list_events(&self) -> Outcome<()> {
        for (table, kind) in schema::KINDS {
            let sql = format!(
                "INSERT OR IGNORE INTO events SELECT DISTINCT event, '{kind}' FROM {}",
                table.name
            );
            self.connection.execute(&sql, [])?;
        }
        Ok(())
    }

    /// Stretches of events of which rows of a table may be lost. Rows are numbered without gaps.
    fn torn(&self, table: &Table) -> Outcome<Vec<(i64, i64)>> {
        let Some(found) = self.found.get(table.name).filter(|found| !found.is_whole) else {
            return Ok(Vec::new());
        };
        let sql = format!("SELECT rowid, event FROM {} ORDER BY rowid", table.name);
        let mut statement = self.connection.prepare(&sql)?;
        let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?;
        let rows: BTreeMap<i64, i64> = rows.collect::<Result<_, _>>()?;
        if let Some(all) = &found.by_row {
            let is_lost = |(row, event): &(&i64, &i64)| rows.get(row) != Some(event);
            let lost: BTreeSet<i64> = all
                .iter()
                .filter(is_lost)
                .map(|(_, event)| *event)
                .collect();
            return Ok(lost.into_iter().map(|event| (event, event)).collect());
        }
        let (mut torn, mut before) = (Vec::new(), (0, 0));
        for (row, event) in rows {
            if row > before.0 + 1 || event < before.1 {
                torn.push((event.min(before.1), event.max(before.1)));
            }
            before = (row, event);
        }
        if !found.has_end {
            torn.push((before.1, i64::MAX));
        }
        Ok(torn)
    }

    /// Intervals whose figures are there while their own rows are lost. They lie on a grid, all but the last of a run,
    /// which may be short: that one is added only where the run is known to have gone on to its end.
    fn add_intervals(&self) -> Outcome<()> {
        if self.is_whole(&schema::INTERVALS) {
            return Ok(());
        }
        let zeros = vec!["0"; schema::INTERVALS.columns.len() - 7].join(", ");
        self.connection.execute_batch(&format!(
            "CREATE TEMP TABLE seen AS SELECT event, run, interval FROM figures UNION SELECT event, run, interval
                 FROM stream_samples;
             INSERT OR IGNORE INTO events SELECT event, 'interval' FROM seen;
             CREATE TEMP TABLE last AS SELECT run, max(interval) AS interval FROM (SELECT run, interval FROM seen UNION
                 ALL SELECT run, interval FROM intervals) GROUP BY run;
             INSERT INTO lacking SELECT s.event, 'submission' FROM seen s JOIN runs r ON r.run = s.run JOIN last l ON l.run = s.run
                 JOIN events e ON e.event = s.event LEFT JOIN run_ends o ON o.run = s.run
                 WHERE e.kind = 'interval' AND s.event > r.event AND s.event NOT IN (SELECT event FROM intervals)
                 AND (s.interval < l.interval OR o.unix_ns - r.unix_ns >= s.interval * r.interval_ns)
                 GROUP BY s.event HAVING count(*) = 1 AND s.interval > 0;
             INSERT INTO intervals SELECT s.event, s.run, s.interval, (s.interval - 1) * r.interval_ns,
                 s.interval * r.interval_ns, r.unix_ns + s.interval * r.interval_ns,
                 CASE WHEN s.interval > r.unmeasured_intervals THEN 'measured' ELSE 'warmup' END, {zeros}
                 FROM seen s JOIN lacking n ON n.event = s.event JOIN runs r ON r.run = s.run;
             DROP TABLE seen; DROP TABLE last"
        ))?;
        Ok(())
    }

    fn drop_torn_intervals(&self) -> Outcome<()> {
        for (first, last) in self.torn(&schema::FIGURES)? {
            let sql = "DELETE FROM intervals WHERE event BETWEEN ? AND ?";
            self.connection.execute(sql, [first, last])?;
        }
        // One without any would show rates of zero, which nobody measured.
        let sql = "DELETE FROM intervals WHERE event NOT IN (SELECT event FROM figures)";
        self.connection.execute(sql, [])?;
        Ok(())
    }

    /// Leaves out of each interval what is not whole.
    fn drop_torn_parts(&self) -> Outcome<Lacking> {
        for (first, last) in self.torn(&schema::STREAM_SAMPLES)? {
            let sql = "INSERT OR IGNORE INTO lacking SELECT event, 'arrivals' FROM intervals WHERE event BETWEEN ? AND ?";
            self.connection.execute(sql, [first, last])?;
            for table in [&schema::STREAM_SAMPLES, &schema::HANDOVERS] {
                let sql = format!("DELETE FROM {} WHERE event BETWEEN ? AND ?", table.name);
                self.connection.execute(&sql, [first, last])?;
            }
        }
        self.drop_torn_handovers()?;
        for table in [
            &schema::POOL_SAMPLES,
            &schema::DEVICE_SAMPLES,
            &schema::DEVICE_MERGES,
            &schema::HANDOVERS,
        ] {
            if self.is_known(table) && !self.is_whole(table) {
                self.drop_short(table)?;
            }
        }
        self.connection.execute_batch(WITHOUT_HANDOVER)?;
        self.connection.execute_batch(
            "DELETE FROM device_merges WHERE NOT EXISTS (SELECT 1 FROM device_samples d WHERE
                 d.event = device_merges.event AND d.place = device_merges.place)",
        )?;
        if self.is_known(&schema::DEVICE_MERGES) {
            self.connection.execute_batch(
                "INSERT OR IGNORE INTO lacking SELECT event, 'devices' FROM device_samples d WHERE NOT EXISTS
                     (SELECT 1 FROM device_merges m WHERE m.event = d.event AND m.place = d.place);
                 DELETE FROM device_samples WHERE event IN (SELECT event FROM lacking) AND event NOT IN
                     (SELECT event FROM device_merges)",
            )?;
        }
        if !self.is_whole(&schema::POOL_SAMPLES) {
            // Of a run that has pools, each interval had rows of them.
            self.connection.execute_batch(
                "INSERT OR IGNORE INTO lacking SELECT i.event, 'slots' FROM intervals i JOIN runs r ON r.run = i.run
                     JOIN pools p ON p.event = r.event WHERE i.event NOT IN (SELECT event FROM pool_samples)",
            )?;
        }
        self.fill(&schema::HOST_SAMPLES)?;
        self.fill(&schema::WORKER_USAGE)?;
        self.lacking()
    }

    fn drop_torn_handovers(&self) -> Outcome<()> {
        let torn_parts = match self.is_known(&schema::SERVICE_PARTS) {
            true => self.torn(&schema::SERVICE_PARTS)?,
            false => Vec::new(),
        };
        for (first, last) in torn_parts {
            let sql = "INSERT OR IGNORE INTO lacking SELECT event, 'handover' FROM handovers WHERE event BETWEEN ? AND ?";
            self.connection.execute(sql, [first, last])?;
            let sql = "DELETE FROM handovers WHERE event BETWEEN ? AND ?";
            self.connection.execute(sql, [first, last])?;
        }
        Ok(())
    }

    /// Removes the rows of intervals that have fewer of them than others of their run.
    fn drop_short(&self, table: &Table) -> Outcome<()> {
        let (name, part) = (table.name, part_of(table));
        self.connection.execute_batch(&format!(
            "CREATE TEMP TABLE held AS SELECT i.event AS event, i.run AS run, (SELECT count(*) FROM {name} t
                 WHERE t.event = i.event) AS rows FROM intervals i;
             INSERT OR IGNORE INTO lacking SELECT h.event, '{part}' FROM held h JOIN (SELECT run, max(rows) AS most
                 FROM held GROUP BY run) m ON m.run = h.run WHERE h.rows < m.most;
             DELETE FROM {name} WHERE event IN (SELECT h.event FROM held h JOIN (SELECT run, max(rows) AS most
                 FROM held GROUP BY run) m ON m.run = h.run WHERE h.rows < m.most);
             DROP TABLE held"
        ))?;
        Ok(())
    }

    /// A row that says nothing, where there has to be one.
    fn fill(&self, table: &Table) -> Outcome<()> {
        let nothing: Vec<&str> = table.columns[1..]
            .iter()
            .map(|(_, of)| {
                if of.ends_with("NOT NULL") {
                    "0"
                } else {
                    "NULL"
                }
            })
            .collect();
        let (name, nothing) = (table.name, nothing.join(", "));
        let missing = format!("FROM intervals WHERE event NOT IN (SELECT event FROM {name})");
        if self.is_known(table) {
            let part = part_of(table);
            let sql = format!("INSERT OR IGNORE INTO lacking SELECT event, '{part}' {missing}");
            self.connection.execute(&sql, [])?;
        }
        let sql = format!("INSERT INTO {name} SELECT event, {nothing} {missing}");
        self.connection.execute(&sql, [])?;
        Ok(())
    }

    fn lacking(&self) -> Outcome<Lacking> {
        let sql =
            "SELECT i.event, i.run, l.part FROM intervals i JOIN lacking l ON l.event = i.event";
        let mut statement = self.connection.prepare(sql)?;
        let mut rows = statement.query([])?;
        let mut lacking = Lacking::default();
        while let Some(row) = rows.next()? {
            let (event, run, part): (i64, u32, String) = (row.get(0)?, row.get(1)?, row.get(2)?);
            let lost = lacking.of_event.entry(event).or_insert_with(|| {
                *lacking.parts.entry(run).or_default() += 1;
                LostParts::default()
            });
            match part.as_str() {
                "arrivals" => lost.arrivals = true,
                "slots" => lost.slots = true,
                "cpu" => lost.cpu = true,
                "devices" => lost.devices = true,
                "submission" => lost.submission = true,
                // What was handed over is left out where it is not whole.
                _ => {}
            }
        }
        Ok(lacking)
    }
}
