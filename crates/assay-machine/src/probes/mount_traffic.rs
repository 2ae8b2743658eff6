//! Network traffic of an NFS or SMB mount, from the client's counters: such a mount has no block device with counters.

use std::path::Path;

use crate::system::site::{Mount, Site};
use crate::system::{System, mounts, sysfs};
use assay_core::{catalogue::About, presence::Presence};
use serde::{Deserialize, Serialize};

use super::look::{Entry, Moment, Presentation, Probe, Scene, Unit, field, not_recorded};

pub static PROBE: Entry = Entry {
    about: About {
        name: "mount-traffic",
        summary: "network bytes of an NFS or SMB mount",
        text: "Reads the bytes that the client exchanged with the server: for NFS from /proc/self/mountstats, for SMB \
               from /proc/fs/cifs/Stats if the kernel provides it. Assay reads them just before and after the run, and \
               after write-back completes. Trust rules compare these bytes, instead of device counters, with the bytes \
               that the workload reports. The server's cache is invisible to Assay. Cost: one small file read per \
               reading. Needs no privileges.",
    },
    fields: &[
        field("run.read_bytes", Unit::Bytes, "bytes received from the server during the run"),
        field("run.write_bytes", Unit::Bytes, "bytes sent to the server during the run"),
        field(
            "settle.read_bytes",
            Unit::Bytes,
            "bytes received after the run, until write-back completes",
        ),
        field("settle.write_bytes", Unit::Bytes, "bytes sent during write-back after the run"),
    ],
    rules: &["cached", "device-bytes", "compressed"],
    presentation: Presentation::Tailored,
    here: None,
};

const NFS_STATISTICS: &str = "/proc/self/mountstats";
const SMB_STATISTICS: &str = "/proc/fs/cifs/Stats";
/// Index of the bytes received from and sent to the server in the line `bytes:`.
const NFS_READ: usize = 4;
const NFS_WRITTEN: usize = 5;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct MountBytes {
    pub read_bytes: u64,
    pub write_bytes: u64,
}

