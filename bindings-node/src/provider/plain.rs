//! Secrets for providers that know none: unwrapped in what they are sent, put back on what they answer.

use stackwright::{
    property::{PropertyMap, PropertyValue},
    provider::ProviderError,
};

use super::{Request, answer::Answered};

/// What was sent with its secrets, to put them back on the answer.
pub(super) struct Sent {
    inputs: PropertyMap,
    outputs: PropertyMap,
}

/// Unwraps the secrets of a request; `None` when it has none.
pub(super) fn unwrap(request: &mut Request) -> Option<Sent> {
    unwrap_views(request);
    if !maps(request).iter().any(|map| map.contains_secrets()) {
        return None;
    }
    let sent = sent(request);
    for map in maps(request) {
        *map = map.without_secrets();
    }
    Some(sent)
}

fn unwrap_views(request: &mut Request) {
    let views = match request {
        Request::Read(request) => &mut request.views,
        Request::Update(request) => &mut request.views,
        Request::Delete(request) => &mut request.views,
        _ => return,
    };
    *views = views.without_secrets();
}

/// Returns the values of a request that tell which ones of the answer are secret.
fn sent(request: &Request) -> Sent {
    let none = PropertyMap::new;
    let (inputs, outputs) = match request {
        Request::CheckConfig(request) | Request::Check(request) => (request.news.clone(), none()),
        Request::Create(request) => (request.inputs.clone(), request.inputs.clone()),
        Request::Update(request) => (request.news.clone(), request.news.clone()),
        Request::Read(request) => (
            request.inputs.clone().unwrap_or_default(),
            request.properties.clone().unwrap_or_default(),
        ),
        Request::Invoke(request) => (request.arguments.clone(), none()),
        Request::DiffConfig(_)
        | Request::Configure(_)
        | Request::Diff(_)
        | Request::Delete(_)
        | Request::Cancel
        | Request::Close
        | Request::GetSchema(_)
        | Request::GetMapping(_)
        | Request::GetMappings(_)
        | Request::Resolve(_)
        | Request::Receive(_)
        | Request::StackOutputs(_)
        | Request::StackResourceOutputs(_)
        | Request::Encrypt(_)
        | Request::Decrypt(_)
        | Request::Fetch(_)
        | Request::ProposeName(_)
        | Request::IsInstalled(_)
        | Request::LatestVersion(_)
        | Request::Install(_) => (none(), none()),
    };
    Sent { inputs, outputs }
}

/// Puts the secrets back.
pub(super) fn wrap(answered: &mut Answered, sent: &Sent) {
    match answered {
        Answered::Check(answer) => answer.inputs = answer.inputs.annotated_from(&sent.inputs),
        Answered::Create(answer) => answer.outputs = answer.outputs.annotated_from(&sent.outputs),
        Answered::Update(answer) => answer.outputs = answer.outputs.annotated_from(&sent.outputs),
        Answered::Read(answer) => {
            answer.inputs = answer.inputs.as_ref().map(|map| map.annotated_from(&sent.inputs));
            answer.outputs = answer
                .outputs
                .as_ref()
                .map(|map| map.annotated_from(&sent.outputs));
        }
        Answered::Invoke(_) if !sent.inputs.contains_secrets() => {}
        Answered::Invoke(answer) => {
            // Nobody knows which part of the result came from the secret argument.
            let values = std::mem::take(&mut answer.result).into_iter();
            let secret = values.map(|(name, value)| (name, PropertyValue::secret(value)));
            answer.result = secret.collect();
        }
        Answered::Diff(_)
        | Answered::Resolution(_)
        | Answered::Content(_)
        | Answered::Proposal(_)
        | Answered::Yes(_)
        | Answered::Version(_)
        | Answered::Schema(_)
        | Answered::Mapping(_)
        | Answered::Values(_)
        | Answered::Texts(_)
        | Answered::Refused { .. }
        | Answered::Nothing => {}
    }
}

/// Puts the secrets back on what exists although its initialization failed.
pub(super) fn wrap_error(error: &mut ProviderError, sent: &Sent) {
    if let Some(failure) = &mut error.init_failure {
        failure.outputs = failure.outputs.annotated_from(&sent.outputs);
        failure.inputs = failure
            .inputs
            .as_ref()
            .map(|map| map.annotated_from(&sent.inputs));
    }
}

fn maps(request: &mut Request) -> Vec<&mut PropertyMap> {
    match request {
        Request::CheckConfig(request) | Request::Check(request) => {
            let mut maps = vec![&mut request.news];
            maps.extend(&mut request.olds);
            maps
        }
        Request::DiffConfig(request) | Request::Diff(request) => {
            vec![
                &mut request.old_inputs,
                &mut request.old_outputs,
                &mut request.news,
            ]
        }
        Request::Configure(request) => vec![&mut request.inputs],
        Request::Create(request) => vec![&mut request.inputs],
        Request::Read(request) => request.inputs.iter_mut().chain(&mut request.properties).collect(),
        Request::Update(request) => {
            vec![
                &mut request.old_inputs,
                &mut request.old_outputs,
                &mut request.news,
            ]
        }
        Request::Delete(request) => vec![&mut request.inputs, &mut request.outputs],
        Request::Invoke(request) => vec![&mut request.arguments],
        Request::Cancel
        | Request::Close
        | Request::GetSchema(_)
        | Request::GetMapping(_)
        | Request::GetMappings(_)
        | Request::Resolve(_)
        | Request::Receive(_)
        | Request::StackOutputs(_)
        | Request::StackResourceOutputs(_)
        | Request::Encrypt(_)
        | Request::Decrypt(_)
        | Request::Fetch(_)
        | Request::ProposeName(_)
        | Request::IsInstalled(_)
        | Request::LatestVersion(_)
        | Request::Install(_) => Vec::new(),
    }
}
