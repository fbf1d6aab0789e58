package embedded_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
	cri "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// TestPodAddresses checks that two pods can listen on port 80 of their own addresses, reachable
// from the node and each other, until they are stopped.
func TestPodAddresses(t *testing.T) {
	h := newHarness(t, true)
	var sandboxes, ids, addresses [2]string
	for i, name := range []string{"one", "two"} {
		sb, sandboxConfig := h.createSandbox(name, nil)
		sandboxes[i], ids[i] = sb, h.run(sb, sandboxConfig, config("web", "-listen=:80"))
		s, err := h.Service.PodSandboxStatus(context.Background(), sb)
		if err != nil {
			t.Fatal(err)
		}
		addresses[i] = s.GetNetwork().GetIp()
		h.waitUntil(name+" listens", func() bool { return strings.Contains(h.output(sandboxConfig, config("web")), "listening") })
	}
	for i, want := range []string{"one", "two"} {
		if got := h.exec(ids[1-i], "wget", "-qO-", "http://"+addresses[i]+"/"); !strings.Contains(got, want) {
			t.Errorf("%s from the other pod: %q, want %q", addresses[i], got, want)
		}
		if got := h.exec(ids[i], "wget", "-qO-", "http://127.0.0.1/"); !strings.Contains(got, want) {
			t.Errorf("loopback of the pod: %q, want %q", got, want)
		}
	}
	if err := h.Service.StopPodSandbox(context.Background(), sandboxes[0]); err != nil {
		t.Fatal(err)
	}
	if entries, _ := os.ReadDir(filepath.Join(h.Options.Dir, "network")); len(entries) != 1 {
		t.Errorf("%d addresses are in use, want 1: %v", len(entries), entries)
	}
	if s, err := h.Service.PodSandboxStatus(context.Background(), sandboxes[0]); err != nil || s.State != cri.PodSandboxState_SANDBOX_NOTREADY {
		t.Errorf("the stopped sandbox: %v, %v, want it not ready", s, err)
	}
}

// TestSharedNamespaces checks which namespaces the containers of a pod share.
func TestSharedNamespaces(t *testing.T) {
	h := newHarness(t, false)
	sb, sandboxConfig := h.createSandbox("separate", nil)
	first := h.run(sb, sandboxConfig, shell("a", "touch /dev/shm/file; hostname other 2>/dev/null; sleep 1000"))
	h.waitUntil("the file exists", func() bool { return strings.Contains(h.exec(first, "ls", "/dev/shm"), "file") })
	got, code := h.outputAndCode(sb, sandboxConfig, shell("b", "ls /dev/shm; hostname; ls / | grep -c workload; ps | grep -c '[s]leep'"))
	if want := "file\nseparate\n1\n0\n"; got != want {
		t.Errorf("separate PID namespaces: %q, %d, want %q", got, code, want)
	}
	sb, sandboxConfig = h.createSandbox("shared", func(c *cri.PodSandboxConfig) {
		c.Linux.SecurityContext.NamespaceOptions.Pid = cri.NamespaceMode_POD
	})
	h.run(sb, sandboxConfig, shell("a", "exec sleep 777"))
	seconds := itoa(1_000_000 + os.Getpid()) // a unique sleep duration
	if got, _ = h.outputAndCode(sb, sandboxConfig, shell("b", "ps | grep -c '[s]leep 777'; sleep "+seconds+" &")); got != "1\n" {
		t.Errorf("shared PID namespace: %q, want one visible sleep process", got)
	}
	h.waitUntil("remaining processes of b are killed", func() bool {
		pids, err := filepath.Glob("/proc/[0-9]*/cmdline")
		for _, p := range pids {
			if text, _ := os.ReadFile(p); string(text) == "sleep\x00"+seconds+"\x00" {
				return false
			}
		}
		return err == nil
	})
}

