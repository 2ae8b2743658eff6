//! `assay serve`: all results in a browser.

use clap::Args;

use super::output;
use crate::web::{self, Options, Started};
use assay_base::failure::Outcome;
use assay_system::system::System;

/// All results in a browser, and running studies live
///
/// Nothing can be changed from the browser. Only this machine can reach the server; where it
/// listens on another address, the printed one carries a secret that is asked for.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  assay serve                           open http://127.0.0.1:8642/ in a browser
  assay serve --listen 127.0.0.1:0      on any free port, which is printed
  assay serve --listen 0.0.0.0:8642     for others, too: who has the secret can read")]
pub struct Arguments {
    /// Address and port to listen on
    #[arg(long, value_name = "ADDRESS:PORT", default_value = "127.0.0.1:8642")]
    listen: String,
}

pub fn run(system: &dyn System, arguments: &Arguments) -> Outcome<()> {
    let options = Options { listen: arguments.listen.clone() };
    web::serve(system, &options, &tell)
}

fn tell(started: &Started) {
    output::text(&started.address);
    let results = started.results.display();
    output::message(&format!("serving the results in {results}, read only; Ctrl-C ends it"));
    if started.open {
        output::message(
            "others can reach this address: whoever has the secret in it can read all results, \
             and what is sent is not encrypted",
        );
    }
}
