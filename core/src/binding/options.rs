//! Options of resources, reads and calls of functions: checked where a program writes them, read where they are sent.

use std::sync::Arc;

use serde_json::Value;

use super::{
    Document,
    members::members,
    read::{checked, read_checked},
};
use crate::{
    error::{Error, Result},
    message::Language,
    monitor::{
        Exists, ExistsDocument, Invoke, InvokeDocument, MethodCall, MethodDocument, PackageChoice, Read,
        ReadDocument, Registration, RegistrationDocument, ResourceTransform,
    },
    resource::ProviderReference,
};

/// Whose options a program writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OptionsOf {
    /// A resource that is registered.
    Resource,
    /// A resource that is read.
    Read,
    /// A call of a function.
    Invoke,
    /// A query whether a resource exists.
    Exists,
    /// A call of a method.
    Call,
}

impl OptionsOf {
    /// Returns the options of this name: `resource`, `read`, `invoke`, `exists` or `call`.
    ///
    /// # Errors
    /// [`crate::ErrorKind::InvalidInput`] when there are none.
    pub fn named(name: &str) -> Result<Self> {
        match name {
            "resource" => Ok(Self::Resource),
            "read" => Ok(Self::Read),
            "invoke" => Ok(Self::Invoke),
            "exists" => Ok(Self::Exists),
            "call" => Ok(Self::Call),
            _ => Err(Error::invalid(format!("there are no options of {name:?}"))),
        }
    }
}

/// Checks options where a program writes them, with a [`super::stand_in`] in the place of each value of the language: `a resource`,
/// `an output`, or a description of any other value that has no JSON.
///
/// # Errors
/// Those of [`super::read`].
pub fn check_options(of: OptionsOf, options: Value, language: Language, subject: &str) -> Result<()> {
    let checked = match of {
        OptionsOf::Resource => checked::<RegistrationDocument>(options, language, subject),
        OptionsOf::Read => checked::<ReadDocument>(options, language, subject),
        OptionsOf::Invoke => checked::<InvokeDocument>(options, language, subject),
        OptionsOf::Exists => checked::<ExistsDocument>(options, language, subject),
        OptionsOf::Call => checked::<MethodDocument>(options, language, subject),
    };
    checked.map(|_| ())
}

/// Reads options, with URNs and references in the place of resources, into a registration that has nothing else yet. `token` is
/// the type or the function that their provider serves; `None` where it serves others.
///
/// # Errors
/// Those of [`super::read`].
pub fn registration_of_options(
    options: Value,
    token: Option<&str>,
    language: Language,
    subject: &str,
) -> Result<Registration> {
    let mut document = checked::<RegistrationDocument>(options, language, subject)?;
    for name in ["type", "name"] {
        document[name] = "".into();
    }
    let registration = read_checked::<RegistrationDocument>(document, subject).map(Registration::from)?;
    check_providers(&registration, subject)?;
    check_package(&registration.package, token, subject)?;
    Ok(registration)
}

/// Refuses a provider of another package than the one that it is named for: the default provider would take its place.
fn check_providers(registration: &Registration, subject: &str) -> Result<()> {
    for (package, provider) in &registration.providers {
        let reference = ProviderReference::parse(provider).ok();
        if let Some(misplaced) = reference.and_then(|reference| reference.misplaced(package)) {
            return Err(Error::invalid(format!(
                "providers names {misplaced}, in the options of {subject}"
            )));
        }
    }
    Ok(())
}

/// Refuses a provider of another package than that of a type or a function: it would get what it does not know. Without a type, what
/// is no provider is refused, too: it would have no effect. Where it has one, the monitor refuses it.
fn check_package(choice: &PackageChoice, token: Option<&str>, subject: &str) -> Result<()> {
    if choice.provider.is_empty() {
        return Ok(());
    }
    if token.is_none() && ProviderReference::parse(&choice.provider).is_err() {
        let resource = choice
            .provider
            .rsplit_once("::")
            .map_or(choice.provider.as_str(), |(urn, _)| urn);
        return Err(Error::invalid(format!(
            "provider takes a provider resource, and {resource:?} is none, in the options of {subject}"
        )));
    }
    match token.and_then(|token| choice.misplaced(token)) {
        Some(misplaced) => Err(Error::invalid(format!(
            "provider is {misplaced}, in the options of {subject}"
        ))),
        None => Ok(()),
    }
}

