package embedded

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	cri "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/berthproject/berth/agent/cgroup"
)

// UpdateContainerResources changes the limits of a container that has not exited. Zero values keep
// the current limit.
func (r *Runtime) UpdateContainerResources(_ context.Context, id string, resources *cri.LinuxContainerResources) error {
	c := r.findContainer(id)
	if c == nil {
		return notFound("container", id)
	}
	if err := checkUpdateSupported(resources); err != nil {
		return err
	}
	c.opMu.Lock()
	defer c.opMu.Unlock()
	if c.state() == cri.ContainerState_CONTAINER_EXITED {
		return status.Errorf(codes.FailedPrecondition, "container %s has exited: its resources cannot be updated", id)
	}
	return r.setLimits(c.record.Group, resources)
}

// checkUpdateSupported returns an error if a field of an update is not supported.
func checkUpdateSupported(res *cri.LinuxContainerResources) error {
	if res.GetCpusetCpus() != "" || res.GetCpusetMems() != "" {
		return unsupported("resources.cpuset_cpus and cpuset_mems", "CPU sets are not implemented")
	}
	if len(res.GetHugepageLimits()) > 0 {
		return unsupported("resources.hugepage_limits", "huge pages are not implemented")
	}
	return nil
}

func (r *Runtime) setLimits(group string, res *cri.LinuxContainerResources) error {
	if err := r.host.SetLimits(group, cgroupLimits(res)); err != nil {
		return err
	}
	return r.setUnified(group, res.GetUnified())
}

// cgroupLimits converts the limits of a container. Values of 0 stay 0.
func cgroupLimits(res *cri.LinuxContainerResources) cgroup.Limits {
	l := cgroup.Limits{CPUShares: res.GetCpuShares(), CPUQuota: res.GetCpuQuota(), Memory: res.GetMemoryLimitInBytes()}
	const period = 100_000 // microseconds; the period of cgroup.Limits
	if p := res.GetCpuPeriod(); p > 0 && p != period && l.CPUQuota > 0 {
		l.CPUQuota = l.CPUQuota * period / p
	}
	return l
}

// setUnified writes settings of cgroup v2. On v1 it does nothing.
func (r *Runtime) setUnified(group string, settings map[string]string) error {
	if r.host.Mode != cgroup.V2 {
		return nil
	}
	var errs []error
	for file, value := range settings {
		if filepath.Base(file) != file {
			return fmt.Errorf("cgroup setting %q: must be a file name", file)
		}
		if err := os.WriteFile(filepath.Join(r.host.Dir("memory", group), file), []byte(value), 0o644); err != nil {
			errs = append(errs, fmt.Errorf("cgroup setting %s: %w", file, err))
		}
	}
	return errors.Join(errs...)
}
