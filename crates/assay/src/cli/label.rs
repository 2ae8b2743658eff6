//! `assay note`: words that the user adds to a result, and labels of trials that were recorded.

use clap::Args;

use super::{output, recorded};
use crate::store;
use assay_core::failure::Outcome;
use assay_machine::system::System;
use assay_study::results::bundle;
use assay_workloads::recorded::{RecordLabels, kind, named};

const EXAMPLES: &str = "\
Examples:
  assay note 20261120-1031 \"with the new cable\"
  assay note 20261120-1031 --title \"SanDisk card, slot 2\"
  assay note 20261120-1031 --platform \"KVM, 2 CPUs\"";

fn labels() -> Option<&'static RecordLabels> {
    kind().map(|(_, recording)| &recording.labels)
}

fn about() -> String {
    let of_trials = labels().map_or_else(String::new, |labels| format!("; {}", labels.about));
    format!("Add a note, title or platform name to a result{of_trials}")
}

fn long_about() -> String {
    labels().map_or_else(about, |labels| format!("{}\n\n{}", about(), labels.text))
}

fn ids() -> String {
    let of_trials = labels().map_or_else(String::new, |labels| format!("; {}", labels.ids));
    format!("{}{of_trials}", super::ID)
}

fn examples() -> String {
    let of_trials = labels().into_iter().flat_map(|labels| labels.examples).copied();
    std::iter::once(EXAMPLES).chain(of_trials).collect::<Vec<_>>().join("\n  ")
}

#[derive(Debug, Args)]
#[command(about = about(), long_about = long_about(), after_help = examples())]
pub struct NoteArguments {
    #[arg(value_name = "ID", help = ids())]
    result: String,
    /// Text of the note
    #[arg(required_unless_present_any = ["platform", "title"])]
    text: Option<String>,
    /// Set the title
    #[arg(long, value_name = "TEXT")]
    title: Option<String>,
    /// Name the platform (empty text restores the detected name)
    #[arg(long, value_name = "NAME")]
    platform: Option<String>,
}

pub fn note(system: &dyn System, arguments: NoteArguments) -> Outcome<()> {
    if let Some((entry, recording, which)) = named(&arguments.result) {
        let more = arguments.platform.is_some() || arguments.title.is_some();
        let Some(text) = arguments.text.filter(|_| !more) else {
            return Err(mistake!(
                "a {} can have only a label; remove --platform and --title",
                recording.one
            ));
        };
        return recorded::note(system, entry, recording, which, &text);
    }
    let directory = store::find(system, Some(&arguments.result))?;
    let mut label = bundle::label(system, &directory);
    label.notes.extend(arguments.text);
    if arguments.title.is_some() {
        label.title = arguments.title;
    }
    if let Some(name) = arguments.platform {
        label.place = Some(name.trim().to_owned()).filter(|name| !name.is_empty());
    }
    bundle::set_label(system, &directory, &label)?;
    output::message(&format!("{} changed", directory.display()));
    Ok(())
}
