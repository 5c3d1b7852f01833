//! `cuGraphLaunch`: the steps of an executable graph become operations.
//!
//! A launch is, in the order in which the simulator gets it: a mark in the launching stream, after all
//! that the stream's next operation has to wait for and after the last launch of the same graph; each step, after the
//! operations of the steps that it depends on; and a mark in the launching stream after the steps that nothing
//! follows. The dependencies that are passed there are the graph's edges, no more and no less: that is all the order that
//! the checker sees between steps. It learns two things more: the record of an event for which a step waits, and
//! that a launch follows the last one of the same graph.
//!
//! Steps run in streams of the executable graph's own, one for each of its branches. These streams are not blocking,
//! and the program has no handle for them.

use super::executable::{GraphStep, Role};
use super::node::Action;
use crate::driver::c_abi::entry_point::entry_points;
use crate::driver::c_abi::errors::CudaError;
use crate::driver::c_abi::types::{CUcontext, CUgraphExec, CUstream};
use crate::driver::host::call::{Call, call};
use crate::driver::host::costs::Cost;
use crate::driver::simulation::operation::Effect;
use crate::driver::simulation::simulator::Simulator;
use crate::driver::streams::stream::NullStream;
use crate::timeline::{OpId, Time};

entry_points! {
    fn cuGraphLaunch | cuGraphLaunch_ptsz as null (exec: CUgraphExec, stream: CUstream) {
        launch(null, exec, stream)
    }

    fn cuGraphUpload | cuGraphUpload_ptsz as null (exec: CUgraphExec, stream: CUstream) {
        upload(null, exec, stream)
    }
}

fn launch(null: NullStream, exec: CUgraphExec, stream: CUstream) -> Result<(), CudaError> {
    call(Cost::Free, |call| {
        let executable = call.graphs.executable(exec)?;
        let (steps, branches, ends) = (
            executable.steps.len(),
            executable.branches(),
            executable.ends(),
        );
        call.spend(Cost::GraphLaunch {
            steps,
            branches,
            ends,
        });
        let stream = call.stream(stream, null)?;
        call.refuse_in_capture(stream)?;
        check(call, exec)?;
        let copy = Cost::GraphLaunchCopy.time(call.host());
        let clock = call.clock();
        let copies = call.launch_graph(exec, stream, clock, copy)?;
        call.spend_time(copies);
        Ok(())
    })
}

/// Nothing remains to be uploaded: the first launch costs as much as the others.
fn upload(null: NullStream, exec: CUgraphExec, stream: CUstream) -> Result<(), CudaError> {
    call(Cost::Other, |call| {
        call.graphs.executable(exec)?;
        let stream = call.stream(stream, null)?;
        call.refuse_in_capture(stream)?;
        call.unsafe_in_captures()
    })
}

/// Refuses a launch before any of its steps is submitted.
fn check(call: &Call, exec: CUgraphExec) -> Result<(), CudaError> {
    let executable = call.graphs.executable(exec)?;
    call.left_over(&executable.steps, executable.frees_on_launch())?;
    for step in &executable.steps {
        let Role::Node(action) = &step.role else {
            continue;
        };
        if let Action::Record(event) | Action::Wait(event) = action {
            call.events.get(*event)?;
        }
        if let Some(context) = action.context() {
            call.usable(context)?;
        }
    }
    Ok(())
}

impl Simulator {
    /// Each copy takes the host that long. Returns what all take together.
    fn launch_graph(
        &mut self,
        exec: CUgraphExec,
        stream: CUstream,
        clock: Time,
        copy: Time,
    ) -> Result<Time, CudaError> {
        let executable = self.graphs.executable_mut(exec)?;
        let (steps, last) = (std::mem::take(&mut executable.steps), executable.last);
        let mut given = clock;
        let end = self.submit_steps(exec, &steps, last, stream, &mut given, copy);
        let executable = self.graphs.executable_mut(exec)?;
        executable.steps = steps;
        executable.last = Some(end?);
        executable.changed = false;
        Ok(given.since(clock))
    }

