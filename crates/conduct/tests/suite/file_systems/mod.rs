//! Whole executions in simulated time on a model of a file system: claimed, examined, laid out, written, trimmed,
//! extended, removed and cleaned up by the engine and the door as on a machine, while others act between any two calls.
mod plans;
mod weakened;
mod worlds;

use crate::story::{Story, carry_out};
use conduct::{Control, SimulatedHost};
use door::model::{File, Model, Move, Theirs};
use door::{Calls, Door, Found, Grant, Grants, Intent, RemoveError};
use engine::sim::{ModelFiles, Script};
use measure::FinishReason;
use plan::*;
use std::collections::BTreeMap;
use std::sync::Arc;
use worlds::World;

const SEEDS: u64 = 10_000;

/// Of folders in which the door compares before it removes.
const REFUGE: &str = ".fathom-removes-";

const ESTALE: i32 = 116;
const EEXIST: i32 = 17;

/// What became of an execution.
enum Ending {
    /// It was refused before its first run.
    Refused,
    Ran(Box<Ran>),
}

struct Ran {
    story: Story,
    has_refused: bool,
    /// Files that cleaning up could not leave under their names, and told so.
    stranded: usize,
}

/// One execution of the plan of a seed over these calls.
fn execute<C>(calls: C, world: &World, workers: u32) -> Ending
where
    C: Calls<File = File> + 'static,
{
    let Some(plan) = world.bound() else {
        return Ending::Refused;
    };
    let door = Arc::new(Door::over(calls, 2));
    let Some(grants) = judged(&door, &plan) else {
        return Ending::Refused;
    };
    let grants = Arc::new(Grants::new(Arc::clone(&door), grants));
    let files = ModelFiles::new(Arc::clone(&grants), world.opening);
    let mut host = SimulatedHost::new(Script::default(), workers).with_files(files);
    let story = carry_out(&plan, &mut host, &Control::default());
    drop(host);
    let has_refused = door.has_refused();
    let stranded = clean_up(&plan, &grants);
    Ending::Ran(Box::new(Ran {
        story,
        has_refused,
        stranded,
    }))
}

/// Claims each target, looks at all that it holds, and lets pass what is blank or ours; all of them, or none.
fn judged<C>(door: &Door<C>, plan: &BoundPlan) -> Option<Vec<Grant>>
where
    C: Calls<File = File>,
{
    let mut grants = Vec::new();
    for (number, target) in plan.plan.targets.iter().enumerate() {
        let approach = door.approach(&target.path, Intent::Write).ok()?;
        // As the guard does: what was missing when the plan was bound may be made.
        let access = match plan.targets[number].facts.found {
            FoundKind::Missing => Access::Create,
            _ => Access::Write,
        };
        let passes = match (approach.found, &approach.file) {
            (Found::Missing, _) => access == Access::Create && target.kind == TargetKind::File,
            (Found::File | Found::BlockDevice, Some(file)) => is_free(file),
            _ => false,
        };
        if !passes {
            return None;
        }
        if approach.unclaimed.is_some() {
            return None;
        }
        let (id, object) = (TargetId::at(number), approach.object?);
        grants.push(Grant::issue(id, access, object, approach.real_path));
    }
    Some(grants)
}

fn is_free(file: &File) -> bool {
    let mut page = [0; 4096];
    for offset in (0..).step_by(page.len()) {
        let length = file.read_at(&mut page, offset).unwrap();
        let is_blank = page[..length].iter().all(|byte| *byte == 0);
        if !is_blank && !page[..length].starts_with(&engine::BLOCK_MARK) {
            return false;
        }
        if length < page.len() {
            return true;
        }
    }
    true
}

/// Removes what the execution has made, as after its last run.
fn clean_up<C: Calls>(plan: &BoundPlan, grants: &Grants<C>) -> usize {
    let mut stranded = 0;
    for id in &plan.plan.steering.remove_made {
        let entry = grants.entry(*id, |_| true).unwrap();
        let removed = entry.set_aside().and_then(|aside| entry.unlink(aside));
        stranded += usize::from(matches!(removed, Err(RemoveError::Stranded { .. })));
    }
    stranded
}

/// What has to hold of any execution that others disturb.
///
/// # Errors
/// What does not, in words.
fn check(world: &World, ending: &Ending) -> Result<(), String> {
    let tree = world.tree.lock().unwrap();
    let displaced = world.theirs.lock().unwrap().compare(&tree, REFUGE)?;
    let Ending::Ran(ran) = ending else {
        return match displaced {
            0 => Ok(()),
            _ => Err("a file lost its name before the first run".to_owned()),
        };
    };
    let Ran {
        story,
        has_refused,
        stranded,
    } = &**ran;
    let failures = story.failures();
    let is_stale = failures.iter().any(|one| one.errno == ESTALE);
    if displaced > 0 && *stranded == 0 && !is_stale {
        return Err("a file lost its name, and nothing told so".to_owned());
    }
    let is_silent = story.outcome.reason == FinishReason::Complete && story.outcome.errors == 0;
    if *has_refused && is_silent {
        return Err("something was refused, and nothing told so".to_owned());
    }
    if (is_stale || failures.iter().any(|one| one.errno == EEXIST)) && !has_refused {
        return Err("an operation was refused, and the exit code would not tell so".to_owned());
    }
    match &story.outcome.reason {
        FinishReason::Failed { message }
            if !has_refused && !message.contains("cannot be opened: ") =>
        {
            Err(format!("without a refusal: {message}"))
        }
        _ => Ok(()),
    }
}

