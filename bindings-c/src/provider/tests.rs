//! Tests of providers of the host: immediate and late responses, failures, freed completions and cancelled calls.

use std::{
    ffi::c_void,
    sync::{
        Arc, Mutex,
        atomic::{AtomicU64, AtomicUsize, Ordering},
    },
};

use stackwright::{
    property::{PropertyMap, PropertyValue},
    provider::{
        Call, CheckRequest, CreateRequest, DeleteRequest, MappingRequest, ProviderBackend as _,
        ProviderStatus, Reply, SchemaRequest, Views,
    },
    urn::Urn,
};

use super::{
    CProvider, SW_PROVIDER_PROMPT, SW_PROVIDER_VERSION,
    completion::{
        sw_completion_fail, sw_completion_fail_with, sw_completion_free, sw_completion_id,
        sw_completion_succeed, sw_completion_t,
    },
    sw_provider_t,
};
use crate::{bytes::sw_bytes_view_t, failure::Failure, runtime::tests::test_runtime, status::sw_status_t};

#[derive(Default)]
struct Host {
    requests: Mutex<Vec<String>>,
    kept: Mutex<Option<usize>>,
    kept_call: AtomicU64,
    given_up: AtomicU64,
    frees: AtomicUsize,
}

/// # Safety
/// The tests pass a `Host` that outlives the table.
unsafe fn host<'a>(user_data: *mut c_void) -> &'a Host {
    // SAFETY: this function's contract.
    unsafe { &*user_data.cast() }
}