impl MountBytes {
    fn since(self, earlier: Self) -> Self {
        Self {
            read_bytes: self.read_bytes.saturating_sub(earlier.read_bytes),
            write_bytes: self.write_bytes.saturating_sub(earlier.write_bytes),
        }
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct MountTraffic {
    /// From the first submission to the last completion.
    pub run: MountBytes,
    /// After that, until everything written was on the server.
    pub settle: MountBytes,
}

#[derive(Default)]
pub struct MountObservation(Vec<Presence<MountBytes>>);

impl Probe for MountObservation {
    type Observed = MountTraffic;
    const MOMENTS: &'static [Moment] = &[Moment::BeforeRun, Moment::AfterRun, Moment::Settled];

    fn look(&mut self, _moment: Moment, scene: &Scene<'_>) {
        if let Some((mount, kind)) = counted_mount(scene.site) {
            self.0.push(read(scene.system, mount, kind));
        }
    }

    fn observed(&mut self, scene: &Scene<'_>) -> Presence<Self::Observed> {
        let readings = std::mem::take(&mut self.0);
        if counted_mount(scene.site).is_none() {
            return not_recorded();
        }
        let [before, after, settled] = &readings[..] else {
            return Presence::absent("Assay could not read the mount's counters each time");
        };
        let run = before.both(after, |before, after| after.since(*before));
        let settle = after.both(settled, |after, settled| settled.since(*after));
        run.both(&settle, |run, settle| MountTraffic { run: *run, settle: *settle })
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum MountKind {
    Nfs,
    Smb,
}

/// The mount of a target, if its client counts network traffic.
fn counted_mount(site: &Site) -> Option<(&Mount, MountKind)> {
    let mount = site.mount.value()?;
    match mount.filesystem.as_str() {
        "nfs" | "nfs4" => Some((mount, MountKind::Nfs)),
        "cifs" | "smb3" => Some((mount, MountKind::Smb)),
        _ => None,
    }
}

fn read(system: &dyn System, mount: &Mount, kind: MountKind) -> Presence<MountBytes> {
    let path = match kind {
        MountKind::Nfs => NFS_STATISTICS,
        MountKind::Smb => SMB_STATISTICS,
    };
    let text = match system.read_text(Path::new(path)) {
        Ok(text) => text,
        Err(error) => return Presence::absent(format!("{path} is {}", sysfs::reason(&error))),
    };
    let found = match kind {
        MountKind::Nfs => nfs_bytes(&text, mount),
        MountKind::Smb => smb_bytes(&text, mount),
    };
    Presence::from_option(found, format!("{path} does not report the bytes of this mount"))
}

/// Parses `device SERVER:/EXPORT mounted on POINT with fstype nfs4 ...` and the line `bytes:` below it. The last mount
/// on the point counts, because it hides earlier ones.
fn nfs_bytes(text: &str, mount: &Mount) -> Option<MountBytes> {
    let mut found = None;
    let mut in_mount = false;
    for line in text.lines() {
        if let Some(rest) = line.strip_prefix("device ") {
            let place = rest.split_once(" mounted on ").map(|(_, place)| place);
            let named = place.and_then(|place| place.rsplit_once(" with fstype "));
            in_mount = named.is_some_and(|(point, kind)| {
                Path::new(&mounts::unescape(point)) == mount.point && kind.starts_with("nfs")
            });
        } else if let Some(numbers) = line.trim_start().strip_prefix("bytes:").filter(|_| in_mount)
        {
            let numbers: Vec<u64> = numbers.split_whitespace().flat_map(str::parse).collect();
            let counts = numbers.get(NFS_READ).zip(numbers.get(NFS_WRITTEN));
            found =
                counts.map(|(&read_bytes, &write_bytes)| MountBytes { read_bytes, write_bytes });
        }
    }
    found
}

/// Parses `1) \\SERVER\SHARE`, and below it `Bytes read: N  Bytes written: M`; sums the connections of the share.
fn smb_bytes(text: &str, mount: &Mount) -> Option<MountBytes> {
    let source = mount.source.replace('/', "\\").to_lowercase();
    let mut found: Option<MountBytes> = None;
    let mut in_share = false;
    for line in text.lines() {
        if let Some((_, share)) = line.split_once(") \\\\") {
            let share = format!("\\\\{}", share.split('\t').next().unwrap_or(share).trim_end());
            let rest = source.strip_prefix(&share.to_lowercase());
            // The mount may be a directory of the share.
            in_share = rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('\\'));
        } else if let Some(rest) = line.strip_prefix("Bytes read: ").filter(|_| in_share) {
            let (read, written) = rest.split_once("Bytes written: ")?;
            let sum = found.unwrap_or_default();
            found = Some(MountBytes {
                read_bytes: sum.read_bytes.saturating_add(read.trim().parse().ok()?),
                write_bytes: sum.write_bytes.saturating_add(written.trim().parse().ok()?),
            });
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use crate::system::Fake;

    use super::*;
    use crate::probes::look::ProbeRequest;

    fn mount(filesystem: &str, source: &str) -> Mount {
        Mount {
            point: "/mnt/my share".into(),
            source: source.to_owned(),
            filesystem: filesystem.to_owned(),
            options: Vec::new(),
        }
    }

    /// Format of Linux 6.18, shortened; `read` and `written` are the server's counts.
    fn nfs(read: u64, written: u64) -> String {
        format!(
            "device /dev/vda1 mounted on / with fstype ext4\n\
             device server:/other mounted on /mnt/other with fstype nfs4 statvers=1.1\n\
             \topts:\trw,vers=4.2\n\
             \tbytes:\t1 2 3 4 5 6 7 8\n\
             device server:/srv mounted on /mnt/my\\040share with fstype nfs4 statvers=1.1\n\
             \topts:\trw,vers=4.2,rsize=1048576\n\
             \tage:\t12\n\
             \tevents:\t1 2 3 4\n\
             \tbytes:\t10 20 30 40 {read} {written} 70 80\n\
             \tRPC iostats version: 1.1  p/v: 100003/4 (nfs)\n\
             \t        READ: 1 1 0 200 4096 0 1 1 0\n"
        )
    }

    const SMB: &str = "Resources in use\nCIFS Session: 2\nMax requests in flight: 3\n\n\
        1) \\\\server\\Share\nSMBs: 90\nBytes read: 4096  Bytes written: 8192\nOpen files: 0 total (local), 0 open on server\n\
        2) \\\\server\\sharex\nSMBs: 9\nBytes read: 1  Bytes written: 1\n";

    #[test]
    fn the_bytes_of_the_own_mount_are_those_of_the_server() {
        let moved = |read_bytes, write_bytes| Some(MountBytes { read_bytes, write_bytes });
        assert_eq!(nfs_bytes(&nfs(4096, 8192), &mount("nfs4", "server:/srv")), moved(4096, 8192));
        let elsewhere = Mount { point: "/mnt/none".into(), ..mount("nfs4", "server:/srv") };
        assert_eq!(nfs_bytes(&nfs(4096, 8192), &elsewhere), None);
        assert_eq!(
            nfs_bytes("device a:/b mounted on /mnt/my\\040share with fstype nfs\n", &elsewhere),
            None
        );
        for source in ["//server/share", "//server/Share/below/it"] {
            assert_eq!(smb_bytes(SMB, &mount("cifs", source)), moved(4096, 8192), "{source}");
        }
        assert_eq!(smb_bytes(SMB, &mount("cifs", "//server/sharex")), moved(1, 1));
        assert_eq!(smb_bytes(SMB, &mount("cifs", "//server/sha")), None);
    }

    /// What a probe observes of a site while counters go from one text to the next.
    fn observed(site: &Site, texts: [Option<String>; 3]) -> Presence<MountTraffic> {
        let mut probe = MountObservation::default();
        let fake = Fake::new();
        let asked = ProbeRequest::default();
        let scene = Scene { system: &fake, site, file: None, asked };
        for (moment, text) in MountObservation::MOMENTS.iter().zip(texts) {
            if let Some(text) = text {
                fake.put(NFS_STATISTICS, text);
            }
            probe.look(*moment, &scene);
        }
        probe.observed(&scene)
    }

    #[test]
    fn what_crossed_the_network_is_told_in_the_run_and_after_it() {
        let own = |filesystem| {
            let mount = Presence::Present(mount(filesystem, "server:/srv"));
            Site { mount, ..Site::simulated("/mnt/my share") }
        };
        let texts = || [nfs(100, 100), nfs(4196, 1100), nfs(4196, 2100)].map(Some);
        let found = observed(&own("nfs4"), texts());
        let found = found.value().unwrap();
        assert_eq!(found.run, MountBytes { read_bytes: 4096, write_bytes: 1000 });
        assert_eq!(found.settle, MountBytes { read_bytes: 0, write_bytes: 1000 });
        // Other file systems are not read; a missing file gives a reason.
        assert!(crate::probes::is_not_recorded(&observed(&own("ext4"), texts())));
        let none = observed(&own("nfs"), [None, None, None]);
        assert!(none.reason().unwrap().starts_with(NFS_STATISTICS), "{none:?}");
    }
}
