//! A request, read within limits.

use std::io::{self, Read};
use std::time::Duration;

/// Limits of what the other side of a connection may take.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// Bytes of a request before its body.
    pub head: usize,
    /// Bytes of its body.
    pub body: usize,
    /// Time for a whole request.
    pub request: Duration,
    /// Time in which a browser reads something of what it was sent.
    pub write: Duration,
    /// Connections at the same time.
    pub connections: usize,
}

impl Default for Limits {
    /// Choices: browsers send a head of one or two kilobytes at once, and open six connections to a server.
    fn default() -> Self {
        Self {
            head: 8 << 10,
            body: 16 << 10,
            request: Duration::from_secs(5),
            write: Duration::from_secs(5),
            connections: 16,
        }
    }
}

/// Most lines of a head.
const HEADERS: usize = 64;

/// A request, as far as it matters here.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request {
    /// `GET`, `POST` or another word.
    pub method: String,
    /// The path with its query.
    pub path: String,
    /// Whom the request is for.
    pub host: Option<String>,
    /// The page that has made it, if a browser says so.
    pub origin: Option<String>,
    /// The bytes after the head.
    pub body: Vec<u8>,
}

/// Why a request is not answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refusal {
    /// The connection has ended before the request has.
    Closed,
    /// It is refused with this status of HTTP (RFC 9110, section 15).
    Status(u16),
}

/// Reads one request (RFC 9112).
///
/// # Errors
/// [`Refusal`]: a head or a body that is too long or malformed, a time limit of the stream.
pub fn read_request(stream: &mut impl Read, limits: &Limits) -> Result<Request, Refusal> {
    let mut bytes = Vec::new();
    let (head_length, head) = loop {
        if let Some(head) = parse(&bytes)? {
            break head;
        }
        if bytes.len() >= limits.head {
            return Err(Refusal::Status(431));
        }
        more(stream, &mut bytes, limits.head)?;
    };
    let Head {
        mut request,
        length,
    } = head;
    if request.method == "POST" {
        let length = length.ok_or(Refusal::Status(411))?;
        if length > limits.body {
            return Err(Refusal::Status(413));
        }
        while bytes.len() < head_length + length {
            more(stream, &mut bytes, head_length + length)?;
        }
        request.body = bytes[head_length..head_length + length].to_vec();
    }
    Ok(request)
}

/// Reads more bytes, up to `limit` in all.
fn more(stream: &mut impl Read, bytes: &mut Vec<u8>, limit: usize) -> Result<(), Refusal> {
    let mut block = [0; 1024];
    let room = block.len().min(limit.saturating_sub(bytes.len()));
    loop {
        return match stream.read(&mut block[..room]) {
            Ok(0) => Err(Refusal::Closed),
            Ok(count) => {
                bytes.extend_from_slice(&block[..count]);
                Ok(())
            }
            Err(error) => match error.kind() {
                io::ErrorKind::Interrupted => continue,
                io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => Err(Refusal::Status(408)),
                _ => Err(Refusal::Closed),
            },
        };
    }
}

/// A head that is whole.
struct Head {
    request: Request,
    /// Bytes of the body, if they are counted.
    length: Option<usize>,
}

/// The head of a request with its length; `None` if bytes are missing.
fn parse(bytes: &[u8]) -> Result<Option<(usize, Head)>, Refusal> {
    let mut headers = [httparse::EMPTY_HEADER; HEADERS];
    let mut parsed = httparse::Request::new(&mut headers);
    let length = match parsed.parse(bytes) {
        Ok(httparse::Status::Complete(length)) => length,
        Ok(httparse::Status::Partial) => return Ok(None),
        Err(httparse::Error::TooManyHeaders) => return Err(Refusal::Status(431)),
        Err(_) => return Err(Refusal::Status(400)),
    };
    let host = only(parsed.headers, "host")?;
    let origin = only(parsed.headers, "origin")?;
    let is_coded = only(parsed.headers, "transfer-encoding")?.is_some();
    let body = only(parsed.headers, "content-length")?;
    let body = body.map(|digits| digits.parse().map_err(|_| Refusal::Status(400)));
    let head = Head {
        request: Request {
            method: parsed.method.unwrap_or_default().to_owned(),
            path: parsed.path.unwrap_or_default().to_owned(),
            host,
            origin,
            body: Vec::new(),
        },
        // Bodies in pieces are for others.
        length: body.transpose()?.filter(|_| !is_coded),
    };
    Ok(Some((length, head)))
}

