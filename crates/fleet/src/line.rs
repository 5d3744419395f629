//! Frames over a pair of pipes: a length in four bytes, the lowest first, then so many bytes, and the end of a text line:
//! what starts programs on other machines may hand on whole text lines only, as `srun` does.
use std::io::{self, Read, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, TryRecvError, channel};
use std::time::Duration;

/// A longer frame is none of ours.
pub const FRAME_BYTES_MAX: u32 = 256 << 20;

/// Comes before the first frame of an agent: a login may print first.
pub const MARK: &[u8] = b"\x01fathom agent\x02\n";

/// What a login may print, at most.
const CHATTER_BYTES_MAX: usize = 1 << 20;

/// After this time a line that has nothing to say says that it is there.
const IDLE: Duration = Duration::from_secs(1);

/// Who stood still itself finds a silence that was none: what came meanwhile is read within this time.
pub const LAST_LOOK: Duration = Duration::from_millis(200);

/// Reads up to the first of some marks and past it, and nothing more. Gives its place among them.
///
/// # Errors
/// When there is none.
pub fn skip_to(from: &mut impl Read, marks: &[&[u8]]) -> Result<usize, LineError> {
    let mut seen = Vec::new();
    let mut byte = [0];
    while seen.len() < CHATTER_BYTES_MAX {
        match from.read(&mut byte) {
            Ok(0) => {
                return Err(LineError(
                    "the login ended before Fathom answered".to_owned(),
                ));
            }
            Ok(_) => seen.push(byte[0]),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(LineError(error.to_string())),
        }
        if let Some(place) = marks.iter().position(|mark| seen.ends_with(mark)) {
            return Ok(place);
        }
    }
    Err(LineError("what answers there is not Fathom".to_owned()))
}

/// The two ways of a line. Neither waits for the other end.
pub trait Line {
    /// Sends the content of a frame. On a line that has ended it is lost, and [`Line::receive`] says so.
    fn send(&mut self, content: Vec<u8>);

    /// The content of the next frame that has come; `None` while there is none.
    ///
    /// # Errors
    /// Why nothing will come any more.
    fn receive(&mut self) -> Result<Option<Vec<u8>>, LineError>;

    /// Waits until a frame has come, the line has ended, or so long.
    fn wait(&mut self, at_most: Duration);
}

/// Why a line has ended, in words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LineError(pub String);

impl std::fmt::Display for LineError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for LineError {}

/// Writes a frame.
///
/// # Errors
/// Those of the writer.
///
/// # Panics
/// With more than [`FRAME_BYTES_MAX`].
pub fn frame(to: &mut impl Write, content: &[u8]) -> io::Result<()> {
    let length = u32::try_from(content.len()).unwrap_or(u32::MAX);
    assert!(
        length <= FRAME_BYTES_MAX,
        "a frame of {} bytes",
        content.len()
    );
    to.write_all(&length.to_le_bytes())?;
    to.write_all(content)?;
    to.write_all(b"\n")?;
    to.flush()
}

/// Reads a frame; `None` where the other end has closed the line between two.
///
/// # Errors
/// A line that ends within a frame, a length that no frame has, or what the reader says.
pub fn unframe(from: &mut impl Read) -> io::Result<Option<Vec<u8>>> {
    let mut length = [0; 4];
    let first = loop {
        match from.read(&mut length) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            other => break other?,
        }
    };
    if first == 0 {
        return Ok(None);
    }
    from.read_exact(&mut length[first..])?;
    let length = u32::from_le_bytes(length);
    if length > FRAME_BYTES_MAX {
        let text = format!("a frame of {length} bytes: the other end speaks something else");
        return Err(io::Error::other(text));
    }
    let mut content = Vec::new();
    from.take(u64::from(length) + 1).read_to_end(&mut content)?;
    match (content.len() == length as usize + 1, content.pop()) {
        (true, Some(b'\n')) => Ok(Some(content)),
        (true, _) => Err(io::Error::other("a frame without its end")),
        (false, _) => Err(io::ErrorKind::UnexpectedEof.into()),
    }
}

