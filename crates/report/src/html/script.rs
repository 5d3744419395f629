//! The scripts and styles of the page. Knows nothing of what is shown.

/// Our own script, which draws the charts from the data.
pub(super) const DRAW: &str = include_str!("../../assets/report.js");

/// The style sheet.
pub(super) const STYLE: &str = include_str!("../../assets/report.css");

/// What a web address in the chart script becomes: an address that no browser fetches.
const UNFETCHABLE: &str = "about:invalid#";

/// Names of XML vocabularies, which the script needs to create drawings; nothing fetches them.
const VOCABULARIES: &str = "www.w3.org/";

/// Plotly's bundle for charts with two axes, as it is published.
const PLOTLY: &str = include_str!("../../assets/plotly/plotly-cartesian.min.js");

/// Plotly's script without any address.
pub(super) fn plotly() -> String {
    without_addresses(PLOTLY)
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
    fn the_chart_script_fits_into_a_page_without_an_address() {
        let script = plotly();
        assert!(script.contains("plotly.js (cartesian - minified) v"));
        assert!(!script.contains("</script"));
        let addresses = script
            .split("http")
            .skip(1)
            .map(|rest| rest.strip_prefix('s').unwrap_or(rest))
            .filter(|rest| rest.starts_with("://") && !rest.starts_with("://www.w3.org/"));
        assert_eq!(addresses.count(), 0);
    }
}
