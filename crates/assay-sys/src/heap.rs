//! How the C library keeps the memory of a process that lives long.

/// Makes all threads share one heap, and gives large blocks back to the kernel as soon as they are
/// freed: a server whose threads take turns at reading large results would otherwise keep the most
/// that each of them ever needed. Only glibc has several heaps; elsewhere nothing happens.
pub fn share_one_heap() {
    #[cfg(target_env = "gnu")]
    for (parameter, value) in [(libc::M_ARENA_MAX, 1), (libc::M_MMAP_THRESHOLD, 128 << 10)] {
        // SAFETY: this sets a number of the allocator, which takes its own lock for it.
        unsafe { libc::mallopt(parameter, value) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_go_on_allocating() {
        share_one_heap();
        let large = || vec![1_u8; 1 << 20].iter().map(|one| u64::from(*one)).sum::<u64>();
        let threads: Vec<_> = (0..4).map(|_| std::thread::spawn(large)).collect();
        assert!(threads.into_iter().all(|thread| thread.join().unwrap() == 1 << 20));
    }
}
