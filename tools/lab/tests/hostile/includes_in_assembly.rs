//! Includes a file of the grader's user by the assembler: it must not compile.

core::arch::global_asm!(".incbin \"SECRET\"");

fn main() {}
