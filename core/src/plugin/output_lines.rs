//! The lines that a process writes, limited in length.

use tokio::io::{AsyncBufRead, AsyncBufReadExt as _, AsyncReadExt as _};

/// The maximum number of bytes of a line that are shown. The rest is dropped: a secret that is split between two
/// diagnostics would be redacted in neither.
pub(super) const LINE_LIMIT: u64 = 64 * 1024;

/// Reads the lines of a stream.
#[derive(Debug)]
pub struct OutputLines<R> {
    reader: R,
    line: Vec<u8>,
}

impl<R: AsyncBufRead + Unpin> OutputLines<R> {
    /// Creates a reader of lines.
    pub const fn new(reader: R) -> Self {
        Self {
            reader,
            line: Vec::new(),
        }
    }

    /// Returns the next line without its end; `None` at the end of the stream, and where it cannot be read. A line of more than
    /// 64 KiB is cut after its last whole word within these, with the number of bytes that are left out.
    ///
    /// # Cancel safety
    /// A dropped future loses the part of the line that was read.
    pub async fn next_line(&mut self) -> Option<String> {
        self.line.clear();
        let mut limited = (&mut self.reader).take(LINE_LIMIT);
        let read = limited.read_until(b'\n', &mut self.line).await;
        if !read.is_ok_and(|length| length > 0) {
            return None;
        }
        let left_out = match self.line.ends_with(b"\n") {
            true => 0,
            false => self.skip().await,
        };
        let text = String::from_utf8_lossy(&self.line);
        let text = text.trim_end_matches(['\n', '\r']);
        Some(match left_out {
            0 => text.to_owned(),
            left_out => shortened(text, left_out),
        })
    }

    /// Reads to the end of the line, and returns the number of bytes before it.
    async fn skip(&mut self) -> usize {
        let mut skipped = 0;
        loop {
            let Ok(read) = self.reader.fill_buf().await else {
                return skipped;
            };
            let end = read.iter().position(|byte| *byte == b'\n');
            let length = end.unwrap_or(read.len());
            let is_last = end.is_some() || read.is_empty();
            skipped += length;
            self.reader.consume(length + usize::from(end.is_some()));
            if is_last {
                return skipped;
            }
        }
    }
}

/// Cuts a truncated text after its last whole word: the beginning of a secret would not be redacted.
fn shortened(text: &str, left_out: usize) -> String {
    let whole = text.rfind(char::is_whitespace).map_or("", |end| &text[..end]);
    let left_out = left_out + text.len() - whole.len();
    format!("{whole}… ({left_out} bytes of this line are left out)")
}
