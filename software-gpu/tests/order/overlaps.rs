//! Programmatic stream serialization: a kernel may begin before the one before it has ended.

use super::program::*;
use software_gpu::memory::Accesses;
use software_gpu::order::{OperationId, StreamId};

impl TestProgram {
    fn launch(&mut self, stream: StreamId, what: &'static str, programmatic: bool) -> OperationId {
        let operation = self.submit(stream, what);
        self.checker.launched(HOST, operation, programmatic);
        operation
    }

    /// Executes a kernel with what it touches before and after its wait.
    fn execute_parts(
        &mut self,
        kernel: OperationId,
        early: &Accesses,
        late: &Accesses,
        waits: bool,
    ) {
        self.checker.accessed_early(kernel, early, waits);
        self.checker.accessed(kernel, late);
        self.checker.ended(kernel);
    }
}

fn nothing() -> Accesses {
    Accesses::default()
}

#[test]
fn a_kernel_that_does_not_wait_races_with_the_one_before() {
    let mut program = TestProgram::new();
    let first = program.launch(A, "kernel `first`", false);
    program.execute(first, &writes(BYTES));
    let second = program.launch(A, "kernel `second`", true);
    program.execute_parts(second, &reads(BYTES), &nothing(), false);
    let found = program.only_finding();
    assert_eq!(
        found.lack,
        "kernel `second` may begin before kernel `first` has ended"
    );
    assert_eq!(
        found.missing,
        "execute griddepcontrol.wait (cudaGridDependencySynchronize) in kernel `second` before it reads the bytes, or launch it without programmatic stream serialization"
    );
    assert_eq!(found.nearly, None);
}

#[test]
fn a_kernel_that_waits_comes_after_the_one_before() {
    let mut program = TestProgram::new();
    let first = program.launch(A, "kernel `first`", false);
    program.execute(first, &writes(BYTES));
    let second = program.launch(A, "kernel `second`", true);
    program.execute_parts(second, &reads(0x2000..0x2010), &reads(BYTES), true);
    program.assert_silent();
}

#[test]
fn a_kernel_comes_after_what_the_one_before_began_after() {
    let mut program = TestProgram::new();
    program.run(A, "copy", &writes(BYTES));
    let first = program.launch(A, "kernel `first`", false);
    program.execute(first, &nothing());
    let second = program.launch(A, "kernel `second`", true);
    program.execute_parts(second, &reads(BYTES), &nothing(), false);
    program.assert_silent();
}

/// The third begins when the second lets it, which is after the first only if the second has waited.
#[test]
fn a_chain_of_kernels_is_as_strong_as_its_waits() {
    for waits in [true, false] {
        let mut program = TestProgram::new();
        let first = program.launch(A, "kernel `first`", false);
        program.execute(first, &writes(BYTES));
        let second = program.launch(A, "kernel `second`", true);
        program.execute_parts(second, &nothing(), &nothing(), waits);
        let third = program.launch(A, "kernel `third`", true);
        program.execute_parts(third, &reads(BYTES), &nothing(), false);
        assert_eq!(program.checker.take_findings().is_empty(), waits);
    }
}

#[test]
fn something_in_between_makes_the_kernel_wait() {
    for between in 0..3 {
        let mut program = TestProgram::new();
        let first = program.launch(A, "kernel `first`", false);
        program.execute(first, &writes(BYTES));
        match between {
            0 => {
                program.run(A, "memset", &nothing());
            }
            1 => program.record(A, EVENT),
            _ => {
                program.record(B, EVENT);
                program.wait(A, EVENT);
            }
        }
        let second = program.launch(A, "kernel `second`", true);
        program.execute_parts(second, &reads(BYTES), &nothing(), false);
        program.assert_silent();
    }
}

#[test]
fn later_operations_happen_after_both() {
    let mut program = TestProgram::new();
    let first = program.launch(A, "kernel `first`", false);
    program.execute(first, &writes(0x1000..0x1010));
    let second = program.launch(A, "kernel `second`", true);
    program.execute_parts(second, &writes(0x2000..0x2010), &nothing(), false);
    let third = program.launch(A, "kernel `third`", false);
    program.execute(third, &writes(0x1000..0x3000));
    program.assert_silent();
}

/// The host waited for the first before it launched the second.
#[test]
fn a_kernel_comes_after_what_the_host_waited_for() {
    let mut program = TestProgram::new();
    let first = program.launch(A, "kernel `first`", false);
    program.execute(first, &writes(BYTES));
    program.checker.stream_synchronized(HOST, A);
    let second = program.launch(A, "kernel `second`", true);
    program.execute_parts(second, &reads(BYTES), &nothing(), false);
    program.assert_silent();
}
