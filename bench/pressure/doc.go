// Command pressure measures how soon a node that runs out of memory is helped:
// the agent's pressure shell beside a poll of 1 s and of 10 s, on the same
// machine in the same run.
//
// The node is a cgroup with a limit of 2 GiB and a hard threshold of 100 MiB.
// On it are 50 pods: one that holds most of the node within its request, 48
// small ones, and a hog that touches new memory at a rate. Of the shell all is in
// force: the ranking of all pods, confirmation, forecast. The polls are the shell
// without alarms at a fixed pace, with no option set: what a kubelet does, but
// with fresh figures, so that they come off better than it would.
//
// A reference of its own (each half millisecond, ahead of all else) says when
// usage crossed the threshold and when it was back below. A run counts as lost
// when the kernel killed the hog. By -cri the hogs are containers of a private
// containerd, by -embedded of Berth's own runtime.
//
// Run it by make bench-pressure; -quick is a smoke test.
package main
