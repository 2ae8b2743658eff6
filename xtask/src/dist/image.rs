//! An image for containers: the static program alone (`FROM scratch`), as one archive of OCI's layout, which `podman load`
//! and `skopeo copy oci-archive:` take. Its time is that of the commit, so that the same commit gives the same bytes.

use std::collections::BTreeMap;
use std::io::Read;
use std::path::Path;

use assay_base::digest::{hexadecimal, sha256};
use flate2::read::GzDecoder;
use serde_json::{Value, json};

use super::machines::Machine;
use super::{Named, Part, Release, about, day, licences, others, packed};
use crate::lab::Done;

const INDEX: &str = "application/vnd.oci.image.index.v1+json";
const MANIFEST: &str = "application/vnd.oci.image.manifest.v1+json";
const CONFIG: &str = "application/vnd.oci.image.config.v1+json";
const LAYER: &str = "application/vnd.oci.image.layer.v1.tar+gzip";
const BLOBS: &str = "blobs/sha256/";
const HASH: &str = "sha256:";
/// Annotation of the index that gives an image its name within a layout.
const REFERENCE: &str = "org.opencontainers.image.ref.name";
/// The one that gives it its name where it is loaded: without it `podman load` would take the version for a name.
const CALLED: &str = "io.containerd.image.name";
/// Where the program lies inside, and what an image starts.
const PROGRAM: &str = "usr/bin/assay";
/// Where root keeps results and journals: a container has no home, and what is to stay is mounted there.
pub const HOME: &str = "/var/lib/assay";

/// Bytes that are called by their hash.
struct Blob {
    digest: String,
    bytes: Vec<u8>,
}

impl Blob {
    fn of(bytes: Vec<u8>) -> Self {
        Self { digest: hexadecimal(&sha256(&bytes)), bytes }
    }

    fn of_document(document: &Value) -> Self {
        Self::of(document.to_string().into_bytes())
    }

    /// How others name it.
    fn described(&self, kind: &str) -> Value {
        let digest = format!("{HASH}{}", self.digest);
        json!({ "mediaType": kind, "digest": digest, "size": self.bytes.len() })
    }

    fn part(self) -> Part {
        (format!("{BLOBS}{}", self.digest), 0o644, self.bytes)
    }
}

/// `assay-1.0.0-rc.1-x86_64-linux.oci.tar`.
pub fn pack(release: &Release, machine: &Machine, program: &[u8]) -> Done<Named> {
    let content = vec![
        (PROGRAM.to_owned(), 0o755, program.to_vec()),
        ("usr/share/doc/assay/copyright".to_owned(), 0o644, licences()?),
        (format!("usr/share/doc/assay/{}", others::NAME), 0o644, others::licences(machine.target)?),
    ];
    let layer = release.tar(content)?;
    let config = Blob::of_document(&config(release, machine, &layer));
    let layer = Blob::of(packed(&layer)?);
    let manifest = Blob::of_document(&json!({
        "schemaVersion": 2,
        "mediaType": MANIFEST,
        "config": config.described(CONFIG),
        "layers": [layer.described(LAYER)],
        "annotations": labels(release),
    }));
    let mut entry = manifest.described(MANIFEST);
    entry["platform"] = platform(machine);
    entry["annotations"] = json!({
        REFERENCE: release.version,
        CALLED: format!("localhost/{}:{}", about::NAME, release.version),
    });
    let index = json!({ "schemaVersion": 2, "mediaType": INDEX, "manifests": [entry] });
    let layout = json!({ "imageLayoutVersion": "1.0.0" });
    let mut parts: Vec<Part> = [config, layer, manifest].map(Blob::part).into();
    for (name, document) in [("index.json", index), ("oci-layout", layout)] {
        parts.push((name.to_owned(), 0o644, document.to_string().into_bytes()));
    }
    Ok((format!("{}.oci.tar", release.name(machine)), release.tar(parts)?))
}

fn platform(machine: &Machine) -> Value {
    let (architecture, variant) = machine.image;
    let mut platform = json!({ "architecture": architecture, "os": "linux" });
    if let Some(variant) = variant {
        platform["variant"] = variant.into();
    }
    platform
}

