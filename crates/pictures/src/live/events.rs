//! The events of a page: those that a browser gets that comes late, and those from then on.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde_json::{Value, json};

use crate::live::bucket::Bucket;
use crate::live::history::History;
use crate::live::message::{Begin, Message, State};

/// Events that are kept for browsers that are behind: some seconds of a run. A browser that is further behind gets
/// everything again.
const KEPT: usize = 32;

/// Rows of a study that a browser gets that comes late.
const ROWS: usize = 1000;

/// Outcomes of commands that a browser gets that comes late.
const ANSWERS: usize = 20;

/// Draws a run, as the parts of an event of the kind `update`. It gets the run's description, its course so far, its
/// report or summary, if there is one, and the signals of the whole run at its end.
pub type Draw = Box<dyn Fn(&Begin, &[Bucket], &Value, Option<&Value>) -> Value + Send + Sync>;

/// The events of a run or a study. Publishing waits for no browser.
pub(crate) struct Events {
    published: Mutex<Published>,
    changed: Condvar,
    /// Browsers that get events.
    readers: AtomicUsize,
    draw: Draw,
}

#[derive(Default)]
struct Published {
    begin: Option<Begin>,
    table: Option<Message>,
    history: History,
    rows: VecDeque<(usize, String)>,
    done: usize,
    answers: VecDeque<Message>,
    state: Option<Message>,
    end: Option<Message>,
    /// The signals of the whole run, once it has ended.
    whole_run: Option<Value>,
    /// The last events, as JSON.
    recent: VecDeque<Arc<str>>,
    /// Number of events that were published before `recent`.
    dropped: u64,
    is_closed: bool,
}

/// Events for one browser.
pub(crate) struct Batch {
    /// As JSON, in their order.
    pub(crate) events: Vec<Arc<str>>,
    /// No more will come.
    pub(crate) is_last: bool,
}

/// A browser that gets events.
pub(crate) struct Reader<'a> {
    events: &'a Events,
    /// Number of the events that it has got.
    seen: Option<u64>,
}

impl Events {
    pub(crate) fn new(draw: Draw) -> Self {
        Self {
            published: Mutex::default(),
            changed: Condvar::new(),
            readers: AtomicUsize::new(0),
            draw,
        }
    }

    fn lock(&self) -> MutexGuard<'_, Published> {
        let published = self.published.lock();
        published.unwrap_or_else(PoisonError::into_inner)
    }

    /// Publishes a message of a run. Nothing follows its end.
    pub(crate) fn publish(&self, mut message: Message) {
        let mut published = self.lock();
        if published.end.is_some() {
            return;
        }
        if let Message::End(end) = &mut message {
            published.whole_run = end.drawing.take();
        }
        let text = text(&message);
        let is_drawn = matches!(message, Message::State(_) | Message::End(_));
        // Browsers get points as a drawing.
        let is_event = !matches!(message, Message::Points { .. });
        published.keep(message);
        // The drawing first: a browser leaves with the end.
        if is_drawn && self.readers.load(Ordering::SeqCst) > 0 {
            let drawn = published.drawn(&self.draw);
            drawn.into_iter().for_each(|event| published.push(event));
        }
        if is_event {
            published.push(text);
        }
        drop(published);
        self.changed.notify_all();
    }

    /// Whether the run has said that it has ended.
    pub(crate) fn has_ended(&self) -> bool {
        self.lock().end.is_some()
    }

    /// The description and the last state of the run, as its messages.
    pub(crate) fn last_state(&self) -> (Option<Begin>, Option<State>) {
        let published = self.lock();
        let state = match &published.state {
            Some(Message::State(state)) => Some(state.clone()),
            _ => None,
        };
        (published.begin.clone(), state)
    }

    /// Lets every browser go when it has got all events.
    pub(crate) fn close(&self) {
        self.lock().is_closed = true;
        self.changed.notify_all();
    }

    /// A browser that has nothing yet.
    pub(crate) fn reader(&self) -> Reader<'_> {
        self.readers.fetch_add(1, Ordering::SeqCst);
        Reader {
            events: self,
            seen: None,
        }
    }
}