/// A line over two pipes. A thread reads one, and one writes the other, so that an end that is slow holds up nobody: what
/// it does not take is kept.
pub struct PipeLine {
    to: Outlet,
    from: Receiver<io::Result<Vec<u8>>>,
    /// What [`PipeLine::wait`] has seen.
    next: Option<Vec<u8>>,
    end: Option<LineError>,
}

impl PipeLine {
    /// Over a reader and a writer. `seen` is told each frame as soon as it has come, on the thread that reads, and may
    /// answer it at once. `idle` is sent after each second in which nothing else was, whatever the others wait for.
    ///
    /// # Errors
    /// When no thread can be had.
    pub fn new(
        mut reader: impl Read + Send + 'static,
        mut writer: impl Write + Send + 'static,
        seen: impl Fn(&[u8]) -> Option<Vec<u8>> + Send + 'static,
        idle: Option<Vec<u8>>,
    ) -> io::Result<Self> {
        let (to, sent) = channel::<Vec<u8>>();
        let (came, from) = channel();
        let to = Outlet {
            to,
            waiting: Arc::default(),
        };
        let (at_once, waiting) = (to.clone(), Arc::clone(&to.waiting));
        let named = |name: &str| std::thread::Builder::new().name(name.to_owned());
        named("line in").spawn(move || {
            loop {
                let read = unframe(&mut reader).transpose();
                let is_over = !matches!(read, Some(Ok(_)));
                if let Some(Ok(content)) = &read
                    && let Some(answer) = seen(content)
                {
                    at_once.send(answer);
                }
                if read.is_some_and(|read| came.send(read).is_err()) || is_over {
                    return;
                }
            }
        })?;
        named("line out").spawn(move || {
            write_frames(&mut writer, &sent, idle.as_deref(), &waiting.bytes);
            waiting.is_over.store(true, Relaxed);
        })?;
        Ok(Self {
            to,
            from,
            next: None,
            end: None,
        })
    }

    /// A way onto this line for other threads.
    pub(crate) fn outlet(&self) -> Outlet {
        self.to.clone()
    }

    fn take(&mut self, read: io::Result<Vec<u8>>) {
        match read {
            Ok(content) => self.next = Some(content),
            Err(error) => self.end = Some(LineError(format!("the line broke: {error}"))),
        }
    }
}

/// Until nobody sends any more, or the line has ended, which its reader learns.
fn write_frames(
    writer: &mut impl Write,
    sent: &Receiver<Vec<u8>>,
    idle: Option<&[u8]>,
    waiting_bytes: &AtomicUsize,
) {
    loop {
        let written = match (sent.recv_timeout(IDLE), idle) {
            (Ok(content), _) => {
                let written = frame(writer, &content);
                waiting_bytes.fetch_sub(content.len(), Relaxed);
                written
            }
            (Err(RecvTimeoutError::Timeout), Some(idle)) => frame(writer, idle),
            (Err(RecvTimeoutError::Timeout), None) => continue,
            (Err(RecvTimeoutError::Disconnected), _) => return,
        };
        if written.is_err() {
            return;
        }
    }
}

/// Frames that wait on a line, at most, before more of a kind that may be held up.
const WAITING_BYTES_MAX: usize = 16 << 20;

/// How often a sender that is held up looks again.
const HELD_UP: Duration = Duration::from_millis(2);

/// The near end of the way out of a line.
#[derive(Clone)]
pub(crate) struct Outlet {
    to: Sender<Vec<u8>>,
    waiting: Arc<Waiting>,
}

/// What a line has still to write.
#[derive(Default)]
struct Waiting {
    bytes: AtomicUsize,
    is_over: AtomicBool,
}

impl Outlet {
    fn send(&self, content: Vec<u8>) {
        self.waiting.bytes.fetch_add(content.len(), Relaxed);
        let _ = self.to.send(content);
    }

