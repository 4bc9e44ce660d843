//! One row of a board: a resource, and what happens to it.

use stackwright::{
    diagnostic::Severity,
    event::{EventJson, StepMetadata, StepResult},
    runtime::Timestamp,
    step::StepOp,
    urn::Urn,
};

use super::super::{
    paint::plain_line,
    rows::{self, Stage},
};

/// One resource.
pub(super) struct Row {
    /// What happens to the resource, all its steps taken together.
    pub(super) op: StepOp,
    /// The type without the parts of its module below the first.
    pub(super) resource_type: String,
    pub(super) name: String,
    pub(super) parent: Option<Urn>,
    /// `None` for a resource that is only shown above another one.
    stage: Option<Stage>,
    /// The last step.
    step: StepOp,
    /// Whether both halves of a replacement have been seen.
    halves: [bool; 2],
    planning: bool,
    began: Timestamp,
    ended: Option<Timestamp>,
    difference: Option<String>,
    /// Whether the resource is listed also when it stays as it is.
    pub(super) is_listed_unchanged: bool,
    /// The last message about the resource.
    pub(super) message: Option<(Severity, String)>,
}

impl Row {
    /// Creates the row of a resource with this name, and without a step.
    pub(super) fn new(urn: &Urn, name: &str, now: Timestamp) -> Self {
        Self {
            op: StepOp::Same,
            resource_type: short(&plain_line(urn.resource_type())),
            name: plain_line(name).into_owned(),
            parent: None,
            stage: None,
            step: StepOp::Same,
            halves: [false; 2],
            planning: false,
            began: now,
            ended: None,
            difference: None,
            is_listed_unchanged: false,
            message: None,
        }
    }

    /// Masks secrets in the type, the name and the changed properties.
    pub(super) fn mask(&mut self, json: &EventJson) {
        for text in [&mut self.resource_type, &mut self.name]
            .into_iter()
            .chain(&mut self.difference)
        {
            *text = json.text(text).into_owned();
        }
    }

    /// Begins a step.
    pub(super) fn begin(&mut self, step: &StepMetadata, planning: bool, now: Timestamp) {
        if self.stage.is_none() {
            self.began = now;
        }
        self.set(step, Stage::Begun, planning);
        self.ended = None;
    }

    /// Ends a step.
    pub(super) fn end(&mut self, step: &StepMetadata, stage: Stage, planning: bool, now: Timestamp) {
        self.set(step, stage, planning);
        self.ended = Some(now);
        match step.op {
            StepOp::CreateReplacement | StepOp::ImportReplacement => self.halves[0] = true,
            StepOp::DeleteReplaced => self.halves[1] = true,
            _ => {}
        }
    }

    /// Takes over a step of a result whose events were not seen.
    pub(super) fn complete(&mut self, result: &StepResult, now: Timestamp) {
        let stage = match result.failure {
            Some(_) => Stage::Failed,
            None => Stage::Done,
        };
        let StepResult { step, duration, .. } = result;
        if self.stage.is_none() {
            self.began = now.checked_sub(*duration).unwrap_or(now);
        }
        self.end(&step.metadata, stage, step.planning, now);
    }

    fn set(&mut self, step: &StepMetadata, stage: Stage, planning: bool) {
        self.op = merged(self.op, step.op);
        (self.step, self.stage, self.planning) = (step.op, Some(stage), planning);
        let state = step.new.as_ref().or(step.old.as_ref());
        if let Some(parent) = state.and_then(|state| state.0.parent.as_ref()) {
            self.parent = Some(parent.clone());
        }
        if let Some(difference) = rows::difference(step) {
            self.difference = Some(plain_line(&difference).into_owned());
        }
    }

    /// Returns when the last step ended.
    pub(super) const fn ended(&self) -> Option<Timestamp> {
        self.ended
    }

    /// Returns whether no step is running any more.
    pub(super) const fn has_ended(&self) -> bool {
        self.ended.is_some()
    }

    pub(super) fn has_failed(&self) -> bool {
        self.stage == Some(Stage::Failed)
    }

