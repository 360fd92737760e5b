//! What the figures were measured on, and what /proc tells of a process.

use std::path::Path;
use std::process::Command;

fn read(path: impl AsRef<Path>) -> String {
    std::fs::read_to_string(path).unwrap_or_default()
}

/// Processor, cores, memory, kernel, load, commit.
pub fn describe() -> String {
    let cpu = read("/proc/cpuinfo");
    let model =
        cpu.lines().find_map(|l| l.strip_prefix("model name")).map_or("?", |l| l.trim_matches([':', '\t', ' ']));
    let cores = std::thread::available_parallelism().map_or(0, usize::from);
    let memory: u64 = field(&read("/proc/meminfo"), "MemTotal:");
    let kernel = read("/proc/sys/kernel/osrelease");
    format!(
        "machine: {model}, {cores} cores, {} GB, Linux {}\ncommit: {}\n{}",
        memory / 1_048_576,
        kernel.trim(),
        commit(),
        load()
    )
}

/// How busy the machine is with other things.
pub fn load() -> String {
    let load = read("/proc/loadavg");
    let three: Vec<&str> = load.split_whitespace().take(3).collect();
    format!("load average: {}", three.join(" "))
}

fn commit() -> String {
    let git = |args: &[&str]| {
        let output = Command::new("git").args(args).current_dir(env!("CARGO_MANIFEST_DIR")).output().ok()?;
        Some(String::from_utf8_lossy(&output.stdout).trim().to_owned())
    };
    let hash = git(&["rev-parse", "--short", "HEAD"]).filter(|h| !h.is_empty()).unwrap_or_else(|| "unknown".into());
    let changed = git(&["status", "--porcelain", "--untracked-files=no"]).is_some_and(|s| !s.is_empty());
    if changed { format!("{hash} with changes") } else { hash }
}

fn field(text: &str, name: &str) -> u64 {
    let line = text.lines().find_map(|l| l.strip_prefix(name)).unwrap_or_default();
    line.split_whitespace().next().and_then(|n| n.parse().ok()).unwrap_or(0)
}

/// A process and its children.
pub fn family(pid: u32) -> Vec<u32> {
    let mut family = vec![pid];
    let tasks = std::fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
    for task in tasks {
        let children = read(task.path().join("children"));
        family.extend(children.split_whitespace().filter_map(|p| p.parse::<u32>().ok()));
    }
    family
}

/// Memory that would be free without these processes: private pages, and their share of what is shared. In MB.
pub fn pss_mb(pid: u32) -> f64 {
    field(&read(format!("/proc/{pid}/smaps_rollup")), "Pss:") as f64 / 1_024.0
}

/// User and system time of these processes, in milliseconds, in steps of 10.
pub fn cpu_ms(pids: &[u32]) -> f64 {
    let ticks = |pid: &u32| -> u64 {
        let stat = read(format!("/proc/{pid}/stat"));
        // The name, in brackets, may hold spaces.
        let after = stat.rsplit_once(')').map_or("", |(_, after)| after);
        after.split_whitespace().skip(11).take(2).filter_map(|n| n.parse::<u64>().ok()).sum()
    };
    pids.iter().map(ticks).sum::<u64>() as f64 * 10.0
}

/// Writing system calls of these processes.
pub fn writes(pids: &[u32]) -> u64 {
    pids.iter().map(|pid| field(&read(format!("/proc/{pid}/io")), "syscw:")).sum()
}
