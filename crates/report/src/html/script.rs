//! The scripts and styles of the page. Knows nothing of what is shown.

/// What the scripts of all pages share.
pub(super) const CHARTS: &str = include_str!("../../assets/charts.js");

/// Our own script, which draws the charts from the data.
pub(super) const DRAW: &str = include_str!("../../assets/report.js");

/// The style sheet.
pub(super) const STYLE: &str = include_str!("../../assets/report.css");

/// Plotly's bundle for charts with two axes, in which no address is left that a browser would fetch.
pub(super) const PLOTLY: &str = include_str!("../../assets/plotly/plotly-cartesian.min.js");

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_chart_script_fits_into_a_page_without_an_address() {
        let script = PLOTLY;
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