    /// Submits one launch and returns its end. `clock` is the host's, which advances by `copy` with each copy.
    fn submit_steps(
        &mut self,
        exec: CUgraphExec,
        steps: &[GraphStep],
        last: Option<OpId>,
        stream: CUstream,
        clock: &mut Time,
        copy: Time,
    ) -> Result<OpId, CudaError> {
        let mut before = self.dependencies(stream)?;
        before.extend(last.filter(|op| !self.is_complete(*op)));
        self.ordering.launch_begins(exec, stream);
        for address in self.left_over(steps, true)? {
            self.free_left_over(address, stream, *clock, &before)?;
        }
        let begin = match self.graphs.executable_mut(exec)?.changed {
            true => Effect::Upload,
            false => Effect::Mark,
        };
        let begin = self.submit_after(stream, *clock, begin, &before)?;
        let mut ends: Vec<Vec<OpId>> = Vec::with_capacity(steps.len());
        let mut leaves = Vec::new();
        for step in steps {
            let mut after: Vec<OpId> = match step.dependencies.as_slice() {
                [] => vec![begin],
                dependencies => dependencies
                    .iter()
                    .flat_map(|at| ends[*at].clone())
                    .collect(),
            };
            if let Role::Node(action) = &step.role {
                let branch = self.branch_stream(exec, step, stream)?;
                let action = step.enabled.then_some(action);
                if matches!(action, Some(Action::Copy(..))) {
                    *clock += copy;
                }
                after = vec![self.submit_step(begin, branch, *clock, action, after)?];
            }
            if step.last {
                leaves.extend(&after);
            }
            ends.push(after);
        }
        if leaves.is_empty() {
            leaves.push(begin);
        }
        let end = self.submit_after(stream, *clock, Effect::Mark, &leaves)?;
        self.note_launched_memory(steps, end);
        self.ordering.launch_submitted(exec, stream, end);
        Ok(end)
    }

    /// A step without an action is disabled.
    fn submit_step(
        &mut self,
        launch: OpId,
        stream: CUstream,
        clock: Time,
        action: Option<&Action>,
        mut after: Vec<OpId>,
    ) -> Result<OpId, CudaError> {
        let Some(action) = action else {
            return self.submit_node(launch, stream, clock, Effect::Wait, &after);
        };
        if let Action::Wait(event) = action {
            after.extend(self.events.get(*event)?.incomplete());
        }
        let op = self.submit_node(launch, stream, clock, action.effect(), &after)?;
        match action {
            Action::Record(event) => self.recorded(*event, op)?,
            Action::Wait(event) => self.ordering.node_waited(op, *event),
            _ => {}
        }
        Ok(op)
    }

    /// The stream that a step runs in, with the priority of the stream that the graph is launched into.
    fn branch_stream(
        &mut self,
        exec: CUgraphExec,
        step: &GraphStep,
        launched_into: CUstream,
    ) -> Result<CUstream, CudaError> {
        let launching = self.streams.get(launched_into)?;
        let priority = launching.priority;
        let context = step.context.unwrap_or(launching.context);
        let key = (step.branch, priority, context);
        let known = self.graphs.executable(exec)?.streams.get(&key).copied();
        if let Some(known) = known.filter(|known| self.streams.get(*known).is_ok()) {
            return Ok(known);
        }
        let stream = self.spare_stream(context, priority)?;
        self.graphs
            .executable_mut(exec)?
            .streams
            .insert(key, stream);
        Ok(stream)
    }

    /// An idle stream that a destroyed executable graph has released, or a new one.
    fn spare_stream(&mut self, context: CUcontext, priority: i32) -> Result<CUstream, CudaError> {
        let Self {
            graphs, streams, ..
        } = self;
        graphs
            .spare_streams
            .retain(|handle| streams.get(*handle).is_ok());
        let idle = self.graphs.spare_streams.iter().position(|handle| {
            self.streams.get(*handle).is_ok_and(|stream| {
                let over = stream.last.is_none_or(|op| self.is_complete(op));
                stream.context == context && stream.priority == priority && over
            })
        });
        match idle {
            Some(position) => Ok(self.graphs.spare_streams.swap_remove(position)),
            None => self.create_stream(context, true, priority),
        }
    }
}
