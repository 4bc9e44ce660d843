//! The options of an operation, from its flags.

use std::{collections::BTreeMap, fs};

use serde_json::Value;
use stackwright::{operation::OperationOptions, policy::PolicyPackOption};

use crate::{
    arguments::{OperationArguments, Selection},
    failure::{Failure, Result},
    invocation::Invocation,
    text,
};

/// The file of a policy pack.
const PACK_FILE: &str = "PulumiPolicy.yaml";

/// Returns the options that every operation has.
pub(super) fn common(invocation: &Invocation, arguments: &OperationArguments) -> Result<OperationOptions> {
    let parallel = match (arguments.parallel, invocation.variable("PULUMI_PARALLEL")) {
        (Some(parallel), _) => parallel,
        (None, Some(text)) => text
            .parse()
            .map_err(|_| Failure::new(format!("PULUMI_PARALLEL takes a number, not {text:?}")))?,
        (None, None) => 0,
    };
    Ok(OperationOptions {
        parallel: parallel.max(0),
        message: arguments.message.clone().unwrap_or_default(),
        ..of_environment(invocation)
    })
}

/// Returns the options that variables of the environment set, and no flag.
fn of_environment(invocation: &Invocation) -> OperationOptions {
    let is_enabled = |name: &str| invocation.is_enabled(name);
    OperationOptions {
        use_legacy_diff: is_enabled("PULUMI_ENABLE_LEGACY_DIFF"),
        use_legacy_refresh_diff: is_enabled("PULUMI_ENABLE_LEGACY_REFRESH_DIFF"),
        disable_output_values: is_enabled("PULUMI_DISABLE_OUTPUT_VALUES"),
        disable_provider_preview: is_enabled("PULUMI_DISABLE_PROVIDER_PREVIEW"),
        disable_refresh_before_update: is_enabled("PULUMI_DISABLE_REFRESH_BEFORE_UPDATE"),
        disable_resource_references: is_enabled("PULUMI_DISABLE_RESOURCE_REFERENCES"),
        ..OperationOptions::default()
    }
}

/// Limits the options to some resources.
pub(super) fn select(options: OperationOptions, selection: &Selection) -> OperationOptions {
    OperationOptions {
        targets: selection.target.clone(),
        target_dependents: selection.target_dependents,
        excludes: selection.exclude.clone(),
        exclude_dependents: selection.exclude_dependents,
        ..options
    }
}

/// Returns the policy packs of folders, each with the settings in the file of the same place.
pub(super) fn policy_packs(
    invocation: &Invocation,
    folders: &[String],
    files: &[String],
) -> Result<Vec<PolicyPackOption>> {
    if files.len() > folders.len() {
        return Err(Failure::new(
            "the number of \"--policy-pack-config\" flags must not be above that of \"--policy-pack\" flags",
        ));
    }
    let mut packs = Vec::with_capacity(folders.len());
    for (index, folder) in folders.iter().enumerate() {
        let path = invocation.path(folder);
        if let Err(error) = fs::metadata(&path) {
            return Err(Failure::new(format!(
                "failed to load Pulumi policy project located at \"{folder}\": open {}: {}",
                path.join(PACK_FILE).display(),
                text::reason(&error)
            )));
        }
        let config = match files.get(index).filter(|file| !file.is_empty()) {
            Some(file) => settings(invocation, file)?,
            None => BTreeMap::new(),
        };
        packs.push(PolicyPackOption {
            path: invocation.path(folder).display().to_string(),
            config,
            ..PolicyPackOption::default()
        });
    }
    Ok(packs)
}

fn settings(invocation: &Invocation, file: &str) -> Result<BTreeMap<String, Value>> {
    let text = fs::read_to_string(invocation.path(file))
        .map_err(|error| Failure::new(format!("could not read {file}: {error}")))?;
    serde_json::from_str(&text).map_err(|error| Failure::new(format!("could not read {file}: {error}")))
}

/// Returns the pending creations with ids of pairs on the command line.
pub(super) fn pending_creates(pairs: &[String]) -> Result<BTreeMap<String, String>> {
    let pairs = pairs.chunks(2).map(|pair| match pair {
        [urn, id] => Ok((urn.clone(), id.clone())),
        _ => Err(Failure::new(
            "each URN must be followed by an ID: found an odd number of entries",
        )),
    });
    pairs.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_variable_sets_its_own_option() {
        let set_by = |variable: &str| {
            let mut invocation = Invocation::new(["up"], "/");
            invocation
                .environment
                .insert(variable.to_owned(), "true".to_owned());
            let options = of_environment(&invocation);
            [
                options.use_legacy_diff,
                options.use_legacy_refresh_diff,
                options.disable_output_values,
                options.disable_provider_preview,
                options.disable_refresh_before_update,
                options.disable_resource_references,
            ]
        };
        let variables = [
            "PULUMI_ENABLE_LEGACY_DIFF",
            "PULUMI_ENABLE_LEGACY_REFRESH_DIFF",
            "PULUMI_DISABLE_OUTPUT_VALUES",
            "PULUMI_DISABLE_PROVIDER_PREVIEW",
            "PULUMI_DISABLE_REFRESH_BEFORE_UPDATE",
            "PULUMI_DISABLE_RESOURCE_REFERENCES",
        ];
        for (place, variable) in variables.iter().enumerate() {
            let expected: Vec<bool> = (0..variables.len()).map(|other| other == place).collect();
            assert_eq!(set_by(variable).as_slice(), expected, "{variable}");
        }
        assert_eq!(set_by("OTHER"), [false; 6]);
    }
}
