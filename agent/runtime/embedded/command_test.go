package embedded_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	cri "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/berthproject/berth/agent/runtime/embedded/shim"
)

// TestCommandConfinement checks that a command has the attributes of its container: user, groups,
// capabilities, filter, cgroups, namespaces, limits, working directory, and no other open file.
func TestCommandConfinement(t *testing.T) {
	h := newHarness(t, false)
	sb, sandboxConfig := h.createSandbox("confinement", nil)
	const script = `grep -E "^(Uid|Gid|Groups|Cap|NoNewPrivs|Seccomp:|Umask|SigIgn|SigBlk)" /proc/self/status; cat /proc/self/cgroup /proc/self/limits /proc/self/oom_score_adj
for n in ipc mnt net pid uts; do readlink /proc/self/ns/$n; done; pwd; echo $HOME; ls /proc/self/fd | wc -l; cat /proc/$$/stat | cut -d" " -f7`
	for name, change := range map[string]func(*cri.ContainerConfig){
		"root": func(*cri.ContainerConfig) {},
		"user": func(c *cri.ContainerConfig) {
			c.Linux.SecurityContext = &cri.LinuxContainerSecurityContext{RunAsUsername: "user", SupplementalGroups: []int64{77}}
			c.WorkingDir, c.Linux.Resources.OomScoreAdj = "/proc", 321
		},
		"capabilities": func(c *cri.ContainerConfig) {
			c.Linux.SecurityContext.Capabilities = &cri.Capability{AddCapabilities: []string{"NET_ADMIN"}, DropCapabilities: []string{"KILL"}}
		},
	} {
		c := shell(name, script+"; echo end; exec sleep 1000")
		change(c)
		id := h.run(sb, sandboxConfig, c)
		h.waitUntil("the container has printed its attributes", func() bool { return strings.HasSuffix(h.output(sandboxConfig, c), "end\n") })
		want := strings.TrimSuffix(h.output(sandboxConfig, c), "end\n")
		if got := h.exec(id, "/bin/sh", "-c", script); got != want {
			t.Errorf("%s: attributes of the command:\n%s\nwant those of the container:\n%s", name, got, want)
		}
	}
}

// TestCommandHelper checks that the helper of a command is in the CPU cgroup of the zygote, not in that of this
// process. It has no second thread, which could spin while the helper waits for fork.
func TestCommandHelper(t *testing.T) {
	h := newHarness(t, false)
	sb, sandboxConfig := h.createSandbox("helper", nil)
	id := h.run(sb, sandboxConfig, shell("c", "exec sleep 1000"))
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		_, err := h.Service.ExecSync(ctx, id, []string{"/bin/sleep", "1000"}, 0)
		ended <- err
	}()
	h.waitUntil("the command runs", func() bool {
		return len(h.sleepProcesses(sandboxConfig.Linux.CgroupParent)) == 1 && len(h.helpers(id)) == 1
	})
	helper := filepath.Dir(h.helpers(id)[0])
	if got, want := readText(helper+"/cgroup"), readText("/proc/"+itoa(h.zygotes()[0])+"/cgroup"); got != want || !strings.Contains(got, "/berthruntime\n") {
		t.Errorf("cgroups of the helper:\n%s\nwant those of the zygote, with /berthruntime:\n%s", got, want)
	}
	if got := readText(helper + "/environ"); !strings.Contains(got, "GOMAXPROCS=1\x00") || !strings.Contains(got, "GOGC=off\x00") {
		t.Errorf("environment %q of the helper, want one thread and no garbage collection", got)
	}
	if got := readText(helper + "/status"); !strings.Contains(got, "\nPPid:\t"+itoa(os.Getpid())+"\n") {
		t.Errorf("got a helper with the status\n%s\nwant a child of this process", got)
	}
	cancel()
	if err := <-ended; status.Code(err) != codes.Canceled {
		t.Errorf("the canceled command ended with %v, want it canceled", err)
	}
}

