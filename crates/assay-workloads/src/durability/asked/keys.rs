//! Keys of a durability workload, and what of them may vary.

use assay_core::catalogue::keys::{Fields, Form, field};
use assay_core::quantity::{Bytes, Time};

use super::{Asked, LARGEST, LARGEST_UNIT, MOST_CUTS};
use crate::durability::below::On;
use crate::durability::drive::Drive;
use crate::durability::grade::Grade;
use crate::durability::log::SECTOR_BYTES;
use crate::durability::pattern::Pattern;
use crate::durability::sync::Sync;
use crate::kind::OwnParameter;

const LEAST_MEMORY: Bytes = Bytes(256 << 20);
const MOST_CPUS: u64 = 255;
const MOST_PROMISES: u32 = 100_000;

/// The parameters that may be factors: `writer`, `sync`, `record_size`, `assumed_drive`, `atomic_write_unit`, `method`, `write_to`,
/// `vm_mount_options`, `crash_points`, `peer`.
pub const FACTORS: [OwnParameter<Asked>; 10] = [
    OwnParameter::new(
        [
            "writer",
            "write method of the program: log, in-place, transaction, files or command",
            "`log`: append one to four records, then sync; `in-place`: overwrite one to four \
             records, then sync; `transaction`: write four blocks to a log, sync, write a commit \
             block, sync, and write the blocks to their final locations. On a filesystem in a \
             virtual machine also `files` (create, replace by rename, move and remove files; sync \
             each file and the directory) and `command` (run your command, then your check).",
        ],
        "[\"log\", \"in-place\", \"transaction\"]",
        true,
        |own, text| own.set("writer", text),
    ),
    OwnParameter::new(
        [
            "sync",
            "sync method: fdatasync, fsync, o_dsync or none",
            "`fdatasync` or `fsync` after the writes; `o_dsync`: O_DSYNC on each write (through the \
             page cache, a write and a flush); `none`: no sync, and therefore no acknowledged writes.",
        ],
        "[\"none\", \"fdatasync\", \"o_dsync\"]",
        true,
        |own, text| own.set("sync", text),
    ),
    OwnParameter::new(
        [
            "record_size",
            "size of a record or block, or maximum size of a file",
            "An amount with a unit, a multiple of 512 bytes.",
        ],
        "[\"512 B\", \"4 KiB\", \"16 KiB\"]",
        false,
        |own, text| own.set("record_size", text),
    ),
    OwnParameter::new(
        [
            "assumed_drive",
            "assumed drive behavior on power loss: honors flushes, or has a fault",
            "`honors-flushes`: flushed writes survive; other writes may survive in any order. Faults: \
             `drops-flushes`, `acknowledges-early` (a flush returns before the data is written), `tears-writes` \
             (tears the current write at 512 bytes), `reorders-writes` (a write passes a flush), `loses-last` (loses \
             the last four writes), `returns-stale` (some blocks return older data after the restart).",
        ],
        "[\"honors-flushes\", \"drops-flushes\"]",
        true,
        |own, text| own.set("assumed_drive", text),
    ),
    OwnParameter::new(
        [
            "atomic_write_unit",
            "assumed atomic write unit of the drive",
            "An amount with a unit, a multiple of 512 bytes: 4 KiB for most drives, 512 bytes for \
             drives without a larger guarantee. Writes that span two aligned units can tear.",
        ],
        "[\"512 B\", \"4 KiB\"]",
        true,
        |own, text| own.set("atomic_write_unit", text),
    ),
    OwnParameter::new(
        [
            "method",
            "crash method: replay, kill or plug",
            "`replay`: record writes and flushes in a log, and crash the log at each crash point. \
             `kill`: kill a virtual machine whose drive has a volatile cache, and read the data in a \
             new one. `plug`: you cut the power of this machine when asked, once per trial; a `peer` \
             records acknowledged writes, and `assay resume` evaluates the trial after the restart.",
        ],
        "[\"replay\", \"kill\", \"plug\"]",
        true,
        |own, text| own.set("method", text),
    ),
    OwnParameter::new(
        [
            "write_to",
            "where to write: target, drive, ext4, xfs or btrfs",
            "`target`: the target of the study, with crash points in Assay's log. In a virtual machine, with \
             the log below the guest kernel: `drive` (the whole drive), or a file on `ext4`, `xfs` or `btrfs`.",
        ],
        "[\"drive\", \"ext4\", \"xfs\", \"btrfs\"]",
        true,
        |own, text| own.set("write_to", text),
    ),
    OwnParameter::new(
        [
            "vm_mount_options",
            "mount options of the filesystem in the virtual machine",
            "As for `mount -o`. With `nobarrier`, ext4 and btrfs send no flushes; `defaults` adds no option.",
        ],
        "[\"defaults\", \"nobarrier\"]",
        true,
        |own, text| own.set("vm_mount_options", text),
    ),
    OwnParameter::new(
        [
            "crash_points",
            "crash points per trial",
            "No loss at 60 crash points means at most 4.88% (95% confidence), at 1000 at most 0.3%. Method kill starts \
             one virtual machine per crash point. Method plug has one crash per trial; increase replicates \
                 instead for more.",
        ],
        "[\"20\", \"60\"]",
        true,
        |own, text| own.set("crash_points", text),
    ),
    OwnParameter::new(
        [
            "peer",
            "address of the `assay peer` that records acknowledged writes for method plug",
            "`HOST:PORT`, with an IPv6 address in brackets. Both machines need the same token, in \
             ASSAY_PEER_TOKEN or in the file named by ASSAY_PEER_TOKEN_FILE.",
        ],
        "[\"192.168.1.2:7710\"]",
        true,
        |own, text| own.set("peer", text),
    ),
];

