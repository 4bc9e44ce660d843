//! The policy packs that ran, each with its violations and rewritten inputs, in the reference engine's layout.

use std::collections::{BTreeMap, BTreeSet};

use stackwright::{
    event::{EnforcementLevel, PolicyName, PolicyRemediation, PolicyViolation, Summary},
    property::PropertyMap,
};

/// What precedes a finding of a pack.
const ITEM: &str = "        - ";
/// What precedes the message of a finding.
const MESSAGE: &str = "          ";
/// The longest folder that is shown whole, in bytes.
const MAX_FOLDER_LENGTH: usize = 75;

/// The findings of one pack.
#[derive(Default)]
struct Pack {
    folders: BTreeSet<String>,
    violations: Vec<PolicyViolation>,
    remediations: Vec<PolicyRemediation>,
}

impl Pack {
    fn has_failed(&self) -> bool {
        let mut levels = self.violations.iter().map(|violation| violation.level);
        levels.any(|level| level == EnforcementLevel::Mandatory)
    }

    const fn mark(&self, has_failed: bool) -> &'static str {
        match (has_failed, self.violations.is_empty()) {
            (true, _) => "❌",
            (false, false) => "⚠️",
            (false, true) => "✅",
        }
    }
}

/// Collects the findings of policy packs.
#[derive(Default)]
pub(super) struct Policies {
    packs: BTreeMap<String, Pack>,
    has_loaded: bool,
    /// Whether each rewriting is shown, or only how many a policy has made.
    details: bool,
}

impl Policies {
    /// Collects nothing yet; `details` shows each rewriting, and not only how many a policy has made.
    pub(super) fn new(details: bool) -> Self {
        Self {
            details,
            ..Self::default()
        }
    }

    /// Returns whether this is the first notice that packs are loaded.
    pub(super) fn load(&mut self) -> bool {
        !std::mem::replace(&mut self.has_loaded, true)
    }

    /// Adds a violation.
    pub(super) fn violation(&mut self, violation: &PolicyViolation) {
        self.pack(&violation.name).violations.push(violation.clone());
    }

    /// Adds rewritten inputs.
    pub(super) fn remediation(&mut self, remediation: &PolicyRemediation) {
        self.pack(&remediation.name)
            .remediations
            .push(remediation.clone());
    }

    fn pack(&mut self, name: &PolicyName) -> &mut Pack {
        self.packs.entry(title(&name.pack, &name.version)).or_default()
    }

    /// Returns the lines of all packs that ran, and whether a violation has failed the operation; no lines without packs.
    pub(super) fn take_lines(&mut self, ended: &Summary) -> (Vec<String>, bool) {
        let mut packs = std::mem::take(&mut self.packs);
        if ended.policy_packs.is_empty() {
            return (Vec::new(), false);
        }
        for local in &ended.local_packs {
            let pack = packs.entry(title(&local.name, &local.version)).or_default();
            pack.folders.extend(local.folder.as_deref().map(abbreviated));
        }
        let is_local = |name: &str| ended.local_packs.iter().any(|local| local.name == name);
        for (name, version) in ended.policy_packs.iter().filter(|(name, _)| !is_local(name)) {
            packs.entry(title(name, version)).or_default();
        }
        let mut lines = vec!["Policies:".to_owned()];
        let mut has_failed = false;
        for (title, mut pack) in packs {
            has_failed |= pack.has_failed();
            let folders = Vec::from_iter(std::mem::take(&mut pack.folders)).join("; ");
            let folders = if folders.is_empty() {
                folders
            } else {
                format!(" (local: {folders})")
            };
            lines.push(format!("    {} {title}{folders}", pack.mark(pack.has_failed())));
            match self.details {
                true => lines.extend(pack.remediations.iter().filter_map(rewriting)),
                false => lines.extend(rewritings(&pack.remediations)),
            }
            lines.extend(violations(pack.violations));
        }
        lines.push(String::new());
        (lines, has_failed)
    }
}

fn title(pack: &str, version: &str) -> String {
    format!("{pack}@v{version}")
}

/// Returns a folder, of a long one only its ends.
fn abbreviated(folder: &str) -> String {
    let parts: Vec<&str> = folder.split('/').collect();
    match parts[..] {
        [first, second, _, .., before, last] if folder.len() > MAX_FOLDER_LENGTH => {
            [first, second, "...", before, last].join("/")
        }
        _ => folder.to_owned(),
    }
}

/// Returns a line for each policy that has rewritten inputs, with the number of resources.
fn rewritings(remediations: &[PolicyRemediation]) -> Vec<String> {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for remediation in remediations {
        *counts.entry(&remediation.name.policy).or_default() += 1;
    }
    let line = |(policy, count)| {
        let noun = if count == 1 { "resource" } else { "resources" };
        format!("{ITEM}[remediate]  {policy}  ({count} {noun})")
    };
    counts.into_iter().map(line).collect()
}

