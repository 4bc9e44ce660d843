//! Whether the processes of a test can have control groups of their own.

use std::path::{Path, PathBuf};

/// Returns the folder of the control group (version 2) of this process, if a control group can be created below it.
#[must_use]
pub fn writable_control_group() -> Option<PathBuf> {
    let groups = std::fs::read_to_string("/proc/self/cgroup").ok()?;
    let mounts = std::fs::read_to_string("/proc/self/mounts").ok()?;
    let group = groups.lines().find_map(|line| line.strip_prefix("0::/"))?;
    let mut mounts = mounts.lines().map(|line| line.split(' ').collect::<Vec<_>>());
    let mount = mounts.find(|fields| fields[2] == "cgroup2")?;
    let own = Path::new(mount[1]).join(group);
    let trial = own.join(format!("stackwright-trial-{}", std::process::id()));
    std::fs::create_dir(&trial).ok()?;
    let can_kill = trial.join("cgroup.kill").exists();
    std::fs::remove_dir(&trial).ok()?;
    can_kill.then_some(own)
}