/// The value of a header that may stand once.
fn only(headers: &[httparse::Header<'_>], name: &str) -> Result<Option<String>, Refusal> {
    let mut found = headers
        .iter()
        .filter(|header| header.name.eq_ignore_ascii_case(name));
    match (found.next(), found.next()) {
        (None, _) => Ok(None),
        (Some(header), None) => match std::str::from_utf8(header.value) {
            Ok(value) => Ok(Some(value.trim().to_owned())),
            Err(_) => Err(Refusal::Status(400)),
        },
        (Some(_), Some(_)) => Err(Refusal::Status(400)),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn read(bytes: &[u8]) -> Result<Request, Refusal> {
        read_request(&mut &*bytes, &Limits::default())
    }

    /// Gives one byte at a time, and then says that it took too long.
    struct Slow<'a>(&'a [u8]);

    impl Read for Slow<'_> {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            let Some((first, rest)) = self.0.split_first() else {
                return Err(io::ErrorKind::WouldBlock.into());
            };
            (buffer[0], self.0) = (*first, rest);
            Ok(1)
        }
    }

    #[test]
    fn requests_are_read() {
        let request = read(b"GET /t/ HTTP/1.1\r\nHost: 127.0.0.1:8080\r\n\r\n").unwrap();
        assert_eq!((&*request.method, &*request.path), ("GET", "/t/"));
        assert_eq!(request.host.as_deref(), Some("127.0.0.1:8080"));
        let text = b"POST /t/commands HTTP/1.1\r\nhost: a\r\ncontent-length: 3\r\n\r\nabcd";
        assert_eq!(read(text).unwrap().body, b"abc");
        assert_eq!(
            read_request(&mut Slow(text), &Limits::default())
                .unwrap()
                .body,
            b"abc"
        );
    }

    #[test]
    fn wrong_requests_are_refused() {
        let long = format!("GET / HTTP/1.1\r\nx: {}\r\n\r\n", "y".repeat(9000));
        let endless = "x".repeat(9000);
        let many = format!("GET / HTTP/1.1\r\n{}\r\n", "a: b\r\n".repeat(65));
        let status = Refusal::Status;
        for (text, refusal) in [
            ("", Refusal::Closed),
            ("GET / HT", Refusal::Closed),
            ("\x16\x03\x01\x02\x00\x01", status(400)),
            ("GET / HTTP/1.1\r\nhost: a\r\nHOST: b\r\n\r\n", status(400)),
            (
                "GET / HTTP/1.1\r\nhost: \u{fe}\r\nhost: b\r\n\r\n",
                status(400),
            ),
            ("POST / HTTP/1.1\r\n\r\n", status(411)),
            (
                "POST / HTTP/1.1\r\ntransfer-encoding: chunked\r\ncontent-length: 1\r\n\r\n",
                status(411),
            ),
            ("POST / HTTP/1.1\r\ncontent-length: -1\r\n\r\n", status(400)),
            (
                "POST / HTTP/1.1\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\n",
                status(400),
            ),
            (
                "POST / HTTP/1.1\r\ncontent-length: 99999\r\n\r\n",
                status(413),
            ),
            (
                "POST / HTTP/1.1\r\ncontent-length: 18446744073709551616\r\n\r\n",
                status(400),
            ),
            (
                "POST / HTTP/1.1\r\ncontent-length: 9\r\n\r\nabc",
                Refusal::Closed,
            ),
            (&long, status(431)),
            (&endless, status(431)),
            (&many, status(431)),
        ] {
            assert_eq!(
                read(text.as_bytes()),
                Err(refusal),
                "{}",
                &text[..text.len().min(60)]
            );
        }
        let slow = read_request(&mut Slow(b"GET / HT"), &Limits::default());
        assert_eq!(slow, Err(status(408)));
    }

    proptest! {
        #[test]
        fn whatever_comes_is_a_request_or_refused(bytes: Vec<u8>, cut in 0_usize..80) {
            let _ = read(&bytes);
            let mut text = b"POST /t/commands HTTP/1.1\r\nhost: a\r\ncontent-length: 3\r\n\r\nabcd".to_vec();
            text.splice(cut.min(text.len())..cut.min(text.len()), bytes);
            if let Ok(request) = read(&text) {
                prop_assert!(request.body.len() <= Limits::default().body);
            }
        }
    }
}
