//! The director: plays stories against an actor and gathers what can be observed.

mod actor_process;
mod files;
mod goal;
mod link;
mod plans;
mod play;
mod program;
mod reference;
mod stage;

pub use actor_process::{ActorCommand, ActorProcess};
pub use files::Files;
pub use goal::{Answers, References};
pub use link::{ActorError, Link, Told};
pub use play::{Observation, Verdict, play};
pub use reference::Reference;
