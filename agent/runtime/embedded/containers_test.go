package embedded_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
	cri "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/berthproject/berth/agent/cgroup"
)

// TestPodAddresses checks that two pods can listen on port 80 of their own addresses, reachable
// from the node and each other, until they are stopped.
func TestPodAddresses(t *testing.T) {
	r := newHarness(t, true)
	var address, sb [2]string
	var id [2]string
	for i, name := range []string{"one", "two"} {
		sandboxID, sandboxConfig := r.createSandbox(name, nil)
		sb[i], id[i] = sandboxID, r.run(sandboxID, sandboxConfig, config("web", "-listen=:80"))
		s, err := r.Service.PodSandboxStatus(context.Background(), sandboxID)
		if err != nil {
			t.Fatal(err)
		}
		address[i] = s.GetNetwork().GetIp()
		r.waitUntil(name+" listens", func() bool { return strings.Contains(r.output(sandboxConfig, config("web")), "listening") })
	}
	for i, want := range []string{"one", "two"} {
		if got := r.exec(id[1-i], "wget", "-qO-", "http://"+address[i]+"/"); !strings.Contains(got, want) {
			t.Errorf("%s from the other pod: %q, want %q", address[i], got, want)
		}
		if got := r.exec(id[i], "wget", "-qO-", "http://127.0.0.1/"); !strings.Contains(got, want) {
			t.Errorf("loopback of the pod: %q, want %q", got, want)
		}
	}
	if err := r.Service.StopPodSandbox(context.Background(), sb[0]); err != nil {
		t.Fatal(err)
	}
	if entries, _ := os.ReadDir(filepath.Join(r.Options.Dir, "network")); len(entries) != 1 {
		t.Errorf("%d addresses are in use, want 1: %v", len(entries), entries)
	}
	if s, err := r.Service.PodSandboxStatus(context.Background(), sb[0]); err != nil || s.State != cri.PodSandboxState_SANDBOX_NOTREADY {
		t.Errorf("the stopped sandbox: %v, %v, want it not ready", s, err)
	}
}

