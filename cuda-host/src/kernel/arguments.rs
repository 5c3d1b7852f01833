//! What a launch passes for a kernel's parameters.
//!
//! `cuLaunchKernel` takes an array of pointers to the arguments. [`KernelArgument`] says which host type may stand for which
//! parameter and turns it into the value that the driver reads; [`KernelArguments`] does so for a tuple and puts the pointers
//! into an array on the stack. `#[kernel]` makes a slice two parameters, hence two pointers.

use cust::memory::{DeviceBuffer, DeviceCopy, DevicePointer, DeviceSlice};
use std::ffi::c_void;
use std::ptr;

/// A value that the driver reads when a kernel is launched.
pub trait Passed {
    /// Gives the address of each of the kernel's parameters that the value fills.
    fn addresses(&self, push: &mut impl FnMut(*mut c_void));
}

/// A slice, as `#[kernel]` passes it: pointer and length.
pub struct PassedSlice<T: DeviceCopy> {
    pointer: DevicePointer<T>,
    /// A `usize` of the device, which has 64 bits whatever the host has.
    len: u64,
}

impl<T: DeviceCopy> Passed for PassedSlice<T> {
    #[inline]
    fn addresses(&self, push: &mut impl FnMut(*mut c_void)) {
        push(address(&self.pointer));
        push(address(&self.len));
    }
}

impl<T: DeviceCopy> Passed for DevicePointer<T> {
    #[inline]
    fn addresses(&self, push: &mut impl FnMut(*mut c_void)) {
        push(address(self));
    }
}

fn address<T>(value: &T) -> *mut c_void {
    ptr::from_ref(value).cast_mut().cast()
}

/// A type that stands for the parameter type `P` in a launch.
#[diagnostic::on_unimplemented(
    message = "a launch cannot pass `{Self}` for a kernel's parameter of type `{P}`",
    label = "the kernel's parameter is `{P}`"
)]
pub trait KernelArgument<P> {
    /// The array that the driver reads.
    type Passed: Passed;

    /// The array that the driver reads.
    fn passed(self) -> Self::Passed;
}

macro_rules! scalars {
    ($($scalar:ty)*) => {$(
        impl Passed for $scalar {
            #[inline]
            fn addresses(&self, push: &mut impl FnMut(*mut c_void)) {
                push(address(self));
            }
        }

        impl KernelArgument<$scalar> for $scalar {
            type Passed = Self;

            #[inline]
            fn passed(self) -> Self {
                self
            }
        }
    )*};
}

scalars!(u8 i8 u16 i16 u32 i32 u64 i64 f32 f64);

/// Numbers of the device's pointer width, 64 bits, which a host of 32 bits widens.
macro_rules! widened {
    ($($scalar:ty as $passed:ty),*) => {$(
        impl KernelArgument<$scalar> for $scalar {
            type Passed = $passed;

            #[inline]
            fn passed(self) -> $passed {
                self as $passed
            }
        }
    )*};
}

widened!(usize as u64, isize as i64);

macro_rules! slices {
    ($($parameter:ty: $argument:ty;)*) => {$(
        impl<T: DeviceCopy> KernelArgument<$parameter> for $argument {
            type Passed = PassedSlice<T>;

            #[inline]
            fn passed(self) -> PassedSlice<T> {
                PassedSlice { pointer: self.as_device_ptr(), len: self.len() as u64 }
            }
        }
    )*};
}

slices! {
    &'static [T]: &DeviceSlice<T>;
    &'static [T]: &DeviceBuffer<T>;
    &'static mut [T]: &mut DeviceSlice<T>;
    &'static mut [T]: &mut DeviceBuffer<T>;
}