unsafe extern "C" fn create(
    user_data: *mut c_void,
    request: sw_bytes_view_t,
    completion: *mut sw_completion_t,
) {
    // SAFETY: as the tests pass it.
    let host = unsafe { host(user_data) };
    // SAFETY: borrowed for this call.
    let request = unsafe { request.text("request") }.unwrap_or_default().to_owned();
    host.requests.lock().expect("no panic").push(request.clone());
    let answer = |json: &[u8]| {
        // SAFETY: completed or freed once on each path.
        let _ = unsafe { sw_completion_succeed(completion, sw_bytes_view_t::new(json)) };
    };
    if request.contains("\"name\":\"good\"") {
        answer(br#"{"id": "7", "outputs": {"n": 1}}"#);
    } else if request.contains("\"name\":\"garbage\"") {
        answer(b"not json");
    } else if request.contains("\"name\":\"typo\"") {
        answer(br#"{"identity": "7"}"#);
    } else if request.contains("\"name\":\"odd\"") {
        answer(br#"{"id": "o", "outputs": 5}"#);
    } else if request.contains("\"name\":\"odd half\"") {
        let failure = br#"{"initFailure": {"id": "h", "outputs": 5, "reasons": ["too slow"]}}"#;
        // SAFETY: completed or freed once on each path.
        let _ = unsafe { sw_completion_fail_with(completion, sw_bytes_view_t::new(failure)) };
    } else if request.contains("\"name\":\"silent\"") {
        // SAFETY: completed or freed once on each path.
        sw_completion_free(completion);
    } else if request.contains("\"name\":\"half\"") {
        let failure = br#"{"initFailure": {"id": "h", "outputs": {"a": 1}, "reasons": ["too slow"]}}"#;
        // SAFETY: completed or freed once on each path.
        let _ = unsafe { sw_completion_fail_with(completion, sw_bytes_view_t::new(failure)) };
    } else if request.contains("\"name\":\"later\"") {
        // SAFETY: not completed yet.
        host.kept_call
            .store(sw_completion_id(completion), Ordering::SeqCst);
        *host.kept.lock().expect("no panic") = Some(completion as usize);
    } else {
        // SAFETY: completed or freed once on each path.
        let _ = unsafe { sw_completion_fail(completion, 5, sw_bytes_view_t::new(b"no such place")) };
    }
}

unsafe extern "C" fn delete(_: *mut c_void, _: sw_bytes_view_t, completion: *mut sw_completion_t) {
    // SAFETY: completed once.
    let _ = unsafe { sw_completion_succeed(completion, sw_bytes_view_t::empty()) };
}

unsafe extern "C" fn get_schema(_: *mut c_void, request: sw_bytes_view_t, completion: *mut sw_completion_t) {
    // SAFETY: borrowed for this call.
    let request = unsafe { request.text("request") }.unwrap_or_default();
    let schema: &[u8] = match request {
        r#"{"subpackageName":"","subpackageVersion":""}"# => br#"{"name": "files", "pi": 3.10}"#,
        r#"{"subpackageName":"made","subpackageVersion":"1.0.0"}"# => b"[]",
        _ => b"",
    };
    // SAFETY: completed once.
    let _ = unsafe { sw_completion_succeed(completion, sw_bytes_view_t::new(schema)) };
}

unsafe extern "C" fn get_mapping(_: *mut c_void, request: sw_bytes_view_t, completion: *mut sw_completion_t) {
    // SAFETY: borrowed for this call.
    let request = unsafe { request.text("request") }.unwrap_or_default();
    let mapping: &[u8] = match request {
        r#"{"key":"terraform","provider":"one"}"# => br#"{"provider": "one", "data": "AP8="}"#,
        r#"{"key":"terraform","provider":"wrong"}"# => br#"{"provider": "wrong", "data": "no base64"}"#,
        _ => b"",
    };
    // SAFETY: completed once.
    let _ = unsafe { sw_completion_succeed(completion, sw_bytes_view_t::new(mapping)) };
}

unsafe extern "C" fn get_mappings(
    _: *mut c_void,
    request: sw_bytes_view_t,
    completion: *mut sw_completion_t,
) {
    // SAFETY: borrowed for this call.
    let request = unsafe { request.text("request") }.unwrap_or_default();
    let names: &[u8] = match request {
        r#"{"key":"terraform"}"# => br#"["one", "two"]"#,
        r#"{"key":"wrong"}"# => br#"{"names": []}"#,
        _ => b"",
    };
    // SAFETY: completed once.
    let _ = unsafe { sw_completion_succeed(completion, sw_bytes_view_t::new(names)) };
}

unsafe extern "C" fn give_up(user_data: *mut c_void, call: u64) {
    // SAFETY: as the tests pass it.
    unsafe { host(user_data) }.given_up.store(call, Ordering::SeqCst);
}

unsafe extern "C" fn free(user_data: *mut c_void) {
    // SAFETY: as the tests pass it.
    unsafe { host(user_data) }.frees.fetch_add(1, Ordering::SeqCst);
}

fn functions(host: &Host, flags: u32) -> sw_provider_t {
    sw_provider_t {
        struct_size: size_of::<sw_provider_t>(),
        version: SW_PROVIDER_VERSION,
        flags,
        user_data: std::ptr::from_ref(host).cast_mut().cast(),
        free: Some(free),
        handshake: None,
        plugin_info: None,
        check_config: None,
        diff_config: None,
        configure: None,
        check: None,
        diff: None,
        create: Some(create),
        read: None,
        update: None,
        delete_: Some(delete),
        invoke: None,
        give_up: Some(give_up),
        cancel: None,
        close: None,
        get_schema: None,
        get_mapping: None,
        get_mappings: None,
        construct: None,
        call: None,
    }
}

fn urn() -> Urn {
    Urn::parse("urn:pulumi:dev::shop::files:index:File::a").expect("a URN")
}

fn request(name: &str) -> CreateRequest {
    CreateRequest {
        urn: urn(),
        resource_type: "files:index:File".into(),
        name: name.to_owned(),
        inputs: [("secret", PropertyValue::secret("s".into()))]
            .into_iter()
            .collect(),
        timeout: 0.0,
        preview: false,
        views: Views::default(),
    }
}

/// Makes a call and returns the content of its reply.
macro_rules! ask {
    ($table:expr, $call:ident($request:expr) -> $reply:ident) => {
        Box::pin(async {
            match $table.call(Call::$call($request)).await {
                Ok(Reply::$reply(answer)) => Ok(answer),
                Ok(other) => panic!("another answer: {other:?}"),
                Err(error) => Err(error),
            }
        })
    };
}

fn with_table(flags: u32, test: impl AsyncFn(&CProvider, &Host)) {
    let runtime = test_runtime();
    let host = Host::default();
    let functions = functions(&host, flags);
    // SAFETY: a local table.
    let table = unsafe { CProvider::new(&raw const functions, "files", Arc::clone(&runtime.shared)) }
        .expect("a table");
    table.adopt();
    runtime.shared.handle.block_on(test(&table, &host));
    drop(table);
    runtime.shared.gate.wait_until_idle();
    assert_eq!(
        host.frees.load(Ordering::SeqCst),
        1,
        "user_data is freed exactly once"
    );
}

#[test]
fn functions_are_called_on_either_kind_of_thread() {
    for flags in [0, SW_PROVIDER_PROMPT] {
        with_table(flags, async |table, host| {
            let response = ask!(table, Create(request("good")) -> Create)
                .await
                .expect("an answer");
            assert_eq!(
                (response.id.as_str(), response.outputs.get("n")),
                ("7", Some(&PropertyValue::Number(1.0)))
            );
            let seen = host.requests.lock().expect("no panic").concat();
            assert!(seen.contains("\"type\":\"files:index:File\""), "{seen}");
            assert!(
                seen.contains("1b47061264138c4ac30d75fd1eb44270"),
                "a secret stays marked: {seen}"
            );
        });
    }
}

#[test]
fn failures_keep_status_message_and_details() {
    with_table(SW_PROVIDER_PROMPT, async |table, _| {
        let refused = ask!(table, Create(request("bad")) -> Create)
            .await
            .expect_err("refused");
        assert_eq!(
            (refused.status, refused.message.as_str()),
            (ProviderStatus::NotFound, "no such place")
        );
        let half = ask!(table, Create(request("half")) -> Create)
            .await
            .expect_err("half made");
        let unfinished = half.init_failure.expect("it exists");
        assert_eq!((unfinished.id.as_str(), unfinished.outputs.len()), ("h", 1));
        assert_eq!(half.message, "too slow");
        for (name, id) in [("odd", "o"), ("odd half", "h")] {
            let error = ask!(table, Create(request(name)) -> Create)
                .await
                .expect_err(name);
            assert!(error.outcome_unknown, "{name}");
            assert_eq!(error.init_failure.expect("it exists").id, id, "{name}");
        }
        assert!(!refused.outcome_unknown && !half.outcome_unknown);
        for name in ["garbage", "typo", "silent"] {
            let error = ask!(table, Create(request(name)) -> Create)
                .await
                .expect_err(name);
            assert_eq!(error.status, ProviderStatus::Internal, "{name}");
            assert!(error.message.contains("create"), "{name}: {}", error.message);
            assert!(error.outcome_unknown, "{name}");
        }
    });
}

#[test]
fn give_up_is_called_for_a_cancelled_call_which_may_still_be_completed() {
    with_table(SW_PROVIDER_PROMPT, async |table, host| {
        let call = ask!(table, Create(request("later")) -> Create);
        assert!(futures::poll!(call).is_pending());
        assert_eq!(
            host.given_up.load(Ordering::SeqCst),
            host.kept_call.load(Ordering::SeqCst)
        );
        let completion = host.kept.lock().expect("no panic").take().expect("kept") as *mut sw_completion_t;
        // SAFETY: completed once.
        let status = unsafe { sw_completion_succeed(completion, sw_bytes_view_t::empty()) };
        assert_eq!(status, sw_status_t::SW_STATUS_OK);
    });
}

#[test]
fn missing_functions_have_default_behaviour() {
    with_table(0, async |table, _| {
        let news: PropertyMap = [("a", true.into())].into_iter().collect();
        let request = CheckRequest {
            urn: urn(),
            resource_type: "files:index:File".into(),
            name: "a".to_owned(),
            olds: None,
            old_outputs: None,
            news: news.clone(),
            random_seed: Vec::new(),
            preview: true,
            autonaming: None,
        };
        assert_eq!(
            ask!(table, Check(request) -> Check)
                .await
                .expect("checked")
                .inputs,
            news
        );
        let request = DeleteRequest {
            urn: urn(),
            resource_type: "files:index:File".into(),
            name: "a".to_owned(),
            id: "7".into(),
            inputs: PropertyMap::new(),
            outputs: PropertyMap::new(),
            timeout: 0.0,
            views: Views::default(),
        };
        table.call(Call::Delete(request)).await.expect("deleted");
    });
}

#[test]
fn a_schema_is_returned_unchanged_and_must_be_an_object() {
    let runtime = test_runtime();
    let host = Host::default();
    let functions = sw_provider_t {
        get_schema: Some(get_schema),
        ..functions(&host, 0)
    };
    // SAFETY: a local table.
    let table = unsafe { CProvider::new(&raw const functions, "files", Arc::clone(&runtime.shared)) };
    let table = table.expect("a table");
    let ask = |name: &str, version: &str| {
        let request = SchemaRequest {
            subpackage_name: name.to_owned(),
            subpackage_version: version.to_owned(),
        };
        runtime
            .shared
            .handle
            .block_on(ask!(table, GetSchema(request) -> Schema))
    };
    assert_eq!(ask("", "").expect("a schema"), r#"{"name": "files", "pi": 3.10}"#);
    for (name, version) in [("made", "1.0.0"), ("other", "")] {
        let error = ask(name, version).expect_err("no schema");
        assert!(error.message.contains("no JSON object"), "{error}");
    }
}

#[test]
fn a_mapping_has_the_bytes_of_the_named_provider() {
    let runtime = test_runtime();
    let host = Host::default();
    let functions = sw_provider_t {
        get_mapping: Some(get_mapping),
        get_mappings: Some(get_mappings),
        ..functions(&host, 0)
    };
    // SAFETY: a local table.
    let table = unsafe { CProvider::new(&raw const functions, "files", Arc::clone(&runtime.shared)) };
    let table = table.expect("a table");
    let names = |key: &str| {
        runtime
            .shared
            .handle
            .block_on(ask!(table, GetMappings(key.to_owned()) -> Mappings))
    };
    assert_eq!(names("terraform").expect("names"), ["one", "two"]);
    assert!(names("helm").expect("none").is_empty());
    let error = names("wrong").expect_err("no list");
    assert!(error.message.contains("get_mappings"), "{error}");
    let ask = |key: &str, provider: &str| {
        let (key, provider) = (key.to_owned(), provider.to_owned());
        let request = MappingRequest { key, provider };
        runtime
            .shared
            .handle
            .block_on(ask!(table, GetMapping(request) -> Mapping))
    };
    let one = ask("terraform", "one").expect("a mapping");
    assert_eq!(
        (one.provider.as_str(), one.data.as_slice()),
        ("one", &[0, 255][..])
    );
    let none = ask("helm", "").expect("no mapping");
    assert!(none.provider.is_empty() && none.data.is_empty());
    let error = ask("terraform", "wrong").expect_err("no base64");
    assert!(error.message.contains("no base64"), "{error}");
}

#[test]
fn missing_mapping_functions_are_unimplemented() {
    with_table(0, async |table, _| {
        let error = ask!(table, GetMappings("terraform".to_owned()) -> Mappings)
            .await
            .expect_err("nothing");
        assert_eq!(error.status, ProviderStatus::Unimplemented);
        let error = ask!(table, GetMapping(MappingRequest::default()) -> Mapping)
            .await
            .expect_err("nothing");
        assert_eq!(error.status, ProviderStatus::Unimplemented);
    });
}

#[test]
fn an_invalid_table_is_refused_and_its_user_data_not_freed() {
    let runtime = test_runtime();
    let host = Host::default();
    let good = functions(&host, 0);
    let bad = [
        sw_provider_t {
            struct_size: 8,
            ..good
        },
        sw_provider_t { version: 99, ..good },
        sw_provider_t {
            flags: 1 << 30,
            ..good
        },
        sw_provider_t { create: None, ..good },
    ];
    for table in bad {
        // SAFETY: a local table.
        let outcome = unsafe { CProvider::new(&raw const table, "files", Arc::clone(&runtime.shared)) };
        assert!(matches!(outcome, Err(Failure::Misuse(_))));
    }
    assert_eq!(host.frees.load(Ordering::SeqCst), 0);
}
