//! Which features the monitor has, for programs that ask before they use one.

use stackwright_proto::pulumirpc::ResourceMonitorFeature as Feature;

use crate::generator::GeneratorOptions;

/// The features that are there, by number and, where older programs ask by name, by name.
const FEATURES: &[(Feature, &str)] = &[
    (Feature::Secrets, "secrets"),
    (Feature::ResourceReferences, "resourceReferences"),
    (Feature::OutputValues, "outputValues"),
    (Feature::AliasSpecs, "aliasSpecs"),
    (Feature::ReplacementTrigger, "replacementTrigger"),
    (Feature::DeletedWith, "deletedWith"),
    (Feature::ReplaceWith, "replaceWith"),
    (Feature::Parameterization, "parameterization"),
    (Feature::ByteString, ""),
    (Feature::InvokeDependsOn, ""),
    (Feature::InvokeParent, ""),
];

/// Returns the features that the user's options leave.
pub(super) fn offered(options: &GeneratorOptions) -> impl Iterator<Item = (Feature, &'static str)> {
    let (no_references, no_outputs) = (options.disable_resource_references, options.disable_output_values);
    let offered = FEATURES.iter().filter(move |(feature, _)| match feature {
        Feature::ResourceReferences => !no_references,
        Feature::OutputValues => !no_outputs,
        _ => true,
    });
    offered.copied()
}

/// Tells whether a feature is there, by the name that older programs ask for.
pub(super) fn has(name: &str, options: &GeneratorOptions) -> bool {
    !name.is_empty() && offered(options).any(|(_, known)| known == name)
}
