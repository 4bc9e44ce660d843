//! What is special of PostgreSQL: the reference engine's table, other writers, and lost connections.

use std::{
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    time::Duration,
};

use async_trait::async_trait;
use stackwright::{
    ErrorKind,
    runtime::{Clock, Runtime, SystemClock, Timestamp},
    store::{Condition, Credentials, Store, open_with},
};
use stackwright_testkit::wait::Within as _;

use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpListener, TcpStream},
    sync::Notify,
};

use super::places::{self, open};

#[tokio::test]
async fn the_table_is_the_reference_engines() {
    let Some(postgres) = places::postgres().await else {
        return;
    };
    let store = open(&postgres.url("layout"), &Credentials::None);
    store
        .put(".pulumi/meta.yaml", "version: 1".into(), Condition::Absent)
        .await
        .unwrap();
    assert_eq!(
        postgres.query("SELECT key, data FROM layout").await,
        ".pulumi/meta.yaml|{\"data\":\"dmVyc2lvbjogMQ==\"}"
    );
    let columns = "SELECT string_agg(column_name || ' ' || data_type || ' ' || is_nullable, ', ' ORDER BY ordinal_position) \
                   FROM information_schema.columns WHERE table_name = 'layout'";
    assert_eq!(
        postgres.query(columns).await,
        "key text NO, data json NO, updated_at timestamp with time zone NO"
    );
    let index = postgres
        .query("SELECT indexdef FROM pg_indexes WHERE indexname = 'layout_key_prefix_idx'")
        .await;
    assert!(index.contains("(key text_pattern_ops)"), "{index}");
    let plan = postgres
        .query("SET enable_seqscan = off; EXPLAIN SELECT key FROM layout WHERE key ~>=~ 'a' AND key ~<~ 'b'")
        .await;
    assert!(plan.contains("layout_key_prefix_idx"), "{plan}");
}

#[tokio::test]
async fn a_user_who_may_only_read_sees_the_state_and_a_write_names_the_missing_right() {
    let Some(postgres) = places::postgres().await else {
        return;
    };
    let setup = "CREATE TABLE read_only (key TEXT PRIMARY KEY, data JSON NOT NULL, updated_at TIMESTAMPTZ NOT NULL DEFAULT now()); \
                 INSERT INTO read_only (key, data) VALUES ('.pulumi/meta.yaml', '{\"data\":\"dmVyc2lvbjogMQ==\"}'); \
                 CREATE ROLE reader LOGIN; GRANT SELECT ON read_only TO reader; REVOKE CREATE ON SCHEMA public FROM PUBLIC";
    assert_eq!(postgres.query(setup).await, "");
    let url = postgres.url("read_only").replace("postgres@", "reader@");
    let store = open(&url, &Credentials::None);
    let read = store.get(".pulumi/meta.yaml").await.unwrap().unwrap();
    assert_eq!(read.bytes, "version: 1");
    assert!(
        store
            .get(".pulumi/journals/shop/dev.journal")
            .await
            .unwrap()
            .is_none()
    );
    assert_eq!(store.list(".pulumi/").await.unwrap().len(), 1);
    let tables = "SELECT count(*) FROM pg_tables WHERE tablename LIKE 'read_only_%'";
    assert_eq!(postgres.query(tables).await, "0");
    let error = store.put("a", "1".into(), Condition::Any).await.unwrap_err();
    assert!(
        error.hints().iter().any(|hint| hint.contains("rights")),
        "{error:?}"
    );
}

