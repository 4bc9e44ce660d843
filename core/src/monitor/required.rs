//! The plugins that a program needs: they are prepared before it runs.

use super::shared::Shared;
use crate::{
    diagnostic::Diagnostic,
    provider::{ProviderSource, ProviderSpec},
};

/// Installs missing plugins where the host installs plugins, then warns of those that are still missing. Ends early when the
/// operation ends.
pub(super) async fn prepare(shared: &Shared, plugins: &[ProviderSpec]) {
    let executor = shared.generator.executor();
    let Some(_flight) = shared.admission.in_flight.enter() else {
        return;
    };
    let source = shared.generator.registry().source();
    let preparing = async {
        source.install_beforehand(plugins).await;
        if executor.control().is_stopped() {
            return;
        }
        let missing = missing(&**source, plugins).await;
        if let Some(warning) = warning(&missing) {
            shared.reports.log(warning);
        }
    };
    tokio::select! {
        biased;
        () = executor.terminated() => {}
        () = preparing => {}
    }
}

/// Returns the plugins that are not there, in their order, each once.
async fn missing<'a>(source: &dyn ProviderSource, plugins: &'a [ProviderSpec]) -> Vec<&'a ProviderSpec> {
    let mut missing: Vec<&ProviderSpec> = Vec::new();
    for plugin in plugins {
        let same =
            |known: &&ProviderSpec| (&known.plugin, &known.version) == (&plugin.plugin, &plugin.version);
        if !missing.iter().any(same) && source.is_absent(plugin).await {
            missing.push(plugin);
        }
    }
    missing
}

fn warning(missing: &[&ProviderSpec]) -> Option<Diagnostic> {
    let named = missing.iter().map(|plugin| match &plugin.version {
        Some(version) => format!("{} {version}", plugin.plugin),
        None => plugin.plugin.clone(),
    });
    let named: Vec<String> = named.collect();
    let text = match &named[..] {
        [] => return None,
        [plugin] => format!(
            "the plugin {plugin} of a package of the program is not installed: the first request that needs it fails"
        ),
        _ => format!(
            "{} plugins of packages of the program are not installed: {}; the first request that needs one of them fails",
            named.len(),
            named.join(", ")
        ),
    };
    Some(Diagnostic::warning(text))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plugin(name: &str, version: Option<&str>) -> ProviderSpec {
        ProviderSpec {
            plugin: name.to_owned(),
            version: version.map(|version| version.parse().unwrap()),
            ..ProviderSpec::default()
        }
    }

    #[test]
    fn one_warning_lists_all_missing_plugins() {
        let (files, shop) = (plugin("files", Some("2.0.0")), plugin("shop", None));
        let text = |missing: &[&ProviderSpec]| {
            warning(missing).map(|warning| warning.message.reference().to_owned())
        };
        assert_eq!(text(&[]), None);
        assert_eq!(
            text(&[&shop]).unwrap(),
            "the plugin shop of a package of the program is not installed: the first request that needs it fails"
        );
        assert_eq!(
            text(&[&files, &shop]).unwrap(),
            "2 plugins of packages of the program are not installed: files 2.0.0, shop; the first request that needs one of \
             them fails"
        );
    }
}
