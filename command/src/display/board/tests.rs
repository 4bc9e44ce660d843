//! Tests of boards: what a reader of the terminal sees, and what a page has.

use std::sync::{Arc, Mutex};

use stackwright::{
    Engine, StackSettings,
    diagnostic::{Diagnostic, Severity},
    event::{
        EngineEvent, EventJson, EventPayload, Progress, ProgressKind, StateMetadata, StepEvent, StepMetadata,
        Summary,
    },
    operation::{OperationKind, OperationOptions},
    resource::ResourceState,
    runtime::{Clock, Runtime, Timestamp},
    secrets::Base64Provider,
    step::StepOp,
    store::MemoryStore,
    urn::Urn,
};

use super::{Board, Screen, ScreenSize};
use crate::display::{Paint, Title};

/// A clock that is moved by hand.
#[derive(Default)]
struct Hand(Mutex<i64>);

#[async_trait::async_trait]
impl Clock for Hand {
    fn now(&self) -> Timestamp {
        Timestamp::from_millisecond(*self.0.lock().unwrap()).unwrap()
    }

    fn elapsed(&self) -> std::time::Duration {
        std::time::Duration::ZERO
    }

    async fn wait(&self, _: std::time::Duration) {}
}

/// A board on the screen of a terminal.
struct Shop {
    clock: Arc<Hand>,
    board: Board,
    json: EventJson,
    screen: Screen,
    terminal: vt100::Parser,
    size: ScreenSize,
    written: usize,
}

impl Shop {
    async fn new(columns: u16, rows: u16) -> Self {
        let handle = tokio::runtime::Handle::current();
        let store = Arc::new(MemoryStore::new(Runtime::system(handle.clone())));
        let engine = Engine::builder(handle)
            .store(store)
            .secrets(Arc::new(Base64Provider))
            .build()
            .unwrap();
        let stack = engine
            .create_stack("shop/dev", StackSettings::default())
            .await
            .unwrap();
        let json = stack.destroy(OperationOptions::default()).events().json(false);
        let clock = Arc::new(Hand::default());
        let title = Title::new(OperationKind::Update, false, stack.name());
        Self {
            board: Board::new(title, Arc::clone(&clock) as Arc<dyn Clock>).painted(Paint::COLOURED),
            clock,
            json,
            screen: Screen::new(),
            terminal: vt100::Parser::new(rows, columns, 10_000),
            size: ScreenSize { columns, rows },
            written: 0,
        }
    }

    fn pass(&self, milliseconds: i64) {
        *self.clock.0.lock().unwrap() += milliseconds;
    }

    fn event(&mut self, payload: EventPayload) {
        let event = EngineEvent {
            sequence: 0,
            timestamp: self.clock.now(),
            internal: false,
            payload,
        };
        self.board.event(&event, &self.json);
    }

    fn begin(&mut self, op: StepOp, name: &str, parent: Option<&str>) {
        self.event(EventPayload::ResourcePre(step(op, name, parent)));
    }

    fn end(&mut self, op: StepOp, name: &str, parent: Option<&str>) {
        self.event(EventPayload::ResourceOutputs(step(op, name, parent)));
    }

    fn message(&mut self, severity: Severity, name: &str, text: &str) {
        let diagnostic = Diagnostic {
            urn: Some(urn(name)),
            ..Diagnostic::new(severity, text.to_owned())
        };
        self.event(EventPayload::Diagnostic(diagnostic));
    }

    fn finish(&mut self) {
        self.event(EventPayload::Summary(Summary {
            duration_seconds: 4,
            resource_changes: [("create", 2)].into(),
            ..Summary::default()
        }));
        self.event(EventPayload::Cancel);
        let text = self.screen.end(&mut self.board, self.size);
        self.write(&text);
    }

    fn draw(&mut self) {
        let text = self.screen.draw(&mut self.board, self.size);
        self.write(&text);
    }

    /// Writes as the line discipline of a terminal does.
    fn write(&mut self, text: &str) {
        self.written += text.len();
        self.terminal.process(text.replace('\n', "\r\n").as_bytes());
    }

    /// Returns the lines on the screen, without those that are empty at its end.
    fn seen(&self) -> Vec<String> {
        let text = self.terminal.screen().contents();
        text.trim_end()
            .lines()
            .map(|line| line.trim_end().to_owned())
            .collect()
    }
}

fn urn(name: &str) -> Urn {
    Urn::new("dev", "shop", "", "files:index/deep:File", name)
}

fn step(op: StepOp, name: &str, parent: Option<&str>) -> Arc<StepEvent> {
    let mut state = ResourceState::new(urn(name), "files:index/deep:File".into(), true);
    state.parent = parent.map(urn);
    let metadata = StepMetadata {
        op,
        urn: urn(name),
        resource_type: "files:index/deep:File".into(),
        old: None,
        new: Some(StateMetadata(Arc::new(state))),
        keys: Vec::new(),
        diffs: Vec::new(),
        detailed_diff: None,
        logical: true,
        provider: "".into(),
    };
    Arc::new(StepEvent {
        metadata,
        planning: false,
    })
}