#[tokio::test]
async fn a_row_that_another_program_has_written_is_recognised_by_its_content() {
    let Some(postgres) = places::postgres().await else {
        return;
    };
    let store = open(&postgres.url("foreign_rows"), &Credentials::None);
    let version = store.put("a", "1".into(), Condition::Absent).await.unwrap();
    assert_eq!(
        postgres
            .query("UPDATE foreign_rows SET data = '{\"data\": \"Mg==\"}'")
            .await,
        ""
    );
    let stale = store
        .put("a", "3".into(), Condition::Match(version))
        .await
        .unwrap_err();
    assert_eq!(stale.kind(), ErrorKind::Conflict);
    let object = store.get("a").await.unwrap().unwrap();
    assert_eq!(object.bytes, "2");
    store
        .put("a", "3".into(), Condition::Match(object.version))
        .await
        .unwrap();
    assert_eq!(
        postgres
            .query("UPDATE foreign_rows SET data = '{\"text\": 1}'")
            .await,
        ""
    );
    let error = store.get("a").await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::State, "{error}");
}

#[tokio::test]
async fn a_lost_connection_is_replaced() {
    let Some(postgres) = places::postgres().await else {
        return;
    };
    let store = open(&postgres.url("lost"), &Credentials::None);
    let version = store.put("a", "1".into(), Condition::Absent).await.unwrap();
    // The server ends the connections of all stores of this database user, as at its restart.
    let end = "SELECT count(pg_terminate_backend(pid)) > 0 FROM pg_stat_activity \
               WHERE query LIKE '%\"lost\"%' AND pid <> pg_backend_pid()";
    assert_eq!(postgres.query(end).await, "t");
    let version = store
        .put("a", "2".into(), Condition::Match(version))
        .within("a write")
        .await
        .unwrap();
    assert_eq!(postgres.query(end).await, "t");
    assert_eq!(
        store.get("a").within("a read").await.unwrap().unwrap().version,
        version
    );
}

/// Forwards to a server, until it cuts the connection instead of forwarding an answer.
struct LosingProxy {
    address: String,
    loses_next: Arc<AtomicBool>,
}

impl LosingProxy {
    async fn before(target: &str) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let loses_next = Arc::<AtomicBool>::default();
        let (target, loses) = (target.to_owned(), Arc::clone(&loses_next));
        tokio::spawn(async move {
            loop {
                let (near, _) = listener.accept().await.unwrap();
                let far = TcpStream::connect(&target).await.unwrap();
                let loses = Arc::clone(&loses);
                tokio::spawn(async move {
                    let (mut requests, mut client) = near.into_split();
                    let (mut answers, mut server) = far.into_split();
                    let forward =
                        tokio::spawn(async move { tokio::io::copy(&mut requests, &mut server).await });
                    let mut buffer = vec![0; 65536];
                    loop {
                        let length = answers.read(&mut buffer).await.unwrap_or(0);
                        if length == 0 || loses.swap(false, Ordering::SeqCst) {
                            break;
                        }
                        if client.write_all(&buffer[..length]).await.is_err() {
                            break;
                        }
                    }
                    forward.abort();
                });
            }
        });
        Self { address, loses_next }
    }
}

#[tokio::test]
async fn a_write_whose_answer_was_lost_is_recognised() {
    let Some(postgres) = places::postgres().await else {
        return;
    };
    let proxy = LosingProxy::before(postgres.address()).await;
    let url = postgres
        .url("unknown")
        .replace(postgres.address(), &proxy.address);
    let store = open(&url, &Credentials::None);
    assert!(store.get("a").await.unwrap().is_none());
    for (content, condition) in [("1", Condition::Absent), ("2", Condition::Any)] {
        proxy.loses_next.store(true, Ordering::SeqCst);
        let version = store
            .put("a", content.into(), condition)
            .within("a write")
            .await
            .unwrap();
        proxy.loses_next.store(true, Ordering::SeqCst);
        let condition = Condition::Match(version);
        let version = store
            .put("a", format!("{content}!").into(), condition)
            .within("a write")
            .await
            .unwrap();
        let object = store.get("a").await.unwrap().unwrap();
        assert_eq!(
            (object.bytes, object.version),
            (format!("{content}!").into(), version)
        );
        assert!(!proxy.loses_next.load(Ordering::SeqCst), "an answer was lost");
    }
}

