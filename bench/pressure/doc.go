// Command pressure measures the time in which the agent's node pressure loop relieves a node that runs out of
// memory. It compares the loop with polling every 1 s and every 10 s, on the same machine in the same run.
//
// The node is a cgroup with a limit of 2 GiB and a hard threshold of 100 MiB. It has 50 pods. One uses half of
// the node within its request, 48 are small, and the hog allocates memory at a given rate. The loop uses all
// its features: the ranking of all pods, confirmation, and forecast. The polling variants are the loop without
// events and options, and with a fixed interval. A kubelet works the same way, but without current usage, so
// the variants are faster than a kubelet.
//
// A reference thread samples the usage every 0.5 ms with real-time priority. It records when usage crossed the
// threshold and when it was back at or below the threshold. A run counts as failed if the kernel killed the
// hog. With -cri the hogs are containers of a private containerd, with -embedded containers of the embedded
// runtime.
//
// Run it with make bench-pressure. -quick is a smoke test.
package main
