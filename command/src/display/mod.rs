//! What an operation shows to readers, from its events: plain lines, a tree that is updated in place, or HTML.
//!
//! ```
//! use stackwright::{Engine, StackSettings, operation::{OperationKind, OperationOptions}};
//! use stackwright_command::display::{Lines, Title};
//!
//! # async fn shown(stack: stackwright::Stack) {
//! let operation = stack.destroy(OperationOptions::default());
//! let mut lines = Lines::new(Title::new(OperationKind::Destroy, false, stack.name()));
//! let mut events = operation.events();
//! let json = events.json(false);
//! while let Some(event) = events.next().await {
//!     print!("{}", lines.event(&event, &json));
//! }
//! # }
//! ```

mod board;
mod diagnostics;
mod difference;
mod ending;
mod fleet;
mod following;
mod lines;
mod paint;
mod policies;
mod rows;
mod summary;
mod values;

use stackwright::{StackName, operation::OperationKind, urn::Urn};

pub use board::{Board, Screen, ScreenSize};
pub use fleet::{FleetBoard, FleetFollowing, FleetLines};
pub use following::{Following, Form};
pub use lines::Lines;
pub use paint::Paint;
pub(crate) use paint::plain_line;

pub(crate) use diagnostics::prefix;
pub(crate) use difference::differences;

/// What is shown beside the steps.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Shown {
    /// Messages of the severity debug; not shown by default.
    pub debug: bool,
    /// The outputs of the stack; shown by default.
    pub outputs: bool,
    /// A line for each step that begins or ends; shown by default. Failed steps always have one.
    pub progress: bool,
    /// Each rewriting of a policy, instead of their number; not shown by default.
    pub remediations: bool,
    /// Resources that stay as they are; not shown by default.
    pub sames: bool,
    /// Secrets among outputs, and among changed properties; masked by default.
    pub secrets: bool,
    /// The URNs of resources in place of their names; not shown by default.
    pub urns: bool,
}

impl Shown {
    /// Returns what a resource is called.
    fn name<'a>(&self, urn: &'a Urn) -> &'a str {
        if self.urns { urn.as_str() } else { urn.name() }
    }
}

impl Default for Shown {
    fn default() -> Self {
        Self {
            debug: false,
            outputs: true,
            progress: true,
            remediations: false,
            sames: false,
            secrets: false,
            urns: false,
        }
    }
}

/// What an operation is, and on which stack.
#[derive(Clone, Debug)]
pub struct Title {
    /// The first line: `Previewing update (dev):`.
    headline: String,
    /// Its begin, which names the operation: `Previewing update`.
    verb: &'static str,
    /// The URN of the stack, which messages without a resource are about.
    root: Urn,
}

impl Title {
    /// Creates the title of an operation.
    #[must_use]
    pub fn new(kind: OperationKind, is_preview: bool, stack: &StackName) -> Self {
        let verb = match (kind, is_preview) {
            (OperationKind::Update, false) => "Updating",
            (OperationKind::Update, true) => "Previewing update",
            (OperationKind::Refresh, false) => "Refreshing",
            (OperationKind::Refresh, true) => "Previewing refresh",
            (OperationKind::Destroy, false) => "Destroying",
            (OperationKind::Destroy, true) => "Previewing destroy",
            (OperationKind::Import | OperationKind::Adopt, false) => "Importing",
            (OperationKind::Import | OperationKind::Adopt, true) => "Previewing import",
        };
        Self {
            headline: format!("{verb} ({}):", stack.stack()),
            verb,
            root: Urn::root_stack(stack.stack(), stack.project()),
        }
    }
}
