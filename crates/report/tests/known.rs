//! Known answers: for each statement that a report can make, scenes in which it is true and has to
//! be made, and scenes in which it is not. The table is `known/answers.rs`.
#[path = "known/answers.rs"]
mod answers;
#[path = "known/places.rs"]
mod places;
#[path = "known/scenes.rs"]
mod scenes;

use answers::{ANSWERS, Answer};
use places::Place;
use scenes::{Named, SCENES};
use std::collections::BTreeMap;

/// Of nothing there is no zero, wherever it stands.
const NOWHERE: &str = " 0 ns";

/// What is wrong with the answers about a scene.
fn wrong(name: &str, scene: fn() -> scenes::Scene) -> Vec<String> {
    let story = scene().story();
    let mut wrong = Vec::new();
    for place in Place::ALL {
        let text = place.text(&story);
        let is_mine = |answer: &&Answer| answer.scene == name && answer.place == place;
        let mut found: Vec<String> = ANSWERS
            .iter()
            .filter(is_mine)
            .filter(|answer| text.contains(answer.words) != answer.stands)
            .map(|answer| {
                let verb = if answer.stands { "lacks" } else { "has" };
                format!("{}: {place:?} {verb} `{}`", answer.statement, answer.words)
            })
            .collect();
        if text.contains(NOWHERE) {
            found.push(format!("{place:?} has `{NOWHERE}`"));
        }
        if !found.is_empty() {
            wrong.extend(found.iter().map(|found| format!("in `{name}`: {found}")));
            wrong.push(format!("--- {place:?} of `{name}`:\n{text}\n---"));
        }
    }
    wrong
}

#[test]
fn every_statement_is_made_where_it_is_true_and_nowhere_else() {
    let (first, second) = SCENES.split_at(SCENES.len() / 2);
    let of_all = |scenes: &[Named]| -> Vec<String> {
        let scenes = scenes.iter();
        scenes
            .flat_map(|(name, scene)| wrong(name, *scene))
            .collect()
    };
    let wrong = std::thread::scope(|scope| {
        let first = scope.spawn(|| of_all(first));
        let mut wrong = of_all(second);
        wrong.extend(first.join().unwrap());
        wrong
    });
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// The tiles are about the run whose figures the verdict states.
#[test]
fn tiles_are_about_the_run_that_leads_the_verdict() {
    let mut compared = 0;
    for (name, scene) in SCENES {
        let story = scene().story();
        let Some((speed, tiles)) = places::lead_and_tiles(&story) else {
            continue;
        };
        compared += 1;
        let (_, run) = speed.split_once(" in `").unwrap();
        let run = run.split('`').next().unwrap();
        for tile in tiles.iter().filter(|tile| !tile.contains("Knee")) {
            assert!(tile.contains(run), "{name}: `{tile}` is not of `{run}`");
        }
    }
    assert!(compared > 20, "{compared}");
}

/// The word of a clean scene.
fn word_of(scene: &scenes::Scene) -> analysis::Word {
    let mut watch = analysis::Watch::default();
    let events = scene.story().events;
    let ended = events.iter().filter_map(|event| watch.on_event(event));
    // No phase is told of what is steady.
    let has_phase = ended
        .map(|run| !run.judged.happened.phases.is_empty())
        .max();
    match has_phase {
        Some(true) => analysis::Word::Changed,
        _ => watch.verdict().unwrap().word,
    }
}

/// The words but *clean* of two hundred seeds of both families, with their seeds.
fn unwarranted(family: fn(u64) -> [scenes::Scene; 2]) -> Vec<(u64, analysis::Word)> {
    let of = |place: usize| -> Vec<(u64, analysis::Word)> {
        let words = (0..200).map(|seed| (seed, word_of(&family(seed)[place])));
        words
            .filter(|(_, word)| *word != analysis::Word::Clean)
            .collect()
    };
    std::thread::scope(|scope| {
        let idle = scope.spawn(|| of(0));
        let busy = of(1);
        [idle.join().unwrap(), busy].concat()
    })
}

/// Where nothing is wrong, hardly ever a word says so: what may go wrong by chance is no finding.
#[test]
fn clean_runs_have_no_unwarranted_headline() {
    let wrong = unwarranted(scenes::clean);
    assert!(wrong.len() <= 2, "{wrong:?}");
}

/// Fewer samples than a p99 takes are said of short runs, and nothing else.
#[test]
fn short_clean_runs_have_no_unwarranted_headline_either() {
    let mut wrong = unwarranted(scenes::clean_and_short);
    wrong.retain(|(_, word)| *word != analysis::Word::TooFewSamples);
    assert!(wrong.len() <= 2, "{wrong:?}");
}

/// Whatever the rate is, and however many others answer.
#[test]
fn a_stall_is_told_at_any_rate_and_on_any_number_of_targets() {
    for targets in [1, 8, 32] {
        for per_second in [5, 20, 100, 1_000] {
            let of = |is_hung: bool| {
                let mut watch = analysis::Watch::default();
                let story = scenes::hung(targets, per_second, is_hung).story();
                let ended = story
                    .events
                    .iter()
                    .filter_map(|event| watch.on_event(event));
                assert_eq!(ended.count(), 1);
                watch.verdict().unwrap()
            };
            let hung = of(true);
            let name = format!("I/O to `sd{targets}`");
            assert_eq!(hung.word, analysis::Word::Stalled, "{}", hung.text());
            assert!(hung.text().contains(&name), "{}", hung.text());
            let word = of(false).word;
            // Few I/Os are all that is to be said of the others.
            assert!(word >= analysis::Word::TooFewSamples, "{word:?}");
        }
    }
}

#[test]
fn every_answer_has_its_scene_and_every_statement_both_kinds() {
    let mut kinds: BTreeMap<&str, [bool; 2]> = BTreeMap::new();
    for answer in ANSWERS {
        assert!(
            SCENES.iter().any(|(name, _)| *name == answer.scene),
            "{answer:?}"
        );
        kinds.entry(answer.statement).or_default()[usize::from(answer.stands)] = true;
    }
    for (statement, kinds) in &kinds {
        assert_eq!(*kinds, [true, true], "{statement}");
    }
    for (name, _) in SCENES {
        assert!(ANSWERS.iter().any(|answer| answer.scene == *name), "{name}");
    }
}