/// What an image tells of itself.
fn labels(release: &Release) -> Value {
    let created = day::rfc3339(release.seconds);
    let told = [
        ("title", about::NAME),
        ("description", about::SUMMARY),
        ("authors", about::AUTHORS),
        ("licenses", about::LICENCE),
        ("source", about::PLACE),
        ("version", release.version.as_str()),
        ("revision", release.commit.as_str()),
        ("created", created.as_str()),
    ];
    let told = told.into_iter().filter(|(_, value)| !value.is_empty());
    told.map(|(name, value)| (format!("org.opencontainers.image.{name}"), value)).collect()
}

/// What is started and of what it is made, for a layer that is not packed.
fn config(release: &Release, machine: &Machine, layer: &[u8]) -> Value {
    let created = day::rfc3339(release.seconds);
    let mut config = platform(machine);
    config["created"] = created.as_str().into();
    config["config"] = json!({
        "Entrypoint": [format!("/{PROGRAM}")],
        "Env": ["PATH=/usr/bin", format!("ASSAY_HOME={HOME}")],
        "WorkingDir": "/",
        "Volumes": { HOME: {} },
        "Labels": labels(release),
    });
    let diff = format!("{HASH}{}", hexadecimal(&sha256(layer)));
    config["rootfs"] = json!({ "type": "layers", "diff_ids": [diff] });
    config["history"] = json!([{ "created": created, "created_by": "cargo xtask dist" }]);
    config
}

/// An image that was read again, each part of it by the hash that another part has of it.
pub struct Image {
    config: Value,
    layer: Vec<u8>,
}

impl Image {
    pub fn read(archive: &[u8]) -> Done<Self> {
        let files = files_of(archive)?;
        let index = files.get("index.json").ok_or("the image has no index.json")?;
        let manifest = document(named(&files, &document(index)?["manifests"][0])?)?;
        let config = document(named(&files, &manifest["config"])?)?;
        let mut layer = Vec::new();
        let unpacked =
            GzDecoder::new(named(&files, &manifest["layers"][0])?).read_to_end(&mut layer);
        unpacked.map_err(|error| format!("the layer of the image: {error}"))?;
        let diff = format!("{HASH}{}", hexadecimal(&sha256(&layer)));
        if config["rootfs"]["diff_ids"] != json!([diff]) {
            return Err(format!("the layer of the image is {diff}, and its config has another"));
        }
        Ok(Self { config, layer })
    }

    /// What it starts, in a folder that has what is in it.
    pub fn unpack(&self, folder: &Path) -> Done<String> {
        let mut layer = tar::Archive::new(self.layer.as_slice());
        layer.unpack(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
        let starts = self.config["config"]["Entrypoint"][0].as_str().unwrap_or_default();
        let is_there = folder.join(starts.trim_start_matches('/')).is_file();
        is_there.then(|| starts.to_owned()).ok_or_else(|| format!("the image has no {starts:?}"))
    }
}

fn files_of(archive: &[u8]) -> Done<BTreeMap<String, Vec<u8>>> {
    let fail = |error: std::io::Error| format!("the image is no archive: {error}");
    let mut files = BTreeMap::new();
    for entry in tar::Archive::new(archive).entries().map_err(fail)? {
        let mut entry = entry.map_err(fail)?;
        let name = entry.path().map_err(fail)?.display().to_string();
        let mut bytes = Vec::new();
        entry.read_to_end(&mut bytes).map_err(fail)?;
        files.insert(name, bytes);
    }
    Ok(files)
}

fn document(bytes: &[u8]) -> Done<Value> {
    serde_json::from_slice(bytes).map_err(|error| format!("a document of the image: {error}"))
}

/// The file that a part describes, where it is what that says.
fn named<'f>(files: &'f BTreeMap<String, Vec<u8>>, described: &Value) -> Done<&'f [u8]> {
    let digest = described["digest"].as_str().and_then(|digest| digest.strip_prefix(HASH));
    let digest = digest.ok_or("a part of the image has no hash")?;
    let bytes = files.get(&format!("{BLOBS}{digest}"));
    let bytes = bytes.ok_or_else(|| format!("the image has no {digest}"))?;
    let is_it = hexadecimal(&sha256(bytes)) == digest && described["size"] == bytes.len();
    is_it.then_some(bytes.as_slice()).ok_or_else(|| format!("{digest} of the image is damaged"))
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may panic")]
mod tests {
    use std::fs;

