//! How fast a pool grows beyond its base number of threads: the longer nothing moves, the faster.

/// The most threads that one look adds.
const LIMIT: usize = 64;

/// What was there at the last look at a queue, and what that look came to.
pub(super) struct Growth {
    /// How many calls had left the queue.
    taken: u64,
    /// How many must leave it until all that waited have.
    waited: u64,
    step: usize,
}

impl Growth {
    /// Looks at a queue for the first time: `taken` calls have left it, `queued` are in it.
    pub(super) fn new(taken: u64, queued: usize) -> Self {
        Self {
            taken,
            waited: taken + queued as u64,
            step: 1,
        }
    }

    /// Looks again, and returns how many threads more there should be: none when all that waited at the last look have
    /// left, one when some have, and twice as many each time that none has.
    pub(super) fn after(&mut self, taken: u64, queued: usize) -> usize {
        let more = if taken >= self.waited {
            self.step = 1;
            0
        } else if taken > self.taken {
            self.step = 1;
            1
        } else {
            let more = self.step;
            self.step = (self.step * 2).min(LIMIT);
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
    fn a_queue_that_moves_needs_few_threads_and_one_that_stands_ever_more() {
        let mut growth = Growth::new(0, 100);
        assert_eq!(growth.after(100, 50), 0, "all that waited are gone");
        assert_eq!(growth.after(120, 30), 1, "some still wait");
        let stuck: Vec<_> = (0..8).map(|_| growth.after(120, 1000)).collect();
        assert_eq!(stuck, [1, 2, 4, 8, 16, 32, 64, 64]);
        assert_eq!(growth.after(121, 999), 1);
    }
}
