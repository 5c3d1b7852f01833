//! A path tracer: glam's vectors, a scene behind a reference, an enum of shapes, and vectors on the device's heap.

extern crate alloc;

pub mod shapes;

use alloc::vec::Vec;

use cuda_std::glam::{USizeVec2, Vec3};
use cuda_std::prelude::*;
use cuda_std::GpuFloat;
use shapes::{Hit, Shape};

/// What the camera sees.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct View {
    pub size: USizeVec2,
    pub corner: Vec3,
    pub across: Vec3,
    pub up: Vec3,
}

/// Shapes in device memory.
#[repr(C)]
pub struct Scene {
    pub shapes: *const Shape,
    pub count: usize,
    pub bounces: u32,
}

pub struct Ray {
    pub origin: Vec3,
    pub direction: Vec3,
}

impl Scene {
    /// # Safety
    /// `shapes` points to `count` shapes.
    unsafe fn nearest(&self, ray: &Ray) -> Option<Hit> {
        let shapes = unsafe { core::slice::from_raw_parts(self.shapes, self.count) };
        let hits = shapes.iter().filter_map(|shape| shape.hit(ray));
        hits.min_by(|a, b| a.distance.total_cmp(&b.distance))
    }

    /// The colour that a ray brings: the sky's, less what the surfaces on its way take.
    ///
    /// # Safety
    /// As for `nearest`.
    pub unsafe fn colour(&self, mut ray: Ray) -> Vec3 {
        let mut surfaces = Vec::new();
        for _ in 0..self.bounces {
            let Some(hit) = (unsafe { self.nearest(&ray) }) else { break };
            surfaces.push(Box::new(hit.colour));
            let direction = ray.direction - 2.0 * ray.direction.dot(hit.normal) * hit.normal;
            ray = Ray { origin: hit.point + 1e-3 * hit.normal, direction };
        }
        let height = 0.5 * (ray.direction.normalize().y + 1.0);
        let sky = Vec3::ONE.lerp(Vec3::new(0.5, 0.7, 1.0), height);
        surfaces.iter().rev().fold(sky, |light, colour| light * **colour)
    }
}

#[kernel]
pub unsafe fn render(pixels: *mut Vec3, view: View, scene: &Scene) {
    let index = thread::index_2d().as_usizevec2();
    if index.x >= view.size.x || index.y >= view.size.y {
        return;
    }
    let share = index.as_vec2() / view.size.as_vec2();
    let target = view.corner + share.x * view.across + share.y * view.up;
    let ray = Ray { origin: Vec3::ZERO, direction: target.normalize() };
    unsafe { *pixels.add(index.y * view.size.x + index.x) = scene.colour(ray) };
}

/// Eight bits a channel, with a gamma of 2.
#[kernel]
pub unsafe fn to_bytes(pixels: &[Vec3], bytes: *mut [u8; 3]) {
    let i = thread::index_1d() as usize;
    if let Some(pixel) = pixels.get(i) {
        let scaled = pixel.map(|channel| GpuFloat::sqrt(channel) * 255.0);
        unsafe { *bytes.add(i) = scaled.as_u8vec3().to_array() };
    }
}
