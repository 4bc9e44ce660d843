//! What readers see of an operation on a set of stacks.

use std::sync::Arc;

use stackwright::{
    Engine, Error, ErrorKind, StackSettings,
    fleet::{FleetOperation, FleetOptions, StackRun},
    operation::OperationKind,
    program::{Program, from_fn},
    runtime::{Clock as _, Runtime, SystemClock},
    secrets::Base64Provider,
    store::MemoryStore,
};
use stackwright_testkit::wait::Within as _;
use tokio::sync::Semaphore;

use super::{FleetBoard, FleetFollowing};
use crate::display::{Form, Paint, ScreenSize, Title};

const SIZE: ScreenSize = ScreenSize {
    columns: 100,
    rows: 24,
};

/// A program that ends with success, or fails, once it has a permit.
fn program(permits: &Arc<Semaphore>, succeeds: bool) -> Arc<dyn Program> {
    let permits = Arc::clone(permits);
    from_fn(move |_context| {
        let permits = Arc::clone(&permits);
        async move {
            let permit = permits.acquire().within("a permit").await;
            drop(permit.unwrap());
            match succeeds {
                true => Ok(()),
                false => Err(Error::new(ErrorKind::Program, "there is <no> \u{1b}[31mluck")),
            }
        }
    })
}

/// Starts an update of three stacks: one succeeds, one fails, and one depends on that.
async fn update(permits: &Arc<Semaphore>) -> FleetOperation {
    let handle = tokio::runtime::Handle::current();
    let store = Arc::new(MemoryStore::new(Runtime::system(handle.clone())));
    let engine = Engine::builder(handle)
        .store(store)
        .secrets(Arc::new(Base64Provider))
        .build()
        .unwrap();
    let mut runs = Vec::new();
    for (name, succeeds) in [("shop/good", true), ("shop/bad", false), ("shop/after", true)] {
        let settings = StackSettings {
            program: Some(program(permits, succeeds)),
            ..StackSettings::default()
        };
        runs.push(StackRun::new(engine.stack(name, settings).await.unwrap()));
    }
    runs[2].depends_on.push("shop/bad".to_owned());
    engine.up_all(runs, FleetOptions::default())
}

fn following(operation: &FleetOperation, form: Form) -> FleetFollowing {
    let titles = operation
        .operations()
        .map(|(name, _)| (name.clone(), Title::new(OperationKind::Update, false, name)));
    FleetFollowing::new(operation, titles, form, Paint::PLAIN)
}

async fn pieces(operation: &FleetOperation, form: Form) -> Vec<String> {
    let mut following = following(operation, form);
    let mut pieces = Vec::new();
    while let Some(piece) = following.next(SIZE).within("a piece").await {
        pieces.push(piece);
    }
    pieces
}

#[tokio::test(flavor = "multi_thread")]
async fn lines_have_the_names_of_their_stacks_and_count_those_that_have_ended() {
    let operation = update(&Arc::new(Semaphore::new(9))).await;
    let text = pieces(&operation, Form::Lines).await.concat();
    for line in text.lines() {
        assert!(
            ["shop/good | ", "shop/bad | ", "shop/after | "]
                .iter()
                .any(|name| line.starts_with(name)),
            "{line}"
        );
    }
    assert!(text.contains("shop/good | Updating (good):\n"), "{text}");
    assert!(
        text.contains("the stack 'shop/after' was not updated: the stack 'shop/bad' has failed"),
        "{text}"
    );
    let ends = [1, 2, 3].map(|count| text.find(&format!("ended ({count} of 3 stacks)\n")));
    assert!(ends.iter().all(Option::is_some) && ends.is_sorted(), "{text}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_terminal_shows_the_stacks_that_run_and_at_the_end_what_each_came_to() {
    let permits = Arc::new(Semaphore::new(0));
    let operation = update(&permits).await;
    let mut following = following(&operation, Form::Screen);
    let mut terminal = vt100::Parser::new(SIZE.rows, SIZE.columns, 0);
    while !terminal.screen().contents().contains(" > shop/good  ") {
        let piece = following.next(SIZE).within("a row").await.unwrap();
        terminal.process(piece.replace('\n', "\r\n").as_bytes());
    }
    let shown = terminal.screen().contents();
    assert!(shown.starts_with("3 stacks:\n\n > "), "{shown}");
    assert!(shown.contains("0 of 3 stacks have ended"), "{shown}");
    assert!(!shown.contains("shop/after"), "it has not begun: {shown}");
    permits.add_permits(9);
    while let Some(piece) = following.next(SIZE).within("a piece").await {
        terminal.process(piece.replace('\n', "\r\n").as_bytes());
    }
    let shown = terminal.screen().contents();
    assert!(
        shown.starts_with("shop/good: succeeded\n"),
        "nothing of the rows is left: {shown}"
    );
    assert!(shown.contains("shop/bad: failed\n"), "{shown}");
    assert!(
        shown.contains("shop/after: skipped: the stack 'shop/after' was not updated"),
        "{shown}"
    );
    assert!(shown.contains("1 of 3 stacks failed, 1 did not begin"), "{shown}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_page_escapes_what_it_shows() {
    let operation = update(&Arc::new(Semaphore::new(9))).await;
    let pages = pieces(&operation, Form::Page).await;
    let last = pages.last().unwrap();
    assert!(
        last.starts_with("<pre>shop/good: succeeded\n") && last.ends_with("</pre>"),
        "{last}"
    );
    assert!(last.contains("there is &lt;no&gt;"), "{last}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_board_counts_how_stacks_have_ended_and_shows_those_that_have_failed() {
    let operation = update(&Arc::new(Semaphore::new(9))).await;
    let mut board = FleetBoard::new(operation.operations().map(|(name, _)| name.clone()));
    let mut events = operation.events();
    while let Some(event) = events.next().within("an event").await {
        board.event(&event);
    }
    let lines = board.lines(SystemClock.now(), SIZE);
    assert_eq!(
        lines.last().unwrap(),
        "3 of 3 stacks have ended, 1 failed, 1 did not begin"
    );
    assert!(lines[2].starts_with(" x shop/bad  failed: "), "{lines:?}");
    assert!(lines.iter().all(|line| !line.contains('\u{1b}')), "{lines:?}");
}
