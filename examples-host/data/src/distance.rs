//! How far results are from a reference of more digits.

/// The largest distance between the two numbers of a pair; NaN when one of them is NaN.
pub fn largest<'e>(pairs: impl IntoIterator<Item = (&'e f32, &'e f64)>) -> f64 {
    let distance = |(got, expected): (&f32, &f64)| (f64::from(*got) - expected).abs();
    let distances = pairs.into_iter().map(distance);
    // f64::max would drop a NaN.
    distances.fold(0.0, |largest, distance| {
        if distance > largest || distance.is_nan() {
            distance
        } else {
            largest
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_largest_is_found_and_a_nan_is_kept() {
        let expected = [1.0, 2.0, 3.0];
        let of = |got: [f32; 3]| largest(got.iter().zip(&expected));
        assert_eq!(of([1.0, 2.5, 3.25]), 0.5);
        assert!(of([f32::NAN, 2.5, 3.0]).is_nan());
    }
}
