// Command pressure measures how fast the agent's node pressure loop relieves a node that runs out
// of memory, compared with polling every 1 s and every 10 s, on the same machine in the same run.
//
// The node is a cgroup with a limit of 2 GiB and a hard threshold of 100 MiB. It has 50
// pods: one that uses most of the node within its request, 48 small ones, and one that
// allocates memory at a given rate. The loop uses all its features: the ranking of all
// pods, confirmation, forecast. The polling variants are the loop without events and with
// a fixed interval, with no option set. This is what a kubelet does, but with current
// usage, so they are faster than a kubelet.
//
// A reference thread (every 0.5 ms, with real-time priority) records when usage crossed
// the threshold and when it was below the threshold afterwards. A run counts as failed if
// the kernel killed the consumer. With -cri the consumers are containers of a private
// containerd, with -embedded of Berth's own runtime.
//
// Run it with make bench-pressure. -quick is a smoke test.
package main