    /// Sends the content of a frame once the line has little left to write: what comes faster than a line bears holds up
    /// who sends it, and fills no memory.
    pub(crate) fn send_in_turn(&self, content: Vec<u8>) {
        let waiting = &self.waiting;
        while waiting.bytes.load(Relaxed) > WAITING_BYTES_MAX && !waiting.is_over.load(Relaxed) {
            std::thread::sleep(HELD_UP);
        }
        self.send(content);
    }
}

fn closed() -> LineError {
    LineError("the other end closed the line".to_owned())
}

impl Line for PipeLine {
    fn wait(&mut self, at_most: Duration) {
        if self.next.is_some() || self.end.is_some() {
            return;
        }
        match self.from.recv_timeout(at_most) {
            Ok(read) => self.take(read),
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => self.end = Some(closed()),
        }
    }

    fn send(&mut self, content: Vec<u8>) {
        self.to.send(content);
    }

    fn receive(&mut self) -> Result<Option<Vec<u8>>, LineError> {
        if self.next.is_none() && self.end.is_none() {
            match self.from.try_recv() {
                Ok(read) => self.take(read),
                Err(TryRecvError::Empty) => {}
                Err(TryRecvError::Disconnected) => self.end = Some(closed()),
            }
        }
        match (self.next.take(), &self.end) {
            (Some(content), _) => Ok(Some(content)),
            (None, Some(end)) => Err(end.clone()),
            (None, None) => Ok(None),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_come_out_as_they_went_in_and_end_with_the_line() {
        let mut bytes = Vec::new();
        for content in [&b"one"[..], b"", b"three"] {
            frame(&mut bytes, content).unwrap();
        }
        let mut rest = &bytes[..];
        let mut next = || unframe(&mut rest).unwrap();
        assert_eq!(next().as_deref(), Some(&b"one"[..]));
        assert_eq!(next().as_deref(), Some(&b""[..]));
        assert_eq!(next().as_deref(), Some(&b"three"[..]));
        assert_eq!(next(), None);
    }

    #[test]
    fn a_line_that_is_cut_within_a_frame_is_broken() {
        let mut bytes = Vec::new();
        frame(&mut bytes, b"content").unwrap();
        for cut in 1..bytes.len() {
            assert!(unframe(&mut &bytes[..cut]).is_err(), "cut at {cut}");
        }
        assert!(unframe(&mut &b"\xff\xff\xff\xff"[..]).is_err());
    }

    #[test]
    fn what_a_login_prints_is_skipped_up_to_the_mark() {
        let mut bytes = b"Last login: today\n\x01fathom agent\n".to_vec();
        bytes.extend(MARK);
        bytes.extend(b"rest");
        let mut from = &bytes[..];
        assert_eq!(skip_to(&mut from, &[b"none of it", MARK]), Ok(1));
        assert_eq!(from, b"rest");
        assert!(skip_to(&mut &b"no such command\n"[..], &[MARK]).is_err());
    }

    #[test]
    fn a_line_over_pipes_tells_its_end() {
        let (reader, mut far) = io::pipe().unwrap();
        let (far_reader, writer) = io::pipe().unwrap();
        let mut line = PipeLine::new(reader, writer, |_| None, Some(b"idle".to_vec())).unwrap();
        line.send(b"ask".to_vec());
        assert_eq!(unframe(&mut &far_reader).unwrap().unwrap(), b"ask");
        frame(&mut far, b"tell").unwrap();
        line.wait(Duration::from_secs(10));
        assert_eq!(line.receive(), Ok(Some(b"tell".to_vec())));
        assert_eq!(line.receive(), Ok(None));
        // Nobody here says anything any more, and the line does.
        assert_eq!(unframe(&mut &far_reader).unwrap().unwrap(), b"idle");
        drop(far);
        line.wait(Duration::from_secs(10));
        assert!(line.receive().is_err());
    }
}
