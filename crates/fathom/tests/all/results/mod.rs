//! Results, what is imported as one, and what reports say of them.
mod compare;
mod curve;
mod damaged;
mod imports;
mod known;
mod report_again;
mod run;
mod scale;
mod situations;
mod table;