/// Reads the JSON of a registration, as [`Registration::from_json`] does.
///
/// # Errors
/// Those of [`super::read`].
pub fn registration(json: &[u8], language: Language) -> Result<Registration> {
    registration_with(json, language, &|_| None)
}

/// Reads the JSON of a registration as [`registration`] does, with the transforms that its member `transforms` names.
///
/// # Errors
/// Those of [`super::read`], and for a name for which `transform` returns `None`.
pub fn registration_with(
    json: &[u8],
    language: Language,
    transform: &dyn Fn(&str) -> Option<Arc<dyn ResourceTransform>>,
) -> Result<Registration> {
    let registration = Registration::from_json_with(json, transform).map_err(|error| {
        explained::<RegistrationDocument>(json, language, error, ["the resource", "name"])
    })?;
    let subject = format!("the resource {:?}", registration.name);
    check_providers(&registration, &subject)?;
    // The provider of a component is that of what is below it.
    let is_served = registration.custom || registration.remote;
    let token = is_served.then(|| registration.resource_type.as_str());
    check_package(&registration.package, token, &subject)?;
    Ok(registration)
}

/// Reads the JSON of a read, as [`Read::from_json`] does.
///
/// # Errors
/// Those of [`super::read`].
pub fn read_request(json: &[u8], language: Language) -> Result<Read> {
    let read = Read::from_json(json)
        .map_err(|error| explained::<ReadDocument>(json, language, error, ["the resource", "name"]))?;
    let subject = format!("the resource {:?}", read.name);
    check_package(&read.package, Some(read.resource_type.as_str()), &subject)?;
    Ok(read)
}

/// Reads the JSON of a function's call, as [`Invoke::from_json`] does.
///
/// # Errors
/// Those of [`super::read`].
pub fn invoke(json: &[u8], language: Language) -> Result<Invoke> {
    let invoke = Invoke::from_json(json)
        .map_err(|error| explained::<InvokeDocument>(json, language, error, ["the call of", "token"]))?;
    let subject = format!("the call of {:?}", invoke.token);
    check_package(&invoke.package, Some(&invoke.token), &subject)?;
    Ok(invoke)
}

/// Reads the JSON of a query whether a resource exists, as [`Exists::from_json`] does.
///
/// # Errors
/// Those of [`super::read`].
pub fn exists(json: &[u8], language: Language) -> Result<Exists> {
    let exists = Exists::from_json(json).map_err(|error| {
        explained::<ExistsDocument>(json, language, error, ["the query for a resource", "id"])
    })?;
    let subject = format!("the query for a resource {:?}", exists.id.as_str());
    check_package(&exists.package, Some(exists.resource_type.as_str()), &subject)?;
    Ok(exists)
}

/// Reads the JSON of a method's call, as [`MethodCall::from_json`] does.
///
/// # Errors
/// Those of [`super::read`].
pub fn method_call(json: &[u8], language: Language) -> Result<MethodCall> {
    let call = MethodCall::from_json(json)
        .map_err(|error| explained::<MethodDocument>(json, language, error, ["the call of", "token"]))?;
    let subject = format!("the call of {:?}", call.token);
    check_package(&call.package, Some(&call.token), &subject)?;
    Ok(call)
}

