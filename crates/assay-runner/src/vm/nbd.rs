//! A drive over a stream: the server side of the network block device protocol (fixed newstyle, simple replies), with
//! QEMU as the client. Numbers are big-endian.
//!
//! Source: "The NBD protocol", doc/proto.md of the project NetworkBlockDevice/nbd.
//!
//! The client is not trusted: requests that are too long, out of range or out of order return an error or end the
//! stream, and allocate nothing.

use std::io::{self, Read, Write};

use assay_machine::system::powered::FarSide;

/// `NBDMAGIC`, `IHAVEOPT`, and the magic number of option replies.
const HELLO: u64 = 0x4e42_444d_4147_4943;
const OPTION: u64 = 0x4948_4156_454f_5054;
const OPTION_ANSWER: u64 = 0x0003_e889_0455_65a9;
/// Handshake flags: fixed newstyle, and no zeros after the reply to `EXPORT_NAME`.
const FIXED: u16 = 1;
const NO_ZEROS: u16 = 2;
const EXPORT_NAME: u32 = 1;
const ABORT: u32 = 2;
const LIST: u32 = 3;
const INFO: u32 = 6;
const GO: u32 = 7;
const ACK: u32 = 1;
const SERVER: u32 = 2;
const TELL: u32 = 3;
const UNSUPPORTED: u32 = 0x8000_0001;
const INVALID: u32 = 0x8000_0003;
const TOO_BIG: u32 = 0x8000_0009;
/// Types of information: the export, and its block sizes.
const EXPORT: u16 = 0;
const BLOCK_SIZE: u16 = 3;
const LONGEST_OPTION: u32 = 64 << 10;
const MOST_OPTIONS: usize = 64;
/// Transmission flags: flags present, flush, FUA, trim, write zeros.
const FLAGS: u16 = 1 | 4 | 8 | 32 | 64;

const REQUEST: u32 = 0x2560_9513;
const ANSWER: u32 = 0x6744_6698;
const READ: u16 = 0;
const WRITE: u16 = 1;
const DISCONNECT: u16 = 2;
const FLUSH: u16 = 3;
const TRIM: u16 = 4;
const WRITE_ZEROS: u16 = 6;
/// The request flag for data that must be on the medium before the reply.
const FUA: u16 = 1;
const EINVAL: u32 = 22;
const ENOSPC: u32 = 28;
const ENOTSUP: u32 = 95;

/// Minimum, preferred and maximum size of requests.
const LEAST_BYTES: u32 = 512;
const LIKED_BYTES: u32 = 4096;
const MOST_BYTES: u32 = 32 << 20;
const HEAD_BYTES: usize = 28;

/// Serves a drive until the client leaves; fails if the stream breaks or the protocol is violated.
pub fn serve<S: Read + Write>(stream: &mut S, store: &dyn FarSide) -> io::Result<()> {
    if !handshake(stream, store)? {
        return Ok(());
    }
    let mut bytes = Vec::new();
    while let Some(head) = read_head(stream)? {
        let request = NbdRequest::read(&head)?;
        if request.kind == DISCONNECT {
            return Ok(());
        }
        if request.kind == WRITE {
            // The announced length exceeds the maximum.
            if request.length > MOST_BYTES {
                return Err(protocol_error("write request too long"));
            }
            bytes.resize(request.length as usize, 0);
            stream.read_exact(&mut bytes)?;
        }
        match execute(&request, &mut bytes, store) {
            Ok(false) => {}
            Ok(true) => {
                request.answer(stream, 0, if request.kind == READ { &bytes } else { &[] })?;
            }
            Err(error) => request.answer(stream, error, &[])?,
        }
    }
    Ok(())
}

