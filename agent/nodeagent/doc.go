// Package nodeagent puts a real node together: the agent's loop, the runner of pods
// over a container runtime, their volumes, probes, images and cgroups, the
// watch over what the node runs short of, and the server that answers about it.
//
//	agent ── pods.Runner ── runtime.Service (containerd)
//	  │        ├─ volume, probe, image, cgroup
//	  ├─ pressure
//	  └─ serve ◀── API server
//
// It decides nothing: it makes the parts and hands each what it needs of the
// others. berth agent makes one node of the machine that it runs on, or of the
// cgroup that it is told; berth up --virtual-nodes makes several, each with a
// container runtime of its own (Virtual).
//
// When Run ends, pods go on running: a node whose agent comes back finds them.
// Virtual ends them and removes the node with all that was on it.
package nodeagent
