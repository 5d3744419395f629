//! Every value of a raw job in the words of the language, with where it comes from.
use super::declare::{Section, Status};
use super::fields::Fields;
use super::lower::Job;
use super::model::Workload;
use crate::Environment;
use crate::parameter::DefaultValue;
use plan::{Origin, PlanValue};

/// Values of general parameters, storage, workloads and runs, in this order.
pub(crate) fn all(
    general: &Fields,
    job: &Job<'_>,
    workloads: &[Workload],
    environment: &Environment<'_>,
) -> Vec<PlanValue> {
    let mut out = Vec::new();
    of_definition("general".to_owned(), general, &mut out);
    for storage in job.storages {
        of_definition(format!("sd={}", storage.name), &storage.fields, &mut out);
    }
    for workload in workloads {
        of_definition(format!("wd={}", workload.name), &workload.fields, &mut out);
    }
    let line = &environment.command_line;
    for definition in job.definitions {
        let subject = format!("rd={}", definition.name);
        let start = out.len();
        of_definition(subject, &definition.fields, &mut out);
        let overrides = [
            ("elapsed", "-e", line.elapsed_s),
            ("interval", "-i", line.interval_s),
            ("warmup", "-w", line.warmup_s),
        ];
        for (name, option, seconds) in overrides {
            let Some(seconds) = seconds else { continue };
            for value in out[start..].iter_mut().filter(|value| value.name == name) {
                value.value = seconds.to_string();
                value.origin = Origin::Argument(format!("{option} {seconds}"));
            }
        }
    }
    out
}

fn of_definition(subject: String, fields: &Fields, out: &mut Vec<PlanValue>) {
    for parameter in fields.section.parameters() {
        let name = parameter.name();
        let given = fields.given(name);
        let is_name = parameter.name() == fields.section.keyword();
        let says_nothing = given.is_none()
            && (parameter.default == DefaultValue::Nothing || parameter.status != Status::Honoured);
        if is_name || says_nothing || fields.section == Section::Host {
            continue;
        }
        let value = given.map_or_else(
            || parameter.default_text(),
            |field| {
                let words: Vec<&str> = field.words.iter().map(|word| word.text.as_str()).collect();
                match words.as_slice() {
                    [one] => (*one).to_owned(),
                    many => format!("({})", many.join(",")),
                }
            },
        );
        out.push(PlanValue {
            subject: subject.clone(),
            name: name.to_owned(),
            value,
            origin: fields.origin(name),
        });
    }
}
