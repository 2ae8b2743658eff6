//! Keys of a durability workload.

use assay_core::catalogue::keys::Form;
use assay_core::quantity::{Bytes, Time};
use serde::{Deserialize, Serialize};

use super::{LARGEST, LARGEST_UNIT, MOST_CUTS};
use crate::durability::below::On;
use crate::durability::drive::Drive;
use crate::durability::grade::Method;
use crate::durability::log::SECTOR_BYTES;
use crate::durability::pattern::Pattern;
use crate::durability::sync::Sync;
use crate::keys::{choice, keys, work};

pub(super) const USUAL_CUTS: u64 = 1000;
const LEAST_MEMORY: Bytes = Bytes(256 << 20);
const MOST_CPUS: u64 = 255;
const MOST_PROMISES: u32 = 100_000;
/// The level of `vm_mount_options` that adds no option.
const NO_OPTIONS: &str = "defaults";
const PEER: &str = "address of the `assay peer` that records acknowledged writes for method plug";

keys! {
    #[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
    #[serde(default, deny_unknown_fields, rename_all = "snake_case")]
    pub struct DurabilitySpec {
        writer: Pattern = Pattern::Log => {
            words: "write method of the program: log, in-place, transaction, files or command",
            form: Form::Word(Pattern::names),
            example: "writer = \"log\"",
            factor: work(
                "`log`: append one to four records, then sync; `in-place`: overwrite one to four \
                 records, then sync; `transaction`: write four blocks to a log, sync, write a commit \
                 block, sync, and write the blocks to their final locations. On a filesystem in a \
                 virtual machine also `files` (create, replace by rename, move and remove files; sync \
                 each file and the directory) and `command` (run your command, then your check).",
                "[\"log\", \"in-place\", \"transaction\"]",
                |own, text| Ok(own.writer = Pattern::parse(text)?),
            ),
        }
        sync: Sync = Sync::Fdatasync => {
            words: "sync method: fdatasync, fsync, o_dsync or none",
            form: Form::Word(Sync::names),
            example: "sync = \"fdatasync\"",
            factor: work(
                "`fdatasync` or `fsync` after the writes; `o_dsync`: O_DSYNC on each write (through the \
                 page cache, a write and a flush); `none`: no sync, and therefore no acknowledged writes.",
                "[\"none\", \"fdatasync\", \"o_dsync\"]",
                |own, text| Ok(own.sync = Sync::parse(text)?),
            ),
        }
        record_size: Bytes = Bytes(4096) => {
            words: "size of a record or block, or maximum size of a file",
            form: Form::Size { least: Bytes(SECTOR_BYTES), most: LARGEST },
            example: "record_size = \"4 KiB\"",
            factor: choice(
                "An amount with a unit, a multiple of 512 bytes.",
                "[\"512 B\", \"4 KiB\", \"16 KiB\"]",
                |own, text| Ok(own.record_size = text.parse()?),
            ),
        }
        acknowledged_writes: u32 = 1000 => {
            words: "maximum acknowledged writes per trial within the runtime (default: 1000)",
            form: Form::Whole { least: 1, most: MOST_PROMISES as u64 },
            example: "acknowledged_writes = 1000",
        }
        crash_points: u64 = USUAL_CUTS => {
            words: "crash points per trial (default: 1000); no loss at 60 crash points means that at most 4.88% of crashes \
                    lose data (95% confidence); at 1000, at most 0.3%",
            form: Form::Whole { least: 1, most: MOST_CUTS },
            example: "crash_points = 3000",
        }
        assumed_drive: Drive = Drive::HonorsFlushes => {
            words: "assumed drive behavior on power loss: honors flushes, or has a fault",
            form: Form::Word(Drive::names),
            example: "assumed_drive = \"honors-flushes\"",
            factor: work(
                "`honors-flushes`: flushed writes survive; other writes may survive in any order. Faults: \
                 `drops-flushes`, `acknowledges-early` (a flush returns before the data is written), `tears-writes` \
                 (tears the current write at 512 bytes), `reorders-writes` (a write passes a flush), `loses-last` (loses \
                 the last four writes), `returns-stale` (some blocks return older data after the restart).",
                "[\"honors-flushes\", \"drops-flushes\"]",
                |own, text| Ok(own.assumed_drive = Drive::parse(text)?),
            ),
        }
        atomic_write_unit: Bytes = Bytes(4096) => {
            words: "assumed atomic write unit of the drive",
            form: Form::Size { least: Bytes(SECTOR_BYTES), most: LARGEST_UNIT },
            example: "atomic_write_unit = \"512 B\"",
            factor: work(
                "An amount with a unit, a multiple of 512 bytes: 4 KiB for most drives, 512 bytes for \
                 drives without a larger guarantee. Writes that span two aligned units can tear.",
                "[\"512 B\", \"4 KiB\"]",
                |own, text| Ok(own.atomic_write_unit = text.parse()?),
            ),
        }
        #[serde(skip_serializing_if = "assay_core::json::is_default")]
        method: Method = Method::Replay => {
            words: "crash method: replay, kill or plug",
            form: Form::Word(Method::names),
            example: "method = \"kill\"",
            factor: work(
                "`replay`: record writes and flushes in a log, and crash the log at each crash point. \
                 `kill`: kill a virtual machine whose drive has a volatile cache, and read the data in a \
                 new one. `plug`: you cut the power of this machine when asked, once per trial; a `peer` \
                 records acknowledged writes, and `assay resume` evaluates the trial after the restart.",
                "[\"replay\", \"kill\", \"plug\"]",
                |own, text| Ok(own.method = Method::parse(text)?),
            ),
        }
        #[serde(skip_serializing_if = "assay_core::json::is_default")]
        write_to: On = On::Target => {
            words: "where to write: target, drive, ext4, xfs or btrfs",
            form: Form::Word(On::names),
            example: "write_to = \"ext4\"",
            factor: work(
                "`target`: the target of the study, with crash points in Assay's log. In a virtual machine, with \
                 the log below the guest kernel: `drive` (the whole drive), or a file on `ext4`, `xfs` or `btrfs`.",
                "[\"drive\", \"ext4\", \"xfs\", \"btrfs\"]",
                |own, text| Ok(own.write_to = On::parse(text)?),
            ),
        }
        #[serde(skip_serializing_if = "String::is_empty")]
        vm_mount_options: String = String::new() => {
            words: "mount options of the filesystem in the virtual machine",
            form: Form::Text,
            example: "vm_mount_options = \"nobarrier\"",
            factor: work(
                "As for `mount -o`. With `nobarrier`, ext4 and btrfs send no flushes; `defaults` adds no option.",
                "[\"defaults\", \"nobarrier\"]",
                |own, text| {
                    let options = if text == NO_OPTIONS { "" } else { text };
                    Ok(options.clone_into(&mut own.vm_mount_options))
                },
            ),
        }
        #[serde(skip_serializing_if = "assay_core::json::is_default")]
        peer: Option<String> = None => {
            words: PEER,
            form: Form::Text,
            example: "peer = \"192.168.1.2:7710\"",
        }
        #[serde(skip_serializing_if = "assay_core::json::is_default")]
        writer_command: Option<String> = None => {
            words: "shell command that writes to its directory on the filesystem until the command exits or the runtime ends; \
                    each printed line acknowledges a durable write",
            form: Form::Text,
            example: "writer_command = \"my-db --fill\"",
        }
        #[serde(skip_serializing_if = "assay_core::json::is_default")]
        check_command: Option<String> = None => {
            words: "shell command to run in the writer's directory after each crash, with the printed lines in the file \
                    $ASSAY_ACKNOWLEDGED; exit code 0 means no loss",
            form: Form::Text,
            example: "check_command = \"my-db --verify\"",
        }
        #[serde(skip_serializing_if = "assay_core::json::is_default")]
        check_timeout: Option<Time> = None => {
            words: "maximum run time of a check (default: 60 s); a check that takes longer is inconclusive and ends the trial",
            form: Form::Time { least: Time(1_000_000) },
            example: "check_timeout = \"10 s\"",
        }
        #[serde(skip_serializing_if = "assay_core::json::is_default")]
        needs: Vec<String> = Vec::new() => {
            words: "names or paths of host programs and files that the command and the check need; Assay copies these to \
                    /usr/bin in the virtual machine",
            form: Form::Words,
            example: "needs = [\"sqlite3\", \"./my-check.sh\"]",
        }
        #[serde(skip_serializing_if = "assay_core::json::is_default")]
        vm_memory: Option<Bytes> = None => {
            words: "memory of each virtual machine; 1 GiB by default",
            form: Form::Size { least: LEAST_MEMORY, most: Bytes(1 << 50) },
            example: "vm_memory = \"2 GiB\"",
        }
        #[serde(skip_serializing_if = "assay_core::json::is_default")]
        vm_cpus: Option<u32> = None => {
            words: "CPUs of each virtual machine; 2 by default",
            form: Form::Whole { least: 1, most: MOST_CPUS },
            example: "vm_cpus = 4",
        }
        #[serde(skip_serializing_if = "assay_core::json::is_default")]
        vm_kernel: Option<String> = None => {
            words: "directory of an unpacked kernel package, with boot and lib/modules; by default the newest kernel in /boot",
            form: Form::Text,
            example: "vm_kernel = \"/var/tmp/linux-image\"",
        }
        #[serde(skip_serializing_if = "Option::is_none")]
        runtime: Option<Time> = None => {
            words: "maximum write time (default: 10 s; for method plug: 5 min after the request to cut the power)",
            form: Form::Time { least: Time(1) },
            example: "runtime = \"30 s\"",
        }
    }
    factors {
        "crash_points", "crash points per trial" => work(
            "No loss at 60 crash points means at most 4.88% (95% confidence), at 1000 at most 0.3%. Method kill starts \
             one virtual machine per crash point. Method plug has one crash per trial; increase replicates \
             instead for more.",
            "[\"20\", \"60\"]",
            |own, text| {
                let count = text.parse().ok().filter(|count| (1..=MOST_CUTS).contains(count));
                own.crash_points =
                    count.ok_or_else(|| format!("`{text}` is not a number of crash points"))?;
                Ok(())
            },
        ),
        "peer", PEER => work(
            "`HOST:PORT`, with an IPv6 address in brackets. Both machines need the same token, in \
             ASSAY_PEER_TOKEN or in the file named by ASSAY_PEER_TOKEN_FILE.",
            "[\"192.168.1.2:7710\"]",
            |own, text| Ok(own.peer = Some(text.to_owned())),
        ),
    }
}
