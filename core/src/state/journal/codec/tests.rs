//! Tests of the file form: damage of every kind, and the journals of the former format.

use futures::executor::block_on;

use super::*;
use crate::{
    state::{JournalRecord, OperationId},
    step::StepOp,
};

fn header(format: u32) -> JournalHeader {
    JournalHeader {
        format,
        checkpoint: "aa".to_owned(),
        operation: "update".to_owned(),
        started: "2026-01-01T00:00:00Z".to_owned(),
        engine: "v0.1.0".to_owned(),
        secrets: None,
    }
}

const fn entry(sequence: u64) -> JournalEntry {
    JournalEntry {
        sequence,
        operation: OperationId(sequence + 1),
        record: JournalRecord::Failure { op: StepOp::Create },
    }
}

struct Boxed(JournalEntry);

impl AsRef<JournalEntry> for Boxed {
    fn as_ref(&self) -> &JournalEntry {
        &self.0
    }
}

const fn chain(format: u32) -> Chain {
    Chain { format, last: 0 }
}

fn entries(numbers: std::ops::Range<u64>, chain: &mut Chain) -> Vec<u8> {
    let entries: Vec<_> = numbers.map(|number| Boxed(entry(number))).collect();
    let ciphertexts = block_on(encrypt_entries(&entries, None)).unwrap();
    encode_entries(&entries, &ciphertexts, chain).unwrap()
}

/// A header, four entries, and the announcement of a checkpoint.
fn journal(format: u32) -> (Vec<u8>, Chain) {
    let mut chain = chain(format);
    let mut lines = encode_header(&header(format), &mut chain).unwrap();
    lines.extend(entries(0..4, &mut chain));
    lines.extend(encode_final_checkpoint("bb", &mut chain).unwrap());
    (lines, chain)
}

fn lines(journal: &[u8]) -> Vec<&[u8]> {
    journal.split_inclusive(|byte| *byte == b'\n').collect()
}

/// Decodes a journal: the number of entries, the announced checkpoints, and the torn line.
fn read(journal: &[u8]) -> Result<(usize, Vec<String>, Option<Torn>), String> {
    match decode(journal) {
        Ok(Some(decoded)) => Ok((decoded.entries.len(), decoded.final_checkpoints, decoded.torn)),
        Ok(None) => Ok((
            0,
            Vec::new(),
            Some(Torn {
                line: 1,
                bytes: journal.len(),
            }),
        )),
        Err(error) => Err(error.message().to_owned()),
    }
}

fn damage(number: usize) -> String {
    format!("line {number} of the journal is damaged: its checksum is wrong")
}

#[test]
fn a_journal_is_read_as_it_was_written_in_both_formats() {
    for format in [1, 2] {
        let (journal, chain) = journal(format);
        let decoded = decode(&journal).unwrap().unwrap();
        assert_eq!(decoded.header, header(format));
        let sequences: Vec<_> = decoded.entries.iter().map(|entry| entry.sequence).collect();
        assert_eq!(sequences, [0, 1, 2, 3]);
        assert_eq!(
            (decoded.final_checkpoints, decoded.torn),
            (vec!["bb".to_owned()], None)
        );
        assert_eq!((decoded.end.length, decoded.end.chain), (journal.len(), chain));
        assert!(chain.continues(&journal));
    }
}

#[test]
fn every_flipped_bit_is_an_error_that_names_the_line_or_leaves_a_torn_end() {
    let (journal, _) = journal(2);
    for place in 0..journal.len() {
        let number = journal[..place].iter().filter(|byte| **byte == b'\n').count() + 1;
        for bit in 0..8 {
            let mut flipped = journal.clone();
            flipped[place] ^= 1 << bit;
            if place == journal.len() - 1 {
                let bytes = lines(&journal)[5].len();
                let torn = Some(Torn { line: 6, bytes });
                assert_eq!(read(&flipped).unwrap(), (4, Vec::new(), torn));
            } else {
                assert_eq!(
                    read(&flipped).unwrap_err(),
                    damage(number),
                    "bit {bit} of byte {place}"
                );
            }
        }
    }
}

#[test]
fn a_line_that_is_removed_doubled_or_moved_is_an_error_that_names_the_place() {
    let (journal, _) = journal(2);
    let lines = lines(&journal);
    for index in 0..lines.len() {
        let mut removed = lines.clone();
        removed.remove(index);
        if index + 1 < lines.len() {
            let error = read(&removed.concat()).unwrap_err();
            assert!(
                error.starts_with(&format!("line {} of the journal is damaged", index + 1)),
                "{error}"
            );
        } else {
            assert_eq!(read(&removed.concat()).unwrap(), (4, Vec::new(), None));
        }
        let mut doubled = lines.clone();
        doubled.insert(index, lines[index]);
        assert_eq!(read(&doubled.concat()).unwrap_err(), damage(index + 2));
        for other in index + 1..lines.len() {
            let mut swapped = lines.clone();
            swapped.swap(index, other);
            assert_eq!(read(&swapped.concat()).unwrap_err(), damage(index + 1));
        }
    }
}

