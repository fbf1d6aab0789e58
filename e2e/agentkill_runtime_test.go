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
	"testing"

	cri "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/berthproject/berth/agent/runtime/embedded"
	"github.com/berthproject/berth/agent/runtime/embedded/shim"
)

// ownRuntime is where the agent has the things of its own runtime.
func (k *killed) ownRuntime(parts ...string) string {
	return filepath.Join(append([]string{k.node.Disk, "agent", "runtime"}, parts...)...)
}

// running counts the containers of each pod that run now.
func (k *killed) running(ctx context.Context) (map[string]int, error) {
	now := map[string]int{}
	if k.daemon != nil {
		list, err := k.daemon.Service().ListContainers(ctx, &cri.ContainerFilter{State: &cri.ContainerStateValue{State: cri.ContainerState_CONTAINER_RUNNING}})
		for _, c := range list {
			now[c.Labels["io.kubernetes.pod.name"]]++
		}
		return now, err
	}
	dirs, err := filepath.Glob(k.ownRuntime("containers", "*"))
	for _, dir := range dirs {
		ids, err := shim.ReadProcesses(dir)
		if err != nil || shim.StartOf(ids.Container) != ids.Start {
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
		now[record.Raw.Labels["io.kubernetes.pod.name"]]++
	}
	return now, err
}

// leftInRuntime says what the runtime has that it should not.
func (k *killed) leftInRuntime(ctx context.Context) error {
	if k.daemon != nil {
		boxes, err := k.daemon.Service().ListPodSandbox(ctx, nil)
		containers, err2 := k.daemon.Service().ListContainers(ctx, nil)
		if len(boxes)+len(containers) > 0 || err != nil || err2 != nil {
			return fmt.Errorf("%d sandboxes, %d containers: %v %v", len(boxes), len(containers), err, err2)
		}
		return nil
	}
	var errs []error
	for _, dir := range []string{"sandboxes", "containers", "network"} {
		if left, err := os.ReadDir(k.ownRuntime(dir)); err != nil || len(left) > 0 {
			errs = append(errs, fmt.Errorf("%s has %d entries: %w", dir, len(left), err))
		}
	}
	return errors.Join(errs...)
}

// wipe removes what the agent's own runtime has left, its bridge too.
func (k *killed) wipe(t *testing.T) {
	o := embedded.Options{Dir: k.ownRuntime()}
	prefix, err := netip.ParsePrefix(k.node.Subnet)
	if err != nil {
		t.Error(err)
	}
	all, err := net.Interfaces()
	if err != nil {
		t.Error(err)
	}
	for _, i := range all {
		addrs, _ := i.Addrs()
		for _, a := range addrs {
			if own, err := netip.ParsePrefix(a.String()); err == nil && own.Masked() == prefix {
				o.Bridge = i.Name
			}
		}
	}
	if k.agent != nil {
		k.agent.kill()
	}
	if err := embedded.Wipe(context.Background(), o); err != nil {
		t.Errorf("what the agent's runtime left: %v", err)
	}
}
