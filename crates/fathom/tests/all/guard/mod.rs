//! What is refused, before anything is written and while it is.
mod exchange;
pub mod held;
mod matrix;
mod outputs;
mod room;
mod standing;
mod survey;