#[tokio::test]
async fn a_write_that_was_not_done_is_repeated() {
    let Some(postgres) = places::postgres().await else {
        return;
    };
    let store = open(&postgres.url("undone"), &Credentials::None);
    let version = store.put("a", "1".into(), Condition::Absent).await.unwrap();
    // The first write ends its own connection, and with it its transaction. A sequence counts in spite of that.
    let setup = "CREATE SEQUENCE undone_writes; \
                 CREATE FUNCTION undone_end() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN \
                 IF nextval('undone_writes') = 1 THEN PERFORM pg_terminate_backend(pg_backend_pid()); END IF; \
                 RETURN NEW; END $$; \
                 CREATE TRIGGER undone_end BEFORE UPDATE ON undone FOR EACH ROW EXECUTE FUNCTION undone_end()";
    assert_eq!(postgres.query(setup).await, "");
    let written = store.put("a", "2".into(), Condition::Match(version));
    let version = written.within("a write").await.unwrap();
    let object = store.get("a").await.unwrap().unwrap();
    assert_eq!((&object.bytes[..], object.version), (&b"2"[..], version));
    assert_eq!(postgres.query("SELECT last_value FROM undone_writes").await, "2");
}

#[tokio::test]
async fn a_server_that_cannot_be_reached_is_named_without_the_password() {
    let port = std::net::TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap()
        .port();
    let url = format!("postgres://me:hunter2@127.0.0.1:{port}/state?sslmode=disable");
    let store = open(&url, &Credentials::None);
    let error = store.get("a").within("a read").await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unavailable);
    assert!(
        error.message().contains(&format!("127.0.0.1:{port}/state")),
        "{error}"
    );
    assert!(error.message().contains("refused"), "{error}");
    assert!(!format!("{error:?}").contains("hunter2"), "{error:?}");
}

/// A server that accepts connections and never answers; the number of those is counted.
async fn silent_server() -> (String, Arc<AtomicUsize>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let count = Arc::<AtomicUsize>::default();
    let accepted = Arc::clone(&count);
    tokio::spawn(async move {
        let mut open = Vec::new();
        loop {
            open.push(listener.accept().await.unwrap());
            accepted.fetch_add(1, Ordering::SeqCst);
        }
    });
    (address, count)
}

#[tokio::test]
async fn a_server_that_never_answers_fails_all_who_wait_after_one_connect_timeout() {
    for mode in ["disable", "require"] {
        let (address, accepted) = silent_server().await;
        let url = format!("postgres://me:hunter2@{address}/state?sslmode={mode}&connect_timeout=1");
        let store = open(&url, &Credentials::None);
        let reads = futures::future::join_all(["a", "b", "c"].map(|key| store.get(key)));
        for read in reads.within("the ends of the reads").await {
            let error = read.unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Unavailable);
            assert!(error.message().contains(&format!("{address}/state")), "{error}");
            assert!(error.message().contains("within 1 s"), "{error}");
            assert!(!format!("{error:?}").contains("hunter2"), "{error:?}");
        }
        assert_eq!(accepted.load(Ordering::SeqCst), 1, "{mode}");
    }
}

/// The time from which on a wait is that for an answer to a statement, and not that of a pause.
const STATEMENT_WAIT: Duration = Duration::from_secs(60);

/// The time from which on a wait is that for a connection.
const CONNECT_WAIT: Duration = Duration::from_secs(1);

/// What a proxy before a server does, and the clock of the store that uses it.
#[derive(Default)]
struct Silence {
    /// The next answer is not forwarded, nor is anything after it on its connection.
    begins: AtomicBool,
    /// Nothing is forwarded of connections that are opened from now on.
    is_complete: AtomicBool,
    /// An answer was withheld.
    withheld: Notify,
    /// The client has closed the silent connection.
    closed: Notify,
}

