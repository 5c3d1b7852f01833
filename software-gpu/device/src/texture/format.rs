//! Texels: `CUarray_format` and a number of channels.

use half::f16;

/// The type of a texel's channels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Unsigned,
    Signed,
    Float,
}

/// The channels of a texel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Format {
    number: u32,
    kind: Kind,
    channel_bytes: u32,
    channels: u32,
}

impl Format {
    /// A `CUarray_format` with 1, 2 or 4 channels. The compressed and the video formats of `cuda.h` are not known here.
    pub fn new(number: u32, channels: u32) -> Option<Self> {
        let (kind, channel_bytes) = match number {
            0x01 => (Kind::Unsigned, 1),
            0x02 => (Kind::Unsigned, 2),
            0x03 => (Kind::Unsigned, 4),
            0x08 => (Kind::Signed, 1),
            0x09 => (Kind::Signed, 2),
            0x0a => (Kind::Signed, 4),
            0x10 => (Kind::Float, 2),
            0x20 => (Kind::Float, 4),
            _ => return None,
        };
        matches!(channels, 1 | 2 | 4).then_some(Self {
            number,
            kind,
            channel_bytes,
            channels,
        })
    }

    /// The `CUarray_format`.
    pub const fn number(self) -> u32 {
        self.number
    }

    /// Channels of a texel.
    pub const fn channels(self) -> u32 {
        self.channels
    }

    /// Bytes of a channel.
    pub const fn channel_bytes(self) -> u32 {
        self.channel_bytes
    }

    /// Bytes of a texel.
    pub const fn bytes(self) -> u32 {
        self.channel_bytes * self.channels
    }

    /// Whether channels are floating-point numbers.
    pub const fn is_float(self) -> bool {
        matches!(self.kind, Kind::Float)
    }

    /// A channel of the texel with these bytes, if the texel has it.
    pub(super) fn channel(self, bytes: &[u8], index: usize) -> Option<Channel> {
        let size = self.channel_bytes as usize;
        let bytes = (index < self.channels as usize)
            .then(|| bytes.get(index * size..(index + 1) * size))
            .flatten()?;
        let mut word = [0; 4];
        word[..size].copy_from_slice(bytes);
        let word = u32::from_le_bytes(word);
        let unused = 32 - 8 * self.channel_bytes;
        Some(match self.kind {
            Kind::Unsigned => Channel::Unsigned(word, self.channel_bytes),
            Kind::Signed => {
                Channel::Signed((word << unused).cast_signed() >> unused, self.channel_bytes)
            }
            Kind::Float if size == 2 => Channel::Float(f16::from_bits(word as u16).to_f32()),
            Kind::Float => Channel::Float(f32::from_bits(word)),
        })
    }
}

/// The value of a channel, with its bytes if it is an integer.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Channel {
    /// An unsigned integer.
    Unsigned(u32, u32),
    /// A signed integer.
    Signed(i32, u32),
    /// A floating-point number.
    Float(f32),
}

impl Channel {
    /// The value itself.
    pub(super) fn integer(self) -> f64 {
        match self {
            Self::Unsigned(value, _) => value.into(),
            Self::Signed(value, _) => value.into(),
            Self::Float(value) => value.into(),
        }
    }

    /// A number from 0 to 1, or from -1 to 1, for an integer (`CU_TRSF_READ_AS_INTEGER` is not set).
    pub(super) fn number(self, srgb: bool) -> f64 {
        match self {
            Self::Unsigned(value, 1) if srgb => linear(f64::from(value) / 255.0),
            Self::Unsigned(value, 1) => f64::from(value) / 255.0,
            Self::Unsigned(value, _) => f64::from(value) / 65535.0,
            Self::Signed(value, 1) => (f64::from(value) / 127.0).max(-1.0),
            Self::Signed(value, _) => (f64::from(value) / 32767.0).max(-1.0),
            Self::Float(value) => value.into(),
        }
    }
}

/// A number in the sRGB colour space as a linear one (IEC 61966-2-1).
fn linear(value: f64) -> f64 {
    match value <= 0.04045 {
        true => value / 12.92,
        false => ((value + 0.055) / 1.055).powf(2.4),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn number(format: u32, bytes: &[u8]) -> f64 {
        let format = Format::new(format, 1).expect("is known");
        format.channel(bytes, 0).expect("is there").number(false)
    }

    #[test]
    fn integers_become_numbers_of_their_range() {
        assert_eq!(number(1, &[255]), 1.0);
        assert_eq!(number(1, &[51]), 0.2);
        assert_eq!(number(2, &[255, 255]), 1.0);
        assert_eq!(number(8, &[127]), 1.0);
        assert_eq!((number(8, &[0x81]), number(8, &[0x80])), (-1.0, -1.0));
        assert_eq!(number(9, &[0, 0x80]), -1.0);
    }

    #[test]
    fn half_floats_are_widened() {
        assert_eq!(
            number(0x10, &f16::from_f32(-1.5).to_bits().to_le_bytes()),
            -1.5
        );
        assert_eq!(number(0x20, &0.1_f32.to_le_bytes()), f64::from(0.1_f32));
    }

    #[test]
    fn a_format_has_one_two_or_four_channels() {
        assert_eq!(Format::new(0x20, 3), None);
        assert_eq!(Format::new(0xb0, 1), None);
        let bytes = [(1, 1), (2, 2), (0x20, 4)]
            .map(|(format, channels)| Format::new(format, channels).expect("is known").bytes());
        assert_eq!(bytes, [1, 4, 16]);
    }

    #[test]
    fn srgb_ends_where_it_begins() {
        let format = Format::new(1, 1).expect("is known");
        let number = |byte| format.channel(&[byte], 0).expect("is there").number(true);
        assert_eq!((number(0), number(255)), (0.0, 1.0));
        assert!((number(188) - 0.5029).abs() < 1e-4);
    }
}
