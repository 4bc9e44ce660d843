//! A proxy in front of a server, whose connections can be cut, as when the process of the server dies.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use tokio::{
    io::copy_bidirectional,
    net::{TcpListener, TcpStream},
    sync::watch,
};

/// Forwards connections on loopback until they are cut.
#[derive(Debug)]
pub struct FakeProxy {
    /// Where it listens.
    pub address: String,
    cut: watch::Sender<bool>,
    connections: Arc<AtomicUsize>,
}

impl FakeProxy {
    /// Forwards to the server at `target` until it is dropped.
    ///
    /// # Panics
    /// When no port can be bound.
    pub async fn before(target: &str) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let (target, cut) = (target.to_owned(), watch::Sender::new(false));
        let mut is_cut = cut.subscribe();
        let connections = Arc::<AtomicUsize>::default();
        let counted = Arc::clone(&connections);
        tokio::spawn(async move {
            let refuses = watch::Sender::new(false);
            loop {
                tokio::select! {
                    accepted = listener.accept() => {
                        let (near, _) = accepted.unwrap();
                        counted.fetch_add(1, Ordering::SeqCst);
                        tokio::spawn(forward(near, target.clone(), refuses.subscribe()));
                    }
                    _ = is_cut.wait_for(|cut| *cut) => break,
                }
            }
            // A client that connects again is refused, so the connections are closed afterwards.
            drop(listener);
            refuses.send_replace(true);
        });
        Self {
            address,
            cut,
            connections,
        }
    }

    /// Returns how many connections there have been.
    #[must_use]
    pub fn connections(&self) -> usize {
        self.connections.load(Ordering::SeqCst)
    }

    /// Refuses further connections, and closes all that there are.
    pub fn cut(&self) {
        self.cut.send_replace(true);
    }
}

async fn forward(mut near: TcpStream, target: String, mut refuses: watch::Receiver<bool>) {
    let mut far = TcpStream::connect(target).await.unwrap();
    tokio::select! {
        // The end of either side ends both.
        _ = copy_bidirectional(&mut near, &mut far) => {}
        _ = refuses.wait_for(|refuses| *refuses) => {}
    }
}