// TestSharedNamespaces checks which namespaces the containers of a pod share.
func TestSharedNamespaces(t *testing.T) {
	r := newHarness(t, false)
	sb, sandboxConfig := r.createSandbox("separate", nil)
	first := r.run(sb, sandboxConfig, shell("a", "touch /dev/shm/file; hostname other 2>/dev/null; sleep 1000"))
	r.waitUntil("the file exists", func() bool { return strings.Contains(r.exec(first, "ls", "/dev/shm"), "file") })
	got, code := r.outputAndCode(sb, sandboxConfig, shell("b", "ls /dev/shm; hostname; ls / | grep -c workload; ps | grep -c '[s]leep'"))
	if want := "file\nseparate\n1\n0\n"; got != want {
		t.Errorf("separate PID namespaces: %q, %d, want %q", got, code, want)
	}
	sb, sandboxConfig = r.createSandbox("shared", func(c *cri.PodSandboxConfig) {
		c.Linux.SecurityContext.NamespaceOptions.Pid = cri.NamespaceMode_POD
	})
	r.run(sb, sandboxConfig, shell("a", "exec sleep 777"))
	seconds := itoa(1_000_000 + os.Getpid()) // a unique sleep duration
	if got, _ = r.outputAndCode(sb, sandboxConfig, shell("b", "ps | grep -c '[s]leep 777'; sleep "+seconds+" &")); got != "1\n" {
		t.Errorf("shared PID namespace: %q, want one visible sleep process", got)
	}
	r.waitUntil("remaining processes of b are killed", func() bool {
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
	r := newHarness(t, false)
	sb, sandboxConfig := r.createSandbox("mounts", nil)
	host := filepath.Join(r.Dir, "volume")
	if err := os.MkdirAll(filepath.Join(host, "sub"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(host, "file"), []byte("from the host\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	// An earlier container has put a link into the volume to redirect the mount.
	escape := filepath.Join(r.Dir, "escape")
	if err := os.Mkdir(escape, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(escape, filepath.Join(host, "out")); err != nil {
		t.Fatal(err)
	}
	if err := unix.Mknod(filepath.Join(host, "zero"), unix.S_IFCHR|0o666, int(unix.Mkdev(1, 5))); err != nil {
		t.Fatal(err)
	}
	c := shell("a", `exec 2>/dev/null; cat /v/file /one; touch /v/new && echo new; touch /ro/new || echo no; head -c1 /v/zero || echo no device; ls /v/out/deep; mknod /dev/x c 1 5; mknod /x c 1 5; mknod /dev/shm/x c 1 5
		for f in /dev/x /x /dev/shm/x; do head -c1 $f 2>/dev/null | wc -c; done; head -c1 /dev/zero | wc -c`)
	c.Mounts = []*cri.Mount{{HostPath: filepath.Join(host, "sub"), ContainerPath: "/v/out/deep/er"}, {HostPath: host, ContainerPath: "/v"},
		{HostPath: host, ContainerPath: "/ro", Readonly: true}, {HostPath: filepath.Join(host, "file"), ContainerPath: "/one"},
		{HostPath: filepath.Join(r.Dir, "missing", "dir"), ContainerPath: "/created"}}
	got, _ := r.outputAndCode(sb, sandboxConfig, c)
	for _, want := range []string{"from the host\nfrom the host\n", "new\n", "no\n", "no device\n", "er\n", "\n0\n0\n0\n1\n"} {
		if !strings.Contains(got, want) {
			t.Errorf("output %q, want it to contain %q", got, want)
		}
	}
	if info, err := os.Stat(filepath.Join(r.Dir, "missing", "dir")); err != nil || !info.IsDir() {
		t.Errorf("a missing volume: %v, want a directory", err)
	}
	if escaped, _ := os.ReadDir(escape); len(escaped) != 0 {
		t.Errorf("a mount escaped from the container: %v", escaped)
	}
}

// TestLimits checks that limits are applied and that OOM kills are reported.
func TestLimits(t *testing.T) {
	r := newHarness(t, false)
	sb, sandboxConfig := r.createSandbox("limits", nil)
	c := config("hog", "-memory=200Mi")
	c.Linux.Resources = &cri.LinuxContainerResources{MemoryLimitInBytes: 64 << 20, CpuShares: 512, CpuQuota: 20000, CpuPeriod: 40000, OomScoreAdj: 500}
	if s := r.WaitExited(t, r.run(sb, sandboxConfig, c)); s.ExitCode != 137 || s.Reason != "OOMKilled" {
		t.Errorf("exited with %d %s, want 137 OOMKilled", s.ExitCode, s.Reason)
	}
	// As in containerd, also if the init process exits by itself.
	c = shell("parent", "/workload -memory=200Mi; exit 3")
	c.Linux.Resources = &cri.LinuxContainerResources{MemoryLimitInBytes: 64 << 20, OomScoreAdj: 500}
	if s := r.WaitExited(t, r.run(sb, sandboxConfig, c)); s.ExitCode != 3 || s.Reason != "OOMKilled" {
		t.Errorf("a child was killed: exited with %d %s, want 3 OOMKilled", s.ExitCode, s.Reason)
	}
	c = shell("killed", "cat /proc/self/oom_score_adj; exec sleep 1000")
	c.Linux.Resources.OomScoreAdj = 500
	id := r.run(sb, sandboxConfig, c)
	r.waitUntil("the container has printed its score", func() bool { return r.output(sandboxConfig, c) != "" })
	if err := r.Service.StopContainer(context.Background(), id, 0); err != nil {
		t.Fatal(err)
	}
	if s := r.WaitExited(t, id); s.ExitCode != 137 || s.Reason != "Error" || r.output(sandboxConfig, c) != "500\n" {
		t.Errorf("exited with %d %s, output %q, want 137 Error, 500", s.ExitCode, s.Reason, r.output(sandboxConfig, c))
	}
	host, err := cgroup.Detect()
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Service.RemovePodSandbox(context.Background(), sb); err != nil {
		t.Fatal(err)
	}
	if groups, err := host.Children(sandboxConfig.Linux.CgroupParent); err != nil || len(groups) != 0 {
		t.Errorf("cgroups below the pod's: %v, %v, want none", groups, err)
	}
	if remaining := r.leftovers(); len(remaining) != 0 {
		t.Errorf("remaining mounts and processes: %q, want none", remaining)
	}
}

// TestConfinement checks that a container has fewer privileges than root.
func TestConfinement(t *testing.T) {
	r := newHarness(t, false)
	sb, sandboxConfig := r.createSandbox("confined", nil)
	got, _ := r.outputAndCode(sb, sandboxConfig, shell("a", `grep -E "CapEff|Seccomp:|NoNewPrivs" /proc/self/status
mkdir /m; mount -t tmpfs x /m 2>/dev/null || echo denied; unshare -U true 2>/dev/null || echo denied; ls /proc/self/fd | wc -l
cat /sys/fs/cgroup/memory*/memory.limit_in_bytes /sys/fs/cgroup/memory.max 2>/dev/null | wc -l`))
	if want := "CapEff:\t00000000a80425fb\nNoNewPrivs:\t1\nSeccomp:\t2\ndenied\ndenied\n4\n1\n"; !strings.HasPrefix(got, want) {
		t.Errorf("output %q, want %q", got, want)
	}
	c := shell("b", `grep CapEff /proc/self/status; mount -t tmpfs x /mnt && echo mounted; grep -c " ro," /proc/mounts >/dev/null; touch /x || echo read-only; id; echo out > /dev/stdout; ulimit -c`)
	c.Linux.SecurityContext = &cri.LinuxContainerSecurityContext{Capabilities: &cri.Capability{AddCapabilities: []string{"SYS_ADMIN"}, DropCapabilities: []string{"ALL"}},
		ReadonlyRootfs: true}
	got, _ = r.outputAndCode(sb, sandboxConfig, c)
	if want := "CapEff:\t0000000000200000\n"; !strings.HasPrefix(got, want) || !strings.Contains(got, "read-only\n") || !strings.Contains(got, "out\n") {
		t.Errorf("output %q, want only SYS_ADMIN and a read-only root", got)
	}
	c = shell("c", `id; grep CapEff /proc/self/status; echo $HOME; echo out > /dev/stdout`)
	c.Linux.SecurityContext = &cri.LinuxContainerSecurityContext{RunAsUsername: "user", SupplementalGroups: []int64{77}}
	if got, _ = r.outputAndCode(sb, sandboxConfig, c); got != "uid=1000(user) gid=1000(user) groups=77,1000(user)\nCapEff:\t0000000000000000\n/\nout\n" {
		t.Errorf("output %q, want user and group 1000, group 77 and no capabilities", got)
	}
}