#[test]
fn a_journal_cut_anywhere_has_the_lines_before_the_cut() {
    let (journal, _) = journal(2);
    for cut in 0..=journal.len() {
        let whole = journal[..cut].iter().filter(|byte| **byte == b'\n').count();
        let end = journal[..cut]
            .iter()
            .rposition(|byte| *byte == b'\n')
            .map_or(0, |end| end + 1);
        for zeros in [0, 7] {
            let mut cut_off = journal[..cut].to_vec();
            cut_off.resize(cut + zeros, 0);
            let decoded = decode(&cut_off).unwrap();
            let Some(decoded) = decoded else {
                assert_eq!(whole, 0);
                continue;
            };
            assert_eq!(decoded.entries.len(), (whole - 1).min(4));
            assert_eq!(decoded.end.length, end);
            let bytes = cut_off.len() - end;
            let line = whole + 1;
            assert_eq!(decoded.torn, (bytes > 0).then_some(Torn { line, bytes }));
            // A line appended after the intact ones is read again.
            let mut chain = decoded.end.chain;
            let mut more = cut_off[..end].to_vec();
            more.extend(entries(9..10, &mut chain));
            assert_eq!(
                decode(&more).unwrap().unwrap().entries.len(),
                (whole - 1).min(4) + 1
            );
        }
    }
}

#[test]
fn announcements_of_checkpoints_that_were_never_written_have_no_effect() {
    for format in [1, 2] {
        let (mut journal, mut chain) = journal(format);
        journal.extend(encode_final_checkpoint("cc", &mut chain).unwrap());
        journal.extend(entries(4..6, &mut chain));
        journal.extend(encode_final_checkpoint("dd", &mut chain).unwrap());
        let announced = ["bb", "cc", "dd"].map(str::to_owned).to_vec();
        assert_eq!(read(&journal).unwrap(), (6, announced, None));
    }
}

#[test]
fn lines_of_format_1_are_checked_one_by_one() {
    let (journal, _) = journal(1);
    let lines = lines(&journal);
    // Only the last line may be damaged.
    for (index, line) in lines.iter().enumerate() {
        let start: usize = lines[..index].iter().map(|line| line.len()).sum();
        let mut flipped = journal.clone();
        flipped[start + 20] ^= 1;
        let bytes = line.len();
        if index == 5 {
            assert_eq!(
                read(&flipped).unwrap(),
                (4, Vec::new(), Some(Torn { line: 6, bytes }))
            );
        } else {
            assert_eq!(read(&flipped).unwrap_err(), damage(index + 1));
        }
    }
}

#[test]
fn announcements_of_format_1_after_an_incomplete_line_are_read() {
    let mut chain = chain(1);
    let mut journal = encode_header(&header(1), &mut chain).unwrap();
    journal.extend(entries(0..2, &mut chain));
    let intact = journal.len();
    let third = entries(2..3, &mut chain);
    for cut in 1..third.len() {
        let mut damaged = journal.clone();
        damaged.extend_from_slice(&third[..cut]);
        let torn = Torn { line: 4, bytes: cut };
        for number in 1..=3 {
            let mut chain = chain;
            damaged.extend(encode_final_checkpoint(&format!("{number}"), &mut chain).unwrap());
            let decoded = decode(&damaged).unwrap().unwrap();
            assert_eq!((decoded.entries.len(), decoded.torn), (2, Some(torn)));
            assert_eq!(decoded.final_checkpoints.last().unwrap(), &number.to_string());
            // The next line overwrites them.
            assert_eq!(decoded.end.length, intact);
        }
        damaged.extend(entries(3..4, &mut chain));
        assert!(read(&damaged).unwrap_err().starts_with("line 7 of the journal"));
    }
}

#[test]
fn an_unknown_format_is_an_error_that_names_the_writer() {
    let mut lines = Vec::new();
    let later = serde_json::json!({"format": 7, "engine": "v9.1.0", "base": {}});
    Chain::default().push_line(&mut lines, &later).unwrap();
    lines.extend_from_slice(b"anything");
    assert_eq!(
        read(&lines).unwrap_err(),
        "the journal has format 7, written by engine v9.1.0; this engine reads formats 1 to 4"
    );
}

#[test]
fn a_field_that_does_not_belong_to_the_kind_of_an_entry_is_an_error_that_names_the_line() {
    for (fields, name) in [
        (r#""kind":"begin","op":"create","removed":[1]"#, "removed"),
        (r#""kind":"begin","op":"create","records":[]"#, "records"),
        (r#""kind":"failure","op":"create","view":true"#, "view"),
        (r#""kind":"success","op":"create","order":[]"#, "order"),
        (r#""kind":"failure","op":"create","colour":1"#, "colour"),
    ] {
        let mut chain = Chain::default();
        let mut lines = encode_header(&header(2), &mut chain).unwrap();
        let text = format!(r#"{{"sequence":0,"operation":1,{fields}}}"#);
        let document = serde_json::value::RawValue::from_string(text).unwrap();
        chain.push_line(&mut lines, &document).unwrap();
        let error = read(&lines).unwrap_err();
        assert!(
            error.starts_with("line 2 of the journal is damaged"),
            "{fields}: {error}"
        );
        assert!(error.contains(name), "{fields}: {error}");
    }
}
