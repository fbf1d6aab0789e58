package embedded

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"time"

	cri "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/berthproject/berth/agent/network"
	"github.com/berthproject/berth/agent/runtime"
)

// defaultCgroupParent is the parent of cgroups for which the caller specifies none.
const defaultCgroupParent = "/berth-embedded"

// RunPodSandbox creates and starts a sandbox. The only handler is "".
func (r *Runtime) RunPodSandbox(_ context.Context, config *cri.PodSandboxConfig, handler string) (string, error) {
	if err := checkSandboxSupported(config, handler); err != nil {
		return "", err
	}
	id := newID()
	parent := config.GetLinux().GetCgroupParent()
	if parent == "" {
		parent = defaultCgroupParent
	}
	s := &sandbox{dir: filepath.Join(r.opts.sandboxesDir(), id),
		record: sandboxRecord{ID: id, Created: time.Now(), Group: path.Join("/", parent, id), Config: config}}
	if !s.hostNetwork() && r.network == nil {
		return "", errors.New("embedded runtime: no podCIDR: only pods with spec.hostNetwork can run")
	}
	s.opMu.Lock()
	defer s.opMu.Unlock()
	r.mu.Lock()
	r.sandboxes[id] = s
	r.mu.Unlock()
	if err := r.createSandbox(s); err != nil {
		joined := errors.Join(fmt.Errorf("sandbox of pod %s/%s: %w", config.GetMetadata().GetNamespace(), config.GetMetadata().GetName(), err), r.removeSandbox(s))
		if errors.Is(err, network.ErrPortMapped) {
			return "", runtime.HostPortInUse(joined)
		}
		return "", joined
	}
	return id, nil
}

// createSandbox starts a sandbox and connects it to the network. After an error the caller removes the sandbox.
func (r *Runtime) createSandbox(s *sandbox) error {
	if err := os.Mkdir(s.dir, 0o700); err != nil {
		return err
	}
	// Record the sandbox before creating anything that must be removed later.
	if err := s.record.save(s.dir); err != nil {
		return err
	}
	if err := s.writeFiles(); err != nil {
		return err
	}
	if err := s.startProcess(r); err != nil {
		return err
	}
	if s.hostNetwork() {
		return nil
	}
	namespace, err := s.process.namespace("net")
	if err != nil {
		return err
	}
	defer namespace.Close()
	address, err := r.network.Attach(s.record.ID, namespace)
	if err != nil {
		return err
	}
	ports, err := s.hostPorts()
	if err == nil && len(ports) > 0 {
		err = r.network.MapPorts(s.record.ID, address, ports)
	}
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.record.Address = address.String()
	return s.record.save(s.dir)
}

// removeSandbox removes a sandbox without containers.
func (r *Runtime) removeSandbox(s *sandbox) error {
	if err := errors.Join(s.stop(r), r.removeCgroup(s.record.Group)); err != nil {
		return err
	}
	s.closeHandles()
	if err := os.RemoveAll(s.dir); err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.sandboxes, s.record.ID)
	return nil
}

// removeCgroup kills the processes of a cgroup and removes it.
func (r *Runtime) removeCgroup(group string) error {
	if err := r.host.Kill(group); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), killTimeout)
	defer cancel()
	return r.host.Remove(ctx, group)
}

func (r *Runtime) findSandbox(id string) *sandbox {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.sandboxes[id]
}

// containersInSandbox returns the containers of a sandbox, including those that have exited.
func (r *Runtime) containersInSandbox(id string) (list []*container) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, c := range r.containers {
		if c.record.Sandbox == id {
			list = append(list, c)
		}
	}
	return list
}

// StopPodSandbox kills all containers of the sandbox and releases its host ports and address.
func (r *Runtime) StopPodSandbox(ctx context.Context, id string) error {
	s := r.findSandbox(id)
	if s == nil {
		return nil
	}
	for _, c := range r.containersInSandbox(id) {
		if err := r.kill(ctx, c); err != nil {
			return err
		}
	}
	s.opMu.Lock()
	defer s.opMu.Unlock()
	return s.stop(r)
}

// RemovePodSandbox removes the sandbox and its containers. It succeeds if the sandbox does not
// exist.
func (r *Runtime) RemovePodSandbox(ctx context.Context, id string) error {
	s := r.findSandbox(id)
	if s == nil {
		return nil
	}
	if err := r.StopPodSandbox(ctx, id); err != nil {
		return err
	}
	for _, c := range r.containersInSandbox(id) {
		if err := r.RemoveContainer(ctx, c.record.ID); err != nil {
			return err
		}
	}
	s.opMu.Lock()
	defer s.opMu.Unlock()
	return r.removeSandbox(s)
}

// PodSandboxStatus returns the status of a sandbox with its address.
func (r *Runtime) PodSandboxStatus(_ context.Context, id string) (*cri.PodSandboxStatus, error) {
	s := r.findSandbox(id)
	if s == nil {
		return nil, notFound("sandbox", id)
	}
	return s.status(), nil
}

// ListPodSandbox lists the sandboxes that match filter, newest first; a nil filter matches all.
func (r *Runtime) ListPodSandbox(_ context.Context, filter *cri.PodSandboxFilter) (out []*cri.PodSandbox, err error) {
	r.mu.Lock()
	list := make([]*sandbox, 0, len(r.sandboxes))
	for _, s := range r.sandboxes {
		list = append(list, s)
	}
	r.mu.Unlock()
	for _, s := range list {
		st := s.status()
		if !matches(filter.GetId(), st.Id) || filter.GetState() != nil && filter.GetState().GetState() != st.State || !matchesLabels(filter.GetLabelSelector(), st.Labels) {
			continue
		}
		out = append(out, &cri.PodSandbox{Id: st.Id, Metadata: st.Metadata, State: st.State, CreatedAt: st.CreatedAt, Labels: st.Labels, Annotations: st.Annotations})
	}
	sortNewestFirst(out, func(s *cri.PodSandbox) (int64, string) { return s.CreatedAt, s.Id })
	return out, nil
}
