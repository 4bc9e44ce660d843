//! The actor of the Rust binding: an engine that executes the director's requests and forwards provider calls to it.

mod encryption;
mod hook;
mod inspect;
mod log;
mod policies;
mod projects;
mod run;
mod session;
mod transform;
mod wire;

use std::sync::Arc;

use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncRead, AsyncWrite, AsyncWriteExt as _, BufReader};

pub use log::log_to_stderr;
use session::Session;
use wire::Wire;

/// Serves the protocol of `scenarios/PROTOCOL.md` until the director sends `bye` or closes its end.
///
/// # Errors
/// A text when the director violates the protocol.
pub async fn serve(
    reader: impl AsyncRead + Send + Unpin + 'static,
    mut writer: impl AsyncWrite + Send + Unpin + 'static,
) -> Result<(), String> {
    let (wire, mut outgoing) = Wire::new();
    let write = tokio::spawn(async move {
        while let Some(mut line) = outgoing.recv().await {
            line.push('\n');
            if writer.write_all(line.as_bytes()).await.is_err() || writer.flush().await.is_err() {
                break;
            }
        }
    });
    let session = Arc::new(Session::new(Arc::clone(&wire)));
    let mut lines = BufReader::new(reader).lines();
    while let Some(line) = lines.next_line().await.map_err(|error| error.to_string())? {
        let message: Value = serde_json::from_str(&line).map_err(|error| format!("{line:?}: {error}"))?;
        if let Some(call) = message["call"].as_u64() {
            wire.answered(call, &message);
            continue;
        }
        let (Some(id), Some(verb)) = (message["id"].as_u64(), message["do"].as_str()) else {
            return Err(format!("{line:?} is neither a request nor an answer"));
        };
        if verb == "bye" {
            wire.send(&json!({ "id": id, "ok": {} }));
            break;
        }
        session.take(id, verb, &message);
    }
    drop(session);
    wire.close();
    // The writer ends after the last line. An error means that the director closed its end, which is not a failure.
    drop(write.await);
    Ok(())
}
