//! A fake of Google Cloud Storage: the few XML calls that a store makes, after their public description.

use std::{
    collections::{BTreeMap, VecDeque},
    convert::Infallible,
    fmt::Write as _,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
};

use bytes::Bytes;
use http_body_util::{BodyExt as _, Full};
use hyper::{
    HeaderMap, Method, Request, Response, StatusCode, body::Incoming, header, server::conn::http1,
    service::service_fn,
};
use hyper_util::rt::TokioIo;
use tokio::{net::TcpListener, sync::Notify, task::JoinHandle};

/// The number of keys in a page of a listing: few, so that listings have several pages.
const PAGE: usize = 3;

const GENERATION: &str = "x-goog-generation";
const CONDITION: &str = "x-goog-if-generation-match";
const COPY_SOURCE: &str = "x-goog-copy-source";
const METADATA: &str = "x-goog-meta-";

/// Generations are times in microseconds.
const FIRST_GENERATION: u64 = 1_760_000_000_000_000;

/// The time of all writes.
const MODIFIED: (&str, &str) = ("Thu, 01 Oct 2026 12:00:00 GMT", "2026-10-01T12:00:00.000Z");

/// What happens to a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// It is refused as one of too many.
    Throttled,
    /// It is done, and answered with an error of the server.
    AnswerLost,
    /// It is refused for ever: the user has no right.
    Forbidden,
}

/// A request that the server has received and holds back.
#[derive(Debug, Default)]
pub struct HeldWrite {
    arrived: Notify,
    goes_on: Notify,
}

impl HeldWrite {
    /// Waits until the request has arrived.
    pub async fn arrived(&self) {
        self.arrived.notified().await;
    }

    /// Lets the request go on.
    pub fn go_on(&self) {
        self.goes_on.notify_one();
    }
}

/// A bucket. Requests are counted.
#[derive(Debug)]
pub struct FakeBucket {
    /// Where it listens.
    pub address: String,
    state: Arc<State>,
    server: JoinHandle<()>,
}

#[derive(Debug, Default)]
struct State {
    objects: Mutex<Objects>,
    requests: AtomicU64,
}

#[derive(Debug, Default)]
struct Objects {
    objects: BTreeMap<String, Entry>,
    generation: u64,
    faults: VecDeque<Fault>,
    ignores_conditions: bool,
    held: BTreeMap<String, Arc<HeldWrite>>,
}

#[derive(Clone, Debug)]
struct Entry {
    bytes: Bytes,
    generation: u64,
    metadata: HeaderMap,
}

impl FakeBucket {
    /// Starts the server. Every name of a bucket means the same one.
    ///
    /// # Panics
    /// When no port can be bound.
    pub async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let state = Arc::<State>::default();
        state.objects().generation = FIRST_GENERATION;
        let shared = Arc::clone(&state);
        let server = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let state = Arc::clone(&shared);
                let service = service_fn(move |request| answer(Arc::clone(&state), request));
                tokio::spawn(http1::Builder::new().serve_connection(TokioIo::new(stream), service));
            }
        });
        Self {
            address,
            state,
            server,
        }
    }

    /// Makes the next requests fail, one fault each.
    pub fn fail(&self, faults: &[Fault]) {
        self.state.objects().faults.extend(faults);
    }

    /// Ignores the conditions of writes from now on, as some servers do.
    pub fn ignore_conditions(&self) {
        self.state.objects().ignores_conditions = true;
    }

    /// Holds back the next request that writes or removes an object, as if its sender had been suspended before it.
    #[must_use]
    pub fn hold(&self, key: &str) -> Arc<HeldWrite> {
        let held = Arc::<HeldWrite>::default();
        self.state
            .objects()
            .held
            .insert(key.to_owned(), Arc::clone(&held));
        held
    }

    /// Returns the number of requests so far.
    #[must_use]
    pub fn requests(&self) -> u64 {
        self.state.requests.load(Ordering::SeqCst)
    }

    /// Returns the keys of all objects.
    #[must_use]
    pub fn keys(&self) -> Vec<String> {
        self.state.objects().objects.keys().cloned().collect()
    }
}

impl Drop for FakeBucket {
    fn drop(&mut self) {
        self.server.abort();
    }
}

