//! Where a warp is in a ring of stages whose barriers are mbarriers.

/// The stage whose turn it is, and the parity of the phase in which it is full. Who waits for the stage to be empty waits
/// for the phase before, which has the other parity.
pub(crate) struct PipelineState {
    pub(crate) stage: u32,
    pub(crate) parity: u32,
}

impl PipelineState {
    /// Both sides begin here. All stages are empty: the phase before the first counts as complete.
    pub(crate) const FIRST: Self = Self {
        stage: 0,
        parity: 0,
    };

    /// Goes on to the next of `stages` stages; the parity flips with each round.
    #[inline(always)]
    pub(crate) fn advance(&mut self, stages: u32) {
        self.stage += 1;
        if self.stage == stages {
            (self.stage, self.parity) = (0, self.parity ^ 1);
        }
    }
}
