//! The Engine service: what programs and plugins say beside resources.

use stackwright_proto::pulumirpc::{
    GetRootResourceResponse, LogRequest, LogSeverity, RequirePulumiVersionRequest, SetRootResourceRequest,
};

use crate::{
    diagnostic::{Diagnostic, Severity},
    message::{Message, Text},
    monitor::{Monitor, WireStatus, version_range::VersionRange},
    urn::Urn,
};

impl Monitor {
    /// Takes a message for people.
    pub(super) fn log_request(&self, request: LogRequest) {
        self.log_diagnostic(diagnostic_of(request));
    }

    /// Tells which resource is the root.
    pub(super) fn root_resource(&self) -> GetRootResourceResponse {
        GetRootResourceResponse {
            urn: self.root_stack().map(|urn| urn.to_string()).unwrap_or_default(),
        }
    }

    /// Takes a program's word for which resource is the root.
    pub(super) fn set_root_resource(&self, request: &SetRootResourceRequest) -> Result<(), WireStatus> {
        let urn = Urn::parse(&request.urn).map_err(|error| WireStatus::invalid(error.to_string()))?;
        self.set_root(urn);
        Ok(())
    }
}

/// Reads a message for people; a URN that is none is left out.
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
    let wanted = VersionRange::parse(range)
        .map_err(|error| WireStatus::invalid(format!("invalid version range {range:?}: {error}")))?;
    let version = crate::COMPATIBLE_VERSION.trim_start_matches('v');
    let version = semver::Version::parse(version).map_err(|error| WireStatus::unknown(error.to_string()))?;
    if wanted.contains(&version) {
        return Ok(());
    }
    let text = Text::from(Message::VersionNotSatisfied {
        version: &version.to_string(),
        range,
    });
    Err(WireStatus::unknown(text.reference()))
}
