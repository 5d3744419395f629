//! Parameter files, beside what Vdbench has shown.
mod extras;
mod face;
mod original;
