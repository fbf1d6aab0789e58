package embedded

import (
	"context"
	"errors"
	"fmt"
	"io"
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

// sandbox is the shared environment of a pod's containers.
type sandbox struct {
	dir string
	// opMu serializes start, stop and removal.
	opMu sync.Mutex

	mu      sync.Mutex
	record  sandboxRecord
	process *process // nil if there is none
}

func (s *sandbox) namespaces() *cri.NamespaceOption {
	return s.record.Config.GetLinux().GetSecurityContext().GetNamespaceOptions()
}

func (s *sandbox) hostNetwork() bool { return s.namespaces().GetNetwork() == cri.NamespaceMode_NODE }
func (s *sandbox) hostIPC() bool     { return s.namespaces().GetIpc() == cri.NamespaceMode_NODE }
func (s *sandbox) sharesPIDNamespace() bool {
	return s.namespaces().GetPid() == cri.NamespaceMode_POD
}

// hostPorts returns the host ports of the sandbox's configuration.
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

// ready reports whether the process that holds the namespaces is running.
func (s *sandbox) ready() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return !s.record.Down && s.process != nil && !s.process.hasExited()
}

// startProcess starts the process that holds the sandbox's namespaces.
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
	spec := &containerinit.Spec{CgroupProcs: cgroupProcsFiles(r.host, s.record.Group), Args: []string{containerinit.Sandbox}, Sysctls: s.record.Config.GetLinux().GetSysctls()}
	if flags&unix.CLONE_NEWUTS != 0 {
		spec.Hostname = s.record.Config.GetHostname()
	}
	return s.spawn(r, spec, flags)
}

// spawn starts the process, records it, and waits until its setup is complete.
func (s *sandbox) spawn(r *Runtime, spec *containerinit.Spec, flags uintptr) error {
	report, childEnd, err := os.Pipe()
	if err != nil {
		return err
	}
	defer report.Close()
	waitEnd, confirmEnd, err := os.Pipe() // the process exits if the agent exits before it has recorded the process
	if err != nil {
		return errors.Join(err, childEnd.Close())
	}
	defer waitEnd.Close()
	defer confirmEnd.Close()
	deadline := time.Now().Add(r.opts.startLimit())
	ctx, cancel := context.WithDeadline(context.Background(), deadline)
	defer cancel()
	p, err := r.shims.spawn(ctx, containerinit.Sandbox, spec, spawnOptions{flags: flags, target: r.executables.pause, report: childEnd, stdio: [3]*os.File{waitEnd}})
	if err != nil {
		return err
	}
	s.mu.Lock()
	s.process, s.record.Process, s.record.Start, s.record.Boot = p, p.pid, shim.StartTime(p.pid), bootID()
	err = s.record.save(s.dir)
	s.mu.Unlock()
	if err == nil {
		_, err = confirmEnd.Write([]byte{0})
	}
	if err == nil {
		err = report.SetReadDeadline(deadline)
	}
	if err == nil {
		err = readReport(report)
	}
	if err != nil { // the caller removes the sandbox
		p.kill(syscall.SIGKILL)
	}
	return err
}

// readReport reads the report of a sandbox's process, which is empty on success.
func readReport(report io.Reader) error {
	text, err := io.ReadAll(report)
	if err != nil {
		return fmt.Errorf("waiting for %s: %w", containerinit.Sandbox, err)
	}
	if len(text) == 0 {
		return nil
	}
	return parseStartError(string(text))
}

func cgroupProcsFiles(host *cgroup.Host, group string) (files []string) {
	for _, dir := range host.JoinDirs(group) {
		files = append(files, filepath.Join(dir, "cgroup.procs"))
	}
	return files
}

// stop records that the sandbox is down and kills the process that holds the namespaces. It releases the host ports,
// the address and /dev/shm. It is idempotent.
func (s *sandbox) stop(r *Runtime) error {
	s.mu.Lock()
	p := s.process
	s.record.Down = true
	err := s.record.save(s.dir)
	s.mu.Unlock()
	if errors.Is(err, os.ErrNotExist) || errors.Is(err, unix.ENOSPC) {
		err = nil // it is being removed, or the disk is full; without its process it counts as down
	}
	errs := []error{err}
	if r.network != nil && !s.hostNetwork() {
		var unmapErr error
		if ports, err := s.hostPorts(); len(ports) > 0 || err != nil {
			unmapErr = r.network.UnmapPorts(s.record.ID)
		}
		// Keep an address to which ports are still mapped: the next pod with it would receive their traffic.
		if errs = append(errs, unmapErr); unmapErr == nil {
			errs = append(errs, r.network.Detach(s.record.ID))
		}
	}
	if p != nil {
		p.kill(syscall.SIGKILL)
		if !p.wait(killTimeout) {
			errs = append(errs, fmt.Errorf("sandbox %s: process %d did not exit within %v after SIGKILL", s.record.ID, p.pid, killTimeout))
		}
	}
	return errors.Join(append(errs, s.unmountShm())...)
}

// killTimeout is how long a process may take to exit after SIGKILL. Freeing its memory takes time.
const killTimeout = 30 * time.Second

func (s *sandbox) closeHandles() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.process != nil {
		s.process.close()
	}
}

// status returns the sandbox's CRI status.
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
