//! Room for designs as Rust values.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

/// Bytes of stack for [`on_big_stack`]. Pages that are never touched cost
/// nothing, so it is generous: a card's design is megabytes as a value and
/// constructors in debug builds copy it several times.
const STACK: usize = 2 << 30;

/// Runs `work` on a thread with a very large stack, and panics if it panics.
///
/// A 512-bit signal is 1.6 KB as a Rust value, so a design with hundreds of
/// them overflows a default stack when it is built, simulated or printed.
///
/// # Panics
/// With the panic of `work`, or if no thread can be started.
pub fn on_big_stack<R: Send>(work: impl FnOnce() -> R + Send) -> R {
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new()
            .name("big-stack".into())
            .stack_size(STACK)
            .spawn_scoped(scope, work)
            .unwrap_or_else(|error| panic!("can't start a thread with a large stack: {error}"));
        thread
            .join()
            .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}

/// Runs `work` on every item, on as many threads with large stacks as there
/// are processors; the results are in the order of the items.
pub(crate) fn on_big_stacks<I: Sync, R: Send>(
    items: &[I],
    work: impl Fn(&I) -> R + Sync,
) -> Vec<R> {
    let workers = std::thread::available_parallelism().map_or(1, usize::from);
    let next = AtomicUsize::new(0);
    let results = Mutex::new(Vec::new());
    let worker = || {
        while let Some((index, item)) = {
            let index = next.fetch_add(1, Ordering::Relaxed);
            items.get(index).map(|item| (index, item))
        } {
            let result = work(item);
            results
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .push((index, result));
        }
    };
    std::thread::scope(|scope| {
        for _ in 0..workers.min(items.len()) {
            scope.spawn(|| on_big_stack(worker));
        }
    });
    let mut results = results.into_inner().unwrap_or_else(PoisonError::into_inner);
    results.sort_by_key(|(index, _)| *index);
    results.into_iter().map(|(_, result)| result).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_of_many_megabytes_fit() {
        let sum = on_big_stack(|| {
            let block = [1u8; 64 << 20];
            std::hint::black_box(&block)
                .iter()
                .map(|&b| u64::from(b))
                .sum::<u64>()
        });
        assert_eq!(sum, 64 << 20);
    }
}