/// A clock on which the waits for an answer end once it was withheld.
struct SilenceClock(Arc<Silence>);

#[async_trait]
impl Clock for SilenceClock {
    fn now(&self) -> Timestamp {
        SystemClock.now()
    }

    fn elapsed(&self) -> Duration {
        SystemClock.elapsed()
    }

    async fn wait(&self, duration: Duration) {
        if duration >= STATEMENT_WAIT {
            self.0.withheld.notified().await;
        } else if duration >= CONNECT_WAIT && self.0.is_complete.load(Ordering::SeqCst) {
            tokio::task::yield_now().await;
        } else {
            SystemClock.wait(duration).await;
        }
    }
}

/// Forwards to a server as long as that is not to be silent.
async fn silencing_proxy(target: &str, silence: &Arc<Silence>) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let (target, silence) = (target.to_owned(), Arc::clone(silence));
    tokio::spawn(async move {
        let mut ignored = Vec::new();
        loop {
            let (near, _) = listener.accept().await.unwrap();
            if silence.is_complete.load(Ordering::SeqCst) {
                ignored.push(near);
                continue;
            }
            let far = TcpStream::connect(&target).await.unwrap();
            let silence = Arc::clone(&silence);
            tokio::spawn(async move {
                let (mut requests, mut client) = near.into_split();
                let (mut answers, mut server) = far.into_split();
                let forward = tokio::spawn(async move { tokio::io::copy(&mut requests, &mut server).await });
                let mut buffer = vec![0; 65536];
                loop {
                    let length = answers.read(&mut buffer).await.unwrap_or(0);
                    if length == 0 {
                        break;
                    }
                    if silence.begins.swap(false, Ordering::SeqCst) {
                        silence.withheld.notify_one();
                        drop(forward.await);
                        silence.closed.notify_one();
                        break;
                    }
                    if client.write_all(&buffer[..length]).await.is_err() {
                        break;
                    }
                }
            });
        }
    });
    address
}

#[tokio::test]
async fn a_write_without_an_answer_is_read_back_and_its_connection_is_closed() {
    let Some(postgres) = places::postgres().await else {
        return;
    };
    let silence = Arc::<Silence>::default();
    let proxy = silencing_proxy(postgres.address(), &silence).await;
    let url = postgres.url("silent").replace(postgres.address(), &proxy);
    let runtime = Runtime {
        clock: Arc::new(SilenceClock(Arc::clone(&silence))),
        ..places::runtime()
    };
    let store: Arc<dyn Store> = open_with(&url, Path::new("/"), &runtime, &Credentials::None.into()).unwrap();
    let version = store.put("a", "1".into(), Condition::Absent).await.unwrap();

    // The server answers on another connection.
    silence.begins.store(true, Ordering::SeqCst);
    let write = store.put("a", "2".into(), Condition::Match(version));
    let version = write.within("a write").await.unwrap();
    silence
        .closed
        .notified()
        .within("the end of the silent connection")
        .await;
    let object = store.get("a").within("a read").await.unwrap().unwrap();
    assert_eq!((&object.bytes[..], &object.version), (&b"2"[..], &version));

    // It answers nothing any more: the write fails, and was done.
    silence.is_complete.store(true, Ordering::SeqCst);
    silence.begins.store(true, Ordering::SeqCst);
    let error = store
        .put("a", "3".into(), Condition::Match(version))
        .within("a write")
        .await
        .unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unavailable);
    assert!(error.message().contains(&proxy), "{error}");
    silence.is_complete.store(false, Ordering::SeqCst);
    let object = store.get("a").within("a read").await.unwrap().unwrap();
    assert_eq!(object.bytes, "3");

    // A read fails after one wait for its answer.
    silence.begins.store(true, Ordering::SeqCst);
    let error = store.get("a").within("a read").await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unavailable);
    assert!(error.message().contains("no answer within 120 s"), "{error}");
}
