//! Tests of parameterized packages.

use stackwright_proto::pulumirpc::{ParameterizeResponse, parameterize_request::Parameters};

use super::*;
use crate::{
    provider::{BasePlugin, ProviderSource as _, RunSource, RunSurroundings},
    resource::Extension,
};

/// The package `made`: the plugin `files` with the parameter `value`.
fn parameterized(value: &str) -> ProviderSpec {
    ProviderSpec {
        parameter: Some(Parameter {
            name: "made".into(),
            version: "1.0.0".into(),
            value: value.into(),
        }),
        ..spec()
    }
}

#[tokio::test]
async fn a_plugin_is_parameterized_once_and_reused_for_the_same_package_only() {
    let (mut fake, calls) = fake();
    fake.parameterize = Some(Box::new(|request| match request.parameters {
        Some(Parameters::Value(made)) => Ok(ParameterizeResponse {
            name: made.name,
            version: made.version,
        }),
        _ => Err(tonic::Status::invalid_argument("a value was expected")),
    }));
    let parts = with_process(fake.serve().await, PoolSettings::default());
    let loader = ProviderLoader::new(parts.clone());
    for value in ["one", "two", "one"] {
        let spec = parameterized(value);
        let prepared = loader.load(&spec, &PluginContext::default()).await.unwrap();
        assert!(prepared.serves_package);
        prepared.release().await;
    }
    assert_eq!(parts.pool.idle_count(), 2);
    let starting = ["handshake", "get_plugin_info", "parameterize"];
    // The last GetPluginInfo shows that the process answers, which is used again.
    let expected = [&starting[..], &starting, &["get_plugin_info"]].concat();
    assert_eq!(*calls.lock().unwrap(), expected);
    parts.pool.close_all().await;
}

#[tokio::test]
async fn a_process_with_an_extension_is_not_reused() {
    let (mut fake, calls) = fake();
    fake.parameterize = Some(Box::new(|_| {
        Ok(ParameterizeResponse {
            name: "more".into(),
            version: "1.0.0".into(),
        })
    }));
    let parts = with_process(fake.serve().await, PoolSettings::default());
    let loader = ProviderLoader::new(parts.clone());
    let extension = Extension::new("more", "1.0.0", Vec::new());
    for (extends, idle) in [(false, 1), (true, 0), (true, 0), (false, 1)] {
        let prepared = loader.load(&spec(), &PluginContext::default()).await.unwrap();
        if extends {
            let plugin = prepared.plugin.clone().unwrap();
            plugin.extend(&extension).await.unwrap();
        }
        prepared.release().await;
        assert_eq!(parts.pool.idle_count(), idle);
    }
    // The second use takes the process of the first; those with the extension are ended.
    let starts = calls
        .lock()
        .unwrap()
        .iter()
        .filter(|call| **call == "handshake")
        .count();
    assert_eq!(starts, 3);
    parts.pool.close_all().await;
}

#[tokio::test]
async fn code_of_the_host_serves_a_package_by_its_name_and_is_not_parameterized() {
    let mut parts = parts(Arc::default(), PoolSettings::default());
    parts.in_process.insert("files".into(), Arc::new(InProcess));
    let builtin = Arc::new(InProcess);
    let load = |parts: &LoaderParts| {
        let loader = ProviderLoader::new(parts.clone());
        let source = RunSource::new(loader, Arc::clone(&builtin) as _, RunSurroundings::default());
        let request = ProviderSettings {
            package: "made".into(),
            base: Some(BasePlugin {
                name: "files".into(),
                ..BasePlugin::default()
            }),
            ..ProviderSettings::default()
        };
        async move { source.load(request).await }
    };
    let error = load(&parts).await.err().unwrap();
    assert_eq!(error.kind(), ErrorKind::Plugin);
    assert_eq!(
        error.message(),
        "package 'made' is made of the plugin 'files' by a parameter, which code of the host that serves 'files' \
         cannot be given"
    );
    let provider: Arc<dyn ProviderBackend> = Arc::new(InProcess);
    parts.in_process.insert("made".into(), Arc::clone(&provider));
    let loaded = load(&parts).await.unwrap();
    assert!(Arc::ptr_eq(&loaded.provider, &provider));
    // Requests about packages contain the package's name.
    parts.in_process.remove("made");
    let loader = ProviderLoader::new(parts.clone());
    let asked = loader.load(&parameterized("x"), &PluginContext::default()).await;
    assert!(!asked.unwrap().serves_package);
}
