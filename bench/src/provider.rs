//! The providers of the measurements: one that answers at once, and one whose answers are delayed.

use std::{sync::Arc, time::Duration};

use stackwright::{
    provider::{
        Capabilities, CheckRequest, CheckResponse, CreateRequest, CreateResponse, DeleteRequest, DiffChanges,
        DiffRequest, DiffResponse, HandshakeRequest, Provider, ProviderResult,
    },
    runtime::Clock,
};

/// Returns inputs as outputs.
pub(crate) struct Echo {
    clock: Arc<dyn Clock>,
    questions: Duration,
    creation: Duration,
}

impl Echo {
    /// Answers at once.
    pub(crate) fn instant(clock: Arc<dyn Clock>) -> Self {
        Self {
            clock,
            questions: Duration::ZERO,
            creation: Duration::ZERO,
        }
    }

    /// Takes `time` in each of Check and Diff.
    pub(crate) fn slow_questions(clock: Arc<dyn Clock>, time: Duration) -> Self {
        Self {
            questions: time,
            ..Self::instant(clock)
        }
    }

    /// Takes `time` in each Create.
    pub(crate) fn slow_creation(clock: Arc<dyn Clock>, time: Duration) -> Self {
        Self {
            creation: time,
            ..Self::instant(clock)
        }
    }

    async fn take(&self, time: Duration) {
        if !time.is_zero() {
            self.clock.wait(time).await;
        }
    }
}

impl Provider for Echo {
    async fn handshake(&self, _request: HandshakeRequest) -> ProviderResult<Capabilities> {
        Ok(Capabilities::all())
    }

    async fn check(&self, request: CheckRequest) -> ProviderResult<CheckResponse> {
        self.take(self.questions).await;
        Ok(CheckResponse {
            inputs: request.news,
            failures: Vec::new(),
        })
    }

    async fn diff(&self, request: DiffRequest) -> ProviderResult<DiffResponse> {
        self.take(self.questions).await;
        let changes = if request.old_inputs == request.news {
            DiffChanges::None
        } else {
            DiffChanges::Some
        };
        Ok(DiffResponse {
            changes,
            ..DiffResponse::default()
        })
    }

    async fn create(&self, request: CreateRequest) -> ProviderResult<CreateResponse> {
        self.take(self.creation).await;
        Ok(CreateResponse {
            id: request.name.into(),
            outputs: request.inputs,
            refresh_before_update: false,
        })
    }

    async fn delete(&self, _request: DeleteRequest) -> ProviderResult<()> {
        Ok(())
    }
}