// TestCommandBeforeExec checks the process that the container sees before it executes the command.
// An attacker in the container stops it at that point. It must have only the rights of the
// container.
func TestCommandBeforeExec(t *testing.T) {
	h := newHarness(t, false)
	sb, sandboxConfig := h.createSandbox("before-exec", nil)
	id := h.run(sb, sandboxConfig, attacker("attacker", "stop", 0))
	container := "/proc/" + itoa(h.processes(id).Container)
	for range 50 {
		ctx, cancel := context.WithCancel(context.Background())
		done := make(chan error, 1)
		go func() {
			_, err := h.Service.ExecSync(ctx, id, []string{"/bin/sleep", "5"}, 0)
			done <- err
		}()
		var child string
		h.waitUntil("the command has started or is stopped", func() bool { child = h.stoppedCommand(id); return child != "" })
		commandLine := readText(filepath.Join(child, "cmdline"))
		attributes := func(dir string) string {
			var out []string
			for line := range strings.Lines(readText(filepath.Join(dir, "status"))) {
				if name, _, _ := strings.Cut(line, ":"); slices.Contains([]string{"Uid", "Gid", "Groups", "CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb", "NoNewPrivs", "Seccomp", "Seccomp_filters"}, name) {
					out = append(out, line)
				}
			}
			for _, link := range []string{"root", "ns/mnt", "ns/net", "ns/pid"} {
				target, _ := os.Readlink(filepath.Join(dir, link))
				out = append(out, target)
			}
			return strings.Join(out, "\n")
		}
		got, want := attributes(child), attributes(container)
		cancel()
		if err := <-done; status.Code(err) != codes.Canceled {
			t.Errorf("canceled command: %v, want Canceled", err)
		}
		if !strings.HasPrefix(commandLine, "berth-exec") {
			continue // it was stopped later
		}
		if got != want {
			t.Errorf("attributes before exec:\n%s\nwant those of the container:\n%s", got, want)
		}
		return
	}
	t.Error("none of 50 commands was stopped before it was executed, want at least one")
}

// stoppedCommand returns the /proc directory of a stopped process of a command in a container, or "".
func (h *harness) stoppedCommand(id string) string {
	for _, helper := range h.helpers(id) {
		helperPID, _ := strconv.Atoi(filepath.Base(filepath.Dir(helper)))
		for _, pid := range h.allProcesses() {
			if s, ok := shim.ReadStat(pid); ok && s.Parent == helperPID && s.State == 'T' {
				return "/proc/" + itoa(pid)
			}
		}
	}
	return ""
}

func (h *harness) allProcesses() (pids []int) {
	dirs, _ := filepath.Glob("/proc/[0-9]*")
	for _, dir := range dirs {
		if pid, err := strconv.Atoi(filepath.Base(dir)); err == nil {
			pids = append(pids, pid)
		}
	}
	return pids
}

// processes returns the process IDs of a container.
func (h *harness) processes(id string) shim.Processes {
	h.t.Helper()
	ids, err := shim.ReadProcesses(filepath.Join(h.Options.Dir, "containers", id))
	if err != nil {
		h.t.Fatal(err)
	}
	return ids
}

func readText(file string) string {
	text, _ := os.ReadFile(file)
	return string(text)
}

// TestTimeoutKillsDescendants checks that all processes of a command are killed when it times
// out, including those in other sessions.
func TestTimeoutKillsDescendants(t *testing.T) {
	h := newHarness(t, false)
	sb, sandboxConfig := h.createSandbox("timeout", nil)
	id := h.run(sb, sandboxConfig, shell("c", "exec sleep 1000"))
	_, err := h.Service.ExecSync(context.Background(), id, []string{"/bin/sh", "-c", "sleep 777 & setsid sh -c 'sleep 777; true' & sleep 777"}, time.Second)
	if status.Code(err) != codes.DeadlineExceeded {
		t.Errorf("ExecSync: %v, want DeadlineExceeded", err)
	}
	h.waitUntil("no process of the command remains", func() bool { return !strings.Contains(h.exec(id, "ps"), "777") })
	if s := h.status(id); s.State != cri.ContainerState_CONTAINER_RUNNING {
		t.Errorf("the container is %v, want it running", s.State)
	}
}

