//! Where the processes meet: rank 0 listens, all others connect, and no process waits for ever.
//!
//! Each rank has two connections to rank 0. Over the first go messages. The second only lives: when a process ends without taking
//! its leave, it breaks, and the processes at its ends report that and end as well, wherever they hang.

use crate::launch::ProcessLaunch;
use std::io::{self, ErrorKind, Read, Write};
use std::net::{TcpListener, TcpStream, ToSocketAddrs};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// What each connection begins with: this, the rank, how many ranks its process expects, and the process's number.
const GREETING: [u8; 8] = *b"streams1";
/// How long a process waits before it tries again.
const PAUSE: Duration = Duration::from_millis(20);
/// Said before a connection is given up on purpose.
const LEAVE: u8 = b'.';
const WELCOME: u8 = b'+';
const REFUSED: u8 = b'-';

/// Why the processes did not come together, or did not stay.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error(
        "rank 0 cannot listen on port {port}: {cause}; another program uses it, perhaps: choose another MASTER_PORT"
    )]
    Port { port: u16, cause: io::Error },
    #[error("rank {rank} found no rank 0 at {address} within {}: {cause}", seconds(*timeout))]
    NoAnswer { rank: usize, address: String, timeout: Duration, cause: io::Error },
    #[error("rank 0 waited {} for {missing} of {world} ranks", seconds(*timeout))]
    Missing { missing: String, world: usize, timeout: Duration },
    #[error("rank {rank} says WORLD_SIZE={theirs}, rank 0 says {ours}")]
    World { rank: usize, theirs: usize, ours: usize },
    #[error("two processes say RANK={rank}")]
    Twice { rank: usize },
    #[error("rank 0 refused rank {rank}: {reason}")]
    Refused { rank: usize, reason: String },
    #[error("rank {rank} lost rank {other}: {cause}")]
    Lost { rank: usize, other: usize, cause: io::Error },
}

fn seconds(time: Duration) -> String {
    format!("{} s", time.as_secs_f64())
}

/// The processes, once all of them have come.
#[derive(Debug)]
pub struct ProcessGroup {
    /// This process.
    pub rank: usize,
    /// How many there are.
    pub world: usize,
    /// Messages: of rank 0 to each other rank, in their order; of others to rank 0.
    links: Vec<TcpStream>,
    lives: Vec<TcpStream>,
    leaving: Arc<AtomicBool>,
}

impl ProcessGroup {
    /// Waits until all ranks have come.
    ///
    /// # Errors
    /// They did not within the time-out, or do not agree on how many they are.
    pub fn meet(launch: &ProcessLaunch) -> Result<Self, Error> {
        let (links, lives) = match launch.rank {
            0 => accept_all(launch)?,
            _ => (vec![connect(launch)?], vec![connect(launch)?]),
        };
        let group =
            Self { rank: launch.rank, world: launch.world, links, lives, leaving: Arc::default() };
        for (link, other) in group.links.iter().zip(group.others()) {
            let limited =
                link.set_read_timeout(Some(launch.timeout)).and_then(|()| link.set_nodelay(true));
            limited.map_err(|cause| group.lost(other, cause))?;
        }
        Ok(group)
    }

    /// Ends this process when another one ends before [`ProcessGroup::leave`], wherever this one is at that time.
    ///
    /// # Errors
    /// There are no threads.
    pub fn watch(&self) -> io::Result<()> {
        for (life, other) in self.lives.iter().zip(self.others()) {
            let (mut life, leaving, rank) = (life.try_clone()?, self.leaving.clone(), self.rank);
            life.set_read_timeout(None)?;
            thread::Builder::new().name(format!("watch rank {other}")).spawn(move || {
                let mut said = [0];
                let left = matches!(life.read(&mut said), Ok(1)) && said == [LEAVE];
                if !left && !leaving.load(Ordering::Relaxed) {
                    eprintln!(
                        "error: rank {rank}: rank {other} has ended before its work was done"
                    );
                    std::process::exit(1);
                }
            })?;
        }
        Ok(())
    }

