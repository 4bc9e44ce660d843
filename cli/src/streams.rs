//! The standard streams of the process.

use std::{
    io::{self, BufRead as _, Read as _, Write as _},
    sync::{Arc, Mutex, PoisonError},
    thread,
    time::Duration,
};

use stackwright_command::Output;

/// How long a writer waits for a stream that takes nothing at the moment.
const RETRY_INTERVAL: Duration = Duration::from_millis(2);

/// Where one of the streams is written to; `None` when its reader has gone, so that the rest is dropped.
#[derive(Clone)]
pub(crate) struct Stream(Arc<Mutex<Option<Box<dyn io::Write + Send>>>>);

impl Stream {
    /// Returns the standard output.
    pub(crate) fn stdout() -> Self {
        Self::new(io::stdout())
    }

    /// Returns the standard error.
    pub(crate) fn stderr() -> Self {
        Self::new(io::stderr())
    }

    fn new(stream: impl io::Write + Send + 'static) -> Self {
        Self(Arc::new(Mutex::new(Some(Box::new(stream)))))
    }

    /// Writes a text, all of it before it returns.
    pub(crate) fn write(&self, text: &str) {
        let mut stream = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(open) = &mut *stream
            && write_all(&mut **open, text.as_bytes()).is_err()
        {
            *stream = None;
        }
    }

    /// Returns the stream as an output of the command.
    pub(crate) fn output(&self) -> Output {
        let stream = self.clone();
        Arc::new(move |text| stream.write(text))
    }
}

/// Writes bytes, also to a stream that another process has made non-blocking.
fn write_all(stream: &mut dyn io::Write, mut bytes: &[u8]) -> io::Result<()> {
    loop {
        let written = match bytes.is_empty() {
            true => stream.flush().map(|()| None),
            false => stream.write(bytes).map(Some),
        };
        match written {
            Ok(None) => return Ok(()),
            Ok(Some(0)) => return Err(io::ErrorKind::WriteZero.into()),
            Ok(Some(length)) => bytes = &bytes[length..],
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => thread::sleep(RETRY_INTERVAL),
            Err(error) => return Err(error),
        }
    }
}

/// Reads the standard input to its end.
pub(crate) fn read_all() -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    io::stdin().lock().read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Shows a question and reads a line; `None` at the end of the input.
pub(crate) fn ask(question: &str) -> io::Result<Option<String>> {
    let mut stdout = io::stdout();
    write_all(&mut stdout, question.as_bytes())?;
    let mut line = String::new();
    if io::stdin().lock().read_line(&mut line)? == 0 {
        // The cursor is behind the question.
        stdout.write_all(b"\n")?;
        return Ok(None);
    }
    Ok(Some(line))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Takes a few bytes, refuses the next call, and after a number of bytes is gone.
    struct Slow {
        taken: Arc<Mutex<Vec<u8>>>,
        refuses: bool,
        limit: usize,
    }

    impl io::Write for Slow {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.refuses = !self.refuses;
            if self.refuses {
                return Err(io::ErrorKind::WouldBlock.into());
            }
            let mut taken = self.taken.lock().unwrap();
            if taken.len() >= self.limit {
                return Err(io::ErrorKind::BrokenPipe.into());
            }
            let length = bytes.len().min(3);
            taken.extend(&bytes[..length]);
            Ok(length)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    fn written(limit: usize, texts: &[&str]) -> String {
        let taken: Arc<Mutex<Vec<u8>>> = Arc::default();
        let stream = Stream::new(Slow {
            taken: Arc::clone(&taken),
            refuses: false,
            limit,
        });
        for text in texts {
            stream.write(text);
        }
        let taken = taken.lock().unwrap();
        String::from_utf8(taken.clone()).unwrap()
    }

    #[test]
    fn a_stream_that_takes_little_gets_all() {
        assert_eq!(written(usize::MAX, &["hello ", "world\n"]), "hello world\n");
    }

    #[test]
    fn a_reader_that_has_gone_ends_the_output_only() {
        assert_eq!(written(3, &["hello ", "world\n"]), "hel");
    }
}
