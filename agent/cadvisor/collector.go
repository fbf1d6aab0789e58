package cadvisor

import (
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/berthproject/berth/agent/cgroup"
	"github.com/berthproject/berth/agent/stats"
	"github.com/berthproject/berth/engine/nodepressure"
)

// Options configures a Collector.
type Options struct {
	Host *cgroup.Host
	// Node returns the node, and Root is its cgroup.
	Node func() *corev1.Node
	Root string
	// Pods returns the active pods, and Cgroup the cgroup of one; each container has a child named by its ID.
	Pods   func() []*corev1.Pod
	Cgroup func(*corev1.Pod) string
	// NodeFs, ImageFs and ContainerFs are the node's file systems; nil: none.
	NodeFs, ImageFs, ContainerFs *stats.Disk
	// Usage returns the usage of a pod as last measured, or nil.
	Usage func(types.UID) *nodepressure.PodStats
	// Proc is /proc or a recorded copy.
	Proc string
}

// Collector exports the series. It implements prometheus.Collector.
type Collector struct{ Options }

// Describe sends nothing: which series exist depends on the kernel.
func (c Collector) Describe(chan<- *prometheus.Desc) {}

// owner identifies what a cgroup belongs to: the values of the common labels.
type owner struct{ container, id, image, name, namespace, pod string }

var ownerLabels = []string{"container", "id", "image", "name", "namespace", "pod"}

func (o owner) values(more ...string) []string {
	return append([]string{o.container, o.id, o.image, o.name, o.namespace, o.pod}, more...)
}

// send sends a sample of a series. more has the names and values of further labels. It drops a sample with a label
// that is not UTF-8, for example the name of an interface, which a pod chooses.
func (o owner) send(ch chan<- prometheus.Metric, name string, kind prometheus.ValueType, n float64, more ...string) {
	labels, extra := slices.Clone(ownerLabels), []string{}
	for i := 0; i+1 < len(more); i += 2 {
		labels, extra = append(labels, more[i]), append(extra, more[i+1])
	}
	if m, err := prometheus.NewConstMetric(prometheus.NewDesc(name, help(name), labels, nil), kind, n, o.values(extra...)...); err == nil {
		ch <- m
	}
}

// help returns the help text of a series.
func help(name string) string {
	return "Value of " + strings.ReplaceAll(strings.TrimPrefix(name, "container_"), "_", " ") + " as in cAdvisor"
}

// Collect implements prometheus.Collector.
func (c Collector) Collect(ch chan<- prometheus.Metric) {
	c.collectMachine(ch)
	now := float64(time.Now().Unix())
	disks := c.readFilesystems()
	disks.sendNode(ch)
	scrapeError := 0.0
	if !c.collectGroup(ch, c.Root, owner{id: "/"}, time.Time{}, now) {
		scrapeError = 1
	}
	ch <- prometheus.MustNewConstMetric(prometheus.NewDesc("container_scrape_error", "1 if the node's own cgroup could not be read, 0 otherwise", nil, nil), prometheus.GaugeValue, scrapeError)
	for _, pod := range c.Pods() {
		group := c.Cgroup(pod)
		if !c.Host.Exists(group) {
			continue
		}
		o := owner{id: group, namespace: pod.Namespace, pod: pod.Name}
		started := time.Time{}
		if pod.Status.StartTime != nil {
			started = pod.Status.StartTime.Time
		}
		c.collectGroup(ch, group, o, started, now)
		c.collectContainers(ch, pod, group, now, disks)
		if !pod.Spec.HostNetwork {
			c.collectNetwork(ch, pod, group, o)
		}
	}
}

func containerStatuses(pod *corev1.Pod) []corev1.ContainerStatus {
	return slices.Concat(pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses, pod.Status.EphemeralContainerStatuses)
}

// groupName returns the name of a container's cgroup, or "" if its ID cannot be the name of a cgroup.
func groupName(s *corev1.ContainerStatus) string {
	_, id, _ := strings.Cut(s.ContainerID, "://")
	if id == "." || id == ".." || id != path.Base(id) { // the base of "" is "."
		return ""
	}
	return id
}

// collectContainers sends the series of the running containers of a pod.
func (c Collector) collectContainers(ch chan<- prometheus.Metric, pod *corev1.Pod, group string, now float64, disks filesystems) {
	usage := c.Usage(pod.UID)
	for _, s := range containerStatuses(pod) {
		id := groupName(&s)
		if id == "" || s.State.Running == nil {
			continue
		}
		if child := path.Join(group, id); c.Host.Exists(child) {
			o := owner{s.Name, child, s.Image, id, pod.Namespace, pod.Name}
			c.collectGroup(ch, child, o, s.State.Running.StartedAt.Time, now)
			disks.sendContainer(ch, o, usage)
		}
	}
}

