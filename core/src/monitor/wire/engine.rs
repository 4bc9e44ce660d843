//! The messages of the Engine service.

use stackwright_proto::pulumirpc::{
    GetRootResourceResponse, LogRequest, LogSeverity, RequirePulumiVersionRequest, SetRootResourceRequest,
};

use crate::{
    diagnostic::{Diagnostic, Severity},
    monitor::{Monitor, WireStatus},
    plugin::VersionRange,
    urn::Urn,
};

/// Emits the message of a Log request.
pub(in crate::monitor) fn log(monitor: &Monitor, request: LogRequest) {
    monitor.log_diagnostic(diagnostic_of(request));
}

/// Returns the URN of the root stack.
pub(in crate::monitor) fn root_resource(monitor: &Monitor) -> GetRootResourceResponse {
    GetRootResourceResponse {
        urn: monitor
            .root_stack()
            .map(|urn| urn.to_string())
            .unwrap_or_default(),
    }
}

/// Sets the root stack by its URN.
pub(in crate::monitor) fn set_root_resource(
    monitor: &Monitor,
    request: &SetRootResourceRequest,
) -> Result<(), WireStatus> {
    let urn = Urn::parse(&request.urn).map_err(|error| WireStatus::invalid(error.to_string()))?;
    monitor.shared.placement.root.get_or_init(|| urn);
    Ok(())
}

/// Converts a Log request to a diagnostic; an invalid URN is left out.
pub(crate) fn diagnostic_of(request: LogRequest) -> Diagnostic {
    let severity = match LogSeverity::try_from(request.severity) {
        Ok(LogSeverity::Debug) | Err(_) => Severity::Debug,
        Ok(LogSeverity::Info) => Severity::Info,
        Ok(LogSeverity::Warning) => Severity::Warning,
        Ok(LogSeverity::Error) => Severity::Error,
    };
    Diagnostic {
        severity,
        message: request.message.into(),
        urn: Urn::parse(&request.urn).ok(),
        stream_id: request.stream_id,
        ephemeral: request.ephemeral,
    }
}

/// Checks a requirement of a version of the reference engine that this one is compatible with.
pub(crate) fn require_version(request: &RequirePulumiVersionRequest) -> Result<(), WireStatus> {
    let range = &request.pulumi_version_range;
    VersionRange::check_compatible(range)
        .map_err(|error| WireStatus::invalid(format!("invalid version range {range:?}: {error}")))?
        .map_err(|text| WireStatus::unknown(text.reference()))
}
