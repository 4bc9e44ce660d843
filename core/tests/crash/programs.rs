//! The two versions of a program: for the stack before the killed update, and for the killed update.

use std::sync::Arc;

use stackwright::{
    Result,
    monitor::Registration,
    program::{Program, ProgramContext, from_fn},
    urn::Urn,
};
use stackwright_testkit::wait::Within as _;

/// The version of the program.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Version {
    /// Resources 0 to 39.
    Before,
    /// Resources 10 to 69: ten are deleted, every third of the remaining ones is changed, thirty are created.
    After,
}

impl Version {
    const fn numbers(self) -> std::ops::Range<usize> {
        match self {
            Self::Before => 0..40,
            Self::After => 10..70,
        }
    }

    fn content(self, number: usize) -> String {
        if self == Self::After && number.is_multiple_of(3) {
            format!("changed {number}")
        } else {
            format!("content {number}")
        }
    }
}

/// Returns the version's program. Each resource depends on the one seven before it, where there is one.
pub(crate) fn program(version: Version) -> Arc<dyn Program> {
    from_fn(move |context| register(context, version))
}

async fn register(context: ProgramContext, version: Version) -> Result<()> {
    let mut running = tokio::task::JoinSet::new();
    for number in version.numbers() {
        let before = number
            .checked_sub(7)
            .filter(|before| version.numbers().contains(before));
        let registration = Registration {
            resource_type: "things:index:Thing".into(),
            name: format!("thing-{number}"),
            custom: true,
            inputs: [("content", version.content(number).into())]
                .into_iter()
                .collect(),
            dependencies: before.map(urn).into_iter().collect(),
            ..Registration::default()
        };
        running.spawn(context.monitor.register(registration));
    }
    while let Some(registered) = running.join_next().within("a registration").await {
        let registered = registered.map_err(|error| stackwright::Error::invalid(error.to_string()))??;
        context
            .monitor
            .export(registered.urn.name(), registered.urn.as_str().into());
    }
    Ok(())
}

/// Returns the URN of a resource of the stack `shop/dev`.
fn urn(number: usize) -> Urn {
    let root = "pulumi:pulumi:Stack";
    Urn::new(
        "dev",
        "shop",
        root,
        "things:index:Thing",
        &format!("thing-{number}"),
    )
}
