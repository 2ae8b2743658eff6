//! Bytes through streams: as many as the link takes, one thread for all streams of a direction.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use assay_machine::system::network::SLICE_NS;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::net::sockopt;

const CHUNK: usize = 64 << 10;
const LOOK_NS: i64 = 50_000_000;

#[derive(Clone, Copy)]
pub struct PumpSpan {
    pub began: Instant,
    pub until: Instant,
    pub slices: usize,
    pub most: Option<u64>,
}

impl PumpSpan {
    /// Time to rest to stay below the rate.
    fn pause(&self, bytes: u64) -> Duration {
        let Some(most) = self.most else { return Duration::ZERO };
        let due = Duration::from_secs_f64(bytes as f64 / most.max(1) as f64);
        due.saturating_sub(self.began.elapsed()).min(Duration::from_nanos(LOOK_NS as u64))
    }

    fn is_over(&self, stop: &AtomicBool) -> bool {
        Instant::now() >= self.until || stop.load(Ordering::Relaxed)
    }
}

/// Waits a moment; returns the indices of the streams that can send or receive.
fn ready_streams(streams: &[(usize, &TcpStream)], flags: PollFlags) -> Vec<usize> {
    let mut polled: Vec<PollFd<'_>> =
        streams.iter().map(|(_, stream)| PollFd::new(*stream, flags)).collect();
    let time = Timespec { tv_sec: 0, tv_nsec: LOOK_NS };
    if poll(&mut polled, Some(&time)).is_err() {
        return Vec::new();
    }
    let found = polled.iter().zip(streams).filter(|(fd, _)| !fd.revents().is_empty());
    found.map(|(_, (index, _))| *index).collect()
}

/// Sends over all streams as fast as they and the limit of `course` permit.
pub fn send(streams: &[TcpStream], span: &PumpSpan, stop: &AtomicBool) {
    // Random bytes (xorshift): compression on the way has no effect.
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state as u8
    };
    let chunk: Vec<u8> = (0..CHUNK).map(|_| next()).collect();
    let mut alive: Vec<(usize, &TcpStream)> = streams.iter().enumerate().collect();
    let mut sent = 0;
    while !alive.is_empty() && !span.is_over(stop) {
        for index in ready_streams(&alive, PollFlags::OUT) {
            let mut stream = &streams[index];
            match stream.write(&chunk) {
                Ok(bytes) => sent += bytes as u64,
                Err(error) if super::wire::is_for_now(&error) => {}
                Err(_) => alive.retain(|(own, _)| *own != index),
            }
        }
        thread::sleep(span.pause(sent));
    }
}

/// Receives from all streams until the end; returns the bytes per slice of time.
pub fn receive(streams: &[TcpStream], span: &PumpSpan, stop: &AtomicBool) -> Vec<u64> {
    let mut slices = vec![0; span.slices];
    let mut chunk = vec![0; CHUNK];
    let mut alive: Vec<(usize, &TcpStream)> = streams.iter().enumerate().collect();
    let mut received = 0;
    while !alive.is_empty() && !span.is_over(stop) {
        for index in ready_streams(&alive, PollFlags::IN) {
            let mut stream = &streams[index];
            match stream.read(&mut chunk) {
                Ok(bytes @ 1..) => {
                    let slice = span.began.elapsed().as_nanos() as u64 / SLICE_NS;
                    if let Some(slice) = slices.get_mut(slice as usize) {
                        *slice += bytes as u64;
                    }
                    received += bytes as u64;
                }
                Err(error) if super::wire::is_for_now(&error) => {}
                Ok(0) | Err(_) => alive.retain(|(own, _)| *own != index),
            }
        }
        thread::sleep(span.pause(received));
    }
    slices
}

pub fn cut_off(stream: &TcpStream) {
    // On failure, the kernel still sends queued data, for which the next phase waits.
    let _ = sockopt::set_socket_linger(stream, Some(Duration::ZERO));
}
