//! Policies: packs rewrite a registration's inputs, and analyze it and the whole stack.

use std::{pin::pin, sync::Arc};

use futures::future::join_all;

use crate::{
    error::{Error, ErrorKind},
    event::{EnforcementLevel, EventPayload, PolicyQuestion, PolicyViolation},
    executor::AbandonedCall,
    generator::{RunEnded, registration::Registering, run::Run},
    message::Text,
    policy::{Analysis, Pack, Policies, Subject},
    provider::ProviderResult,
    resource::{Alias, Goal, ResourceState},
    urn::Urn,
};

/// Calls the policy packs of one run.
pub(super) struct PolicyChecks {
    pub(super) policies: Arc<Policies>,
    pub(super) run: Run,
}

impl PolicyChecks {
    /// Lets the packs rewrite checked inputs, one after the other.
    pub(super) async fn remediate(
        &self,
        registering: &Registering,
        new: &mut Arc<ResourceState>,
    ) -> Result<(), RunEnded> {
        let urn = &registering.urn;
        for pack in self.policies.packs() {
            let rewriting = {
                let subject = self.subject(new, Some(&registering.goal));
                let question = async {
                    let rewriting = pack.remediate(&subject, &new.inputs).await?;
                    if let Some(inputs) = &rewriting.inputs {
                        let valid = self.run.executor.sanitizer().inspect_known("inputs", inputs);
                        valid.map_err(|fault| pack.malformed_response("Remediate", &fault))?;
                    }
                    Ok(rewriting)
                };
                self.ask(pack, PolicyQuestion::Remediate, urn, question).await?
            };
            let found = rewriting.results.iter().map(|result| match result {
                Ok(remediation) => remediation.name.policy.as_str(),
                Err(violation) => violation.name.policy.as_str(),
            });
            let found: Vec<_> = found.collect();
            let findings = pack.findings(
                PolicyQuestion::Remediate,
                Some(urn),
                &found,
                &rewriting.not_applicable,
            );
            for result in rewriting.results {
                match result {
                    Ok(remediation) => self.emit(EventPayload::PolicyRemediation(Arc::new(remediation))),
                    Err(violation) => self.emit_violation(violation),
                }
            }
            self.emit(EventPayload::PolicyFindings(Arc::new(findings)));
            if let Some(inputs) = rewriting.inputs {
                Arc::make_mut(new).inputs = inputs;
            }
        }
        Ok(())
    }

    /// Has all packs analyze a registration concurrently. A violation of a mandatory policy ends an update; a preview
    /// continues, to find further errors.
    pub(super) async fn analyze(&self, goal: &Goal, new: &ResourceState) -> Result<(), RunEnded> {
        let urn = &new.urn;
        let subject = &self.subject(new, Some(goal));
        let questions = self.policies.packs().iter().map(|pack| async move {
            let asked = pack.analyze(subject);
            Ok((pack, self.ask(pack, PolicyQuestion::Analyze, urn, asked).await?))
        });
        let mut fatal = None;
        for answer in join_all(questions).await {
            let (pack, analysis): (&Pack, Analysis) = answer?;
            let violation = self.report(pack, PolicyQuestion::Analyze, Some(urn), analysis);
            fatal = fatal.or(violation);
        }
        let Some(violation) = fatal else { return Ok(()) };
        let error = mandatory(urn, &violation);
        if self.run.executor.is_preview() {
            self.run.fail_later(error);
            return Ok(());
        }
        Err(self.run.end(error))
    }

