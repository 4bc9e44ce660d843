//! The JSON of transforms, for hosts without typed values.

mod changed;
mod written;

use serde::de::DeserializeOwned;

use changed::{Changed, ChangedInvoke, ChangedNames};
use written::{Written, WrittenInvoke, WrittenOptions, WrittenPackage};

use super::{InvokeTransformArgs, TransformArgs, TransformOptions};
use crate::{
    error::{Error, Result},
    monitor::PackageChoice,
    property::json::{self, PlainMap},
};

impl TransformArgs {
    /// Writes `{"type", "name", "custom", "parent", "inputs", "options"}`. Values have the plain form, secrets are
    /// readable; the options have the names of [`crate::monitor::Registration::from_json`], and those that are not set
    /// are left out.
    ///
    /// # Errors
    /// [`crate::ErrorKind::State`] when values nest too deep to be written.
    pub fn to_json(&self) -> Result<Vec<u8>> {
        json::to_vec(&Written {
            resource_type: self.resource_type.as_str(),
            name: &self.name,
            custom: self.custom,
            parent: self.parent.as_ref(),
            inputs: PlainMap(self.inputs.clone()),
            options: WrittenOptions::of(&self.options),
        })
    }

    /// Reads the changed document of [`Self::to_json`]: `inputs` replaces all inputs, `options` has the options that change,
    /// of which `null` removes one; what is left out is unchanged.
    ///
    /// # Errors
    /// [`crate::ErrorKind::InvalidInput`] with the fault of the document and its place, and for a changed type, name or
    /// parent.
    pub fn changed_by_json(self, text: &[u8]) -> Result<Self> {
        let changed: Changed = read(text)?;
        let is_other = |member: &Option<String>, own: &str| member.as_ref().is_some_and(|text| text != own);
        for (is_changed, member) in [
            (
                is_other(&changed.resource_type, self.resource_type.as_str()),
                "type",
            ),
            (is_other(&changed.name, &self.name), "name"),
            (
                changed.custom.is_some_and(|custom| custom != self.custom),
                "custom",
            ),
            (
                changed.parent.is_some() && changed.parent != self.parent,
                "parent",
            ),
        ] {
            refuse_change(is_changed, member)?;
        }
        let mut options = self.options;
        if let Some(changes) = changed.options {
            options.change(
                read::<ChangedNames>(text)?.iter(),
                TransformOptions::from(changes),
            );
        }
        Ok(Self {
            inputs: changed.inputs.map_or(self.inputs, |inputs| inputs.0),
            options,
            ..self
        })
    }
}

impl InvokeTransformArgs {
    /// Writes `{"token", "arguments", "options"}`, in the form of [`TransformArgs::to_json`].
    ///
    /// # Errors
    /// [`crate::ErrorKind::State`] when values nest too deep to be written.
    pub fn to_json(&self) -> Result<Vec<u8>> {
        json::to_vec(&WrittenInvoke {
            token: &self.token,
            arguments: PlainMap(self.arguments.clone()),
            options: WrittenPackage::of(&self.package),
        })
    }

    /// Reads the changed document of [`Self::to_json`], as [`TransformArgs::changed_by_json`] does: `arguments` replaces all
    /// arguments, and `options` has those that change.
    ///
    /// # Errors
    /// [`crate::ErrorKind::InvalidInput`] with the fault of the document and its place, and for a changed token.
    pub fn changed_by_json(self, text: &[u8]) -> Result<Self> {
        let changed: ChangedInvoke = read(text)?;
        refuse_change(changed.token.is_some_and(|token| token != self.token), "token")?;
        let mut package = self.package;
        if let Some(changes) = changed.options {
            package.change(read::<ChangedNames>(text)?.iter(), PackageChoice::from(changes));
        }
        Ok(Self {
            arguments: changed.arguments.map_or(self.arguments, |arguments| arguments.0),
            package,
            ..self
        })
    }
}

fn read<T: DeserializeOwned>(text: &[u8]) -> Result<T> {
    json::from_slice(text)
        .map_err(|error| Error::invalid(format!("invalid result of a transform: {}", error.message())))
}

