//! What tests share: a folder for each, disks that answer as a test decides, and JSON against its schema.
pub mod lab;
pub mod schema;
pub mod served;
