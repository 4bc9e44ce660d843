//! The providers that are given an extension: once each, for every kind of request.

use super::*;

#[tokio::test(flavor = "multi_thread")]
async fn concurrent_requests_share_one_parameterize_of_their_provider_and_others_do_not_wait() {
    let plugins = ExtensiblePlugins::holding_extensions();
    let stack = open(memory(), &plugins).await;
    let seen = plugins.clone();
    let program = over_loopback(move |address| {
        let plugins = seen.clone();
        async move {
            let mut client = client(&address).await;
            let more = announce(&mut client, extension("more", "1.0.0")).await.unwrap();
            let again = announce(&mut client, extension("more", "1.0.0")).await.unwrap();
            assert_eq!((more.clone(), again), (reference("more", "1.0.0"), more.clone()));
            let users = (0..20).map(|number| {
                let (mut client, more) = (client.clone(), more.clone());
                async move { register(&mut client, thing(&format!("a{number}"), "more", &more)).await }
            });
            let users = tokio::spawn(join_all(users));
            let given = plugins.clone();
            let parameterizes = move || given.calls().iter().any(|call| call.contains("parameterize"));
            until("the first Parameterize", parameterizes).await;
            // The package itself needs no extension.
            let plain = RegisterResourceRequest {
                version: "0.8.1".to_owned(),
                ..thing("plain", "base", "")
            };
            register(&mut client, plain).await.unwrap();
            plugins.let_extend();
            for user in users.await.unwrap() {
                user.unwrap();
            }
        }
    });
    let result = run(&stack, OperationKind::Update, Some(program)).await;
    let calls = plugins.take();
    let place = |call: &str| calls.iter().position(|made| made == call).unwrap();
    let parameterized: Vec<_> = calls
        .iter()
        .filter(|call| call.contains("parameterize"))
        .collect();
    assert_eq!(
        parameterized,
        ["1 parameterize more 1.0.0 into more"],
        "{calls:?}"
    );
    assert!(place("1 create plain") < place("1 create a0"), "{calls:?}");
    assert_eq!(calls.len(), 3 + 20, "{calls:?}");
    let more = reference("more", "1.0.0");
    for (name, reference) in recorded(&result) {
        assert_eq!(reference, if name == "plain" { "" } else { &more }, "{name}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn each_provider_is_given_each_of_its_extensions_once_explicit_ones_too() {
    let plugins = ExtensiblePlugins::default();
    let stack = open(memory(), &plugins).await;
    let program = over_loopback(|address| async move {
        let mut client = client(&address).await;
        let more = announce(&mut client, extension("more", "1.0.0")).await.unwrap();
        let other = announce(&mut client, extension("other", "3.0.0")).await.unwrap();
        register(&mut client, thing("a", "more", &more)).await.unwrap();
        register(&mut client, thing("b", "other", &other)).await.unwrap();
        let explicit = RegisterResourceRequest {
            r#type: "pulumi:providers:base".to_owned(),
            ..thing("mine", "base", &more)
        };
        let explicit = register(&mut client, explicit).await.unwrap();
        for (name, package, package_ref) in
            [("c", "more", &more), ("d", "more", &more), ("e", "other", &other)]
        {
            let of_explicit = RegisterResourceRequest {
                provider: format!("{}::{}", explicit.urn, explicit.id),
                ..thing(name, package, package_ref)
            };
            register(&mut client, of_explicit).await.unwrap();
        }
        // The extension has no provider of its own.
        let wrong = RegisterResourceRequest {
            r#type: "pulumi:providers:more".to_owned(),
            ..thing("wrong", "more", &more)
        };
        let status = register(&mut client, wrong).await.unwrap_err();
        let expected = "there is no provider of the package 'more': a provider of 'base' serves it, with the extension \
                        'more 1.0.0'";
        assert_eq!(
            (status.code(), status.message()),
            (Code::InvalidArgument, expected)
        );
    });
    let result = run(&stack, OperationKind::Update, Some(program)).await;
    let started = [
        "1 configure",
        "1 parameterize more 1.0.0 into more",
        "1 create a",
        "1 parameterize other 3.0.0 into other",
        "1 create b",
        "2 configure",
        "2 parameterize more 1.0.0 into more",
        "2 create c",
        "2 create d",
        "2 parameterize other 3.0.0 into other",
        "2 create e",
    ];
    assert_eq!(plugins.take(), started);
    let recorded_blobs = extensions(&result).and_then(Value::as_object).unwrap();
    let references = [reference("more", "1.0.0"), reference("other", "3.0.0")];
    assert_eq!(recorded_blobs.len(), 2);
    assert!(
        references
            .iter()
            .all(|reference| recorded_blobs.contains_key(reference))
    );

    run(&stack, OperationKind::Destroy, None).await;
    let calls = plugins.take();
    let parameterized = calls.iter().filter(|call| call.contains("parameterize")).count();
    let deleted = calls.iter().filter(|call| call.contains("delete")).count();
    assert_eq!(
        (parameterized, deleted, calls.len()),
        (4, 5, 4 + 5 + 2),
        "{calls:?}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn reads_functions_methods_and_components_get_their_extension_too() {
    let plugins = ExtensiblePlugins::default();
    let stack = open(memory(), &plugins).await;
    let program = over_loopback(|address| async move {
        let mut client = client(&address).await;
        let announced = |name: &'static str| {
            let mut client = client.clone();
            async move { announce(&mut client, extension(name, "1.0.0")).await.unwrap() }
        };
        let invoke = ResourceInvokeRequest {
            tok: "one:index:get".to_owned(),
            package_ref: announced("one").await,
            ..ResourceInvokeRequest::default()
        };
        let call = ResourceCallRequest {
            tok: "two:index:Thing/list".to_owned(),
            package_ref: announced("two").await,
            ..ResourceCallRequest::default()
        };
        let component = RegisterResourceRequest {
            custom: false,
            remote: true,
            ..thing("c", "three", &announced("three").await)
        };
        let read = ReadResourceRequest {
            id: "id-d".to_owned(),
            r#type: "four:index:Thing".to_owned(),
            name: "d".to_owned(),
            package_ref: announced("four").await,
            ..ReadResourceRequest::default()
        };
        let exists = ExistsResourceRequest {
            id: "id-e".to_owned(),
            r#type: "five:index:Thing".to_owned(),
            package_ref: announced("five").await,
            ..ExistsResourceRequest::default()
        };
        client.exists_resource(exists).await.unwrap();
        client.invoke(invoke).await.unwrap();
        client.call(call).await.unwrap();
        register(&mut client, component).await.unwrap();
        client.read_resource(read).await.unwrap();
    });
    let result = run(&stack, OperationKind::Update, Some(program)).await;
    assert_eq!(
        plugins.take(),
        [
            "1 configure",
            "1 parameterize five 1.0.0 into five",
            "1 read id-e",
            "1 parameterize one 1.0.0 into one",
            "1 invoke one:index:get",
            "1 parameterize two 1.0.0 into two",
            "1 call two:index:Thing/list",
            "1 parameterize three 1.0.0 into three",
            "1 construct c",
            "1 parameterize four 1.0.0 into four",
            "1 read id-d",
        ]
    );
    // The others have no record.
    let four = reference("four", "1.0.0");
    assert_eq!(recorded(&result), [("d".to_owned(), four.clone())]);
    let blobs = json!({four.as_str(): blob("four", "1.0.0", "aW50byBmb3Vy")});
    assert_eq!(extensions(&result), Some(&blobs));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_child_has_its_own_version_of_an_extension_or_that_of_its_parent() {
    let plugins = ExtensiblePlugins::default();
    let stack = open(memory(), &plugins).await;
    let program = over_loopback(|address| async move {
        let mut client = client(&address).await;
        let old = announce(&mut client, extension("more", "1.0.0")).await.unwrap();
        let new = announce(&mut client, extension("more", "2.0.0")).await.unwrap();
        let parent = register(&mut client, thing("a", "more", &old)).await.unwrap();
        for (name, package_ref) in [("b", new.as_str()), ("c", "")] {
            let child = RegisterResourceRequest {
                parent: parent.urn.clone(),
                ..thing(name, "more", package_ref)
            };
            register(&mut client, child).await.unwrap();
        }
    });
    let result = run(&stack, OperationKind::Update, Some(program)).await;
    let (old, new) = (reference("more", "1.0.0"), reference("more", "2.0.0"));
    let expected = [("a", &old), ("b", &new), ("c", &old)];
    let expected = expected.map(|(name, reference)| (name.to_owned(), reference.clone()));
    assert_eq!(recorded(&result), expected);
}
