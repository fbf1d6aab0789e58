package embedded

import (
	"encoding/json"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	cri "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/berthproject/berth/agent/cgroup"
	"github.com/berthproject/berth/agent/image/store"
	"github.com/berthproject/berth/agent/runtime/embedded/containerinit"
	"github.com/berthproject/berth/agent/runtime/embedded/shim"
)

// defaultPath is the PATH of images without one: containerd's default.
const defaultPath = "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

// writeSpec creates the directories of the root file system. It writes the configuration of the shim and
// the Spec of the init process.
func (c *container) writeSpec(r *Runtime, sb *sandbox, image store.Image) error {
	config := c.record.Config
	spec, err := r.processSpec(config, image)
	if err != nil {
		return err
	}
	root := &containerinit.Root{MountPoint: filepath.Join(c.dir, "rootfs"), Lower: image.LowerDirs, Upper: filepath.Join(c.dir, "upper"), Work: filepath.Join(c.dir, "work"),
		Readonly: config.GetLinux().GetSecurityContext().GetReadonlyRootfs()}
	for _, dir := range []string{root.MountPoint, root.Upper, root.Work} {
		if err := os.Mkdir(dir, 0o755); err != nil {
			return err
		}
	}
	spec.Root, spec.CgroupProcs = root, cgroupProcsFiles(r.host, c.record.Group)
	if spec.Mounts, err = c.mounts(r, sb); err != nil {
		return err
	}
	security := config.GetLinux().GetSecurityContext()
	spec.MaskedPaths, spec.ReadonlyPaths = security.GetMaskedPaths(), security.GetReadonlyPaths()
	text, err := json.Marshal(spec)
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(c.dir, shim.InitFile), text, 0o600); err != nil {
		return err
	}
	shimConfig := shim.Config{Log: c.record.Log, Terminal: config.GetTty(), Stdin: config.GetStdin(), StdinOnce: config.GetStdinOnce(), SharedProcesses: sb.sharesPIDNamespace() || c.target() != ""}
	return os.WriteFile(filepath.Join(c.dir, shim.ConfigFile), shimConfig.Text(), 0o600)
}

// processSpec returns the Spec of the process itself: arguments, environment and privileges.
func (r *Runtime) processSpec(config *cri.ContainerConfig, image store.Image) (*containerinit.Spec, error) {
	security := config.GetLinux().GetSecurityContext()
	bits, err := capabilities(security.GetCapabilities())
	if err != nil {
		return nil, err
	}
	s := &containerinit.Spec{Capabilities: bits, Filter: seccompFilter(bits), Cwd: config.GetWorkingDir(), Terminal: config.GetTty(), User: runAsUser(security, image)}
	if s.Cwd == "" {
		s.Cwd = image.Config.WorkingDir
	}
	if s.Cwd == "" {
		s.Cwd = "/"
	}
	s.Env = slices.Clone(image.Config.Env)
	for _, kv := range config.GetEnvs() {
		s.Env = setEnv(s.Env, kv.GetKey(), string(kv.GetValue()))
	}
	if !slices.ContainsFunc(s.Env, func(e string) bool { return strings.HasPrefix(e, "PATH=") }) {
		s.Env = append(s.Env, defaultPath)
	}
	if config.GetTty() && !slices.ContainsFunc(s.Env, func(e string) bool { return strings.HasPrefix(e, "TERM=") }) {
		s.Env = append(s.Env, "TERM=xterm")
	}
	command, args := config.GetCommand(), config.GetArgs()
	if len(command) == 0 {
		command = image.Config.Entrypoint
		if len(args) == 0 {
			args = image.Config.Cmd
		}
	}
	s.Args = append(slices.Clone(command), args...)
	if len(s.Args) == 0 {
		return nil, fmt.Errorf("no command specified in the container or its image %s", config.GetImage().GetImage())
	}
	if res := config.GetLinux().GetResources(); res != nil {
		score := res.GetOomScoreAdj()
		s.OOMScoreAdj = &score
	}
	return s, nil
}

func setEnv(env []string, name, value string) []string {
	env = slices.DeleteFunc(env, func(e string) bool { return strings.HasPrefix(e, name+"=") })
	return append(env, name+"="+value)
}

// runAsUser returns the user of the container: that of the security context, or else that of the image.
func runAsUser(s *cri.LinuxContainerSecurityContext, image store.Image) containerinit.User {
	u := containerinit.User{Name: image.Config.User, Merge: s.GetSupplementalGroupsPolicy() == cri.SupplementalGroupsPolicy_Merge}
	if name := s.GetRunAsUsername(); name != "" {
		u.Name = name
	}
	u.UID, u.GID = uint32Ptr(s.GetRunAsUser()), uint32Ptr(s.GetRunAsGroup())
	for _, g := range s.GetSupplementalGroups() {
		u.Groups = append(u.Groups, uint32(g))
	}
	return u
}

func uint32Ptr(v *cri.Int64Value) *uint32 {
	if v == nil {
		return nil
	}
	n := uint32(v.GetValue())
	return &n
}