macro_rules! pointers {
    ($($parameter:ty: [$element:ty] $argument:ty, $pointer:expr;)*) => {$(
        impl<T: DeviceCopy> KernelArgument<$parameter> for $argument {
            type Passed = DevicePointer<$element>;

            #[inline]
            fn passed(self) -> DevicePointer<$element> {
                let pointer: fn($argument) -> DevicePointer<$element> = $pointer;
                pointer(self)
            }
        }
    )*};
}

pointers! {
    *const T: [T] DevicePointer<T>, |pointer| pointer;
    *const T: [T] &DeviceSlice<T>, |slice| slice.as_device_ptr();
    *const T: [T] &DeviceBuffer<T>, |buffer| buffer.as_device_ptr();
    *mut T: [T] DevicePointer<T>, |pointer| pointer;
    *mut T: [T] &mut DeviceSlice<T>, |slice| slice.as_device_ptr();
    *mut T: [T] &mut DeviceBuffer<T>, |buffer| buffer.as_device_ptr();
    *const *const T: [DevicePointer<T>] DevicePointer<DevicePointer<T>>, |pointer| pointer;
    *const *const T: [DevicePointer<T>] &DeviceSlice<DevicePointer<T>>, |slice| slice.as_device_ptr();
    *const *const T: [DevicePointer<T>] &DeviceBuffer<DevicePointer<T>>, |buffer| buffer.as_device_ptr();
    *const *mut T: [DevicePointer<T>] DevicePointer<DevicePointer<T>>, |pointer| pointer;
    *const *mut T: [DevicePointer<T>] &DeviceSlice<DevicePointer<T>>, |slice| slice.as_device_ptr();
    *const *mut T: [DevicePointer<T>] &DeviceBuffer<DevicePointer<T>>, |buffer| buffer.as_device_ptr();
}

/// A tuple of arguments for a kernel with the parameters `P`, also a tuple.
#[diagnostic::on_unimplemented(
    message = "the kernel's parameters are `{P}`, but the launch passes `{Self}`",
    label = "not as many arguments as the kernel has parameters"
)]
pub trait KernelArguments<P> {
    /// Calls `launch` with an array of pointers to the arguments, which lives as long as the call.
    fn with_pointers<R>(self, launch: impl FnOnce(&[*mut c_void]) -> R) -> R;
}

macro_rules! tuples {
    ($($P:ident $A:ident $argument:ident)*) => {
        impl<$($P, $A: KernelArgument<$P>),*> KernelArguments<($($P,)*)> for ($($A,)*) {
            #[inline]
            fn with_pointers<R>(self, launch: impl FnOnce(&[*mut c_void]) -> R) -> R {
                /// A slice takes two.
                const POINTERS: usize = 2 * <[&str]>::len(&[$(stringify!($argument)),*]);
                let ($($argument,)*) = self;
                $(let $argument = $argument.passed();)*
                let mut pointers = [ptr::null_mut(); POINTERS];
                let mut slots = pointers.iter_mut();
                let mut _push = |address| {
                    if let Some(slot) = slots.next() {
                        *slot = address;
                    }
                };
                $($argument.addresses(&mut _push);)*
                launch(&pointers)
            }
        }
    };
}

/// A tuple of all the names, and one of each shorter list.
macro_rules! all_tuples {
    (@ [$($done:tt)*] $P:ident $A:ident $argument:ident $($rest:tt)*) => {
        tuples!($($done)*);
        all_tuples!(@ [$($done)* $P $A $argument] $($rest)*);
    };
    (@ [$($done:tt)*]) => { tuples!($($done)*); };
    ($($names:ident)*) => { all_tuples!(@ [] $($names)*); };
}

// Up to 16 parameters.
all_tuples! {
    P1 A1 a1 P2 A2 a2 P3 A3 a3 P4 A4 a4 P5 A5 a5 P6 A6 a6 P7 A7 a7 P8 A8 a8
    P9 A9 a9 P10 A10 a10 P11 A11 a11 P12 A12 a12 P13 A13 a13 P14 A14 a14 P15 A15 a15 P16 A16 a16
}
