//! Compression on the way to the medium, which requires incompressible content.

use assay_core::presence::Presence;

use super::resolve::is_remote;
use super::site::{Layer, Mount};
use super::{System, mounts, sysfs};

const ZFS: &str = "unknown, because only ZFS tools can read the setting";

/// Compression below a target, by the first layer that compresses; absent if the first unknown one hides it, or if off.
pub fn find(system: &dyn System, met: &[Mount], layers: &[Layer]) -> Presence<String> {
    let mounts = met.iter().map(of_mount);
    let layers = layers.iter().map(|layer| of_layer(system, layer));
    let all: Vec<Presence<String>> = mounts.chain(layers).collect();
    let compressed = all.iter().find(|layer| layer.value().is_some());
    let unknown = all.iter().find(|layer| layer.reason().is_some_and(|reason| reason != "off"));
    match compressed.or(unknown) {
        Some(layer) => layer.clone(),
        None => Presence::absent("off"),
    }
}

/// Compression by a filesystem according to its mount options.
fn of_mount(mount: &Mount) -> Presence<String> {
    let option = |name: &str| mounts::option(mount, name).map(str::to_owned);
    let has = |name: &str| mount.options.iter().any(|option| option == name);
    let algorithm = match mount.filesystem.as_str() {
        "btrfs" => option("compress-force")
            .or_else(|| option("compress"))
            .or_else(|| has("compress").then(|| "zlib".to_owned())),
        "f2fs" => option("compress_algorithm"),
        "bcachefs" => option("compression").or_else(|| option("background_compression")),
        "ubifs" => Some(option("compr").unwrap_or_else(|| "the filesystem's default".to_owned())),
        "ntfs3" | "ntfs" => (has("compress") || has("compression")).then(|| "lznt1".to_owned()),
        "jffs2" | "squashfs" | "erofs" | "cramfs" => Some(mount.filesystem.clone()),
        "zfs" => return Presence::absent(ZFS),
        other => return Presence::absent(unknown_because(other)),
    };
    Presence::from_option(algorithm.filter(|name| name != "none" && name != "no"), "off")
}

/// Reason why compression is unknown for file systems that forward data.
fn unknown_because(filesystem: &str) -> &'static str {
    if is_remote(filesystem) {
        "unknown: set on the server"
    } else if filesystem.starts_with("fuse.") && filesystem != "fuse.gocryptfs" {
        "unknown: set by a userspace program"
    } else {
        "off"
    }
}

fn of_layer(system: &dyn System, layer: &Layer) -> Presence<String> {
    match layer.kind.as_str() {
        "zram" => {
            let file = sysfs::block(&layer.name).join("comp_algorithm");
            sysfs::parsed(sysfs::text(system, &file), sysfs::chosen)
        }
        "vdo" => Presence::Present("vdo".to_owned()),
        _ => Presence::absent("off"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(filesystem: &str, options: &str, expected: Presence<&str>) {
        let line = format!("1 0 0:9 / /m rw - {filesystem} source {options}");
        let mount = mounts::parse(&line).remove(0).mount;
        assert_eq!(of_mount(&mount), expected.map(str::to_owned), "{line}");
    }

    #[test]
    fn mount_options_tell() {
        check("btrfs", "rw,compress=zstd:3", Presence::Present("zstd:3"));
        check("btrfs", "rw,compress-force=lzo", Presence::Present("lzo"));
        check("btrfs", "rw,compress=no", Presence::absent("off"));
        check("btrfs", "rw,space_cache", Presence::absent("off"));
        check("f2fs", "rw,compress_algorithm=lz4", Presence::Present("lz4"));
        check("bcachefs", "rw,compression=none", Presence::absent("off"));
        check("ext4", "rw,compress=x", Presence::absent("off"));
        check("zfs", "rw", Presence::absent(ZFS));
        check("fuse.gocryptfs", "rw", Presence::absent("off"));
        check("fuse.other", "rw", Presence::absent("unknown: set by a userspace program"));
    }
}
