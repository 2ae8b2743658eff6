//! What the processor tells of whoever lent it.

/// The signature that a hypervisor shows to its guests, where one shows itself: twelve letters
/// (`KVMKVMKVM`, `TCGTCGTCGTCG`). Of processors without CPUID nothing can be asked.
#[cfg(any(target_arch = "x86", target_arch = "x86_64"))]
pub fn hypervisor_signature() -> Option<String> {
    #[cfg(target_arch = "x86")]
    use std::arch::x86::__cpuid;
    #[cfg(target_arch = "x86_64")]
    use std::arch::x86_64::__cpuid;

    /// "Feature Information", where no hardware ever sets this bit of ECX.
    const FEATURES: u32 = 1;
    const HYPERVISOR: u32 = 1 << 31;
    /// The first leaf that is left to hypervisors.
    const SIGNATURE: u32 = 0x4000_0000;

    #[allow(unused_unsafe, reason = "safe from Rust 1.94 on")]
    // SAFETY: every processor that runs these targets has the instruction, and it changes nothing.
    let leaf = |number| unsafe { __cpuid(number) };
    if leaf(FEATURES).ecx & HYPERVISOR == 0 {
        return None;
    }
    let told = leaf(SIGNATURE);
    let bytes = [told.ebx, told.ecx, told.edx].map(u32::to_le_bytes).concat();
    let text = String::from_utf8_lossy(&bytes).trim_end_matches('\0').to_owned();
    (!text.is_empty()).then_some(text)
}

/// The signature that a hypervisor shows to its guests: these processors have no CPUID.
#[cfg(not(any(target_arch = "x86", target_arch = "x86_64")))]
pub fn hypervisor_signature() -> Option<String> {
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The kernel shows the same bit as a flag.
    #[test]
    fn a_signature_is_told_where_the_kernel_tells_of_a_hypervisor() {
        let text = std::fs::read_to_string("/proc/cpuinfo").unwrap();
        let flagged = text.split_whitespace().any(|word| word == "hypervisor");
        let told = hypervisor_signature();
        assert!(flagged || told.is_none(), "{told:?}");
    }
}
