//! One connection, queried by its two addresses: the `NETLINK_SOCK_DIAG` protocol.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use rustix::{
    io::{Errno, Result},
    net::{
        AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, connect,
        netlink::{self, SocketAddrNetlink},
        recvfrom, send, socket_with,
    },
};

use super::canonical;

/// `SOCK_DIAG_BY_FAMILY`: the type of the request and of its answer.
const BY_FAMILY: u16 = 20;
/// `NLM_F_REQUEST`.
const REQUEST: u16 = 1;
/// `IPPROTO_TCP`.
const TCP: u8 = 6;
/// `TCP_ESTABLISHED`.
const ESTABLISHED: u8 = 1;
/// `INET_DIAG_NOCOOKIE`: the socket is not known from an earlier answer.
const NO_COOKIE: u32 = u32::MAX;
/// The length of a message's header (`nlmsghdr`).
const HEADER: usize = 16;
/// The length of a request (`nlmsghdr` and `inet_diag_req_v2`).
const REQUEST_LENGTH: u32 = 72;
/// The number that an answer repeats.
const SEQUENCE: u32 = 1;
/// Size of the answer's buffer, in bytes: longer than an answer without attributes, which are truncated.
const MAX_ANSWER_LENGTH: usize = 1024;

const V4: u8 = 2;
const V6: u8 = 10;

/// A socket as the kernel describes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Socket {
    own: SocketAddr,
    other: SocketAddr,
    state: u8,
    user: u32,
    inode: u32,
}

impl Socket {
    /// Returns the user whose process holds an established connection.
    pub(super) fn holder(&self) -> Option<u32> {
        (self.state == ESTABLISHED && self.inode != 0).then_some(self.user)
    }
}

/// Finds the socket at `own` that is connected to `other`; `None` when there is none, or the kernel does not answer.
pub(super) fn find(own: SocketAddr, other: SocketAddr) -> Option<Socket> {
    let (own, other) = (canonical(own), canonical(other));
    let answer = ask(&request(own, other)).ok()?;
    // For an absent connection, the kernel describes the listening socket of the address.
    decode(&answer).filter(|socket| (socket.own, socket.other) == (own, other))
}

/// Sends a request to the kernel, which answers at once.
fn ask(request: &[u8]) -> Result<Vec<u8>> {
    let kernel = SocketAddrNetlink::new(0, 0);
    let socket = socket_with(
        AddressFamily::NETLINK,
        SocketType::DGRAM,
        SocketFlags::CLOEXEC,
        Some(netlink::SOCK_DIAG),
    )?;
    connect(&socket, &kernel)?;
    send(&socket, request, SendFlags::empty())?;
    let mut answer = vec![0; MAX_ANSWER_LENGTH];
    let (_, length, sender) = recvfrom(&socket, &mut answer[..], RecvFlags::DONTWAIT)?;
    let sender = sender.and_then(|sender| SocketAddrNetlink::try_from(sender).ok());
    if sender != Some(kernel) {
        return Err(Errno::PROTO);
    }
    answer.truncate(length);
    Ok(answer)
}

fn request(own: SocketAddr, other: SocketAddr) -> Vec<u8> {
    let family = if own.is_ipv4() { V4 } else { V6 };
    let mut bytes = Vec::with_capacity(72);
    bytes.extend(REQUEST_LENGTH.to_ne_bytes());
    bytes.extend(BY_FAMILY.to_ne_bytes());
    bytes.extend(REQUEST.to_ne_bytes());
    bytes.extend(SEQUENCE.to_ne_bytes());
    bytes.extend([0; 4]);
    // The family, the protocol, no attributes, padding, and the states, which only lists regard.
    bytes.extend([family, TCP, 0, 0]);
    bytes.extend((1_u32 << ESTABLISHED).to_ne_bytes());
    bytes.extend(own.port().to_be_bytes());
    bytes.extend(other.port().to_be_bytes());
    bytes.extend(octets(own.ip()));
    bytes.extend(octets(other.ip()));
    // Any interface.
    bytes.extend([0; 4]);
    bytes.extend(NO_COOKIE.to_ne_bytes());
    bytes.extend(NO_COOKIE.to_ne_bytes());
    bytes
}

fn octets(ip: IpAddr) -> [u8; 16] {
    let mut octets = [0; 16];
    match ip {
        IpAddr::V4(ip) => octets[..4].copy_from_slice(&ip.octets()),
        IpAddr::V6(ip) => octets = ip.octets(),
    }
    octets
}

