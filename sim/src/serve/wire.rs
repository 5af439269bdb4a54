//! The socket.

use std::collections::VecDeque;
use std::io::ErrorKind;
use std::os::unix::net::UnixDatagram;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::event::{poll, PollFd, PollFlags, Timespec};
use thiserror::Error;

/// Frames kept for a peer whose socket is full. Behind them frames are lost, as in any switch.
const BACKLOG: usize = 4096;

/// Longest frame taken from the socket.
const LONGEST: usize = 16 * 1024;

/// The socket can't be used.
#[derive(Debug, Error)]
pub enum WireError {
    /// Another program listens there.
    #[error("another program uses socket {}", .0.display())]
    InUse(PathBuf),
    /// The operating system's reason.
    #[error("socket {}: {source}", path.display())]
    Io {
        /// Which one.
        path: PathBuf,
        /// Why not.
        source: std::io::Error,
    },
}

/// One end of a cable that is a pair of sockets.
#[derive(Debug)]
pub struct Wire {
    socket: UnixDatagram,
    local: PathBuf,
    remote: PathBuf,
    waiting: VecDeque<Vec<u8>>,
    lost: u64,
}

impl Wire {
    /// Listens at `local`; frames go to `remote`, which need not be there yet. A socket that a program left behind is
    /// replaced.
    ///
    /// # Errors
    /// [`WireError`].
    pub fn bind(local: &Path, remote: &Path) -> Result<Self, WireError> {
        let error = |source| WireError::Io {
            path: local.to_owned(),
            source,
        };
        let probe = UnixDatagram::unbound().map_err(error)?;
        match probe.connect(local) {
            Ok(()) => return Err(WireError::InUse(local.to_owned())),
            Err(e) if e.kind() == ErrorKind::ConnectionRefused => {
                std::fs::remove_file(local).map_err(error)?;
            }
            Err(_) => {}
        }
        let socket = UnixDatagram::bind(local).map_err(error)?;
        socket.set_nonblocking(true).map_err(error)?;
        Ok(Self {
            socket,
            local: local.to_owned(),
            remote: remote.to_owned(),
            waiting: VecDeque::new(),
            lost: 0,
        })
    }

    /// Frames lost because nobody took them.
    pub fn lost(&self) -> u64 {
        self.lost
    }

    /// The next frame, if one has come.
    ///
    /// # Errors
    /// [`WireError::Io`].
    pub fn receive(&mut self) -> Result<Option<Vec<u8>>, WireError> {
        let mut frame = vec![0; LONGEST];
        match self.socket.recv(&mut frame) {
            Ok(len) => {
                frame.truncate(len);
                Ok(Some(frame))
            }
            Err(e) if matches!(e.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => {
                Ok(None)
            }
            Err(source) => Err(self.failed(source)),
        }
    }

    /// Sends a frame, now or when the peer has room. Without a peer it is lost.
    ///
    /// # Errors
    /// [`WireError::Io`].
    pub fn send(&mut self, frame: Vec<u8>) -> Result<(), WireError> {
        if self.waiting.len() < BACKLOG {
            self.waiting.push_back(frame);
        } else {
            self.lost += 1;
        }
        self.flush()
    }

    /// Sends what waits, as far as the peer has room.
    ///
    /// # Errors
    /// [`WireError::Io`].
    pub fn flush(&mut self) -> Result<(), WireError> {
        while let Some(frame) = self.waiting.front() {
            match self.socket.send_to(frame, &self.remote) {
                Ok(_) => {}
                Err(e) => match e.kind() {
                    ErrorKind::WouldBlock | ErrorKind::Interrupted => return Ok(()),
                    ErrorKind::NotFound | ErrorKind::ConnectionRefused => self.lost += 1,
                    _ => return Err(self.failed(e)),
                },
            }
            self.waiting.pop_front();
        }
        Ok(())
    }

    /// Waits for a frame, at most for `time`.
    ///
    /// # Errors
    /// [`WireError::Io`].
    pub fn wait(&self, time: Duration) -> Result<(), WireError> {
        let time = Timespec::try_from(time).unwrap_or_default();
        let mut fds = [PollFd::new(&self.socket, PollFlags::IN)];
        match poll(&mut fds, Some(&time)) {
            Ok(_) | Err(rustix::io::Errno::INTR) => Ok(()),
            Err(errno) => Err(self.failed(errno.into())),
        }
    }

    fn failed(&self, source: std::io::Error) -> WireError {
        WireError::Io {
            path: self.local.clone(),
            source,
        }
    }
}

impl Drop for Wire {
    fn drop(&mut self) {
        // Nothing is lost if it stays: the next program replaces it.
        let _ = std::fs::remove_file(&self.local);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_cross_in_order_and_a_missing_peer_loses_them() {
        let folder = tempfile::tempdir().unwrap();
        let paths = [folder.path().join("a"), folder.path().join("b")];
        let mut a = Wire::bind(&paths[0], &paths[1]).unwrap();
        a.send(vec![1; 60]).unwrap();
        assert_eq!(a.lost(), 1);
        let mut b = Wire::bind(&paths[1], &paths[0]).unwrap();
        // More than a socket holds.
        for k in 0..100u8 {
            a.send(vec![k; 60]).unwrap();
        }
        for k in 0..100u8 {
            b.wait(Duration::from_secs(10)).unwrap();
            assert_eq!(b.receive().unwrap(), Some(vec![k; 60]));
            a.flush().unwrap();
        }
        assert_eq!((b.receive().unwrap(), a.lost()), (None, 1));
    }

    #[test]
    fn a_socket_in_use_is_refused_and_one_left_behind_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        let first = Wire::bind(&path, &path).unwrap();
        assert!(matches!(Wire::bind(&path, &path), Err(WireError::InUse(_))));
        drop(first);
        drop(UnixDatagram::bind(&path).unwrap());
        assert!(path.exists());
        Wire::bind(&path, &path).unwrap();
        assert!(!path.exists());
    }
}