// TestMounts checks that volumes are mounted at their paths, do not follow links out of the
// container, and allow no devices.
func TestMounts(t *testing.T) {
	h := newHarness(t, false)
	sb, sandboxConfig := h.createSandbox("mounts", nil)
	volume := filepath.Join(h.Dir, "volume")
	if err := os.MkdirAll(filepath.Join(volume, "sub"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(volume, "file"), []byte("from the volume\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	// An earlier container has put a link into the volume to redirect the mount.
	escape := filepath.Join(h.Dir, "escape")
	if err := os.Mkdir(escape, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(escape, filepath.Join(volume, "out")); err != nil {
		t.Fatal(err)
	}
	if err := unix.Mknod(filepath.Join(volume, "zero"), unix.S_IFCHR|0o666, int(unix.Mkdev(1, 5))); err != nil {
		t.Fatal(err)
	}
	c := shell("a", `exec 2>/dev/null; cat /v/file /one; touch /v/new && echo new; touch /ro/new || echo no; head -c1 /v/zero || echo no device; ls /v/out/deep; mknod /dev/x c 1 5; mknod /x c 1 5; mknod /dev/shm/x c 1 5
		for f in /dev/x /x /dev/shm/x; do head -c1 $f 2>/dev/null | wc -c; done; head -c1 /dev/zero | wc -c`)
	c.Mounts = []*cri.Mount{{HostPath: filepath.Join(volume, "sub"), ContainerPath: "/v/out/deep/er"}, {HostPath: volume, ContainerPath: "/v"},
		{HostPath: volume, ContainerPath: "/ro", Readonly: true}, {HostPath: filepath.Join(volume, "file"), ContainerPath: "/one"},
		{HostPath: filepath.Join(h.Dir, "missing", "dir"), ContainerPath: "/created"}}
	got, _ := h.outputAndCode(sb, sandboxConfig, c)
	for _, want := range []string{"from the volume\nfrom the volume\n", "new\n", "no\n", "no device\n", "er\n", "\n0\n0\n0\n1\n"} {
		if !strings.Contains(got, want) {
			t.Errorf("output %q, want it to contain %q", got, want)
		}
	}
	if info, err := os.Stat(filepath.Join(h.Dir, "missing", "dir")); err != nil || !info.IsDir() {
		t.Errorf("a missing volume: %v, want a directory", err)
	}
	if escaped, _ := os.ReadDir(escape); len(escaped) != 0 {
		t.Errorf("the directory outside of the volume contains %v, want it empty", escaped)
	}
}

// TestLimits checks that limits are applied and that OOM kills are reported.
func TestLimits(t *testing.T) {
	h := newHarness(t, false)
	sb, sandboxConfig := h.createSandbox("limits", nil)
	c := config("oom", "-memory=200Mi")
	c.Linux.Resources = &cri.LinuxContainerResources{MemoryLimitInBytes: 64 << 20, CpuShares: 512, CpuQuota: 20000, CpuPeriod: 40000, OomScoreAdj: 500}
	if s := h.WaitExited(t, h.run(sb, sandboxConfig, c)); s.ExitCode != 137 || s.Reason != "OOMKilled" {
		t.Errorf("exited with %d %s, want 137 OOMKilled", s.ExitCode, s.Reason)
	}
	// As in containerd, also if the init process exits by itself.
	c = shell("parent", "/workload -memory=200Mi; exit 3")
	c.Linux.Resources = &cri.LinuxContainerResources{MemoryLimitInBytes: 64 << 20, OomScoreAdj: 500}
	if s := h.WaitExited(t, h.run(sb, sandboxConfig, c)); s.ExitCode != 3 || s.Reason != "OOMKilled" {
		t.Errorf("a child was killed: exited with %d %s, want 3 OOMKilled", s.ExitCode, s.Reason)
	}
	c = shell("killed", "cat /proc/self/oom_score_adj; exec sleep 1000")
	c.Linux.Resources.OomScoreAdj = 500
	id := h.run(sb, sandboxConfig, c)
	h.waitUntil("the container has printed its score", func() bool { return h.output(sandboxConfig, c) != "" })
	if err := h.Service.StopContainer(context.Background(), id, 0); err != nil {
		t.Fatal(err)
	}
	if s := h.WaitExited(t, id); s.ExitCode != 137 || s.Reason != "Error" || h.output(sandboxConfig, c) != "500\n" {
		t.Errorf("exited with %d %s, output %q, want 137 Error, 500", s.ExitCode, s.Reason, h.output(sandboxConfig, c))
	}
	if err := h.Service.RemovePodSandbox(context.Background(), sb); err != nil {
		t.Fatal(err)
	}
	if groups, err := h.host().Children(sandboxConfig.Linux.CgroupParent); err != nil || len(groups) != 0 {
		t.Errorf("cgroups below the pod's: %v, %v, want none", groups, err)
	}
	if remaining := h.remainingResources(); len(remaining) != 0 {
		t.Errorf("remaining mounts and processes: %q, want none", remaining)
	}
}

// TestCgroupsOfContainer checks that the process of a container is in its cgroup of each hierarchy that metrics read.
func TestCgroupsOfContainer(t *testing.T) {
	h := newHarness(t, false)
	sb, sandboxConfig := h.createSandbox("cgroups", nil)
	id := h.run(sb, sandboxConfig, shell("a", "exec sleep 1000"))
	for _, controller := range []string{"memory", "cpu", "cpuacct", "pids", "blkio"} {
		if !h.host().HasController(controller) {
			continue
		}
		file := filepath.Join(h.host().Dir(controller, filepath.Join(sandboxConfig.Linux.CgroupParent, id)), "cgroup.procs")
		if text, err := os.ReadFile(file); err != nil || len(text) == 0 {
			t.Errorf("controller %s: got processes %q, %v, want that of the container", controller, text, err)
		}
	}
}

// TestConfinement checks that a container has fewer privileges than root.
func TestConfinement(t *testing.T) {
	h := newHarness(t, false)
	sb, sandboxConfig := h.createSandbox("confined", nil)
	got, _ := h.outputAndCode(sb, sandboxConfig, shell("a", `grep -E "CapEff|Seccomp:|NoNewPrivs" /proc/self/status
mkdir /m; mount -t tmpfs x /m 2>/dev/null || echo denied; unshare -U true 2>/dev/null || echo denied; ls /proc/self/fd | wc -l
cat /sys/fs/cgroup/memory*/memory.limit_in_bytes /sys/fs/cgroup/memory.max 2>/dev/null | wc -l`))
	if want := "CapEff:\t00000000a80425fb\nNoNewPrivs:\t1\nSeccomp:\t2\ndenied\ndenied\n4\n1\n"; !strings.HasPrefix(got, want) {
		t.Errorf("output %q, want %q", got, want)
	}
	c := shell("b", `grep CapEff /proc/self/status; mount -t tmpfs x /mnt && echo mounted; grep -c " ro," /proc/mounts >/dev/null; touch /x || echo read-only; id; echo out > /dev/stdout; ulimit -c`)
	c.Linux.SecurityContext = &cri.LinuxContainerSecurityContext{Capabilities: &cri.Capability{AddCapabilities: []string{"SYS_ADMIN"}, DropCapabilities: []string{"ALL"}},
		ReadonlyRootfs: true}
	got, _ = h.outputAndCode(sb, sandboxConfig, c)
	if want := "CapEff:\t0000000000200000\n"; !strings.HasPrefix(got, want) || !strings.Contains(got, "read-only\n") || !strings.Contains(got, "out\n") {
		t.Errorf("output %q, want only SYS_ADMIN, a read-only root and a writable /dev/stdout", got)
	}
	c = shell("c", `id; grep CapEff /proc/self/status; echo $HOME; echo out > /dev/stdout`)
	c.Linux.SecurityContext = &cri.LinuxContainerSecurityContext{RunAsUsername: "user", SupplementalGroups: []int64{77}}
	if got, _ = h.outputAndCode(sb, sandboxConfig, c); got != "uid=1000(user) gid=1000(user) groups=77,1000(user)\nCapEff:\t0000000000000000\n/\nout\n" {
		t.Errorf("output %q, want user and group 1000, group 77 and no capabilities", got)
	}
}
