//! Policies: what packs make of a registration's inputs, and what they think of it and of the whole stack.

use std::sync::Arc;

use futures::future::join_all;

use crate::{
    error::{Error, ErrorKind},
    event::{EnforcementLevel, EventPayload, PolicyQuestion, PolicyViolation},
    executor::Failure,
    generator::{Generator, Unanswered, register::Registering},
    message::Text,
    policy::{Analysis, Pack, Policies, Subject},
    resource::{Alias, Goal, ResourceState},
    urn::Urn,
};

impl Generator {
    /// Lets packs rewrite checked inputs, one pack after the other.
    pub(super) async fn remediate(
        &self,
        policies: &Policies,
        registering: &Registering,
        new: &mut Arc<ResourceState>,
    ) -> Result<(), Unanswered> {
        let urn = &registering.urn;
        for pack in policies.packs() {
            let rewriting = {
                let subject = self.subject(new, Some(&registering.goal));
                let question = async {
                    let rewriting = pack.remediate(&subject, &new.inputs).await?;
                    if let Some(inputs) = &rewriting.inputs {
                        let heeded = self.executor.sanitizer().inspect("inputs", inputs);
                        heeded.map_err(|fault| pack.nonsense("Remediate", &fault))?;
                    }
                    Ok(rewriting)
                };
                self.consult(urn, None, question).await?
            };
            let mut found = Vec::new();
            for told in &rewriting.told {
                found.push(match told {
                    Ok(remediation) => remediation.name.policy.as_str(),
                    Err(violation) => violation.name.policy.as_str(),
                });
            }
            let findings = pack.findings(
                PolicyQuestion::Remediate,
                Some(urn),
                &found,
                &rewriting.not_applicable,
            );
            for told in rewriting.told {
                self.tell(match told {
                    Ok(remediation) => EventPayload::PolicyRemediation(Arc::new(remediation)),
                    Err(violation) => EventPayload::PolicyViolation(Arc::new(violation)),
                });
            }
            self.tell(EventPayload::PolicyFindings(Arc::new(findings)));
            if let Some(inputs) = rewriting.inputs {
                Arc::make_mut(new).inputs = inputs;
            }
        }
        Ok(())
    }

    /// Asks all packs at the same time what they think of a registration. What violates a mandatory policy ends an
    /// update; a preview goes on, so that everything else that is wrong is seen too.
    pub(super) async fn analyze(
        &self,
        policies: &Policies,
        goal: &Goal,
        new: &ResourceState,
    ) -> Result<(), Unanswered> {
        let urn = &new.urn;
        let subject = &self.subject(new, Some(goal));
        let questions = policies
            .packs()
            .iter()
            .map(|pack| async move { Ok((pack, self.consult(urn, None, pack.analyze(subject)).await?)) });
        let mut fatal = None;
        for answer in join_all(questions).await {
            let (pack, analysis): (&Pack, Analysis) = answer?;
            let violation = self.tell_of(pack, PolicyQuestion::Analyze, Some(urn), analysis);
            fatal = fatal.or(violation);
        }
        let Some(violation) = fatal else { return Ok(()) };
        let error = mandatory(urn, &violation);
        if self.executor.is_preview() {
            self.executor.control().fail(Failure::Generation(error), false);
            return Ok(());
        }
        Err(self.end_for(error))
    }

    /// Asks all packs what they think of all resources together.
    ///
    /// Violations have been told when this returns; the control knows of mandatory ones.
    pub(crate) async fn analyze_stack(&self) {
        let Some(policies) = &self.policies else { return };
        let root = Urn::root_stack(&self.options.stack, &self.options.project);
        let states = self.executor.all_published();
        let managed = states.iter().filter(|state| !state.external);
        let subjects: Vec<_> = managed.map(|state| self.subject(state, None)).collect();
        let (subjects, root) = (&subjects, &root);
        let questions = policies.packs().iter().map(|pack| async move {
            let asked = pack.analyze_stack(subjects, root);
            Ok::<_, Unanswered>((pack, self.consult(root, None, asked).await?))
        });
        for answer in join_all(questions).await {
            // A pack that could not be asked has been told of.
            let Ok((pack, analysis)) = answer else { continue };
            if let Some(violation) = self.tell_of(pack, PolicyQuestion::AnalyzeStack, None, analysis) {
                let error = mandatory(&violation.urn, &violation);
                self.executor.control().fail(Failure::Generation(error), false);
            }
        }
    }

    /// Tells of what a pack found, and returns the first violation of a mandatory policy.
    fn tell_of(
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
        for mut violation in analysis.violations {
            let message = self.executor.events().redactor().scrub(&violation.message);
            violation.message = message.into_owned();
            self.tell(EventPayload::PolicyViolation(Arc::new(violation)));
        }
        self.tell(EventPayload::PolicyFindings(Arc::new(findings)));
        mandatory
    }

    fn tell(&self, payload: EventPayload) {
        self.executor.events().emit(payload, false);
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
            provider: provider.and_then(|urn| self.executor.published(&urn)),
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
