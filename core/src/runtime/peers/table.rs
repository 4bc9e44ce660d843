//! The kernel's tables of all connections: `/proc/net/tcp` and `/proc/net/tcp6`.

use std::{
    fmt::Write as _,
    fs,
    io::{ErrorKind as IoErrorKind, Result as IoResult},
    net::{IpAddr, SocketAddr},
};

use super::canonical;

/// The state of an open connection.
const ESTABLISHED: &str = "01";

/// Returns the user whose process holds the socket at `own`, connected to `other`.
pub(super) fn user_of(own: SocketAddr, other: SocketAddr) -> IoResult<Option<u32>> {
    let (own_v4, other_v4) = (canonical(own), canonical(other));
    let mut found = None;
    if own_v4.is_ipv4() {
        found = find(&fs::read_to_string("/proc/net/tcp")?, own_v4, other_v4);
    }
    if found.is_none() {
        // Without IPv6 there is no such table.
        let table = match fs::read_to_string("/proc/net/tcp6") {
            Err(error) if error.kind() == IoErrorKind::NotFound => String::new(),
            table => table?,
        };
        found = find(&table, mapped(own), mapped(other));
    }
    Ok(found)
}

/// Returns an IPv4 address as sockets of IPv6 have it.
fn mapped(address: SocketAddr) -> SocketAddr {
    let ip = match address.ip() {
        IpAddr::V4(ip) => ip.to_ipv6_mapped().into(),
        ip @ IpAddr::V6(_) => ip,
    };
    SocketAddr::new(ip, address.port())
}

/// Finds the user of an established connection that a process holds in a table of the kernel.
fn find(table: &str, own: SocketAddr, other: SocketAddr) -> Option<u32> {
    let (own, other) = (as_in_table(own), as_in_table(other));
    table.lines().find_map(|line| {
        let mut columns = line.split_ascii_whitespace().skip(1);
        if columns.next()? != own || columns.next()? != other || columns.next()? != ESTABLISHED {
            return None;
        }
        // Queues, timer and retransmissions are skipped; the timeout lies between user and inode.
        let user = columns.nth(3)?.parse().ok()?;
        let inode = columns.nth(1)?;
        (inode != "0").then_some(user)
    })
}

/// Returns an address as the kernel's tables have it: words in the machine's own byte order, in hexadecimal digits.
fn as_in_table(address: SocketAddr) -> String {
    let mut text = String::with_capacity(37);
    let octets = match address.ip() {
        IpAddr::V4(ip) => ip.octets().to_vec(),
        IpAddr::V6(ip) => ip.octets().to_vec(),
    };
    let (words, _) = octets.as_chunks::<4>();
    for word in words {
        let _ = write!(text, "{:08X}", u32::from_ne_bytes(*word));
    }
    let _ = write!(text, ":{:04X}", address.port());
    text
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use super::*;

    #[cfg(target_endian = "little")]
    #[test]
    fn only_an_established_connection_that_a_process_holds_names_a_user() {
        let table = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n\
            0: 0100007F:1267 00000000:0000 0A 00000000:00000000 00:00000000 00000000     7        0 11 1\n\
            1: 0100007F:1267 0100007F:D431 01 00000000:00000000 00:00000000 00000000  1000        0 12 1\n\
            2: 0100007F:D431 0100007F:1267 01 00000000:00000000 00:00000000 00000000 65534        0 13 1\n\
            3: 0100007F:D432 0100007F:1267 01 00000000:00000000 00:00000000 00000000     0        0 0 1\n\
            4: 0100007F:D433 0100007F:1267 06 00000000:00000000 00:00000000 00000000  1000        0 14 1\n";
        let engine = "127.0.0.1:4711".parse().unwrap();
        let user = |port| find(table, SocketAddr::new(Ipv4Addr::LOCALHOST.into(), port), engine);
        assert_eq!(user(0xD431), Some(65534));
        assert_eq!(user(0xD432), None, "accepted by no process");
        assert_eq!(user(0xD433), None, "not established");
        assert_eq!(user(0xD434), None);
        assert_eq!(
            find(table, engine, "127.0.0.1:54321".parse().unwrap()),
            Some(1000)
        );
    }

    #[cfg(target_endian = "little")]
    #[test]
    fn addresses_are_written_as_the_kernel_writes_them() {
        let text = |address: &str| as_in_table(address.parse().unwrap());
        assert_eq!(text("127.0.0.1:4711"), "0100007F:1267");
        assert_eq!(text("[::1]:80"), "00000000000000000000000001000000:0050");
        let mapped = mapped("127.0.0.1:4711".parse().unwrap());
        assert_eq!(as_in_table(mapped), "0000000000000000FFFF00000100007F:1267");
    }
}
