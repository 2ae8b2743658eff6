//! Context of a table of measurements: machine, load, date.

use std::fs;

use crate::call;

pub fn lines() -> Vec<String> {
    let text = |path: &str| fs::read_to_string(path).unwrap_or_default();
    let cpuinfo = text("/proc/cpuinfo");
    let field = |name: &str| {
        let line = cpuinfo.lines().find(|line| line.starts_with(name));
        line.and_then(|line| line.split_once(": ")).map_or("", |(_, value)| value)
    };
    let cpus = cpuinfo.lines().filter(|line| line.starts_with("processor")).count();
    let guest = field("flags").split(' ').any(|flag| flag == "hypervisor");
    let memory = text("/proc/meminfo");
    let kilobytes = memory.split_whitespace().nth(1).and_then(|word| word.parse::<f64>().ok());
    let load = text("/proc/loadavg");
    let load: Vec<&str> = load.split(' ').take(3).collect();
    let date = call("date", &["--utc", "+%Y-%m-%d %H:%M UTC"]).unwrap_or_default();
    vec![
        format!("- date: {}", date.trim()),
        format!(
            "- machine: {}, {cpus} logical CPUs, {:.1} GiB of memory, {}",
            field("model name"),
            kilobytes.unwrap_or_default() / (1024.0 * 1024.0),
            if guest { "a virtual machine" } else { "bare metal" }
        ),
        format!("- kernel: {}", text("/proc/sys/kernel/osrelease").trim()),
        format!("- load average at the start: {}", load.join(" ")),
    ]
}
