//! The scripts and styles of the page. Knows nothing of what is shown.
use plotly::Plot;

/// Our own script, which draws the charts from the data.
pub(super) const DRAW: &str = include_str!("../../assets/report.js");

/// The style sheet.
pub(super) const STYLE: &str = include_str!("../../assets/report.css");

/// What a web address in the chart script becomes: an address that no browser fetches.
const UNFETCHABLE: &str = "about:invalid#";

/// Names of XML vocabularies, which the script needs to create drawings; nothing fetches them.
const VOCABULARIES: &str = "www.w3.org/";

/// Plotly's script without the other scripts that its crate ships and without any address.
pub(super) fn plotly() -> String {
    let sources = Plot::offline_js_sources();
    without_addresses(first_script(&sources))
}

/// The text of the first script element: the crate puts Plotly before MathJax.
fn first_script(sources: &str) -> &str {
    let opening = sources
        .find("<script")
        .and_then(|at| sources[at..].find('>').map(|length| at + length + 1))
        .expect("the crate wraps its script into an element");
    let length = sources[opening..]
        .find("</script")
        .expect("the crate closes its script element");
    &sources[opening..opening + length]
}

/// The text with every `http://` and `https://` that is not the name of a vocabulary replaced.
fn without_addresses(text: &str) -> String {
    let mut clean = String::with_capacity(text.len() + 4096);
    let mut rest = text;
    while let Some(at) = rest.find("://") {
        let (before, after) = (&rest[..at], &rest[at + 3..]);
        let scheme = ["https", "http"]
            .into_iter()
            .find(|scheme| before.ends_with(scheme));
        match scheme {
            Some(scheme) if !after.starts_with(VOCABULARIES) => {
                clean.push_str(&before[..before.len() - scheme.len()]);
                clean.push_str(UNFETCHABLE);
            }
            _ => {
                clean.push_str(before);
                clean.push_str("://");
            }
        }
        rest = after;
    }
    clean.push_str(rest);
    clean
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_go_and_vocabularies_stay() {
        let text = "a=\"https://cdn.example/x\";b='http://www.w3.org/2000/svg';c=`http://e.org`";
        assert_eq!(
            without_addresses(text),
            "a=\"about:invalid#cdn.example/x\";b='http://www.w3.org/2000/svg';c=`about:invalid#e.org`"
        );
    }

    #[test]
    fn the_chart_script_is_plotly_alone() {
        let script = plotly();
        assert!(script.len() > 1_000_000 && script.len() < 6_000_000);
        assert!(script.contains("plotly.js v"));
        // The second script of the crate registers itself under this name.
        assert!(!script.contains("MathJax={"));
        assert!(!script.contains("</script"));
        let addresses = script
            .split("http")
            .skip(1)
            .map(|rest| rest.strip_prefix('s').unwrap_or(rest))
            .filter(|rest| rest.starts_with("://") && !rest.starts_with("://www.w3.org/"));
        assert_eq!(addresses.count(), 0);
    }
}