    /// The bytes of rank 0 for all.
    ///
    /// # Errors
    /// A rank is lost, here and below.
    pub fn broadcast(&mut self, bytes: &mut [u8]) -> Result<(), Error> {
        match self.rank {
            0 => self.send_to_all(bytes),
            _ => self.receive(0, bytes),
        }
    }

    /// Returns when all ranks have come here.
    pub fn barrier(&mut self) -> Result<(), Error> {
        self.sum(&mut [])
    }

    /// Adds up the numbers of all ranks, in the order of the ranks, on rank 0's CPU.
    pub fn sum(&mut self, numbers: &mut [f32]) -> Result<(), Error> {
        let mut bytes = vec![0; 4 * numbers.len() + 1];
        if self.rank == 0 {
            for place in 0..self.links.len() {
                self.receive(place, &mut bytes)?;
                for (number, theirs) in numbers.iter_mut().zip(bytes.chunks_exact(4)) {
                    *number += f32::from_le_bytes([theirs[0], theirs[1], theirs[2], theirs[3]]);
                }
            }
            encode(numbers, &mut bytes);
            return self.send_to_all(&bytes);
        }
        encode(numbers, &mut bytes);
        self.send_to_all(&bytes)?;
        self.receive(0, &mut bytes)?;
        for (number, sum) in numbers.iter_mut().zip(bytes.chunks_exact(4)) {
            *number = f32::from_le_bytes([sum[0], sum[1], sum[2], sum[3]]);
        }
        Ok(())
    }

    /// Takes leave: from now on the others may miss this process.
    ///
    /// # Errors
    /// Another rank was lost before.
    pub fn leave(mut self) -> Result<(), Error> {
        self.barrier()?;
        self.leaving.store(true, Ordering::Relaxed);
        for life in &mut self.lives {
            // A process that has ended needs no message.
            let _ = life.write_all(&[LEAVE]);
        }
        Ok(())
    }

    /// The ranks at the other ends.
    fn others(&self) -> std::ops::Range<usize> {
        if self.rank == 0 { 1..self.world } else { 0..1 }
    }

    fn send_to_all(&mut self, bytes: &[u8]) -> Result<(), Error> {
        for place in 0..self.links.len() {
            let sent = self.links[place].write_all(bytes);
            sent.map_err(|cause| self.lost(self.others().start + place, cause))?;
        }
        Ok(())
    }

    fn receive(&mut self, place: usize, bytes: &mut [u8]) -> Result<(), Error> {
        let received = self.links[place].read_exact(bytes);
        received.map_err(|cause| self.lost(self.others().start + place, cause))
    }

    fn lost(&self, other: usize, cause: io::Error) -> Error {
        Error::Lost { rank: self.rank, other, cause }
    }
}

fn encode(numbers: &[f32], bytes: &mut [u8]) {
    for (number, bytes) in numbers.iter().zip(bytes.chunks_exact_mut(4)) {
        bytes.copy_from_slice(&number.to_le_bytes());
    }
}

