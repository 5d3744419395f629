//! Which table a row belongs to that nothing leads to: no two tables of ours have rows of one shape.
use super::pages::{Kind, PageRow};
use crate::schema::{self, Key, Table};
use rusqlite::types::Value;

/// Numbers of streams, targets, runs and places in an interval that are believed.
const SMALL_MAX: i64 = 1 << 20;

/// Columns of small numbers. Others may hold anything.
const SMALL: &[&str] = &["run", "interval", "stream", "target", "pool", "place"];

/// The table of a row that stands on a page of this kind.
pub(super) fn table_of(kind: Kind, row: &PageRow) -> Option<&'static Table> {
    let tables: &'static [Table] = &schema::TABLES;
    tables.iter().find(|table| fits(table, kind, row))
}

fn fits(table: &Table, kind: Kind, row: &PageRow) -> bool {
    let is_index = matches!(kind, Kind::IndexLeaf | Kind::IndexInterior);
    let columns = table.columns.len();
    if is_index != (table.key == Key::EventAndPlace)
        || !(columns - table.later_columns()..=columns).contains(&row.values.len())
        || event_of(table, row).is_none()
    {
        return false;
    }
    let first = usize::from(table.key == Key::Event);
    let rest = table.columns.iter().zip(&row.values).skip(first);
    let is_typed = rest
        .clone()
        .all(|((name, of), value)| holds(name, of, value));
    match (table.name, row.values.get(1)) {
        ("events", Some(Value::Text(kind))) => schema::KINDS.iter().any(|(_, known)| known == kind),
        _ => is_typed,
    }
}

/// The number of the event that a row is of.
pub(super) fn event_of(table: &Table, row: &PageRow) -> Option<i64> {
    let event = match (table.key, row.values.first()?) {
        (Key::Event, Value::Null) => row.rowid?,
        (Key::EventIndexed | Key::EventAndPlace, Value::Integer(event)) => *event,
        _ => return None,
    };
    (event > 0).then_some(event)
}

fn holds(name: &str, of: &str, value: &Value) -> bool {
    match value {
        Value::Null => !of.ends_with("NOT NULL"),
        Value::Integer(number) if of.starts_with("INTEGER") => {
            !SMALL.contains(&name) || (0..SMALL_MAX).contains(number)
        }
        Value::Integer(_) | Value::Real(_) => of.starts_with("REAL"),
        Value::Text(_) => of.starts_with("TEXT"),
        Value::Blob(_) => of.starts_with("BLOB"),
    }
}