fn refuse_change(is_changed: bool, member: &str) -> Result<()> {
    if is_changed {
        return Err(Error::invalid(format!("a transform cannot change `{member}`")));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        property::PropertyValue,
        resource::{Alias, CustomTimeouts, ResourceOptions},
        urn::Urn,
    };

    fn args() -> TransformArgs {
        TransformArgs {
            resource_type: "t:m:T".into(),
            name: "a".to_owned(),
            custom: true,
            parent: Some(Urn::root_stack("dev", "shop")),
            inputs: [("p", PropertyValue::secret("x".into()))].into_iter().collect(),
            options: TransformOptions {
                protect: Some(true),
                aliases: vec![
                    Alias::Urn(Urn::root_stack("dev", "old")),
                    Alias::Spec {
                        name: Some("b".to_owned()),
                        resource_type: None,
                        stack: None,
                        project: None,
                        parent: None,
                        no_parent: true,
                    },
                ],
                others: ResourceOptions {
                    import_id: "7".into(),
                    custom_timeouts: CustomTimeouts {
                        create: Some(3.0),
                        ..CustomTimeouts::default()
                    },
                    replacement_trigger: Some(PropertyValue::Number(7.0)),
                    ..ResourceOptions::default()
                }
                .into(),
                ..TransformOptions::default()
            },
            keeps_dependencies: false,
        }
    }

    #[test]
    fn what_is_written_is_read_back_as_it_was() {
        let args = args();
        let text = args.to_json().unwrap();
        let read = args.clone().changed_by_json(&text).unwrap();
        assert_eq!(format!("{read:?}"), format!("{args:?}"));
        let document: serde_json::Value = serde_json::from_slice(&text).unwrap();
        assert_eq!(document["options"]["importId"], "7");
        assert!(document["options"].get("dependsOn").is_none(), "{document}");
    }

    #[test]
    fn members_and_options_that_are_left_out_are_unchanged_and_null_removes_an_option() {
        let unchanged = args().changed_by_json(b"{}").unwrap();
        assert_eq!(format!("{unchanged:?}"), format!("{:?}", args()));
        let text = br#"{"inputs": {"p": 1}, "options": {"retainOnDelete": true}}"#;
        let changed = args().changed_by_json(text).unwrap();
        assert_eq!(changed.inputs.get("p"), Some(&PropertyValue::Number(1.0)));
        assert_eq!(
            (changed.options.protect, changed.options.retain_on_delete),
            (Some(true), Some(true))
        );
        assert_eq!(changed.options.aliases.len(), 2);
        let text = br#"{"options": {"protect": null, "aliases": null, "customTimeouts": {"delete": 7}}}"#;
        let removed = args().changed_by_json(text).unwrap();
        assert_eq!(
            (removed.options.protect, removed.options.aliases.len()),
            (None, 0)
        );
        let timeouts = &removed.options.others.custom_timeouts;
        assert_eq!((timeouts.create, timeouts.delete), (None, Some(7.0)));
        assert_eq!(removed.inputs, args().inputs);
    }

    #[test]
    fn a_changed_name_and_an_unknown_option_are_refused_by_name() {
        for (text, named) in [
            (&br#"{"name": "b"}"#[..], "`name`"),
            (br#"{"type": "t:m:U"}"#, "`type`"),
            (br#"{"options": {"protct": true}}"#, "protct"),
        ] {
            let error = args().changed_by_json(text).unwrap_err();
            assert_eq!(error.kind(), crate::ErrorKind::InvalidInput);
            assert!(error.message().contains(named), "{error}");
        }
    }

    #[test]
    fn a_call_is_written_and_read_back() {
        let args = InvokeTransformArgs {
            token: "t:m:f".to_owned(),
            arguments: [("p", "x".into())].into_iter().collect(),
            package: PackageChoice {
                version: "1.2.3".to_owned(),
                ..PackageChoice::default()
            },
        };
        let text = args.to_json().unwrap();
        let read = args.clone().changed_by_json(&text).unwrap();
        assert_eq!(format!("{read:?}"), format!("{args:?}"));
        let changed = args
            .clone()
            .changed_by_json(br#"{"arguments": {"p": "y"}}"#)
            .unwrap();
        assert_eq!(changed.arguments.get("p"), Some(&"y".into()));
        assert_eq!(changed.package, args.package);
        assert!(args.changed_by_json(br#"{"token": "t:m:g"}"#).is_err());
    }
}
