//! Binary format of one request: two bytes, then variable-length integers.
//!
//! | field | form |
//! |---|---|
//! | class (bits 0 to 2), observed arrival (bit 3), observed submission (bit 4) | byte |
//! | flags | byte |
//! | device | number |
//! | end, relative to the end of the previous request (for the first: to the beginning), nanoseconds | signed |
//! | nanoseconds from arrival to end, if the arrival was observed | number |
//! | nanoseconds from submission to end, if the submission was observed | number |
//! | bytes | number |
//! | offset, relative to the end of the previous request on its device, sectors of 512 bytes, if observed | signed |
//!
//! Numbers have seven bits per byte, lowest first, and a continuation bit (LEB128); signed ones are zigzag encoded.

use std::io::{self, Read};

use assay_machine::system::{BlockClass, BlockRequest, RequestFlags};

const SECTOR_BYTES: u64 = 512;
const CLASS: u8 = 0b111;
const ARRIVED: u8 = 1 << 3;
const ISSUED: u8 = 1 << 4;
/// Maximum bytes of a number: nine with seven bits each, and one for the last bit of 64.
const LONGEST: u32 = 10;

#[derive(Debug)]
pub enum CodeFault {
    /// Reading failed, or the file ends within a request.
    Read(io::Error),
    Not(&'static str),
}

impl From<io::Error> for CodeFault {
    fn from(error: io::Error) -> Self {
        Self::Read(error)
    }
}

/// Reference values for the next request: the same on both sides.
#[derive(Clone, Debug)]
pub struct Coder {
    last_ended_ns: u64,
    /// End sector of the last request, by device.
    next_sectors: Vec<u64>,
}

impl Coder {
    pub fn new(begun_ns: u64, devices: usize) -> Self {
        Self { last_ended_ns: begun_ns, next_sectors: vec![0; devices] }
    }

    /// Appends a request; ignores a request of an unknown device.
    pub fn encode(&mut self, request: &BlockRequest, into: &mut Vec<u8>) {
        let device = usize::from(request.device);
        let Some(next) = self.next_sectors.get_mut(device) else { return };
        let class = BlockClass::ALL.iter().position(|class| *class == request.class);
        let head = class.unwrap_or_default() as u8
            | if request.arrived_ns.is_some() { ARRIVED } else { 0 }
            | if request.issued_ns.is_some() { ISSUED } else { 0 };
        into.extend([head, request.flags.0]);
        write_number(device as u64, into);
        write_signed(request.ended_ns.wrapping_sub(self.last_ended_ns) as i64, into);
        self.last_ended_ns = request.ended_ns;
        for seen in [request.arrived_ns, request.issued_ns].into_iter().flatten() {
            write_number(request.ended_ns.saturating_sub(seen), into);
        }
        write_number(u64::from(request.bytes), into);
        if head & (ARRIVED | ISSUED) != 0 {
            let sector = request.offset_bytes / SECTOR_BYTES;
            write_signed(sector.wrapping_sub(*next) as i64, into);
            *next = sector.wrapping_add(u64::from(request.bytes) / SECTOR_BYTES);
        }
    }

    /// Reads the next request; `None` at the end.
    pub fn decode(&mut self, from: &mut impl Read) -> Result<Option<BlockRequest>, CodeFault> {
        let Some(head) = first_byte(from)? else { return Ok(None) };
        let class =
            *BlockClass::ALL.get(usize::from(head & CLASS)).ok_or(CodeFault::Not("class"))?;
        if head & !(CLASS | ARRIVED | ISSUED) != 0 {
            return Err(CodeFault::Not("first byte"));
        }
        let flags = RequestFlags(byte(from)?);
        let device = u16::try_from(read_number(from)?).map_err(|_| CodeFault::Not("device"))?;
        let next =
            self.next_sectors.get_mut(usize::from(device)).ok_or(CodeFault::Not("device"))?;
        let ended_ns = self.last_ended_ns.wrapping_add(read_signed(from)? as u64);
        let mut read_time = |bit: u8| -> Result<Option<u64>, CodeFault> {
            if head & bit == 0 {
                return Ok(None);
            }
            let before = ended_ns.checked_sub(read_number(from)?);
            before.map(Some).ok_or(CodeFault::Not("time"))
        };
        let (arrived_ns, issued_ns) = (read_time(ARRIVED)?, read_time(ISSUED)?);
        let bytes = u32::try_from(read_number(from)?).map_err(|_| CodeFault::Not("size"))?;
        let mut offset_bytes = 0;
        if head & (ARRIVED | ISSUED) != 0 {
            let sector = next.wrapping_add(read_signed(from)? as u64);
            offset_bytes = sector.checked_mul(SECTOR_BYTES).ok_or(CodeFault::Not("offset"))?;
            *next = sector.wrapping_add(u64::from(bytes) / SECTOR_BYTES);
        }
        self.last_ended_ns = ended_ns;
        Ok(Some(BlockRequest {
            device,
            class,
            arrived_ns,
            issued_ns,
            ended_ns,
            offset_bytes,
            bytes,
            flags,
        }))
    }
}

fn write_number(mut value: u64, into: &mut Vec<u8>) {
    while value >= 0x80 {
        into.push(value as u8 | 0x80);
        value >>= 7;
    }
    into.push(value as u8);
}

fn write_signed(value: i64, into: &mut Vec<u8>) {
    write_number(((value << 1) ^ (value >> 63)) as u64, into);
}

/// Reads one byte; `None` at the end of the file.
fn first_byte(from: &mut impl Read) -> io::Result<Option<u8>> {
    let mut byte = [0];
    loop {
        return match from.read(&mut byte) {
            Ok(0) => Ok(None),
            Ok(_) => Ok(Some(byte[0])),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => Err(error),
        };
    }
}

fn byte(from: &mut impl Read) -> io::Result<u8> {
    first_byte(from)?.ok_or_else(|| io::Error::from(io::ErrorKind::UnexpectedEof))
}

fn read_number(from: &mut impl Read) -> Result<u64, CodeFault> {
    let mut value = 0_u64;
    for at in 0..LONGEST {
        let next = byte(from)?;
        let bits = u64::from(next & 0x7f);
        if at == LONGEST - 1 && bits > 1 {
            break;
        }
        value |= bits << (7 * at);
        if next & 0x80 == 0 {
            return Ok(value);
        }
    }
    Err(CodeFault::Not("number"))
}

fn read_signed(from: &mut impl Read) -> Result<i64, CodeFault> {
    let value = read_number(from)?;
    Ok((value >> 1) as i64 ^ -((value & 1) as i64))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_short_and_come_back() {
        let values = [0, 1, 127, 128, 300, 1 << 20, u64::from(u32::MAX), u64::MAX];
        for value in values {
            let mut written = Vec::new();
            write_number(value, &mut written);
            assert_eq!(read_number(&mut &written[..]).unwrap(), value);
            assert_eq!(written.len(), (64 - value.leading_zeros()).div_ceil(7).max(1) as usize);
        }
        for value in [0, -1, 1, -64, 63, 64, i64::MIN, i64::MAX] {
            let mut written = Vec::new();
            write_signed(value, &mut written);
            assert_eq!(read_signed(&mut &written[..]).unwrap(), value);
        }
    }

    #[test]
    fn what_is_no_number_is_refused() {
        let endless = [0xff_u8; 16];
        assert!(matches!(read_number(&mut &endless[..]), Err(CodeFault::Not("number"))));
        assert!(matches!(read_number(&mut &[0x80_u8][..]), Err(CodeFault::Read(_))));
    }
}
