//! `fathom scale`: a job with one quantity varied, and what made it scale.
use crate::arguments::ScaleOptions;
use crate::exit::{Exit, fail};
use crate::hosts;
use crate::run;
use crate::vary::Hold;
use plan::{Held, Scaling};

pub fn main(options: &ScaleOptions, arguments: &[String]) -> Exit {
    let scaling = Scaling {
        quantity: options.vary.quantity,
        values: options.vary.values.clone(),
        held: Held {
            slots: options.hold.contains(&Hold::Slots),
            bytes: options.hold.contains(&Hold::Bytes),
        },
    };
    if options.run.common.resume.is_some() {
        return fail(
            Exit::Usage,
            "a job that is varied goes on with `fathom run --resume`",
        );
    }
    let mut run_options = options.run.clone();
    // Once it is spread, the hosts are those of the plan.
    run_options.common.fleet.hosts = None;
    run::carry_out(&run_options, arguments, |plan| {
        let spread = hosts::spread(&plan, &options.run.common.fleet)?;
        let scaled = scaling.apply(&spread.unwrap_or(plan));
        scaled.map_err(|error| format!("`--vary {}`: {error}", options.vary.text))
    })
}
