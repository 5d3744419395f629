//! Options that fio 3.33 does not know and later releases have. Each has its row among the others; the list is
//! what a reader of a newer job file looks for.
use super::engines;
use crate::Status;

/// Options, values as `OPTION=VALUE` and engines as `ioengine=NAME`.
const LATER: &[&str] = &[
    "end_syncfs",
    "fadvise_hint=noreuse",
    "job_start_clock_id",
    "log_issue_time",
    "priohint",
    "cmdprio_hint",
    "ramp_size",
    "random_sequence_stride",
    "steadystate_check_interval",
    "thinkcycles",
    "verify=pattern_hdr",
    "verify_header_seed",
    "verify_pattern_interval",
    "verify_policy",
    "verify_write_sequence",
    "fdp",
    "fdp_pli",
    "fdp_pli_select",
    "dataplacement",
    "dp_scheme",
    "plids",
    "plid_select",
    "num_range",
    "sprandom",
    "spr_num_regions",
    "spr_op",
    "spr_cs",
    "recover_zbd_write_error",
    "write_zone_remainder",
    "write_mode",
    "verify_mode",
    "deac",
    "md_per_io_size",
    "pi_act",
    "pi_chk",
    "apptag",
    "apptag_mask",
    "posixaio_respect_iodepth_batch_complete_max",
    "rbd_encryption_format",
    "rbd_encryption_passphrase",
    "ioengine=dircreate",
    "ioengine=dirstat",
    "ioengine=dirdelete",
    "ioengine=libhipfile",
];

/// A chapter of the page of reference. `of_option` says how far an option is supported.
pub(super) fn markdown(of_option: impl Fn(&str) -> Option<Status>) -> String {
    let mut out = String::from(
        "\n## Options of later releases\n\nAll else follows fio 3.33, which knows none of these. Each has its row above.\n\n\
         | Support | Options, values and engines |\n|---|---|\n",
    );
    for support in ["honoured", "translated", "refused"] {
        let names = LATER.iter();
        let names = names.filter(|name| word(name, &of_option) == support);
        let names: Vec<String> = names.map(|name| format!("`{name}`")).collect();
        out += &format!("| {support} | {} |\n", names.join(", "));
    }
    out
}

/// How far one of them is supported.
fn word(name: &str, of_option: impl Fn(&str) -> Option<Status>) -> &'static str {
    let option = name.split('=').next().unwrap_or(name);
    let engine = name.strip_prefix("ioengine=").and_then(engines::find);
    let status = engine.map(|engine| engine.status);
    let status = status.or_else(|| of_option(option));
    match status.expect("each of the list is declared") {
        Status::Honoured => "honoured",
        Status::Translated(_) => "translated",
        Status::CheckOnly => "check only",
        Status::Refused(_) => "refused",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_is_declared_and_stands_in_one_row() {
        let page = crate::fio::reference_markdown();
        let (_, page) = page.split_once("## Options of later releases").unwrap();
        let (page, _) = page.split_once("\n## ").unwrap();
        for name in LATER {
            assert_eq!(page.matches(&format!("`{name}`")).count(), 1, "{name}");
        }
    }
}
