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
        ..OperationOptions::default()
    })
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