#[tokio::test]
async fn rows_are_updated_in_place() {
    let mut shop = Shop::new(80, 24).await;
    shop.write("$ stackwright up\n");
    shop.begin(StepOp::Create, "site", None);
    shop.begin(StepOp::Create, "index", Some("site"));
    shop.draw();
    shop.pass(2_000);
    shop.draw();
    assert_eq!(
        shop.seen(),
        [
            "$ stackwright up",
            "Updating (dev):",
            "",
            "     Type                 Name   Status",
            " +   files:index:File     site   creating (2s)",
            " +   └─ files:index:File  index  creating (2s)",
            "     2 running, 2s",
        ]
    );
    shop.end(StepOp::Create, "site", None);
    shop.message(Severity::Warning, "index", "\u{1b}[2Jthe disk is slow\nvery slow");
    shop.draw();
    assert_eq!(
        shop.seen()[4..],
        [
            " +   files:index:File     site   created (2.0s)",
            " +   └─ files:index:File  index  creating (2s)   warning: the disk is slow",
            "     1 running, 1 done, 2s",
            "Diagnostics:",
            "  files:index/deep:File (index):",
            "    warning: the disk is slow",
            "    very slow",
        ]
    );
    shop.pass(1_500);
    shop.end(StepOp::Create, "index", Some("site"));
    shop.finish();
    assert_eq!(
        shop.seen(),
        [
            "$ stackwright up",
            "Updating (dev):",
            "",
            "     Type                 Name   Status          Info",
            " +   files:index:File     site   created (2.0s)",
            " +   └─ files:index:File  index  created (3.5s)  warning: the disk is slow",
            "",
            "Diagnostics:",
            "  files:index/deep:File (index):",
            "    warning: the disk is slow",
            "    very slow",
            "",
            "Resources:",
            "    + 2 created",
            "",
            "Duration: 4s",
        ]
    );
}

#[tokio::test]
async fn of_many_messages_the_last_ones_are_shown_until_the_end_has_all() {
    let mut shop = Shop::new(60, 16).await;
    shop.begin(StepOp::Create, "site", None);
    for number in 0..100 {
        shop.message(Severity::Info, "site", &format!("message {number}"));
        shop.draw();
        assert!(shop.seen().len() < 16);
    }
    assert_eq!(
        shop.seen()[4..],
        [
            "     1 running, 0s",
            "Diagnostics: …",
            "    message 97",
            "    message 98",
            "    message 99",
        ]
    );
    shop.end(StepOp::Create, "site", None);
    shop.event(EventPayload::Cancel);
    let end = shop.screen.end(&mut shop.board, shop.size);
    assert_eq!(
        (0..100)
            .filter(|number| end.contains(&format!("    message {number}\n")))
            .count(),
        100
    );
}

#[tokio::test]
async fn a_running_download_is_shown_until_it_ends() {
    let mut shop = Shop::new(80, 24).await;
    let mut progress = Progress {
        kind: ProgressKind::PluginDownload,
        id: "files".to_owned(),
        message: "Downloading the plugin files".to_owned(),
        received: 0,
        total: 0,
        done: false,
    };
    shop.event(EventPayload::Progress(progress.clone()));
    shop.draw();
    assert_eq!(shop.seen()[3..], ["     Downloading the plugin files", "     0s"]);
    (progress.received, progress.total) = (30, 120);
    shop.event(EventPayload::Progress(progress.clone()));
    shop.draw();
    assert_eq!(shop.seen()[3], "     Downloading the plugin files (25%)");
    progress.done = true;
    shop.event(EventPayload::Progress(progress));
    shop.draw();
    assert_eq!(shop.seen()[3..], ["     0s"]);
}

#[tokio::test]
async fn a_screen_without_news_is_not_written() {
    let mut shop = Shop::new(80, 24).await;
    shop.begin(StepOp::Create, "site", None);
    shop.draw();
    let written = shop.written;
    for _ in 0..9 {
        shop.pass(100);
        shop.draw();
    }
    assert_eq!(shop.written, written, "within a second, nothing changes");
    shop.pass(100);
    shop.draw();
    let line = shop.written - written;
    assert!(
        (1..200).contains(&line),
        "only changed lines are written: {line} bytes"
    );
}

