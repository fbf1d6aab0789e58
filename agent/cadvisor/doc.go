// Package cadvisor serves the common series of the kubelet's /metrics/cadvisor, which dashboards and autoscalers use.
//
// Values are read from cgroups v1 and v2 and from /proc/PID/net/dev when they are requested. A series whose file the
// kernel does not have is missing; pressure needs cgroup v2. A pod has separate series with empty labels container,
// image and name, as in the kubelet. Disk usage is that of the file systems and, as last measured, of the writable layers
// and logs of containers.
package cadvisor
