//! Pages as a whole.
