//! Kinds of work. One so far: reads and writes of blocks.

pub mod beside;
pub mod fio_line;
pub mod io;
