//! The features of the protocol that the monitor has.

use stackwright_proto::pulumirpc::ResourceMonitorFeature as Feature;

use crate::generator::GeneratorOptions;

/// The features by number and, for older programs, by name.
const FEATURES: &[(Feature, &str)] = &[
    (Feature::Secrets, "secrets"),
    (Feature::ResourceReferences, "resourceReferences"),
    (Feature::OutputValues, "outputValues"),
    (Feature::AliasSpecs, "aliasSpecs"),
    (Feature::ReplacementTrigger, "replacementTrigger"),
    (Feature::DeletedWith, "deletedWith"),
    (Feature::ReplaceWith, "replaceWith"),
    (Feature::Transforms, "transforms"),
    (Feature::InvokeTransforms, "invokeTransforms"),
    (Feature::Parameterization, "parameterization"),
    (Feature::ResourceHooks, "resourceHooks"),
    (Feature::ErrorHooks, "errorHooks"),
    (Feature::SendsOptionsToHooks, "sendsOptionsToHooks"),
    (Feature::ByteString, ""),
    (Feature::InvokeDependsOn, ""),
    (Feature::InvokeParent, ""),
    (Feature::InvokeOutputValues, ""),
    (Feature::CallOutputValues, ""),
];

/// Returns the features that the user's options enable.
pub(super) fn offered(options: &GeneratorOptions) -> impl Iterator<Item = (Feature, &'static str)> {
    let (no_references, no_outputs) = (options.disable_resource_references, options.disable_output_values);
    let offered = FEATURES.iter().filter(move |(feature, _)| match feature {
        Feature::ResourceReferences => !no_references,
        Feature::OutputValues => !no_outputs,
        _ => true,
    });
    offered.copied()
}

/// Returns whether the monitor has a feature, by the name that older programs use.
pub(super) fn has(name: &str, options: &GeneratorOptions) -> bool {
    !name.is_empty() && offered(options).any(|(_, known)| known == name)
}
