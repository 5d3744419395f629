//! What tests share: a folder for each, programs in it, disks that answer as a test decides, and JSON against its schema.
pub mod fio;
pub mod hosts;
#[path = "../../../../sys/tests/lab/keeper.rs"]
pub mod keeper;
pub mod lab;
#[path = "../../../../sys/tests/lab/named.rs"]
pub mod named;
pub mod schema;
pub mod served;
