//! All results of this machine in a browser. Reads bundles and shows what the commands show;
//! computes nothing and writes nothing.
//!
//! One thread speaks HTTP (tokio, current thread); two others read bundles, one for what is quickly
//! told and one for pages, so that neither a slow disk nor a large result keeps anybody waiting for
//! an answer that is ready. What a bundle says is untrusted text.

mod catalogue;
mod find;
mod guard;
mod kept;
mod lines;
mod live;
mod pages;
mod query;
mod readers;
mod routes;
mod server;
mod stamp;

pub use server::{Options, Started, serve};
