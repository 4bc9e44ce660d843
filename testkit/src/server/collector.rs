//! A collector of OpenTelemetry: it takes OTLP over HTTP, and reads the messages with a decoder of its own.

use std::{
    collections::BTreeMap,
    convert::Infallible,
    sync::{Arc, Mutex, PoisonError},
};

use bytes::Bytes;
use http_body_util::{BodyExt as _, Full};
use hyper::{Request, Response, StatusCode, body::Incoming, server::conn::http1, service::service_fn};
use hyper_util::rt::TokioIo;
use tokio::{net::TcpListener, task::JoinHandle};

use crate::wait::until;

/// A span that was exported.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ExportedSpan {
    /// The id of its trace, in hexadecimal digits.
    pub trace: String,
    /// Its id.
    pub id: String,
    /// The id of the span that it is within; empty for a first one.
    pub parent: String,
    /// Its name.
    pub name: String,
    /// Its attributes as texts.
    pub attributes: BTreeMap<String, String>,
    /// The attributes of the program.
    pub resource: BTreeMap<String, String>,
    /// Whether it has failed.
    pub has_failed: bool,
    /// The time between its begin and its end, in nanoseconds.
    pub nanoseconds: u64,
}

#[derive(Debug, Default)]
struct Received {
    bodies: Vec<Bytes>,
    headers: Vec<BTreeMap<String, String>>,
    /// The answers to the next requests; all later ones succeed.
    answers: Vec<u16>,
}

/// A running collector; it ends when it is dropped.
#[derive(Debug)]
pub struct Collector {
    address: String,
    received: Arc<Mutex<Received>>,
    serving: JoinHandle<()>,
}

impl Drop for Collector {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

impl Collector {
    /// Starts a collector.
    ///
    /// # Panics
    /// When no port can be bound.
    pub async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let received = Arc::new(Mutex::new(Received::default()));
        let shared = Arc::clone(&received);
        let serving = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let received = Arc::clone(&shared);
                let service = service_fn(move |request| answer(Arc::clone(&received), request));
                tokio::spawn(http1::Builder::new().serve_connection(TokioIo::new(stream), service));
            }
        });
        Self {
            address,
            received,
            serving,
        }
    }

    /// Returns its URL.
    #[must_use]
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Answers the next requests with these statuses.
    pub fn answer_with(&self, statuses: &[u16]) {
        self.lock().answers = statuses.to_vec();
    }

    /// Returns the bodies of the requests that it has accepted.
    #[must_use]
    pub fn bodies(&self) -> Vec<Bytes> {
        self.lock().bodies.clone()
    }

    /// Returns the headers of the requests that it has accepted.
    #[must_use]
    pub fn headers(&self) -> Vec<BTreeMap<String, String>> {
        self.lock().headers.clone()
    }

    /// Returns the spans that it has received.
    ///
    /// # Panics
    /// When a message is malformed.
    #[must_use]
    pub fn spans(&self) -> Vec<ExportedSpan> {
        self.bodies().iter().flat_map(|body| spans_of(body)).collect()
    }

    /// Waits until it has received a span with a name that begins with `name`.
    ///
    /// # Panics
    /// When that takes too long.
    pub async fn until(&self, name: &str) -> Vec<ExportedSpan> {
        until("a span at the collector", || {
            self.spans().iter().any(|span| span.name.starts_with(name))
        })
        .await;
        self.spans()
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Received> {
        self.received.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

async fn answer(
    received: Arc<Mutex<Received>>,
    request: Request<Incoming>,
) -> Result<Response<Full<Bytes>>, Infallible> {
    let is_export = request.method() == "POST" && request.uri().path() == "/v1/traces";
    let headers = request.headers().iter().map(|(name, value)| {
        let value = value.to_str().unwrap_or_default().to_owned();
        (name.as_str().to_owned(), value)
    });
    let headers = headers.collect();
    let body = request.into_body().collect().await.map(|body| body.to_bytes());
    let mut received = received.lock().unwrap_or_else(PoisonError::into_inner);
    let status = match body {
        _ if !is_export => 404,
        _ if !received.answers.is_empty() => received.answers.remove(0),
        Ok(body) => {
            received.bodies.push(body);
            received.headers.push(headers);
            200
        }
        Err(_) => 400,
    };
    let mut response = Response::new(Full::default());
    *response.status_mut() = StatusCode::from_u16(status).unwrap_or_default();
    Ok(response)
}

/// A field of a message: its number, and its bytes or its number.
struct Field<'a> {
    tag: u64,
    bytes: &'a [u8],
    number: u64,
}

/// Reads the fields of a message of the protocol buffers.
///
/// # Panics
/// When it is malformed.
#[expect(clippy::panic, reason = "a test fails by panicking")]
fn fields(mut message: &[u8]) -> Vec<Field<'_>> {
    let mut found = Vec::new();
    while !message.is_empty() {
        let key = varint(&mut message);
        let mut field = Field {
            tag: key >> 3,
            bytes: &[],
            number: 0,
        };
        match key & 7 {
            0 => field.number = varint(&mut message),
            1 => {
                let (number, rest) = message.split_at(8);
                field.number = u64::from_le_bytes(number.try_into().unwrap());
                message = rest;
            }
            2 => {
                let length = usize::try_from(varint(&mut message)).unwrap();
                (field.bytes, message) = message.split_at(length);
            }
            other => panic!("a field of the unexpected type {other}"),
        }
        found.push(field);
    }
    found
}