impl Reader<'_> {
    /// The events since the last call; everything that matters if some of them are gone. Waits `timeout` for one;
    /// the list may be empty then.
    pub(crate) fn next(&mut self, timeout: Duration) -> Batch {
        let seen = self.seen;
        let has_none =
            |published: &mut Published| !published.is_closed && seen == Some(published.count());
        let events = self.events;
        let waited = events
            .changed
            .wait_timeout_while(events.lock(), timeout, has_none);
        let (published, _) = waited.unwrap_or_else(PoisonError::into_inner);
        self.seen = Some(published.count());
        let events = match seen {
            Some(seen) if seen >= published.dropped => {
                let seen = (seen - published.dropped) as usize;
                published.recent.iter().skip(seen).cloned().collect()
            }
            _ => published.whole(&events.draw),
        };
        Batch {
            events,
            is_last: published.is_closed,
        }
    }
}

impl Drop for Reader<'_> {
    fn drop(&mut self) {
        self.events.readers.fetch_sub(1, Ordering::SeqCst);
    }
}

impl Published {
    /// Number of all events so far.
    fn count(&self) -> u64 {
        self.dropped + self.recent.len() as u64
    }

    fn push(&mut self, event: Arc<str>) {
        if self.recent.len() == KEPT {
            self.recent.pop_front();
            self.dropped += 1;
        }
        self.recent.push_back(event);
    }

    /// Keeps what a browser needs that comes late.
    fn keep(&mut self, message: Message) {
        match message {
            Message::Begin(begin) => self.begin = Some(begin),
            Message::Table(_) => self.table = Some(message),
            Message::Points { points } => self.take(points),
            Message::State(_) => self.state = Some(message),
            Message::End(_) => self.end = Some(message),
            Message::Answer(_) => {
                if self.answers.len() == ANSWERS {
                    self.answers.pop_front();
                }
                self.answers.push_back(message);
            }
            Message::Rows { rows, done } => {
                self.rows.extend(rows);
                let surplus = self.rows.len().saturating_sub(ROWS);
                self.rows.drain(..surplus);
                self.done = done;
            }
        }
    }

    /// Takes points of the signals that the run has.
    fn take(&mut self, points: Vec<Bucket>) {
        let signals = self.begin.as_ref().map_or(0, |begin| begin.signals.len());
        let points = points.into_iter();
        points
            .filter(|bucket| bucket.extremes.len() == signals)
            .for_each(|bucket| self.history.push(bucket));
    }

    /// The run as it is drawn now; `None` before its begin.
    fn drawn(&self, draw: &Draw) -> Option<Arc<str>> {
        let begin = self.begin.as_ref()?;
        let summary = match &self.end {
            Some(Message::End(end)) => end.summary.as_ref(),
            _ => None,
        };
        let report = match &self.state {
            Some(Message::State(state)) => Some(&state.report),
            _ => None,
        };
        let report = summary.or(report).unwrap_or(&Value::Null);
        let mut update = draw(
            begin,
            self.history.buckets(),
            report,
            self.whole_run.as_ref(),
        );
        update["kind"] = json!("update");
        Some(update.to_string().into())
    }

    /// Everything that matters, as few events.
    fn whole(&self, draw: &Draw) -> Vec<Arc<str>> {
        let begin = self.begin.clone().map(Message::Begin);
        let rows = self.table.as_ref().map(|_| Message::Rows {
            rows: self.rows.iter().cloned().collect(),
            done: self.done,
        });
        let first = begin.iter().chain(&self.table).chain(&rows);
        let rest = self.answers.iter().chain(&self.state);
        let events = first.chain(rest).map(text);
        let events = events.chain(self.drawn(draw));
        events.chain(self.end.as_ref().map(text)).collect()
    }
}