/// Reads an answer; `None` when it is an error or no description of a socket.
fn decode(answer: &[u8]) -> Option<Socket> {
    let word = |place: usize| Some(u32::from_ne_bytes(array(answer, place)?));
    let port = |place: usize| Some(u16::from_be_bytes(array(answer, place)?));
    let kind = u16::from_ne_bytes(array(answer, 4)?);
    if kind != BY_FAMILY || word(8)? != SEQUENCE {
        return None;
    }
    let family = *answer.get(HEADER)?;
    let address = |ip: usize, port: u16| {
        let ip: IpAddr = match family {
            V4 => Ipv4Addr::from(array::<4>(answer, ip)?).into(),
            V6 => Ipv6Addr::from(array::<16>(answer, ip)?).into(),
            _ => return None,
        };
        Some(canonical(SocketAddr::new(ip, port)))
    };
    // Behind the family, the state, the timer and its count come the ports, the addresses, the interface and the
    // cookie; behind these the timer's end and the two queues.
    Some(Socket {
        own: address(HEADER + 8, port(HEADER + 4)?)?,
        other: address(HEADER + 24, port(HEADER + 6)?)?,
        state: *answer.get(HEADER + 1)?,
        user: word(HEADER + 64)?,
        inode: word(HEADER + 68)?,
    })
}

fn array<const LENGTH: usize>(bytes: &[u8], place: usize) -> Option<[u8; LENGTH]> {
    bytes.get(place..)?.first_chunk().copied()
}

#[cfg(test)]
mod tests {
    use std::net::{TcpListener, TcpStream};

    use super::*;
    use crate::runtime::peers::table;

    /// Returns a description of an established connection that user 1000 holds.
    fn established() -> Vec<u8> {
        let (own, other) = ("127.0.0.1:4711".parse().unwrap(), "127.0.0.1:99".parse().unwrap());
        let mut answer = request(own, other);
        // The answer begins as the request, where the states stood is nothing, and the cookie is a real one.
        answer[HEADER + 1] = ESTABLISHED;
        answer.drain(HEADER + 4..HEADER + 8);
        for word in [0_u32, 0, 0, 1000, 77] {
            answer.extend(word.to_ne_bytes());
        }
        answer
    }

    #[test]
    fn only_an_established_socket_of_a_process_has_a_holder() {
        let socket = decode(&established()).unwrap();
        assert_eq!(socket.own, "127.0.0.1:4711".parse().unwrap());
        assert_eq!(socket.other, "127.0.0.1:99".parse().unwrap());
        assert_eq!(socket.holder(), Some(1000));
        let unheld = Socket { inode: 0, ..socket };
        assert_eq!(unheld.holder(), None, "accepted by no process");
        let closing = Socket { state: 6, ..socket };
        assert_eq!(closing.holder(), None, "not established");
    }

    #[test]
    fn answers_that_are_cut_off_or_describe_no_socket_are_none() {
        let answer = established();
        for length in 0..answer.len() {
            assert_eq!(decode(&answer[..length]), None, "{length} bytes");
        }
        for (place, byte) in [(4, 2), (8, 9), (HEADER, 1)] {
            let mut other = answer.clone();
            other[place] = byte;
            assert_eq!(decode(&other), None, "byte {place} is {byte}");
        }
    }

    /// Returns whether the kernel answers such requests at all.
    fn is_answered() -> bool {
        let address = "127.0.0.1:1".parse().unwrap();
        ask(&request(address, address)).is_ok()
    }

    #[test]
    fn the_answer_is_that_of_the_table_for_both_ends_and_families() {
        for host in ["127.0.0.1:0", "[::1]:0", "[::]:0"] {
            let Ok(listener) = TcpListener::bind(host) else {
                continue;
            };
            let mut address = listener.local_addr().unwrap();
            if address.ip().is_unspecified() {
                // The server's socket is then one of IPv6 with a mapped address.
                address.set_ip(Ipv4Addr::LOCALHOST.into());
            }
            if !is_answered() {
                return;
            }
            let client = TcpStream::connect(address).unwrap();
            let (own, other) = (client.local_addr().unwrap(), client.peer_addr().unwrap());
            let waiting = find(other, own).unwrap();
            assert_eq!(waiting.holder(), None, "{host}: not accepted yet");
            let (server, _) = listener.accept().unwrap();
            for stream in [&client, &server] {
                let (own, other) = (stream.local_addr().unwrap(), stream.peer_addr().unwrap());
                let holder = find(own, other).unwrap().holder();
                assert_eq!(holder, Some(rustix::process::geteuid().as_raw()), "{host}");
                assert_eq!(holder, table::user_of(own, other).unwrap(), "{host}");
            }
            let stranger = SocketAddr::new(own.ip(), 1);
            assert_eq!(
                find(other, stranger),
                None,
                "{host}: the listener is no connection"
            );
        }
    }
}
