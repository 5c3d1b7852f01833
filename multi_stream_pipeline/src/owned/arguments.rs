//! The buffers as arguments of a launch.

use super::Buffer;
use cuda_host::kernel::KernelArgument;
use cust::memory::{DeviceCopy, DeviceSlice};

/// Arguments whose buffers are all of stream `'s`.
pub trait Of<'s> {}

impl Of<'_> for f32 {}
impl Of<'_> for u32 {}
impl<'s, T: DeviceCopy> Of<'s> for &Buffer<'s, T> {}
impl<'s, T: DeviceCopy> Of<'s> for &mut Buffer<'s, T> {}
impl<'s, A: Of<'s>> Of<'s> for (A,) {}
impl<'s, A: Of<'s>, B: Of<'s>> Of<'s> for (A, B) {}
impl<'s, A: Of<'s>, B: Of<'s>, C: Of<'s>> Of<'s> for (A, B, C) {}
impl<'s, A: Of<'s>, B: Of<'s>, C: Of<'s>, D: Of<'s>> Of<'s> for (A, B, C, D) {}

impl<'a, T: DeviceCopy, P> KernelArgument<P> for &'a Buffer<'_, T>
where
    &'a DeviceSlice<T>: KernelArgument<P>,
{
    type Passed = <&'a DeviceSlice<T> as KernelArgument<P>>::Passed;

    fn passed(self) -> Self::Passed {
        <&DeviceSlice<T>>::passed(&self.data)
    }
}

impl<'a, T: DeviceCopy, P> KernelArgument<P> for &'a mut Buffer<'_, T>
where
    &'a mut DeviceSlice<T>: KernelArgument<P>,
{
    type Passed = <&'a mut DeviceSlice<T> as KernelArgument<P>>::Passed;

    fn passed(self) -> Self::Passed {
        <&mut DeviceSlice<T>>::passed(&mut self.data)
    }
}