impl State {
    fn objects(&self) -> MutexGuard<'_, Objects> {
        self.objects.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

type Answer = Response<Full<Bytes>>;

async fn answer(state: Arc<State>, request: Request<Incoming>) -> Result<Answer, Infallible> {
    state.requests.fetch_add(1, Ordering::SeqCst);
    let (parts, body) = request.into_parts();
    let Ok(body) = body.collect().await else {
        return Ok(status(StatusCode::BAD_REQUEST));
    };
    let fault = state.objects().faults.pop_front();
    match fault {
        Some(Fault::Throttled) => return Ok(status(StatusCode::TOO_MANY_REQUESTS)),
        Some(Fault::Forbidden) => return Ok(status(StatusCode::FORBIDDEN)),
        Some(Fault::AnswerLost) | None => {}
    }
    // The first segment is the bucket.
    let path = parts.uri.path().trim_start_matches('/');
    let key = path
        .split_once('/')
        .map(|(_, key)| decoded(key))
        .unwrap_or_default();
    let held = match parts.method {
        Method::PUT | Method::DELETE => state.objects().held.remove(&key),
        _ => None,
    };
    if let Some(held) = held {
        held.arrived.notify_one();
        held.goes_on.notified().await;
    }
    let answer = match (key.as_str(), &parts.method) {
        ("", &Method::GET) => list(&state, parts.uri.query().unwrap_or("")),
        (key, &Method::GET | &Method::HEAD) => read(&state, key, parts.method == Method::HEAD),
        (key, &Method::PUT) => write(&state, key, &parts.headers, body.to_bytes()),
        (key, &Method::DELETE) => match state.objects().objects.remove(key) {
            Some(_) => status(StatusCode::NO_CONTENT),
            None => status(StatusCode::NOT_FOUND),
        },
        _ => status(StatusCode::METHOD_NOT_ALLOWED),
    };
    match fault {
        Some(Fault::AnswerLost) => Ok(status(StatusCode::SERVICE_UNAVAILABLE)),
        _ => Ok(answer),
    }
}

fn status(status: StatusCode) -> Answer {
    let mut answer = Response::new(Full::default());
    *answer.status_mut() = status;
    answer
}

fn read(state: &State, key: &str, is_head: bool) -> Answer {
    let objects = state.objects();
    let Some(entry) = objects.objects.get(key) else {
        return status(StatusCode::NOT_FOUND);
    };
    let body = if is_head {
        Bytes::new()
    } else {
        entry.bytes.clone()
    };
    let mut answer = Response::new(Full::new(body));
    let headers = answer.headers_mut();
    headers.extend(entry.metadata.clone());
    mark(headers, entry.generation);
    headers.insert(header::CONTENT_LENGTH, entry.bytes.len().into());
    if let Ok(modified) = MODIFIED.0.parse() {
        headers.insert(header::LAST_MODIFIED, modified);
    }
    answer
}

fn mark(headers: &mut HeaderMap, generation: u64) {
    headers.insert(GENERATION, generation.into());
    if let Ok(tag) = format!("\"tag-{generation}\"").parse() {
        headers.insert(header::ETAG, tag);
    }
}

fn write(state: &State, key: &str, headers: &HeaderMap, body: Bytes) -> Answer {
    let mut objects = state.objects();
    let present = objects.objects.get(key).map_or(0, |entry| entry.generation);
    let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
    let is_honoured = !objects.ignores_conditions;
    if is_honoured && text(CONDITION).is_some_and(|expected| expected != present.to_string()) {
        return status(StatusCode::PRECONDITION_FAILED);
    }
    let metadata = headers
        .iter()
        .filter(|(name, _)| name.as_str().starts_with(METADATA));
    let mut entry = Entry {
        bytes: body,
        generation: 0,
        metadata: metadata
            .map(|(name, value)| (name.clone(), value.clone()))
            .collect(),
    };
    if let Some(source) = text(COPY_SOURCE) {
        let source = source.trim_start_matches('/').split_once('/');
        let source = source.map(|(_, key)| decoded(key)).unwrap_or_default();
        match objects.objects.get(&source) {
            Some(found) => entry = found.clone(),
            None => return status(StatusCode::NOT_FOUND),
        }
    }
    objects.generation += 1;
    entry.generation = objects.generation;
    let mut answer = status(StatusCode::OK);
    mark(answer.headers_mut(), entry.generation);
    objects.objects.insert(key.to_owned(), entry);
    answer
}

fn list(state: &State, query: &str) -> Answer {
    let parameter = |name: &str| {
        let pairs = query.split('&').filter_map(|pair| pair.split_once('='));
        let found = pairs.into_iter().find(|(found, _)| *found == name);
        found
            .map(|(_, value)| decoded(&value.replace('+', " ")))
            .unwrap_or_default()
    };
    let (prefix, after) = (parameter("prefix"), parameter("continuation-token"));
    let objects = state.objects();
    let mut found = objects
        .objects
        .iter()
        .filter(|(key, _)| key.starts_with(&prefix) && (after.is_empty() || **key > after));
    let page: Vec<_> = found.by_ref().take(PAGE).collect();
    let mut text = String::from("<?xml version='1.0' encoding='UTF-8'?><ListBucketResult>");
    for (key, entry) in &page {
        write!(
            text,
            "<Contents><Key>{key}</Key><Size>{}</Size><LastModified>{}</LastModified><ETag>\"tag-{}\"</ETag></Contents>",
            entry.bytes.len(),
            MODIFIED.1,
            entry.generation
        )
        .unwrap_or_default();
    }
    if let (Some(_), Some((last, _))) = (found.next(), page.last()) {
        write!(text, "<NextContinuationToken>{last}</NextContinuationToken>").unwrap_or_default();
    }
    text.push_str("</ListBucketResult>");
    Response::new(Full::new(text.into()))
}

/// Decodes percent escapes.
fn decoded(text: &str) -> String {
    let mut bytes = text.bytes();
    let mut decoded = Vec::new();
    while let Some(byte) = bytes.next() {
        let digit = |byte: Option<u8>| char::from(byte.unwrap_or(b'0')).to_digit(16).unwrap_or(0);
        decoded.push(match byte {
            b'%' => u8::try_from(digit(bytes.next()) * 16 + digit(bytes.next())).unwrap_or(b'?'),
            byte => byte,
        });
    }
    String::from_utf8_lossy(&decoded).into_owned()
}
