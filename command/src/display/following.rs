//! What shows an operation of a host while it runs: pieces of text, each when there is something new.

use std::{sync::Arc, time::Duration};

use stackwright::{
    event::{EventJson, EventStream},
    operation::Operation,
    runtime::{Clock as _, SystemClock},
};

use super::{Board, Lines, Paint, Screen, ScreenSize, Title};

/// The time between two pieces for a terminal.
const FRAME_INTERVAL: Duration = Duration::from_millis(100);
/// The time between two pages, each of which has the whole board.
const PAGE_INTERVAL: Duration = Duration::from_millis(250);

/// The form in which an operation is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// Whole lines, to be appended.
    Lines,
    /// Sequences for a terminal, which update a tree in place; to be written as they are.
    Screen,
    /// An HTML element, which replaces the one before.
    Page,
}

enum Content {
    Lines(Lines),
    Screen(Board, Screen),
    Page(Board, String),
}

/// Shows one operation. It is made before anything else listens to the operation's events, or shows those that are still to
/// come; at the end, tree and page have all rows in any case. Secrets are masked.
pub struct Following {
    operation: Operation,
    events: EventStream,
    json: EventJson,
    content: Content,
    is_over: bool,
}

impl Following {
    /// Begins to follow an operation.
    #[must_use]
    pub fn new(operation: &Operation, title: Title, form: Form, paint: Paint) -> Self {
        let events = operation.events();
        let json = events.json(false);
        let board = |title| Board::new(title, Arc::new(SystemClock)).masking(&json);
        let content = match form {
            Form::Lines => Content::Lines(Lines::new(title).painted(paint)),
            Form::Screen => Content::Screen(board(title).painted(paint), Screen::new()),
            Form::Page => Content::Page(board(title), String::new()),
        };
        Self {
            operation: operation.clone(),
            json,
            events,
            content,
            is_over: false,
        }
    }

    /// Waits for the next piece of text; `None` when the end has been shown. `size` is that of the terminal at this moment, and
    /// has no effect on lines and pages.
    ///
    /// # Cancel safety
    /// Cancel safe: a dropped future loses no text.
    pub async fn next(&mut self, size: ScreenSize) -> Option<String> {
        while !self.is_over {
            let text = match &mut self.content {
                Content::Lines(lines) => match self.events.next().await {
                    None => {
                        self.is_over = true;
                        String::new()
                    }
                    Some(event) => {
                        let mut text = lines.event(&event, &self.json);
                        while let Some(event) = self.events.try_next() {
                            text.push_str(&lines.event(&event, &self.json));
                        }
                        text
                    }
                },
                Content::Screen(board, screen) => {
                    let has_ended = collect(&mut self.events, &self.json, board, FRAME_INTERVAL).await;
                    match has_ended {
                        false => screen.draw(board, size),
                        true => {
                            board.finish(&*self.operation.wait().await);
                            self.is_over = true;
                            screen.end(board, size)
                        }
                    }
                }
                Content::Page(board, shown) => {
                    let has_ended = collect(&mut self.events, &self.json, board, PAGE_INTERVAL).await;
                    if has_ended {
                        board.finish(&*self.operation.wait().await);
                        self.is_over = true;
                    }
                    let page = board.html();
                    match page == *shown {
                        true => String::new(),
                        false => {
                            shown.clone_from(&page);
                            page
                        }
                    }
                }
            };
            if !text.is_empty() {
                return Some(text);
            }
        }
        None
    }
}

/// Takes the events of an interval; returns whether they have ended.
async fn collect(events: &mut EventStream, json: &EventJson, board: &mut Board, interval: Duration) -> bool {
    let mut end = SystemClock.wait(interval);
    loop {
        tokio::select! {
            event = events.next() => match event {
                Some(event) => board.event(&event, json),
                None => return true,
            },
            () = &mut end => return false,
        }
    }
}

impl std::fmt::Debug for Following {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("Following")
            .field("is_over", &self.is_over)
            .finish_non_exhaustive()
    }
}
