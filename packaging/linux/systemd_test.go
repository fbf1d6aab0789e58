package main

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
)

// components are the names of the units without the prefix berth-, in the order of their start.
var components = []string{"server", "scheduler", "controller", "agent"}

// TestSystemd installs the deb on a machine with systemd, follows the guide to installation, and runs a pod. Killed
// services restart without a restart of the pod. Then it checks the restrictions of the units and removes the package.
func TestSystemd(t *testing.T) {
	deb := os.Getenv("BERTH_DEB")
	if deb == "" {
		t.Skip("BERTH_DEB does not name the package; CI sets it in a later step")
	}
	m := bootMachine(t, deb)
	m.mustRun("dpkg", "--install", "/berth.deb")
	m.mustRun("systemctl", "enable", "--now", "berth-server")
	for file, flags := range map[string]string{"scheduler": "--for scheduler", "controller": "--for controller", "agent": `--node "$(hostname)"`} {
		m.mustRun("sh", "-c", "umask 077; berth credentials --data-dir /var/lib/berth/server "+flags+" > /etc/berth/"+file+".kubeconfig")
	}
	m.mustRun("systemctl", "enable", "--now", "berth-scheduler", "berth-controller", "berth-agent")
	m.startPod("first")
	for _, component := range components {
		m.checkUnit(component, "ActiveState=active", "NRestarts=0")
	}

	m.mustRun("sh", "-c", "berth kubectl get --raw=/metrics | grep -q '^process_start_time_seconds '") // read from /proc/stat

	before := m.containers("first")
	for _, component := range slices.Backward(components) { // clients first: the controller exits if it finds no server
		m.mustRun("systemctl", "kill", "--signal=KILL", "--kill-who=main", "berth-"+component)
		m.eventually("berth-"+component+" has restarted", func() error { return m.unitError(component, "ActiveState=active", "NRestarts=1") })
	}
	m.startPod("second")
	if after := m.containers("first"); after != before {
		t.Errorf("after the restart of the agent: the pod has container %s, want %s", after, before)
	}

	for _, component := range components {
		m.mustRun("systemctl", "stop", "berth-"+component)
		m.checkUnit(component, "ActiveState=inactive", "Result=success")
	}
	m.checkRestrictions()
	m.mustRun("systemctl", "start", "berth-server")
	m.mustRun("dpkg", "--remove", "berth")
	m.checkUnit("server", "ActiveState=inactive", "LoadState=not-found")
	if links := m.mustRun("find", "/etc/systemd/system", "-name", "berth-*"); links != "" {
		t.Errorf("after the removal of the package: units %s are enabled, want none", links)
	}
}

// startPod creates a pod and waits until it is ready. The scheduler may have to wait for the Lease of a killed one.
func (m *machine) startPod(name string) {
	m.t.Helper()
	m.eventually("pod "+name+" is created", func() error { // not before the service account exists
		out, err := m.run("berth", "kubectl", "run", name, "--image=berth.dev/workload:1", "--", "-listen=:80")
		if err != nil {
			return fmt.Errorf("%w: %s", err, out)
		}
		return nil
	})
	m.mustRun("berth", "kubectl", "wait", "--for=condition=Ready", "pod/"+name, "--timeout=90s")
}

// containers returns the IDs of a pod's containers.
func (m *machine) containers(pod string) string {
	m.t.Helper()
	return m.mustRun("berth", "kubectl", "get", "pod", pod, "--output=jsonpath={.status.containerStatuses[*].containerID}")
}

// unitError returns an error if the unit of a component lacks one of the properties.
func (m *machine) unitError(component string, want ...string) error {
	m.t.Helper()
	properties := m.mustRun("systemctl", "show", "berth-"+component)
	for _, property := range want {
		if name, _, _ := strings.Cut(property, "="); !strings.Contains("\n"+properties+"\n", "\n"+property+"\n") {
			_, value, _ := strings.Cut("\n"+properties, "\n"+name+"=")
			value, _, _ = strings.Cut(value, "\n")
			return fmt.Errorf("unit berth-%s: %s is %q, want %s", component, name, value, property)
		}
	}
	return nil
}

func (m *machine) checkUnit(component string, want ...string) {
	m.t.Helper()
	if err := m.unitError(component, want...); err != nil {
		m.t.Error(err)
	}
}

// checkRestrictions runs testdata/probe.sh in place of the programs of the units. A unit without restrictions shows that
// the operations of the probe succeed unless a unit forbids them.
func (m *machine) checkRestrictions() {
	m.t.Helper()
	probe, err := os.ReadFile("testdata/probe.sh")
	if err != nil {
		m.t.Fatal(err)
	}
	m.mustRun("mkdir", "--mode=1777", "/var/open", "/home", "/home/open", "/tmp/open")
	m.write("/usr/bin/probe", string(probe))
	command := "[Service]\nType=oneshot\nRestart=no\nExecStart=\nExecStart=/bin/sh /usr/bin/probe\nExecStartPost=\nStandardOutput=truncate:/run/probe\n"
	m.write("/run/systemd/system/berth-free.service", command+"User=user\n")
	for component, want := range map[string]string{"free": "write home tmp processes namespaces", "server": "state", "scheduler": "state", "controller": "state"} {
		if component != "free" {
			m.write("/run/systemd/system/berth-"+component+".service.d/probe.conf", command)
		}
		m.mustRun("systemctl", "daemon-reload")
		m.mustRun("systemctl", "start", "berth-"+component)
		if got := strings.Join(strings.Fields(m.mustRun("cat", "/run/probe")), " "); got != want {
			m.t.Errorf("unit berth-%s allows %q, want %q", component, got, want)
		}
	}
	m.mustRun("sh", "-c", "rm -r /run/systemd/system/berth-*")
	m.mustRun("systemctl", "daemon-reload")
}

// write writes a file of the machine.
func (m *machine) write(file, text string) {
	m.t.Helper()
	m.mustRun("mkdir", "--parents", file[:strings.LastIndex(file, "/")])
	if err := os.WriteFile(m.path(file), []byte(text), 0o755); err != nil {
		m.t.Fatal(err)
	}
}
