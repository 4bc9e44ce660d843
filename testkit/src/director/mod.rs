//! The director: plays scenarios against an actor and gathers what can be observed.

mod actor_process;
mod cast;
mod editing;
mod goal;
mod link;
mod observation;
mod plans;
mod play;
mod program;
mod projects;
mod reading;
mod reference;
mod role;
mod stage;
mod transform;

pub use actor_process::{ActorCommand, ActorProcess};
pub use cast::Cast;
pub(crate) use goal::GoalMaker;
pub use goal::{Answers, References};
pub use link::{ActorError, ActorMessage, Link};
pub use observation::Observation;
pub use play::play;
pub(crate) use program::INPUTS;
pub use reference::Reference;