// TestCommandEndsWithAgent checks that a command does not outlive the agent.
func TestCommandEndsWithAgent(t *testing.T) {
	h := newHarness(t, false)
	sb, sandboxConfig := h.createSandbox("agent-exit", nil)
	id := h.run(sb, sandboxConfig, shell("c", "exec sleep 1000"))
	helper, child, err := h.Runtime.AbandonCommand(context.Background(), id, []string{"sleep", "777"})
	if err != nil {
		t.Fatal(err)
	}
	for _, pid := range []int{helper, child} {
		h.waitUntil(fmt.Sprintf("process %d has exited", pid), func() bool { return processExited(pid) })
	}
}

// TestCommandOfStoppedContainer checks that a command is killed or fails with FailedPrecondition when
// its container is stopped, and that the command does not prevent the stop.
func TestCommandOfStoppedContainer(t *testing.T) {
	h := newHarness(t, false)
	sb, sandboxConfig := h.createSandbox("exited", nil)
	for range 5 {
		c := shell("c", "exec sleep 1000")
		id := h.run(sb, sandboxConfig, c)
		done := make(chan error, 1)
		go func() {
			for {
				if out, err := h.Service.ExecSync(context.Background(), id, []string{"sleep", "1000"}, 20*time.Second); err != nil || out.GetExitCode() == 137 {
					done <- err
					return
				}
			}
		}()
		if err := h.Service.StopContainer(context.Background(), id, 0); err != nil {
			t.Fatal(err)
		}
		if err := <-done; err != nil && status.Code(err) != codes.FailedPrecondition {
			t.Errorf("ExecSync: %v, want exit code 137 or FailedPrecondition", err)
		}
		if err := h.Service.RemoveContainer(context.Background(), id); err != nil {
			t.Fatal(err)
		}
	}
}

// TestStartRejectsNodeWorkingDirectory checks that a working directory cannot be a directory of the
// node that a process of the container has open.
func TestStartRejectsNodeWorkingDirectory(t *testing.T) {
	h := newHarness(t, false)
	sb, sandboxConfig := h.createSandbox("cwd", nil)
	for fd := range 16 {
		c := shell("c-"+itoa(fd), "pwd; ls -d ../../../../../"+h.Dir)
		c.WorkingDir = "/proc/self/fd/" + itoa(fd)
		id := h.create(sb, sandboxConfig, c)
		if err := h.Service.StartContainer(context.Background(), id); err == nil {
			h.WaitExited(t, id)
			t.Errorf("working directory %s: started with output %q, want an error", c.WorkingDir, h.output(sandboxConfig, c))
		}
	}
}

// TestTimedOutCommandIsReaped checks that a command killed after its timeout does not stay a zombie
// if the container's init process does not reap.
func TestTimedOutCommandIsReaped(t *testing.T) {
	h := newHarness(t, false)
	sb, sandboxConfig := h.createSandbox("reaping", nil)
	id := h.run(sb, sandboxConfig, shell("main", "exec tail -f /dev/null"))
	if _, err := h.Service.ExecSync(context.Background(), id, []string{"sleep", "4321"}, 200*time.Millisecond); status.Code(err) != codes.DeadlineExceeded {
		t.Fatalf("ExecSync: %v, want DeadlineExceeded", err)
	}
	if names := h.exec(id, "/bin/sh", "-c", "cat /proc/[0-9]*/comm"); strings.Contains(names, "sleep") {
		t.Errorf("processes %q, want no sleep", names)
	}
}
