//! Extensions that are refused: by the engine, or by the plugin.

use super::*;

#[tokio::test(flavor = "multi_thread")]
async fn a_failed_extension_fails_what_needs_it_with_provider_extension_and_resource() {
    for (name, why) in [
        ("bad", "the schema is damaged"),
        ("odd", "plugin base answered with the extension \"even\""),
    ] {
        let plugins = ExtensiblePlugins::default();
        let stack = open(memory(), &plugins).await;
        let result = try_to(
            &stack,
            OperationKind::Update,
            Some(with_things(name, "1.0.0", &["a"])),
        )
        .await;
        let error = result.error.as_ref().unwrap();
        let text = error.message();
        for part in [
            format!(
                "could not add the extension '{name} 1.0.0' to the provider 'urn:pulumi:dev::shop::pulumi:providers:base::default_0_8_1::"
            ),
            format!("for 'urn:pulumi:dev::shop::{name}:index:Thing::a': "),
            why.to_owned(),
        ] {
            assert!(text.contains(&part), "{text}: {part}");
        }
        let calls = plugins.take();
        assert!(
            !calls
                .iter()
                .any(|call| call.contains("create") || call.contains("serve")),
            "{calls:?}"
        );
        assert_eq!((recorded(&result), extensions(&result)), (Vec::new(), None));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn all_that_wait_for_a_failed_extension_fail_and_it_is_not_tried_again() {
    let plugins = ExtensiblePlugins::holding_extensions();
    let stack = open(memory(), &plugins).await;
    let seen = plugins.clone();
    let program = over_loopback(move |address| {
        let plugins = seen.clone();
        async move {
            let mut client = client(&address).await;
            let bad = announce(&mut client, extension("bad", "1.0.0")).await.unwrap();
            let calls = (0..5).map(|number| {
                let invoke = ResourceInvokeRequest {
                    tok: format!("bad:index:get{number}"),
                    package_ref: bad.clone(),
                    ..ResourceInvokeRequest::default()
                };
                let mut client = client.clone();
                async move { client.invoke(invoke).await }
            });
            let calls = tokio::spawn(join_all(calls));
            let given = plugins.clone();
            let parameterizes = move || given.calls().iter().any(|call| call.contains("parameterize"));
            until("the first Parameterize", parameterizes).await;
            plugins.let_extend();
            for (number, called) in calls.await.unwrap().into_iter().enumerate() {
                let status = called.unwrap_err();
                let end = format!("for 'bad:index:get{number}': ");
                let text = status.message();
                assert!(
                    text.starts_with("Invoke: could not add the extension 'bad 1.0.0' to"),
                    "{text}"
                );
                assert!(
                    text.contains(&end) && text.contains("the schema is damaged"),
                    "{text}"
                );
            }
        }
    });
    run(&stack, OperationKind::Update, Some(program)).await;
    assert_eq!(
        plugins.take(),
        ["1 configure", "1 parameterize bad 1.0.0 into bad"]
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn invalid_extensions_are_refused_with_the_reason() {
    let plugins = ExtensiblePlugins::default();
    let stack = open(memory(), &plugins).await;
    let program = over_loopback(|address| async move {
        let mut client = client(&address).await;
        let both = RegisterPackageRequest {
            parameterization: extension("made", "1.0.0").extension,
            ..extension("more", "1.0.0")
        };
        for (request, expected) in [
            (extension("more", "new"), "parse extension version new: "),
            (
                extension("", "1.0.0"),
                "the extension of the package 'base' has no name",
            ),
            (
                both,
                "the package 'base' has both a parameterization ('made') and an extension ('more'), which are mutually \
                 exclusive",
            ),
        ] {
            let status = announce(&mut client, request).await.unwrap_err();
            assert!(status.message().starts_with(expected), "{status}");
        }
    });
    run(&stack, OperationKind::Update, Some(program)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn code_of_the_host_is_given_no_extension() {
    let engine = Engine::builder(tokio::runtime::Handle::current())
        .store(memory())
        .secrets(Arc::new(Base64Provider))
        .provider(
            "base",
            Arc::new(EchoProvider::default()) as Arc<dyn ProviderBackend>,
        )
        .build()
        .unwrap();
    let stack = engine.stack("shop/dev", StackSettings::default()).await.unwrap();
    let result = try_to(
        &stack,
        OperationKind::Update,
        Some(with_things("more", "1.0.0", &["a"])),
    )
    .await;
    let text = result.error.as_ref().unwrap().message().to_owned();
    assert!(
        text.contains("could not add the extension 'more 1.0.0' to the provider "),
        "{text}"
    );
    assert!(
        text.ends_with("::a': code of the host serves it, which has no extensions"),
        "{text}"
    );
    assert_eq!(recorded(&result), []);
}