    use super::*;
    use crate::lab::needs::{Need, have};
    use crate::lab::{Scratch, call};

    const FAKE: &[u8] = b"#!/bin/sh\necho a program\n";

    fn packed_for(target: &str) -> Vec<u8> {
        let release = Release { commit: "0123456789ab".to_owned(), ..Release::of_none() };
        pack(&release, Machine::of_target(target).unwrap(), FAKE).unwrap().1
    }

    #[test]
    #[ignore = "nightly: 1 s"]
    fn an_image_is_read_by_its_hashes_and_has_the_program_and_the_commit() {
        let archive = packed_for("armv7-unknown-linux-musleabihf");
        assert_eq!(archive, packed_for("armv7-unknown-linux-musleabihf"), "packed twice");
        let image = Image::read(&archive).unwrap();
        let scratch = Scratch::new("image").unwrap();
        assert_eq!(image.unpack(scratch.path()).unwrap(), "/usr/bin/assay");
        assert_eq!(fs::read(scratch.path().join(PROGRAM)).unwrap(), FAKE);
        let of = |field: &str| image.config[field].as_str().unwrap().to_owned();
        assert_eq!(
            (of("architecture"), of("variant"), of("os")),
            ("arm".into(), "v7".into(), "linux".into())
        );
        assert_eq!(of("created"), day::rfc3339(Release::of_none().seconds));
        let labels = &image.config["config"]["Labels"];
        assert_eq!(labels["org.opencontainers.image.revision"], "0123456789ab");
        assert_eq!(labels["org.opencontainers.image.licenses"], about::LICENCE);
    }

    #[test]
    fn it_is_loaded_by_the_name_of_the_program_and_tells_where_results_go() {
        let archive = packed_for("x86_64-unknown-linux-musl");
        let index = document(&files_of(&archive).unwrap()["index.json"]).unwrap();
        let told = &index["manifests"][0]["annotations"];
        let version = env!("CARGO_PKG_VERSION");
        assert_eq!(told[REFERENCE], version);
        assert_eq!(told[CALLED], format!("localhost/assay:{version}"));
        let config = &Image::read(&archive).unwrap().config["config"];
        assert_eq!(config["Env"][1], format!("ASSAY_HOME={HOME}"));
    }

    #[test]
    fn a_machine_without_variants_names_none() {
        let image = Image::read(&packed_for("x86_64-unknown-linux-musl")).unwrap();
        assert_eq!(image.config["architecture"], "amd64");
        assert!(image.config.get("variant").is_none());
    }

    #[test]
    fn one_changed_letter_is_found() {
        let archive = packed_for("x86_64-unknown-linux-musl");
        let at = archive.windows(8).position(|bytes| bytes == b"amd64\",\"").unwrap();
        let mut damaged = archive;
        damaged[at] = b'b';
        assert!(Image::read(&damaged).err().unwrap().ends_with(" of the image is damaged"));
    }

    #[test]
    fn others_unpack_the_image_and_would_start_the_program() {
        if !have(&[Need::Program("umoci")]) {
            return;
        }
        let scratch = Scratch::new("umoci").unwrap();
        let [layout, bundle] = ["layout", "bundle"].map(|name| scratch.path().join(name));
        let archive = packed_for("x86_64-unknown-linux-musl");
        tar::Archive::new(archive.as_slice()).unpack(&layout).unwrap();
        let image = format!("{}:{}", layout.display(), env!("CARGO_PKG_VERSION"));
        let place = bundle.display().to_string();
        call("umoci", &["unpack", "--rootless", "--image", &image, &place]).unwrap();
        assert_eq!(fs::read(bundle.join("rootfs").join(PROGRAM)).unwrap(), FAKE);
        let started = document(&fs::read(bundle.join("config.json")).unwrap()).unwrap();
        assert_eq!(started["process"]["args"], json!(["/usr/bin/assay"]));
    }
}
