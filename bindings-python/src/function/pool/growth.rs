//! The growth of a pool beyond its base number of threads: it doubles each time that no call has left the queue.

/// The maximum number of threads that one check adds.
const MAX_STEP: usize = 64;

/// The queue's counters at the last check, and the number of threads that the next one may add.
pub(super) struct Growth {
    /// The number of calls that had left the queue.
    taken: u64,
    /// The value of `taken` at which every call that was queued then has left.
    waited: u64,
    step: usize,
}

impl Growth {
    /// Records the first check: `taken` calls have left the queue, `queued` are in it.
    pub(super) fn new(taken: u64, queued: usize) -> Self {
        Self {
            taken,
            waited: taken + queued as u64,
            step: 1,
        }
    }

    /// Checks again, and returns the number of threads to add: none when every call queued at the last check has left,
    /// one when some have, and twice the last number when none has.
    pub(super) fn after(&mut self, taken: u64, queued: usize) -> usize {
        let more = if taken >= self.waited {
            self.step = 1;
            0
        } else if taken > self.taken {
            self.step = 1;
            1
        } else {
            let more = self.step;
            self.step = (self.step * 2).min(MAX_STEP);
            more
        };
        self.taken = taken;
        self.waited = taken + queued as u64;
        more
    }
}

#[cfg(test)]
mod tests {
    use super::Growth;

    #[test]
    fn a_moving_queue_adds_few_threads_and_a_stuck_one_doubles_them() {
        let mut growth = Growth::new(0, 100);
        assert_eq!(growth.after(100, 50), 0, "all that waited are gone");
        assert_eq!(growth.after(120, 30), 1, "some still wait");
        let stuck: Vec<_> = (0..8).map(|_| growth.after(120, 1000)).collect();
        assert_eq!(stuck, [1, 2, 4, 8, 16, 32, 64, 64]);
        assert_eq!(growth.after(121, 999), 1);
    }
}
