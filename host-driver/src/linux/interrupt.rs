//! Interrupts of a card as file descriptors.

use crate::platform::{Interrupts, WaitError};
use rustix::event::{eventfd, poll, EventfdFlags, PollFd, PollFlags, Timespec};
use rustix::io::Errno;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::{Duration, Instant};

/// The kernel refuses to make an event or to wait for it.
#[derive(Debug, thiserror::Error)]
#[error("an interrupt's event can't be made or waited for")]
pub struct InterruptError(#[source] io::Error);

/// One MSI-X vector. It can be waited for by one thread; for an event loop, its file descriptor becomes readable.
#[derive(Debug)]
pub struct Interrupt {
    event: OwnedFd,
}

impl Interrupt {
    /// An event that nothing signals yet.
    pub(super) fn new() -> Result<Self, InterruptError> {
        let event = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)
            .map_err(|error| InterruptError(error.into()))?;
        Ok(Self { event })
    }

    /// Waits until the card has interrupted since the last call, at most `timeout`. Returns how often it has, 0 when the time
    /// has passed.
    ///
    /// # Errors
    /// [`InterruptError`] when the kernel refuses.
    pub fn wait(&self, timeout: Duration) -> Result<u64, InterruptError> {
        // Times beyond what an instant holds are waited for without end.
        let deadline = Instant::now().checked_add(timeout);
        loop {
            match self.take() {
                Ok(0) => {}
                Ok(count) => return Ok(count),
                Err(error) => return Err(InterruptError(error)),
            }
            let left = deadline.map(|end| end.saturating_duration_since(Instant::now()));
            if left.is_some_and(|left| left.is_zero()) {
                return Ok(0);
            }
            self.sleep(left).map_err(InterruptError)?;
        }
    }

    /// Sleeps until the event is signaled, the time has passed, or a signal arrives.
    fn sleep(&self, time: Option<Duration>) -> io::Result<()> {
        // A time that the kernel can't hold is cut: `wait` sleeps again.
        let time = time.map(|t| Timespec::try_from(t).unwrap_or(LONGEST));
        let mut fds = [PollFd::new(&self.event, PollFlags::IN)];
        match poll(&mut fds, time.as_ref()) {
            Ok(_) | Err(Errno::INTR) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    /// Interrupts since the last call.
    fn take(&self) -> io::Result<u64> {
        let mut count = [0; 8];
        match rustix::io::read(&self.event, &mut count) {
            Ok(_) => Ok(u64::from_ne_bytes(count)),
            Err(Errno::AGAIN | Errno::INTR) => Ok(0),
            Err(error) => Err(error.into()),
        }
    }
}

const LONGEST: Timespec = Timespec {
    tv_sec: 1 << 30,
    tv_nsec: 0,
};

/// The interrupts of the first vectors, in order.
impl Interrupts for Vec<Interrupt> {
    fn wait(&self, vector: u8, timeout: Duration) -> Result<u64, WaitError> {
        let fail = |source| WaitError { vector, source };
        match self.get(usize::from(vector)) {
            Some(interrupt) => interrupt.wait(timeout).map_err(|error| fail(error.into())),
            None => Err(fail("it was not switched on".into())),
        }
    }
}

impl AsFd for Interrupt {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.event.as_fd()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What the kernel does when the vector is signaled.
    fn signal(interrupt: &Interrupt, count: u64) {
        rustix::io::write(interrupt, &count.to_ne_bytes()).unwrap();
    }

    #[test]
    fn signals_are_counted_and_taken() {
        let interrupt = Interrupt::new().unwrap();
        signal(&interrupt, 1);
        signal(&interrupt, 2);
        assert_eq!(interrupt.wait(Duration::ZERO).unwrap(), 3);
        assert_eq!(interrupt.wait(Duration::ZERO).unwrap(), 0);
    }

    #[test]
    fn time_passes() {
        let interrupt = Interrupt::new().unwrap();
        let start = Instant::now();
        let timeout = Duration::from_millis(20);
        assert_eq!(interrupt.wait(timeout).unwrap(), 0);
        assert!(start.elapsed() >= timeout);
    }

    #[test]
    fn vectors_are_waited_for_by_number() {
        let interrupts = vec![Interrupt::new().unwrap(), Interrupt::new().unwrap()];
        signal(&interrupts[1], 2);
        let all: &dyn Interrupts = &interrupts;
        assert_eq!(all.wait(0, Duration::ZERO).unwrap(), 0);
        assert_eq!(all.wait(1, Duration::ZERO).unwrap(), 2);
        assert_eq!(all.wait(2, Duration::ZERO).unwrap_err().vector, 2);
    }

    #[test]
    fn a_sleeper_is_woken() {
        let interrupt = Interrupt::new().unwrap();
        std::thread::scope(|scope| {
            let sleeper = scope.spawn(|| interrupt.wait(Duration::MAX).unwrap());
            std::thread::sleep(Duration::from_millis(10));
            signal(&interrupt, 1);
            assert_eq!(sleeper.join().unwrap(), 1);
        });
    }
}
