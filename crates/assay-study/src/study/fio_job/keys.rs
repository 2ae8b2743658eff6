//! Keys of fio's job files: what is translated, what only reports, and what others would have meant.

/// Other names of one key.
const ALIASES: [(&str, &str); 9] = [
    ("readwrite", "rw"),
    ("blocksize", "bs"),
    ("iodepth_batch_submit", "iodepth_batch"),
    ("io_limit", "io_size"),
    ("mem", "iomem"),
    ("ioscheduler", "ioscheduler"),
    ("startdelay", "startdelay"),
    ("fill_fs", "fill_device"),
    ("nr_files", "nrfiles"),
];

/// The usual name of a key.
pub(super) fn usual(key: &str) -> &str {
    ALIASES.iter().find(|(other, _)| *other == key).map_or(key, |(_, usual)| usual)
}

/// Keys by which a job waits for those before it.
pub(super) const WAITS: [&str; 2] = ["stonewall", "wait_for_previous"];

/// What is translated.
pub const CORE: [&str; 18] = [
    "rw",
    "bs",
    "ioengine",
    "iodepth",
    "numjobs",
    "direct",
    "buffered",
    "runtime",
    "time_based",
    "size",
    "filesize",
    "io_size",
    "filename",
    "directory",
    "rwmixread",
    "rwmixwrite",
    "ramp_time",
    "fdatasync",
];

/// What this engine does anyway.
pub const SAME: [&str; 8] = [
    "norandommap",
    "randrepeat",
    "randseed",
    "refill_buffers",
    "thread",
    "fallocate",
    "invalidate",
    "fixedbufs",
];

/// What these keys are where nobody says them: that changes nothing.
const USUAL: [(&str, &[&str]); 17] = [
    ("verify", &["0", "none"]),
    ("do_verify", &["0"]),
    ("loops", &["1"]),
    ("offset", &["0"]),
    ("offset_increment", &["0"]),
    ("startdelay", &["0"]),
    ("nrfiles", &["1"]),
    ("fsync", &["0"]),
    ("end_fsync", &["0"]),
    ("sync", &["0", "none"]),
    ("overwrite", &["0"]),
    ("zero_buffers", &["0"]),
    ("thinktime", &["0"]),
    ("percentage_random", &["100"]),
    ("random_distribution", &["random"]),
    ("iodepth_batch", &["1"]),
    ("hipri", &["0"]),
];

/// Whether a setting is what fio takes anyway.
pub(super) fn is_usual(key: &str, value: &str) -> bool {
    USUAL.iter().any(|(name, values)| *name == key && values.contains(&value))
}

/// What only says how fio reports.
pub const ONLY_TOLD: [&str; 44] = [
    "group_reporting",
    "new_group",
    "name",
    "description",
    "write_bw_log",
    "write_lat_log",
    "write_iops_log",
    "write_hist_log",
    "log_avg_msec",
    "log_hist_msec",
    "log_hist_coarseness",
    "log_max_value",
    "log_offset",
    "log_prio",
    "log_issue_time",
    "log_compression",
    "log_compression_cpus",
    "log_store_compressed",
    "log_unix_epoch",
    "log_alternate_epoch",
    "log_window_value",
    "log_entries",
    "per_job_logs",
    "percentile_list",
    "clat_percentiles",
    "lat_percentiles",
    "slat_percentiles",
    "significant_figures",
    "disk_util",
    "unified_rw_reporting",
    "gtod_reduce",
    "disable_lat",
    "disable_clat",
    "disable_slat",
    "disable_bw_measurement",
    "bwavgtime",
    "iopsavgtime",
    "stats",
    "continue_on_error",
    "error_dump",
    "unit_base",
    "block_error_percentiles",
    "log_alternate_epoch_clock_id",
    "clocksource",
];

/// What others would have meant.
pub(super) const MEANINGS: &[(&str, &str)] = &[
    ("exec_prerun", "a program that is run before the job; nothing of a job file is ever executed"),
    ("exec_postrun", "a program that is run after the job; nothing of a job file is ever executed"),
    ("verify", "each block is read again and its checksum compared"),
    ("do_verify", "a pass that reads again what was written"),
    ("verify_pattern", "what blocks are filled with, and compared with"),
    ("verify_fatal", "the first block that differs ends the job"),
    ("bssplit", "several block sizes, each with a share"),
    ("bsrange", "block sizes between two bounds"),
    ("random_distribution", "some blocks are visited more often than others"),
    ("percentage_random", "only a share of the operations goes to random places"),
    ("rate", "at most so many bytes a second"),
    ("rate_iops", "at most so many operations a second"),
    ("rate_min", "the job fails below so many bytes a second"),
    ("rate_process", "how the pauses of a limited rate are drawn"),
    ("thinktime", "a pause between operations"),
    ("thinktime_blocks", "operations between two pauses"),
    ("loops", "the job is run so many times in a row"),
    ("offset", "the job begins at a later place of its file"),
    ("offset_increment", "each further job begins so much later"),
    ("startdelay", "the job begins so much later"),
    ("nrfiles", "several files for each job"),
    ("fsync", "an fsync after so many writes; only fdatasync=1 can be done"),
    ("end_fsync", "an fsync at the end of the job"),
    ("sync", "the file is opened so that each write waits for the drive"),
    ("cpus_allowed", "processors that the job may use"),
    ("numa_cpu_nodes", "nodes whose processors the job may use"),
    ("prio", "priority of the requests"),
    ("prioclass", "class of priority of the requests"),
    ("nice", "niceness of the process"),
    ("rwmixcycle", "how often reads and writes change"),
    ("iodepth_batch", "how many operations are handed over at once"),
    ("iodepth_batch_complete", "how many operations are waited for at once"),
    ("iodepth_batch_complete_max", "how many operations are waited for at most"),
    ("iodepth_batch_complete_min", "how many operations are waited for at least"),
    ("iodepth_low", "the queue is filled again only below so many"),
    ("latency_target", "the queue is shortened until latencies are below this"),
    ("steadystate", "the job ends when its rate no longer changes"),
    ("buffer_compress_percentage", "how far the written bytes can be compressed"),
    ("dedupe_percentage", "how many of the written blocks are alike"),
    ("zero_buffers", "zeros are written"),
    ("hipri", "completions are polled for"),
    ("registerfiles", "files are known to the kernel beforehand"),
    ("sqthread_poll", "a thread of the kernel takes the requests"),
    ("overwrite", "the file is written once before"),
    ("create_only", "files are made and nothing else is done"),
    ("zonemode", "the drive is used in zones"),
    ("exitall", "all jobs end as soon as one does"),
    ("kb_base", "whether k is 1000 or 1024"),
    ("zonesize", "bytes of a zone"),
    ("read_iolog", "operations are repeated that were recorded"),
    ("write_iolog", "operations are recorded"),
    ("force_async", "every so many operations are handed to a thread of the kernel"),
    ("flow", "jobs are kept in step with each other"),
    ("lockfile", "files are locked while they are used"),
    ("unlink", "the file is removed afterwards, as Assay always does with its own"),
    ("ioscheduler", "the scheduler is changed; a study does that as a factor: scheduler"),
];
