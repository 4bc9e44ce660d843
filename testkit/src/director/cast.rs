//! The actors of a scenario: that of one binding, or those of several, which take turns at its operations.

use super::actor_process::{ActorCommand, ActorProcess};

/// The actors of the bindings that a scenario is played through, each started when its first turn comes.
#[derive(Debug)]
pub struct Cast<'a> {
    commands: &'a [ActorCommand],
    actors: Vec<Option<ActorProcess>>,
    turn: usize,
}

impl<'a> Cast<'a> {
    /// Creates the cast of these commands; no actor is started yet.
    #[must_use]
    pub fn new(commands: &'a [ActorCommand]) -> Self {
        Self {
            commands,
            actors: commands.iter().map(|_| None).collect(),
            turn: 0,
        }
    }

    /// Returns whether each operation is executed by another actor.
    #[must_use]
    pub fn takes_turns(&self) -> bool {
        self.commands.len() > 1
    }

    /// Returns the binding whose turn it is.
    #[must_use]
    pub fn binding(&self) -> &str {
        &self.commands[self.turn].binding
    }

    /// Selects the binding of the first operation by the scenario's path, which makes it the same in every run.
    pub(super) fn begin(&mut self, scenario: &str) {
        let sum: usize = scenario.bytes().map(usize::from).sum();
        self.turn = sum % self.commands.len();
    }

    /// Gives the turn to the next binding.
    pub(super) fn pass(&mut self) {
        self.turn = (self.turn + 1) % self.commands.len();
    }

    /// Returns the actor whose turn it is.
    pub(super) async fn actor(&mut self) -> Result<&mut ActorProcess, String> {
        let place = &mut self.actors[self.turn];
        if place.is_none() {
            *place = Some(self.commands[self.turn].start().await?);
        }
        place.as_mut().ok_or_else(|| "the actor is gone".to_owned())
    }

    /// Returns whether the programs of all actors can register hooks.
    ///
    /// # Errors
    /// A text when an actor cannot be started.
    pub async fn has_hooks(&mut self) -> Result<bool, String> {
        for (place, command) in self.actors.iter_mut().zip(self.commands) {
            if place.is_none() {
                *place = Some(command.start().await?);
            }
            if place.as_ref().is_some_and(|actor| !actor.has_hooks) {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Removes and returns the actor whose turn it is; another one is started when it is needed.
    pub(super) fn lose(&mut self) -> Option<ActorProcess> {
        self.actors[self.turn].take()
    }

    /// Ends all actors.
    pub async fn end(self) {
        for actor in self.actors.into_iter().flatten() {
            actor.end().await;
        }
    }
}
