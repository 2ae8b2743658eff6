//! What a hypervisor calls itself in the processor's registers.

/// Signatures of hypervisors by CPUID, each once; empty without the instruction or a hypervisor. A hypervisor that
/// imitates another has both signatures, the second one 256 leaves later.
pub fn hypervisor_signatures() -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    for name in leaves().filter_map(signature) {
        if !found.contains(&name) {
            found.push(name);
        }
    }
    found
}

/// The text of twelve bytes; `None` if they are not text.
fn signature(bytes: [u8; 12]) -> Option<String> {
    let text: String = bytes
        .into_iter()
        .take_while(|byte| *byte != 0)
        .map(char::from)
        .filter(|letter| letter.is_ascii_graphic() || *letter == ' ')
        .collect();
    let text = text.trim();
    (text.len() > 3).then(|| text.to_owned())
}

/// The twelve bytes of each CPUID leaf that may contain the signature of a hypervisor; none without one.
#[cfg(target_arch = "x86_64")]
fn leaves() -> impl Iterator<Item = [u8; 12]> {
    /// The first leaf of hypervisors, and the distance of further ones.
    const FIRST: u32 = 0x4000_0000;
    const STEP: u32 = 0x100;
    const MOST: u32 = 4;
    let has_hypervisor = leaf(1)[2] >> 31 == 1;
    (0..if has_hypervisor { MOST } else { 0 }).map(|index| {
        let [_, b, c, d] = leaf(FIRST + index * STEP);
        let mut bytes = [0; 12];
        for (four, register) in bytes.chunks_exact_mut(4).zip([b, c, d]) {
            four.copy_from_slice(&register.to_le_bytes());
        }
        bytes
    })
}

#[cfg(target_arch = "x86_64")]
fn leaf(number: u32) -> [u32; 4] {
    // SAFETY: every x86-64 CPU has the instruction; it reads registers and changes nothing else. (Newer compilers do
    // not require `unsafe`.)
    #[allow(unused_unsafe)]
    let registers = unsafe { core::arch::x86_64::__cpuid(number) };
    [registers.eax, registers.ebx, registers.ecx, registers.edx]
}

#[cfg(not(target_arch = "x86_64"))]
fn leaves() -> impl Iterator<Item = [u8; 12]> {
    std::iter::empty()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_signature_is_text_up_to_its_first_zero() {
        assert_eq!(signature(*b"KVMKVMKVM\0\0\0").as_deref(), Some("KVMKVMKVM"));
        assert_eq!(signature(*b"bhyve bhyve ").as_deref(), Some("bhyve bhyve"));
        assert_eq!(signature([0; 12]), None);
        assert_eq!(signature([1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12]), None);
    }

    #[test]
    fn a_processor_that_has_the_flag_has_a_signature_and_no_other() {
        let cpuinfo = std::fs::read_to_string("/proc/cpuinfo").unwrap();
        let flagged = cpuinfo.lines().any(|line| {
            line.starts_with("flags") && line.split(' ').any(|flag| flag == "hypervisor")
        });
        // A hypervisor may have no signature; without a hypervisor there is none.
        assert!(flagged || hypervisor_signatures().is_empty());
    }
}
