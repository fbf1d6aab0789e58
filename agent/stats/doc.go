// Package stats reads what a node and its pods use, for two readers: the
// pressure shell, which asks up to a hundred times a second and must not
// allocate, and the summary that the node serves (kubectl top, metrics).
//
//	Machine   memory, processes and stalls of the node: fresh at each call
//	Disks     bytes and inodes of its file systems: statfs, at most 2 s old
//	Pods      the pods, their memory and processes: fresh, read only when asked;
//	          what they hold on disk: measured by Measure, in the background
//	Summary   all of that as k8s.io/kubelet/pkg/apis/stats/v1alpha1
//
// Memory is the cgroup's (agent/cgroup), never the runtime's word: containerd
// answers with figures that may be seconds old and takes 3 ms a pod.
//
// It departs from the kubelet in these: rates are of the last two summaries
// instead of a housekeeping loop; there is no cAdvisor; a container's
// writable layer is as old as the runtime's collector.
package stats
