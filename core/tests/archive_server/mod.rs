//! A server of archives on loopback, and the archives of plugins.

use std::{
    fmt::Write as _,
    sync::{Arc, Mutex},
};

use flate2::{Compression, write::GzEncoder};
use sha2::{Digest as _, Sha256};
use tokio::{
    io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader},
    net::{TcpListener, TcpStream},
    sync::Semaphore,
};

/// An answer of the server.
#[derive(Clone)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) body: Vec<u8>,
    /// The declared length of the body, where it is another one.
    pub(crate) declared: Option<usize>,
}

impl Answer {
    pub(crate) fn ok(body: Vec<u8>) -> Self {
        Self {
            status: 200,
            body,
            declared: None,
        }
    }

    pub(crate) fn status(status: u16) -> Self {
        Self {
            status,
            ..Self::ok(Vec::new())
        }
    }
}

/// A server that gives its answers one after the other.
pub(crate) struct ArchiveServer {
    address: String,
    shared: Arc<Shared>,
}

struct Shared {
    answers: Mutex<std::vec::IntoIter<Answer>>,
    asked: Mutex<Vec<String>>,
    /// Has a permit for each request that has arrived.
    arrived: Semaphore,
    /// Bodies are sent once it has a permit.
    gate: Semaphore,
}

impl ArchiveServer {
    /// Starts a server.
    pub(crate) async fn new(answers: Vec<Answer>) -> Self {
        let server = Self::held(answers).await;
        server.release();
        server
    }

    /// Starts a server that sends no body before [`Self::release`].
    pub(crate) async fn held(answers: Vec<Answer>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let shared = Arc::new(Shared {
            answers: Mutex::new(answers.into_iter()),
            asked: Mutex::default(),
            arrived: Semaphore::new(0),
            gate: Semaphore::new(0),
        });
        let serving = Arc::clone(&shared);
        tokio::spawn(async move {
            loop {
                let (stream, _) = listener.accept().await.unwrap();
                tokio::spawn(answer(stream, Arc::clone(&serving)));
            }
        });
        Self { address, shared }
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Returns the paths of the requests.
    pub(crate) fn asked(&self) -> Vec<String> {
        self.shared.asked.lock().unwrap().clone()
    }

    /// Waits for a request that no other call has waited for.
    pub(crate) async fn wait_for_request(&self) {
        self.shared.arrived.acquire().await.unwrap().forget();
    }

    /// Lets all bodies pass.
    pub(crate) fn release(&self) {
        self.shared.gate.add_permits(Semaphore::MAX_PERMITS);
    }
}

async fn answer(stream: TcpStream, shared: Arc<Shared>) {
    let mut stream = BufReader::new(stream);
    let mut request = String::new();
    stream.read_line(&mut request).await.unwrap();
    let mut line = String::new();
    while line != "\r\n" {
        line.clear();
        stream.read_line(&mut line).await.unwrap();
    }
    let path = request.split(' ').nth(1).unwrap().to_owned();
    shared.asked.lock().unwrap().push(path);
    let answer = shared.answers.lock().unwrap().next().expect("a request too many");
    let length = answer.declared.unwrap_or(answer.body.len());
    let head = format!(
        "HTTP/1.1 {} X\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n",
        answer.status
    );
    let mut stream = stream.into_inner();
    stream.write_all(head.as_bytes()).await.unwrap();
    shared.arrived.add_permits(1);
    let _passed = shared.gate.acquire().await.unwrap();
    // The client may have ended.
    if stream.write_all(&answer.body).await.is_ok() {
        stream.shutdown().await.unwrap_or_default();
    }
}

/// Packs executables with their texts.
pub(crate) fn archive(files: &[(&str, &str)]) -> Vec<u8> {
    let mut archive = tar::Builder::new(GzEncoder::new(Vec::new(), Compression::fast()));
    for (name, text) in files {
        let mut header = tar::Header::new_gnu();
        // Names that lead out of an archive included.
        let field = &mut header.as_old_mut().name;
        field[..name.len()].copy_from_slice(name.as_bytes());
        header.set_mode(0o755);
        header.set_size(text.len() as u64);
        header.set_cksum();
        archive.append(&header, text.as_bytes()).unwrap();
    }
    archive.into_inner().unwrap().finish().unwrap()
}

/// Returns the SHA-256 checksum in hexadecimal digits.
pub(crate) fn sha256(bytes: &[u8]) -> String {
    Sha256::digest(bytes)
        .iter()
        .fold(String::new(), |mut text, byte| {
            write!(text, "{byte:02x}").unwrap();
            text
        })
}
