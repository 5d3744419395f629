use super::*;

fn rows(text: &str) -> Vec<Row> {
    let row = |word: &str| {
        let (place, length) = word[1..].split_once('+').unwrap();
        Row {
            direction: match &word[..1] {
                "R" => 0,
                "W" => 1,
                _ => 2,
            },
            offset: place.parse().unwrap(),
            length: length.parse().unwrap(),
        }
    };
    text.split_whitespace().map(row).collect()
}

/// A job whose places come in order, or at random and each once.
fn job(way: Way, is_random: bool) -> Job {
    Job {
        options: vec![("name", "j".to_owned())],
        clones: 1,
        way,
        is_random,
        has_map: is_random,
        has_one_size: true,
        is_one_by_one: true,
        has_plain_files: true,
        passes: 1,
    }
}

fn found(job: &Job, fio: &str, ours: &str) -> Option<String> {
    of_logs(job, &rows(fio), &rows(ours))
}

#[test]
fn what_is_the_same_passes_and_each_planted_difference_is_found() {
    let one = job(Way::One, false);
    assert_eq!(found(&one, "R0+4 R4+4", "R0+4 R4+4"), None);
    let text = found(&one, "R0+4 R4+4", "R0+4 R4+4 R0+4").unwrap();
    assert!(text.contains("I/Os by direction"), "{text}");
    let text = found(&one, "R0+4 R4+4", "R4+4 R0+4").unwrap();
    assert!(text.contains("I/O 0"), "{text}");
    let random = job(Way::One, true);
    assert_eq!(found(&random, "R0+4 R4+4 R8+4", "R8+4 R0+4 R4+4"), None);
    let text = found(&random, "R0+4 R4+4 R8+4", "R8+4 R0+4 R0+4").unwrap();
    assert!(text.contains("places in order, number 1"), "{text}");
    let pairs = job(Way::Pairs, true);
    assert_eq!(
        found(&pairs, "T0+4 W0+4 T4+4 W4+4", "T4+4 W4+4 T0+4 W0+4"),
        None
    );
    let text = found(&pairs, "T0+4 W0+4 T4+4 W4+4", "T4+4 W0+4 T0+4 W8+4").unwrap();
    assert!(text.contains("trimmed and not written"), "{text}");
}

#[test]
fn directions_of_a_mix_are_compared_one_by_one() {
    let mix = job(Way::Mix, false);
    assert_eq!(found(&mix, "R0+4 W0+4 R4+4", "W0+4 R0+4 W4+4"), None);
    let text = found(&mix, "R0+4 W0+4 R4+4", "R0+4 W4+4 R8+4").unwrap();
    assert!(text.contains("direction"), "{text}");
}

#[test]
fn no_reason_excuses_a_hole_or_a_lone_trim() {
    let lacks = |job: &Job, ours: &str| lacking(job, &rows(ours));
    let pairs = job(Way::Pairs, true);
    assert_eq!(lacks(&pairs, "T0+4 T4+2 W4+2 W0+4"), None);
    assert!(lacks(&pairs, "T0+4 W0+4 T4+4").is_some());
    assert!(lacks(&pairs, "T0+4 W0+2").is_some());
    let random = job(Way::One, true);
    assert_eq!(lacks(&random, "R4+4 R0+4"), None);
    assert!(lacks(&random, "R8+4 R0+4").is_some());
}

#[test]
fn ranges_that_touch_are_one() {
    assert_eq!(covered(&rows("R8+4 R0+4 W4+2")), [(0, 6), (8, 12)]);
}
