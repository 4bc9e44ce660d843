//! What shows an operation on a set of stacks while it runs: pieces of text, each when there is something new.

use std::time::Duration;

use stackwright::{
    StackName,
    fleet::{FleetEvents, FleetOperation},
    runtime::{Clock as _, SystemClock},
};

use super::{FleetBoard, FleetLines};
use crate::display::{Form, Paint, Screen, ScreenSize, Title, paint::plain_line};

/// The time between two pieces that replace one another.
const INTERVAL: Duration = Duration::from_millis(100);
/// The size of a page, which has no edges.
const PAGE: ScreenSize = ScreenSize {
    columns: 1_000,
    rows: 40,
};

enum Content {
    Lines(FleetLines),
    Screen(FleetBoard, Screen),
    Page(FleetBoard, String),
}

/// Shows one operation on a set. It is made before anything else listens to the operation's events, or shows those that are still to
/// come. Secrets are masked.
pub struct FleetFollowing {
    operation: FleetOperation,
    events: FleetEvents,
    content: Content,
    is_over: bool,
}

impl FleetFollowing {
    /// Begins to follow the operation on the stacks with these titles.
    #[must_use]
    pub fn new(
        operation: &FleetOperation,
        titles: impl IntoIterator<Item = (StackName, Title)>,
        form: Form,
        paint: Paint,
    ) -> Self {
        let board = || FleetBoard::new(operation.operations().map(|(name, _)| name.clone()));
        let content = match form {
            Form::Lines => Content::Lines(FleetLines::new(titles)),
            Form::Screen => Content::Screen(board().painted(paint), Screen::new()),
            Form::Page => Content::Page(board(), String::new()),
        };
        Self {
            events: operation.events(),
            operation: operation.clone(),
            content,
            is_over: false,
        }
    }

    /// Waits for the next piece of text; `None` when the end has been shown. `size` is that of the terminal at this moment, and has no
    /// effect on lines and pages.
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
                        let mut text = lines.event(&event);
                        while let Some(event) = self.events.try_next() {
                            text.push_str(&lines.event(&event));
                        }
                        text
                    }
                },
                Content::Screen(board, screen) => match collect(&mut self.events, board).await {
                    false => screen.update(board.lines(SystemClock.now(), size), "", size),
                    true => {
                        let tree = self.operation.wait().await.tree();
                        self.is_over = true;
                        let lines = tree.lines().map(|line| format!("{}\n", plain_line(line)));
                        screen.replace(&lines.collect::<String>(), size)
                    }
                },
                Content::Page(board, shown) => {
                    let text = match collect(&mut self.events, board).await {
                        false => board.lines(SystemClock.now(), PAGE).join("\n"),
                        true => {
                            let tree = self.operation.wait().await.tree();
                            self.is_over = true;
                            tree
                        }
                    };
                    let page = format!("<pre>{}</pre>", escaped(&text));
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
async fn collect(events: &mut FleetEvents, board: &mut FleetBoard) -> bool {
    let mut end = SystemClock.wait(INTERVAL);
    loop {
        tokio::select! {
            event = events.next() => match event {
                Some(event) => board.event(&event),
                None => return true,
            },
            () = &mut end => return false,
        }
    }
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
}

impl std::fmt::Debug for FleetFollowing {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("FleetFollowing")
            .field("is_over", &self.is_over)
            .finish_non_exhaustive()
    }
}