/// Returns the error of a document in the terms of its schema. The usual document is not read twice for that.
fn explained<T: Document>(json: &[u8], language: Language, error: Error, [noun, member]: [&str; 2]) -> Error {
    let Ok(document) = members(json, T::schema(), noun) else {
        return error;
    };
    let subject = match document.get(member) {
        Some(Value::String(name)) => format!("{noun} {name:?}"),
        _ => format!("{noun} without {member}"),
    };
    checked::<T>(Value::Object(document), language, &subject)
        .err()
        .unwrap_or(error)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::binding::stand_in;

    fn refusal(of: OptionsOf, options: Value) -> String {
        let error = check_options(of, options, Language::Python, "the resource 'a'").unwrap_err();
        error.message().to_owned()
    }

    #[test]
    fn resources_stand_in_for_references_and_nothing_else_does() {
        let resource = || stand_in("a resource");
        let options = json!({
            "parent": resource(), "depends_on": [resource(), stand_in("an output")], "provider": resource(),
            "providers": {"mem": resource()}, "deleted_with": resource(), "replace_with": resource(),
            "aliases": [{"parent": resource(), "no_parent": false}, "urn:pulumi:dev::shop::t:m:T::b"],
            "replacement_trigger": stand_in("an output"), "version": null,
        });
        check_options(OptionsOf::Resource, options, Language::Python, "the resource 'a'").unwrap();
        for (options, message) in [
            (
                json!({"version": resource()}),
                "version takes a string, not a resource",
            ),
            (
                json!({"parent": stand_in("an output")}),
                "parent takes a resource or its URN, not an output",
            ),
            (
                json!({"parent": "b"}),
                "parent takes a resource or its URN, not 'b'",
            ),
            (
                json!({"depends_on": [5]}),
                "depends_on[0] takes a resource or its URN, not a number",
            ),
            (
                json!({"depends_on": 5}),
                "depends_on takes resources or their URNs, not a number",
            ),
            (
                json!({"providers": [resource()]}),
                "providers takes provider resources by package, not a list",
            ),
            (json!({"aliases": ["b"]}), "aliases[0] takes a URN, not 'b'"),
            (
                json!({"aliases": [5]}),
                "aliases[0] takes a URN or the parts that differ, not a number",
            ),
            (
                json!({"custom_timeouts": {"read": -1}}),
                "custom_timeouts.read takes a number of seconds from 0, not -1",
            ),
            (
                json!({"ignore_changes": "a"}),
                "ignore_changes takes a list of strings, not a string",
            ),
        ] {
            let expected = format!("{message}, in the options of the resource 'a'");
            assert_eq!(refusal(OptionsOf::Resource, options), expected);
        }
    }

    #[test]
    fn providers_are_named_for_their_own_package() {
        let provider = "urn:pulumi:dev::shop::pulumi:providers:notes::north::id";
        let document = |package: &str| {
            let document = json!({"type": "box:index:Box", "name": "b", "remote": true, "providers": {package: provider}});
            registration(document.to_string().as_bytes(), Language::Node)
        };
        document("notes").unwrap();
        assert_eq!(
            document("notez").unwrap_err().message(),
            "providers names a provider of the package \"notes\" for the package \"notez\", in the options of the resource \"b\""
        );
        let options = json!({"providers": {"notez": provider}});
        let error = registration_of_options(options, None, Language::Python, "the resource 'b'").unwrap_err();
        assert!(
            error.message().ends_with("in the options of the resource 'b'"),
            "{error}"
        );
    }

    #[test]
    fn a_provider_serves_its_own_package_alone() {
        let provider = "urn:pulumi:dev::shop::pulumi:providers:notes::north::id";
        let read = |options: Value, token: Option<&str>| {
            registration_of_options(options, token, Language::Python, "the resource 'b'")
                .map(|_| ())
                .map_err(|error| error.message().to_owned())
        };
        for token in [
            "notes:index:Note",
            "notes:index:Note/open",
            "pulumi:providers:notes",
        ] {
            read(json!({"provider": provider}), Some(token)).unwrap();
        }
        read(json!({"provider": provider}), None).unwrap();
        // The provider of an extension has the name of the package that is extended.
        let extended = json!({"provider": provider, "package": {"plugin_name": "notes", "extension": {"name": "ink", "version": "1.0.0", "value": ""}}});
        read(extended, Some("ink:index:Pen")).unwrap();
        assert_eq!(
            read(json!({"provider": provider}), Some("box:index:Box")).unwrap_err(),
            "provider is a provider of the package \"notes\" for the package \"box\", in the options of the resource 'b'"
        );
        let other = "urn:pulumi:dev::shop::notes:index:Note::a";
        let other_provider = || json!({"provider": format!("{other}::id")});
        assert_eq!(
            read(other_provider(), None).unwrap_err(),
            format!(
                "provider takes a provider resource, and {other:?} is none, in the options of the resource 'b'"
            )
        );
        // The monitor refuses it, with the text of the reference engine.
        read(other_provider(), Some("notes:index:Note")).unwrap();
    }

    #[test]
    fn calls_and_reads_have_providers_of_their_package() {
        let provider = "urn:pulumi:dev::shop::pulumi:providers:notes::north::id";
        let json = |members: Value| {
            let mut members = members;
            members["provider"] = provider.into();
            members.to_string().into_bytes()
        };
        let message = |error: Error| error.message().to_owned();
        let named =
            "provider is a provider of the package \"notes\" for the package \"box\", in the options of";
        assert_eq!(
            read_request(
                &json(json!({"type": "box:index:Box", "name": "b", "id": "1"})),
                Language::Node
            )
            .map_err(message)
            .unwrap_err(),
            format!("{named} the resource \"b\"")
        );
        assert_eq!(
            invoke(&json(json!({"token": "box:index:open"})), Language::Node)
                .map_err(message)
                .unwrap_err(),
            format!("{named} the call of \"box:index:open\"")
        );
        assert_eq!(
            method_call(&json(json!({"token": "box:index:Box/open"})), Language::Node)
                .map_err(message)
                .unwrap_err(),
            format!("{named} the call of \"box:index:Box/open\"")
        );
        assert_eq!(
            exists(&json(json!({"type": "box:index:Box", "id": "1"})), Language::Node)
                .map_err(message)
                .unwrap_err(),
            format!("{named} the query for a resource \"1\"")
        );
        let component = json(json!({"type": "box:index:Box", "name": "b", "custom": false}));
        registration(&component, Language::Node).unwrap();
        let remote = json(json!({"type": "box:index:Box", "name": "b", "remote": true}));
        assert_eq!(
            registration(&remote, Language::Node)
                .map_err(message)
                .unwrap_err(),
            format!("{named} the resource \"b\"")
        );
    }

    #[test]
    fn each_kind_of_options_has_its_names_in_the_style_of_the_language() {
        assert_eq!(
            refusal(OptionsOf::Resource, json!({"protct": true})),
            "unknown option 'protct' of the resource 'a'; did you mean 'protect'?"
        );
        assert!(refusal(OptionsOf::Read, json!({"protect": true})).starts_with("unknown option 'protect'"));
        assert_eq!(
            refusal(OptionsOf::Invoke, json!({"retain": true})),
            "unknown option 'retain' of the resource 'a'; there are: depends_on, package, parent, plugin_download_url, provider, version"
        );
        let options = json!({"plugin_download_url": "u", "ignore_changes": ["a"], "protect": true});
        let read = registration_of_options(options, None, Language::Python, "the resource 'a'").unwrap();
        assert_eq!(
            (read.package.download_url.as_str(), read.protect),
            ("u", Some(true))
        );
        assert_eq!(read.options.ignore_changes, ["a"]);
    }

    #[test]
    fn a_registration_gets_the_transforms_that_it_names_in_their_order() {
        let names = std::cell::RefCell::new(Vec::new());
        let known = |name: &str| -> Option<Arc<dyn ResourceTransform>> {
            names.borrow_mut().push(name.to_owned());
            (name != "lost").then(|| {
                Arc::new(|args: crate::monitor::TransformArgs| async { Ok(Some(args)) })
                    as Arc<dyn ResourceTransform>
            })
        };
        let read = |names: &str| {
            let json = format!(r#"{{"type": "t:m:T", "name": "a", "transforms": {names}}}"#);
            registration_with(json.as_bytes(), Language::C, &known)
        };
        assert_eq!(read(r#"["b", "a"]"#).unwrap().transforms.len(), 2);
        assert_eq!(*names.borrow(), ["b", "a"]);
        let refused = read(r#"["b", "lost"]"#).unwrap_err();
        assert_eq!(refused.kind(), crate::ErrorKind::InvalidInput);
        assert_eq!(
            refused.message(),
            "there is no transform \"lost\" for the resource \"a\""
        );
        let refused = read(r#"[3]"#).unwrap_err();
        assert!(refused.message().contains("transforms[0] takes"), "{refused}");
        let python = serde_json::json!({"transforms": ["b"]});
        assert!(refusal(OptionsOf::Resource, python).starts_with("unknown option 'transforms'"));
    }

    #[test]
    fn a_document_that_is_refused_is_explained_by_its_schema() {
        let refusal = |json: &str| {
            registration(json.as_bytes(), Language::C)
                .unwrap_err()
                .message()
                .to_owned()
        };
        assert_eq!(
            refusal(r#"{"type": "t:m:T", "name": "a", "protct": true}"#),
            "unknown option \"protct\" of the resource \"a\"; did you mean \"protect\"?"
        );
        assert_eq!(
            refusal(r#"{"name": "a"}"#),
            "the options of the resource \"a\" lack type"
        );
        assert!(refusal("{").starts_with("invalid registration: "));
        assert!(
            read_request(br#"{"type": "t:m:T", "name": "a", "id": 5}"#, Language::C)
                .unwrap_err()
                .message()
                .starts_with("id takes a string, not a number")
        );
        assert!(
            invoke(br#"{"token": "t:m:f", "protct": true}"#, Language::C)
                .unwrap_err()
                .message()
                .starts_with("unknown option \"protct\" of the call of \"t:m:f\"")
        );
    }
}