pub static KEYS: Fields = Fields {
    label: "durability",
    rows: &[
        FACTORS[0].key(Form::Word(Pattern::names), "writer = \"log\""),
        FACTORS[1].key(Form::Word(Sync::names), "sync = \"fdatasync\""),
        FACTORS[2].key(
            Form::Size { least: Bytes(SECTOR_BYTES), most: LARGEST },
            "record_size = \"4 KiB\"",
        ),
        field(
            "acknowledged_writes",
            Form::Whole { least: 1, most: MOST_PROMISES as u64 },
            "maximum acknowledged writes per trial within the runtime (default: 1000)",
            "acknowledged_writes = 1000",
        ),
        field(
            "crash_points",
            Form::Whole { least: 1, most: MOST_CUTS },
            "crash points per trial (default: 1000); no loss at 60 crash points means that at most 4.88% of crashes \
             lose data (95% confidence); at 1000, at most 0.3%",
            "crash_points = 3000",
        ),
        FACTORS[3].key(Form::Word(Drive::names), "assumed_drive = \"honors-flushes\""),
        FACTORS[4].key(
            Form::Size { least: Bytes(SECTOR_BYTES), most: LARGEST_UNIT },
            "atomic_write_unit = \"512 B\"",
        ),
        FACTORS[5].key(Form::Word(Grade::names), "method = \"kill\""),
        FACTORS[6].key(Form::Word(On::names), "write_to = \"ext4\""),
        FACTORS[7].key(Form::Text, "vm_mount_options = \"nobarrier\""),
        FACTORS[9].key(Form::Text, "peer = \"192.168.1.2:7710\""),
        field(
            "writer_command",
            Form::Text,
            "shell command that writes to its directory on the filesystem until the command exits or the runtime ends; \
             each printed line acknowledges a durable write",
            "writer_command = \"my-db --fill\"",
        ),
        field(
            "check_command",
            Form::Text,
            "shell command to run in the writer's directory after each crash, with the printed lines in the file \
             $ASSAY_ACKNOWLEDGED; exit code 0 means no loss",
            "check_command = \"my-db --verify\"",
        ),
        field(
            "check_timeout",
            Form::Time { least: Time(1_000_000) },
            "maximum run time of a check (default: 60 s); a check that takes longer is inconclusive and ends the trial",
            "check_timeout = \"10 s\"",
        ),
        field(
            "needs",
            Form::Words,
            "names or paths of host programs and files that the command and the check need; Assay copies these to \
             /usr/bin in the virtual machine",
            "needs = [\"sqlite3\", \"./my-check.sh\"]",
        ),
        field(
            "vm_memory",
            Form::Size { least: LEAST_MEMORY, most: Bytes(1 << 50) },
            "memory of each virtual machine; 1 GiB by default",
            "vm_memory = \"2 GiB\"",
        ),
        field(
            "vm_cpus",
            Form::Whole { least: 1, most: MOST_CPUS },
            "CPUs of each virtual machine; 2 by default",
            "vm_cpus = 4",
        ),
        field(
            "vm_kernel",
            Form::Text,
            "directory of an unpacked kernel package, with boot and lib/modules; by default the newest kernel in /boot",
            "vm_kernel = \"/var/tmp/linux-image\"",
        ),
        field(
            "runtime",
            Form::Time { least: Time(1) },
            "maximum write time (default: 10 s; for method plug: 5 min after the request to cut the power)",
            "runtime = \"30 s\"",
        ),
    ],
};
