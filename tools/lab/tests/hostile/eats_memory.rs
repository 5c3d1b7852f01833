//! Takes memory until there is no more.

fn main() {
    let mut all = Vec::new();
    loop {
        all.push(vec![1u8; 64 << 20]);
    }
}
