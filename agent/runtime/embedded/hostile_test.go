package embedded_test

import (
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
	cri "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/berthproject/berth/agent/runtime/embedded/shim"
)

// TestHostilePasswd checks that a container's /etc/passwd cannot map a number to another user or
// block the start.
func TestHostilePasswd(t *testing.T) {
	h := newHarness(t, false)
	sb, sandboxConfig := h.createSandbox("passwd", nil)
	names, pipe := filepath.Join(h.Dir, "names"), filepath.Join(h.Dir, "pipe")
	if err := os.WriteFile(names, []byte("1000:x:0:0::/:/bin/sh\nuser:x:1000:1001::/home:/bin/sh\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := unix.Mkfifo(pipe, 0o644); err != nil {
		t.Fatal(err)
	}
	for file, want := range map[string]string{names: "1000\n1001\n", pipe: "1000\n0\n"} {
		c := shell(filepath.Base(file), `grep -E "^(Uid|Gid)" /proc/self/status | cut -f2`)
		c.Mounts = []*cri.Mount{{HostPath: file, ContainerPath: "/etc/passwd"}}
		c.Linux.SecurityContext.RunAsUser = &cri.Int64Value{Value: 1000}
		if got, code := h.outputAndCode(sb, sandboxConfig, c); got != want {
			t.Errorf("user and group with %s: %q, exit code %d, want %q", filepath.Base(file), got, code, want)
		}
	}
}

// TestExitWithOpenWriter checks that a container exits although a process that it started in the
// pod's PID namespace keeps writing.
func TestExitWithOpenWriter(t *testing.T) {
	h := newHarness(t, false)
	sb, sandboxConfig := h.createSandbox("writer", func(c *cri.PodSandboxConfig) {
		c.Linux.SecurityContext.NamespaceOptions.Pid = cri.NamespaceMode_POD
	})
	if s := h.WaitExited(t, h.run(sb, sandboxConfig, shell("c", "yes & exit 3"))); s.ExitCode != 3 {
		t.Errorf("exited with %d, want 3", s.ExitCode)
	}
}

// TestShimIsIdle checks that a shim uses no CPU time after a client sent more input than the
// container reads and disconnected.
func TestShimIsIdle(t *testing.T) {
	h := newHarness(t, false)
	sb, sandboxConfig := h.createSandbox("sleeps", nil)
	c := shell("c", "exec sleep 1000")
	c.Stdin = true
	dir := filepath.Join(h.Options.Dir, "containers", h.run(sb, sandboxConfig, c))
	dirFile, err := os.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer dirFile.Close()
	conn, err := net.Dial("unixpacket", "/proc/self/fd/"+itoa(int(dirFile.Fd()))+"/"+shim.Socket)
	if err != nil {
		t.Fatal(err)
	}
	packet := append([]byte{shim.PacketIn}, make([]byte, 20<<10)...)
	for range 4 { // a pipe holds 64 KiB, so the last packet is pending
		if _, err := conn.Write(packet); err != nil {
			t.Fatal(err)
		}
	}
	if err := conn.Close(); err != nil {
		t.Fatal(err)
	}
	ids, err := shim.ReadProcesses(dir)
	if err != nil {
		t.Fatal(err)
	}
	cpuTime := func() string {
		text, err := os.ReadFile("/proc/" + itoa(ids.Shim) + "/schedstat") // of its only thread; the first field is CPU time
		if err != nil {
			t.Fatal(err)
		}
		return strings.Fields(string(text))[0]
	}
	h.waitUntil("the shim sleeps", func() bool {
		before := cpuTime()
		time.Sleep(2 * time.Second) // long enough to notice a busy loop
		return cpuTime() == before
	})
}

// TestSharedPIDNamespaceHidesHost checks that no process in a shared PID namespace gives access
// to the host's files.
func TestSharedPIDNamespaceHidesHost(t *testing.T) {
	h := newHarness(t, false)
	sb, sandboxConfig := h.createSandbox("root", func(c *cri.PodSandboxConfig) {
		c.Linux.SecurityContext.NamespaceOptions.Pid = cri.NamespaceMode_POD
	})
	if err := os.WriteFile(filepath.Join(h.Dir, "secret"), []byte("the machine's\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	got, _ := h.outputAndCode(sb, sandboxConfig, shell("c", `for p in root root/.. cwd cwd/..; do ls /proc/1/$p/ 2>/dev/null; cat /proc/1/$p`+h.Dir+`/secret 2>/dev/null; done; echo end; grep -c . /proc/1/mounts`))
	if got != "end\n1\n" {
		t.Errorf("/proc/1 in a container: %q, want no access and one mount", got)
	}
}
