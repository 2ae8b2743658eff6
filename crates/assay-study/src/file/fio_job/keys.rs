//! Keys of fio job files: supported ones, reporting options, and the effect of unsupported ones.

#[rustfmt::skip]
const ALIASES: [(&str, &str); 21] = [
    ("readwrite", "rw"), ("blocksize", "bs"), ("blocksize_range", "bsrange"), ("blockalign", "ba"),
    ("timeout", "runtime"), ("threads", "thread"), ("allrandrepeat", "randrepeat"),
    ("iodepth_batch_submit", "iodepth_batch"), ("iodepth_batch_complete", "iodepth_batch_complete_min"),
    ("io_limit", "io_size"), ("fileoffset", "offset"), ("iomem", "mem"), ("fill_fs", "fill_device"),
    ("nr_files", "nrfiles"), ("ratemin", "rate_min"), ("ss", "steadystate"),
    ("ss_dur", "steadystate_duration"), ("ss_ramp", "steadystate_ramp_time"),
    ("ss_interval", "steadystate_check_interval"), ("fdp_pli", "plids"),
    ("disable_bw", "disable_bw_measurement"),
];

pub(super) fn usual(key: &str) -> &str {
    ALIASES.iter().find(|(other, _)| *other == key).map_or(key, |(_, usual)| usual)
}

pub(super) const WAITS: [&str; 2] = ["stonewall", "wait_for_previous"];

#[rustfmt::skip]
pub const TRANSLATED: [&str; 38] = [
    "rw", "bs", "ioengine", "iodepth", "numjobs", "direct", "buffered", "runtime", "time_based", "size",
    "filesize", "io_size", "filename", "directory", "rwmixread", "rwmixwrite", "ramp_time", "fdatasync",
    "fsync", "sync", "bsrange", "loops", "number_ios", "buffer_compress_percentage", "dedupe_percentage",
    "zero_buffers", "wait_for", "rate_iops", "rate_process", "thinktime", "thinktime_blocks", "bssplit",
    "random_distribution", "ba", "verify", "do_verify", "hipri", "sqthread_poll",
];

#[rustfmt::skip]
pub const ALWAYS_ACTIVE: [&str; 11] = [
    "norandommap", "randrepeat", "randseed", "refill_buffers", "thread", "fallocate", "invalidate",
    "fixedbufs", "registerfiles", "overwrite", "create_serialize",
];

/// Values that equal fio's default or Assay's behavior, so Assay ignores them.
#[rustfmt::skip]
const USUAL: [(&str, &[&str]); 14] = [
    ("offset", &["0", "0%"]), ("offset_increment", &["0"]), ("startdelay", &["0"]), ("nrfiles", &["1"]),
    ("end_fsync", &["0"]), ("percentage_random", &["100"]), ("iodepth_batch", &["1"]),
    ("iodepth_batch_complete_min", &["1"]), ("cpus_allowed_policy", &["shared"]),
    ("io_submit_mode", &["inline"]), ("scramble_buffers", &["1"]), ("create_on_open", &["0"]),
    ("allow_file_create", &["1"]), ("buffer_compress_chunk", &["4k", "4096"]),
];

pub(super) fn is_usual(key: &str, value: &str) -> bool {
    USUAL.iter().any(|(name, values)| *name == key && values.contains(&value))
}

/// Keys that only change fio's reports.
#[rustfmt::skip]
pub const REPORT_ONLY: [&str; 44] = [
    "group_reporting", "new_group", "name", "description", "write_bw_log", "write_lat_log", "write_iops_log",
    "write_hist_log", "log_avg_msec", "log_hist_msec", "log_hist_coarseness", "log_max_value", "log_offset",
    "log_prio", "log_issue_time", "log_compression", "log_compression_cpus", "log_store_compressed",
    "log_unix_epoch", "log_alternate_epoch", "log_window_value", "log_entries", "per_job_logs",
    "percentile_list", "clat_percentiles", "lat_percentiles", "slat_percentiles", "significant_figures",
    "disk_util", "unified_rw_reporting", "gtod_reduce", "disable_lat", "disable_clat", "disable_slat",
    "disable_bw_measurement", "bwavgtime", "iopsavgtime", "stats", "continue_on_error", "error_dump",
    "unit_base", "block_error_percentiles", "log_alternate_epoch_clock_id", "clocksource",
];

