// Package cgroup limits, measures and kills groups of processes: pods, and the node itself if
// it is confined to a cgroup.
//
// Paths are relative to the mount points, and "/" is the whole machine. For example,
// "/berthpods/burstable/podUID" names the same cgroup in every v1 hierarchy and in the v2
// hierarchy. All operations go through a Host, which tests create from recorded trees.
//
//	v1      one hierarchy per controller
//	hybrid  v1, plus a mostly empty v2 hierarchy for memory.pressure and cgroup.kill
//	v2      one hierarchy
//
// Reads are cheap enough for a loop with a period of 10 ms. A Group keeps its files open, and reads
// do not allocate.
//
// Invariants:
//
//   - Kill sends SIGKILL to every process of the cgroup, however fast they fork. It never
//     signals the agent or a process group.
//   - Remove removes only cgroups without processes; it kills nothing.
//   - Create and Remove are idempotent.
//
// Unlike the kubelet's cgroup manager, this package has no systemd driver, and it kills by
// cgroup (cgroup.kill or the freezer) instead of by container.
package cgroup