/// How often executions of these seeds got how far, and the moves that others made.
#[derive(Default)]
struct Counts {
    ran: u64,
    refused_before: u64,
    refused_while: u64,
    complete: u64,
    stranded: u64,
    moves: BTreeMap<Move, u64>,
}

fn seeds_in_parallel(each: impl Fn(u64) -> Counts + Sync) -> Counts {
    let threads = std::thread::available_parallelism().map_or(1, |count| count.get() as u64);
    let next = std::sync::atomic::AtomicU64::new(0);
    let work = || {
        let mut sum = Counts::default();
        loop {
            let seed = next.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
            if seed >= SEEDS {
                return sum;
            }
            sum.add(each(seed));
        }
    };
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        let mut sum = Counts::default();
        for thread in threads {
            match thread.join() {
                Ok(counts) => sum.add(counts),
                Err(panic) => std::panic::resume_unwind(panic),
            }
        }
        sum
    })
}

impl Counts {
    fn of(ending: &Ending, theirs: &Theirs) -> Self {
        let mut counts = Self {
            moves: theirs.moves.clone(),
            ..Self::default()
        };
        match ending {
            Ending::Refused => counts.refused_before = 1,
            Ending::Ran(ran) => {
                let outcome = &ran.story.outcome;
                counts.ran = 1;
                counts.refused_while = u64::from(ran.has_refused);
                counts.complete =
                    u64::from(outcome.reason == FinishReason::Complete && outcome.errors == 0);
                counts.stranded = ran.stranded as u64;
            }
        }
        counts
    }

    fn add(&mut self, other: Self) {
        self.ran += other.ran;
        self.refused_before += other.refused_before;
        self.refused_while += other.refused_while;
        self.complete += other.complete;
        self.stranded += other.stranded;
        for (what, count) in other.moves {
            *self.moves.entry(what).or_insert(0) += count;
        }
    }
}

#[test]
fn others_keep_their_bytes_and_names_whatever_they_do() {
    let counts = seeds_in_parallel(|seed| {
        let world = World::new(seed);
        let mut others = world.others();
        let model = Model::new(&world.tree, move |tree| others.act(tree));
        let ending = execute(model, &world, [1, 2, 7][seed as usize % 3]);
        if let Err(harm) = check(&world, &ending) {
            panic!("seed {seed}: {harm}");
        }
        Counts::of(&ending, &world.theirs.lock().unwrap())
    });
    // The proof is worth something only where executions get to work, and where they are hindered, in each way.
    let Counts {
        ran,
        refused_before,
        refused_while,
        complete,
        stranded,
        moves,
    } = counts;
    let all = format!(
        "{ran} ran, {refused_before} refused before, {refused_while} while, {complete} complete, {stranded} stranded, {moves:?}"
    );
    println!("{all}");
    assert!(ran > SEEDS / 4 && complete > SEEDS / 10, "{all}");
    assert!(
        refused_before > SEEDS / 10 && refused_while > SEEDS / 50,
        "{all}"
    );
    assert!(stranded < SEEDS / 100, "{all}");
    for what in Move::ALL {
        assert!(
            moves.get(&what).is_some_and(|count| *count > SEEDS / 50),
            "{what:?}: {all}"
        );
    }
}

#[test]
fn alone_nothing_is_refused_and_workers_do_not_show() {
    let counts = seeds_in_parallel(|seed| {
        if seed % 10 > 0 {
            return Counts::default();
        }
        let ended = [1, 2, 7].map(|workers| {
            let world = World::new(seed);
            let ending = execute(Model::alone(&world.tree), &world, workers);
            check(&world, &ending).unwrap_or_else(|harm| panic!("seed {seed}: {harm}"));
            (world, ending)
        });
        let mut all = Counts::default();
        for (world, ending) in &ended {
            all.add(Counts::of(ending, &world.theirs.lock().unwrap()));
            let (Ending::Ran(first), Ending::Ran(ran)) = (&ended[0].1, ending) else {
                continue;
            };
            let outcome = &ran.story.outcome;
            assert_eq!(outcome.reason, FinishReason::Complete, "seed {seed}");
            assert_eq!(outcome.errors, 0, "seed {seed}: {:?}", ran.story.failures());
            assert!(!ran.has_refused, "seed {seed}");
            assert!(first.story.events == ran.story.events, "seed {seed}");
            ran.story.check_accounts();
            let contents = |world: &World| format!("{:?}", world.tree.lock().unwrap());
            assert_eq!(contents(&ended[0].0), contents(world), "seed {seed}");
        }
        all
    });
    assert!(counts.ran > SEEDS / 10, "{} ran", counts.ran);
    assert_eq!((counts.complete, counts.refused_while), (counts.ran, 0));
}
