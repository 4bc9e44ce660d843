//! Parts that several requests share: URNs, aliases, durations, checksums, values.

use std::collections::BTreeMap;

use stackwright_proto::pulumirpc::{Alias as WireAlias, alias};
use stackwright_proto::values::Struct;

use crate::{
    monitor::{PackageChoice, WireStatus},
    property::{
        PropertyMap,
        wire::{DecodeOptions, EncodeOptions, from_struct, to_struct},
    },
    resource::{Alias, duration},
    urn::Urn,
};

type Result<T> = std::result::Result<T, WireStatus>;

/// Reads an optional URN; an empty text is none.
pub(super) fn optional_urn(text: &str, what: &str) -> Result<Option<Urn>> {
    if text.is_empty() {
        Ok(None)
    } else {
        urn(text, what).map(Some)
    }
}

/// Reads a URN.
pub(super) fn urn(text: &str, what: &str) -> Result<Urn> {
    Urn::parse(text).map_err(|error| WireStatus::invalid(format!("invalid {what} URN: {error}")))
}

/// Reads a list of URNs.
pub(super) fn urns(texts: &[String], what: &str) -> Result<Vec<Urn>> {
    texts.iter().map(|text| urn(text, what)).collect()
}

/// Reads both lists of aliases. Older Node programs encode them in another way: an alias without a parent leaves the
/// parent out, and their field for it has another meaning.
pub(super) fn aliases(urns_given: &[String], specs: Vec<WireAlias>, old_node: bool) -> Result<Vec<Alias>> {
    let mut aliases = Vec::with_capacity(urns_given.len() + specs.len());
    for text in urns_given {
        aliases.push(Alias::Urn(urn(text, "alias")?));
    }
    for wire in specs {
        match wire.alias {
            Some(alias::Alias::Urn(text)) => aliases.push(Alias::Urn(urn(&text, "alias")?)),
            Some(alias::Alias::Spec(spec)) => aliases.push(spec_alias(spec, old_node)?),
            None => {}
        }
    }
    Ok(aliases)
}

fn spec_alias(spec: alias::Spec, old_node: bool) -> Result<Alias> {
    let (parent, no_parent) = match spec.parent {
        Some(alias::spec::Parent::ParentUrn(text)) => {
            let parent = optional_urn(&text, "parent alias")?;
            let no_parent = old_node && parent.is_none();
            (parent, no_parent)
        }
        // A set flag means that there is a parent.
        Some(alias::spec::Parent::NoParent(value)) => (None, value && !old_node),
        None => (None, old_node),
    };
    let text = |text: String| Some(text).filter(|text| !text.is_empty());
    Ok(Alias::Spec {
        name: text(spec.name),
        resource_type: text(spec.r#type),
        stack: text(spec.stack),
        project: text(spec.project),
        parent,
        no_parent,
    })
}

/// Parses a duration in Go's notation, such as `1h5m30s` or `-1.5s`, into seconds. Empty text and zero are none:
/// records omit both.
pub(super) fn seconds(text: &str) -> Result<Option<f64>> {
    if text.is_empty() {
        return Ok(None);
    }
    match duration::parse_seconds(text) {
        Some(seconds) => Ok(Some(seconds).filter(|seconds| *seconds != 0.0)),
        None => Err(WireStatus::unknown(format!(
            "unable to parse customTimeout Value {text}"
        ))),
    }
}

/// Builds the package choice of a request.
pub(super) fn package(
    provider: String,
    version: String,
    download_url: String,
    checksums: BTreeMap<String, Vec<u8>>,
    package_ref: String,
) -> PackageChoice {
    let hex = |bytes: Vec<u8>| bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    let checksums = checksums
        .into_iter()
        .map(|(platform, sum)| (platform, hex(sum)))
        .collect();
    PackageChoice {
        provider,
        version,
        download_url,
        checksums,
        package_ref,
        source: None,
    }
}

/// Decodes values, which may be missing.
pub(super) fn values(message: Option<Struct>, options: &DecodeOptions) -> Result<PropertyMap> {
    let Some(message) = message else {
        return Ok(PropertyMap::new());
    };
    from_struct(message, options).map_err(|error| WireStatus::invalid(error.message().to_owned()))
}

/// Reads values, and replaces output values by their elements.
pub(super) fn collapsed(message: Option<Struct>, label: &'static str) -> Result<PropertyMap> {
    values(
        message,
        &DecodeOptions {
            keep_outputs: false,
            ..DecodeOptions::all(label)
        },
    )
}

/// Encodes values for a program that does not accept output values, with the kinds of values that it accepts.
pub(super) fn answer(values: &PropertyMap, secrets: bool, resources: bool, bytes: bool) -> Result<Struct> {
    answer_with(values, secrets, resources, bytes, false)
}

/// Encodes values for a program, with the kinds of values that it accepts.
pub(super) fn answer_with(
    values: &PropertyMap,
    secrets: bool,
    resources: bool,
    bytes: bool,
    outputs: bool,
) -> Result<Struct> {
    let options = EncodeOptions {
        keep_secrets: secrets,
        keep_resources: resources,
        keep_outputs: outputs,
        keep_bytes: bytes,
        ..EncodeOptions::all("outputs")
    };
    to_struct(values, &options).map_err(|error| WireStatus::unknown(error.message().to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_read_in_all_units() {
        assert_eq!(seconds("").unwrap(), None);
        assert_eq!(seconds("5m").unwrap(), Some(300.0));
        assert_eq!(seconds("1h5m30.5s").unwrap(), Some(3930.5));
        assert_eq!(seconds("250ms").unwrap(), Some(0.25));
        assert_eq!(seconds("+1.5m").unwrap(), Some(90.0));
        assert_eq!(seconds("-2s").unwrap(), Some(-2.0));
        assert_eq!(seconds("\u{b5}s").ok(), None);
        assert_eq!(seconds("5\u{b5}s").unwrap(), seconds("5\u{3bc}s").unwrap());
        for none in ["0", "-0", "0s", "0h0m"] {
            assert_eq!(seconds(none).unwrap(), None, "{none}");
        }
        assert!(seconds("-").is_err());
        assert!(seconds("5 minutes").is_err());
        assert!(seconds("12").is_err());
    }

    #[test]
    fn old_node_sdks_mean_no_parent_when_they_name_none_and_a_parent_when_they_say_so() {
        use alias::spec::Parent;
        let no_parent = |parent, old_node| {
            let spec = alias::Spec {
                parent,
                ..alias::Spec::default()
            };
            match spec_alias(spec, old_node) {
                Ok(Alias::Spec { no_parent, .. }) => no_parent,
                other => panic!("{other:?}"),
            }
        };
        for (parent, of_old_node, of_others) in [
            (None, true, false),
            (Some(Parent::ParentUrn(String::new())), true, false),
            (Some(Parent::NoParent(true)), false, true),
            (Some(Parent::NoParent(false)), false, false),
        ] {
            assert_eq!(no_parent(parent.clone(), true), of_old_node, "{parent:?}");
            assert_eq!(no_parent(parent.clone(), false), of_others, "{parent:?}");
        }
    }
}
