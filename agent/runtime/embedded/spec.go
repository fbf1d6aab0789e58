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
	"github.com/berthproject/berth/agent/runtime/embedded/inside"
	"github.com/berthproject/berth/agent/runtime/embedded/shim"
)

// defaultPath is that of an image without one: containerd's.
const defaultPath = "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

// prepare writes what the shim and the container's first process are to do.
func (c *container) prepare(r *Runtime, box *sandbox, image store.Image) error {
	config := c.record.Config
	spec, err := r.process(config, image)
	if err != nil {
		return err
	}
	root := &inside.Root{At: filepath.Join(c.dir, "rootfs"), Lower: image.Lower, Upper: filepath.Join(c.dir, "upper"), Work: filepath.Join(c.dir, "work"),
		Readonly: config.GetLinux().GetSecurityContext().GetReadonlyRootfs()}
	for _, dir := range []string{root.At, root.Upper, root.Work} {
		if err := os.Mkdir(dir, 0o755); err != nil {
			return err
		}
	}
	spec.Root, spec.Joins = root, joins(r.host, c.record.Group)
	if spec.Mounts, err = c.mounts(r.host, box); err != nil {
		return err
	}
	security := config.GetLinux().GetSecurityContext()
	spec.Masked, spec.Readonly = security.GetMaskedPaths(), security.GetReadonlyPaths()
	text, err := json.Marshal(spec)
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(c.dir, shim.InitFile), text, 0o600); err != nil {
		return err
	}
	conf := shim.Config{Log: c.record.Log, Terminal: config.GetTty(), Stdin: config.GetStdin(), StdinOnce: config.GetStdinOnce(), SharedProcesses: box.sharesProcesses()}
	return os.WriteFile(filepath.Join(c.dir, shim.ConfigFile), conf.Text(), 0o600)
}

// process is the part of a spec that says what runs, as whom.
func (r *Runtime) process(config *cri.ContainerConfig, image store.Image) (*inside.Spec, error) {
	security := config.GetLinux().GetSecurityContext()
	bits, err := capabilities(security.GetCapabilities())
	if err != nil {
		return nil, err
	}
	s := &inside.Spec{Capabilities: bits, Filter: filter(bits), Cwd: config.GetWorkingDir(), Terminal: config.GetTty(), User: user(security, image)}
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
		return nil, fmt.Errorf("no command specified: neither the container nor its image %s has one", config.GetImage().GetImage())
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

// user is who runs the container: what the pod says, and else what its image says.
func user(s *cri.LinuxContainerSecurityContext, image store.Image) inside.User {
	u := inside.User{Name: image.Config.User, Merge: s.GetSupplementalGroupsPolicy() == cri.SupplementalGroupsPolicy_Merge}
	if name := s.GetRunAsUsername(); name != "" {
		u.Name = name
	}
	u.UID, u.GID = id(s.GetRunAsUser()), id(s.GetRunAsGroup())
	for _, g := range s.GetSupplementalGroups() {
		u.Groups = append(u.Groups, uint32(g))
	}
	return u
}

func id(v *cri.Int64Value) *uint32 {
	if v == nil {
		return nil
	}
	n := uint32(v.GetValue())
	return &n
}

// mounts are all that a container sees beside its image: what each has, then its volumes, the shorter paths first.
func (c *container) mounts(host *cgroup.Host, box *sandbox) ([]inside.Mount, error) {
	const usual = inside.NoSetuid | inside.NoPrograms | inside.NoDevices
	all := []inside.Mount{
		{Type: "proc", Target: "/proc", Flags: usual},
		// What a container makes there opens nothing: there is no device cgroup. Each device below has a mount of its own.
		{Type: "tmpfs", Target: "/dev", Flags: inside.NoSetuid | inside.NoDevices, Options: []string{"mode=755", "size=65536k"}},
		{Type: "devpts", Target: "/dev/pts", Flags: inside.NoSetuid | inside.NoPrograms, Options: []string{"newinstance", "ptmxmode=0666", "mode=0620", "gid=5"}},
		{Type: "mqueue", Target: "/dev/mqueue", Flags: usual, Optional: true},
		{Type: "sysfs", Target: "/sys", Flags: usual | inside.ReadOnly},
		{Type: "bind", Source: box.shm(), Target: "/dev/shm", Flags: usual},
	}
	for _, name := range []string{"null", "zero", "full", "random", "urandom", "tty"} {
		all = append(all, inside.Mount{Type: "bind", Source: "/dev/" + name, Target: "/dev/" + name, Flags: inside.NoSetuid | inside.NoPrograms})
	}
	all = append(all, cgroupMounts(host, c.record.Group)...)
	config := c.record.Config
	readonly := uint64(0)
	if config.GetLinux().GetSecurityContext().GetReadonlyRootfs() {
		readonly = inside.ReadOnly
	}
	own := []inside.Mount{{Type: "bind", Source: filepath.Join(box.dir, "hostname"), Target: "/etc/hostname", Flags: readonly},
		{Type: "bind", Source: filepath.Join(box.dir, "resolv.conf"), Target: "/etc/resolv.conf", Flags: readonly},
		{Type: "bind", Source: "/etc/hosts", Target: "/etc/hosts", Flags: inside.ReadOnly, Optional: true}}
	volumes := slices.Clone(config.GetMounts())
	slices.SortStableFunc(volumes, func(a, b *cri.Mount) int {
		return depth(a.GetContainerPath()) - depth(b.GetContainerPath())
	})
	for _, m := range own {
		if !slices.ContainsFunc(volumes, func(v *cri.Mount) bool { return path.Clean(v.GetContainerPath()) == m.Target }) {
			all = append(all, m)
		}
	}
	for _, v := range volumes {
		if !path.IsAbs(v.GetContainerPath()) {
			return nil, fmt.Errorf("volumeMounts.mountPath %q: must be an absolute path", v.GetContainerPath())
		}
		m := inside.Mount{Type: "bind", Source: v.GetHostPath(), Target: v.GetContainerPath(), Flags: inside.NoDevices, Make: true,
			Deep: v.GetRecursiveReadOnly(), Slave: v.GetPropagation() == cri.MountPropagation_PROPAGATION_HOST_TO_CONTAINER}
		if v.GetReadonly() {
			m.Flags |= inside.ReadOnly
		}
		all = append(all, m)
	}
	for _, d := range config.GetDevices() {
		all = append(all, inside.Mount{Type: "bind", Source: d.GetHostPath(), Target: d.GetContainerPath(), Flags: inside.NoSetuid | inside.NoPrograms})
	}
	return all, nil
}

func depth(p string) int { return strings.Count(path.Clean(p), "/") }

// cgroupMounts show a container its own cgroup where programs look for their limits.
func cgroupMounts(host *cgroup.Host, group string) (all []inside.Mount) {
	const flags = inside.NoSetuid | inside.NoPrograms | inside.NoDevices | inside.ReadOnly
	if host.Mode == cgroup.V2 {
		return []inside.Mount{{Type: "bind", Source: host.Dir("memory", group), Target: "/sys/fs/cgroup", Flags: flags, Optional: true}}
	}
	all = append(all, inside.Mount{Type: "tmpfs", Target: "/sys/fs/cgroup", Flags: flags &^ inside.ReadOnly, Options: []string{"mode=755", "size=64k"}, Optional: true})
	for _, name := range []string{"memory", "cpu", "cpuacct", "pids"} {
		if host.Has(name) {
			all = append(all, inside.Mount{Type: "bind", Source: host.Dir(name, group), Target: "/sys/fs/cgroup/" + name, Flags: flags, Optional: true})
		}
	}
	return all
}
