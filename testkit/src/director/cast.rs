//! Who plays a scenario: the actor of one binding, or those of several, which take turns at its operations.

use super::actor_process::{ActorCommand, ActorProcess};

/// The actors of the bindings that a scenario is played through, each started when its first turn comes.
#[derive(Debug)]
pub struct Cast<'a> {
    commands: &'a [ActorCommand],
    actors: Vec<Option<ActorProcess>>,
    turn: usize,
}

impl<'a> Cast<'a> {
    /// Engages the actors of these commands.
    #[must_use]
    pub fn new(commands: &'a [ActorCommand]) -> Self {
        Self {
            commands,
            actors: commands.iter().map(|_| None).collect(),
            turn: 0,
        }
    }

    /// Tells whether each operation is another actor's.
    #[must_use]
    pub fn takes_turns(&self) -> bool {
        self.commands.len() > 1
    }

    /// Returns the binding whose turn it is.
    #[must_use]
    pub fn binding(&self) -> &str {
        &self.commands[self.turn].binding
    }

    /// Gives the first turn at a scenario to one of the bindings; the same scenario always begins with the same one.
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

    /// Takes the actor whose turn it is away; another one is started in its place.
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