// mounts returns all mounts of a container: the standard ones, the volumes ordered by the depth of
// their paths, then the devices.
func (c *container) mounts(r *Runtime, sb *sandbox) ([]containerinit.Mount, error) {
	const defaultFlags = containerinit.NoSUID | containerinit.NoExec | containerinit.NoDev
	list := []containerinit.Mount{
		{Type: "proc", Target: "/proc", Flags: defaultFlags},
		// Device files that the container creates do not work, because there is no device cgroup. Each of
		// the devices below is a bind mount.
		{Type: "tmpfs", Target: "/dev", Flags: containerinit.NoSUID | containerinit.NoDev, Options: []string{"mode=755", "size=65536k"}},
		{Type: "devpts", Target: "/dev/pts", Flags: containerinit.NoSUID | containerinit.NoExec, Options: []string{"newinstance", "ptmxmode=0666", "mode=0620", "gid=5"}},
		{Type: "mqueue", Target: "/dev/mqueue", Flags: defaultFlags, Optional: true},
		{Type: "sysfs", Target: "/sys", Flags: defaultFlags | containerinit.ReadOnly},
		{Type: "bind", Source: sb.shmDir(), Target: "/dev/shm", Flags: defaultFlags},
	}
	for _, name := range []string{"null", "zero", "full", "random", "urandom", "tty"} {
		list = append(list, containerinit.Mount{Type: "bind", Source: "/dev/" + name, Target: "/dev/" + name, Flags: containerinit.NoSUID | containerinit.NoExec})
	}
	list = append(list, cgroupMounts(r.host, c.record.Group)...)
	config := c.record.Config
	// These files are read-only, because the writable layer's size does not include them. A volume at the same path
	// replaces the file: the agent mounts its own files there, and measures them.
	defaults := []containerinit.Mount{{Type: "bind", Source: filepath.Join(sb.dir, "hostname"), Target: "/etc/hostname", Flags: containerinit.ReadOnly},
		{Type: "bind", Source: filepath.Join(sb.dir, "resolv.conf"), Target: "/etc/resolv.conf", Flags: containerinit.ReadOnly},
		{Type: "bind", Source: "/etc/hosts", Target: "/etc/hosts", Flags: containerinit.ReadOnly, Optional: true}}
	volumes := slices.Clone(config.GetMounts())
	slices.SortStableFunc(volumes, func(a, b *cri.Mount) int {
		return pathDepth(a.GetContainerPath()) - pathDepth(b.GetContainerPath())
	})
	for _, m := range defaults {
		if !slices.ContainsFunc(volumes, func(v *cri.Mount) bool { return path.Clean(v.GetContainerPath()) == m.Target }) {
			list = append(list, m)
		}
	}
	for _, v := range volumes {
		if !path.IsAbs(v.GetContainerPath()) {
			return nil, fmt.Errorf("volumeMounts.mountPath %q: must be an absolute path", v.GetContainerPath())
		}
		m := containerinit.Mount{Type: "bind", Source: v.GetHostPath(), Target: v.GetContainerPath(), Flags: containerinit.NoDev, CreateSource: true,
			Recursive: v.GetRecursiveReadOnly(), Slave: v.GetPropagation() == cri.MountPropagation_PROPAGATION_HOST_TO_CONTAINER}
		if v.GetReadonly() {
			m.Flags |= containerinit.ReadOnly
		}
		if v.GetImage().GetImage() != "" {
			var err error
			if m, err = c.imageMount(r, v); err != nil {
				return nil, err
			}
		}
		list = append(list, m)
	}
	for _, d := range config.GetDevices() {
		list = append(list, containerinit.Mount{Type: "bind", Source: d.GetHostPath(), Target: d.GetContainerPath(), Flags: containerinit.NoSUID | containerinit.NoExec})
	}
	return list, nil
}

func pathDepth(p string) int { return strings.Count(path.Clean(p), "/") }

// cgroupMounts returns mounts of the container's cgroup, where programs look for their limits.
func cgroupMounts(host *cgroup.Host, group string) (list []containerinit.Mount) {
	const flags = containerinit.NoSUID | containerinit.NoExec | containerinit.NoDev | containerinit.ReadOnly
	if host.Mode == cgroup.V2 {
		return []containerinit.Mount{{Type: "bind", Source: host.Dir("memory", group), Target: "/sys/fs/cgroup", Flags: flags, Optional: true}}
	}
	list = append(list, containerinit.Mount{Type: "tmpfs", Target: "/sys/fs/cgroup", Flags: flags &^ containerinit.ReadOnly, Options: []string{"mode=755", "size=64k"}, Optional: true})
	for _, name := range []string{"memory", "cpu", "cpuacct", "pids"} {
		if host.HasController(name) {
			list = append(list, containerinit.Mount{Type: "bind", Source: host.Dir(name, group), Target: "/sys/fs/cgroup/" + name, Flags: flags, Optional: true})
		}
	}
	return list
}
