//! Listening, answering, ending.

use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use hyper::server::conn::http1;
use hyper::service::{Service, service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use rustix::net::sockopt;
use tokio::net::TcpStream;
use tokio::signal::unix::{SignalKind, signal};
use tokio::time::Instant;

use super::catalogue::Catalogue;
use super::guard::Guard;
use super::lines::{self, Counted, Doing, Hold, Lines};
use super::live::Lives;
use super::readers::Readers;
use super::routes::{Site, router};
use assay_base::digest::{hexadecimal, sha256};
use assay_base::failure::{Failure, Outcome};
use assay_system::system::{System, identity};

/// Bytes in which a browser has to say what it wants.
const HEAD_BYTES: usize = 32 * 1024;
/// Connections that wait to be accepted: a crowd that comes at once leaves room for one more.
const BACKLOG: i32 = 4096;
/// Bytes of an answer that the kernel keeps for each connection; it may double them.
const SEND_BYTES: usize = 128 * 1024;
/// How often time limits are looked at.
const SWEEP: Duration = Duration::from_secs(1);
/// How long answers under way may take once the server ends.
const LAST_WORDS: Duration = Duration::from_millis(100);
/// A new number from the kernel's own source at each reading.
const RANDOM: &str = "/proc/sys/kernel/random/uuid";
/// Hexadecimal digits of a secret: 128 bits.
const SECRET_DIGITS: usize = 32;

/// What is asked of the server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    /// Where to listen: `127.0.0.1:8642`, `[::1]:0`, `localhost:8642`, `8642`.
    pub listen: String,
}

/// A server that has started.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Started {
    /// What to open in a browser; with the token where one is asked for.
    pub address: String,
    /// What is served.
    pub results: PathBuf,
    /// Whether others than this machine can reach it.
    pub open: bool,
}

/// Serves the results until INT, TERM or HUP.
///
/// # Errors
/// The user's mistake where the address is none; refused where it cannot be had.
pub fn serve(system: &dyn System, options: &Options, tell: &dyn Fn(&Started)) -> Outcome<()> {
    assay_sys::share_one_heap();
    let results = identity::results_directory(system)?;
    let listener = bound(address(&options.listen)?)?;
    let address = listener.local_addr().map_err(|error| failed(&error))?;
    let open = !address.ip().is_loopback();
    let token = open.then(|| token(system)).transpose()?;
    let guard = Guard { address, token };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|error| failed(&error))?;
    std::thread::scope(|scope| {
        let site = site(&results, &guard, Readers::start(scope, system));
        let ended = runtime.block_on(async {
            let signals = signals().map_err(|error| failed(&error))?;
            let listener = tokio::net::TcpListener::from_std(listener);
            let listener = listener.map_err(|error| failed(&error))?;
            tell(&started(&guard, &results, open));
            answer(listener, router(site), signals).await;
            Ok(())
        });
        // Tasks go with the runtime, and with them whoever asks the readers.
        runtime.shutdown_background();
        ended
    })
}

fn site(results: &Path, guard: &Guard, readers: Readers) -> Site {
    Site {
        results: results.to_owned(),
        guard: Arc::new(guard.clone()),
        lives: Lives::new(results, readers.clone()),
        catalogue: Arc::new(Catalogue::new(results)),
        readers,
        pages: Arc::default(),
    }
}

fn started(guard: &Guard, results: &Path, open: bool) -> Started {
    let token = guard.token.as_deref().map_or(String::new(), |token| format!("?token={token}"));
    let address = format!("http://{}/{token}", guard.shown());
    Started { address, results: results.to_owned(), open }
}

/// Answers until a signal comes.
async fn answer(listener: tokio::net::TcpListener, router: Router, mut signals: Signals) {
    let lines = Arc::new(Lines::default());
    tokio::spawn(sweep(Arc::clone(&lines)));
    let mut end = std::pin::pin!(signals.any());
    loop {
        let next = std::pin::pin!(listener.accept());
        match futures_util::future::select(&mut end, next).await {
            futures_util::future::Either::Left(_) => break,
            futures_util::future::Either::Right((Ok((stream, from)), _)) => {
                let hold = lines.join(from.ip(), Instant::now());
                tokio::spawn(connection(stream, router.clone(), Arc::new(hold)));
            }
            // Too many open files, or a browser that has gone: the next one may do better.
            futures_util::future::Either::Right((Err(error), _)) => {
                if error.kind() != io::ErrorKind::ConnectionAborted {
                    lines.make_room();
                    tokio::time::sleep(Duration::from_millis(50)).await;
                }
            }
        }
    }
    drop(listener);
    tokio::time::sleep(LAST_WORDS).await;
}

/// Ends connections that have used up their time.
async fn sweep(lines: Arc<Lines>) {
    loop {
        tokio::time::sleep(SWEEP).await;
        lines.sweep(Instant::now());
    }
}