// collectGroup sends the series of a cgroup. It returns false if no file of the cgroup could be read.
func (c Collector) collectGroup(ch chan<- prometheus.Metric, group string, o owner, started time.Time, now float64) (ok bool) {
	r := reader{c.Host, group}
	values := r.read()
	for _, v := range values {
		if v.name == "container_cpu_usage_seconds_total" {
			o.send(ch, v.name, v.kind, v.n, "cpu", "total")
			continue
		}
		o.send(ch, v.name, v.kind, v.n)
	}
	devices := r.io()
	for _, device := range slices.Sorted(maps.Keys(devices)) {
		d := devices[device]
		o.send(ch, "container_fs_reads_bytes_total", prometheus.CounterValue, d.readBytes, "device", device)
		o.send(ch, "container_fs_writes_bytes_total", prometheus.CounterValue, d.writeBytes, "device", device)
		o.send(ch, "container_fs_reads_total", prometheus.CounterValue, d.reads, "device", device)
		o.send(ch, "container_fs_writes_total", prometheus.CounterValue, d.writes, "device", device)
	}
	o.send(ch, "container_last_seen", prometheus.GaugeValue, now)
	if !started.IsZero() {
		o.send(ch, "container_start_time_seconds", prometheus.GaugeValue, float64(started.Unix()))
	}
	return len(values) > 0
}

// collectNetwork sends the series of a pod's network interfaces. It reads them from a process of the sandbox,
// because a container can have another network namespace. It sends none while the sandbox cannot be distinguished
// from a new container.
func (c Collector) collectNetwork(ch chan<- prometheus.Metric, pod *corev1.Pod, group string, o owner) {
	children, err := c.Host.Children(group)
	if err != nil {
		return
	}
	for _, s := range containerStatuses(pod) {
		containerGroup := path.Join(group, groupName(&s))
		children = slices.DeleteFunc(children, func(child string) bool { return child == containerGroup })
	}
	if len(children) != 1 {
		return
	}
	processes, err := c.Host.Procs(children[0])
	if err != nil {
		return
	}
	for _, pid := range processes {
		dir := filepath.Join(c.Proc, strconv.Itoa(pid))
		agentNS, err := os.Readlink(filepath.Join(c.Proc, "self/ns/net"))
		if ns, nsErr := os.Readlink(filepath.Join(dir, "ns/net")); err != nil || nsErr != nil || ns == agentNS {
			continue // exited, or its ID belongs to another process
		}
		if text, err := os.ReadFile(filepath.Join(dir, "net/dev")); err == nil {
			sendInterfaces(ch, o, string(text))
			return
		}
	}
}

// maxInterfaces is the maximum number of interfaces of a pod that have series. A pod with NET_ADMIN can create any
// number.
const maxInterfaces = 64

// interfaceColumns maps columns of /proc/PID/net/dev to the names of their series.
var interfaceColumns = map[int]string{0: "receive_bytes", 1: "receive_packets", 2: "receive_errors", 3: "receive_packets_dropped",
	8: "transmit_bytes", 9: "transmit_packets", 10: "transmit_errors", 11: "transmit_packets_dropped"}

func sendInterfaces(ch chan<- prometheus.Metric, o owner, text string) {
	sent := 0
	for line := range strings.Lines(text) {
		name, counters, ok := strings.Cut(strings.TrimSpace(line), ":")
		fields := strings.Fields(counters)
		if !ok || name == "lo" || len(fields) < 12 || !utf8.ValidString(name) {
			continue
		}
		if sent++; sent > maxInterfaces {
			return
		}
		for _, column := range slices.Sorted(maps.Keys(interfaceColumns)) {
			o.send(ch, "container_network_"+interfaceColumns[column]+"_total", prometheus.CounterValue, parseNumber(fields[column]), "interface", name)
		}
	}
}

// collectMachine sends the series of the machine.
func (c Collector) collectMachine(ch chan<- prometheus.Metric) {
	node := c.Node()
	info := node.Status.NodeInfo
	send := func(name string, n float64) {
		if m, err := prometheus.NewConstMetric(prometheus.NewDesc(name, help(name), []string{"boot_id", "machine_id", "system_uuid"}, nil),
			prometheus.GaugeValue, n, info.BootID, info.MachineID, info.SystemUUID); err == nil {
			ch <- m
		}
	}
	cores, memory := node.Status.Capacity[corev1.ResourceCPU], node.Status.Capacity[corev1.ResourceMemory]
	send("machine_cpu_cores", float64(cores.Value()))
	send("machine_memory_bytes", float64(memory.Value()))
}
