//! The engine as a served provider reaches it: where it logs, and where it learns the root resource.

use stackwright_proto::pulumirpc::{
    GetRootResourceRequest, LogRequest, LogSeverity, engine_client::EngineClient,
};
use tonic::Status;

use super::ProviderCall;
use crate::scenario::LogLine;

/// Logs lines at the engine that a call came from. The engine has taken the last line when this returns.
pub(super) async fn log(call: &ProviderCall, lines: &[LogLine]) -> Result<(), String> {
    let Some(address) = &call.engine else {
        return Err("the provider knows no engine".into());
    };
    let connected = EngineClient::connect(format!("http://{address}")).await;
    let mut engine = connected.map_err(|error| format!("no engine at {address}: {error}"))?;
    for line in lines {
        let severity = severity(line.severity.as_deref().unwrap_or("info"))?;
        let refused = |status: Status| status.message().to_owned();
        let asked = engine.get_root_resource(GetRootResourceRequest::default()).await;
        let root = asked.map_err(refused)?.into_inner().urn;
        let urn = call.request["urn"].as_str().filter(|_| line.urn);
        let request = LogRequest {
            severity: severity.into(),
            message: line.message.replace("{root}", &root),
            urn: urn.unwrap_or_default().to_owned(),
            ..LogRequest::default()
        };
        engine.log(request).await.map_err(refused)?;
    }
    Ok(())
}

fn severity(name: &str) -> Result<LogSeverity, String> {
    match name {
        "debug" => Ok(LogSeverity::Debug),
        "info" => Ok(LogSeverity::Info),
        "warning" => Ok(LogSeverity::Warning),
        "error" => Ok(LogSeverity::Error),
        other => Err(format!("there is no severity {other:?}")),
    }
}
