//! The server of a page against browsers that behave, and such that do not.

use std::io::{BufRead as _, BufReader};
use std::sync::mpsc;

use super::*;
use crate::live::message;

/// A limit that a test waits for.
const SHORT: Duration = Duration::from_millis(50);

struct Page {
    serving: Serving,
    address: SocketAddr,
    token: String,
    stops: mpsc::Receiver<()>,
}

impl Page {
    fn new(limits: Limits) -> Self {
        let listener = Listener::bind(Address::default()).unwrap().limits(limits);
        let (address, token) = (listener.address, listener.token.to_string());
        assert_eq!(listener.url(), format!("http://{address}/{token}/"));
        let (stop, stops) = mpsc::channel();
        let stop = move || stop.send(()).unwrap();
        let draw: Draw = Box::new(|_, _, _, _| serde_json::json!({}));
        let serving = listener.serve("<p>page</p>".to_owned(), draw, stop);
        Self {
            serving: serving.unwrap(),
            address,
            token,
            stops,
        }
    }

    fn connect(&self) -> TcpStream {
        TcpStream::connect(self.address).unwrap()
    }

    /// The answer to a request, up to the end of the connection.
    fn ask(&self, text: &str) -> String {
        let mut stream = self.connect();
        // The server may have refused it before it is written.
        let _ = stream.write_all(text.as_bytes());
        let mut answer = Vec::new();
        let _ = stream.read_to_end(&mut answer);
        String::from_utf8(answer).unwrap()
    }

    fn request(&self, method: &str, path: &str, more: &str) -> String {
        self.ask(&format!(
            "{method} {path} HTTP/1.1\r\nHost: {}\r\n{more}\r\n",
            self.address
        ))
    }

    fn command(&self, body: &str) -> String {
        let path = format!("/{}/commands", self.token);
        self.request(
            "POST",
            &path,
            &format!("Content-Length: {}\r\n\r\n{body}", body.len()),
        )
    }

    fn events(&self) -> BufReader<TcpStream> {
        let mut stream = self.connect();
        write!(
            stream,
            "GET /{}/events HTTP/1.1\r\nHost: {}\r\n\r\n",
            self.token, self.address
        )
        .unwrap();
        BufReader::new(stream)
    }

    /// Waits until there are this many connections.
    fn wait_for_connections(&self, count: usize) {
        while self.serving.connections() != count {
            thread::yield_now();
        }
    }
}

fn status(answer: &str) -> &str {
    answer.split(' ').nth(1).unwrap_or("none")
}

fn said(text: &str) -> Message {
    let (text, is_error) = (text.to_owned(), false);
    Message::Answer(message::Answer { text, is_error })
}

#[test]
fn the_page_is_for_those_who_know_its_address() {
    let page = Page::new(Limits::default());
    let path = format!("/{}/", page.token);
    let found = page.request("GET", &path, "");
    assert!(found.ends_with("\r\n\r\n<p>page</p>"), "{found}");
    assert!(found.contains("Content-Security-Policy: default-src 'none'"));
    let wrong = format!("/{}/", "0".repeat(32));
    for (method, path, expected) in [
        ("GET", "/", "404"),
        ("GET", "//", "404"),
        ("GET", &*wrong, "404"),
        ("GET", &path[..path.len() - 1], "404"),
        ("GET", &format!("{path}other"), "404"),
        ("GET", &format!("{path}commands"), "405"),
        ("POST", &path, "411"),
        ("DELETE", &path, "405"),
        ("HEAD", &path, "405"),
    ] {
        assert_eq!(
            status(&page.request(method, path, "")),
            expected,
            "{method} {path}"
        );
    }
}

#[test]
fn other_names_of_this_machine_are_refused() {
    let page = Page::new(Limits::default());
    let port = page.address.port();
    for (host, expected) in [
        (format!("127.0.0.1:{port}"), "200"),
        (format!("localhost:{port}"), "200"),
        (format!("[::1]:{port}"), "200"),
        (format!("rebound.example:{port}"), "421"),
        (format!("127.0.0.1.example:{port}"), "421"),
        ("localhost".to_owned(), "421"),
        ("127.0.0.1:1".to_owned(), "421"),
        (String::new(), "421"),
    ] {
        let text = format!("GET /{}/ HTTP/1.1\r\nHost: {host}\r\n\r\n", page.token);
        assert_eq!(status(&page.ask(&text)), expected, "{host}");
    }
    let without = format!("GET /{}/ HTTP/1.1\r\n\r\n", page.token);
    assert_eq!(status(&page.ask(&without)), "421");
    assert!(is_own("127.0.0.1", 80) && is_own("[::1]", 80) && is_own("LOCALHOST", 80));
    assert!(!is_own("localhost", 8080) && !is_own("localhost:x", 80));
}

