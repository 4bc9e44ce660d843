//! The default responses of calls that a provider has no method for.

use std::fmt::Display;

use crate::provider::{
    Call, Capabilities, CheckRequest, CheckResponse, DiffResponse, PluginInfo, ProviderError, ProviderResult,
    ReadRequest, ReadResponse, Reply,
};

impl Call {
    /// Returns the response of a provider that has no method for the call.
    ///
    /// Check returns the inputs unchanged, Diff leaves the comparison to the engine, Read returns the recorded state,
    /// and Configure, Cancel and Close do nothing.
    ///
    /// # Errors
    /// [`crate::provider::ProviderStatus::Unimplemented`] for calls that need a provider: Create, Update, Delete,
    /// Invoke, Construct, Call, and those about the package.
    pub fn without_method(self) -> ProviderResult<Reply> {
        match self {
            Self::Handshake(_) => Ok(Reply::Capabilities(Capabilities::all())),
            Self::PluginInfo => Ok(Reply::PluginInfo(PluginInfo::default())),
            Self::CheckConfig(request) | Self::Check(request) => Ok(Reply::Check(checked(request))),
            Self::DiffConfig(_) | Self::Diff(_) => Ok(Reply::Diff(DiffResponse::default())),
            Self::Configure(_) | Self::Understands => Ok(Reply::Understands(None)),
            Self::Create(request) => Err(lacks("created", &request.urn)),
            Self::Read(request) => Ok(Reply::Read(read_back(request))),
            Self::Update(request) => Err(not_updated(&request.urn)),
            Self::Delete(request) => Err(lacks("deleted", &request.urn)),
            Self::Invoke(request) => Err(unknown_function(&request.token)),
            Self::Construct(request) => Err(unknown_component(&request.resource_type)),
            Self::Method(request) => Err(unknown_method(&request.token)),
            Self::GetSchema(_) => Err(no_schema()),
            Self::GetMapping(_) | Self::GetMappings(_) => Err(no_mappings()),
            Self::Cancel | Self::Close => Ok(Reply::Done),
        }
    }
}

pub(in crate::provider) fn checked(request: CheckRequest) -> CheckResponse {
    CheckResponse {
        inputs: request.news,
        failures: Vec::new(),
    }
}

pub(in crate::provider) fn read_back(request: ReadRequest) -> ReadResponse {
    ReadResponse {
        id: request.id,
        inputs: Some(request.inputs.unwrap_or_default()),
        outputs: Some(request.properties.unwrap_or_default()),
        is_recorded: true,
        ..ReadResponse::default()
    }
}

fn lacks(done: &str, urn: &impl Display) -> ProviderError {
    ProviderError::unimplemented(format!(
        "{urn} cannot be {done}: its provider has no method for that"
    ))
}

pub(in crate::provider) fn not_updated(urn: &impl Display) -> ProviderError {
    lacks("updated in place", urn)
}

pub(in crate::provider) fn unknown_function(token: &str) -> ProviderError {
    ProviderError::unimplemented(format!("unknown function {token:?}"))
}

pub(in crate::provider) fn unknown_component(resource_type: &impl Display) -> ProviderError {
    ProviderError::unimplemented(format!("unknown component type \"{resource_type}\""))
}

pub(in crate::provider) fn unknown_method(token: &str) -> ProviderError {
    ProviderError::unimplemented(format!("unknown method {token:?}"))
}

pub(in crate::provider) fn no_schema() -> ProviderError {
    ProviderError::unimplemented("the provider has no schema")
}

pub(in crate::provider) fn no_mappings() -> ProviderError {
    ProviderError::unimplemented("the provider has no mappings")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        property::PropertyMap,
        provider::{DeleteRequest, DiffChanges, InvokeRequest, ProviderStatus, SchemaRequest, Views},
        urn::Urn,
    };

    fn urn() -> Urn {
        Urn::root_stack("dev", "shop")
    }

    #[test]
    fn a_missing_read_returns_the_recorded_state() {
        let recorded: PropertyMap = [("a", "b".into())].into_iter().collect();
        let reply = Call::Read(ReadRequest {
            urn: urn(),
            resource_type: "a:b:C".into(),
            name: "a".to_owned(),
            id: "a-1".into(),
            inputs: None,
            properties: Some(recorded.clone()),
            timeout: 0.0,
            preview: false,
            views: Views::default(),
        })
        .without_method();
        let Ok(Reply::Read(read)) = reply else {
            unreachable!()
        };
        assert_eq!(read.id.as_str(), "a-1");
        assert_eq!(
            (read.inputs, read.outputs),
            (Some(PropertyMap::new()), Some(recorded))
        );
    }

    #[test]
    fn calls_that_need_a_provider_are_unimplemented_and_name_the_call() {
        let delete = Call::Delete(DeleteRequest {
            urn: urn(),
            resource_type: "a:b:C".into(),
            name: "a".to_owned(),
            id: "a-1".into(),
            inputs: PropertyMap::new(),
            outputs: PropertyMap::new(),
            timeout: 0.0,
            views: Views::default(),
        });
        let invoke = Call::Invoke(InvokeRequest {
            token: "a:b:c".to_owned(),
            arguments: PropertyMap::new(),
            preview: false,
        });
        for (call, text) in [
            (
                delete,
                format!("{} cannot be deleted: its provider has no method for that", urn()),
            ),
            (invoke, "unknown function \"a:b:c\"".to_owned()),
            (
                Call::GetSchema(SchemaRequest::default()),
                "the provider has no schema".to_owned(),
            ),
            (
                Call::GetMappings(String::new()),
                "the provider has no mappings".to_owned(),
            ),
        ] {
            let error = call.without_method().err();
            let error = error.map(|error| (error.status, error.message));
            assert_eq!(error, Some((ProviderStatus::Unimplemented, text)));
        }
    }

    #[test]
    fn configuring_and_ending_need_no_method() {
        assert!(matches!(
            Call::Understands.without_method(),
            Ok(Reply::Understands(None))
        ));
        assert!(matches!(Call::Cancel.without_method(), Ok(Reply::Done)));
        assert!(matches!(Call::Close.without_method(), Ok(Reply::Done)));
        assert_eq!(DiffResponse::default().changes, DiffChanges::Unknown);
    }
}
