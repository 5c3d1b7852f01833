use cuda_std::GpuFloat;
use cuda_std::glam::Vec3;

use crate::Ray;

#[derive(Clone, Copy)]
#[repr(C)]
pub enum Shape {
    Sphere { centre: Vec3, radius: f32, colour: Vec3 },
    Floor { height: f32, colour: Vec3 },
}

pub struct Hit {
    pub distance: f32,
    pub point: Vec3,
    pub normal: Vec3,
    pub colour: Vec3,
}

impl Shape {
    pub fn hit(&self, ray: &Ray) -> Option<Hit> {
        let (distance, colour) = match *self {
            Shape::Sphere { centre, radius, colour } => {
                let to = ray.origin - centre;
                let (b, c) = (to.dot(ray.direction), to.length_squared() - radius * radius);
                (-b - GpuFloat::sqrt(b * b - c), colour)
            }
            Shape::Floor { height, colour } => ((height - ray.origin.y) / ray.direction.y, colour),
        };
        // Also false for the NaN of a ray that misses.
        if !(distance > 1e-3) {
            return None;
        }
        let point = ray.origin + distance * ray.direction;
        let normal = match *self {
            Shape::Sphere { centre, radius, .. } => (point - centre) / radius,
            Shape::Floor { .. } => Vec3::Y,
        };
        Some(Hit { distance, point, normal, colour })
    }
}