/// Answers one browser.
async fn connection(stream: TcpStream, router: Router, hold: Arc<Hold>) {
    let mut builder = http1::Builder::new();
    builder.timer(TokioTimer::new()).header_read_timeout(lines::ASKING).max_buf_size(HEAD_BYTES);
    let (router, line) = (TowerToHyperService::new(router), Arc::clone(&hold));
    let service = service_fn(move |request| {
        line.set(Doing::Served);
        let (answer, line) = (router.call(request), Arc::clone(&line));
        async move {
            let answer = answer.await;
            line.set(Doing::Hearing);
            answer
        }
    });
    let gone = std::pin::pin!(hold.told_to_go());
    let served = builder.serve_connection(TokioIo::new(Counted::new(stream, hold)), service);
    // A connection that breaks is no news, and one that was told to go is dropped.
    let _ = futures_util::future::select(gone, std::pin::pin!(served)).await;
}

/// The signals that end the server.
struct Signals([tokio::signal::unix::Signal; 3]);

fn signals() -> io::Result<Signals> {
    let kinds = [SignalKind::interrupt(), SignalKind::terminate(), SignalKind::hangup()];
    let [one, two, three] = kinds.map(signal);
    Ok(Signals([one?, two?, three?]))
}

impl Signals {
    async fn any(&mut self) {
        let waits = self.0.iter_mut().map(|signal| Box::pin(signal.recv()));
        futures_util::future::select_all(waits).await;
    }
}

/// Where to listen.
fn address(text: &str) -> Outcome<SocketAddr> {
    let loopback = IpAddr::V4(Ipv4Addr::LOCALHOST);
    let named = text.strip_prefix("localhost:").and_then(|port| port.parse().ok());
    let port = named.or_else(|| text.parse().ok());
    text.parse().ok().or_else(|| port.map(|port| SocketAddr::new(loopback, port))).ok_or_else(
        || {
            Failure::mistake(format!(
                "--listen {text}: this is no address with a port: 127.0.0.1:8642 is one, and \
                 127.0.0.1:0 takes any free port"
            ))
        },
    )
}

fn bound(address: SocketAddr) -> Outcome<TcpListener> {
    let listener = TcpListener::bind(address).and_then(|listener| {
        listener.set_nonblocking(true)?;
        // What is accepted inherits it.
        sockopt::set_socket_send_buffer_size(&listener, SEND_BYTES)?;
        rustix::net::listen(&listener, BACKLOG)?;
        Ok(listener)
    });
    listener.map_err(|error| {
        let advice = match error.kind() {
            io::ErrorKind::AddrInUse => {
                "another program listens there: end it, or choose a free port with --listen 127.0.0.1:0"
            }
            io::ErrorKind::PermissionDenied => "choose a port above 1023",
            io::ErrorKind::AddrNotAvailable => "this machine has no such address",
            _ => "choose another address with --listen",
        };
        Failure::refused(format!("{address} cannot be listened to: {error}; {advice}"))
    })
}

fn failed(error: &io::Error) -> Failure {
    Failure::refused(format!("the server cannot start: {error}"))
}

/// A secret that nobody guesses.
fn token(system: &dyn System) -> Outcome<String> {
    let read = || {
        system.read_text(Path::new(RANDOM)).map_err(|error| {
            Failure::refused(format!(
                "no secret can be made ({RANDOM}: {error}): listen on 127.0.0.1 instead"
            ))
        })
    };
    let digest = hexadecimal(&sha256(format!("{}{}", read()?, read()?)));
    Ok(digest.chars().take(SECRET_DIGITS).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use assay_runner::real::Real;
    use assay_system::system::Fake;

    #[test]
    fn addresses() {
        for (text, expected) in [
            ("127.0.0.1:8642", "127.0.0.1:8642"),
            ("localhost:80", "127.0.0.1:80"),
            ("8642", "127.0.0.1:8642"),
            ("[::1]:0", "[::1]:0"),
            ("0.0.0.0:1", "0.0.0.0:1"),
        ] {
            assert_eq!(address(text).unwrap(), expected.parse().unwrap(), "{text}");
        }
        for bad in ["", "localhost", "127.0.0.1", "127.0.0.1:99999", "evil.example:80", "-1"] {
            assert!(address(bad).unwrap_err().message.contains("127.0.0.1:8642"), "{bad}");
        }
    }

    #[test]
    fn secrets_differ_and_need_their_source() {
        let [one, other] = [(); 2].map(|()| token(&Real::new()).unwrap());
        assert_ne!(one, other);
        assert_eq!(one.len(), 32);
        assert!(token(&Fake::new()).unwrap_err().message.contains("127.0.0.1"));
    }
}