fn text(message: &Message) -> Arc<str> {
    // A message is made of texts, numbers and lists of them.
    serde_json::to_string(message).unwrap_or_default().into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::live::bucket::Extremes;
    use crate::live::message::{Answer, End, Signal};

    const NOW: Duration = Duration::ZERO;

    fn answer(text: impl Into<String>) -> Message {
        let (text, is_error) = (text.into(), false);
        Message::Answer(Answer { text, is_error })
    }

    fn events() -> Events {
        Events::new(Box::new(|begin, buckets, report, whole_run| {
            let count = begin.signals.len();
            let mut drawn =
                json!({ "buckets": buckets.len(), "signals": count, "verdict": report["verdict"] });
            if let Some(whole_run) = whole_run {
                drawn["whole_run"] = whole_run.clone();
            }
            drawn
        }))
    }

    fn begin() -> Message {
        Message::Begin(Begin {
            signals: vec![Signal {
                name: "a.y".to_owned(),
                unit: None,
            }],
            ..Begin::default()
        })
    }

    fn state(time: f64) -> Message {
        Message::State(State {
            time,
            steps: 0,
            is_paused: false,
            elapsed: 0.0,
            report: json!({ "verdict": "small" }),
        })
    }

    fn point(time: f64) -> Message {
        let extremes = vec![Extremes {
            first: time,
            second: time,
        }];
        let (begin, end) = (time, time);
        Message::Points {
            points: vec![Bucket {
                begin,
                end,
                extremes,
            }],
        }
    }

    #[test]
    fn a_browser_that_comes_late_gets_everything_and_then_what_is_new() {
        let events = events();
        events.publish(begin());
        for time in 0..1000 {
            events.publish(point(f64::from(time)));
        }
        events.publish(state(999.0));
        let mut reader = events.reader();
        let first = reader.next(NOW).events;
        assert_eq!(first.len(), 3);
        assert!(first[0].starts_with(r#"{"kind":"begin""#));
        assert!(first[1].starts_with(r#"{"kind":"state""#));
        let update = r#"{"buckets":1000,"kind":"update","signals":1,"verdict":"small"}"#;
        assert_eq!(&*first[2], update);
        assert!(reader.next(NOW).events.is_empty());
        events.publish(answer("done"));
        assert_eq!(reader.next(NOW).events.len(), 1);
        events.publish(point(1000.0));
        events.publish(state(1000.0));
        let next = reader.next(NOW).events;
        assert_eq!(
            next.len(),
            2,
            "the state, and the drawing in place of points"
        );
        assert!(next[0].contains(r#""buckets":1001"#));
    }

    #[test]
    fn a_browser_that_is_behind_gets_everything_anew() {
        let events = events();
        events.publish(begin());
        let (mut behind, mut up_to_date) = (events.reader(), events.reader());
        behind.next(NOW);
        up_to_date.next(NOW);
        for time in 0..KEPT {
            events.publish(state(time as f64));
            assert_eq!(up_to_date.next(NOW).events.len(), 2);
        }
        let again = behind.next(NOW).events;
        assert_eq!(again.len(), 3, "begin, the last state, the drawing");
        assert_eq!(behind.seen, up_to_date.seen);
    }

    #[test]
    fn nothing_is_drawn_for_no_browser() {
        let events = Events::new(Box::new(|_, _, _, _| panic!("there is no browser")));
        events.publish(begin());
        events.publish(state(1.0));
        let reader = events.reader();
        drop(reader);
        events.publish(state(2.0));
        assert_eq!(events.lock().recent.len(), 3);
    }

    #[test]
    fn points_of_other_signals_are_left_out() {
        let events = events();
        events.publish(point(0.0));
        events.publish(begin());
        events.publish(Message::Points {
            points: vec![Bucket {
                begin: 0.0,
                end: 0.0,
                extremes: Vec::new(),
            }],
        });
        assert!(events.lock().history.buckets().is_empty());
    }

    /// Its drawing once, instead of the points.
    #[test]
    fn at_the_end_the_whole_run_is_drawn() {
        let events = events();
        events.publish(begin());
        let mut early = events.reader();
        early.next(NOW);
        events.publish(point(0.0));
        events.publish(Message::End(End {
            drawing: Some(json!({ "rows": 7 })),
            ..End::default()
        }));
        for batch in [early.next(NOW), events.reader().next(NOW)] {
            let count = batch.events.len();
            let drawn = r#""whole_run":{"rows":7}"#;
            assert!(batch.events[count - 2].contains(drawn));
            assert!(!batch.events[count - 1].contains("drawing"));
        }
    }

    #[test]
    fn nothing_follows_the_end() {
        let events = events();
        events.publish(Message::End(End::default()));
        events.publish(answer("too late"));
        events.close();
        let batch = events.reader().next(NOW);
        assert_eq!((batch.events.len(), batch.is_last), (1, true));
        assert!(events.has_ended());
    }

    #[test]
    fn lists_are_bounded() {
        let events = events();
        for row in 0..2 * ROWS {
            events.publish(Message::Rows {
                rows: vec![(row, "1,2".to_owned())],
                done: row + 1,
            });
            events.publish(answer(format!("{row}")));
        }
        let published = events.lock();
        assert_eq!(
            (published.rows.len(), published.answers.len()),
            (ROWS, ANSWERS)
        );
        assert_eq!((published.recent.len(), published.done), (KEPT, 2 * ROWS));
        assert_eq!(published.rows.front().unwrap().0, ROWS);
    }
}