#[tokio::test]
async fn a_screen_that_is_too_small_shows_what_runs_and_the_end_has_all() {
    let mut shop = Shop::new(60, 12).await;
    let names: Vec<String> = (0..250).map(|number| format!("file-{number}")).collect();
    for name in &names {
        shop.begin(StepOp::Create, name, None);
        if name != "file-3" {
            shop.pass(10);
            shop.end(StepOp::Create, name, None);
        }
        shop.draw();
        assert!(shop.seen().len() < 12, "it never scrolls: {:#?}", shop.seen());
    }
    let seen = shop.seen();
    assert_eq!(seen[0], "Updating (dev):", "the headline stays");
    assert!(
        seen.iter()
            .any(|line| line.contains("file-3 ") && line.contains("creating")),
        "{seen:#?}"
    );
    assert!(
        seen.iter().any(|line| line.contains("file-249")),
        "the last one is shown: {seen:#?}"
    );
    assert!(seen.contains(&"     … 244 more".to_owned()), "{seen:#?}");
    shop.end(StepOp::Create, "file-3", None);
    shop.finish();
    // What has scrolled out of the screen is read page by page.
    let screen = shop.terminal.screen_mut();
    let mut all = String::new();
    screen.set_scrollback(usize::MAX);
    let mut above = screen.scrollback();
    loop {
        screen.set_scrollback(above);
        all.push_str(&screen.contents());
        all.push('\n');
        if above == 0 {
            break;
        }
        above = above.saturating_sub(12);
    }
    for name in &names {
        assert!(
            all.contains(&format!(" {name} ")),
            "{name} is in the tree at the end"
        );
    }
    assert_eq!(
        all.matches("Updating (dev):").count(),
        1,
        "nothing is left of the drawings before"
    );
}

#[tokio::test]
async fn a_terminal_that_becomes_narrow_is_drawn_anew() {
    let mut shop = Shop::new(80, 24).await;
    shop.write("before\n");
    for name in ["first-file", "second-file"] {
        shop.begin(StepOp::Create, name, None);
    }
    shop.message(Severity::Error, "first-file", &"a long error ".repeat(10));
    shop.draw();
    assert!(shop.seen().iter().all(|line| line.chars().count() < 80));
    shop.size.columns = 40;
    shop.terminal.screen_mut().set_size(24, 40);
    shop.draw();
    let seen = shop.seen();
    assert!(seen.iter().all(|line| line.chars().count() < 40), "{seen:#?}");
    assert_eq!(
        seen.iter()
            .filter(|line| line.contains("Updating (dev):"))
            .count(),
        1,
        "{seen:#?}"
    );
}

#[tokio::test]
async fn a_terminal_without_a_size_has_a_usual_one() {
    let mut shop = Shop::new(80, 24).await;
    shop.size = ScreenSize { columns: 0, rows: 0 };
    shop.begin(StepOp::Create, "site", None);
    shop.draw();
    assert_eq!(shop.seen()[3], " +   files:index:File  site  creating");
}

#[tokio::test]
async fn a_page_escapes_every_text() {
    let mut shop = Shop::new(80, 24).await;
    shop.begin(StepOp::Create, "<b onclick=\"x\">&'", None);
    shop.message(
        Severity::Error,
        "<b onclick=\"x\">&'",
        "<script>alert(1)</script>",
    );
    let page = shop.board.html();
    assert!(
        page.contains("&lt;b onclick=&quot;x&quot;&gt;&amp;&#39;"),
        "{page}"
    );
    assert!(page.contains("&lt;script&gt;"), "{page}");
    assert!(
        !page.contains("<script") && !page.contains("<b onclick") && !page.contains('\u{1b}'),
        "{page}"
    );
    assert!(page.contains("creating"));
}

#[tokio::test]
async fn the_halves_of_a_replacement_share_a_row() {
    let mut shop = Shop::new(80, 24).await;
    shop.begin(StepOp::CreateReplacement, "site", None);
    shop.draw();
    assert_eq!(
        shop.seen()[3],
        " +-  files:index:File  site  creating replacement"
    );
    shop.end(StepOp::CreateReplacement, "site", None);
    shop.begin(StepOp::DeleteReplaced, "site", None);
    shop.pass(1_000);
    shop.draw();
    assert_eq!(
        shop.seen()[3],
        " +-  files:index:File  site  deleting original (1s)"
    );
    shop.end(StepOp::DeleteReplaced, "site", None);
    shop.draw();
    assert_eq!(
        shop.seen()[3..],
        [" +-  files:index:File  site  replaced (1.0s)", "     1 done, 1s"]
    );
}

#[tokio::test]
async fn unchanged_resources_are_counted_and_shown_only_above_others() {
    let mut shop = Shop::new(80, 24).await;
    for name in ["site", "quiet"] {
        shop.begin(StepOp::Same, name, None);
        shop.end(StepOp::Same, name, None);
    }
    shop.begin(StepOp::Delete, "old", Some("site"));
    shop.draw();
    assert_eq!(
        shop.seen()[3..],
        [
            "     files:index:File     site",
            " -   └─ files:index:File  old   deleting",
            "     1 running, 2 unchanged, 0s",
        ]
    );
}
