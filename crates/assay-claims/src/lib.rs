//! What is claimed, held against what was measured.
//!
//! Here belongs what published numbers support ([`articles`]), the published table that is set beside measured
//! places ([`beside`]), and many results as one table ([`collection`]).
//! What one result says does not: that is `assay-verdict`. The digits that were published stand in the tables of
//! `assay_base::reference`.
//!
//! The types to know: [`articles::Article`], [`articles::Claim`], [`collection::Row`] (a device and
//! measurement), [`collection::Group`].

#![forbid(unsafe_code)]
#![cfg_attr(test, allow(clippy::unwrap_used, clippy::expect_used))]

pub mod articles;
pub mod beside;
pub mod collection;
