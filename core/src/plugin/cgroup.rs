//! The control group of a plugin: ends with every process that the plugin started, including those that left its group.

use std::{
    fs, io,
    path::{Path, PathBuf},
    time::Duration,
};

use crate::runtime::Runtime;

/// Number of attempts to remove a group. Its processes have been killed, and end within milliseconds.
const REMOVALS: u32 = 12;

/// A control group (version 2) below the one of the host's process.
#[derive(Debug)]
pub(super) struct ControlGroup(PathBuf);

impl ControlGroup {
    /// Creates an empty group. Returns `None` if this process lacks the permission, or if the kernel cannot kill a
    /// control group as a whole. Blocks.
    pub(super) fn create(runtime: &Runtime) -> Option<Self> {
        let own = own_folder()?;
        let name = format!("stackwright-{}-{}", std::process::id(), runtime.random.uuid());
        let folder = own.join(name);
        fs::create_dir(&folder).ok()?;
        if folder.join("cgroup.kill").exists() {
            return Some(Self(folder));
        }
        if let Err(error) = fs::remove_dir(&folder) {
            tracing::debug!(%error, "a control group remains");
        }
        None
    }

    /// Returns the folder that represents it.
    pub(super) fn folder(&self) -> &Path {
        &self.0
    }

    /// Moves a process and its existing children into the group. Children that start later are in it from their start.
    /// Blocks.
    ///
    /// The caller has not yet waited for the process, so its number has not been reused.
    pub(super) fn add(&self, pid: u32) -> io::Result<()> {
        fs::write(self.0.join("cgroup.procs"), pid.to_string())?;
        for child in children(pid) {
            // The number may have been reused since the list was read.
            if parent(child) == Some(pid)
                && let Err(error) = self.add(child)
            {
                tracing::debug!(child, %error, "a process stays outside of the control group of its plugin");
            }
        }
        Ok(())
    }

    /// Kills all processes of the group.
    pub(super) fn kill(&self) {
        if let Err(error) = fs::write(self.0.join("cgroup.kill"), "1") {
            tracing::debug!(%error, "a control group could not be killed");
        }
    }

    /// Removes the group after its processes have been killed.
    pub(super) async fn remove(&self, runtime: &Runtime) {
        let mut pause = Duration::from_millis(1);
        for _ in 0..REMOVALS {
            // The guard may have removed it.
            match fs::remove_dir(&self.0) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => {}
                _ => return,
            }
            runtime.clock.wait(pause).await;
            pause *= 2;
        }
        tracing::debug!(group = %self.0.display(), "the control group of a plugin remains");
    }
}

impl Drop for ControlGroup {
    fn drop(&mut self) {
        // Usually removed already. Otherwise the guard may have ended.
        if fs::write(self.0.join("cgroup.kill"), "1").is_ok()
            && let Err(error) = fs::remove_dir(&self.0)
        {
            tracing::debug!(%error, "the control group of a plugin is left to its guard");
        }
    }
}

/// Finds the folder of the host's own control group.
fn own_folder() -> Option<PathBuf> {
    let groups = fs::read_to_string("/proc/self/cgroup").ok()?;
    let mounts = fs::read_to_string("/proc/self/mountinfo").ok()?;
    folder_of(&groups, &mounts)
}

/// Finds the folder of a process's control group from the kernel's list of its groups and the list of mounts.
fn folder_of(groups: &str, mounts: &str) -> Option<PathBuf> {
    let group = Path::new(groups.lines().find_map(|line| line.strip_prefix("0::"))?);
    mounts.lines().find_map(|line| {
        let (mount, file_system) = line.split_once(" - ")?;
        if file_system.split(' ').next() != Some("cgroup2") {
            return None;
        }
        // Numbers of the mount, its parent and its device are skipped.
        let mut fields = mount.split(' ').skip(3);
        let (root, point) = (fields.next()?, fields.next()?);
        let below = group.strip_prefix(root).ok()?;
        let is_plain = below
            .components()
            .all(|part| matches!(part, std::path::Component::Normal(_)));
        // The kernel escapes spaces and similar characters as `\` and digits.
        (is_plain && !point.contains('\\')).then(|| Path::new(point).join(below))
    })
}

/// Returns the numbers of a process's children; empty if the kernel provides no list.
fn children(pid: u32) -> Vec<u32> {
    let Ok(threads) = fs::read_dir(format!("/proc/{pid}/task")) else {
        return Vec::new();
    };
    let lists = threads
        .flatten()
        .filter_map(|thread| fs::read_to_string(thread.path().join("children")).ok());
    lists.flat_map(|list| numbers(&list)).collect()
}

fn numbers(list: &str) -> Vec<u32> {
    list.split_ascii_whitespace()
        .filter_map(|number| number.parse().ok())
        .collect()
}

/// Returns the number of a process's parent.
fn parent(pid: u32) -> Option<u32> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The second field is a name in parentheses that may contain any character; the state and the parent follow it.
    let (_, fields) = stat.rsplit_once(')')?;
    fields.split_ascii_whitespace().nth(1)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    const MOUNTS: &str = "24 1 0:22 / /proc rw,nosuid shared:5 - proc proc rw\n\
        30 24 0:26 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu\n\
        31 24 0:27 / /sys/fs/cgroup rw,nosuid - cgroup2 cgroup2 rw\n";

    #[test]
    fn the_folder_of_a_control_group_is_that_of_version_2_below_its_mount() {
        let folder = |groups: &str, mounts: &str| folder_of(groups, mounts);
        assert_eq!(
            folder("3:cpu:/a\n0::/user.slice/x.scope\n", MOUNTS),
            Some("/sys/fs/cgroup/user.slice/x.scope".into())
        );
        assert_eq!(folder("0::/\n", MOUNTS), Some("/sys/fs/cgroup".into()));
        let part = MOUNTS.replace("0:27 / ", "0:27 /user.slice ");
        assert_eq!(
            folder("0::/user.slice/x\n", &part),
            Some("/sys/fs/cgroup/x".into())
        );
        assert_eq!(
            folder("0::/system.slice/x\n", &part),
            None,
            "outside of what is mounted"
        );
        assert_eq!(folder("0::/../x\n", MOUNTS), None, "outside of the namespace");
        assert_eq!(folder("3:cpu:/a\n", MOUNTS), None, "version 1 only");
        assert_eq!(folder("0::/x\n", ""), None, "not mounted");
    }

    #[test]
    fn the_children_of_a_process_are_found() {
        let mut child = std::process::Command::new("sleep").arg("600").spawn().unwrap();
        assert_eq!(parent(child.id()), Some(std::process::id()));
        let listed = children(std::process::id());
        child.kill().unwrap();
        child.wait().unwrap();
        // The kernel may not provide the list.
        let is_supported = Path::new("/proc/self/task")
            .join(std::process::id().to_string())
            .join("children");
        assert!(listed.contains(&child.id()) || !is_supported.exists());
    }
}