pub(super) const MEANINGS: &[(&str, &str)] = &[
    ("exec_prerun", "runs a program before the job, but Assay executes nothing from a job file"),
    ("exec_postrun", "runs a program after the job, but Assay executes nothing from a job file"),
    ("verify_pattern", "sets the pattern to write and to verify"),
    ("verify_fatal", "ends the job at the first mismatch"),
    ("percentage_random", "makes only a share of the operations random"),
    ("rate", "limits the bandwidth"),
    ("rate_min", "fails the job below a minimum bandwidth"),
    ("offset", "starts the job at an offset in the file"),
    ("offset_increment", "adds an offset for each further job"),
    ("startdelay", "delays the start of the job"),
    ("nrfiles", "uses several files per job"),
    ("end_fsync", "calls fsync at the end of the job"),
    ("cpus_allowed", "restricts the job to some CPUs"),
    ("numa_cpu_nodes", "restricts the job to the CPUs of some NUMA nodes"),
    ("prio", "sets the priority of the requests"),
    ("prioclass", "sets the priority class of the requests"),
    ("nice", "sets the niceness of the process"),
    ("rwmixcycle", "sets how often reads and writes alternate"),
    ("iodepth_batch", "sets how many operations fio submits at once"),
    ("iodepth_batch_complete_max", "sets the maximum number of completions per batch"),
    ("iodepth_batch_complete_min", "sets the minimum number of completions per batch"),
    ("iodepth_low", "sets the queue depth below which fio refills the queue"),
    ("latency_target", "lowers the queue depth until latencies meet a target"),
    ("steadystate", "ends the job when its rate is steady"),
    ("create_only", "only creates the files"),
    ("zonemode", "uses the zones of the drive"),
    ("exitall", "ends all jobs when one job ends"),
    ("kb_base", "sets whether k is 1000 or 1024"),
    ("zonesize", "sets the size of a zone"),
    ("read_iolog", "replays recorded operations"),
    ("write_iolog", "records the operations"),
    ("force_async", "passes every Nth operation to a kernel thread"),
    ("flow", "keeps jobs in proportion to each other"),
    ("lockfile", "locks files during I/O"),
    ("unlink", "removes the file afterwards (Assay removes only files that it creates)"),
    ("ioscheduler", "changes the I/O scheduler (use the factor scheduler instead)"),
    ("atomic", "issues atomic writes, which a power loss cannot tear"),
    ("buffer_pattern", "sets the pattern to write"),
    ("buffer_compress_chunk", "sets the unit of compressibility (Assay supports only 4k)"),
    ("scramble_buffers", "sets whether written blocks differ from each other"),
    ("dedupe_mode", "selects the blocks to duplicate"),
    ("dedupe_global", "creates duplicate blocks across jobs"),
    ("dedupe_working_set_percentage", "sets the share of blocks to copy from"),
    ("cmdprio", "sets a priority for some requests"),
    ("cmdprio_class", "sets a priority class for some requests"),
    ("cmdprio_percentage", "sets a priority for a share of the requests"),
    ("cmdprio_bssplit", "sets priorities by request size"),
    ("cpus_allowed_policy", "sets how jobs share the CPUs"),
    ("numa_mem_policy", "restricts the job's memory to some NUMA nodes"),
    ("mem", "sets the type of memory for buffers"),
    ("create_on_open", "creates files during the job instead of before"),
    ("allow_file_create", "fails the job if its file does not exist"),
    ("filename_format", "sets the names of the files that the job creates"),
    ("openfiles", "limits the number of open files"),
    ("file_service_type", "sets how the job switches between files"),
    ("exit_what", "selects the jobs that end together"),
    ("flow_sleep", "sets how long a job waits for the others to catch up"),
    ("fill_device", "writes until no space is left"),
    ("ignore_error", "ignores some errors"),
    ("io_submit_mode", "submits requests from separate threads"),
    ("nonvectored", "uses system calls without I/O vectors"),
    ("sqthread_poll_cpu", "sets the CPU of the kernel's polling thread"),
    ("random_generator", "selects the random number generator"),
    ("max_open_zones", "limits the number of zones open for writing"),
    ("zoneskip", "sets the number of bytes between two zones"),
    ("read_beyond_wp", "allows reads beyond the write pointer of a zone"),
    ("zone_reset_threshold", "sets when to reset zones"),
    ("zone_reset_frequency", "sets how often to reset zones"),
    ("latency_window", "sets the time window of the latency target"),
    ("latency_percentile", "sets the share of requests that must meet the latency target"),
    ("steadystate_duration", "sets how long the rate must be steady"),
    ("steadystate_ramp_time", "sets the time before the first steady-state check"),
    ("steadystate_check_interval", "sets the interval of the steady-state check"),
    ("verify_async", "verifies blocks in separate threads"),
    ("verify_backlog", "verifies blocks after a number of writes"),
    ("verify_dump", "saves mismatched blocks to files"),
    ("verify_interval", "sets the number of bytes per checksum"),
    ("verify_write_sequence", "verifies the order of the writes"),
    ("plids", "sets the data placement of the writes"),
    ("fdp", "sets the data placement of the writes"),
    ("md_per_io_size", "sets the bytes of metadata per I/O"),
    ("pi_act", "sets whether the drive generates the protection information"),
    ("pi_chk", "selects the protection information to check"),
    ("sprandom", "preconditions the drive for random writes"),
];

/// Engines that access no storage, or another kind of storage.
const ENGINES: &[(&str, &str)] = &[
    ("null", "transfers no data (assay aa-test measures the noise floor)"),
    ("cpuio", "loads the CPUs without I/O"),
    ("exec", "runs a program, but Assay executes nothing from a job file"),
    ("mmap", "accesses files through memory mappings"),
    ("page_fault", "triggers page faults without file I/O"),
    ("net", "sends data over a network"),
    ("netsplice", "sends data over a network"),
    ("rdma", "sends data over a network"),
    ("falloc", "allocates and frees file space"),
    ("ftruncate", "truncates and extends files"),
    ("e4defrag", "defragments files"),
    ("filecreate", "creates files (see assay run small-files)"),
    ("filestat", "looks up files (see assay run small-files)"),
    ("filedelete", "deletes files (see assay run small-files)"),
    ("dircreate", "creates directories"),
    ("dirstat", "looks up directories"),
    ("dirdelete", "deletes directories"),
];

pub(super) fn meaning_of_engine(word: &str) -> &'static str {
    let known = ENGINES.iter().find(|(name, _)| *name == word);
    known.map_or("accesses another kind of storage", |(_, meaning)| meaning)
}
