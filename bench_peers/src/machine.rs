//! Where and with what a page was measured.

use std::process::Command;

/// First line of what a command prints.
fn version(command: &[&str]) -> String {
    let output = Command::new(command[0]).args(&command[1..]).output().map(|o| o.stdout).unwrap_or_default();
    String::from_utf8_lossy(&output).lines().next().unwrap_or("unknown").to_string()
}

/// Now.
pub fn date() -> String {
    version(&["date", "-u", "+%Y-%m-%d %H:%M UTC"])
}

/// The load average of the last minute.
pub fn load() -> String {
    let text = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    text.split_whitespace().next().unwrap_or("unknown").to_string()
}

/// The size of the cache nearest to memory, if Linux knows one.
fn last_cache() -> String {
    let size = |k: usize| std::fs::read_to_string(format!("/sys/devices/system/cpu/cpu0/cache/index{k}/size")).ok();
    let largest = (0..).map_while(size).last();
    largest.map_or(String::new(), |size| format!(", last cache {}", size.trim()))
}

/// The machine with its load before and after, compilers, peers; and a warning if it had other work to do.
pub fn describe(load: [&str; 2]) -> String {
    let cpus = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = cpus
        .lines()
        .find_map(|l| l.strip_prefix("model name"))
        .map_or("unknown", |l| l.trim_start_matches([' ', '\t', ':']));
    let cores = std::thread::available_parallelism().map_or(0, |n| n.get());
    let peers = std::env::var("PEER_VERSIONS").unwrap_or_default();
    let busy = load.iter().any(|l| l.parse().is_ok_and(|l: f64| l > 1.5));
    format!(
        "- Machine: {model}, {cores} cores{}; one core used. Load average {} before, {} after the run.
- Compilers: {}; {}.
- Peers: {peers}.
{}",
        last_cache(),
        load[0],
        load[1],
        version(&["cc", "--version"]),
        version(&["rustc", "--version"]),
        if busy {
            "- **The machine was busy with other work during this run: times are indicative only.**\n"
        } else {
            ""
        }
    )
}
