//! What each text measured and how to run it oneself.

/// An article: a collection of texts under one number.
pub struct About {
    pub number: &'static str,
    /// Number of the article that holds all of its texts, where it has none of its own.
    pub repeats: Option<&'static str>,
    /// Its texts that say something of performance.
    pub texts: &'static [Text],
}

/// One text of an article.
#[derive(Clone, Copy)]
pub struct Text {
    pub title: &'static str,
    /// What was measured, and how often.
    pub measured: &'static str,
    /// Commands that do it again and are no presets: presets say themselves which texts they are of.
    pub again: &'static [Command],
}

/// A command, with what it does.
pub struct Command(pub &'static str, pub &'static str);

const CARDS: &[Text] = &[
    Text {
        title: "More/Better Internal Storage on the Toshiba AC100",
        measured: "random writes of SD cards, one number of the best, beside a vendor's figures",
        again: &[],
    },
    Text {
        title: "Flash Module Benchmark Collection",
        measured: "linear and random rates of cards with dd and iozone; the table is elsewhere",
        again: &[],
    },
];

/// All articles, by number.
pub static ARTICLES: &[About] = &[
    About {
        number: "000",
        repeats: None,
        texts: &[
            Text {
                title: "WQUXGA - IBM T221 3840x2400 204dpi Monitor - Part 5",
                measured: "one mode that a monitor takes on a single link, found by trial",
                again: &[Command(
                    "assay calc modeline 3840x2400 --clock 165 --h 31-105 --v 12-60",
                    "the highest refresh within the limits",
                )],
            },
            Text {
                title: "Getting the Best out of the MacBook Pro Retina 15 Screen in VMware Fusion",
                measured: "one mode that the driver of a guest takes, found by trial",
                again: &[Command(
                    "assay calc modeline 2880x1800 --h 30-90 --v 30-60",
                    "the highest refresh within the limits",
                )],
            },
            Text {
                title: super::virtualisation::TITLE,
                measured: "seconds of a kernel build in eight places, the best of three runs",
                again: &[],
            },
            CARDS[0],
            CARDS[1],
            Text {
                title: "Alleviating Memory Pressure on Toshiba AC100",
                measured: "nothing: sizes of frame buffers and memory regions are computed",
                again: &[Command(
                    "assay calc memmap mem=448M@0M mem=48M@464M --before 448M",
                    "the regions, their gap and what is gained",
                )],
            },
        ],
    },
    About { number: "001", repeats: Some("000"), texts: CARDS },
    About {
        number: "002",
        repeats: None,
        texts: &[
            Text {
                title: "Fixing BufferBloat",
                measured: "delay under upload, one web test before and one after a cap",
                again: &[],
            },
            Text {
                title: "Setting up a Small Desktop RAID System",
                measured: "nothing: what a write moves is counted by hand",
                again: &[Command(
                    "assay calc raid --level 5 --disks 4 --size 3TB --chunk 128KiB --write 2KiB",
                    "what the change moves by each way of counting, and on Linux md",
                )],
            },
            Text {
                title: "Pegasus2 Impressions",
                measured: "rates of large files on an array, one reading by each of two programs",
                again: &[],
            },
            Text {
                title: "File Vault 2 on the 2011 MacBook Air",
                measured: "10 GiB written and read by dd without and with encryption, one run each",
                again: &[Command(
                    "assay check /mnt/plain /mnt/encrypted",
                    "a directory on each, compared",
                )],
            },
        ],
    },
    About {
        number: "003",
        repeats: None,
        texts: &[Text {
            title: "Intel SSD 520 Goodness",
            measured: "an SSD beside a disk, file systems by threads, schedulers by file systems; \
                       means of five runs without spread",
            again: &[],
        }],
    },
    About {
        number: "004",
        repeats: None,
        texts: &[
            Text {
                title: "ZFS compression results in workload starvation, partially ameliorated by \
                        async_write_max_active",
                measured: "latencies of four classes of operations, 60 s under each of two levels, \
                           once",
                again: &[],
            },
            Text {
                title: "Making old machines run a modern Linux distribution surprisingly well \
                        (using Zswap)",
                measured: "no numbers: the text only tells that it worked",
                again: &[],
            },
        ],
    },
];
