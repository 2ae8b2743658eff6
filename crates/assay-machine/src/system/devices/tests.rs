use assay_core::presence::Presence;

use super::*;
use crate::system::fake::machines;

fn present(seen: &Presence<String>) -> &str {
    seen.value().map_or_else(|| panic!("absent: {seen:?}"), String::as_str)
}

fn link_of(drive: &Drive) -> (&str, f64) {
    let link = drive.link.value().unwrap_or_else(|| panic!("{:?}", drive.link));
    (link.name.as_str(), link.ceiling_bytes_per_s)
}

#[test]
fn a_sata_ssd_and_its_slow_neighbour() {
    let fake = machines::machine("sata-ssd");
    let all = drives(&fake);
    assert_eq!(all.iter().map(|drive| drive.name.as_str()).collect::<Vec<_>>(), ["sda", "sdb"]);
    let [fast, slow] = all.as_slice() else { panic!("two") };
    assert_eq!(present(&fast.model), "Samsung SSD 860 EVO 500GB");
    assert_eq!((present(&fast.firmware), present(&fast.serial)), ("RVT04B6Q", "S3Z2NB0K123456A"));
    assert_eq!((fast.id.as_str(), present(&fast.bus)), ("S3Z2NB0K123456A", "sata"));
    assert_eq!(fast.size_bytes, 500_107_862_016);
    assert_eq!(link_of(fast), ("SATA 6.0 Gbit/s", 600e6));
    assert_eq!(link_of(slow), ("SATA 1.5 Gbit/s", 150e6));
    assert_eq!(
        (present(&fast.scheduler), present(&fast.write_cache)),
        ("mq-deadline", "write back")
    );
    assert_eq!(
        (&fast.rotational, &fast.discard),
        (&Presence::Present(false), &Presence::Present(true))
    );
    assert_eq!(fast.read_ahead_bytes, Presence::Present(128 * 1024));
    assert_eq!(partitions(&fake, "sda"), ["sda1", "sda2", "sda3"]);
    assert_eq!(device_id(&fake, "sda2"), "S3Z2NB0K123456A-part2");
    assert_eq!(counters(&fake, "sda2").value().unwrap().reads_completed, 900);
    assert!(counters(&fake, "sdz").reason().unwrap().contains("not found"));
}

#[test]
fn without_a_serial_number_the_by_id_name_counts_then_name_and_size() {
    let fake = machines::machine("sata-ssd");
    let scsi = place(&fake, "sdb").join("device");
    fake.remove(fake.canonical(&scsi.join("vpd_pg80")).unwrap());
    assert_eq!(device_id(&fake, "sdb"), "CVCV2030012345", "from the world-wide name");
    fake.remove(fake.canonical(&scsi.join("wwid")).unwrap());
    assert_eq!(device_id(&fake, "sdb"), "ata-INTEL_SSDSC2CW120A3_CVCV2030012345");
    fake.remove("/dev/disk/by-id");
    assert_eq!(device_id(&fake, "sdb"), "sdb:117220824KiB");
}

#[test]
fn an_nvme_drive_on_one_lane() {
    let fake = machines::machine("nvme-one-lane");
    let drive = drive(&fake, "nvme0n1");
    assert_eq!(present(&drive.model), "Samsung SSD 980 PRO 2TB");
    assert_eq!((present(&drive.firmware), drive.id.as_str()), ("5B2QGXA7", "S6B0NL0T654321K"));
    let (name, ceiling) = link_of(&drive);
    assert_eq!(name, "PCIe 4.0 x1 (device supports PCIe 4.0 x4)");
    assert!((ceiling - 1.969e9).abs() < 1e6, "{ceiling}");
    assert_eq!(device_id(&fake, "nvme0n1p1"), "S6B0NL0T654321K-part1");
}

