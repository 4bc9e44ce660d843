//! How a transform changes options: one by one, by name.

use std::mem::take;

use crate::monitor::{PackageChoice, TransformOptions};

impl TransformOptions {
    /// Takes over the options of these names, and leaves all others as they are. One that `changes` does not set is removed.
    ///
    /// Names have the style of any language: `ignoreChanges` or `ignore_changes`; a name that does not exist changes nothing.
    pub fn change<'a>(&mut self, names: impl IntoIterator<Item = &'a str>, mut changes: Self) {
        for name in names {
            let (others, given) = (&mut self.others, &mut changes.others);
            match plain(name).as_str() {
                "dependson" => self.depends_on = take(&mut changes.depends_on),
                "providers" => self.providers = take(&mut changes.providers),
                "protect" => self.protect = changes.protect,
                "deletebeforereplace" => self.delete_before_replace = changes.delete_before_replace,
                "aliases" => self.aliases = take(&mut changes.aliases),
                "retainondelete" => self.retain_on_delete = changes.retain_on_delete,
                "ignorechanges" => others.ignore_changes = take(&mut given.ignore_changes),
                "replaceonchanges" => others.replace_on_changes = take(&mut given.replace_on_changes),
                "additionalsecretoutputs" => {
                    others.additional_secret_outputs = take(&mut given.additional_secret_outputs);
                }
                "importid" => others.import_id = take(&mut given.import_id),
                "customtimeouts" => others.custom_timeouts = take(&mut given.custom_timeouts),
                "deletedwith" => others.deleted_with = take(&mut given.deleted_with),
                "replacewith" => others.replace_with = take(&mut given.replace_with),
                "hidediffs" => others.hide_diffs = take(&mut given.hide_diffs),
                "replacementtrigger" => others.replacement_trigger = take(&mut given.replacement_trigger),
                "resourcehooks" | "hooks" => others.resource_hooks = take(&mut given.resource_hooks),
                name => self.package.take_over(name, &mut changes.package),
            }
        }
    }
}

impl PackageChoice {
    /// Takes over the options of these names, as [`TransformOptions::change`] does.
    pub fn change<'a>(&mut self, names: impl IntoIterator<Item = &'a str>, mut changes: Self) {
        for name in names {
            self.take_over(&plain(name), &mut changes);
        }
    }

    fn take_over(&mut self, name: &str, changes: &mut Self) {
        match name {
            "provider" => self.provider = take(&mut changes.provider),
            "version" => self.version = take(&mut changes.version),
            "plugindownloadurl" => self.download_url = take(&mut changes.download_url),
            "pluginchecksums" => self.checksums = take(&mut changes.checksums),
            _ => {}
        }
    }
}

/// Returns a name without the style of a language.
fn plain(name: &str) -> String {
    name.chars()
        .filter(|character| *character != '_')
        .map(|character| character.to_ascii_lowercase())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::urn::Urn;

    #[test]
    fn options_change_by_name_in_the_style_of_any_language_and_the_others_stay() {
        let urn = Urn::new("dev", "shop", "", "pkg:index:Type", "a");
        let mut options = TransformOptions {
            depends_on: vec![urn],
            protect: Some(true),
            ..TransformOptions::default()
        };
        options.package.version = "1.0.0".to_owned();
        options.others.ignore_changes = vec!["x".to_owned()];
        let mut changes = TransformOptions {
            retain_on_delete: Some(true),
            ..TransformOptions::default()
        };
        changes.package.download_url = "https://example.com".to_owned();
        changes.package.version = "2.0.0".to_owned();
        changes.others.hide_diffs = vec!["y".to_owned()];
        let names = [
            "retainOnDelete",
            "plugin_download_url",
            "hide_diffs",
            "ignoreChanges",
            "protect",
        ];
        options.change(names, changes);
        assert_eq!(
            (options.depends_on.len(), options.retain_on_delete),
            (1, Some(true))
        );
        assert_eq!(options.package.download_url, "https://example.com");
        assert_eq!(options.package.version, "1.0.0", "not among the names");
        assert_eq!(options.others.hide_diffs, ["y"]);
        assert!(options.others.ignore_changes.is_empty(), "named without a value");
        assert_eq!(options.protect, None);
    }
}
