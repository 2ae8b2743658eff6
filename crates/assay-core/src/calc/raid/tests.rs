use super::*;
use crate::presence::Presence;

const KIB: u64 = 1024;

fn question(chunk_kib: u64, write_kib: u64) -> Question {
    Question {
        level: Level::Raid5,
        disks: 4,
        disk_bytes: 3_000_000_000_000,
        chunk_bytes: chunk_kib * KIB,
        write_bytes: write_kib * KIB,
        rate_bytes_per_s: Some(1e8),
    }
}

fn moved(question: &Question, model: &str) -> Option<f64> {
    let answer = compute(question).unwrap();
    let found = answer.models.into_iter().find(|one| one.model == model).unwrap();
    found.moved.value().map(|moved| moved.moved_kib)
}

/// Rows of a table with these first columns.
fn table<'t>(text: &'t str, first: &str) -> Vec<Vec<&'t str>> {
    let rows = text.lines().filter(|line| line.starts_with(first));
    rows.map(|line| line.split(',').collect()).collect()
}

#[test]
fn both_readings_of_the_article() {
    let text = include_str!("../../../../../reference/raid.csv");
    for (first, model) in [("published,", "article-count"), ("as-listed,", "article-steps")] {
        let rows = table(text, first);
        assert_eq!(rows.len(), 2);
        for row in rows {
            let question = question(row[1].parse().unwrap(), 2);
            assert_eq!(moved(&question, model), row[4].parse().ok(), "{row:?}");
        }
    }
    assert_eq!(moved(&question(128, 129), "article-count"), None);
    assert_eq!(moved(&Question { disks: 5, ..question(128, 2) }, "article-count"), None);
}

#[test]
fn the_textbook_moves_whole_chunks() {
    assert_eq!(moved(&question(128, 2), "chunk-rmw"), Some(512.0));
    assert_eq!(moved(&question(1024, 2), "chunk-rmw"), Some(4096.0));
    // Three reads and two writes: the steps of the article.
    assert_eq!(moved(&question(128, 2), "chunk-rcw"), Some(640.0));
    assert_eq!(moved(&question(128, 128), "chunk-rcw"), Some(512.0));
    assert_eq!(moved(&question(128, 384), "full-stripe"), Some(512.0));
    assert_eq!(moved(&question(128, 2), "full-stripe"), None);
}

#[test]
fn the_page_model_is_what_was_measured() {
    let rows = table(include_str!("../../../../../reference/md.csv"), "5,");
    assert_eq!(rows.len(), 12);
    for row in rows {
        let question = question(row[2].parse().unwrap(), row[3].parse().unwrap());
        let measured = moved(&question, "md-measured").unwrap();
        assert_eq!(row[4].parse(), Ok(measured));
        let computed = moved(&question, "md-pages").unwrap();
        assert!((measured / computed - 1.0).abs() < 0.025, "{row:?}: {computed}");
    }
    assert_eq!(moved(&question(64, 2), "md-measured"), None);
    assert_eq!(moved(&Question { level: Level::Raid6, ..question(32, 2) }, "md-measured"), None);
}

#[test]
fn the_page_model_counts_page_by_page() {
    // Brute force: every row of pages separately.
    for level in [Level::Raid5, Level::Raid6] {
        for disks in 4..8 {
            for write_bytes in [512, 2048, 4096, 6000, 20_000, 100_000, 250_000, 500_000] {
                let question = Question { level, disks, write_bytes, ..question(16, 1) };
                let expected = by_hand(&question);
                assert_eq!(moved(&question, "md-pages"), Some(expected), "{question:?}");
            }
        }
    }
}

fn by_hand(question: &Question) -> f64 {
    let (parities, data) = (u64::from(question.level.parities()), data_chunks(question));
    let (chunk, stripe) = (question.chunk_bytes, data_chunks(question) * question.chunk_bytes);
    let mut pages = 0;
    for first in (0..question.write_bytes).step_by(stripe as usize) {
        for row in (0..chunk).step_by(4096) {
            let starts = (0..data).map(|one| first + one * chunk + row);
            let touched = starts.clone().filter(|at| *at < question.write_bytes).count() as u64;
            let whole = starts.filter(|at| at + 4096 <= question.write_bytes).count() as u64;
            let read = (touched + parities).min(data - whole);
            pages += if touched == 0 { 0 } else { read + touched + parities };
        }
    }
    (pages * 4) as f64
}