    /// Returns whether a step that changes the resource, or reads it, is running.
    pub(super) fn is_running(&self) -> bool {
        self.stage == Some(Stage::Begun) && !self.planning && self.step != StepOp::Same
    }

    /// Returns whether the resource is shown for its own sake.
    pub(super) fn is_shown(&self) -> bool {
        let is_unchanged = matches!(
            self.op,
            StepOp::Same | StepOp::Refresh | StepOp::RemovePendingReplace
        );
        self.has_failed()
            || self.is_running()
            || !is_unchanged
            || matches!(self.message, Some((Severity::Warning | Severity::Error, _)))
    }

    /// Returns whether the resource has a line.
    pub(super) fn is_listed(&self) -> bool {
        self.is_shown() || self.is_listed_unchanged && self.stage.is_some()
    }

    /// Returns whether a step has ended, and left the resource as it was.
    pub(super) fn is_unchanged(&self) -> bool {
        self.stage.is_some() && !self.is_shown()
    }

    /// Returns what happens, and for how long it has: whole seconds while it does, so that the text is the same for a second.
    pub(super) fn status(&self, now: Timestamp) -> String {
        let Some(stage) = self.stage else {
            return String::new();
        };
        let words = match (stage, self.halves) {
            (Stage::Done, _) if self.planning => rows::status(self.op, stage, true),
            (Stage::Done, [true, true]) => rows::status(StepOp::Replace, stage, false),
            _ => rows::status(self.step, stage, self.planning),
        };
        if words.is_empty() || self.planning {
            return words;
        }
        match self.ended {
            None => match now.duration_since(self.began).as_secs() {
                ..1 => words,
                seconds => format!("{words} ({seconds}s)"),
            },
            Some(ended) => {
                let seconds = ended.duration_since(self.began).as_secs_f64().max(0.0);
                format!("{words} ({seconds:.1}s)")
            }
        }
    }

    /// Returns the last message, or the properties that differ.
    pub(super) fn info(&self) -> (Severity, &str) {
        match (&self.message, &self.difference) {
            (Some((severity, message)), _) => (*severity, message),
            (None, difference) => (Severity::Debug, difference.as_deref().unwrap_or_default()),
        }
    }

    /// Returns the sign of what happens: two characters.
    pub(super) fn sign(&self) -> &'static str {
        match self.has_failed() {
            true => "! ",
            false => rows::sign(self.op),
        }
    }
}

/// Returns what several steps come to.
const fn merged(before: StepOp, step: StepOp) -> StepOp {
    match (before, step) {
        (StepOp::Replace, _) | (_, StepOp::Replace | StepOp::CreateReplacement | StepOp::DeleteReplaced) => {
            StepOp::Replace
        }
        (StepOp::Same, step) => step,
        (before, StepOp::Same | StepOp::Refresh | StepOp::RemovePendingReplace) => before,
        (_, step) => step,
    }
}

/// Returns a type without the parts of its module below the first: `aws:s3/bucket:Bucket` is `aws:s3:Bucket`.
fn short(resource_type: &str) -> String {
    let parts: Vec<&str> = resource_type.split(':').collect();
    match parts[..] {
        [package, module, name] => {
            let module = module.split_once('/').map_or(module, |(first, _)| first);
            format!("{package}:{module}:{name}")
        }
        _ => resource_type.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_are_shown_without_nested_modules() {
        assert_eq!(short("aws:s3/bucket:Bucket"), "aws:s3:Bucket");
        assert_eq!(short("pulumi:pulumi:Stack"), "pulumi:pulumi:Stack");
        assert_eq!(short("odd"), "odd");
    }

    #[test]
    fn the_steps_of_a_replacement_come_to_one() {
        assert_eq!(merged(StepOp::Same, StepOp::Create), StepOp::Create);
        assert_eq!(merged(StepOp::Refresh, StepOp::Update), StepOp::Update);
        assert_eq!(merged(StepOp::Update, StepOp::Same), StepOp::Update);
        let replaced = merged(
            merged(StepOp::Same, StepOp::CreateReplacement),
            StepOp::DeleteReplaced,
        );
        assert_eq!(replaced, StepOp::Replace);
    }
}