/// Returns the line of rewritten inputs; `None` when nothing has changed.
fn rewriting(remediation: &PolicyRemediation) -> Option<String> {
    let PolicyRemediation {
        urn,
        name,
        before,
        after,
    } = remediation;
    let names_of = |map: &PropertyMap, is_listed: &dyn Fn(&str) -> bool| -> String {
        let names: BTreeSet<String> = map.iter().map(|(name, _)| name.to_string()).collect();
        let names = names.into_iter().filter(|name| is_listed(name));
        Vec::from_iter(names).join(",")
    };
    let changed = |name: &str| {
        before
            .get(name)
            .is_some_and(|value| after.get(name) != Some(value))
    };
    let mut diff = String::new();
    for (sign, names) in [
        ('+', names_of(after, &|name| !before.contains_key(name))),
        ('-', names_of(before, &|name| !after.contains_key(name))),
        ('~', names_of(after, &changed)),
    ] {
        if !names.is_empty() {
            diff.push(sign);
            diff.push_str(&names);
        }
    }
    let (kind, resource, policy) = (urn.resource_type(), urn.name(), &name.policy);
    (!diff.is_empty()).then(|| format!("{ITEM}[remediate]  {policy}  ({kind}: {resource}) [diff: {diff}]"))
}

/// Returns the lines of violations, in the order of their levels, policies and resources.
fn violations(mut violations: Vec<PolicyViolation>) -> Vec<String> {
    let key = |violation: &PolicyViolation| {
        (
            violation.level.name(),
            violation.name.policy.clone(),
            violation.urn.to_string(),
        )
    };
    violations.sort_by_key(key);
    let lines = |violation: PolicyViolation| {
        let PolicyViolation {
            urn, name, message, ..
        } = &violation;
        let (level, kind) = (violation.level.name(), urn.resource_type());
        let head = format!("{ITEM}[{level}]  {}  ({kind}: {})", name.policy, urn.name());
        let message = message.lines().map(|line| format!("{MESSAGE}{line}"));
        [head].into_iter().chain(message).collect::<Vec<_>>()
    };
    violations.into_iter().flat_map(lines).collect()
}

#[cfg(test)]
mod tests {
    use stackwright::event::LocalPack;

    use super::*;

    fn name(policy: &str) -> PolicyName {
        PolicyName {
            policy: policy.to_owned(),
            pack: "guard".to_owned(),
            version: "1.0.0".to_owned(),
        }
    }

    fn violation(level: EnforcementLevel, resource: &str, message: &str) -> PolicyViolation {
        PolicyViolation {
            urn: format!("urn:pulumi:dev::shop::a:b:c::{resource}")
                .parse()
                .unwrap(),
            name: name("not-big"),
            message: message.to_owned(),
            level,
            severity: None,
        }
    }

    fn ended(folder: &str) -> Summary {
        Summary {
            policy_packs: [("guard", "(local)"), ("other", "2.0.0")]
                .map(|(name, version)| (name.to_owned(), version.to_owned()))
                .into(),
            local_packs: vec![LocalPack {
                name: "guard".to_owned(),
                version: "1.0.0".to_owned(),
                folder: Some(folder.to_owned()),
            }],
            ..Summary::default()
        }
    }

    #[test]
    fn each_pack_has_its_violations_the_advisory_ones_first() {
        let mut policies = Policies::default();
        policies.violation(&violation(EnforcementLevel::Mandatory, "x", "too big\nby far"));
        policies.violation(&violation(EnforcementLevel::Advisory, "y", "rather big"));
        let (lines, has_failed) = policies.take_lines(&ended("packs/guard"));
        assert!(has_failed);
        assert_eq!(
            lines,
            [
                "Policies:",
                "    ❌ guard@v1.0.0 (local: packs/guard)",
                "        - [advisory]  not-big  (a:b:c: y)",
                "          rather big",
                "        - [mandatory]  not-big  (a:b:c: x)",
                "          too big",
                "          by far",
                "    ✅ other@v2.0.0",
                "",
            ]
        );
        policies.violation(&violation(EnforcementLevel::Advisory, "y", "rather big"));
        let (lines, has_failed) = policies.take_lines(&ended("packs/guard"));
        assert!(!has_failed && lines[1].starts_with("    ⚠️ guard"), "{lines:?}");
        assert_eq!(policies.take_lines(&Summary::default()), (Vec::new(), false));
    }

    #[test]
    fn rewritten_inputs_are_counted_or_listed() {
        let map = |entries: &[(&str, f64)]| -> PropertyMap {
            entries
                .iter()
                .map(|(name, value)| (*name, (*value).into()))
                .collect()
        };
        let remediation = PolicyRemediation {
            urn: "urn:pulumi:dev::shop::a:b:c::x".parse().unwrap(),
            name: name("tagged"),
            before: map(&[("gone", 1.0), ("kept", 1.0), ("size", 1.0)]),
            after: map(&[("kept", 1.0), ("size", 2.0), ("tags", 1.0)]),
        };
        for (details, line) in [
            (false, "        - [remediate]  tagged  (2 resources)"),
            (
                true,
                "        - [remediate]  tagged  (a:b:c: x) [diff: +tags-gone~size]",
            ),
        ] {
            let mut policies = Policies::new(details);
            policies.remediation(&remediation);
            policies.remediation(&remediation);
            let (lines, has_failed) = policies.take_lines(&ended("guard"));
            assert_eq!(lines[2], line);
            assert!(!has_failed && lines[1].contains('✅'));
        }
    }

    #[test]
    fn the_middle_of_a_long_folder_is_left_out() {
        let long = format!("/home/user/{}/packs/guard", "a/".repeat(40));
        assert_eq!(abbreviated(&long), "/home/.../packs/guard");
        assert_eq!(abbreviated("packs/guard"), "packs/guard");
    }
}