#[test]
fn capacity_and_rebuild() {
    let answer = compute(&question(128, 2)).unwrap();
    assert_eq!(answer.usable_bytes, 9_000_000_000_000);
    assert_eq!(answer.usable_percent, 75.0);
    assert_eq!(format!("{:.2}", answer.rebuild_s.unwrap() / 3600.0), "8.33");
    let of = |level, disks| compute(&Question { level, disks, ..question(128, 2) }).unwrap();
    let usable = |level, disks| of(level, disks).usable_bytes / 1_000_000_000_000;
    assert_eq!(usable(Level::Raid0, 4), 12);
    assert_eq!(usable(Level::Raid1, 4), 3);
    assert_eq!(usable(Level::Raid4, 4), 9);
    assert_eq!(usable(Level::Raid6, 6), 12);
    assert_eq!(usable(Level::Raid10, 4), 6);
    assert_eq!(of(Level::Raid0, 4).rebuild_s, None);
    assert_eq!(of(Level::Raid1, 3).survives_disks, 2);
    assert_eq!(of(Level::Raid6, 6).survives_disks, 2);
}

#[test]
fn levels_without_parity_write_their_copies() {
    for (level, copies) in [(Level::Raid0, 1.0), (Level::Raid1, 4.0), (Level::Raid10, 2.0)] {
        let answer = compute(&Question { level, ..question(128, 2) }).unwrap();
        let [only] = &answer.models[..] else { panic!("{:?}", answer.models) };
        let Presence::Present(moved) = only.moved else { panic!() };
        assert_eq!((moved.read_kib, moved.per_kib), (Some(0.0), copies));
    }
}

#[test]
fn advice_names_the_chunk_that_a_write_fills() {
    let told = |chunk, write| compute(&question(chunk, write)).unwrap().advice.join(" ");
    assert!(told(512, 384).contains("128 KiB chunks"), "{}", told(512, 384));
    assert!(told(512, 384).contains("(n-1) chunks, here 3; an aligned write then moves 1.33"));
    assert!(!told(512, 2).contains("fills one stripe"));
}

#[test]
fn what_cannot_be_is_refused() {
    let told = |question: Question| compute(&question).unwrap_err().message;
    assert!(told(Question { disks: 2, ..question(128, 2) }).contains("--disks 3"));
    assert!(told(Question { chunk_bytes: 100_000, ..question(128, 2) }).contains("--chunk"));
    assert!(told(Question { disk_bytes: 1, ..question(128, 2) }).contains("--size"));
    assert!(told(Question { write_bytes: 0, ..question(128, 2) }).contains("--write"));
    for word in ["7", "", "raid", "-5"] {
        assert!(word.parse::<Level>().unwrap_err().contains("0, 1, 4, 5, 6 or 10"), "{word}");
    }
    assert_eq!("RAID6".parse(), Ok(Level::Raid6));
}

/// mdadm refuses a chunk for RAID 1.
#[test]
fn mirrors_have_no_chunks_and_no_stripes() {
    let of = |level, disks| compute(&Question { level, disks, ..question(128, 4) }).unwrap();
    let mirror = of(Level::Raid1, 2);
    assert_eq!((mirror.chunk_bytes, mirror.stripe_data_bytes), (None, None));
    assert!(mirror.advice[0].contains("no chunks and no stripes"), "{:?}", mirror.advice);
    let json = serde_json::to_string(&mirror).unwrap();
    assert!(!json.contains("chunk_bytes") && !json.contains("stripe_data"), "{json}");
    for (level, disks, chunks) in
        [(Level::Raid0, 3, 3), (Level::Raid10, 4, 2), (Level::Raid5, 4, 3)]
    {
        let striped = of(level, disks);
        assert_eq!(striped.stripe_data_bytes, Some(chunks * 128 * KIB));
        assert_eq!(striped.chunk_bytes, Some(128 * KIB));
    }
}