    /// Has all packs analyze all resources together. Violations have been reported when this returns; those of
    /// mandatory policies fail the run. `root` is the URN of the root stack.
    pub(super) async fn analyze_stack(&self, root: &Urn) {
        let states = self.run.executor.all_published();
        let managed = states.iter().filter(|state| !state.external);
        let subjects: Vec<_> = managed.map(|state| self.subject(state, None)).collect();
        let subjects = &subjects;
        let questions = self.policies.packs().iter().map(|pack| async move {
            let asked = pack.analyze_stack(subjects, root);
            let analysis = self.ask(pack, PolicyQuestion::AnalyzeStack, root, asked).await?;
            Ok::<_, RunEnded>((pack, analysis))
        });
        for answer in join_all(questions).await {
            // The failure of a pack has been reported.
            let Ok((pack, analysis)) = answer else { continue };
            if let Some(violation) = self.report(pack, PolicyQuestion::AnalyzeStack, None, analysis) {
                self.run.fail_later(mandatory(&violation.urn, &violation));
            }
        }
    }

    /// Awaits the answer of a pack to a question about a resource. A failed one ends the run; so does a termination, and for functions
    /// of the host a cancellation, which gives up the policies that have not returned.
    async fn ask<T>(
        &self,
        pack: &Pack,
        question: PolicyQuestion,
        urn: &Urn,
        answer: impl Future<Output = ProviderResult<T>>,
    ) -> Result<T, RunEnded> {
        let executor = &self.run.executor;
        let _working = executor.activity().working();
        let mut answer = pin!(answer);
        let given_up = async {
            if pack.is_given_up_when_cancelled() {
                executor.control().cancelled().await;
            } else {
                executor.terminated().await;
            }
        };
        let answer = tokio::select! {
            biased;
            answer = &mut answer => answer,
            // The calls that the answer awaits are in progress still.
            () = given_up => {
                for text in pack.unreturned(question, urn) {
                    let call = AbandonedCall::of_function(text, "policy", Some(urn));
                    executor.control().abandon(call);
                }
                return Err(RunEnded);
            }
        };
        answer.map_err(|error| {
            self.run
                .bail_unless_cancelled(urn, error.text(), error.cause.as_ref())
        })
    }

    /// Reports the findings of a pack, and returns the first violation of a mandatory policy.
    fn report(
        &self,
        pack: &Pack,
        question: PolicyQuestion,
        urn: Option<&Urn>,
        analysis: Analysis,
    ) -> Option<PolicyViolation> {
        let violations = &analysis.violations;
        let found: Vec<_> = violations
            .iter()
            .map(|found| found.name.policy.as_str())
            .collect();
        let findings = pack.findings(question, urn, &found, &analysis.not_applicable);
        let mandatory = violations
            .iter()
            .find(|violation| violation.level == EnforcementLevel::Mandatory)
            .cloned();
        for violation in analysis.violations {
            self.emit_violation(violation);
        }
        self.emit(EventPayload::PolicyFindings(Arc::new(findings)));
        mandatory
    }

    fn emit_violation(&self, mut violation: PolicyViolation) {
        let message = self.run.executor.events().redactor().scrub(&violation.message);
        violation.message = message.into_owned();
        self.emit(EventPayload::PolicyViolation(Arc::new(violation)));
    }

    fn emit(&self, payload: EventPayload) {
        self.run.executor.events().emit(payload, false);
    }

    fn subject<'a>(&self, state: &'a ResourceState, goal: Option<&Goal>) -> Subject<'a> {
        let aliases = goal.into_iter().flat_map(|goal| &goal.aliases);
        let provider = state.provider_urn();
        Subject {
            state,
            delete_before_replace: goal.and_then(|goal| goal.delete_before_replace),
            aliases: aliases
                .filter_map(|alias| match alias {
                    Alias::Urn(urn) => Some(urn.to_string()),
                    Alias::Spec { .. } => None,
                })
                .collect(),
            provider: provider.and_then(|urn| self.run.executor.published(&urn)),
        }
    }
}

fn mandatory(urn: &Urn, violation: &PolicyViolation) -> Error {
    let PolicyViolation { name, message, .. } = violation;
    let text = Text::pair(
        format!("resource {urn} is invalid"),
        format!("policy {} of {} is violated: {message}", name.policy, name.pack),
    );
    Error::new(ErrorKind::Failed, text).with_urn(violation.urn.clone())
}
