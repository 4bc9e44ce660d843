//! A tree on the terminal of an invocation.

use std::sync::Arc;

use stackwright::{
    event::{EngineEvent, EventJson},
    operation::OperationResult,
};

use crate::display::{Board, Screen, ScreenSize};

/// Updates a tree in place.
pub(in crate::operation) struct Live {
    board: Board,
    screen: Screen,
    size: Arc<dyn Fn() -> ScreenSize + Send + Sync>,
}

impl Live {
    /// Creates the tree of an operation on a terminal of this size.
    pub(in crate::operation) fn new(board: Board, size: Arc<dyn Fn() -> ScreenSize + Send + Sync>) -> Self {
        Self {
            board,
            screen: Screen::new(),
            size,
        }
    }

    /// Takes an event.
    pub(super) fn event(&mut self, event: &EngineEvent, json: &EventJson) {
        self.board.event(event, json);
    }

    /// Returns what updates the terminal.
    pub(super) fn frame(&mut self) -> String {
        let size = (self.size)();
        self.screen.draw(&mut self.board, size)
    }

    /// Shows that the operation has been cancelled, for the `count`-th time.
    pub(super) fn cancelled(&mut self, count: u8) {
        self.board.cancelled(count);
    }

    /// Returns what shows the end of the operation.
    pub(super) fn end(mut self, result: &OperationResult) -> String {
        self.board.finish(result);
        let size = (self.size)();
        self.screen.end(&mut self.board, size)
    }
}
