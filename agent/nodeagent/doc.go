// Package nodeagent assembles a real node from its parts. They are the agent, the runner of pods
// over a container runtime, volumes, probes, images, cgroups, the eviction manager and the HTTPS
// server.
//
//	agent ── pods.Runner ── cri.Client ── CRI: containerd's socket, or the embedded runtime in this process
//	  │        ├─ volume, probe, image, cgroup
//	  ├─ pressure
//	  └─ server ◀── API server
//
// The package contains no policy; it creates the parts and connects them. berth agent and
// berth up --real-node run one node on their machine; berth agent can limit it to a cgroup.
// berth up --virtual-nodes runs several, each with its own container runtime (RunVirtual).
//
// When Run returns, pods keep running, and the next agent of the node finds them. RunVirtual
// stops them and removes the node with all its data.
package nodeagent
