// Package cgroup is how the agent limits, measures and kills groups of
// processes: the pods, and the node itself where it is confined to a cgroup.
//
// A path is that of a cgroup below the mount points, "/" being the machine:
// "/berthpods/burstable/podUID" is the same cgroup in every hierarchy of
// version 1 and in the one of version 2. Host is found once; all else takes it
// from there, so that tests can point it at recorded trees.
//
//	v1      each controller has its hierarchy
//	hybrid  as v1, and an (almost) empty version 2 beside, for memory.pressure and cgroup.kill
//	v2      one hierarchy
//
// Reading is made for a loop that asks every 10 ms: a Group keeps its files
// open, and its reads neither open nor allocate anything.
//
// Invariants:
//
//   - Kill leaves no process of the cgroup that was not sent SIGKILL, however
//     fast they fork; it never signals the agent itself or a process group.
//   - Remove removes only cgroups in which nothing lives; it kills nobody.
//   - Make and Remove may be repeated.
//
// It departs from the kubelet's cgroup manager in having no systemd driver and
// in killing by cgroup (cgroup.kill, or the freezer) instead of by container.
package cgroup
