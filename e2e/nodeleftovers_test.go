package e2e

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	cri "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/berthproject/berth/agent/cgroup"
	"github.com/berthproject/berth/agent/runtime/embedded"
	"github.com/berthproject/berth/agent/runtime/embedded/shim"
)

// embeddedRuntimePath returns a path in the directory of the agent's embedded runtime.
func (n *realNode) embeddedRuntimePath(parts ...string) string {
	return filepath.Join(append([]string{n.node.Disk, "agent", "runtime"}, parts...)...)
}

// running returns the number of running containers of each pod by name.
func (n *realNode) running(ctx context.Context) (map[string]int, error) {
	counts := map[string]int{}
	if n.daemon != nil {
		list, err := n.daemon.Service().ListContainers(ctx, &cri.ContainerFilter{State: &cri.ContainerStateValue{State: cri.ContainerState_CONTAINER_RUNNING}})
		for _, c := range list {
			counts[c.Labels["io.kubernetes.pod.name"]]++
		}
		return counts, err
	}
	dirs, err := filepath.Glob(n.embeddedRuntimePath("containers", "*"))
	for _, dir := range dirs {
		ids, err := shim.ReadProcesses(dir)
		if err != nil || shim.StartTime(ids.Container) != ids.Start {
			continue // not started, or ended
		}
		var record struct {
			Raw struct{ Labels map[string]string }
		}
		text, err := os.ReadFile(filepath.Join(dir, "container.json"))
		if err == nil {
			err = json.Unmarshal(text, &record)
		}
		if err != nil {
			return nil, err
		}
		counts[record.Raw.Labels["io.kubernetes.pod.name"]]++
	}
	return counts, err
}

// leftovers returns an error that names pods in the API and what remains of pods on the node.
func (n *realNode) leftovers(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, eventTimeout/6)
	defer cancel()
	var errs []error
	pods, err := n.pods(ctx)
	if err != nil || len(pods) > 0 {
		errs = append(errs, fmt.Errorf("%d pods in the API: %w", len(pods), err))
	}
	errs = append(errs, n.runtimeLeftovers(ctx))
	host, err := cgroup.Detect()
	if err != nil {
		return err
	}
	for _, level := range []string{"", "burstable", "besteffort"} {
		groups, _ := host.Children(filepath.Join(n.node.Cgroup, "berthpods", level))
		for _, g := range groups {
			if strings.HasPrefix(filepath.Base(g), "pod") {
				errs = append(errs, fmt.Errorf("cgroup %s", g))
			}
		}
	}
	for _, dir := range []string{"pods", "log/pods"} {
		if files, _ := filepath.Glob(filepath.Join(n.node.Disk, "agent", dir, "*")); len(files) > 0 {
			errs = append(errs, fmt.Errorf("directories %v", files))
		}
	}
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	for line := range strings.Lines(string(mounts)) {
		point := strings.Fields(line)[4]
		if point == filepath.Join(n.node.Disk, "agent", "images") { // another disk of the node
			continue
		}
		if strings.HasPrefix(point, n.node.Disk+"/") || strings.HasPrefix(point, n.node.RunDir+"/") {
			errs = append(errs, fmt.Errorf("mount %s", point))
		}
	}
	return errors.Join(append(errs, err)...)
}

// runtimeLeftovers returns an error that names unexpected sandboxes, containers and files of the
// runtime.
func (n *realNode) runtimeLeftovers(ctx context.Context) error {
	if n.daemon != nil {
		sandboxes, err := n.daemon.Service().ListPodSandbox(ctx, nil)
		containers, containersErr := n.daemon.Service().ListContainers(ctx, nil)
		if len(sandboxes)+len(containers) > 0 || err != nil || containersErr != nil {
			return fmt.Errorf("%d sandboxes, %d containers: %v %v", len(sandboxes), len(containers), err, containersErr)
		}
		return nil
	}
	var errs []error
	for _, dir := range []string{"sandboxes", "containers", "network"} {
		if entries, err := os.ReadDir(n.embeddedRuntimePath(dir)); err != nil || len(entries) > 0 {
			errs = append(errs, fmt.Errorf("%s has %d entries: %w", dir, len(entries), err))
		}
	}
	// No process of the runtime: the command line of a shim contains its directory.
	lines, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, file := range lines {
		if text, _ := os.ReadFile(file); strings.Contains(string(text), n.embeddedRuntimePath()+"/") {
			errs = append(errs, fmt.Errorf("process %q", text))
		}
	}
	return errors.Join(errs...)
}

// removeRuntime removes the containers and the bridge of the agent's embedded runtime.
func (n *realNode) removeRuntime(t *testing.T) {
	o := embedded.Options{Dir: n.embeddedRuntimePath()}
	prefix, err := netip.ParsePrefix(n.node.Subnet)
	if err != nil {
		t.Error(err)
	}
	interfaces, err := net.Interfaces()
	if err != nil {
		t.Error(err)
	}
	for _, i := range interfaces {
		addrs, _ := i.Addrs()
		for _, a := range addrs {
			if network, err := netip.ParsePrefix(a.String()); err == nil && network.Masked() == prefix {
				o.Bridge = i.Name
			}
		}
	}
	if n.agent != nil {
		n.agent.kill()
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if err := embedded.Cleanup(ctx, o); err != nil {
		t.Errorf("leftovers of the agent's runtime: %v", err)
	}
}
