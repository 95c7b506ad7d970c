//! All descendants of this process, from /proc.

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use std::collections::HashMap;
use std::fs;

/// Sends a signal to every descendant. One that ends meanwhile does not matter.
pub(crate) fn signal_all(signal: Signal) {
    for pid in descendants(Pid::this().as_raw(), &parents()) {
        let _ = kill(Pid::from_raw(pid), signal);
    }
}

/// Every process with its parent.
fn parents() -> Vec<(i32, i32)> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
    pids.filter_map(|pid| {
        let stat = fs::read(format!("/proc/{pid}/stat")).ok()?;
        Some((pid, parent(&stat)?))
    })
    .collect()
}

/// The parent in a line of `/proc/PID/stat`. The name before it may contain anything, even
/// brackets.
fn parent(stat: &[u8]) -> Option<i32> {
    let after = stat.iter().rposition(|&byte| byte == b')')? + 1;
    let rest = std::str::from_utf8(&stat[after..]).ok()?;
    rest.split_ascii_whitespace().nth(1)?.parse().ok()
}

/// The descendants of a process, nearest first.
fn descendants(top: i32, all: &[(i32, i32)]) -> Vec<i32> {
    let mut children: HashMap<i32, Vec<i32>> = HashMap::new();
    for &(pid, parent) in all {
        children.entry(parent).or_default().push(pid);
    }
    let mut found = children.remove(&top).unwrap_or_default();
    let mut at = 0;
    while let Some(pid) = found.get(at) {
        let more = children.remove(pid).unwrap_or_default();
        found.extend(more);
        at += 1;
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_with_brackets_hides_no_parent() {
        assert_eq!(parent(b"17 (a) S 9 (b)) S 4 17 17 0"), Some(4));
        assert_eq!(parent(b"17 (sh) R 1 17"), Some(1));
        assert_eq!(parent(b"17 (sh"), None);
    }

    #[test]
    fn all_below_are_found_and_nothing_else() {
        let all = [(2, 1), (3, 2), (4, 3), (5, 1), (6, 4), (2, 2)];
        assert_eq!(descendants(2, &all), [3, 2, 4, 6]);
        assert_eq!(descendants(7, &all), [0_i32; 0]);
    }
}