/// Rank 0: both connections of each other rank.
fn accept_all(launch: &ProcessLaunch) -> Result<(Vec<TcpStream>, Vec<TcpStream>), Error> {
    let (world, timeout) = (launch.world, launch.timeout);
    let port = |cause| Error::Port { port: launch.port, cause };
    let listener = TcpListener::bind(("0.0.0.0", launch.port)).map_err(port)?;
    listener.set_nonblocking(true).map_err(port)?;
    let deadline = Instant::now() + timeout;
    let mut found: Vec<[Option<TcpStream>; 2]> = (1..world).map(|_| [None, None]).collect();
    let mut processes = vec![None; world];
    while found.iter().flatten().any(Option::is_none) {
        if Instant::now() >= deadline {
            let absent = (1..world).filter(|rank| found[rank - 1][1].is_none());
            let missing = absent.map(|rank| rank.to_string()).collect::<Vec<_>>().join(", ");
            return Err(Error::Missing { missing, world, timeout });
        }
        let mut stream = match listener.accept() {
            Ok((stream, _)) => stream,
            Err(_) => {
                thread::sleep(PAUSE);
                continue;
            }
        };
        // Connections from other programs are ignored.
        let Some([rank, theirs, process]) = greeted(&mut stream) else { continue };
        let refused = if theirs != world {
            Some(Error::World { rank, theirs, ours: world })
        } else {
            let known = processes.get_mut(rank).map(|known| *known.get_or_insert(process));
            let own = known == Some(process);
            let place = found
                .get_mut(rank.wrapping_sub(1))
                .and_then(|both| both.iter_mut().find(|one| one.is_none()));
            match place {
                Some(place) if own => {
                    *place = stream.try_clone().ok();
                    None
                }
                _ => Some(Error::Twice { rank }),
            }
        };
        match refused {
            None => drop(stream.write_all(&[WELCOME])),
            Some(error) => {
                let reason = error.to_string();
                let _ = stream
                    .write_all(&[REFUSED, reason.len() as u8])
                    .and_then(|()| stream.write_all(reason.as_bytes()));
                return Err(error);
            }
        }
    }
    let (links, lives): (Vec<_>, Vec<_>) =
        found.into_iter().filter_map(|[link, life]| link.zip(life)).unzip();
    Ok((links, lives))
}

/// What a process says behind the greeting.
fn greeted(stream: &mut TcpStream) -> Option<[usize; 3]> {
    let mut bytes = [0; GREETING.len() + 24];
    stream.set_nonblocking(false).ok()?;
    stream.set_read_timeout(Some(Duration::from_secs(2))).ok()?;
    stream.read_exact(&mut bytes).ok()?;
    let number =
        |from: usize| Some(u64::from_le_bytes(bytes[from..from + 8].try_into().ok()?) as usize);
    (bytes[..8] == GREETING).then_some([number(8)?, number(16)?, number(24)?])
}

/// Another rank: a connection to rank 0, which may not listen yet.
fn connect(launch: &ProcessLaunch) -> Result<TcpStream, Error> {
    let &ProcessLaunch { rank, world, timeout, port, .. } = launch;
    let address = format!("{}:{port}", launch.master);
    let deadline = Instant::now() + timeout;
    loop {
        match try_connect(&address, rank, world, deadline) {
            Ok(stream) => return Ok(stream),
            Err(Ok(reason)) => return Err(Error::Refused { rank, reason }),
            Err(Err(cause)) if Instant::now() >= deadline => {
                return Err(Error::NoAnswer { rank, address, timeout, cause });
            }
            Err(Err(_)) => thread::sleep(PAUSE),
        }
    }
}

/// An error is rank 0's reason, or that of the network.
fn try_connect(
    address: &str,
    rank: usize,
    world: usize,
    deadline: Instant,
) -> Result<TcpStream, Result<String, io::Error>> {
    let left = deadline.saturating_duration_since(Instant::now()).max(PAUSE);
    let found = address.to_socket_addrs().map_err(Err)?.next();
    let found = found.ok_or_else(|| Err(io::Error::new(ErrorKind::NotFound, "no such host")))?;
    let mut stream = TcpStream::connect_timeout(&found, left).map_err(Err)?;
    let mut greeting = GREETING.to_vec();
    for number in [rank as u64, world as u64, std::process::id().into()] {
        greeting.extend(number.to_le_bytes());
    }
    stream.set_read_timeout(Some(left)).map_err(Err)?;
    stream.write_all(&greeting).map_err(Err)?;
    let mut answer = [0];
    stream.read_exact(&mut answer).map_err(Err)?;
    if answer == [WELCOME] {
        return Ok(stream);
    }
    let mut len = [0];
    stream.read_exact(&mut len).map_err(Err)?;
    let mut reason = vec![0; len[0].into()];
    stream.read_exact(&mut reason).map_err(Err)?;
    Err(Ok(String::from_utf8_lossy(&reason).into_owned()))
}
