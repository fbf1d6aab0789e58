package main

import (
	"bufio"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// machine is a systemd in separate namespaces, which testdata/machine.sh boots.
type machine struct {
	t *testing.T
	// pid is the process ID of systemd outside of the machine.
	pid string
}

// bootMachine boots a machine that has the package in /berth.deb. It is removed when the test ends.
func bootMachine(t *testing.T, deb string) *machine {
	t.Helper()
	if os.Getuid() != 0 {
		skipOrFail(t, "namespaces, mounts and cgroups require root")
	}
	for _, program := range []string{"dpkg", "ip", "nsenter", "setpriv", "systemctl", "unshare"} {
		requireProgram(t, program)
	}
	if _, err := os.Stat("/usr/lib/systemd/systemd"); err != nil {
		skipOrFail(t, "systemd is not installed: "+err.Error())
	}
	groups := createGroups(t)
	boot := exec.Command("setpriv", append([]string{"--pdeathsig=KILL", "sh", "testdata/machine.sh", t.TempDir(), deb}, groups...)...)
	boot.Stderr = t.Output()
	stdout, err := boot.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := boot.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = boot.Process.Kill()
		_ = boot.Wait()
	})
	pid, err := bufio.NewReader(stdout).ReadString('\n')
	if err != nil {
		t.Fatalf("machine.sh printed no process ID: %v", err)
	}
	m := &machine{t: t, pid: strings.TrimSpace(pid)}
	m.eventually("systemd runs", func() error {
		if state, err := m.run("systemctl", "is-system-running"); err != nil {
			return fmt.Errorf("state %q: %w", state, err)
		}
		return nil
	})
	t.Cleanup(func() {
		if t.Failed() {
			journal, _ := m.run("journalctl", "--no-pager", "--lines=200", "--output=short-precise")
			t.Logf("journal:\n%s", journal)
		}
	})
	return m
}

// run runs a program in the machine as root. It returns the output without surrounding white space.
func (m *machine) run(args ...string) (string, error) {
	environment := []string{"env", "-i", "PATH=/usr/sbin:/usr/bin", "HOME=/root", "KUBECONFIG=/var/lib/berth/server/kubeconfig"}
	enter := []string{"--target", m.pid, "--cgroup", "--ipc", "--mount", "--net", "--pid", "--uts"}
	out, err := exec.Command("nsenter", slices.Concat(enter, environment, args)...).CombinedOutput()
	return strings.TrimSpace(string(out)), err
}

// mustRun calls run and fails the test on an error.
func (m *machine) mustRun(args ...string) string {
	m.t.Helper()
	out, err := m.run(args...)
	if err != nil {
		m.t.Fatalf("%s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return out
}

// path returns the path of a file of the machine outside of the machine.
func (m *machine) path(file string) string { return filepath.Join("/proc", m.pid, "root", file) }

// eventually calls condition until it returns nil, for at most 90 seconds.
func (m *machine) eventually(description string, condition func() error) {
	m.t.Helper()
	var err error
	for deadline := time.Now().Add(90 * time.Second); time.Now().Before(deadline); time.Sleep(100 * time.Millisecond) {
		if err = condition(); err == nil {
			return
		}
	}
	m.t.Fatalf("timed out waiting until %s: %v", description, err)
}

// groupPrefix is the name of a machine's cgroups before the process ID of the test.
const groupPrefix = "berth-machine-"

// createGroups creates a cgroup for a machine in each hierarchy, and returns their paths. They are removed when the test
// ends, with those that the machine creates below. It omits cpusets, which systemd does not use in cgroup v1.
func createGroups(t *testing.T) (groups []string) {
	t.Helper()
	mounts, err := os.ReadFile("/proc/mounts")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(mounts)) {
		fields := strings.Fields(line)
		if kind := fields[2]; kind != "cgroup" && kind != "cgroup2" || slices.Contains(strings.Split(fields[3], ","), "cpuset") {
			continue
		}
		removeStaleGroups(fields[1])
		group := filepath.Join(fields[1], fmt.Sprint(groupPrefix, os.Getpid()))
		if err := os.Mkdir(group, 0o755); err != nil {
			skipOrFail(t, err.Error())
		}
		t.Cleanup(func() { removeGroup(t, group) })
		groups = append(groups, group)
	}
	if len(groups) == 0 {
		skipOrFail(t, "no cgroup hierarchy is mounted")
	}
	return groups
}

// removeStaleGroups removes the cgroups of killed tests. The processes of a machine end with its test.
func removeStaleGroups(hierarchy string) {
	stale, _ := filepath.Glob(filepath.Join(hierarchy, groupPrefix+"*"))
	for _, group := range stale {
		if _, err := os.Stat(filepath.Join("/proc", strings.TrimPrefix(filepath.Base(group), groupPrefix))); err != nil {
			_ = removeTree(group)
		}
	}
}

// removeGroup removes a cgroup and those below. It retries while killed processes end.
func removeGroup(t *testing.T, group string) {
	var err error
	for deadline := time.Now().Add(10 * time.Second); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		if err = removeTree(group); err == nil {
			return
		}
	}
	t.Errorf("removing cgroup: %v", err)
}

// removeTree removes a cgroup without processes and those below.
func removeTree(group string) (err error) {
	var dirs []string
	_ = filepath.WalkDir(group, func(path string, entry fs.DirEntry, err error) error {
		if err == nil && entry.IsDir() {
			dirs = append(dirs, path)
		}
		return nil
	})
	for _, dir := range slices.Backward(dirs) {
		err = os.Remove(dir) // that of the root is the last one
	}
	return err
}
