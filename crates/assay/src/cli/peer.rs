//! `assay peer`: the other end for studies of a network link.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use clap::Args;

use super::output;
use assay_core::failure::{Failure, Outcome};
use assay_core::quantity::Time;
use assay_machine::system::System;
use assay_machine::system::network::{BitRate, protocol, token};
use assay_runner::real::link::peer::{Peer, PeerLimits};
use assay_runner::real::signals;

/// Serve network and power-loss tests of another machine
///
/// The peer waits for an assay process with the same token, echoes datagrams and generates load on the link. For
/// power-loss studies (durability with method = "plug"), the peer counts acknowledged writes in memory: up to 256
/// trials, each for one day. The peer listens on loopback by default, and cannot be used to attack others: it answers
/// only the sender, never with more bytes than received, and enforces rate limits. The token is in a private file or
/// in ASSAY_PEER_TOKEN, never on the command line.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  assay peer --token-file token                   for tests on this machine
  assay peer --listen 192.168.1.2:7710 --token-file token      for another host
  assay peer --listen [::]:7710 --duration 2h     all addresses, for two hours

Create a token: (umask 077; head -c 24 /dev/urandom | base64 > token)")]
pub struct PeerArguments {
    /// Listen on this address (TCP and UDP)
    #[arg(long, value_name = "ADDRESS:PORT", default_value = "127.0.0.1:7710")]
    listen: String,
    /// Read the token from this private file
    #[arg(long, value_name = "FILE")]
    token_file: Option<PathBuf>,
    /// Exit after this time
    #[arg(long, value_name = "DURATION", default_value = "24h")]
    duration: String,
    /// Limit the rate per direction
    #[arg(long, value_name = "RATE", default_value = "10 Gbit/s")]
    max_rate: String,
}

pub fn run(system: &dyn System, arguments: &PeerArguments) -> Outcome<()> {
    let address: SocketAddr = arguments.listen.parse().map_err(|_| {
        mistake!(
            "--listen {}: use the form 192.168.1.2:{}, with an IPv6 address in brackets",
            arguments.listen,
            protocol::PORT
        )
    })?;
    let time: Time = arguments.duration.parse().map_err(|error| mistake!("--duration: {error}"))?;
    let most: BitRate =
        arguments.max_rate.parse().map_err(|error| mistake!("--max-rate: {error}"))?;
    let token = match &arguments.token_file {
        Some(file) => token::in_file(system, file),
        None => token::of_environment(system),
    };
    let token = token.map_err(Failure::mistake)?;
    let limits = PeerLimits { bytes_per_s: (most.0 / 8).max(1) };
    let refused = |error| refused!("cannot listen on {address}: {error}");
    let peer = Peer::bind(address, token, limits).map_err(refused)?;
    let bound = peer.address().map_err(refused)?;
    // A second signal ends the process.
    let interrupted = signals::catch(|times| (times > 1).then_some(130))
        .map_err(|error| refused!("cannot catch signals: {error}"))?;
    output::text(&format!("listening on {bound}; press Ctrl-C to stop\n"));
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let until_ns = system.monotonic_ns().saturating_add(time.ns());
            while !interrupted.load(Ordering::Relaxed) && system.monotonic_ns() < until_ns {
                system.sleep(Duration::from_millis(100));
            }
            stop.store(true, Ordering::Relaxed);
        });
        peer.serve(&stop);
    });
    Ok(())
}
