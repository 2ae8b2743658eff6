//! All results of this machine in a browser. Reads bundles and shows what the commands show;
//! computes nothing and writes nothing.
//!
//! One thread speaks HTTP (tokio, current thread); two others read bundles, so that a slow disk
//! keeps nobody waiting for an answer that is ready. What a bundle says is untrusted text.

mod catalogue;
mod find;
mod guard;
mod live;
mod pages;
mod query;
mod readers;
mod routes;
mod server;

pub use server::{Started, Wishes, serve};
