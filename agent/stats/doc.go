// Package stats reads the resource usage of a node and its pods. It serves the node-pressure
// manager, which reads up to 100 times per second and must not allocate, and the summary API
// (kubectl top, metrics).
//
//	Node     memory, processes and PSI of the node: read at each call
//	Disk     bytes and inodes of a file system: at most 2 s old
//	Pods     memory and processes of pods: read at each call
//	         disk usage of pods: measured by Measure in the background
//	Summary  all of it as k8s.io/kubelet/pkg/apis/stats/v1alpha1
//
// Memory is read from cgroups (agent/cgroup), not from the runtime: containerd's values may be
// seconds old and take 3 ms per pod to read.
//
// Differences from the kubelet: there is no cAdvisor, and Prepare takes the samples between which
// rates are computed. If the runtime cannot measure a writable layer on request, its last
// measurement is used.
package stats
