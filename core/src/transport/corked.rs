//! A socket that sends what is written in one turn of its task in one write.

use std::{
    io::{Error as IoError, ErrorKind as IoErrorKind, IoSlice, Result as IoResult},
    pin::Pin,
    task::{Context, Poll, ready},
};

use bytes::{Buf as _, BytesMut};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use super::single_task::Turns;

/// The number of bytes that are held; more are written at once.
const HELD_LIMIT: usize = 16 * 1024;

/// A socket whose written bytes are held until they are flushed, which waits for the end of the turn.
pub(super) struct Corked<S> {
    socket: S,
    held: BytesMut,
    turns: Turns,
}

impl<S: AsyncWrite + Unpin> Corked<S> {
    pub(super) fn new(socket: S, turns: Turns) -> Self {
        Self {
            socket,
            held: BytesMut::new(),
            turns,
        }
    }

    /// Writes what is held.
    fn poll_drain(&mut self, context: &mut Context<'_>) -> Poll<IoResult<()>> {
        while !self.held.is_empty() {
            let count = ready!(Pin::new(&mut self.socket).poll_write(context, &self.held))?;
            if count == 0 {
                return Poll::Ready(Err(IoError::from(IoErrorKind::WriteZero)));
            }
            self.held.advance(count);
        }
        Poll::Ready(Ok(()))
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Corked<S> {
    fn poll_write(self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<IoResult<usize>> {
        self.poll_write_vectored(context, &[IoSlice::new(bytes)])
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<IoResult<usize>> {
        let size = slices.iter().map(|slice| slice.len()).sum::<usize>();
        if self.held.len() + size <= HELD_LIMIT {
            for slice in slices {
                self.held.extend_from_slice(slice);
            }
            return Poll::Ready(Ok(size));
        }
        loop {
            let Self { socket, held, .. } = &mut *self;
            let held_size = held.len();
            let all: Vec<IoSlice<'_>> = [IoSlice::new(held)]
                .into_iter()
                .chain(slices.iter().copied())
                .filter(|slice| !slice.is_empty())
                .collect();
            let count = ready!(Pin::new(socket).poll_write_vectored(context, &all))?;
            held.advance(count.min(held_size));
            if count == 0 || count > held_size {
                return Poll::Ready(Ok(count.saturating_sub(held_size)));
            }
        }
    }

    fn is_write_vectored(&self) -> bool {
        self.socket.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<IoResult<()>> {
        if !self.held.is_empty() {
            ready!(self.turns.poll_end(context));
            ready!(self.poll_drain(context))?;
        }
        Pin::new(&mut self.socket).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<IoResult<()>> {
        ready!(self.poll_drain(context))?;
        Pin::new(&mut self.socket).poll_shutdown(context)
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Corked<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<IoResult<()>> {
        Pin::new(&mut self.socket).poll_read(context, buffer)
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::AsyncWriteExt as _;

    use super::*;

    /// Records each write; takes at most `limit` bytes at a time.
    struct Sink {
        writes: Vec<usize>,
        bytes: Vec<u8>,
        limit: usize,
    }

    impl AsyncWrite for Sink {
        fn poll_write(
            self: Pin<&mut Self>,
            context: &mut Context<'_>,
            bytes: &[u8],
        ) -> Poll<IoResult<usize>> {
            self.poll_write_vectored(context, &[IoSlice::new(bytes)])
        }

        fn poll_write_vectored(
            mut self: Pin<&mut Self>,
            _: &mut Context<'_>,
            slices: &[IoSlice<'_>],
        ) -> Poll<IoResult<usize>> {
            let mut count = 0;
            for slice in slices {
                let taken = slice.len().min(self.limit - count);
                self.bytes.extend_from_slice(&slice[..taken]);
                count += taken;
            }
            self.writes.push(count);
            Poll::Ready(Ok(count))
        }

        fn is_write_vectored(&self) -> bool {
            true
        }

        fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<IoResult<()>> {
            Poll::Ready(Ok(()))
        }

        fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<IoResult<()>> {
            Poll::Ready(Ok(()))
        }
    }

    fn corked(limit: usize) -> Corked<Sink> {
        let sink = Sink {
            writes: Vec::new(),
            bytes: Vec::new(),
            limit,
        };
        Corked::new(sink, Turns::default())
    }

    #[tokio::test]
    async fn small_writes_go_out_as_one_when_they_are_flushed() {
        let mut socket = corked(usize::MAX);
        for part in [&b"head"[..], b"message", b"end"] {
            socket.write_all(part).await.unwrap();
        }
        assert!(socket.socket.writes.is_empty());
        socket.flush().await.unwrap();
        assert_eq!(socket.socket.writes, [14]);
        assert_eq!(socket.socket.bytes, b"headmessageend");
    }

    #[tokio::test]
    async fn all_bytes_arrive_in_their_order_however_the_socket_cuts_them() {
        let large: Vec<u8> = (0..=u8::MAX).cycle().take(3 * HELD_LIMIT).collect();
        for limit in [1, 2, 7, HELD_LIMIT, usize::MAX] {
            let mut socket = corked(limit);
            let mut expected = Vec::new();
            for part in [&b"head"[..], &large, b"end", &large, b"last"] {
                socket.write_all(part).await.unwrap();
                expected.extend_from_slice(part);
            }
            socket.flush().await.unwrap();
            assert!(socket.socket.bytes == expected, "{limit}");
        }
    }

    #[tokio::test]
    async fn a_large_write_goes_out_with_what_is_held() {
        let mut socket = corked(usize::MAX);
        socket.write_all(b"head").await.unwrap();
        socket.write_all(&vec![0; HELD_LIMIT]).await.unwrap();
        assert_eq!(socket.socket.writes, [HELD_LIMIT + 4]);
    }

    #[tokio::test]
    async fn a_socket_that_takes_nothing_is_an_error_and_a_shutdown_writes_what_is_held() {
        let mut socket = corked(0);
        socket.write_all(b"head").await.unwrap();
        assert_eq!(socket.flush().await.unwrap_err().kind(), IoErrorKind::WriteZero);
        let mut socket = corked(usize::MAX);
        socket.write_all(b"head").await.unwrap();
        socket.shutdown().await.unwrap();
        assert_eq!(socket.socket.bytes, b"head");
    }
}