fn varint(message: &mut &[u8]) -> u64 {
    let mut number = 0;
    for place in 0.. {
        let (byte, rest) = message.split_first().unwrap();
        *message = rest;
        number |= u64::from(byte & 0x7f) << (7 * place);
        if byte & 0x80 == 0 {
            break;
        }
    }
    number
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[expect(clippy::panic, reason = "a test fails by panicking")]
fn attribute(message: &[u8]) -> (String, String) {
    let mut found = (String::new(), String::new());
    for field in fields(message) {
        match field.tag {
            1 => found.0 = text(field.bytes),
            2 => {
                for value in fields(field.bytes) {
                    found.1 = match value.tag {
                        1 => text(value.bytes),
                        2 => (value.number == 1).to_string(),
                        other => panic!("a value of the unexpected kind {other}"),
                    };
                }
            }
            _ => {}
        }
    }
    found
}

fn spans_of(request: &[u8]) -> Vec<ExportedSpan> {
    let mut spans = Vec::new();
    for of_resource in fields(request).iter().filter(|field| field.tag == 1) {
        let parts = fields(of_resource.bytes);
        let resource = parts.iter().filter(|part| part.tag == 1);
        let resource: BTreeMap<_, _> = resource
            .flat_map(|resource| fields(resource.bytes))
            .map(|field| attribute(field.bytes))
            .collect();
        for of_library in parts.iter().filter(|part| part.tag == 2) {
            let read = fields(of_library.bytes);
            let read = read.iter().filter(|field| field.tag == 2);
            spans.extend(read.map(|field| span_of(field.bytes, &resource)));
        }
    }
    spans
}

fn span_of(message: &[u8], resource: &BTreeMap<String, String>) -> ExportedSpan {
    let mut span = ExportedSpan {
        resource: resource.clone(),
        ..ExportedSpan::default()
    };
    let mut began = 0;
    for field in fields(message) {
        match field.tag {
            1 => span.trace = hex(field.bytes),
            2 => span.id = hex(field.bytes),
            4 => span.parent = hex(field.bytes),
            5 => span.name = text(field.bytes),
            7 => began = field.number,
            8 => span.nanoseconds = field.number - began,
            9 => span.attributes.extend([attribute(field.bytes)]),
            15 => {
                span.has_failed = fields(field.bytes)
                    .iter()
                    .any(|part| part.tag == 3 && part.number == 2);
            }
            _ => {}
        }
    }
    span
}