#[test]
fn an_sd_card_with_and_without_debugfs() {
    let fake = machines::machine("sd-card");
    let card = drive(&fake, "mmcblk0");
    assert_eq!(present(&card.model), "SC32G (maker 0x000003)");
    assert_eq!((card.id.as_str(), present(&card.bus)), ("0x1a2b3c4d", "mmc"));
    assert_eq!(link_of(&card), ("sd uhs DDR50, 4 bit, 50 MHz", 50e6));
    assert_eq!(card.discard, Presence::Present(false));
    let made = card.card.value().unwrap();
    let told = [&made.kind, &made.maker_id, &made.oem_id, &made.made].map(present);
    assert_eq!(told, ["SD", "0x000003", "0x5344", "04/2019"]);
    fake.remove("/sys/kernel/debug");
    assert!(drive(&fake, "mmcblk0").link.reason().unwrap().contains("debugfs"));
    let zram = drive(&fake, "zram0");
    assert_eq!((zram.id.as_str(), present(&zram.bus)), ("zram0:102396KiB", "zram"));
}

#[test]
fn platters_turn_as_fast_as_their_page_says() {
    let fake = machines::machine("btrfs-two");
    let turns = |name: &str| drive(&fake, name).rpm;
    assert_eq!(turns("sda"), Presence::Present(5400));
    assert!(turns("sdb").reason().unwrap().contains("page 0xb1"), "an older kernel");
    let page = place(&fake, "sdb").join("device/vpd_pgb1");
    let page = fake.canonical(page.parent().unwrap()).unwrap().join("vpd_pgb1");
    fake.put(&page, [0, 0xb1, 0, 60, 0, 1]);
    assert_eq!(turns("sdb").reason(), Some("not rotational"));
    fake.put(&page, [0, 0xb1, 0, 60, 0, 0]);
    assert_eq!(turns("sdb").reason(), Some("the drive does not report its rotation rate"));
    let ssd = drive(&machines::machine("nvme-one-lane"), "nvme0n1");
    assert!(ssd.rpm.reason().unwrap().contains("(kernel)"));
}

#[test]
fn a_usb_stick_is_what_its_usb_device_says() {
    let stick = drive(&machines::machine("usb-stick"), "sdc");
    assert_eq!((present(&stick.model), stick.id.as_str()), ("Ultra", "4C530001230615112233"));
    assert_eq!(link_of(&stick), ("USB 480 Mbit/s (usb-storage)", 60e6));
    assert_eq!(present(&stick.usb_version), "2.10");
    assert_eq!((present(&stick.bus), &stick.removable), ("usb", &Presence::Present(true)));
}

#[test]
fn a_guest_has_absent_links_with_reasons() {
    let fake = machines::machine("vm-virtio");
    let all = drives(&fake);
    let ids: Vec<_> = all.iter().map(|drive| drive.id.as_str()).collect();
    assert_eq!(ids, ["loop0:256MiB", "overlayblk"], "no empty zram or loop devices");
    assert!(all.iter().all(|drive| drive.link.reason().is_some()));
    assert_eq!(present(&all[1].bus), "virtio");
    assert_eq!(present(&all[0].scheduler), "none");
    assert_eq!(all[1].read_ahead_bytes, Presence::Present(8192 * 1024));
}

#[test]
fn layers_are_named_by_what_made_them() {
    let fake = machines::machine("crypt-lvm-raid");
    let kinds = ["dm-1", "dm-0", "md0", "sda1", "sda"].map(|name| layer(&fake, name).0.kind);
    assert_eq!(kinds, ["crypt", "lvm", "raid1", "partition", "disk"]);
    assert_eq!(layer(&fake, "md0").0.below, ["sda1", "sdb1"]);
    assert_eq!(device_id(&fake, "dm-1"), "dm-name-secret");
}

#[test]
fn nothing_is_known_of_a_device_that_is_not_there() {
    let drive = drive(&crate::system::Fake::new(), "sdx");
    assert_eq!((drive.size_bytes, drive.id.as_str()), (0, "sdx:0B"));
    assert!(drive.model.reason().is_some() && drive.scheduler.reason().is_some());
}
