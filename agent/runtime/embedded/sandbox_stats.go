package embedded

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	cri "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// ListPodSandboxStats lists statistics of ready sandboxes that match filter; nil matches all. CPU,
// memory and processes are the sums of the running containers.
func (r *Runtime) ListPodSandboxStats(ctx context.Context, filter *cri.PodSandboxStatsFilter) (out []*cri.PodSandboxStats, err error) {
	ready := &cri.PodSandboxStateValue{State: cri.PodSandboxState_SANDBOX_READY}
	list, err := r.ListPodSandbox(ctx, &cri.PodSandboxFilter{Id: filter.GetId(), State: ready, LabelSelector: filter.GetLabelSelector()})
	if err != nil {
		return nil, err
	}
	for _, s := range list {
		sandbox := r.findSandbox(s.GetId())
		if sandbox == nil {
			continue
		}
		containers, err := r.ListContainerStats(ctx, &cri.ContainerStatsFilter{PodSandboxId: s.GetId()})
		if err != nil {
			return nil, err
		}
		stats := &cri.LinuxPodSandboxStats{Containers: containers, Cpu: sumCPU(containers), Memory: sumMemory(containers),
			Network: sandbox.networkUsage(), Process: r.countProcesses(s.GetId())}
		out = append(out, &cri.PodSandboxStats{Linux: stats, Attributes: &cri.PodSandboxAttributes{Id: s.GetId(), Metadata: s.GetMetadata(),
			Labels: s.GetLabels(), Annotations: s.GetAnnotations()}})
	}
	return out, nil
}

func sumCPU(containers []*cri.ContainerStats) *cri.CpuUsage {
	sum := &cri.CpuUsage{Timestamp: time.Now().UnixNano(), UsageCoreNanoSeconds: &cri.UInt64Value{}}
	for _, c := range containers {
		sum.UsageCoreNanoSeconds.Value += c.GetCpu().GetUsageCoreNanoSeconds().GetValue()
	}
	return sum
}

func sumMemory(containers []*cri.ContainerStats) *cri.MemoryUsage {
	sum := &cri.MemoryUsage{Timestamp: time.Now().UnixNano(), WorkingSetBytes: &cri.UInt64Value{}, UsageBytes: &cri.UInt64Value{},
		RssBytes: &cri.UInt64Value{}, PageFaults: &cri.UInt64Value{}, MajorPageFaults: &cri.UInt64Value{}}
	for _, c := range containers {
		m := c.GetMemory()
		sum.WorkingSetBytes.Value += m.GetWorkingSetBytes().GetValue()
		sum.UsageBytes.Value += m.GetUsageBytes().GetValue()
		sum.RssBytes.Value += m.GetRssBytes().GetValue()
		sum.PageFaults.Value += m.GetPageFaults().GetValue()
		sum.MajorPageFaults.Value += m.GetMajorPageFaults().GetValue()
	}
	return sum
}

func (r *Runtime) countProcesses(sandbox string) *cri.ProcessUsage {
	count := 0
	for _, c := range r.containersInSandbox(sandbox) {
		if pids, err := r.host.Procs(c.record.Group); err == nil {
			count += len(pids)
		}
	}
	return &cri.ProcessUsage{Timestamp: time.Now().UnixNano(), ProcessCount: uint64Value(int64(count))}
}

// networkUsage returns the traffic of the sandbox's network interfaces. It is nil on the host's
// network, and if the sandbox has just exited.
func (s *sandbox) networkUsage() *cri.NetworkUsage {
	s.mu.Lock()
	p := s.process
	s.mu.Unlock()
	if s.hostNetwork() || p == nil {
		return nil
	}
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/net/dev", p.pid))
	if err != nil || p.hasExited() {
		return nil
	}
	usage := &cri.NetworkUsage{Timestamp: time.Now().UnixNano(), Interfaces: parseNetDev(text)}
	for _, i := range usage.Interfaces {
		if i.Name == "eth0" {
			usage.DefaultInterface = i
		}
	}
	return usage
}

// parseNetDev parses the kernel's table of network interfaces. It omits the loopback interface.
func parseNetDev(text []byte) (out []*cri.NetworkInterfaceUsage) {
	for lines := bufio.NewScanner(bytes.NewReader(text)); lines.Scan(); {
		name, counters, ok := strings.Cut(lines.Text(), ":")
		fields := strings.Fields(counters)
		if name = strings.TrimSpace(name); !ok || name == "lo" || len(fields) < 11 {
			continue
		}
		number := func(column int) *cri.UInt64Value {
			n, _ := strconv.ParseUint(fields[column], 10, 64)
			return &cri.UInt64Value{Value: n}
		}
		const rxBytes, rxErrors, txBytes, txErrors = 0, 2, 8, 10
		out = append(out, &cri.NetworkInterfaceUsage{Name: name, RxBytes: number(rxBytes), RxErrors: number(rxErrors), TxBytes: number(txBytes), TxErrors: number(txErrors)})
	}
	return out
}