/// Reads the head of a request; `None` if the client has left.
fn read_head<S: Read>(stream: &mut S) -> io::Result<Option<[u8; HEAD_BYTES]>> {
    let mut head = [0; HEAD_BYTES];
    let mut length = 0;
    while length < HEAD_BYTES {
        match stream.read(&mut head[length..]) {
            Ok(0) if length == 0 => return Ok(None),
            Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(count) => length += count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(Some(head))
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct NbdRequest {
    through: bool,
    kind: u16,
    cookie: u64,
    at: u64,
    length: u32,
}

impl NbdRequest {
    fn read(head: &[u8; HEAD_BYTES]) -> io::Result<Self> {
        let mut rest = head.as_slice();
        if take_number::<4>(&mut rest) != u64::from(REQUEST) {
            return Err(protocol_error("missing request"));
        }
        let flags = take_number::<2>(&mut rest) as u16;
        let kind = take_number::<2>(&mut rest) as u16;
        let (cookie, at) = (take_number::<8>(&mut rest), take_number::<8>(&mut rest));
        let length = take_number::<4>(&mut rest) as u32;
        Ok(Self { through: flags & FUA != 0, kind, cookie, at, length })
    }

    /// Sends the reply to a request: an error number, 0 for success, and the data of a read.
    fn answer<S: Write>(&self, stream: &mut S, error: u32, bytes: &[u8]) -> io::Result<()> {
        let (magic, error) = (ANSWER.to_be_bytes(), error.to_be_bytes());
        stream.write_all(&[&magic[..], &error, &self.cookie.to_be_bytes(), bytes].concat())?;
        stream.flush()
    }

    /// Whether it is within the drive, in whole sectors.
    fn fits(&self, store: &dyn FarSide) -> bool {
        let sector = u64::from(LEAST_BYTES);
        let end = self.at.checked_add(u64::from(self.length));
        end.is_some_and(|end| end <= store.bytes() && end.is_multiple_of(sector))
            && self.at.is_multiple_of(sector)
    }
}

/// Executes a request on its data or into `bytes`; returns whether to reply (the drive has power), or the error number.
fn execute(request: &NbdRequest, bytes: &mut Vec<u8>, store: &dyn FarSide) -> Result<bool, u32> {
    let NbdRequest { kind, at, length, through, .. } = *request;
    let beyond = if matches!(kind, WRITE | WRITE_ZEROS) { ENOSPC } else { EINVAL };
    if kind != FLUSH && !request.fits(store) {
        return Err(beyond);
    }
    match kind {
        READ if length > MOST_BYTES => Err(EINVAL),
        READ => {
            bytes.resize(length as usize, 0);
            Ok(store.read(at, bytes))
        }
        WRITE => Ok(store.write(at, bytes, through)),
        TRIM | WRITE_ZEROS => Ok(store.clear(at, u64::from(length), through)),
        FLUSH => Ok(store.flush()),
        _ => Err(ENOTSUP),
    }
}

/// Performs the handshake; returns whether requests follow.
fn handshake<S: Read + Write>(stream: &mut S, store: &dyn FarSide) -> io::Result<bool> {
    let hello =
        [&HELLO.to_be_bytes()[..], &OPTION.to_be_bytes(), &(FIXED | NO_ZEROS).to_be_bytes()];
    stream.write_all(&hello.concat())?;
    stream.flush()?;
    let flags = read_number::<4, S>(stream)?;
    if flags & !u64::from(FIXED | NO_ZEROS) != 0 || flags & u64::from(FIXED) == 0 {
        return Err(protocol_error("unoffered flags"));
    }
    let zeros = if flags & u64::from(NO_ZEROS) == 0 { 124 } else { 0 }; // reserved bytes of the reply
    for _ in 0..MOST_OPTIONS {
        if read_number::<8, S>(stream)? != OPTION {
            return Err(protocol_error("missing option"));
        }
        let option = read_number::<4, S>(stream)? as u32;
        let length = read_number::<4, S>(stream)? as u32;
        if length > LONGEST_OPTION {
            answer_option(stream, option, TOO_BIG, &[])?;
            return Err(protocol_error("option too long"));
        }
        let mut data = vec![0; length as usize];
        stream.read_exact(&mut data)?;
        match option {
            EXPORT_NAME => {
                let size = store.bytes().to_be_bytes();
                stream.write_all(&[&size[..], &FLAGS.to_be_bytes(), &vec![0; zeros]].concat())?;
                return stream.flush().map(|()| true);
            }
            ABORT => return answer_option(stream, option, ACK, &[]).map(|()| false),
            // One export without a name.
            LIST => {
                answer_option(stream, option, SERVER, &[0; 4])?;
                answer_option(stream, option, ACK, &[])?;
            }
            INFO | GO if is_well_formed(&data) => {
                inform(stream, option, store)?;
                if option == GO {
                    return Ok(true);
                }
            }
            INFO | GO => answer_option(stream, option, INVALID, &[])?,
            _ => answer_option(stream, option, UNSUPPORTED, &[])?,
        }
    }
    Err(protocol_error("unterminated options"))
}

/// Whether the data of `INFO` and `GO` are a name and a list of requested items.
fn is_well_formed(data: &[u8]) -> bool {
    let part = |from: usize, length: usize| data.get(from..from.checked_add(length)?);
    let Some(mut name) = part(0, 4) else { return false };
    let name = take_number::<4>(&mut name) as usize;
    let Some(mut count) = name.checked_add(4).and_then(|from| part(from, 2)) else { return false };
    let count = take_number::<2>(&mut count) as usize;
    data.len() == 4 + name + 2 + 2 * count
}

/// Sends information on the export and its blocks, whether requested or not.
fn inform<S: Write>(stream: &mut S, option: u32, store: &dyn FarSide) -> io::Result<()> {
    let export = [&EXPORT.to_be_bytes()[..], &store.bytes().to_be_bytes(), &FLAGS.to_be_bytes()];
    answer_option(stream, option, TELL, &export.concat())?;
    let sizes = [LEAST_BYTES, LIKED_BYTES, MOST_BYTES].map(u32::to_be_bytes).concat();
    answer_option(stream, option, TELL, &[&BLOCK_SIZE.to_be_bytes()[..], &sizes].concat())?;
    answer_option(stream, option, ACK, &[])
}

fn answer_option<S: Write>(stream: &mut S, option: u32, kind: u32, data: &[u8]) -> io::Result<()> {
    let length = (data.len() as u32).to_be_bytes();
    let head =
        [&OPTION_ANSWER.to_be_bytes()[..], &option.to_be_bytes(), &kind.to_be_bytes(), &length];
    stream.write_all(&[&head.concat(), data].concat())?;
    stream.flush()
}

/// Removes and returns the number at the beginning; missing bytes count as zeros.
fn take_number<const N: usize>(from: &mut &[u8]) -> u64 {
    let (own, rest) = from.split_at(N.min(from.len()));
    *from = rest;
    own.iter().fold(0, |number, byte| number << 8 | u64::from(*byte))
}

fn read_number<const N: usize, S: Read>(stream: &mut S) -> io::Result<u64> {
    let mut bytes = [0; N];
    stream.read_exact(&mut bytes)?;
    Ok(take_number::<N>(&mut bytes.as_slice()))
}

fn protocol_error(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may panic")]
mod tests {
    use std::sync::Mutex;

    use super::*;

    const BYTES: u64 = 1 << 20;

    struct Memory {
        bytes: Mutex<Vec<u8>>,
        asked: Mutex<Vec<String>>,
        answers: bool,
    }

    impl Memory {
        fn new() -> Self {
            let bytes = vec![0; BYTES as usize].into();
            Self { bytes, asked: Mutex::default(), answers: true }
        }

        fn note(&self, what: &str) -> bool {
            self.asked.lock().unwrap().push(what.to_owned());
            self.answers
        }
    }

    impl FarSide for Memory {
        fn bytes(&self) -> u64 {
            BYTES
        }

        fn read(&self, at: u64, into: &mut [u8]) -> bool {
            into.copy_from_slice(
                &self.bytes.lock().unwrap()[at as usize..at as usize + into.len()],
            );
            self.note(&format!("read {at}"))
        }

        fn write(&self, at: u64, bytes: &[u8], through: bool) -> bool {
            self.bytes.lock().unwrap()[at as usize..at as usize + bytes.len()]
                .copy_from_slice(bytes);
            self.note(&format!("write {at} {through}"))
        }

        fn clear(&self, at: u64, bytes: u64, through: bool) -> bool {
            self.bytes.lock().unwrap()[at as usize..(at + bytes) as usize].fill(0);
            self.note(&format!("clear {at} {bytes} {through}"))
        }

        fn flush(&self) -> bool {
            self.note("flush")
        }
    }

    /// All input of the client at once, and its received output.
    struct Stream<'a> {
        says: &'a [u8],
        hears: Vec<u8>,
    }

    impl Read for Stream<'_> {
        fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
            self.says.read(into)
        }
    }

    impl Write for Stream<'_> {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.hears.extend(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    fn heard(says: &[u8], store: &Memory) -> (Vec<u8>, io::Result<()>) {
        let mut stream = Stream { says, hears: Vec::new() };
        let ended = serve(&mut stream, store);
        (stream.hears, ended)
    }

    fn option(option: u32, data: &[u8]) -> Vec<u8> {
        let length = (data.len() as u32).to_be_bytes();
        [&OPTION.to_be_bytes()[..], &option.to_be_bytes(), &length, data].concat()
    }

    fn request(kind: u16, at: u64, length: u32) -> Vec<u8> {
        flagged(0, kind, at, length)
    }

    fn flagged(flags: u16, kind: u16, at: u64, length: u32) -> Vec<u8> {
        let cookie = 7_u64.to_be_bytes();
        [
            &REQUEST.to_be_bytes()[..],
            &flags.to_be_bytes(),
            &kind.to_be_bytes(),
            &cookie,
            &at.to_be_bytes(),
            &length.to_be_bytes(),
        ]
        .concat()
    }

    /// QEMU's handshake: flags, an unknown option, and `GO` for an export without a name.
    fn begin() -> Vec<u8> {
        let go =
            [&0_u32.to_be_bytes()[..], &1_u16.to_be_bytes(), &BLOCK_SIZE.to_be_bytes()].concat();
        [&3_u32.to_be_bytes()[..], &option(8, &[]), &option(GO, &go)].concat()
    }

    /// The error codes of the replies.
    fn errors(says: &[u8], store: &Memory) -> Vec<u32> {
        let (hears, ended) = heard(&[begin(), says.to_vec()].concat(), store);
        ended.unwrap();
        let (greeting, _) = heard(&begin(), store);
        let answers = hears[greeting.len()..].chunks(16);
        answers.map(|answer| take_number::<4>(&mut &answer[4..]) as u32).collect()
    }

    #[test]
    fn a_client_that_greets_writes_flushes_and_reads_is_served() {
        let store = Memory::new();
        let says = [
            begin(),
            flagged(FUA, WRITE, 4096, 512),
            vec![9; 512],
            request(WRITE, 8192, 512),
            vec![8; 512],
            request(FLUSH, 0, 0),
            request(TRIM, 0, 4096),
            request(WRITE_ZEROS, 8192, 512),
            request(READ, 4096, 512),
            request(DISCONNECT, 0, 0),
            request(READ, 0, 512),
        ];
        let (hears, ended) = heard(&says.concat(), &store);
        ended.unwrap();
        assert_eq!(
            *store.asked.lock().unwrap(),
            [
                "write 4096 true",
                "write 8192 false",
                "flush",
                "clear 0 4096 false",
                "clear 8192 512 false",
                "read 4096"
            ]
        );
        assert!(hears.starts_with(b"NBDMAGICIHAVEOPT\0\x03"), "{:?}", &hears[..18]);
        assert!(hears.ends_with(&[9; 512]));
        let last = &hears[hears.len() - 528..hears.len() - 512];
        assert_eq!(last, [&ANSWER.to_be_bytes()[..], &[0; 4], &7_u64.to_be_bytes()].concat());
        // The greeting: size and flags are in the reply to `GO`.
        let size = BYTES.to_be_bytes();
        assert!(hears.windows(10).any(|own| own[..8] == size && own[8..] == FLAGS.to_be_bytes()));
    }

    #[test]
    fn an_old_client_gets_its_export_and_zeros_where_it_wants_them() {
        for (flags, more) in [(3_u32, 0), (1, 124)] {
            let says = [flags.to_be_bytes().to_vec(), option(EXPORT_NAME, b"any")].concat();
            let (hears, ended) = heard(&says, &Memory::new());
            ended.unwrap();
            assert_eq!(hears.len(), 18 + 10 + more);
        }
        let says = [3_u32.to_be_bytes().to_vec(), option(LIST, &[]), option(ABORT, &[])].concat();
        let (hears, ended) = heard(&says, &Memory::new());
        assert!(ended.is_ok() && hears.len() == 18 + 24 + 20 + 20, "{}", hears.len());
    }

    #[test]
    fn what_lies_beyond_the_end_or_within_a_sector_is_an_error_and_touches_nothing() {
        let store = Memory::new();
        let one = |own: Vec<u8>, carried: usize| errors(&[own, vec![1; carried]].concat(), &store);
        assert_eq!(one(request(READ, BYTES, 512), 0), [EINVAL]);
        assert_eq!(one(request(READ, u64::MAX - 511, 512), 0), [EINVAL]);
        assert_eq!(one(request(WRITE, BYTES - 512, 1024), 1024), [ENOSPC]);
        assert_eq!(one(request(WRITE, 7, 512), 512), [ENOSPC]);
        assert_eq!(one(request(WRITE, 512, 100), 100), [ENOSPC]);
        assert_eq!(one(request(TRIM, u64::MAX, u32::MAX), 0), [EINVAL]);
        assert_eq!(one(request(WRITE_ZEROS, 0, u32::MAX), 0), [ENOSPC]);
        assert_eq!(one(request(99, 0, 512), 0), [ENOTSUP]);
        assert!(store.asked.lock().unwrap().is_empty(), "{:?}", store.asked.lock().unwrap());
    }

    #[test]
    fn without_power_nothing_is_answered_and_the_stream_stays() {
        let store = Memory { answers: false, ..Memory::new() };
        let says =
            [request(FLUSH, 0, 0), request(READ, 0, 512), request(WRITE, 0, 512), vec![1; 512]];
        assert_eq!(errors(&says.concat(), &store), [0; 0]);
        assert_eq!(store.asked.lock().unwrap().len(), 3);
    }

    #[test]
    fn who_does_not_speak_the_protocol_is_left() {
        let store = Memory::new();
        let long = [&OPTION.to_be_bytes()[..], &GO.to_be_bytes(), &u32::MAX.to_be_bytes()].concat();
        let fixed = 3_u32.to_be_bytes().to_vec();
        for (says, told) in [
            (vec![0; 4], "flags"),
            (u32::MAX.to_be_bytes().to_vec(), "flags"),
            ([fixed.clone(), vec![0; 16]].concat(), "missing option"),
            ([fixed.clone(), long].concat(), "too long"),
            ([fixed, option(LIST, &[]).repeat(100)].concat(), "unterminated"),
            ([begin(), vec![0; 28]].concat(), "missing request"),
            ([begin(), request(WRITE, 0, u32::MAX)].concat(), "too long"),
        ] {
            let error = heard(&says, &store).1.unwrap_err();
            assert!(error.to_string().contains(told), "{told}: {error}");
        }
        let bad =
            [3_u32.to_be_bytes().to_vec(), option(GO, &[0xff; 9]), option(INFO, &[0; 3])].concat();
        let (hears, ended) = heard(&bad, &store);
        assert!(ended.is_err() && hears.len() == 18 + 40, "it is told that they are invalid");
    }

    #[test]
    fn truncated_and_damaged_streams_never_panic() {
        let store = Memory::new();
        let says = [begin(), request(WRITE, 0, 512), vec![3; 512], request(READ, 0, 512)].concat();
        for end in 0..says.len() {
            let (_, ended) = heard(&says[..end], &store);
            // Between requests: the first has a header of 28 bytes and 512 bytes of data.
            let is_between = end == begin().len() || end == begin().len() + 28 + 512;
            assert_eq!(ended.is_ok(), is_between, "{end}");
        }
        for at in 0..says.len() {
            for bit in [1, 0x80, 0xff] {
                let mut wrong = says.clone();
                wrong[at] ^= bit;
                let _ = heard(&wrong, &store);
            }
        }
    }
}
