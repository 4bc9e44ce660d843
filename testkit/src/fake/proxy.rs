//! A proxy in front of a server, whose connections can be cut, as when the process of the server dies.

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
}

impl FakeProxy {
    /// Forwards to the server at `target` until the runtime of the test ends.
    ///
    /// # Panics
    /// When no port can be bound.
    pub async fn before(target: &str) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let (target, cut) = (target.to_owned(), watch::Sender::new(false));
        let is_cut = cut.subscribe();
        tokio::spawn(async move {
            let mut ended = is_cut.clone();
            loop {
                tokio::select! {
                    accepted = listener.accept() => {
                        let (near, _) = accepted.unwrap();
                        tokio::spawn(forward(near, target.clone(), is_cut.clone()));
                    }
                    _ = ended.wait_for(|cut| *cut) => return,
                }
            }
        });
        Self { address, cut }
    }

    /// Closes all connections, and refuses further ones.
    pub fn cut(&self) {
        self.cut.send_replace(true);
    }
}

async fn forward(mut near: TcpStream, target: String, mut is_cut: watch::Receiver<bool>) {
    let mut far = TcpStream::connect(target).await.unwrap();
    tokio::select! {
        // The end of either side ends both.
        _ = copy_bidirectional(&mut near, &mut far) => {}
        _ = is_cut.wait_for(|cut| *cut) => {}
    }
}