#[test]
fn hostile_requests_are_survived() {
    let page = Page::new(Limits::default());
    let long = format!("x: {}\r\n", "y".repeat(1 << 20));
    let answer = page.request("GET", "/", &long);
    assert!(["431", "none"].contains(&status(&answer)), "{answer}");
    assert_eq!(status(&page.ask("\x16\x03\x01\r\n\r\n")), "400");
    let found = page.request("GET", &format!("/{}/", page.token), "");
    assert_eq!(status(&found), "200");
    // A request that never ends.
    let page = Page::new(Limits {
        request: SHORT,
        ..Limits::default()
    });
    let slow = page.ask("GET / HTTP/1.1\r\nx: ");
    assert_eq!(status(&slow), "408");
    page.wait_for_connections(0);
}

#[test]
fn too_many_connections_are_refused() {
    let page = Page::new(Limits {
        connections: 3,
        request: Duration::from_secs(600),
        ..Limits::default()
    });
    let open: Vec<TcpStream> = (0..3).map(|_| page.connect()).collect();
    page.wait_for_connections(3);
    assert_eq!(status(&page.request("GET", "/", "")), "503");
    drop(open);
    page.wait_for_connections(0);
    assert_eq!(status(&page.request("GET", "/", "")), "404");
}

#[test]
fn events_arrive_until_the_page_ends() {
    let page = Page::new(Limits::default());
    let mut events = page.events();
    page.serving.publish(said("one"));
    let mut text = String::new();
    while !text.contains("one") {
        events.read_line(&mut text).unwrap();
    }
    page.serving.publish(Message::End(message::End {
        text: "two".to_owned(),
        ..message::End::default()
    }));
    page.serving.close();
    events.read_to_string(&mut text).unwrap();
    assert!(text.starts_with("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n"));
    let data: Vec<&str> = text
        .lines()
        .filter(|line| line.starts_with("data: "))
        .collect();
    assert_eq!(data.len(), 2, "{text}");
    assert!(data[1].contains("\"kind\":\"end\""));
}

#[test]
fn a_browser_that_stops_reading_is_disconnected() {
    let page = Page::new(Limits {
        write: SHORT,
        ..Limits::default()
    });
    let mut dead = page.events();
    let mut line = String::new();
    dead.read_line(&mut line).unwrap();
    assert_eq!(page.serving.connections(), 1);
    let long = said(&"x".repeat(1 << 20));
    while page.serving.connections() > 0 {
        page.serving.publish(long.clone());
        // No event waits for it: more than fits into all buffers is published.
        thread::yield_now();
    }
    let mut rest = Vec::new();
    let ended = dead.read_to_end(&mut rest);
    assert!(ended.is_err() || !rest.is_empty());
}

#[test]
fn commands_reach_the_run() {
    let page = Page::new(Limits::default());
    assert_eq!(status(&page.command(r#"{"command":"pause"}"#)), "409");
    let (here, there) = UnixStream::pair().unwrap();
    page.serving.connect(here).unwrap();
    assert_eq!(status(&page.command(r#"{"command":"pause"}"#)), "204");
    assert_eq!(status(&page.command("{}")), "400");
    let origin = "Origin: http://elsewhere.example\r\nContent-Length: 0\r\n";
    let path = format!("/{}/commands", page.token);
    assert_eq!(status(&page.request("POST", &path, origin)), "403");
    let mut line = String::new();
    BufReader::new(&there).read_line(&mut line).unwrap();
    assert_eq!(Command::parse(line.as_bytes()), Ok(Command::Pause));
    assert_eq!(status(&page.command(r#"{"command":"stop"}"#)), "204");
    page.stops.recv().unwrap();
    drop(there);
    assert_eq!(status(&page.command(r#"{"command":"resume"}"#)), "409");
}

#[test]
fn messages_of_the_run_are_published_and_nonsense_is_not() {
    let page = Page::new(Limits::default());
    let (here, mut there) = UnixStream::pair().unwrap();
    page.serving.connect(here).unwrap();
    there
        .write_all(b"\0\xff{}\n{\"kind\":\"answer\",\"text\":7}\n")
        .unwrap();
    let end = r#"{"kind":"end","text":"over","is_failure":false,"summary":null}"#;
    writeln!(there, "{end}").unwrap();
    drop(there);
    assert!(page.serving.wait_for_run());
    let mut events = page.events();
    let mut text = String::new();
    events.read_line(&mut text).unwrap();
    page.serving.close();
    events.read_to_string(&mut text).unwrap();
    let data: Vec<&str> = text
        .lines()
        .filter_map(|line| line.strip_prefix("data: "))
        .collect();
    assert_eq!(data, [end]);
}
