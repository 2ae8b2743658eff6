//! Formats of study keys with a separate grammar.

use assay_core::catalogue::keys::OwnForm;

use super::{Access, Duplicates, WriteSync};

pub(super) static ACCESS: OwnForm = OwnForm {
    read: |text| text.parse::<Access>().map(String::from),
    pattern: Access::LOOKS,
    example: "uniform",
    number: None,
};

pub(super) static DUPLICATES: OwnForm = OwnForm {
    read: |text| text.parse::<Duplicates>().map(String::from),
    pattern: r"^[0-9]{1,3}\s*%$",
    example: "0%",
    number: None,
};

pub(super) static SYNC: OwnForm = OwnForm {
    read: |text| text.parse::<WriteSync>().map(String::from),
    pattern: "^(none|f(data)?sync(:[1-9][0-9]{0,6})?|o_dsync|o_sync)$",
    example: "none",
    number: None,
};
