//! What all pages have around them. Knows nothing of what is shown.
use super::script;
use super::text::Escaped;
use std::io::{self, Write};

/// Draws the charts of a comparison.
pub(crate) const COMPARISON: &str = include_str!("../../assets/comparison.js");

/// Everything up to the body.
pub(crate) fn write_head(title: &str, out: &mut dyn Write) -> io::Result<()> {
    // The policy is a second lock on the promise that nothing is fetched.
    write!(
        out,
        concat!(
            "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n",
            "<meta name=\"generator\" content=\"Fathom\">\n",
            "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; ",
            "script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data: blob:; ",
            "base-uri 'none'; form-action 'none'\">\n",
            "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n",
            "<meta name=\"color-scheme\" content=\"light dark\">\n",
            "<link rel=\"icon\" href=\"data:,\">\n",
            "<title>{title} – Fathom</title>\n<style>{style}</style>\n</head>\n"
        ),
        title = Escaped(title),
        style = script::STYLE,
    )
}

/// Everything after what is shown: the data, and what draws them.
pub(crate) fn write_end(json: &str, draw: &str, out: &mut dyn Write) -> io::Result<()> {
    out.write_all(b"</main>\n<script type=\"application/json\" id=\"data\">")?;
    out.write_all(json.as_bytes())?;
    out.write_all(b"</script>\n<script>")?;
    out.write_all(script::PLOTLY.as_bytes())?;
    out.write_all(b"</script>\n<script>")?;
    out.write_all(script::CHARTS.as_bytes())?;
    out.write_all(draw.as_bytes())?;
    out.write_all(b"</script>\n</body>\n</html>\n")
}
