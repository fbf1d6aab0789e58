package embedded

import (
	"errors"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
	cri "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/berthproject/berth/agent/cgroup"
	"github.com/berthproject/berth/agent/network"
	"github.com/berthproject/berth/agent/runtime/embedded/containerinit"
	"github.com/berthproject/berth/agent/runtime/embedded/shim"
)

// sandbox is what a pod's containers share.
type sandbox struct {
	dir string
	// opMu is held by who starts, stops or removes it.
	opMu sync.Mutex

	mu      sync.Mutex
	record  sandboxRecord
	process *process // nil when there is none
}

func (s *sandbox) namespaces() *cri.NamespaceOption {
	return s.record.Config.GetLinux().GetSecurityContext().GetNamespaceOptions()
}

func (s *sandbox) hostNetwork() bool { return s.namespaces().GetNetwork() == cri.NamespaceMode_NODE }
func (s *sandbox) hostIPC() bool     { return s.namespaces().GetIpc() == cri.NamespaceMode_NODE }
func (s *sandbox) sharesPIDNamespace() bool {
	return s.namespaces().GetPid() == cri.NamespaceMode_POD
}

// hostPorts are the ports of the host that lead to the sandbox.
func (s *sandbox) hostPorts() (out []network.Port, err error) {
	for _, p := range s.record.Config.GetPortMappings() {
		if p.GetHostPort() <= 0 {
			continue
		}
		port := network.Port{Protocol: strings.ToLower(p.GetProtocol().String()), Host: uint16(p.GetHostPort()), Container: uint16(p.GetContainerPort())}
		if p.GetHostIp() != "" {
			if port.Address, err = netip.ParseAddr(p.GetHostIp()); err != nil || !port.Address.Is4() {
				return nil, fmt.Errorf("ports.hostIP %q: must be an IPv4 address", p.GetHostIp())
			}
		}
		out = append(out, port)
	}
	return out, nil
}

// ready says that its namespaces are held.
func (s *sandbox) ready() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return !s.record.Down && s.process != nil && !s.process.hasExited()
}

// startProcess starts what holds the sandbox's namespaces.
func (s *sandbox) startProcess(r *Runtime) error {
	if err := r.host.Create(s.record.Group, cgroup.Limits{}); err != nil {
		return err
	}
	flags := uintptr(unix.CLONE_NEWNS)
	if !s.hostNetwork() || s.record.Config.GetHostname() != "" {
		flags |= unix.CLONE_NEWUTS
	}
	if !s.hostNetwork() {
		flags |= unix.CLONE_NEWNET
	}
	if !s.hostIPC() {
		flags |= unix.CLONE_NEWIPC
	}
	if s.sharesPIDNamespace() {
		flags |= unix.CLONE_NEWPID
	}
	spec := &containerinit.Spec{Joins: cgroupProcsFiles(r.host, s.record.Group), Args: []string{containerinit.Sandbox}, Sysctls: s.record.Config.GetLinux().GetSysctls()}
	if flags&unix.CLONE_NEWUTS != 0 {
		spec.Hostname = s.record.Config.GetHostname()
	}
	_, err := r.executables.spawn(containerinit.Sandbox, spec, spawnOptions{flags: flags, process: r.executables.pause, onStart: func(p *process) error {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.process, s.record.Process, s.record.Start, s.record.Boot = p, p.pid, shim.StartTime(p.pid), bootID()
		return s.record.save(s.dir)
	}})
	return err
}

// cgroupProcsFiles are the files by which a process joins a cgroup.
func cgroupProcsFiles(host *cgroup.Host, group string) (files []string) {
	for _, dir := range host.JoinDirs(group) {
		files = append(files, filepath.Join(dir, "cgroup.procs"))
	}
	return files
}

// stop ends what holds the namespaces, gives back its address and its memory file system, and remembers that. It
// may be repeated.
func (s *sandbox) stop(r *Runtime) error {
	s.mu.Lock()
	p := s.process
	s.record.Down = true
	err := s.record.save(s.dir)
	s.mu.Unlock()
	if errors.Is(err, os.ErrNotExist) || errors.Is(err, unix.ENOSPC) {
		err = nil // it is being removed; or that will make room, and without its process it is known to be down
	}
	errs := []error{err}
	if r.network != nil && !s.hostNetwork() {
		var unmapped error
		if ports, err := s.hostPorts(); len(ports) > 0 || err != nil {
			unmapped = r.network.UnmapPorts(s.record.ID)
		}
		// An address to which ports still lead is not given back: the next pod that has it would be asked for this one.
		if errs = append(errs, unmapped); unmapped == nil {
			errs = append(errs, r.network.Detach(s.record.ID))
		}
	}
	if p != nil {
		p.kill(syscall.SIGKILL)
		if !p.wait(killTimeout) {
			errs = append(errs, fmt.Errorf("sandbox %s: its process %d did not end within %v of SIGKILL", s.record.ID, p.pid, killTimeout))
		}
	}
	return errors.Join(append(errs, s.unmountShm())...)
}

// killTimeout is how long a process may take to be gone after SIGKILL: it gives back its memory.
const killTimeout = 30 * time.Second

func (s *sandbox) closeHandles() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.process != nil {
		s.process.close()
	}
}

// status is the sandbox in CRI's terms.
func (s *sandbox) status() *cri.PodSandboxStatus {
	ready := s.ready()
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.record.Config
	out := &cri.PodSandboxStatus{Id: s.record.ID, Metadata: c.GetMetadata(), State: cri.PodSandboxState_SANDBOX_NOTREADY, CreatedAt: s.record.Created.UnixNano(),
		Network: &cri.PodSandboxNetworkStatus{Ip: s.record.Address}, Labels: c.GetLabels(), Annotations: c.GetAnnotations(),
		Linux: &cri.LinuxPodSandboxStatus{Namespaces: &cri.Namespace{Options: s.namespaces()}}}
	if ready {
		out.State = cri.PodSandboxState_SANDBOX_READY
	}
	return out
}
